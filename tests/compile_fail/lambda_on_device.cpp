// expect: a device needs one with a device() member: use bias, relu, gelu, clamp, scale or then, or add device() to yours
#include <stratagemm/backend/opencl.hpp>

namespace sg = stratagemm;

void squared(sg::opencl& gpu, sg::opencl::matrix<float>& a, sg::opencl::matrix<float>& b,
             sg::opencl::matrix<float>& c) {
    sg::gemm(gpu, a, b, c, [](float x) { return x * x; });
}
