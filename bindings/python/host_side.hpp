// The memory of the host, as structured.hpp has sides.
#pragma once

#include "stated.hpp"

#include <stratagemm/backend/host.hpp>

namespace stratagemm_python {

struct host_side {
    sg::host policy;

    template <class X>
    X place(X const& x) const {
        return x;
    }
    template <class S>
    using steps = steps_of<S>;
};

} // namespace stratagemm_python
