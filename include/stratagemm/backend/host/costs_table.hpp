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
    {325, 143, 106},                // call: one product
    {10740, 10740, 2.1555e+07},     // thread: each further thread
    {1.6241, 0.99441, 0.94303},     // step: a cycle's worth of multiply-adds in tiles
    {36.099, 0, 0},                 // tile: begins and ends
    {0, 1.0477, 0.75252},           // tile_vector: of C, in a tile
    {0.21081, 0.14291, 0.11071},    // moved: a byte that is packed or turned by vectors
    {5.0416, 0, 0},                 // element: one that is packed or turned by itself
    {0, 48.944, 87.165},            // copy: a small B is copied before
    {0.027888, 0.011383, 0.010761}, // second: a byte from the second-level cache
    {0.067803, 0.068274, 0.063225}, // third: one from the third
    {0.26, 0.26, 0.26},             // memory: one from memory; not fitted: as ./dev bench host reads
    {3.9284, 0.89268, 0.53564},     // row_vector: a vector of B, for one row of A
    {59.75, 6.4702, 12.574},        // row_end: a vector of C, for one row of A
    {4.0169, 0.5862, 0.76214},      // few_vector: a vector of B, for one of a few rows of A
    {12.095, 4.3829, 4.5058},       // dots: a vector of k, for eight dot products
    {145, 50.712, 15.321},          // dots_end: eight dot products begin and end
};

STRATAGEMM_END
