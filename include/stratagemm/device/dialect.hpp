// The dialect: kernels that move memory, written once for every language in which a device takes its kernels.
//
// A kernel is a text (device_kernel in core/leaf.hpp). leaf.launch(kernel, groups, arguments...) compiles it
// when it is first needed and queues it. Each backend defines the words below for its language
// (kernels/dialect.* in its folder). A launch is one-dimensional: groups of `items` work-items each, a
// multiple of 32. A kernel can rely on these words and on C. It must not use C++, which OpenCL C lacks.
//
//   KERNEL(items) name(parameters)   a kernel for groups of so many work-items; ITEMS is device_kernel::items
//   KERNEL_AT_ONCE(items, n) ...     likewise, with registers for n groups at once on a multiprocessor
//   FUNCTION type name(parameters)   a function that kernels call
//   BUFFER(T, x)                     a parameter; the launch gives a handle. T is an element type, or T const
//   OPEN(T, x)                       makes x a pointer; once for each BUFFER, before its use
//   MATRIX(T, x)                     BUFFER(T, x) and its strides x_row and x_col, of type index; the launch
//                                    gives a view, or a handle and two indices
//   AT(x, i, j)                      where element (i, j) of that matrix is, from x on
//   GLOBAL T *p                      a pointer into a buffer, as functions take it
//   SHARED T x[n]                    memory of the group, declared in the outermost block of a kernel and not
//                                    initialised. T is float, double, int, uint, ulong or byte
//   BARRIER()                        waits for all work-items of the group, and shows what they wrote to
//                                    SHARED
//   BARRIER_OF_ALL()                 a BARRIER() that also orders what the group reads from and writes to GLOBAL memory
//   ANY(flag, x)                     sets flag, a SHARED int, to whether x holds for any work-item of the
//                                    group; all of them call it, and it is a BARRIER()
//   ITEM, GROUP, GROUPS              the number of the work-item in its group, of the group, and of groups;
//                                    all int
//   WARP, LANE                       ITEM / 32 and ITEM % 32, for less
//   LOAD(T, p, i)                    p[i] as a number: float for half, bfloat16 and fp8, uint for byte and
//                                    int, else T
//   STORE(T, p, i, x)                p[i] = x, rounded to nearest even; x has the type that LOAD gives
//   CONVERT(T, x)                    x as T, a type of numbers; a complex number only as a complex one
//   VECTOR(T, n)                     n = 2 or 4 of float, double, int, uint or byte, with members x, y, z and
//                                    w
//   LOAD_VECTOR(T, n, p, i)          p[i], ..., p[i + n - 1] as one; p + i is aligned to n elements
//   STORE_VECTOR(T, n, p, i, v)
//   TABLE(T, n, x) = {...};          outside of functions: n pairs of T that do not change, each written as
//                                    PAIR(T, a, b); x[i] is a VECTOR(T, 2). For kernels with a `write`
//   TABLES(T)                        where tables are apart from the text: the parameter `tables`, behind another one and
//                                    without a comma, the last one of the kernel; it points to pairs of T, those of
//                                    one table after those of another. A launch gives it if there are any
//   LARGE_SHARED(T, x, n);           SHARED T x[n] of more than device_declared_bytes: the only such array of a kernel whose
//                                    launch has shared_bytes. For kernels with a `write`
//   SHARED_AS(T, x)                  SHARED x, of another type, as T x[]. For kernels with a `write`
//   SHUFFLES                         1 if there is SHUFFLE(x, lane), else 0. It gives x of that LANE of the
//                                    same WARP; all 32 lanes have to call it
//   WARP_BARRIER()                   there, too: waits for the lanes of the WARP, and shows them what they
//                                    wrote to SHARED
//
// Two ways to share the work, with the number of groups that the host launches for each:
//   for (EACH(at, count))            the numbers below `count`, by all work-items; groups_for_each()
//   ELEMENT(i, j, rows, cols)        one element of a matrix for each work-item, a warp along a row; a
//                                    work-item that has none returns. ITEMS is 256; groups_for_elements()
// And for kernels that end a product, with the definitions of kernel_types():
//   PRODUCT                          the parameters alpha, beta, adds, MATRIX e, e_conjugated, MATRIX c, rows
//                                    and cols
//   FINISH_ELEMENT(i, j, sum)        C_ij = alpha sum, plus beta E_ij if `adds`; e and c are open
//
// Element types: float, double, half, bfloat16, byte (8 bits, with a sign), int, complex64, complex128;
// fp8_e4m3 and fp8_e5m2 where the backend has them. kernel_type<T>() (source.hpp) gives the name of T. Half,
// bfloat16 and fp8 exist behind pointers only. Integers: int and uint have 32 bits, index and ulong 64; index
// has a sign. Both languages also have fma, fabs, floor, rint, ldexp, sqrt, min and max. A kernel with double
// needs device_kernel::uses_double.
//
// kernel_types<In, Out>() defines IN, OUT and the types of sums: `scalar` holds sums of IN (with ZERO,
// times(x, y), scale_by(factor, x), multiply_add(x, y, sum), conjugate_if(condition, x)), `value` is a scalar
// as epilogues see it (integers have a sign), and OUT_VALUE is the type of numbers of OUT. An epilogue's
// definitions() follow these and define epilogue(x, i, j EPILOGUE_NAMES). EPILOGUE_STATE declares its
// parameters: it stands behind another parameter, without a comma, and the launch gives the epilogue there.
//
// With device_kernel::exact, a * b + c rounds twice, as it is written; without it, the compiler may round
// once. fma(a, b, c) always rounds once. There are no atomics, because the order of their sums is left to
// chance.
#pragma once

#include "../core/leaf.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

inline constexpr char dialect_text[] = R"(
#define MATRIX(T, x) BUFFER(T, x), index x##_row, index x##_col
#define AT(x, i, j) ((i) * x##_row + (j) * x##_col)
#define EACH(at, count) index at = (index)GROUP * ITEMS + ITEM; at < (count); at += (index)GROUPS * ITEMS
#define ELEMENT(i, j, rows, cols)                            \
    int const i##_across = (int)(((cols) - 1) / 32 + 1);     \
    index const j = (index)(GROUP % i##_across) * 32 + LANE; \
    index const i = (index)(GROUP / i##_across) * 8 + WARP;  \
    if (j >= (cols) || i >= (rows)) return
#define PRODUCT                                                                                  \
    scalar alpha, scalar beta, int adds, MATRIX(OUT const, e), int e_conjugated, MATRIX(OUT, c), \
        index rows, index cols
#define FINISH_ELEMENT(i, j, sum)                                                       \
    do {                                                                                \
        scalar finished = scale_by(alpha, sum);                                         \
        if (adds) {                                                                     \
            scalar const added = LOAD(OUT, e, AT(e, i, j));                             \
            finished = multiply_add(beta, conjugate_if(e_conjugated, added), finished); \
        }                                                                               \
        STORE(OUT, c, AT(c, i, j), CONVERT(OUT_VALUE, (value)finished));                \
    } while (0)
)";

// The groups of a kernel that loops over EACH: enough for any device, and few enough to schedule.
constexpr index_t groups_for_each(index_t count, int items) {
    constexpr index_t most = 1 << 16;
    index_t const wanted = (count + items - 1) / items;
    return wanted < most ? wanted : most;
}
// The groups of a kernel with an ELEMENT for each work-item: 8 rows by 32 columns each.
constexpr index_t groups_for_elements(index_t rows, index_t cols) {
    return rows == 0 || cols == 0 ? 0 : ((rows - 1) / 8 + 1) * ((cols - 1) / 32 + 1);
}

// Calls f for everything that a kernel gets for an argument of its launch: for a view, what MATRIX declares.
template <class F, class T>
void each_given(F&& f, T const& argument) {
    f(argument);
}
template <class F, class T, class Space>
void each_given(F&& f, view<T, Space> const& matrix) {
    f(matrix.data), f(matrix.row_stride), f(matrix.col_stride);
}

STRATAGEMM_END
