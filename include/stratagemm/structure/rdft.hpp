// Fourier transforms of real numbers to half a spectrum, and back, as operands.
//
//   sg::gemm(cpu, sg::rdft<float>(64), x, y);            the columns of a real x, to frequencies 0 to 32 in a complex y
//   sg::gemm(cpu, x, sg::transposed(sg::rdft<float>(64)), y);   the rows
//   sg::gemm(cpu, sg::irdft<float>(64), y, x);           and back: 64 real numbers from 33 frequencies, divided by 64
//   sg::rfft(cpu, x, y), sg::irfft(cpu, y, x)            the first and the third, of as many points as x has rows
//   sg::gemm(cpu, sg::leading(sg::irdft<float>(64), 40, 20), y, x);   40 results, of 20 frequencies; zeros follow
//
// rdft<T>(n) is the leading (n / 2 + 1) x n of dft<T>(n), whose other rows are the conjugates of these. It serves as
// any dft does, beside a complex x, too. A product of a real x and no more than these rows takes half the time of a
// complex one, if n is even.
//
// irdft<T>(n) is n x (n / 2 + 1). Its product has real elements: the inverse transform, divided by n, of the spectrum
// whose other half is the conjugate of y. The imaginary parts of frequency 0 and, if n is even, n / 2 are not read, as
// NumPy's irfft has it. y is complex and x is real; alpha, beta, E and what an epilogue gets are real.
//
// In place, x and y begin at the same address and lie in the same lines: a line of x, 2 (n / 2 + 1) real numbers of
// room, becomes a line of y, n / 2 + 1 complex ones (dft::shares). Otherwise neither way writes what it reads. Both run
// on the host and on devices.
#pragma once

#include "dft.hpp"

STRATAGEMM_BEGIN

// The transform of n real numbers to n / 2 + 1 frequencies.
template <class T>
dft<T> rdft(index_t n) {
    return leading(dft<T>(n), n / 2 + 1, n);
}

template <class T>
struct irdft_form {
    using value_type = computed_real<T>;
    static constexpr bool is_transform = true, is_computed = true, has_facts = true;
    template <class P>
    requires P::is_backend using over =
        std::conditional_t<device_leaf<leaf_of<P>, typename P::space>, dft_device_product<P>, dft_product<P>>;

    index_t points = 0; // 0: as many as there are results
    bool is_shifted = false;

    static constexpr bool has_probe = true; // see dft_form
    auto shape_of_probe(index_t m, index_t k, index_t vectors) const {
        return dft_form<double>{points > 0 ? points : m}.shape_of_probe(m, k, vectors);
    }
};

// T: float or double.
template <class T>
struct irdft {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "stratagemm: the type of a transform is float or double, the real type of its operands");
    using value_type = computed_real<T>;
    using real_type = T;
    using space = no_memory;
    using form = irdft_form<T>;
    static constexpr int most_views = 0;
    static constexpr index_t row_shift = 0, col_shift = 0;

    index_t points = 1, rows = 1, cols = 1; // the leading results, and the leading frequencies
    T scale{1};
    bool conjugate = false; // of the spectrum: the results are in reverse order, but for the first
    bool is_turned = false; // it stands on the right

    explicit irdft(index_t n) : points(n), rows(n), cols(n / 2 + 1) {
        if (n > 0) scale = static_cast<T>(1.0 / static_cast<double>(n));
    }
    irdft transposed() const {
        irdft one = *this;
        one.rows = cols, one.cols = rows, one.is_turned = !is_turned;
        return one;
    }
    form facts() const { return {points}; }
    template <class F>
    void each_view(F&&) const {}
    status usable() const {
        index_t const results = is_turned ? cols : rows, frequencies = is_turned ? rows : cols;
        return usable_transform(points, results, frequencies, points, points / 2 + 1);
    }
    // For a check of its products, as that of a dft. Result i is the real part of a sum of y_k times 2 exp(2 pi i k /
    // n) / n, or half of that where frequencies have no conjugate ones.
    auto probe() const {
        dft<double> one = leading(dft<double>(points), cols, rows);
        one.scale = 2 * static_cast<double>(scale), one.conjugate = !conjugate;
        return one;
    }
    template <class V>
    void finish_probe(V const& g) const {
        auto const halve = [&](index_t k) {
            for (index_t r = 0; r < g.cols; ++r) g(k, r) = {g(k, r).real() / 2, g(k, r).imag() / 2};
        };
        halve(0);
        if (points % 2 == 0 && points / 2 < cols) halve(points / 2);
    }
    double peak() const {
        return 2 * (scale < T(0) ? -static_cast<double>(scale) : static_cast<double>(scale));
    }
    static status shares(placed_view const& v, placed_view const& c, index_t count, bool left) {
        return shares_lines(v, c, count, left);
    }
};
static_assert(ready_operand<irdft<float>>);

// The first `rows` results of an inverse transform of the first `cols` frequencies, as if zeros followed.
template <class T>
irdft<T> leading(irdft<T> d, index_t rows, index_t cols) {
    d.rows = rows, d.cols = cols;
    return d;
}

// y = the spectrum of each column of x, and back, to as many numbers as x has rows.
template <policy P, operand X, operand Y>
void rfft(P const& policy, X&& x, Y&& y) {
    gemm(policy, rdft<real_t<value_of<Y>>>(first_of(as_view(x)).rows), x, y);
}
template <policy P, operand Y, operand X>
void irfft(P const& policy, Y&& y, X&& x) {
    gemm(policy, irdft<value_of<X>>(first_of(as_view(x)).rows), y, x);
}

STRATAGEMM_END
