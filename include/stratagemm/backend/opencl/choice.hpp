// Which kernel a product gets, from its shape, the device and the tiles that there are.
#pragma once

#include "../../device/product.hpp"
#include "tuning/entries.hpp"

STRATAGEMM_BEGIN

enum class opencl_way { direct, narrow, small, tiled };

struct opencl_choice {
    opencl_tile tile;        // none: the direct kernel
    std::ptrdiff_t part = 0; // depth of each part of k, where there are several; 0: k is summed at once
    opencl_way way = tile.threads() > 0 ? opencl_way::tiled : opencl_way::direct;

    std::ptrdiff_t parts(std::ptrdiff_t k) const { return part > 0 ? (k + part - 1) / part : 1; }
};

using opencl_sides = device_sides;

// Whether a side is shorter than that of the tile, so that reading whole tiles would leave the operands.
inline bool is_guarded(opencl_choice const& x, opencl_sides const& s) {
    std::ptrdiff_t const rest = x.part > 0 ? s.k % x.part : s.k;
    return s.m < x.tile.tile_m() || s.n < x.tile.tile_n() || (rest > 0 && rest < x.tile.depth);
}

// What a product takes, in clocks: that of the busiest compute unit. A unit runs some groups at a time and reaches its
// full rate with them; fewer share less than that, as one group alone reaches only a part of it. So groups go in
// rounds, of which the last may be thin, and each costs what it would with the terms of k and a start. With parts of
// k there is a second kernel to launch, and sums to write and to read again.
inline double clocks_of(opencl_entry const& x, opencl_sides const& s, std::ptrdiff_t part, std::size_t scalar,
                        int units) {
    opencl_costs const costs = costs_of(x.family);
    auto const up = [](std::ptrdiff_t n, std::ptrdiff_t by) { return (n + by - 1) / by; };
    std::ptrdiff_t const parts = part > 0 ? up(s.k, part) : 1;
    std::ptrdiff_t const groups = up(s.m, x.tile.tile_m()) * up(s.n, x.tile.tile_n()) * s.count * parts;
    double const terms = static_cast<double>(part > 0 ? part : s.k) + static_cast<double>(costs.start);
    double const one =
        static_cast<double>(x.tile.tile_m()) * x.tile.tile_n() * terms / static_cast<double>(x.rate);
    auto const round = [&](std::ptrdiff_t together) {
        double const least = 1 / static_cast<double>(x.alone), n = static_cast<double>(together);
        return together == 0 ? 0 : one * (n < least ? least : n);
    };
    std::ptrdiff_t const places = std::ptrdiff_t{units} * x.groups;
    double clocks =
        static_cast<double>(groups / places) * round(x.groups) + round(up(groups % places, units));
    if (is_guarded({x.tile, part}, s)) clocks *= 1.5; // elements are read one by one
    if (parts > 1)
        clocks += static_cast<double>(costs.launch) + static_cast<double>((parts + 1) * s.m * s.n) *
                                                          static_cast<double>(scalar) /
                                                          (static_cast<double>(costs.gather) * units);
    return clocks;
}

// C with at most so many columns is a matter of reading A.
inline constexpr std::ptrdiff_t opencl_narrow = 4;

// Enough groups to keep memory busy, k in parts if there are too few rows for that.
inline opencl_choice choose_narrow(opencl_device const& d, opencl_sides const& s, bool along_k) {
    opencl_choice x;
    x.way = opencl_way::narrow;
    bool const cpu = d.family == opencl_family::cpu;
    // Those of GPUs are the best of some tried on an H200 (20000 x 20000: 368 and 361 us for one column).
    bool const one = s.n == 1;
    if (cpu)
        x.tile = {
            .threads_m = 8, .threads_n = 2, .micro_m = static_cast<short>(s.n <= 2 ? 2 : 1), .unroll = 1};
    else if (along_k)
        x.tile = {
            .threads_m = 4, .threads_n = 32, .micro_m = short(one ? 2 : 4), .unroll = short(one ? 2 : 4)};
    else
        x.tile = {.threads_m = 32, .threads_n = 8, .micro_m = 1, .unroll = 4};
    x.tile.micro_n = static_cast<short>(s.n);
    x.tile.a_width = 4;
    std::ptrdiff_t const rows = x.tile.threads_m * (along_k ? x.tile.micro_m : x.tile.a_width);
    std::ptrdiff_t const groups = (s.m + rows - 1) / rows,
                         wanted = std::ptrdiff_t{cpu ? 2 : 16} * d.compute_units;
    std::ptrdiff_t const least =
        std::ptrdiff_t{16} * x.tile.threads_n * x.tile.a_width; // a part worth its while
    std::ptrdiff_t parts = s.count == 1 && groups < wanted / 2 ? wanted / groups : 1;
    if (parts > s.k / least) parts = s.k / least;
    if (parts > 1) x.part = ((s.k + parts - 1) / parts + 15) / 16 * 16;
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

// `only` is a tile that the caller wants for all, with parts of that depth, or with those that seem best if it is
// less than zero. `along_k`: A lies so, which matters where C is narrow. `combined`: an operand is a sum or the result a
// spread, which are for the direct kernel and the tiled one.
inline opencl_choice choose(opencl_device const& d, char sums, std::size_t scalar, opencl_sides const& s,
                            bool along_k, opencl_choice const& only, bool combined = false) {
    opencl_choice best;
    double least = 0;
    auto consider = [&](opencl_entry const& x) {
        opencl_tile const& tile = x.tile;
        if (!fits_device(tile, d, scalar)) return;
        auto with_parts = [&](std::ptrdiff_t part) {
            double const clocks = clocks_of(x, s, part, scalar, d.compute_units);
            if (best.tile.threads() > 0 && clocks >= least) return;
            best = {tile, part};
            least = clocks;
        };
        with_parts(0);
        for (std::ptrdiff_t parts = 2; parts <= 256 && s.count == 1; parts *= 2) {
            std::ptrdiff_t part = (s.k / parts + tile.depth - 1) / tile.depth * tile.depth;
            if (part < 4 * tile.depth) break;
            if (s.k % part > 0 && s.k % part < tile.depth)
                part += tile.depth; // rather than a very short last one
            with_parts(part);
        }
    };
    if (!combined && only.tile.threads() == 0) {
        if (s.n <= opencl_narrow && s.k >= 32) return choose_narrow(d, s, along_k);
        if (is_small(s)) return choose_small(s, scalar);
    }
    opencl_family const family = tuned_like(d.family);
    if (only.tile.threads() > 0) {
        if (only.part >= 0) return {only.tile, s.count == 1 && only.part < s.k ? only.part : 0};
        // As if it were good.
        consider({family, sums, only.tile, 2, family == opencl_family::cpu ? 16.0f : 64.0f, 0.7f});
        return best;
    }
    bool const cpu = family == opencl_family::cpu; // there the direct kernel is not that bad
    double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    if (work < (cpu ? 96 * 96 * 96 : 24 * 24 * 24) || s.m < 4 || s.n < 4) return best;
    for (opencl_entry const& e : opencl_entries) {
        if (e.family != family || e.sums != (sums == 'i' ? 's' : sums)) continue;
        if (cpu && (s.m < e.tile.tile_m() || s.n < e.tile.tile_n())) continue;
        consider(e);
    }
    return best;
}

STRATAGEMM_END
