// What calls need of a CUDA device: cuda.cpp has it, or without_cuda.cpp where the headers of the toolkit are missing.
#pragma once

#include "dlpack.hpp"
#include "product.hpp"

#include <span>

namespace stratagemm_python {

// The names of policies over a device. None where the module was built without CUDA.
std::span<char const* const> device_policies();
// A product on the device of C, by the policy of device_policies() with this number. Returns when it is queued.
outcome multiply_on_device(product const& p, int policy);
made_plan make_plan_on_device(planned_shape const& s);
// check_structured() of arrays on a device, which copies the indices to the host, and waits.
outcome check_structured_on_device(structured const& s);
outcome find_low_rank_on_device(low_rank_call& call);
sg::result<std::shared_ptr<void>> device_memory(int device, dlpack::stream const& stream, std::size_t bytes);
// What is queued on `later` from now on begins after what is queued on `earlier`.
sg::status order_streams(int device, dlpack::stream const& earlier, dlpack::stream const& later);

} // namespace stratagemm_python
