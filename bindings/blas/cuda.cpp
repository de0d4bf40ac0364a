// libstratagemm-blas-cuda.so: products on the first CUDA device.
#include "device.inl.hpp"

#include "../device_policies.hpp"

namespace stratagemm_blas {
namespace {

struct policies {
    static sg::status ready() { return sg::cuda{}.ready(); }
    template <class F>
    static sg::status with(std::ptrdiff_t policy, F const& f) {
        if (policy == host_and_cuda) {
            static sg::automatic const both{sg::host{}, sg::cuda{}}; // it keeps its choices
            return f(both);
        }
        return stratagemm_bindings::with_device_policy(
            stratagemm_bindings::device_policy{static_cast<int>(policy)}, sg::cuda{}, f);
    }
};

} // namespace
} // namespace stratagemm_blas

STRATAGEMM_BLAS_DEVICE(stratagemm_blas::policies)
