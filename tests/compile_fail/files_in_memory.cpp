// expect: these operands are in memory already, and out_of_core over a policy of the host takes matrices in files
#include <stratagemm/algorithm/out_of_core/files.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void host(sg::host& cpu, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::out_of_core{cpu}, a, b, c);
}
