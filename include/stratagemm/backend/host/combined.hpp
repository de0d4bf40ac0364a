// Products of sums of matrices, into several results: sums are formed while operands are packed, and what a panel of the
// product comes to is spread while it is in the cache.
//
// No temporary is stored: a product of sums takes the workspace of a plain product (Huang, Smith, Henry, van de Geijn,
// 2016).
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// to = sum of factor[t] from[t], `count` elements of unit stride in pieces of `piece`, which are `next` apart in `to`.
// `to` may be one of them. Vectors of 16 bytes, which every machine has, are enough for the speed of memory.
template <class T>
[[gnu::noinline]] void combine(T* to, index_t piece, index_t next, T const* const* from, T const* factor,
                               int terms, index_t count) {
    typedef T vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
    constexpr index_t lanes = 16 / static_cast<index_t>(sizeof(T));
    auto const at = [](T const* p) { return *reinterpret_cast<vector const*>(p); };
    T const *const first = from[0], *const second = from[terms > 1];
    vector const x = vector{} + factor[0], y = vector{} + factor[terms > 1];
    for (index_t begin = 0; begin < count; begin += piece, to += next) {
        index_t const end = smaller(count, begin + piece);
        index_t j = begin;
        T* const out = to - begin;
        for (; terms == 2 && j + lanes <= end; j += lanes) // nearly always
            *reinterpret_cast<vector*>(out + j) = x * at(first + j) + y * at(second + j);
        for (; j + lanes <= end; j += lanes) {
            vector sum = x * at(first + j);
            for (int t = 1; t < terms; ++t) sum += factor[t] * at(from[t] + j);
            *reinterpret_cast<vector*>(out + j) = sum;
        }
        for (; j < end; ++j) {
            T sum = factor[0] * first[j];
            for (int t = 1; t < terms; ++t) sum += factor[t] * from[t][j];
            out[j] = sum;
        }
    }
}

// Operands that are sums of up to `most` matrices of one type, real.
template <class T>
struct sum_packing {
    using packet = T;
    using table = kernel_table<T, T>;
    static table const& kernels() { return stratagemm::kernels<T, T>(); }

    static constexpr int most = 8;
    using operand = sum_of<view<T const>, most>;

    static constexpr index_t widen = 1;
    static index_t depth(index_t k) { return k; }
    static bool conjugates(operand const&) { return false; }
    static bool by_panels(operand const&) {
        return false;
    } // all rows at once: forming a sum again would cost more
    static constexpr bool in_place = false;
    struct place {
        T const* data;
        index_t row, col;
    };
    static place place_of(operand const&) { return {}; }

    static void pack_a(operand const& a, bool, index_t i, index_t p, index_t rows, index_t depth, T* to) {
        form(a.part(i, p, rows, depth), to, depth, depth, 0);
    }
    static void pack_b(operand const& b, bool, index_t p, index_t j, index_t depth, index_t cols, T* to) {
        int const strip = kernels().strip;
        form(b.part(p, j, depth, cols), to, strip, strip, depth * strip);
        index_t const whole = cols / strip * strip;
        pad_strip(to + whole * depth, strip, depth, cols == whole ? strip : cols - whole);
    }

private:
    // The sum, in strips of `strip` columns, `next` apart, whose rows are `row` apart.
    static void form(operand const& x, T* to, index_t row, index_t strip, index_t next) {
        bool by_rows = true, by_columns = true;
        T factor[most] = {};
        for (int t = 0; t < x.terms; ++t) {
            by_rows &= x.term[t].col_stride == 1, by_columns &= x.term[t].row_stride == 1;
            factor[t] = x.term[t].scale;
        }
        T const* from[most] = {};
        if (by_rows) {
            for (index_t i = 0; i < x.rows; ++i) {
                for (int t = 0; t < x.terms; ++t) {
                    from[t] = x.term[t].data + i * x.term[t].row_stride;
                    if (i + 3 < x.rows)
                        for (index_t j = 0; j < x.cols; j += 64 / index_t{sizeof(T)})
                            __builtin_prefetch(from[t] + 3 * x.term[t].row_stride + j);
                }
                combine(to + i * row, strip, next, from, factor, x.terms, x.cols);
            }
            return;
        }
        // In squares, summed as they lie and turned on the way.
        constexpr index_t side = 8;
        index_t const wide = smaller(side, strip); // within a strip
        for (index_t i = 0; i < x.rows; i += side)
            for (index_t j = 0; j < x.cols; j += wide) {
                index_t const in = smaller(side, x.rows - i), jn = smaller(wide, x.cols - j);
                T square[side * side]; // by columns
                for (index_t c = 0; c < jn; ++c) {
                    for (int t = 0; t < x.terms; ++t)
                        from[t] = x.term[t].data + i * x.term[t].row_stride + (j + c) * x.term[t].col_stride;
                    if (by_columns) {
                        combine(square + c * side, side, side, from, factor, x.terms, in);
                        continue;
                    }
                    for (index_t r = 0; r < in; ++r) {
                        T sum = factor[0] * from[0][r * x.term[0].row_stride];
                        for (int t = 1; t < x.terms; ++t)
                            sum += factor[t] * from[t][r * x.term[t].row_stride];
                        square[c * side + r] = sum;
                    }
                }
                T* const out = to + j / strip * next + i * row + j % strip;
                if (in == side && jn == side)
                    transpose_square(out, row, square, side);
                else
                    for (index_t r = 0; r < in; ++r)
                        for (index_t c = 0; c < jn; ++c) out[r * row + c] = square[c * side + r];
            }
    }
};

// A view as the sum of itself.
template <class T>
typename sum_packing<T>::operand as_sum(view<T const> const& v) {
    return v;
}
template <class T, int N>
typename sum_packing<T>::operand as_sum(sum_of<view<T const>, N> const& x) {
    typename sum_packing<T>::operand sum;
    sum.rows = x.rows, sum.cols = x.cols, sum.terms = x.terms;
    for (int t = 0; t < x.terms; ++t) sum.term[t] = x.term[t];
    return sum;
}

// What the blocked loops write for a spread: the sum of a piece of k goes to each target; the first piece brings what
// the target adds.
template <class Problem, bool First>
void write_spread(void const* problem, bool swapped, typename Problem::scalar const* sum, index_t sum_row,
                  index_t i, index_t j, index_t rows, index_t cols) {
    using T = typename Problem::scalar;
    auto const& p = *static_cast<Problem const*>(problem);
    for (int t = 0; t < p.c.targets; ++t) {
        auto const& target = p.c.at[t];
        auto const to = (swapped ? target.to.transposed() : target.to).part(i, j, rows, cols);
        auto from = First ? target.from : view<T const>(target.to);
        T const keep = First ? target.keep : T(1), factor[] = {p.alpha * target.factor, keep};
        if (keep != T(0)) from = (swapped ? from.transposed() : from).part(i, j, rows, cols);
        bool const by_rows = to.col_stride == 1 && (keep == T(0) || from.col_stride == 1);
        for (index_t r = 0; r < rows; ++r) {
            T const* const x = sum + r * sum_row;
            if (by_rows) {
                T const* const terms[] = {x, keep == T(0) ? nullptr : &from(r, 0)};
                combine(&to(r, 0), cols, index_t{0}, terms, factor, keep == T(0) ? 1 : 2, cols);
            } else {
                for (index_t c = 0; c < cols; ++c)
                    to(r, c) = keep == T(0) ? factor[0] * x[c] : factor[0] * x[c] + keep * from(r, c);
            }
        }
    }
}

STRATAGEMM_END
