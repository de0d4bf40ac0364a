// The product on the tensor cores of sm_90a: warpgroup multiplications of tiles that the tensor memory accelerator
// brings to shared memory. One warpgroup fetches, the others multiply; blocks stay and take tile after tile, so that
// the next one is fetched while this one is stored. The blocks of a cluster take tiles that lie together: CLUSTER of
// them below each other, which share the tiles of B, by BESIDE beside each other, which share those of A. Each
// fetches a part of what it shares for all that share it.
//
// A and B each lie along k, or, for 16-bit types, along m or n (A_ALONG_K, B_ALONG_K); a line in shared memory is 128
// bytes, swizzled. A B of a 32-bit type may lie along n. The instruction does not take such a B from shared memory: the
// kernel then computes C^T = B^T A^T, with B^T brought to registers (FROM_REGISTERS).
//
// Results pass through shared memory. Where rows of C begin and end at multiples of 16 bytes and no E is
// added (c_is_mapped), the hardware takes them from there while the next tile is multiplied, and leaves out
// what is beyond C; elsewhere threads do.
//
// TOGETHER: the blocks of a cluster share the sum over k of a tile (pipeline.cu.hpp).
//
// PROMOTES: the tensor cores keep fewer bits of a sum than a float has (fp8). The kernel therefore adds the sum of each
// stage to a total outside of them.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_wgmma_text[] = R"cu(
#define CONSUMERS ((FROM_REGISTERS ? TILE_N : TILE_M) / 64)
#define SUMS ((FROM_REGISTERS ? TILE_M : TILE_N) / 2) /* of a thread */
#define THREADS (128 * (CONSUMERS + 1))
#define ELEMENT ((int)sizeof(IN))
#define LINE (128 / ELEMENT) /* elements */
#define A_BYTES (TILE_M * 128)
#define B_BYTES ((B_ALONG_K ? TILE_N : (TILE_N + LINE - 1) / LINE * LINE) * 128)
/* Boxes of lines along k that a block fetches of B: hardware takes up to 256 lines at a time. */
#define B_BOXES (TILE_N / CLUSTER > 256 ? 2 : 1)
/* Lines along n are in boxes of 128 bytes. If blocks cannot share these out evenly, each fetches some lines of all. */
#define B_LINES (B_BYTES / (LINE * 128) % CLUSTER == 0 ? TILE_K : TILE_K / CLUSTER)
static_assert(TILE_K == LINE, "a line of shared memory is the depth of a tile");
static_assert(STAGES >= 2, "one is read, one is fetched");
/* Registers of a thread that multiplies, and of one that fetches. */
#define SUMMING_REGISTERS (CONSUMERS < 3 ? 232 : 160)
#define FETCHING_REGISTERS (CONSUMERS < 3 ? 40 : 32)
static_assert(CONSUMERS <= 2 || (CONSUMERS == 3 && SUMS <= 96), "registers for so many warpgroups");
static_assert(!(TOGETHER && FROM_REGISTERS), "which has other sums");
static_assert(BLOCKS == 1 || !TOGETHER, "blocks of a cluster compute tiles that lie together");
static_assert(BESIDE == 1 || !FROM_REGISTERS, "which fetches A for itself");
static_assert(!TOGETHER || TILE_M * TILE_N * 4 <= STAGES * (A_BYTES + B_BYTES), "stages have room for sums");
static_assert(B_ALONG_K ? TILE_N % (8 * CLUSTER * B_BOXES) == 0 : B_LINES % 8 == 0, "blocks fetch parts of B");
static_assert(TILE_M % (8 * BESIDE) == 0 && TILE_K % (8 * BESIDE) == 0, "and of A");

/* Along m or n there is a tile of TILE_K lines for each 128 bytes. */
inline unsigned long long descriptor(unsigned address, bool along_k) {
    return descriptor_of(address, 128, along_k ? 16 : TILE_K * 128);
}
/* From 32 bytes of k to the next, in units of 16 bytes. */
#define A_ADVANCE (A_ALONG_K ? 2 : 32 / ELEMENT * 128 / 16)
#define B_ADVANCE (B_ALONG_K ? 2 : 32 / ELEMENT * 128 / 16)

/* Neighbours, the first of them at an even place. */
template <class T> struct two_of { T x[2]; };
template <class T> two_of<T> two_at(unsigned address) {
    union { unsigned word[(sizeof(T) + 1) / 2]; two_of<T> two; } u;
#pragma unroll
    for (int w = 0; w < (int)(sizeof(T) + 1) / 2; ++w)
        u.word[w] = sizeof(T) == 1 ? word_at(address / 4 * 4) >> address % 4 * 8 : word_at(address + 4 * w);
    return u.two;
}
/* The way back, of E. What is outside of it is not read. Hardware copies where it can: all at once, without registers. */
template <class T, int width>
inline void read_rows(unsigned staging, T const *from, index row, index col, int rows, int cols) {
    constexpr int each = 16 / sizeof(T), lanes = width / each;
    int const lane = lane_now();
    bool const in_pieces = cols >= width && col == 1 && ((unsigned long long)from | row * sizeof(T)) % 16 == 0;
    if (sizeof(T) == 4 || in_pieces) {
        if (in_pieces) {
#pragma unroll
            for (int v = 0; v < (lanes + 1) / 2; ++v) {
                int const r = lane / lanes + v * (32 / lanes);
                if (r < rows)
                    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                                     staging + r * ROW_BYTES + place_in_row<sizeof(T)>(lane % lanes * 16, r)),
                                 "l"(from + (r * row + lane % lanes * each)), "r"(16)
                                 : "memory");
            }
        } else {
#pragma unroll 4
            for (int r = 0; r < rows; ++r, from += row)
#pragma unroll
                for (int j = lane; j < width; j += 32)
                    if (j < cols)
                        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                                         staging + r * ROW_BYTES + place_in_row<sizeof(T)>(j * sizeof(T), r)),
                                     "l"((char const *)(from + j * col)), "n"(4)
                                     : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" ::"n"(0) : "memory");
        return;
    }
#pragma unroll 4
    for (int r = 0; r < rows; ++r, from += row)
#pragma unroll
        for (int j = lane; j < width; j += 32)
            if (j < cols) {
                unsigned const to = staging + r * ROW_BYTES + place_in_row<sizeof(T)>(j * sizeof(T), r);
                if (sizeof(T) == 1)
                    asm volatile("st.shared.b8 [%0], %1;" ::"r"(to),
                                 "r"((unsigned)*(unsigned char const *)(from + j * col)) : "memory");
                else if (sizeof(T) == 2)
                    asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(*(unsigned short const *)(from + j * col))
                                 : "memory");
                else
                    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(*(unsigned const *)(from + j * col))
                                 : "memory");
            }
}

/* The sides of a matrix of a batch, and which one it is. */
struct matrix_bounds {
    int m, n;
    index batch;
};
/* The sums of a warp, the first of them C's (i0, j0), to c, or to workspace. A thread has pairs of neighbours in rows
   lane / 4 and 8 more. `finish(x, e, i, j)` makes a T of a sum and of what is at `e`, if that is not null. Columns from
   FIRST on: as many as a row of `staging` has, and then those that are left, by powers of two. */
template <class T, int FIRST = 0, class Finish>
inline void store_sums(unsigned staging, scalar const (&sum)[SUMS], int i0, int j0, operand const &c,
                       operand const *e, matrix_bounds const &all, Finish &&finish) {
    constexpr int row = ROW_BYTES / sizeof(T), left = TILE_N - FIRST;
    constexpr int width = left >= row       ? row
                          : left >= row / 2 ? row / 2
                          : left >= row / 4 ? row / 4
                          : left >= row / 8 ? row / 8
                                            : row / 16;
    static_assert(left >= width, "whole rows of results");
    int const lane = lane_now(), i = lane / 4, j = lane % 4 * 2, rows = min(16, all.m - i0);
    int const cols = all.n - j0 - FIRST;
    __syncwarp();
    if (e) {
        read_rows<T, width>(staging, element<T>(*e, i0, j0 + FIRST, all.batch), e->row, e->col, rows, cols);
        __syncwarp();
    }
#pragma unroll
    for (int b = 0; b < width / 8; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            scalar const *const s = &sum[4 * (FIRST / 8 + b) + 2 * h];
            unsigned const at =
                staging + (i + 8 * h) * ROW_BYTES + place_in_row<sizeof(T)>((8 * b + j) * sizeof(T), i);
            two_of<T> const before = e ? two_at<T>(at) : two_of<T>{};
            T x[2];
            /* What is outside of C is not stored, but its epilogue may read something: that of the edge. */
#pragma unroll
            for (int w = 0; w < 2; ++w)
                x[w] = finish(s[w], &before.x[w], min(i0 + i + 8 * h, all.m - 1),
                              min(j0 + FIRST + 8 * b + j + w, all.n - 1));
            put(at, x[0], x[1]);
        }
    __syncwarp();
    write_rows<T, width>(staging, (T *)element<T>(c, i0, j0 + FIRST, all.batch), c.row, c.col, rows, cols);
    if constexpr (FIRST + width < TILE_N)
        store_sums<T, FIRST + width>(staging, sum, i0, j0, c, e, all, finish);
}

/* Sixteen rows of 128 bytes, which the hardware takes from shared memory to C while the next tile is multiplied. */
#define BOX_BYTES 2048
#define BOXES (WARP_BYTES / BOX_BYTES)
/* As store_sums, without E. `next`: the place of the next box. The last one begins so that it ends with the tile. */
template <class T, class Finish>
inline void send_sums(unsigned staging, int &next, scalar const (&sum)[SUMS], int i0, int j0,
                      tensor_map const &map, matrix_bounds const &all, Finish &&finish) {
    constexpr int width = 128 / sizeof(T);
    int const lane = lane_now(), i = lane / 4, j = lane % 4 * 2;
#pragma unroll
    for (int from = 0; from < TILE_N && width <= TILE_N; from += width) {
        int const first = min(from, TILE_N - width);
        unsigned const box = staging + next * BOX_BYTES;
        if (++next == BOXES) next = 0;
        if (lane == 0) boxes_are_read_but_for<BOXES - 1>();
        __syncwarp();
#pragma unroll
        for (int b = 0; b < width / 8; ++b)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                scalar const *const s = &sum[4 * (first / 8 + b) + 2 * h];
                T x[2];
#pragma unroll
                for (int w = 0; w < 2; ++w)
                    x[w] = finish(s[w], min(i0 + i + 8 * h, all.m - 1), min(j0 + first + 8 * b + j + w, all.n - 1));
                put(box + (i + 8 * h) * 128 + ((8 * b + j) * sizeof(T) ^ i * 16), x[0], x[1]);
            }
        hand_over();
        __syncwarp();
        if (lane == 0) send_box(box, map, j0 + first, i0, all.batch);
    }
}

#if FROM_REGISTERS
/* A warpgroup's 64 columns of B, as rows of B^T. These may come in any order: a thread has two neighbours, which it reads
   at once, and such that what is read together does not meet in a bank. */
struct turned_part {
    int lane, box, at; /* of 32 columns, and where the two neighbours are there */
    explicit turned_part(int warp) : lane(threadIdx.x % 32), box(warp / 2) {
        int const slot = lane / 4;
        at = slot % 2 * 2 + slot / 2 % 2 * 16 + slot / 4 * 4 + warp % 2 * 8;
    }
    /* Elements k and k + 4 of the rows, of eight elements from 8 * d on. */
    void bring(unsigned (&to)[4], unsigned b, int d) const {
        unsigned const line = 8 * d + lane % 4;
#pragma unroll
        for (int h = 0; h < 2; ++h)
            asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                         : "=r"(to[2 * h]), "=r"(to[2 * h + 1])
                         : "r"(b + box * TILE_K * 128 + (line + 4 * h) * 128 + (at * 4 ^ (line + 4 * h) % 8 * 16))
                         : "memory");
    }
};
/* Sums to shared memory as they lie in C, 32 rows of the 64 columns at a time, and on from there: by hardware, or, where
   it cannot or E is read, by elements. */
#define ROWS 32
inline unsigned place_in_box(unsigned staging, int row, int col) {
    return staging + col / 32 * ROWS * 128 + row * 128 + (col % 32 * 4 ^ row % 8 * 16);
}
inline void store_turned(unsigned staging, int group, turned_part const &own, scalar const (&sum)[SUMS], place const &t,
                         tensor_map const &map, arguments const &p, epilogue_state const &state) {
    bool const sends = !PARTIAL && p.flags & c_is_mapped;
    int const thread = threadIdx.x % 128, i0 = t.i * TILE_M, j0 = t.j * TILE_N + (group - 1) * 64;
    int const i_own = i0 + thread / 64, j = j0 + thread % 64;
#if PARTIAL
    index const c_row = line_of_parts(p);
    scalar *c = (scalar *)p.c.data + (((index)t.batch * p.m + i_own) * c_row + j);
    scalar const *e = nullptr;
#else
    index const c_row = p.c.row;
    bool const reads_e = p.flags & adds;
    OUT *c = (OUT *)element<OUT>(p.c, i_own, j, t.batch);
    OUT const *e = element<OUT>(p.e, i_own, j, t.batch);
#endif
    auto const together = [&] { asm volatile("barrier.sync %0, 128;" ::"r"(group) : "memory"); };
#pragma unroll
    for (int first = 0; first < TILE_M; first += ROWS) {
        unsigned const to = staging + first / ROWS % 2 * ROWS * 256;
        if (sends && thread < 2) boxes_are_read_but_for<1>();
        together();
#pragma unroll
        for (int b = 0; b < ROWS / 8; ++b)
#pragma unroll
            for (int y = 0; y < 2; ++y) {
                scalar x[2];
                int const row = b * 8 + own.lane % 4 * 2 + y, col = own.box * 32 + own.at;
#pragma unroll
                for (int w = 0; w < 2; ++w) {
                    x[w] = sum[(first / 8 + b) * 4 + w * 2 + y];
#if !PARTIAL
                    if (sends)
                        x[w] = finished(p, state, x[w], false, nullptr, min(i0 + first + row, p.m - 1),
                                        min(j0 + col + w, p.n - 1));
#endif
                }
                put(place_in_box(to, row, col), x[0], x[1]);
            }
        if (sends) hand_over();
        together();
        if (!sends) {
#pragma unroll
            for (int row0 = thread / 64; row0 < ROWS; row0 += 16) {
                unsigned x[8];
#pragma unroll
                for (int v = 0; v < 8; ++v) x[v] = word_at(place_in_box(to, row0 + 2 * v, thread % 64));
#pragma unroll
                for (int v = 0; v < 8; ++v, c += 2 * c_row, e += 2 * p.e.row) {
                    int const i = i0 + first + row0 + 2 * v;
                    if (i < p.m && j < p.n)
#if PARTIAL
                        *c = __uint_as_float(x[v]);
#else
                        *c = finished(p, state, __uint_as_float(x[v]), reads_e, e, i, j);
#endif
                }
            }
        } else if (thread < 2) {
            send_box(to + thread * ROWS * 128, map, j0 + thread * 32, i0 + first, t.batch);
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1)
wgmma(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map,
      __grid_constant__ const tensor_map c_map, __grid_constant__ const arguments p,
      __grid_constant__ const epilogue_state state) {
    extern __shared__ char memory[];
    unsigned const base = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned const a_tiles = base, b_tiles = base + STAGES * A_BYTES, results = b_tiles + STAGES * B_BYTES;
    unsigned const barriers = results + CONSUMERS * 4 * WARP_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };
    int const group = threadIdx.x / 128;
    int const rank = BLOCKS > 1 ? block_in_cluster() : 0;
    /* The place of a block without others beside it is a constant, which takes no register. */
    int const own_i = BESIDE > 1 ? rank % CLUSTER : rank, own_j = BESIDE > 1 ? rank / CLUSTER : 0;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s)
            full(s).initialise(1), empty(s).initialise(CONSUMERS * (CLUSTER + BESIDE - 1));
        barriers_are_ready();
        fetch_map(a_map), fetch_map(b_map);
        if (p.flags & c_is_mapped) fetch_map(c_map);
    }
    if (BLOCKS > 1)
        cluster_begins();
    else
        __syncthreads();
    wait_for_earlier();

    /* Of clusters. */
    int const tiles_m = rows_of_tiles(p), tiles_n = columns_of_tiles(p), tiles = tiles_of(p);
    int const first = blockIdx.x / BLOCKS, stride = gridDim.x / BLOCKS;
    auto const place_of = [&](int number) {
        return TAIL || TOGETHER ? tile_at(p, number) : place_of_tile(number, tiles_m, tiles_n);
    };
    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };

    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(FETCHING_REGISTERS));
        if (threadIdx.x == 0) {
            /* Fetches lines of A, or of B, to this block, or to all blocks that share them. */
            auto const fetch_a = [&](unsigned to, int along, int across, int batch) {
                unsigned short all = 0;
                for (int x = 0; x < BESIDE; ++x) all |= 1 << (x * CLUSTER + own_i);
                if (BESIDE > 1)
                    fetch_for_all(to, a_map, along, across, batch, full(stage), all);
                else
                    fetch(to, a_map, along, across, batch, full(stage));
            };
            auto const fetch_b = [&](unsigned to, int along, int across, int batch) {
                unsigned short const all = ((1 << CLUSTER) - 1) << own_j * CLUSTER;
                if (CLUSTER > 1)
                    fetch_for_all(to, b_map, along, across, batch, full(stage), all);
                else
                    fetch(to, b_map, along, across, batch, full(stage));
            };
            /* Boxes along k have no more lines than A or B (product.hpp makes them): the hardware takes longer for lines
               that it fills with zeros. What lies in their place is anything, and its sums are not stored. */
            int const bytes = (A_ALONG_K ? min(TILE_M / BESIDE, p.m) * BESIDE * 128 : A_BYTES) +
                              (B_ALONG_K ? min(TILE_N / CLUSTER / B_BOXES, p.n) * CLUSTER * B_BOXES * 128 : B_BYTES);
            for (int number = first; number < tiles; number += stride) {
                place const t = place_of(number);
                int const i0 = (t.i * CLUSTER + own_i) * TILE_M, j0 = (t.j * BESIDE + own_j) * TILE_N;
                int const l0 = first_term(p, t);
                int const steps = steps_of(p, t), batch_a = matrix_of(p.a, t.batch), batch_b = matrix_of(p.b, t.batch);
                int const end = l0 + steps * TILE_K;
                int l = l0 + first_step(p, t.i, t.j, steps) * TILE_K;
                for (int step = 0; step < steps; ++step, next_stage()) {
                    empty(stage).wait(parity ^ 1);
                    full(stage).expect(bytes);
                    unsigned const a = a_tiles + stage * A_BYTES, b = b_tiles + stage * B_BYTES;
                    if (A_ALONG_K) {
                        constexpr int lines = TILE_M / BESIDE;
                        fetch_a(a + own_j * lines * 128, l, i0 + own_j * lines, batch_a);
                    } else {
                        constexpr int lines = TILE_K / BESIDE;
#pragma unroll 1
                        for (int x = 0; x < TILE_M / LINE; ++x)
                            fetch_a(a + (x * TILE_K + own_j * lines) * 128, i0 + x * LINE, l + own_j * lines, batch_a);
                    }
                    if (B_ALONG_K) {
                        constexpr int lines = TILE_N / CLUSTER / B_BOXES;
#pragma unroll
                        for (int x = own_i * B_BOXES; x < (own_i + 1) * B_BOXES; ++x)
                            fetch_b(b + x * lines * 128, l, j0 + x * lines, batch_b);
                    } else {
                        constexpr int boxes = B_BYTES / (LINE * 128), shared = B_LINES == TILE_K ? CLUSTER : 1;
                        int const from = B_LINES == TILE_K ? 0 : own_i * B_LINES;
                        int const x0 = B_LINES == TILE_K ? own_i * boxes / CLUSTER : 0;
#pragma unroll 1
                        for (int x = x0; x < x0 + boxes / shared; ++x)
                            fetch_b(b + (x * TILE_K + from) * 128, j0 + x * LINE, l + from, batch_b);
                    }
                    l += TILE_K;
                    if (l == end) l = l0;
                }
            }
        }
        __syncwarp();
        if (TOGETHER) cluster_ends();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(SUMMING_REGISTERS));
        int const warp = threadIdx.x % 128 / 32;
#if FROM_REGISTERS
        unsigned const staging = results + (group - 1) * 4 * WARP_BYTES;
        turned_part const own(warp);
        unsigned fragments[2][4];
#else
        unsigned const staging = results + (threadIdx.x / 32 - 4) * WARP_BYTES;
        int next_box = 0;
        unsigned const a_part = (group - 1) * 64 * 128 / (A_ALONG_K ? 1 : LINE) * (A_ALONG_K ? 1 : TILE_K);
#endif
        auto const release = [&](int which) {
            if (BLOCKS > 1) {
                /* The blocks in the row and in the column of this block fetch for it. */
                int const x = threadIdx.x % 128, y = x - CLUSTER;
                if (x < CLUSTER + BESIDE - 1)
                    empty(which).arrive_at(y < 0 ? own_j * CLUSTER + x : (y + (y >= own_j)) * CLUSTER + own_i);
            } else if (threadIdx.x % 128 == 0) {
                empty(which).arrive();
            }
        };
        for (int number = first; number < tiles; number += stride) {
            place const t = place_of(number);
            int const steps = steps_of(p, t);
            scalar sum[SUMS];
#if FROM_REGISTERS
            int before = 0;
            for (int step = 0; step < steps; ++step) {
                full(stage).wait(parity);
                unsigned long long const a = descriptor(a_tiles + stage * A_BYTES, true);
                unsigned const b = b_tiles + stage * B_BYTES + (group - 1) * 64 * TILE_K * 4;
#pragma unroll
                for (int d = 0; d < 4; ++d) {
                    own.bring(fragments[d % 2], b, d);
                    begin();
                    multiply(sum, fragments[d % 2], a + d * A_ADVANCE, step + d);
                    commit();
                    wait_but_for<1>();
                    if (d == 0 && step > 0) release(before);
                }
                before = stage;
                next_stage();
            }
            wait_but_for<0>();
            are_there(sum);
            release(before);
            in_pieces<scalar[SUMS]>(p, TILE_K).finish(sum);
            for_each_target(p, is_part(t), [&](arguments const &to) {
                store_turned(staging, group, own, sum, {t.i * CLUSTER + own_i, t.j, t.batch}, c_map, to, state);
            });
#else
#if PROMOTES
            scalar part[SUMS];
            for (int step = 0; step < steps; ++step) {
                full(stage).wait(parity);
                unsigned long long a = descriptor(a_tiles + stage * A_BYTES + a_part, A_ALONG_K);
                unsigned long long b = descriptor(b_tiles + stage * B_BYTES, B_ALONG_K);
                begin();
#pragma unroll
                for (int d = 0; d < 4; ++d, a += A_ADVANCE, b += B_ADVANCE) multiply(part, a, b, d);
                commit();
                wait_but_for<0>();
                release(stage);
                next_stage();
#pragma unroll
                for (int i = 0; i < SUMS; ++i) sum[i] = step > 0 ? sum[i] + part[i] : part[i];
            }
            in_pieces<scalar[SUMS]>(p, TILE_K).finish(sum);
#else
            int before = 0;
            in_pieces<scalar[SUMS]> pieces(p, TILE_K);
#if PIECES
            for (int step = 0; step < steps; wait_but_for<0>(), are_there(sum), pieces.add(sum))
                for (int const end = step + pieces.next(steps - step); step < end; ++step) {
#else
            for (int step = 0; step < steps; ++step) {
#endif
                full(stage).wait(parity);
                unsigned long long a = descriptor(a_tiles + stage * A_BYTES + a_part, A_ALONG_K);
                unsigned long long b = descriptor(b_tiles + stage * B_BYTES, B_ALONG_K);
                begin();
#pragma unroll
                for (int d = 0; d < 4; ++d, a += A_ADVANCE, b += B_ADVANCE) multiply(sum, a, b, step + d);
                commit();
                wait_but_for<1>();
                if (step > 0) release(before);
                before = stage;
                next_stage();
            }
            wait_but_for<0>();
            are_there(sum);
            release(before);
            pieces.finish(sum);
#endif

            int const i = (t.i * CLUSTER + own_i) * TILE_M + (group - 1) * 64 + warp * 16;
            int const j0 = (t.j * BESIDE + own_j) * TILE_N;
#if TOGETHER
            /* Where tiles were, once all groups have read theirs. */
            int const thread = threadIdx.x - 128;
            asm volatile("barrier.sync %0, %1;" ::"r"(1), "n"(CONSUMERS * 128) : "memory");
            put_sums<CONSUMERS * 128>(a_tiles, thread, sum);
            cluster_ends();
            add_up<CONSUMERS * 128, SUMS>(a_tiles, thread, [&](int first, scalar const (&x)[4]) {
                int const row = i + lane_now() / 4, col = j0 + first * 2 + lane_now() % 4 * 2;
                store_run<2>(p, state, x, row, col, 0);
                store_run<2>(p, state, x + 2, row + 8, col, 0);
            });
#elif PARTIAL
            operand const parts = {p.c.data, line_of_parts(p), 1, (index)p.m * line_of_parts(p)};
            store_sums<scalar>(staging, sum, i, j0, parts, nullptr, {p.m, p.n, t.batch},
                               [](scalar x, scalar const *, int, int) { return x; });
#else
            if (TAIL && is_part(t)) {
                boxes_are_read_but_for<0>(); /* of the tile before */
                operand const parts = {p.a.data, TILE_N, 1, TILE_M * TILE_N};
                int const row = i - (t.i * CLUSTER + own_i) * TILE_M, slot = (-1 - t.batch) * BLOCKS + rank;
                store_sums<scalar>(staging, sum, row, 0, parts, nullptr, {TILE_M, TILE_N, slot},
                                   [&](scalar x, scalar const *, int, int) { return p.alpha * x; });
                continue;
            }
            if (!SPREADS && p.flags & c_is_mapped) {
                send_sums<OUT>(staging, next_box, sum, i, j0, c_map, {p.m, p.n, t.batch},
                               [&](scalar x, int i, int j) { return finished(p, state, x, false, nullptr, i, j); });
                continue;
            }
            for_each_target(p, false, [&](arguments const &p) {
                bool const reads_e = p.flags & adds;
                store_sums<OUT>(staging, sum, i, j0, p.c, reads_e ? &p.e : nullptr, {p.m, p.n, t.batch},
                                [&](scalar x, OUT const *e, int i, int j) {
                                    return finished(p, state, x, reads_e, e, i, j);
                                });
            });
#endif
#endif
        }
    }
    if (group > 0) boxes_are_read_but_for<0>();
    /* Nobody leaves while another block may still tell it something. */
    __syncwarp();
    if (BLOCKS > 1 || TOGETHER) cluster_ends();
}
)cu";

STRATAGEMM_END
