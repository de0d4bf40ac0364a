// What a product is made of with a tile: what the engines that divide C into tiles have in common. The counts follow
// from the tile and the sides.
#pragma once

#include "counts.hpp"
#include "few_columns.hpp"
#include "tile.hpp"

STRATAGEMM_BEGIN

// Of tiles, which blocks take in rounds.
class cuda_tile_counts : public cuda_counts {
public:
    // `blocks` of the tile fit on a multiprocessor.
    template <class Tile>
    cuda_tile_counts(cuda_query const& q, Tile const& given, int blocks, cuda_way const& way) {
        cuda_sides const& s = q.sides;
        cuda_form const form = given.form_taken(q, way);
        Tile const t = on_c(given, form, q.element);
        units = units_filled(blocks_of_cluster(t), q.device.units), resident = blocks;
        parts = real(way.parts(s.k)), clustered = way.together, added = way.part > 0 && !way.together;
        operands(q, t, form, way);
        step_of_tile(t);
        rounds(q, t, way);
        memory_of(q, t);
        row = 2 * q.layout.a_along_k + q.layout.b_along_k, direct = form.direct && row > 0;
        has_tail = way.whole > 0;
    }

private:
    template <class Tile>
    static Tile on_c(Tile const& given, cuda_form const& form, std::size_t element) {
        if constexpr (requires { given.lying_on_c(form, element); })
            return given.lying_on_c(form, element);
        else
            return given;
    }
    // How a step's operands come: fetched by hardware, gathered by threads, or fetched from a copy.
    template <class Tile>
    void operands(cuda_query const& q, Tile const& t, cuda_form const& form, cuda_way const& way) {
        cuda_sides const& s = q.sides;
        bool const a_lies = form.a_along_k == q.layout.a_along_k,
                   b_lies = form.b_along_k == q.layout.b_along_k;
        std::size_t const a_begins = begins_at(q.line_of_a()), b_begins = begins_at(q.line_of_b());
        bool const a_comes = a_lies && a_begins == 16, b_comes = b_lies && b_begins == 16;
        auto const size = real(q.element);
        double const terms = t.k;
        double const of_a = real(t.m) / blocks_beside(t) * terms * size,
                     of_b = real(t.n) / blocks_below(t) * terms * size;
        fetched = of_a + of_b;
        within = (q.line_of_a() % 128 != 0 && a_comes ? of_a : 0) +
                 (q.line_of_b() % 128 != 0 && b_comes ? of_b : 0);
        stages = t.stages;
        if constexpr (Tile::reads_lines()) {
            gathers = (!a_comes || !b_comes || q.layout.widens()) && a_lies && b_lies && way.whole == 0 &&
                      t.gathers_lines(q, way);
            if (gathers) {
                auto const gather = [&](double side, bool along_k, std::size_t begins) {
                    bool const changes = t.changes_lines(along_k, begins);
                    (changes ? changed : gathered) += side * terms * (changes ? 1 : size / real(begins));
                };
                gather(t.m, q.layout.a_along_k, a_begins), gather(t.n, q.layout.b_along_k, b_begins);
            } else {
                copied = ((a_comes ? 0 : real(s.m)) + (b_comes ? 0 : real(s.n))) * real(s.k * s.count) *
                         size / q.device.units;
                cache = real(q.device.cache_bytes) / q.device.units;
            }
        }
        if constexpr (requires { t.blocks_that_gather(q, form, resident); })
            if (gathers) resident = t.blocks_that_gather(q, form, resident);
    }
    // A step of k multiplies so much, and reads so much of shared memory. Warps are on four schedulers; the one with
    // most of them says how long all take.
    template <class Tile>
    void step_of_tile(Tile const& t) {
        multiply_adds = real(t.m) * t.n * t.k;
        if constexpr (requires { t.sums(); }) {
            int const warps = t.threads() / 32 * resident;
            multiply_adds *= up(warps, 4) * 4 / warps;
        }
        if constexpr (requires { t.micro_m; })
            loads = multiply_adds / t.micro_m + multiply_adds / t.micro_n;
        else
            loads = real(t.m + t.n) * t.k;
    }
    // The rounds of all blocks, and what is left for a last round.
    template <class Tile>
    void rounds(cuda_query const& q, Tile const& t, cuda_way const& way) {
        cuda_sides const& s = q.sides;
        std::ptrdiff_t const tiles = tiles_of(t, s) * s.count,
                             in_parts = way.part > 0 ? tiles - way.whole : 0;
        cuda_counts::rounds(way.part > 0 ? in_parts * way.parts(s.k) : tiles,
                            steps(way.part > 0 ? way.part : s.k, t));
        if (way.whole > 0) { // full rounds of whole tiles come first
            double const before = real(way.whole / (std::ptrdiff_t{units} * resident));
            full_rounds += before, full_steps += before * steps(s.k, t), busy = 1;
        }
        if (way.part > 0) sums = real(in_parts) * t.m * t.n * real(way.parts(s.k));
        double const rows = s.m < t.m ? real(s.m) : t.m, cols = s.n < t.n ? real(s.n) : t.n;
        stored = rows * cols * (added && way.whole == 0 ? sum_size(q) : real(q.result()));
        in_cluster = stored_of_tail = rows * cols * sum_size(q);
        if (clustered) stored /= parts;
        double const apart = added ? rows * cols * real(in_parts) : 0;
        finishes(q, added && way.whole == 0 ? 0 : rows * cols, apart);
        sums = added ? sums * sum_size(q) / q.device.units : 0;
    }
    template <class Tile>
    static double steps(std::ptrdiff_t depth, Tile const& t) {
        return real(t.terms(depth)) / t.k;
    }
    // Bytes of operands, as they are stored, and of C, for each multiprocessor.
    template <class Tile>
    void memory_of(cuda_query const& q, Tile const& t) {
        cuda_sides const& s = q.sides;
        auto const size = [&](short narrow) { return narrow > 0 ? real(narrow) : real(q.element); };
        double const each = real(s.count) / q.device.units *
                            (cuda_fitted_bytes_per_cycle / q.device.bytes_per_cycle),
                     of_a = real(s.m) * real(s.k) * size(q.layout.a_bytes) * each,
                     of_b = real(s.k) * real(s.n) * size(q.layout.b_bytes) * each;
        moved = of_a + of_b + real(s.m) * real(s.n) * real(q.result()) * each;
        across = (q.layout.a_along_k ? 0 : of_a) + (q.layout.b_along_k ? 0 : of_b);
        aligned = added || static_cast<std::size_t>(s.n) * q.result() % 16 == 0;
        if constexpr (requires { t.stores_lines(); }) aligned &= t.stores_lines();
    }
};

// Counts the ways to run a product with one tile, and calls f with each of them.
template <class Tile, class F>
class cuda_ways_of_tile {
public:
    // `blocks` of the tile fit on a multiprocessor. `slower`: its factor.
    cuda_ways_of_tile(cuda_query const& q, Tile const& tile, int blocks, cuda_tile_costs const& costs,
                      float slower, F& f)
        : q_(q), s_(q.sides), t_(tile), blocks_(blocks), costs_(costs), slower_(static_cast<double>(slower)),
          f_(f), fetched_(q.line_of_a() % 16 == 0 && q.line_of_b() % 16 == 0) {}

    void ask() const {
        if (!t_.can_run(q_.device, q_.element, q_.element != 2 || q_.layout.b_along_k)) return;
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
        way.cycles = cuda_tile_counts(q_, t_, beside, way).cycles(costs_, slower_, f_.least());
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
    // Whether parts of k may be faster than what is best so far.
    bool may_be_in_parts() const {
        for (bool const shifted : {false, true}) {
            if (shifted && !t_.may_shift(q_, fetched_)) continue;
            cuda_way way;
            way.shifted = shifted, way.widens = q_.layout.widens();
            if (!(cuda_tile_counts(q_, t_, blocks_, way).at_least_in_parts(costs_, slower_) > f_.least()))
                return true;
        }
        return false;
    }
    void all_in_parts() const {
        if (!may_be_in_parts()) return;
        for (std::ptrdiff_t parts = 2; parts <= 256; parts += parts < 8 ? 1 : parts / 4) {
            if (part_of(parts) < t_.least_part() || tiles() * parts > 4 * places()) break;
            if (part_of(parts) >= s_.k) continue;
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
    cuda_tile_costs const& costs_;
    double slower_;
    F& f_;
    bool fetched_; // by the hardware, both operands
};

// Calls f with the ways of all built-in tiles.
template <class Tile, class F>
void ways_of_built_in(cuda_query const& q, F& f) {
    if (is_times_vector(q)) return;
    cuda_tile_costs_of const& row = tile_costs_of(Tile::name, q.type);
    float const* slower = row.slower;
    for (auto const& e : cuda_tiles_of<Tile>) {
        if (std::strchr(e.types, q.type))
            cuda_ways_of_tile<Tile, F>(q, e.tile, e.blocks, row.costs, *slower, f).ask();
        ++slower;
    }
}

// The ways of the tile that a caller wants, in so many parts of k as it says. As many blocks as of the
// built-in tile of the same sides fit on a multiprocessor, or as many as of the first one.
template <class Tile, class F>
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
    cuda_tile_costs_of const& row = tile_costs_of(Tile::name, q.type);
    cuda_ways_of_tile<Tile, cuda_best_of<Tile>> const ways(q, tile, like->blocks, row.costs,
                                                           row.slower[like - cuda_tiles_of<Tile>], best);
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
