// Products by residues on a device: each operand is read once, into all its residues; each product of residues ends
// with a reduction modulo its number, in int8; and one kernel puts C together.
//
// Kernels are compiled for a number of moduli, which makes the constants of the residue system immediate. Residues of
// a line lie one after another, as the kernels of integer products fetch them. Those of A are multiplied by the
// weights of the system beforehand, so that sums of products are the weighted residues of C.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "maps.hpp"

STRATAGEMM_BEGIN

namespace ozaki_parts {

// x less the multiple of p nearest to x, or next to that: a byte for all |x| <= 2^31.
struct nearest_residue {
    std::int32_t p, inverse;

    constexpr explicit nearest_residue(int number)
        : p(number), inverse(static_cast<std::int32_t>(((std::int64_t{1} << 39) / number + 1) / 2)) {}

    std::int32_t operator()(std::int32_t x) const {
        std::int64_t const quotient = (std::int64_t{x} * inverse + (std::int64_t{1} << 37)) >> 38;
        return static_cast<std::int32_t>(x - quotient * p);
    }
    template <class To>
    auto device(To& to) const -> decltype(to("", p, inverse)) {
        to("x - (int)(((index)x * $1 + ((index)1 << 37)) >> 38) * $0", p, inverse);
    }
};

// All residues of an operand, or (LEADING) the seven leading bits of its magnitudes, counted from the largest of a
// line: ROWS lines by 128 elements for a group. ACROSS: elements of neighbouring lines are closer than those of one
// line, so that they pass through shared memory.
inline constexpr char split_text[] = R"(
#define ROWS 16
KERNEL(ITEMS) split(LINES(x), index first, index length, index pitch, BUFFER(double const, table),
                    BUFFER(int const, shift), BUFFER(int, to)) {
#if ACROSS
    SHARED double tile[ROWS * 133]; /* strides such that a warp reads and writes different banks */
#endif
    OPEN(IN const, x);
    OPEN(double const, table);
    OPEN(int const, shift);
    OPEN(int, to);
#if !LEADING
    int const modulus[MODULI] = MODULUS, inverse[MODULI] = INVERSE, factor[MODULI][PIECES] = FACTOR;
#endif
    index const across = (length + 127) / 128, line0 = GROUP / across * ROWS, l0 = GROUP % across * 128;
#if ACROSS
    for (int u = ITEM / ROWS; u < 128; u += ITEMS / ROWS) {
        int const line = ITEM % ROWS;
        if (line0 + line < x_count && l0 + u < length)
            tile[line * 133 + u % 4 * 33 + u / 4] = element(GIVEN(x), line0 + line, first + l0 + u);
    }
    BARRIER();
#endif
    for (int row = WARP; row < ROWS; row += ITEMS / 32) {
        index const line = line0 + row, l = l0 + 4 * LANE;
        if (line >= x_count || l >= length) continue;
        double some[4];
#pragma unroll
        for (int e = 0; e < 4; ++e)
#if ACROSS
            some[e] = l + e < length ? tile[row * 133 + e * 33 + LANE] : 0;
#else
            some[e] = l + e < length ? element(GIVEN(x), line, first + l + e) : 0;
#endif
        GLOBAL int *at = to + (line * pitch + l) / 4;
#if LEADING
        int const above = 7 - (int)OF(table, x_count, exponent, line);
        int word = 0;
#pragma unroll
        for (int e = 0; e < 4; ++e) word |= ((int)times_power(fabs(some[e]), above) & 255) << 8 * e;
        *at = word;
#else
        double const scale = power(shift[line]);
        int piece[4][PIECES];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            double y = rint(some[e] * scale);
#pragma unroll
            for (int t = PIECES - 1; t > 0; --t) {
                double const high = rint(y * power(-20 * t));
                piece[e][t] = (int)high;
                y = fma(-high, power(20 * t), y);
            }
            piece[e][0] = (int)y;
        }
#pragma unroll
        for (int r = 0; r < MODULI; ++r) {
            int word = 0;
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                int sum = 0;
#pragma unroll
                for (int t = 0; t < PIECES; ++t) sum += piece[e][t] * factor[r][t];
                sum -= (int)(((index)sum * inverse[r] + ((index)1 << 37)) >> 38) * modulus[r];
                word |= (sum & 255) << 8 * e;
            }
            *at = word;
            at += x_count * pitch / 4;
        }
#endif
    }
}
)";

// The residues of sums that a base has in int32, for bases that do not end a product so.
inline constexpr char reduce_text[] = R"(
KERNEL(ITEMS) reduce(MATRIX(int const, x), MATRIX(byte, to), index rows, index cols, int adds, int modulus,
                     int inverse) {
    OPEN(int const, x);
    OPEN(byte, to);
    ELEMENT(i, j, rows, cols);
    index sum = x[AT(x, i, j)];
    if (adds) sum += to[AT(to, i, j)];
    to[AT(to, i, j)] = (byte)(sum - ((sum * inverse + ((index)1 << 37)) >> 38) * modulus);
}
)";

// An element of C from its integers: alpha times these, beta times what is added, rounded once.
inline constexpr char finished_text[] = R"(
FUNCTION twofold unscaled(twofold x, int e) {
    x.high = times_power(x.high, e);
    x.low = times_power(x.low, e);
    return x;
}
#if COMPLEX
FUNCTION IN finished(twofold re, twofold im, IN alpha, IN beta, int adds, GLOBAL IN const *e, int e_conjugated) {
    twofold zero;
    zero.high = zero.low = 0;
    twofold x = plus_product_of_two(plus_product_of_two(zero, alpha.x, re), -alpha.y, im);
    twofold y = plus_product_of_two(plus_product_of_two(zero, alpha.y, re), alpha.x, im);
    if (adds) {
        double const added = e->x, imaginary = e_conjugated ? -e->y : e->y;
        x = plus_product(plus_product(x, beta.x, added), -beta.y, imaginary);
        y = plus_product(plus_product(y, beta.y, added), beta.x, imaginary);
    }
    IN z;
    z.x = (REAL)value_of(x);
    z.y = (REAL)value_of(y);
    return z;
}
#else
FUNCTION IN finished(twofold sum, IN alpha, IN beta, int adds, GLOBAL IN const *e) {
    twofold zero;
    zero.high = zero.low = 0;
    twofold x = plus_product_of_two(zero, alpha, sum);
    if (adds) x = plus_product(x, beta, *e);
    return (REAL)value_of(x);
}
#endif
)";

// C before its epilogue, from the weighted residues of its integers: four elements of a row at a time. The arithmetic
// is that of residue_system, to the bit.
inline constexpr char combine_text[] = R"(
FUNCTION int byte_of(int word, int e) { return (int)((uint)word << (24 - 8 * e)) >> 24; }
FUNCTION twofold integer_of(int const *word, int e) {
    double const cofactor[PAIRS][PIECES] = COFACTOR, whole[PIECES] = WHOLE, rounding[PIECES] = ROUNDING;
    int const factor[2 * PAIRS] = FACTOR;
    double sums[PIECES];
#pragma unroll
    for (int t = 0; t < PIECES; ++t) sums[t] = 0;
#pragma unroll
    for (int x = 0; x < PAIRS; ++x) {
        int pair = factor[2 * x] * byte_of(word[2 * x], e);
        if (2 * x + 1 < MODULI) pair += factor[2 * x + 1] * byte_of(word[2 * x + 1], e);
#pragma unroll
        for (int t = 0; t < PIECES; ++t) sums[t] = fma((double)pair, cofactor[x][t], sums[t]);
    }
    double const leading = PIECES > 1 ? sums[0] + sums[PIECES > 1] : sums[0],
                 multiple = leading * RECIPROCAL + rounding[0] - rounding[0];
#pragma unroll
    for (int t = 0; t < PIECES; ++t) sums[t] = fma(-multiple, whole[t], sums[t]);
#pragma unroll
    for (int t = PIECES - 1; t > 0; --t) {
        double const carry = sums[t] + rounding[t] - rounding[t];
        sums[t] -= carry;
        sums[t - 1] += carry;
    }
    twofold x;
    x.high = x.low = 0;
#pragma unroll
    for (int t = 0; t < PIECES; ++t) x = plus(x, sums[t]);
    return x;
}
KERNEL(ITEMS) combine(BUFFER(int const, sums), index step, index pitch, BUFFER(int const, left),
                      BUFFER(int const, right), IN alpha, IN beta, int adds, MATRIX(IN const, e), int e_conjugated,
                      MATRIX(IN, c), index rows, index cols) {
    OPEN(int const, sums);
    OPEN(int const, left);
    OPEN(int const, right);
    OPEN(IN const, e);
    OPEN(IN, c);
    index const quads = (cols + 3) / 4;
    for (EACH(at, rows * quads)) {
        index const i = at / quads, j0 = at % quads * 4;
        int word[(1 + COMPLEX) * MODULI];
#pragma unroll
        for (int r = 0; r < MODULI; ++r) {
#if COMPLEX
            word[r] = sums[(r * step + 2 * i * pitch + j0) / 4];
            word[MODULI + r] = sums[(r * step + (2 * i + 1) * pitch + j0) / 4];
#else
            word[r] = sums[(r * step + i * pitch + j0) / 4];
#endif
        }
#if VECTORS
        REAL four[4];
#endif
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            index const j = j0 + u;
            if (j >= cols) continue;
            GLOBAL IN const *const added = e + AT(e, i, j);
#if COMPLEX
            c[AT(c, i, j)] = finished(unscaled(integer_of(word, u), -left[2 * i] - right[j]),
                                      unscaled(integer_of(word + MODULI, u), -left[2 * i + 1] - right[j]), alpha,
                                      beta, adds, added, e_conjugated);
#else
            IN const x = finished(unscaled(integer_of(word, u), -left[i] - right[j]), alpha, beta, adds, added);
#if VECTORS
            four[u] = x;
#else
            c[AT(c, i, j)] = x;
#endif
#endif
        }
#if VECTORS
        VECTOR(IN, 2) pair;
        pair.x = four[0], pair.y = four[1];
        STORE_VECTOR(IN, 2, c, i * c_row + j0, pair);
        pair.x = four[2], pair.y = four[3];
        STORE_VECTOR(IN, 2, c, i * c_row + j0 + 2, pair);
#endif
    }
}
)";

// A residue system as the initialisers of the kernels' tables. A template, so that a program without a device does not
// pay for compiling it.
template <class Text = std::string>
class system_text {
public:
    explicit system_text(residue_system const& s) : system_(s) {}

    static Text number(double x) {
        char text[40];
        __builtin_snprintf(text, sizeof(text), "%a", x);
        return text;
    }
    // `weighted`: times the weights of the system.
    Text for_split(bool weighted) const {
        int const count = system_.count(), pieces = split_pieces(count);
        Text modulus, inverse, factor;
        for (int r = 0; r < count; ++r) {
            int const p = system_.modulus_of(r);
            ozaki_parts::modulus const mod(p);
            Text of;
            std::int64_t power = weighted ? system_.weight(r) : 1;
            for (int t = 0; t < pieces; ++t, power <<= 20) {
                power = mod.centred(power);
                add(of, std::to_string(power));
            }
            add(modulus, std::to_string(p));
            add(inverse, std::to_string(nearest_residue(p).inverse));
            add(factor, '{' + of + '}');
        }
        return define("MODULI", std::to_string(count)) + define("PIECES", std::to_string(pieces)) +
               define("LEADING", "0") + define("MODULUS", '{' + modulus + '}') +
               define("INVERSE", '{' + inverse + '}') + define("FACTOR", '{' + factor + '}');
    }
    Text for_combine(bool vectors) const {
        int const count = system_.count(), pieces = system_.pieces();
        Text cofactor, whole, rounding, factor;
        for (int x = 0; x < system_.pairs(); ++x) {
            Text of;
            for (int t = 0; t < pieces; ++t) add(of, number(system_.cofactors(x)[t]));
            add(cofactor, '{' + of + '}');
            add(factor, std::to_string(system_.factor(x, 0)) + ", " + std::to_string(system_.factor(x, 1)));
        }
        for (int t = 0; t < pieces; ++t)
            add(whole, number(system_.whole(t))), add(rounding, number(system_.rounding(t)));
        return define("MODULI", std::to_string(count)) + define("PAIRS", std::to_string(system_.pairs())) +
               define("PIECES", std::to_string(pieces)) + define("VECTORS", vectors ? "1" : "0") +
               define("COFACTOR", '{' + cofactor + '}') + define("WHOLE", '{' + whole + '}') +
               define("ROUNDING", '{' + rounding + '}') + define("FACTOR", '{' + factor + '}') +
               define("RECIPROCAL", number(system_.reciprocal()));
    }

private:
    // How many pieces of 20 bits hold integers below room(count).
    static int split_pieces(int count) { return (exponent_of(room(count)) - 1) / 20 + 1; }
    static void add(Text& list, Text const& x) { list += (list.empty() ? "" : ", ") + x; }
    static Text define(char const* name, Text const& value) {
        return Text("#define ") + name + ' ' + value + '\n';
    }
    residue_system const& system_;
};

} // namespace ozaki_parts

STRATAGEMM_END
