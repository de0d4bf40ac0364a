// How a tensor train is made of a matrix, added to another and rounded: on the host, in double.
//
// A matrix is reshaped to (parts of the first core) x (the rest); its leading left singular vectors are the core, and
// what they make of the matrix is the rest, for which that is repeated. At each of d - 1 cuts 1 / (d - 1) of the
// squared tolerance is left out (Oseledets: Tensor-train decomposition, 2011). Vectors come from Gram matrices, so that
// of rests below 1e-8 |A| nothing is known. A train is rounded likewise, with Gram matrices of what follows a core in
// place of the rest itself (Al Daas, Ballard, Manning: Parallel tensor train rounding via Gram SVD, 2022).
#pragma once

#include "../../backend/host.hpp"
#include "parts.hpp"
#include "product.hpp"

STRATAGEMM_BEGIN

struct tensor_train_options {
    double tolerance = 0; // of |A - train| / |A|, in the Frobenius norm
    index_t rank = 0;     // at most, between two cores; 0: as `tolerance` takes
};

// Cores in double, each as (rank before, row, column) x (rank after), columns fastest.
template <class W>
struct wide_train {
    train_sides sides;
    list<W> core[train_sides::most];
    double left_out = 0, all = 0; // squares of norms

    view<W> unfolded(int k) {
        return row_major(core[k].data(), sides.rank[k] * sides.rows[k] * sides.cols[k], sides.rank[k + 1]);
    }
};

inline status no_memory_for_train() { return no_memory_for_parts("tensor_train"); }
template <class W>
class train_maker {
    static constexpr double noise = 1e-15;

public:
    explicit train_maker(tensor_train_options const& options) : options_(options) {}

    // C: rank x (rows, columns of the rest); sets core k of the train, and C to the rest.
    status cut(wide_train<W>& to, int k, list<W>& c, double budget) {
        train_sides& x = to.sides;
        index_t const s = x.rank[k] * x.rows[k] * x.cols[k], rest = static_cast<index_t>(c.size()) / s;
        view<W> const m = row_major(c.data(), s, rest);
        double left = 0;
        index_t& r = x.rank[k + 1];
        if (status done = left_vectors<W>("tensor_train", m, budget, most(), to.core[k], r, left); !done)
            return done;
        if (r == 0) return keep_nothing(to, k, c, rest);
        to.left_out += left;
        list<W> next;
        if (!next.resize(count(r * rest))) return no_memory_for_train();
        auto const core = transposed(conjugated(to.unfolded(k)));
        if (status done = try_gemm(cpu_, core, m, row_major(next.data(), r, rest)); !done) return done;
        c.swap(next); // C = U (U^H C)
        return {};
    }

    // The Gram matrix of what follows a core, from that of what follows the next one; and the squared norm of all.
    status gram_before(wide_train<W>& x, int k, small_matrix<W> const& after, small_matrix<W>& before) {
        view<W> const z = x.unfolded(k);
        index_t const r = x.sides.rank[k], next = x.sides.rank[k + 1], inner = z.rows / r * next;
        list<W> times;
        if (!times.resize(count(z.rows * next))) return no_memory_for_train();
        view<W> const y = row_major(times.data(), z.rows, next);
        if (status s = try_gemm(cpu_, z, col_major(after.data(), next, next), y); !s) return s;
        before = small_matrix<W>(r, r);
        if (!before) return no_memory_for_train();
        return try_gemm(cpu_, row_major(y.data, r, inner),
                        transposed(conjugated(row_major(z.data, r, inner))), col_major(before.data(), r, r));
    }
    // Replaces the rank after core k by a smaller one; `before` has been multiplied into the core.
    status shorten(wide_train<W>& x, int k, small_matrix<W> const& after, double budget) {
        view<W> const z = x.unfolded(k);
        index_t const s = z.rows, old = z.cols;
        pivoted_factor<W> half(after, noise); // R^H R
        index_t const r = half.rank;
        if (!half.has_memory) return no_memory_for_train();
        if (r == 0) return {};
        list<W> product, carry, core, next;
        if (!product.resize(count(s * r))) return no_memory_for_train();
        view<W> const y = row_major(product.data(), s, r);
        view<W const> const factor = view<W const>(col_major(half.r.data(), old, old)).block(0, 0, r, old);
        if (status done = try_gemm(cpu_, z, transposed(conjugated(factor)), y); !done) return done;
        small_matrix<W> g(r, r);
        if (!g) return no_memory_for_train();
        if (status done = try_gemm(cpu_, transposed(conjugated(y)), y, col_major(g.data(), r, r)); !done)
            return done;
        leading_vectors<W> const v(std::move(g), budget, most(), noise * static_cast<double>(s));
        index_t const shorter = v.vectors.cols();
        if (shorter == 0) return v.vectors ? status() : no_memory_for_train();
        x.left_out += v.rest;
        view<W> const following = x.unfolded(k + 1);
        index_t const inner = following.rows / old * following.cols;
        if (!core.resize(count(s * shorter)) || !carry.resize(count(shorter * old)) ||
            !next.resize(count(shorter * inner)))
            return no_memory_for_train();
        view<W> const u = row_major(core.data(), s, shorter), to_next = row_major(carry.data(), shorter, old);
        if (status done = try_gemm(cpu_, y, view<W const>(col_major(v.vectors.data(), r, shorter)), u); !done)
            return done;
        for (index_t j = 0; j < shorter; ++j) normalize(u, j);
        if (status done = try_gemm(cpu_, transposed(conjugated(u)), z, to_next); !done) return done;
        if (status done = try_gemm(cpu_, to_next, row_major(following.data, old, inner),
                                   row_major(next.data(), shorter, inner));
            !done)
            return done;
        x.core[k].swap(core), x.core[k + 1].swap(next);
        x.sides.rank[k + 1] = shorter;
        return {};
    }

    double budget(double squares, int cores) const {
        return cores < 2 ? 0 : options_.tolerance * options_.tolerance * squares / (cores - 1);
    }

private:
    static std::size_t count(index_t n) { return static_cast<std::size_t>(n); }
    index_t most() const { return options_.rank > 0 ? options_.rank : PTRDIFF_MAX; }
    static double normalize(view<W> const& x, index_t j) {
        double sum = 0;
        for (index_t i = 0; i < x.rows; ++i) sum += squared(x(i, j));
        double const size = __builtin_sqrt(sum);
        for (index_t i = 0; i < x.rows && size > 0; ++i) x(i, j) /= W(size);
        return size;
    }
    // The matrix is zero: cores of rank 1.
    static status keep_nothing(wide_train<W>& to, int k, list<W>& c, index_t rest) {
        to.sides.rank[k + 1] = 1;
        list<W> next;
        index_t const s = to.sides.rank[k] * to.sides.rows[k] * to.sides.cols[k];
        if (!to.core[k].resize(count(s)) || !next.resize(count(rest))) return no_memory_for_train();
        c.swap(next);
        return {};
    }

    host cpu_{};
    tensor_train_options options_;
};

// The tensor that a train stands for.
template <class W>
status multiply_out(wide_train<W>& x, list<W>& made) {
    train_sides const& sides = x.sides;
    if (!made.resize(x.core[0].size())) return no_memory_for_train();
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = x.core[0][i];
    for (int k = 1; k < sides.cores; ++k) {
        index_t const r = sides.rank[k], inner = sides.size(k) / r,
                      outer = static_cast<index_t>(made.size()) / r;
        list<W> next;
        if (!next.resize(static_cast<std::size_t>(outer * inner))) return no_memory_for_train();
        view<W const> const so_far = row_major(made.data(), outer, r),
                            core = row_major(x.core[k].data(), r, inner);
        if (status s = try_gemm(host{}, so_far, core, row_major(next.data(), outer, inner)); !s) return s;
        made.swap(next);
    }
    return {};
}

// C: the tensor, of numbers near 1.
template <class W>
status decompose(list<W>& c, wide_train<W>& to, tensor_train_options const& options) {
    train_maker<W> maker(options);
    int const d = to.sides.cores;
    to.all = sum_of_squares(c);
    to.sides.rank[0] = to.sides.rank[d] = 1;
    for (int k = 0; k + 1 < d; ++k)
        if (status s = maker.cut(to, k, c, maker.budget(to.all, d)); !s) return s;
    to.core[d - 1].swap(c);
    return {};
}
template <class W>
status round(wide_train<W>& x, tensor_train_options const& options) {
    train_maker<W> maker(options);
    int const d = x.sides.cores;
    small_matrix<W> after[train_sides::most + 1];
    after[d] = small_matrix<W>(1, 1);
    if (!after[d]) return no_memory_for_train();
    after[d](0, 0) = W(1);
    for (int k = d - 1; k >= 0; --k)
        if (status s = maker.gram_before(x, k, after[k + 1], after[k]); !s) return s;
    x.all = real_part(after[0](0, 0));
    if (!__builtin_isfinite(x.all))
        return failure(errc::argument, "rounded", "the train has Inf or NaN, or its squares overflow");
    for (int k = 0; k + 1 < d; ++k)
        if (status s = maker.shorten(x, k, after[k + 1], maker.budget(x.all, d)); !s) return s;
    return {};
}

STRATAGEMM_END
