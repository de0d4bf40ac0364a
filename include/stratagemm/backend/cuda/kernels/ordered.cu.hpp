// A matrix times a few columns, TILE_N of them, in the order of device/order.hpp: one thread sums the terms of a piece of k,
// one after another. A block has TILE_M rows of C, and takes 256 / TILE_M pieces of k at a time, so that all threads have
// something to sum. The operands pass through shared memory in STAGES stages of TILE_K terms of each piece: 128 bytes of
// each row that lies along k.
//
// DENSE: A may be copied in vectors. Doubles on sm_90 are summed as fp64.cu.hpp does: its instruction adds up eight terms
// one after another, and these are the even ones of eight, and then the odd ones.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_ordered_text[] = R"cu(
#define COLS TILE_N
#define AT_ONCE (256 / TILE_M) /* pieces */
constexpr int VECTOR = DENSE ? 16 / sizeof(IN) : 1;
constexpr int PAD = 16 / sizeof(IN);
/* A: a line for each row of each piece, along k; or one for each term of each piece, along the rows. B: a line for each
   column of each piece, along k. */
constexpr int LINE_A = (A_ALONG_K ? TILE_K : TILE_M) + PAD, LINE_B = TILE_K + PAD;
constexpr int LINES_A = AT_ONCE * (A_ALONG_K ? TILE_M : TILE_K), LINES_B = AT_ONCE * COLS;
constexpr int STAGE = LINES_A * LINE_A + LINES_B * LINE_B; /* elements */
constexpr bool EVEN_FIRST = sizeof(IN) == 8 && !COMPLEX && __CUDA_ARCH__ == 900;
constexpr int term_at(int t) { return EVEN_FIRST ? t / 8 * 8 + t % 4 * 2 + t % 8 / 4 : t; }
template <int N> struct alignas(N * sizeof(IN)) several { IN x[N]; };
/* Elements that are there, or zeros, in words of so many bytes. */
template <int BYTES, int WORD> void copy_some(unsigned to, void const *from, int there) {
#pragma unroll
    for (int b = 0; b < BYTES; b += WORD) {
        char const *const at = (char const *)from + b;
#if __CUDA_ARCH__ >= 800
        int const bytes = max(0, min(WORD, there - b));
        if constexpr (WORD == 16)
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to + b), "l"(at), "r"(bytes)
                         : "memory");
        else if constexpr (WORD == 8)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + b), "l"((double const *)at),
                         "r"(bytes) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + b), "l"((unsigned const *)at),
                         "r"(bytes) : "memory");
#else
#pragma unroll
        for (int w = 0; w < WORD; w += 4)
            *(unsigned *)__cvta_shared_to_generic(to + b + w) = b + w < there ? *(unsigned const *)(at + w) : 0;
#endif
    }
}

extern "C" __global__ void __launch_bounds__(256)
ordered(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    extern __shared__ __align__(128) char memory[];
    IN *const stages = (IN *)memory;
    scalar *const room = (scalar *)(stages + STAGES * STAGE); /* AT_ONCE x TILE_M x COLS */
    int const blocks = (p.m - 1) / TILE_M + 1, batch = blockIdx.x / blocks, i0 = blockIdx.x % blocks * TILE_M;
    int const row = threadIdx.x % TILE_M, own = threadIdx.x / TILE_M;
    int const pieces = (p.k - 1) / p.part + 1, rows = p.m - i0;
    int const steps = (min(p.part, p.k) - 1) / TILE_K + 1; /* of a piece */
    bool const along_columns = p.b.col < p.b.row;
    constexpr int mine = (TILE_M * COLS - 1) / 256 + 1; /* elements of C */
    scalar total[mine] = {};

    for (int first = 0; first < pieces; first += AT_ONCE) {
        int const now = min(AT_ONCE, pieces - first);
        auto const fetch = [&](int step) {
            if (step < steps) {
                IN *const a = stages + step % STAGES * STAGE, *const b = a + LINES_A * LINE_A;
                constexpr int across = LINE_A - PAD;
                auto const fetch_a = [&](int e) {
                    int const line = e / across, at = e % across, piece = line / (LINES_A / AT_ONCE);
                    int const begin = (first + piece) * p.part + step * TILE_K, in = line % (LINES_A / AT_ONCE);
                    int const i = A_ALONG_K ? in : at, t = A_ALONG_K ? at : in;
                    int const there = piece >= now ? 0
                                      : A_ALONG_K  ? (i < rows ? min(p.k, (first + piece + 1) * p.part) - begin - t : 0)
                                                   : (begin + t < p.k ? rows - i : 0);
                    int const bytes = max(0, min(VECTOR, there)) * (int)sizeof(IN);
                    IN const *const from = bytes ? element<IN>(p.a, i0 + i, begin + t, batch) : (IN const *)p.a.data;
                    constexpr int word = DENSE ? 16 : (int)alignof(IN);
                    copy_some<VECTOR * (int)sizeof(IN), word>(shared_address(a + line * LINE_A + at), from, bytes);
                };
                auto const fetch_b = [&](int e) {
                    int const piece = e / (COLS * TILE_K), in = e % (COLS * TILE_K);
                    int const j = along_columns ? in % COLS : in / TILE_K, t = along_columns ? in / COLS : in % TILE_K;
                    int const l = (first + piece) * p.part + step * TILE_K + t;
                    bool const there = piece < now && l < p.k;
                    IN const *const from = there ? element<IN>(p.b, l, j, batch) : (IN const *)p.b.data;
                    unsigned const to = shared_address(b + (piece * COLS + j) * LINE_B + t);
                    copy_some<(int)sizeof(IN), (int)alignof(IN)>(to, from, there ? (int)sizeof(IN) : 0);
                };
                /* Of the pieces that there are, some rounds of copies at a time. */
                constexpr int all_a = LINES_A * across, round = 256 * VECTOR;
                constexpr int at_once = all_a / round % 4 == 0 ? 4 : all_a / round % 2 == 0 ? 2 : 1;
                for (int e = 0; e < all_a / AT_ONCE * now; e += at_once * round)
#pragma unroll
                    for (int r = 0; r < at_once; ++r) fetch_a(e + r * round + threadIdx.x * VECTOR);
                int const all_b = now * COLS * TILE_K;
#pragma unroll 4
                for (int e = threadIdx.x; e < all_b; e += 256) fetch_b(e);
            }
            commit();
        };
#pragma unroll
        for (int s = 0; s < STAGES - 1; ++s) fetch(s);
        scalar sum[COLS] = {};
        for (int step = 0; step < steps; ++step) {
            wait_but_for<STAGES - 2>();
            __syncthreads();
            fetch(step + STAGES - 1);
            if (own >= now) continue;
            IN const *const a = stages + step % STAGES * STAGE, *const b = a + LINES_A * LINE_A + own * COLS * LINE_B;
            IN const *const line = A_ALONG_K ? a + (own * TILE_M + row) * LINE_A : a + own * TILE_K * LINE_A + row;
            constexpr int some = TILE_K < 8 ? TILE_K : 8; /* terms at a time */
#pragma unroll 2
            for (int t0 = 0; t0 < TILE_K; t0 += some) {
                IN x[some];
                constexpr int width = sizeof(IN) < 16 ? 16 / sizeof(IN) : 1;
#pragma unroll
                for (int t = 0; t < some; t += A_ALONG_K ? width : 1)
                    if constexpr (A_ALONG_K)
                        *(several<width> *)(x + t) = *(several<width> const *)(line + t0 + t);
                    else
                        x[t] = line[(t0 + t) * LINE_A];
#pragma unroll
                for (int j = 0; j < COLS; ++j) {
                    IN y[some];
#pragma unroll
                    for (int t = 0; t < some; t += width)
                        *(several<width> *)(y + t) = *(several<width> const *)(b + j * LINE_B + t0 + t);
#pragma unroll
                    for (int t = 0; t < some; ++t) {
                        scalar const u = conjugate_if(p.flags & conjugate_a, (scalar)widen(x[term_at(t)]));
                        scalar const v = conjugate_if(p.flags & conjugate_b, (scalar)widen(y[term_at(t)]));
                        sum[j] = multiply_add(u, v, sum[j]);
                    }
                }
            }
        }
        wait_but_for<0>();
#pragma unroll
        for (int j = 0; j < COLS; ++j) room[(own * TILE_M + row) * COLS + j] = sum[j];
        __syncthreads();
#pragma unroll
        for (int v = 0; v < mine; ++v)
            if (int const x = threadIdx.x + v * 256; x < TILE_M * COLS)
                for (int piece = 0; piece < now; ++piece) total[v] = total[v] + room[piece * TILE_M * COLS + x];
    }
#pragma unroll
    for (int v = 0; v < mine; ++v) {
        int const x = threadIdx.x + v * 256;
        if (x < TILE_M * COLS && x / COLS < rows) store(p, state, total[v], i0 + x / COLS, x % COLS, batch);
    }
}
)cu";

// The same of 16-bit types on tensor cores, whose instruction adds up 16 neighbouring terms. A warp has ROWS rows and a
// piece of k, and STAGES warps share the pieces. Where A does not lie along k, a lane has eight neighbouring rows, each of
// which is a column of another product: what is computed is C^T = B^T A^T. B lies along k, in aligned lines.
inline constexpr char cuda_ordered_mma_text[] = R"cu(
#define COLS TILE_N
constexpr int ROWS = A_ALONG_K ? 16 : 64, SUMS = ROWS * 8, AHEAD = A_ALONG_K ? 6 : 4;
/* N neighbours, as words. VECTOR: all of them are there, or none. Nothing but zeros takes the place of a load that is left
   out, so that many can be on their way. */
template <int N> struct alignas(2 * N) words { unsigned w[N / 2]; };
template <bool VECTOR, int N> inline words<N> load(IN const *from, index next, int there) {
    words<N> v = {};
    if constexpr (VECTOR) {
        if (there > 0) v = *(words<N> const *)from;
    } else {
#pragma unroll
        for (int e = 0; e < N; ++e) {
            unsigned bits = 0;
            if (e < there) bits = from[e * next].bits;
            v.w[e / 2] |= bits << e % 2 * 16;
        }
    }
    return v;
}
inline void multiply(float (&c)[4], words<4> const &x0, words<4> const &x1, words<4> const &y) {
    asm volatile("mma.sync.aligned." MMA_TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(x0.w[0]), "r"(x1.w[0]), "r"(x0.w[1]), "r"(x1.w[1]), "r"(y.w[0]), "r"(y.w[1]));
}
/* Of two words the halves number `half`. */
inline unsigned halves(unsigned x, unsigned y, int half) {
    return half ? x >> 16 | (y & 0xffff0000u) : (x & 0xffffu) | y << 16;
}

extern "C" __global__ void __launch_bounds__(256, A_ALONG_K ? 2 : 1)
ordered_mma(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    __shared__ float room[8 * SUMS];
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int const blocks = (p.m - 1) / TILE_M + 1, batch = blockIdx.x / blocks, i0 = blockIdx.x % blocks * TILE_M;
    int const row = i0 + warp / STAGES * ROWS, slice = warp % STAGES, pieces = (p.k - 1) / p.part + 1;
    IN const *const column = element<IN>(p.b, 0, min(g, COLS - 1), batch); /* others count for none of C */
    constexpr int mine = (TILE_M * COLS - 1) / 256 + 1;                     /* elements of C */
    float total[mine] = {};
    for (int first = 0; first < pieces; first += STAGES) {
        int const begin = (first + slice) * p.part, end = min(p.k, begin + p.part);
        float *const own = room + warp * SUMS;
#if A_ALONG_K
        float sum[4] = {};
        IN const *const a0 = element<IN>(p.a, min(row + g, p.m - 1), 0, batch);
        IN const *const a1 = element<IN>(p.a, min(row + g + 8, p.m - 1), 0, batch);
        auto const add = [&](int l, auto const &vectors) {
            constexpr bool VECTORS = sizeof(vectors) > 1;
            index const apart = VECTORS ? 1 : p.a.col;
            words<4> x[AHEAD], y[AHEAD], z[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) {
                int const at = l + s * 16 + 4 * t, there = end - at;
                x[s] = load<VECTORS, 4>(a0 + at * apart, apart, there);
                y[s] = load<VECTORS, 4>(a1 + at * apart, apart, there);
                z[s] = load<VECTORS, 4>(column + at, 1, there);
            }
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
                if (l + s * 16 < end) multiply(sum, x[s], y[s], z[s]);
        };
        bool const in_vectors = DENSE && p.k % 4 == 0;
#else
        float sum[8][4] = {};
        int const first_row = row + 8 * g;
        IN const *const a = element<IN>(p.a, first_row, 0, batch);
        auto const add = [&](int l, auto const &vectors) {
            constexpr bool VECTORS = sizeof(vectors) > 1;
            words<8> x[AHEAD][4];
            words<4> y[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) {
                int const at = l + s * 16 + 4 * t;
                y[s] = load<VECTORS, 4>(column + at, 1, end - at);
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    x[s][e] = load<VECTORS, 8>(a + (at + e) * p.a.col, p.a.row, at + e < end ? p.m - first_row : 0);
            }
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                for (int r = 0; r < 8; ++r) {
                    auto const two = [&](int e) { return halves(x[s][e].w[r / 2], x[s][e + 1].w[r / 2], r % 2); };
                    words<4> const terms = {two(0), two(2)};
                    if (l + s * 16 < end) multiply(sum[r], y[s], words<4>{}, terms);
                }
        };
        bool const in_vectors = DENSE && p.k % 4 == 0 && p.m % 8 == 0;
#endif
        char const two[2] = {}, one[1] = {};
        for (int l = begin; l < end; l += AHEAD * 16)
            if (in_vectors)
                add(l, two);
            else
                add(l, one);
#if A_ALONG_K
#pragma unroll
        for (int e = 0; e < 4; ++e) own[(2 * t + e % 2) * ROWS + g + e / 2 * 8] = sum[e];
#else
#pragma unroll
        for (int r = 0; r < 8; ++r)
#pragma unroll
            for (int c = 0; c < 2; ++c) own[g * ROWS + (2 * t + c) * 8 + r] = sum[r][c];
#endif
        __syncthreads();
#pragma unroll
        for (int v = 0; v < mine; ++v)
            if (int const x = threadIdx.x + v * 256; x < TILE_M * COLS) {
                int const i = x % TILE_M, j = x / TILE_M;
                float const *const from = room + i / ROWS * STAGES * SUMS + j * ROWS + i % ROWS;
                for (int s = 0; s < min(STAGES, pieces - first); ++s) total[v] = total[v] + from[s * SUMS];
            }
        __syncthreads();
    }
#pragma unroll
    for (int v = 0; v < mine; ++v) {
        int const x = threadIdx.x + v * 256, i = i0 + x % TILE_M;
        if (x < TILE_M * COLS && i < p.m) store(p, state, total[v], i, x / TILE_M, batch);
    }
}
)cu";

STRATAGEMM_END
