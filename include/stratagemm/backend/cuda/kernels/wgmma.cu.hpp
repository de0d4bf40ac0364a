// The product on the tensor cores of sm_90a: warpgroup multiplications of tiles that the tensor memory accelerator
// brings to shared memory. One warpgroup fetches, the others multiply; blocks stay and take tile after tile, so that the
// next one is fetched while this one is stored. Two blocks of a cluster (CLUSTER) may share the tiles of B.
//
// A and B each lie along k, or, 16-bit types, along m or n (A_ALONG_K, B_ALONG_K); a line in shared memory is 128 bytes,
// swizzled.
//
// PROMOTES: the tensor cores keep fewer bits of a sum than a float has (fp8), so that what a stage adds up to is added to
// the sum outside of them.
#pragma once

#include "../../../core/config.hpp"

#include <string>

STRATAGEMM_BEGIN

// One instruction: 64 x n, 32 bytes of k. The types are as PTX calls them: f16, bf16, tf32, s8, e4m3,
// e5m2.
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
           (turns                       ? "16"
            : integer || type[0] == 'e' ? "32"
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
/* The sums are there: nothing that the compiler makes of them may come before. */
inline void are_there(scalar (&sum)[TILE_N / 2]) {
#pragma unroll
    for (int i = 0; i < TILE_N / 2; ++i)
#if INTEGER
        asm volatile("" : "+r"(sum[i])::"memory");
#else
        asm volatile("" : "+f"(sum[i])::"memory");
#endif
}

/* Results go to memory in whole rows: a warp puts 16 rows of 256 bytes to shared memory and reads them back as they lie
   in C. Pieces of 16 bytes are swizzled, such that neither meets in a bank. */
#define ROW_BYTES 256
#define WARP_BYTES (16 * ROW_BYTES)
/* Asked for anew: what follows from it should not take registers while tiles are multiplied. */
inline int lane_now() {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)::"memory");
    return lane;
}
template <int BYTES> unsigned place_in_row(unsigned byte, int row) {
    return byte ^ (BYTES == 2 ? row & 7 : (row & 3) << 1 | (row >> 2 & 1)) << 4;
}
inline unsigned word_at(unsigned address) {
    unsigned x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    return x;
}
inline uint4 words_at(unsigned address) {
    uint4 x;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(address)
                 : "memory");
    return x;
}

/* The rows of a warp to `to`, the place of the first of them; so many of them, and of their columns, are in C. */
template <class T, int width> inline void write_rows(unsigned from, T *to, index row, index col, int rows, int cols) {
    int const lane = lane_now();
    if (col == 1 && cols >= width && ((unsigned long long)to | row * sizeof(T)) % 16 == 0) {
        constexpr int each = 16 / sizeof(T), lanes = width / each;
        int const first = lane / lanes, at = lane % lanes;
        T *c = to + (first * row + at * each);
#pragma unroll
        for (int r = first; r < 16; r += 32 / lanes, c += 32 / lanes * row) {
            uint4 const x = words_at(from + r * ROW_BYTES + place_in_row<sizeof(T)>(at * 16, r));
            if (r < rows) *(uint4 *)c = x;
        }
        return;
    }
#pragma unroll 4
    for (int r = 0; r < rows; ++r, to += row) {
        auto const word = [&](int w) { return word_at(from + r * ROW_BYTES + place_in_row<sizeof(T)>(w * 4, r)); };
        if (sizeof(T) == 4) {
#pragma unroll
            for (int w = lane; w < width; w += 32)
                if (w < cols) *(unsigned *)(to + w * col) = word(w);
        } else if (col == 1) {
            /* Words of two elements as memory has them: from an odd place on, of two words of shared memory. */
            int const odd = (unsigned long long)to / 2 % 2;
#pragma unroll
            for (int w = lane; w < width / 2 + 32; w += 32) {
                int const first = 2 * w - odd;
                if (first >= width) break;
                unsigned x = first + 1 < width ? word(w) : 0;
                if (odd) x = __byte_perm(first >= 0 ? word(w - 1) : 0, x, 0x5432);
                unsigned short *const c = (unsigned short *)to + first;
                bool const low = first >= 0 && first < cols, high = first + 1 < width && first + 1 < cols;
                if (low && high)
                    *(unsigned *)c = x;
                else if (low)
                    c[0] = (unsigned short)x;
                else if (high)
                    c[1] = (unsigned short)(x >> 16);
            }
        } else {
#pragma unroll
            for (int w = lane; w < width / 2; w += 32) {
                unsigned const x = word(w);
                unsigned short *const c = (unsigned short *)to + 2 * w * col;
                if (2 * w < cols) c[0] = (unsigned short)x;
                if (2 * w + 1 < cols) c[col] = (unsigned short)(x >> 16);
            }
        }
    }
}

/* Neighbours to shared memory. Floats stay floats: made words of, the compiler would do so before they are there. */
inline void put(unsigned at, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x), "f"(y) : "memory");
}
inline void put(unsigned at, unsigned x, unsigned y) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(x), "r"(y) : "memory");
}
inline void put(unsigned at, int x, int y) { put(at, (unsigned)x, (unsigned)y); }
template <class T> void put(unsigned at, T x, T y) {
    asm volatile("st.shared.v2.b16 [%0], {%1, %2};" ::"r"(at), "h"(x.bits), "h"(y.bits) : "memory");
}

/* The way back, of E. What is outside of it is not read. */
template <class T, int width>
inline void read_rows(unsigned staging, T const *from, index row, index col, int rows, int cols) {
    int const lane = lane_now();
#pragma unroll 4
    for (int r = 0; r < rows; ++r, from += row)
#pragma unroll
        for (int j = lane; j < width; j += 32)
            if (j < cols) {
                unsigned const to = staging + r * ROW_BYTES + place_in_row<sizeof(T)>(j * sizeof(T), r);
                if (sizeof(T) == 2)
                    asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"(*(unsigned short const *)(from + j * col))
                                 : "memory");
                else
                    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(*(unsigned const *)(from + j * col))
                                 : "memory");
            }
}

/* The sums of a warp, the first of them C's (i0, j0), to c, or to workspace. A thread has pairs of neighbours in rows
   lane / 4 and 8 more. `finish(x, e, i, j)` makes a T of a sum and of what is at `e`, if that is not null. */
template <class T, class Finish>
inline void store_sums(unsigned staging, scalar const (&sum)[TILE_N / 2], int i0, int j0, operand const &c,
                       operand const *e, int m, int n, index batch, Finish &&finish) {
    constexpr int width = ROW_BYTES / sizeof(T) < TILE_N ? ROW_BYTES / sizeof(T) : TILE_N;
    int const lane = lane_now(), i = lane / 4, j = lane % 4 * 2, rows = min(16, m - i0);
#pragma unroll
    for (int first = 0; first < TILE_N; first += width) {
        int const cols = n - j0 - first;
        __syncwarp();
        if (e) {
            read_rows<T, width>(staging, element<T>(*e, i0, j0 + first, batch), e->row, e->col, rows, cols);
            __syncwarp();
        }
#pragma unroll
        for (int b = 0; b < width / 8; ++b)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                scalar const *const s = &sum[4 * (first / 8 + b) + 2 * h];
                unsigned const at =
                    staging + (i + 8 * h) * ROW_BYTES + place_in_row<sizeof(T)>((8 * b + j) * sizeof(T), i);
                union { T x[2]; unsigned word[sizeof(T) / 2]; } before;
#pragma unroll
                for (int w = 0; w < (int)sizeof(T) / 2; ++w) before.word[w] = e ? word_at(at + 4 * w) : 0;
                T x[2];
                /* What is outside of C is not stored, but its epilogue may read something: that of the edge. */
#pragma unroll
                for (int w = 0; w < 2; ++w)
                    x[w] = finish(s[w], &before.x[w], min(i0 + i + 8 * h, m - 1), min(j0 + first + 8 * b + j + w, n - 1));
                put(at, x[0], x[1]);
            }
        __syncwarp();
        write_rows<T, width>(staging, (T *)element<T>(c, i0, j0 + first, batch), c.row, c.col, rows, cols);
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
        fetch_map(a_map), fetch_map(b_map);
    }
    if (CLUSTER > 1)
        cluster_sync();
    else
        __syncthreads();
    wait_for_earlier();

    /* A cluster takes tiles below each other. */
    int const tiles_m = ((p.m - 1) / TILE_M + CLUSTER) / CLUSTER, tiles_n = (p.n - 1) / TILE_N + 1;
    int const tiles = tiles_m * tiles_n * batches_of(p), first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };

    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int number = first; number < tiles; number += stride) {
                place const t = place_of_tile(number, tiles_m, tiles_n);
                int const i0 = (t.i * CLUSTER + rank) * TILE_M, j0 = t.j * TILE_N, l0 = first_term(p, t);
                int const steps = steps_of(p, t), batch_a = matrix_of(p.a, t.batch), batch_b = matrix_of(p.b, t.batch);
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
        int const warp = threadIdx.x % 128 / 32;
        unsigned const staging = barriers + STAGES * 16 + (threadIdx.x / 32 - 4) * WARP_BYTES;
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
            int const steps = steps_of(p, t);
            scalar sum[TILE_N / 2];
#if PROMOTES
            scalar part[TILE_N / 2];
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
                for (int i = 0; i < TILE_N / 2; ++i) sum[i] = step > 0 ? sum[i] + part[i] : part[i];
            }
#else
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
            are_there(sum);
            release(before);
#endif

            int const i0 = (t.i * CLUSTER + rank) * TILE_M + (group - 1) * 64 + warp * 16, j0 = t.j * TILE_N;
#if PARTIAL
            operand const parts = {p.c.data, line_of_parts(p), 1, (index)p.m * line_of_parts(p)};
            store_sums<scalar>(staging, sum, i0, j0, parts, nullptr, p.m, p.n, t.batch,
                               [](scalar x, scalar const *, int, int) { return x; });
#else
            bool const reads_e = p.flags & adds;
            store_sums<OUT>(staging, sum, i0, j0, p.c, reads_e ? &p.e : nullptr, p.m, p.n, t.batch,
                            [&](scalar x, OUT const *e, int i, int j) { return finished(p, state, x, reads_e, e, i, j); });
#endif
        }
    }
    /* Nobody leaves while another block may still tell it something. */
    __syncwarp();
    if (CLUSTER > 1) cluster_sync();
}
)cu";

STRATAGEMM_END
