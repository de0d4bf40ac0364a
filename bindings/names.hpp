// Names that a text may have, such as those of policies.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stratagemm_bindings {

// The place of a text among names, or -1 and what is wrong with the text: where, and what may be written instead. Spaces
// are skipped.
std::ptrdiff_t find_name(std::string_view text, std::span<char const* const> names, std::string& error);

} // namespace stratagemm_bindings
