// Small matrices in host memory: what a factorization decides by, in double.
#pragma once

#include "../../core/list.hpp"
#include "../../core/types.hpp"

STRATAGEMM_BEGIN

// A number like T, of doubles.
template <class T>
struct in_double {
    using type = double;
};
template <template <class> class Complex, class R>
requires complex_like<Complex<R>>
struct in_double<Complex<R>> {
    using type = Complex<double>;
};

// Columns one after another. Empty: there was no memory.
template <class W>
class small_matrix {
public:
    small_matrix() = default;
    small_matrix(index_t rows, index_t cols) : rows_(rows), cols_(cols) {
        if (!data_.resize(static_cast<std::size_t>(rows * cols))) rows_ = cols_ = 0;
    }
    small_matrix(small_matrix&&) = default;
    small_matrix& operator=(small_matrix&& other) noexcept {
        data_.swap(other.data_), rows_ = other.rows_, cols_ = other.cols_;
        return *this;
    }
    explicit operator bool() const { return rows_ > 0; }
    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    W* data() { return data_.data(); }
    W const* data() const { return data_.data(); }
    W& operator()(index_t i, index_t j) { return data_[static_cast<std::size_t>(i + j * rows_)]; }
    W const& operator()(index_t i, index_t j) const { return data_[static_cast<std::size_t>(i + j * rows_)]; }

private:
    index_t rows_ = 0, cols_ = 0;
    list<W> data_;
};

template <class W>
double squared(W const& x) {
    if constexpr (complex_like<W>)
        return static_cast<double>(x.real()) * static_cast<double>(x.real()) +
               static_cast<double>(x.imag()) * static_cast<double>(x.imag());
    else
        return static_cast<double>(x) * static_cast<double>(x);
}
template <class W>
double real_part(W const& x) {
    if constexpr (complex_like<W>)
        return static_cast<double>(x.real());
    else
        return static_cast<double>(x);
}

// G = R^H R for a Gram matrix G, by Cholesky's method with the largest pivot first. Row j of R has its pivot in column
// order[j], and zeros in the columns of the pivots before. It ends where what is left of each column is, squared, at
// most `cutoff` times the largest column.
template <class W>
struct pivoted_factor {
    small_matrix<W> r;
    list<index_t> order;
    index_t rank = 0;
    bool has_memory = false;

    pivoted_factor(small_matrix<W> const& g, double cutoff) : r(g.rows(), g.rows()) {
        index_t const n = g.rows();
        small_matrix<W> rest(n, n);
        has_memory = r && rest && order.resize(static_cast<std::size_t>(n));
        if (!has_memory) return;
        for (index_t i = 0; i < n; ++i) at(i) = i;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) rest(i, j) = g(i, j);
        double largest = 0;
        for (; rank < n; ++rank) {
            index_t best = rank;
            for (index_t i = rank; i < n; ++i)
                if (real_part(rest(at(i), at(i))) > real_part(rest(at(best), at(best)))) best = i;
            double const pivot = real_part(rest(at(best), at(best)));
            if (rank == 0) largest = pivot;
            if (!(pivot > cutoff * largest)) break;
            std::swap(at(rank), at(best));
            index_t const p = at(rank);
            W const root(__builtin_sqrt(pivot));
            r(rank, p) = root;
            for (index_t i = rank + 1; i < n; ++i) r(rank, at(i)) = rest(p, at(i)) / root;
            for (index_t i = rank + 1; i < n; ++i)
                for (index_t j = rank + 1; j < n; ++j)
                    rest(at(i), at(j)) -= conjugate(r(rank, at(i))) * r(rank, at(j));
        }
    }
    index_t& at(index_t i) { return order[static_cast<std::size_t>(i)]; }

    // The matrix M for which Y M has orthonormal columns, `rank` of them, if G is the Gram matrix of Y.
    small_matrix<W> orthonormalizer() {
        small_matrix<W> inverse(r.rows(), rank);
        if (!inverse) return inverse;
        for (index_t j = 0; j < rank; ++j)
            for (index_t i = j; i >= 0; --i) {
                W sum(i == j ? 1 : 0);
                for (index_t l = i + 1; l <= j; ++l) sum -= r(i, at(l)) * inverse(at(l), j);
                inverse(at(i), j) = sum / r(i, at(i));
            }
        return inverse;
    }
};

// Orthonormal vectors, as few as the largest pivots say, outside of whose span at most `budget` of |B|^2 is, from the
// Gram matrix G of the rows of B. Columns; empty: no memory.
template <class W>
small_matrix<W> spanning_vectors(small_matrix<W> const& g, double budget, double noise) {
    index_t const n = g.rows();
    pivoted_factor<W> factor(g, noise);
    if (!factor.has_memory) return {};
    double left = 0; // the trace of what the rows of R so far leave of G
    for (index_t i = 0; i < n; ++i) left += real_part(g(i, i));
    index_t count = 0;
    for (; count < factor.rank && (left > budget || count == 0); ++count)
        for (index_t i = 0; i < n; ++i) left -= squared(factor.r(count, i));
    small_matrix<W> products(count, count), vectors(n, count);
    if (!products || !vectors) return {};
    for (index_t i = 0; i < count; ++i)
        for (index_t j = 0; j < count; ++j)
            for (index_t l = 0; l < n; ++l) products(i, j) += factor.r(i, l) * conjugate(factor.r(j, l));
    pivoted_factor<W> inner(products, 0);
    auto const m = inner.orthonormalizer();
    if (!inner.has_memory || !m || m.cols() < count) return {};
    for (index_t j = 0; j < count; ++j)
        for (index_t l = 0; l < count; ++l)
            for (index_t i = 0; i < n; ++i) vectors(i, j) += conjugate(factor.r(l, i)) * m(l, j);
    return vectors;
}

// Makes columns orthonormal, one after another, each twice. A column of which nothing is left stays zero.
template <class W>
void make_orthonormal(small_matrix<W>& x) {
    index_t const m = x.rows();
    for (index_t j = 0; j < x.cols(); ++j) {
        auto const scale = [&] {
            double sum = 0;
            for (index_t i = 0; i < m; ++i) sum += squared(x(i, j));
            W const by(sum > 0 ? 1 / __builtin_sqrt(sum) : 0);
            for (index_t i = 0; i < m; ++i) x(i, j) *= by;
        };
        scale();
        for (index_t l = 0; l < 2 * j; ++l) {
            W along(0);
            for (index_t i = 0; i < m; ++i) along += conjugate(x(i, l % j)) * x(i, j);
            for (index_t i = 0; i < m; ++i) x(i, j) -= x(i, l % j) * along;
        }
        scale();
    }
}
// An orthogonal complement of n orthonormal columns, by reflections: columns n, n + 1, ... of I - V M, where M has only
// these. (Schreiber, Van Loan: A storage-efficient WY representation for products of Householder transformations, 1989)
template <class W>
struct complement {
    small_matrix<W> v, m; // empty: no memory

    explicit complement(small_matrix<W> columns) : v(std::move(columns)) {
        index_t const lines = v.rows(), n = v.cols();
        small_matrix<W> t(n, n);
        m = small_matrix<W>(n, lines - n);
        if (!t || !m) return;
        for (index_t j = 0; j < n; ++j) {
            turn_to_reflection(j);
            for (index_t i = 0; i < j; ++i) {
                W sum(0);
                for (index_t l = i; l < j; ++l) sum += t(i, l) * product(l, j, j);
                t(i, j) = W(-2) * sum;
            }
            t(j, j) = W(2);
        }
        for (index_t l = 0; l < lines - n; ++l)
            for (index_t i = 0; i < n; ++i)
                for (index_t j = i; j < n; ++j) m(i, l) += t(i, j) * conjugate(v(n + l, j));
    }

private:
    W product(index_t i, index_t j, index_t from) const {
        W sum(0);
        for (index_t l = from; l < v.rows(); ++l) sum += conjugate(v(l, i)) * v(l, j);
        return sum;
    }
    // Column j, as the reflections before it leave it, becomes the vector that takes it to unit vector j.
    void turn_to_reflection(index_t j) {
        double const size = __builtin_sqrt(real_part(product(j, j, j))),
                     first = __builtin_sqrt(squared(v(j, j)));
        v(j, j) += first > 0 ? v(j, j) * W(size / first) : W(size);
        double const rest = __builtin_sqrt(real_part(product(j, j, j)));
        for (index_t i = 0; i < v.rows(); ++i) v(i, j) = i < j || rest == 0 ? W(0) : v(i, j) / W(rest);
        for (index_t l = j + 1; l < v.cols(); ++l) {
            W const along = W(2) * product(j, l, j);
            for (index_t i = j; i < v.rows(); ++i) v(i, l) -= v(i, j) * along;
        }
    }
};

// x^H y and a rotation of two columns, four real numbers at a time.
typedef double four_numbers __attribute__((vector_size(4 * sizeof(double))));
inline double dot_of_columns(double const* x, double const* y, index_t m) {
    constexpr index_t side = 4;
    four_numbers sums[2]{}, a, b;
    index_t i = 0;
    for (; i + 2 * side <= m; i += 2 * side)
        for (int half = 0; half < 2; ++half) {
            __builtin_memcpy(&a, x + i + half * side, sizeof(a));
            __builtin_memcpy(&b, y + i + half * side, sizeof(b));
            sums[half] += a * b;
        }
    four_numbers const both = sums[0] + sums[1];
    double sum = both[0] + both[1] + (both[2] + both[3]);
    for (; i < m; ++i) sum += x[i] * y[i];
    return sum;
}
inline void rotate_columns(double* x, double* y, index_t m, double cosine, double sine, double phase) {
    constexpr index_t side = 4;
    double const c = cosine * phase, s = sine * phase;
    index_t i = 0;
    for (; i + side <= m; i += side) {
        four_numbers a, b;
        __builtin_memcpy(&a, x + i, sizeof(a)), __builtin_memcpy(&b, y + i, sizeof(b));
        four_numbers const first = cosine * a - s * b, second = sine * a + c * b;
        __builtin_memcpy(x + i, &first, sizeof(first)), __builtin_memcpy(y + i, &second, sizeof(second));
    }
    for (; i < m; ++i) {
        double const a = x[i], b = y[i];
        x[i] = cosine * a - s * b, y[i] = sine * a + c * b;
    }
}
template <complex_like W>
W dot_of_columns(W const* x, W const* y, index_t m) {
    W sum(0);
    for (index_t i = 0; i < m; ++i) sum += conjugate(x[i]) * y[i];
    return sum;
}
template <complex_like W>
void rotate_columns(W* x, W* y, index_t m, double cosine, double sine, W phase) {
    for (index_t i = 0; i < m; ++i) {
        W const a = x[i], b = y[i] * conjugate(phase);
        x[i] = W(cosine) * a - W(sine) * b, y[i] = W(sine) * a + W(cosine) * b;
    }
}

// Rotates pairs of columns of X until all are orthogonal (Hestenes: Inversion of matrices by biorthogonalization,
// 1958): they are then left singular vectors times their singular values. Returns false if they are not after many
// sweeps, or if there is no memory.
template <class W>
bool rotate_to_singular_vectors(small_matrix<W>& x) {
    index_t const n = x.cols(), m = x.rows();
    list<double> squares; // of the norms of columns
    if (!squares.resize(static_cast<std::size_t>(n))) return false;
    auto const column = [&](index_t j) { return x.data() + j * m; };
    auto const measure = [&](index_t j) { return real_part(dot_of_columns(column(j), column(j), m)); };
    for (int sweep = 0; sweep < 60; ++sweep) {
        bool is_done = true;
        for (index_t j = 0; j < n; ++j) squares[static_cast<std::size_t>(j)] = measure(j);
        for (index_t p = 0; p < n; ++p)
            for (index_t q = p + 1; q < n; ++q) {
                double &a = squares[static_cast<std::size_t>(p)], &b = squares[static_cast<std::size_t>(q)];
                W const c = dot_of_columns(column(p), column(q), m);
                double const off = __builtin_sqrt(squared(c));
                if (off <= 1e-15 * __builtin_sqrt(a) * __builtin_sqrt(b) || off == 0) continue;
                is_done = false;
                double const tau = (b - a) / (2 * off),
                             t = (tau < 0 ? -1 : 1) / (__builtin_fabs(tau) + __builtin_sqrt(1 + tau * tau)),
                             cosine = 1 / __builtin_sqrt(1 + t * t), change = t * off;
                W const phase = c / W(off); // makes the product of both columns real
                rotate_columns(column(p), column(q), m, cosine, t * cosine, phase);
                // A norm that becomes much smaller has lost digits.
                a = a - change > 0.5 * a ? a - change : measure(p);
                b = b + change > 0.5 * b ? b + change : measure(q);
            }
        if (is_done) return true;
    }
    return false;
}

// Orthonormal vectors that the Gram matrix G of the rows of B stretches most: the fewest without which at most `budget`
// of |B|^2 is left, and at most `most` of them. Columns of the factor of G are scaled while it is made, so that rows of
// B of any size keep their digits.
template <class W>
struct leading_vectors {
    small_matrix<W> vectors; // columns, the one that is stretched most first; empty: no memory, or B is zero
    double rest = 0;         // of |B|^2

    leading_vectors(small_matrix<W> g, double budget, index_t most, double noise) {
        index_t const n = g.rows();
        list<double> size, squares;
        if (!size.resize(static_cast<std::size_t>(n)) || !squares.resize(static_cast<std::size_t>(n))) return;
        auto const of = [&](index_t i) -> double& { return size[static_cast<std::size_t>(i)]; };
        auto const square = [&](index_t i) -> double& { return squares[static_cast<std::size_t>(i)]; };
        for (index_t i = 0; i < n; ++i) of(i) = __builtin_sqrt(real_part(g(i, i)));
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j)
                g(i, j) = of(i) > 0 && of(j) > 0 ? g(i, j) / W(of(i) * of(j)) : W(0);
        pivoted_factor<W> factor(g, noise);
        small_matrix<W> x(n, factor.rank);
        if (!factor.has_memory || !x) return;
        for (index_t j = 0; j < factor.rank; ++j)
            for (index_t i = 0; i < n; ++i) x(i, j) = conjugate(factor.r(j, i)) * W(of(i));
        if (!rotate_to_singular_vectors(x)) return;
        for (index_t j = 0; j < factor.rank; ++j)
            for (index_t i = 0; i < n; ++i) square(j) += squared(x(i, j)), rest += squared(x(i, j));
        index_t count = 0;
        for (double left = rest; count < factor.rank && count < most && (left > budget || count == 0);
             ++count) {
            index_t best = count;
            for (index_t j = count; j < factor.rank; ++j)
                if (square(j) > square(best)) best = j;
            std::swap(square(best), square(count));
            for (index_t i = 0; i < n; ++i) std::swap(x(i, best), x(i, count));
            left = 0;
            for (index_t j = factor.rank - 1; j > count; --j)
                left += square(j); // the smallest last, or nearly
        }
        rest = 0;
        for (index_t j = count; j < factor.rank; ++j) rest += square(j);
        vectors = small_matrix<W>(n, square(0) > 0 ? count : 0);
        for (index_t k = 0; k < vectors.cols(); ++k)
            for (index_t i = 0; i < n; ++i) vectors(i, k) = x(i, k) / W(__builtin_sqrt(square(k)));
    }
};

STRATAGEMM_END
