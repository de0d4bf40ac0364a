// What a product says, as an exception of Python.
#pragma once

#include "product.hpp"
#include "python.hpp"

namespace stratagemm_python {

inline void check(outcome const& o) {
    if (o.status) return;
    if (o.is_of_types) raise_type("%s", o.status.error().what());
    raise_error(o.status.error());
}

} // namespace stratagemm_python
