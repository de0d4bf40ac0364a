// The policies that a text may name, such as STRATAGEMM_POLICY or an argument in Python, each a type of the library.
#pragma once

#include "names.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>

#include <variant>

namespace stratagemm_bindings {

namespace sg = stratagemm;

using any_policy =
    std::variant<sg::host, sg::reference, sg::recursive<sg::host>, sg::strassen<sg::host>,
                 sg::ozaki<sg::host>, sg::split<sg::host>, sg::verified<sg::host>, sg::automatic<sg::host>>;

struct named_policy {
    char const* name;
    any_policy policy;
};

// All policies of the host, and their names in that order.
std::span<named_policy const> policies();
std::span<char const* const> policy_names();
// The policy of these that a text names, or null and what is wrong with the text.
named_policy const* find_policy(std::string_view text, std::string& error);

} // namespace stratagemm_bindings
