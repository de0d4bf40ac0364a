// expect: C must be writable
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void into_const(sg::matrix<float>& a, sg::matrix<float>& b, float const* c) {
    sg::gemm(a, b, sg::row_major(c, 2, 2));
}
