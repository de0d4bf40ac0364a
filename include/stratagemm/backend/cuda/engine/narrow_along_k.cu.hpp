// narrow.cu.hpp where A lies along k: lines that begin anywhere (SHIFTED), aligned lines and words for tensor cores, and
// threads for all else.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_along_k_text[] = R"cu(
extern "C" __global__ void __launch_bounds__(256, RESIDENT)
narrow(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    block_of_narrow const block = this_block(p);
    int const first = block.first, number = block.number, batch = block.batch, begin = block.begin, end = block.end;
#if SHIFTED
    /* C^T = B^T A^T. Terms are counted from the vector of A in which the first one is, so that this has the number
       `shift`, and vectors begin at multiples of EACH. A warp has eight rows of each 64 of the block; of a block with
       fewer rows, STAGES warps share the terms of eight rows, STEP of them in turn. */
    static_assert(ON_TENSOR_CORES && GROUP * sizeof(IN) == 16, "rows begin at the same place within a vector");
    constexpr int EIGHTS = TILE_M > 64 ? 2 : 1, PAIRS = (COLS + 15) / 16, STEP = 4 * EACH;
    constexpr int AHEAD = PAIRS > 2 ? 2 : 4, ROUND = AHEAD * STAGES * STEP; /* as there are registers for */
    static_assert(TILE_M * STAGES == 64 * EIGHTS && TILE_K % ROUND == 0);
    using some = run_of<IN, EACH>;
    extern __shared__ __align__(16) char memory[];
    IN *const of_b = (IN *)memory;
    /* Vectors of B change places within 128 bytes: eight threads that read or store at a time use all banks. */
    auto const swizzle = [](int j) { return j % 2 * 4 + j / 2 % 4; };
    int const g = lane / 4, t = lane % 4, terms = end - begin, slice = warp % STAGES, row = warp / STAGES * 8;
    int const shift = first < p.m ? place_in_vector(element<IN>(p.a, first, begin, batch)) : 0;
    int const length = first < p.m ? terms + shift : 0;
    IN const *a[EIGHTS], *const b = element<IN>(p.b, begin, 0, batch);
    int eights = 0; /* of these, that are there */
#pragma unroll
    for (int r = 0; r < EIGHTS; ++r) {
        int const i = first + (r * 64 + row + g) * GROUP;
        a[r] = element<IN>(p.a, i < p.m ? i : first, begin, batch) - shift + t * EACH;
        if (i - g * GROUP < p.m) eights = r + 1;
    }
    auto const step = [&](int s) { return (s * STAGES + slice) * STEP; };
    /* The first terms of A are on their way to the second-level cache while B comes to shared memory. With more columns
       there are no registers left for that. */
#pragma unroll
    for (int s = 0; s < AHEAD; ++s)
#pragma unroll
        for (int r = 0; r < EIGHTS; ++r)
            if (PAIRS == 1 && step(s) + t * EACH >= shift && step(s) + (t + 1) * EACH <= length)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(a[r] + step(s)));
    scalar sum[EIGHTS][PAIRS][4] = {};
    /* What each thread has of rows, times its terms of B from number u of what is in shared memory on. */
    auto const add = [&](auto const &x, int u, bool there) {
        constexpr int ROWS = sizeof(x) / sizeof(some);
        IN const *const column = of_b + (g * TILE_K + (u / EACH ^ swizzle(g)) * EACH);
#pragma unroll
        for (int q = 0; q < PAIRS; ++q) {
            some y = {}, z = {};
            if (there) y = *(some const *)(column + q * 16 * TILE_K);
            if (there && q * 16 + 8 < COLS) z = *(some const *)(column + (q * 16 + 8) * TILE_K);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int e = 0; e < EACH; e += TERMS)
                    multiply(sum[r][q], part_of<TERMS>(y, e), part_of<TERMS>(z, e), part_of<TERMS>(x[r], e));
        }
    };
    auto const multiply_from = [&](auto const &rows, int from, int depth) {
        constexpr int ROWS = sizeof(rows);
#pragma unroll 1
        for (int u = 0; u < depth; u += ROUND) {
            some x[AHEAD][ROWS];
            if (from + u >= shift && from + u + ROUND <= length) {
#pragma unroll
                for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) x[s][r] = passing(a[r] + (from + u + step(s)));
            } else {
#pragma unroll
                for (int s = 0; s < AHEAD; ++s) {
                    int const at = from + u + step(s);
                    bool const whole = at + t * EACH >= shift && at + (t + 1) * EACH <= length;
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) x[s][r] = all_if(whole, a[r] + at, 1);
                }
            }
            /* What is within a row in part has been added: not even zeros are multiplied by an infinite B then. */
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) {
                int const at = from + u + step(s) + t * EACH;
                add(x[s], u + step(s) + t * EACH, at >= shift && at + EACH <= length);
            }
        }
    };
    for (int from = 0; from < length; from += TILE_K) {
        int const depth = min(TILE_K, (length - from + STEP - 1) / STEP * STEP);
        /* Vectors that are within a row in part are read element by element. */
        int const last = length / EACH * EACH;
        bool const has_head = from == 0 && shift > 0, is_first = STAGES == 1 || slice == 0;
        bool const has_tail = last < length && last >= from && last < from + depth && !(has_head && last == 0);
        some head[EIGHTS] = {}, tail[EIGHTS] = {};
#pragma unroll
        for (int r = 0; r < EIGHTS; ++r) {
            if (has_head && is_first && t == 0) head[r] = some_of(a[r], 1, length, shift);
            if (has_tail && is_first && t == 0) tail[r] = some_of(a[r] + last, 1, length - last);
        }
        if (from > 0) __syncthreads();
        /* Vectors of B: of a column that lies so from 32 aligned bytes, where these are within the column, else
           element by element. */
        constexpr int IN_COLUMN = TILE_K / EACH, ALL = IN_COLUMN * COLS, AT_A_TIME = PAIRS > 2 ? 2 : 4;
        bool const lies_so = p.b.row == 1;
#pragma unroll 1
        for (int begins = threadIdx.x; begins < ALL; begins += AT_A_TIME * 256) {
            auto const number = [&](int v) { return begins + v * 256; };
            auto const c = [&](int v) { return lies_so ? number(v) % IN_COLUMN : number(v) / COLS; };
            auto const j = [&](int v) { return lies_so ? number(v) / IN_COLUMN : number(v) % COLS; };
            auto const is_there = [&](int v) { return (number(v) < ALL) & (c(v) * EACH < depth); };
            some y[AT_A_TIME];
            if (lies_so) {
                uint4 low[AT_A_TIME], high[AT_A_TIME];
                auto const begins_at = [&](int v) { return b + (from + c(v) * EACH - shift) + j(v) * p.b.col; };
                auto const is_within = [&](int v) {
                    int const l = from + c(v) * EACH - shift;
                    return is_there(v) & (l >= EACH) & (l + 2 * EACH <= terms);
                };
#pragma unroll
                for (int v = 0; v < AT_A_TIME; ++v) {
                    unsigned long long const at = (unsigned long long)begins_at(v) & ~15ull;
                    uint4 const *const aligned = is_within(v) ? (uint4 const *)at : (uint4 const *)&nothing;
                    low[v] = aligned[0], high[v] = aligned[1];
                }
#pragma unroll
                for (int v = 0; v < AT_A_TIME; ++v)
                    y[v] = shifted_by((unsigned)(unsigned long long)begins_at(v) % 16, low[v], high[v]);
#pragma unroll
                for (int v = 0; v < AT_A_TIME; ++v)
                    if (int const l = from + c(v) * EACH - shift; is_there(v) && !is_within(v))
                        y[v] = some_of(begins_at(v), 1, terms - l, -l);
            } else {
#pragma unroll
                for (int v = 0; v < AT_A_TIME; ++v) {
                    int const l = from + c(v) * EACH - shift;
                    IN const *at = b + l * p.b.row + j(v) * p.b.col;
                    if (is_there(v) && l >= 0 && l + EACH <= terms)
#pragma unroll
                        for (int e = 0; e < EACH; ++e, at += p.b.row) y[v].x[e] = *at;
                    else
                        y[v] = some_of(at, p.b.row, is_there(v) ? terms - l : 0, -l);
                }
            }
#pragma unroll
            for (int v = 0; v < AT_A_TIME; ++v)
                if (is_there(v)) *(some *)(of_b + (j(v) * TILE_K + (c(v) ^ swizzle(j(v))) * EACH)) = y[v];
        }
        __syncthreads();
        if (has_head && is_first) add(head, 0, t == 0);
        if (has_tail && is_first) add(tail, last - from, t == 0);
        char const all[EIGHTS] = {}, one[1] = {};
        if (eights == EIGHTS)
            multiply_from(all, from, depth);
        else if (eights == 1)
            multiply_from(one, from, depth);
    }
    scalar *const sums = (scalar *)memory, *const room = sums + (TOGETHER ? TILE_M * COLS : 0);
    if (TOGETHER || STAGES > 1) __syncthreads();
#pragma unroll
    for (int r = 0; r < EIGHTS; ++r)
#pragma unroll
        for (int q = 0; q < PAIRS; ++q)
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                int const x = r * 64 + row + 2 * t + c % 2, j = q * 16 + g + c / 2 * 8;
                if (j >= COLS) continue;
#if STAGES > 1
                room[(slice * COLS + j) * TILE_M + x] = sum[r][q][c];
#elif TOGETHER
                sums[j * TILE_M + x] = sum[r][q][c];
#else
                if (first + x * GROUP < p.m) finish(p, state, sum[r][q][c], first + x * GROUP, j, number);
#endif
            }
#if STAGES > 1
    __syncthreads();
    for (int x = threadIdx.x; x < TILE_M * COLS; x += 256) {
        scalar together = room[x];
#pragma unroll
        for (int w = 1; w < STAGES; ++w) together = together + room[w * TILE_M * COLS + x];
        int const i = first + x % TILE_M * GROUP;
        if (TOGETHER)
            sums[x] = together;
        else if (i < p.m)
            finish(p, state, together, i, x / TILE_M, number);
    }
#endif
#if TOGETHER
    add_up_blocks(p, state, sums, first, number);
#endif
#elif ON_TENSOR_CORES
    int const row = first + warp / STAGES * MICRO_M, slice = warp % STAGES;
    IN const *const b = element<IN>(p.b, 0, 0, batch);
    constexpr int PIECE = 4 * EACH, SUMS = 128;
    int const g = lane / 4, t = lane % 4;
    IN const *const a0 = element<IN>(p.a, min(row + g, p.m - 1), 0, batch);
    IN const *const a1 = element<IN>(p.a, min(row + g + 8, p.m - 1), 0, batch);
    IN const *const column = b + min(g, COLS - 1) * p.b.col; /* what is not a column of B counts for none of C */
    index const apart = B_ALONG_K ? 1 : p.b.row;
    scalar sum[4] = {};
    static_assert(EACH % TERMS == 0, "a vector is multiplied as a whole");
    auto const as_words = [](run_of<IN, EACH> const &x) {
        union { run_of<IN, EACH> run; vector words; } const u = {x};
        return u.words;
    };
    /* Volatile, or the compiler would ask for what comes next only after it has waited for this. */
    auto const words_at = [](IN const *from) {
        unsigned w[4];
#pragma unroll
        for (int x = 0; x < 4; ++x)
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(w[x]) : "l"((unsigned const *)from + x));
        return vector{{{w[0], w[1]}, {w[2], w[3]}}};
    };
    auto const vector_of_b = [&](int l) {
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
    };
    /* 128 bytes, because lines of A begin anywhere within those of the cache: the next piece has the rest of one. */
    auto const vector_of_a = [&](IN const *from) {
        vector v;
#if WORDS
        v = words_at(from);
#else
        asm volatile("ld.global.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.half[0].x), "=r"(v.half[0].y), "=r"(v.half[1].x), "=r"(v.half[1].y) : "l"(from));
#endif
        return v;
    };
    constexpr int AHEAD = 2, STEP = STAGES * AHEAD * PIECE; /* pieces of 64 bytes: neighbours, a line of the cache */
    int l = begin + slice * (AHEAD * PIECE) + EACH * t;
    struct pieces { vector x[AHEAD], y[AHEAD], z[AHEAD]; } some[2];
    auto const ask = [&](pieces &v, int at) {
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
            v.x[s] = vector_of_a(a0 + at + s * PIECE), v.y[s] = vector_of_a(a1 + at + s * PIECE);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) v.z[s] = vector_of_b(at + s * PIECE);
    };
    auto const add = [&](pieces const &v) {
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) multiply(sum, v.x[s], v.y[s], v.z[s]);
    };
    auto const are_there = [&](int at) { return at - EACH * t + AHEAD * PIECE <= end; };
    /* The next pieces are asked for before those that have come are multiplied: loads are always under way. */
    bool more = are_there(l);
    if (more) ask(some[0], l);
    while (more) {
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            l += STEP;
            more = are_there(l);
            if (more) ask(some[1 - x], l);
            add(some[x]);
            if (!more) break;
        }
    }
    /* A whole piece that is left, and a part of one. */
    if (l - EACH * t < end) {
        pieces v = {};
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) {
            int const at = l + s * PIECE, there = end - at;
            if (there >= EACH)
                v.x[s] = vector_of_a(a0 + at), v.y[s] = vector_of_a(a1 + at), v.z[s] = vector_of_b(at);
            else if (there > 0)
                v.x[s] = as_words(some_of(a0 + at, 1, there)), v.y[s] = as_words(some_of(a1 + at, 1, there)),
                v.z[s] = as_words(some_of(column + at * apart, apart, there));
        }
        add(v);
    }
    struct alignas(16) all_sums { scalar x[8 * SUMS]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
#pragma unroll
    for (int e = 0; e < 4; ++e) room[warp * SUMS + (2 * t + e % 2) * 16 + g + e / 2 * 8] = sum[e];
    __syncthreads();
    finish_block(p, state, first, number, [&](int i, int j) {
        scalar const *const sums = room + i / 16 * STAGES * SUMS + j * 16 + i % 16;
        scalar together = sums[0];
        for (int w = 1; w < STAGES; ++w) together = together + sums[w * SUMS];
        return together;
    });
#else
    int const row = first + warp / STAGES * MICRO_M, slice = warp % STAGES;
    IN const *const b = element<IN>(p.b, 0, 0, batch);
    constexpr int PIECE = 32 * EACH, SUMS = power_of_two(MICRO_M * COLS); /* those beyond are zero */
    constexpr int AT_END = SUMS > 32 ? SUMS / 32 : 1; /* of a lane */
    scalar sum[SUMS] = {};
    A_IN const *a[MICRO_M];
#pragma unroll
    for (int r = 0; r < MICRO_M; ++r) a[r] = element<A_IN>(p.a, min(row + r, p.m - 1), 0, batch);
    index const apart_a = DENSE ? 1 : 32 * p.a.col;
    auto const add = [&](run_of<A_IN, EACH> const (&v)[MICRO_M], run_of<IN, EACH> const &y, int j) {
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
        return;
#endif
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            scalar const factor = number_of_b(p, y.x[e]);
#pragma unroll
            for (int r = 0; r < MICRO_M; ++r)
                sum[r * COLS + j] = multiply_add(number_of_a(p, v[r].x[e]), factor, sum[r * COLS + j]);
        }
    };
    constexpr int AHEAD = MICRO_M >= 4 || COLS * sizeof(scalar) > 64 ? 2 : 4, STEP = STAGES * PIECE;
    int const from = DENSE ? lane * EACH : lane;
    int l = begin + slice * PIECE + from;
    for (; l - from + (AHEAD - 1) * STEP + PIECE <= end; l += AHEAD * STEP) {
        run_of<A_IN, EACH> v[AHEAD][MICRO_M];
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
#pragma unroll
            for (int r = 0; r < MICRO_M; ++r) v[s][r] = all_of_a(a[r] + (l + s * STEP) * p.a.col, apart_a);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
#pragma unroll
            for (int j = 0; j < COLS; ++j) add(v[s], all_of(b + l + s * STEP + j * p.b.col, 32), j);
    }
    /* Whole pieces that are left are asked for together, if there are registers. */
    constexpr int LEFT = RESIDENT > 1 && sizeof(A_IN) > 1 ? AHEAD - 1 : 1;
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
                for (int j = 0; j < COLS; ++j) add(v[s], all_of(b + l + s * STEP + j * p.b.col, 32), j);
            }
        l += left * STEP;
    }
    for (; l - from < end; l += STEP) {
        int const there = DENSE ? end - l : (end - l + 31) / 32;
        run_of<A_IN, EACH> v[MICRO_M];
#pragma unroll
        for (int r = 0; r < MICRO_M; ++r) v[r] = some_of(a[r] + l * p.a.col, apart_a, there);
#pragma unroll
        for (int j = 0; j < COLS; ++j) add(v, some_of(b + l + j * p.b.col, DENSE ? 1 : 32, there), j);
    }
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
#endif
}
)cu";

STRATAGEMM_END
