// What the engines that divide C into tiles have in common: their parameters as others see them, and built-in tiles.
#pragma once

#include "../lines.hpp"
#include "../source.hpp"
#include "narrow.hpp"

#include <vector>

STRATAGEMM_BEGIN

// A built-in tile, of which a multiprocessor runs so many blocks at a time, or needs so many to be full. `types` are
// letters (source.hpp); t: floats that may be rounded to tf32.
template <class Tile>
struct cuda_built_in {
    char const* types;
    Tile tile;
    short blocks;
};
// Those of an engine: data, the larger tiles first.
template <class Tile>
inline constexpr int cuda_tiles_of = 0;

template <class Tile>
inline constexpr bool has_tiles = requires {
    cuda_tiles_of<Tile>[0];
};

// The parameters as a list, after the number of the engine: m, n, k, micro_m, micro_n, stages, group, cluster, parts and
// beside. What a tile does not have is 1.
template <class Tile>
void put_parameters(Tile const& t, std::vector<short>& v) {
    v[1] = t.m, v[2] = t.n, v[3] = t.k, v[4] = v[5] = 1, v[6] = t.stages, v[7] = t.group, v[8] = 1,
    v[9] = t.parts, v[10] = 1;
    if constexpr (requires { t.micro_m; }) v[4] = t.micro_m, v[5] = t.micro_n;
    if constexpr (requires { t.cluster; }) v[8] = t.cluster, v[10] = t.beside;
}
template <class Tile>
Tile tile_of(std::vector<short> const& v) {
    Tile t;
    t.m = v[1], t.n = v[2], t.k = v[3], t.stages = v[6], t.group = v[7], t.parts = v[9];
    if constexpr (requires { t.micro_m; }) t.micro_m = v[4], t.micro_n = v[5];
    if constexpr (requires { t.cluster; }) t.cluster = v[8], t.beside = v[10];
    return t;
}

// Blocks of a cluster below and beside each other.
template <class Tile>
constexpr int blocks_below(Tile const& t) {
    if constexpr (requires { t.cluster; })
        return t.cluster;
    else
        return 1;
}
template <class Tile>
constexpr int blocks_beside(Tile const& t) {
    if constexpr (requires { t.beside; })
        return t.beside;
    else
        return 1;
}
template <class Tile>
constexpr int blocks_of_cluster(Tile const& t) {
    return blocks_below(t) * blocks_beside(t);
}
// The tiles of a product. A cluster takes tiles that lie together, as many as it has blocks.
template <class Tile>
constexpr std::ptrdiff_t tiles_of(Tile const& t, cuda_sides const& s) {
    std::ptrdiff_t const below = blocks_below(t), beside = blocks_beside(t);
    return ((s.m - 1) / (t.m * below) + 1) * below * (((s.n - 1) / (t.n * beside) + 1) * beside);
}

// As in describe(): blocked, tiles of 128x128x8, 256 threads.
template <class Tile>
std::string describe_tile(Tile const& t) {
    std::string text = std::string(Tile::name) + ", tiles of " + std::to_string(t.m) + 'x' +
                       std::to_string(t.n) + 'x' + std::to_string(t.k) + ", " + std::to_string(t.threads()) +
                       " threads";
    if (blocks_of_cluster(t) == 1) return text;
    text += ", clusters of " + std::to_string(blocks_below(t));
    return blocks_beside(t) > 1 ? text + 'x' + std::to_string(blocks_beside(t)) : text;
}

// Whether a matrix of sums for each thread or warp covers a tile, in multiples of these steps.
template <class Tile>
constexpr bool micro_tiles_fit(Tile const& t, int step_m, int step_n) {
    return t.micro_m % step_m == 0 && t.micro_n % step_n == 0 && t.m % t.micro_m == 0 && t.n % t.micro_n == 0;
}

// Blocks of a launch, with sums of parts or of all of k.
template <class Tile>
std::ptrdiff_t blocks_of(Tile const& given, Tile const& on_c, cuda_form const& form, cuda_way const& way,
                         cuda_sides const& s) {
    std::ptrdiff_t const parts = way.parts(s.k);
    if (form.tail) return way.whole + (tiles_of(given, s) - way.whole) * parts;
    return tiles_of(on_c, s) * (form.partial || form.together ? parts : s.count);
}

STRATAGEMM_END
