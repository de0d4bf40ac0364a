// Products of sums of matrices, into several results: sums are formed while operands are packed, and what a panel of the
// product comes to is spread while it is in the cache.
//
// No temporary is stored: a product of sums takes the workspace of a plain product (Huang, Smith, Henry, van de Geijn,
// 2016).
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// to = sum of factor[t] from[t], `count` elements of unit stride in pieces of `piece`, which are `next` apart in `to`.
// `to` may be one of them. Vectors of 16 bytes, which every machine has, are enough for the speed of memory, if four of
// them share what each term costs.
template <class T>
[[gnu::noinline]] void combine(T* to, index piece, index next, T const* const* from, T const* factor,
                               int terms, index count) {
    typedef T vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
    constexpr index lanes = 16 / static_cast<index>(sizeof(T));
    auto const at = [](T const* p, int v) { return reinterpret_cast<vector const*>(p)[v]; };
    for (index begin = 0; begin < count; begin += piece, to += next) {
        index const end = smaller(count, begin + piece);
        index j = begin;
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

// Operands that are sums of up to `most` matrices of one type, real.
template <class T>
struct sum_packing {
    using packet = T;
    using table = kernel_table<T, T>;
    static table const& kernels() { return stratagemm::kernels<T, T>(); }

    static constexpr int most = 8;
    using operand = sum_of<view<T const>, most>;

    static constexpr index widen = 1;
    static index depth(index k) { return k; }
    static bool conjugates(operand const&) { return false; }
    static bool by_panels(operand const&) {
        return false;
    } // all rows at once: forming a sum again would cost more
    static constexpr bool in_place = false;
    struct place {
        T const* data;
        index row, col;
    };
    static place place_of(operand const&) { return {}; }

    static void pack_a(operand const& a, bool, index i, index p, index rows, index depth, T* to) {
        form(a.part(i, p, rows, depth), to, depth, depth, 0);
    }
    static void pack_b(operand const& b, bool, index p, index j, index depth, index cols, T* to) {
        int const strip = kernels().strip;
        form(b.part(p, j, depth, cols), to, strip, strip, depth * strip);
        index const whole = cols / strip * strip;
        pad_strip(to + whole * depth, strip, depth, cols == whole ? strip : cols - whole);
    }

private:
    // The sum, in strips of `strip` columns, `next` apart, whose rows are `row` apart.
    static void form(operand const& x, T* to, index row, index strip, index next) {
        bool by_rows = true, by_columns = true;
        T factor[most] = {};
        for (int t = 0; t < x.terms; ++t) {
            by_rows &= x.term[t].col_stride == 1, by_columns &= x.term[t].row_stride == 1;
            factor[t] = x.term[t].scale;
        }
        T const* from[most] = {};
        if (by_rows) {
            for (index i = 0; i < x.rows; ++i) {
                for (int t = 0; t < x.terms; ++t) {
                    from[t] = x.term[t].data + i * x.term[t].row_stride;
                    if (i + 3 < x.rows)
                        for (index j = 0; j < x.cols; j += 64 / index{sizeof(T)})
                            __builtin_prefetch(from[t] + 3 * x.term[t].row_stride + j);
                }
                combine(to + i * row, strip, next, from, factor, x.terms, x.cols);
            }
            return;
        }
        // In squares, summed as they lie and turned on the way.
        constexpr index side = 8;
        index const wide = smaller(side, strip); // within a strip
        for (index i = 0; i < x.rows; i += side)
            for (index j = 0; j < x.cols; j += wide) {
                index const in = smaller(side, x.rows - i), jn = smaller(wide, x.cols - j);
                T square[side * side]; // by columns
                for (index c = 0; c < jn; ++c) {
                    for (int t = 0; t < x.terms; ++t)
                        from[t] = x.term[t].data + i * x.term[t].row_stride + (j + c) * x.term[t].col_stride;
                    if (by_columns) {
                        combine(square + c * side, side, side, from, factor, x.terms, in);
                        continue;
                    }
                    for (index r = 0; r < in; ++r) {
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
                    for (index r = 0; r < in; ++r)
                        for (index c = 0; c < jn; ++c) out[r * row + c] = square[c * side + r];
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
void write_spread(void const* problem, bool swapped, typename Problem::scalar const* sum, index sum_row,
                  index i, index j, index rows, index cols) {
    using T = typename Problem::scalar;
    auto const& p = *static_cast<Problem const*>(problem);
    for (int t = 0; t < p.c.targets; ++t) {
        auto const& target = p.c.at[t];
        auto const to = (swapped ? target.to.transposed() : target.to).part(i, j, rows, cols);
        auto from = First ? target.from : view<T const>(target.to);
        T const keep = First ? target.keep : T(1), factor[] = {p.alpha * target.factor, keep};
        if (keep != T(0)) from = (swapped ? from.transposed() : from).part(i, j, rows, cols);
        bool const by_rows = to.col_stride == 1 && (keep == T(0) || from.col_stride == 1);
        for (index r = 0; r < rows; ++r) {
            T const* const x = sum + r * sum_row;
            if (by_rows) {
                T const* const terms[] = {x, keep == T(0) ? nullptr : &from(r, 0)};
                combine(&to(r, 0), cols, index{0}, terms, factor, keep == T(0) ? 1 : 2, cols);
            } else {
                for (index c = 0; c < cols; ++c)
                    to(r, c) = keep == T(0) ? factor[0] * x[c] : factor[0] * x[c] + keep * from(r, c);
            }
        }
    }
}

STRATAGEMM_END
