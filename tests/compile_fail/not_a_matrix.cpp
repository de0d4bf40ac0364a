// expect: gemm takes
#include <stratagemm/stratagemm.hpp>

#include <vector>

namespace sg = stratagemm;

void vectors(std::vector<float>& a, std::vector<float>& b, std::vector<float>& c) { sg::gemm(a, b, c); }
