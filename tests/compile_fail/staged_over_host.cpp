// expect: staged and out_of_core are for a policy on a device; over the host, out_of_core takes matrices in files
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void host(sg::host& cpu, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::staged{cpu}, a, b, c);
}
