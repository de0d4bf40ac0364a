// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// The host multiplies them; what is added up in half precision would not be exact.
void mixed(sg::matrix<float>& a, sg::matrix<sg::half>& b, sg::matrix<float>& c) {
    sg::gemm(a, b, c);
    sg::gemm(sg::strassen{sg::host{}}, a, b, c);
}
