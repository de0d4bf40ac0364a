// The certificate of factors: products of A - Q B with fresh random vectors, in double.
#pragma once

#include "range.hpp"

STRATAGEMM_BEGIN

// Z = alpha X Y + beta Z, with a beta of 0 or 1, for lines of X, which are widened to W: on the host some at a
// time.
template <policy P, class A, class W>
status range_finder<P, A, W>::times_wide(view<T const, space> const& x, view<W const, space> const& y,
                                         view<W, space> const& z, W alpha, W beta) {
    if constexpr (!on_host) {
        typename arena::scope const scope(work_);
        index_t const room = low_rank_device::room_of_chunks<W>(x.rows);
        auto const chunks = work_.template take<double>(room * index_t{sizeof(W) / sizeof(double)});
        return low_rank_device::wide_product<T>(policy_.leaf(), alpha * static_cast<W>(x.scale) * y.scale, x,
                                                y, z, beta != W(0), chunks);
    }
    index_t const most = smaller(x.rows, lines_of_panel_);
    for (index_t i = 0; i < x.rows; i += most) {
        typename arena::scope const scope(work_);
        index_t const count = smaller(most, x.rows - i);
        view<W, space> const wide{work_.template take<W>(count * x.cols), count, x.cols, x.cols, 1};
        if (status s = policy_.leaf().copy(x.block(i, 0, count, x.cols), wide); !s) return s;
        if (status s = try_gemm(policy_, alpha, wide, y, beta, z.block(i, 0, count, z.cols)); !s) return s;
    }
    return {};
}

// Z = A Y
template <policy P, class A, class W>
status range_finder<P, A, W>::matrix_times(view<W const, space> const& y, view<W, space> const& z) {
    if constexpr (is_view<A>::value) {
        return times_wide(a_, y, z, W(1), W(0));
    } else if constexpr (std::is_same_v<T, W>) {
        return try_gemm(policy_, a_, y, z);
    } else {
        typename arena::scope const scope(work_);
        auto wide = widened_operand<A, W>::made(policy_.leaf(), work_, a_);
        if (!wide) return wide.take_status();
        return try_gemm(policy_, *wide, y, z);
    }
}

// |A X - Q Y|^2
template <policy P, class A, class W>
status range_finder<P, A, W>::squares_of_rest(view<W const, space> const& x, view<W const, space> const& y,
                                              double& squares) {
    typename arena::scope const scope(work_);
    leaf_of<P> const leaf = policy_.leaf();
    if constexpr (!on_host && is_view<A>::value) {
        index_t const room = 2 * low_rank_device::room_of_chunks<W>(a_.rows);
        auto const chunks = work_.template take<double>(room * index_t{sizeof(W) / sizeof(double)});
        if (status s = low_rank_device::squares_of_rest<T>(leaf, static_cast<W>(a_.scale) * x.scale, a_, x,
                                                           q(), y, chunks, place_of_sums(0));
            !s)
            return s;
    } else {
        auto const rest = take<W>(a_.rows, probes);
        if (status s = matrix_times(x, rest); !s) return s;
        if (status s = times_wide(q(), y, rest, W(-1), W(1)); !s) return s;
        if constexpr (on_host) {
            small_matrix<W> product;
            if (status s = gram_wide(rest, product); !s) return s;
            for (index_t i = 0; i < probes; ++i) squares += real_part(product(i, i));
            return {};
        } else {
            view<W const, space> const known = rest;
            if (status s = low_rank_device::add_squares<W>(leaf, known, place_of_sums(0)); !s) return s;
        }
    }
    if constexpr (!on_host) {
        if (status s = fetch_levels(); !s) return s;
        squares = sum_of_levels(0);
    }
    return {};
}

// The norm of A - Q B from fresh vectors, in W: lines of A, Q and B are widened, a panel at a time.
template <policy P, class A, class W>
status range_finder<P, A, W>::certify(int look) {
    typename arena::scope const scope(work_);
    view<W, space> x;
    if (status s = draw(gaussian<W>(probes, a_.cols, seed(-look)), x); !s) return s;
    auto const along = take<W>(found_.rank, probes);
    if (status s = times_wide(b(), x, along, W(1), W(0)); !s) return s;
    double const factor = certified_factor(look); // while the device is busy
    double squares = 0;
    if (status s = squares_of_rest(x, along, squares); !s) return s;
    found_.error = captured_ > 0 ? __builtin_sqrt(squares) / norm() : 0;
    found_.bound = found_.error * factor;
    if (found_.bound > 1) found_.bound = 1; // Q B is a projection of A
    if (!__builtin_isfinite(found_.error)) return refuse("A has Inf or NaN, or its squares overflow");
    return {};
}

STRATAGEMM_END
