// libstratagemm-blas-opencl.so: products on the first GPU of OpenCL, else on its first device.
#include "device.inl.hpp"

#include <stratagemm/backend/opencl.hpp>

namespace stratagemm_blas {
namespace {

struct policies {
    static sg::status ready() { return sg::opencl{}.ready(); }
    template <class F>
    static sg::status with(std::ptrdiff_t, F const& f) {
        return f(sg::opencl{});
    }
};

} // namespace
} // namespace stratagemm_blas

STRATAGEMM_BLAS_DEVICE(stratagemm_blas::policies)
