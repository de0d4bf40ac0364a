#include "variables.hpp"

#include "names.hpp"

#include <cstdio>
#include <cstdlib>

namespace stratagemm_bindings {

settings variables::read(std::string const& binding, std::span<char const* const> names) const {
    settings all;
    std::string_view const policy = text("STRATAGEMM_POLICY");
    all.is_given = !policy.empty();
    std::string error;
    if (all.is_given) all.policy = find_name(policy, names, error);
    if (all.policy < 0) refuse("STRATAGEMM_POLICY", error);
    all.policy_name = names[static_cast<std::size_t>(all.policy)];
    all.smallest = flops((binding + "_MIN").c_str());
    all.reports = is_on((binding + "_REPORT").c_str());
    return all;
}

std::string_view variables::text(char const* name) {
    char const* const found = std::getenv(name);
    return found ? found : "";
}

bool variables::is_on(char const* name) const {
    std::string_view const x = text(name);
    if (x.empty() || x == "0") return false;
    if (x != "1") refuse(name, "'" + std::string(x) + "' is neither 0 nor 1");
    return true;
}

double variables::flops(char const* name) const {
    std::string_view const x = text(name);
    if (x.empty()) return 0;
    char* end = nullptr;
    double const value = std::strtod(x.data(), &end);
    if (end != x.data() + x.size() || !(value >= 0))
        refuse(name, "'" + std::string(x) + "' is no number of flops, such as 1e6");
    return value;
}

void variables::refuse(char const* name, std::string const& why) const {
    give_up((std::string(name) + ": " + why).c_str());
}

void variables::give_up(char const* what) const {
    std::fprintf(stderr, "%s: %s\n", library_, what);
    std::exit(2);
}

} // namespace stratagemm_bindings
