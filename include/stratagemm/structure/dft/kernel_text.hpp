// What the kernels of transforms on devices have in common, whatever the length: arithmetic, short transforms in
// registers, and memory. written.hpp writes the rest.
#pragma once

#include "../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char dft_device_text[] = R"(
/* (x, y) times c + i s */
#define TURN(x, y, c, s)                          \
    do {                                          \
        REAL const turned_x = fma(x, c, -((y) * (s))); \
        y = fma(x, s, (y) * (c));                 \
        x = turned_x;                             \
    } while (0)
#define SWIZZLED(p) ((p) ^ (((p) >> 5 ^ ((p) >> 3 & ~3)) & 31))
)";

// Transforms of 2, 3, 4, 5 and 7 numbers that lie s apart, in place.
inline constexpr char dft_primitives_text[] = R"(
FUNCTION void dft_2(REAL *x, REAL *y, int s) {
    REAL const a = x[s], b = y[s];
    x[s] = x[0] - a, y[s] = y[0] - b;
    x[0] = x[0] + a, y[0] = y[0] + b;
}
FUNCTION void dft_4(REAL *x, REAL *y, int s) {
    REAL const px = x[0] + x[2 * s], py = y[0] + y[2 * s], mx = x[0] - x[2 * s], my = y[0] - y[2 * s];
    REAL const qx = x[s] + x[3 * s], qy = y[s] + y[3 * s], nx = x[s] - x[3 * s], ny = y[s] - y[3 * s];
    x[0] = px + qx, y[0] = py + qy;
    x[s] = mx + ny, y[s] = my - nx;
    x[2 * s] = px - qx, y[2 * s] = py - qy;
    x[3 * s] = mx - ny, y[3 * s] = my + nx;
}
/* Elements k and r - k of a transform of r numbers: (mx, my) -+ i (nx, ny). */
#define DFT_BOTH(k, r, mx, my, nx, ny)                            \
    do {                                                          \
        REAL const both_x = mx, both_y = my, apart_x = nx, apart_y = ny; \
        x[(k) * s] = both_x + apart_y, y[(k) * s] = both_y - apart_x; \
        x[((r) - (k)) * s] = both_x - apart_y, y[((r) - (k)) * s] = both_y + apart_x; \
    } while (0)
FUNCTION void dft_3(REAL *x, REAL *y, int s) {
    REAL const ax = x[s] + x[2 * s], ay = y[s] + y[2 * s], bx = x[s] - x[2 * s], by = y[s] - y[2 * s];
    REAL const x0 = x[0], y0 = y[0];
    x[0] = x0 + ax, y[0] = y0 + ay;
    DFT_BOTH(1, 3, fma(C3_1, ax, x0), fma(C3_1, ay, y0), S3_1 * bx, S3_1 * by);
}
FUNCTION void dft_5(REAL *x, REAL *y, int s) {
    REAL const ax = x[s] + x[4 * s], ay = y[s] + y[4 * s], bx = x[s] - x[4 * s], by = y[s] - y[4 * s];
    REAL const cx = x[2 * s] + x[3 * s], cy = y[2 * s] + y[3 * s];
    REAL const dx = x[2 * s] - x[3 * s], dy = y[2 * s] - y[3 * s];
    REAL const x0 = x[0], y0 = y[0];
    x[0] = x0 + (ax + cx), y[0] = y0 + (ay + cy);
    DFT_BOTH(1, 5, fma(C5_1, ax, fma(C5_2, cx, x0)), fma(C5_1, ay, fma(C5_2, cy, y0)),
             fma(S5_1, bx, S5_2 * dx), fma(S5_1, by, S5_2 * dy));
    DFT_BOTH(2, 5, fma(C5_2, ax, fma(C5_1, cx, x0)), fma(C5_2, ay, fma(C5_1, cy, y0)),
             fma(S5_2, bx, -(S5_1 * dx)), fma(S5_2, by, -(S5_1 * dy)));
}
#define DFT_SUM(p, q, r, u, v, w, from) fma(p, u, fma(q, v, fma(r, w, from)))
#define DFT_PRODUCTS(p, q, r, u, v, w) fma(p, u, fma(q, v, (r) * (w)))
FUNCTION void dft_7(REAL *x, REAL *y, int s) {
    REAL const ax = x[s] + x[6 * s], ay = y[s] + y[6 * s], bx = x[s] - x[6 * s], by = y[s] - y[6 * s];
    REAL const cx = x[2 * s] + x[5 * s], cy = y[2 * s] + y[5 * s];
    REAL const dx = x[2 * s] - x[5 * s], dy = y[2 * s] - y[5 * s];
    REAL const ex = x[3 * s] + x[4 * s], ey = y[3 * s] + y[4 * s];
    REAL const fx = x[3 * s] - x[4 * s], fy = y[3 * s] - y[4 * s];
    REAL const x0 = x[0], y0 = y[0];
    x[0] = x0 + (ax + cx + ex), y[0] = y0 + (ay + cy + ey);
    DFT_BOTH(1, 7, DFT_SUM(C7_1, C7_2, C7_3, ax, cx, ex, x0), DFT_SUM(C7_1, C7_2, C7_3, ay, cy, ey, y0),
             DFT_PRODUCTS(S7_1, S7_2, S7_3, bx, dx, fx), DFT_PRODUCTS(S7_1, S7_2, S7_3, by, dy, fy));
    DFT_BOTH(2, 7, DFT_SUM(C7_2, C7_3, C7_1, ax, cx, ex, x0), DFT_SUM(C7_2, C7_3, C7_1, ay, cy, ey, y0),
             DFT_PRODUCTS(S7_2, -S7_3, -S7_1, bx, dx, fx), DFT_PRODUCTS(S7_2, -S7_3, -S7_1, by, dy, fy));
    DFT_BOTH(3, 7, DFT_SUM(C7_3, C7_1, C7_2, ax, cx, ex, x0), DFT_SUM(C7_3, C7_1, C7_2, ay, cy, ey, y0),
             DFT_PRODUCTS(S7_3, -S7_1, S7_2, bx, dx, fx), DFT_PRODUCTS(S7_3, -S7_1, S7_2, by, dy, fy));
}
)";

// Which transforms a group has. dft_memory_text is what ends and begins a launch: elements of X, C and workspace by
// numbers of a transform.
inline constexpr char dft_places_text[] = R"(
/* A unit is a transform, or a part of a long one: transform `set` of the launch, from its element j on. The launch
   does `sets` transforms. Transform first + set is column `col` of matrix `batch`. */
typedef struct {
    index unit, low, high, set, batch, col, j;
    int has;
} dft_place;
FUNCTION index dft_quotient(index x, index y) {
    if ((x | y) >> 31 == 0) return (index)((uint)x / (uint)y);
    return x / y;
}
/* The same where x < y + ITEMS or x < 2^32: without a division of 64 bits. */
FUNCTION index dft_wraps(index x, index y) {
    if (x < y) return 0;
    return y >> 31 == 0 ? (index)((uint)x / (uint)y) : 1;
}
FUNCTION dft_place dft_of_set(dft_place there, index first, index cols) {
    there.set = COLUMNS_FIRST ? there.low : there.high;
    there.j = COLUMNS_FIRST ? there.high : there.low;
    there.batch = first + there.set < cols ? 0 : dft_quotient(first + there.set, cols);
    there.col = first + there.set - there.batch * cols;
    return there;
}
#define PLACED_BY (SPAN == 1 ? cols : COLUMNS_FIRST ? sets : SPAN)
/* The first unit of the group. */
FUNCTION dft_place dft_head(index unit, index sets, index cols) {
    dft_place there;
    there.unit = unit, there.has = 0;
    there.high = unit < PLACED_BY ? 0 : dft_quotient(unit, PLACED_BY), there.low = unit - there.high * PLACED_BY;
    there.set = unit, there.batch = there.high, there.col = there.low, there.j = 0;
    return there;
}
/* The unit that is `of` behind it. */
FUNCTION dft_place dft_behind(dft_place there, int of, index units, index sets, index first, index cols) {
    index const low = there.low + of, wraps = dft_wraps(low, PLACED_BY);
    there.unit += of, there.has = there.unit < units;
    there.low = low - wraps * PLACED_BY, there.high += wraps;
    if (SPAN > 1) return dft_of_set(there, first, cols);
    there.set = there.unit, there.batch = there.high, there.col = there.low;
    return there;
}
#define BEHIND(of) dft_behind(head, of, units, sets, first, cols)
/* Result i of a unit is this element of a transform. */
#define NUMBER_OF(there, i) ((there).j / LEAD * LEAD * POINTS + (there).j % LEAD + (index)(i) * LEAD)
/* Complex numbers whose address is a multiple of their size, or of half their size. */
#define LOAD_ALIGNED(aligned, to, p, at)                                              \
    do {                                                                              \
        if (aligned) {                                                                \
            VECTOR(REAL, 2) const whole = LOAD_VECTOR(REAL, 2, (GLOBAL REAL const *)((p) + (at)), 0); \
            to.x = whole.x, to.y = whole.y;                                           \
        } else {                                                                      \
            to = LOAD(OUT, p, at);                                                    \
        }                                                                             \
    } while (0)
#define STORE_ALIGNED(aligned, p, at, from)                                           \
    do {                                                                              \
        if (aligned) {                                                                \
            VECTOR(REAL, 2) whole;                                                    \
            whole.x = from.x, whole.y = from.y;                                       \
            STORE_VECTOR(REAL, 2, (GLOBAL REAL *)((p) + (at)), 0, whole);             \
        } else {                                                                      \
            STORE(OUT, p, at, from);                                                  \
        }                                                                             \
    } while (0)
)";

inline constexpr char dft_memory_text[] = R"(
/* Element `number` of a transform, as its definition counts, is in row ROW_OF(number, shift). */
#define ROW_OF(number, shift) ((number) + (shift) < ALL_POINTS ? (number) + (shift) : (number) + (shift) - ALL_POINTS)
/* In registers: (to_x, to_y) = element i of the unit at `there`. */
#define READ_POINT(to_x, to_y, there, i)                                              \
    do {                                                                              \
        index const number = (there).j + (index)(i) * SPAN;                           \
        index const row = IN_MOVED ? ROW_OF(number, x_shift) : number;                \
        to_x = 0, to_y = 0;                                                           \
        if ((there).has && (!IN_CHIRP || number < CHIRP) && (!IN_MOVED || row < x_rows)) { \
            index const at = IN_BASE(there) + row * (IN_UNIT ? 1 : x_point);          \
            READ_X(to_x, to_y, at);                                                   \
        }                                                                             \
    } while (0)
#if IN_INSIDE
#define IN_BASE(there) ((there).set * x_side)
#else
#define IN_BASE(there) ((there).batch * x_batch + (there).col * x_side)
#endif
#if IN_REAL
#define READ_X(to_x, to_y, at) to_x = LOAD(REAL, x, at)
#else
#define READ_X(to_x, to_y, at)                      \
    do {                                            \
        scalar read;                                \
        LOAD_ALIGNED(IN_ALIGNED, read, x, at);      \
        to_x = read.x, to_y = x_sign * read.y; \
    } while (0)
#endif
/* Elements i and i + 1. */
#define READ_PAIR(to_x, to_y, next_x, next_y, there, i)                               \
    do {                                                                              \
        index const row = IN_MOVED ? ROW_OF((index)(i), x_shift) : (index)(i);        \
        to_x = 0, to_y = 0, next_x = 0, next_y = 0;                                   \
        if ((there).has && (!IN_MOVED || row < x_rows)) {                             \
            index const at = (there).batch * x_batch + (there).col * x_side + row;    \
            VECTOR(REAL, 4) const read = LOAD_VECTOR(REAL, 4, (GLOBAL REAL const *)(x + at), 0); \
            to_x = read.x, to_y = x_sign * read.y;                    \
            next_x = read.z, next_y = x_sign * read.w;                \
        }                                                                             \
    } while (0)
/* A real factor leaves an infinite part alone. */
#define TIMES_FACTOR(to_x, to_y, from_x, from_y)                                      \
    do {                                                                              \
        REAL const given_x = from_x, given_y = c_sign * (from_y);   \
        REAL const turned_x = factor.y * given_x, turned_y = factor.y * given_y;      \
        to_x = fma(factor.x, given_x, factor.y == 0 ? 0 : -turned_y);                 \
        to_y = fma(factor.x, given_y, factor.y == 0 ? 0 : turned_x);                  \
    } while (0)
#if OUT_INSIDE
#define WRITE_POINT(from_x, from_y, there, i)                                         \
    do {                                                                              \
        index const number = NUMBER_OF(there, i);                                     \
        if ((there).has) {                                                            \
            scalar result;                                                            \
            result.x = from_x, result.y = from_y;                                     \
            STORE_ALIGNED(OUT_ALIGNED, c, (there).set * c_side + number * c_point, result);           \
        }                                                                             \
    } while (0)
#else
#define WRITE_POINT(from_x, from_y, there, i)                                         \
    do {                                                                              \
        index const number = NUMBER_OF(there, i);                                     \
        index const row = OUT_MOVED ? ROW_OF(number, c_shift) : number;               \
        if ((there).has && (!OUT_CHIRP || number < CHIRP) && (!OUT_MOVED || row < c_rows)) { \
            scalar result;                                                            \
            TIMES_FACTOR(result.x, result.y, from_x, from_y);                         \
            END(result, there, row)                                                   \
            STORE_ALIGNED(OUT_ALIGNED, c, (there).batch * c_batch + (there).col * c_side + row * (OUT_UNIT ? 1 : c_point), result); \
        }                                                                             \
    } while (0)
#endif
#define WRITE_PAIR(from_x, from_y, next_x, next_y, there, i)                          \
    do {                                                                              \
        index const row = OUT_MOVED ? ROW_OF((index)(i), c_shift) : (index)(i);       \
        if ((there).has && (!OUT_MOVED || row < c_rows)) {                            \
            VECTOR(REAL, 4) both;                                                     \
            TIMES_FACTOR(both.x, both.y, from_x, from_y);                             \
            TIMES_FACTOR(both.z, both.w, next_x, next_y);                             \
            GLOBAL OUT *const at = c + ((there).batch * c_batch + (there).col * c_side + row); \
            STORE_VECTOR(REAL, 4, (GLOBAL REAL *)at, 0, both);                        \
        }                                                                             \
    } while (0)
#if ENDS
#define END(result, there, row)                                                       \
    if (adds) {                                                                       \
        scalar added = LOAD(OUT, e, (there).batch * e_batch + (there).col * e_side + (row) * e_point); \
        if (e_conjugated) added.y = -added.y;                                         \
        result.x = fma(beta.x, added.x, fma(-beta.y, added.y, result.x));             \
        result.y = fma(beta.x, added.y, fma(beta.y, added.x, result.y));              \
    }                                                                                 \
    result = epilogue(result, row0 + (turned ? (there).col : (row)),                  \
                      col0 + (turned ? (row) : (there).col) EPILOGUE_NAMES);
#else
#define END(result, there, row)
#endif
#define DFT_PARAMETERS                                                                                 \
    BUFFER(IN const, x), index x_point, index x_side, index x_batch, index x_rows, index x_shift,      \
        int x_conjugated, BUFFER(OUT const, e), index e_point, index e_side, index e_batch,            \
        int e_conjugated, scalar beta, int adds, BUFFER(OUT, c), index c_point, index c_side,          \
        index c_batch, index c_rows, index c_shift, int c_conjugated, scalar factor, index units,      \
        index sets, index first, index cols, index row0, index col0, int turned,                       \
        BUFFER(OUT const, spectrum) EPILOGUE_STATE
)";

STRATAGEMM_END
