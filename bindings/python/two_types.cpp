// Products of matrices of two element types on the host.
#include "two_types.hpp"

#include "host_side.hpp"

namespace stratagemm_python {

outcome multiply_two_types(product const& p) {
    auto const* const host = std::get_if<sg::host>(p.policy);
    if (!host) return refuse_two_types(p.policy_name, "host");
    return multiply_two_types_on(host_side{*host}, p);
}

} // namespace stratagemm_python
