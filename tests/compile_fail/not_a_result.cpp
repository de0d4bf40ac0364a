// expect: a pointer, a std::vector or a std::span does not say how many rows and columns it has; write row_major(v, rows, cols)
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void pointers(sg::matrix<float>& a, sg::matrix<float>& b, float* c) { sg::gemm(a, b, c); }
