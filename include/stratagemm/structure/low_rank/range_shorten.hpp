// Factors with fewer columns, which keep most of those that were found.
#pragma once

#include "range.hpp"

STRATAGEMM_BEGIN

// Leaves out what the tolerance allows besides what is left out already, if that makes the factors smaller. They
// stay as they are if the certificate of the smaller ones says too much.
template <policy P, class A, class W>
status range_finder<P, A, W>::shorten(int look) {
    double const allowed = 0.8 * options_.tolerance * norm() / certified_factor(look),
                 so_far = found_.error * norm(), budget = allowed * allowed - so_far * so_far;
    if (budget <= 0) return {};
    small_matrix<W> squares;
    if (status s = gram(transposed(conjugated(b())), squares); !s) return s;
    auto const x = spanning_vectors(squares, budget, noise_of(a_.cols));
    if (!x || x.cols() >= found_.rank) return {};
    auto const before = found_;
    if (status s = turn_to(x); !s) return s;
    if (status s = certify(look); !s) return s;
    if (found_.bound > options_.tolerance) found_ = before;
    return {};
}

// Q = Q X and B = X^H B for the vectors X that keep most of B.
template <policy P, class A, class W>
status range_finder<P, A, W>::keep_leading(index_t count) {
    if constexpr (!on_host) return leave_out_least(count);
    small_matrix<W> squares;
    if (status s = gram(transposed(conjugated(b())), squares); !s) return s;
    auto const x = leading_vectors<W>(std::move(squares), 0, count, noise_of(a_.cols)).vectors;
    if (!x) return failure(errc::memory, "low_rank", "the singular values of a small matrix were not found");
    return turn_to(x);
}

// The same on a device: X is orthogonal to vectors that B stretches least, which powers of the inverse of B B^H
// turn random vectors to.
template <policy P, class A, class W>
status range_finder<P, A, W>::leave_out_least(index_t count) {
    typename arena::scope const scope(work_);
    index_t const all = found_.rank, out = all - count;
    auto const wide = take<W>(all, a_.cols), product = take<W>(all, all);
    if (status s = policy_.leaf().copy(view<T const, space>(b()), wide); !s) return s;
    if (status s = try_gemm(policy_, wide, transposed(conjugated(wide)), product); !s) return s;
    if (status s = factor_there(product, every_pivot); !s) return s;
    view<W const, space> const x{inverse_, all, all, 1, all};
    auto const least = take<W>(all, out), along = take<W>(all, out);
    view<W, space> random;
    if (status s = draw(gaussian<W>(out, all, seed(-looks_ - 1) ^ 1), random); !s) return s;
    if (status s = policy_.leaf().copy(view<W const, space>(random), least); !s) return s;
    if (is_capturing_)
        if (status s = fetch_levels(); !s) return s;
    W const unit(__builtin_sqrt(captured_)); // so that powers keep in range
    for (int pass = 0; pass < 3; ++pass) {
        if (status s = try_gemm(policy_, unit, x, least, W(0), along); !s) return s;
        if (status s = try_gemm(policy_, unit, transposed(conjugated(x)), along, W(0), least); !s) return s;
    }
    small_matrix<W> vectors;
    if (status s = fetch(least, vectors); !s) return s;
    make_orthonormal(vectors);
    return turn_away_from(std::move(vectors));
}

// Q = Q X and B = X^H B for an orthogonal complement X of some vectors.
template <policy P, class A, class W>
status range_finder<P, A, W>::turn_away_from(small_matrix<W> vectors) {
    using S = accumulator_t<T>;
    index_t const out = vectors.cols(), count = found_.rank - out;
    complement<W> const x(std::move(vectors));
    if (!x.v || !x.m) return no_memory();
    view<T, space> v, m;
    if (status s = send(x.v, v); !s) return s;
    if (status s = send(x.m, m); !s) return s;
    auto const along = take<T>(a_.rows, out), across = take<T>(out, a_.cols);
    return move_to(count, [&](view<T, space> const& to_q, view<T, space> const& to_b) -> status {
        if (status s = policy_.leaf().copy(view<T const, space>(columns(out, count)), to_q); !s) return s;
        if (status s = policy_.leaf().copy(view<T const, space>(lines(out, count)), to_b); !s) return s;
        if (status s = try_gemm(policy_, q(), v, along); !s) return s;
        if (status s = try_gemm(policy_, S(-1), along, m, S(1), to_q); !s) return s;
        if (status s = try_gemm(policy_, transposed(conjugated(v)), b(), across); !s) return s;
        return try_gemm(policy_, S(-1), transposed(conjugated(m)), across, S(1), to_b);
    });
}

template <policy P, class A, class W>
status range_finder<P, A, W>::turn_to(small_matrix<W> const& x) {
    typename arena::scope const scope(work_);
    view<T, space> vectors;
    if (status s = send(x, vectors); !s) return s;
    return move_to(x.cols(), [&](view<T, space> const& to_q, view<T, space> const& to_b) -> status {
        if (status s = try_gemm(policy_, q(), vectors, to_q); !s) return s;
        return try_gemm(policy_, transposed(conjugated(vectors)), b(), to_b);
    });
}

STRATAGEMM_END
