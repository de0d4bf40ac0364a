// What things cost that products on OpenCL devices are made of (counts.hpp).
#pragma once

#include "device.hpp"

STRATAGEMM_BEGIN

enum class opencl_cost {
    queue,             // a launch: until the host has queued it
    begin,             // a product: until groups multiply
    memory,            // a byte of A, B and C, if all compute units move some
    memory_of_one,     // the same, for the unit that moves it
    add,               // a second launch, which adds up sums of parts of k
    add_part,          // for each part
    sum,               // a byte of such a sum
    tile,              // a round of tiles: until the first terms of k have come, and after the last
    wait,              // a step of k: until its tiles of A and B have come and all work-items are there
    wait_product,      // besides, for each product of a work-item
    fetch,             // a byte of the tiles of a step
    piece,             // a load, of one element or of a vector
    guard,             // the factor by which a step is slower where elements are read one by one
    meet,              // an element that is added to that of another slice
    store_vectors,     // a byte of C, in vectors
    store_lines,       // in elements, of which neighbouring work-items store whole lines
    store_apart,       // in elements apart from each other
    narrow_wait,       // few columns: a trip of a work-item, until what it reads at a time has come
    narrow_load_alone, // besides, for each of its loads
    narrow_trip,       // a trip, if the unit is full of work-items: each of them
    narrow_load,       // a load
    narrow_multiply,   // a multiply-add
    narrow_fold,       // halving the sums of a group that are of the same element
    narrow_group,      // a group
    small_group,       // small products: a group
    small_read,        // an element that is brought to local memory
    small_load,        // an element that is read there
    small_multiply,    // a multiply-add
    small_read_alone,  // an element that a work-item brings, if no other work-item hides that
    small_load_alone,  // an element that it reads there, or a multiply-add
    direct_wait,       // the direct kernel: a term of an element
    direct_term,       // the same, if the unit is full of work-items: each of them
    direct_element,    // an element of C
    kinds
};
inline constexpr int opencl_cost_kinds = static_cast<int>(opencl_cost::kinds);

// In clocks of a compute unit.
struct opencl_costs {
    float of[opencl_cost_kinds];

    constexpr double operator[](opencl_cost kind) const {
        return static_cast<double>(of[static_cast<int>(kind)]);
    }
};

// Multiply-adds of a compute unit in a clock when it is full of groups of a tile, and the share of that which one group
// reaches alone.
struct opencl_rate {
    float full = 0, alone = 0;
};

// What was measured: the costs of a family for types of sums, and the rates of its built-in tiles, in their order.
inline constexpr int opencl_most_tiles = 24;
struct opencl_costs_of {
    opencl_family family;
    char const* sums;
    opencl_costs costs;
    opencl_rate rates[opencl_most_tiles];
};

STRATAGEMM_END
