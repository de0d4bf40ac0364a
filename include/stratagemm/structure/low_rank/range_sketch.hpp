// Blocks of columns of A S^T, for random sketches S: what the columns that are known leave of them.
#pragma once

#include "range.hpp"

STRATAGEMM_BEGIN

// Y = the part of A S^T that is orthogonal to Q. `rest` is an estimate of |A - Q B|.
template <policy P, class A, class W>
status range_finder<P, A, W>::sketch_rest(index_t count, double& rest) {
    auto const y = reshaped(block_of_y_, a_.rows, count);
    if (status done = sketch(count, y); !done) return done;
    if (status done = remove_known(y); !done) return done;
    if (status done = remove_known(y); !done) return done;
    rest = 0;
    if constexpr (on_host) {
        if (status done = gram(y, gram_); !done) return done;
        for (index_t i = 0; i < count; ++i) rest += real_part(gram_(i, i));
    } else {
        if (status done = factor_gram(y, enough_of_block()); !done) return done;
        for (index_t i = 0; i < count; ++i) rest += levels_[static_cast<std::size_t>(i)];
    }
    rest = __builtin_sqrt(rest);
    return {};
}

template <policy P, class A, class W>
low_rank_sketch range_finder<P, A, W>::chosen(index_t count) const {
    if constexpr (is_view<A>::value && takes_sketch<gaussian_sketch<T>> &&
                  takes_sketch<transformed_sketch<by_hadamard, T>>) {
        if (options_.sketch == low_rank_sketch::fastest &&
            estimate_of(srht<T>(count, a_.cols, 0)) < estimate_of(gaussian<T>(count, a_.cols, 0)))
            return low_rank_sketch::srht;
    }
    return options_.sketch;
}

// Y = A S^T
template <policy P, class A, class W>
status range_finder<P, A, W>::sketch(index_t count, view<T, space> const& y) {
    auto const number = seed(++sketches_);
    switch (chosen(count)) {
    case low_rank_sketch::signs:
        return sketch_by(sparse_sign<T>(count, a_.cols, number, smaller(count, 8)), y);
    case low_rank_sketch::srht: return sketch_by(srht<T>(count, a_.cols, number), y);
    case low_rank_sketch::srct: return sketch_by(srct<T>(count, a_.cols, number), y);
    default: return sketch_by(gaussian<T>(count, a_.cols, number), y);
    }
}

template <policy P, class A, class W>
template <class S>
status range_finder<P, A, W>::sketch_by(S const& s, view<T, space> const& y) {
    if constexpr (is_view<A>::value && takes_sketch<S>) {
        return try_gemm(policy_, a_, s.transposed(), y);
    } else {
        typename arena::scope const scope(work_);
        view<T, space> drawn;
        if (status done = write_out(s, drawn); !done) return done;
        return try_gemm(policy_, a_, drawn, y);
    }
}

// S^T
template <policy P, class A, class W>
template <class S>
status range_finder<P, A, W>::write_out(S const& s, view<T, space>& to) {
    if constexpr (std::is_same_v<S, gaussian_sketch<T>>) {
        return draw(s, to);
    } else if constexpr (takes_drawn<S>) {
        small_matrix<W> one;
        if (!make_unit(s.rows, one)) return no_memory();
        to = take<T>(s.cols, s.rows);
        view<T, space> unit;
        if (status done = send(one, unit); !done) return done;
        return try_gemm(policy_, s.transposed(), unit, to);
    } else {
        return refuse("this policy has no products with this `sketch`; take low_rank_sketch::gaussian");
    }
}

// The transposed of a Gaussian sketch, whose factor the view has.
template <policy P, class A, class W>
template <class X>
status range_finder<P, A, W>::draw(gaussian_sketch<X> const& s, view<X, space>& to) {
    view<X, space> const lines{work_.template take<X>(s.rows * s.cols), s.rows, s.cols, s.cols, 1};
    if constexpr (on_host) {
        write_normals(policy_.leaf(), s.seed, 0, 0, lines);
    } else {
        if (status done = write_normals_on_device(policy_.leaf(), s.seed, 0, 0, lines); !done) return done;
    }
    to = lines.transposed();
    to.scale = s.scale;
    return {};
}

// Y -= Q (Q^H Y)
template <policy P, class A, class W>
status range_finder<P, A, W>::remove_known(view<T, space> const& y) {
    if (found_.rank == 0) return {};
    using S = accumulator_t<T>;
    auto const along = reshaped(along_, found_.rank, y.cols);
    if (status s = try_gemm(policy_, transposed(conjugated(q())), y, along); !s) return s;
    return try_gemm(policy_, S(-1), q(), along, S(1), y);
}

STRATAGEMM_END
