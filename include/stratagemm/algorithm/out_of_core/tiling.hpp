// How `out_of_core` cuts a product into parts: the blocks, their order, and the model of time by which they are
// chosen.
//
// A tiling follows from the shape, the budget, the number of devices and what the base says of its speed and
// workspace. It does not depend on which device takes which part.
#pragma once

#include "memory.hpp"

STRATAGEMM_BEGIN

// How a product is cut. Blocks of C are m x n, pieces of their sums k long; the last of each may be smaller.
struct tiling {
    index_t m = 0, n = 0, k = 0;
    index_t a_slots = 0, b_slots = 0, c_slots = 0; // blocks in the memory of the base
    bool a_stays = false;                          // else, if k is whole, blocks of B stay
    bool exists() const { return m > 0; }
};

// The order of the products of a tiling. A unit is what a device takes at a time: blocks of C that share a
// block of the operand that streams by, or one block of C and all its pieces.
class course {
public:
    struct step {
        index_t i, j, l; // numbers of blocks
        bool first;      // of all
    };

    template <class S>
    course(tiling const& c, S const& s)
        : c_(c), rows_(parts(s.m, c.m)), cols_(parts(s.n, c.n)), pieces_(parts(s.k, c.k)) {
        bool const whole = pieces_ == 1;
        group_ = !whole ? 1 : c.a_stays ? c.a_slots : c.b_slots;
        stream_ = !whole ? rows_ * cols_ : c.a_stays ? cols_ : rows_;
        stays_ = !whole ? 1 : c.a_stays ? rows_ : cols_;
    }
    static index_t parts(index_t side, index_t block) { return (side + block - 1) / block; }

    index_t units() const { return parts(stays_, group_) * stream_; }
    index_t steps(index_t unit) const {
        index_t const left = stays_ - unit / stream_ * group_;
        return pieces_ > 1 ? pieces_ : left < group_ ? left : group_;
    }
    step at(index_t unit, index_t x) const {
        index_t const streamed = unit % stream_, stayed = unit / stream_ * group_ + x;
        bool const first = unit == 0 && x == 0;
        if (pieces_ > 1) return {streamed / cols_, streamed % cols_, x, first};
        return c_.a_stays ? step{stayed, streamed, 0, first} : step{streamed, stayed, 0, first};
    }
    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    index_t pieces() const { return pieces_; }
    // How often all of the operand that streams by is read.
    index_t passes() const { return parts(stays_, group_); }

private:
    tiling c_;
    index_t rows_, cols_, pieces_, group_, stream_, stays_;
};

namespace out_of_core_parts {

constexpr index_t smaller(index_t x, index_t y) { return x < y ? x : y; }
template <class S>
S with_count(S s, index_t count) {
    s.count = count;
    return s;
}
template <class S>
S one_of(S const& s) {
    return with_count(s, 1);
}

// What is known of products before they run. It refers to the base.
template <policy Base>
class division {
    using space = typename Base::space;

public:
    // At most `asked` bytes of each device, or `automatic`.
    division(Base const& base, index_t asked, int devices) : base_(base), asked_(asked), devices_(devices) {}

    std::size_t budget() const {
        return asked_ == out_of_core_options::automatic ? channel(base_).limits().memory_bytes / 4 * 3
                                                        : static_cast<std::size_t>(asked_);
    }

    // Everything at once, batches too.
    template <class S>
    footprint whole(S const& s) const {
        auto const bytes = [&](index_t rows, index_t cols, std::size_t element) {
            return bytes_of(s.count * rows, cols, element);
        };
        footprint f = base_.workspace(s);
        space::share(f) += bytes(s.m, s.k, sizeof(typename S::a_type)) +
                           bytes(s.k, s.n, sizeof(typename S::b_type)) +
                           (s.adds ? 2 : 1) * bytes(s.m, s.n, sizeof(typename S::c_type));
        return f;
    }
    // How many products of a batch are one part; none if a product has to be cut, or is worth it.
    template <class S>
    index_t together(S s) const {
        if (s.m < 1 || s.n < 1 || s.k < 1 || s.count < 1) return 1;
        if (operand_bytes(one_of(s)) > few_bytes) return 0;
        for (std::size_t const room = budget(); s.count > 0; s.count /= 2) {
            footprint f = whole(s);
            if (space::share(f) <= room) break;
        }
        return s.count;
    }
    // None if products are not cut, or cannot be.
    template <class S>
    tiling tiling_if_any(S const& s) const {
        return together(s) > 0 ? tiling{} : tiling_of(one_of(s));
    }

    // The bound of the base's products. In a sum of P pieces, an error of the first ones is carried along by P - 1
    // additions.
    template <class S>
    bound error_bound(S const& s) const {
        tiling const c = tiling_if_any(s);
        if (!c.exists()) return base_.error_bound(s);
        bound all, early;
        each_block(c, one_of(s), [&](S const& block) { all = larger(all, base_.error_bound(block)); });
        each_early_block(c, one_of(s),
                         [&](S const& block) { early = larger(early, base_.error_bound(block)); });
        course const way(c, s);
        bound x =
            in_pieces<S>(larger(all, in_pieces<S>(early, course::parts(c.k, early_k<S>(c)))), way.pieces());
        x.confidence = all_hold(x.confidence, static_cast<double>(way.rows() * way.cols() * way.pieces()));
        return x;
    }

    template <class S>
    double estimate(S const& s) const {
        tiling const c = tiling_if_any(s);
        if (!c.exists()) return base_.estimate(s) + operand_bytes(s) / bandwidth() + 20e-6;
        S block = one_of(s);
        block.m = c.m, block.n = c.n, block.k = c.k;
        return static_cast<double>(s.count) * seconds(c, one_of(s), seconds_of(block));
    }

    // The first block of all is multiplied in pieces of k, so that it begins when a part of it has come.
    // How many terms each has; all, where that would not do.
    static constexpr index_t first_pieces = 4;
    template <class S>
    static index_t early_k(tiling const& c) {
        return from_files<Base> || whole_k<S> || c.k < 64 * first_pieces
                   ? c.k
                   : (course::parts(c.k, first_pieces) + 15) / 16 * 16;
    }
    template <class S>
    footprint need(tiling const& c, S const& s) const {
        footprint own;
        auto const with = [&](S const& block) { own = larger(own, base_.workspace(block)); };
        each_block(c, s, with), each_early_block(c, s, with);
        return need<S>(c, own);
    }

    // Blocks are about square; the smallest are for budgets that no others fit into. Products of matrices
    // in files have k cut only where nothing else fits: they have the bits of the product in memory if the
    // base sums alike whatever the sides are. `host` does with .invariant; without, small blocks, or those
    // of few rows or columns, may be dot products, which sum in another order.
    template <class S>
    tiling tiling_of(S const& s) const {
        tiling best;
        double least = 0;
        std::size_t const room = budget();
        for (bool const cut_k : {false, true}) {
            if (cut_k && (whole_k<S> || (from_files<Base> && best.exists()))) break;
            for (index_t side = 12288; side >= 1 && (side >= 256 || !best.exists());
                 side = side < 4 || (side & (side - 1)) != 0 ? side - (side + 2) / 3 : side / 4 * 3) {
                tiling c;
                c.m = balanced(s.m, side), c.n = balanced(s.n, side);
                S block = s;
                block.m = c.m, block.n = c.n;
                footprint own;
                double once = 0;
                auto const with_k = [&](index_t k) {
                    c.k = block.k = k, block.adds = s.adds || k < s.k;
                    own = base_.workspace(block), once = seconds_of(block);
                };
                auto const consider = [&] {
                    footprint f = need<S>(c, own);
                    if (space::share(f) > room) return false;
                    double const time = seconds(c, s, once);
                    if (best.exists() && time >= least) return true;
                    f = need(c, s); // with those of the last blocks
                    if (space::share(f) > room) return false;
                    best = c, least = time;
                    return true;
                };
                index_t const rows = course::parts(s.m, c.m), cols = course::parts(s.n, c.n);
                c.c_slots = smaller(rows * cols, s.adds ? 3 : 2);
                if (cut_k) {
                    c.a_slots = c.b_slots = 2;
                    for (index_t pieces = 2; pieces < 2 * s.k; pieces *= 2) {
                        with_k(balanced(s.k, course::parts(s.k, smaller(pieces, s.k))));
                        if (consider()) break;
                    }
                    continue;
                }
                with_k(s.k);
                for (bool const a_stays : {false, true}) {
                    c.a_stays = a_stays;
                    index_t const stays = a_stays ? rows : cols, streams = a_stays ? cols : rows;
                    index_t& stay_slots = a_stays ? c.a_slots : c.b_slots;
                    (a_stays ? c.b_slots : c.a_slots) = smaller(streams, 2);
                    // As many as there is room for, in groups of about one size.
                    for (index_t groups = 1;; groups += (groups + 2) / 3) {
                        stay_slots = course::parts(stays, groups);
                        if (stay_slots == 1 && stays > 1) stay_slots = 2; // or nothing overlaps
                        if (consider() || stay_slots <= smaller(stays, 2)) break;
                    }
                }
            }
        }
        return best;
    }
    // What a budget has to have.
    template <class S>
    std::size_t least_budget(S const& s) const {
        std::size_t least = 0;
        for (index_t side = 1; side <= 4096; side *= 4) {
            tiling c{smaller(s.m, side), smaller(s.n, side), whole_k<S> ? s.k : smaller(s.k, side), 2, 2,
                     s.adds ? 3 : 2};
            footprint f = need(c, s);
            if (least == 0 || space::share(f) < least) least = space::share(f);
        }
        return least;
    }

private:
    // Between the two memories, in one direction, bytes a second.
    double bandwidth() const { return channel(base_).limits().link; }
    // What is smaller travels so quickly that it is not worth another queue.
    static constexpr double few_bytes = 0x1p26;

    static std::size_t bytes_of(index_t rows, index_t cols, std::size_t element) {
        return Base::arena::rounded(static_cast<std::size_t>(rows * cols) * element);
    }

    // The bound of a sum of `pieces` products with the bound x: each addition carries along the error of what was
    // there, and rounds once more.
    template <class S>
    static bound in_pieces(bound x, index_t pieces) {
        if (pieces == 1) return x;
        double const once = 4 * unit_roundoff<typename S::c_type>();
        double worst = 0;
        for (index_t l = 0; l < pieces; ++l) worst += x.worst * (1 + worst);
        double const expected =
            __builtin_sqrt(x.expected * x.expected + static_cast<double>(pieces) * once * once);
        return {worst, expected < worst ? expected : worst, x.normwise, x.confidence};
    }

    template <class S, class F>
    static void each_early_block(tiling const& c, S s, F&& f) {
        index_t const k = early_k<S>(c);
        s.m = c.m, s.n = c.n, s.adds = s.adds || k < c.k;
        for (index_t l = 0; l < c.k; l += k) {
            s.k = smaller(k, c.k - l);
            if (l == 0 || s.k < k) f(s);
        }
    }

    // f(shape) for the shapes of the base's products.
    template <class S, class F>
    static void each_block(tiling const& c, S s, F&& f) {
        index_t const rest_m = s.m % c.m, rest_n = s.n % c.n, rest_k = s.k % c.k;
        bool const adds = s.adds, cut_k = c.k < s.k;
        for (index_t const m : {c.m, rest_m})
            for (index_t const n : {c.n, rest_n})
                for (index_t const k : {c.k, rest_k}) {
                    if (m == 0 || n == 0 || k == 0) continue;
                    s.m = m, s.n = n, s.k = k, s.adds = adds || cut_k;
                    f(s);
                    if (cut_k && !adds && k == c.k) s.adds = false, f(s);
                }
    }
    // What the slots of blocks take, and the base's workspace, `own`.
    template <class S>
    static footprint need(tiling const& c, footprint own) {
        space::share(own) +=
            static_cast<std::size_t>(c.a_slots) * bytes_of(c.m, c.k, sizeof(typename S::a_type)) +
            static_cast<std::size_t>(c.b_slots) * bytes_of(c.k, c.n, sizeof(typename S::b_type)) +
            static_cast<std::size_t>(c.c_slots) * bytes_of(c.m, c.n, sizeof(typename S::c_type));
        return own;
    }

    // What one block's product takes among others. On the host each product packs its operands anew, while threads
    // read and write files.
    template <class S>
    double seconds_of(S const& block) const {
        return base_.estimate(block) + (from_files<Base> ? operand_bytes(block) / 10e9 : 10e-6);
    }

    // Products overlap with what travels but for the first blocks and the last; `once` is what a product of
    // full blocks takes. In the first unit, each product needs another block of the operand that stays.
    template <class S>
    double seconds(tiling const& c, S const& s, double once) const {
        course const way(c, s);
        auto const number = [](index_t x) { return static_cast<double>(x); };
        double const link = bandwidth();
        double const a = number(c.m) * number(c.k) * sizeof(typename S::a_type) / link,
                     b = number(c.k) * number(c.n) * sizeof(typename S::b_type) / link,
                     e = number(c.m) * number(c.n) * sizeof(typename S::c_type) / link;
        // Devices share out units.
        double const units = number(course::parts(way.units(), devices_)), steps = number(way.steps(0));
        bool const cut_k = way.pieces() > 1;
        double const stays = cut_k ? a + b : c.a_stays ? a : b, streams = cut_k ? 0 : c.a_stays ? b : a;
        double const begin = (a + b) * number(early_k<S>(c)) / number(c.k), new_c = s.adds ? e : 0;
        auto const longer = [](double x, double y) { return x < y ? y : x; };
        double const first = longer(steps * once, (steps - 1) * (stays + new_c) + streams);
        double const loads = cut_k ? steps * stays + new_c : streams + steps * new_c;
        double const passes = cut_k ? 0 : number(way.passes() - 1) * steps * stays / number(devices_);
        double const stores = (cut_k ? 1 : steps) * e;
        double const others = (units - 1) * longer(steps * once, longer(loads, stores)) + passes / 2;
        return begin + first + others + e;
    }

    // About equal parts of at most `block`; multiples of 128 where there are as many.
    static index_t balanced(index_t side, index_t block) {
        index_t const parts = course::parts(side, block), even = course::parts(side, parts);
        index_t const grain = even >= 1024 ? 128 : even >= 128 ? 16 : 1;
        index_t const rounded = (even + grain - 1) / grain * grain;
        return rounded < block && rounded < side ? rounded : even;
    }

    // Where C is narrower than its sums, k stays whole, so that nothing is rounded twice.
    template <class S>
    static constexpr bool whole_k = !std::is_same_v<typename S::c_type, accumulator_t<typename S::c_type>>;

    Base const& base_;
    index_t asked_;
    int devices_;
};

} // namespace out_of_core_parts

STRATAGEMM_END
