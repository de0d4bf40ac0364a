// expect: this policy is made of int8 or bfloat16 products, and the policy beneath it has no kernel for them; put it directly over a backend
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// Strassen multiplies no int8, of which Ozaki's products are made.
void emulated(sg::matrix<double>& a, sg::matrix<double>& b, sg::matrix<double>& c) {
    sg::gemm(sg::ozaki{sg::strassen{sg::host{}}}, a, b, c);
}
