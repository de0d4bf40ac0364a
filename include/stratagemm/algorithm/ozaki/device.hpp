// `ozaki` over a leaf of a device: a kernel for each step of maps.hpp, and tables of the lines on both sides.
//
// The kernels repeat arithmetic.hpp operation by operation, so results have the same bits as on the host.
// This is the plain form: each step is one launch, and one work-item measures a whole line. A call waits for
// the tables of lines, because the host decides with them. A later version should measure by groups and
// decide on the device.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "maps.hpp"

#include <new>
#include <vector>

STRATAGEMM_BEGIN

namespace ozaki_parts {

// All kernels begin with this: powers of two, scaled integers, sums of two doubles.
inline constexpr char device_numbers_text[] = R"(
enum { peak, exponent, sum, squares, lowest_set, ceiling, spread, thinnest, largest, columns };

typedef union { double number; ulong bits; } double_bits;
FUNCTION double from_bits(ulong bits) {
    double_bits x;
    x.bits = bits;
    return x.number;
}
FUNCTION ulong bits_of(double number) {
    double_bits x;
    x.number = number;
    return x.bits;
}
FUNCTION double power(int e) { return from_bits((ulong)(e + 1023) << 52); }
FUNCTION double times_power(double x, int e) {
    for (; e > 1000; e -= 1000) x *= power(1000);
    for (; e < -1000; e += 1000) x *= power(-1000);
    return x * power(e);
}
FUNCTION int exponent_of(double x) {
    int const e = (int)(bits_of(x) >> 52 & 0x7ff);
    return e != 0 ? e - 1022 : (int)(bits_of(x * power(64)) >> 52 & 0x7ff) - 1086;
}

typedef struct { index m; int q; } integer; /* m 2^q */
FUNCTION integer scaled(double x, int shift) {
    ulong const bits = bits_of(x);
    int e = (int)(bits >> 52 & 0x7ff);
    integer v;
    v.m = (index)(bits & 0xfffffffffffffu);
    if (e == 0) e = 1; else v.m |= (index)1 << 52;
    if (bits >> 63) v.m = -v.m;
    v.q = e - 1075 + shift;
    if (v.q >= 0) return v;
    int const down = -v.q;
    v.m = down > 54 ? 0 : (v.m + ((index)1 << (down - 1)) - 1 + (v.m >> down & 1)) >> down;
    v.q = 0;
    return v;
}
FUNCTION int lowest_bit(double x) {
    integer const v = scaled(x, 1074);
    return v.q - 1075 + exponent_of((double)(v.m & -v.m));
}
FUNCTION int signed_byte(int low) { return low > 127 ? low - 256 : low; }
FUNCTION int digit(integer v, int j) {
    int const drop = 8 * j - v.q;
    index high = 0;
    if (drop > 55) return 0;
    if (drop > 0)
        high = (v.m + (index)((ulong)0x8080808080808080u >> (64 - drop))) >> drop;
    else if (drop > -8)
        high = v.m * ((index)1 << -drop);
    return signed_byte((int)(high & 0xff));
}
FUNCTION int residue(integer v, int p) {
    ulong r = (ulong)(v.m < 0 ? -v.m : v.m) % (ulong)p;
    for (int q = v.q; q > 0; q -= 32) r = (r << (q < 32 ? q : 32)) % (ulong)p;
    int centred = (int)r;
    if (v.m < 0 && centred != 0) centred = p - centred;
    return centred > (p - 1) / 2 ? centred - p : centred;
}

typedef struct { double high, low; } twofold;
FUNCTION twofold plus(twofold s, double x) {
    double const high = s.high + x, t = high - s.high;
    s.low += (s.high - (high - t)) + (x - t);
    s.high = high;
    return s;
}
FUNCTION twofold plus_product(twofold s, double x, double y) {
    double const p = x * y;
    s = plus(s, p);
    s.low += fma(x, y, -p);
    return s;
}
FUNCTION twofold plus_product_of_two(twofold s, double x, twofold y) {
    s = plus_product(s, x, y.high);
    s.low = fma(x, y.low, s.low);
    return s;
}
FUNCTION double value_of(twofold s) {
    double const v = s.high + s.low;
    return v == v ? v : s.high;
}
)";

// Kernels that read an operand also have this: its elements by lines, as those of a real matrix.
inline constexpr char device_lines_text[] = R"(
#define LINES(x) MATRIX(IN const, x), int x##_left, int x##_conjugated, index x##_count
#define LINES_OF(x) GLOBAL IN const *x, index x##_row, index x##_col, int x##_left, int x##_conjugated
#define GIVEN(x) x, x##_row, x##_col, x##_left, x##_conjugated
FUNCTION double element(LINES_OF(x), index line, index l) {
#if COMPLEX
    index const i = x_left ? line / 2 : line;
    int const imaginary = (int)((x_left ? line + l : l) % 2);
    int const minus = (x_left && l % 2 != 0) != (x_conjugated != 0);
    double const part = imaginary ? x[i * x_row + l / 2 * x_col].y : x[i * x_row + l / 2 * x_col].x;
    return imaginary && minus ? -part : part;
#else
    return x[line * x_row + l * x_col];
#endif
}
)";

inline constexpr char device_measure_text[] = R"(
KERNEL(ITEMS) measure(LINES(x), index length, BUFFER(double, table)) {
    OPEN(IN const, x);
    OPEN(double, table);
    for (EACH(i, x_count)) {
        GLOBAL double *const of = table + i * columns;
        double most = 0, at = -1;
        int lowest = 2000;
        for (index l = 0; l < length; ++l) {
            double const v = element(GIVEN(x), i, l), size = fabs(v);
            if (!(size <= 0x1.fffffffffffffp1023)) {
                at = -2;
                break;
            }
            if (size > most) most = size, at = (double)l;
            if (v == 0) continue;
            int const bit = lowest_bit(v);
            if (bit < lowest) lowest = bit;
        }
        int const e = at < 0 ? 0 : exponent_of(most);
        double sums[8], others[8]; /* in eight parts, as on the host */
        for (int t = 0; t < 8; ++t) sums[t] = others[t] = 0;
        if (at >= 0)
            for (index l = 0; l < length; ++l) {
                double const v = times_power(fabs(element(GIVEN(x), i, l)), -e);
                sums[l % 8] = sums[l % 8] + v;
                others[l % 8] = fma(v, v, others[l % 8]);
            }
        double const above = 1 + (double)(length + 2) * 0x1p-52;
        of[peak] = at;
        of[exponent] = e;
        of[sum] = (((sums[0] + sums[4]) + (sums[2] + sums[6])) +
                   ((sums[1] + sums[5]) + (sums[3] + sums[7]))) * above;
        of[squares] = (((others[0] + others[4]) + (others[2] + others[6])) +
                       ((others[1] + others[5]) + (others[3] + others[7]))) * above;
        of[lowest_set] = at < 0 ? 0 : lowest;
        of[ceiling] = of[spread] = of[thinnest] = 0;
        of[largest] = at < 0 ? 0 : times_power(most, -e);
    }
}
)";

// Lines against the lines that they cross: all quantities of `cross` at once.
inline constexpr char device_cross_text[] = R"(
FUNCTION double term(LINES_OF(x), double x_power, LINES_OF(y), double y_power, index i, index j, index l) {
    double const f = element(GIVEN(x), i, l), g = element(GIVEN(y), j, l);
    if (f == 0 || g == 0) return 0;
    double const size = times_power(fabs(f), -(int)x_power) * times_power(fabs(g), -(int)y_power);
    return size > 0x1p-1000 ? size : 0x1p-1000;
}
#define TERM(l) term(GIVEN(x), of[exponent], GIVEN(y), other[exponent], i, j, l)
KERNEL(ITEMS) cross_lines(LINES(x), LINES(y), index length, BUFFER(double, table),
                          BUFFER(double const, others), MATRIX(double const, q)) {
    OPEN(IN const, x);
    OPEN(IN const, y);
    OPEN(double, table);
    OPEN(double const, others);
    OPEN(double const, q);
    for (EACH(i, x_count)) {
        GLOBAL double *const of = table + i * columns;
        if (of[peak] < 0) continue;
        double const infinite = from_bits((ulong)0x7ff << 52);
        double most = 0, least_spread = infinite, least = infinite;
        int looked = 0, hopeless = 0;
        for (index j = 0; j < y_count; ++j) {
            GLOBAL double const *const other = others + j * columns;
            if (other[peak] < 0) continue;
            double const bits = q[AT(q, i, j)], here = bits + 128 * other[sum];
            if (here > most) most = here;
            if (hopeless) continue;
            double share = bits * 0x1p-14;
            if (bits < 32) {
                double const mine = TERM((index)of[peak]), crossing = TERM((index)other[peak]);
                if (mine > share) share = mine;
                if (crossing > share) share = crossing;
                if (!(share > 0)) {
                    hopeless = ++looked > MOST_LOOKED;
                    if (hopeless) continue;
                    share = 0;
                    for (index l = 0; l < length; ++l) share += TERM(l);
                    share /= 1 + (double)(length + 2) * 0x1p-52;
                }
            }
            if (share == 0) continue;
            double const part = share * (1 / other[sum]);
            if (part < least_spread) least_spread = part;
            if (share < least) least = share;
        }
        of[ceiling] = most == 0 ? 0 : most + 128 * of[sum] + (double)length;
        of[spread] = hopeless ? infinite : (1 + 0x1p-50) / least_spread;
        of[thinnest] = hopeless ? infinite : (1 + 0x1p-50) / least;
    }
}
)";

// One plane of int8: the leading bits, one digit, or one residue of each scaled element. Row i of `to` is
// line i.
inline constexpr char device_plane_text[] = R"(
KERNEL(ITEMS) plane(LINES(x), index first, index length, BUFFER(double const, table),
                    BUFFER(int const, shift), int position, int p, MATRIX(byte, to)) {
    OPEN(IN const, x);
    OPEN(double const, table);
    OPEN(int const, shift);
    OPEN(byte, to);
    for (EACH(at, x_count * length)) {
        index const i = x_left ? at / length : at % x_count, l = x_left ? at % length : at / x_count;
        double const v = element(GIVEN(x), i, first + l);
        int number;
        if (p > 0)
            number = residue(scaled(v, shift[i]), p);
        else if (position >= 0)
            number = digit(scaled(v, shift[i]), position);
        else
            number = (int)times_power(fabs(v), 7 - (int)table[i * columns + exponent]);
        to[AT(to, i, l)] = (byte)number;
    }
}
)";

inline constexpr char device_sums_text[] = R"(
KERNEL(ITEMS) add_up(BUFFER(int const, x), BUFFER(double, high), BUFFER(double, low), index count,
                     double factor, int lost) {
    OPEN(int const, x);
    OPEN(double, high);
    OPEN(double, low);
    for (EACH(at, count)) {
        twofold total;
        total.high = high[at];
        if (lost) {
            total.low = low[at];
            low[at] = plus(total, x[at] * factor).low;
        } else {
            high[at] = total.high + x[at] * factor;
        }
    }
}
)";
inline constexpr char device_residues_text[] = R"(
KERNEL(ITEMS) add_residues(BUFFER(int const, x), BUFFER(byte, total), index count, int p, int weight) {
    OPEN(int const, x);
    OPEN(byte, total);
    for (EACH(at, count)) {
        integer v;
        v.m = (index)weight * x[at] + total[at];
        v.q = 0;
        total[at] = (byte)residue(v, p);
    }
}
)";

// C before its epilogue. If there are moduli, the sums are residues, and `constants` is the residue system
// (device_system below). Otherwise each sum is two doubles.
inline constexpr char device_finish_text[] = R"(
FUNCTION twofold integer_of(GLOBAL byte const *weighted, index step, GLOBAL double const *system, int count,
                            int pieces) {
    GLOBAL double const *const whole = system + 1, *const rounding = system + 6;
    double sums[5];
    for (int t = 0; t < 5; ++t) sums[t] = 0;
    for (int x = 0; x < (count + 1) / 2; ++x) {
        GLOBAL double const *const of = system + 11 + 7 * x;
        double pair = of[0] * weighted[2 * x * step];
        if (2 * x + 1 < count) pair += of[1] * weighted[(2 * x + 1) * step];
        for (int t = 0; t < pieces; ++t) sums[t] += pair * of[2 + t];
    }
    double const multiple = (sums[0] + sums[1]) * system[0] + rounding[0] - rounding[0];
    for (int t = 0; t < pieces; ++t) sums[t] -= multiple * whole[t];
    for (int t = pieces - 1; t > 0; --t) {
        double const carry = sums[t] + rounding[t] - rounding[t];
        sums[t] -= carry;
        sums[t - 1] += carry;
    }
    twofold x;
    x.high = x.low = 0;
    for (int t = 0; t < pieces; ++t) x = plus(x, sums[t]);
    return x;
}
FUNCTION twofold unscaled(twofold x, int e) {
    x.high = times_power(x.high, e);
    x.low = times_power(x.low, e);
    return x;
}

#define INTEGER_AT(i, j)                                                                   \
    (moduli > 0 ? integer_of(weighted + (i) * cols + (j), step, constants, moduli, pieces) \
                : digits(high, low, (i) * cols + (j)))
#define SUM_AT(i, j) unscaled(INTEGER_AT(i, j), shift - left[i] - right[j])
FUNCTION twofold digits(GLOBAL double const *high, GLOBAL double const *low, index at) {
    twofold x;
    x.high = high[at];
    x.low = low[at];
    return x;
}
KERNEL(ITEMS) finish(int moduli, int pieces, BUFFER(double const, constants), BUFFER(byte const, weighted),
                     index step, BUFFER(double const, high), BUFFER(double const, low),
                     BUFFER(int const, left), BUFFER(int const, right), int shift, IN alpha, IN beta,
                     int adds, MATRIX(IN const, e), int e_conjugated, MATRIX(IN, c), index rows, index cols) {
    OPEN(double const, constants);
    OPEN(byte const, weighted);
    OPEN(double const, high);
    OPEN(double const, low);
    OPEN(int const, left);
    OPEN(int const, right);
    OPEN(IN const, e);
    OPEN(IN, c);
    for (EACH(at, rows * cols)) {
        index const i = at / cols, j = at % cols;
        twofold zero;
        zero.high = zero.low = 0;
#if COMPLEX
        twofold const re = SUM_AT(2 * i, j), im = SUM_AT(2 * i + 1, j);
        twofold x = plus_product_of_two(plus_product_of_two(zero, alpha.x, re), -alpha.y, im);
        twofold y = plus_product_of_two(plus_product_of_two(zero, alpha.y, re), alpha.x, im);
        if (adds) {
            double const added = e[AT(e, i, j)].x, turn = e_conjugated ? -1 : 1,
                         imaginary = turn * e[AT(e, i, j)].y;
            x = plus_product(plus_product(x, beta.x, added), -beta.y, imaginary);
            y = plus_product(plus_product(y, beta.y, added), beta.x, imaginary);
        }
        IN z;
        z.x = (REAL)value_of(x);
        z.y = (REAL)value_of(y);
        c[AT(c, i, j)] = z;
#else
        twofold x = plus_product_of_two(zero, alpha, SUM_AT(i, j));
        if (adds) x = plus_product(x, beta, e[AT(e, i, j)]);
        c[AT(c, i, j)] = (REAL)value_of(x);
#endif
    }
}
)";

// The numbers of a residue system as the kernels above take them.
class device_system {
public:
    static constexpr int pieces = residue_system::most_pieces,
                         size = 1 + 2 * pieces + residue_system::most_pairs * (2 + pieces);

    explicit device_system(residue_system const& s) {
        double* to = numbers_;
        *to++ = s.reciprocal();
        for (int t = 0; t < pieces; ++t) *to++ = s.whole(t);
        for (int t = 0; t < pieces; ++t) *to++ = s.rounding(t);
        for (int x = 0; x < s.pairs(); ++x) {
            *to++ = s.factor(x, 0), *to++ = s.factor(x, 1);
            for (int t = 0; t < pieces; ++t) *to++ = s.cofactors(x)[t];
        }
    }
    double const* numbers() const { return numbers_; }

private:
    double numbers_[size] = {};
};

// The steps of products of T on a device. After the first failure nothing more is queued, as in product.hpp.
template <class Leaf, class Space, class T>
class on_device {
    template <class Element>
    using handle = typename Space::template handle<Element>;

public:
    on_device(Leaf leaf, handle<std::byte> constants) : leaf_(std::move(leaf)), constants_(constants) {}

    static constexpr index_t constant_bytes = device_system::size * index_t{sizeof(double)};

    // Allocates host memory for the tables of lines.
    template <class Lines>
    status prepare(measured<Lines>& x) {
        auto const count = static_cast<std::size_t>(x.line.count());
        auto& copy = Lines::is_left ? left_ : right_;
        try {
            copy.table.resize(count * static_cast<std::size_t>(measured<Lines>::columns));
            copy.shift.resize(count);
        } catch (std::bad_alloc const&) {
            return error(errc::memory, "ozaki: cannot allocate host memory for what is measured of A and B");
        }
        x.table = {copy.table.data(), x.line.count(), measured<Lines>::columns, measured<Lines>::columns, 1};
        x.shift = {copy.shift.data(), x.line.count(), 1, 1, 1};
        return {};
    }

    template <class Lines>
    status measure(measured<Lines> const& x) const {
        if (status s = with_lines("measure", device_measure_text, x.line.count(), x.line, x.line.length(),
                                  x.there.table);
            !s)
            return s;
        return fetch(x);
    }
    template <class Mine, class Other>
    status cross(measured<Mine> const& x, measured<Other> const& y, view<double, Space> const& q) const {
        auto const with = strides(y.line);
        if (status s = with_lines("cross_lines", device_cross_text, x.line.count(), x.line, y.line.of.data,
                                  with.line, with.element, int{Other::is_left}, int{y.line.of.conjugate},
                                  y.line.count(), x.line.length(), x.there.table,
                                  handle<double const>(y.there.table), view<double const, Space>(q));
            !s)
            return s;
        return fetch(x);
    }
    // The host finds the shifts.
    template <class Scale, class Lines>
    status scale(Scale const& by, measured<Lines> const& x) const {
        for (index_t i = 0; i < x.shift.rows; ++i) x.shift(i, 0) = by(0, i, 0);
        return leaf_.upload(static_cast<std::int32_t const*>(x.shift.data), x.there.shift, x.shift.rows);
    }

    // The steps of maps.hpp.
    template <class Lines, side Side>
    status run(plane<leading_bits<Lines>, Side> const& x, view<std::int8_t, Space> const& to) const {
        return form(x.of.of, x.of.first, -1, 0, Side == side::left ? to : transposed(to));
    }
    template <class Lines, side Side>
    status run(plane<digits<Lines>, Side> const& x, view<std::int8_t, Space> const& to) const {
        return form(x.of.of, x.of.first, x.of.position, 0, Side == side::left ? to : transposed(to));
    }
    template <class Lines, side Side>
    status run(plane<residues<Lines>, Side> const& x, view<std::int8_t, Space> const& to) const {
        return form(x.of.of, x.of.first, -1, x.of.mod.number(), Side == side::left ? to : transposed(to));
    }
    status run(add_integers<Space> const& f, view<double, Space> const& to) const {
        return add_up(f.x, to.data, to.data, 1, 0);
    }
    status run(add_high<Space> const& f, view<double, Space> const& to) const {
        return add_up(f.x, to.data, to.data, f.factor, 0);
    }
    status run(add_lost<Space> const& f, view<double, Space> const& low) const {
        return add_up(f.x, f.high.data, low.data, f.factor, 1);
    }
    status run(add_residues<Space> const& f, view<std::int8_t, Space> const& to) const {
        return launch("add_residues", device_residues_text, plain, to.rows * to.cols, f.x.data, to.data,
                      to.rows * to.cols, f.mod.number(), f.weight);
    }

    // C, from its integers.
    template <class P, class Lefts, class Rights>
    status finish(P const& p, from_digits<Space> const& sums, measured<Lefts> const& a,
                  measured<Rights> const& b, int shift) const {
        auto const none = Space::template cast<std::int8_t>(constants_);
        return finish(p, 0, 0, none, 0, sums.high.data, sums.low.data, a, b, shift);
    }
    template <class P, class Lefts, class Rights>
    status finish(P const& p, from_residues<Space> const& sums, measured<Lefts> const& a,
                  measured<Rights> const& b, int shift) const {
        handle<double> const constants = Space::template cast<double>(constants_);
        device_system const system(sums.system);
        if (status s = leaf_.upload(system.numbers(), constants, index_t{device_system::size}); !s) return s;
        return finish(p, sums.system.count(), sums.system.pieces(), sums.weighted.data, sums.step, constants,
                      constants, a, b, shift);
    }

private:
    using definitions = std::string();

    template <class... Arguments>
    status launch(char const* name, static_text text, definitions& all, index_t elements,
                  Arguments const&... arguments) const {
        constexpr int items = 64;
        return leaf_.launch({name, text, {}, items, true, true, all}, groups_for_each(elements, items),
                            arguments...);
    }
    template <class Lines, class... Arguments>
    status with_lines(char const* name, static_text text, index_t elements, Lines const& x,
                      Arguments const&... arguments) const {
        auto const with = strides(x);
        return launch(name, text, typed, elements, x.of.data, with.line, with.element, int{Lines::is_left},
                      int{x.of.conjugate}, x.count(), arguments...);
    }
    struct line_strides {
        index_t line, element;
    };
    template <class Lines>
    static line_strides strides(Lines const& x) {
        if (Lines::is_left) return {x.of.row_stride, x.of.col_stride};
        return {x.of.col_stride, x.of.row_stride};
    }
    // Definitions of kernels that read no operand, and of those that read one of elements T.
    static std::string plain() { return device_numbers_text; }
    static std::string typed() {
        return kernel_types<T, T>() + "#define MOST_LOOKED " + std::to_string(most_looked) + '\n' +
               device_numbers_text + device_lines_text;
    }

    template <class Lines>
    status fetch(measured<Lines> const& x) const {
        return leaf_.download(x.there.table, x.table.data, x.table.rows * x.table.cols);
    }
    // Row i of `to` is line i.
    template <class Lines>
    status form(measured<Lines> const& x, index_t first, int position, int p,
                view<std::int8_t, Space> const& to) const {
        return with_lines("plane", device_plane_text, to.rows * to.cols, x.line, first, to.cols,
                          x.there.table, x.there.shift, position, p, to);
    }
    status add_up(view<std::int32_t const, Space> const& x, handle<double const> high, handle<double> low,
                  double factor, int lost) const {
        index_t const count = x.rows * x.cols;
        return launch("add_up", device_sums_text, plain, count, x.data, high, low, count, factor, lost);
    }
    template <class P, class Lefts, class Rights>
    status finish(P const& p, int count, int pieces, handle<std::int8_t const> weighted, index_t step,
                  handle<double const> high, handle<double const> low, measured<Lefts> const& a,
                  measured<Rights> const& b, int shift) const {
        bool const adds = p.beta != typename P::scalar(0);
        auto const e = added_or_c(p);
        status s = launch("finish", device_finish_text, typed, p.c.rows * p.c.cols, count, pieces,
                          Space::template cast<double>(constants_), weighted, step, high, low, a.there.shift,
                          b.there.shift, shift, p.alpha, p.beta, int{adds}, e, int{e.conjugate}, p.c,
                          p.c.rows, p.c.cols);
        return s ? apply_to_c(leaf_, p) : std::move(s); // the epilogue's argument has been rounded already
    }

    Leaf leaf_;
    handle<std::byte> constants_;
    struct {
        std::vector<double> table;
        std::vector<std::int32_t> shift;
    } left_, right_;
};

} // namespace ozaki_parts

STRATAGEMM_END
