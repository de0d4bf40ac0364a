// expect: write conjugated(transposed(Z)) for Z.adjoint(), and (A + B).eval() for A + B
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// As an expression of Eigen looks: it has sides and can be evaluated, and has no elements in memory.
template <class T>
struct expression {
    long rows() const;
    long cols() const;
    sg::matrix<T> eval() const;
};

void sum(sg::matrix<float>& a, expression<float> const& b, sg::matrix<float>& c) {
    sg::gemm(sg::host{}, 2, a, b, 0, c);
}
