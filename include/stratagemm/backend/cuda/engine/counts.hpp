// What a product is made of in a way to run it, and how long that takes. Engines count; what each count costs is in
// tile_costs.hpp, fitted to measurements.
#pragma once

#include "../query.hpp"
#include "tile_costs_table.hpp"

#include <cstring>

STRATAGEMM_BEGIN

// A type that was not measured has the costs of the engine's first.
inline cuda_tile_costs_of const& tile_costs_of(char const* engine, char type) {
    cuda_tile_costs_of const* found = nullptr;
    for (cuda_tile_costs_of const& row : cuda_tile_costs_table) {
        if (std::strcmp(row.engine, engine) != 0) continue;
        if (!found) found = &row;
        if (std::strchr(row.types, type)) return row;
    }
    return *found;
}

// The cycles of launches that copy operands, of so many bytes in all, before a product is multiplied: as measured where
// simt copies its operands.
inline double cycles_of_copies(cuda_device const& d, int launches, double bytes) {
    cuda_tile_costs const& cost = tile_costs_of("simt", 's').costs;
    return launches * cost[cuda_cost::copy] +
           bytes / d.units * cost[cuda_cost::copy_byte] * (cuda_fitted_bytes_per_cycle / d.bytes_per_cycle);
}

// Blocks run in rounds: as many at a time as multiprocessors have room for, and each goes through k in steps. In a last
// round some multiprocessors have fewer blocks than others. Times are cycles of a multiprocessor.
struct cuda_counts {
    // Multiply-adds in a cycle of a multiprocessor that is full of blocks of the tile.
    double rate(cuda_tile_costs const& cost, double slower) const {
        return multiply_adds / (cycles_of_step(cost) * slower);
    }

    // `slower`: the factor of the tile. `most`: what need not be told exactly if it is more.
    double cycles(cuda_tile_costs const& cost, double slower, double most = 1e300) const {
        using kind = cuda_cost;
        double const multiplies = multiplying(cost), comes = coming(cost), moves = moving(cost, busy);
        double const beside = real(resident);
        double const begins =
            beginning(cost, slower) + (added ? cost[kind::add] + parts * cost[kind::add_part] : 0);
        double const adds = sums * cost[kind::sum] + finished_apart * cost[kind::finish] +
                            (clustered ? cost[kind::cluster] + in_cluster * cost[kind::cluster_sum] : 0);
        // Most ways are left out here, by what they take if nothing delays anything else.
        double const steps = full_steps * beside + (none_left ? 0 : last_steps * last_beside),
                     at_least = slower * steps * more(multiplies, comes);
        if (begins + more(at_least, moves) + adds > most) return 2 * most;
        double const waits = cost[kind::wait] / stages + (changed > 0 ? cost[kind::wait_changed] : 0) +
                             chain * cost[kind::chain];
        double const stores = stored * cost[aligned ? kind::store : kind::store_apart] + cost[kind::block] +
                              finished * cost[kind::finish];
        double const stores_of_tail = stored_of_tail * cost[kind::store_apart];
        double const alone = 1 + cost[kind::alone] * (beside / last_beside - 1);
        double const all = full_rounds * (cost[kind::tile] + beside * stores) +
                           full_steps * longest(beside * multiplies, beside * comes, waits);
        double const last =
            none_left
                ? 0
                : cost[kind::tile] + last_beside * (has_tail ? stores_of_tail : stores) +
                      last_steps * longest(last_beside * multiplies * alone, last_beside * comes, waits);
        double const queued = cost[kind::launch] * (1 + added + (copied > 0));
        double const takes = begins + longest(slower * (all + last), moves, 0) + adds;
        // The host queues products while the device runs others: they hardly delay each other.
        return __builtin_sqrt(longest(takes * takes, queued * queued, 0));
    }
    // What the same takes at least in any number of parts of k: as if all multiprocessors had as many steps.
    double at_least_in_parts(cuda_tile_costs const& cost, double slower) const {
        return beginning(cost, slower) +
               more(slower * even_steps * more(multiplying(cost), coming(cost)), moving(cost, 1));
    }

    int units = 1, resident = 1; // multiprocessors, and blocks of each
    int row = 0;                 // which costs, by how the operands lie
    // A step of a block has so many multiply-adds, elements read from shared memory, bytes that are fetched, bytes of
    // lines that begin within lines of the cache, pieces that threads gather, and elements that they turn or shift.
    double multiply_adds = 0, loads = 0, fetched = 0, within = 0, gathered = 0, changed = 0, stages = 1;
    double chain = 0; // of them, those of a thread, one after another, if these make a step long
    bool gathers = false, direct = false;
    // Rounds in which all multiprocessors have all blocks, and the steps of these; blocks of the last round on a
    // multiprocessor, and its steps; the part of the multiprocessors that have any block.
    double full_rounds = 0, full_steps = 0, last_beside = 1, last_steps = 0, busy = 1;
    bool none_left = false;
    double even_steps = 0;                 // of each multiprocessor, if all had as many
    double stored = 0, stored_of_tail = 0; // bytes that a block stores, and one of a tail
    bool aligned = false;                  // in whole lines, which begin at multiples of 16 bytes
    // Instructions of the epilogue: for the elements that a block finishes in its round; and for each multiprocessor, for
    // those that are finished otherwise, as by a second launch, which adds up parts of k.
    double finished = 0, finished_apart = 0;
    // For each multiprocessor: bytes from and to memory, those of operands whose lines do not lie along k, bytes of
    // copies of operands, and bytes of the second-level cache.
    double moved = 0, across = 0, copied = 0, cache = 0;
    bool added = false, clustered = false, has_tail = false;
    double parts = 1, sums = 0,
           in_cluster = 0; // bytes of sums of parts of k, for each multiprocessor and block

    // `blocks` in rounds, each with so many steps, and `places` blocks at a time.
    void rounds(std::ptrdiff_t blocks, double steps) {
        rounds(blocks, steps, std::ptrdiff_t{units} * resident);
    }
    void rounds(std::ptrdiff_t blocks, double steps, std::ptrdiff_t places) {
        std::ptrdiff_t const full = blocks / places, left = blocks % places;
        full_rounds = real(full), full_steps = full_rounds * steps, last_steps = steps;
        even_steps = real(blocks) * steps / units;
        none_left = left == 0;
        last_beside = none_left ? real(resident) : up(left, units);
        busy = full > 0 || left >= units ? 1 : real(left) / units;
    }
    // Counts the elements of C that a block finishes in its round, and those that all blocks finish otherwise.
    void finishes(cuda_query const& q, double in_round, double otherwise) {
        double const each = q.after / (clustered ? parts : 1);
        finished = in_round * each, finished_apart = otherwise * each / units;
    }
    static double sum_size(cuda_query const& q) { return q.element < 4 ? 4 : real(q.element); }
    // The largest power of two, up to 16, by which all lines of so many bytes begin.
    static std::size_t begins_at(std::size_t line) {
        std::size_t const low = line & (~line + 1);
        return low == 0 || low > 16 ? 16 : low;
    }

    template <class N>
    static double real(N x) {
        return static_cast<double>(x);
    }
    static double up(std::ptrdiff_t x, std::ptrdiff_t y) { return real((x + y - 1) / y); }
    // The time of what happens at once: where two take about as long, each delays the other.
    static double longest(double x, double y, double z) {
        double const x2 = x * x, y2 = y * y, z2 = z * z;
        return __builtin_sqrt(__builtin_sqrt(x2 * x2 + y2 * y2 + z2 * z2));
    }

private:
    static double more(double x, double y) { return x > y ? x : y; }
    // Cycles until blocks multiply, copies of operands among them.
    double beginning(cuda_tile_costs const& cost, double slower) const {
        using kind = cuda_cost;
        double const copies = copied > 0 ? cost[kind::copy] + copied * cost[kind::copy_byte] +
                                               2 * beyond(cost) * cost[kind::memory]
                                         : 0;
        return slower * cost[kind::begin] + copies;
    }
    // Cycles of a step of a block: to multiply, by how operands lie, and to bring these.
    double multiplying(cuda_tile_costs const& cost) const {
        using kind = cuda_cost;
        double const lies = row == 0 ? 1 : cost[static_cast<kind>(static_cast<int>(kind::lies_tn) + row - 1)];
        return cycles_of_step(cost) * (direct ? cost[kind::direct] : 1) * lies;
    }
    double coming(cuda_tile_costs const& cost) const {
        using kind = cuda_cost;
        return fetched * cost[kind::fetch] + within * cost[kind::fetch_within] +
               gathered * cost[kind::gather] + changed * cost[kind::change];
    }
    // Cycles to move all bytes, if such a part of the multiprocessors is busy.
    double moving(cuda_tile_costs const& cost, double part) const {
        using kind = cuda_cost;
        return (moved * more(cost[kind::memory], cost[kind::memory_of_one] / part) +
                across * cost[kind::memory_across]) *
               (gathers ? cost[kind::apart] : 1);
    }
    // Bytes of copies that leave the second-level cache before they are read.
    double beyond(cuda_tile_costs const& cost) const {
        double const kept = cache * cost[cuda_cost::kept];
        return copied > kept ? copied - kept : 0;
    }
    // Cycles to multiply the tiles of a step.
    double cycles_of_step(cuda_tile_costs const& cost) const {
        return multiply_adds * cost[cuda_cost::multiply] + loads * cost[cuda_cost::load] +
               cost[cuda_cost::step];
    }
};

// The best of the ways that it is called with: of an engine or, if Tile is a configuration, of several engines. The first
// of two that are as fast.
template <class Tile>
struct cuda_best_of {
    Tile tile{};
    cuda_way way{.cycles = 1e300};
    bool found = false;

    double least() const { return way.cycles; }
    template <class Engine>
    void operator()(Engine const& engine, cuda_way const& how) {
        if (!found || how.cycles < least()) tile = engine, way = how, found = true;
    }
};

STRATAGEMM_END
