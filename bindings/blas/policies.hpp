// The policies that STRATAGEMM_POLICY may name, each a type of the library.
#pragma once

#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>

#include <string>
#include <string_view>
#include <variant>

namespace stratagemm_blas {

namespace sg = stratagemm;

using any_policy = std::variant<sg::host, sg::reference, sg::recursive<sg::host>, sg::strassen<sg::host>,
                                sg::ozaki<sg::host>, sg::split<sg::host>, sg::verified<sg::host>>;

struct named_policy {
    char const* name;
    any_policy policy;
};

// The policy that a text names, or null and what is wrong with the text: where, and what may be written instead. Spaces
// are skipped.
named_policy const* find_policy(std::string_view text, std::string& error);

} // namespace stratagemm_blas
