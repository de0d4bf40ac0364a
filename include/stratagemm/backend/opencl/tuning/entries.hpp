// Built-in tiles, by device family and by the type that sums are kept in: data, the larger tiles first.
#pragma once

#include "../configuration.hpp"
#include "../costs.hpp"

STRATAGEMM_BEGIN

struct opencl_entry {
    opencl_family family;
    char sums; // s, d, c or z; i takes those of s
    opencl_tile tile;
    short groups;       // that a compute unit runs at a time
    opencl_rate rate{}; // none where it was measured: costs_table.hpp
};

// threads, micro-tile, depth, unroll, lanes, widths of loads, buffers, padding, swizzle, slices, ahead.
//
// Those of NVIDIA for float and double were found on an H200. Nobody has timed the families that have rates here: a rate
// is the multiply-adds that a compute unit can issue in a clock (gfx803, GCN and RDNA 64, an Intel EU 8) times what
// tests/kernels/gfx803.sh predicts for the tile on gfx803, or 0.6 for Intel; alone is what one group keeps of it with that
// many waves. Intel's tiles are small because a work-item has 64 registers there. The tiles of one row and column for a
// work-item are for few columns with .invariant, where all of a group bring A to local memory, which two elements for a
// multiply-add keep busy.
inline constexpr opencl_entry opencl_entries[] = {
    {opencl_family::gfx803, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 2, {60, 0.8f}},
    {opencl_family::gfx803, 's', {16, 16, 8, 4, 8, 8, 4, 4, 4, 2, 2, 4, 8}, 4, {54, 0.6f}},
    {opencl_family::gfx803, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 3, {45, 0.5f}},
    {opencl_family::gfx803, 's', {16, 16, 2, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 8, {27, 0.3f}},
    {opencl_family::gfx803, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 3, {4, 0.9f}},
    {opencl_family::gfx803, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, {12, 0.8f}},
    {opencl_family::gfx803, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, {1, 0.9f}},
    {opencl_family::gfx803, 's', {32, 4, 1, 1, 128, 128, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {14, 0.5f}},
    {opencl_family::gfx803, 'd', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {4, 0.9f}},
    {opencl_family::gfx803, 'c', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {8, 0.5f}},
    {opencl_family::gfx803, 'z', {32, 4, 1, 1, 32, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {1, 0.9f}},

    {opencl_family::gcn, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 2, {60, 0.8f}},
    {opencl_family::gcn, 's', {16, 16, 8, 4, 8, 8, 4, 4, 4, 2, 2, 4, 8}, 4, {54, 0.6f}},
    {opencl_family::gcn, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 3, {45, 0.5f}},
    {opencl_family::gcn, 's', {16, 16, 2, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 8, {27, 0.3f}},
    {opencl_family::gcn, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 3, {20, 0.9f}},
    {opencl_family::gcn, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, {12, 0.8f}},
    {opencl_family::gcn, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, {4, 0.9f}},
    {opencl_family::gcn, 's', {32, 4, 1, 1, 128, 128, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {14, 0.5f}},
    {opencl_family::gcn, 'd', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {8, 0.5f}},
    {opencl_family::gcn, 'c', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {8, 0.5f}},
    {opencl_family::gcn, 'z', {32, 4, 1, 1, 32, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {4, 0.9f}},

    {opencl_family::rdna, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 3, {58, 0.7f}},
    {opencl_family::rdna, 's', {16, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2}, 2, {55, 0.7f}},
    {opencl_family::rdna, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2}, 3, {52, 0.6f}},
    {opencl_family::rdna, 's', {8, 8, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4}, 3, {32, 0.6f}},
    {opencl_family::rdna, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 3, {4, 0.9f}},
    {opencl_family::rdna, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, {12, 0.8f}},
    {opencl_family::rdna, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, {1, 0.9f}},
    // Without slices, for .invariant.
    {opencl_family::rdna, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 3, {45, 0.5f}},
    {opencl_family::rdna, 's', {16, 16, 2, 2, 32, 32, 2, 2, 4, 4, 2, 4, 8}, 3, {27, 0.5f}},
    {opencl_family::rdna, 's', {32, 4, 1, 1, 128, 128, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {14, 0.5f}},
    {opencl_family::rdna, 'd', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {4, 0.9f}},
    {opencl_family::rdna, 'c', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {8, 0.5f}},
    {opencl_family::rdna, 'z', {32, 4, 1, 1, 32, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {1, 0.9f}},

    {opencl_family::intel, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 1, 4, 8}, 1, {5, 1}},
    {opencl_family::intel, 's', {8, 8, 4, 4, 16, 16, 4, 4, 4, 4, 1, 4, 8}, 1, {4, 1}},
    {opencl_family::intel, 'd', {16, 16, 4, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 1, {1.2f, 1}},
    {opencl_family::intel, 'c', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 1, 1, 8}, 1, {1, 1}},
    {opencl_family::intel, 'z', {16, 16, 2, 1, 16, 16, 1, 1, 1, 1, 1, 1, 8}, 1, {0.3f, 1}},
    {opencl_family::intel, 's', {32, 4, 1, 1, 128, 128, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {2, 1}},
    {opencl_family::intel, 'd', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {0.5f, 1}},
    {opencl_family::intel, 'c', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {0.5f, 1}},
    {opencl_family::intel, 'z', {32, 4, 1, 1, 32, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {0.1f, 1}},

    {opencl_family::nvidia, 's', {8, 16, 16, 8, 8, 8, 4, 4, 4, 4, 1, 4, 8, 1, 1}, 2},
    {opencl_family::nvidia, 's', {8, 16, 8, 8, 16, 16, 4, 4, 4, 4, 1, 4, 8, 2, 1}, 1},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2, 1}, 3},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 1},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 1, 1}, 6},
    {opencl_family::nvidia, 's', {8, 16, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 2, 1}, 2},
    {opencl_family::nvidia, 's', {8, 8, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 4},
    {opencl_family::nvidia, 's', {8, 4, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 7},
    {opencl_family::nvidia, 's', {4, 8, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 7},
    {opencl_family::nvidia, 's', {4, 4, 4, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 8, 1}, 7},
    {opencl_family::nvidia, 's', {8, 8, 8, 4, 32, 32, 4, 4, 4, 4, 2, 4, 8, 4, 1}, 3},
    // For few rows and columns: half as many steps of k to wait for.
    {opencl_family::nvidia, 's', {4, 8, 4, 4, 64, 64, 4, 4, 4, 4, 2, 4, 8, 8, 1}, 3},
    {opencl_family::nvidia, 's', {4, 4, 4, 4, 64, 64, 4, 4, 4, 4, 2, 4, 8, 8, 1}, 7},
    // For short k: work-items that lie along n store whole lines of C.
    {opencl_family::nvidia, 's', {4, 32, 16, 4, 8, 8, 4, 4, 4, 4, 1, 4, 8, 1, 1}, 6},
    {opencl_family::nvidia, 's', {4, 32, 8, 4, 8, 8, 4, 4, 2, 4, 2, 4, 8}, 5},
    {opencl_family::nvidia, 'd', {4, 16, 8, 8, 8, 8, 2, 2, 2, 2, 1, 4, 4, 1, 1}, 4},
    {opencl_family::nvidia, 'd', {16, 16, 4, 4, 16, 16, 2, 2, 2, 2, 2, 2, 8}, 3},
    {opencl_family::nvidia, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3},
    {opencl_family::nvidia, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 4},
    // Without slices, for .invariant.
    {opencl_family::nvidia, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8, 1, 1}, 4},
    {opencl_family::nvidia, 's', {16, 16, 2, 2, 32, 32, 2, 2, 4, 4, 2, 4, 8, 1, 1}, 5},
    {opencl_family::nvidia, 's', {16, 16, 1, 1, 64, 64, 1, 1, 4, 4, 2, 4, 8, 1, 1}, 5},
    {opencl_family::nvidia, 's', {32, 4, 1, 1, 128, 128, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11},
    {opencl_family::nvidia, 'd', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11},
    {opencl_family::nvidia, 'c', {32, 4, 1, 1, 64, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11},
    {opencl_family::nvidia, 'z', {32, 4, 1, 1, 32, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11},

    // PoCL runs a work-group on one core: local memory is cache, and vectors are as wide as its registers.
    {opencl_family::cpu, 's', {8, 4, 4, 16, 16, 2, 1, 16, 1, 16, 1, 0, 4}, 1},
    {opencl_family::cpu, 's', {2, 8, 4, 16, 16, 2, 1, 16, 1, 16, 1, 0, 4}, 1},
    {opencl_family::cpu, 's', {2, 4, 4, 16, 16, 2, 1, 16, 1, 16, 1, 0, 4}, 1},
    {opencl_family::cpu, 's', {8, 2, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 's', {16, 1, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 's', {4, 2, 4, 8, 32, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 'd', {8, 4, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 'd', {2, 8, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 'd', {8, 2, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 'd', {16, 1, 4, 8, 16, 2, 1, 8, 1, 8, 1, 0, 4}, 1},
    {opencl_family::cpu, 'c', {8, 4, 4, 4, 32, 1, 1, 1, 1, 1, 1, 0, 4}, 1},
    {opencl_family::cpu, 'z', {8, 4, 4, 4, 32, 1, 1, 1, 1, 1, 1, 0, 4}, 1},
};

// Devices of makers we do not know are taken for AMD's.
constexpr opencl_family tuned_like(opencl_family f) {
    return f == opencl_family::other ? opencl_family::gcn : f;
}

// Calls f(entry, its number) with the built-in tiles of a family.
template <class F>
void for_each_entry(opencl_family family, char sums, F&& f) {
    int number = 0;
    for (opencl_entry const& e : opencl_entries)
        if (e.family == tuned_like(family) && e.sums == (sums == 'i' ? 's' : sums)) f(e, number++);
}

STRATAGEMM_END
