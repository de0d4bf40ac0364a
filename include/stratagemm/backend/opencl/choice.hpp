// Which kernel a product gets: of all ways to run it, the one whose counts times costs are least.
#pragma once

#include "costs_table.hpp"
#include "counts.hpp"
#include "tuning/entries.hpp"

#include <cstring>
#include <initializer_list>

STRATAGEMM_BEGIN

// What things cost on a device.
struct opencl_device_costs {
    opencl_costs costs;
    opencl_rate const* rates; // of built-in tiles, where they were measured

    opencl_rate rate_of(opencl_entry const& e, int number) const { return rates ? rates[number] : e.rate; }
};

// Clocks of a compute unit in a second, also where the driver does not say.
inline double clock_of(opencl_device const& d) { return d.clock > 0 ? d.clock : opencl_fitted_clock; }

// A family that was not measured has the costs of NVIDIA's, by what its units do in a clock beside one of those: its
// memory moves so many bytes, and what work-items do takes as long as it does in the family's fastest tile. The host
// takes as long as it does there.
inline opencl_costs predicted(opencl_costs_of const& like, opencl_device const& d, char sums) {
    using kind = opencl_cost;
    opencl_costs costs = like.costs;
    auto const scale = [&](std::initializer_list<kind> kinds, double by) {
        for (kind const k : kinds) costs.of[static_cast<int>(k)] *= static_cast<float>(by);
    };
    double const clock = clock_of(d);
    double fastest = 0, here = 0;
    for (opencl_rate const& r : like.rates)
        if (static_cast<double>(r.full) > fastest) fastest = static_cast<double>(r.full);
    for_each_entry(d.family, sums, [&](opencl_entry const& e, int) {
        if (static_cast<double>(e.rate.full) > here) here = static_cast<double>(e.rate.full);
    });
    scale({kind::memory, kind::memory_of_one, kind::sum, kind::store_vectors, kind::store_lines,
           kind::store_apart},
          clock / (bytes_of_unit(d.family) * costs[kind::memory]));
    scale({kind::fetch, kind::piece, kind::meet, kind::narrow_trip, kind::narrow_load, kind::narrow_multiply,
           kind::small_read, kind::small_load, kind::small_multiply, kind::direct_term, kind::direct_element},
          fastest / here);
    scale({kind::queue, kind::begin, kind::add}, clock / opencl_fitted_clock);
    return costs;
}
inline opencl_device_costs costs_of(opencl_device const& d, char sums) {
    opencl_costs_of const* like = nullptr;
    for (opencl_costs_of const& row : opencl_costs_table) {
        if (!std::strchr(row.sums, sums)) continue;
        if (row.family == d.family) return {row.costs, row.rates};
        if (row.family == opencl_family::nvidia) like = &row;
    }
    return {predicted(*like, d, sums), nullptr};
}

// Calls f(way, groups, rate) with the ways of one tile: k at once, or in parts, which a second launch adds up.
template <class F>
void ways_of_tile(opencl_query const& q, opencl_tile const& tile, int groups, opencl_rate const& rate, F& f) {
    std::ptrdiff_t const k = q.sides.k;
    // Slices sum in an order of their own.
    if (!fits_device(tile, q.device, q.scalar) || (q.invariant && tile.slices > 1)) return;
    f(opencl_choice{tile, 0}, groups, rate);
    if (q.sides.count > 1) return;
    if (q.invariant) {
        if (opencl_piece(k) < k) f(opencl_choice{tile, opencl_piece(k)}, groups, rate);
        return;
    }
    for (std::ptrdiff_t parts = 2; parts <= 256; parts *= 2) {
        std::ptrdiff_t part = (k / parts + tile.depth - 1) / tile.depth * tile.depth;
        if (part < 2 * tile.depth) break;
        if (k % part > 0 && k % part < tile.depth) part += tile.depth; // rather than a very short last one
        if (part >= k) break;
        f(opencl_choice{tile, part}, groups, rate);
    }
}

// Ways for few columns. On a GPU a work-item keeps up to 32 elements of A in registers, and on a CPU, whose compiler
// makes vectors of neighbours, as few as there are.
template <class F>
void narrow_ways(opencl_query const& q, F& f) {
    opencl_sides const& s = q.sides;
    if (s.n > opencl_narrow || q.combined || q.invariant) return;
    bool const cpu = q.device.family == opencl_family::cpu, numbers = q.sums != 'c' && q.sums != 'z';
    int const width = numbers && (q.along_k ? s.k : s.m) % 4 == 0 ? 4 : 1;
    int const fewest = cpu ? 16 : 256, most = cpu ? 64 : q.along_k ? 256 : 1024;
    auto const with = [&](int threads_m, int threads_n, int micro_m, int unroll) {
        opencl_tile t;
        t.threads_m = static_cast<short>(threads_m), t.threads_n = static_cast<short>(threads_n);
        t.micro_m = static_cast<short>(micro_m), t.micro_n = static_cast<short>(s.n);
        t.a_width = static_cast<short>(width), t.unroll = static_cast<short>(unroll);
        auto const threads = static_cast<std::size_t>(t.threads());
        if (threads > q.device.work_group ||
            threads * static_cast<std::size_t>(t.micro_n * (q.along_k ? micro_m : width)) * q.scalar >
                q.device.local_bytes)
            return;
        std::ptrdiff_t const least = std::ptrdiff_t{4} * threads_n * unroll * (q.along_k ? width : 1);
        f(opencl_choice{t, 0, opencl_way::narrow}, 1, {});
        for (std::ptrdiff_t parts = 2; s.count == 1 && parts <= 256 && s.k / parts >= least; parts *= 2)
            f(opencl_choice{t, ((s.k - 1) / parts / 16 + 1) * 16, opencl_way::narrow}, 1, {});
    };
    for (int threads = fewest; threads <= most; threads *= 2)
        for (int threads_m = cpu || !q.along_k ? 8 : 1; threads_m <= (cpu || q.along_k ? 8 : 32);
             threads_m *= 2)
            for (int micro_m = 1; micro_m <= (q.along_k ? 4 : 1); micro_m *= 2)
                for (int const held : {16, 32}) {
                    int const unroll = cpu ? 1 : held / (micro_m * width);
                    if (unroll > 8 || (cpu && held > 16)) continue;
                    with(threads_m, threads / threads_m, micro_m, unroll);
                }
}

// Ways for batches of products that local memory has room for. Every shape has a kernel of its own, which only many
// products are worth. Two groups at least fit on a unit.
template <class F>
void small_ways(opencl_query const& q, F& f) {
    opencl_sides const& s = q.sides;
    if (s.count < 16 || s.m > opencl_small || s.n > opencl_small || s.k > opencl_small || q.combined) return;
    for (short const micro_m : {short{1}, short{2}, short{4}})
        for (short const micro_n : {short{1}, short{2}, short{4}})
            for (int const items : {32, 64, 128, 256}) {
                opencl_tile t;
                t.micro_m = micro_m, t.micro_n = micro_n;
                t.threads_m = static_cast<short>((s.m - 1) / micro_m + 1);
                t.threads_n = static_cast<short>((s.n - 1) / micro_n + 1);
                auto const bytes = static_cast<std::size_t>(s.k * (t.tile_m() + t.tile_n() + 2)) * q.scalar;
                auto const together = static_cast<std::size_t>(items / t.threads());
                t.slices = static_cast<short>(together);
                if (together == 0 || static_cast<std::size_t>(t.threads()) > q.device.work_group ||
                    2 * together * bytes > q.device.local_bytes)
                    continue;
                f(opencl_choice{t, 0, opencl_way::small}, 1, {});
            }
}

// All ways to run a product; or those with the tile of `only`, with parts of that depth if it is not less than zero.
template <class F>
void for_each_way(opencl_query const& q, opencl_device_costs const& costs, opencl_choice const& only, F&& f) {
    bool const given = only.tile.threads() > 0;
    if (!given) {
        f(opencl_choice{}, 1, opencl_rate{});
        narrow_ways(q, f);
        small_ways(q, f);
    }
    for_each_entry(q.device.family, q.sums, [&](opencl_entry const& e, int number) {
        if (given && number > 0) return; // a tile of the caller is taken to be as fast as the first one
        opencl_rate const rate = costs.rate_of(e, number);
        if (!given)
            ways_of_tile(q, e.tile, e.groups, rate, f);
        else if (only.part < 0 || q.invariant)
            ways_of_tile(q, only.tile, e.groups, rate, f);
        else
            f(opencl_choice{only.tile, q.sides.count == 1 && only.part < q.sides.k ? only.part : 0}, e.groups,
              rate);
    });
}

inline opencl_choice choose(opencl_query const& q, opencl_choice const& only = {{}, -1}) {
    opencl_device_costs const costs = costs_of(q.device, q.sums);
    opencl_counts const counts(q, costs.costs);
    opencl_choice best;
    best.clocks = 1e300;
    for_each_way(q, costs, only, [&](opencl_choice const& x, int groups, opencl_rate const& rate) {
        double const clocks = counts.clocks(x, groups, rate);
        if (clocks < best.clocks) best = x, best.clocks = clocks;
    });
    return best;
}

STRATAGEMM_END
