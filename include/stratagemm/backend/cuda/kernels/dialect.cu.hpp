// The words of device/dialect.hpp in CUDA C++, behind the elements of prelude.cu.hpp.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_dialect_text[] = R"cu(
typedef unsigned long long ulong;

#define KERNEL(items) extern "C" __global__ void __launch_bounds__(items)
#define KERNEL_AT_ONCE(items, groups) extern "C" __global__ void __launch_bounds__(items, groups)
#define FUNCTION inline
#define BUFFER(T, x) T *x
#define OPEN(T, x) ((void)0)
#define GLOBAL
#define SHARED __shared__
#define BARRIER() __syncthreads()
#define BARRIER_OF_ALL() __syncthreads()
#define ANY(flag, x)              \
    do {                          \
        if (ITEM == 0) flag = 0;  \
        __syncthreads();          \
        if (x) flag = 1;          \
        __syncthreads();          \
    } while (0)
#define ITEM ((int)threadIdx.x)
#define LANE ((int)(threadIdx.x % 32))
#define WARP ((int)(threadIdx.x / 32))
#define GROUP ((int)blockIdx.x)
#define GROUPS ((int)gridDim.x)
#define LOAD(T, p, i) widen((p)[i])
#define STORE(T, p, i, x) store_as((p) + (i), x)
#define CONVERT(T, x) convert_to<T>(x)
#define VECTOR(T, n) vector_of<T, n>
#define LOAD_VECTOR(T, n, p, i) (*(VECTOR(T, n) const *)((p) + (i)))
#define STORE_VECTOR(T, n, p, i, v) (*(VECTOR(T, n) *)((p) + (i)) = (v))
#define SHUFFLES 1
#define SHUFFLE(x, lane) __shfl_sync(0xffffffffu, x, lane)
#define WARP_BARRIER() __syncwarp()
#define EPILOGUE_STATE , __grid_constant__ const epilogue_state state
#define EPILOGUE_NAMES , state
#define ZERO (scalar{})

template <class T, class X> void store_as(T *p, X x) { *p = to<T>::from(x); }
template <class T, class X> T convert_to(X x) { return to<T>::from(x); }
template <class T, int N> struct vector_of;
template <class T> struct alignas(2 * sizeof(T)) vector_of<T, 2> { T x, y; };
template <class T> struct alignas(sizeof(T) > 4 ? 16 : 4 * sizeof(T)) vector_of<T, 4> { T x, y, z, w; };
)cu";

// What kernels with a `write` have besides.
inline constexpr char cuda_tables_text[] = R"cu(
#define TABLE(T, n, x) static __device__ const VECTOR(T, 2) x[n]
#define PAIR(T, a, b) {a, b}
#define LARGE_SHARED(T, x, n) extern __shared__ __align__(16) char memory[]; T *const x = (T *)memory
#define SHARED_AS(T, x) ((T *)(x))
)cu";

STRATAGEMM_END
