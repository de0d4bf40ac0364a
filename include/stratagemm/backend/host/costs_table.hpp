// The numbers of host/costs.hpp. ./dev bench fit writes them, from measurements in bench/results.
#pragma once

#include "isa.hpp"

STRATAGEMM_BEGIN

// The steps of a product on the host.
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

// Cycles of each: portable, AVX2, AVX-512, AVX-512 of Zen 4. Where kernels are generated, dots are counted in cycles,
// and dots_end in half cycles.
inline constexpr double host_costs[static_cast<int>(host_cost::kinds)][4] = {
    {213, 64.512, 30.561, 50.284},            // call: one product
    {0, 774, 811, 181},                       // workspace: one that host::try_small() does not do
    {3924, 1692, 89.899, 430},                // packets: one of bfloat16 or int8 in packets
    {10740, 10740, 9692, 9051},               // thread: each further thread
    {1.6756, 0.9852, 1.0092, 0.75282},        // step: a cycle's worth of multiply-adds in tiles
    {0.53856, 0.71867, 1.4536, 1.2187},       // tile_vector: of C, in a tile
    {0.22313, 0.10976, 0.088541, 0.10746},    // moved: a byte that is packed or turned by vectors
    {2.5768, 1.9824, 0.66981, 1.7662},        // element: one that is packed or turned by itself
    {1.6, 0.22197, 0.14327, 0.081394},        // joined: a byte of packets that lie across k, or of pairs
    {0.02021, 0.017307, 0.051826, 0.0055941}, // third: one from the third
    {0.26, 0.26, 0.26, 0.26},            // memory: one from memory; not fitted: as ./dev bench host reads
    {0.94162, 0.98649, 0.64411, 1.1114}, // few_vector: a vector of B, for one of a few rows of A
    {11.965, 0.77621, 1.1093, 0.75716},  // dots: a vector of k, for eight dot products
    {131, 0.17266, 0.38385, 0.2815},     // dots_end: eight dot products begin and end
};

STRATAGEMM_END
