// narrow.cu.hpp where A lies along k, in aligned lines or in lines of words, on tensor cores.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_along_k_mma_text[] = R"cu(
/* A warp has 16 rows. AHEAD pieces of 64 bytes of each are read at a time: neighbours, a line of the cache. */
constexpr int PIECE = 4 * EACH, SUMS = 128, AHEAD = 2, STEP = STAGES * AHEAD * PIECE;
static_assert(EACH % TERMS == 0, "a vector is multiplied as a whole");

inline vector as_words(run_of<IN, EACH> const &x) {
    union { run_of<IN, EACH> run; vector words; } const u = {x};
    return u.words;
}
/* Volatile, or the compiler would ask for what comes next only after it has waited for this. */
inline vector words_at(IN const *from) {
    unsigned w[4];
#pragma unroll
    for (int x = 0; x < 4; ++x)
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(w[x]) : "l"((unsigned const *)from + x));
    return vector{{{w[0], w[1]}, {w[2], w[3]}}};
}
/* 128 bytes, because lines of A begin anywhere within those of the cache: the next piece has the rest of one. */
inline vector vector_of_a(IN const *from) {
    vector v;
#if WORDS
    v = words_at(from);
#else
    asm volatile("ld.global.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.half[0].x), "=r"(v.half[0].y), "=r"(v.half[1].x), "=r"(v.half[1].y) : "l"(from));
#endif
    return v;
}

/* What a lane reads: rows g and g + 8 of the warp, and column g of B, whose terms are `apart`. */
struct lines_of_lane {
    IN const *a0, *a1, *column;
    index apart;

    inline vector vector_of_b(int l) const {
        vector v;
#if B_ALONG_K && WORDS
        v = words_at(column + l);
#elif B_ALONG_K
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.half[0].x), "=r"(v.half[0].y), "=r"(v.half[1].x), "=r"(v.half[1].y) : "l"(column + l));
#else
        v = as_words(some_of(column + l * apart, apart, EACH));
#endif
        return v;
    }
};
/* Pieces of two rows and of a column. */
struct pieces {
    vector x[AHEAD], y[AHEAD], z[AHEAD];

    inline void ask(lines_of_lane const &from, int at) {
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
            x[s] = vector_of_a(from.a0 + at + s * PIECE), y[s] = vector_of_a(from.a1 + at + s * PIECE);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) z[s] = from.vector_of_b(at + s * PIECE);
    }
    /* As far as there are terms before `end`. */
    inline void ask_for_rest(lines_of_lane const &from, int l, int end) {
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) {
            int const at = l + s * PIECE, there = end - at;
            if (there >= EACH)
                x[s] = vector_of_a(from.a0 + at), y[s] = vector_of_a(from.a1 + at), z[s] = from.vector_of_b(at);
            else if (there > 0)
                x[s] = as_words(some_of(from.a0 + at, 1, there)), y[s] = as_words(some_of(from.a1 + at, 1, there)),
                z[s] = as_words(some_of(from.column + at * from.apart, from.apart, there));
        }
    }
    inline void add_to(scalar (&sum)[4]) const {
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) multiply(sum, x[s], y[s], z[s]);
    }
};
/* Adds the terms of a lane from l on, which is EACH * t after those that the warp reads next. */
inline void multiply_lines(scalar (&sum)[4], lines_of_lane const &from, int l, int t, int end) {
    pieces some[2];
    auto const are_there = [&](int at) { return at - EACH * t + AHEAD * PIECE <= end; };
    /* The next pieces are asked for before those that have come are multiplied: loads are always under way. */
    bool more = are_there(l);
    if (more) some[0].ask(from, l);
    while (more) {
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            l += STEP;
            more = are_there(l);
            if (more) some[1 - x].ask(from, l);
            some[x].add_to(sum);
            if (!more) break;
        }
    }
    /* A whole piece that is left, and a part of one. */
    if (l - EACH * t < end) {
        pieces v = {};
        v.ask_for_rest(from, l, end);
        v.add_to(sum);
    }
}

inline void multiply_block(arguments const &p, epilogue_state const &state, block_of_narrow const &block) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int const row = block.first + warp / STAGES * MICRO_M, slice = warp % STAGES;
    auto const line = [&](int i) { return element<IN>(p.a, min(row + i, p.m - 1), 0, block.batch); };
    /* Lanes beyond the columns of B read the last column, and their sums are not stored. */
    lines_of_lane const from{line(g), line(g + 8), element<IN>(p.b, 0, 0, block.batch) + min(g, COLS - 1) * p.b.col,
                             B_ALONG_K ? 1 : p.b.row};
    scalar sum[4] = {};
    multiply_lines(sum, from, block.begin + slice * (AHEAD * PIECE) + EACH * t, t, block.end);
    struct alignas(16) all_sums { scalar x[8 * SUMS]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
#pragma unroll
    for (int e = 0; e < 4; ++e) room[warp * SUMS + (2 * t + e % 2) * 16 + g + e / 2 * 8] = sum[e];
    __syncthreads();
    finish_block(p, state, block.first, block.number, [&](int i, int j) {
        scalar const *const sums = room + i / 16 * STAGES * SUMS + j * 16 + i % 16;
        scalar together = sums[0];
        for (int w = 1; w < STAGES; ++w) together = together + sums[w * SUMS];
        return together;
    });
}
)cu";

STRATAGEMM_END
