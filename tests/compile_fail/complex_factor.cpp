// expect: both convert to the type in which A B is summed
#include <stratagemm/stratagemm.hpp>

#include <complex>

namespace sg = stratagemm;

void turned(std::complex<float> alpha, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(alpha, a, b, 0, c);
}
