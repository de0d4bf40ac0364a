// The rates that estimate() of the host counts with where the tile unit of AMX multiplies: constants, and a stored
// measurement, which only tune() (host/tuning.hpp) writes. No product measures anything.
//
// The constants are the rates that one thread reached in a fast clock. Tiles do not always reach this rate: there are
// processors and virtual machines where, for seconds to minutes at a time, the tile unit runs at a quarter of its rate
// and vectors at three quarters of theirs. Against vectors the unit is then at a third of its rate here. Until the unit
// is measured, it counts with that third: a layer that leaves the vectors for the tiles by such an estimate gains in
// either clock. By these rates products of int8 pay at no size for doubles as accurate as doubles (16 or 17 of them)
// and floats as accurate as floats (9), and from about 2048 for doubles as accurate as floats.
#pragma once

#include "../../device/program_entry.hpp"
#include "isa.hpp"

#include <cstdint>

STRATAGEMM_BEGIN

// Operations a second of the tile unit, and of vectors of floats beside it.
struct host_rates {
    static constexpr double int8 = 3500e9, bfloat16 = 1430e9, vectors = 215e9;
};

// The rate of the tile unit beside that of vectors, in thousandths of what host_rates say.
class host_tile_rate {
public:
    static constexpr int unmeasured = 333, least = 20, most = 8000;

    // The rate as a factor, which is the same in every call of a process until tune() sets it. This is a template, as
    // the functions that it calls are, so that a program that needs no rate does not compile it.
    template <class Text = std::string>
    static double get() {
        int rate = __atomic_load_n(&current_, __ATOMIC_RELAXED);
        if (rate == 0) {
            int const found = read<Text>();
            if (__atomic_compare_exchange_n(&current_, &rate, found, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
                rate = found; // else another thread was first
        }
        return rate * 1e-3;
    }
    // Sets the rate. 0: the next call reads the rate again.
    static void set(int rate) { __atomic_store_n(&current_, rate, __ATOMIC_RELAXED); }

    // The rate that the cache has for this processor, if that is valid.
    template <class Text = std::string>
    [[gnu::cold, gnu::noinline]] static int read() {
        auto found = or_no_memory(stored<Text>);
        return found ? *found : unmeasured;
    }
    template <class Text = std::string>
    [[gnu::cold]] static program_key key() {
        char rates[64];
        __builtin_snprintf(rates, sizeof(rates), "%f %f", host_rates::int8, host_rates::vectors);
        return {processor<Text>(), "tile rate", rates};
    }

    // The processor's family, model and stepping, and its name. Asked once: under a hypervisor each `cpuid` leaves the
    // virtual machine, and all of them take longer than `automatic` takes to choose.
    template <class Text>
    static Text const& processor() {
        static Text const asked = ask_processor<Text>();
        return asked;
    }

private:
    template <class Text>
    [[gnu::cold]] static Text ask_processor() {
#if defined(__x86_64__)
        auto const ask = [](unsigned leaf, unsigned* registers) {
            registers[0] = leaf, registers[2] = 0;
            asm volatile("cpuid"
                         : "+a"(registers[0]), "=b"(registers[1]), "+c"(registers[2]), "=d"(registers[3]));
        };
        unsigned about[4], name[13] = {};
        ask(1, about);
        for (unsigned x = 0; x < 3; ++x) ask(0x80000002 + x, name + 4 * x);
        char text[80];
        __builtin_snprintf(text, sizeof(text), "host, %u %s", about[0], reinterpret_cast<char const*>(name));
        return text;
#else
        return "host, ";
#endif
    }
    template <class Text>
    [[gnu::cold]] static result<int> stored() {
        Text text;
        if (!load_entry(standard_cache_folder<Text>(), key<Text>(), text)) return unmeasured;
        char* end = nullptr;
        long const rate = std::strtol(text.c_str(), &end, 10);
        return *end == '\0' && rate >= least && rate <= most ? static_cast<int>(rate) : unmeasured;
    }

    static inline int current_ = 0;
};

STRATAGEMM_END
