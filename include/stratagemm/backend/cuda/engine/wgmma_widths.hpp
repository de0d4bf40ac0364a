// The tiles of wgmma beside the built-in ones: other widths, and other clusters.
#pragma once

#include "wgmma_tile.hpp"

STRATAGEMM_BEGIN

// Tiles of wgmma as wide as a round of blocks needs, or as wide as a round needs where blocks share k. Built-in tiles
// have multiples of 64 columns, up to 256. These have multiples of 16, which instructions of all types take, and up to
// 304 for two warpgroups: so rows of 16-bit tiles begin with sectors of 32 bytes of memory. Calls f(tile).
template <class F>
void for_other_widths(cuda_device const& d, cuda_wgmma const& tile, cuda_sides const& s, std::size_t element,
                      bool b_along_k, F const& f) {
    if (tile.n < (element == 2 ? 128 : 192) || s.m < 1 || s.n < 1 || s.count < 1) return;
    std::ptrdiff_t const rows = ((s.m - 1) / tile.m / tile.cluster + 1) * tile.cluster * s.count;
    std::ptrdiff_t const widest = tile.m == 128 && tile.n == 256 ? 304 : tile.n;
    std::ptrdiff_t last = 0;
    auto const with = [&](std::ptrdiff_t places) {
        std::ptrdiff_t const cols = places / rows;
        if (cols == 0) return;
        std::ptrdiff_t const n = ((s.n - 1) / cols / 16 + 1) * 16;
        if (n > widest || n == tile.n || n <= tile.n - 64 || n == last) return;
        last = n;
        cuda_wgmma other = tile;
        other.n = static_cast<short>(n), other.stages = 8;
        while (other.stages > 2 && !other.can_run(d, element, b_along_k)) --other.stages;
        f(other);
    };
    for (std::ptrdiff_t parts = 8; parts > 1 && s.count == 1; --parts) with(d.units / parts);
    for (std::ptrdiff_t rounds = 1; rounds <= 4; ++rounds) with(rounds * d.units);
}

// Small tiles of 16 bits for clusters of four or eight blocks, as wide as one round of such clusters needs: they leave
// some multiprocessors idle. Calls f(tile).
template <class F>
void for_clustered_widths(cuda_device const& d, cuda_wgmma const& tile, cuda_sides const& s,
                          std::size_t element, bool b_along_k, F const& f) {
    if (element != 2 || tile.m * tile.n > 128 * 128 || tile.n < 128 || tile.cluster > 1) return;
    if (s.m < 1 || s.n < 1 || s.count != 1) return;
    for (int const below : {1, 2, 4, 8})
        for (int const beside : {1, 2, 4, 8}) {
            cuda_wgmma other = tile;
            other.cluster = static_cast<short>(below), other.beside = static_cast<short>(beside);
            int const blocks = blocks_of_cluster(other);
            if (blocks < 4 || blocks > 8) continue;
            std::ptrdiff_t const rows = (s.m - 1) / tile.m + 1, all_rows = ((rows - 1) / below + 1) * below,
                                 cols = units_filled(blocks_of_cluster(other), d.units) / all_rows / beside *
                                        beside;
            if (cols == 0) continue;
            std::ptrdiff_t const n = ((s.n - 1) / cols / 16 + 1) * 16;
            bool const half_empty = 2 * rows <= below || 2 * ((s.n - 1) / n + 1) <= beside;
            if (n > tile.n || n <= tile.n - 64 || n % (8 * below) != 0 || half_empty) continue;
            other.n = static_cast<short>(n), other.stages = 8;
            while (other.stages > 2 && !other.can_run(d, element, b_along_k)) --other.stages;
            f(other);
        }
}

// Clusters that share small tiles of A and B, all of which run at a time, and pairs that share large tiles of A: where
// the rows of tiles are an odd number, built-in pairs below each other would have a tile too many. Calls f(tile).
template <class F>
void for_other_clusters(cuda_device const& d, cuda_wgmma const& tile, cuda_sides const& s,
                        std::size_t element, F const& f) {
    int const largest = tile.has_three_groups() ? 192 * 128 : 128 * 128; // no others so large are measured
    if (element == 4 || tile.cluster > 1) return;
    std::ptrdiff_t const rows = (s.m - 1) / tile.m + 1, cols = (s.n - 1) / tile.n + 1;
    cuda_wgmma other = tile;
    if (tile.m * tile.n > largest) {
        other.beside = 2;
        if (element == 2 && cols > 1) f(other);
        return;
    }
    for (int const below : {1, 2, 4, 8})
        for (int const beside : {1, 2, 4, 8}) {
            other.cluster = static_cast<short>(below), other.beside = static_cast<short>(beside);
            int const blocks = blocks_of_cluster(other);
            bool const half_empty = 2 * rows <= below || 2 * cols <= beside;
            if (blocks == 1 || blocks > 8 || half_empty) continue;
            std::ptrdiff_t const all =
                ((rows - 1) / below + 1) * ((cols - 1) / beside + 1) * blocks * s.count;
            if (all <= units_filled(blocks_of_cluster(other), d.units)) f(other);
        }
}

STRATAGEMM_END
