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

#define IN_FLIGHT (WIDE > 1 ? 4 : 8) /* elements of A that a work-item loads before it uses the first */
typedef struct {
    GLOBAL IN const *elements;
    index row, col, cols;
    int conjugated;
} matrix_b;
#define OPEN_B(all)                                                      \
    GLOBAL IN const *const b = (all).elements;                           \
    index const b_row = (all).row, b_col = (all).col, cols = (all).cols; \
    int const b_conjugated = (all).conjugated

/* Adds every `parts`-th element of a row from `at` on, times columns j to j + WIDE of B. `parts` is known when this is
   compiled. Where the next elements are is read while these are multiplied. */
FUNCTION void add_part(scalar *sum, GLOBAL INDEX const *columns, OF_VALUES(GLOBAL IN const *values)
                       matrix_b all_of_b, index j, index at, index end, int parts) {
    OPEN_B(all_of_b);
    INDEX left = (INDEX)(end - at), row_of[IN_FLIGHT];
    some_of_b y[IN_FLIGHT];
#if !ONES
    scalar of_a[IN_FLIGHT];
#endif
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) row_of[u] = columns[at + u * parts];
    for (; (IN_FLIGHT - 1) * parts < left; left -= IN_FLIGHT * parts) {
        for (int u = 0; u < IN_FLIGHT; ++u) LOAD_SOME(y[u], row_of[u]);
        for (int u = 0; u < IN_FLIGHT; ++u) { LOAD_OF_A(u, at + u * parts); }
        at += IN_FLIGHT * parts;
        for (int u = 0; u < IN_FLIGHT; ++u)
            if ((IN_FLIGHT + u) * parts < left) row_of[u] = columns[at + u * parts];
        for (int u = 0; u < IN_FLIGHT; ++u) {
            some_of_b const some = y[u];
            EACH_COLUMN(ADD_TO_SUM)
        }
    }
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) LOAD_SOME(y[u], row_of[u]);
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) { LOAD_OF_A(u, at + u * parts); }
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) {
            some_of_b const some = y[u];
            EACH_COLUMN(ADD_TO_SUM)
        }
}
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
