#include "settings.hpp"

#include "../counts.hpp"
#include "beneath.hpp"

#include <charconv>
#include <iterator>
#include <string>
#include <vector>

namespace stratagemm_blas {
namespace {

namespace bindings = stratagemm_bindings;

int block_of(bindings::variables const& variables) {
    constexpr char const* name = "STRATAGEMM_BLAS_BLOCK";
    std::string_view const x = variables.text(name);
    int block = settings{}.block;
    if (x.empty()) return block;
    auto const [end, error] = std::from_chars(x.data(), x.data() + x.size(), block);
    if (error != std::errc{} || end != x.data() + x.size() || block < 1)
        variables.refuse(name, "'" + std::string(x) + "' is no number of rows, such as 512");
    return block;
}

settings read() {
    constexpr char const* library = "stratagemm-blas";
    constexpr bindings::variables variables(library);
    auto const host = bindings::policy_names(), devices = device_policy_names();
    std::vector<char const*> names(host.begin(), host.end());
    names.insert(names.end(), devices.begin(), devices.end());
    settings all{variables.read("STRATAGEMM_BLAS", names), {}, {}, block_of(variables)};
    if (auto const on_device = all.policy - std::ssize(host); on_device < 0)
        all.chosen = bindings::policies()[static_cast<std::size_t>(all.policy)].policy;
    else if (std::string const why = open_device(on_device, all.device); !why.empty())
        variables.refuse("STRATAGEMM_POLICY", std::string(all.policy_name) + ": " + why);
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
