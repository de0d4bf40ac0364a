// The product of doubles on the tensor cores of sm_90: tiles come through the tensor memory accelerator in lines of 16
// elements, swizzled.
//
// A warp multiplies X, 16 x 8, by Y, 8 x 8 (m16n8k8). Which rows, columns and terms of k these are is free, as long as X,
// Y and C agree; they are such that a thread reads pairs from shared memory, and that no two threads meet in a bank. The
// instruction takes such a pair as it is if it lies along the rows of X, or along k in Y. So where A lies along k and B
// along n, X is B and Y is A (SWAPPED), and what is computed is the transpose of C.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_fp64_text[] = R"cu(
#define WARPS_M (TILE_M / MICRO_M)
#define WARPS_N (TILE_N / MICRO_N)
#define WARPS (WARPS_M * WARPS_N)
#define A_BYTES (TILE_M * TILE_K * 8)
#define B_BYTES (TILE_N * TILE_K * 8)
#define SWAPPED (A_ALONG_K && !B_ALONG_K)
#define X_ALONG_K (SWAPPED ? B_ALONG_K : A_ALONG_K)
#define Y_ALONG_K (SWAPPED ? A_ALONG_K : B_ALONG_K)
#define BLOCKS_X ((SWAPPED ? MICRO_N : MICRO_M) / 16)
#define BLOCKS_Y ((SWAPPED ? MICRO_M : MICRO_N) / 16)
static_assert(STAGES >= 3, "one is read, one is next, one is fetched");
static_assert(TILE_K == 16, "a line of shared memory is the depth of a tile");

inline void read(double &x, double &y, unsigned address) {
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(x), "=d"(y) : "r"(address));
}
inline void multiply(double (&c)[4], double const (&x)[4], double y0, double y1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y0), "d"(y1));
}
/* 0 4 1 5 2 6 3 7: neighbours lie in different halves of the banks. */
inline int spread(int g) { return g / 2 | (g & 1) << 2; }

/* Where a thread finds its elements of 16 lines, terms of k 8 h .. 8 h + 7, for (g, t) = (lane / 4, lane % 4). Along k:
   lines spread(g) and 8 more, terms 2 t and 2 t + 1. Else: lines 2 g and 2 g + 1, terms 2 t and 2 t + 1. */
template <bool ALONG_K> struct lines {
    int g, t;
    unsigned first;
    lines(int lane) : g(lane / 4), t(lane % 4), first(ALONG_K ? spread(g) * 128 : t * 256) {}
    /* x[line][term] */
    void read_block(double (&x)[2][2], unsigned tile, int block, int h) const {
        unsigned const at = tile + block * 2048 + first;
        if (ALONG_K) {
            unsigned const chunk = ((h * 4 + t) ^ spread(g)) * 16;
            read(x[0][0], x[0][1], at + chunk);
            read(x[1][0], x[1][1], at + chunk + 1024);
        } else {
            read(x[0][0], x[1][0], at + h * 1024 + (g ^ (2 * t)) * 16);
            read(x[0][1], x[1][1], at + h * 1024 + 128 + (g ^ (2 * t + 1)) * 16);
        }
    }
    /* The line that is row `row` (0 to 7) of the first or second half of a block. */
    static int line(int row, int half_block) { return ALONG_K ? 8 * half_block + spread(row) : 2 * row + half_block; }
};

/* Pairs of the 8 x 8 and 16 x 8 blocks to C: rows of X are those of C, or columns if swapped. */
template <bool WHOLE>
inline void store_sums(arguments const &p, epilogue_state const &state, double const (&sum)[BLOCKS_X][BLOCKS_Y][2][4],
                       int x0, int y0, int part) {
    int const lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    auto const put = [&](auto width, double const *values, int i, int j) {
        store_some<WHOLE, sizeof(width)>(p, state, values, i, j, part);
    };
    struct one { char bytes[1]; };
    struct two { char bytes[2]; };
#pragma unroll
    for (int x = 0; x < BLOCKS_X; ++x)
#pragma unroll
        for (int y = 0; y < BLOCKS_Y; ++y)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                double const(&s)[2][4] = sum[x][y];
                int const at_x = x0 + 16 * x, at_y = y0 + 16 * y;
                if (SWAPPED) {
#pragma unroll
                    for (int f = 0; f < 2; ++f) { /* X lies along n: lines 2 g and 2 g + 1 */
                        double const pair[2] = {s[f][e], s[f][2 + e]};
                        put(two(), pair, at_y + lines<Y_ALONG_K>::line(2 * t + e, f), at_x + 2 * g);
                    }
                } else {
#pragma unroll
                    for (int h = 0; h < 2; ++h) {
                        int const row = at_x + lines<X_ALONG_K>::line(g, h);
                        double const pair[2] = {s[0][2 * h + e], s[1][2 * h + e]};
                        if (Y_ALONG_K) {
                            put(one(), pair, row, at_y + lines<Y_ALONG_K>::line(2 * t + e, 0));
                            put(one(), pair + 1, row, at_y + lines<Y_ALONG_K>::line(2 * t + e, 1));
                        } else { /* columns 2 (2 t + e) and one more */
                            put(two(), pair, row, at_y + 4 * t + 2 * e);
                        }
                    }
                }
            }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
fp64(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map,
     __grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    extern __shared__ char memory[];
    unsigned const base = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned const a_tiles = base, b_tiles = base + STAGES * A_BYTES, barriers = b_tiles + STAGES * B_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };

    int const warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    int const warp_m = warp / WARPS_N * MICRO_M, warp_n = warp % WARPS_N * MICRO_N;

    /* Every warp fetches its share of the boxes. */
    walk ahead = {};
    auto const refill = [&](int stage) {
        int const l = ahead.l, i0 = ahead.i0, j0 = ahead.j0;
        int const batch_a = matrix_of(p.a, ahead.batch), batch_b = matrix_of(p.b, ahead.batch);
        if (warp == 0) full(stage).expect(A_BYTES + B_BYTES);
        unsigned const a = a_tiles + stage * A_BYTES, b = b_tiles + stage * B_BYTES;
        constexpr int boxes_a = A_ALONG_K ? 1 : TILE_M / 16, boxes_b = B_ALONG_K ? 1 : TILE_N / 16;
#pragma unroll
        for (int x0 = 0; x0 < boxes_a + boxes_b; x0 += WARPS) {
            int const x = x0 + warp, y = x - boxes_a;
            if (x < boxes_a)
                fetch(a + x * 2048, a_map, A_ALONG_K ? l : i0 + x * 16, A_ALONG_K ? i0 : l, batch_a, full(stage));
            else if (y < boxes_b)
                fetch(b + y * 2048, b_map, B_ALONG_K ? l : j0 + y * 16, B_ALONG_K ? j0 : l, batch_b, full(stage));
        }
        ahead.next_step(p);
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(1), empty(s).initialise(WARPS);
        barriers_are_ready();
        fetch_map(a_map), fetch_map(b_map);
    }
    __syncthreads();
    wait_for_earlier();
    if (lane == 0) {
        ahead.tile(p, blockIdx.x);
        for (int s = 0; s < STAGES && ahead.left > 0; ++s) refill(s);
    }

    lines<X_ALONG_K> const at_x(lane);
    lines<Y_ALONG_K> const at_y(lane);
    double sum[BLOCKS_X][BLOCKS_Y][2][4];
    double x[2][BLOCKS_X][2][2], y[2][BLOCKS_Y][2][2];
    auto const read_half = [&](int which, int h) {
        unsigned const a = a_tiles + which * A_BYTES + warp_m * 128, b = b_tiles + which * B_BYTES + warp_n * 128;
#pragma unroll
        for (int i = 0; i < BLOCKS_X; ++i) at_x.read_block(x[h][i], SWAPPED ? b : a, i, h);
#pragma unroll
        for (int j = 0; j < BLOCKS_Y; ++j) at_y.read_block(y[h][j], SWAPPED ? a : b, j, h);
    };
    auto const multiply_half = [&](int h) {
#pragma unroll
        for (int i = 0; i < BLOCKS_X; ++i)
#pragma unroll
            for (int j = 0; j < BLOCKS_Y; ++j)
#pragma unroll
                for (int f = 0; f < 2; ++f) {
                    double const(&v)[2][2] = x[h][i];
                    double const in_order[4] = {v[0][0], v[1][0], v[0][1], v[1][1]};
                    multiply(sum[i][j][f], in_order, y[h][j][f][0], y[h][j][f][1]);
                }
    };
    /* One half is read while the other is multiplied; the first half of a stage during the second of that before. */
    int stage = 0, parity = 0;
    bool begun = false;
    for (int number = blockIdx.x; number < tiles_of(p); number += gridDim.x) {
        int const steps = steps_of(p, tile_at(p, number));
#pragma unroll
        for (int i = 0; i < BLOCKS_X; ++i)
#pragma unroll
            for (int j = 0; j < BLOCKS_Y; ++j)
#pragma unroll
                for (int e = 0; e < 8; ++e) sum[i][j][e / 4][e % 4] = 0;
        full(stage).wait(parity);
        read_half(stage, 0);
        for (int step = 0; step < steps; ++step) {
            int const now = stage, now_parity = parity;
            if (++stage == STAGES) stage = 0, parity ^= 1;
            read_half(now, 1);
            multiply_half(0);
            __syncwarp();
            if (lane == 0) empty(now).arrive();
            if (step + 1 < steps) {
                full(stage).wait(parity);
                read_half(stage, 0);
            }
            multiply_half(1);
            /* The stage of the step before has been read by all, or nearly so. */
            if (lane == 0 && begun && ahead.left > 0) {
                int const past = now == 0 ? STAGES - 1 : now - 1;
                empty(past).wait(now == 0 ? now_parity ^ 1 : now_parity);
                refill(past);
            }
            begun = true;
            __syncwarp();
        }
        /* Found anew: it should not take registers all along. */
        asm volatile("" : "+r"(number));
        place const t = tile_at(p, number);
        int const i0 = t.i * TILE_M, j0 = t.j * TILE_N;
        int const x0 = SWAPPED ? j0 + warp_n : i0 + warp_m, y0 = SWAPPED ? i0 + warp_m : j0 + warp_n;
        if (is_whole<2>(p, t))
            store_sums<true>(p, state, sum, x0, y0, t.batch);
        else
            store_sums<false>(p, state, sum, x0, y0, t.batch);
    }
}
)cu";

STRATAGEMM_END
