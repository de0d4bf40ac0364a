// What the engines that divide C into tiles have in common: their parameters as others see them, and built-in tiles.
#pragma once

#include "../lines.hpp"
#include "../source.hpp"
#include "narrow.hpp"

#include <vector>

STRATAGEMM_BEGIN

// A built-in tile, of which a multiprocessor runs so many blocks at a time, or needs so many to be full; it then does
// `rate` multiply-adds in a cycle. `types`: letters (source.hpp); t: floats that may be rounded to tf32.
template <class Tile>
struct cuda_built_in {
    char const* types;
    Tile tile;
    short blocks;
    float rate;
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

// Asks a Cost about the ways to run a product with one tile, and calls f with each of them.
template <class Tile, class Cost, class F>
class cuda_ways_of_tile {
public:
    // `blocks` of the tile on a multiprocessor multiply at `rate` multiply-adds in a cycle.
    cuda_ways_of_tile(cuda_query const& q, Tile const& tile, int blocks, double rate, F& f)
        : q_(q), s_(q.sides), t_(tile), blocks_(blocks), rate_(rate), f_(f),
          fetched_(q.line_of_a() % 16 == 0 && q.line_of_b() % 16 == 0) {}

    void ask() const {
        if (!t_.can_run(q_.device, q_.element, q_.element != 2 || q_.layout.b_along_k)) return;
        // A tile is left out if it would take longer even at its best. Tiles of tf32 may lie turned, and their number
        // is then that of tiles with exchanged sides.
        double const least = static_cast<double>(tiles() * s_.count) * t_.m * t_.n *
                             static_cast<double>(t_.terms(s_.k)) / (rate_ * q_.device.units);
        if (least > f_.least() && q_.type != 't') return;
        if (q_.invariant) return in_order();
        with_parts(0, 0);
        if (blocks_beside(t_) > 1 || blocks_below(t_) > 2 || s_.count != 1) return;
        all_in_parts();
        if (t_.divides_last_round(q_.element) && !q_.layout.widens()) last_round_in_parts();
    }
    // Each block of a cluster should have a multiprocessor for itself. The multiprocessors of a cluster are neighbours,
    // so that up to one of five is left over. A cluster has eight blocks at most, and their sums have to fit where tiles
    // were.
    bool can_be_together(std::ptrdiff_t parts) const {
        std::ptrdiff_t const all = tiles() * parts, units = q_.device.units;
        bool const all_run = parts == 2 ? all <= units : 5 * all <= 4 * units;
        return q_.device.capability >= 90 && all_run && t_.adds_up_together(q_.element) &&
               blocks_of_cluster(t_) == 1 && parts > 1 && parts <= 8 &&
               t_.m * t_.n * 4 <= t_.stages * (t_.m + t_.n) * t_.k * static_cast<int>(q_.element);
    }

private:
    std::ptrdiff_t tiles() const { return ((s_.m - 1) / t_.m + 1) * ((s_.n - 1) / t_.n + 1); }
    void with(cuda_way way) const {
        int const beside = way.piece > 0 && way.part == 0 ? t_.blocks_with_pieces(blocks_) : blocks_;
        way.cycles = Cost(q_, t_, beside, rate_, way).cycles(f_.least());
        f_(t_, way);
    }
    void with_parts(std::ptrdiff_t part, std::ptrdiff_t whole) const {
        for (bool const shifted : {false, true}) {
            if (shifted ? !t_.may_shift(q_, fetched_) : q_.layout.widens()) continue;
            cuda_way way;
            way.part = part, way.whole = whole, way.shifted = shifted;
            way.invariant = q_.invariant, way.widens = q_.layout.widens();
            if (q_.invariant) way.piece = q_.order.piece;
            with(way);
            way.together = part > 0 && whole == 0 && can_be_together(way.parts(s_.k));
            if (way.together) with(way);
        }
    }
    void in_order() const {
        if (!Tile::keeps_order(q_.order, q_.type, q_.device)) return;
        std::ptrdiff_t const piece = q_.order.piece;
        if (piece == 0 || t_.sums_pieces()) with_parts(0, 0);
        if (piece > 0 && s_.count == 1) with_parts(piece, 0);
    }
    std::ptrdiff_t part_of(std::ptrdiff_t parts) const { return ((s_.k - 1) / parts / t_.k + 1) * t_.k; }
    void all_in_parts() const {
        for (std::ptrdiff_t parts = 2; parts <= 256; parts += parts < 8 ? 1 : parts / 4) {
            if (part_of(parts) < t_.least_part()) break;
            with_parts(part_of(parts), 0);
        }
    }
    // Only the tiles that are left for a last round are in parts.
    void last_round_in_parts() const {
        std::ptrdiff_t const all = tiles_of(t_, s_), left = all % places();
        if (all < places() || left == 0) return;
        for (std::ptrdiff_t parts = 2; parts <= 16; ++parts) {
            if (part_of(parts) < 8 * t_.k) break;
            with_parts(part_of(parts), all - left);
        }
    }
    std::ptrdiff_t places() const {
        return std::ptrdiff_t{blocks_} * units_filled(blocks_of_cluster(t_), q_.device.units);
    }

    cuda_query const& q_;
    cuda_sides const& s_;
    Tile const& t_;
    int blocks_;
    double rate_;
    F& f_;
    bool fetched_; // by the hardware, both operands
};

// Calls f with the ways of all built-in tiles.
template <class Cost, class Tile, class F>
void ways_of_built_in(cuda_query const& q, F& f) {
    for (auto const& e : cuda_tiles_of<Tile>)
        if (std::strchr(e.types, q.type))
            cuda_ways_of_tile<Tile, Cost, F>(q, e.tile, e.blocks, static_cast<double>(e.rate), f).ask();
}

// The best way of a tile.
template <class Tile>
struct cuda_best_of {
    Tile tile{};
    cuda_way way{.cycles = 1e300};
    bool found = false;

    double least() const { return way.cycles; }
    void operator()(Tile const& given, cuda_way const& how) {
        if (how.cycles < least()) tile = given, way = how, found = true;
    }
};

// The ways of the tile that a caller wants, in so many parts of k as it says. The rate is that of the built-in tile of
// the same sides, or that of the first one.
template <class Cost, class Tile, class F>
void ways_as_given(cuda_query const& q, Tile const& tile, F& f) {
    cuda_built_in<Tile> const* like = nullptr;
    for (auto const& e : cuda_tiles_of<Tile>) {
        if (!std::strchr(e.types, q.type)) continue;
        bool const same = e.tile.m == tile.m && e.tile.n == tile.n;
        if (!like || same) like = &e;
        if (same) break;
    }
    if (!like) return;
    cuda_best_of<Tile> best;
    cuda_ways_of_tile<Tile, Cost, cuda_best_of<Tile>> const ways(q, tile, like->blocks,
                                                                static_cast<double>(like->rate), best);
    ways.ask();
    if (!best.found) return;
    if (tile.parts > 0 && !q.invariant) {
        std::ptrdiff_t const part = ((q.sides.k - 1) / tile.parts / tile.k + 1) * tile.k;
        cuda_way& way = best.way;
        way.whole = 0;
        way.part = tile.parts > 1 && q.sides.count == 1 && part > 0 && part < q.sides.k ? part : 0;
        way.together = ways.can_be_together(way.parts(q.sides.k));
        best.tile.parts = 0;
    }
    f(best.tile, best.way);
}

STRATAGEMM_END
