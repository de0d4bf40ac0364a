#include "names.hpp"

namespace stratagemm_bindings {
namespace {

// How many characters of a text, spaces and all, agree with a name, and whether they are all of both.
struct agreement {
    std::size_t length;
    bool whole;
};
agreement compare(std::string_view text, std::string_view name) {
    std::size_t at = 0, matched = 0;
    auto const skip = [&] {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    };
    for (skip(); at < text.size() && matched < name.size() && text[at] == name[matched]; skip())
        ++at, ++matched;
    return {at, at == text.size() && matched == name.size()};
}

} // namespace

std::ptrdiff_t find_name(std::string_view text, std::span<char const* const> names, std::string& error) {
    std::size_t furthest = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        agreement const found = compare(text, names[i]);
        if (found.whole) return static_cast<std::ptrdiff_t>(i);
        if (found.length > furthest) furthest = found.length;
    }
    error = "'" + std::string(text) + "' names no policy: ";
    error += furthest < text.size() ? "character " + std::to_string(furthest + 1) + " is wrong"
                                    : std::string("it ends too early");
    error += ". Valid names:";
    for (char const* const name : names) (error += name == names.front() ? " " : ", ") += name;
    return -1;
}

} // namespace stratagemm_bindings
