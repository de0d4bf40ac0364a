// The module without CUDA: every use of a device says why there is none.
#include "device.hpp"

namespace stratagemm_python {
namespace {

sg::status no_cuda() {
    return sg::failure(
        sg::errc::unsupported,
        "cuda: this module was built without the headers of the CUDA toolkit: build it again where they "
        "are (docs/python.md)");
}

} // namespace

std::span<char const* const> device_policies() { return {}; }
outcome multiply_on_device(product const&, int) { return {no_cuda()}; }
made_plan make_plan_on_device(planned_shape const&) { return {nullptr, {no_cuda()}}; }
outcome check_structured_on_device(structured const&) { return {no_cuda()}; }
outcome find_low_rank_on_device(low_rank_call&) { return {no_cuda()}; }
sg::result<std::shared_ptr<void>> device_memory(int, dlpack::stream const&, std::size_t) { return no_cuda(); }
sg::status order_streams(int, dlpack::stream const&, dlpack::stream const&) { return no_cuda(); }

} // namespace stratagemm_python
