// The spectrum of a Toeplitz matrix: what its products by transforms multiply by.
//
// A product with a Toeplitz matrix of M x N blocks is a convolution with its sequence, and a circular one where
// transforms have at least M + N - 1 points. Real columns are transformed as half as many complex numbers: even
// elements are real parts z, odd ones imaginary parts. With He and Ho, the transforms of the even and odd elements of
// the sequence, and w = exp(-2 pi i / points), the transform of the result is
//   Y_k = P_k Z_k + Q_k conj(Z_(-k)),   P = He + (i/2)(1 - w^k) Ho,   Q = (i/2)(1 + w^k) Ho
// so that a column stays apart from others, and its bits do not depend on them.
#pragma once

#include "../dft.hpp"
#include "../dft/number.hpp"
#include "kernels.hpp"
#include "operand.hpp"

STRATAGEMM_BEGIN

// How a product with m x n blocks is transformed.
template <class T>
struct spectrum_sides {
    static constexpr bool is_real = !complex_like<T>;
    static constexpr index_t width = is_real ? 4 : 2; // numbers in a row of the spectrum
    index_t points;

    spectrum_sides(index_t m, index_t n) {
        index_t const least = m > 0 && n > 0 ? m + n - 1 : 1;
        points = smooth_from(is_real ? (least + 1) / 2 : least);
    }
    index_t period() const { return is_real ? 2 * points : points; } // of the convolution, in elements
    index_t numbers() const { return width * points; }
};

// A product with a Toeplitz matrix on the left: m x n blocks of p x q elements times columns of T.
template <class T>
struct spectrum_outline {
    index_t p, q, m, n, columns;
    bool is_kept;
    spectrum_sides<T> sides;

    template <class S>
    explicit spectrum_outline(S const& s)
        : spectrum_outline(facts_of(s), rows_of(s), s.k, s.m * s.n / rows_of(s) * s.count) {}
    template <class Form>
    spectrum_outline(Form const& f, index_t rows, index_t cols, index_t all)
        : p(f.block_rows), q(f.block_cols), m(rows / p), n(cols / q), columns(all), is_kept(f.kept),
          sides(m, n) {}

    index_t numbers() const { return p * q * sides.numbers(); } // of the spectra

private:
    template <class S>
    static auto facts_of(S const& s) {
        if constexpr (requires { S::a_form::way; })
            return s.a_facts;
        else
            return s.b_facts.transposed();
    }
    template <class S>
    static index_t rows_of(S const& s) {
        index_t rows = s.n;
        if constexpr (requires { S::a_form::way; }) rows = s.m;
        return rows < 1 ? 1 : rows;
    }
};
// Products that are accepted by transforms, but for their epilogue.
template <class Q>
constexpr verdict spectrum_accepts = [] {
    using A = typename Q::a_operand;
    using B = typename Q::b_operand;
    using T = typename Q::c_type;
    using R = real_t<T>;
    constexpr bool left = is_toeplitz<A> && is_view<B>::value, right = is_view<A>::value && is_toeplitz<B>;
    if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value)
        return verdict::structure;
    else
        return types_if((std::is_same_v<R, float> || std::is_same_v<R, double>)&&(
                            std::is_same_v<T, R> || complex_like<T>)&&std::is_same_v<typename Q::a_type, T> &&
                        std::is_same_v<typename Q::b_type, T>);
}();
// A normwise bound. Two transforms err by the largest element of the spectrum, which is at most the sum of m + n - 1
// elements of A; the spectrum errs by its norm. Typical errors are random, and as large in one element of C as in
// another.
template <class T>
bound spectrum_bound(spectrum_outline<T> const& o, index_t depth, bool is_added, dft_errors const& e) {
    double const u = unit_roundoff<real_t<T>>(), n = static_cast<double>(o.n < 1 ? 1 : o.n),
                 both = static_cast<double>(o.m < 1 ? 1 : o.m) + n, stretch = both / __builtin_sqrt(n),
                 k = depth < 1 ? 1 : static_cast<double>(depth), adds = is_added ? 4 : 0;
    double const worst = (2 * e.worst + 8) * stretch + (e.worst + 6) * __builtin_sqrt(both),
                 typical = 4.5 * 0.5 * __builtin_sqrt((3 * e.steps + 8) / k);
    return {(2 * worst + 4 + adds) * u, (typical + adds) * u, true};
}
template <class T>
std::string spectrum_text(spectrum_outline<T> const& o) {
    std::string text = "toeplitz";
    if (o.p * o.q != 1) text += " of blocks of " + std::to_string(o.p) + " x " + std::to_string(o.q);
    return text + (o.is_kept ? " by transforms, its spectrum kept, "
                             : " by transforms, its spectrum computed first, ");
}

// exp(-2 pi i k / n) for all k, as products of two of about 2 sqrt(n) roots.
class spectrum_roots {
public:
    static index_t size(index_t n) { return step_of(n) + n / step_of(n) + 1; }
    spectrum_roots(index_t n, dft_root* room) : step_(step_of(n)), near_(room), far_(room + step_) {
        for (index_t k = 0; k < step_; ++k) near_[k] = root_of_unity(k % n, n);
        for (index_t k = 0; k * step_ < n; ++k) far_[k] = root_of_unity(k * step_, n);
    }
    dft_root operator()(index_t k) const {
        dft_root const a = near_[k % step_], b = far_[k / step_];
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }

private:
    static index_t step_of(index_t n) {
        index_t step = 1;
        while (step * step < n) step *= 2;
        return step;
    }
    index_t step_;
    dft_root *near_, *far_;
};

// z = the elements (i, j) of all blocks, as the convolution has them: number t for the difference t of row and column.
// A Hankel matrix is that of the columns backwards.
template <class A, class R>
void set_sequence(A const& a, index_t i, index_t j, index_t period, dft_complex<R>* z) {
    index_t const m = a.rows_of_blocks(), n = a.cols_of_blocks();
    R* const numbers = reinterpret_cast<R*>(z);
    constexpr index_t width = complex_like<typename A::value_type> ? 2 : 1;
    for (index_t t = 0; t < width * period; ++t) numbers[t] = R(0);
    index_t at = a.zeros[0];
    for (auto const& r : a.runs) {
        auto const& v = r.first;
        auto const* x = v.data;
        if (r.count > 0) x += i * v.row_stride + j * v.col_stride;
        for (index_t b = 0; b < r.count; ++b, ++at) {
            index_t const t = a.is_hankel ? at - (n - 1) : m - 1 - at;
            auto const element =
                scaled_by(v.scale, v.conjugate ? conjugate(x[b * r.stride]) : x[b * r.stride]);
            R* const to = numbers + width * (t < 0 ? t + period : t);
            if constexpr (width == 2)
                to[0] = element.real(), to[1] = element.imag();
            else
                to[0] = element;
        }
    }
}
// The transform z of the sequence as rows of a spectrum, divided by the number of points, which the transform back is
// not.
template <class T, class R>
void set_spectrum(dft_complex<R> const* z, index_t n, spectrum_roots const& roots, R* to) {
    double const over = 1 / static_cast<double>(n);
    for (index_t k = 0; k < n; ++k, to += spectrum_sides<T>::width) {
        double const zr = z[k].re, zi = z[k].im;
        if constexpr (complex_like<T>) {
            to[0] = static_cast<R>(zr * over), to[1] = static_cast<R>(zi * over);
        } else {
            index_t const back = k == 0 ? 0 : n - k;
            double const mr = z[back].re, mi = z[back].im, half = over / 2;
            // He and Ho
            double const er = (zr + mr) * half, ei = (zi - mi) * half, or_ = (zi + mi) * half,
                         oi = (mr - zr) * half;
            auto const w = roots(k);
            // (i/2)(1 -+ w) = (+-im w, 1 -+ re w) / 2
            double const ar = w.im / 2, ai = (1 - w.re) / 2, br = -w.im / 2, bi = (1 + w.re) / 2;
            to[0] = static_cast<R>(er + (ar * or_ - ai * oi)),
            to[1] = static_cast<R>(ei + (ar * oi + ai * or_));
            to[2] = static_cast<R>(br * or_ - bi * oi), to[3] = static_cast<R>(br * oi + bi * or_);
        }
    }
}

STRATAGEMM_END
