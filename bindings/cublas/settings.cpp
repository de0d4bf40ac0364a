#include "settings.hpp"

#include "../counts.hpp"
#include "report.hpp"

namespace stratagemm_cublas {
namespace {

namespace bindings = stratagemm_bindings;

// Emulated or rounded products: a user who asks cuBLAS for these gets them there.
bool is_asked_of_cublas(bindings::variables const& variables) {
    for (char const* const name :
         {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION", "NVIDIA_TF32_OVERRIDE"})
        if (std::string_view const text = variables.text(name); !text.empty() && text != "0") return true;
    return false;
}

settings read() {
    constexpr char const* library = "stratagemm-cublas";
    constexpr bindings::variables variables(library);
    settings all{variables.read("STRATAGEMM_CUBLAS", bindings::device_policy_names),
                 is_asked_of_cublas(variables)};
    if (all.reports)
        bindings::call_counts::begin({library, all.policy_name, bindings::timed::queueing, print_left});
    return all;
}

} // namespace

settings const& environment() {
    static settings const all = read();
    return all;
}

} // namespace stratagemm_cublas
