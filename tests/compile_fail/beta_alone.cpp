// expect: alpha and beta go together: gemm(alpha, a, b, beta, c)
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void added(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::host{}, a, b, 0.5f, c);
}
