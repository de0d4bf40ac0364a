// What the environment says: read once, at the first call.
#pragma once

#include "../device_names.hpp"

namespace stratagemm_cublas {

using stratagemm_bindings::device_policy;

struct settings {
    device_policy policy = device_policy::plain; // STRATAGEMM_POLICY
    bool is_given = false;                       // whether that is set: then it is asked for all products
    char const* policy_name = "";
    double smallest = 0;         // STRATAGEMM_CUBLAS_MIN: calls of fewer flops are left to the cuBLAS beneath
    bool reports = false;        // STRATAGEMM_CUBLAS_REPORT
    bool asks_of_cublas = false; // a variable of NVIDIA's changes how cuBLAS rounds
};

// Ends the program with a message if a variable is wrong.
settings const& environment();

} // namespace stratagemm_cublas
