// expect: include a backend for the memory of these operands
#include <stratagemm/gemm.hpp>

namespace sg = stratagemm;

void bare(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) { sg::gemm(a, b, c); }
