// What the kernels of csr share: a few columns of B at once, and of C. The texts of kernels follow it.
#pragma once

#include "../../device/dialect.hpp"

STRATAGEMM_BEGIN

// WIDE: columns of a work-item. VECTORS is 1 if one load reads them from B, and one store writes those of C. If ONES is
// 1, each element of A is one, and there are no values.
inline constexpr char csr_columns_text[] = R"(
#if WIDE == 4
#define EACH_COLUMN(f) f(0, .x) f(1, .y) f(2, .z) f(3, .w)
#elif WIDE == 2
#define EACH_COLUMN(f) f(0, .x) f(1, .y)
#else
#define EACH_COLUMN(f) f(0, .x)
#endif
typedef struct {
    scalar x;
#if WIDE > 1
    scalar y;
#endif
#if WIDE > 2
    scalar z, w;
#endif
} some_scalars;
#if VECTORS
typedef VECTOR(IN, WIDE) some_of_b;
#define LOAD_SOME(to, row) to = LOAD_VECTOR(IN, WIDE, b, (index)(row) * b_row + j)
#else
typedef some_scalars some_of_b;
/* A column behind the last is that one again. */
#define LOAD_ONE(w, member) \
    loaded member = conjugate_if(b_conjugated, LOAD(IN, b, AT(b, row, min(j + w, cols - 1))));
#define LOAD_SOME(to, of_row)          \
    do {                               \
        index const row = (index)(of_row); \
        some_of_b loaded;                \
        EACH_COLUMN(LOAD_ONE)          \
        to = loaded;                     \
    } while (0)
#endif

#define BEGIN_SUM(w, member) sum[w] = ZERO;
#if ONES
#define OF_VALUES(x)
#define LOAD_OF_A(u, at)
#define ADD_TO_SUM(w, member) sum[w] = sum[w] + some member;
#else
#define OF_VALUES(x) x,
#define LOAD_OF_A(u, at) of_a[u] = LOAD(IN, values, at)
#define ADD_TO_SUM(w, member) sum[w] = multiply_add(of_a[u], some member, sum[w]);
#endif
#define SCALE_SUM(w, member) scaled member = scale_by(alpha, sum[w]);
#define FINISH_SUM(w, member) \
    if (j + w < cols) FINISH_ELEMENT(row, j + w, sum[w]);
)";

// Two texts, one behind the other.
template <std::size_t X, std::size_t Y>
struct joined_text {
    char at[X + Y - 1]{};
    consteval joined_text(char const (&x)[X], char const (&y)[Y]) {
        for (std::size_t i = 0; i < X; ++i) at[i] = x[i];
        for (std::size_t i = 0; i < Y; ++i) at[X - 1 + i] = y[i];
    }
};

STRATAGEMM_END
