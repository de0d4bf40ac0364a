// The product on the tensor cores of a warp, which every architecture from sm_75 has: tiles are copied to
// shared memory while those before are multiplied (cp.async, from sm_80), STAGES of them at a time, in
// swizzled lines. With one stage a block copies, waits and multiplies in turn, and needs so few registers that others
// of its multiprocessor go on meanwhile: for products with few terms.
//
// A and B each lie along k, or, 16-bit types, along m or n (A_ALONG_K, B_ALONG_K), in lines that begin at
// multiples of 16 bytes. Lines of types of 16 bits and fewer may begin at multiples of 4 or 8 (DENSE = 0): threads
// beside each other then copy neighbouring pieces of as many bytes (A_UNIT, B_UNIT elements). Or lines begin anywhere
// (SHIFTED): then aligned pieces of 16 bytes pass through registers, where they are shifted.
// Lines and columns beyond the matrix become zeros and are not read, so no side has to be a multiple of anything. A
// warp has MICRO_M x MICRO_N of C, in blocks of 16 x 8, and takes 32 bytes of k at a time.
//
// MMA_TYPE: the operands, as PTX calls them. PROMOTES: the tensor cores keep fewer bits of a sum than a float has
// (fp8). The kernel therefore adds the sum of each stage to a total outside of them.
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
/* Whether there are registers only for what is fetched of one operand. */
#define ONE_BY_ONE (SHIFTED && THREADS > 128)
#if DENSE || SHIFTED
#define A_PIECE 16 /* bytes that a thread copies at a time */
#define B_PIECE 16
#else
#define A_PIECE (A_UNIT * ELEMENT)
#define B_PIECE (B_UNIT * ELEMENT)
#endif
static_assert(DEPTH % 2 == 0, "one half is read while the other is multiplied");
static_assert(MICRO_M % 16 == 0 && MICRO_N % 16 == 0 && MICRO_M <= 64 && MICRO_N <= 64, "pairs of blocks");

/* What a thread copies of an operand: a PIECE of some lines, the same of each. */
template <int SIDE, bool ALONG_K, int PIECE> struct loader {
    static constexpr int bytes = (ALONG_K ? TILE_K : SIDE) * ELEMENT, chunks = bytes / 16;
    static constexpr int lines = ALONG_K ? SIDE : TILE_K, together = THREADS / (bytes / PIECE);
    static_assert(THREADS % (bytes / PIECE) == 0 && lines % together == 0, "whole rounds of copies");
    static_assert(together % 8 == 0 || 8 % together == 0, "places follow from that in the first round");

    /* Lines are 128 bytes or more, or several make 128: a chunk lies where no other of eight lines has the same. */
    static constexpr int swizzle(int line) { return bytes >= 128 ? line % 8 : line / (128 / bytes) % chunks; }
    static int place(int line, int chunk) { return line * bytes + (chunk ^ swizzle(line)) * 16; }

    static constexpr int each = lines / together; /* of a thread */

    char const *from;
    index apart, after; /* from one of its lines to the next; from a tile to the next */
    int line, at;       /* the first of its lines, and where in it */
    unsigned to;
    int side_left;      /* lines, or bytes of a line, if the lines lie along k or not */
#if SHIFTED
    char const *first, *last; /* the operand */
    uint4 low[each], high[each]; /* what holds 16 bytes of each line */
    int in_line, lines_left;     /* bytes of these that are in the matrix, if the line is */
    unsigned place_low;
#endif

    loader(operand const &o, int side0, int sides, int k0, int depth, int batch) {
        index const stride = (ALONG_K ? o.row : o.col) * ELEMENT;
        line = threadIdx.x / (bytes / PIECE), at = threadIdx.x % (bytes / PIECE) * PIECE;
        to = place(line, at / 16) + at % 16;
        from = (char const *)o.data + batch * o.step * ELEMENT + at +
               (ALONG_K ? (side0 + line) * stride + (index)k0 * ELEMENT
                        : (k0 + line) * stride + (index)side0 * ELEMENT);
        apart = together * stride, after = ALONG_K ? TILE_K * ELEMENT : TILE_K * stride;
        side_left = min(sides - side0, SIDE) * (ALONG_K ? 1 : ELEMENT);
#if SHIFTED
        first = (char const *)o.data + batch * o.step * ELEMENT;
        last = first + ((ALONG_K ? sides : depth) - 1) * stride + (index)(ALONG_K ? depth : sides) * ELEMENT;
#endif
    }
#if SHIFTED
    int there(int v) const { return line + v * together < lines_left ? in_line : 0; }
    /* Those words of an aligned piece that hold something of [begin, end). */
    uint4 piece(char const *at, char const *begin, char const *end) const {
        union { unsigned word[4]; uint4 whole; } x = {};
#pragma unroll
        for (int w = 0; w < 4; ++w)
            if (begin < end && at + 4 * w + 4 > begin && at + 4 * w < end) x.word[w] = ((unsigned const *)at)[w];
        return x.whole;
    }
    /* Asks for the next tile; put() brings it to shared memory. Pieces are read whole, and without a branch for each, if
       all of those of a thread lie within the operand; instead of what is outside of the matrix, a piece that does. */
    void fetch(unsigned, int k_left) {
        in_line = max(0, min(16, (ALONG_K ? min(k_left, TILE_K) * ELEMENT : side_left) - at));
        lines_left = ALONG_K ? side_left : k_left;
        char const *const within = (char const *)((unsigned long long)(first + 15) & ~15ull);
        bool whole = within + 32 <= last;
        place_low = (unsigned)(unsigned long long)from;
        char const *aligned[each];
#pragma unroll
        for (int v = 0; v < each; ++v) {
            aligned[v] = there(v) > 0 ? (char const *)((unsigned long long)(from + v * apart) & ~15ull) : within;
            whole = whole && aligned[v] >= first && aligned[v] + 32 <= last;
        }
        if (whole) {
#pragma unroll
            for (int v = 0; v < each; ++v)
                low[v] = ((uint4 const *)aligned[v])[0], high[v] = ((uint4 const *)aligned[v])[1];
        } else {
#pragma unroll
            for (int v = 0; v < each; ++v) {
                char const *const begin = from + v * apart, *const end = begin + there(v);
                low[v] = piece(aligned[v], begin, end), high[v] = piece(aligned[v] + 16, begin, end);
            }
        }
        from += after;
    }
    void put(unsigned tile) const {
#pragma unroll
        for (int v = 0; v < each; ++v) {
            unsigned const begin = place_low + v * (unsigned)apart, by = begin % 4 * 8;
            unsigned const x[8] = {low[v].x, low[v].y, low[v].z, low[v].w, high[v].x, high[v].y, high[v].z, high[v].w};
            unsigned y[6], z[5];
#pragma unroll
            for (int w = 0; w < 6; ++w) y[w] = begin & 8 ? x[w + 2] : x[w];
#pragma unroll
            for (int w = 0; w < 5; ++w) z[w] = begin & 4 ? y[w + 1] : y[w];
            union { unsigned word[4]; uint4 whole; } chunk;
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                int const bytes = there(v) - 4 * w;
                unsigned const mask = bytes >= 4 ? ~0u : bytes > 0 ? (1u << bytes * 8) - 1 : 0;
                chunk.word[w] = __funnelshift_r(z[w], z[w + 1], by) & mask;
            }
            *(uint4 *)__cvta_shared_to_generic(tile + to + v * together * bytes) = chunk.whole;
        }
    }
#else
    /* The next tile, with so many terms of k left. */
    void fetch(unsigned tile, int k_left) {
        int const in_line = max(0, min(PIECE, (ALONG_K ? min(k_left, TILE_K) * ELEMENT : side_left) - at));
        int const lines_left = ALONG_K ? side_left : k_left;
#pragma unroll
        for (int v = 0; v < each; ++v) {
            int const there = line + v * together < lines_left ? in_line : 0;
            unsigned const place = tile + (to ^ swizzle(v * together) * 16) + v * together * bytes;
            copy_piece<PIECE>(place, from + v * apart, there);
        }
        from += after;
    }
    void put(unsigned) const {} /* it is there when the copies have ended */
#endif
};

/* Where a lane reads: 16 lines or columns by 32 bytes of k are four matrices of 8 x 16 bytes, which A has in another
   order than B. */
template <int SIDE, bool ALONG_K, bool IS_A> struct reader {
    typedef loader<SIDE, ALONG_K, 16> layout;
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

using sums_of_thread = scalar[BLOCKS_M][BLOCKS_N][4];
/* Calls f(i, h, j, row, column) with each pair of a thread's sums, which are beside each other in C. */
template <class F> inline void for_all_pairs(place const &tile, F const &f) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const row0 = tile.i * TILE_M + warp / WARPS_N * MICRO_M, col0 = tile.j * TILE_N + warp % WARPS_N * MICRO_N;
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int j = 0; j < BLOCKS_N; ++j)
                f(i, h, j, row0 + 16 * i + 8 * h + lane / 4, col0 + 8 * j + lane % 4 * 2);
}
#if TOGETHER
/* The blocks of a cluster add up their sums. */
inline void store_sums_of_tile(arguments const &p, epilogue_state const &state, sums_of_thread const &sum,
                               place const &tile, unsigned tiles) {
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const own_row = tile.i * TILE_M + warp / WARPS_N * MICRO_M + lane / 4,
              own_col = tile.j * TILE_N + warp % WARPS_N * MICRO_N + lane % 4 * 2;
    __syncthreads();
    put_sums<THREADS>(tiles, threadIdx.x, (scalar const (&)[BLOCKS_M * BLOCKS_N * 4])sum);
    cluster_ends();
    add_up<THREADS, BLOCKS_M * BLOCKS_N * 4>(tiles, threadIdx.x, [&](int first, scalar const (&x)[4]) {
        int const row = own_row + first / 4 / BLOCKS_N * 16, col = own_col + first / 4 % BLOCKS_N * 8;
        store_run<2>(p, state, x, row, col, 0);
        store_run<2>(p, state, x + 2, row + 8, col, 0);
    });
    cluster_ends();
}
#elif PARTIAL
inline void store_sums_of_tile(arguments const &p, epilogue_state const &, sums_of_thread const &sum,
                               place const &tile, unsigned) {
    for_all_pairs(tile, [&](int i, int h, int j, int row, int col) {
        store_partial<2>(p, &sum[i][j][2 * h], row, col, tile.batch);
    });
}
#else
/* In whole rows, which pass through shared memory, where tiles were. */
inline void store_rows(arguments const &p, epilogue_state const &state, sums_of_thread const &sum, place const &tile,
                       unsigned tiles) {
    constexpr int in_row = ROW_BYTES / sizeof(OUT);
    constexpr int width = TILE_N < in_row ? TILE_N : TILE_N % in_row == 0 ? in_row : in_row / 2;
    static_assert(TILE_N % width == 0 && width % MICRO_N == 0, "whole rows of results");
    static_assert(STAGES == 1 || TILE_M * ROW_BYTES <= STAGES * (A_BYTES + B_BYTES), "stages have room for them");
    int const warp = threadIdx.x / 32, i0 = tile.i * TILE_M, j0 = tile.j * TILE_N;
#pragma unroll
    for (int first = 0; first < TILE_N; first += width) {
        __syncthreads();
        if (warp % WARPS_N * MICRO_N / width * width == first)
            for_all_pairs(tile, [&](int i, int h, int j, int row, int col) {
                OUT x[2];
                /* What is outside of C is not stored, but its epilogue may read something: that of the edge. */
#pragma unroll
                for (int w = 0; w < 2; ++w)
                    x[w] = finished(p, state, sum[i][j][2 * h + w], false, nullptr, min(row, p.m - 1),
                                    min(col + w, p.n - 1));
                put(tiles + (row - i0) * ROW_BYTES +
                        place_in_row<sizeof(OUT)>((col - j0 - first) * sizeof(OUT), row - i0),
                    x[0], x[1]);
            });
        __syncthreads();
        for (int r = warp * 16; r < min(TILE_M, p.m - i0); r += THREADS / 2)
            if (j0 + first < p.n)
                write_rows<OUT, width>(tiles + r * ROW_BYTES,
                                       (OUT *)element<OUT>(p.c, i0 + r, j0 + first, tile.batch), p.c.row, 1,
                                       min(16, p.m - i0 - r), p.n - j0 - first);
    }
}
inline void store_sums_of_tile(arguments const &p, epilogue_state const &state, sums_of_thread const &sum,
                               place const &tile, unsigned tiles) {
    if (p.c.col == 1 && !(p.flags & adds)) return store_rows(p, state, sum, tile, tiles);
    for_all_pairs(tile, [&](int i, int h, int j, int row, int col) {
        store_run<2>(p, state, &sum[i][j][2 * h], row, col, tile.batch);
    });
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, (STAGES > 1 || __CUDA_ARCH__ < 900 ? 256 : 512) / THREADS)
mma(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    extern __shared__ __align__(128) char memory[];
    unsigned const a_tiles = shared_address(memory), b_tiles = a_tiles + STAGES * A_BYTES;
#if TOGETHER
    place const tile = tile_at(p, blockIdx.x);
#else
    place const tile = place_of_tile(blockIdx.x, (p.m - 1) / TILE_M + 1, (p.n - 1) / TILE_N + 1);
#endif
    int const i0 = tile.i * TILE_M, j0 = tile.j * TILE_N;
#if PARTIAL || TOGETHER
    int const l0 = tile.batch * p.part, l1 = min(p.k, l0 + p.part), batch = 0;
#else
    int const l0 = 0, l1 = p.k, batch = tile.batch;
#endif
    int const warp = threadIdx.x / 32;
    int const warp_m = warp / WARPS_N * MICRO_M, warp_n = warp % WARPS_N * MICRO_N;

    loader<TILE_M, A_ALONG_K, A_PIECE> a(p.a, i0, p.m, l0, p.k, batch);
    loader<TILE_N, B_ALONG_K, B_PIECE> b({p.b.data, p.b.col, p.b.row, p.b.step}, j0, p.n, l0, p.k, batch);
    reader<TILE_M, A_ALONG_K, true> const at_a(warp_m);
    reader<TILE_N, B_ALONG_K, false> const at_b(warp_n);
    int const steps = (l1 - l0 - 1) / TILE_K + 1;
    int ahead = 0, left = l1 - l0; /* the stage that is fetched next, and the terms from there on */
    auto const fetch_a = [&] {
        if (left > 0) a.fetch(a_tiles + ahead * A_BYTES, left);
    };
    auto const fetch_b = [&] {
        if (left > 0) b.fetch(b_tiles + ahead * B_BYTES, left);
        commit();
    };
    auto const put_a = [&] {
        if (left > 0) a.put(a_tiles + ahead * A_BYTES);
    };
    auto const put_b = [&] {
        if (left > 0) b.put(b_tiles + ahead * B_BYTES);
        left -= TILE_K;
        if (++ahead == STAGES) ahead = 0;
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch_a(), fetch_b(), put_a(), put_b();

    unsigned x[2][BLOCKS_M][4], y[2][BLOCKS_N / 2][4];
    auto const read = [&](int stage, int d) {
#pragma unroll
        for (int j = 0; j < BLOCKS_N / 2; ++j) at_b.read(y[d % 2][j], b_tiles + stage * B_BYTES, j, d);
#pragma unroll
        for (int i = 0; i < BLOCKS_M; ++i) at_a.read(x[d % 2][i], a_tiles + stage * A_BYTES, i, d);
    };
    sums_of_thread sum = {};
    in_pieces<sums_of_thread> pieces(p, TILE_K);
#if PROMOTES
    sums_of_thread part;
#else
    sums_of_thread &part = sum;
#endif
    auto const multiply_all = [&](int d) {
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
    };
#if STAGES > 1
    wait_but_for<STAGES - 2>();
    __syncthreads();
    read(0, 0);
#endif
#if PIECES
    for (int step = 0, stage = 0; step < steps; pieces.add(sum))
        for (int const end = step + pieces.next(steps - step); step < end; ++step) {
#else
    for (int step = 0, stage = 0; step < steps; ++step) {
#endif
#if STAGES == 1
        fetch_a(), fetch_b(), put_a(), put_b();
        wait_but_for<0>();
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) read(stage, d), multiply_all(d);
        __syncthreads();
#else
        int const next = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            if (ONE_BY_ONE && d == DEPTH / 2) put_a(), fetch_b();
            if (d == DEPTH - 1) { /* all have read this stage: the next but STAGES may come where it was */
                if (!ONE_BY_ONE) put_a();
                put_b();
                wait_but_for<STAGES - 2>();
                __syncthreads();
            }
            read(d == DEPTH - 1 ? next : stage, (d + 1) % DEPTH);
            if (d == 0) fetch_a();
            if (d == 0 && !ONE_BY_ONE) fetch_b();
            multiply_all(d);
        }
        stage = next;
#endif
    }
    pieces.finish(sum);
    wait_but_for<0>();
    store_sums_of_tile(p, state, sum, tile, a_tiles);
}
)cu";

STRATAGEMM_END
