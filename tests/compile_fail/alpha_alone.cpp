// expect: alpha and beta go together: gemm(alpha, a, b, beta, c), with beta = 0 for C = alpha A B
// and: float, matrix<float>&, matrix<float>&, matrix<float>&
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void scaled(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) { sg::gemm(2.0f, a, b, c); }
