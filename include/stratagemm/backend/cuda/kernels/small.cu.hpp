// Batches of small products: a block takes several at a time through shared memory, and each thread has some rows and
// columns of one. The sides are known when this is compiled, so that all loops are written out: SIDE_M, SIDE_N, SIDE_K
// (none above 32), PRODUCTS of a block, MICRO_M x MICRO_N elements of a thread.
//
// DENSE: the elements of A, and of B, lie one after another from product to product and are read as vectors.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_small_text[] = R"cu(
#define UP(x, y) (((x) + (y)-1) / (y))
#define THREADS_M UP(SIDE_M, MICRO_M)
#define THREADS_N UP(SIDE_N, MICRO_N)
#define EACH (THREADS_M * THREADS_N) /* threads for a product */
#define THREADS (EACH * PRODUCTS)
/* Lines of shared memory hold one term of k; they and the products begin in different banks. */
#define A_LINE (THREADS_M * MICRO_M)
#define B_LINE (THREADS_N * MICRO_N)
#define A_PRODUCT (SIDE_K * A_LINE + (A_LINE <= 8 ? A_LINE : 4))
#define B_PRODUCT (SIDE_K * B_LINE + (B_LINE <= 8 ? B_LINE : 4))
/* Where a line is among those of a term of k: changed with k, so that those who write along k meet less in banks. */
template <int LINE> int turned_line(int line, int l) {
    return LINE >= 8 && (LINE & (LINE - 1)) == 0 ? line ^ l / 4 * 4 % LINE : line;
}

/* Element (line, term of k) of each product to its place; lines of one operand are rows of A or columns of B. */
template <int LINES, int LINE, int PRODUCT>
void gather_operand(scalar *to, operand const &o, index line_stride, index k_stride, bool conjugated, index first,
                    int there) {
    constexpr int size = LINES * SIDE_K;
    IN const *const from = element<IN>(o, 0, 0, first);
#if DENSE
    /* Neighbours in memory; which element of a product that is follows from the strides. All is asked for before the
       first of it is put in its place. */
    constexpr int wide = PRODUCTS * size * sizeof(IN) % 16 == 0 && sizeof(IN) < 16 ? 16 / sizeof(IN) : 1;
    constexpr int rounds = UP(PRODUCTS * size, THREADS * wide);
    bool const along_k = k_stride == 1;
    int const all = there * size;
    struct alignas(wide == 1 ? alignof(IN) : 16) vector { IN x[wide]; } got[rounds];
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
        int const e = (threadIdx.x + r * THREADS) * wide;
        if (e + wide <= all)
            got[r] = *(vector const *)(from + e);
        else
#pragma unroll
            for (int w = 0; w < wide; ++w) got[r].x[w] = from[min(e + w, all - 1)];
    }
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
        int const e = (threadIdx.x + r * THREADS) * wide;
        if (e >= all) break;
        if (!along_k && sizeof(IN) == 4 && sizeof(scalar) == 4 && wide == 4 && LINES % 4 == 0 && LINE % 4 == 0) {
            int const product = e / size, line = e % LINES, l = e % size / LINES;
            *(vector *)(to + product * PRODUCT + l * LINE + turned_line<LINE>(line, l)) = got[r];
            continue;
        }
#pragma unroll
        for (int w = 0; w < wide; ++w) {
            int const product = (e + w) / size, in = (e + w) % size;
            int const line = along_k ? in / SIDE_K : in % LINES, l = along_k ? in % SIDE_K : in / LINES;
            scalar const x = conjugate_if(conjugated, (scalar)widen(got[r].x[w]));
            if (e + w < all) to[product * PRODUCT + l * LINE + turned_line<LINE>(line, l)] = x;
        }
    }
#else
    bool const along_k = abs(k_stride) < abs(line_stride);
    for (int e = threadIdx.x; e < there * size; e += THREADS) {
        int const product = e / size, in = e % size;
        int const line = along_k ? in / SIDE_K : in % LINES, l = along_k ? in % SIDE_K : in / LINES;
        scalar const x = (scalar)widen(from[product * o.step + line * line_stride + l * k_stride]);
        to[product * PRODUCT + l * LINE + turned_line<LINE>(line, l)] = conjugate_if(conjugated, x);
    }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
small(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    __shared__ __align__(16) scalar a[PRODUCTS * A_PRODUCT];
    __shared__ __align__(16) scalar b[PRODUCTS * B_PRODUCT];
    index const first = (index)blockIdx.x * PRODUCTS;
    int const there = (int)min((index)PRODUCTS, p.count - first);
    gather_operand<SIDE_M, A_LINE, A_PRODUCT>(a, p.a, p.a.row, p.a.col, p.flags & conjugate_a, first, there);
    gather_operand<SIDE_N, B_LINE, B_PRODUCT>(b, p.b, p.b.col, p.b.row, p.flags & conjugate_b, first, there);
    __syncthreads();

    int const product = threadIdx.x / EACH, in = threadIdx.x % EACH;
    if (product >= there) return;
    int const i0 = in / THREADS_N * MICRO_M, j0 = in % THREADS_N * MICRO_N;
    scalar const *const a_mine = a + product * A_PRODUCT, *const b_mine = b + product * B_PRODUCT;
    scalar sum[MICRO_M][MICRO_N] = {};
#pragma unroll
    for (int l = 0; l < SIDE_K; ++l) {
        scalar x[MICRO_M], y[MICRO_N];
#pragma unroll
        for (int i = 0; i < MICRO_M; ++i) x[i] = a_mine[l * A_LINE + turned_line<A_LINE>(i0, l) + i];
#pragma unroll
        for (int j = 0; j < MICRO_N; ++j) y[j] = b_mine[l * B_LINE + turned_line<B_LINE>(j0, l) + j];
#pragma unroll
        for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
            for (int j = 0; j < MICRO_N; ++j) sum[i][j] = multiply_add(x[i], y[j], sum[i][j]);
    }
#pragma unroll
    for (int i = 0; i < MICRO_M; ++i) store_run<MICRO_N>(p, state, sum[i], i0 + i, j0, first + product);
}
)cu";

STRATAGEMM_END
