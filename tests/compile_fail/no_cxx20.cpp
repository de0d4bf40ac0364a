// expect: stratagemm needs C++20: compile with -std=c++20
// flags: -std=c++17
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void early(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) { sg::gemm(a, b, c); }
