// What the environment says: read once, at the first call. STRATAGEMM_BLAS_NEXT is opened then (beneath.hpp).
#pragma once

#include "../policies.hpp"
#include "../variables.hpp"
#include "device.hpp"

namespace stratagemm_blas {

using stratagemm_bindings::any_policy;

struct settings : stratagemm_bindings::settings {
    // What STRATAGEMM_POLICY names: a policy over a device, or one of the host.
    device_policy device;
    any_policy chosen;
    // What ScaLAPACK multiplies at once: the k of its local products.
    int block = 512;
};

// Ends the program with a message if a variable is wrong.
settings const& environment();

} // namespace stratagemm_blas
