// The direct product: each thread sums one element of C, from any strides. For products too small or too
// oddly shaped to be divided into tiles.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_direct_text[] = R"cu(
/* Elements are numbered along the columns first. */
extern "C" __global__ void __launch_bounds__(128)
direct(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    index const number = (index)blockIdx.x * 128 + threadIdx.x;
    int const j = (int)(number % p.n), i = (int)(number / p.n % p.m);
    index const t = number / p.n / p.m;
    if (t >= p.count) return;
    IN const *a = element<IN>(p.a, i, 0, t), *b = element<IN>(p.b, 0, j, t);
    scalar sum = {};
    in_pieces<scalar> pieces(p, 1);
#if PIECES
    for (int l = 0; l < p.k; pieces.add(sum))
#pragma unroll 4
        for (int const end = l + pieces.next(p.k - l); l < end; ++l) {
#else
#pragma unroll 4
    for (int l = 0; l < p.k; ++l) {
#endif
        scalar const x = conjugate_if(p.flags & conjugate_a, (scalar)widen(*a));
        scalar const y = conjugate_if(p.flags & conjugate_b, (scalar)widen(*b));
        sum = multiply_add(x, y, sum);
        a += p.a.col;
        b += p.b.row;
    }
    pieces.finish(sum);
    store(p, state, sum, i, j, t);
}
)cu";

STRATAGEMM_END
