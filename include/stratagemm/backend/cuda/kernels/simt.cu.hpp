// The product of floats on the FP32 units of sm_90 and later: tiles come through the tensor memory accelerator, so that
// nearly all instructions are multiply-adds. Each thread has MICRO_M x MICRO_N elements of C in registers.
//
// A lies along m and B along n, as they are read. (With A along k the compiler finds no assignment of registers without
// many conflicts between banks; a transposing copy of A costs less.)
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_simt_text[] = R"cu(
#define THREADS_M (TILE_M / MICRO_M)
#define THREADS_N (TILE_N / MICRO_N)
#define THREADS (THREADS_M * THREADS_N)
#define WARPS_N (THREADS_N / 8)
#define A_BYTES (TILE_M * TILE_K * 4)
#define B_BYTES (TILE_N * TILE_K * 4)
static_assert(!A_ALONG_K && !B_ALONG_K, "lines along m and n");
static_assert(STAGES >= 3, "one is read, one is next, one is fetched");
static_assert(THREADS_M % 8 == 0 && THREADS_N % 8 == 0 && MICRO_M % 4 == 0 && MICRO_N % 4 == 0, "vectors of 4");

inline float4 at(unsigned address) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address));
    return x;
}

extern "C" __global__ void __launch_bounds__(THREADS, 256 / THREADS > 0 ? 256 / THREADS : 1)
simt(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map,
     __grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    extern __shared__ char memory[];
    unsigned const base = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned const a_tiles = base, b_tiles = base + STAGES * A_BYTES, barriers = b_tiles + STAGES * B_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };

    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    /* Four by eight threads to a warp. Shared memory serves half a warp at a time if each lane reads what its neighbour
       reads (B), or what the next but one does (A). */
    int const thread_m = warp / WARPS_N * 4 + (lane & 1) + lane / 16 * 2, thread_n = warp % WARPS_N * 8 + lane / 2 % 8;
    place const tile = place_of_tile(blockIdx.x, (p.m - 1) / TILE_M + 1, (p.n - 1) / TILE_N + 1);
    int const i0 = tile.i * TILE_M, j0 = tile.j * TILE_N;
#if PARTIAL
    int const l0 = tile.batch * p.part, l1 = min(p.k, l0 + p.part), batch = 0;
#else
    int const l0 = 0, l1 = p.k, batch = tile.batch;
#endif
    int const steps = (l1 - l0 - 1) / TILE_K + 1, batch_a = p.a.step ? batch : 0, batch_b = p.b.step ? batch : 0;

    auto const refill = [&](int stage, int l) {
        unsigned const a = a_tiles + stage * A_BYTES, b = b_tiles + stage * B_BYTES;
        full(stage).expect(A_BYTES + B_BYTES);
        fetch(a, a_map, i0, l, batch_a, full(stage));
        fetch(b, b_map, j0, l, batch_b, full(stage));
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(1), empty(s).initialise(THREADS / 32);
        barriers_are_ready();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES && s < steps; ++s) refill(s, l0 + s * TILE_K);

    /* Elements of a line: vectors of four that lie THREADS of them apart. */
    auto const read = [](auto &x, unsigned from, int apart) {
        constexpr int count = sizeof(x) / 4;
#pragma unroll
        for (int i = 0; i < count; i += 4) {
            float4 const v = at(from + i * apart);
            x[i] = v.x, x[i + 1] = v.y, x[i + 2] = v.z, x[i + 3] = v.w;
        }
    };
    float x[2][MICRO_M], y[2][MICRO_N], sum[MICRO_M][MICRO_N] = {};
    int stage = 0, parity = 0;
    full(0).wait(0);
    unsigned a = a_tiles + thread_m * 16, b = b_tiles + thread_n * 16;
    read(x[0], a, THREADS_M * 4);
    read(y[0], b, THREADS_N * 4);
    for (int step = 0; step < steps; ++step) {
        int const now = stage, now_parity = parity;
        if (++stage == STAGES) stage = 0, parity ^= 1;
#pragma unroll 1
        for (int l = 0; l < TILE_K; l += 8) {
            /* The term after these eight is in the next stage, after the last. */
            bool const last = l + 8 == TILE_K;
            unsigned const a_after = last ? a_tiles + stage * A_BYTES + thread_m * 16 : a + 8 * TILE_M * 4;
            unsigned const b_after = last ? b_tiles + stage * B_BYTES + thread_n * 16 : b + 8 * TILE_N * 4;
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                if (d == 5 && last && step + 1 < steps) full(stage).wait(parity);
                read(y[(d + 1) % 2], d < 7 ? b + (d + 1) * TILE_N * 4 : b_after, THREADS_N * 4);
                read(x[(d + 1) % 2], d < 7 ? a + (d + 1) * TILE_M * 4 : a_after, THREADS_M * 4);
                /* To and fro, so that each multiply-add shares an operand with the one before: a register that is read
                   again at once costs nothing. */
#pragma unroll
                for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
                    for (int v = 0; v < MICRO_N; ++v) {
                        int const j = i % 2 ? MICRO_N - 1 - v : v;
                        sum[i][j] = fmaf(x[d % 2][i], y[d % 2][j], sum[i][j]);
                    }
            }
            a = a_after, b = b_after;
        }
        __syncwarp();
        if (lane == 0) empty(now).arrive();
        /* The stage of the step before has been read by all, or nearly so. */
        if (threadIdx.x == 0 && step > 0 && step - 1 + STAGES < steps) {
            int const past = now == 0 ? STAGES - 1 : now - 1;
            empty(past).wait(now == 0 ? now_parity ^ 1 : now_parity);
            refill(past, l0 + (step - 1 + STAGES) * TILE_K);
        }
    }

#pragma unroll
    for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
        for (int j = 0; j < MICRO_N; j += 4) {
            int const row = i0 + i / 4 * (THREADS_M * 4) + thread_m * 4 + i % 4;
            int const col = j0 + j * THREADS_N + thread_n * 4;
#if PARTIAL
            store_partial<4>(p, &sum[i][j], row, col, tile.batch);
#else
            store_run<4>(p, state, &sum[i][j], row, col, tile.batch);
#endif
        }
}
)cu";

STRATAGEMM_END
