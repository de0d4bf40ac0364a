// Built-in tiles, by device family and by the type that sums are kept in: data, the larger tiles first.
#pragma once

#include "../configuration.hpp"

STRATAGEMM_BEGIN

struct opencl_entry {
    opencl_family family;
    char sums; // s, d, c or z; i takes those of s
    opencl_tile tile;
    short groups; // that a compute unit runs at a time
    float rate;   // multiply-adds of a compute unit in a clock, when it is full
    float alone;  // the share of that which one group reaches alone
};

// threads, micro-tile, depth, unroll, lanes, widths of loads, buffers, padding, swizzle, slices, ahead.
//
// Those of NVIDIA for float and double were found on an H200, and rate and alone fitted to times measured there. Nobody
// has timed the others: their rate is the multiply-adds that a compute unit can issue in a clock (gfx803, GCN and RDNA
// 64, an Intel EU 8) times what tests/kernels/gfx803.sh predicts for the tile on gfx803, or 0.6 for Intel; alone is what
// one group keeps of it with that many waves. Intel's tiles are small because a work-item has 64 registers there.
inline constexpr opencl_entry opencl_entries[] = {
    {opencl_family::gfx803, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 2, 60, 0.8f},
    {opencl_family::gfx803, 's', {16, 16, 8, 4, 8, 8, 4, 4, 4, 2, 2, 4, 8}, 4, 54, 0.6f},
    {opencl_family::gfx803, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 3, 45, 0.5f},
    {opencl_family::gfx803, 's', {16, 16, 2, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 8, 27, 0.3f},
    {opencl_family::gfx803, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 3, 4, 0.9f},
    {opencl_family::gfx803, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 12, 0.8f},
    {opencl_family::gfx803, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 1, 0.9f},

    {opencl_family::gcn, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 2, 60, 0.8f},
    {opencl_family::gcn, 's', {16, 16, 8, 4, 8, 8, 4, 4, 4, 2, 2, 4, 8}, 4, 54, 0.6f},
    {opencl_family::gcn, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 3, 45, 0.5f},
    {opencl_family::gcn, 's', {16, 16, 2, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 8, 27, 0.3f},
    {opencl_family::gcn, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 3, 20, 0.9f},
    {opencl_family::gcn, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 12, 0.8f},
    {opencl_family::gcn, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 4, 0.9f},

    {opencl_family::rdna, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 3, 58, 0.7f},
    {opencl_family::rdna, 's', {16, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2}, 2, 55, 0.7f},
    {opencl_family::rdna, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2}, 3, 52, 0.6f},
    {opencl_family::rdna, 's', {8, 8, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4}, 3, 32, 0.6f},
    {opencl_family::rdna, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 3, 4, 0.9f},
    {opencl_family::rdna, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 12, 0.8f},
    {opencl_family::rdna, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 1, 0.9f},

    {opencl_family::intel, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 1, 4, 8}, 1, 5, 1},
    {opencl_family::intel, 's', {8, 8, 4, 4, 16, 16, 4, 4, 4, 4, 1, 4, 8}, 1, 4, 1},
    {opencl_family::intel, 'd', {16, 16, 4, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 1, 1.2f, 1},
    {opencl_family::intel, 'c', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 1, 1, 8}, 1, 1, 1},
    {opencl_family::intel, 'z', {16, 16, 2, 1, 16, 16, 1, 1, 1, 1, 1, 1, 8}, 1, 0.3f, 1},

    {opencl_family::nvidia, 's', {8, 16, 16, 8, 8, 8, 4, 4, 4, 4, 1, 4, 8, 1, 1}, 2, 98.5f, 0.75f},
    {opencl_family::nvidia, 's', {8, 16, 8, 8, 16, 16, 4, 4, 4, 4, 1, 4, 8, 2, 1}, 1, 85, 1},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2, 1}, 3, 83.8f, 0.66f},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 1, 88.4f, 0.78f},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 1, 1}, 6, 82.3f, 0.33f},
    {opencl_family::nvidia, 's', {8, 16, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 2, 1}, 2, 61.2f, 0.88f},
    {opencl_family::nvidia, 's', {8, 8, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 4, 47.8f, 0.7f},
    {opencl_family::nvidia, 's', {8, 4, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 7, 42.7f, 0.36f},
    {opencl_family::nvidia, 's', {4, 8, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 7, 46.9f, 0.36f},
    {opencl_family::nvidia, 's', {4, 4, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 8, 1}, 7, 16.5f, 1},
    {opencl_family::nvidia, 's', {8, 8, 8, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 3, 60, 0.7f},
    // For few rows and columns: half as many steps of k to wait for.
    {opencl_family::nvidia, 's', {4, 8, 4, 4, 64, 64, 4, 4, 4, 4, 2, 4, 8, 8, 1}, 3, 45, 0.6f},
    {opencl_family::nvidia, 's', {4, 4, 4, 4, 64, 64, 4, 4, 4, 4, 2, 4, 8, 8, 1}, 7, 26, 1},
    // For short k: work-items that lie along n store whole lines of C.
    {opencl_family::nvidia, 's', {4, 32, 16, 4, 8, 8, 4, 4, 4, 4, 1, 4, 8, 1, 1}, 6, 84, 0.5f},
    {opencl_family::nvidia, 's', {4, 32, 8, 4, 8, 8, 4, 4, 2, 4, 2, 4, 8}, 5, 68, 0.6f},
    {opencl_family::nvidia, 'd', {4, 16, 8, 8, 8, 8, 2, 2, 2, 2, 1, 4, 4, 1, 1}, 4, 43.2f, 0.47f},
    {opencl_family::nvidia, 'd', {16, 16, 4, 4, 16, 16, 2, 2, 2, 2, 2, 2, 8}, 3, 33, 0.48f},
    {opencl_family::nvidia, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 20, 0.5f},
    {opencl_family::nvidia, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 4, 10, 0.4f},

    // PoCL runs a work-group on one core: local memory is cache, and vectors are as wide as its registers.
    {opencl_family::cpu, 's', {8, 4, 4, 16, 16, 2, 1, 16, 1, 16, 1, 0, 4}, 1, 20, 1},
    {opencl_family::cpu, 's', {2, 8, 4, 16, 16, 2, 1, 16, 1, 16, 1, 0, 4}, 1, 18, 1},
    {opencl_family::cpu, 's', {2, 4, 4, 16, 16, 2, 1, 16, 1, 16, 1, 0, 4}, 1, 17, 1},
    {opencl_family::cpu, 's', {8, 2, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 12.5f, 1},
    {opencl_family::cpu, 's', {16, 1, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 7.5f, 1},
    {opencl_family::cpu, 's', {4, 2, 4, 8, 32, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 6, 1},
    {opencl_family::cpu, 'd', {8, 4, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 9.5f, 1},
    {opencl_family::cpu, 'd', {2, 8, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 10, 1},
    {opencl_family::cpu, 'd', {8, 2, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 10, 1},
    {opencl_family::cpu, 'd', {16, 1, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 6, 1},
    {opencl_family::cpu, 'c', {8, 4, 4, 4, 32, 1, 1, 1, 1, 1, 1, 0, 4}, 1, 2, 1},
    {opencl_family::cpu, 'z', {8, 4, 4, 4, 32, 1, 1, 1, 1, 1, 1, 0, 4}, 1, 2, 1},
};

// With .invariant no tile has slices; those take the place of the ones that have.
inline constexpr opencl_entry opencl_invariant_entries[] = {
    {opencl_family::rdna, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 3, 45, 0.5f},
    {opencl_family::rdna, 's', {16, 16, 2, 2, 32, 32, 2, 2, 4, 4, 2, 4, 8}, 3, 27, 0.5f},
    {opencl_family::nvidia, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8, 1, 1}, 4, 64, 0.6f},
    {opencl_family::nvidia, 's', {16, 16, 2, 2, 32, 32, 2, 2, 4, 4, 2, 4, 8, 1, 1}, 5, 36, 0.5f},
    {opencl_family::nvidia, 's', {16, 16, 1, 1, 64, 64, 1, 1, 4, 4, 2, 4, 8, 1, 1}, 5, 14, 0.5f},
};

// What a product costs beside its multiply-adds, in clocks of a compute unit. A rate of 0 is not known, and what it is for
// is left out.
struct opencl_costs {
    float launch;       // of a second kernel, behind the first
    float gather;       // bytes of workspace that a unit writes or reads in a clock
    float start;        // of a group, as so many terms of k
    float guard = 1.5f; // a factor, where elements are read one by one
    float begin = 0;    // of the first kernel
    float queue = 0;    // of the host, for each kernel
    float step = 0;     // of a tile of k
    float each = 0;     // of each product of a work-item in it
    // Bytes of C that a unit stores in a clock: in vectors, in whole lines, in elements apart from each other.
    float vectors = 0, lines = 0, apart = 0;
    float fetch = 0; // bytes of A, B and C that a unit moves in a clock
    float meet = 0;  // sums that a unit adds to those of another slice in a clock
};
// NVIDIA: the first two were measured on an H200, the others fitted to 19 tiles at 340 shapes on an H100; half of the
// times were within 15% then. AMD: from the bandwidth of an RX 590 and what a launch is said to take there. PoCL:
// estimated.
constexpr opencl_costs costs_of(opencl_family f) {
    switch (f) {
    case opencl_family::nvidia: return {4550, 5.1f, 3, 1.25f, 4500, 11000, 500, 0.9f, 24, 12, 4.5f, 11, 4};
    case opencl_family::cpu: return {50000, 4, 4, 1.1f};
    default: return {15000, 3.7f, 16};
    }
}

// Devices of makers we do not know are taken for AMD's.
constexpr opencl_family tuned_like(opencl_family f) {
    return f == opencl_family::other ? opencl_family::gcn : f;
}

STRATAGEMM_END
