// Kernels of `verified` on devices: sums over rows and columns, and a verdict about C without the host.
//
// NUMBER is the type of sums: double, float where the device lacks double, or uint for integers, whose sums are
// modulo 2^32. A vector is a pair of arrays, one behind the other: its elements, and what magnitudes are multiplied
// by. If MEASURED is 0, only the first array of a result is written. USED(x) is what counts of an element x, and
// JOIN(s, x) adds a magnitude to others. Every sum is added up in one order, so that the same call has the same sums.
#pragma once

#include "../../device/dialect.hpp"
#include "check.hpp"

STRATAGEMM_BEGIN

namespace verified_parts {

// M times a vector (DOTS), a vector times M (SUMS), or both in one read of M, for a matrix whose rows, here called
// lines, have elements side by side. A group has a part of the lines and, of each, as many elements as its work-items
// take at WIDE each. VECTORS is 1 if WIDE elements are one load. The results of groups are added up by `add_parts`.
inline constexpr char sweep_text[] = R"(
#define CHUNK 4  /* lines that a work-item loads before it uses the first */
#define BATCH 16 /* lines whose sums over lanes are added up together */
#define SEVERAL (1 + MEASURED)
#if WIDE == 4
#define EACH_ELEMENT(f) f(0, x) f(1, y) f(2, z) f(3, w)
#else
#define EACH_ELEMENT(f) f(0, x) f(1, y)
#endif
#if VECTORS
typedef VECTOR(IN, WIDE) some_of_m;
#define LOAD_SOME(to, line) to = LOAD_VECTOR(IN, WIDE, m, (line) * m_row + j)
#else
typedef struct {
    scalar x, y;
#if WIDE == 4
    scalar z, w;
#endif
} some_of_m;
/* An element behind the last is that one again. */
#define LOAD_ONE(e, member) loaded.member = LOAD(IN, m, AT(m, line_of, min(j + e, length - 1)));
#define LOAD_SOME(to, line)          \
    do {                             \
        index const line_of = line;  \
        some_of_m loaded;            \
        EACH_ELEMENT(LOAD_ONE)       \
        to = loaded;                 \
    } while (0)
#endif
#define FETCH(to, line)                                                      \
    for (int u = 0; u < CHUNK; ++u)                                          \
        if (takes_part && (line) + u < end) LOAD_SOME(to[u], (line) + u);
#define ADD_ALONG(e, member)                                                            \
    {                                                                                   \
        NUMBER const element = (NUMBER)some.member, used = USED(element);               \
        dot += used * x[e];                                                             \
        if (MEASURED) dot_size = JOIN(dot_size, MAGNITUDE(used) * x_size[e]);           \
    }
#define ADD_ACROSS(e, member)                                                           \
    {                                                                                   \
        NUMBER const element = (NUMBER)some.member, used = USED(element);               \
        sum[e] += used * y;                                                             \
        if (MEASURED) sum_size[e] = JOIN(sum_size[e], MAGNITUDE(used) * y_size);        \
    }

KERNEL(ITEMS) sweep(MATRIX(IN const, m), index lines, index length, index lines_each, index across,
                    BUFFER(NUMBER const, along), BUFFER(NUMBER const, over), BUFFER(NUMBER, dots),
                    BUFFER(NUMBER, sums)) {
#if DOTS
    SHARED NUMBER of_item[CHUNK * SEVERAL * ITEMS];
    SHARED NUMBER of_lane[BATCH * SEVERAL * 33]; /* 33, so that a warp reads different banks */
#endif
    OPEN(IN const, m);
    OPEN(NUMBER const, along);
    OPEN(NUMBER const, over);
    OPEN(NUMBER, dots);
    OPEN(NUMBER, sums);
    index const block = GROUP % across, part = GROUP / across, j = (block * ITEMS + ITEM) * WIDE,
                first = part * lines_each, end = min(first + lines_each, lines);
    int const takes_part = j < length;
#if DOTS
    NUMBER x[WIDE], x_size[WIDE];
    for (int e = 0; e < WIDE; ++e) {
        x[e] = j + e < length ? along[j + e] : (NUMBER)0;
        x_size[e] = MEASURED && j + e < length ? along[length + j + e] : (NUMBER)0;
    }
#endif
#if SUMS
    NUMBER sum[WIDE], sum_size[WIDE];
    for (int e = 0; e < WIDE; ++e) sum[e] = sum_size[e] = 0;
#endif
    /* The next lines are read while these are added up. */
    some_of_m next[CHUNK];
    FETCH(next, first);
    for (index l = first; l < first + lines_each; l += CHUNK) {
        some_of_m all[CHUNK];
        for (int u = 0; u < CHUNK; ++u) all[u] = next[u];
        FETCH(next, l + CHUNK);
        for (int u = 0; u < CHUNK; ++u) {
            some_of_m const some = all[u];
            int const there = takes_part && l + u < end;
#if DOTS
            NUMBER dot = 0, dot_size = 0;
            if (there) { EACH_ELEMENT(ADD_ALONG) }
            of_item[u * SEVERAL * ITEMS + ITEM] = dot;
            if (MEASURED) of_item[(u * SEVERAL + SEVERAL - 1) * ITEMS + ITEM] = dot_size;
#endif
#if SUMS
            if (there) {
                NUMBER const y = over[l + u], y_size = MEASURED ? over[lines + l + u] : (NUMBER)0;
                EACH_ELEMENT(ADD_ACROSS)
            }
#endif
        }
#if DOTS
        int const from = (int)((l - first) % BATCH) * SEVERAL;
        BARRIER();
        for (int row = WARP; row < CHUNK * SEVERAL; row += ITEMS / 32) {
            NUMBER total = 0;
            for (int q = 0; q < ITEMS / 32; ++q) {
                NUMBER const other = of_item[row * ITEMS + q * 32 + LANE];
                total = row % SEVERAL ? JOIN(total, other) : total + other;
            }
            of_lane[(from + row) * 33 + LANE] = total;
        }
        BARRIER();
        index const line = l + CHUNK - BATCH + ITEM / SEVERAL; /* where a batch ends */
        if (from == (BATCH - CHUNK) * SEVERAL && ITEM < BATCH * SEVERAL && line < end) {
            NUMBER total = 0;
            for (int q = 0; q < 32; ++q) {
                NUMBER const other = of_lane[ITEM * 33 + q];
                total = ITEM % SEVERAL ? JOIN(total, other) : total + other;
            }
            dots[(2 * block + ITEM % SEVERAL) * lines + line] = total;
        }
#endif
    }
#if SUMS
    for (int e = 0; e < WIDE; ++e)
        if (j + e < length) {
            sums[2 * part * length + j + e] = sum[e];
            if (MEASURED) sums[(2 * part + 1) * length + j + e] = sum_size[e];
        }
#endif
}
)";

// y = the sum of the parts of `dots`, and z = that of `sums`: 32 elements for a group, whose warps share the parts.
inline constexpr char add_parts_text[] = R"(
KERNEL(ITEMS) add_parts(BUFFER(NUMBER const, dots), index dot_parts, index lines, BUFFER(NUMBER, y),
                        BUFFER(NUMBER const, sums), index sum_parts, index length, BUFFER(NUMBER, z)) {
    SHARED NUMBER of_warp[ITEMS];
    OPEN(NUMBER const, dots);
    OPEN(NUMBER, y);
    OPEN(NUMBER const, sums);
    OPEN(NUMBER, z);
    index const in_y = (1 + MEASURED) * lines, in_z = (1 + MEASURED) * length, groups = (in_y + 31) / 32;
    int const second = GROUP >= groups;
    index const at = (second ? GROUP - groups : GROUP) * 32 + LANE, parts = second ? sum_parts : dot_parts,
                count = second ? length : lines;
    int const there = at < (second ? in_z : in_y);
    GLOBAL NUMBER const *from = second ? sums : dots;
    NUMBER total = 0;
    for (index part = WARP; there && part < parts; part += ITEMS / 32) {
        NUMBER const other = from[2 * part * count + at];
        total = at < count ? total + other : JOIN(total, other);
    }
    of_warp[ITEM] = total;
    BARRIER();
    if (WARP > 0 || !there) return;
    for (int q = 1; q < ITEMS / 32; ++q) {
        NUMBER const other = of_warp[q * 32 + LANE];
        total = at < count ? total + other : JOIN(total, other);
    }
    if (second)
        z[at] = total;
    else
        y[at] = total;
}
)";

// The vectors of a round, as random_bits() of check.hpp has them: signs, or integers, which are odd in the first
// round.
inline constexpr char draw_text[] = R"(
KERNEL(ITEMS) draw(BUFFER(NUMBER, x), index cols, index seed_x, BUFFER(NUMBER, y), index rows, index seed_y,
                   int least) {
    OPEN(NUMBER, x);
    OPEN(NUMBER, y);
    for (EACH(at, rows + cols)) {
        int const second = at >= cols;
        index const i = second ? at - cols : at, count = second ? rows : cols;
        GLOBAL NUMBER *to = second ? y : x;
        ulong z = (ulong)(second ? seed_y : seed_x) + (ulong)(i + 1) * 0x9e3779b97f4a7c15UL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
        z ^= z >> 31;
#if INTEGERS
        to[i] = (NUMBER)(z >> 32) | (NUMBER)least;
#else
        to[i] = z >> 63 ? (NUMBER)-1 : (NUMBER)1;
        to[count + i] = 1;
#endif
    }
}
)";

// How far the sum of each line is off, relative to its size (|A||B| and a floor), and the SUSPECTS lines that are off by
// most, or all lines if there are no more: group 0 has the rows, group 1 the columns. For each of the two, `found` has the
// first and the last suspect, the number of suspects, the mean of the other lines, and the largest error that vanishes in
// a sum. A line that cannot be judged is off by FAR. For integers only the number of lines that are off counts.
inline constexpr char find_suspects_text[] = R"(
KERNEL(ITEMS) find_suspects(BUFFER(NUMBER const, results), index rows, index cols, NUMBER alpha, NUMBER beta,
                            int adds, NUMBER floor_rows, NUMBER floor_cols, BUFFER(NUMBER, off_rows),
                            BUFFER(NUMBER, off_cols), BUFFER(NUMBER, found), BUFFER(int, suspects)) {
    SHARED NUMBER value_of[ITEMS];
    SHARED int place_of[ITEMS];
    SHARED NUMBER total_of[ITEMS];
    OPEN(NUMBER const, results);
    OPEN(NUMBER, off_rows);
    OPEN(NUMBER, off_cols);
    OPEN(NUMBER, found);
    OPEN(int, suspects);
    index const count = GROUP ? cols : rows;
    GLOBAL NUMBER const *sum = results + (GROUP ? 6 * rows : (index)0), *c = sum + 2 * count, *e = sum + 4 * count;
    GLOBAL NUMBER *to = found + 5 * GROUP;
    NUMBER total = 0;
#if INTEGERS
    for (index i = ITEM; i < count; i += ITEMS)
        total += sum[i] * alpha + (adds ? beta * e[i] : (NUMBER)0) != c[i] ? (NUMBER)1 : (NUMBER)0;
    total_of[ITEM] = total;
    BARRIER();
    if (ITEM > 0) return;
    for (int q = 1; q < ITEMS; ++q) total += total_of[q];
    to[2] = total;
#else
    GLOBAL NUMBER *off = GROUP ? off_cols : off_rows;
    NUMBER best = 0, rounding = 0;
    index place = -1;
    for (index i = ITEM; i < count; i += ITEMS) {
        NUMBER expected = alpha * sum[i], size = fabs(alpha) * sum[count + i] + (GROUP ? floor_cols : floor_rows);
        if (adds) {
            expected += beta * e[i];
            size += fabs(beta) * e[count + i];
        }
        NUMBER const difference = fabs(expected - c[i]), over = 1 / size,
                     lost = ROUNDING * c[count + i] * over;
        NUMBER x = !IS_FINITE(size) ? FAR : difference == 0 ? (NUMBER)0 : difference * over;
        if (!IS_FINITE(x)) x = FAR;
        off[i] = x;
        total += x;
        if (IS_FINITE(lost)) rounding = max(rounding, lost);
        if (x > best) best = x, place = i;
    }
    NUMBER first = 0, last = 0;
    int number = 0;
    for (; number < SUSPECTS; ++number) {
        value_of[ITEM] = best;
        place_of[ITEM] = (int)place;
        for (int other = ITEMS / 2; other > 0; other /= 2) {
            BARRIER();
            if (ITEM < other && value_of[ITEM + other] > value_of[ITEM]) {
                value_of[ITEM] = value_of[ITEM + other];
                place_of[ITEM] = place_of[ITEM + other];
            }
        }
        BARRIER();
        NUMBER const most = value_of[0];
        int const at = place_of[0];
        BARRIER();
        if (!(most > 0)) break;
        if (ITEM == 0) suspects[SUSPECTS * GROUP + number] = at;
        if (number == 0) first = most;
        last = most;
        total -= ITEM == 0 ? most : (NUMBER)0;
        if ((int)place == at) { /* the next one of this work-item: less, or as much and behind */
            NUMBER next = 0;
            index next_place = -1;
            for (index i = ITEM; i < count; i += ITEMS) {
                NUMBER const x = off[i];
                if ((x < best || (x == best && i > place)) && x > next) next = x, next_place = i;
            }
            best = next, place = next_place;
        }
    }
    total_of[ITEM] = total;
    value_of[ITEM] = rounding;
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other) {
            total_of[ITEM] += total_of[ITEM + other];
            value_of[ITEM] = max(value_of[ITEM], value_of[ITEM + other]);
        }
    }
    if (ITEM > 0) return;
    if (count <= SUSPECTS)
        for (int q = 0; q < (int)count; ++q) suspects[SUSPECTS * GROUP + q] = q;
    for (int q = count <= SUSPECTS ? (int)count : number; q < SUSPECTS; ++q) suspects[SUSPECTS * GROUP + q] = -1;
    to[0] = first;
    to[1] = number == SUSPECTS ? last : (NUMBER)0;
    to[2] = (NUMBER)number;
    to[3] = count > SUSPECTS ? max(total_of[0], (NUMBER)0) / (NUMBER)(count - SUSPECTS) : (NUMBER)0;
    to[4] = value_of[0];
#endif
}
)";

// An element where two suspects cross is computed again, in twice the digits of NUMBER, and its error written over
// the bound: a group for each. FAR, if that element is too large to tell. Twice the digits: Dekker, A floating-point
// technique for extending the available precision, 1971.
inline constexpr char judge_text[] = R"(
#define AT_ONCE 8 /* elements that a work-item loads before it uses the first */
#define TWO_SUM(a, b, sum, rest)                         \
    NUMBER const sum = (a) + (b), sum##_b = sum - (a);   \
    NUMBER const rest = ((a) - (sum - sum##_b)) + ((b)-sum##_b)
KERNEL(ITEMS) judge(MATRIX(IN const, a), MATRIX(IN const, b), index depth, MATRIX(OUT const, e), MATRIX(OUT const, c),
                    NUMBER alpha, NUMBER beta, int adds, NUMBER worst, NUMBER slack, NUMBER most,
                    BUFFER(int const, suspects), BUFFER(NUMBER, found)) {
    SHARED NUMBER sums[ITEMS];
    SHARED NUMBER rests[ITEMS];
    SHARED NUMBER sizes[ITEMS];
    OPEN(IN const, a);
    OPEN(IN const, b);
    OPEN(OUT const, e);
    OPEN(OUT const, c);
    OPEN(int const, suspects);
    OPEN(NUMBER, found);
    index const i = suspects[GROUP / SUSPECTS], j = suspects[SUSPECTS + GROUP % SUSPECTS];
    if (i < 0 || j < 0) {
        if (ITEM == 0) found[10 + GROUP] = 0;
        return;
    }
    NUMBER sum = 0, rest = 0, size = 0;
    for (index first = ITEM; first < depth; first += AT_ONCE * ITEMS) {
        scalar of_a[AT_ONCE], of_b[AT_ONCE];
        for (int u = 0; u < AT_ONCE; ++u) {
            index const l = min(first + u * ITEMS, depth - 1);
            of_a[u] = LOAD(IN, a, AT(a, i, l));
            of_b[u] = LOAD(IN, b, AT(b, l, j));
        }
        for (int u = 0; u < AT_ONCE; ++u) {
            NUMBER const x = first + u * ITEMS < depth ? (NUMBER)of_a[u] : (NUMBER)0, y = (NUMBER)of_b[u],
                         product = x * y;
            TWO_SUM(sum, product, next, lost);
            sum = next;
            rest += lost + fma(x, y, -product);
            size += fabs(product);
        }
    }
    sums[ITEM] = sum;
    rests[ITEM] = rest;
    sizes[ITEM] = size;
    BARRIER();
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        if (ITEM < other) {
            TWO_SUM(sums[ITEM], sums[ITEM + other], next, lost);
            sums[ITEM] = next;
            rests[ITEM] += rests[ITEM + other] + lost;
            sizes[ITEM] += sizes[ITEM + other];
        }
        BARRIER();
    }
    if (ITEM > 0) return;
    NUMBER const product = alpha * sums[0], added = adds ? (NUMBER)LOAD(OUT, e, AT(e, i, j)) : (NUMBER)0,
                 addend = adds ? beta * added : (NUMBER)0;
    TWO_SUM((NUMBER)LOAD(OUT, c, AT(c, i, j)), -product, once, once_lost);
    TWO_SUM(once, -addend, twice, twice_lost);
    NUMBER const rounded = fma(alpha, sums[0], -product) + (adds ? fma(beta, added, -addend) : (NUMBER)0);
    NUMBER const error = twice + (once_lost + twice_lost - rounded - alpha * rests[0]);
    NUMBER const all = fabs(alpha) * sizes[0] + fabs(addend);
    NUMBER const by = fabs(error) / (worst * all + slack);
    found[10 + GROUP] = !(all <= most) ? FAR : error == 0 ? (NUMBER)0 : IS_FINITE(by) ? by : FAR;
}
)";

} // namespace verified_parts

STRATAGEMM_END
