// The policies under test, each named as a caller writes it. A new policy is one line here. A policy whose
// outermost layer is new is a word in tests/CMakeLists.txt, too.
#pragma once

#include "eager.hpp"
#include "reference_products.hpp"
#include "trial.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>

namespace trials {

namespace sg = stratagemm;

// Blocks small enough that the sizes of the suite are divided a few times.
inline constexpr sg::recursive_options small_blocks{.leaf_bytes = 6000};

inline constexpr auto original = sg::strassen_variant::strassen, plain = sg::strassen_variant::plain,
                      by_323 = sg::strassen_variant::by_323, by_424 = sg::strassen_variant::by_424;

inline constexpr auto by_product = sg::ozaki_scaling::product;

// Approximate policies: short sums are exact, and longer ones within what they promise.
inline constexpr sg::monte_carlo_options some_draws{
    .tolerance = 0.5, .confidence = 0.9, .otherwise = sg::otherwise::exact};
inline constexpr sg::sketched_options short_sketch{
    .tolerance = 0.5, .confidence = 0.9, .otherwise = sg::otherwise::exact};
inline constexpr sg::compressed_options few_buckets{
    .tolerance = 0.5, .confidence = 0.9, .otherwise = sg::otherwise::exact};

// Layers over the host take each epilogue as one type. The leaves compile it into their loops, and take it as its own.
template <class P>
inline constexpr bool takes_any_epilogue = !std::is_same_v<P, sg::host> && !std::is_same_v<P, sg::reference>;

// f(name, policy) for each whose turn it is. `many` is a team of 1 to 7 threads.
template <class F>
void for_each_policy(std::uint64_t turn, F&& f) {
    sg::host const one{.threads = 1}, many{.threads = threads_in(turn)};
    f("reference", sg::reference{});
    f("host{.threads = 1}", one);
    f("host{.threads = threads_in(turn)}", many);
    f("recursive{host}", sg::recursive{many, small_blocks});
    f("recursive{reference}", sg::recursive{sg::reference{}, small_blocks});
    f("strassen{host, {.levels = 1}}", sg::strassen{one, {.levels = 1}});
    f("strassen{host, {.levels = 2}}", sg::strassen{many, {.levels = 2}});
    f("strassen{host, {.levels = 1, .variant = strassen_variant::strassen}}",
      sg::strassen{one, {.levels = 1, .variant = original}});
    f("strassen{host, {.levels = 2, .variant = strassen_variant::strassen}}",
      sg::strassen{many, {.levels = 2, .variant = original}});
    f("strassen{reference, {.levels = 2}}", sg::strassen{sg::reference{}, {.levels = 2}});
    f("strassen{recursive{host}, {.levels = 1}}",
      sg::strassen{sg::recursive{one, small_blocks}, {.levels = 1}});
    f("recursive{strassen{host, {.levels = 1}}}",
      sg::recursive{sg::strassen{one, {.levels = 1}}, small_blocks});
    f("verified{host}", sg::verified{many});

    switch (turn % 4) { // these, too
    case 0:
        f("strassen{host, {.levels = 1, .variant = strassen_variant::plain}}",
          sg::strassen{one, {.levels = 1, .variant = plain}});
        break;
    case 1:
        f("strassen{host, {.levels = 1, .variant = strassen_variant::by_323}}",
          sg::strassen{many, {.levels = 1, .variant = by_323}});
        break;
    case 2:
        f("strassen{host, {.levels = 2, .variant = strassen_variant::by_424}}",
          sg::strassen{one, {.levels = 2, .variant = by_424}});
        break;
    default:
        f("strassen{reference, {.levels = 2, .variant = strassen_variant::by_323}}",
          sg::strassen{sg::reference{}, {.levels = 2, .variant = by_323}});
    }

    switch (turn % 3) {
    case 0:
        f("monte_carlo{host, {.tolerance = 0.5, .confidence = 0.9, .otherwise = otherwise::exact}}",
          sg::monte_carlo{laborious{many}, some_draws});
        break;
    case 1:
        f("sketched{host, sketches::sparse_sign{4}, {.tolerance = 0.5, .confidence = 0.9, "
          ".otherwise = otherwise::exact}}",
          sg::sketched{laborious{many}, sg::sketches::sparse_sign{4}, short_sketch});
        break;
    default:
        f("monte_carlo{reference, {.tolerance = 0.5, .confidence = 0.9, .otherwise = otherwise::exact}}",
          sg::monte_carlo{laborious{sg::reference{}}, some_draws});
        if (turn % 9 == 2) // whose transforms take a while
            f("compressed{host, {.tolerance = 0.5, .confidence = 0.9, .otherwise = otherwise::exact}}",
              sg::compressed{laborious{many}, few_buckets});
    }

    // Of layers that are tried by themselves: what is taken is the one, or the other.
    if (turn % 10 == 8)
        f("automatic{strassen{host, {.levels = 1}}, host, {.normwise = true}}",
          sg::automatic{sg::strassen{one, {.levels = 1}}, laborious{many}, {.normwise = true}});
    else if (turn % 10 == 3)
        f("automatic{ozaki{host}, host}", sg::automatic{sg::ozaki{eager{untiled{many}}}, laborious{many}});

    // Those that do many products take turns, and rest now and then.
    switch (turn % 10) {
    case 0: return f("ozaki{host}", sg::ozaki{eager{untiled{many}}});
    case 1: return f("ozaki{host, {.slices = 5}}", sg::ozaki{one, {.slices = 5}});
    case 2:
        return f("ozaki{reference, {.moduli = 9, .scaling = ozaki_scaling::product}}",
                 sg::ozaki{sg::reference{}, {.moduli = 9, .scaling = by_product}});
    case 3:
        return f("strassen{ozaki{host, {.moduli = 14}}, {.levels = 1}}",
                 sg::strassen{sg::ozaki{many, {.moduli = 14}}, {.levels = 1}});
    case 4: return f("recursive{ozaki{host}}", sg::recursive{sg::ozaki{eager{untiled{one}}}, small_blocks});
    case 5: return f("split{host}", sg::split{eager{untiled{many}}});
    case 6: return f("split{host, {.products = 3}}", sg::split{one, {.products = 3}});
    case 7: return f("split{reference, {.products = 9}}", sg::split{sg::reference{}, {.products = 9}});
    case 8:
        return f("strassen{split{host, {.products = 6}}, {.levels = 1}}",
                 sg::strassen{sg::split{many, {.products = 6}}, {.levels = 1}});
    case 9:
        f("verified{reference}", sg::verified{sg::reference{}});
        return f("recursive{verified{strassen{host, {.levels = 1}}}}",
                 sg::recursive{sg::verified{sg::strassen{one, {.levels = 1}}}, small_blocks});
    default: return;
    }
}

// Policies that differ in nothing but the number of threads: their results are the same bits.
template <class F>
void for_each_team(F&& f) {
    sg::host const one{.threads = 1}, two{.threads = 2}, three{.threads = 3}, seven{.threads = 7};
    f("host", one, two, three, seven);
    f("recursive{host}", sg::recursive{one, small_blocks}, sg::recursive{two, small_blocks},
      sg::recursive{three, small_blocks}, sg::recursive{seven, small_blocks});
    f("verified{host}", sg::verified{one}, sg::verified{two}, sg::verified{three}, sg::verified{seven});
    auto const draws = [](sg::host const& by) { return sg::monte_carlo{laborious{by}, some_draws}; };
    f("monte_carlo{host}", draws(one), draws(two), draws(three), draws(seven));
    auto const sketch = [](sg::host const& by) {
        return sg::sketched{laborious{by}, sg::sketches::sparse_sign{4}, short_sketch};
    };
    f("sketched{host}", sketch(one), sketch(two), sketch(three), sketch(seven));
}

} // namespace trials
