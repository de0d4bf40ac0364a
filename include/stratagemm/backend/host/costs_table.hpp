// What host/costs.hpp counts with. ./dev bench fit writes the numbers, from measurements in bench/results.
#pragma once

#include "isa.hpp"

STRATAGEMM_BEGIN

// What a product on the host is made of.
enum class host_cost {
    call,
    thread,
    step,
    tile,
    tile_vector,
    moved,
    element,
    copy,
    second,
    third,
    memory,
    row_vector,
    row_end,
    few_vector,
    dots,
    dots_end,
    kinds
};

// Cycles a second of the machine that was measured. One with a tile unit is counted in the fast clock that its rate is
// relative to (rates.hpp).
inline double host_clock_of(host_isa isa) { return isa == host_isa::amx ? 3.4e9 : 2.75e9; }

// Cycles of each: portable, AVX2, AVX-512.
inline constexpr double host_costs[static_cast<int>(host_cost::kinds)][3] = {
    {313, 130, 124},                 // call: one product
    {10740, 10740, 10909},           // thread: each further thread
    {1.6635, 0.99167, 1.1044},       // step: a cycle's worth of multiply-adds in tiles
    {25.392, 0, 6.4578},             // tile: begins and ends
    {0, 1.3582, 0.70142},            // tile_vector: of C, in a tile
    {0.07196, 0.16694, 0.093201},    // moved: a byte that is packed or turned by vectors
    {1.6645, 1.9054, 2.0569},        // element: one that is packed or turned by itself
    {0, 21.561, 38.157},             // copy: a small B is copied before
    {0.031445, 0.0064426, 0.015186}, // second: a byte from the second-level cache
    {0.035068, 0.046912, 0.049285},  // third: one from the third
    {0.26, 0.26, 0.26},              // memory: one from memory; not fitted: as ./dev bench host reads
    {4.5248, 0.88533, 0.70961},      // row_vector: a vector of B, for one row of A
    {109, 4.8218, 5.2917},           // row_end: a vector of C, for one row of A
    {3.8283, 0.73147, 0.91697},      // few_vector: a vector of B, for one of a few rows of A
    {37.417, 4.6706, 4.4133},        // dots: a vector of k, for eight dot products
    {70.662, 35.759, 36.942},        // dots_end: eight dot products begin and end
};

STRATAGEMM_END
