// Which kernel a product gets, from its shape, the device and the tiles that there are.
#pragma once

#include "../../device/order.hpp"
#include "../../device/product.hpp"
#include "tuning/entries.hpp"

STRATAGEMM_BEGIN

enum class opencl_way { direct, narrow, small, tiled };

struct opencl_choice {
    opencl_tile tile;        // none: the direct kernel
    std::ptrdiff_t part = 0; // depth of each part of k, where groups sum several; 0: each sums all of k
    opencl_way way = tile.threads() > 0 ? opencl_way::tiled : opencl_way::direct;

    std::ptrdiff_t parts(std::ptrdiff_t k) const { return part > 0 ? (k + part - 1) / part : 1; }
};

using opencl_sides = device_sides;

// Whether a side is shorter than that of the tile, so that reading whole tiles would leave the operands.
inline bool is_guarded(opencl_choice const& x, opencl_sides const& s) {
    std::ptrdiff_t const rest = x.part > 0 ? s.k % x.part : 0;
    return s.m < x.tile.tile_m() || s.n < x.tile.tile_n() || (rest > 0 && rest < x.tile.depth);
}

// Whether neighbouring work-items store whole lines of C, one element each, where they cannot store vectors.
inline bool stores_lines(opencl_tile const& t) { return t.threads_n % 32 == 0; }

// What a product takes, in clocks: that of the busiest compute unit. A unit runs some groups at a time and reaches its
// full rate with them; fewer share less than that, as one group alone reaches only a part of it. So groups go in
// rounds, of which the last may be thin, and each costs what it would with the terms of k and a start, but no less than
// until its tiles of k have come, one after the other; and behind that what it stores. With parts of k there is a second
// kernel to launch, and sums to write and to read again. Nothing ends before the host has queued it.
inline double clocks_of(opencl_entry const& x, opencl_sides const& s, std::ptrdiff_t part, std::size_t scalar,
                        int units) {
    opencl_costs const costs = costs_of(x.family);
    opencl_tile const& t = x.tile;
    auto const up = [](std::ptrdiff_t n, std::ptrdiff_t by) { return (n + by - 1) / by; };
    auto const moving = [](double bytes, float rate) {
        return rate > 0 ? bytes / static_cast<double>(rate) : 0;
    };
    auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k),
               count = static_cast<double>(s.count), bytes = static_cast<double>(scalar);
    std::ptrdiff_t const parts = part > 0 ? up(s.k, part) : 1, depth = part > 0 ? part : s.k;
    std::ptrdiff_t const groups = up(s.m, t.tile_m()) * up(s.n, t.tile_n()) * s.count * parts;
    double const area = static_cast<double>(t.tile_m()) * t.tile_n();
    double const slower = is_guarded({t, part}, s) ? static_cast<double>(costs.guard) : 1;
    double const one = slower * area * (static_cast<double>(depth) + static_cast<double>(costs.start)) /
                       static_cast<double>(x.rate);
    double const step = static_cast<double>(costs.step) +
                        static_cast<double>(costs.each) * t.micro_m * t.micro_n * t.depth / t.slices;
    double const waiting = slower * step * static_cast<double>(up(depth, t.depth));
    bool const vectors = t.lanes_n > 1 && s.n % t.lanes_n == 0;
    bool const lines = stores_lines(t) || t.lanes_n == 1;
    double const storing =
        moving((s.m < t.tile_m() ? m : t.tile_m()) * (s.n < t.tile_n() ? n : t.tile_n()) * bytes,
               vectors ? costs.vectors
               : lines ? costs.lines
                       : costs.apart);
    auto const round = [&](std::ptrdiff_t together) {
        double const fewest = 1 / static_cast<double>(x.alone), beside = static_cast<double>(together);
        if (together == 0) return 0.0;
        double clocks = one * (beside < fewest ? fewest : beside);
        if (clocks < waiting) clocks = waiting;
        clocks += moving((t.slices - 1) * area * beside, costs.meet);
        double const apart = storing * beside - clocks / 8; // what the products of other groups do not hide
        return apart > 0 ? clocks + apart : clocks;
    };
    std::ptrdiff_t const places = std::ptrdiff_t{units} * x.groups;
    double clocks =
        static_cast<double>(groups / places) * round(x.groups) + round(up(groups % places, units));
    double const fetching = moving((m * k + k * n + m * n) * count * bytes / units, costs.fetch);
    double more = static_cast<double>(costs.begin);
    if (parts > 1)
        more += static_cast<double>(costs.launch) +
                static_cast<double>(parts + 1) * m * n * bytes / (static_cast<double>(costs.gather) * units);
    // If memory or the host bounds several tiles alike, the tile with the least work is best: devices differ there.
    double const queued = static_cast<double>(costs.queue) * (parts > 1 ? 2 : 1);
    double least = (clocks < fetching ? fetching : clocks) + more;
    if (least < queued) least = queued;
    return least + (clocks + more) / 10;
}

// C with at most so many columns is a matter of reading A.
inline constexpr std::ptrdiff_t opencl_narrow = 4;

// What a product takes that only waits for the host or for memory, which is all that narrow and direct kernels are
// modelled by.
inline double clocks_of_moving(opencl_costs const& costs, opencl_sides const& s, std::ptrdiff_t parts,
                               std::size_t scalar, int units) {
    auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    double const bytes = (m * k + k * n + m * n) * static_cast<double>(s.count) * static_cast<double>(scalar);
    double const moving = static_cast<double>(costs.begin) +
                          (parts > 1 ? static_cast<double>(costs.launch) : 0) +
                          bytes / (static_cast<double>(costs.fetch) * units);
    double const queued = static_cast<double>(costs.queue) * (parts > 1 ? 2 : 1);
    return moving > queued ? moving : queued;
}
// Seconds, or 0 where nothing was measured on the family.
inline double seconds_of(opencl_device const& d, char sums, std::size_t scalar, opencl_sides const& s,
                         opencl_choice const& x, bool invariant) {
    opencl_costs const costs = costs_of(d.family);
    if (costs.queue <= 0 || d.clock <= 0) return 0;
    if (x.way != opencl_way::tiled)
        return clocks_of_moving(costs, s, x.parts(s.k), scalar, d.compute_units) / d.clock;
    double clocks = 0;
    auto const look = [&](auto const& entries) {
        for (opencl_entry const& e : entries)
            if (e.family == d.family && e.sums == (sums == 'i' ? 's' : sums) && e.tile == x.tile)
                clocks = clocks_of(e, s, x.part, scalar, d.compute_units);
    };
    look(opencl_entries);
    if (invariant) look(opencl_invariant_entries);
    return clocks / d.clock;
}

// With .invariant, k is summed in pieces of that many terms (device/order.hpp), all of them by one work-group or each by
// one. Shorter pieces would cost large products time, and longer ones leave small products with too few groups.
inline std::ptrdiff_t opencl_piece(std::ptrdiff_t k) {
    return piece_depth(k, 256, k > 16384 ? k / 1024 : 16);
}

// Enough reads at a time to keep memory busy: by more work-items for each row if there are few rows, and by parts of k,
// which take a second launch, only if a group would still wait for many of its reads one after the other.
inline opencl_choice choose_narrow(opencl_device const& d, char sums, std::size_t scalar,
                                   opencl_sides const& s, bool along_k) {
    opencl_choice x;
    x.way = opencl_way::narrow;
    opencl_tile& t = x.tile;
    t.micro_m = 1, t.micro_n = static_cast<short>(s.n), t.a_width = 4;
    auto const up = [](std::ptrdiff_t n, std::ptrdiff_t by) { return (n + by - 1) / by; };
    auto const rows = [&] { return along_k ? t.micro_m : t.a_width; }; // of a work-item
    auto const groups = [&] { return up(s.m, std::ptrdiff_t{t.threads_m} * rows()) * s.count; };
    // Cuts k into parts for `wanted` groups, unless parts then have fewer terms than `least`.
    auto const divide = [&](std::ptrdiff_t wanted, std::ptrdiff_t least) {
        std::ptrdiff_t parts = s.count == 1 ? wanted / groups() : 1;
        if (parts > s.k / least) parts = s.k / least;
        if (parts > 1) x.part = up(up(s.k, parts), 16) * 16;
    };
    std::ptrdiff_t const units = d.compute_units;
    if (d.family == opencl_family::cpu) {
        t.threads_m = 8, t.threads_n = 2, t.micro_m = s.n <= 2 ? 2 : 1, t.unroll = 1;
        if (groups() < units) divide(2 * units, 128);
        return x;
    }

    auto const halved = [](short n) { return static_cast<short>(n / 2); };
    auto const doubled = [](short n) { return static_cast<short>(2 * n); };
    // What follows was about the best of some tried on an H100 and an H200.
    auto const work_group = static_cast<std::ptrdiff_t>(d.work_group);
    std::ptrdiff_t const room = 32768 / static_cast<std::ptrdiff_t>(scalar); // for sums of a group
    // There are no vectors of complex numbers.
    if ((along_k ? s.k : s.m) % 4 != 0 || sums == 'c' || sums == 'z') t.a_width = 1;
    if (along_k) {
        // With several rows a work-item reads B less often.
        t.threads_m = 8, t.threads_n = 32, t.micro_m = s.n > 2 ? 4 : 2;
        while (t.threads() > work_group) t.threads_m = halved(t.threads_m);
        while (t.micro_m > 1 &&
               (up(s.m, t.micro_m) * s.count < 6 * units || t.threads() * t.micro_m * s.n > room))
            t.micro_m = halved(t.micro_m);
        while (t.micro_m == 1 && t.threads_m > 1 && s.m * s.count * t.threads_n < 1024 * units &&
               s.k >= 4 * t.a_width * t.threads_n)
            t.threads_m = halved(t.threads_m), t.threads_n = doubled(t.threads_n);
        t.unroll = t.a_width == 1 ? 8 : t.micro_m == 1 ? 4 : 2;
        std::ptrdiff_t const read = std::ptrdiff_t{t.threads_n} * t.a_width * t.unroll; // terms, at once
        if (groups() < units && s.k > 16 * read) divide(4 * units, 4 * read);
        return x;
    }
    auto const bytes =
        static_cast<double>(s.m) * static_cast<double>(s.k * s.count) * static_cast<double>(scalar);
    if (bytes > 16e6) { // long lines
        t.threads_m = 32, t.threads_n = t.a_width == 4 || work_group < 512 ? 8 : 16, t.unroll = 8;
        if (groups() < 8 * units) divide(16 * units, 512);
        return x;
    }
    t.threads_m = t.a_width == 4 ? 8 : 16, t.threads_n = t.a_width == 4 ? 32 : 16, t.unroll = 8;
    short const few = t.threads_n;
    while (groups() * t.threads() < 1024 * units &&
           2 * t.threads() <= (work_group < 1024 ? work_group : 1024) &&
           2 * t.threads() * t.a_width * s.n <= room && s.k >= 8 * t.threads_n)
        t.threads_n = doubled(t.threads_n);
    if (t.threads() > 512) t.unroll = 4; // there are too few registers for more
    std::ptrdiff_t const reads = s.k / (std::ptrdiff_t{t.threads_n} * t.unroll) * (s.n > 2 ? 3 : 1);
    if (reads > 16 && groups() < 2 * units) {
        t.threads_n = few, t.unroll = 8;
        divide(4 * units, std::ptrdiff_t{8} * few);
    }
    return x;
}

// Products of at most 32 to a side, many of them. Groups of 64 work-items were the fastest on an H200 at every side.
inline bool is_small(opencl_sides const& s) { return s.count >= 16 && s.m <= 32 && s.n <= 32 && s.k <= 32; }
inline opencl_choice choose_small(opencl_sides const& s, std::size_t scalar) {
    opencl_choice x;
    x.way = opencl_way::small;
    auto const micro = [](std::ptrdiff_t side) {
        return static_cast<short>(side <= 8 ? 1 : side <= 16 ? 2 : 4);
    };
    auto const threads = [](std::ptrdiff_t side, short each) {
        return static_cast<short>((side + each - 1) / each);
    };
    x.tile.micro_m = micro(s.m), x.tile.micro_n = micro(s.n);
    x.tile.threads_m = threads(s.m, x.tile.micro_m), x.tile.threads_n = threads(s.n, x.tile.micro_n);
    std::ptrdiff_t const bytes =
        s.k * (x.tile.tile_m() + x.tile.tile_n() + 2) * static_cast<std::ptrdiff_t>(scalar);
    std::ptrdiff_t together = 64 / x.tile.threads();
    if (together * bytes > 16384) together = 16384 / bytes;
    x.tile.slices = static_cast<short>(together > 1 ? together : 1);
    return x;
}

// Few columns with .invariant: each element is summed by one work-item, and all of the group bring A to local memory.
inline opencl_tile invariant_narrow_tile(std::size_t scalar) {
    opencl_tile t;
    t.threads_m = 32, t.threads_n = opencl_narrow, t.micro_m = t.micro_n = 1;
    t.depth = static_cast<short>(512 / scalar), t.unroll = t.depth;
    t.padding = 1, t.ahead = 1;
    return t;
}

// `only` is a tile that the caller wants for all, with parts of that depth, or with those that seem best if it is
// less than zero. `along_k`: A lies so, which matters where C is narrow. `combined`: an operand is a sum or the result a
// spread, which are for the direct kernel and the tiled one.
inline opencl_choice choose(opencl_device const& d, char sums, std::size_t scalar, opencl_sides const& s,
                            bool along_k, opencl_choice const& only, bool combined = false,
                            bool invariant = false) {
    opencl_choice best;
    double least = 0;
    auto consider = [&](opencl_entry const& x) {
        opencl_tile const& tile = x.tile;
        // Slices sum in an order of their own.
        if (!fits_device(tile, d, scalar) || (invariant && tile.slices > 1)) return;
        auto with_parts = [&](std::ptrdiff_t part) {
            double const clocks = clocks_of(x, s, part, scalar, d.compute_units);
            if (best.tile.threads() > 0 && clocks >= least) return;
            best = {tile, part};
            least = clocks;
        };
        with_parts(0);
        if (invariant) {
            if (std::ptrdiff_t const piece = opencl_piece(s.k); piece < s.k && s.count == 1)
                with_parts(piece);
            return;
        }
        for (std::ptrdiff_t parts = 2; parts <= 256 && s.count == 1; parts *= 2) {
            std::ptrdiff_t part = (s.k / parts + tile.depth - 1) / tile.depth * tile.depth;
            // What stores lines is for a k that is short as it is.
            if (part < 4 * tile.depth || (stores_lines(tile) && part < 96)) break;
            if (s.k % part > 0 && s.k % part < tile.depth)
                part += tile.depth; // rather than a very short last one
            with_parts(part);
        }
    };
    if (!combined && only.tile.threads() == 0) {
        if (s.n <= opencl_narrow && s.k >= 32 && !invariant)
            return choose_narrow(d, sums, scalar, s, along_k);
        if (is_small(s)) return choose_small(s, scalar);
    }
    opencl_family const family = tuned_like(d.family);
    if (only.tile.threads() > 0) {
        if (only.part >= 0 && !invariant) return {only.tile, s.count == 1 && only.part < s.k ? only.part : 0};
        // As if it were good.
        consider({family, sums, only.tile, 2, family == opencl_family::cpu ? 16.0f : 64.0f, 0.7f});
        return best;
    }
    bool const cpu = family == opencl_family::cpu;
    double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    // A work-item of the direct kernel goes through k term by term. On a CPU it is not that bad where tiles have no
    // vectors.
    bool const by_elements = cpu && sums != 's' && sums != 'd';
    bool const little = by_elements ? work < 96 * 96 * 96 : work < 24 * 24 * 24 && s.k <= (cpu ? 256 : 64);
    if (little) return best;
    if (invariant && s.n <= opencl_narrow) {
        // A second launch takes as long as two pieces that wait for local memory, one term after the other.
        opencl_tile const tile = invariant_narrow_tile(scalar);
        std::ptrdiff_t const piece = opencl_piece(s.k);
        if (!cpu && s.k >= 32 && fits_device(tile, d, scalar))
            best = {tile, s.count == 1 && s.k > 2 * piece ? piece : 0};
        return best;
    }
    if (s.m < 4 || s.n < 4) return best;
    if (invariant)
        for (opencl_entry const& e : opencl_invariant_entries)
            if (e.family == family && e.sums == (sums == 'i' ? 's' : sums)) consider(e);
    for (opencl_entry const& e : opencl_entries) {
        if (e.family != family || e.sums != (sums == 'i' ? 's' : sums)) continue;
        consider(e);
    }
    return best;
}

STRATAGEMM_END
