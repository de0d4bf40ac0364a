// `ozaki` over a leaf of a device: a kernel for each step of maps.hpp, and tables of the lines on both sides.
//
// The kernels repeat arithmetic.hpp operation by operation, so results have the same bits as on the host. With explicit
// moduli scaled by norms, the host waits once, for the word that there are no Inf, NaN or overflows. Anything else is a
// plain form: the host decides with the tables of lines, and planes and crossing lines have a kernel for each step.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "device_residues.hpp"
#include "maps.hpp"

#include "../../core/list.hpp"

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

// What a line has by itself, in one read: 32 lines for a group, eight work-items for each, which add up every eighth
// element, as on the host. ACROSS: elements of neighbouring lines are closer than those of one line. `room` is not 0 if
// lines are to be scaled by norms.
//
// Sums are of elements times a power of two that each work-item has from its first one, since the largest is not known
// yet. Where that turns out to be too far from the line's own power, these are added up once more.
inline constexpr char device_measure_text[] = R"(
FUNCTION int lowest_of(double x) { /* of x not 0, as lowest_bit() has it */
    ulong const bits = bits_of(x);
    int const e = (int)(bits >> 52 & 0x7ff);
    index const m = (index)(bits & 0xfffffffffffffu) | (e ? (index)1 << 52 : 0);
    return (e ? e : 1) - 1076 + exponent_of((double)(m & -m));
}
KERNEL(ITEMS) measure(LINES(x), index length, double room, BUFFER(double, table), BUFFER(int, shift)) {
    SHARED double peaks[ITEMS];
    SHARED double sums[ITEMS];
    SHARED double others[ITEMS];
    SHARED int places[ITEMS];
    SHARED int lowests[ITEMS];
    SHARED int powers[ITEMS];
    OPEN(IN const, x);
    OPEN(double, table);
    OPEN(int, shift);
    int const own = ACROSS ? LANE : ITEM / 8, part = ACROSS ? WARP : ITEM % 8;
#define AT_PART(t) (ACROSS ? (t) * 32 + LANE : ITEM / 8 * 8 + (t))
    index const i = (index)GROUP * 32 + own;
    double most = 0, total = 0, other = 0, scale = 1;
    int at = -1, lowest = 2000, first = 0, begun = 0;
    for (index l0 = part; i < x_count && l0 < length; l0 += 8 * AT_ONCE) {
        double some[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            index const l = l0 + 8 * u;
            some[u] = l < length ? element(GIVEN(x), i, l) : 0;
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            double const v = some[u], size = fabs(v);
            if (v == 0) continue;
            if (!(size <= 0x1.fffffffffffffp1023)) at = -2;
            if (at != -2 && size > most) most = size, at = (int)(l0 + 8 * u);
            if (!begun) {
                begun = 1;
                first = exponent_of(size);
                first = first > 1000 ? 1000 : first < -1000 ? -1000 : first;
                scale = power(-first);
            }
            double const scaled_size = size * scale;
            total = total + scaled_size;
            other = fma(scaled_size, scaled_size, other);
            if (LOWEST && at != -2) {
                int const bit = lowest_of(v);
                if (bit < lowest) lowest = bit;
            }
        }
    }
    peaks[ITEM] = most;
    places[ITEM] = at;
    lowests[ITEM] = lowest;
    powers[ITEM] = begun ? first : 5000;
    BARRIER();
    int not_finite = 0, far = 0;
    most = 0, at = -1;
    for (int t = 0; t < 8; ++t) {
        int const p = AT_PART(t);
        if (places[p] == -2) not_finite = 1;
        if (peaks[p] > most || (peaks[p] == most && most > 0 && places[p] < at)) most = peaks[p], at = places[p];
        if (lowests[p] < lowest) lowest = lowests[p];
    }
    int const e = most > 0 && !not_finite ? exponent_of(most) : 0;
    if (begun && (e - first > 400 || first - e > 400)) {
        total = other = 0;
        for (index l = part; l < length; l += 8) {
            double const v = times_power(fabs(element(GIVEN(x), i, l)), -e);
            total = total + v;
            other = fma(v, v, other);
        }
    } else if (begun) {
        total *= power(first - e);
        other *= power(2 * (first - e));
    }
    sums[ITEM] = total;
    others[ITEM] = other;
    BARRIER();
    if (part > 0 || i >= x_count) return;
#define PARTS(s)                                                                         \
    (((s[AT_PART(0)] + s[AT_PART(4)]) + (s[AT_PART(2)] + s[AT_PART(6)])) +                \
     ((s[AT_PART(1)] + s[AT_PART(5)]) + (s[AT_PART(3)] + s[AT_PART(7)])))
    int const counts = most > 0 && !not_finite;
    double const above = 1 + (double)(length + 2) * 0x1p-52, of_squares = counts ? PARTS(others) * above : 0;
    GLOBAL double *const of = table + i * columns;
    of[peak] = not_finite ? -2 : counts ? (double)at : -1;
    of[exponent] = e;
    of[sum] = counts ? PARTS(sums) * above : 0;
    of[squares] = of_squares;
    of[lowest_set] = counts ? lowest : 0;
    of[ceiling] = of[spread] = of[thinnest] = 0;
    of[largest] = counts ? times_power(most, -e) : 0;
    if (room > 0)
        shift[i] = counts ? exponent_of((room - 0.5 * sqrt((double)length)) / sqrt(of_squares)) - 1 - e : 0;
}
)";

// Of all lines of a side: whether any is not finite, the largest exponent, the least and the largest shift.
inline constexpr char device_look_text[] = R"(
KERNEL(ITEMS) look(BUFFER(double const, table), BUFFER(int const, shift), index count, BUFFER(double, facts)) {
    SHARED double all[4 * ITEMS];
    OPEN(double const, table);
    OPEN(int const, shift);
    OPEN(double, facts);
    double own[4] = {0, -5000, 5000, -5000};
    for (index i = ITEM; i < count; i += ITEMS) {
        double const at = table[i * columns + peak], e = table[i * columns + exponent], s = shift[i];
        if (at == -2) own[0] = 1;
        if (at < 0) continue;
        own[1] = max(own[1], e);
        own[2] = min(own[2], s);
        own[3] = max(own[3], s);
    }
    for (int f = 0; f < 4; ++f) all[f * ITEMS + ITEM] = own[f];
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other)
            for (int f = 0; f < 4; ++f) {
                double const x = all[f * ITEMS + ITEM], y = all[f * ITEMS + ITEM + other];
                all[f * ITEMS + ITEM] = f == 2 ? min(x, y) : max(x, y);
            }
    }
    BARRIER();
    if (ITEM < 4) facts[ITEM] = all[ITEM * ITEMS];
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

// One plane of int8: the leading bits or one digit of each scaled element. Row i of `to` is line i.
inline constexpr char device_plane_text[] = R"(
KERNEL(ITEMS) plane(LINES(x), index first, index length, BUFFER(double const, table),
                    BUFFER(int const, shift), int position, MATRIX(byte, to)) {
    OPEN(IN const, x);
    OPEN(double const, table);
    OPEN(int const, shift);
    OPEN(byte, to);
    for (EACH(at, x_count * length)) {
        index const i = x_left ? at / length : at % x_count, l = x_left ? at % length : at / x_count;
        double const v = element(GIVEN(x), i, first + l);
        int number;
        if (position >= 0)
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
// C before its epilogue, from sums of digits, each of which is two doubles.
inline constexpr char device_finish_text[] = R"(
FUNCTION twofold unscaled(twofold x, int e) {
    x.high = times_power(x.high, e);
    x.low = times_power(x.low, e);
    return x;
}
#define INTEGER_AT(i, j) digits(high, low, (i) * cols + (j))
#define SUM_AT(i, j) unscaled(INTEGER_AT(i, j), shift - left[i] - right[j])
FUNCTION twofold digits(GLOBAL double const *high, GLOBAL double const *low, index at) {
    twofold x;
    x.high = high[at];
    x.low = low[at];
    return x;
}
KERNEL(ITEMS) finish(BUFFER(double const, high), BUFFER(double const, low), BUFFER(int const, left), BUFFER(int const, right), int shift, IN alpha, IN beta,
                     int adds, MATRIX(IN const, e), int e_conjugated, MATRIX(IN, c), index rows, index cols) {
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

// The steps of products of T on a device. After the first failure nothing more is queued, as in product.hpp.
template <class Leaf, class Space, class T>
class on_device {
    template <class Element>
    using handle = typename Space::template handle<Element>;

public:
    on_device(Leaf leaf, handle<double> to) : leaf_(std::move(leaf)), facts_(to) {}

    static constexpr index_t facts = 8; // four of each side

    // Allocates host memory for the tables of lines.
    template <class Lines>
    status prepare(measured<Lines>& x) {
        auto const count = static_cast<std::size_t>(x.line.count());
        auto& copy = Lines::is_left ? left_ : right_;
        if (!copy.table.resize(count * static_cast<std::size_t>(measured<Lines>::columns)) ||
            !copy.shift.resize(count))
            return error(errc::memory, "ozaki: cannot allocate host memory for what is measured of A and B");
        x.table = {copy.table.data(), x.line.count(), measured<Lines>::columns, measured<Lines>::columns, 1};
        x.shift = {copy.shift.data(), x.line.count(), 1, 1, 1};
        return {};
    }

    // Fills the table on the device, and, if `room` is not 0, finds the shifts for lines that are scaled by norms.
    template <class Lines>
    status measure(measured<Lines> const& x, double room) const {
        std::string const text =
            "#define AT_ONCE 8\n" + across(x) + "#define LOWEST " + (room > 0 ? "0\n" : "1\n");
        auto const with = strides(x.line);
        return leaf_.launch({"measure", device_measure_text, text, 256, true, true, typed},
                            (x.line.count() + 31) / 32, x.line.of.data, with.line, with.element,
                            int{Lines::is_left}, int{x.line.of.conjugate}, x.line.count(), x.line.length(),
                            room, x.there.table, x.there.shift);
    }
    template <class Lines>
    status fetch(measured<Lines> const& x) const {
        return leaf_.download(x.there.table, x.table.data, x.table.rows * x.table.cols);
    }
    // What `look` finds, for both sides.
    template <class Lefts, class Rights>
    status look(measured<Lefts> const& a, measured<Rights> const& b, double (&found)[facts]) const {
        auto const one = [&](auto const& x, handle<double> const& to) {
            return leaf_.launch({"look", device_look_text, {}, 256, true, true, plain}, 1,
                                handle<double const>(x.there.table),
                                handle<std::int32_t const>(x.there.shift), x.line.count(), to);
        };
        if (status s = one(a, facts_); !s) return s;
        if (status s = one(b, facts_ + 4); !s) return s;
        return leaf_.download(facts_, found, facts);
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
        return form(x.of.of, x.of.first, -1, Side == side::left ? to : transposed(to));
    }
    template <class Lines, side Side>
    status run(plane<digits<Lines>, Side> const& x, view<std::int8_t, Space> const& to) const {
        return form(x.of.of, x.of.first, x.of.position, Side == side::left ? to : transposed(to));
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
    // All residues of elements [first, first + length) of each line, whose bytes are `pitch` apart.
    template <class Lines>
    status split(measured<Lines> const& x, residue_system const& system, index_t first, index_t length,
                 index_t pitch, handle<std::byte> const& to) const {
        auto const with = strides(x.line);
        return or_no_memory([&] {
            return leaf_.launch(
                {"split", split_text, system_text(system).for_split(Lines::is_left, is_across(x)), 256, true,
                 true, typed},
                (x.line.count() + 15) / 16 * ((length + 127) / 128), x.line.of.data, with.line, with.element,
                int{Lines::is_left}, int{x.line.of.conjugate}, x.line.count(), first, length, pitch,
                handle<std::int32_t const>(x.there.shift), Space::template cast<std::int32_t>(to));
        });
    }
    status reduce(view<std::int32_t const, Space> const& x, nearest_residue const& by, bool adds,
                  view<std::int8_t, Space> const& to) const {
        return leaf_.launch({"reduce", reduce_text, {}, 256, false, true, nullptr},
                            groups_for_elements(to.rows, to.cols), x, to, to.rows, to.cols, int{adds}, by.p,
                            by.inverse);
    }
    // C, from its integers: of digits, or of weighted residues in rows, or, `turned`, columns, `pitch` apart.
    template <class P, class Lefts, class Rights>
    status finish(P const& p, from_digits<Space> const& sums, measured<Lefts> const& a,
                  measured<Rights> const& b, int shift) const {
        auto const e = added_or_c(p);
        status s = launch("finish", device_finish_text, typed, p.c.rows * p.c.cols,
                          handle<double const>(sums.high.data), handle<double const>(sums.low.data),
                          a.there.shift, b.there.shift, shift, p.alpha, p.beta,
                          int{p.beta != typename P::scalar(0)}, e, int{e.conjugate}, p.c, p.c.rows, p.c.cols);
        return s ? apply_to_c(leaf_, p) : std::move(s); // the epilogue's argument has been rounded already
    }
    template <class P, class Lefts, class Rights>
    status combine(P const& p, residue_system const& system, handle<std::byte> const& sums, index_t step,
                   index_t pitch, bool turned, measured<Lefts> const& a, measured<Rights> const& b) const {
        auto e = added_or_c(p);
        auto c = p.c;
        if (turned) e = e.transposed(), c = c.transposed();
        bool const vectors = !complex_like<T> && c.col_stride == 1 && c.row_stride % 2 == 0 &&
                             c.cols % 4 == 0 &&
                             Space::address(c.data) % static_cast<std::intptr_t>(2 * sizeof(T)) == 0;
        handle<std::int32_t const> const left = a.there.shift, right = b.there.shift;
        return or_no_memory([&] {
            status s = leaf_.launch(
                {"combine", combine_text, system_text(system).for_combine(vectors), 256, true, true, typed},
                groups_for_each(c.rows * ((c.cols + 3) / 4), 256),
                handle<std::int32_t const>(Space::template cast<std::int32_t>(sums)), step, pitch,
                turned ? right : left, turned ? left : right, p.alpha, p.beta,
                int{p.beta != typename P::scalar(0)}, e, int{e.conjugate}, c, c.rows, c.cols);
            return s ? apply_to_c(leaf_, p) : std::move(s);
        });
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

    // Whether elements of neighbouring lines are closer than those of one line.
    template <class Lines>
    static bool is_across(measured<Lines> const& x) {
        auto const with = strides(x.line);
        return magnitude(with.line) < magnitude(with.element);
    }
    template <class Lines>
    static std::string across(measured<Lines> const& x) {
        return is_across(x) ? "#define ACROSS 1\n" : "#define ACROSS 0\n";
    }
    // Row i of `to` is line i.
    template <class Lines>
    status form(measured<Lines> const& x, index_t first, int position,
                view<std::int8_t, Space> const& to) const {
        return with_lines("plane", device_plane_text, to.rows * to.cols, x.line, first, to.cols,
                          x.there.table, x.there.shift, position, to);
    }
    status add_up(view<std::int32_t const, Space> const& x, handle<double const> high, handle<double> low,
                  double factor, int lost) const {
        index_t const count = x.rows * x.cols;
        return launch("add_up", device_sums_text, plain, count, x.data, high, low, count, factor, lost);
    }
    Leaf leaf_;
    handle<double> facts_;
    struct {
        list<double> table;
        list<std::int32_t> shift;
    } left_, right_;
};

} // namespace ozaki_parts

STRATAGEMM_END
