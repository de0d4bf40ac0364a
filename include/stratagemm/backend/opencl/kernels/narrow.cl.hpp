// The product with few columns, a vector among them: A is read once, and B by all from the cache.
//
// A work-group has THREADS_M x THREADS_N work-items: THREADS_N share the terms of k of a row and add up what they have
// in local memory. Each work-item has UNROLL loads in flight. Neighbours follow A along memory, whichever way it lies,
// A_WIDTH elements at a time. Each work-item sums MICRO_M rows if A lies along k, else the A_WIDTH rows it reads, for
// MICRO_N columns, which is all of C.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_narrow_text[] = R"cl(
#define THREADS (THREADS_M * THREADS_N)
#if A_ALONG_K
#define ROWS MICRO_M
#define READS ROWS
#define TERMS A_WIDTH
#define ROW(r) (me / THREADS_N + (r) * THREADS_M)
#define MY_TERMS (me % THREADS_N)
#else
#define ROWS A_WIDTH
#define READS 1
#define TERMS 1
#define ROW(r) (me % THREADS_M * A_WIDTH + (r))
#define MY_TERMS (me / THREADS_M)
#endif
#define STEP (THREADS_N * TERMS)

/* Elements of A of READS rows, and what they add to the sums. */
#if A_WIDTH > 1
#define READ_ROW(x, r, l) *(PASTE(REAL, A_WIDTH) *)((x) + (r)*A_WIDTH) = LOAD_WIDE_A(A_WIDTH, rows[r] + (l)*a_at.z)
#else
#define READ_ROW(x, r, l) (x)[r] = LOAD_A(rows[r], (l)*a_at.z)
#endif
#define READ_A(x, l) _Pragma("unroll") for (int r = 0; r < READS; ++r) READ_ROW(x, r, l)
#define MULTIPLY(x, l, there)                                                                                     \
    _Pragma("unroll") for (int t = 0; t < TERMS; ++t)                                                             \
        _Pragma("unroll") for (int j = 0; j < MICRO_N; ++j) {                                                     \
            scalar const y = (there) ? LOAD_B(b, b_base + AT(b_at, (l) + t, j)) : ZERO;                          \
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r)                                                      \
                sum[r][j] = multiply_add(conjugate_if(flags & CONJUGATE_A, (x)[A_ALONG_K ? r * A_WIDTH + t : r]), \
                                         conjugate_if(flags & CONJUGATE_B, y), sum[r][j]);                        \
        }

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void narrow(OPERANDS,
#if PARTIAL
    global scalar *partial, long partial_at, int flags
#else
    RESULT
#endif
) {
    local scalar shared[ROWS * MICRO_N * THREADS] __attribute__((aligned(128)));
    int const me = get_local_id(0), m = sizes.x, n = sizes.y, from_m = get_group_id(0) * (THREADS_M * ROWS);
    long const batch = get_group_id(1);
#if PARTIAL
    int const from_k = (int)batch * piece_depth, to_k = min(from_k + piece_depth, sizes.z);
    long const a_base = 0, b_base = 0;
#else
    int const from_k = 0, to_k = sizes.z;
    long const a_base = batch * a_at.w, b_base = batch * b_at.w;
#endif

    scalar sum[ROWS][MICRO_N];
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
        _Pragma("unroll") for (int j = 0; j < MICRO_N; ++j) sum[r][j] = ZERO;

    /* Rows beyond the last are the last again, and not written. */
    global A_IN const *rows[READS];
#if A_ALONG_K
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r) rows[r] = a + a_base + AT(a_at, min(from_m + ROW(r), m - 1), 0);
#else
    rows[0] = a + a_base + AT(a_at, min(from_m + ROW(0), m - A_WIDTH), 0);
#endif
    /* The loads of UNROLL steps are in flight together, and then those of the steps that are left. */
    int l = from_k + MY_TERMS * TERMS;
    for (; l + (UNROLL - 1) * STEP < to_k; l += UNROLL * STEP) {
        scalar x[UNROLL][READS * A_WIDTH] __attribute__((aligned(128)));
        _Pragma("unroll") for (int u = 0; u < UNROLL; ++u) READ_A(x[u], l + u * STEP);
        _Pragma("unroll") for (int u = 0; u < UNROLL; ++u) MULTIPLY(x[u], l + u * STEP, true);
    }
#if UNROLL > 1
    scalar left[UNROLL - 1][READS * A_WIDTH] __attribute__((aligned(128)));
    _Pragma("unroll") for (int u = 0; u < UNROLL - 1; ++u) {
        _Pragma("unroll") for (int e = 0; e < READS * A_WIDTH; ++e) left[u][e] = ZERO;
        if (l + u * STEP < to_k) {
            READ_A(left[u], l + u * STEP);
        }
    }
    _Pragma("unroll") for (int u = 0; u < UNROLL - 1; ++u) MULTIPLY(left[u], l + u * STEP, l + u * STEP < to_k);
#endif

    /* In pairs, and always the same ones. */
    _Pragma("unroll") for (int half_of = THREADS_N / 2; half_of > 0; half_of /= 2) {
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
            _Pragma("unroll") for (int j = 0; j < MICRO_N; ++j) shared[(r * MICRO_N + j) * THREADS + me] = sum[r][j];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (MY_TERMS < half_of)
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
                _Pragma("unroll") for (int j = 0; j < MICRO_N; ++j)
                    sum[r][j] += shared[(r * MICRO_N + j) * THREADS + me + half_of * (A_ALONG_K ? 1 : THREADS_M)];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (MY_TERMS > 0) return;
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
        int const i = from_m + ROW(r);
        if (i >= m) continue;
        _Pragma("unroll") for (int j = 0; j < MICRO_N; ++j) {
#if PARTIAL
            partial[partial_at + (batch * m + i) * n + j] = sum[r][j];
#else
            FINISH(sum[r][j], i, j, batch);
#endif
        }
    }
}
)cl";

STRATAGEMM_END
