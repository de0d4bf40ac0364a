// Factors of a matrix of low rank on a CUDA device.
#include "cuda_side.hpp"
#include "low_rank.hpp"

namespace stratagemm_python {

outcome find_low_rank_on_device(low_rank_call& call) {
    return find_low_rank_on(cuda_side{device_at(call.a->device, call.on)}, call);
}

} // namespace stratagemm_python
