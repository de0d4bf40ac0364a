// Operands that are sums of matrices, and results that go to several places, in the kernels that read elements through
// the macros below: those of tiled, direct and gather. The text goes between the prelude and the kernel.
//
// Defined from outside: A_TERMS, B_TERMS (1: a matrix, else how many make up the sum), A_ALIKE, B_ALIKE (the terms have
// the same strides), A_SCALED, B_SCALED (the first term has a factor, too), A_REAL, B_REAL (no factor has an imaginary
// part), and TARGETS (0: the result is a matrix).
//
// A kernel walks through a sum as if it were one matrix: a place in the sum is, in bytes, the offset from the first
// element of any term if the terms are alike, else the row times 2^32 and the column. So no register is kept for a
// further term: its address is a sum of the place and an argument of the kernel.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_combined_text[] = R"cl(
#define REPEAT_1(f, x, y) f(0, x, y)
#define REPEAT_2(f, x, y) REPEAT_1(f, x, y); f(1, x, y)
#define REPEAT_3(f, x, y) REPEAT_2(f, x, y); f(2, x, y)
#define REPEAT_4(f, x, y) REPEAT_3(f, x, y); f(3, x, y)
#define REPEAT(times, f, x, y) PASTE(REPEAT_, times)(f, x, y)

/* Flags of terms and targets, beside those of a product. */
#define CONJUGATED_A(t) (32 << (t))
#define CONJUGATED_B(t) (512 << (t))
#define CONJUGATED_E(t) (8192 << (t))
#define KEEPS(t) (131072 << (t))

/* from: in bytes, behind the start of the buffer. at: strides from row to row and from column to column. by: the factor
   of a term. */
#define TERM(x, t) global IN const *x##t, long x##t##_from, long2 x##t##_at, scalar x##t##_by
#define TERMS_2(x) TERM(x, 0), TERM(x, 1)
#define TERMS_3(x) TERMS_2(x), TERM(x, 2)
#define TERMS_4(x) TERMS_3(x), TERM(x, 3)
/* Compilers for AMD spill where a loop has branches: only factors that may be complex are looked at. */
#if COMPLEX
#define SCALE_BY_1(factor, number) ((factor).x * (number))
#else
#define SCALE_BY_1(factor, number) ((factor) * (number))
#endif
#define SCALE_BY_0(factor, x) scale_by(factor, x)
#define SCALE_BY(is_real, factor, x) PASTE(SCALE_BY_, is_real)(factor, x)
#define STORED(name, t, offset) ((global IN const *)((global char const *)name##t + (name##t##_from + (offset))))
#define APART(name, t, place) (((place) >> 32) * name##t##_at.x + ((place) & 0xffffffff) * name##t##_at.y)

/* The sum of what get(t, at) gives for each term t. */
#if A_TERMS > 1
#define A_PARAMETERS PASTE(TERMS_, A_TERMS)(a), long4 a_at
#define A_PLACES long
#define A_ORIGIN
#if A_ALIKE
#define A_TERM(t, place) STORED(a, t, place)
#else
#define A_TERM(t, place) STORED(a, t, APART(a, t, place))
#endif
#define A_VALUE(t, get, at) conjugate_if(flags & CONJUGATED_A(t), get(t, at))
#if A_SCALED
#define A_SUM_1(get, at) SCALE_BY(A_REAL, a0_by, A_VALUE(0, get, at))
#else
#define A_SUM_1(get, at) A_VALUE(0, get, at)
#endif
#define A_SUM_2(get, at) (A_SUM_1(get, at) + SCALE_BY(A_REAL, a1_by, A_VALUE(1, get, at)))
#define A_SUM_3(get, at) (A_SUM_2(get, at) + SCALE_BY(A_REAL, a2_by, A_VALUE(2, get, at)))
#define A_SUM_4(get, at) (A_SUM_3(get, at) + SCALE_BY(A_REAL, a3_by, A_VALUE(3, get, at)))
#define A_SUM(get, at) PASTE(A_SUM_, A_TERMS)(get, at)
#define A_STORED(t, place) LOAD_IN(A_TERM(t, place), 0)
#define ELEMENT_OF_A(place) A_SUM(A_STORED, place)
#else
#define A_PARAMETERS global IN const *a, long4 a_at
#endif

#if B_TERMS > 1
#define B_PARAMETERS PASTE(TERMS_, B_TERMS)(b), long4 b_at
#define B_PLACES long
#define B_ORIGIN
#if B_ALIKE
#define B_TERM(t, place) STORED(b, t, place)
#else
#define B_TERM(t, place) STORED(b, t, APART(b, t, place))
#endif
#define B_VALUE(t, get, at) conjugate_if(flags & CONJUGATED_B(t), get(t, at))
#if B_SCALED
#define B_SUM_1(get, at) SCALE_BY(B_REAL, b0_by, B_VALUE(0, get, at))
#else
#define B_SUM_1(get, at) B_VALUE(0, get, at)
#endif
#define B_SUM_2(get, at) (B_SUM_1(get, at) + SCALE_BY(B_REAL, b1_by, B_VALUE(1, get, at)))
#define B_SUM_3(get, at) (B_SUM_2(get, at) + SCALE_BY(B_REAL, b2_by, B_VALUE(2, get, at)))
#define B_SUM_4(get, at) (B_SUM_3(get, at) + SCALE_BY(B_REAL, b3_by, B_VALUE(3, get, at)))
#define B_SUM(get, at) PASTE(B_SUM_, B_TERMS)(get, at)
#define B_STORED(t, place) LOAD_IN(B_TERM(t, place), 0)
#define ELEMENT_OF_B(place) B_SUM(B_STORED, place)
#else
#define B_PARAMETERS global IN const *b, long4 b_at
#endif

#undef OPERANDS
#define OPERANDS A_PARAMETERS, B_PARAMETERS, int4 sizes, int piece_depth

/* A target becomes c_by times the sum, and e_by times what is at e. It has the type of the sums. */
#if TARGETS
#define TARGET(t)                                                                                                 \
    global scalar const *e##t, long e##t##_from, long2 e##t##_at, global scalar *c##t, long c##t##_from,          \
        long2 c##t##_at, scalar c##t##_by, scalar e##t##_by
#define TARGETS_1 TARGET(0)
#define TARGETS_2 TARGETS_1, TARGET(1)
#define TARGETS_3 TARGETS_2, TARGET(2)
#define TARGETS_4 TARGETS_3, TARGET(3)
#undef RESULT
#define RESULT PASTE(TARGETS_, TARGETS), int flags
#if WIDE
#define PLACE(name, i, j) (name + (name##_from + (i) * name##_at.x + (j)))
#else
#define PLACE(name, i, j) (name + (name##_from + (i) * name##_at.x + (j) * name##_at.y))
#endif

#define TARGET_FINISH(t, sum, at)                                                                                 \
    do {                                                                                                          \
        scalar result = scale_by(c##t##_by, sum);                                                                 \
        if (flags & KEEPS(t))                                                                                     \
            result += scale_by(e##t##_by, conjugate_if(flags & CONJUGATED_E(t), *PLACE(e##t, (at).x, (at).y)));   \
        *PLACE(c##t, (at).x, (at).y) = result;                                                                    \
    } while (0)
#undef FINISH
#define FINISH(sum, i, j, batch) REPEAT(TARGETS, TARGET_FINISH, sum, (int2)(i, j))
#endif
)cl";

STRATAGEMM_END
