// What kernels begin with: element types and arithmetic on them; and for those of a product its operands and its end.
//
// Defined from outside: IN, OUT (element types), A_IN and B_IN (those of operands that are widened to IN), REAL (what sums are kept in), COMPLEX, INTEGER (0 or 1), DOUBLE (1 if
// there are doubles), EPILOGUE_STATE (", type name" for each value an epilogue has) and EPILOGUE_BODY (statements that
// change x).
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_elements_text[] = R"cl(
#if DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define PASTE_(x, y) x##y
#define PASTE(x, y) PASTE_(x, y)

/* Elements as they lie in memory, and as numbers. 16-bit types are storage only. Names are pasted, hence macros. */
#define byte char
#define complex64 float2
#define complex128 double2
typedef ushort bfloat16;
float widen_bfloat16(ushort x) { return as_float((uint)x << 16); }
ushort round_bfloat16(float x) {
    uint const u = as_uint(x);
    return (ushort)(isnan(x) ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
#define LOAD_float(p, i) ((p)[i])
#define LOAD_double(p, i) ((p)[i])
#define LOAD_float2(p, i) ((p)[i])
#define LOAD_double2(p, i) ((p)[i])
#define LOAD_half(p, i) vload_half(i, p)
#define LOAD_bfloat16(p, i) widen_bfloat16((p)[i])
#define LOAD_char(p, i) ((uint)(int)(p)[i])
#define LOAD_int(p, i) ((uint)(p)[i])
#define STORE_float(p, i, x) ((p)[i] = (x))
#define STORE_double(p, i, x) ((p)[i] = (x))
#define STORE_float2(p, i, x) ((p)[i] = (x))
#define STORE_double2(p, i, x) ((p)[i] = (x))
#define STORE_half(p, i, x) vstore_half_rte(x, i, p)
#define STORE_bfloat16(p, i, x) ((p)[i] = round_bfloat16(x))
#define STORE_char(p, i, x) ((p)[i] = (char)(x))
#define STORE_int(p, i, x) ((p)[i] = (int)(x))
)cl";

inline constexpr char opencl_numbers_text[] = R"cl(
#if INVARIANT
/* Rounded as it is written in every kernel: a compiler that contracted some of the products would give other bits. */
#pragma OPENCL FP_CONTRACT OFF
#endif
/* The sum and the product in one rounding, where that is no slower. */
#if INVARIANT && !INTEGER && (defined(FP_FAST_FMAF) || defined(__NV_CL_C_VERSION) || defined(__FMA__))
#define add_product(x, y, sum) fma(x, y, sum)
#else
#define add_product(x, y, sum) ((sum) + (x) * (y))
#endif

#ifdef REAL
/* scalar: what is computed with. Integers wrap around, which int may not do and uint may. */
typedef REAL real;
#if COMPLEX
typedef PASTE(REAL, 2) scalar;
scalar times(scalar x, scalar y) { return (scalar)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }
/* A real factor leaves an infinite part alone. */
scalar scale_by(scalar factor, scalar x) { return factor.y == 0 ? factor.x * x : times(factor, x); }
scalar multiply_add(scalar x, scalar y, scalar sum) {
#if INVARIANT
    /* The same for y times x. */
    return (scalar)(add_product(-x.y, y.y, add_product(x.x, y.x, sum.x)), sum.y + (x.x * y.y + x.y * y.x));
#else
    return (scalar)(sum.x + x.x * y.x - x.y * y.y, sum.y + x.x * y.y + x.y * y.x);
#endif
}
scalar conjugate_if(int condition, scalar x) { return condition ? (scalar)(x.x, -x.y) : x; }
#define ZERO ((scalar)(0, 0))
#else
typedef REAL scalar;
#define times(x, y) ((x) * (y))
#define scale_by(factor, x) ((factor) * (x))
#define multiply_add(x, y, sum) add_product(x, y, sum)
#define conjugate_if(condition, x) (x)
#define ZERO ((scalar)0)
#endif

/* value: a scalar as an epilogue sees it. */
#if INTEGER
typedef int value;
#else
typedef scalar value;
#endif
#if COMPLEX
#define real_value(x) ((value)(x, 0))
#else
#define real_value(x) ((value)(x))
#endif
#endif

#ifdef EPILOGUE_BODY
value epilogue(value x, long i, long j EPILOGUE_STATE) {
    EPILOGUE_BODY
    return x;
}
#endif
)cl";

inline constexpr char opencl_product_text[] = R"cl(
#define PRAGMA(text) _Pragma(#text)
#define UNROLLED(times) PRAGMA(unroll times)
#ifndef A_IN
#define A_IN IN
#endif
#ifndef B_IN
#define B_IN IN
#endif
#define LOAD_IN(p, i) PASTE(LOAD_, IN)(p, i)
#define LOAD_A(p, i) PASTE(LOAD_, A_IN)(p, i)
#define LOAD_B(p, i) PASTE(LOAD_, B_IN)(p, i)
#define LOAD_OUT(p, i) PASTE(LOAD_, OUT)(p, i)
#define STORE_OUT(p, i, x) PASTE(STORE_, OUT)(p, i, x)

/* Several elements next to each other, as numbers; not for complex ones. ALIGNED: they may be read as a vector. */
#if ALIGNED
#define READ(type, n, p) (*(global PASTE(type, n) const *)(p))
#define WIDE_half(n, p) PASTE(vload_half, n)(0, p)
#else
#define READ(type, n, p) PASTE(vload, n)(0, p)
/* By elements: PoCL's vload_half of several takes it that the address is a multiple of the vector's size. */
float2 halves2(global half const *p) { return (float2)(vload_half(0, p), vload_half(1, p)); }
float4 halves4(global half const *p) { return (float4)(halves2(p), halves2(p + 2)); }
float8 halves8(global half const *p) { return (float8)(halves4(p), halves4(p + 4)); }
float16 halves16(global half const *p) { return (float16)(halves8(p), halves8(p + 8)); }
#define WIDE_half(n, p) PASTE(halves, n)(p)
#endif
#define WIDE_float(n, p) READ(float, n, p)
#define WIDE_double(n, p) READ(double, n, p)
#define WIDE_bfloat16(n, p) PASTE(as_float, n)(PASTE(convert_uint, n)(READ(ushort, n, p)) << 16)
#define WIDE_char(n, p) PASTE(as_uint, n)(PASTE(convert_int, n)(READ(char, n, p)))
#define LOAD_WIDE(n, p) PASTE(WIDE_, IN)(n, p)
#define LOAD_WIDE_A(n, p) PASTE(WIDE_, A_IN)(n, p)
#define LOAD_WIDE_B(n, p) PASTE(WIDE_, B_IN)(n, p)
/* An int8 beside an operand of floating-point numbers. */
typedef char number8;
#define LOAD_number8(p, i) ((scalar)(p)[i])
#define WIDE_number8(n, p) PASTE(convert_float, n)(READ(char, n, p))

/* Flags of a product. */
#define CONJUGATE_A 1
#define CONJUGATE_B 2
#define CONJUGATE_E 4
#define ADDS 8   /* E is read */
#define TURNED 16 /* this is C^T = B^T A^T: rows are the caller's columns */

/* Where the elements of a matrix are: x first, y from row to row, z from column to column, w from one of a batch
   to the next. */
#define AT(p, i, j) ((p).x + (i) * (p).y + (j) * (p).z)

/* What an element of C becomes, from its sum and that of E. Names are those of the parameters of every kernel that
   ends a product. */
#define FINAL(sum, i, j)                                                                                          \
    (scalar)epilogue((value)(sum), place.x + (flags & TURNED ? (j) : (i)),                                        \
                     place.y + (flags & TURNED ? (i) : (j)) EPILOGUE_NAMES)
#define FINISHED(finished, sum, added, i, j)                                                                      \
    do {                                                                                                          \
        finished = scale_by(alpha, sum);                                                                          \
        if (flags & ADDS) finished += scale_by(beta, conjugate_if(flags & CONJUGATE_E, added));                   \
        finished = FINAL(finished, i, j);                                                                         \
    } while (0)
#define FINISH(sum, i, j, batch)                                                                                  \
    do {                                                                                                          \
        scalar added = ZERO, result;                                                                              \
        if (flags & ADDS) added = LOAD_OUT(e, AT(e_at, i, j) + (batch) * e_at.w);                                 \
        FINISHED(result, sum, added, i, j);                                                                       \
        STORE_OUT(c, AT(c_at, i, j) + (batch) * c_at.w, result);                                                  \
    } while (0)

/* How kernels walk through A and B (other than in sums: combined.cl.hpp). */
#if !(A_TERMS > 1)
#define A_PLACES global A_IN const *
#define A_ORIGIN a +
#define ELEMENT_OF_A(place) LOAD_A(a, place)
#endif
#if !(B_TERMS > 1)
#define B_PLACES global B_IN const *
#define B_ORIGIN b +
#define ELEMENT_OF_B(place) LOAD_B(b, place)
#endif

/* sizes: m, n, k, products in the batch. piece_depth: terms of k that are summed before other sums are added, which
   kernels look at if IN_PIECES or PARTIAL. */
#define OPERANDS                                                                                                  \
    global A_IN const *a, long4 a_at, global B_IN const *b, long4 b_at, int4 sizes, int piece_depth
#define RESULT                                                                                                    \
    global OUT const *e, long4 e_at, global OUT *c, long4 c_at, scalar alpha, scalar beta, int flags, long2 place \
    EPILOGUE_STATE
)cl";

STRATAGEMM_END
