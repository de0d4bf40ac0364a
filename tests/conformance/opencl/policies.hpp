// The policies under test on OpenCL devices. A new one is one line here.
#pragma once

#include "mirrored.hpp"

#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/algorithm/strassen.hpp>

namespace trials {

// f(name, policy) for each.
template <class F>
void for_each_policy(F&& f) {
    sg::opencl const device;
    f("opencl", mirrored{device, device});
    f("strassen over opencl", mirrored{device, sg::strassen{device}});
    f("recursive over strassen over opencl",
      mirrored{device, sg::recursive{sg::strassen{device}, {.leaf_bytes = 6000}}});
}

} // namespace trials
