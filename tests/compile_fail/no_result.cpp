// expect: gemm takes
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void lost(sg::matrix<float>& a, sg::matrix<float>& b) { sg::gemm(sg::reference{}, a, b); }
