// Eigen's products of sparse matrices.
#include "sparse.hpp"

#include <Eigen/SparseCore>

namespace bench {
namespace {

template <class T>
void run(sparse_problem<T> const& p, void*) {
    using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::setNbThreads(p.threads);
    Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor> const> const a(p.rows, p.cols, p.nonzeros, p.begins,
                                                                      p.columns, p.values);
    if (p.n == 1)
        Eigen::Map<vector>(p.c, p.rows).noalias() = a * Eigen::Map<vector const>(p.b, p.cols);
    else
        Eigen::Map<dense>(p.c, p.rows, p.n).noalias() = a * Eigen::Map<dense const>(p.b, p.cols, p.n);
}
template <class T>
void* prepare(sparse_problem<T> const&) {
    return nullptr;
}

} // namespace

sparse_peer const sparse_eigen{"Eigen",    true,        prepare<float>, prepare<double>,
                               run<float>, run<double>, [](void*) {}};

} // namespace bench
