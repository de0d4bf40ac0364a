// What things cost that products are made of (counts.hpp).
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

enum class cuda_cost {
    begin,         // a product: until blocks multiply
    launch,        // a launch: until the host has queued it
    tile,          // a round of tiles: until the first step has come, and after the last
    multiply,      // a multiply-add of a block
    load,          // an element that is read from shared memory
    step,          // a step of k: what else a block does
    fetch,         // a byte of operands that hardware fetches
    fetch_within,  // besides, if lines begin within lines of the cache
    gather,        // a piece of a line that threads copy
    change,        // an element that threads turn, or shift, on the way
    wait,          // a step: until its operands have come, if it is the only one under way
    wait_changed,  // besides, if threads turn or shift them
    alone,         // the part by which a block is slower if others have no tile
    store,         // a byte of C, if rows begin at multiples of 16 bytes, or of a sum
    store_apart,   // a byte of another C
    memory,        // a byte of operands and of C, if all multiprocessors move some
    memory_of_one, // the same, for the multiprocessor that moves it
    memory_across, // besides, of an operand whose lines do not lie along k
    apart,         // the factor for bytes of lines that begin anywhere
    tail,          // where the tiles of a last round alone are in parts
    add,           // a second launch, which adds up sums of parts
    add_part,      // for each part
    sum,           // a byte of such a sum
    cluster,       // adding up by a cluster
    cluster_sum,   // for each byte of a block's sums
    copy,          // a launch that copies operands
    copy_byte,     // for each of their bytes
    lies_tn,       // the factor for multiplying where only B lies along k; 1 where neither does
    lies_nn,       // where only A lies along k
    lies_nt,       // where both do
    direct,        // where lines along k are read as they lie, and copies would lie better
    kept,          // the part of the second-level cache that keeps copies until they are read
    block,         // a block: what a multiprocessor does for each of those that it runs at a time
    chain,         // a multiply-add that waits for the one before
    finish,        // an instruction of an epilogue for an element
    kinds
};
inline constexpr int cuda_cost_kinds = static_cast<int>(cuda_cost::kinds);

// In cycles of a multiprocessor.
struct cuda_tile_costs {
    float of[cuda_cost_kinds];

    constexpr double operator[](cuda_cost kind) const {
        return static_cast<double>(of[static_cast<int>(kind)]);
    }
};
// Those of an engine for types, by their letters; and the factors by which its configurations are slower than their
// counts say: those of built-in tiles in the order of the engine's list, others by number().
inline constexpr int cuda_most_tiles = 32;
struct cuda_tile_costs_of {
    char const* engine;
    char const* types;
    cuda_tile_costs costs;
    float slower[cuda_most_tiles];
};

STRATAGEMM_END
