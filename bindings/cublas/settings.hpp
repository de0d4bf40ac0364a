// What the environment says: read once, at the first call.
#pragma once

#include "../device_names.hpp"
#include "../variables.hpp"

namespace stratagemm_cublas {

using stratagemm_bindings::device_policy;

struct settings : stratagemm_bindings::settings {
    bool asks_of_cublas = false; // a variable of NVIDIA's changes how cuBLAS rounds

    device_policy chosen() const { return device_policy{static_cast<int>(policy)}; }
};

// Ends the program with a message if a variable is wrong.
settings const& environment();

} // namespace stratagemm_cublas
