// The discrete Fourier transform as an operand: a matrix of n x n whose elements exp(-2 pi i j k / n) lie in no memory.
//
//   sg::gemm(cpu, sg::dft<float>(64), x, y);             transforms the columns of x, whose rows are 64
//   sg::gemm(cpu, x, sg::dft<float>(64), y);             transforms the rows, such as windows of a signal
//   sg::gemm(cpu, sg::idft<float>(64), y, x);            and back: the conjugate matrix, divided by 64
//   sg::gemm(cpu, sg::fftshift(sg::dft<float>(64)), x, y);   frequency 0 in the middle of y
//   sg::gemm(cpu, sg::dft<float>(64), x, x);             in place: x as a whole, with the same strides
//   sg::gemm(cpu, sg::leading(sg::dft<float>(64), 33, 40), x, y);   40 rows, zeros behind them, to 33 frequencies
//   sg::fft(cpu, x, y), sg::ifft(cpu, y, x)              the first and the third, of as many points as x has rows
//
// x is complex, or real; y is complex of the same precision. Both may have any strides, and x may be a batch of
// matrices, with y. alpha, beta, E and an epilogue serve as in other products; with a real x, alpha and beta are real.
// Any length from 1 to 2^31 - 1 is accepted. Lengths with prime factors 2, 3, 5 and 7 alone are the fastest. The result
// depends on x, the length and the instruction set alone: not on threads, and not on what is transformed beside x.
//
// The error is bounded by the norm of x (product.hpp): an element of y that is small beside the largest has fewer
// digits. Transforms run on the host; other memory is refused at compile time.
#pragma once

#include "../gemm.hpp"
#include "dft/product.hpp"

STRATAGEMM_BEGIN

template <class T>
struct dft_form {
    using value_type = computed<T>;
    static constexpr bool is_transform = true, is_computed = true, has_facts = true;
    template <class P>
    requires P::is_backend using over = dft_product<P>;

    index_t points = 0; // 0: as many as it has columns
};

// T: float or double, the precision of both operands.
template <class T>
struct dft {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "stratagemm: the type of a transform is float or double, the real type of its operands");
    using value_type = computed<T>;
    using real_type = T;
    using space = no_memory;
    using form = dft_form<T>;
    static constexpr int most_views = 0;
    static constexpr bool in_place = true;

    index_t points = 1, rows = 1, cols = 1; // the leading rows and columns of a matrix of points x points
    T scale{1};
    bool conjugate = false;               // the inverse, but for a factor n
    index_t row_shift = 0, col_shift = 0; // row i is frequency i - row_shift modulo n; columns likewise

    explicit dft(index_t n) : points(n), rows(n), cols(n) {}

    dft transposed() const {
        dft one = *this;
        one.rows = cols, one.cols = rows;
        one.row_shift = col_shift, one.col_shift = row_shift;
        return one;
    }
    form facts() const { return {points}; }
    template <class F>
    void each_view(F&&) const {}
    status usable() const {
        constexpr index_t most = 0x7fffffff;
        char text[160];
        if (points < 1 || points > most)
            __builtin_snprintf(text, sizeof(text),
                               "a transform has from 1 to %td points, and this one has %td", most, points);
        else if (rows < 1 || cols < 1 || rows > points || cols > points)
            __builtin_snprintf(text, sizeof(text),
                               "a transform of %td points has no leading rows and columns of %td x %td",
                               points, rows, cols);
        else
            return {};
        return failure(errc::argument, "dft", text);
    }
};
static_assert(ready_operand<dft<float>>);

// The inverse of dft<T>(points), as NumPy has it: divided by the number of points.
template <class T>
dft<T> idft(index_t points) {
    dft<T> one(points);
    one.conjugate = true;
    one.scale = static_cast<T>(1.0 / static_cast<double>(points));
    return one;
}

// The leading rows x cols of a transform: of the first `cols` elements, as if zeros followed, the first `rows` results.
template <class T>
dft<T> leading(dft<T> d, index_t rows, index_t cols) {
    d.rows = rows, d.cols = cols;
    return d;
}

// The same transform with frequency 0 in the middle: of the rows, for a transform of columns; of the columns, for one
// of rows. ifftshift undoes this shift, and differs from fftshift where the number of points is odd.
template <class T>
dft<T> fftshift(dft<T> d, along axis = along::rows) {
    (axis == along::rows ? d.row_shift : d.col_shift) += d.points / 2;
    return d;
}
template <class T>
dft<T> ifftshift(dft<T> d, along axis = along::rows) {
    (axis == along::rows ? d.row_shift : d.col_shift) -= d.points / 2;
    return d;
}

// y = the transform of each column of x, and its inverse. For rows, give both transposed.
template <policy P, operand X, operand Y>
void fft(P const& policy, X&& x, Y&& y) {
    gemm(policy, dft<real_t<value_of<Y>>>(first_of(as_view(x)).rows), x, y);
}
template <policy P, operand X, operand Y>
void ifft(P const& policy, X&& x, Y&& y) {
    gemm(policy, idft<real_t<value_of<Y>>>(first_of(as_view(x)).rows), x, y);
}

STRATAGEMM_END
