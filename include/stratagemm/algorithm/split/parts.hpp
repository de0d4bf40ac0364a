// What the split layer does element by element, each as a function of its place for a leaf's apply().
#pragma once

#include "../../core/operand.hpp"

STRATAGEMM_BEGIN

namespace split_parts {

// ---- taking apart ----------------------------------------------------------------------------------------

// Sixteen elements at a time: to take one apart by itself costs as much as its share of a product.
struct sixteen {
    static constexpr index_t count = 16;
    bfloat16 at[count];

    sixteen() = default;
    explicit constexpr sixteen(int) {} // a view's factor, which nothing reads
};

// Elements are to be 0, or at least 2^-40 and below 2^48: then their parts are normal numbers, the products
// of those are, and 2^30 of them do not overflow.
inline constexpr int least_exponent = -40, end_exponent = 48;
inline constexpr int span = end_exponent - least_exponent;

constexpr int bits_of_power(int e) { return (e + 127) << 23; }
constexpr float power(int e) { return __builtin_bit_cast(float, bits_of_power(e)); }

// The parts of sixteen elements of a line: the first is returned, the others are stored beside it. What is
// beyond the matrix is zero.
struct take_apart {
    view<float const> of; // lines are rows
    float scale;
    sixteen* first;     // where the first parts are
    index_t line, next; // from line to line, from one part to the next
    int parts;          // 2 or 3
    std::int32_t* odd;  // set if an element is not where it is to be

    sixteen operator()(sixteen, index_t i, index_t j) const {
        typedef float floats __attribute__((vector_size(16)));
        typedef std::uint32_t words __attribute__((vector_size(16)));
        typedef std::int32_t numbers __attribute__((vector_size(16)));
        floats x[4] = {};
        read(i, j * sixteen::count, reinterpret_cast<float*>(x));
        sixteen h, m, l;
        numbers outside = {};
        for (int q = 0; q < 4; ++q) {
            floats const v = x[q] * scale;
            numbers const size = reinterpret_cast<numbers>(v) & 0x7fffffff;
            outside |=
                ((size < bits_of_power(least_exponent)) & (size > 0)) | (size >= bits_of_power(end_exponent));
            auto const rounded = [](floats y) {
                auto const u = reinterpret_cast<words>(y);
                return (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
            };
            auto const keep = [q](words u, sixteen& to) {
                typedef std::uint16_t shorts __attribute__((vector_size(8)));
                shorts const high = __builtin_convertvector(u >> 16, shorts);
                __builtin_memcpy(static_cast<void*>(&to.at[4 * q]), &high, sizeof(high));
            };
            words const vh = rounded(v);
            floats const rest = v - reinterpret_cast<floats>(vh);
            words const vm = rounded(rest);
            keep(vh, h), keep(vm, m);
            keep(reinterpret_cast<words>(rest - reinterpret_cast<floats>(vm)), l); // no bits are left
        }
        if (outside[0] | outside[1] | outside[2] | outside[3]) __atomic_store_n(odd, 1, __ATOMIC_RELAXED);
        sixteen* const to = first + i * line + j;
        to[next] = m;
        if (parts == 3) to[2 * next] = l;
        return h;
    }

private:
    void read(index_t i, index_t j, float* to) const {
        if (i >= of.rows) return;
        float const* const from = of.data + i * of.row_stride + j * of.col_stride;
        if (of.col_stride == 1 && of.cols - j >= sixteen::count) {
            __builtin_memcpy(to, from, sixteen::count * sizeof(float));
            return;
        }
        for (index_t t = 0; t < sixteen::count && t < of.cols - j; ++t) to[t] = from[t * of.col_stride];
    }
};

// ---- measuring -------------------------------------------------------------------------------------------

enum measure : index_t {
    largest, // |x| in a line; Inf if there is Inf or NaN
    least,   // |x| that is not 0, or Inf if all are
    measures
};
struct measure_line {
    view<float const> of;

    float operator()(float, index_t i, index_t what) const {
        auto const infinity = infinite<float>();
        float most = 0, fewest = infinity;
        for (index_t j = 0; j < of.cols; ++j) {
            float const x = __builtin_fabsf(of(i, j));
            if (!is_finite(x)) return infinity;
            if (x > most) most = x;
            if (x > 0 && x < fewest) fewest = x;
        }
        return what == largest ? most : fewest;
    }
};

// The least e with |x| < 2^e, for finite x that is not 0.
inline int exponent_of(float x) {
    int e = 0;
    (void)__builtin_frexpf(x, &e);
    return e;
}

// ---- complex ---------------------------------------------------------------------------------------------

// [Re -Im; Im Re], the left matrix of a complex product as a real one.
template <class T>
struct left_as_real {
    view<T const> of;
    float operator()(float, index_t i, index_t j) const {
        bool const low = i >= of.rows, right = j >= of.cols;
        T const z = of(low ? i - of.rows : i, right ? j - of.cols : j);
        float const im = of.conjugate ? -z.imag() : z.imag();
        return low == right ? z.real() : low ? im : -im;
    }
};
// [Re; Im], the right one.
template <class T>
struct right_as_real {
    view<T const> of;
    float operator()(float, index_t i, index_t j) const {
        bool const low = i >= of.rows;
        T const z = of(low ? i - of.rows : i, j);
        return !low ? z.real() : of.conjugate ? -z.imag() : z.imag();
    }
};

// C = epilogue(alpha (X + i Y) + beta E), where X lies above Y. The argument is rounded once.
template <class Problem>
struct finish {
    using S = typename Problem::scalar;

    Problem p;
    view<float const> sums;

    S operator()(S, index_t i, index_t j) const {
        double re = 0, im = 0;
        auto const add = [&](S factor, double x, double y) {
            double const f = factor.real(), g = factor.imag();
            re += f * x - g * y, im += f * y + g * x;
        };
        add(p.alpha, sums(i, j), sums(p.c.rows + i, j));
        if (p.beta != S(0)) {
            S const e = p.e(i, j);
            add(p.beta, e.real(), p.e.conjugate ? -e.imag() : e.imag());
        }
        return apply_epilogue(p.epilogue, S(static_cast<float>(re), static_cast<float>(im)), p.row0 + i,
                              p.col0 + j);
    }
};

} // namespace split_parts

STRATAGEMM_END
