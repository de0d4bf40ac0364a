// What tune() (tuning.hpp) measured, for later choices: an entry of the store of programs for each machine and product.
//
// An entry has a line for each candidate: a number of its description, which says how the candidate multiplies, and
// seconds. A candidate whose description has changed, with a tile or an instruction set, has no time any more.
#pragma once

#include "../../core/leaf.hpp"
#include "../../core/policy.hpp"
#include "../../device/program_entry.hpp"

#include <cstdlib>
#include <vector>

STRATAGEMM_BEGIN

namespace automatic_parts {

struct measured_time {
    std::uint64_t candidate; // hash_bytes() of its description
    double seconds;
};

// The times of a product's candidates; none if it was not measured.
struct times {
    std::vector<measured_time> all{};

    // Seconds; less than 0 if there are none.
    double of(std::string const& description) const {
        std::uint64_t const candidate = hash_bytes(description);
        for (measured_time const& x : all)
            if (x.candidate == candidate) return x.seconds;
        return -1;
    }
    std::string text() const {
        std::string lines;
        char line[64];
        for (measured_time const& x : all) {
            __builtin_snprintf(line, sizeof(line), "%llx %.9e\n",
                               static_cast<unsigned long long>(x.candidate), x.seconds);
            lines += line;
        }
        return lines;
    }
    static times parsed(std::string const& text) {
        times found;
        for (char const* at = text.c_str(); *at;) {
            char* end = nullptr;
            measured_time x{};
            x.candidate = std::strtoull(at, &end, 16);
            x.seconds = std::strtod(end, &end);
            if (end == at || !(x.seconds > 0)) break;
            found.all.push_back(x);
            at = *end == '\n' ? end + 1 : end;
        }
        return found;
    }
};

template <class Leaf, class S>
program_key key_of_times(Leaf const& leaf, S const& s) {
    char sides[120];
    __builtin_snprintf(sides, sizeof(sides), "automatic %td x %td x %td, %td, %d", s.m, s.n, s.k, s.count,
                       s.adds);
    return {leaf.machine(), sides,
            std::string(type_name<typename S::a_type>()) + ' ' + type_name<typename S::b_type>() + ' ' +
                type_name<typename S::c_type>()};
}
template <class Leaf, class S>
times times_for([[maybe_unused]] Leaf const& leaf, [[maybe_unused]] S const& s) {
    std::string text;
    if constexpr (named_leaf<Leaf>)
        if (load_entry(standard_cache_folder(), key_of_times(leaf, s), text)) return times::parsed(text);
    return {};
}

} // namespace automatic_parts

STRATAGEMM_END
