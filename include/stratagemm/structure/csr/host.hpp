// Rows of CSR times dense on the host: in float and double kernels for each instruction set, and loops in other types.
//
// The sum of an element of C depends on the row of A, the lengths of the rows of A, the layout of B, the number of
// columns of the whole product and the instruction set alone, so the result does not depend on threads, nor on where B
// begins. A part of the columns begins at a multiple of 64.
#pragma once

#include "../../backend/host/caches.hpp"
#include "../../backend/host/kernels.hpp"
#include "../../core/policy.hpp"
#include "arrays.hpp"

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
    bool near;      // a column of B is in the second cache
    bool fetches;   // rows of B before elements use them
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

// Whether a product fetches rows of B, of so many bytes, before elements of A use them: where the second cache does not
// hold B, and where neighbours in A do not read neighbours in B, as in bands. The middles of some rows tell.
template <class Index>
bool fetches_rows(Index const* begins, Index const* columns, index_t rows, index_t bytes_of_b,
                  index_t bytes) {
    constexpr index_t samples = 16;
    if (bytes_of_b <= second_level_cache() || rows < samples) return false;
    int follow = 0;
    for (index_t s = 0; s < samples; ++s) {
        Index const* const row = begins + rows / samples * s;
        index_t const middle = row[0] + (row[1] - row[0]) / 2;
        bool follows = false;
        for (index_t at = middle - 1; at <= middle; ++at)
            if (at >= row[0] && at + 1 < row[1]) {
                index_t const step = static_cast<index_t>(columns[at + 1]) - columns[at];
                follows = follows || (step > 0 && (step - 1) * bytes < 64);
            }
        follow += follows;
    }
    return follow < samples / 2;
}

#define STRATAGEMM_EACH_ISA "../../structure/csr/rows.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"

// Runs the function of the instruction set in force.
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

// ---- rows of a product of any types, on the host ------------------------------------------------------------

// A value, converted for multiplication, without the factor.
template <class A>
typename A::value_type csr_value(A const& a, index_t at) {
    return a.conjugate ? stratagemm::conjugate(a.values[at]) : a.values[at];
}
// Rows of C by 256 columns are a piece, whose sums stay in a thread's first cache.
template <class Q>
void multiply_csr_any(Q const& p, index_t first, index_t last) {
    using S = typename Q::scalar;
    constexpr index_t width = 256;
    S sum[width];
    for (index_t i = first; i < last; ++i)
        for (index_t j = 0; j < p.c.cols; j += width) {
            index_t const cols = lesser(width, p.c.cols - j);
            for (index_t x = 0; x < cols; ++x) sum[x] = S(real_t<S>(0));
            for (index_t at = p.a.row_begins[i]; at < p.a.row_begins[i + 1]; ++at) {
                index_t const k = p.a.columns[at];
                if constexpr (has_values<typename Q::a_operand>) {
                    auto const factor = static_cast<S>(csr_value(p.a, at));
                    for (index_t x = 0; x < cols; ++x)
                        sum[x] = scaled_sum(factor, element_as<S>(p.b, k, j + x), sum[x]);
                } else {
                    for (index_t x = 0; x < cols; ++x)
                        sum[x] = sum_of_two(sum[x], element_as<S>(p.b, k, j + x));
                }
            }
            for (index_t x = 0; x < cols; ++x) finish_element(p, i, j + x, sum[x]);
        }
}
// Writes to C if the kernel can; otherwise to pieces of a row, which finish_element() writes to C.
template <class Q>
void multiply_csr_real(Q const& p, index_t across, bool by_columns, index_t first, index_t last) {
    using T = typename Q::a_type;
    using Index = typename Q::a_operand::index_type;
    constexpr bool valued = has_values<typename Q::a_operand>;
    sparse_rows<T, Index, !valued> g{};
    g.first = first, g.last = last, g.n = p.c.cols, g.across = across;
    g.begins = p.a.row_begins, g.columns = p.a.columns;
    g.b = p.b.data, g.b_row = p.b.row_stride, g.b_col = p.b.col_stride;
    g.e = p.e.data, g.e_row = p.e.row_stride, g.e_col = p.e.col_stride;
    g.c_col = 1, g.alpha = p.alpha, g.beta = p.beta, g.adds = p.beta != T(0);
    g.by_columns = by_columns, g.even = by_columns && has_even_rows(p.a.row_begins, p.a.rows);
    auto const size = static_cast<index_t>(sizeof(T));
    g.near = p.b.rows * size <= second_level_cache() / 2;
    index_t const bytes = (by_columns ? 1 : across) * size; // of a row of B
    g.fetches = fetches_rows(g.begins, g.columns, p.a.rows, p.b.rows * bytes, bytes);
    if constexpr (valued) g.values = p.a.values;
    bool const lies = by_columns || (p.c.col_stride == 1 && (!g.adds || p.e.col_stride == 1));
    if constexpr (std::is_same_v<typename Q::epilogue_type, identity> &&
                  std::is_same_v<typename Q::c_type, T>)
        if (lies) {
            g.c = p.c.data, g.c_row = p.c.row_stride, g.c_col = p.c.col_stride;
            return multiply_rows(g);
        }
    constexpr index_t width = 256;
    T sum[width];
    g.c = sum, g.alpha = 1, g.adds = false;
    for (index_t i = first; i < last; ++i)
        for (index_t j = 0; j < p.c.cols; j += width) {
            g.first = i, g.last = i + 1, g.n = lesser(width, p.c.cols - j);
            g.b = p.b.data + j * p.b.col_stride;
            multiply_rows(g);
            for (index_t x = 0; x < g.n; ++x) finish_element(p, i, j + x, sum[x]);
        }
}
// Rows of a product with `across` columns, which choose the order of its sums.
template <class Q>
void multiply_csr_part(Q const& p, index_t across, bool by_columns, index_t first, index_t last) {
    using S = typename Q::scalar;
    if constexpr (std::is_same_v<S, typename Q::a_type> && std::is_floating_point_v<S>)
        if (p.b.col_stride == 1 || by_columns) return multiply_csr_real(p, across, by_columns, first, last);
    multiply_csr_any(p, first, last);
}

STRATAGEMM_END
