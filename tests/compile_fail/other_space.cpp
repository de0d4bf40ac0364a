// expect: the operands are not in the memory space of this policy
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

struct far_memory : sg::host_memory {};
struct far_policy : sg::reference {
    using space = far_memory;
};

void near(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(far_policy{}, a, b, c);
}
