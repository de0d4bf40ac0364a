// How a sum of Kronecker products is found that is near a matrix: on the host, in double, by alternating least squares
// (Kolda, Bader: Tensor decompositions and applications, 2009).
//
// With all factors but one held, the best one solves normal equations. Their matrix is the elementwise product of the
// Gram matrices of the other factors, and their right-hand side is a dense product of the tensor and the Khatri-Rao
// product of these. If that matrix is singular to working precision, the factor is held near its last value. The first
// start is near the leading singular vectors of each mode: sketches of the tensor, made orthonormal. Other starts are
// random.
#pragma once

#include "../sketch/host.hpp"
#include "../tensor_train/parts.hpp"
#include "product.hpp"

STRATAGEMM_BEGIN

struct cp_options {
    index_t rank = 0;       // Kronecker products in the sum
    double tolerance = 0;   // of |A - sum| / |A|, in the Frobenius norm; 0: as near as the first start comes
    int iterations = 1000;  // at most, in all starts
    double change = 1e-4;   // a start ends when an iteration lowers the error by less than this part of it
    std::uint64_t seed = 0; // of the starts
};

// In double: for each mode (row, column) x term, row-major.
template <class W>
struct wide_cp {
    cp_sides sides;
    list<W> factor[part_sides::most];

    view<W> mode(int k) { return row_major(factor[k].data(), sides.side(k), sides.rank); }
    index_t elements(int from, int to) const {
        index_t all = 1;
        for (int k = from; k < to; ++k) all *= sides.side(k);
        return all;
    }
    bool resize() {
        bool has_memory = true;
        for (int k = 0; k < sides.cores; ++k)
            has_memory &= factor[k].resize(static_cast<std::size_t>(sides.size(k)));
        return has_memory;
    }
    // By a power of two, in equal parts in each factor.
    void scale(double power) {
        int exponent = 0;
        __builtin_frexp(power, &exponent), --exponent;
        for (int k = 0; k < sides.cores; ++k) {
            int const part = exponent / (sides.cores - k);
            exponent -= part;
            for (W& x : factor[k]) x = W(__builtin_ldexp(1, part)) * x;
        }
    }
    // Columns are the Kronecker products of those of modes [from, to), or of their conjugates: an element of these
    // modes x term.
    bool khatri_rao(int from, int to, bool conjugates, list<W>& z) {
        index_t const r = sides.rank;
        if (!z.resize(static_cast<std::size_t>(elements(from, to) * r))) return false;
        index_t known = 1; // rows; each becomes several, from the last one on
        for (index_t t = 0; t < r; ++t) z.data()[t] = W(1);
        for (int k = from; k < to; known *= sides.side(k), ++k)
            for (index_t a = known - 1; a >= 0; --a)
                for (index_t i = sides.side(k) - 1; i >= 0; --i)
                    for (index_t t = 0; t < r; ++t) {
                        W const x = mode(k)(i, t);
                        z.data()[(a * sides.side(k) + i) * r + t] =
                            z.data()[a * r + t] * (conjugates ? conjugate(x) : x);
                    }
        return true;
    }
};
// The tensor of a sum.
template <class W>
status multiply_out(wide_cp<W>& x, list<W>& made) {
    int const last = x.sides.cores - 1;
    index_t const rows = x.elements(0, last), cols = x.sides.side(last);
    list<W> z;
    if (!x.khatri_rao(0, last, false, z) || !made.resize(static_cast<std::size_t>(rows * cols)))
        return no_memory_for_parts("cp");
    return try_gemm(host{}, row_major(z.data(), rows, x.sides.rank), transposed(x.mode(last)),
                    row_major(made.data(), rows, cols));
}

template <class W>
class alternating_least_squares {
public:
    // C: the tensor, of numbers near 1. `tolerance`: of |C|.
    alternating_least_squares(list<W>& c, wide_cp<W>& x, cp_options const& options, double tolerance)
        : c_(c), x_(x), options_(options), tolerance_(tolerance), all_(sum_of_squares(c)) {}

    int iterations() const { return iterations_; }

    status find() {
        if (!x_.resize() || !weight_.resize(static_cast<std::size_t>(rank()))) return no_memory();
        if (all_ == 0) return {}; // so are all factors
        double error = 0;
        for (starts_ = 0; iterations_ < options_.iterations; ++starts_) {
            if (status s = begin(); !s) return s;
            bool falls = true;
            for (double before = __builtin_inf(); falls && iterations_ < options_.iterations;
                 before = error) {
                ++iterations_;
                if (status s = improve(error); !s) return s;
                if (tolerance_ > 0 && error <= tolerance_) return share_weights();
                falls = before - error > options_.change * error;
            }
            if (!falls && tolerance_ == 0) return share_weights();
        }
        return missed(error);
    }

private:
    static status no_memory() { return no_memory_for_parts("cp"); }
    static std::size_t count(index_t n) { return static_cast<std::size_t>(n); }
    index_t rank() const { return x_.sides.rank; }
    int modes() const { return x_.sides.cores; }
    view<W> square(small_matrix<W>& g) const { return col_major(g.data(), g.rows(), g.cols()); }

    status missed(double error) const {
        char text[160];
        if (tolerance_ > 0)
            __builtin_snprintf(
                text, sizeof(text),
                "%d iterations from %d starts came to an error of %.3g |A|, and not within the "
                "tolerance of %.3g",
                iterations_, starts_, error, options_.tolerance);
        else
            __builtin_snprintf(
                text, sizeof(text),
                "after %d iterations the error of %.3g |A| still falls; give more `iterations` or a "
                "`tolerance`",
                iterations_, error);
        return failure(errc::argument, "cp", text);
    }

    // Random factors, and for the first start what the tensor makes of them.
    status begin() {
        for (int k = 0; k < modes(); ++k) draw(k, 0);
        list<W> sketch[part_sides::most];
        for (int k = 0; starts_ == 0 && k < modes(); ++k)
            if (status s = times_others(k, sketch[k]); !s) return s;
        for (int k = 0; k < modes(); ++k) {
            if (starts_ == 0)
                if (status s = span(k, sketch[k]); !s) return s;
            normalize(k);
            if (status s = set_gram(k); !s) return s;
        }
        return {};
    }
    // Columns from `from` on.
    void draw(int k, index_t from) {
        std::uint64_t const seed =
            options_.seed * 0x9e3779b97f4a7c15u + count(starts_ * index_t{part_sides::most} + k);
        view<W> const f = x_.mode(k);
        for (index_t i = 0; i < f.rows; ++i)
            for (index_t t = from; t < f.cols; ++t) f(i, t) = normal_at<W>(seed, i, t);
    }
    // Orthonormal columns in the span of Y; random ones follow where they are fewer.
    status span(int k, list<W>& y) {
        view<W> const f = x_.mode(k), from = row_major(y.data(), f.rows, f.cols);
        small_matrix<W> g(rank(), rank());
        if (!g) return no_memory();
        if (status s = try_gemm(cpu_, transposed(conjugated(from)), from, square(g)); !s) return s;
        pivoted_factor<W> factor(g, noise() * static_cast<double>(f.rows));
        auto m = factor.orthonormalizer();
        if (!factor.has_memory || (!m && factor.rank > 0)) return no_memory();
        if (factor.rank > 0)
            if (status s = try_gemm(cpu_, from, square(m), f.block(0, 0, f.rows, factor.rank)); !s) return s;
        return {};
    }
    static constexpr double noise() { return 8 * unit_roundoff<double>(); }

    // Columns of norm 1, and what they were multiplied by. A column of zeros stays for others to find a use of its
    // term.
    void normalize(int k) {
        view<W> const f = x_.mode(k);
        for (index_t t = 0; t < f.cols; ++t) {
            double sum = 0;
            for (index_t i = 0; i < f.rows; ++i) sum += squared(f(i, t));
            double const size = weight_[count(t)] = __builtin_sqrt(sum);
            for (index_t i = 0; i < f.rows && size > 0; ++i) f(i, t) /= W(size);
        }
    }
    status set_gram(int k) {
        gram_[k] = small_matrix<W>(rank(), rank());
        if (!gram_[k]) return no_memory();
        return try_gemm(cpu_, transposed(conjugated(x_.mode(k))), x_.mode(k), square(gram_[k]));
    }

    // M: mode k x term, the tensor times the conjugates of the other factors. The side with more elements is summed
    // over by a dense product, the other one by the loop.
    status times_others(int k, list<W>& m) {
        index_t const left = x_.elements(0, k), s = x_.sides.side(k), right = x_.elements(k + 1, modes()),
                      r = rank();
        bool const is_right_first = left <= right;
        list<W> before, after, product;
        if (!x_.khatri_rao(0, k, true, before) || !x_.khatri_rao(k + 1, modes(), true, after) ||
            !m.resize(count(s * r)) || !product.resize(count((is_right_first ? left : right) * s * r)))
            return no_memory();
        for (W& value : m) value = W(0);
        W *const p = product.data(), *const to = m.data();
        if (is_right_first) {
            if (status done = try_gemm(cpu_, row_major(c_.data(), left * s, right),
                                       row_major(after.data(), right, r), row_major(p, left * s, r));
                !done)
                return done;
            for (index_t a = 0; a < left; ++a)
                for (index_t i = 0; i < s; ++i)
                    for (index_t t = 0; t < r; ++t)
                        to[i * r + t] += p[(a * s + i) * r + t] * before.data()[a * r + t];
            return {};
        }
        if (status done = try_gemm(cpu_, transposed(row_major(c_.data(), left, s * right)),
                                   row_major(before.data(), left, r), row_major(p, s * right, r));
            !done)
            return done;
        for (index_t i = 0; i < s; ++i)
            for (index_t b = 0; b < right; ++b)
                for (index_t t = 0; t < r; ++t)
                    to[i * r + t] += p[(i * right + b) * r + t] * after.data()[b * r + t];
        return {};
    }
    // The elementwise product of the Gram matrices of modes other than `but`.
    status grams(int but, small_matrix<W>& h) const {
        h = small_matrix<W>(rank(), rank());
        if (!h) return no_memory();
        for (index_t i = 0; i < rank(); ++i)
            for (index_t j = 0; j < rank(); ++j) {
                h(i, j) = W(1);
                for (int k = 0; k < modes(); ++k)
                    if (k != but) h(i, j) *= gram_[k](i, j);
            }
        return {};
    }
    // The factor F for which H F^T = M^T.
    status solve(int k, small_matrix<W>& h, list<W>& m) {
        view<W> const f = x_.mode(k), from = row_major(m.data(), f.rows, f.cols);
        pivoted_factor<W> first(h, noise() * static_cast<double>(rank()));
        if (!first.has_memory) return no_memory();
        if (first.rank == rank()) return solve_by(first, from, f);
        // (H + near) F^T = (M + near F')^T, where F' is the last F: the sum of squares falls, and half of the digits
        // count.
        double const near = __builtin_sqrt(unit_roundoff<double>());
        for (index_t t = 0; t < rank(); ++t) h(t, t) += W(near);
        for (index_t i = 0; i < f.rows; ++i)
            for (index_t t = 0; t < f.cols; ++t) from(i, t) += W(near * weight_[count(t)]) * f(i, t);
        pivoted_factor<W> second(h, 0);
        return second.has_memory ? solve_by(second, from, f) : no_memory();
    }
    // F = M conj(H^-1), and H^-1 = X X^H.
    status solve_by(pivoted_factor<W>& factor, view<W> const& m, view<W> const& f) {
        auto inverse = factor.orthonormalizer();
        list<W> half;
        if (!inverse || !half.resize(count(f.rows * inverse.cols()))) return no_memory();
        view<W> const h = row_major(half.data(), f.rows, inverse.cols());
        if (status s = try_gemm(cpu_, m, conjugated(square(inverse)), h); !s) return s;
        return try_gemm(cpu_, h, transposed(square(inverse)), f);
    }
    // All factors once. `error`: of |C|.
    status improve(double& error) {
        list<W> m, kept;
        for (int k = 0; k < modes(); ++k) {
            small_matrix<W> h;
            if (status s = times_others(k, m); !s) return s;
            if (status s = grams(k, h); !s) return s;
            if (!kept.resize(m.size())) return no_memory();
            for (std::size_t i = 0; i < m.size(); ++i) kept[i] = m[i];
            if (status s = solve(k, h, m); !s) return s;
            normalize(k);
            if (status s = set_gram(k); !s) return s;
        }
        return measure(kept, error);
    }
    // |C - sum|^2 from the products of the last mode; from the difference itself where that is too small for them.
    status measure(list<W> const& m, double& error) {
        small_matrix<W> h;
        if (status s = grams(-1, h); !s) return s;
        view<W> const f = x_.mode(modes() - 1);
        double squares = all_;
        for (index_t t = 0; t < rank(); ++t) {
            double const w = weight_[count(t)];
            for (index_t i = 0; i < f.rows; ++i)
                squares -= 2 * w * real_part(conjugate(f(i, t)) * m.data()[i * rank() + t]);
            for (index_t u = 0; u < rank(); ++u) squares += w * weight_[count(u)] * real_part(h(t, u));
        }
        error = squares > 0 ? __builtin_sqrt(squares / all_) : 0;
        if (squares > __builtin_sqrt(unit_roundoff<double>()) * all_) return {};
        list<W> made;
        auto const weigh = [&](bool is_back) {
            for (index_t i = 0; i < f.rows; ++i)
                for (index_t t = 0; t < rank(); ++t) {
                    double const w = weight_[count(t)];
                    if (w > 0) f(i, t) *= W(is_back ? 1 / w : w);
                }
        };
        weigh(false);
        if (status s = multiply_out(x_, made); !s) return s;
        weigh(true);
        error = compare(c_, made, 0).error;
        return {};
    }
    // The weight of a term, in equal parts in each factor.
    status share_weights() {
        for (index_t t = 0; t < rank(); ++t) {
            double const w = weight_[count(t)], part = w > 0 ? __builtin_exp(__builtin_log(w) / modes()) : 0;
            for (int k = 0; k < modes(); ++k)
                for (index_t i = 0; i < x_.sides.side(k); ++i) x_.mode(k)(i, t) *= W(part);
        }
        return {};
    }

    host cpu_{};
    list<W>& c_;
    wide_cp<W>& x_;
    cp_options options_;
    double tolerance_, all_;
    list<double> weight_; // of the terms: what the columns of the last factor were multiplied by
    small_matrix<W> gram_[part_sides::most];
    int iterations_ = 0, starts_ = 0;
};

STRATAGEMM_END
