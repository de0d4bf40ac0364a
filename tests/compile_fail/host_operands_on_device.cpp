// expect: the operands are in host memory and the policy is on a device: put staged{} around the policy
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/opencl.hpp>

namespace sg = stratagemm;

void far(sg::opencl& gpu, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::strassen{gpu}, a, b, c);
}
