#include "settings.hpp"

#include "../variables.hpp"
#include "beneath.hpp"
#include "report.hpp"

#include <string>

namespace stratagemm_blas {
namespace {

constexpr stratagemm_bindings::variables variables("stratagemm-blas");

settings read() {
    std::string_view text = variables.text("STRATAGEMM_POLICY");
    if (text.empty()) text = "host";
    std::string error;
    named_policy const* const policy = find_policy(text, error);
    if (!policy) variables.refuse("STRATAGEMM_POLICY", error);
    std::string_view const next = variables.text("STRATAGEMM_BLAS_NEXT");
    settings all{policy->policy, policy->name, variables.flops("STRATAGEMM_BLAS_MIN", 0),
                 variables.is_on("STRATAGEMM_BLAS_REPORT")};
    if (!next.empty())
        if (std::string const why = open_beneath(next.data()); !why.empty())
            variables.refuse("STRATAGEMM_BLAS_NEXT", why);
    if (all.reports) begin_report();
    return all;
}

} // namespace

settings const& environment() {
    static settings const all = read();
    return all;
}

} // namespace stratagemm_blas
