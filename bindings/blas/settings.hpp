// What the environment says: read once, at the first call. STRATAGEMM_BLAS_NEXT is opened then (beneath.hpp).
#pragma once

#include "../policies.hpp"

namespace stratagemm_blas {

using stratagemm_bindings::any_policy;
using stratagemm_bindings::find_policy;
using stratagemm_bindings::named_policy;

struct settings {
    any_policy policy;       // STRATAGEMM_POLICY
    char const* policy_name; // the name that stands there
    double smallest;         // STRATAGEMM_BLAS_MIN: calls of fewer flops are left to the BLAS beneath
    bool reports;            // STRATAGEMM_BLAS_REPORT
};

// Ends the program with a message if a variable is wrong.
settings const& environment();

} // namespace stratagemm_blas
