// The product on the tensor cores of sm_90a: warpgroup multiplications of tiles that the tensor memory accelerator
// brings to shared memory. One warpgroup fetches, the others multiply; blocks stay and take tile after tile, so that the
// next one is fetched while this one is stored. Two blocks of a cluster (CLUSTER) may share the tiles of B.
//
// A and B each lie along k, or, 16-bit types, along m or n (A_ALONG_K, B_ALONG_K); a line in shared memory is 128 bytes,
// swizzled.
#pragma once

#include "../../../core/config.hpp"

#include <string>

STRATAGEMM_BEGIN

// One instruction: 64 x n, 32 bytes of k. The types are as PTX calls them: f16, bf16, tf32, s8.
inline std::string cuda_wgmma_instruction(std::string const& type, int n) {
    bool const integer = type == "s8", turns = type == "f16" || type == "bf16";
    int const sums = n / 2;
    std::string list, outputs;
    for (int i = 0; i < sums; ++i) {
        list += (i ? ", %" : "%") + std::to_string(i);
        outputs +=
            std::string(i ? ", \"+" : "\"+") + (integer ? 'r' : 'f') + "\"(d[" + std::to_string(i) + "])";
    }
    auto const operand = [&](int i) { return '%' + std::to_string(sums + i); };
    return std::string("inline void multiply(") + (integer ? "unsigned" : "float") + " (&d)[" +
           std::to_string(sums) +
           "], unsigned long long a, unsigned long long b, int adds_up) {\n    asm volatile(\"{\\n.reg .pred "
           "p;\\n"
           "setp.ne.b32 p, " +
           operand(2) + ", 0;\\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + 'k' +
           (turns     ? "16"
            : integer ? "32"
                      : "8") +
           (integer ? ".s32." : ".f32.") + type + '.' + type + " {" + list + "}, " + operand(0) + ", " +
           operand(1) + ", p" + (integer ? "" : ", 1, 1") +
           (turns ? ", " + operand(3) + ", " + operand(4) : "") + ";\\n}\" : " + outputs +
           " : \"l\"(a), \"l\"(b), \"r\"(adds_up)" + (turns ? ", \"n\"(!A_ALONG_K), \"n\"(!B_ALONG_K)" : "") +
           ");\n}\n";
}

inline constexpr char cuda_wgmma_text[] = R"cu(
#define CONSUMERS (TILE_M / 64)
#define THREADS (128 * (CONSUMERS + 1))
#define ELEMENT ((int)sizeof(IN))
#define LINE (128 / ELEMENT) /* elements */
#define A_BYTES (TILE_M * 128)
#define B_BYTES (TILE_N * 128)
static_assert(TILE_K == LINE, "a line of shared memory is the depth of a tile");

/* How the hardware is told of a tile: lines of 128 bytes, eight of them to a swizzled block of 1 KiB; along m or n there
   is a tile of TILE_K lines for each 128 bytes. */
inline unsigned long long descriptor(unsigned address, bool along_k) {
    return (1ull << 62) | (64ull << 32) | ((unsigned long long)(along_k ? 1 : TILE_K * 128 / 16) << 16) |
           (address & 0x3ffff) >> 4;
}
/* From 32 bytes of k to the next, in units of 16 bytes. */
#define A_ADVANCE (A_ALONG_K ? 2 : 32 / ELEMENT * 128 / 16)
#define B_ADVANCE (B_ALONG_K ? 2 : 32 / ELEMENT * 128 / 16)

inline void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> void wait_but_for() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

/* A thread has pairs of neighbours in a row, and with the three next to it eight of them. They exchange, so that each
   has 16 bytes of the row: of 32-bit words a pair for a pair, of 16-bit words four for four. */
inline void exchange(unsigned &x, unsigned &y, int distance) {
    bool const second = threadIdx.x & distance;
    unsigned const got = __shfl_xor_sync(~0u, second ? x : y, distance);
    (second ? x : y) = got;
}
template <class T> struct alignas(16) run { T x[16 / sizeof(T)]; };

/* Of a part of k, to workspace. */
inline void store_parts(arguments const &p, scalar const (&sum)[TILE_N / 2], int i0, int j0, int part) {
#pragma unroll
    for (int j = 0; j < TILE_N / 8; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h) store_partial<2>(p, &sum[4 * j + 2 * h], i0 + 8 * h, j0 + 8 * j, part);
}

template <bool ADDS>
inline void store_sums(arguments const &p, epilogue_state const &state, scalar const (&sum)[TILE_N / 2], int i0, int j0,
                       int batch) {
    int const quad = threadIdx.x % 4;
    constexpr int together = sizeof(OUT) == 2 ? 4 : 2; /* blocks of 8 columns */
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        int const i = i0 + 8 * h;
        OUT *const c = (OUT *)element<OUT>(p.c, i, j0, batch);
        OUT const *const e = ADDS ? element<OUT>(p.e, i, j0, batch) : nullptr;
        /* The same for the four threads of a row, and nearly always for all. */
        bool const whole = p.c.col == 1 && (unsigned long long)(c - 2 * quad) % 16 == 0 &&
                           j0 - 2 * quad + TILE_N <= p.n;
        if (__all_sync(~0u, whole)) {
#pragma unroll
            for (int j = 0; j < TILE_N / 8; j += together) {
                union { OUT x[2 * together]; unsigned word[2 * together * sizeof(OUT) / 4]; run<OUT> as_run; } u;
#pragma unroll
                for (int b = 0; b < together; ++b)
#pragma unroll
                    for (int w = 0; w < 2; ++w) {
                        int const col = 8 * (j + b) + w;
                        bool const reads_e = ADDS && i < p.m;
                        u.x[2 * b + w] = finished(p, state, sum[4 * (j + b) + 2 * h + w], reads_e,
                                                  e + (reads_e ? col * p.e.col : 0), i, j0 + col);
                    }
                int block, first;
                if (sizeof(OUT) == 2) {
                    exchange(u.word[0], u.word[1], 1), exchange(u.word[2], u.word[3], 1);
                    exchange(u.word[0], u.word[2], 2), exchange(u.word[1], u.word[3], 2);
                    block = quad, first = 0;
                } else {
                    exchange(u.word[0], u.word[2], 1), exchange(u.word[1], u.word[3], 1);
                    block = quad % 2, first = quad / 2 * 4;
                }
                if (i < p.m) *(run<OUT> *)(c - 2 * quad + 8 * (j + block) + first) = u.as_run;
            }
        } else if (i < p.m) {
#pragma unroll
            for (int j = 0; j < TILE_N / 4; ++j) {
                int const col = 8 * (j / 2) + j % 2;
                if (j0 + col < p.n)
                    c[col * p.c.col] = finished(p, state, sum[4 * (j / 2) + 2 * h + j % 2], ADDS, e + col * p.e.col,
                                                i, j0 + col);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
wgmma(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map,
      __grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    extern __shared__ char memory[];
    unsigned const base = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned const a_tiles = base, b_tiles = base + STAGES * A_BYTES, barriers = b_tiles + STAGES * B_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };
    int const group = threadIdx.x / 128;
    int const rank = CLUSTER > 1 ? block_in_cluster() : 0;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(1), empty(s).initialise(CONSUMERS * CLUSTER);
        barriers_are_ready();
    }
    if (CLUSTER > 1)
        cluster_sync();
    else
        __syncthreads();

    /* A cluster takes tiles below each other. */
    int const tiles_m = ((p.m - 1) / TILE_M + CLUSTER) / CLUSTER, tiles_n = (p.n - 1) / TILE_N + 1;
#if PARTIAL
    int const batches = (p.k - 1) / p.part + 1;
#else
    int const batches = p.count;
#endif
    int const tiles = tiles_m * tiles_n * batches, first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
    auto const begin_of = [&](place const &t) { return PARTIAL ? t.batch * p.part : 0; };
    auto const steps_of = [&](place const &t) {
        int const l0 = begin_of(t), l1 = PARTIAL ? min(p.k, l0 + p.part) : p.k;
        return (l1 - l0 - 1) / TILE_K + 1;
    };
    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };

    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            fetch_map(a_map), fetch_map(b_map);
            for (int number = first; number < tiles; number += stride) {
                place const t = place_of_tile(number, tiles_m, tiles_n);
                int const i0 = (t.i * CLUSTER + rank) * TILE_M, j0 = t.j * TILE_N, l0 = begin_of(t);
                int const steps = steps_of(t);
                int const batch_a = PARTIAL || !p.a.step ? 0 : t.batch, batch_b = PARTIAL || !p.b.step ? 0 : t.batch;
                for (int step = 0; step < steps; ++step, next_stage()) {
                    int const l = l0 + step * TILE_K;
                    empty(stage).wait(parity ^ 1);
                    full(stage).expect(A_BYTES + B_BYTES);
                    unsigned const a = a_tiles + stage * A_BYTES, b = b_tiles + stage * B_BYTES;
                    if (A_ALONG_K)
                        fetch(a, a_map, l, i0, batch_a, full(stage));
                    else
#pragma unroll 1
                        for (int x = 0; x < TILE_M / LINE; ++x)
                            fetch(a + x * TILE_K * 128, a_map, i0 + x * LINE, l, batch_a, full(stage));
                    /* Each block of the cluster fetches a part of B for all of them. */
                    if (B_ALONG_K) {
                        constexpr int lines = TILE_N / CLUSTER;
                        unsigned const to = b + rank * lines * 128;
                        if (CLUSTER > 1)
                            fetch_for_all(to, b_map, l, j0 + rank * lines, batch_b, full(stage), (1 << CLUSTER) - 1);
                        else
                            fetch(to, b_map, l, j0, batch_b, full(stage));
                    } else {
                        constexpr int boxes = TILE_N / LINE / CLUSTER;
#pragma unroll 1
                        for (int x = rank * boxes; x < rank * boxes + boxes; ++x)
                            if (CLUSTER > 1)
                                fetch_for_all(b + x * TILE_K * 128, b_map, j0 + x * LINE, l, batch_b, full(stage),
                                              (1 << CLUSTER) - 1);
                            else
                                fetch(b + x * TILE_K * 128, b_map, j0 + x * LINE, l, batch_b, full(stage));
                    }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int const lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
        unsigned const a_part = (group - 1) * 64 * 128 / (A_ALONG_K ? 1 : LINE) * (A_ALONG_K ? 1 : TILE_K);
        auto const release = [&](int which) {
            if (CLUSTER > 1) {
                if (threadIdx.x % 128 < CLUSTER) empty(which).arrive_at(threadIdx.x % 128);
            } else if (threadIdx.x % 128 == 0) {
                empty(which).arrive();
            }
        };
        for (int number = first; number < tiles; number += stride) {
            place const t = place_of_tile(number, tiles_m, tiles_n);
            int const steps = steps_of(t);
            scalar sum[TILE_N / 2];
            int before = 0;
            for (int step = 0; step < steps; ++step) {
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
            release(before);

            int const i0 = (t.i * CLUSTER + rank) * TILE_M + (group - 1) * 64 + warp * 16 + lane / 4;
            int const j0 = t.j * TILE_N + lane % 4 * 2;
#if PARTIAL
            store_parts(p, sum, i0, j0, t.batch);
#else
            if (p.flags & adds)
                store_sums<true>(p, state, sum, i0, j0, t.batch);
            else
                store_sums<false>(p, state, sum, i0, j0, t.batch);
#endif
        }
    }
    /* Nobody leaves while another block may still tell it something. */
    __syncwarp();
    if (CLUSTER > 1) cluster_sync();
}
)cu";

STRATAGEMM_END
