// Blocks of columns made orthonormal, and their rows of B.
#pragma once

#include "range.hpp"

STRATAGEMM_BEGIN

// The inverse of the factor of the Gram matrix G, which is overwritten; and its pivots, up to some that are all at
// most `enough` of the squares of their columns.
template <policy P, class A, class W>
status range_finder<P, A, W>::factor_there(view<W, space> const& g, double enough) {
    typename arena::scope const scope(work_);
    view<W, space> const x{inverse_, g.rows, g.rows, 1, g.rows};
    return low_rank_device::factor(policy_.leaf(), g, take<W>(g.rows, g.rows), x, levels_there_,
                                   noise_of(a_.rows), enough);
}

// Leaves Y in doubles, too.
template <policy P, class A, class W>
status range_finder<P, A, W>::factor_gram(view<T const, space> const& y, double enough) {
    typename arena::scope const scope(work_);
    auto const wide = reshaped(wide_y_, y.rows, y.cols), product = take<W>(y.cols, y.cols);
    if (status s = policy_.leaf().copy(y, wide); !s) return s;
    if (status s = try_gemm(policy_, transposed(conjugated(wide)), wide, product); !s) return s;
    if (status s = factor_there(product, enough); !s) return s;
    return fetch_levels();
}

// G = Y^H Y
template <policy P, class A, class W>
status range_finder<P, A, W>::gram(view<T const, space> const& y, small_matrix<W>& g) {
    typename arena::scope const scope(work_);
    auto const wide = take<W>(y.rows, y.cols);
    if (status s = policy_.leaf().copy(y, wide); !s) return s;
    return gram_wide(wide, g);
}

template <policy P, class A, class W>
status range_finder<P, A, W>::gram_wide(view<W, space> const& y, small_matrix<W>& g) {
    typename arena::scope const scope(work_);
    auto const product = take<W>(y.cols, y.cols);
    if (status s = try_gemm(policy_, transposed(conjugated(y)), y, product); !s) return s;
    return fetch(product, g);
}

template <policy P, class A, class W>
status range_finder<P, A, W>::fetch(view<W, space> const& from, small_matrix<W>& to) const {
    to = small_matrix<W>(from.rows, from.cols);
    if (!to) return no_memory();
    if constexpr (on_host) {
        for (index_t i = 0; i < from.rows * from.cols; ++i) to.data()[i] = from.data[i];
        return {};
    } else {
        return policy_.leaf().download(from.data, to.data(), from.rows * from.cols);
    }
}

template <policy P, class A, class W>
status range_finder<P, A, W>::send_wide(small_matrix<W> const& from, view<W, space> const& to) const {
    if constexpr (on_host) {
        for (index_t i = 0; i < from.rows() * from.cols(); ++i) to.data[i] = from.data()[i];
        return {};
    } else {
        return policy_.leaf().upload(from.data(), to.data, from.rows() * from.cols());
    }
}

// The same in the type of A, in workspace.
template <policy P, class A, class W>
status range_finder<P, A, W>::send(small_matrix<W> const& from, view<T, space>& to) {
    auto const there = take<W>(from.rows(), from.cols());
    to = take<T>(from.rows(), from.cols());
    if (status s = send_wide(from, there); !s) return s;
    return policy_.leaf().copy(view<W const, space>(there), to);
}

// Replaces Y, whose Gram matrix is known, by orthonormal columns of the same span: `count` of them.
template <policy P, class A, class W>
status range_finder<P, A, W>::orthonormalize(view<T, space>& y, view<T, space>& other, index_t& count) {
    // What the Gram matrix cannot tell from rounding is dropped, and in the end columns that were made of it.
    double const noise = noise_of(y.rows);
    for (int pass = 0; pass < 3; ++pass) {
        typename arena::scope const scope(work_);
        if (pass > 0) {
            if (status s = remove_known(y); !s) return s;
            if (status s = gram(y, gram_); !s) return s;
        }
        pivoted_factor<W> factor(gram_, pass == 0 ? noise : 0.01);
        count = factor.rank;
        if (factor.has_memory && count == 0) return {};
        auto const m = factor.orthonormalizer();
        if (!factor.has_memory || !m) return no_memory();
        view<T, space> there;
        if (status s = send(m, there); !s) return s;
        auto const next = reshaped(other, y.rows, count);
        if (status s = try_gemm(policy_, y, there, next); !s) return s;
        other = y, y = next;
    }
    return {};
}

// The same for the first `count` columns, behind those that are known, by inverse factors that stay on the device.
// Columns from the first one on that is not larger than rounding are dropped.
template <policy P, class A, class W>
status range_finder<P, A, W>::orthonormalize_there(index_t from, index_t& count) {
    view<T, space> y = block_of_y_;
    for (int pass = 0;; ++pass) {
        typename arena::scope const scope(work_);
        if (pass > 0) {
            if (status s = remove_known(y); !s) return s;
            if (status s = factor_gram(y, every_pivot); !s) return s;
        }
        double const least = drop_small(from, pass == 0 ? noise_of(a_.rows) : 0.01, count);
        if (count == 0) return {};
        if (status s = make_room(found_.rank + count); !s) return s;
        view<W const, space> const x{inverse_, count, count, 1, from};
        auto const next = take<W>(a_.rows, count);
        if (status s = try_gemm(policy_, reshaped(wide_y_, a_.rows, count), transposed(conjugated(x)), next);
            !s)
            return s;
        y = columns(found_.rank, count), from = count;
        if (status s = policy_.leaf().copy(view<W const, space>(next), y); !s) return s;
        if (is_orthonormal(pass, least)) return {};
    }
}

// Of `from` columns, whose levels are here, the first `count` or fewer. Returns the least part of one that the
// columns before it leave.
template <policy P, class A, class W>
double range_finder<P, A, W>::drop_small(index_t from, double noise, index_t& count) const {
    double least = 1;
    for (index_t j = 0; j < count; ++j) {
        double const part = pivot(from, j) / levels_[static_cast<std::size_t>(j)];
        if (!(part > noise))
            count = j;
        else if (part < least)
            least = part;
    }
    return least;
}

// Whether columns are, after a pass with this least part. Rounding of the Gram matrix is random.
template <policy P, class A, class W>
bool range_finder<P, A, W>::is_orthonormal(int pass, double least) const {
    if (pass == 0)
        return found_.rank == 0 && noise_of(1) * __builtin_sqrt(static_cast<double>(a_.rows)) < 0.01 * least;
    return pass == 2 || least > 0.5;
}

// Of `count` columns, the first `added` are wanted on a device; fewer may be found.
template <policy P, class A, class W>
status range_finder<P, A, W>::add_block(index_t count, index_t& added) {
    leaf_of<P> const leaf = policy_.leaf();
    if constexpr (on_host) {
        auto y = reshaped(block_of_y_, a_.rows, count), other = reshaped(other_y_, a_.rows, count);
        if (status s = orthonormalize(y, other, added); !s || added == 0) return s;
        if (status s = leaf.copy(view<T const, space>(y), columns(found_.rank, added)); !s) return s;
    } else {
        if (status s = orthonormalize_there(count, added); !s || added == 0) return s;
    }
    auto const b = lines(found_.rank, added);
    if (status s = try_gemm(policy_, transposed(conjugated(columns(found_.rank, added))), a_, b); !s)
        return s;
    found_.rank += added;
    return capture(b);
}

// Adds |B|^2 of some rows.
template <policy P, class A, class W>
status range_finder<P, A, W>::capture(view<T, space> const& b) {
    if constexpr (on_host) {
        small_matrix<W> squares;
        if (status s = gram(b.transposed(), squares); !s) return s;
        for (index_t i = 0; i < b.rows; ++i) captured_ += real_part(squares(i, i));
        return {};
    } else {
        if (is_capturing_)
            if (status s = fetch_levels(); !s) return s;
        is_capturing_ = true;
        return low_rank_device::add_squares<T>(policy_.leaf(), view<T const, space>(b), place_of_sums(1));
    }
}

STRATAGEMM_END
