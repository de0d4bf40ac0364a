// `ozaki` over a leaf of a device: a kernel for each step of maps.hpp, and tables of the lines on both sides.
//
// The kernels repeat arithmetic.hpp operation by operation, so results have the same bits as on the host. With
// explicit moduli scaled by norms, the host waits once, for the word that there are no Inf, NaN or overflows.
// Anything else is a plain form: the host decides with the tables of lines, and planes and crossing lines have a
// kernel for each step.
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
/* The columns of a table of lines, one behind the other. */
enum { peak, exponent, sum, squares, lowest_set, ceiling, spread, thinnest, largest, inverse_sum };
#define OF(table, count, quantity, i) table[(index)(quantity) * (count) + (i)]

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
#if COMPLEX
typedef double given;
#else
typedef IN given;
#endif
FUNCTION given element(LINES_OF(x), index line, index l) {
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
// element, as on the host. ACROSS: elements of neighbouring lines are closer than those of one line. NORMS: lines are
// scaled by norms, for moduli that have so much room; else these are not needed, but the lowest bits are.
//
// Sums are of elements times a power of two that each work-item has from its first one, since the largest is not
// known yet. Where that turns out to be too far from the line's own power, these are added up once more.
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
#define FETCH(to, l0)                                                    \
    for (int u = 0; u < AT_ONCE; ++u)                                    \
        to[u] = (l0) + 8 * u < length ? element(GIVEN(x), i, (l0) + 8 * u) : 0;
    given next[AT_ONCE]; /* is read while the elements before are added up */
    if (i < x_count) FETCH(next, part)
    for (index l0 = part; i < x_count && l0 < length; l0 += 8 * AT_ONCE) {
        given some[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) some[u] = next[u];
        FETCH(next, l0 + 8 * AT_ONCE)
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
            if (NORMS) other = fma(scaled_size, scaled_size, other);
            if (!NORMS && at != -2) {
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
            if (NORMS) other = fma(v, v, other);
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
    double const of_sum = counts ? PARTS(sums) * above : 0;
#define PUT(quantity, value) OF(table, x_count, quantity, i) = value
    PUT(peak, not_finite ? -2 : counts ? (double)at : -1);
    PUT(exponent, e);
    PUT(sum, of_sum);
    PUT(squares, of_squares);
    PUT(lowest_set, counts ? lowest : 0);
    PUT(ceiling, 0);
    PUT(spread, 0);
    PUT(thinnest, 0);
    PUT(largest, counts ? times_power(most, -e) : 0);
    PUT(inverse_sum, counts ? 1 / of_sum : 0);
    if (room > 0)
        shift[i] = counts ? exponent_of((room - 0.5 * sqrt((double)length)) / sqrt(of_squares)) - 1 - e : 0;
}
)";

// Reduces what is known of the lines of a side, by one group: whether any is not finite, the largest exponent, the
// least and the largest shift, the largest spread.
inline constexpr char device_look_text[] = R"(
#define FACTS 5
KERNEL(ITEMS) look(BUFFER(double const, left), BUFFER(int const, left_shift), index rows,
                   BUFFER(double const, right), BUFFER(int const, right_shift), index cols, BUFFER(double, facts)) {
    SHARED double all[FACTS * ITEMS];
    OPEN(double const, left);
    OPEN(int const, left_shift);
    OPEN(double const, right);
    OPEN(int const, right_shift);
    OPEN(double, facts);
    GLOBAL double const *table = GROUP ? right : left;
    GLOBAL int const *shift = GROUP ? right_shift : left_shift;
    index const count = GROUP ? cols : rows;
    double own[FACTS] = {0, -5000, 5000, -5000, 0};
    for (index i0 = ITEM; i0 < count; i0 += 4 * ITEMS) {
        double at[4], e[4], s[4], wide[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            index const i = min(i0 + u * ITEMS, count - 1);
            at[u] = OF(table, count, peak, i);
            e[u] = OF(table, count, exponent, i);
            s[u] = shift[i];
            wide[u] = OF(table, count, spread, i);
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            if (at[u] == -2) own[0] = 1;
            if (at[u] < 0) continue;
            own[1] = max(own[1], e[u]);
            own[2] = min(own[2], s[u]);
            own[3] = max(own[3], s[u]);
            own[4] = max(own[4], wide[u]);
        }
    }
    for (int f = 0; f < FACTS; ++f) all[f * ITEMS + ITEM] = own[f];
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other)
            for (int f = 0; f < FACTS; ++f) {
                double const x = all[f * ITEMS + ITEM], y = all[f * ITEMS + ITEM + other];
                all[f * ITEMS + ITEM] = f == 2 ? min(x, y) : max(x, y);
            }
    }
    BARRIER();
    if (ITEM < FACTS) facts[GROUP * FACTS + ITEM] = all[ITEM * ITEMS];
}
)";

// Scales from the product of leading bits, as scale_by_product of maps.hpp; and, for each number of moduli that may
// be chosen, what cut_off() of product.hpp finds for a side: the most that scaling takes off, the fewest bits that a
// line keeps, the least and the largest shift. A group has one number and one side.
inline constexpr char device_scales_text[] = R"(
FUNCTION int shift_of(GLOBAL double const *table, index count, index i, double room) {
    double const most = OF(table, count, ceiling, i) > 1 ? OF(table, count, ceiling, i) : 1;
    return exponent_of(room / sqrt(most) - 0.5) - 1 + 7 - (int)OF(table, count, exponent, i);
}
KERNEL(ITEMS) scale_lines(BUFFER(double const, table), index count, double room, BUFFER(int, shift)) {
    OPEN(double const, table);
    OPEN(int, shift);
    for (EACH(i, count)) shift[i] = OF(table, count, peak, i) < 0 ? 0 : shift_of(table, count, i, room);
}
KERNEL(ITEMS) try_counts(BUFFER(double const, left), index rows, BUFFER(double const, right), index cols,
                         BUFFER(double, to)) {
    SHARED double all[4 * ITEMS];
    OPEN(double const, left);
    OPEN(double const, right);
    OPEN(double, to);
    double const rooms[] = ROOMS;
    double const room = rooms[GROUP / 2];
    GLOBAL double const *table = GROUP % 2 ? right : left;
    index const count = GROUP % 2 ? cols : rows;
    double own[4] = {0, 1000, 5000, -5000};
    for (index i = ITEM; i < count; i += ITEMS) {
        if (OF(table, count, peak, i) < 0) continue;
        int const s = shift_of(table, count, i, room), kept = s + (int)OF(table, count, exponent, i);
        own[1] = min(own[1], (double)kept);
        own[2] = min(own[2], (double)s);
        own[3] = max(own[3], (double)s);
        if (s + OF(table, count, lowest_set, i) >= 0) continue; /* all bits fit */
        own[0] = max(own[0], power(-kept - 1) * OF(table, count, spread, i));
    }
    for (int f = 0; f < 4; ++f) all[f * ITEMS + ITEM] = own[f];
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other)
            for (int f = 0; f < 4; ++f) {
                double const x = all[f * ITEMS + ITEM], y = all[f * ITEMS + ITEM + other];
                all[f * ITEMS + ITEM] = f == 1 || f == 2 ? min(x, y) : max(x, y);
            }
    }
    BARRIER();
    if (ITEM < 4) to[4 * GROUP + ITEM] = all[ITEM * ITEMS];
}
)";

// Lines against the lines that they cross: all quantities of `cross` at once, from their products of leading bits,
// which are Q. A line has 32 work-items side by side, or, if Q lies ACROSS, 8, with those of other lines beside them.
inline constexpr char device_cross_text[] = R"(
#define PARTS (ACROSS ? 8 : 32)
FUNCTION double term(LINES_OF(x), double x_power, LINES_OF(y), double y_power, index i, index j, index l) {
    double const f = element(GIVEN(x), i, l), g = element(GIVEN(y), j, l);
    if (f == 0 || g == 0) return 0;
    double const size = times_power(fabs(f), -(int)x_power) * times_power(fabs(g), -(int)y_power);
    return size > 0x1p-1000 ? size : 0x1p-1000;
}
#define OTHER(quantity, j) OF(others, y_count, quantity, j)
#define TERM(j, l) term(GIVEN(x), e, GIVEN(y), OTHER(exponent, j), i, j, l)
KERNEL(ITEMS) cross_lines(LINES(x), LINES(y), index length, BUFFER(double, table), BUFFER(double const, others),
                          MATRIX(Q const, q)) {
    SHARED double mosts[ITEMS];
    SHARED double spreads[ITEMS];
    SHARED double leasts[ITEMS];
    SHARED int lookeds[ITEMS];
    OPEN(IN const, x);
    OPEN(IN const, y);
    OPEN(double, table);
    OPEN(double const, others);
    OPEN(Q const, q);
    int const own = ACROSS ? LANE : WARP, part = ACROSS ? WARP : LANE;
#define AT_PART(t) (ACROSS ? (t) * 32 + LANE : WARP * 32 + (t))
    index const i = (index)GROUP * (ITEMS / PARTS) + own;
    int const counts = i < x_count && OF(table, x_count, peak, i) >= 0;
    double const infinite = from_bits((ulong)0x7ff << 52), e = counts ? OF(table, x_count, exponent, i) : 0;
    index const at = counts ? (index)OF(table, x_count, peak, i) : 0;
    double most = 0, least_spread = infinite;
    double least = infinite;
    int looked = 0, few = 0;
    GLOBAL Q const *const line = q + (counts ? i : 0) * q_row;
    GLOBAL double const *const sum_of = &OTHER(sum, 0), *const inverse_of = &OTHER(inverse_sum, 0);
    int const end = (int)y_count;
    for (int j0 = part; counts && j0 < end; j0 += 8 * PARTS) {
        double some[8], sums[8], inverse[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            int const j = min(j0 + u * PARTS, end - 1);
            sums[u] = sum_of[j]; /* 0 of lines that do not count */
            inverse[u] = inverse_of[j];
            some[u] = (double)line[j * q_col];
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) { /* the last line again and again, behind it: that changes nothing */
            double const here = some[u] + 128 * sums[u], of_sum = some[u] * 0x1p-14 * inverse[u];
            int const is_few = some[u] < 32, is_used = sums[u] > 0;
            most = is_used && here > most ? here : most;
            least_spread = is_used && !is_few && of_sum < least_spread ? of_sum : least_spread;
            least = is_used && !is_few && some[u] < least ? some[u] : least;
            few |= is_used && is_few;
        }
    }
    least *= 0x1p-14;
    /* Lines with little in common with this one: the largest of their terms count. */
    for (index j = part; few && j < y_count; j += PARTS) {
        double const bits = q[AT(q, i, j)];
        if (OTHER(sum, j) == 0 || bits >= 32) continue;
        double share = bits * 0x1p-14;
        double const mine = TERM(j, at), crossing = TERM(j, (index)OTHER(peak, j));
        if (mine > share) share = mine;
        if (crossing > share) share = crossing;
        if (!(share > 0)) {
            ++looked;
            continue;
        }
        double const of_sum = share * OTHER(inverse_sum, j);
        if (of_sum < least_spread) least_spread = of_sum;
        if (share < least) least = share;
    }
    lookeds[ITEM] = looked;
    BARRIER();
    int all_looked = 0;
    for (int t = 0; t < PARTS; ++t) all_looked += lookeds[AT_PART(t)];
    /* Few lines with which this one has no term of the two largest: all terms, of each. */
    for (index j = part; all_looked <= MOST_LOOKED && looked > 0 && j < y_count; j += PARTS) {
        if (OTHER(sum, j) == 0 || q[AT(q, i, j)] > 0 || TERM(j, at) > 0 || TERM(j, (index)OTHER(peak, j)) > 0)
            continue;
        double share = 0;
        for (index l = 0; l < length; ++l) share += TERM(j, l);
        share /= 1 + (double)(length + 2) * 0x1p-52;
        if (share == 0) continue;
        double const of_sum = share * OTHER(inverse_sum, j);
        if (of_sum < least_spread) least_spread = of_sum;
        if (share < least) least = share;
    }
    mosts[ITEM] = most;
    spreads[ITEM] = least_spread;
    leasts[ITEM] = least;
    BARRIER();
    if (part > 0 || !counts) return;
    for (int t = 1; t < PARTS; ++t) {
        most = max(most, mosts[AT_PART(t)]);
        least_spread = min(least_spread, spreads[AT_PART(t)]);
        least = min(least, leasts[AT_PART(t)]);
    }
    int const hopeless = all_looked > MOST_LOOKED;
    OF(table, x_count, ceiling, i) = most == 0 ? 0 : most + 128 * OF(table, x_count, sum, i) + (double)length;
    OF(table, x_count, spread, i) = hopeless ? infinite : (1 + 0x1p-50) / least_spread;
    OF(table, x_count, thinnest, i) = hopeless ? infinite : (1 + 0x1p-50) / least;
}
)";

// One plane of int8: one digit of each scaled element. Row i of `to` is line i.
inline constexpr char device_plane_text[] = R"(
KERNEL(ITEMS) plane(LINES(x), index first, index length, BUFFER(int const, shift), int position,
                    MATRIX(byte, to)) {
    OPEN(IN const, x);
    OPEN(int const, shift);
    OPEN(byte, to);
    for (EACH(at, x_count * length)) {
        index const i = x_left ? at / length : at % x_count, l = x_left ? at % length : at / x_count;
        to[AT(to, i, l)] = (byte)digit(scaled(element(GIVEN(x), i, first + l), shift[i]), position);
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
FUNCTION twofold digits(GLOBAL double const *high, GLOBAL double const *low, index at, int e) {
    twofold x;
    x.high = high[at];
    x.low = low[at];
    return unscaled(x, e);
}
KERNEL(ITEMS) finish(BUFFER(double const, high), BUFFER(double const, low), BUFFER(int const, left),
                     BUFFER(int const, right), int shift, IN alpha, IN beta,
                     int adds, MATRIX(IN const, e), int e_conjugated, MATRIX(IN, c), index rows, index cols) {
    OPEN(double const, high);
    OPEN(double const, low);
    OPEN(int const, left);
    OPEN(int const, right);
    OPEN(IN const, e);
    OPEN(IN, c);
    for (EACH(at, rows * cols)) {
        index const i = at / cols, j = at % cols;
        GLOBAL IN const *const added = e + AT(e, i, j);
#if COMPLEX
        c[AT(c, i, j)] = finished(digits(high, low, 2 * i * cols + j, shift - left[2 * i] - right[j]),
                                  digits(high, low, (2 * i + 1) * cols + j, shift - left[2 * i + 1] - right[j]),
                                  alpha, beta, adds, added, e_conjugated);
#else
        c[AT(c, i, j)] = finished(digits(high, low, at, shift - left[i] - right[j]), alpha, beta, adds, added);
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

    // What `look` and `try_counts` tell of each side.
    static constexpr int least_count = 7, counts = most_moduli - least_count + 1;
    struct findings {
        struct side {
            double not_finite, exponent, least_shift, largest_shift, widest; // of all lines
        } left, right;
        struct scaled {
            double lost, kept, least_shift, largest_shift;
        } with[counts][2]; // left and right, for each number of moduli from `least_count` on
    };
    static constexpr index_t facts = sizeof(findings) / sizeof(double),
                             facts_of_sides = 2 * sizeof(typename findings::side) / sizeof(double);

    // Allocates host memory for the tables of lines.
    template <class Lines>
    status prepare(measured<Lines>& x) {
        auto const count = static_cast<std::size_t>(x.line.count());
        auto& copy = Lines::is_left ? left_ : right_;
        if (!copy.table.resize(count * static_cast<std::size_t>(measured<Lines>::columns)) ||
            !copy.shift.resize(count))
            return error(errc::memory, "ozaki: cannot allocate host memory for what is measured of A and B");
        x.table = {copy.table.data(), x.line.count(), measured<Lines>::columns, 1, x.line.count()};
        x.shift = {copy.shift.data(), x.line.count(), 1, 1, 1};
        return {};
    }

    // Fills the table on the device, and, if `room` is not 0, finds the shifts for lines that are scaled by norms.
    template <class Lines>
    status measure(measured<Lines> const& x, double room) const {
        std::string const text =
            "#define AT_ONCE 16\n" + across(x) + "#define NORMS " + (room > 0 ? "1\n" : "0\n");
        auto const with = strides(x.line);
        return leaf_.launch({"measure", device_measure_text, text, 256, true, true, typed},
                            (x.line.count() + 31) / 32, x.line.of.data, with.line, with.element,
                            int{Lines::is_left}, int{x.line.of.conjugate}, x.line.count(), x.line.length(),
                            room, x.there.table, x.there.shift);
    }
    template <class Lines>
    status fetch(measured<Lines> const& x) const {
        return leaf_.download(x.there.table, x.table.data, x.table.rows * measured<Lines>::columns);
    }
    // What `look` finds, for both sides; and, if `probed`, what `try_counts` does.
    template <class Lefts, class Rights>
    status look(measured<Lefts> const& a, measured<Rights> const& b, bool probed, findings& found) const {
        if (status s =
                leaf_.launch({"look", device_look_text, {}, 256, true, true, plain}, 2,
                             handle<double const>(a.there.table), handle<std::int32_t const>(a.there.shift),
                             a.line.count(), handle<double const>(b.there.table),
                             handle<std::int32_t const>(b.there.shift), b.line.count(), facts_);
            !s)
            return s;
        if (probed)
            if (status s = leaf_.launch({"try_counts", device_scales_text, {}, 256, true, true, with_rooms},
                                        2 * counts, handle<double const>(a.there.table), a.line.count(),
                                        handle<double const>(b.there.table), b.line.count(),
                                        facts_ + facts_of_sides);
                !s)
                return s;
        return leaf_.download(facts_, reinterpret_cast<double*>(&found), probed ? facts : facts_of_sides);
    }
    // The leading bits of all elements, as split() has residues; and lines with the lines that they cross, from their
    // products, which are whole numbers of type Q.
    template <class Lines>
    status lead(measured<Lines> const& x, index_t first, index_t length, index_t pitch,
                handle<std::byte> const& to) const {
        return split_by(x, "#define LEADING 1\n" + across(x), first, length, pitch, to);
    }
    template <class Mine, class Other, class Q>
    status cross(measured<Mine> const& x, measured<Other> const& y, view<Q, Space> const& q) const {
        auto const mine = strides(x.line), with = strides(y.line);
        bool const across_q = rows_are_closer(q);
        index_t const lines_of_group = across_q ? 32 : 8;
        return leaf_.launch(
            {"cross_lines", device_cross_text,
             std::string(std::is_same_v<Q, double> ? "#define Q double\n" : "#define Q int\n") +
                 (across_q ? "#define ACROSS 1\n" : "#define ACROSS 0\n"),
             256, true, true, typed},
            (x.line.count() - 1) / lines_of_group + 1, x.line.of.data, mine.line, mine.element,
            int{Mine::is_left}, int{x.line.of.conjugate}, x.line.count(), y.line.of.data, with.line,
            with.element, int{Other::is_left}, int{y.line.of.conjugate}, y.line.count(), x.line.length(),
            x.there.table, handle<double const>(y.there.table), view<Q const, Space>(q));
    }
    template <class Lines>
    status scale(measured<Lines> const& x, double room) const {
        return leaf_.launch({"scale_lines", device_scales_text, {}, 256, true, true, with_rooms},
                            groups_for_each(x.line.count(), 256), handle<double const>(x.there.table),
                            x.line.count(), room, x.there.shift);
    }
    // The host finds the shifts.
    template <class Scale, class Lines>
    status scale(Scale const& by, measured<Lines> const& x) const {
        for (index_t i = 0; i < x.shift.rows; ++i) x.shift(i, 0) = by(0, i, 0);
        return leaf_.upload(static_cast<std::int32_t const*>(x.shift.data), x.there.shift, x.shift.rows);
    }

    // The steps of maps.hpp.
    template <class Lines>
    status run(digits<Lines> const& x, view<std::int8_t, Space> const& to) const {
        return form(x.of, x.first, x.position, to);
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
        return or_no_memory([&] {
            return split_by(x, system_text(system).for_split(Lines::is_left) + across(x), first, length,
                            pitch, to);
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
    static std::string with_rooms() {
        std::string list;
        for (int x = least_count; x <= most_moduli; ++x)
            list += (list.empty() ? "" : ", ") + system_text<>::number(room(x));
        return plain() + "#define ROOMS {" + list + "}\n";
    }
    static std::string typed() {
        return kernel_types<T, T>() + "#define MOST_LOOKED " + std::to_string(most_looked) + '\n' +
               device_numbers_text + device_lines_text + finished_text;
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
    template <class Lines>
    status split_by(measured<Lines> const& x, std::string const& text, index_t first, index_t length,
                    index_t pitch, handle<std::byte> const& to) const {
        auto const with = strides(x.line);
        return leaf_.launch({"split", split_text, text, 256, true, true, typed},
                            (x.line.count() + 15) / 16 * ((length + 127) / 128), x.line.of.data, with.line,
                            with.element, int{Lines::is_left}, int{x.line.of.conjugate}, x.line.count(),
                            first, length, pitch, handle<double const>(x.there.table),
                            handle<std::int32_t const>(x.there.shift),
                            Space::template cast<std::int32_t>(to));
    }
    // Row i of `to` is line i.
    template <class Lines>
    status form(measured<Lines> const& x, index_t first, int position,
                view<std::int8_t, Space> const& to) const {
        return with_lines("plane", device_plane_text, to.rows * to.cols, x.line, first, to.cols,
                          handle<std::int32_t const>(x.there.shift), position, to);
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
