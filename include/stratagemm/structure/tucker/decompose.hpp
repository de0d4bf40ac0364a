// How a Tucker decomposition is made of a matrix: on the host, in double.
//
// The modes of the tensor are compressed one after another, each by the leading left singular vectors of what the modes
// before left of the tensor; what a mode leaves out is orthogonal to what the others do, so that squares of norms add
// up (De Lathauwer, De Moor, Vandewalle: A multilinear singular value decomposition, 2000; Vannieuwenhoven, Vandebril,
// Meerbergen: A new truncation strategy for the higher-order singular value decomposition, 2012). A mode has an equal
// share of what the squared tolerance still allows.
#pragma once

#include "../tensor_train/decompose.hpp"

STRATAGEMM_BEGIN

using mode_ranks = index_t[train_sides::most]; // 0 behind the last mode
struct tucker_options {
    double tolerance = 0;  // of |A - Tucker| / |A|, in the Frobenius norm
    mode_ranks ranks = {}; // at most, of each mode; 0: as `tolerance` takes
};

// In double: the core, whose first index is the slowest, and for each mode (row, column) x rank, row-major.
template <class W>
struct wide_tucker {
    train_sides sides; // ranks are those of the train that multiplies
    index_t rank[train_sides::most] = {};
    int middle = 0; // the core of the train that has the core
    list<W> core, factor[train_sides::most];

    index_t ranks(int from, int to) const {
        index_t all = 1;
        for (int k = from; k < to; ++k) all *= rank[k];
        return all;
    }
};

// C: the first mode that is left x (the others, then the ranks so far). The mode becomes a rank, and the last index.
template <class W>
status compress_mode(wide_tucker<W>& to, int k, list<W>& c, double budget, index_t most, double& left) {
    index_t const s = to.sides.side(k), rest = static_cast<index_t>(c.size()) / s;
    index_t& r = to.rank[k];
    view<W> const m = row_major(c.data(), s, rest);
    left = 0;
    if (status done = left_vectors<W>("tucker", m, budget, most, to.factor[k], r, left); !done) return done;
    if (r == 0) { // the matrix is zero
        r = 1;
        if (!to.factor[k].resize(static_cast<std::size_t>(s))) return no_memory_for_parts("tucker");
        to.factor[k][0] = W(1);
    }
    list<W> next;
    if (!next.resize(static_cast<std::size_t>(rest * r))) return no_memory_for_parts("tucker");
    view<W> const u = row_major(to.factor[k].data(), s, r);
    if (status done = try_gemm(host{}, transposed(m), conjugated(u), row_major(next.data(), rest, r)); !done)
        return done;
    c.swap(next);
    return {};
}
// C becomes the core. `tolerance`: of |A|.
template <class W>
status decompose(list<W>& c, wide_tucker<W>& to, tucker_options const& options, double tolerance) {
    int const d = to.sides.cores;
    double budget = tolerance * tolerance * sum_of_squares(c);
    for (int k = 0; k < d; ++k) {
        index_t const most = options.ranks[k] > 0 ? options.ranks[k] : to.sides.side(k);
        double left = 0;
        if (status s = compress_mode(to, k, c, budget / (d - k), most, left); !s) return s;
        budget = budget > left ? budget - left : 0;
    }
    to.core.swap(c);
    return {};
}

// The train of the same matrix whose core `middle` has the core of the Tucker decomposition. The cores before it carry
// the ranks of their modes on, and those behind it carry the ranks of the modes that follow: no digit is lost.
template <class W>
void set_train_ranks(wide_tucker<W>& from, int middle) {
    train_sides& x = from.sides;
    from.middle = middle;
    for (int k = 0; k <= x.cores; ++k) x.rank[k] = k <= middle ? from.ranks(0, k) : from.ranks(k, x.cores);
}
// The core in the middle for which a product takes fewest multiply-adds.
template <class W>
void choose_train_ranks(wide_tucker<W>& from) {
    int best = 0;
    double least = 0;
    for (int middle = 0; middle < from.sides.cores; ++middle) {
        set_train_ranks(from, middle);
        double const work = train_order(from.sides, false).work() + train_order(from.sides, true).work();
        if (middle == 0 || work < least) best = middle, least = work;
    }
    set_train_ranks(from, best);
}
template <class W>
status to_train(wide_tucker<W>& from, wide_train<W>& to) {
    choose_train_ranks(from);
    train_sides const& x = to.sides = from.sides;
    for (int k = 0; k < x.cores; ++k) {
        index_t const s = from.sides.side(k), r = from.rank[k], before = x.rank[k], after = x.rank[k + 1];
        if (!to.core[k].resize(static_cast<std::size_t>(x.size(k)))) return no_memory_for_parts("tucker");
        view<W> const u = row_major(from.factor[k].data(), s, r), z = to.unfolded(k);
        if (k == from.middle) {
            for (index_t b = 0; b < before; ++b) {
                view<W> const g = row_major(from.core.data() + b * r * after, r, after);
                if (status done = try_gemm(host{}, u, g, z.block(b * s, 0, s, after)); !done) return done;
            }
        } else if (k < from.middle) { // (b, pair) x (b, rank)
            for (index_t b = 0; b < before; ++b)
                for (index_t i = 0; i < s; ++i)
                    for (index_t g = 0; g < r; ++g) z(b * s + i, b * r + g) = u(i, g);
        } else { // (rank, a, pair) x a
            for (index_t g = 0; g < r; ++g)
                for (index_t a = 0; a < after; ++a)
                    for (index_t i = 0; i < s; ++i) z((g * after + a) * s + i, a) = u(i, g);
        }
    }
    return {};
}

STRATAGEMM_END
