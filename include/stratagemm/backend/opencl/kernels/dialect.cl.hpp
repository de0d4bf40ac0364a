// The words of device/dialect.hpp in OpenCL C, before the elements of prelude.cl.hpp.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_dialect_text[] = R"cl(
#if EXACT
#pragma OPENCL FP_CONTRACT OFF
#endif
typedef long index;

#define KERNEL(items) kernel __attribute__((reqd_work_group_size(32, (items) / 32, 1))) void
#define KERNEL_AT_ONCE(items, groups) KERNEL(items)
#define FUNCTION static
#define BUFFER(T, x) global T *x, long x##_from
#define OPEN(T, x) x += x##_from
#define GLOBAL global
#define SHARED local
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_OF_ALL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ANY(flag, x)                    \
    do {                                \
        if (ITEM == 0) flag = 0;        \
        barrier(CLK_LOCAL_MEM_FENCE);   \
        if (x) (void)atomic_or(&flag, 1); \
        barrier(CLK_LOCAL_MEM_FENCE);   \
    } while (0)
#define ITEM (32 * WARP + LANE)
#define LANE ((int)get_local_id(0))
#define WARP ((int)get_local_id(1))
#define GROUP ((int)get_group_id(0))
#define GROUPS ((int)get_num_groups(0))
#define LOAD(T, p, i) PASTE(LOAD_, T)(p, i)
#define STORE(T, p, i, x) PASTE(STORE_, T)(p, i, x)
#define CONVERT(T, x) PASTE(convert_, T)(x)
#define VECTOR(T, n) PASTE(T, n)
#define LOAD_VECTOR(T, n, p, i) (*(global VECTOR(T, n) const *)((p) + (i)))
#define STORE_VECTOR(T, n, p, i, v) (*(global VECTOR(T, n) *)((p) + (i)) = (v))
#define SHUFFLES 0
)cl";

// What kernels with a `write` have besides. Tables are in global memory, not `constant`: work-items that read different
// places of constant memory are served one after another on NVIDIA's devices.
inline constexpr char opencl_tables_text[] = R"cl(
#define TABLES(T) , global VECTOR(T, 2) const *restrict tables
#define LARGE_SHARED(T, x, n) local T x[n]
#define SHARED_AS(T, x) ((local T *)(x))
)cl";

STRATAGEMM_END
