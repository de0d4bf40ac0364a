// The direct product: each work-item sums one element of C, from any strides. For products too small or too
// oddly shaped to be divided into tiles, and for batches of small ones.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_direct_text[] = R"cl(
/* Elements are numbered along the columns first. */
kernel void direct(OPERANDS, RESULT) {
    long const element = get_global_id(0);
    int const j = (int)(element % sizes.y), i = (int)(element / sizes.y % sizes.x);
    long const t = element / sizes.y / sizes.x;
    if (t >= sizes.w) return;
    long at_a = AT(a_at, i, 0) + t * a_at.w, at_b = AT(b_at, 0, j) + t * b_at.w;
    scalar sum = ZERO;
#if IN_PIECES
    scalar whole = ZERO;
#endif
    for (int l = 0; l < sizes.z; ++l) {
#if IN_PIECES
        if (l % piece_depth == 0) {
            whole += sum;
            sum = ZERO;
        }
#endif
        scalar const x = ELEMENT_OF_A(at_a), y = ELEMENT_OF_B(at_b);
        sum = multiply_add(conjugate_if(flags & CONJUGATE_A, x), conjugate_if(flags & CONJUGATE_B, y), sum);
        at_a += a_at.z;
        at_b += b_at.y;
    }
#if IN_PIECES
    sum = whole + sum;
#endif
    FINISH(sum, i, j, t);
}
)cl";

STRATAGEMM_END
