// expect: A, B, C and the added matrix must be in one memory space
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

struct far_memory : sg::host_memory {};

void mixed(sg::matrix<float>& a, sg::view<float, far_memory> b, sg::matrix<float>& c) { sg::gemm(a, b, c); }
