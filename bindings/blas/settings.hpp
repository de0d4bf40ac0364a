// What the environment says: read once, at the first call. STRATAGEMM_BLAS_NEXT is opened then (beneath.hpp).
#pragma once

#include "../policies.hpp"
#include "../variables.hpp"

namespace stratagemm_blas {

using stratagemm_bindings::any_policy;

struct settings : stratagemm_bindings::settings {
    any_policy chosen; // what STRATAGEMM_POLICY names
};

// Ends the program with a message if a variable is wrong.
settings const& environment();

} // namespace stratagemm_blas
