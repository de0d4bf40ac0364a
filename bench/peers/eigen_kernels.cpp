// Eigen's products. Compiled twice: for STRATAGEMM_BENCH_MARCH, and with no -march, as a newcomer compiles it.
// Each gets a namespace of its own, or the linker would keep one copy of the templates for both.
#if defined(BENCH_EIGEN_NATIVE)
#    define Eigen Eigen_native
#    define BENCH_TABLE eigen_native
#else
#    define Eigen Eigen_plain
#    define BENCH_TABLE eigen_plain
#endif

#include <Eigen/Core>

#include "kernels.hpp"

namespace bench {
namespace {

template <class T, int Order>
using map = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order> const>;

template <class T, class A, class B>
void assign(long m, long n, A const& a, B const& b, T* c) {
    using rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<rows>(c, m, n).noalias() = a * b;
}

template <class T>
void gemm(long m, long n, long k, T const* a, bool ta, T const* b, bool tb, T* c) {
    constexpr int row = Eigen::RowMajor, col = Eigen::ColMajor;
    using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    if (n == 1 && !ta)
        Eigen::Map<vector>(c, m).noalias() = map<T, row>(a, m, k) * Eigen::Map<vector const>(b, k);
    else if (ta && tb)
        assign(m, n, map<T, col>(a, m, k), map<T, col>(b, k, n), c);
    else if (ta)
        assign(m, n, map<T, col>(a, m, k), map<T, row>(b, k, n), c);
    else if (tb)
        assign(m, n, map<T, row>(a, m, k), map<T, col>(b, k, n), c);
    else
        assign(m, n, map<T, row>(a, m, k), map<T, row>(b, k, n), c);
}

template <int N>
void fixed(long count, float const* a, float const* b, float* c) {
    using matrix = Eigen::Matrix<float, N, N, Eigen::RowMajor>;
    for (long i = 0; i < count; ++i, a += N * N, b += N * N, c += N * N)
        Eigen::Map<matrix>(c).noalias() = Eigen::Map<matrix const>(a) * Eigen::Map<matrix const>(b);
}

void batch(long n, long count, float const* a, float const* b, float* c) {
    if (n == 4) return fixed<4>(count, a, b, c);
    if (n == 8) return fixed<8>(count, a, b, c);
    if (n == 16) return fixed<16>(count, a, b, c);
    if (n == 32) return fixed<32>(count, a, b, c);
    for (long i = 0; i < count; ++i) gemm(n, n, n, a + i * n * n, false, b + i * n * n, false, c + i * n * n);
}

void set_threads(int n) { Eigen::setNbThreads(n); }

} // namespace

extern eigen_table const BENCH_TABLE{set_threads,
                                     gemm<float>,
                                     gemm<double>,
                                     batch,
                                     {EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION}};

} // namespace bench
