#include "settings.hpp"

#include "../counts.hpp"
#include "beneath.hpp"

#include <string>

namespace stratagemm_blas {
namespace {

namespace bindings = stratagemm_bindings;

settings read() {
    constexpr char const* library = "stratagemm-blas";
    constexpr bindings::variables variables(library);
    settings all{variables.read("STRATAGEMM_BLAS", bindings::policy_names()), {}};
    all.chosen = bindings::policies()[static_cast<std::size_t>(all.policy)].policy;
    if (std::string_view const next = variables.text("STRATAGEMM_BLAS_NEXT"); !next.empty())
        if (std::string const why = open_beneath(next.data()); !why.empty())
            variables.refuse("STRATAGEMM_BLAS_NEXT", why);
    if (all.reports) bindings::call_counts::begin({library, all.policy_name, bindings::timed::work});
    return all;
}

} // namespace

settings const& environment() {
    static settings const all = read();
    return all;
}

} // namespace stratagemm_blas
