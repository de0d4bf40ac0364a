// What is chosen for a product on an OpenCL device, and what it is chosen by.
#pragma once

#include "../../device/order.hpp"
#include "../../device/product.hpp"
#include "configuration.hpp"

STRATAGEMM_BEGIN

enum class opencl_way { direct, narrow, small, tiled };

struct opencl_choice {
    opencl_tile tile;        // none: the direct kernel
    std::ptrdiff_t part = 0; // depth of each part of k, where groups sum several; 0: each sums all of k
    opencl_way way = tile.threads() > 0 ? opencl_way::tiled : opencl_way::direct;
    double clocks = 0; // of a compute unit, as estimated

    std::ptrdiff_t parts(std::ptrdiff_t k) const { return part > 0 ? (k + part - 1) / part : 1; }
};

using opencl_sides = device_sides;

struct opencl_query {
    opencl_device const& device;
    char sums;          // the letter of the type that sums are kept in
    std::size_t scalar; // its size
    opencl_sides sides;
    bool along_k = true; // A lies along k
    bool combined =
        false; // an operand is a sum, or the result a spread: for the direct kernel and the tiled one
    bool invariant = false; // sums are in the order of device/order.hpp
};

// C with at most so many columns is a matter of reading A: the kernel for it keeps a row of C in registers.
inline constexpr std::ptrdiff_t opencl_narrow = 4;
// The kernel for small products is compiled for their sides, which are at most so long.
inline constexpr std::ptrdiff_t opencl_small = 32;

// Whether a side is shorter than that of the tile, so that reading whole tiles would leave the operands.
inline bool is_guarded(opencl_choice const& x, opencl_sides const& s) {
    std::ptrdiff_t const rest = x.part > 0 ? s.k % x.part : 0;
    return s.m < x.tile.tile_m() || s.n < x.tile.tile_n() || (rest > 0 && rest < x.tile.depth);
}

// Whether neighbouring work-items store whole lines of C, one element each, where they cannot store vectors.
inline bool stores_lines(opencl_tile const& t) { return t.threads_n % 32 == 0; }

// With .invariant, k is summed in pieces of that many terms (device/order.hpp), all of them by one work-group or each by
// one. Shorter pieces would cost large products time, and longer ones leave small products with too few groups.
inline std::ptrdiff_t opencl_piece(std::ptrdiff_t k) {
    return piece_depth(k, 256, k > 16384 ? k / 1024 : 16);
}

STRATAGEMM_END
