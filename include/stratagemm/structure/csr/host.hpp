// CSR times dense on the host, in float and double: kernels for each instruction set.
//
// The sum of an element of C depends on the row of A, the lengths of the rows of A, the layout of B, the number of
// columns of the whole product and the instruction set alone, so the result does not depend on threads, nor on where B
// begins. A part of the columns begins at a multiple of 64.
#pragma once

#include "../../backend/host/kernels.hpp"

STRATAGEMM_BEGIN

// Rows [first, last) of C = alpha A B + beta E; E is not read unless `adds`. Unless `by_columns`, columns of B, C
// and E have stride 1. Ones: each element of A is one, and there are no values.
template <class T, class Index, bool Ones = false>
struct sparse_rows {
    index_t first, last, n;
    Index const* begins;
    Index const* columns;
    T const* values;
    T const* b;
    index_t b_row, b_col;
    T const* e;
    index_t e_row, e_col;
    T* c;
    index_t c_row, c_col;
    T alpha, beta;
    bool adds, by_columns;
    bool even;      // rows of A have like lengths
    index_t across; // columns of the whole product, of which these may be a part
};

// Whether rows have like lengths, as some neighbours tell.
template <class Index>
bool has_even_rows(Index const* begins, index_t rows) {
    constexpr index_t samples = 16;
    int different = 0;
    if (rows >= 2 * samples)
        for (index_t s = 0; s < samples; ++s) {
            Index const* const at = begins + rows / samples * s;
            different += at[1] - at[0] != at[2] - at[1];
        }
    return different <= samples / 4;
}

#define STRATAGEMM_OP STRATAGEMM_TARGET inline __attribute__((always_inline))
#ifdef __CUDACC__ // which warns of it
#    define STRATAGEMM_UNROLLED
#else
#    define STRATAGEMM_UNROLLED _Pragma("GCC unroll 16")
#endif
namespace host_portable {
#define STRATAGEMM_TARGET
#include "rows.inl.hpp"
#undef STRATAGEMM_TARGET
} // namespace host_portable
#if defined(__x86_64__)
#    define STRATAGEMM_SCALAR_FMA
namespace host_avx2 {
#    define STRATAGEMM_TARGET __attribute__((target("avx2,fma,f16c")))
#    include "rows.inl.hpp"
#    undef STRATAGEMM_TARGET
} // namespace host_avx2
namespace host_avx512 {
#    define STRATAGEMM_TARGET STRATAGEMM_AVX512
#    include "rows.inl.hpp"
#    undef STRATAGEMM_TARGET
} // namespace host_avx512
#    undef STRATAGEMM_SCALAR_FMA
#endif
#undef STRATAGEMM_OP
#undef STRATAGEMM_UNROLLED

// In the instruction set in force.
template <class T, class Index, bool Ones>
void multiply_rows(sparse_rows<T, Index, Ones> const& g) {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512)
        return g.by_columns ? host_avx512::sparse_times_columns(g) : host_avx512::sparse_times_rows(g);
    if (choice.available && choice.isa >= host_isa::avx2)
        return g.by_columns ? host_avx2::sparse_times_columns(g) : host_avx2::sparse_times_rows(g);
#endif
    return g.by_columns ? host_portable::sparse_times_columns(g) : host_portable::sparse_times_rows(g);
}

STRATAGEMM_END
