// What the engines that divide C into tiles have in common: their parameters as others see them, and built-in tiles.
#pragma once

#include "../lines.hpp"
#include "../source.hpp"

#include <vector>

STRATAGEMM_BEGIN

template <class Engine, class F>
void ways_of_built_in(cuda_query const& q, F& f); // tile_counts.hpp
template <class Engine, class F>
void ways_as_given(cuda_query const& q, Engine const& tile, F& f);
template <class Tile>
std::string describe_tile(Tile const& t);

// What the engines have in common whose threads or warps sum micro tiles, parts of a tile: its parameters, and what holds
// for most. An engine says otherwise by a member of the same name.
template <class Engine>
struct cuda_micro_tiled {
    short m = 0, n = 0, k = 0;      // of C, and the depth of what is in shared memory at a time
    short micro_m = 1, micro_n = 1; // of C for each thread or warp: a micro tile
    short stages = 2;               // of shared memory
    short group = 8;                // rows of tiles that are walked through together
    short parts = 0;                // of k, summed each by itself; 0: as the cost says

    constexpr cuda_micro_tiled() = default;
    constexpr cuda_micro_tiled(short rows, short cols, short depth, short micro_rows = 1,
                               short micro_cols = 1, short buffers = 2, short grouped = 8,
                               short parts_of_k = 0)
        : m(rows), n(cols), k(depth), micro_m(micro_rows), micro_n(micro_cols), stages(buffers),
          group(grouped), parts(parts_of_k) {}

    friend bool operator==(cuda_micro_tiled const&, cuda_micro_tiled const&) = default;
    friend auto operator<=>(cuda_micro_tiled const&, cuda_micro_tiled const&) = default;

    constexpr int micro_sums() const { return micro_m * micro_n; }
    constexpr int micro_tiles() const { return m / micro_m * (n / micro_n); }
    std::string describe() const { return describe_tile(static_cast<Engine const&>(*this)); }

    // Calls f with each parameter, as tuning and files of measurements keep them: a cluster has one block.
    template <class Tile, class F>
    static void each_parameter(Tile& t, F const& f) {
        short below = 1, beside = 1;
        f(t.m), f(t.n), f(t.k), f(t.micro_m), f(t.micro_n);
        f(t.stages), f(t.group), f(below), f(t.parts), f(beside);
    }

    template <class F>
    static void candidates(cuda_query const& q, F& f) {
        ways_of_built_in<Engine>(q, f);
    }
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const {
        if (Engine::takes_type(q.device, q.type) && (Engine::widens || !q.layout.widens()))
            ways_as_given(q, static_cast<Engine const&>(*this), f);
    }

    static constexpr bool widens = false;
    static constexpr bool reads_lines() { return true; }
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return !order.on_tensor_cores;
    }
    static constexpr std::ptrdiff_t least_part() { return 32; }
    std::ptrdiff_t terms(std::ptrdiff_t of_k) const { return ((of_k - 1) / k + 1) * k; }
    static constexpr bool may_shift(cuda_query const&, bool) { return false; }
    static constexpr int blocks_with_pieces(int blocks) { return blocks; }
    static constexpr bool adds_up_together(std::size_t) { return false; }
    static constexpr bool divides_last_round(std::size_t) { return false; }
    static cuda_form form_taken(cuda_query const& q, cuda_way const&) {
        return {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k};
    }
    static constexpr bool changes_lines(bool, std::size_t) { return false; }
};

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

// Whether an engine reads operands as lines, or copies of them where they do not lie so.
template <class Engine>
inline constexpr bool reads_lines = [] {
    if constexpr (requires { Engine::reads_lines(); }) return Engine::reads_lines();
    return false;
}();

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
