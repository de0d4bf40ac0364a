// A matrix times a vector (B and C have one column): as fast as A can be read.
//
// A_ALONG_K: a warp sums a row at a time. Else: a thread has some rows that are next to each other, the warps
// of a block share the terms of k, and their sums are added in order. DENSE: A may be read as vectors.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_vector_text[] = R"cu(
#define WIDE (DENSE && sizeof(IN) < 16 ? 16 / (int)sizeof(IN) : 1)
struct alignas(DENSE ? 16 : alignof(IN)) vector_of { IN x[WIDE]; };

extern "C" __global__ void __launch_bounds__(256)
vector(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const blocks = (p.m - 1) / TILE_M + 1, batch = blockIdx.x / blocks, first = blockIdx.x % blocks * TILE_M;
    IN const *const x = element<IN>(p.b, 0, 0, batch);
    auto const x_at = [&](int l) { return conjugate_if(p.flags & conjugate_b, (scalar)widen(x[l * p.b.row])); };
    auto const a_of = [&](IN const &a) { return conjugate_if(p.flags & conjugate_a, (scalar)widen(a)); };
#if A_ALONG_K
    int const i = first + warp;
    if (i >= p.m) return;
    IN const *const a = element<IN>(p.a, i, 0, batch);
    scalar sum[WIDE] = {};
    int const whole = p.k / WIDE;
#pragma unroll 4
    for (int l = lane; l < whole; l += 32) {
        vector_of const v = *(vector_of const *)(a + l * (DENSE ? WIDE : p.a.col));
#pragma unroll
        for (int w = 0; w < WIDE; ++w) sum[w] = multiply_add(a_of(v.x[w]), x_at(l * WIDE + w), sum[w]);
    }
    for (int l = whole * WIDE + lane; l < p.k; l += 32) sum[0] = multiply_add(a_of(a[l]), x_at(l), sum[0]);
#pragma unroll
    for (int w = 1; w < WIDE; ++w) sum[0] = sum[0] + sum[w];
    /* Through shared memory, since there is no shuffle of every type. */
    __shared__ __align__(16) char memory[256 * sizeof(scalar)];
    scalar *const sums = (scalar *)memory + warp * 32;
    sums[lane] = sum[0];
    __syncwarp();
    for (int half_warp = 16; half_warp > 0; half_warp /= 2) {
        if (lane < half_warp) sums[lane] = sums[lane] + sums[lane + half_warp];
        __syncwarp();
    }
    if (lane == 0) store(p, state, sums[0], i, 0, batch);
#else
    __shared__ __align__(16) char memory[TILE_M * 8 * sizeof(scalar)];
    scalar(*const sums)[TILE_M] = (scalar(*)[TILE_M])memory;
    int const i = first + lane * WIDE;
    IN const *const a = element<IN>(p.a, i, 0, batch);
    scalar sum[WIDE] = {};
    if (i + WIDE <= p.m) {
#pragma unroll 8
        for (int l = warp; l < p.k; l += 8) {
            vector_of const v = *(vector_of const *)(a + l * p.a.col);
            scalar const y = x_at(l);
#pragma unroll
            for (int w = 0; w < WIDE; ++w) sum[w] = multiply_add(a_of(v.x[w]), y, sum[w]);
        }
    } else {
        for (int l = warp; l < p.k; l += 8)
#pragma unroll
            for (int w = 0; w < WIDE; ++w)
                if (i + w < p.m) sum[w] = multiply_add(a_of(a[l * p.a.col + w * p.a.row]), x_at(l), sum[w]);
    }
#pragma unroll
    for (int w = 0; w < WIDE; ++w) sums[warp][lane * WIDE + w] = sum[w];
    __syncthreads();
    for (int r = threadIdx.x; r < TILE_M && first + r < p.m; r += 256) {
        scalar all = sums[0][r];
#pragma unroll
        for (int w = 1; w < 8; ++w) all = all + sums[w][r];
        store(p, state, all, first + r, 0, batch);
    }
#endif
}
)cu";

STRATAGEMM_END
