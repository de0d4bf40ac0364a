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
    {306, 136, 132},                // call: one product
    {10740, 10740, 10075},          // thread: each further thread
    {1.6199, 0.99516, 1.0626},      // step: a cycle's worth of multiply-adds in tiles
    {30.036, 0, 4.8797},            // tile: begins and ends
    {0, 0.91797, 0.81647},          // tile_vector: of C, in a tile
    {0.20961, 0.1288, 0.11033},     // moved: a byte that is packed or turned by vectors
    {2.5479, 0, 0},                 // element: one that is packed or turned by itself
    {0, 56.352, 54.532},            // copy: a small B is copied before
    {0.027237, 0.011247, 0.017368}, // second: a byte from the second-level cache
    {0.09191, 0.063415, 0.061949},  // third: one from the third
    {0.26, 0.26, 0.26},             // memory: one from memory; not fitted: as ./dev bench host reads
    {3.7839, 0.90283, 0.73307},     // row_vector: a vector of B, for one row of A
    {54.874, 6.1774, 16.658},       // row_end: a vector of C, for one row of A
    {3.7123, 0.59475, 0.77983},     // few_vector: a vector of B, for one of a few rows of A
    {4.7352, 4.2889, 4.2285},       // dots: a vector of k, for eight dot products
    {212, 31.178, 37.942},          // dots_end: eight dot products begin and end
};

STRATAGEMM_END
