// The kernels of device.hpp: Cholesky's factor of a Gram matrix, its inverse, and sums of squares.
//
// G = L L^H, and X = L^-1: if G is the Gram matrix of Y, Y X^H has orthonormal columns. Both are found in blocks by
// eliminating rows of (G | I), with one launch for a block of rows. A launch takes the rows that the launch before it
// finished from those below. Groups with tiles of the next block row eliminate within it, too: each of them updates the
// tile on the diagonal and eliminates it anew beside its own tile, so that no group waits for another. Finished rows of
// L^H have memory apart from G, whose tiles on the diagonal are read by many groups. Pivots say how much of each column
// of Y the columns before it leave. Where a whole block of them is small enough, the launches behind it return at once:
// the host does not wait to decide.
#pragma once

#include "../../core/types.hpp"

STRATAGEMM_BEGIN

// G is overwritten, and U has the finished rows of L^H. `levels` has the diagonal of G, and then the pivots.
inline constexpr char low_rank_text[] = R"(
#define PARTS (1 + COMPLEX)
#define PITCH (SIDE + 1)
#define STEP (ITEMS / SIDE)
#define COUNT (SIDE / STEP)
#define FIRST_LINE(block) ((index)(block) * SIDE)
#if COMPLEX
#define GET(to, from, at) to.x = from[2 * (at)], to.y = from[2 * (at) + 1]
#define PUT(to, at, from) to[2 * (at)] = from.x, to[2 * (at) + 1] = from.y
#define REAL_PART(v) v.x
#define SCALE(v, by) v.x *= by, v.y *= by
#define CONJUGATE(v) v.y = -v.y
#else
#define GET(to, from, at) to = from[at]
#define PUT(to, at, from) to[at] = from
#define REAL_PART(v) v
#define SCALE(v, by) v *= by
#define CONJUGATE(v)
#endif

FUNCTION double inverse_or_zero(double x, double least) {
    double const pivot = x < least ? least : x; /* Inf and NaN stay */
    return pivot == 0 ? 0 : 1 / pivot;
}

/* The first groups have the tiles of block row `block`: of X up to the diagonal, then of G. The others have tiles of
   the rows below. A work-item has COUNT elements of one row of a tile. */
KERNEL(ITEMS) factor_step(MATRIX(IN, g), MATRIX(IN, u), MATRIX(IN, x), BUFFER(double, levels), index n, int block,
                          int blocks, double noise, double enough) {
    SHARED double left[SIDE * PITCH * PARTS];
    SHARED double right[SIDE * PITCH * PARTS];
    SHARED double sizes[SIDE];
    SHARED int goes_on;
    OPEN(IN, g);
    OPEN(IN, u);
    OPEN(IN, x);
    OPEN(double, levels);
    int const is_first = GROUP < blocks, below = is_first ? 0 : 1 + (GROUP - blocks) / blocks, i = block + below,
              t = is_first ? GROUP : (GROUP - blocks) % blocks, of_x = is_first ? t <= block : t < block,
              j = of_x || is_first ? t : t + below;
    if (j >= blocks) return;
    index const row0 = FIRST_LINE(block), before = row0 - SIDE, row = FIRST_LINE(i), col = FIRST_LINE(j);
    int const rows = (int)min((index)SIDE, n - row), cols = (int)min((index)SIDE, n - col);
    int const r = ITEM % SIDE, q = ITEM / SIDE;
    scalar own[COUNT], diagonal[COUNT];
    double size = 0;
    if (is_first && q == 0 && r < rows) {
        scalar const v = LOAD(IN, g, AT(g, row0 + r, row0 + r));
        size = block > 0 ? levels[row0 + r] : REAL_PART(v);
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        int const c = q + k * STEP;
        own[k] = ZERO, diagonal[k] = ZERO;
        if (r < rows && c < cols) {
            if (!of_x)
                own[k] = LOAD(IN, g, AT(g, row + r, col + c));
            else if (j == block)
                REAL_PART(own[k]) = r == c;
            else if (j + 1 < block)
                own[k] = LOAD(IN, x, AT(x, row + r, col + c));
        }
        if (is_first && r < rows && c < rows) diagonal[k] = LOAD(IN, g, AT(g, row0 + r, row0 + c));
    }
    if (block > 0) {
        scalar above[COUNT], beside[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            int const c = q + k * STEP;
            above[k] = ZERO, beside[k] = ZERO;
            if (c < rows) above[k] = LOAD(IN, u, AT(u, before + r, row + c));
            if (c < cols) {
                if (of_x && j < block)
                    beside[k] = LOAD(IN, x, AT(x, before + r, col + c));
                else if (!of_x)
                    beside[k] = LOAD(IN, u, AT(u, before + r, col + c));
            }
        }
        ANY(goes_on, levels[n + before + r] > enough * levels[before + r]);
        if (!goes_on) {
            if (GROUP == block && q == 0 && r < rows) levels[n + row0 + r] = 0;
            return;
        }
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            int const c = q + k * STEP, by_rows = r * PITCH + c, by_cols = r + c * PITCH;
            PUT(left, by_rows, above[k]);
            PUT(right, by_cols, beside[k]);
        }
        BARRIER();
        for (int l = 0; l < SIDE; ++l) {
            scalar from, v;
            GET(from, left, l * PITCH + r);
            SCALE(from, -1);
            CONJUGATE(from);
#pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                int const c = q + k * STEP;
                GET(v, right, l + c * PITCH);
                own[k] = multiply_add(from, v, own[k]);
                if (is_first) {
                    GET(v, left, l * PITCH + c);
                    diagonal[k] = multiply_add(from, v, diagonal[k]);
                }
            }
        }
    }
    if (!is_first) {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            int const c = q + k * STEP;
            if (r >= rows || c >= cols) continue;
            if (of_x)
                STORE(IN, x, AT(x, row + r, col + c), own[k]);
            else
                STORE(IN, g, AT(g, row + r, col + c), own[k]);
        }
        return;
    }
    if (q == 0) {
        sizes[r] = size;
        if (block == 0 && r < cols) {
            scalar const v = LOAD(IN, g, AT(g, col + r, col + r));
            levels[col + r] = REAL_PART(v);
        }
    }
    BARRIER();
    /* Two pivots at a time: `left` has their columns of the diagonal tile, and `right` their rows of the own one, each in
       one of two places in turn. */
    double pivot = 0;
    for (int p = -2; p < rows; p += 2) {
        int const now = (p + 2) / 2 % 2 * 2 * SIDE, then = 2 * SIDE - now;
        if (p >= 0) {
            scalar first_to_second, second, factor, behind, across, from;
            double const size0 = left[(now + p) * PARTS], by0 = inverse_or_zero(size0, noise * sizes[p]);
            GET(first_to_second, left, now + p + 1);
            GET(second, left, now + SIDE + p + 1);
            from = first_to_second;
            CONJUGATE(from);
            SCALE(first_to_second, -by0);
            second = multiply_add(first_to_second, from, second);
            double const size1 = REAL_PART(second), by1 = inverse_or_zero(size1, noise * sizes[p + 1]);
            if (r == p) pivot = size0;
            if (r == p + 1) pivot = size1;
            if (r > p) {
                GET(factor, left, now + r);
                SCALE(factor, -by0);
                GET(behind, left, now + SIDE + r);
                behind = multiply_add(factor, from, behind);
                SCALE(behind, r > p + 1 ? -by1 : 0);
#pragma unroll
                for (int k = 0; k < COUNT; ++k) {
                    int const c = q + k * STEP;
                    GET(from, right, now + c);
                    GET(across, right, now + SIDE + c);
                    across = multiply_add(first_to_second, from, across);
                    own[k] = multiply_add(factor, from, own[k]);
                    own[k] = multiply_add(behind, across, own[k]);
                    GET(from, left, now + c);
                    GET(across, left, now + SIDE + c);
                    CONJUGATE(from);
                    CONJUGATE(across);
                    across = multiply_add(first_to_second, from, across);
                    diagonal[k] = multiply_add(factor, from, diagonal[k]);
                    diagonal[k] = multiply_add(behind, across, diagonal[k]);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            int const c = q + k * STEP;
            if (c == p + 2 || c == p + 3) {
                int const at = then + (c - p - 2) * SIDE + r;
                PUT(left, at, diagonal[k]);
            }
            if (r == p + 2 || r == p + 3) {
                int const at = then + (r - p - 2) * SIDE + c;
                PUT(right, at, own[k]);
            }
        }
        BARRIER();
    }
    if (GROUP == block && q == 0 && r < rows) levels[n + row0 + r] = pivot;
    double const root = sqrt(inverse_or_zero(pivot, noise * sizes[r]));
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        int const c = q + k * STEP;
        if (r >= rows || c >= cols) continue;
        SCALE(own[k], root);
        if (of_x) {
            STORE(IN, x, AT(x, row + r, col + c), own[k]);
        } else {
            STORE(IN, u, AT(u, row + r, col + c), own[k]);
            STORE(IN, x, AT(x, row + r, col + c), ZERO);
        }
    }
}
)";

// The squares of the elements of a matrix: a sum for each group, in an order that depends on the shape alone.
inline constexpr char low_rank_squares_text[] = R"(
KERNEL(ITEMS) add_squares(MATRIX(IN const, x), index rows, index cols, BUFFER(double, sums)) {
    SHARED double parts[ITEMS];
    OPEN(IN const, x);
    OPEN(double, sums);
    double sum = 0;
    for (EACH(at, rows * cols)) {
        scalar const v = LOAD(IN, x, AT(x, at / cols, at % cols));
#if COMPLEX
        sum = fma((double)v.x, (double)v.x, fma((double)v.y, (double)v.y, sum));
#else
        sum = fma((double)v, (double)v, sum);
#endif
    }
    parts[ITEM] = sum;
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other) parts[ITEM] += parts[ITEM + other];
    }
    if (ITEM == 0) sums[GROUP] = parts[0];
}
)";

// Z = alpha A X + beta Z with A of any type and the rest in double: COLS columns of X. A group has LINES lines of A
// and a chunk of its depth. A lane has some of these lines, and all columns, whose elements of X it reads together with
// the other lanes of its warp; a warp has every eighth step of the depth. The group fetches the next elements while it
// multiplies those that it has. Sums of warps, and then of chunks, are added in order.
inline constexpr char low_rank_wide_text[] = R"(
#define PARTS (1 + COMPLEX)
#define DEPTH (32 / PARTS)
#define PITCH (LINES + 1)
#define WARPS (ITEMS / 32)
#define EACH_OF_A (LINES * DEPTH / ITEMS)
#define EACH_OF_X (COLS * DEPTH / ITEMS)
#if COMPLEX
#define PUT(to, at, v) to[2 * (at)] = v.x, to[2 * (at) + 1] = v.y
#else
#define PUT(to, at, v) to[at] = v
#endif
KERNEL(ITEMS) wide_chunks(MATRIX(IN const, a), int conjugated, MATRIX(OUT const, x), BUFFER(double, chunks), index rows,
                          index depth, index chunk, int blocks) {
    /* Elements of A; in the end, one of two halves of the sums of each warp. */
    SHARED double from[WARPS * COLS * 32];
    SHARED double to[DEPTH * COLS * PARTS];
    OPEN(IN const, a);
    OPEN(OUT const, x);
    OPEN(double, chunks);
    index const row0 = (index)(GROUP % blocks) * LINES, begin = (index)(GROUP / blocks) * chunk;
    index const end = min(begin + chunk, depth);
    int const along = a_col < a_row, is_inside = row0 + LINES <= rows;
    /* Where a work-item finds its elements of A: each some lines or some columns behind the last one. */
    int const l_of_a = along ? ITEM % DEPTH : ITEM / LINES, r_of_a = along ? ITEM / DEPTH : ITEM % LINES;
    int const l_step = along ? 0 : ITEMS / LINES, r_step = along ? ITEMS / DEPTH : 0;
    int const l_of_x = ITEM % DEPTH, c_of_x = ITEM / DEPTH;
    double sums[2 * COLS];
#pragma unroll
    for (int u = 0; u < 2 * COLS; ++u) sums[u] = 0;
    scalar next_a[EACH_OF_A];
    OUT_VALUE next_x[EACH_OF_X];
    for (index l0 = begin - DEPTH; l0 < end; l0 += DEPTH) {
        int const is_here = l0 >= begin, comes = l0 + DEPTH < end;
        BARRIER();
        if (is_here) {
#pragma unroll
            for (int e = 0; e < EACH_OF_A; ++e) {
                int const place = (l_of_a + e * l_step) * PITCH + r_of_a + e * r_step;
#if COMPLEX
                if (conjugated) next_a[e].y = -next_a[e].y;
#endif
                PUT(from, place, next_a[e]);
            }
#pragma unroll
            for (int e = 0; e < EACH_OF_X; ++e) {
                int const place = l_of_x * COLS + c_of_x + e * (ITEMS / DEPTH);
                PUT(to, place, next_x[e]);
            }
        }
        BARRIER();
        if (comes) {
            /* Beyond the edges, A has the elements on them, and X has zeros. */
            index const l1 = l0 + DEPTH, at_x = l1 + l_of_x;
            index const at = AT(a, row0 + r_of_a, l1 + l_of_a), step = AT(a, r_step, l_step);
            if (is_inside && l1 + DEPTH <= end) {
#pragma unroll
                for (int e = 0; e < EACH_OF_A; ++e) next_a[e] = LOAD(IN, a, at + e * step);
            } else {
#pragma unroll
            for (int e = 0; e < EACH_OF_A; ++e) {
                index const r = min(row0 + r_of_a + e * r_step, rows - 1), l = min(l1 + l_of_a + e * l_step, end - 1);
                next_a[e] = LOAD(IN, a, AT(a, r, l));
            }
            }
#pragma unroll
            for (int e = 0; e < EACH_OF_X; ++e) {
                next_x[e] = LOAD(OUT, x, AT(x, min(at_x, end - 1), c_of_x + e * (ITEMS / DEPTH)));
#if COMPLEX
                if (at_x >= end) next_x[e].x = 0, next_x[e].y = 0;
#else
                if (at_x >= end) next_x[e] = 0;
#endif
            }
        }
        if (!is_here) continue;
#pragma unroll
        for (int step = 0; step < DEPTH / WARPS; ++step) {
            int const l = step * WARPS + WARP;
#if COMPLEX
            double const re = from[(l * PITCH + LANE) * 2], im = from[(l * PITCH + LANE) * 2 + 1];
#pragma unroll
            for (int c = 0; c < COLS; ++c) {
                double const x_re = to[(l * COLS + c) * 2], x_im = to[(l * COLS + c) * 2 + 1];
                sums[c] = fma(re, x_re, fma(-im, x_im, sums[c]));
                sums[COLS + c] = fma(re, x_im, fma(im, x_re, sums[COLS + c]));
            }
#else
            double const first = from[l * PITCH + LANE], second = from[l * PITCH + LANE + 32];
#pragma unroll
            for (int c = 0; c < COLS; ++c) {
                double const by = to[l * COLS + c];
                sums[c] = fma(first, by, sums[c]);
                sums[COLS + c] = fma(second, by, sums[COLS + c]);
            }
#endif
        }
    }
    /* Halves are lines of real numbers, and real and imaginary parts of complex ones. */
#pragma unroll
    for (int part = 0; part < 2; ++part) {
        BARRIER();
#pragma unroll
        for (int c = 0; c < COLS; ++c) from[(WARP * COLS + c) * 32 + LANE] = sums[part * COLS + c];
        BARRIER();
        index const row = row0 + LANE + (COMPLEX ? 0 : 32 * part);
        for (int c = WARP; c < COLS; c += WARPS) {
            double sum = 0;
            for (int w = 0; w < WARPS; ++w) sum += from[(w * COLS + c) * 32 + LANE];
            index const at = ((index)(GROUP / blocks) * COLS + c) * rows + row;
            if (row < rows) chunks[COMPLEX ? 2 * at + part : at] = sum;
        }
    }
}
KERNEL(ITEMS) wide_sum(BUFFER(double const, chunks), int count, OUT_VALUE alpha, MATRIX(OUT, z), int adds, index rows) {
    OPEN(double const, chunks);
    OPEN(OUT, z);
    index const all = rows * COLS;
    for (EACH(at, all)) {
        index const place = AT(z, at % rows, at / rows);
        double sums[PARTS];
        for (int p = 0; p < PARTS; ++p) {
            sums[p] = 0;
            for (int c = 0; c < count; ++c) sums[p] += chunks[(c * all + at) * PARTS + p];
        }
#if COMPLEX
        OUT_VALUE v;
        v.x = alpha.x * sums[0] - alpha.y * sums[1], v.y = alpha.x * sums[1] + alpha.y * sums[0];
        if (adds) {
            OUT_VALUE const before = LOAD(OUT, z, place);
            v.x += before.x, v.y += before.y;
        }
#else
        double v = alpha * sums[0];
        if (adds) v += LOAD(OUT, z, place);
#endif
        STORE(OUT, z, place, v);
    }
}
/* |alpha A X - Q Y|^2 from chunks of both products: a sum for each group. */
KERNEL(ITEMS) wide_squares(BUFFER(double const, chunks), int of_a, int of_q, OUT_VALUE alpha, index rows,
                           BUFFER(double, squares)) {
    SHARED double parts[ITEMS];
    OPEN(double const, chunks);
    OPEN(double, squares);
    index const all = rows * COLS;
    double sum = 0;
    for (EACH(at, all)) {
        double from[PARTS], taken[PARTS];
        for (int p = 0; p < PARTS; ++p) {
            from[p] = 0, taken[p] = 0;
            for (int c = 0; c < of_a; ++c) from[p] += chunks[(c * all + at) * PARTS + p];
            for (int c = of_a; c < of_a + of_q; ++c) taken[p] += chunks[(c * all + at) * PARTS + p];
        }
#if COMPLEX
        double const re = alpha.x * from[0] - alpha.y * from[1] - taken[0];
        double const im = alpha.x * from[1] + alpha.y * from[0] - taken[1];
        sum = fma(re, re, fma(im, im, sum));
#else
        double const rest = alpha * from[0] - taken[0];
        sum = fma(rest, rest, sum);
#endif
    }
    parts[ITEM] = sum;
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other) parts[ITEM] += parts[ITEM + other];
    }
    if (ITEM == 0) squares[GROUP] = parts[0];
}
)";

STRATAGEMM_END
