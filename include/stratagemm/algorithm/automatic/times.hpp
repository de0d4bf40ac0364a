// What tune() (tuning.hpp) measured, for later choices: an entry of the store of programs for each machine and types of
// operands, with a line for each product.
//
// A line has two numbers for each candidate: one of its description, which says how the candidate multiplies, and seconds.
// A candidate whose description has changed, with a tile or an instruction set, has no time any more.
#pragma once

#include "../../core/leaf.hpp"
#include "../../core/policy.hpp"
#include "../../device/kept_lines.hpp"

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
        std::string line;
        char one[64];
        for (measured_time const& x : all) {
            __builtin_snprintf(one, sizeof(one), "%llx %.9e ", static_cast<unsigned long long>(x.candidate),
                               x.seconds);
            line += one;
        }
        return line;
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
            at = *end == ' ' ? end + 1 : end;
        }
        return found;
    }
};

// All times that this process knows, by entries: policies and threads share them.
class known_times {
public:
    static times find(std::string const& folder, program_key const& key, std::string const& product) {
        entry& e = entry_of(folder, key);
        turn const mine(e);
        return times::parsed(e.lines.find(product));
    }
    // For this process, and in a store for later ones.
    template <class Store>
    static void keep(Store const& store, program_key const& key, std::string const& product,
                     times const& found) {
        entry& e = entry_of(store.directory().string(), key);
        std::string const text = found.text();
        {
            turn const mine(e);
            e.lines.set(product, text);
        }
        e.lines.store(store, product, text);
    }

private:
    struct entry {
        kept_lines<> lines;
        entry* next = nullptr; // one that was there before
        bool taken = false;    // by a thread that looks at the lines
    };
    class turn {
    public:
        explicit turn(entry& e) : e_(e) {
            while (__atomic_test_and_set(&e.taken, __ATOMIC_ACQUIRE)) {
            }
        }
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;
        ~turn() { __atomic_clear(&e_.taken, __ATOMIC_RELEASE); }

    private:
        entry& e_;
    };

    static entry* known(std::string const& folder, program_key const& key) {
        entry* e = __atomic_load_n(&last_, __ATOMIC_ACQUIRE);
        while (e && !e->lines.are_of(folder, key)) e = e->next;
        return e;
    }
    static entry& entry_of(std::string const& folder, program_key const& key) {
        if (entry* const e = known(folder, key)) return *e;
        kept_lines lines(folder, key);
        lines.read(); // before it is known, so that no other thread waits for a file
        auto* const made = new entry{std::move(lines)};
        for (;;) {
            made->next = __atomic_load_n(&last_, __ATOMIC_ACQUIRE);
            if (entry* const e = known(folder, key)) { // another thread was first
                delete made;
                return *e;
            }
            if (__atomic_compare_exchange_n(&last_, &made->next, made, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
                return *made;
        }
    }

    static inline entry* last_ =
        nullptr; // entries stay: other objects that end with the process may multiply
};

template <class Leaf, class S>
program_key key_of_times(Leaf const& leaf) {
    return {leaf.machine(), "automatic",
            std::string(type_name<typename S::a_type>()) + ' ' + type_name<typename S::b_type>() + ' ' +
                type_name<typename S::c_type>()};
}
template <class S>
std::string name_of_product(S const& s) {
    char sides[120];
    __builtin_snprintf(sides, sizeof(sides), "%td x %td x %td, %td, %d", s.m, s.n, s.k, s.count, s.adds);
    return sides;
}
template <class Leaf, class S>
times times_for([[maybe_unused]] Leaf const& leaf, [[maybe_unused]] S const& s) {
    if constexpr (named_leaf<Leaf>)
        return known_times::find(standard_cache_folder(), key_of_times<Leaf, S>(leaf), name_of_product(s));
    else
        return {};
}

} // namespace automatic_parts

STRATAGEMM_END
