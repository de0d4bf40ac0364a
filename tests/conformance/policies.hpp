// The policies under test. A new one is one line here.
#pragma once

#include "eager.hpp"

#include <stratagemm/stratagemm.hpp>

namespace trials {

namespace sg = stratagemm;

// Blocks small enough that the sizes of the suite are divided a few times.
inline constexpr sg::recursive_options small_blocks{.leaf_bytes = 6000};

inline constexpr auto original = sg::strassen_variant::strassen;

inline constexpr auto by_product = sg::ozaki_scaling::product;

// Layers over the host take each epilogue as one type. The leaves compile it into their loops, and take it as its own.
template <class P>
inline constexpr bool takes_any_epilogue = !std::is_same_v<P, sg::host> && !std::is_same_v<P, sg::reference>;

// f(name, policy) for each whose turn it is.
template <class F>
void for_each_policy(std::uint64_t turn, F&& f) {
    sg::host const one{.threads = 1}, two{.threads = 2};
    f("reference", sg::reference{});
    f("host, 1 thread", one);
    f("host, 2 threads", two);
    f("recursive over host", sg::recursive{two, small_blocks});
    f("recursive over reference", sg::recursive{sg::reference{}, small_blocks});
    f("strassen over host", sg::strassen{one});
    f("strassen over host, 2 levels", sg::strassen{two, {.levels = 2}});
    f("strassen's own form over host", sg::strassen{one, {.variant = original}});
    f("strassen's own form over host, 2 levels", sg::strassen{two, {.levels = 2, .variant = original}});
    f("strassen over reference", sg::strassen{sg::reference{}, {.levels = 2}});
    f("strassen over recursive over host", sg::strassen{sg::recursive{one, small_blocks}});
    f("recursive over strassen over host", sg::recursive{sg::strassen{one}, small_blocks});

    f("verified over host", sg::verified{two});

    // Those that do many products take turns, and rest now and then.
    switch (turn % 10) {
    case 0: return f("ozaki over host", sg::ozaki{eager{untiled{two}}});
    case 1: return f("ozaki over host, 5 slices", sg::ozaki{one, {.slices = 5}});
    case 2:
        return f("ozaki over reference, 9 moduli",
                 sg::ozaki{sg::reference{}, {.moduli = 9, .scaling = by_product}});
    case 3: return f("strassen over ozaki over host", sg::strassen{sg::ozaki{two, {.moduli = 14}}});
    case 4:
        return f("recursive over ozaki over host",
                 sg::recursive{sg::ozaki{eager{untiled{one}}}, small_blocks});
    case 5: return f("split over host", sg::split{eager{untiled{two}}});
    case 6: return f("split over host, 3 products", sg::split{one, {.products = 3}});
    case 7: return f("split over reference, 9 products", sg::split{sg::reference{}, {.products = 9}});
    case 8: return f("strassen over split over host", sg::strassen{sg::split{two, {.products = 6}}});
    case 9:
        return f("recursive over verified over strassen over host",
                 sg::recursive{sg::verified{sg::strassen{one}}, small_blocks});
    default: return;
    }
}

// Policies that differ in nothing but the number of threads: their results are the same bits.
template <class F>
void for_each_team(F&& f) {
    sg::host const one{.threads = 1}, two{.threads = 2}, three{.threads = 3};
    f("host", one, two, three);
    f("recursive over host", sg::recursive{one, small_blocks}, sg::recursive{two, small_blocks},
      sg::recursive{three, small_blocks});
    f("verified over host", sg::verified{one}, sg::verified{two}, sg::verified{three});
}

} // namespace trials
