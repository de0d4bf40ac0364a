// expect: the values of a bias or a scale are in host memory, and the product is on a device; copy the values into a matrix of the device
#include <stratagemm/backend/opencl.hpp>

#include <vector>

namespace sg = stratagemm;

void biased(sg::opencl& gpu, sg::opencl::matrix<float>& a, sg::opencl::matrix<float>& b,
            sg::opencl::matrix<float>& c, std::vector<float> const& values) {
    sg::gemm(gpu, a, b, c, sg::then(sg::bias(values), sg::relu));
}
