// expect: gemm takes (A, B, C), (A, B, E, C), (alpha, A, B, beta, C) or (alpha, A, B, beta, E, C)
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void lost(sg::matrix<float>& a, sg::matrix<float>& b) { sg::gemm(sg::reference{}, a, b); }
