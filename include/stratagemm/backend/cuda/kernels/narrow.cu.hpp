// A matrix times a few columns, TILE_N of them, such as a vector: as fast as A can be read. A row of C is as good
// as a column (cuda_product turns the product).
//
// DENSE: A may be read as vectors; WORDS: as several words for each, because its lines begin at multiples of 4 bytes
// only. Sums are always added up in one order. PARTIAL: a block has a part of k, whose sums go to workspace. TOGETHER:
// the blocks of a cluster have a part of k each, and add up what they have.
//
// A_ALONG_K: a warp has MICRO_M rows, whose terms its lanes share, and so do STAGES warps of a block. B lies along k,
// too, in aligned lines; on tensor cores, for which a warp has 16 rows, B_ALONG_K says that it does, in lines that begin
// as those of A, and any other B is read as it lies.
//
// Else, a thread has some rows that are next to each other, MICRO_N threads beside it have those that follow, and all
// other threads of the block share the terms. A B of several columns passes through shared memory, TILE_K of its rows at
// a time. ON_TENSOR_CORES: a warp has the rows of eight vectors, and MICRO_N / 8 warps are beside each other; B_ALONG_K
// says that B lies along k in aligned lines.
//
// SHIFTED: lines begin anywhere, and A is DENSE still. Of eight lines one after another, each begins at its own place
// within a vector, and the next eight begin at the same places. Along m a warp takes every eighth line only, so that
// all of its vectors hold the same rows: those of the block, and some before them. Along k (16 bits, tensor cores) a
// block has every GROUP-th row, so that all of its vectors hold the same terms. B then lies in any way, and passes
// through shared memory with its terms as far from their places as those of A are.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_text[] = R"cu(
#define COLS TILE_N
#define ON_TENSOR_CORES (MICRO_M == 16)
constexpr int most_bytes(int size) { return size > 16 ? size : A_ALONG_K || size > 1 ? 16 : 8; }
constexpr int EACH = most_bytes(sizeof(IN)) / sizeof(IN); /* elements of A that a thread has of a vector */

inline scalar number_of_a(arguments const &p, IN x) { return conjugate_if(p.flags & conjugate_a, (scalar)widen(x)); }
inline scalar number_of_b(arguments const &p, IN x) { return conjugate_if(p.flags & conjugate_b, (scalar)widen(x)); }
/* Elements at a distance of `next`, in a vector if it is DENSE; all of them, or those `there`. Loads that depend on
   nothing can all be under way at once. */
inline run_of<IN, EACH> all_of(IN const *from, index next) {
    run_of<IN, EACH> v;
    if (DENSE)
        v = *(run_of<IN, EACH> const *)from;
    else
#pragma unroll
        for (int e = 0; e < EACH; ++e) v.x[e] = from[e * next];
    return v;
}
/* A vector of A, which no other thread reads and which is not read again: it takes no place in the first-level
   cache. */
inline run_of<IN, EACH> passing(IN const *from) {
    if constexpr (EACH * sizeof(IN) == 16) {
        union { unsigned word[4]; run_of<IN, EACH> v; } u;
        asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(u.word[0]), "=r"(u.word[1]), "=r"(u.word[2]), "=r"(u.word[3]) : "l"(from));
        return u.v;
    } else {
        return all_of(from, 1);
    }
}
/* The same of A. */
inline run_of<IN, EACH> all_of_a(IN const *from, index next) {
#if WORDS
    union { unsigned word[EACH * sizeof(IN) / 4]; run_of<IN, EACH> v; } u;
#pragma unroll
    for (int w = 0; w < (int)(EACH * sizeof(IN) / 4); ++w) u.word[w] = ((unsigned const *)from)[w];
    return u.v;
#else
    return all_of(from, next);
#endif
}
inline run_of<IN, EACH> some_of(IN const *from, index next, int there, int begin = 0) {
    run_of<IN, EACH> v = {};
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e >= begin && e < there) v.x[e] = from[e * next];
    return v;
}
/* Which element of an aligned vector this is. */
inline int place_in_vector(IN const *x) { return (int)((unsigned long long)x / sizeof(IN) % EACH); }
/* Whether rows from i0 on of line l along m may be read as a vector. What is before and after the rows of a line belongs
   to other lines or lies between lines, and counts for no row, but nothing is read before the first line or after the
   last. */
inline bool is_within(arguments const &p, int i0, int l) {
    return ((i0 >= 0) | (l > 0)) & ((i0 + EACH <= p.m) | (l + 1 < p.k));
}
/* What is read in place of a vector that does not exist. With a branch for each vector, loads would wait for each
   other. */
struct alignas(16) no_elements { unsigned word[8]; };
__device__ no_elements const nothing = {};
inline run_of<IN, EACH> all_if(bool there, IN const *from, index next) {
    return all_of(there ? from : (IN const *)&nothing, there ? next : 0);
}
template <class T> inline T from_lane(T x, int lane) {
    union { T whole; unsigned word[sizeof(T) / 4]; } v = {x};
#pragma unroll
    for (int w = 0; w < sizeof(T) / 4; ++w) v.word[w] = __shfl_sync(~0u, v.word[w], lane);
    return v.whole;
}
/* Sums of all lanes: of two lanes, each keeps one half of the sums, LEFT of them, and gives the other away; `which`
   tells the number of its first. Whether no other lane has the same. */
template <int LEFT, int APART> inline bool add_lanes(scalar *sum, int &which, int lane) {
    bool const upper = lane & APART;
    if constexpr (APART == 0) {
        return true;
    } else if constexpr (LEFT > 1) {
#pragma unroll
        for (int x = 0; x < LEFT / 2; ++x) {
            scalar const above = sum[x + LEFT / 2];
            sum[x] = (upper ? above : sum[x]) + from_lane(upper ? sum[x] : above, lane ^ APART);
        }
        if (upper) which += LEFT / 2;
        return add_lanes<LEFT / 2, APART / 2>(sum, which, lane);
    } else {
        sum[0] = sum[0] + from_lane(sum[0], lane ^ APART);
        return add_lanes<1, APART / 2>(sum, which, lane) && !upper;
    }
}
constexpr int power_of_two(int least) { return least <= 1 ? 1 : 2 * power_of_two((least + 1) / 2); }
inline void finish(arguments const &p, epilogue_state const &state, scalar sum, int i, int j, int number) {
#if PARTIAL
    store_partial<1>(p, &sum, i, j, number);
#else
    store(p, state, sum, i, j, number);
#endif
}
/* Of a block, whose rows are GROUP apart. */
inline int first_row(int block) { return block / GROUP * (TILE_M * GROUP) + block % GROUP; }
#ifndef TOGETHER
#define TOGETHER 0
#endif
#if TOGETHER
/* Of the sums of a block, which other blocks of the cluster read. */
constexpr int RUN = 16 / sizeof(scalar), RUNS = (TILE_M * COLS + RUN - 1) / RUN;
inline void add_up_blocks(arguments const &p, epilogue_state const &state, scalar const *sums, int first, int number) {
    int const parts = (p.k - 1) / p.part + 1;
    cluster_ends();
    for (int r = block_in_cluster() * 256 + threadIdx.x; r < RUNS; r += parts * 256) {
        union { uint4 words; scalar x[RUN]; } part[8];
#pragma unroll
        for (int b = 0; b < 8; ++b)
            if (b < parts) part[b].words = words_of_block(shared_address(sums + r * RUN), b);
#pragma unroll
        for (int w = 0; w < RUN; ++w) {
            scalar sum = part[0].x[w];
#pragma unroll
            for (int b = 1; b < 8; ++b)
                if (b < parts) sum = sum + part[b].x[w];
            int const x = r * RUN + w, i = first + x % TILE_M * GROUP, j = x / TILE_M;
            if (j < COLS && i < p.m) finish(p, state, sum, i, j, number);
        }
    }
    cluster_ends();
}
#endif
/* Calls `sum` for each sum of a block, and stores what it gives. */
template <class SUM>
inline void finish_block(arguments const &p, epilogue_state const &state, int first, int number, SUM const &sum) {
#if TOGETHER
    extern __shared__ __align__(16) char memory[];
    scalar *const sums = (scalar *)memory;
    for (int x = threadIdx.x; x < TILE_M * COLS; x += 256) sums[x] = sum(x % TILE_M, x / TILE_M);
    add_up_blocks(p, state, sums, first, number);
#else
    for (int x = threadIdx.x; x < TILE_M * COLS; x += 256) {
        int const i = x % TILE_M, j = x / TILE_M;
        scalar const together = sum(i, j);
        if (first + i < p.m) finish(p, state, together, first + i, j, number);
    }
#endif
}

#if ON_TENSOR_CORES
/* 16 x 8 sums of the terms that four lanes have: of rows 0 to 7 of X in x0, of the others in x1, and of columns of Y.
   Which terms these are is free, if X and Y agree. */
static_assert(COLS <= 8 || (A_ALONG_K && SHIFTED));
constexpr int TERMS = 8 / sizeof(IN) > 2 ? 8 / sizeof(IN) : 2; /* of a lane */
template <class T> inline void multiply(double (&c)[4], run_of<T, 2> const &x0, run_of<T, 2> const &x1,
                                        run_of<T, 2> const &y) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(x0.x[0]), "d"(x1.x[0]), "d"(x0.x[1]), "d"(x1.x[1]), "d"(y.x[0]), "d"(y.x[1]));
}
/* Of types whose TERMS are two words. The compiler would take runs of bytes apart and put them together again. */
template <class S> inline void multiply(S (&c)[4], uint2 x0, uint2 x1, uint2 y) {
#if INTEGER
    asm volatile("mma.sync.aligned." MMA_TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(x0.x), "r"(x1.x), "r"(x0.y), "r"(x1.y), "r"(y.x), "r"(y.y));
#else
    asm volatile("mma.sync.aligned." MMA_TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(x0.x), "r"(x1.x), "r"(x0.y), "r"(x1.y), "r"(y.x), "r"(y.y));
#endif
}
template <class T> inline void multiply(float (&c)[4], run_of<T, 4> const &x0, run_of<T, 4> const &x1,
                                        run_of<T, 4> const &y) {
    union words { run_of<T, 4> x; uint2 w; } const a = {x0}, b = {x1}, d = {y};
    multiply(c, a.w, b.w, d.w);
}
/* Vectors of 16 bytes. */
struct vector { uint2 half[2]; };
template <class S> inline void multiply(S (&c)[4], vector const &x0, vector const &x1, vector const &y) {
#pragma unroll
    for (int h = 0; h < 2; ++h) multiply(c, x0.half[h], x1.half[h], y.half[h]);
}
inline void multiply(double (&c)[4], vector const &x0, vector const &x1, vector const &y) {
    union words { vector v; run_of<double, 2> x; } const a = {x0}, b = {x1}, d = {y};
    multiply(c, a.x, b.x, d.x);
}
/* 16 bytes that begin so many bytes after two neighbouring aligned pieces do. */
inline run_of<IN, EACH> shifted_by(unsigned bytes, uint4 const &low, uint4 const &high) {
    unsigned const x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    unsigned y[6], z[5];
#pragma unroll
    for (int w = 0; w < 6; ++w) y[w] = bytes & 8 ? x[w + 2] : x[w];
#pragma unroll
    for (int w = 0; w < 5; ++w) z[w] = bytes & 4 ? y[w + 1] : y[w];
    union { unsigned word[4]; run_of<IN, EACH> whole; } r;
#pragma unroll
    for (int w = 0; w < 4; ++w) r.word[w] = __funnelshift_r(z[w], z[w + 1], bytes % 4 * 8);
    return r.whole;
}
template <int N> inline run_of<IN, N> part_of(run_of<IN, EACH> const &x, int from) {
    run_of<IN, N> y;
#pragma unroll
    for (int e = 0; e < N; ++e) y.x[e] = x.x[from + e];
    return y;
}
#endif

/* Told that two or three blocks are enough, the compiler does not save registers by loading one after another. Before
   sm_80 three of half would not have enough. */
constexpr bool HAS_LONG_VECTORS = !A_ALONG_K && sizeof(IN) <= 2 && COLS <= 2;
constexpr bool HAS_ROOM = HAS_LONG_VECTORS && COLS == 1 && sizeof(IN) == 2 && __CUDA_ARCH__ >= 800;
constexpr bool READS_AHEAD = ON_TENSOR_CORES && A_ALONG_K && !SHIFTED;
constexpr int AT_ONCE = HAS_ROOM || READS_AHEAD               ? 3
                        : ON_TENSOR_CORES || HAS_LONG_VECTORS ? 2
                        : sizeof(scalar) < 16 && EACH * COLS * sizeof(scalar) <= 64 ? 3
                                                                                    : 1;
extern "C" __global__ void __launch_bounds__(256, AT_ONCE)
narrow(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    /* number: of the product in a batch, or of the part of k. */
#if TOGETHER
    int const first = first_row(blockIdx.x / ((p.k - 1) / p.part + 1)), number = 0, batch = 0;
    int const begin = block_in_cluster() * p.part, end = min(p.k, begin + p.part);
#else
    int const blocks = ((p.m - 1) / (TILE_M * GROUP) + 1) * GROUP, number = blockIdx.x / blocks;
    int const first = first_row(blockIdx.x % blocks);
    int const batch = PARTIAL ? 0 : number, begin = PARTIAL ? number * p.part : 0;
    int const end = PARTIAL ? min(p.k, begin + p.part) : p.k;
#endif
#if A_ALONG_K && SHIFTED
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
#elif A_ALONG_K
    int const row = first + warp / STAGES * MICRO_M, slice = warp % STAGES;
    IN const *const b = element<IN>(p.b, 0, 0, batch);
#if ON_TENSOR_CORES
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
    constexpr int PIECE = 32 * EACH, SUMS = power_of_two(MICRO_M * COLS); /* those beyond are zero */
    constexpr int AT_END = SUMS > 32 ? SUMS / 32 : 1; /* of a lane */
    scalar sum[SUMS] = {};
    IN const *a[MICRO_M];
#pragma unroll
    for (int r = 0; r < MICRO_M; ++r) a[r] = element<IN>(p.a, min(row + r, p.m - 1), 0, batch);
    index const apart_a = DENSE ? 1 : 32 * p.a.col;
    auto const add = [&](run_of<IN, EACH> const (&v)[MICRO_M], run_of<IN, EACH> const &y, int j) {
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
        run_of<IN, EACH> v[AHEAD][MICRO_M];
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
    constexpr int LEFT = AT_ONCE > 1 && sizeof(IN) > 1 ? AHEAD - 1 : 1;
    while (l - from + PIECE <= end) {
        run_of<IN, EACH> v[LEFT][MICRO_M];
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
        run_of<IN, EACH> v[MICRO_M];
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
#elif ON_TENSOR_CORES
    /* C^T = B^T A^T. A lane has EACH neighbouring rows of A, each of which is a column of another product. Of the
       terms of a lane each is NEXT after the one before. Lanes whose rows are all beyond those of the block read
       what others read. */
    static_assert(TILE_M == (MICRO_N - SHIFTED) * EACH && (MICRO_N == 8 || !SHIFTED), "rows of a block");
    constexpr int BESIDE = MICRO_N / 8, SLICES = 8 / BESIDE; /* warps beside each other, and those that share terms */
    constexpr int NEXT = SHIFTED ? 8 : 1, PIECE = 4 * TERMS, SPAN = (PIECE - 1) * NEXT, STEP = SLICES * PIECE;
    constexpr int SUMS = TILE_M * 8;
    int const g = lane / 4, t = lane % 4, slice = warp / BESIDE, start = begin + slice * (SHIFTED ? 1 : PIECE);
    int const shift = SHIFTED ? place_in_vector(element<IN>(p.a, first, start, batch)) : 0;
    int const down = warp % BESIDE * 8 * EACH - shift, from = first + down; /* the first row of the warp */
    bool const some = from + g * EACH < min(p.m, first + TILE_M);
    int const i0 = some ? from + g * EACH : first - shift;
    IN const *const a = element<IN>(p.a, i0, 0, batch);
    IN const *const b = element<IN>(p.b, 0, min(g, COLS - 1), batch);
    scalar sum[EACH][4] = {};
    using terms = run_of<IN, TERMS>;
    auto const add = [&](run_of<IN, EACH> const (&x)[TERMS], terms const &y) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            terms column;
#pragma unroll
            for (int l = 0; l < TERMS; ++l) column.x[l] = x[l].x[e];
            multiply(sum[e], y, terms{}, column);
        }
    };
    auto const factors = [&](int l) {
        if (B_ALONG_K && !SHIFTED) return *(terms const *)(b + l);
        terms y;
#pragma unroll
        for (int e = 0; e < TERMS; ++e) y.x[e] = b[(l + e * NEXT) * p.b.row];
        return y;
    };
    int l = start + TERMS * NEXT * t;
    int const until = from + 8 * EACH > p.m && end == p.k ? end - 1 : end;
    auto const pieces = [&](auto const &ahead) {
        constexpr int AHEAD = sizeof(ahead);
        for (; l - TERMS * NEXT * t + (AHEAD - 1) * STEP + SPAN < until; l += AHEAD * STEP) {
            run_of<IN, EACH> x[AHEAD][TERMS];
            terms y[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                for (int e = 0; e < TERMS; ++e) x[s][e] = passing(a + (l + s * STEP + e * NEXT) * p.a.col);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) y[s] = factors(l + s * STEP);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) add(x[s], y[s]);
        }
    };
    /* Nothing is read before the first line of A and after its last one: these are added by themselves, element by
       element where a vector is not within A. All rows of a line are, or 0 times infinity would count for some. */
    int const least = SHIFTED && from < 0 && start == 0 ? 1 : 0;
    bool careful = least > 0;
    for (;; l += STEP, careful = false) {
        char const two[2] = {}, one[1] = {};
        if (!careful) pieces(two), pieces(one);
        if (l - TERMS * NEXT * t >= until) break;
        run_of<IN, EACH> x[TERMS];
        terms y = {};
#pragma unroll
        for (int e = 0; e < TERMS; ++e) {
            int const at = l + e * NEXT;
            bool const there = (at >= least) & (at < until);
            x[e] = all_if(there, a + at * p.a.col, 1);
            if (there) y.x[e] = b[at * p.b.row];
        }
        add(x, y);
    }
    auto const add_line = [&](int at) {
        run_of<IN, EACH> x[TERMS] = {};
        terms y = {};
        if (t == 0) {
            IN const *const line = a + at * p.a.col;
            x[0] = is_within(p, i0, at) ? all_of(line, 1) : some_of(line, 1, p.m - i0, -i0);
            y.x[0] = b[at * p.b.row];
        }
        add(x, y);
    };
    if (least > 0) add_line(0);
    if (until < end && slice == (SHIFTED ? (until - begin) % 8 : 0)) add_line(until);
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
    finish_block(p, state, first, number, [&](int i, int j) {
        scalar together = room[j * TILE_M + i];
#pragma unroll
        for (int w = 1; w < SLICES; ++w) together = together + room[w * SUMS + j * TILE_M + i];
        return together;
    });
#else
    constexpr int SIDE_BY_SIDE = MICRO_N, DOWN = 256 / SIDE_BY_SIDE;
    static_assert(TILE_M == (SIDE_BY_SIDE - SHIFTED) * EACH, "rows of a block");
    /* Of the lines of a warp, each is eight after the one before. */
    int const at = lane % SIDE_BY_SIDE, slice = warp + lane / SIDE_BY_SIDE * 8;
    int const shift = SHIFTED ? place_in_vector(element<IN>(p.a, first, begin + warp, batch)) : 0;
    int const i0 = first + (DENSE ? at * EACH - shift : at);
    bool const some = i0 < min(p.m, first + TILE_M);
    bool const all = DENSE ? some : i0 + (EACH - 1) * SIDE_BY_SIDE < p.m;
    int const there = i0 >= p.m ? 0 : (p.m - i0 - 1) / SIDE_BY_SIDE + 1; /* if it is not DENSE */
    scalar sum[EACH][COLS] = {};
    index const apart = DENSE ? 1 : SIDE_BY_SIDE * p.a.row;
    constexpr int AHEAD = EACH * COLS > 32 ? 4 : 8;
    /* Lines that hold rows of this thread together with what is before the first line of A, or after its last one. */
    bool const reads_first = DENSE && some && i0 < 0 && begin + slice == 0;
    bool const reads_last = DENSE && some && i0 + EACH > p.m && end == p.k;
    auto const careful = [&](IN const *line) {
        return DENSE ? some_of(line, 1, p.m - i0, -i0) : some_of(line, apart, there);
    };
    /* Of lines that are left, so many are asked for together. */
    constexpr int LEFT = sizeof(IN) > 1 && EACH * COLS > 24 ? 2 : 4;
    /* Lines l, l + DOWN, ..., which are those of k from `from` on, as far as there are such before `until`. */
    auto const left_of = [&](auto &v, IN const *a, int from, int l, int until) {
        constexpr int N = sizeof(v) / sizeof(v[0]);
#pragma unroll
        for (int x = 0; x < N; ++x) {
            int const at = l + x * DOWN;
            v[x] = all_if((at < until) & all & (!DENSE | is_within(p, i0, from + at)), a + at * p.a.col, apart);
        }
        if (DENSE ? i0 < 0 || i0 + EACH > p.m : !all)
#pragma unroll
            for (int x = 0; x < N; ++x)
                if (int const at = l + x * DOWN; at < until && !(DENSE && is_within(p, i0, from + at)))
                    v[x] = careful(a + at * p.a.col);
    };
#if COLS == 1
    /* A single column of B is read in place, without barriers, so that loads are always in flight. */
    struct alignas(16) all_sums { scalar x[8 * TILE_M]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
    IN const *const a = element<IN>(p.a, i0, begin, batch), *const b = element<IN>(p.b, begin, 0, batch);
    run_of<IN, EACH> head = {};
    if (reads_first) head = careful(element<IN>(p.a, i0, 0, batch));
    int const until = end - begin;
    auto const add = [&](auto const &ahead, int l, auto const &load, auto const &is_there) {
        constexpr int N = sizeof(ahead);
        run_of<IN, EACH> v[N];
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
    };
    char const many[AHEAD] = {}, few[LEFT] = {};
    int l = slice;
    if (all) {
        int const safe = reads_last ? until - 1 : until;
        if (reads_first) l += DOWN;
        auto const load = [&](auto &v) {
#pragma unroll
            for (int x = 0; x < AHEAD; ++x) {
                IN const *const line = a + (l + x * DOWN) * p.a.col;
                v[x] = DENSE ? passing(line) : all_of(line, apart);
            }
        };
        for (; l + (AHEAD - 1) * DOWN < safe; l += AHEAD * DOWN) add(many, l, load, [](int) { return true; });
    }
    if (some)
#pragma unroll 1
        for (; l < until; l += LEFT * DOWN)
            add(few, l, [&](auto &v) { left_of(v, a, begin, l, until); }, [&](int at) { return at < until; });
    if (reads_first)
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            sum[e][0] = multiply_add(number_of_a(p, head.x[e]), number_of_b(p, b[0]), sum[e][0]);
#else
    run_of<IN, EACH> head = {};
    if (reads_first) head = careful(element<IN>(p.a, i0, 0, batch));
    /* Columns that are read at a time. The last ones of a row may have no meaning. */
    constexpr int WIDTH = sizeof(scalar) == 4 && COLS > 2 ? 4 : sizeof(scalar) <= 8 ? 2 : 1;
    constexpr int ROW = (COLS + WIDTH - 1) / WIDTH * WIDTH, ROOM = TILE_K * ROW > 8 * TILE_M ? TILE_K * ROW : 8 * TILE_M;
    struct alignas(16) all_sums { scalar x[ROOM]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
    bool const down = COLS > 1 && (p.b.row < 0 ? -p.b.row : p.b.row) > (p.b.col < 0 ? -p.b.col : p.b.col);
    for (int from = begin; from < end; from += TILE_K) {
        IN const *const b = element<IN>(p.b, from, 0, batch);
        __syncthreads();
#pragma unroll 8
        for (int t = threadIdx.x; t < TILE_K * COLS; t += 256) {
            int const l = down ? t / COLS : t % TILE_K, j = down ? t % COLS : t / TILE_K;
            room[l * ROW + j] = from + l < end ? number_of_b(p, b[l * p.b.row + j * p.b.col]) : scalar();
        }
        __syncthreads();
        int const until = min(end - from, TILE_K);
        IN const *const a = element<IN>(p.a, i0, from, batch);
        auto const add = [&](int l, auto const &v) {
#pragma unroll
            for (int j0 = 0; j0 < COLS; j0 += WIDTH) {
                run_of<scalar, WIDTH> const y = *(run_of<scalar, WIDTH> const *)(room + l * ROW + j0);
#pragma unroll
                for (int j = 0; j < WIDTH && j0 + j < COLS; ++j)
#pragma unroll
                    for (int e = 0; e < EACH; ++e)
                        sum[e][j0 + j] = multiply_add(number_of_a(p, v.x[e]), y.x[j], sum[e][j0 + j]);
            }
        };
        int l = slice;
        if (all) {
            int const safe = reads_last && from + until == p.k ? until - 1 : until;
            if (reads_first && from == 0) add(l, head), l += DOWN;
            for (; l + (AHEAD - 1) * DOWN < safe; l += AHEAD * DOWN) {
                run_of<IN, EACH> v[AHEAD];
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) v[x] = all_of(a + (l + x * DOWN) * p.a.col, apart);
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) add(l + x * DOWN, v[x]);
            }
        }
        if (some)
#pragma unroll 1
            for (; l < until; l += LEFT * DOWN) {
                run_of<IN, EACH> v[LEFT];
                left_of(v, a, from, l, until);
#pragma unroll
                for (int x = 0; x < LEFT; ++x)
                    if (l + x * DOWN < until) add(l + x * DOWN, v[x]);
            }
    }
#endif
    /* A column at a time: those of a warp that have the same rows, then the warps. */
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
            int const i = DENSE ? at * EACH + e - shift : e * SIDE_BY_SIDE + at;
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
#endif
}
)cu";

STRATAGEMM_END
