// The names of policies over a CUDA device. device_policies.hpp has their types.
#pragma once

namespace stratagemm_bindings {

enum class device_policy { plain, invariant, strassen, ozaki, automatic };
// In that order.
inline constexpr char const* device_policy_names[] = {"cuda", "cuda(invariant)", "strassen(cuda)",
                                                      "ozaki(cuda)", "automatic(cuda)"};

} // namespace stratagemm_bindings
