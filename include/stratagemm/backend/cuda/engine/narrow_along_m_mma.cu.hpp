// narrow.cu.hpp where A lies along m, on tensor cores.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_along_m_mma_text[] = R"cu(
/* C^T = B^T A^T. A lane has EACH neighbouring rows of A, each of which is a column of another product. The terms of a lane
   are NEXT apart. Lanes whose rows are all beyond the block read what other lanes read. */
static_assert(TILE_M == (MICRO_N - SHIFTED) * EACH && (MICRO_N == 8 || !SHIFTED), "rows of a block");
constexpr int BESIDE = MICRO_N / 8, SLICES = 8 / BESIDE; /* warps beside each other, and those that share terms */
constexpr int NEXT = SHIFTED ? 8 : 1, PIECE = 4 * TERMS, SPAN = (PIECE - 1) * NEXT, STEP = SLICES * PIECE;
constexpr int SUMS = TILE_M * 8;
using terms = run_of<IN, TERMS>;
using sums_of_lane = scalar[EACH][4];

/* TERMS lines of A, times as many terms of a column of B. */
inline void add(sums_of_lane &sum, run_of<IN, EACH> const (&x)[TERMS], terms const &y) {
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        terms column;
#pragma unroll
        for (int l = 0; l < TERMS; ++l) column.x[l] = x[l].x[e];
        multiply(sum[e], y, terms{}, column);
    }
}
/* What a lane reads: rows of A from i0 on, and a column of B. */
struct lines_of_lane {
    IN const *a, *b;
    index next_a, next_b; /* from one term to the next */
    int i0, t;

    inline terms factors(int l) const {
        if (B_ALONG_K && !SHIFTED) return *(terms const *)(b + l);
        terms y;
#pragma unroll
        for (int e = 0; e < TERMS; ++e) y.x[e] = b[(l + e * NEXT) * next_b];
        return y;
    }
    /* Adds AHEAD pieces at a time, from l on, as long as there are such before `until`. */
    template <int AHEAD> inline void add_pieces(sums_of_lane &sum, int &l, int until) const {
        for (; l - TERMS * NEXT * t + (AHEAD - 1) * STEP + SPAN < until; l += AHEAD * STEP) {
            run_of<IN, EACH> x[AHEAD][TERMS];
            terms y[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                for (int e = 0; e < TERMS; ++e) x[s][e] = passing(a + (l + s * STEP + e * NEXT) * next_a);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) y[s] = factors(l + s * STEP);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) add(sum, x[s], y[s]);
        }
    }
    /* Adds a piece of terms from `least` to `until`. */
    inline void add_rest(sums_of_lane &sum, int l, int least, int until) const {
        run_of<IN, EACH> x[TERMS];
        terms y = {};
#pragma unroll
        for (int e = 0; e < TERMS; ++e) {
            int const at = l + e * NEXT;
            bool const there = (at >= least) & (at < until);
            x[e] = all_if(there, a + at * next_a, 1);
            if (there) y.x[e] = b[at * next_b];
        }
        add(sum, x, y);
    }
    /* Adds a line, element by element where a vector is not within A. */
    inline void add_line(arguments const &p, sums_of_lane &sum, int at) const {
        run_of<IN, EACH> x[TERMS] = {};
        terms y = {};
        if (t == 0) {
            IN const *const line = a + at * next_a;
            x[0] = is_within(p, i0, at) ? all_of(line, 1) : some_of(line, 1, p.m - i0, -i0);
            y.x[0] = b[at * next_b];
        }
        add(sum, x, y);
    }
};

inline void multiply_block(arguments const &p, epilogue_state const &state, block_of_narrow const &block) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int const first = block.first, batch = block.batch, begin = block.begin, end = block.end;
    int const slice = warp / BESIDE, start = begin + slice * (SHIFTED ? 1 : PIECE);
    int const shift = SHIFTED ? place_in_vector(element<IN>(p.a, first, start, batch)) : 0;
    int const down = warp % BESIDE * 8 * EACH - shift, from = first + down; /* the first row of the warp */
    bool const some = from + g * EACH < min(p.m, first + TILE_M);
    int const i0 = some ? from + g * EACH : first - shift;
    lines_of_lane const lines{element<IN>(p.a, i0, 0, batch), element<IN>(p.b, 0, min(g, COLS - 1), batch), p.a.col,
                              p.b.row, i0, t};
    sums_of_lane sum = {};
    int l = start + TERMS * NEXT * t;
    int const until = from + 8 * EACH > p.m && end == p.k ? end - 1 : end;
    /* No vector may begin before the first line of A or end after its last line: such lines are added separately. All rows
       of such a line are, or 0 times infinity would count for some of them. */
    int const least = SHIFTED && from < 0 && start == 0 ? 1 : 0;
    bool careful = least > 0;
    for (;; l += STEP, careful = false) {
        if (!careful) lines.add_pieces<2>(sum, l, until), lines.add_pieces<1>(sum, l, until);
        if (l - TERMS * NEXT * t >= until) break;
        lines.add_rest(sum, l, least, until);
    }
    if (least > 0) lines.add_line(p, sum, 0);
    if (until < end && slice == (SHIFTED ? (until - begin) % 8 : 0)) lines.add_line(p, sum, until);
    struct alignas(16) all_sums { scalar x[SLICES * SUMS]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
#pragma unroll
    for (int e = 0; e < EACH; ++e)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            int const i = down + (2 * t + c) * EACH + e;
            if (!SHIFTED || (i >= 0 && i < TILE_M)) room[slice * SUMS + g * TILE_M + i] = sum[e][c];
        }
    __syncthreads();
    finish_block(p, state, first, block.number, [&](int i, int j) {
        scalar together = room[j * TILE_M + i];
#pragma unroll
        for (int w = 1; w < SLICES; ++w) together = together + room[w * SUMS + j * TILE_M + i];
        return together;
    });
}
)cu";

STRATAGEMM_END
