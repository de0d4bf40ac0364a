#include "settings.hpp"

#include "beneath.hpp"
#include "call.hpp"
#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace stratagemm_blas {
namespace {

[[noreturn]] void refuse_variable(char const* name, std::string const& why) {
    give_up((std::string(name) + ": " + why).c_str());
}
std::string_view text_of(char const* name) {
    char const* const text = std::getenv(name);
    return text ? text : "";
}
double smallest_of(std::string_view text) {
    if (text.empty()) return 0;
    char* end = nullptr;
    double const x = std::strtod(text.data(), &end);
    if (end != text.data() + text.size() || !(x >= 0))
        refuse_variable("STRATAGEMM_BLAS_MIN",
                        "'" + std::string(text) + "' is no number of flops, such as 1e6");
    return x;
}
bool is_on(char const* name) {
    std::string_view const text = text_of(name);
    if (text.empty() || text == "0") return false;
    if (text != "1") refuse_variable(name, "'" + std::string(text) + "' is neither 0 nor 1");
    return true;
}
settings read() {
    std::string_view text = text_of("STRATAGEMM_POLICY");
    if (text.empty()) text = "host";
    std::string error;
    named_policy const* const policy = find_policy(text, error);
    if (!policy) refuse_variable("STRATAGEMM_POLICY", error);
    std::string_view const next = text_of("STRATAGEMM_BLAS_NEXT");
    settings all{policy->policy, policy->name, smallest_of(text_of("STRATAGEMM_BLAS_MIN")),
                 is_on("STRATAGEMM_BLAS_REPORT")};
    if (!next.empty())
        if (std::string const why = open_beneath(next.data()); !why.empty())
            refuse_variable("STRATAGEMM_BLAS_NEXT", why);
    if (all.reports) begin_report();
    return all;
}

} // namespace

settings const& environment() {
    static settings const all = read();
    return all;
}

} // namespace stratagemm_blas
