// The product on the tensor cores of a warp, which every architecture from sm_75 has: tiles are copied to
// shared memory while those before are multiplied (cp.async, from sm_80), STAGES of them at a time, in
// swizzled lines.
//
// A and B each lie along k, or, 16-bit types, along m or n (A_ALONG_K, B_ALONG_K), in lines that begin at
// multiples of 16 bytes. Lines of 16-bit types may begin at multiples of 4 (DENSE = 0), and are then copied word by word,
// or anywhere (ELEMENTS), which takes longest, and is for few steps.
// Lines and columns beyond the matrix become zeros and are not read, so no side has to be a multiple of anything. A warp
// has MICRO_M x MICRO_N of C, in blocks of 16 x 8, and takes 32 bytes of k at a time.
//
// MMA_TYPE: the operands, as PTX calls them. PROMOTES: the tensor cores keep fewer bits of a sum than a float
// has (fp8), so that what a stage adds up to is added to the sum outside of them.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_mma_text[] = R"cu(
#define WARPS_N (TILE_N / MICRO_N)
#define THREADS (TILE_M / MICRO_M * WARPS_N * 32)
#define ELEMENT ((int)sizeof(IN))
#define A_BYTES (TILE_M * TILE_K * ELEMENT)
#define B_BYTES (TILE_N * TILE_K * ELEMENT)
#define BLOCKS_M (MICRO_M / 16)
#define BLOCKS_N (MICRO_N / 8)
#define DEPTH (TILE_K * ELEMENT / 32)
static_assert(STAGES >= 2 && DEPTH % 2 == 0, "one half is read while the other is multiplied");
static_assert(MICRO_M % 16 == 0 && MICRO_N % 16 == 0 && MICRO_M <= 64 && MICRO_N <= 64, "pairs of blocks");

/* What a thread copies of an operand: 16 bytes of some lines, the same of each. */
template <int SIDE, bool ALONG_K> struct loader {
    static constexpr int bytes = (ALONG_K ? TILE_K : SIDE) * ELEMENT, chunks = bytes / 16;
    static constexpr int lines = ALONG_K ? SIDE : TILE_K, together = THREADS / chunks;
    static_assert(THREADS % chunks == 0 && together % 8 == 0 && lines % together == 0, "whole rounds of copies");

    /* Lines are 128 bytes or more, or several make 128: a chunk lies where no other of eight lines has the same. */
    static int place(int line, int chunk) {
        return line * bytes + (chunk ^ (bytes >= 128 ? line % 8 : line / (128 / bytes) % chunks)) * 16;
    }

    char const *from;
    index apart, after; /* from one of its lines to the next; from a tile to the next */
    int line, at;       /* the first of its lines, and where in it */
    unsigned to;
    int side_left;      /* lines, or bytes of a line, if the lines lie along k or not */

    loader(operand const &o, int side0, int sides, int k0, int batch) {
        index const stride = (ALONG_K ? o.row : o.col) * ELEMENT;
        line = threadIdx.x / chunks, at = threadIdx.x % chunks * 16, to = place(line, threadIdx.x % chunks);
        from = (char const *)o.data + batch * o.step * ELEMENT + at +
               (ALONG_K ? (side0 + line) * stride + (index)k0 * ELEMENT
                        : (k0 + line) * stride + (index)side0 * ELEMENT);
        apart = together * stride, after = ALONG_K ? TILE_K * ELEMENT : TILE_K * stride;
        side_left = min(sides - side0, SIDE) * (ALONG_K ? 1 : ELEMENT);
    }
    /* The next tile, with so many terms of k left. */
    void fetch(unsigned tile, int k_left) {
        int const in_line = max(0, min(16, (ALONG_K ? min(k_left, TILE_K) * ELEMENT : side_left) - at));
        int const lines_left = ALONG_K ? side_left : k_left;
#pragma unroll
        for (int v = 0; v < lines / together; ++v) {
            int const there = line + v * together < lines_left ? in_line : 0;
            unsigned const place = tile + to + v * together * bytes;
            char const *const at_v = from + v * apart;
#if DENSE
            copy(place, (uint4 const *)at_v, there);
#elif ELEMENTS
            union { IN x[16 / ELEMENT]; uint4 whole; } chunk = {};
#pragma unroll
            for (int e = 0; e < 16 / ELEMENT; ++e)
                if (e * ELEMENT < there) chunk.x[e] = ((IN const *)at_v)[e];
            *(uint4 *)__cvta_shared_to_generic(place) = chunk.whole;
#else
#pragma unroll
            for (int b = 0; b < 16; b += 4) copy_word(place + b, (unsigned const *)(at_v + b), there - b);
#endif
        }
        from += after;
    }
};

/* Where a lane reads: 16 lines or columns by 32 bytes of k are four matrices of 8 x 16 bytes, which A has in another
   order than B. */
template <int SIDE, bool ALONG_K, bool IS_A> struct reader {
    typedef loader<SIDE, ALONG_K> layout;
    unsigned at;
    reader(int side) {
        int const lane = threadIdx.x % 32, low = lane / 8 % 2, high = lane / 16;
        int const half_side = IS_A ? low : high, half_k = IS_A ? high : low;
        at = ALONG_K ? layout::place(side + lane % 8 + 8 * half_side, half_k)
                     : layout::place(lane % 8 + 8 * half_k, side / 8 + half_side);
    }
    /* Elements 16 i to 16 i + 15, and bytes 32 d to 32 d + 31 of k. */
    void read(unsigned (&x)[4], unsigned tile, int i, int d) const {
        unsigned const from = tile + (ALONG_K ? (at ^ d * 32) + i * 16 * layout::bytes
                                              : (at ^ i * 32) + d * 16 * layout::bytes);
        if (ALONG_K)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
        else
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
    }
};

#if INTEGER
#define SUM "+r"
#else
#define SUM "+f"
#endif
/* 16 x 8 sums of 32 bytes of k. */
inline void multiply(scalar (&c)[4], unsigned const (&a)[4], unsigned const *b) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned." MMA_TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : SUM(c[0]), SUM(c[1]), SUM(c[2]), SUM(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif INTEGER
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int l = 0; l < 2; ++l)
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : SUM(c[2 * h]), SUM(c[2 * h + 1]) : "r"(a[2 * l + h]), "r"(b[l]));
#else
#pragma unroll
    for (int l = 0; l < 2; ++l)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};" : SUM(c[0]), SUM(c[1]), SUM(c[2]), SUM(c[3])
                     : "r"(a[2 * l]), "r"(a[2 * l + 1]), "r"(b[l]));
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, THREADS <= 128 ? 2 : 1)
mma(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    extern __shared__ __align__(128) char memory[];
    unsigned const a_tiles = shared_address(memory), b_tiles = a_tiles + STAGES * A_BYTES;
    place const tile = place_of_tile(blockIdx.x, (p.m - 1) / TILE_M + 1, (p.n - 1) / TILE_N + 1);
    int const i0 = tile.i * TILE_M, j0 = tile.j * TILE_N;
#if PARTIAL
    int const l0 = tile.batch * p.part, l1 = min(p.k, l0 + p.part), batch = 0;
#else
    int const l0 = 0, l1 = p.k, batch = tile.batch;
#endif
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const warp_m = warp / WARPS_N * MICRO_M, warp_n = warp % WARPS_N * MICRO_N;

    loader<TILE_M, A_ALONG_K> a(p.a, i0, p.m, l0, batch);
    loader<TILE_N, B_ALONG_K> b({p.b.data, p.b.col, p.b.row, p.b.step}, j0, p.n, l0, batch);
    reader<TILE_M, A_ALONG_K, true> const at_a(warp_m);
    reader<TILE_N, B_ALONG_K, false> const at_b(warp_n);
    int const steps = (l1 - l0 - 1) / TILE_K + 1;
    int ahead = 0, left = l1 - l0; /* the stage that is fetched next, and the terms from there on */
    auto const fetch = [&] {
        if (left > 0) {
            a.fetch(a_tiles + ahead * A_BYTES, left);
            b.fetch(b_tiles + ahead * B_BYTES, left);
        }
        commit();
        left -= TILE_K;
        if (++ahead == STAGES) ahead = 0;
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch();

    unsigned x[2][BLOCKS_M][4], y[2][BLOCKS_N / 2][4];
    auto const read = [&](int stage, int d) {
#pragma unroll
        for (int j = 0; j < BLOCKS_N / 2; ++j) at_b.read(y[d % 2][j], b_tiles + stage * B_BYTES, j, d);
#pragma unroll
        for (int i = 0; i < BLOCKS_M; ++i) at_a.read(x[d % 2][i], a_tiles + stage * A_BYTES, i, d);
    };
    scalar sum[BLOCKS_M][BLOCKS_N][4] = {};
    in_pieces<scalar[BLOCKS_M][BLOCKS_N][4]> pieces(p, TILE_K);
#if PROMOTES
    scalar part[BLOCKS_M][BLOCKS_N][4];
#else
    scalar (&part)[BLOCKS_M][BLOCKS_N][4] = sum;
#endif
    wait_but_for<STAGES - 2>();
    __syncthreads();
    read(0, 0);
#if PIECES
    for (int step = 0, stage = 0; step < steps; pieces.add(sum))
        for (int const end = step + pieces.next(steps - step); step < end; ++step) {
#else
    for (int step = 0, stage = 0; step < steps; ++step) {
#endif
        int const next = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            if (d == DEPTH - 1) { /* all have read this stage: the next but STAGES may come where it was */
                wait_but_for<STAGES - 2>();
                __syncthreads();
            }
            read(d == DEPTH - 1 ? next : stage, (d + 1) % DEPTH);
            if (d == 0) fetch();
#pragma unroll
            for (int i = 0; i < BLOCKS_M; ++i)
#pragma unroll
                for (int v = 0; v < BLOCKS_N; ++v) {
                    int const j = i % 2 ? BLOCKS_N - 1 - v : v;
                    if (PROMOTES && d == 0)
#pragma unroll
                        for (int e = 0; e < 4; ++e) part[i][j][e] = 0;
                    multiply(part[i][j], x[d % 2][i], y[d % 2][j / 2] + j % 2 * 2);
                    if (PROMOTES && d == DEPTH - 1)
#pragma unroll
                        for (int e = 0; e < 4; ++e) sum[i][j][e] += part[i][j][e];
                }
        }
        stage = next;
    }
    pieces.finish(sum);
    wait_but_for<0>();

#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int j = 0; j < BLOCKS_N; ++j) {
                int const row = i0 + warp_m + 16 * i + 8 * h + lane / 4, col = j0 + warp_n + 8 * j + lane % 4 * 2;
#if PARTIAL
                store_partial<2>(p, &sum[i][j][2 * h], row, col, tile.batch);
#else
                store_run<2>(p, state, &sum[i][j][2 * h], row, col, tile.batch);
#endif
            }
}
)cu";

STRATAGEMM_END
