// A matrix times a few columns, TILE_N of them, in the order of device/order.hpp: the terms of a piece of k are summed
// one after another, and the sums of the pieces in a block, which has TILE_M rows of C. The kernel runs in parallel
// over the pieces, of which a block has MICRO_M at a time, and over the rows. If there are few rows, the CLUSTER blocks
// of a cluster share the pieces, and the first block adds up their sums. Operands pass through shared memory in STAGES
// stages of TILE_K terms of each piece; one stage holds all terms where there are few. B may lie in any way.
//
// DENSE: lines of A begin at multiples of 16 bytes. SHIFTED, for 16-bit types: lines of A and B, which lie along k,
// begin anywhere.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

// What both kernels share: the copies, and the loop over pieces.
inline constexpr char cuda_ordered_copies_text[] = R"cu(
#define COLS TILE_N
#define BLOCK_PIECES MICRO_M /* pieces of a block */
constexpr int OF_ALL = BLOCK_PIECES * CLUSTER;
inline int rank() { return blockIdx.x % CLUSTER; }
/* Elements of A that are copied at once, and of B where its lines are aligned. */
constexpr int WHOLE = sizeof(IN) < 16 ? 16 / sizeof(IN) : 1, VECTOR = DENSE ? WHOLE : 1;

/* N elements, of which the first `there` are read and the others are zeros. */
template <int N> void copy_some(IN *to, IN const *from, int there) {
    constexpr int bytes = N * sizeof(IN), word = bytes % 16 == 0 && N > 1 ? 16 : alignof(IN) < 4 ? 4 : alignof(IN);
    static_assert(bytes % word == 0, "whole words");
    unsigned const place = shared_address(to);
#pragma unroll
    for (int b = 0; b < bytes; b += word) {
        char const *const at = (char const *)from + b;
        int const left = max(0, min(word, there * (int)sizeof(IN) - b));
#if __CUDA_ARCH__ >= 800
        if constexpr (word == 16)
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place + b), "l"(at), "r"(left)
                         : "memory");
        else if constexpr (word == 8)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(place + b), "l"((double const *)at),
                         "r"(left) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place + b), "l"((unsigned const *)at),
                         "r"(left) : "memory");
#else
#pragma unroll
        for (int w = 0; w < word; w += 4)
            *(unsigned *)((char *)to + b + w) = w < left ? *(unsigned const *)(at + w) : 0;
#endif
    }
}
/* Elements that have no word of their own are copied through registers, many at a time: all are loaded from somewhere. */
constexpr bool BY_COPIES = sizeof(IN) >= 4;
/* A warp copies a line of `depth` terms, at most MOST, of which `there` are, in vectors of N elements. There is one at
   least. */
template <int N, int MOST> void copy_line(IN *to, IN const *from, index apart, int there, int depth) {
    int const lane = threadIdx.x % 32;
    if constexpr (N == 1 && !BY_COPIES) {
        constexpr int some = 16;
        for (int t = lane; t < depth; t += 32 * some) {
            IN x[some];
#pragma unroll
            for (int s = 0; s < some; ++s) x[s] = from[max(0, min(t + 32 * s, there - 1)) * apart];
#pragma unroll
            for (int s = 0; s < some; ++s)
                if (t + 32 * s < depth) to[t + 32 * s] = t + 32 * s < there ? x[s] : IN{};
        }
    } else {
#pragma unroll
        for (int v = 0; v < (MOST - 1) / (32 * N) + 1; ++v)
            if (int const t = lane * N + v * 32 * N; t < depth)
                copy_some<N>(to + t, t < there ? from + t * apart : from, there - t);
    }
}
/* SHIFTED: of a line along k, the aligned vectors that the line lies in. In shared memory the line begins where it does
   in the first of them, which is the same for all of its pieces and steps. */
inline int place_in_first(IN const *line) { return (unsigned long long)line % 16 / sizeof(IN); }
inline void copy_vectors(IN *to, IN const *line, int there, int depth) {
    int const place = place_in_first(line);
    copy_line<WHOLE, TILE_K + WHOLE>(to, line - place, 1, there > 0 ? there + place : 0, depth + WHOLE);
}
/* The terms of step `step` of so many pieces from `first` on: how many a stage has of the longest, in whole steps of the
   loops that follow. */
inline int depth_of(arguments const &p, int first, int step) {
    int const longest = min(p.part, p.k - first * p.part) - step * TILE_K;
    return min(TILE_K, (longest + 31) / 32 * 32);
}
/* Of a piece, from a step on. */
inline int terms_left(arguments const &p, int piece, int step) {
    return min(p.part, p.k - piece * p.part) - step * TILE_K;
}
/* B in shared memory: a line along k of each column of a piece, or, where it does not lie along k, the terms of a piece one
   after another. Then all that B has of a piece is one line of memory, if there are no gaps. */
template <int N> struct alignas(N * sizeof(IN)) several { IN x[N]; };
constexpr int PAD = sizeof(IN) == 2 ? 16 : WHOLE, LINE = TILE_K + PAD;
constexpr int PIECE_B = B_ALONG_K ? COLS * LINE : TILE_K * COLS + PAD;
/* Whether its lines begin at multiples of 16 bytes, without gaps. */
inline bool b_is_dense(arguments const &p) {
    index const next = B_ALONG_K && COLS > 1 ? p.b.col : 0;
    unsigned long long const begins = (unsigned long long)p.b.data | (next | p.b.step) * sizeof(IN);
    return begins % 16 == 0 && (B_ALONG_K ? p.b.row == 1 : p.b.col == 1 && p.b.row == COLS);
}
inline void copy_b(arguments const &p, IN *b, int first, int now, int step, index batch, bool dense) {
    int const warp = threadIdx.x / 32, depth = depth_of(p, first, step);
    constexpr int lines = B_ALONG_K ? COLS : 1;
#pragma unroll 2
    for (int line = warp; line < lines * now; line += 8) {
        int const piece = first + line / lines, there = terms_left(p, piece, step);
        IN const *const from =
            there > 0 ? element<IN>(p.b, piece * p.part + step * TILE_K, line % lines, batch) : (IN const *)p.b.data;
        IN *const to = b + line * (PIECE_B / lines);
        if (SHIFTED && B_ALONG_K && p.b.row == 1)
            copy_vectors(to, from, there, depth);
        else if (dense)
            copy_line<WHOLE, TILE_K * COLS / lines>(to, from, 1, there * (COLS / lines), depth * (COLS / lines));
        else if (B_ALONG_K)
            copy_line<1, TILE_K>(to, from, p.b.row, there, depth);
        else
            for (int j = 0; j < COLS; ++j) {
                constexpr int some = 4;
                for (int t = threadIdx.x % 32; t < depth; t += 32 * some) {
                    IN x[some];
#pragma unroll
                    for (int s = 0; s < some; ++s) x[s] = from[max(0, min(t + 32 * s, there - 1)) * p.b.row + j * p.b.col];
#pragma unroll
                    for (int s = 0; s < some; ++s)
                        if (t + 32 * s < depth) to[(t + 32 * s) * COLS + j] = t + 32 * s < there ? x[s] : IN{};
                }
            }
    }
}
#if A_ALONG_K
/* A likewise: rows of a piece, and then of the next. */
inline void copy_a(arguments const &p, IN *a, int i0, int first, int now, int step, index batch) {
    int const warp = threadIdx.x / 32, depth = depth_of(p, first, step);
#pragma unroll 4
    for (int line = warp; line < TILE_M * now; line += 8) {
        int const piece = first + line / TILE_M, row = i0 + line % TILE_M;
        int const there = row < p.m ? terms_left(p, piece, step) : 0;
        IN const *const from =
            there > 0 ? element<IN>(p.a, row, piece * p.part + step * TILE_K, batch) : (IN const *)p.a.data;
        if constexpr (SHIFTED)
            copy_vectors(a + line * LINE, from, there, depth);
        else
            copy_line<VECTOR, TILE_K>(a + line * LINE, from, VECTOR > 1 ? 1 : p.a.col, there, depth);
    }
}
#endif
/* A stage: what it has of A, and then of B. */
constexpr int SIZE_A = A_ALONG_K ? BLOCK_PIECES * TILE_M * LINE : 0, STAGE = SIZE_A + BLOCK_PIECES * PIECE_B;
inline void copy_stage(arguments const &p, IN *to, int i0, int first, int now, int step, index batch, bool dense) {
#if A_ALONG_K
    copy_a(p, to, i0, first, now, step, batch);
#endif
    copy_b(p, to + SIZE_A, first, now, step, batch, dense);
}
/* All pieces, some at a time, and these in steps: fetch(first, step, stage) asks for a step of the pieces of this block
   from `first` on, begin(first, step) may do something while the step comes, sum(first, step, stage) sums the step, and
   add(all, first) adds the sums of the pieces to the total: `all` is the first piece that the cluster has. */
template <class FETCH, class BEGIN, class SUM, class ADD>
void go_through_pieces(arguments const &p, FETCH const &fetch, BEGIN const &begin, SUM const &sum, ADD const &add) {
    int const pieces = (p.k - 1) / p.part + 1, steps = (min(p.part, p.k) - 1) / TILE_K + 1;
    int ahead = rank() * BLOCK_PIECES, step_ahead = 0, stage_ahead = 0, stage = 0;
    auto const fetch_next = [&] {
        if (ahead < pieces) fetch(ahead, step_ahead, stage_ahead);
        commit();
        if (++step_ahead == steps) step_ahead = 0, ahead += OF_ALL;
        if (++stage_ahead == STAGES) stage_ahead = 0;
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch_next();
    for (int all = 0; all < pieces; all += OF_ALL) {
        int const first = all + rank() * BLOCK_PIECES;
        for (int step = 0; step < steps; ++step) {
            if constexpr (STAGES == 1) {
                if (all + step > 0) __syncthreads();
                fetch_next();
                begin(first, step);
                wait_but_for<0>();
                __syncthreads();
            } else {
                begin(first, step);
                wait_but_for<STAGES - 2>();
                __syncthreads();
                fetch_next();
            }
            sum(first, step, stage);
            if (++stage == STAGES) stage = 0;
        }
        add(all, first);
    }
}
/* Sums on their way to those who add them up, in the shared memory of the first block. */
#if CLUSTER > 1
template <class T> void put_sum(T *to, T const &x) {
    union { T whole; unsigned word[sizeof(T) / 4]; } const u = {x};
#pragma unroll
    for (int w = 0; w < sizeof(T) / 4; ++w) put_in_block(shared_address(to) + 4 * w, 0, u.word[w]);
}
inline void may_be_put() { cluster_ends(); } /* The first block has begun, and has added up what was put before. */
inline void have_been_put() { cluster_ends(); }
#else
template <class T> void put_sum(T *to, T const &x) { *to = x; }
inline void may_be_put() {}
inline void have_been_put() { __syncthreads(); }
#endif
)cu";

// On CUDA cores a thread has a row of a piece, and MICRO_N columns. Where A does not lie along k, the thread reads A
// directly, the next terms while it sums the current ones. Doubles on sm_90 are summed as in fp64.cu.hpp, whose
// instruction adds up eight terms one after another: the even ones of eight, and then the odd ones. (A chain of that
// instruction takes longer than one of multiply-adds.)
inline constexpr char cuda_ordered_text[] = R"cu(
constexpr int EACH = MICRO_N, ACROSS = COLS / EACH; /* columns of a thread; threads for the columns of a row */
static_assert(BLOCK_PIECES * TILE_M * ACROSS <= 256 && TILE_M * COLS <= 256, "a block has 256 threads");
constexpr bool EVEN_FIRST = sizeof(IN) == 8 && !COMPLEX && __CUDA_ARCH__ == 900;
constexpr int term_at(int t) { return EVEN_FIRST ? t / 8 * 8 + t % 4 * 2 + t % 8 / 4 : t; }

/* Blocks that copy A are to be many at a time; of those that read it themselves, each has many loads on their way. */
extern "C" __global__ void __launch_bounds__(256, !A_ALONG_K || sizeof(scalar) > 8 ? 1 : sizeof(scalar) > 4 ? 3 : 4)
ordered(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    extern __shared__ __align__(128) char memory[];
    IN *const stages = (IN *)memory;
    scalar *const room = (scalar *)(stages + STAGES * STAGE); /* OF_ALL x COLS x TILE_M */
    int const blocks = (p.m - 1) / TILE_M + 1, block = blockIdx.x / CLUSTER;
    int const batch = block / blocks, i0 = block % blocks * TILE_M;
    int const row = threadIdx.x % TILE_M, column = threadIdx.x / TILE_M % ACROSS * EACH;
    int const own = threadIdx.x / (TILE_M * ACROSS), pieces = (p.k - 1) / p.part + 1;
    bool const dense = b_is_dense(p);
    wait_for_earlier();

    /* Terms at a time. */
    constexpr int some = A_ALONG_K || sizeof(IN) == 16 ? 8 : EACH == 1 ? 32 : 16;
    scalar sum[EACH] = {}, total = {};
    auto const read_line = [](IN (&to)[some], IN const *line) {
#pragma unroll
        for (int t = 0; t < some; t += WHOLE) *(several<WHOLE> *)(to + t) = *(several<WHOLE> const *)(line + t);
    };
    auto const read_b = [&](IN (&to)[some], IN const *piece, int t0, int j) {
        if constexpr (B_ALONG_K)
            read_line(to, piece + j * LINE + t0);
        else
#pragma unroll
            for (int t = 0; t < some; ++t) to[t] = piece[(t0 + t) * COLS + j];
    };
    auto const multiply = [&](IN const (&x)[some], IN const (&y)[some], int j) {
#pragma unroll
        for (int t = 0; t < some; ++t) {
            scalar const u = conjugate_if(p.flags & conjugate_a, (scalar)widen(x[term_at(t)]));
            scalar const v = conjugate_if(p.flags & conjugate_b, (scalar)widen(y[term_at(t)]));
            sum[j] = multiply_add(u, v, sum[j]);
        }
    };
    auto const multiply_all = [&](IN const (&x)[some], IN const *piece, int t0) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            IN y[some];
            read_b(y, piece, t0, column + j);
            multiply(x, y, j);
        }
    };
#if A_ALONG_K
    auto const begin = [](int, int) {};
#else
    IN x[2][some];
    IN const *const line_a = element<IN>(p.a, min(i0 + row, p.m - 1), 0, batch);
    auto const load = [&](IN (&to)[some], int first, int step, int t0) {
        bool const reads = own < min(BLOCK_PIECES, pieces - first);
        int const left = reads ? terms_left(p, first + own, step) - t0 : 0;
        IN const *const from = line_a + ((index)(first + own) * p.part + step * TILE_K + t0) * p.a.col;
#pragma unroll
        for (int t = 0; t < some; ++t) to[t] = t < left && t0 + t < TILE_K ? from[t * p.a.col] : IN{};
    };
    auto const begin = [&](int first, int step) { load(x[0], first, step, 0); };
#endif
    go_through_pieces(
        p,
        [&](int first, int step, int stage) {
            copy_stage(p, stages + stage * STAGE, i0, first, min(BLOCK_PIECES, pieces - first), step, batch, dense);
        },
        begin,
        [&](int first, int step, int stage) {
            if (own >= min(BLOCK_PIECES, pieces - first)) return;
            int const depth = depth_of(p, first, step);
            IN const *const a = stages + stage * STAGE, *const b = a + SIZE_A + own * PIECE_B;
#if A_ALONG_K
            IN const *const line = a + (own * TILE_M + row) * LINE;
            if constexpr (EACH == 1 && sizeof(IN) < 16) {
                /* Unrolled where all terms are there, so that they are read ahead of the chain of multiply-adds. */
                auto const go_on = [&](int t0) {
                    IN x[some], y[some];
                    read_line(x, line + t0), read_b(y, b, t0, column), multiply(x, y, 0);
                };
                if (depth == TILE_K)
#pragma unroll
                    for (int t0 = 0; t0 < TILE_K; t0 += some) go_on(t0);
                else
#pragma unroll 2
                    for (int t0 = 0; t0 < depth; t0 += some) go_on(t0);
                return;
            }
            for (int t0 = 0; t0 < depth; t0 += some) {
                IN x[some];
                read_line(x, line + t0);
                multiply_all(x, b, t0);
            }
#else
            for (int t0 = 0; t0 < depth; t0 += 2 * some) {
                load(x[1], first, step, t0 + some);
                multiply_all(x[0], b, t0);
                if (t0 + some >= depth) break;
                load(x[0], first, step, t0 + 2 * some);
                multiply_all(x[1], b, t0 + some);
            }
#endif
        },
        [&](int all, int first) {
            may_be_put();
            if (own < min(BLOCK_PIECES, pieces - first))
#pragma unroll
                for (int j = 0; j < EACH; ++j)
                    put_sum(room + ((first - all + own) * COLS + column + j) * TILE_M + row, sum[j]), sum[j] = scalar{};
            have_been_put();
            int const now = min(OF_ALL, pieces - all);
            if (rank() == 0 && threadIdx.x < TILE_M * COLS)
#pragma unroll 8
                for (int piece = 0; piece < now; ++piece)
                    total = total + room[piece * (COLS * TILE_M) + threadIdx.x];
        });
    if (rank() == 0 && threadIdx.x < TILE_M * COLS && i0 + row < p.m)
        store(p, state, total, i0 + row, threadIdx.x / TILE_M, batch);
}
)cu";

// The same for 16-bit types on tensor cores, whose instruction adds up 16 neighbouring terms, in any order. The kernel
// computes C^T = B^T A^T: a warp has eight rows of A and a piece of k at a time. A lies along k: where A does not,
// tiles are faster.
inline constexpr char cuda_ordered_mma_text[] = R"cu(
constexpr int ROWS = 8; /* of a warp */
constexpr int GROUPS = (TILE_M - 1) / ROWS + 1, SHARES = BLOCK_PIECES * GROUPS, EACH = (SHARES - 1) / 8 + 1;
static_assert(TILE_M * COLS <= 512, "two elements of C for a thread");

struct alignas(8) terms { unsigned w[2]; };
inline terms terms_of(IN x0, IN x1, IN x2, IN x3) {
    return {{x0.bits | (unsigned)x1.bits << 16, x2.bits | (unsigned)x3.bits << 16}};
}
/* Four along k from there on, wherever that is. */
inline terms terms_at(IN const *from) {
    if constexpr (!SHIFTED) return *(terms const *)from;
    unsigned const *const word = (unsigned const *)((unsigned long long)from / 4 * 4);
    unsigned const by = (unsigned long long)from % 4 * 8;
    return {{__funnelshift_r(word[0], word[1], by), __funnelshift_r(word[1], word[2], by)}};
}
inline void multiply(float (&c)[4], terms const &x, terms const &y) {
    asm volatile("mma.sync.aligned." MMA_TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(x.w[0]), "r"(0), "r"(x.w[1]), "r"(0), "r"(y.w[0]), "r"(y.w[1]));
}

extern "C" __global__ void __launch_bounds__(256, 4)
ordered_mma(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    extern __shared__ __align__(128) char memory[];
    IN *const stages = (IN *)memory;
    float *const room = (float *)(stages + STAGES * STAGE); /* OF_ALL x COLS x TILE_M */
    int const blocks = (p.m - 1) / TILE_M + 1, block = blockIdx.x / CLUSTER;
    int const batch = block / blocks, i0 = block % blocks * TILE_M;
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int const pieces = (p.k - 1) / p.part + 1;
    bool const dense = b_is_dense(p);
    wait_for_earlier();

    constexpr int mine = (TILE_M * COLS - 1) / 256 + 1; /* elements of C */
    float sum[EACH][4] = {}, total[mine] = {};
    /* Lanes of what is not there have something else, which counts for none of C. */
    auto const piece_of = [&](int v, int first) { return min((warp + v * 8) / GROUPS, min(BLOCK_PIECES, pieces - first) - 1); };
    auto const row_of = [&](int v) { return min((warp + v * 8) % GROUPS * ROWS + g, TILE_M - 1); };
    int const column = min(g, COLS - 1);
    int place_of_a[EACH] = {}, place_of_b = 0;
#if SHIFTED
#pragma unroll
    for (int v = 0; v < EACH; ++v)
        if (int const row = i0 + row_of(v); row < p.m) place_of_a[v] = place_in_first(element<IN>(p.a, row, 0, batch));
    if (B_ALONG_K && p.b.row == 1) place_of_b = place_in_first(element<IN>(p.b, 0, column, batch));
#endif
    go_through_pieces(
        p,
        [&](int first, int step, int stage) {
            copy_stage(p, stages + stage * STAGE, i0, first, min(BLOCK_PIECES, pieces - first), step, batch, dense);
        },
        [](int, int) {},
        [&](int first, int step, int stage) {
            int const depth = depth_of(p, first, step);
            IN const *const a = stages + stage * STAGE, *of_b[EACH];
#pragma unroll
            for (int v = 0; v < EACH; ++v)
                of_b[v] = a + SIZE_A + piece_of(v, first) * PIECE_B +
                          (B_ALONG_K ? column * LINE + 4 * t + place_of_b : 4 * t * COLS + column);
            auto const of_column = [&](int v, int l) {
                IN const *const at = of_b[v] + l * (B_ALONG_K ? 1 : COLS);
                return B_ALONG_K ? terms_at(at) : terms_of(at[0], at[COLS], at[2 * COLS], at[3 * COLS]);
            };
            IN const *of_a[EACH];
#pragma unroll
            for (int v = 0; v < EACH; ++v)
                of_a[v] = a + (piece_of(v, first) * TILE_M + row_of(v)) * LINE + 4 * t + place_of_a[v];
#pragma unroll 4
            for (int l = 0; l < depth; l += 16)
#pragma unroll
                for (int v = 0; v < EACH; ++v) multiply(sum[v], of_column(v, l), terms_at(of_a[v] + l));
        },
        [&](int all, int first) {
            may_be_put();
#pragma unroll
            for (int v = 0; v < EACH; ++v) {
                int const share = warp + v * 8, piece = share / GROUPS;
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    int const i = share % GROUPS * ROWS + 2 * t + c;
                    if (piece < min(BLOCK_PIECES, pieces - first) && g < COLS && i < TILE_M)
                        put_sum(room + ((first - all + piece) * COLS + g) * TILE_M + i, sum[v][c]);
                }
#pragma unroll
                for (int c = 0; c < 4; ++c) sum[v][c] = 0;
            }
            have_been_put();
            if (rank() > 0) return;
            int const now = min(OF_ALL, pieces - all);
#pragma unroll
            for (int v = 0; v < mine; ++v)
                if (int const x = threadIdx.x + v * 256; x < TILE_M * COLS)
#pragma unroll 8
                    for (int piece = 0; piece < now; ++piece)
                        total[v] = total[v] + room[piece * (COLS * TILE_M) + x];
        });
    if (rank() > 0) return;
#pragma unroll
    for (int v = 0; v < mine; ++v) {
        int const x = threadIdx.x + v * 256, i = i0 + x % TILE_M;
        if (x < TILE_M * COLS && i < p.m) store(p, state, total[v], i, x / TILE_M, batch);
    }
}
)cu";

STRATAGEMM_END
