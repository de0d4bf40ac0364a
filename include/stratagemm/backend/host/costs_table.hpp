// What host/costs.hpp counts with. ./dev bench fit writes the numbers, from measurements in bench/results.
#pragma once

#include "isa.hpp"

STRATAGEMM_BEGIN

// What a product on the host is made of.
enum class host_cost {
    call,
    workspace,
    packets,
    thread,
    step,
    tile_vector,
    moved,
    element,
    joined,
    third,
    memory,
    few_vector,
    dots,
    dots_end,
    kinds
};

// Cycles a second of the machine that was measured; the costs of Zen 4 are counted in this clock, too. A machine with a
// tile unit is counted in the fast clock that the rate of the unit is relative to (rates.hpp).
inline double host_clock_of(host_isa isa) { return isa == host_isa::amx ? 3.4e9 : 2.75e9; }

// Cycles of each: portable, AVX2, AVX-512, AVX-512 of Zen 4. With AVX-512, dots are counted in cycles, and dots_end in
// half cycles.
inline constexpr double host_costs[static_cast<int>(host_cost::kinds)][4] = {
    {283, 145, 35.234, 48.474},                // call: one product
    {411, 4205, 773, 330},                     // workspace: one that is not done at once
    {3924, 1692, 133, 269},                    // packets: one of bfloat16 or int8 in packets
    {10740, 10740, 9692, 9051},                // thread: each further thread
    {1.669, 1.0153, 1.0198, 0.76219},          // step: a cycle's worth of multiply-adds in tiles
    {5.1372, 1.6443, 0.72666, 0.15252},        // tile_vector: of C, in a tile
    {0.21035, 0.14134, 0.095821, 0.11008},     // moved: a byte that is packed or turned by vectors
    {2.4142, 1.2783, 0.84679, 1.6322},         // element: one that is packed or turned by itself
    {1.6, 1, 0.14344, 0.080358},               // joined: a byte of packets that lie across k
    {0.026506, 0.048269, 0.068893, 0.0057122}, // third: one from the third
    {0.26, 0.26, 0.26, 0.26},          // memory: one from memory; not fitted: as ./dev bench host reads
    {0.94702, 0.64078, 1.108, 1.1301}, // few_vector: a vector of B, for one of a few rows of A
    {11.965, 5.6767, 1.0144, 0.75563}, // dots: a vector of k, for eight dot products
    {131, 46.965, 0.49001, 0.28828},   // dots_end: eight dot products begin and end
};

STRATAGEMM_END
