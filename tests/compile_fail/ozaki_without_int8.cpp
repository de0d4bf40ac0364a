// expect: or one beneath it, has no kernel for these element types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// Strassen multiplies no int8, of which Ozaki's products are made.
void emulated(sg::matrix<double>& a, sg::matrix<double>& b, sg::matrix<double>& c) {
    sg::gemm(sg::ozaki{sg::strassen{sg::host{}}}, a, b, c);
}
