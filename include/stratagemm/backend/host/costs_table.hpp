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

// Cycles a second of the machine that was measured; the costs of Zen 4 are counted in this clock, too. A machine with a
// tile unit is counted in the fast clock that the rate of the unit is relative to (rates.hpp).
inline double host_clock_of(host_isa isa) { return isa == host_isa::amx ? 3.4e9 : 2.75e9; }

// Cycles of each: portable, AVX2, AVX-512, AVX-512 of Zen 4.
inline constexpr double host_costs[static_cast<int>(host_cost::kinds)][4] = {
    {327, 141, 106, 38.032},                    // call: one product
    {10740, 10740, 9051, 9051},                 // thread: each further thread
    {1.612, 1.0021, 0.96599, 1.4755},           // step: a cycle's worth of multiply-adds in tiles
    {37.079, 0, 0, 0},                          // tile: begins and ends
    {0, 1.1194, 0.7384, 1.1992},                // tile_vector: of C, in a tile
    {0.19898, 0.12497, 0.10937, 0.019373},      // moved: a byte that is packed or turned by vectors
    {5.0202, 0, 0.056179, 0.26047},             // element: one that is packed or turned by itself
    {0, 57.151, 96.76, 25.266},                 // copy: a small B is copied before
    {0.032794, 0.0096685, 0.010761, 0.0011478}, // second: a byte from the second-level cache
    {0.065804, 0.069047, 0.066608, 0.018269},   // third: one from the third
    {0.26, 0.26, 0.26, 0.26},            // memory: one from memory; not fitted: as ./dev bench host reads
    {3.8439, 0.89009, 0.54682, 0.54165}, // row_vector: a vector of B, for one row of A
    {58.735, 6.4446, 12.377, 19.143},    // row_end: a vector of C, for one row of A
    {3.77, 0.58347, 0.72075, 0.71796},   // few_vector: a vector of B, for one of a few rows of A
    {11.965, 4.8404, 2.9686, 4.6129},    // dots: a vector of k, for eight dot products
    {131, 48.698, 16.539, 12.326},       // dots_end: eight dot products begin and end
};

STRATAGEMM_END
