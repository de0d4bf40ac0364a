// Which tile a block of sm_90 and later computes, and what the blocks of a cluster share.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_pipeline_text[] = R"cu(
/* The blocks of a cluster have tiles that lie together, CLUSTER below each other by BESIDE. Then what is said here of
   tiles is said of those that a cluster has; its blocks are numbered down. */
#ifndef BESIDE
#define BESIDE 1
#endif
#define BLOCKS (CLUSTER * BESIDE)
inline int rows_of_tiles(arguments const &p) { return ((p.m - 1) / TILE_M + CLUSTER) / CLUSTER; }
inline int columns_of_tiles(arguments const &p) { return ((p.n - 1) / TILE_N + BESIDE) / BESIDE; }
/* Tiles are numbered so that GROUP rows of them are walked through together: what they read is still in the cache. */
struct place { int i, j, batch; };
inline place place_of_tile(int number, int tiles_m, int tiles_n) {
    int const tiles = tiles_m * tiles_n;
    if (tiles == 1) return {0, 0, number}; /* of batches of small products, where dividing would be felt */
    int const batch = number / tiles, tile = number - batch * tiles;
    int const first = tile / (GROUP * tiles_n) * GROUP, rows = min(GROUP, tiles_m - first);
    int const in_group = tile - first * tiles_n;
    return {first + in_group % rows, in_group / rows, batch};
}
/* TAIL: the first p.count tiles fill all blocks, so many times, and are whole. Those left for a last round are divided
   along k, so that it is full as well: their parts are numbered after the whole ones, part by part, and go to workspace,
   tile by tile, which is where A would be (its map says where that is). `batch` is then -1 less the number of a part. */
#ifndef TAIL
#define TAIL 0
#endif
/* TOGETHER: the blocks of a cluster have a tile, each of them a part of k. A block takes one tile. */
#ifndef TOGETHER
#define TOGETHER 0
#endif
inline int tiles_of_product(arguments const &p) { return rows_of_tiles(p) * columns_of_tiles(p); }
inline int parts_of(arguments const &p) { return (p.k - 1) / p.part + 1; }
/* Matrices of a batch, or parts of k. */
inline int batches_of(arguments const &p) { return PARTIAL || TOGETHER ? parts_of(p) : p.count; }
inline bool is_part(place const &t) { return PARTIAL || (TAIL && t.batch < 0); }
inline int first_term(arguments const &p, place const &t) {
    if (TAIL && t.batch < 0) return (-1 - t.batch) / (tiles_of_product(p) - p.count) * p.part;
    return PARTIAL || TOGETHER ? t.batch * p.part : 0;
}
inline int steps_of(arguments const &p, place const &t) {
    int const l = first_term(p, t);
    return ((TOGETHER || is_part(t) ? min(p.k, l + p.part) : p.k) - l - 1) / TILE_K + 1;
}
/* Lines along k begin at equal distances from each other. Blocks that all read them at the same k seem to ask few channels
   of the memory for everything. So tiles begin at different steps of k, as far from each other as the golden ratio puts
   them, and go on from the start of k at its end. */
inline int first_step(arguments const &p, int i, int j, int steps) {
    unsigned const tile = p.flags & begins_by_column ? j : p.flags & begins_by_row ? i : 0;
    return (unsigned long long)(tile * 2654435769u) * steps >> 32;
}
inline int matrix_of(operand const &o, int batch) { return PARTIAL || TOGETHER || TAIL || !o.step ? 0 : batch; }

inline int tiles_of(arguments const &p) {
    int const tiles = tiles_of_product(p);
    return TAIL ? p.count + (tiles - p.count) * parts_of(p) : tiles * batches_of(p);
}
inline place tile_at(arguments const &p, int number) {
    int const tiles_m = rows_of_tiles(p), tiles_n = columns_of_tiles(p), part = number - p.count;
#if TOGETHER
    place whole = place_of_tile(number / parts_of(p), tiles_m, tiles_n);
    whole.batch = number % parts_of(p);
    return whole;
#endif
    if (!TAIL || part < 0) return place_of_tile(number, tiles_m, tiles_n);
    place t = place_of_tile(p.count + part % (tiles_m * tiles_n - p.count), tiles_m, tiles_n);
    t.batch = -1 - part;
    return t;
}

/* Whether all of a tile is within C, or the workspace of a part of k, and can be stored in runs of W. Nearly all tiles
   are, and what they go through should be short. */
template <int W> bool is_whole(arguments const &p, place const &t) {
    int const i = t.i * TILE_M, j = t.j * TILE_N;
    bool const within = i <= p.m - TILE_M && j <= p.n - TILE_N;
    if (TAIL && t.batch < 0) return true;
#if PARTIAL
    return within;
#else
#if SPREADS
    return within && p.flags & targets_in_runs;
#else
    unsigned long long const c = (unsigned long long)element<OUT>(p.c, i, j, t.batch);
    return within && p.c.col == 1 && (c | p.c.row * sizeof(OUT)) % alignof(run_of<OUT, W>) == 0;
#endif
#endif
}

/* Blocks stay and take tile after tile. This goes through the steps of k of all the tiles of a block: what is fetched
   runs ahead of what is multiplied, into the next tile while this one is stored. In shared memory it takes no
   registers. */
struct walk {
    int left, l, i0, j0, batch; /* steps of k in this tile, 0: there is no tile; where it is */
    int number, begin, end;     /* of its terms of k */
    void tile(arguments const &p, int n) {
        number = n, left = 0;
        if (n >= tiles_of(p)) return;
        place const t = tile_at(p, n);
        left = steps_of(p, t), i0 = t.i * TILE_M, j0 = t.j * TILE_N, batch = t.batch;
        begin = first_term(p, t), end = begin + left * TILE_K;
        l = begin + first_step(p, t.i, t.j, left) * TILE_K;
    }
    void next_step(arguments const &p) {
        l += TILE_K;
        if (l == end) l = begin;
        if (--left == 0) tile(p, number + gridDim.x);
    }
};

#if TOGETHER
/* The sums of a thread, N of them, go to `room` in shared memory, 16 bytes of all THREADS at a time. When all blocks of the
   cluster have met, each adds up what all have of some of them, in the order of the parts, so that the result is always
   the same. */
#define MOST_PARTS 8
struct alignas(16) run_of_sums { scalar x[16 / sizeof(scalar)]; };
inline int blocks_of_cluster() {
    int blocks;
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
    return blocks;
}
template <int THREADS, int N> void put_sums(unsigned room, int thread, scalar const (&sum)[N]) {
    constexpr int each = 16 / sizeof(scalar);
    static_assert(N % each == 0, "whole runs");
#pragma unroll
    for (int r = 0; r < N / each; ++r) {
        union { run_of_sums run; unsigned word[4]; } own;
#pragma unroll
        for (int w = 0; w < each; ++w) own.run.x[w] = sum[r * each + w];
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(room + (r * THREADS + thread) * 16),
                     "r"(own.word[0]), "r"(own.word[1]), "r"(own.word[2]), "r"(own.word[3]) : "memory");
    }
}
/* Calls `finish(first, sums)` for the runs that are this block's. */
template <int THREADS, int N, class FINISH> void add_up(unsigned room, int thread, FINISH const &finish) {
    constexpr int each = 16 / sizeof(scalar), runs = N / each;
    int const parts = blocks_of_cluster(), own = block_in_cluster();
    int const last = runs * (own + 1) / parts;
    for (int r = runs * own / parts; r < last; ++r) {
        union { run_of_sums run; uint4 words; } part[MOST_PARTS];
#pragma unroll
        for (int b = 0; b < MOST_PARTS; ++b)
            if (b < parts) part[b].words = words_of_block(room + (r * THREADS + thread) * 16, b);
        scalar sum[each] = {};
#pragma unroll
        for (int b = 0; b < MOST_PARTS; ++b)
            if (b < parts)
#pragma unroll
                for (int w = 0; w < each; ++w) sum[w] = sum[w] + part[b].run.x[w];
        finish(r * each, sum);
    }
}
#endif
)cu";

STRATAGEMM_END
