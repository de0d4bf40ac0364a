// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void mixed(sg::matrix<float>& a, sg::matrix<double>& b, sg::matrix<double>& c) { sg::gemm(a, b, c); }
