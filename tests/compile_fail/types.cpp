// expect: has no kernel for these element types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void mixed(sg::matrix<float>& a, sg::matrix<double>& b, sg::matrix<double>& c) { sg::gemm(a, b, c); }
