#include "settings.hpp"

#include "../names.hpp"
#include "../variables.hpp"
#include "report.hpp"

namespace stratagemm_cublas {
namespace {

constexpr stratagemm_bindings::variables variables("stratagemm-cublas");

// Emulated or rounded products: a user who asks cuBLAS for these gets them there.
bool is_asked_of_cublas() {
    for (char const* const name :
         {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION", "NVIDIA_TF32_OVERRIDE"})
        if (std::string_view const text = variables.text(name); !text.empty() && text != "0") return true;
    return false;
}

settings read() {
    settings all;
    std::string_view const text = variables.text("STRATAGEMM_POLICY");
    auto const& names = stratagemm_bindings::device_policy_names;
    std::string error;
    std::ptrdiff_t const at = text.empty() ? 0 : stratagemm_bindings::find_name(text, names, error);
    if (at < 0) variables.refuse("STRATAGEMM_POLICY", error);
    all.policy = device_policy{static_cast<int>(at)};
    all.is_given = !text.empty();
    all.policy_name = names[at];
    all.smallest = variables.flops("STRATAGEMM_CUBLAS_MIN", 0);
    all.reports = variables.is_on("STRATAGEMM_CUBLAS_REPORT");
    all.asks_of_cublas = is_asked_of_cublas();
    if (all.reports) begin_report();
    return all;
}

} // namespace

settings const& environment() {
    static settings const all = read();
    return all;
}

} // namespace stratagemm_cublas
