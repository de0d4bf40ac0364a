// The elements of a matrix as those of a tensor, in double: with the index of a row in parts i1, i2, ... and that of a
// column in parts j1, j2, ..., mode k of the tensor is the pair (ik, jk). A part of 1 leaves a mode of rows, or of
// columns, alone.
#pragma once

#include "../../backend/host.hpp"
#include "../../gemm.hpp"
#include "../low_rank/small.hpp"
#include "sides.hpp"

STRATAGEMM_BEGIN

template <class T>
using wide_of = typename in_double<T>::type;

inline status no_memory_for_parts(char const* layer) {
    return failure(errc::memory, layer, "no host memory is left");
}

// Sets the parts of a rows x cols matrix, or says what is wrong with them.
inline status set_parts(char const* layer, index_t all_rows, index_t all_cols,
                        std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                        part_sides& to) {
    if (rows.size() != cols.size() || rows.size() < 1 || rows.size() > part_sides::most)
        return failure(errc::argument, layer,
                       "give as many parts of the rows as of the columns, from 1 to 16");
    bool is_whole = true;
    int k = 0;
    to.cores = static_cast<int>(rows.size());
    for (index_t const side : rows) is_whole &= side > 0, to.rows[k++] = side;
    k = 0;
    for (index_t const side : cols) is_whole &= side > 0, to.cols[k++] = side;
    if (is_whole && to.all_rows() == all_rows && to.all_cols() == all_cols) return {};
    char text[160];
    __builtin_snprintf(text, sizeof(text), "the parts do not multiply to the sides of the matrix, %td x %td",
                       all_rows, all_cols);
    return failure(errc::shape, layer, text);
}

// Where the elements of a matrix are in its tensor: (i, j) is element row[i] + col[j].
struct part_offsets {
    list<index_t> row, col;

    bool set(part_sides const& x) {
        if (!row.resize(static_cast<std::size_t>(x.all_rows())) ||
            !col.resize(static_cast<std::size_t>(x.all_cols())))
            return false;
        place(row, x, x.rows, true), place(col, x, x.cols, false);
        return true;
    }
    std::size_t of(index_t i, index_t j) const {
        return static_cast<std::size_t>(row[static_cast<std::size_t>(i)] + col[static_cast<std::size_t>(j)]);
    }

private:
    static void place(list<index_t>& at, part_sides const& x, index_t const* sides, bool is_row) {
        for (std::size_t i = 0; i < at.size(); ++i) {
            index_t rest = static_cast<index_t>(i), step = 1, sum = 0;
            for (int k = x.cores - 1; k >= 0; --k) {
                sum += rest % sides[k] * step * (is_row ? x.cols[k] : 1), rest /= sides[k];
                step *= x.rows[k] * x.cols[k];
            }
            at[i] = sum;
        }
    }
};

// The tensor of A: the first mode is the slowest.
template <class T, class W>
status unfold(char const* layer, view<T const> const& a, part_sides const& x, list<W>& c) {
    part_offsets at;
    index_t size = 0;
    if (__builtin_mul_overflow(a.rows, a.cols, &size) || !c.resize(static_cast<std::size_t>(size)) ||
        !at.set(x))
        return no_memory_for_parts(layer);
    W const factor = static_cast<W>(a.scale);
    for (index_t i = 0; i < a.rows; ++i)
        for (index_t j = 0; j < a.cols; ++j) c[at.of(i, j)] = factor * element_as<W>(a, i, j);
    return {};
}
// The matrix of a tensor.
template <class T, class W>
status fold(char const* layer, list<W> const& c, part_sides const& x, matrix<T>& a) {
    part_offsets at;
    if (!at.set(x)) return no_memory_for_parts(layer);
    for (index_t i = 0; i < a.rows(); ++i)
        for (index_t j = 0; j < a.cols(); ++j) a(i, j) = static_cast<T>(c[at.of(i, j)]);
    return {};
}

template <class W>
double sum_of_squares(list<W> const& c) {
    double sum = 0;
    for (W const& x : c) sum += squared(x);
    return sum;
}

// Divides C by the power of two next to its largest element, so that no square of an element that matters overflows or
// vanishes. C is `factor` times what it becomes.
template <class W>
status scale_to_one(char const* layer, list<W>& c, double& factor) {
    double largest = 0;
    bool is_finite = true;
    auto const look = [&](double x) {
        x = __builtin_fabs(x), is_finite &= __builtin_isfinite(x), largest = x > largest ? x : largest;
    };
    for (W const& x : c) {
        if constexpr (complex_like<W>)
            look(x.real()), look(x.imag());
        else
            look(x);
    }
    if (!is_finite) return failure(errc::argument, layer, "the matrix has Inf or NaN");
    int exponent = 0;
    __builtin_frexp(largest, &exponent);
    if (exponent < -1000) exponent = -1000; // subnormal numbers: the inverse is to be finite
    factor = __builtin_ldexp(1, exponent);
    for (W& x : c) x = W(1 / factor) * x;
    return {};
}

// U becomes the columns of M V, which are nearly orthogonal, made orthonormal by Cholesky's factor of their Gram
// matrix, twice. There are `count` of them; those that depend on others are dropped.
template <class W>
status orthonormal_columns(char const* layer, view<W const> const& m, small_matrix<W> const& v, list<W>& u,
                           index_t& count) {
    host const cpu{};
    index_t const s = m.rows;
    list<W> memory;
    if (!memory.resize(u.size())) return no_memory_for_parts(layer);
    if (status done = try_gemm(cpu, m, view<W const>(col_major(v.data(), v.rows(), count)),
                               row_major(u.data(), s, count));
        !done)
        return done;
    for (index_t j = 0; j < count; ++j) {
        view<W> const x = row_major(u.data(), s, count);
        double sum = 0;
        for (index_t i = 0; i < s; ++i) sum += squared(x(i, j));
        for (index_t i = 0; i < s && sum > 0; ++i) x(i, j) /= W(__builtin_sqrt(sum));
    }
    for (int pass = 0; pass < 2; ++pass) {
        view<W> const from = row_major(memory.data(), s, count);
        for (index_t i = 0; i < s * count; ++i) from.data[i] = u.data()[i];
        small_matrix<W> g(count, count);
        if (!g) return no_memory_for_parts(layer);
        auto done = try_gemm(cpu, transposed(conjugated(from)), from, col_major(g.data(), count, count));
        if (!done) return done;
        pivoted_factor<W> factor(g, 1e-15 * static_cast<double>(s));
        auto const inverse = factor.orthonormalizer();
        if (!factor.has_memory || !inverse) return no_memory_for_parts(layer);
        view<W const> const to_inverse = col_major(inverse.data(), count, inverse.cols());
        count = inverse.cols();
        if (done = try_gemm(cpu, from, to_inverse, row_major(u.data(), s, count)); !done) return done;
    }
    return u.resize(static_cast<std::size_t>(s * count)) ? status() : no_memory_for_parts(layer);
}

// Leading left singular vectors of M, the fewest without which at most `budget` of |M|^2 is left, and at most `most`:
// the columns of U, as many rows as M x `count`. `left`: what is left of |M|^2. They come from the Gram matrix of the
// shorter side, so that of rests below 1e-8 |M| nothing is known. No vectors: M is zero.
template <class W>
status left_vectors(char const* layer, view<W const> const& m, double budget, index_t most, list<W>& u,
                    index_t& count, double& left) {
    index_t const s = m.rows, rest = m.cols, side = smaller(s, rest);
    bool const by_rows = s <= rest;
    small_matrix<W> g(side, side);
    if (!g) return no_memory_for_parts(layer);
    view<W> const to_g = col_major(g.data(), side, side);
    auto const one = m, other = transposed(conjugated(m));
    auto done = by_rows ? try_gemm(host{}, one, other, to_g) : try_gemm(host{}, other, one, to_g);
    if (!done) return done;
    leading_vectors<W> const v(std::move(g), budget, most, 1e-15 * static_cast<double>(larger_of(s, rest)));
    count = v.vectors.cols(), left = v.rest;
    if (!v.vectors || !u.resize(static_cast<std::size_t>(s * count))) return no_memory_for_parts(layer);
    if (count == 0) return {};
    if (!by_rows) return orthonormal_columns(layer, m, v.vectors, u, count);
    view<W> const to = row_major(u.data(), s, count);
    for (index_t i = 0; i < s; ++i)
        for (index_t j = 0; j < count; ++j) to(i, j) = v.vectors(i, j);
    return {};
}

// What factors of a tensor are found to be, once they have the type of the matrix.
struct tensor_fit {
    double norm = 0;  // of the tensor that they make
    double error = 0; // of |A - factors| / |A|, from the difference itself
    double noise = 0; // by which rounding may have changed `error`
};
// Compares the tensor C with what factors make of it, in `made`, of which rounding may have changed `magnitude` units.
template <class W>
tensor_fit compare(list<W> const& c, list<W> const& made, double magnitude) {
    double off = 0, all = sum_of_squares(c);
    for (std::size_t i = 0; i < c.size(); ++i) off += squared(c[i] - made[i]);
    if (all == 0) all = 1;
    tensor_fit fit;
    fit.norm = __builtin_sqrt(sum_of_squares(made)), fit.error = __builtin_sqrt(off / all);
    fit.noise = 2 * magnitude * unit_roundoff<double>() / __builtin_sqrt(all);
    return fit;
}

STRATAGEMM_END
