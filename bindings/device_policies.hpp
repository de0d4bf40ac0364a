// The policies over a CUDA device that a text may name, each as a type of the library.
#pragma once

#include "device_names.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/cuda.hpp>

namespace stratagemm_bindings {

namespace sg = stratagemm;

// f(policy)
template <class F>
auto with_device_policy(device_policy which, sg::cuda gpu, F const& f) {
    switch (which) {
    case device_policy::invariant: gpu.invariant = true; return f(gpu);
    case device_policy::strassen: return f(sg::strassen{gpu});
    case device_policy::ozaki: return f(sg::ozaki{gpu});
    default: return f(gpu);
    }
}

} // namespace stratagemm_bindings
