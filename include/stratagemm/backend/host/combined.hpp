// Products of sums of matrices, into several results: sums are formed while operands are packed, and a panel of the
// product is spread over the results while the panel is in the cache.
//
// No temporary is stored: a product of sums takes the workspace of a plain product (Huang, Smith, Henry, van de Geijn,
// 2016).
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// to = sum of factor[t] from[t], `count` elements of unit stride in pieces of `piece`, which are `next` apart in `to`.
// `to` may be one of the terms. Vectors of 16 bytes, which every machine has, reach the speed of memory if four of them
// share the overhead of each term.
template <class T>
[[gnu::noinline]] void combine(T* to, index_t piece, index_t next, T const* const* from, T const* factor,
                               int terms, index_t count) {
    typedef T vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
    constexpr index_t lanes = 16 / static_cast<index_t>(sizeof(T));
    auto const at = [](T const* p, int v) { return reinterpret_cast<vector const*>(p)[v]; };
    for (index_t begin = 0; begin < count; begin += piece, to += next) {
        index_t const end = smaller(count, begin + piece);
        index_t j = begin;
        T* const out = to - begin;
        for (; j + 4 * lanes <= end; j += 4 * lanes) {
            T const* p = from[0] + j;
            T f = factor[0];
            vector x = f * at(p, 0), y = f * at(p, 1), z = f * at(p, 2), w = f * at(p, 3);
            for (int t = 1; t < terms; ++t) {
                p = from[t] + j, f = factor[t];
                x += f * at(p, 0), y += f * at(p, 1), z += f * at(p, 2), w += f * at(p, 3);
            }
            auto* const four = reinterpret_cast<vector*>(out + j);
            four[0] = x, four[1] = y, four[2] = z, four[3] = w;
        }
        for (; j < end; ++j) {
            T sum = factor[0] * from[0][j];
            for (int t = 1; t < terms; ++t) sum += factor[t] * from[t][j];
            out[j] = sum;
        }
    }
}

// The first term, whose factor goes into alpha if it is the only one.
template <class T>
view<T const> const& first_term(view<T const> const& x, T&) {
    return x;
}
template <class T, int N>
view<T const> const& first_term(sum_of<view<T const>, N>& x, T& alpha) {
    if (x.terms == 1) alpha *= std::exchange(x.term[0].scale, T(1));
    return x.term[0];
}

// The functions that pack a sum of real matrices of one type.
template <class T>
struct sum_packing {
    static constexpr int most = 8;

    static host_sum<T> of(view<T const> const&) { return {}; }
    template <int N>
    static host_sum<T> of(sum_of<view<T const>, N> const& x) {
        static_assert(N <= most,
                      "stratagemm: the host adds at most eight matrices in a sum; add some of them before");
        if (x.terms == 1) return {};
        return {x.term, x.terms, pack_a, pack_b};
    }

private:
    using view_type = view<T const>;

    static void pack_a(host_sum<T> const& sum, index_t i, index_t p, index_t rows, index_t depth, T* to) {
        form(sum, i, p, rows, depth, {to, depth, depth, 0});
    }
    static void pack_b(host_sum<T> const& sum, index_t p, index_t j, index_t depth, index_t cols, T* to) {
        auto const& t = kernels<T, T>();
        index_t const whole = cols / t.strip * t.strip;
        if (whole < cols && !t.masked) clear_strip(to + whole * depth, t.strip, depth, cols - whole);
        form(sum, p, j, depth, cols, {to, t.strip, t.strip, depth * t.strip});
    }

    // Where a sum is formed: in strips of `width` columns, `next` apart, whose rows are `row` apart.
    struct strips {
        T* to;
        index_t row, width, next;
    };

    // Rows [i0, i0 + rows), columns [j0, j0 + cols).
    static void form(host_sum<T> const& sum, index_t i0, index_t j0, index_t rows, index_t cols,
                     strips const& out) {
        auto const [to, row, strip, next] = out;
        auto const* const term = static_cast<view_type const*>(sum.term);
        bool by_rows = true, by_columns = true;
        T factor[most] = {};
        T const *corner[most] = {}, *from[most] = {};
        for (int t = 0; t < sum.terms; ++t) {
            by_rows &= term[t].col_stride == 1, by_columns &= term[t].row_stride == 1;
            factor[t] = term[t].scale, corner[t] = &term[t](i0, j0);
        }
        if (by_rows) {
            for (index_t i = 0; i < rows; ++i) {
                for (int t = 0; t < sum.terms; ++t) {
                    from[t] = corner[t] + i * term[t].row_stride;
                    if (i + 3 < rows)
                        for (index_t j = 0; j < cols; j += 64 / index_t{sizeof(T)})
                            __builtin_prefetch(from[t] + 3 * term[t].row_stride + j);
                }
                combine(to + i * row, strip, next, from, factor, sum.terms, cols);
            }
            return;
        }
        // The sum is formed in squares, summed as they lie and turned on the way.
        constexpr index_t side = 8;
        index_t const wide = smaller(side, strip); // within a strip
        for (index_t i = 0; i < rows; i += side)
            for (index_t j = 0; j < cols; j += wide) {
                index_t const in = smaller(side, rows - i), jn = smaller(wide, cols - j);
                T square[side * side]; // by columns
                for (index_t c = 0; c < jn; ++c) {
                    for (int t = 0; t < sum.terms; ++t)
                        from[t] = corner[t] + i * term[t].row_stride + (j + c) * term[t].col_stride;
                    if (by_columns) {
                        combine(square + c * side, side, side, from, factor, sum.terms, in);
                        continue;
                    }
                    for (index_t r = 0; r < in; ++r) {
                        T x = factor[0] * from[0][r * term[0].row_stride];
                        for (int t = 1; t < sum.terms; ++t) x += factor[t] * from[t][r * term[t].row_stride];
                        square[c * side + r] = x;
                    }
                }
                T* const corner_of_square = to + j / strip * next + i * row + j % strip;
                if (in == side && jn == side)
                    transpose_square(corner_of_square, row, square, side);
                else
                    for (index_t r = 0; r < in; ++r)
                        for (index_t c = 0; c < jn; ++c) corner_of_square[r * row + c] = square[c * side + r];
            }
    }
};

// to = factor sum + keep from; `from` is not read if `keep` is 0.
template <class T>
[[gnu::noinline]] void write_target(view<T> const& to, T factor, T const* sum, index_t sum_row, T keep,
                                    view<T const> const& from) {
    T const factors[] = {factor, keep};
    int const terms = keep == T(0) ? 1 : 2;
    bool const by_rows = to.col_stride == 1 && (terms == 1 || from.col_stride == 1);
    for (index_t r = 0; r < to.rows; ++r, sum += sum_row) {
        if (by_rows) {
            T const* const both[] = {sum, terms == 1 ? nullptr : &from(r, 0)};
            combine(&to(r, 0), to.cols, index_t{0}, both, factors, terms, to.cols);
        } else {
            for (index_t c = 0; c < to.cols; ++c)
                to(r, c) = terms == 1 ? factor * sum[c] : factor * sum[c] + keep * from(r, c);
        }
    }
}

// Writes a spread for the blocked loops: the sum of a piece of k goes to each target; with the first piece comes the
// matrix that the target adds.
template <class Problem, bool First>
void write_spread(void const* problem, bool swapped, typename Problem::scalar const* sum, index_t sum_row,
                  index_t i, index_t j, index_t rows, index_t cols) {
    using T = typename Problem::scalar;
    auto const& p = *static_cast<Problem const*>(problem);
    auto const part = [&](auto const& v) { return (swapped ? v.transposed() : v).part(i, j, rows, cols); };
    for (int t = 0; t < p.c.targets; ++t) {
        auto const& target = p.c.at[t];
        T const keep = First ? target.keep : T(1);
        auto const to = part(target.to);
        write_target<T>(to, p.alpha * target.factor, sum, sum_row, keep,
                        First && keep != T(0) ? part(target.from) : view<T const>(to));
    }
}

STRATAGEMM_END
