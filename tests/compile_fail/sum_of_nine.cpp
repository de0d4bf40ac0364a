// expect: the host adds at most eight matrices in a sum; add some of them before
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void nine(sg::matrix<float>& x, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::sum(x, x, x, x, x, x, x, x, x), b, c);
}
