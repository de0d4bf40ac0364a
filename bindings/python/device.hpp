// What calls need of a CUDA device: cuda.cpp has it, or without_cuda.cpp where the headers of the toolkit are missing.
#pragma once

#include "dlpack.hpp"
#include "product.hpp"

#include <span>

namespace stratagemm_python {

// The names of policies over a device. None where the module was built without CUDA.
std::span<char const* const> device_policies();
// A product on a device and a stream, by the policy of device_policies() with this number. Returns when it is queued.
outcome multiply_on_device(product const& p, int policy, dlpack::stream const& stream);
// What the policy would do.
outcome describe_on_device(planned_shape const& s, int device, int policy, std::string& text);
sg::result<std::shared_ptr<void>> device_memory(int device, dlpack::stream const& stream, std::size_t bytes);
// What is queued on `later` from now on begins after what is queued on `earlier`.
sg::status order_streams(int device, dlpack::stream const& earlier, dlpack::stream const& later);

} // namespace stratagemm_python
