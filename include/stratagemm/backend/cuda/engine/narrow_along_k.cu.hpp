// narrow.cu.hpp where A lies along k, by threads.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_along_k_text[] = R"cu(
/* A lane reads AHEAD pieces of all rows of its warp at a time. Sums beyond those of C are zero. */
constexpr int PIECE = 32 * EACH, STEP = STAGES * PIECE, SUMS = power_of_two(MICRO_M * COLS);
constexpr int AHEAD = MICRO_M >= 4 || COLS * sizeof(scalar) > 64 ? 2 : 4;
/* Whole pieces that are left are asked for together, if there are registers. */
constexpr int LEFT = RESIDENT > 1 && sizeof(A_IN) > 1 ? AHEAD - 1 : 1;
constexpr int AT_END = SUMS > 32 ? SUMS / 32 : 1; /* of a lane, after lanes have added up theirs */

/* Adds the products of a vector of each row and one of column j of B. */
inline void add(arguments const &p, scalar (&sum)[SUMS], run_of<A_IN, EACH> const (&v)[MICRO_M],
                run_of<IN, EACH> const &y, int j) {
#if INTEGER
    /* Four terms at a time. */
    union words { run_of<IN, EACH> x; unsigned w[EACH / 4]; } const factors = {y};
#pragma unroll
    for (int r = 0; r < MICRO_M; ++r) {
        words const terms = {v[r]};
#pragma unroll
        for (int w = 0; w < EACH / 4; ++w)
            asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum[r * COLS + j]) : "r"(terms.w[w]), "r"(factors.w[w]));
    }
#else
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        scalar const factor = number_of_b(p, y.x[e]);
#pragma unroll
        for (int r = 0; r < MICRO_M; ++r)
            sum[r * COLS + j] = multiply_add(number_of_a(p, v[r].x[e]), factor, sum[r * COLS + j]);
    }
#endif
}
/* Adds the terms of a lane. The warp begins with those from `begin` on. */
inline void multiply_lines(arguments const &p, scalar (&sum)[SUMS], A_IN const *const (&a)[MICRO_M], IN const *b,
                           int begin, int end) {
    int const lane = threadIdx.x % 32, from = DENSE ? lane * EACH : lane;
    index const apart_a = DENSE ? 1 : 32 * p.a.col;
    int l = begin + from;
    for (; l - from + (AHEAD - 1) * STEP + PIECE <= end; l += AHEAD * STEP) {
        run_of<A_IN, EACH> v[AHEAD][MICRO_M];
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
#pragma unroll
            for (int r = 0; r < MICRO_M; ++r) v[s][r] = all_of_a(a[r] + (l + s * STEP) * p.a.col, apart_a);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
#pragma unroll
            for (int j = 0; j < COLS; ++j) add(p, sum, v[s], all_of(b + l + s * STEP + j * p.b.col, 32), j);
    }
    while (l - from + PIECE <= end) {
        run_of<A_IN, EACH> v[LEFT][MICRO_M];
        auto const whole = [&](int s) { return l - from + s * STEP + PIECE <= end; };
#pragma unroll
        for (int s = 0; s < LEFT; ++s)
            if (whole(s))
#pragma unroll
                for (int r = 0; r < MICRO_M; ++r) v[s][r] = all_of_a(a[r] + (l + s * STEP) * p.a.col, apart_a);
        int left = 0;
#pragma unroll
        for (int s = 0; s < LEFT; ++s)
            if (whole(s)) {
                left = s + 1;
#pragma unroll
                for (int j = 0; j < COLS; ++j) add(p, sum, v[s], all_of(b + l + s * STEP + j * p.b.col, 32), j);
            }
        l += left * STEP;
    }
    for (; l - from < end; l += STEP) {
        int const there = DENSE ? end - l : (end - l + 31) / 32;
        run_of<A_IN, EACH> v[MICRO_M];
#pragma unroll
        for (int r = 0; r < MICRO_M; ++r) v[r] = some_of(a[r] + l * p.a.col, apart_a, there);
#pragma unroll
        for (int j = 0; j < COLS; ++j) add(p, sum, v, some_of(b + l + j * p.b.col, DENSE ? 1 : 32, there), j);
    }
}

inline void multiply_block(arguments const &p, epilogue_state const &state, block_of_narrow const &block) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const first = block.first, number = block.number, batch = block.batch;
    int const row = first + warp / STAGES * MICRO_M, slice = warp % STAGES;
    scalar sum[SUMS] = {};
    A_IN const *a[MICRO_M];
#pragma unroll
    for (int r = 0; r < MICRO_M; ++r) a[r] = element<A_IN>(p.a, min(row + r, p.m - 1), 0, batch);
    multiply_lines(p, sum, a, element<IN>(p.b, 0, 0, batch), block.begin + slice * PIECE, block.end);
    int which = 0;
    bool const here = add_lanes<SUMS, 16>(sum, which, lane);
#if STAGES > 1
    struct alignas(16) all_sums { scalar x[8 * SUMS]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x + warp * SUMS + which;
#pragma unroll
    for (int x = 0; x < AT_END; ++x)
        if (here) room[x] = sum[x];
    __syncthreads();
    if (!TOGETHER && slice > 0) return;
    if (slice == 0)
#pragma unroll
        for (int x = 0; x < AT_END; ++x)
            for (int w = 1; w < STAGES; ++w) sum[x] = sum[x] + room[w * SUMS + x];
#endif
#if TOGETHER
    extern __shared__ __align__(16) char memory[];
    scalar *const sums = (scalar *)memory;
#endif
#pragma unroll
    for (int x = 0; x < AT_END; ++x) {
        int const i = row + (which + x) / COLS, j = (which + x) % COLS;
        if (!here || which + x >= MICRO_M * COLS) continue;
#if TOGETHER
        if (slice == 0) sums[i - first + j * TILE_M] = sum[x];
#else
        if (i < p.m) finish(p, state, sum[x], i, j, number);
#endif
    }
#if TOGETHER
    add_up_blocks(p, state, sums, first, number);
#endif
}
)cu";

STRATAGEMM_END
