// expect: the policy is the first argument of gemm: gemm(policy, a, b, c)
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void last(sg::host const& cpu, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(a, b, c, cpu);
}
