// narrow.cu.hpp where A lies along m, by threads.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_along_m_text[] = R"cu(
constexpr int SIDE_BY_SIDE = MICRO_N, DOWN = 256 / SIDE_BY_SIDE;
static_assert(TILE_M == (SIDE_BY_SIDE - SHIFTED) * EACH, "rows of a block");
/* A thread loads AHEAD lines of A before it multiplies any; at the end of a round it loads LEFT at a time. */
constexpr int AHEAD = EACH * COLS > 32 ? 4 : 8, LEFT = sizeof(A_IN) > 1 && EACH * COLS > 24 ? 2 : 4;
/* Several columns of B are staged in shared memory, TILE_K terms at a time. A thread reads WIDTH columns at a time; the
   last columns of a ROW may be padding. */
constexpr int WIDTH = sizeof(scalar) == 4 && COLS > 2 ? 4 : sizeof(scalar) <= 8 ? 2 : 1;
constexpr int ROW = (COLS + WIDTH - 1) / WIDTH * WIDTH, OF_B = COLS > 1 ? TILE_K * ROW : 0;
constexpr int ROOM = OF_B > 8 * TILE_M ? OF_B : 8 * TILE_M; /* B, and afterwards the sums of warps */
using sums_of_thread = scalar[EACH][COLS];

/* A thread has EACH rows, from row i0 on, of every DOWN-th line of A, from line `slice` on. The lines that a warp reads at
   a time are eight apart. */
struct rows_of_thread {
    int at, slice, shift, i0, first; /* first: the first row of the block */

    /* Whether any of these rows is within the block, and whether all of them are within A. */
    inline bool some(arguments const &p) const { return i0 < min(p.m, first + TILE_M); }
    inline bool all(arguments const &p) const { return DENSE ? some(p) : i0 + (EACH - 1) * SIDE_BY_SIDE < p.m; }
    /* How far apart the rows lie, and how many are within A. The latter is for rows that are not DENSE. */
    inline index apart(arguments const &p) const { return DENSE ? 1 : SIDE_BY_SIDE * p.a.row; }
    inline int there(arguments const &p) const { return i0 >= p.m ? 0 : (p.m - i0 - 1) / SIDE_BY_SIDE + 1; }
    /* Whether the vector of this thread begins before the first line of A, or ends after the last line. */
    inline bool reads_first(arguments const &p, block_of_narrow const &block) const {
        return SHIFTED && i0 < 0 && block.begin + slice == 0;
    }
    inline bool reads_last(arguments const &p, block_of_narrow const &block) const {
        return DENSE && i0 + EACH > p.m && block.end == p.k;
    }

    inline run_of<A_IN, EACH> careful(arguments const &p, A_IN const *line) const {
        return DENSE ? some_of(line, 1, p.m - i0, -i0) : some_of(line, apart(p), there(p));
    }
    /* Loads lines l, l + DOWN, ... that are before `until`. Line 0 of `a` is the line `from` of A. */
    inline void left_of(arguments const &p, run_of<A_IN, EACH> (&v)[LEFT], A_IN const *a, int from, int l,
                        int until) const {
#pragma unroll
        for (int x = 0; x < LEFT; ++x) {
            int const at = l + x * DOWN;
            v[x] = all_if((at < until) & all(p) & (!DENSE | is_within(p, i0, from + at)), a + at * p.a.col, apart(p));
        }
        if (DENSE ? i0 < 0 || i0 + EACH > p.m : !all(p))
#pragma unroll
            for (int x = 0; x < LEFT; ++x)
                if (int const at = l + x * DOWN; at < until && !(DENSE && is_within(p, i0, from + at)))
                    v[x] = careful(p, a + at * p.a.col);
    }
};
inline rows_of_thread rows_of(arguments const &p, block_of_narrow const &block) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = block.first;
    int const at = lane % SIDE_BY_SIDE, slice = warp + lane / SIDE_BY_SIDE * 8;
    int const shift = SHIFTED ? place_in_vector(element<A_IN>(p.a, first, block.begin + warp, block.batch)) : 0;
    return {at, slice, shift, first + (DENSE ? at * EACH - shift : at), first};
}

#if COLS == 1
/* Adds lines l, l + DOWN, ... times a column of B. */
template <int N, class LOAD, class THERE>
inline void add(arguments const &p, sums_of_thread &sum, IN const *b, int l, int until, LOAD const &load,
                THERE const &is_there) {
    run_of<A_IN, EACH> v[N];
    IN y[N];
    load(v);
#pragma unroll
    for (int x = 0; x < N; ++x) y[x] = b[min(l + x * DOWN, until - 1) * p.b.row];
#pragma unroll
    for (int x = 0; x < N; ++x) {
        scalar const factor = is_there(l + x * DOWN) ? number_of_b(p, y[x]) : scalar();
#pragma unroll
        for (int e = 0; e < EACH; ++e) sum[e][0] = multiply_add(number_of_a(p, v[x].x[e]), factor, sum[e][0]);
    }
}
/* A single column of B is read in place, without barriers, so that loads are always in flight. */
inline void multiply_lines(arguments const &p, sums_of_thread &sum, rows_of_thread const &rows,
                           block_of_narrow const &block, scalar *) {
    A_IN const *const a = element<A_IN>(p.a, rows.i0, block.begin, block.batch);
    IN const *const b = element<IN>(p.b, block.begin, 0, block.batch);
    run_of<A_IN, EACH> head = {};
    if (rows.reads_first(p, block)) head = rows.careful(p, element<A_IN>(p.a, rows.i0, 0, block.batch));
    int const until = block.end - block.begin;
    int l = rows.slice;
    if (rows.all(p)) {
        int const safe = rows.reads_last(p, block) ? until - 1 : until;
        if (rows.reads_first(p, block)) l += DOWN;
        auto const load = [&](auto &v) {
#pragma unroll
            for (int x = 0; x < AHEAD; ++x) {
                A_IN const *const line = a + (l + x * DOWN) * p.a.col;
                v[x] = DENSE ? passing(line) : all_of(line, rows.apart(p));
            }
        };
        for (; l + (AHEAD - 1) * DOWN < safe; l += AHEAD * DOWN)
            add<AHEAD>(p, sum, b, l, until, load, [](int) { return true; });
    }
    if (rows.some(p))
#pragma unroll 1
        for (; l < until; l += LEFT * DOWN)
            add<LEFT>(p, sum, b, l, until, [&](auto &v) { rows.left_of(p, v, a, block.begin, l, until); },
                      [&](int at) { return at < until; });
    if (rows.reads_first(p, block))
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            sum[e][0] = multiply_add(number_of_a(p, head.x[e]), number_of_b(p, b[0]), sum[e][0]);
}
#else
/* Stages TILE_K terms of all columns of B in shared memory. Only `left` terms exist; the others become zeros. */
inline void bring(arguments const &p, scalar *of_b, IN const *b, int left) {
    bool const down = COLS > 1 && (p.b.row < 0 ? -p.b.row : p.b.row) > (p.b.col < 0 ? -p.b.col : p.b.col);
#pragma unroll 8
    for (int t = threadIdx.x; t < TILE_K * COLS; t += 256) {
        int const l = down ? t / COLS : t % TILE_K, j = down ? t % COLS : t / TILE_K;
        of_b[l * ROW + j] = l < left ? number_of_b(p, b[l * p.b.row + j * p.b.col]) : scalar();
    }
}
/* Adds a line of A times a row of B. */
inline void add(arguments const &p, sums_of_thread &sum, run_of<A_IN, EACH> const &v, scalar const *row) {
#pragma unroll
    for (int j0 = 0; j0 < COLS; j0 += WIDTH) {
        run_of<scalar, WIDTH> const y = *(run_of<scalar, WIDTH> const *)(row + j0);
#pragma unroll
        for (int j = 0; j < WIDTH && j0 + j < COLS; ++j)
#pragma unroll
            for (int e = 0; e < EACH; ++e)
                sum[e][j0 + j] = multiply_add(number_of_a(p, v.x[e]), y.x[j], sum[e][j0 + j]);
    }
}
inline void multiply_lines(arguments const &p, sums_of_thread &sum, rows_of_thread const &rows,
                           block_of_narrow const &block, scalar *of_b) {
    run_of<A_IN, EACH> head = {};
    if (rows.reads_first(p, block)) head = rows.careful(p, element<A_IN>(p.a, rows.i0, 0, block.batch));
    for (int from = block.begin; from < block.end; from += TILE_K) {
        __syncthreads();
        bring(p, of_b, element<IN>(p.b, from, 0, block.batch), block.end - from);
        __syncthreads();
        int const until = min(block.end - from, TILE_K);
        A_IN const *const a = element<A_IN>(p.a, rows.i0, from, block.batch);
        int l = rows.slice;
        if (rows.all(p)) {
            int const safe = rows.reads_last(p, block) && from + until == p.k ? until - 1 : until;
            if (rows.reads_first(p, block) && from == 0) add(p, sum, head, of_b + l * ROW), l += DOWN;
            for (; l + (AHEAD - 1) * DOWN < safe; l += AHEAD * DOWN) {
                run_of<A_IN, EACH> v[AHEAD];
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) v[x] = all_of(a + (l + x * DOWN) * p.a.col, rows.apart(p));
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) add(p, sum, v[x], of_b + (l + x * DOWN) * ROW);
            }
        }
        if (rows.some(p))
#pragma unroll 1
            for (; l < until; l += LEFT * DOWN) {
                run_of<A_IN, EACH> v[LEFT];
                rows.left_of(p, v, a, from, l, until);
#pragma unroll
                for (int x = 0; x < LEFT; ++x)
                    if (l + x * DOWN < until) add(p, sum, v[x], of_b + (l + x * DOWN) * ROW);
            }
    }
}
#endif

/* Stores the sums, one column at a time: lanes of a warp that have the same rows add up theirs, then the warps do. */
inline void store_sums_of_threads(arguments const &p, epilogue_state const &state, sums_of_thread const &sum,
                                  rows_of_thread const &rows, scalar *room, int first, int number) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#if TOGETHER
    extern __shared__ __align__(16) char memory[];
    scalar *const sums = (scalar *)memory;
#endif
#pragma unroll
    for (int j = 0; j < COLS; ++j) {
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            scalar one = sum[e][j];
#pragma unroll
            for (int apart = SIDE_BY_SIDE; apart < 32; apart *= 2) one = one + from_lane(one, lane ^ apart);
            int const i = DENSE ? rows.at * EACH + e - rows.shift : e * SIDE_BY_SIDE + rows.at;
            if (lane < SIDE_BY_SIDE && (!SHIFTED || (i >= 0 && i < TILE_M))) room[warp * TILE_M + i] = one;
        }
        __syncthreads();
        for (int r = threadIdx.x; r < TILE_M && (TOGETHER || first + r < p.m); r += 256) {
            scalar together = room[r];
#pragma unroll
            for (int w = 1; w < 8; ++w) together = together + room[w * TILE_M + r];
#if TOGETHER
            sums[j * TILE_M + r] = together;
#else
            finish(p, state, together, first + r, j, number);
#endif
        }
    }
#if TOGETHER
    add_up_blocks(p, state, sums, first, number);
#endif
}

inline void multiply_block(arguments const &p, epilogue_state const &state, block_of_narrow const &block) {
    struct alignas(16) all_sums { scalar x[ROOM]; };
    __shared__ all_sums of_warps;
    rows_of_thread const rows = rows_of(p, block);
    sums_of_thread sum = {};
    multiply_lines(p, sum, rows, block, of_warps.x);
    store_sums_of_threads(p, state, sum, rows, of_warps.x, block.first, block.number);
}
)cu";

STRATAGEMM_END
