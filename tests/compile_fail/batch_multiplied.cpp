// expect: multiplied() takes no batches; gemm(a, b, c) does
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void many(sg::matrix<float>& a, sg::matrix<float>& b) { (void)sg::multiplied(sg::batched(a, 1, 0), b); }
