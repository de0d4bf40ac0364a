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
    {304, 139, 130},                // call: one product
    {10740, 10740, 10421},          // thread: each further thread
    {1.6191, 0.98712, 1.0513},      // step: a cycle's worth of multiply-adds in tiles
    {31.465, 0, 6.1446},            // tile: begins and ends
    {0, 0.91907, 0.74479},          // tile_vector: of C, in a tile
    {0.18217, 0.1485, 0.11967},     // moved: a byte that is packed or turned by vectors
    {2.4626, 0, 0},                 // element: one that is packed or turned by itself
    {0, 0, 44.075},                 // copy: a small B is copied before
    {0.029085, 0.011356, 0.017578}, // second: a byte from the second-level cache
    {0.097912, 0.063739, 0.0632},   // third: one from the third
    {0.26, 0.26, 0.26},             // memory: one from memory; not fitted: as ./dev bench host reads
    {3.7847, 0.90006, 0.72491},     // row_vector: a vector of B, for one row of A
    {54.874, 6.0976, 16.761},       // row_end: a vector of C, for one row of A
    {3.6637, 0.59196, 0.76628},     // few_vector: a vector of B, for one of a few rows of A
    {4.632, 4.2858, 4.1691},        // dots: a vector of k, for eight dot products
    {221, 30.554, 38.088},          // dots_end: eight dot products begin and end
};

STRATAGEMM_END
