// Eigen's product, in a unit of its own that is compiled with -O3 and for this machine. No std:: type crosses, or an
// inline function that was compiled for this machine could end up in the rest of the program.
#include <Eigen/Core>

#include "eigen.hpp"

namespace compare {
namespace {

template <class T>
void multiply(long n, T const* a, T const* b, T* c) {
    using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using operand = Eigen::Map<matrix const>;
    Eigen::Map<matrix>(c, n, n).noalias() = operand(a, n, n) * operand(b, n, n);
}

} // namespace

void eigen_threads(int n) { Eigen::setNbThreads(n); }
void eigen_product(long n, float const* a, float const* b, float* c) { multiply(n, a, b, c); }
void eigen_product(long n, double const* a, double const* b, double* c) { multiply(n, a, b, c); }
char const* eigen_version() {
    return EIGEN_MAKESTRING(EIGEN_WORLD_VERSION) "." EIGEN_MAKESTRING(
        EIGEN_MAJOR_VERSION) "." EIGEN_MAKESTRING(EIGEN_MINOR_VERSION);
}

} // namespace compare
