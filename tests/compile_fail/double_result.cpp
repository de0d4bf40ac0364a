// expect: has no kernel for a C of this element type: take the type in which A B is summed
// and: host
// and: problem<view<const float>, view<const float>, view<double>
// and: matrix<float>&, matrix<float>&, matrix<double>&
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void widened(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<double>& c) { sg::gemm(a, b, c); }
