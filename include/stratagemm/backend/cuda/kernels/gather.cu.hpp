// The sum of sums of parts of k, in order, so that the result is always the same. A is the workspace. TAIL:
// of the last tiles alone (pipeline.cu.hpp, which then comes before this).
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_gather_text[] = R"cu(
/* Four neighbours in a row for each thread; or for SLICES threads of a block, which share the parts, one after another. */
extern "C" __global__ void __launch_bounds__(256)
gather(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    /* The next kernel does not start before this one ends. Blocks of a product that come beside those of this kernel
       leave registers in pieces without room for another block, which then waits for one that multiplies. */
    wait_until_earlier_end();
    struct alignas(4 * sizeof(scalar) < 16 ? 4 * sizeof(scalar) : 16) four { scalar x[4]; };
    constexpr unsigned each = 256 / SLICES;
    unsigned const number = blockIdx.x * each + threadIdx.x % each, slice = threadIdx.x / each;
#if TAIL
    constexpr unsigned across = TILE_N / 4, fours = TILE_M * across; /* of a tile */
    int const tail = tiles_of_product(p) - p.count, cluster = number / fours / BLOCKS, rank = number / fours % BLOCKS;
    place const t = place_of_tile(p.count + cluster, rows_of_tiles(p), columns_of_tiles(p));
    int const i = cluster < tail ? (t.i * CLUSTER + rank % CLUSTER) * TILE_M + number % fours / across : p.m;
    int const j = (t.j * BESIDE + rank / CLUSTER) * TILE_N + number % across * 4, width = 4;
    index const size = (index)tail * (BLOCKS * TILE_M * TILE_N), at = (index)number * 4;
#else
    unsigned const across = (p.n + 3) / 4;
    int const i = number / across, j = number % across * 4, width = min(4, p.n - j);
    index const size = (index)p.m * line_of_parts(p), at = i * (index)line_of_parts(p) + j;
#endif
    int const parts = (p.k - 1) / p.part + 1, share = (parts + SLICES - 1) / SLICES, first = slice * share;
    int const last = min(parts, first + share);
    scalar const *part = (scalar const *)p.a.data + (at + first * size);
    four sum = {};
    /* Parts that are left are asked for together, too, but not by a loop of the compiler's, which waits for each. */
    constexpr int some = sizeof(scalar) > 8 ? 4 : 8;
    for (int left = i < p.m ? last - first : 0; left > 0; left -= some, part += some * size) {
        four more[some] = {};
#pragma unroll
        for (int t = 0; t < some; ++t) {
            if (t >= left) continue;
            if (width == 4)
                more[t] = *(four const *)(part + t * size);
            else
#pragma unroll
                for (int w = 0; w < 3; ++w)
                    if (w < width) more[t].x[w] = part[t * size + w];
        }
#pragma unroll
        for (int t = 0; t < some; ++t)
            if (t < left)
#pragma unroll
                for (int w = 0; w < 4; ++w) sum.x[w] = sum.x[w] + more[t].x[w];
    }
#if SLICES > 1
    __shared__ __align__(16) char memory[256 * sizeof(four)];
    four *const sums = (four *)memory;
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (slice > 0) return;
    for (int t = 1; t < SLICES; ++t)
#pragma unroll
        for (int w = 0; w < 4; ++w) sum.x[w] = sum.x[w] + sums[threadIdx.x + t * each].x[w];
#endif
    if (i < p.m) store_run<4>(p, state, sum.x, i, j, 0);
}
)cu";

STRATAGEMM_END
