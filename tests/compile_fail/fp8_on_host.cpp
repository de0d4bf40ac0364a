// expect: has no kernel for these element types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void narrow(sg::matrix<sg::fp8_e4m3>& a, sg::matrix<sg::fp8_e4m3>& b, sg::matrix<float>& c) {
    sg::gemm(a, b, c);
}
