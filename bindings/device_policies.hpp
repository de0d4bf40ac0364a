// The policies over a CUDA device that a text may name, each as a type of the library.
#pragma once

#include "device_names.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/backend/cuda.hpp>

#include <map>
#include <mutex>

namespace stratagemm_bindings {

namespace sg = stratagemm;

// What is chosen on a device is kept there, for all its streams and for all threads.
inline sg::automatic<sg::cuda> automatic_on(sg::cuda const& gpu) {
    static std::mutex mutex;
    static auto& all = *new std::map<int, sg::automatic<sg::cuda>>; // stays: programs multiply while they end
    std::lock_guard const lock(mutex);
    return all.try_emplace(gpu.device, gpu).first->second.over(gpu);
}

// f(policy)
template <class F>
auto with_device_policy(device_policy which, sg::cuda gpu, F const& f) {
    switch (which) {
    case device_policy::invariant: gpu.invariant = true; return f(gpu);
    case device_policy::strassen: return f(sg::strassen{gpu});
    case device_policy::ozaki: return f(sg::ozaki{gpu});
    case device_policy::automatic: return f(automatic_on(gpu));
    default: return f(gpu);
    }
}

} // namespace stratagemm_bindings
