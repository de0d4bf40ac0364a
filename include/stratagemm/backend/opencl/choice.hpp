// Which kernel a product gets, from its shape, the device and the tiles that there are.
#pragma once

#include "tuning/entries.hpp"

STRATAGEMM_BEGIN

struct opencl_choice {
    opencl_tile tile;        // none: the direct kernel
    std::ptrdiff_t part = 0; // depth of each part of k, where there are several; 0: k is summed at once

    std::ptrdiff_t parts(std::ptrdiff_t k) const { return part > 0 ? (k + part - 1) / part : 1; }
};

// The sides of a product, with C's columns along memory.
struct opencl_sides {
    std::ptrdiff_t m, n, k, count;
};

// Whether a side is shorter than that of the tile, so that reading whole tiles would leave the operands.
inline bool is_guarded(opencl_choice const& x, opencl_sides const& s) {
    std::ptrdiff_t const rest = x.part > 0 ? s.k % x.part : s.k;
    return s.m < x.tile.tile_m() || s.n < x.tile.tile_n() || (rest > 0 && rest < x.tile.depth);
}

// Time is that of the busiest compute unit: rounds of groups, each for a tile of C and all of k, and for sums of
// parts of k what it takes to write and to read them. In units of multiply-adds per work-item.
inline double time_of(opencl_tile const& t, int groups, double rate, opencl_sides const& s,
                      std::ptrdiff_t part, int units) {
    auto const up = [](std::ptrdiff_t x, std::ptrdiff_t y) { return static_cast<double>((x + y - 1) / y); };
    double const tiles = up(s.m, t.tile_m()) * up(s.n, t.tile_n()) * static_cast<double>(s.count);
    double const parts = part > 0 ? up(s.k, part) : 1, depth = static_cast<double>(part > 0 ? part : s.k);
    double const places = static_cast<double>(units) * groups;
    double const rounds =
        static_cast<double>(static_cast<std::ptrdiff_t>((tiles * parts + places - 1) / places));
    double const area = static_cast<double>(t.tile_m()) * t.tile_n() * groups;
    double const gathering =
        part > 0 ? 40 * (parts + 1) * static_cast<double>(s.m) * static_cast<double>(s.n) / units : 0;
    return rounds * area * (depth + 4 * t.depth) / rate * (is_guarded({t, part}, s) ? 2 : 1) + gathering;
}

// `only` is a tile that the caller wants for all.
inline opencl_choice choose(opencl_device const& d, char sums, std::size_t scalar, opencl_sides const& s,
                            opencl_tile const& only) {
    opencl_choice best;
    double least = 0;
    auto consider = [&](opencl_tile const& tile, int groups, double rate) {
        if (!fits_device(tile, d, scalar)) return;
        auto with_parts = [&](std::ptrdiff_t part) {
            double const time = time_of(tile, groups, rate, s, part, d.compute_units);
            if (best.tile.threads() > 0 && time >= least) return;
            best = {tile, part};
            least = time;
        };
        with_parts(0);
        for (std::ptrdiff_t parts = 2; parts <= 256 && s.count == 1; parts *= 2) {
            std::ptrdiff_t part = (s.k / parts + tile.depth - 1) / tile.depth * tile.depth;
            if (part < 8 * tile.depth) break;
            if (s.k % part > 0 && s.k % part < tile.depth)
                part += tile.depth; // rather than a very short last one
            with_parts(part);
        }
    };
    if (only.threads() > 0) {
        consider(only, 1, 1);
        return best;
    }
    opencl_family const family = tuned_like(d.family);
    bool const cpu = family == opencl_family::cpu; // there the direct kernel is not that bad
    double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    if (work < (cpu ? 96 * 96 * 96 : 24 * 24 * 24) || s.m < 4 || s.n < 4) return best;
    for (opencl_entry const& e : opencl_entries) {
        if (e.family != family || e.sums != (sums == 'i' ? 's' : sums)) continue;
        if (cpu && (s.m < e.tile.tile_m() || s.n < e.tile.tile_n())) continue;
        consider(e.tile, e.groups, static_cast<double>(e.rate));
    }
    return best;
}

STRATAGEMM_END
