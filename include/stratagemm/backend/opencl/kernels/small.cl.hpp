// Batches of small products: a work-group brings several of them into local memory, whole, and multiplies there.
//
// SIDE_M, SIDE_N and SIDE_K are the sides of all of them; SLICES products are in a group, and each has
// THREADS_M x THREADS_N work-items with micro-tiles of MICRO_M x MICRO_N, whose rows and columns are apart.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_small_text[] = R"cl(
#define ITEMS (THREADS_M * THREADS_N)
#define A_LINE (THREADS_M * MICRO_M + 1) /* odd, so that lines begin in different banks */
#define B_LINE (THREADS_N * MICRO_N + 1)

kernel __attribute__((reqd_work_group_size(ITEMS * SLICES, 1, 1))) void small(OPERANDS, RESULT) {
    local scalar a_lines[SLICES * SIDE_K * A_LINE], b_lines[SLICES * SIDE_K * B_LINE];
    int const me = get_local_id(0) % ITEMS, slice = get_local_id(0) / ITEMS;
    int const my_n = me % THREADS_N, my_m = me / THREADS_N;
    long const batch = (long)get_group_id(0) * SLICES + slice;
    local scalar *const x = a_lines + slice * SIDE_K * A_LINE, *const y = b_lines + slice * SIDE_K * B_LINE;

    if (batch < sizes.w) {
        for (int f = me; f < SIDE_M * SIDE_K; f += ITEMS) {
            int const i = A_ALONG_K ? f / SIDE_K : f % SIDE_M, l = A_ALONG_K ? f % SIDE_K : f / SIDE_M;
            x[l * A_LINE + i] = conjugate_if(flags & CONJUGATE_A, LOAD_A(a, AT(a_at, i, l) + batch * a_at.w));
        }
        for (int f = me; f < SIDE_N * SIDE_K; f += ITEMS) {
            int const j = B_ALONG_K ? f / SIDE_K : f % SIDE_N, l = B_ALONG_K ? f % SIDE_K : f / SIDE_N;
            y[l * B_LINE + j] = conjugate_if(flags & CONJUGATE_B, LOAD_B(b, AT(b_at, l, j) + batch * b_at.w));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (batch >= sizes.w) return;

    scalar sum[MICRO_M][MICRO_N];
    _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r)
        _Pragma("unroll") for (int s = 0; s < MICRO_N; ++s) sum[r][s] = ZERO;
    _Pragma("unroll 8") for (int l = 0; l < SIDE_K; ++l)
        _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r)
            _Pragma("unroll") for (int s = 0; s < MICRO_N; ++s)
                sum[r][s] = multiply_add(x[l * A_LINE + my_m + r * THREADS_M], y[l * B_LINE + my_n + s * THREADS_N],
                                         sum[r][s]);
    _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r)
        _Pragma("unroll") for (int s = 0; s < MICRO_N; ++s) {
            int const i = my_m + r * THREADS_M, j = my_n + s * THREADS_N;
            if (i < SIDE_M && j < SIDE_N) FINISH(sum[r][s], i, j, batch);
        }
}
)cl";

STRATAGEMM_END
