// The blocked product: a block of threads computes a tile of C, each thread a micro-tile of it in registers,
// while tiles of A and B pass through registers to shared memory, two of each. Any type, stride and
// architecture.
//
// The parameters are those of cuda_blocked in capitals, and of the operands: A_ALONG_K (A
// lies in memory along k, and not along m), B_ALONG_K, PARTIAL (sums of a part of k go to C, which is
// workspace then), TABLE (at most so many products, each of its own shape, share the launch; 0: there is one)
// with TABLE_STATES of epilogues.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_blocked_text[] = R"cu(
#define THREADS_M (TILE_M / MICRO_M)
#define THREADS_N (TILE_N / MICRO_N)
#define THREADS (THREADS_M * THREADS_N)
/* What a thread reads at a time: 16 bytes, if they divide its micro-tile. Of more, threads are so far apart that they get
   in each other's way. */
#define VECTOR_LENGTH (16 / (int)sizeof(scalar))
#define VECTOR_M (MICRO_M % VECTOR_LENGTH ? MICRO_M : VECTOR_LENGTH)
#define VECTOR_N (WARP_LIES_ALONG_N ? COLUMNS : MICRO_N % VECTOR_LENGTH ? MICRO_N : VECTOR_LENGTH)
/* Then its threads have neighbouring columns, one each or, of 16 bits, two, and it stores whole lines however C is
   aligned. */
#define WARP_LIES_ALONG_N (THREADS_N % 32 == 0)
#define COLUMNS (sizeof(OUT) == 2 ? 2 : 1)

/* One operand: SIDE x TILE_K elements, a thread of the block reads some of them, neighbours along memory. Outside of
   the matrix there are zeros. */
template <int SIDE, bool ALONG_K> struct loader {
    static constexpr int loads = SIDE * TILE_K / THREADS;
    static constexpr int line = SIDE + 4;
    static_assert(SIDE * TILE_K % THREADS == 0, "whole rounds of loads");

    /* Where a thread reads first, and how far it is from there to its other elements, if they are evenly apart. */
    IN const *from;
    index side_stride, k_stride;
    int side_left, conjugated;
    static constexpr bool even = !COMPLEX && THREADS % (ALONG_K ? TILE_K : SIDE) == 0;
    index apart; /* complex numbers need the registers for themselves */

    loader(IN const *first, index side, index k, int left, int c)
        : from(first), side_stride(side), k_stride(k), side_left(left), conjugated(c) {
        apart = ALONG_K ? THREADS / TILE_K * side : THREADS / SIDE * k;
        if (even) from += place(0) * side + depth(0) * k;
    }

    static int place(int v) {
        int const e = threadIdx.x + v * THREADS;
        return ALONG_K ? e / TILE_K : e % SIDE;
    }
    static int depth(int v) {
        int const e = threadIdx.x + v * THREADS;
        return ALONG_K ? e % TILE_K : e / SIDE;
    }
    void fetch(scalar (&next)[loads], int k_left) {
#pragma unroll
        for (int v = 0; v < loads; ++v) {
            bool const there = place(v) < side_left && depth(v) < k_left;
            next[v] = scalar{};
            index const at = even ? v * apart : place(v) * side_stride + depth(v) * k_stride;
            if (there) next[v] = (scalar)widen(from[at]);
        }
        from += TILE_K * k_stride;
    }
    void put(scalar *tile, scalar const (&next)[loads]) const {
#pragma unroll
        for (int v = 0; v < loads; ++v) tile[depth(v) * line + place(v)] = conjugate_if(conjugated, next[v]);
    }
};

/* Elements of a micro-tile: vectors that lie THREADS of them apart. */
template <int MICRO, int VECTOR, int APART> void read(scalar (&to)[MICRO], scalar const *line, int thread) {
#pragma unroll
    for (int i = 0; i < MICRO; ++i) to[i] = line[i / VECTOR * (APART * VECTOR) + thread * VECTOR + i % VECTOR];
}
template <int VECTOR, int APART> int place_of(int i, int thread) {
    return i / VECTOR * (APART * VECTOR) + thread * VECTOR + i % VECTOR;
}

#if WARP_LIES_ALONG_N && !PARTIAL
/* Sums of a thread to C: from row i0 on, and of the tile from column j0 on. If all of the tile is `whole`, within C, two
   columns of 16 bits are stored as a word, which is a thread's second and its neighbour's first where rows begin between
   words. */
template <class DOWN>
inline void store_lines(arguments const &p, epilogue_state const &state, scalar const (&sum)[MICRO_M][MICRO_N], int i0,
                        int j0, index batch, bool whole, DOWN const &down) {
    int const lane = threadIdx.x % 32, j = j0 + threadIdx.x % THREADS_N * COLUMNS;
    if (COLUMNS == 1 || !whole || p.c.col != 1 || p.flags & adds) {
        store_sums<1>(p, state, sum, {i0, j, batch}, false, down,
                      [](int v) { return v / COLUMNS * (THREADS_N * COLUMNS) + v % COLUMNS; });
        return;
    }
    union two { OUT x[2]; unsigned short bits[2]; unsigned word; };
    unsigned short *const to = (unsigned short *)element<OUT>(p.c, i0, j, batch);
#pragma unroll
    for (int v = 0; v < MICRO_M; ++v) {
        unsigned short *const line = to + down(v) * p.c.row;
        bool const between = (unsigned long long)line % 4 != 0;
#pragma unroll
        for (int w = 0; w < MICRO_N; w += 2) {
            two own;
#pragma unroll
            for (int x = 0; x < 2; ++x)
                own.x[x] = finished(p, state, sum[v][w + x], false, nullptr, i0 + down(v), j + w * THREADS_N + x);
            if (!between) {
                *(unsigned *)(line + w * THREADS_N) = own.word;
                continue;
            }
            unsigned const next = __shfl_down_sync(~0u, own.word, 1);
            if (lane == 0) line[w * THREADS_N] = own.bits[0];
            if (lane == 31)
                line[w * THREADS_N + 1] = own.bits[1];
            else
                *(unsigned *)(line + w * THREADS_N + 1) = own.word >> 16 | next << 16;
        }
    }
}
#endif

#if TABLE
/* It is the argument, so that it needs no memory and no copy of its own. Blocks are numbered through all products. */
struct table {
    arguments each[TABLE];
    epilogue_state states[TABLE_STATES];
    int first[TABLE]; /* block of each product */
    int count;
    int follows; /* a launch of the same group: this one need not wait for it, and only ends after it */
};
/* Sums of 128 bytes leave enough of 128 registers, but for this the compiler takes some more. 0: as it likes. */
#define RESIDENT (MICRO_M * MICRO_N * sizeof(scalar) == 128 && THREADS >= 32 ? 512 / THREADS : 0)
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
blocked(__grid_constant__ const table products) {
    int number = 0;
    for (int end = products.count; number + 1 < end;) {
        int const middle = (number + end) / 2;
        bool const before = products.first[middle] <= blockIdx.x;
        number = before ? middle : number, end = before ? end : middle;
    }
    arguments const &p = products.each[number];
    epilogue_state const &state = products.states[TABLE_STATES > 1 ? number : 0];
    unsigned const block = blockIdx.x - products.first[number];
    /* The first of a group lets the second start when all that was queued before them has ended. (So what earlier kernels
       wrote is seen by those that do not wait themselves: they begin after one that has.) */
    if (!products.follows) wait_until_earlier_end();
    let_next_start();
#else
extern "C" __global__ void __launch_bounds__(THREADS)
blocked(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    unsigned const block = blockIdx.x;
    wait_for_earlier();
#endif
    typedef loader<TILE_M, A_ALONG_K> loader_a;
    typedef loader<TILE_N, B_ALONG_K> loader_b;
    __shared__ __align__(16) scalar a_tiles[2][TILE_K * loader_a::line];
    __shared__ __align__(16) scalar b_tiles[2][TILE_K * loader_b::line];

    /* Which tile of which product: rows of tiles are walked through in groups, so that what is read is still in the
       cache. */
    int const tiles_m = (p.m - 1) / TILE_M + 1, tiles_n = (p.n - 1) / TILE_N + 1;
    int const tiles = tiles_m * tiles_n, batch = block / tiles, tile = block % tiles;
    int const first = tile / (GROUP * tiles_n) * GROUP, rows = min(GROUP, tiles_m - first);
    int const in_group = tile - first * tiles_n;
    int const i0 = (first + in_group % rows) * TILE_M, j0 = in_group / rows * TILE_N;
#if PARTIAL
    int const l0 = batch * p.part, l1 = min(p.k, l0 + p.part);
    index const product = 0;
#else
    int const l0 = 0, l1 = p.k;
    index const product = batch;
#endif

    loader_a a(element<IN>(p.a, i0, l0, product), p.a.row, p.a.col, p.m - i0, p.flags & conjugate_a);
    loader_b b(element<IN>(p.b, l0, j0, product), p.b.col, p.b.row, p.n - j0, p.flags & conjugate_b);
    scalar a_next[loader_a::loads], b_next[loader_b::loads];
    scalar sum[MICRO_M][MICRO_N] = {};
    in_pieces<scalar[MICRO_M][MICRO_N]> pieces(p, 1);
    int const thread_n = threadIdx.x % THREADS_N, thread_m = threadIdx.x / THREADS_N;

    a.fetch(a_next, l1 - l0);
    b.fetch(b_next, l1 - l0);
    a.put(a_tiles[0], a_next);
    b.put(b_tiles[0], b_next);
    __syncthreads();
#if PIECES
    for (int l = l0, now = 0; l < l1; pieces.add(sum))
        for (int const end = l + pieces.next(l1 - l); l < end; l += TILE_K, now ^= 1) {
#else
    for (int l = l0, now = 0; l < l1; l += TILE_K, now ^= 1) {
#endif
        bool const more = l + TILE_K < l1;
        /* Compilers moved what one branch asks for to the next, behind what is multiplied meanwhile. */
        if (PIECES || more) {
            a.fetch(a_next, l1 - l - TILE_K);
            b.fetch(b_next, l1 - l - TILE_K);
        }
#pragma unroll
        for (int d = 0; d < TILE_K; ++d) {
            scalar x[MICRO_M], y[MICRO_N];
            read<MICRO_M, VECTOR_M, THREADS_M>(x, a_tiles[now] + d * loader_a::line, thread_m);
            read<MICRO_N, VECTOR_N, THREADS_N>(y, b_tiles[now] + d * loader_b::line, thread_n);
#pragma unroll
            for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
                for (int v = 0; v < MICRO_N; ++v) {
                    int const j = !COMPLEX && i % 2 ? MICRO_N - 1 - v : v; /* a register read again at once costs nothing */
                    sum[i][j] = multiply_add(x[i], y[j], sum[i][j]);
                }
        }
        if (more) {
            a.put(a_tiles[now ^ 1], a_next);
            b.put(b_tiles[now ^ 1], b_next);
        }
        __syncthreads();
    }
    pieces.finish(sum);

#if WARP_LIES_ALONG_N && !PARTIAL
    for_each_target(p, false, [&](arguments const &to) {
        bool const whole = i0 <= p.m - TILE_M && j0 <= p.n - TILE_N;
        store_lines(to, state, sum, i0 + place_of<VECTOR_M, THREADS_M>(0, thread_m), j0, product, whole,
                    [](int i) { return place_of<VECTOR_M, THREADS_M>(i, 0); });
    });
#else
#pragma unroll
    for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
        for (int j = 0; j < MICRO_N; j += VECTOR_N) {
            int const row = i0 + place_of<VECTOR_M, THREADS_M>(i, thread_m);
            int const col = j0 + place_of<VECTOR_N, THREADS_N>(j, thread_n);
#if PARTIAL
            store_partial<VECTOR_N>(p, &sum[i][j], row, col, batch);
#else
            store_run<VECTOR_N>(p, state, &sum[i][j], row, col, batch);
#endif
        }
#endif
#if TABLE
    if (products.follows && blockIdx.x + 1 == gridDim.x) wait_until_earlier_end();
#endif
}
)cu";

STRATAGEMM_END
