// Batches of small products. A block takes a group of PRODUCTS of them through shared memory, where they lie
// as they do in memory. If STAGES groups have room there, blocks stay and take one after another: some are
// fetched while one is multiplied. The sides are known when this is compiled, so that all loops are written
// out: SIDE_M, SIDE_N, SIDE_K (none above 32). A thread has MICRO_M x MICRO_N elements of one product.
//
// DENSE: the elements of A, and of B, lie one after another from product to product, a group begins at a
// multiple of 16 bytes, and 16 bytes are copied at a time.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_small_text[] = R"cu(
#define UP(x, y) (((x) + (y)-1) / (y))
#define THREADS_M UP(SIDE_M, MICRO_M)
#define THREADS_N UP(SIDE_N, MICRO_N)
#define EACH (THREADS_M * THREADS_N) /* threads for a product */
#define THREADS (EACH * PRODUCTS)
/* Blocks of a multiprocessor. Enough are to be there that enough is fetched at a time, so registers are kept few: for
   each of its quarters, which has 512 for a lane. */
#define REGISTERS (48 + 2 * MICRO_M * MICRO_N * (int)sizeof(scalar) / 4)
#define RESIDENT (512 / (REGISTERS < 64 ? 64 : REGISTERS) * 4 / UP(THREADS, 32))

constexpr int sixteen = 16 / sizeof(IN); /* bytes, in elements */
/* Elements that are read at once, of so many of a line. */
constexpr int together(int length, int count) {
    int w = sixteen < 4 ? sixteen : 4;
    while (length % w || count % w) w /= 2;
    return w;
}
/* An operand in shared memory, LINES of LENGTH elements of each product. Lines of whole 128 bytes, and products of an
   even number of 16 bytes, are 16 further apart, so that threads that read the same place of several meet in no bank. */
template <int LINES, int LENGTH> struct kept {
    static constexpr int size = LINES * LENGTH, length = LENGTH;
    static constexpr bool lines_apart = LENGTH % (8 * sixteen) == 0, apart = !lines_apart && size % (2 * sixteen) == 0;
    static constexpr int line = LENGTH + (lines_apart ? sixteen : 0), product = LINES * line + (apart ? sixteen : 0);
    static constexpr int bytes = UP(PRODUCTS * product * (int)sizeof(IN), 16) * 16;
    static int place(int e) { return e + (lines_apart ? e / LENGTH : apart ? e / size : 0) * sixteen; }
};
typedef kept<A_ALONG_K ? SIDE_M : SIDE_K, A_ALONG_K ? SIDE_K : SIDE_M> kept_a;
typedef kept<B_ALONG_K ? SIDE_N : SIDE_K, B_ALONG_K ? SIDE_K : SIDE_N> kept_b;

/* Rows, or columns, of a thread: runs as long as are read or stored at once, and those of its neighbours between. */
#define RUN_M (A_ALONG_K ? 1 : together(SIDE_M, MICRO_M))
#define RUN_N together(SIDE_N, MICRO_N)
template <int THREADS_ALONG, int RUN> int line_of(int i, int thread) {
    return (thread + i / RUN * THREADS_ALONG) * RUN + i % RUN;
}
/* Terms of k that are read at a time. */
#define DEEP (A_ALONG_K || B_ALONG_K ? together(SIDE_K, SIDE_K) : 1)

/* Steps of k that are written out: all, but for sm_100, where the compiler would read ahead into more registers than
   there are. */
#define WRITTEN_OUT (__CUDA_ARCH__ >= 1000 && SIDE_K > 8 ? 2 : SIDE_K)

/* Of `there` products, of which the first is at `from`. */
template <class KEPT>
void fetch(char *to, IN const *from, index step, index line_stride, index stride, int there) {
    int const all = there * KEPT::size;
    unsigned const at = shared_address(to);
#if DENSE
#pragma unroll
    for (int r = 0; r < UP(PRODUCTS * KEPT::size, THREADS * sixteen); ++r) {
        int const e = (threadIdx.x + r * THREADS) * sixteen;
        if (e < all)
            copy(at + KEPT::place(e) * (int)sizeof(IN), (uint4 const *)(from + e),
                 min(16, (all - e) * (int)sizeof(IN)));
    }
#else
#pragma unroll 4
    for (int e = threadIdx.x; e < all; e += THREADS) {
        int const product = e / KEPT::size, in = e % KEPT::size, line = in / KEPT::length, l = in % KEPT::length;
        copy(at + KEPT::place(e) * (int)sizeof(IN), from + (product * step + line * line_stride + l * stride));
    }
#endif
}

/* Terms l to l + DEEP of the rows, or columns, of a thread. Those beyond the last are read as others that are there. */
template <class KEPT, bool ALONG_K, int SIDE, int MICRO, int RUN>
void read(scalar (&to)[DEEP][MICRO], IN const *from, int l, int thread, bool conjugated) {
#pragma unroll
    for (int i = 0; i < MICRO; i += RUN) {
        int const line = line_of<UP(SIDE, MICRO), RUN>(i, thread), first = SIDE % MICRO ? min(line, SIDE - RUN) : line;
        if (ALONG_K) {
#pragma unroll
            for (int w = 0; w < RUN; ++w) {
                run_of<IN, DEEP> const got = *(run_of<IN, DEEP> const *)(from + (first + w) * KEPT::line + l);
#pragma unroll
                for (int d = 0; d < DEEP; ++d) to[d][i + w] = conjugate_if(conjugated, (scalar)widen(got.x[d]));
            }
        } else {
#pragma unroll
            for (int d = 0; d < DEEP; ++d) {
                run_of<IN, RUN> const got = *(run_of<IN, RUN> const *)(from + (l + d) * KEPT::line + first);
#pragma unroll
                for (int w = 0; w < RUN; ++w) to[d][i + w] = conjugate_if(conjugated, (scalar)widen(got.x[w]));
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT < 1 ? 1 : RESIDENT < 16 ? RESIDENT : 16)
small(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    __shared__ __align__(16) char memory[STAGES][kept_a::bytes + kept_b::bytes];
    unsigned const groups = ((unsigned)p.count - 1) / PRODUCTS + 1;
    auto const fetch_group = [&](unsigned group, int stage) {
        if (group < groups) {
            index const first = (index)group * PRODUCTS;
            int const there = (int)min((index)PRODUCTS, p.count - first);
            fetch<kept_a>(memory[stage], element<IN>(p.a, 0, 0, first), p.a.step, A_ALONG_K ? p.a.row : p.a.col,
                          A_ALONG_K ? p.a.col : p.a.row, there);
            fetch<kept_b>(memory[stage] + kept_a::bytes, element<IN>(p.b, 0, 0, first), p.b.step,
                          B_ALONG_K ? p.b.col : p.b.row, B_ALONG_K ? p.b.row : p.b.col, there);
        }
        commit();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch_group(blockIdx.x + s * gridDim.x, s);

    int const mine = threadIdx.x / EACH, in = threadIdx.x % EACH;
    int const thread_m = in / THREADS_N, thread_n = in % THREADS_N;
    /* Of C. */
    unsigned long long const places = (unsigned long long)p.c.data | p.c.row * sizeof(OUT) | p.c.step * sizeof(OUT);
    bool const vectors = p.c.col == 1 && SIDE_N % MICRO_N == 0 && places % alignof(run_of<OUT, RUN_N>) == 0;
    int stage = 0;
    for (unsigned group = blockIdx.x; group < groups; group += gridDim.x) {
        /* What was multiplied last makes room. Of one stage there is no room before. */
        if (STAGES == 1) __syncthreads(), fetch_group(group, 0);
        wait_but_for<(STAGES > 1 ? STAGES - 2 : 0)>();
        __syncthreads();
        if (STAGES > 1) fetch_group(group + (STAGES - 1) * gridDim.x, stage == 0 ? STAGES - 1 : stage - 1);
        index const product = (index)group * PRODUCTS + mine;
        if (product < p.count) {
            IN const *const a = (IN const *)memory[stage] + mine * kept_a::product;
            IN const *const b = (IN const *)(memory[stage] + kept_a::bytes) + mine * kept_b::product;
            scalar sum[MICRO_M][MICRO_N] = {};
#pragma unroll(WRITTEN_OUT)
            for (int l = 0; l < SIDE_K; l += DEEP) {
                scalar x[DEEP][MICRO_M], y[DEEP][MICRO_N];
                read<kept_a, A_ALONG_K, SIDE_M, MICRO_M, RUN_M>(x, a, l, thread_m, p.flags & conjugate_a);
                read<kept_b, B_ALONG_K, SIDE_N, MICRO_N, RUN_N>(y, b, l, thread_n, p.flags & conjugate_b);
#pragma unroll
                for (int d = 0; d < DEEP; ++d)
#pragma unroll
                    for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
                        for (int j = 0; j < MICRO_N; ++j) sum[i][j] = multiply_add(x[d][i], y[d][j], sum[i][j]);
            }
            in_pieces<scalar[MICRO_M][MICRO_N]>(p, 1).finish(sum);
            place_in_c const first = {line_of<THREADS_M, RUN_M>(0, thread_m), line_of<THREADS_N, RUN_N>(0, thread_n),
                                      product};
            store_sums<RUN_N>(p, state, sum, first, vectors,
                              [](int i) { return line_of<THREADS_M, RUN_M>(i, 0); },
                              [](int j) { return line_of<THREADS_N, RUN_N>(j, 0); });
        }
        if (++stage == STAGES) stage = 0;
    }
}
)cu";

STRATAGEMM_END
