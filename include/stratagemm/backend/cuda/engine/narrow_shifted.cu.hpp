// narrow.cu.hpp where lines of A along k begin anywhere (SHIFTED): 16 bits, on tensor cores. Functions take what they
// work on as arguments: with the same values in a struct, NVRTC needs more registers than there are.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_shifted_text[] = R"cu(
/* C^T = B^T A^T. Terms are counted from the start of the vector of A that holds the first term. So the first term has the
   number `shift`, the last one the number `length` - 1, and vectors begin at multiples of EACH. A warp has eight rows of
   each 64 rows of the block. If the block has fewer rows, STAGES warps share the terms of eight rows, STEP terms in
   turn. */
static_assert(ON_TENSOR_CORES && GROUP * sizeof(IN) == 16, "rows begin at the same place within a vector");
constexpr int EIGHTS = TILE_M > 64 ? 2 : 1, PAIRS = (COLS + 15) / 16, STEP = 4 * EACH;
constexpr int AHEAD = PAIRS > 2 ? 2 : 4, ROUND = AHEAD * STAGES * STEP; /* as there are registers for */
static_assert(TILE_M * STAGES == 64 * EIGHTS && TILE_K % ROUND == 0);
using some = run_of<IN, EACH>;
using sums_of_warp = scalar[EIGHTS][PAIRS][4];
using lines_of_a = IN const *[EIGHTS];

/* Where a thread is: row g of eight and place t of four in its warp. The warp has rows of the block from `row` on, and the
   slice number `slice` of the terms. */
struct place_of_thread {
    int g, t, slice, row;
    /* The first term of step s of the warp. */
    inline int step(int s) const { return (s * STAGES + slice) * STEP; }
};
inline place_of_thread this_thread() {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return {lane / 4, lane % 4, warp % STAGES, warp / STAGES * 8};
}
/* Prefetches the first terms of A to the second-level cache while B is staged in shared memory. With more columns there are
   no registers left for that. */
inline void prefetch(lines_of_a const &a, int shift, int length) {
    place_of_thread const here = this_thread();
#pragma unroll
    for (int s = 0; s < AHEAD; ++s)
#pragma unroll
        for (int r = 0; r < EIGHTS; ++r)
            if (PAIRS == 1 && here.step(s) + here.t * EACH >= shift && here.step(s) + (here.t + 1) * EACH <= length)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(a[r] + here.step(s)));
}
/* Vectors of B change places within 128 bytes: eight threads that read or store at a time use all banks. */
inline int swizzle(int j) { return j % 2 * 4 + j / 2 % 4; }
/* Stages `depth` terms of B, from term `from` on, in shared memory. If columns lie along k, a vector is made of 32 aligned
   bytes that lie within the column. Other vectors are read element by element. */
inline void bring(arguments const &p, IN *of_b, IN const *b, int from, int depth, int shift, int terms) {
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
}
/* Adds the products of a thread's vectors of rows and its terms of B, which begin with term u in shared memory. */
template <int ROWS>
inline void add(sums_of_warp &sum, some const (&x)[ROWS], IN const *of_b, int g, int u, bool there) {
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
}
/* Adds the products of the whole vectors among `depth` terms, from term `from` on, for ROWS times eight rows. */
template <int ROWS>
inline void multiply_from(sums_of_warp &sum, lines_of_a const &a, IN const *of_b, int from, int depth, int shift,
                          int length) {
    place_of_thread const here = this_thread();
    int const t = here.t;
#pragma unroll 1
    for (int u = 0; u < depth; u += ROUND) {
        some x[AHEAD][ROWS];
        if (from + u >= shift && from + u + ROUND <= length) {
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) x[s][r] = passing(a[r] + (from + u + here.step(s)));
        } else {
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) {
                int const at = from + u + here.step(s);
                bool const whole = at + t * EACH >= shift && at + (t + 1) * EACH <= length;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) x[s][r] = all_if(whole, a[r] + at, 1);
            }
        }
        /* Vectors that only begin or end within a row have been added before: here not even their zeros are multiplied,
           since B may be infinite. */
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) {
            int const at = from + u + here.step(s) + t * EACH;
            add(sum, x[s], of_b, here.g, u + here.step(s) + t * EACH, at >= shift && at + EACH <= length);
        }
    }
}
/* Warps that share terms add up their sums in shared memory, where the blocks of a cluster read those of a block. */
inline void store_sums(arguments const &p, epilogue_state const &state, sums_of_warp const &sum, int first,
                       int number) {
    extern __shared__ __align__(16) char memory[];
    place_of_thread const here = this_thread();
    scalar *const sums = (scalar *)memory, *const room = sums + (TOGETHER ? TILE_M * COLS : 0);
    if (TOGETHER || STAGES > 1) __syncthreads();
#pragma unroll
    for (int r = 0; r < EIGHTS; ++r)
#pragma unroll
        for (int q = 0; q < PAIRS; ++q)
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                int const x = r * 64 + here.row + 2 * here.t + c % 2, j = q * 16 + here.g + c / 2 * 8;
                if (j >= COLS) continue;
#if STAGES > 1
                room[(here.slice * COLS + j) * TILE_M + x] = sum[r][q][c];
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
}

inline void multiply_block(arguments const &p, epilogue_state const &state, block_of_narrow const &block) {
    int const first = block.first, batch = block.batch, begin = block.begin, terms = block.end - begin;
    extern __shared__ __align__(16) char memory[];
    IN *const of_b = (IN *)memory;
    place_of_thread const here = this_thread();
    int const g = here.g, t = here.t;
    int const shift = first < p.m ? place_in_vector(element<IN>(p.a, first, begin, batch)) : 0;
    int const length = first < p.m ? terms + shift : 0;
    lines_of_a a;
    IN const *const b = element<IN>(p.b, begin, 0, batch);
    int eights = 0; /* groups of eight rows that are within A */
#pragma unroll
    for (int r = 0; r < EIGHTS; ++r) {
        int const i = first + (r * 64 + here.row + g) * GROUP;
        a[r] = element<IN>(p.a, i < p.m ? i : first, begin, batch) - shift + t * EACH;
        if (i - g * GROUP < p.m) eights = r + 1;
    }
    prefetch(a, shift, length);
    sums_of_warp sum = {};
    for (int from = 0; from < length; from += TILE_K) {
        int const depth = min(TILE_K, (length - from + STEP - 1) / STEP * STEP);
        /* Vectors that only begin or end within a row are read element by element. */
        int const last = length / EACH * EACH;
        bool const has_head = from == 0 && shift > 0, is_first = STAGES == 1 || here.slice == 0;
        bool const has_tail = last < length && last >= from && last < from + depth && !(has_head && last == 0);
        some head[EIGHTS] = {}, tail[EIGHTS] = {};
#pragma unroll
        for (int r = 0; r < EIGHTS; ++r) {
            if (has_head && is_first && t == 0) head[r] = some_of(a[r], 1, length, shift);
            if (has_tail && is_first && t == 0) tail[r] = some_of(a[r] + last, 1, length - last);
        }
        if (from > 0) __syncthreads();
        bring(p, of_b, b, from, depth, shift, terms);
        __syncthreads();
        if (has_head && is_first) add(sum, head, of_b, g, 0, t == 0);
        if (has_tail && is_first) add(sum, tail, of_b, g, last - from, t == 0);
        if (eights == EIGHTS)
            multiply_from<EIGHTS>(sum, a, of_b, from, depth, shift, length);
        else if (eights == 1)
            multiply_from<1>(sum, a, of_b, from, depth, shift, length);
    }
    store_sums(p, state, sum, first, block.number);
}
)cu";

STRATAGEMM_END
