// expect: include the header that brings them there
#include <stratagemm/backend/opencl.hpp>

namespace sg = stratagemm;

void far(sg::opencl& gpu, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(gpu, a, b, c);
}
