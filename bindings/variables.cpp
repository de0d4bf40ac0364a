#include "variables.hpp"

#include <cstdio>
#include <cstdlib>

namespace stratagemm_bindings {

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

double variables::flops(char const* name, double unset) const {
    std::string_view const x = text(name);
    if (x.empty()) return unset;
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
