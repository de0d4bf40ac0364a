// expect: write conjugated(transposed(Z)) for Z.adjoint(), and (A + B).eval() for A + B
#include <stratagemm/stratagemm.hpp>

#include <complex>

namespace sg = stratagemm;

// As an expression of Eigen looks: it has sides and can be evaluated, and has no elements in memory.
template <class T>
struct expression {
    long rows() const;
    long cols() const;
    sg::matrix<T> eval() const;
};

using scalar = std::complex<double>;
void adjoint(expression<scalar> const& z, sg::matrix<scalar>& b, sg::matrix<scalar>& c) { sg::gemm(z, b, c); }
