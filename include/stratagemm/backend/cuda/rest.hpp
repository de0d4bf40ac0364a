// The engines that have no file of their own yet: blocked, simt, fp64, mma and wgmma.
#pragma once

#include "engine/narrow.hpp"
#include "model.hpp"
#include "tuning/entries.hpp"

STRATAGEMM_BEGIN

// Whether an engine is for operands of a type on a device: its letter (source.hpp), or t for floats that may
// be rounded to tf32.
inline bool engine_takes(cuda_engine e, char type, cuda_device const& d) {
    switch (e) {
    case cuda_engine::simt: return type == 's';
    case cuda_engine::fp64: return type == 'd';
    case cuda_engine::wgmma: return std::strchr("hwbt45", type) != nullptr;
    case cuda_engine::mma: return tensor_cores_take(d, type);
    default: return true;
    }
}

// Whether an engine sums in the order of an invariant product. Complex numbers are judged as they are, not as real
// numbers.
inline bool keeps_order(cuda_engine e, cuda_order const& order, char type, cuda_device const& d) {
    switch (e) {
    case cuda_engine::fp64: return order.on_tensor_cores && d.capability == 90;
    case cuda_engine::wgmma: return order.on_tensor_cores;
    case cuda_engine::mma: return order.on_tensor_cores && !(d.capability == 90 && std::strchr("45", type));
    default: return !order.on_tensor_cores;
    }
}

// Tiles of wgmma as wide as a round of blocks needs, or as wide as a round needs where blocks share k. Built-in tiles
// have multiples of 64 columns, up to 256. These have multiples of 16, which instructions of all types take, and up to
// 304 for two warpgroups: so rows of 16-bit tiles begin with sectors of 32 bytes of memory. Calls f(tile, rate); the
// rate is a part of the rate of `tile`.
template <class F>
void for_other_widths(cuda_device const& d, cuda_tile const& tile, cuda_sides const& s, std::size_t element,
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
        cuda_tile other = tile;
        other.n = static_cast<short>(n), other.stages = 8;
        while (other.stages > 2 && !can_run(other, d, element, b_along_k)) --other.stages;
        f(other, 1 - 0.0011 * static_cast<double>(n < tile.n ? tile.n - n : n - tile.n));
    };
    for (std::ptrdiff_t parts = 8; parts > 1 && s.count == 1; --parts) with(d.units / parts);
    for (std::ptrdiff_t rounds = 1; rounds <= 4; ++rounds) with(rounds * d.units);
}

// The factor for the rate of a small tile of 16 bits in clusters of four or eight blocks, each of which fetches a part
// of the operands that all blocks multiply.
inline double rate_in_clusters(cuda_tile const& t, bool b_along_k, std::size_t element) {
    if (element != 2 || t.blocks_of_cluster() < 4 || has_three_groups(t)) return 1;
    if (t.m > 64) return t.n >= 128 ? 1.15 : b_along_k ? 1.06 : 1;
    return b_along_k ? 1.4 : 1.12;
}

// Small tiles of 16 bits for clusters of four or eight blocks, as wide as one round of such clusters needs: they leave
// some multiprocessors idle. Calls f(tile, rate); the rate is a part of the rate of `tile`.
template <class F>
void for_clustered_widths(cuda_device const& d, cuda_tile const& tile, cuda_sides const& s,
                          std::size_t element, bool b_along_k, F const& f) {
    if (element != 2 || tile.m * tile.n > 128 * 128 || tile.n < 128 || tile.cluster > 1) return;
    if (s.m < 1 || s.n < 1 || s.count != 1) return;
    for (int const below : {1, 2, 4, 8})
        for (int const beside : {1, 2, 4, 8}) {
            cuda_tile other = tile;
            other.cluster = static_cast<short>(below), other.beside = static_cast<short>(beside);
            int const blocks = other.blocks_of_cluster();
            if (blocks < 4 || blocks > 8) continue;
            std::ptrdiff_t const rows = (s.m - 1) / tile.m + 1, all_rows = ((rows - 1) / below + 1) * below,
                                 cols = units_for(other, d.units) / all_rows / beside * beside;
            if (cols == 0) continue;
            std::ptrdiff_t const n = ((s.n - 1) / cols / 16 + 1) * 16;
            bool const half_empty = 2 * rows <= below || 2 * ((s.n - 1) / n + 1) <= beside;
            if (n > tile.n || n <= tile.n - 64 || n % (8 * below) != 0 || half_empty) continue;
            other.n = static_cast<short>(n), other.stages = 8;
            while (other.stages > 2 && !can_run(other, d, element, b_along_k)) --other.stages;
            f(other,
              (1 - 0.0011 * static_cast<double>(tile.n - n)) * rate_in_clusters(other, b_along_k, element));
        }
}

// Clusters that share small tiles of A and B, all of which run at a time, and pairs that share large tiles of A: where
// the rows of tiles are an odd number, built-in pairs below each other would have a tile too many. Calls f(tile, rate);
// the rate is a part of the rate of `tile`.
template <class F>
void for_other_clusters(cuda_device const& d, cuda_tile const& tile, cuda_sides const& s, std::size_t element,
                        bool b_along_k, F const& f) {
    int const largest = has_three_groups(tile) ? 192 * 128 : 128 * 128; // no others so large are measured
    if (element == 4 || tile.cluster > 1) return;
    std::ptrdiff_t const rows = (s.m - 1) / tile.m + 1, cols = (s.n - 1) / tile.n + 1;
    cuda_tile other = tile;
    if (tile.m * tile.n > largest) {
        other.beside = 2;
        if (element == 2 && cols > 1) f(other, has_three_groups(tile) ? 1 : 0.97);
        return;
    }
    for (int const below : {1, 2, 4, 8})
        for (int const beside : {1, 2, 4, 8}) {
            other.cluster = static_cast<short>(below), other.beside = static_cast<short>(beside);
            int const blocks = other.blocks_of_cluster();
            bool const half_empty = 2 * rows <= below || 2 * cols <= beside;
            if (blocks == 1 || blocks > 8 || half_empty) continue;
            std::ptrdiff_t const all =
                ((rows - 1) / below + 1) * ((cols - 1) / beside + 1) * blocks * s.count;
            if (all <= units_for(other, d.units)) f(other, rate_in_clusters(other, b_along_k, element));
        }
}

// Calls f with the ways to run a product with one tile.
template <class F>
class cuda_tile_ways {
public:
    cuda_tile_ways(cuda_query const& q, F& f)
        : q_(q), f_(f), s_(q.sides), d_(q.device), layout_(q.layout), element_(q.element),
          fetched_(q.line_of_a() % 16 == 0 && q.line_of_b() % 16 == 0) {}

    void operator()(cuda_tile const& tile, int blocks, double rate) const {
        if (!can_run(tile, d_, element_, element_ != 2 || layout_.b_along_k)) return;
        std::ptrdiff_t const tiles = ((s_.m - 1) / tile.m + 1) * ((s_.n - 1) / tile.n + 1);
        // A tile is left out if it would take longer even at its best. Tiles of tf32 may lie turned, and their number
        // is then that of tiles with exchanged sides.
        double const least = static_cast<double>(tiles * s_.count) * tile.m * tile.n *
                             static_cast<double>(terms_of(tile, s_.k)) / (rate * d_.units);
        if (least > f_.least() && q_.type != 't') return;
        if (q_.invariant) return in_order(tile, blocks, rate);
        with_parts(tile, blocks, rate, 0, 0);
        if (tile.beside > 1 || tile.cluster > 2) return;
        all_in_parts(tile, blocks, rate);
        last_round_in_parts(tile, blocks, rate);
    }
    // Each block of a cluster should have a multiprocessor for itself. The multiprocessors of a cluster are neighbours,
    // so that up to one of five is left over.
    bool can_be_together(cuda_tile const& tile, std::ptrdiff_t parts) const {
        std::ptrdiff_t const tiles = ((s_.m - 1) / tile.m + 1) * ((s_.n - 1) / tile.n + 1);
        bool const all_run = parts == 2 ? tiles * parts <= d_.units : 5 * tiles * parts <= 4 * d_.units;
        return d_.capability >= 90 && all_run && adds_up_together(tile, element_, parts);
    }

private:
    // Whether `shifted` makes a difference to a tile.
    bool may_shift(cuda_tile const& tile) const {
        if (layout_.widens()) return takes_any_lines(tile) && !(q_.invariant && may_read_along_k(tile));
        if (may_read_along_k(tile)) return !q_.invariant && (layout_.a_along_k || layout_.b_along_k);
        bool const gathers = tile.engine == cuda_engine::simt && takes_any_lines(tile);
        return !fetched_ && (gathers || takes_words(tile, element_));
    }
    void with(cuda_tile const& tile, int blocks, double rate, cuda_way way) const {
        int const beside = way.piece > 0 && way.part == 0 ? blocks_with_pieces(tile, blocks) : blocks;
        way.cycles = cuda_model({.tile = tile,
                                 .blocks = beside,
                                 .rate = rate,
                                 .choice = way,
                                 .sides = s_,
                                 .layout = layout_,
                                 .element = element_,
                                 .result = q_.result(),
                                 .device = d_})
                         .cycles();
        f_(tile, way);
    }
    void with_parts(cuda_tile const& tile, int blocks, double rate, std::ptrdiff_t part,
                    std::ptrdiff_t whole) const {
        for (bool const shifted : {false, true}) {
            if (shifted ? !may_shift(tile) : layout_.widens()) continue;
            cuda_way way;
            way.part = part, way.whole = whole, way.shifted = shifted;
            way.invariant = q_.invariant, way.widens = layout_.widens();
            if (q_.invariant) way.piece = q_.order.piece;
            with(tile, blocks, rate, way);
            way.together = part > 0 && whole == 0 && can_be_together(tile, way.parts(s_.k));
            if (way.together) with(tile, blocks, rate, way);
        }
    }
    void in_order(cuda_tile const& tile, int blocks, double rate) const {
        if (!keeps_order(tile.engine, q_.order, q_.type, d_)) return;
        std::ptrdiff_t const piece = q_.order.piece;
        if (piece == 0 || sums_pieces(tile)) with_parts(tile, blocks, rate, 0, 0);
        if (piece > 0 && s_.count == 1) with_parts(tile, blocks, rate, piece, 0);
    }
    void all_in_parts(cuda_tile const& tile, int blocks, double rate) const {
        std::ptrdiff_t const least = fetches(tile.engine)              ? 32
                                     : tile.engine == cuda_engine::mma ? tile.k
                                                                       : 4 * tile.k;
        for (std::ptrdiff_t parts = 2; parts <= 256 && s_.count == 1; parts += parts < 8 ? 1 : parts / 4) {
            std::ptrdiff_t const part = ((s_.k - 1) / parts / tile.k + 1) * tile.k;
            if (part < least) break;
            with_parts(tile, blocks, rate, part, 0);
        }
    }
    // Only the tiles that are left for a last round are in parts.
    void last_round_in_parts(cuda_tile const& tile, int blocks, double rate) const {
        std::ptrdiff_t const all = ((s_.m - 1) / tile.m / tile.cluster + 1) *
                                   ((s_.n - 1) / tile.n / tile.beside + 1) * tile.blocks_of_cluster();
        std::ptrdiff_t const places = std::ptrdiff_t{blocks} * units_for(tile, d_.units), left = all % places;
        if (!divides_last_round(tile, element_) || layout_.widens() || s_.count != 1 || all < places ||
            left == 0)
            return;
        for (std::ptrdiff_t parts = 2; parts <= 16; ++parts) {
            std::ptrdiff_t const part = ((s_.k - 1) / parts / tile.k + 1) * tile.k;
            if (part < 8 * tile.k) break;
            with_parts(tile, blocks, rate, part, all - left);
        }
    }

    cuda_query const& q_;
    F& f_;
    cuda_sides const& s_;
    cuda_device const& d_;
    cuda_layout const& layout_;
    std::size_t element_;
    bool fetched_; // by the hardware, both operands
};

// Where few columns are read once, no tile need be asked.
inline bool cuda_tile::takes(cuda_query const& q) {
    return (!q.layout.widens() || !q.given) && !cuda_few_columns::are_read_once(q);
}

// The tiles that an entry stands for: itself, and for wgmma others of its kind.
template <class F>
void candidates_of(cuda_entry const& e, cuda_query const& q, cuda_tile_ways<F> const& consider) {
    auto const rate = static_cast<double>(e.rate);
    consider(e.tile, e.blocks, rate);
    if (e.tile.engine != cuda_engine::wgmma) return;
    bool const b_along_k = q.layout.b_along_k;
    auto const other_clusters = [&](cuda_tile const& given, double of_given) {
        for_other_clusters(
            q.device, given, q.sides, q.element, b_along_k,
            [&](cuda_tile const& tile, double part) { consider(tile, e.blocks, of_given * part); });
    };
    other_clusters(e.tile, rate);
    for_clustered_widths(q.device, e.tile, q.sides, q.element, b_along_k,
                         [&](cuda_tile const& tile, double part) { consider(tile, e.blocks, rate * part); });
    if (q.element == 2 || (q.element == 1 && b_along_k))
        for_other_widths(q.device, e.tile, q.sides, q.element, b_along_k,
                         [&](cuda_tile const& tile, double part) {
                             consider(tile, e.blocks, rate * part);
                             other_clusters(tile, rate * part);
                         });
}

template <class F>
void cuda_tile::candidates(cuda_query const& q, F& f) {
    cuda_tile_ways<F> const consider(q, f);
    bool const lines_along_k = static_cast<std::size_t>(q.sides.k) * q.element % 16 == 0;
    for (cuda_entry const& e : cuda_entries) {
        cuda_engine const engine = e.tile.engine;
        if (!std::strchr(e.types, q.type) || !engine_takes(engine, q.type, q.device)) continue;
        if (q.layout.widens() && (engine != cuda_engine::simt || q.type != 's')) continue;
        // wgmma is twice as fast for these types. But mma has smaller tiles of 16 bits, for few rows, and takes lines
        // that the hardware does not fetch.
        if (engine == cuda_engine::mma && q.device.capability == 90 && q.element != 2 &&
            (lines_along_k || !q.layout.a_along_k || !q.layout.b_along_k))
            continue;
        candidates_of(e, q, consider);
    }
}

// The rate is that of the built-in tile of the same sides, or that of the first tile of the engine.
template <class F>
void cuda_tile::candidates_as_given(cuda_query const& q, F& f) const {
    if (!engine_takes(engine, q.type, q.device)) return;
    cuda_entry const* like = nullptr;
    for (cuda_entry const& e : cuda_entries) {
        if (e.tile.engine != engine || !std::strchr(e.types, q.type)) continue;
        bool const same = e.tile.m == m && e.tile.n == n;
        if (!like || same) like = &e;
        if (same) break;
    }
    if (!like) return;
    auto const in_given_parts = [&](cuda_tile const& tile, cuda_way way, auto const& consider) {
        if (parts == 0 || q.invariant) return f(tile, way);
        cuda_tile one = tile;
        std::ptrdiff_t const part = ((q.sides.k - 1) / parts / k + 1) * k;
        way.whole = 0;
        way.part = parts > 1 && q.sides.count == 1 && part > 0 && part < q.sides.k ? part : 0;
        way.together = consider.can_be_together(*this, way.parts(q.sides.k));
        one.parts = 0;
        f(one, way);
    };
    cuda_best_of<cuda_tile> best;
    cuda_tile_ways<cuda_best_of<cuda_tile>> const consider(q, best);
    consider(*this, like->blocks, static_cast<double>(like->rate));
    if (best.found) in_given_parts(best.engine, best.way, consider);
}

STRATAGEMM_END
