// Transposes a sparse matrix by rows: a stable counting sort by columns, so that the columns of each row of the result
// rise, and the result does not depend on threads.
#pragma once

#include "arrays.hpp"

STRATAGEMM_BEGIN

template <class T, class Index, class Space>
struct csr;

template <class Arena, class Index, class Leaf>
std::size_t bytes_to_sort(index_t) {
    return 0;
}

// Element `at` goes to place(at, to): behind all with a lower key, and behind those with the same that are before it.
// begins[key] becomes the first place of that key; it has room for keys + 1 numbers.
template <class Index, class Place>
void sort_stably(Index const* key_of, index_t count, index_t keys, Index* begins, Place&& place) {
    for (index_t key = 0; key <= keys; ++key) begins[key] = 0;
    for (index_t at = 0; at < count; ++at) ++begins[key_of[at]];
    // From counts to where each key ends; each element then moves that down.
    Index sum = 0;
    for (index_t key = 0; key <= keys; ++key) sum = begins[key] = static_cast<Index>(sum + begins[key]);
    for (index_t at = count; at-- > 0;) place(at, --begins[key_of[at]]);
}

// Elements in any order, by rows. `begins` has room for rows + 1 numbers.
template <class Leaf, class T, class Index, class Space, class Arena>
status sort_by_rows(Leaf const&, index_t rows, index_t count, Index const* row_numbers,
                    Index const* from_columns, T const* from_values, Index* begins, Index* columns, T* values,
                    Arena&) requires host_leaf<Leaf> {
    sort_stably(row_numbers, count, rows, begins,
                [&](index_t at, Index to) { columns[to] = from_columns[at], values[to] = from_values[at]; });
    return {};
}

// `begins` has room for a.cols + 1 numbers, `columns` and `values` for a.nonzeros. The elements stay as they are stored.
template <class Leaf, class T, class Index, class Space, class Arena>
status transpose_csr(Leaf const&, csr<T, Index, Space> const& a, Index* begins, Index* columns, T* values,
                     Arena&) requires host_leaf<Leaf> {
    index_t i = a.rows;
    sort_stably(a.columns, a.nonzeros, a.cols, begins, [&](index_t at, Index to) {
        while (at < a.row_begins[i]) --i;
        columns[to] = static_cast<Index>(i), values[to] = a.values[at];
    });
    return {};
}

STRATAGEMM_END
