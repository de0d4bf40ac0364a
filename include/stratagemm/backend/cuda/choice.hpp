// The choice of a product's engine and its configuration, by what each engine says that it takes.
#pragma once

#include "engines.hpp"

#include <optional>

STRATAGEMM_BEGIN

struct cuda_choice : cuda_way {
    cuda_configuration tile;
    bool by_reals = false; // complex numbers: the configuration and the way are of the product of real ones
};

// The best way of all engines of a list.
template <class Configuration = cuda_configuration>
cuda_best_of<Configuration> best_of_all(cuda_query const& q) {
    cuda_best_of<Configuration> best;
    Configuration::for_each([&]<class Engine>(Engine const&) {
        if (Engine::takes(q)) Engine::candidates(q, best);
    });
    return best;
}

// The cycles of a way that was chosen, among those that its engine names for another query.
struct cuda_cycles_of {
    cuda_choice const& chosen;
    double cycles = 0;

    double least() const { return 1e300; }
    template <class Engine>
    void operator()(Engine const& engine, cuda_way const& way) {
        if (way.part == chosen.part && way.whole == chosen.whole && way.together == chosen.together &&
            way.shifted == chosen.shifted && chosen.tile == engine)
            cycles = way.cycles;
    }
};

// The sides of the product of real numbers that replaces one product of complex numbers.
inline cuda_sides of_reals(cuda_sides const& s) { return {s.m, 2 * s.n, 2 * s.k, 1}; }
// Cycles to copy operands of two types in the wider type, whose elements have `element` bytes.
inline double cycles_of_widening(cuda_device const& d, cuda_sides const& s, cuda_layout const& layout,
                                 std::size_t element) {
    auto const bytes = [&](std::ptrdiff_t side, short narrow) {
        std::ptrdiff_t const each = narrow > 0 ? narrow + static_cast<std::ptrdiff_t>(element) : 0;
        return static_cast<double>(side) * static_cast<double>(s.k * s.count * each);
    };
    return cycles_of_copies(d, 1, bytes(s.m, layout.a_bytes) + bytes(s.n, layout.b_bytes));
}

inline cuda_choice choose(cuda_query const& q, cuda_configuration const& only);

// Complex numbers may be multiplied as real ones: A is copied, and B becomes a matrix of twice its size
// (kernels/reals.cu.hpp).
inline cuda_choice choose_reals(cuda_query const& q, char real_type, cuda_configuration const& with) {
    cuda_sides const real = oriented(real_type, of_reals(q.sides));
    bool const same_order =
        !q.invariant || cuda_order(q.device, real_type, real.k).on_tensor_cores == q.order.on_tensor_cores;
    if (!same_order || real.m > device_longest || real.n > device_longest || real.k > device_longest)
        return {};
    cuda_choice reals = choose({.device = q.device,
                                .type = real_type,
                                .element = q.element / 2,
                                .sides = real,
                                .invariant = q.invariant,
                                .of_complex = true},
                               with);
    // B is read once and written twice; A is copied if it does not lie along k.
    bool const copies_a = !q.layout.a_along_k;
    double const of_a = 2 * static_cast<double>(q.sides.m * q.sides.k * copies_a),
                 of_b = 3 * static_cast<double>(q.sides.k * q.sides.n);
    reals.cycles += cycles_of_copies(q.device, 1 + copies_a, (of_a + of_b) * static_cast<double>(q.element));
    reals.cycles *= static_cast<double>(q.sides.count);
    reals.by_reals = reals.tile.is_given();
    return reals;
}

// What the caller wants, if it can run.
inline std::optional<cuda_choice> choose_given(cuda_query const& q, char real_type,
                                               cuda_configuration const& only) {
    cuda_best_of<cuda_configuration> given;
    only.visit([&](auto const& engine) {
        if constexpr (requires { engine.candidates_as_given(q, given); })
            engine.candidates_as_given(q, given);
    });
    if (given.found) return cuda_choice{given.way, given.tile};
    if (!real_type) return {};
    bool const takes_reals = only.visit([&]<class Engine>(Engine const&) {
        if constexpr (has_tiles<Engine>) return Engine::fetches && Engine::takes_type(q.device, real_type);
        return false;
    });
    if (!takes_reals) return {};
    cuda_choice const reals = choose_reals(q, real_type, only);
    if (reals.by_reals && reals.tile.index() == only.index()) return reals;
    return {};
}

// `only` is a configuration that the caller wants for all products that can have it.
inline cuda_choice choose(cuda_query const& q, cuda_configuration const& only = {}) {
    char const real_type = q.type == 'c' ? 's' : q.type == 'z' ? 'd' : '\0';
    if (only.is_given())
        if (auto const given = choose_given(q, real_type, only)) return *given;
    cuda_query asked = q;
    asked.given = only.is_given();
    cuda_best_of<cuda_configuration> const all = best_of_all(asked);
    // Few columns need no copy of A.
    if (real_type && !cuda_narrow::takes(asked))
        if (cuda_choice const reals = choose_reals(asked, real_type, {});
            reals.by_reals && reals.cycles < all.way.cycles)
            return reals;
    return {all.way, all.tile};
}

// What an epilogue adds to the cycles of a choice, which is that of the product without: no epilogue changes the order of
// a sum. Nothing, if the caller wants a way that the engine does not name.
inline double cycles_after(int instructions, cuda_query const& q, cuda_choice const& chosen) {
    if (instructions == 0) return 0;
    if (chosen.by_reals) {
        cuda_choice one = chosen;
        one.by_reals = false;
        char const real_type = q.type == 'c' ? 's' : 'd';
        cuda_query const real{.device = q.device,
                              .type = real_type,
                              .element = q.element / 2,
                              .sides = oriented(real_type, of_reals(q.sides)),
                              .invariant = q.invariant,
                              .of_complex = true};
        return cycles_after(instructions, real, one) * static_cast<double>(q.sides.count);
    }
    auto const with = [&](int after) {
        cuda_query asked = q;
        asked.after = after;
        cuda_cycles_of found{chosen};
        chosen.tile.visit([&](auto const& engine) { engine.candidates(asked, found); });
        return found.cycles;
    };
    return with(instructions) - with(0);
}

STRATAGEMM_END
