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
// depends on x, the length and the instruction set or the device alone: not on threads, and not on what is transformed
// beside x.
//
// The error is bounded by the norm of x (product.hpp): an element of y that is small beside the largest has fewer
// digits. Transforms run on the host and on devices (OpenCL, CUDA). A device compiles a kernel for each length and
// layout.
#pragma once

#include "../gemm.hpp"
#include "dft/device_product.hpp"
#include "dft/product.hpp"

STRATAGEMM_BEGIN

[[gnu::cold, gnu::noinline]] inline status usable_transform(index_t points, index_t rows, index_t cols,
                                                            index_t most_rows, index_t most_cols) {
    constexpr index_t most = 0x7fffffff;
    char text[160];
    if (points < 1 || points > most)
        __builtin_snprintf(text, sizeof(text), "a transform has from 1 to %td points, and this one has %td",
                           most, points);
    else if (rows < 1 || cols < 1 || rows > most_rows || cols > most_cols)
        __builtin_snprintf(text, sizeof(text),
                           "a transform of %td points has no leading rows and columns of %td x %td", points,
                           rows, cols);
    else
        return {};
    return failure(errc::argument, "dft", text);
}
// Whether a real and a complex matrix may be in the same memory, where one is transformed to the other: each
// transform reads its line, a column or a row, before it writes any of it. They have lines at the same addresses; a
// line of either is apart from other lines of both.
[[gnu::cold, gnu::noinline]] inline status shares_lines(placed_view const& v, placed_view const& c,
                                                        index_t count, bool left) {
    struct lines {
        index_t length, stride, lines, pitch, step; // in real numbers, but `stride` in elements
    };
    auto const as_lines = [&](placed_view const& x, index_t width) {
        return left ? lines{x.rows, x.row_stride, x.cols, width * x.col_stride, width * x.step}
                    : lines{x.cols, x.col_stride, x.rows, width * x.row_stride, width * x.step};
    };
    bool const to_complex = c.element_size == 2 * v.element_size;
    lines const r = to_complex ? as_lines(v, 1) : as_lines(c, 1),
                z = to_complex ? as_lines(c, 2) : as_lines(v, 2);
    bool const together = v.address == c.address && v.buffer == c.buffer &&
                          (r.lines <= 1 || r.pitch == z.pitch) && (count <= 1 || r.step == z.step);
    // Elements of each lie side by side; or number i of a line is where element i of the complex line is.
    index_t const reach = larger_of((r.length - 1) * magnitude(r.stride),
                                    (z.length - 1) * 2 * magnitude(z.stride)),
                  room = reach + 2, pitch = magnitude(r.pitch), step = magnitude(r.step),
                  lines_reach = (r.lines - 1) * pitch, batch_reach = (count - 1) * step;
    bool const same_way = r.length <= 1 || z.length <= 1 || (r.stride < 0) == (z.stride < 0),
               by_lines = (r.lines <= 1 || pitch >= room) && (count <= 1 || step >= lines_reach + room),
               by_batches = (count <= 1 || step >= room) && (r.lines <= 1 || pitch >= batch_reach + room),
               by_elements = r.stride == 2 * z.stride &&
                             nested(larger_of(r.length, z.length), r.stride, r.lines, r.pitch, count, r.step);
    if (together && ((same_way && (by_lines || by_batches)) || by_elements)) return {};
    char text[300];
    __builtin_snprintf(
        text, sizeof(text),
        "C overlaps the operand that is transformed; in place, the real and the complex matrix begin at "
        "the same address, and their %s have the same distance, with room for %td real numbers each",
        left ? "columns" : "rows", room);
    return failure(errc::alias, "dft", text);
}

// A complex double, without <complex>.
struct dft_number {
    using value_type = double;
    double re = 0, im = 0;
    dft_number() = default;
    dft_number(double x, double y = 0) : re(x), im(y) {}
    double real() const { return re; }
    double imag() const { return im; }
};

template <class T>
struct dft_form {
    using value_type = computed<T>;
    static constexpr bool is_transform = true, is_computed = true, has_facts = true;
    template <class P>
    requires P::is_backend using over =
        std::conditional_t<device_leaf<leaf_of<P>, typename P::space>, dft_device_product<P>, dft_product<P>>;

    index_t points = 0; // 0: as many as it has columns
    bool is_shifted = false;

    // Of the product of probe() and vectors, for a check of a product that has an operand of m x k on the left.
    static constexpr bool has_probe = true;
    auto shape_of_probe(index_t m, index_t k, index_t vectors) const {
        shape<dft_form<double>, double, dft_number> s{k, vectors, m};
        s.a_facts.points = points > 0 ? points : k;
        s.a_facts.is_shifted = is_shifted;
        return s;
    }
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
    form facts() const { return {points, row_shift != 0 || col_shift != 0}; }
    template <class F>
    void each_view(F&&) const {}
    status usable() const { return usable_transform(points, rows, cols, points, points); }
    // For a check of its products (algorithm/verified/probe.hpp): an operand in double whose product with u is u^T A.
    auto probe() const {
        dft<double> one(points);
        one.rows = cols, one.cols = rows, one.row_shift = col_shift, one.col_shift = row_shift;
        one.scale = static_cast<double>(scale), one.conjugate = conjugate;
        return one;
    }
    double peak() const { return scale < T(0) ? -static_cast<double>(scale) : static_cast<double>(scale); }
    // In place with real numbers and complex ones: see shares_lines().
    static status shares(placed_view const& v, placed_view const& c, index_t count, bool left) {
        return shares_lines(v, c, count, left);
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
