// expect: a pointer, a std::vector or a std::span does not say how many rows and columns it has; write row_major(v, rows, cols)
#include <stratagemm/stratagemm.hpp>

#include <vector>

namespace sg = stratagemm;

void vectors(std::vector<float>& a, std::vector<float>& b, std::vector<float>& c) { sg::gemm(a, b, c); }
