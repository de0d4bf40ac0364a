// What low_rank decides by on a device: Cholesky's factor of a Gram matrix, its inverse, and sums of squares.
//
// G = L L^H, and X = L^-1: if G is the Gram matrix of Y, Y X^H has orthonormal columns. Both are found in blocks by
// eliminating rows of (G | I), with two launches for a block of columns. Every group of the first launch finds the
// same L^-1 of the block on the diagonal, and multiplies one block of its rows by it; the second launch takes these
// rows from those below. No block leaves the device. Pivots say how much of each column of Y the columns before it
// leave.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../../core/leaf.hpp"
#include "../../device/dialect.hpp"
#include "small.hpp"

STRATAGEMM_BEGIN

// G is overwritten. `levels` has the diagonal of G, and then the pivots.
inline constexpr char low_rank_text[] = R"(
#define PARTS (1 + COMPLEX)
#define FIRST_LINE(block) ((index)(block) * SIDE)
#if COMPLEX
#define GET(to, from, at) to.x = from[2 * (at)], to.y = from[2 * (at) + 1]
#define PUT(to, at, from) to[2 * (at)] = from.x, to[2 * (at) + 1] = from.y
#define REAL_PART(v) v.x
#define SCALE(v, by) v.x *= by, v.y *= by
#else
#define GET(to, from, at) to = from[at]
#define PUT(to, at, from) to[at] = from
#define REAL_PART(v) v
#define SCALE(v, by) v *= by
#endif
#define EACH_OF_BLOCK(r, c) for (int c = ITEM / SIDE, r = ITEM % SIDE; c < SIDE; c += ITEMS / SIDE)

FUNCTION double inverse_or_zero(double x, double least) {
    double const pivot = x < least ? least : x; /* Inf and NaN stay */
    return pivot == 0 ? 0 : 1 / pivot;
}

KERNEL(ITEMS) begin_factor(MATRIX(IN const, g), MATRIX(IN, x), BUFFER(double, levels), index n) {
    OPEN(IN const, g);
    OPEN(IN, x);
    OPEN(double, levels);
    for (EACH(at, n * n)) {
        index const i = at % n, j = at / n;
        scalar unit = ZERO;
        if (i == j) {
            scalar const size = LOAD(IN, g, AT(g, i, i));
            levels[i] = REAL_PART(size);
#if COMPLEX
            unit.x = 1;
#else
            unit = 1;
#endif
        }
        STORE(IN, x, AT(x, i, j), unit);
    }
}

/* Group t has block t of the rows: of X up to the diagonal, then of G. */
KERNEL(ITEMS) factor_rows(MATRIX(IN, g), MATRIX(IN, x), BUFFER(double, levels), index n, int block, double noise) {
    SHARED double rest[SIDE * SIDE * PARTS];
    SHARED double inverse[SIDE * SIDE * PARTS];
    OPEN(IN, g);
    OPEN(IN, x);
    OPEN(double, levels);
    index const row0 = FIRST_LINE(block);
    int const rows = (int)min((index)SIDE, n - row0);
    EACH_OF_BLOCK(r, c) {
        scalar v = ZERO, unit = ZERO;
        if (r < rows && c < rows) v = LOAD(IN, g, AT(g, row0 + r, row0 + c));
#if COMPLEX
        unit.x = r == c;
#else
        unit = r == c;
#endif
        PUT(rest, r + c * SIDE, v);
        PUT(inverse, r + c * SIDE, unit);
    }
    for (int p = 0; p < rows; ++p) {
        BARRIER();
        double const by = inverse_or_zero(rest[(p + p * SIDE) * PARTS], noise * levels[row0 + p]);
        EACH_OF_BLOCK(r, c) {
            if (r <= p) continue;
            scalar factor, from, v;
            GET(factor, rest, r + p * SIDE);
            SCALE(factor, -by);
            if (c > p) {
                GET(from, rest, p + c * SIDE);
                GET(v, rest, r + c * SIDE);
                v = multiply_add(factor, from, v);
                PUT(rest, r + c * SIDE, v);
            } else {
                GET(from, inverse, p + c * SIDE);
                GET(v, inverse, r + c * SIDE);
                v = multiply_add(factor, from, v);
                PUT(inverse, r + c * SIDE, v);
            }
        }
    }
    BARRIER();
    double const own = rest[(ITEM % SIDE) * (1 + SIDE) * PARTS];
    double const root = sqrt(inverse_or_zero(own, noise * levels[row0 + min(ITEM % SIDE, rows - 1)]));
    if (GROUP == block && ITEM < rows) levels[n + row0 + ITEM] = own;
    BARRIER();
    int const of_x = GROUP <= block;
    index const col0 = FIRST_LINE(GROUP);
    int const cols = (int)min((index)SIDE, n - col0);
    EACH_OF_BLOCK(r, c) {
        scalar v = ZERO;
        if (r < rows && c < cols)
            v = of_x ? LOAD(IN, x, AT(x, row0 + r, col0 + c)) : LOAD(IN, g, AT(g, row0 + r, col0 + c));
        PUT(rest, r + c * SIDE, v);
    }
    BARRIER();
    EACH_OF_BLOCK(r, c) {
        if (r >= rows || c >= cols) continue;
        scalar sum = ZERO;
        for (int l = 0; l <= r; ++l) {
            scalar left, right;
            GET(left, inverse, r + l * SIDE);
            GET(right, rest, l + c * SIDE);
            sum = multiply_add(left, right, sum);
        }
        SCALE(sum, root);
        if (of_x)
            STORE(IN, x, AT(x, row0 + r, col0 + c), sum);
        else
            STORE(IN, g, AT(g, row0 + r, col0 + c), sum);
    }
}

/* Takes the rows of a block from those below. Blocks of X come first, then those of G from the diagonal on. */
KERNEL(ITEMS) factor_rest(MATRIX(IN, g), MATRIX(IN, x), index n, int block, int blocks) {
    SHARED double left[SIDE * SIDE * PARTS];
    SHARED double right[SIDE * SIDE * PARTS];
    OPEN(IN, g);
    OPEN(IN, x);
    int const i = block + 1 + GROUP / blocks, t = GROUP % blocks, of_x = t <= block,
              j = of_x ? t : i + t - block - 1;
    if (j >= blocks) return;
    index const row0 = FIRST_LINE(block), row = FIRST_LINE(i), col = FIRST_LINE(j);
    int const depth = SIDE, rows = (int)min((index)SIDE, n - row), cols = (int)min((index)SIDE, n - col);
    EACH_OF_BLOCK(r, c) {
        scalar u = ZERO, v = ZERO;
        if (c < rows) u = conjugate_if(1, LOAD(IN, g, AT(g, row0 + r, row + c)));
        if (c < cols) v = of_x ? LOAD(IN, x, AT(x, row0 + r, col + c)) : LOAD(IN, g, AT(g, row0 + r, col + c));
        PUT(left, c + r * SIDE, u);
        PUT(right, r + c * SIDE, v);
    }
    BARRIER();
    EACH_OF_BLOCK(r, c) {
        if (r >= rows || c >= cols) continue;
        scalar sum = ZERO;
        for (int l = 0; l < depth; ++l) {
            scalar u, v;
            GET(u, left, r + l * SIDE);
            GET(v, right, l + c * SIDE);
            sum = multiply_add(u, v, sum);
        }
        if (of_x)
            STORE(IN, x, AT(x, row + r, col + c), LOAD(IN, x, AT(x, row + r, col + c)) - sum);
        else
            STORE(IN, g, AT(g, row + r, col + c), LOAD(IN, g, AT(g, row + r, col + c)) - sum);
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
// and a chunk of its depth, and a quarter of its work-items every fourth step. Sums of chunks are added in order.
inline constexpr char low_rank_wide_text[] = R"(
#define PARTS (1 + COMPLEX)
#define DEPTH (32 / PARTS)
#define PITCH (LINES + 1)
KERNEL(ITEMS) wide_chunks(MATRIX(IN const, a), int conjugated, MATRIX(OUT const, x), BUFFER(double, chunks), index rows,
                          index depth, index chunk, int blocks) {
    SHARED double from[DEPTH * PITCH * PARTS];
    SHARED double to[DEPTH * COLS * PARTS];
    OPEN(IN const, a);
    OPEN(OUT const, x);
    OPEN(double, chunks);
    index const row0 = (index)(GROUP % blocks) * LINES, begin = (index)(GROUP / blocks) * chunk;
    index const end = min(begin + chunk, depth);
    int const part = ITEM / 64, line = ITEM % 16, col = ITEM % 64 / 16 * 4, along = a_col < a_row;
    double sums[4 * 4 * PARTS];
    for (int u = 0; u < 4 * 4 * PARTS; ++u) sums[u] = 0;
    for (index l0 = begin; l0 < end; l0 += DEPTH) {
        BARRIER();
#pragma unroll
        for (int e = ITEM; e < LINES * DEPTH; e += ITEMS) {
            int const l = along ? e % DEPTH : e / LINES, r = along ? e / DEPTH : e % LINES;
            index const i = row0 + r, k = l0 + l;
#if COMPLEX
            double re = 0, im = 0;
            if (i < rows && k < end) {
                scalar const v = LOAD(IN, a, AT(a, i, k));
                re = v.x, im = conjugated ? -v.y : v.y;
            }
            from[(l * PITCH + r) * 2] = re, from[(l * PITCH + r) * 2 + 1] = im;
#else
            from[l * PITCH + r] = i < rows && k < end ? LOAD(IN, a, AT(a, i, k)) : 0;
#endif
        }
        for (int e = ITEM; e < COLS * DEPTH; e += ITEMS) {
            int const l = e % DEPTH, c = e / DEPTH;
#if COMPLEX
            double re = 0, im = 0;
            if (l0 + l < end) {
                OUT_VALUE const v = LOAD(OUT, x, AT(x, l0 + l, c));
                re = v.x, im = v.y;
            }
            to[(l * COLS + c) * 2] = re, to[(l * COLS + c) * 2 + 1] = im;
#else
            to[l * COLS + c] = l0 + l < end ? LOAD(OUT, x, AT(x, l0 + l, c)) : 0;
#endif
        }
        BARRIER();
#pragma unroll
        for (int step = 0; step < DEPTH / 4; ++step) {
            int const l = 4 * step + part;
#pragma unroll
            for (int u = 0; u < 4; ++u)
#pragma unroll
                for (int v = 0; v < 4; ++v) {
#if COMPLEX
                    int const f = (l * PITCH + line + 16 * u) * 2, t = (l * COLS + col + v) * 2, s = (u * 4 + v) * 2;
                    sums[s] = fma(from[f], to[t], fma(-from[f + 1], to[t + 1], sums[s]));
                    sums[s + 1] = fma(from[f], to[t + 1], fma(from[f + 1], to[t], sums[s + 1]));
#else
                    sums[u * 4 + v] = fma(from[l * PITCH + line + 16 * u], to[l * COLS + col + v], sums[u * 4 + v]);
#endif
                }
        }
    }
    /* The four parts, one after another, in `from`, which has room for LINES x COLS numbers. */
    for (int p = 0; p < 4; ++p) {
        BARRIER();
        if (part != p) continue;
        for (int u = 0; u < 4; ++u)
            for (int v = 0; v < 4; ++v)
                for (int c = 0; c < PARTS; ++c) {
                    int const place = ((line + 16 * u) * COLS + col + v) * PARTS + c;
                    from[place] = (p == 0 ? 0 : from[place]) + sums[(u * 4 + v) * PARTS + c];
                }
    }
    BARRIER();
    for (int e = ITEM; e < LINES * COLS * PARTS; e += ITEMS)
        if (row0 + e / (COLS * PARTS) < rows)
            chunks[((index)(GROUP / blocks) * rows + row0) * COLS * PARTS + e] = from[e];
}
KERNEL(ITEMS) wide_sum(BUFFER(double const, chunks), int count, OUT_VALUE alpha, MATRIX(OUT, z), int adds, index rows) {
    OPEN(double const, chunks);
    OPEN(OUT, z);
    index const all = rows * COLS;
    for (EACH(at, all)) {
        index const place = AT(z, at / COLS, at % COLS);
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
)";

struct low_rank_device {
    static constexpr index_t wide_cols = 16, wide_lines = 64; // of X, and of A in a group
    static constexpr index_t side = 32;  // of blocks, two of which are in the memory of a group
    static constexpr index_t sums = 256; // of squares that a launch leaves

    // Overwrites G, of W, and sets X and the 2 n numbers of `levels`. A pivot of less than `noise` of its column's
    // square counts as so much.
    template <class W, class Leaf, class Space, class Levels>
    static status factor(Leaf const& leaf, view<W, Space> const& g, view<W, Space> const& x, Levels levels,
                         double noise) {
        index_t const n = g.rows, blocks = (n + side - 1) / side;
        auto const kernel = [](char const* name) {
            return device_kernel{name, low_rank_text, "#define SIDE 32\n", 256,
                                 true, false,         kernel_types<W, W>};
        };
        view<W const, Space> const known = g;
        if (status s = leaf.launch(kernel("begin_factor"), groups_for_each(n * n, 256), known, x, levels, n);
            !s)
            return s;
        for (index_t b = 0; b < blocks; ++b) {
            int const block = static_cast<int>(b);
            if (status s = leaf.launch(kernel("factor_rows"), blocks, g, x, levels, n, block, noise); !s)
                return s;
            if (status s = leaf.launch(kernel("factor_rest"), (blocks - b - 1) * blocks, g, x, n, block,
                                       static_cast<int>(blocks));
                !s)
                return s;
        }
        return {};
    }
    // How many chunks the depth of a wide product is cut in: as many as give a device enough groups, of some length.
    static index_t chunks_of(index_t rows, index_t depth) {
        index_t const blocks = (rows + wide_lines - 1) / wide_lines, by_length = (depth + 127) / 128;
        return larger_of(index_t{1}, smaller(1024 / blocks, by_length));
    }
    // Numbers of W that the chunks of `rows` lines take, at most.
    static index_t room_of_chunks(index_t rows) { return wide_cols * larger_of(rows, 1024 * wide_lines); }
    // Z = alpha A X, and Z before it if `adds`.
    template <class T, class W, class Leaf, class Space, class Chunks>
    static status wide_product(Leaf const& leaf, W alpha, view<T const, Space> const& a,
                               view<W const, Space> const& x, view<W, Space> const& z, bool adds,
                               Chunks chunks) {
        index_t const count = chunks_of(a.rows, a.cols), blocks = (a.rows + wide_lines - 1) / wide_lines,
                      chunk = (a.cols + count - 1) / count;
        auto const kernel = [](char const* name) {
            return device_kernel{name,  low_rank_wide_text, "#define COLS 16\n#define LINES 64\n", 256, true,
                                 false, kernel_types<T, W>};
        };
        if (status s = leaf.launch(kernel("wide_chunks"), blocks * count, a, int{a.conjugate}, x, chunks,
                                   a.rows, a.cols, chunk, static_cast<int>(blocks));
            !s)
            return s;
        return leaf.launch(kernel("wide_sum"), groups_for_each(a.rows * wide_cols, 256), chunks,
                           static_cast<int>(count), alpha, z, int{adds}, a.rows);
    }
    // `to` has room for `sums` numbers; all are set.
    template <class T, class Leaf, class Space, class Sums>
    static status add_squares(Leaf const& leaf, view<T const, Space> x, Sums to) {
        if (magnitude(x.row_stride) < magnitude(x.col_stride)) x = x.transposed();
        return leaf.launch(
            device_kernel{"add_squares", low_rank_squares_text, {}, 256, true, false, kernel_types<T, T>},
            sums, x, x.rows, x.cols, to);
    }
};

STRATAGEMM_END
