// The search for the fastest of many candidates, under a budget of time: those that are known to be good,
// then some at random, then the neighbours of the best, as long as that helps.
//
// It knows nothing of kernels: a candidate is a choice of one value for each parameter, legal() says whether
// it can be at all, and measure() what it costs. Neither the order of what is tried nor the result depends on
// anything but the seed, the budget and what measure() says.
#pragma once

#include "../core/config.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

STRATAGEMM_BEGIN

using search_point = std::vector<short>; // a value for each parameter

struct search_problem {
    std::vector<std::vector<short>> values; // of each parameter, in order: neighbours are next to each other
    std::function<bool(search_point const&)> legal;
    std::function<double(search_point const&)> measure; // seconds; below zero if it fails or is wrong
    std::function<bool()> more;                         // whether there is time left
    std::vector<search_point> known;                    // tried first; need not be made of `values`
    std::uint64_t seed = 1;
};

struct search_result {
    search_point best; // empty if nothing could be measured
    double seconds = -1;
    int measured = 0;
};

inline search_result search(search_problem const& p) {
    search_result found;
    std::set<search_point> tried;
    auto attempt = [&](search_point const& x) {
        if (!p.legal(x) || !tried.insert(x).second) return false;
        double const seconds = p.measure(x);
        ++found.measured;
        if (seconds < 0 || (found.seconds >= 0 && seconds >= found.seconds)) return false;
        found.best = x, found.seconds = seconds;
        return true;
    };
    for (search_point const& x : p.known)
        if (p.more()) attempt(x);

    // As many at random as there are parameters, times four; most draws are not legal.
    std::uint64_t state = p.seed;
    auto const below = [&](std::size_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(state >> 33) % n;
    };
    int const wanted = found.measured + 4 * static_cast<int>(p.values.size());
    for (int draws = 0; draws < 100000 && found.measured < wanted && p.more(); ++draws) {
        search_point x;
        for (auto const& choices : p.values) x.push_back(choices[below(choices.size())]);
        attempt(x);
    }

    for (bool better = !found.best.empty(); better && p.more();) {
        better = false;
        search_point const from = found.best;
        for (std::size_t d = 0; d < p.values.size() && p.more(); ++d) {
            auto const& choices = p.values[d];
            for (std::size_t i = 0; i < choices.size() && p.more(); ++i) {
                bool const next = (i > 0 && choices[i - 1] == from[d]) ||
                                  (i + 1 < choices.size() && choices[i + 1] == from[d]);
                if (!next) continue;
                search_point x = from;
                x[d] = choices[i];
                better |= attempt(x);
            }
        }
    }
    return found;
}

STRATAGEMM_END
