// A matrix times a few columns, TILE_N of them, such as a vector: as fast as A can be read. A row of C is as good
// as a column (cuda_product turns the product). Here is what the kernels share:
// narrow_along_k.cu.hpp and narrow_along_m.cu.hpp are for threads, *_mma.cu.hpp for tensor cores, and
// narrow_shifted.cu.hpp for SHIFTED lines along k.
//
// DENSE: A may be read as vectors; WORDS: as several words for each, because its lines begin at multiples of 4 bytes
// only. Sums are always added up in one order. PARTIAL: a block has a part of k, whose sums go to workspace. TOGETHER:
// the blocks of a cluster have a part of k each, and add up what they have.
//
// A_ALONG_K: a warp has MICRO_M rows. The lanes of the warp share the terms of these rows, and so do STAGES warps of a
// block. B lies along k, too, in aligned lines. On tensor cores a warp has 16 rows: B_ALONG_K says that B lies along k,
// in lines that begin as those of A do, and any other B is read as it lies.
//
// Otherwise a thread has some rows that are next to each other, MICRO_N threads beside it have the rows that follow,
// and all other threads of the block share the terms. A B of several columns passes through shared memory, TILE_K of
// its rows at a time. ON_TENSOR_CORES: a warp has the rows of eight vectors, and MICRO_N / 8 warps are beside each
// other; B_ALONG_K says that B lies along k in aligned lines.
//
// A_IN: the type of A where it is narrower than that of B, whose type is IN then. Threads widen what they have read.
//
// SHIFTED: lines begin anywhere, and A is still DENSE. Each of eight consecutive lines begins at its own place within a
// vector, and the next eight lines begin at the same places. Along m a warp takes every eighth line only: all of its
// vectors then hold the same rows, which are those of the block and some before them. Along k (16 bits, tensor cores) a
// block has every GROUP-th row: all of its vectors then hold the same terms. B lies in any way, and passes through
// shared memory with its terms as far from their places as those of A are.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_text[] = R"cu(
#define COLS TILE_N
#define ON_TENSOR_CORES (MICRO_M == 16)
constexpr int most_bytes(int size) { return size > 16 ? size : A_ALONG_K || size > 1 ? 16 : 8; }
#ifdef A_IN
/* A byte x + 128 is the last of the fraction of 2^23 + x + 128. */
inline float widened(signed char x) { return __uint_as_float(0x4b000000u | (unsigned char)(x ^ 0x80)) - 8388736.0f; }
template <class T> inline scalar widened(T x) { return widen(x); }
#else
#define A_IN IN
inline scalar widened(IN x) { return (scalar)widen(x); }
#endif
constexpr int EACH = most_bytes(sizeof(A_IN)) / sizeof(A_IN); /* elements of A that a thread has of a vector */

inline scalar number_of_a(arguments const &p, A_IN x) { return conjugate_if(p.flags & conjugate_a, widened(x)); }
inline scalar number_of_b(arguments const &p, IN x) { return conjugate_if(p.flags & conjugate_b, (scalar)widen(x)); }
/* Elements at a distance of `next`, in a vector if it is DENSE; all of them, or those `there`. Loads that depend on
   nothing can all be under way at once. */
template <class T> inline run_of<T, EACH> all_of(T const *from, index next) {
    run_of<T, EACH> v;
    if (DENSE)
        v = *(run_of<T, EACH> const *)from;
    else
#pragma unroll
        for (int e = 0; e < EACH; ++e) v.x[e] = from[e * next];
    return v;
}
/* A vector of A, which no other thread reads and which is not read again: it takes no place in the first-level
   cache. */
inline run_of<A_IN, EACH> passing(A_IN const *from) {
    if constexpr (EACH * sizeof(A_IN) == 16) {
        union { unsigned word[4]; run_of<A_IN, EACH> v; } u;
        asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(u.word[0]), "=r"(u.word[1]), "=r"(u.word[2]), "=r"(u.word[3]) : "l"(from));
        return u.v;
    } else {
        return all_of(from, 1);
    }
}
/* The same of A. */
inline run_of<A_IN, EACH> all_of_a(A_IN const *from, index next) {
#if WORDS
    union { unsigned word[EACH * sizeof(A_IN) / 4]; run_of<A_IN, EACH> v; } u;
#pragma unroll
    for (int w = 0; w < (int)(EACH * sizeof(A_IN) / 4); ++w) u.word[w] = ((unsigned const *)from)[w];
    return u.v;
#else
    return all_of(from, next);
#endif
}
template <class T> inline run_of<T, EACH> some_of(T const *from, index next, int there, int begin = 0) {
    run_of<T, EACH> v = {};
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e >= begin && e < there) v.x[e] = from[e * next];
    return v;
}
/* The number of an element within its aligned vector. */
inline int place_in_vector(A_IN const *x) { return (int)((unsigned long long)x / sizeof(A_IN) % EACH); }
/* Whether rows from i0 on of line l along m may be read as a vector. The vector may reach beyond the rows of its line: these
   elements belong to other lines or lie between lines, and are not used. It may not reach beyond the first line or the
   last. */
inline bool is_within(arguments const &p, int i0, int l) {
    return ((i0 >= 0) | (l > 0)) & ((i0 + EACH <= p.m) | (l + 1 < p.k));
}
/* What is read in place of a vector that does not exist. With a branch for each vector, loads would wait for each
   other. */
struct alignas(16) no_elements { unsigned word[8]; };
__device__ no_elements const nothing = {};
inline run_of<A_IN, EACH> all_if(bool there, A_IN const *from, index next) {
    return all_of(there ? from : (A_IN const *)&nothing, there ? next : 0);
}
template <class T> inline T from_lane(T x, int lane) {
    union { T whole; unsigned word[sizeof(T) / 4]; } v = {x};
#pragma unroll
    for (int w = 0; w < sizeof(T) / 4; ++w) v.word[w] = __shfl_sync(~0u, v.word[w], lane);
    return v.whole;
}
/* Adds up the sums of all lanes. A pair of lanes divides its LEFT sums: each lane keeps one half and gives the other half
   away. `which` becomes the number of the lane's first sum. Returns whether no other lane has the same sums. */
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
/* The first row of a block, whose rows are GROUP apart. */
inline int first_row(int block) { return block / GROUP * (TILE_M * GROUP) + block % GROUP; }
#ifndef TOGETHER
#define TOGETHER 0
#endif
#if TOGETHER
/* Blocks of a cluster read each other's sums in RUNS of 16 bytes. */
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
/* Adds to 16 x 8 sums the products of the terms that four lanes have: x0 has those of rows 0 to 7 of X, x1 those of the
   other rows, y those of the columns of Y. Lanes may have any terms, if those of X and Y agree. */
static_assert(COLS <= 8 || (A_ALONG_K && SHIFTED));
constexpr int TERMS = 8 / sizeof(IN) > 2 ? 8 / sizeof(IN) : 2; /* of a lane */
template <class T> inline void multiply(double (&c)[4], run_of<T, 2> const &x0, run_of<T, 2> const &x1,
                                        run_of<T, 2> const &y) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(x0.x[0]), "d"(x1.x[0]), "d"(x0.x[1]), "d"(x1.x[1]), "d"(y.x[0]), "d"(y.x[1]));
}
/* For types whose TERMS are two words: the compiler would take runs of bytes apart and put them together again. */
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
constexpr bool HAS_LONG_VECTORS = !A_ALONG_K && sizeof(A_IN) <= 2 && COLS <= 2;
constexpr bool HAS_ROOM = HAS_LONG_VECTORS && COLS == 1 && sizeof(A_IN) == 2 && sizeof(IN) == 2 && __CUDA_ARCH__ >= 800;
constexpr bool READS_AHEAD = ON_TENSOR_CORES && A_ALONG_K && !SHIFTED;
constexpr int SUMS_OF_THREAD = EACH * COLS * sizeof(scalar); /* bytes */
constexpr int RESIDENT = HAS_ROOM || READS_AHEAD               ? 3
                         : ON_TENSOR_CORES || HAS_LONG_VECTORS ? 2
                         : sizeof(scalar) == 16                ? 1
                         : SUMS_OF_THREAD <= 64                ? 3
                         : SUMS_OF_THREAD <= 128 && !A_ALONG_K ? 2
                                                               : 1;
/* A block has the rows from `first` on and the terms from `begin` to `end` of a product of the batch. `number` is that of
   the product or, if k is in parts, that of the part. */
struct block_of_narrow { int first, number, batch, begin, end; };
inline block_of_narrow this_block(arguments const &p) {
#if TOGETHER
    int const first = first_row(blockIdx.x / ((p.k - 1) / p.part + 1)), begin = block_in_cluster() * p.part;
    return {first, 0, 0, begin, min(p.k, begin + p.part)};
#else
    int const blocks = ((p.m - 1) / (TILE_M * GROUP) + 1) * GROUP, number = blockIdx.x / blocks;
    int const first = first_row(blockIdx.x % blocks), begin = PARTIAL ? number * p.part : 0;
    return {first, number, PARTIAL ? 0 : number, begin, PARTIAL ? min(p.k, begin + p.part) : p.k};
#endif
}
/* Multiplies a block. The text for a way to read A defines this. */
inline void multiply_block(arguments const &p, epilogue_state const &state, block_of_narrow const &block);

extern "C" __global__ void __launch_bounds__(256, RESIDENT)
narrow(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    multiply_block(p, state, this_block(p));
}
)cu";

STRATAGEMM_END
