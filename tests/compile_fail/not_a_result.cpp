// expect: gemm takes ([policy,] [alpha,] A, B, [beta,] [E,] C [, epilogue])
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void pointers(sg::matrix<float>& a, sg::matrix<float>& b, float* c) { sg::gemm(a, b, c); }
