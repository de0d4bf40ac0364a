// Transposes a sparse matrix by rows: a stable counting sort by columns, so that the columns of each row of the result
// rise, and the result does not depend on threads.
#pragma once

#include "arrays.hpp"

STRATAGEMM_BEGIN

template <class T, class Index, class Space>
struct csr;

template <class Arena, class Index, class Leaf>
std::size_t bytes_to_transpose(index_t) {
    return 0;
}
// `begins` has room for a.cols + 1 numbers, `columns` and `values` for a.nonzeros. The elements stay as they are stored.
template <class Leaf, class T, class Index, class Space, class Arena>
status transpose_csr(Leaf const&, csr<T, Index, Space> const& a, Index* begins, Index* columns, T* values,
                     Arena&) requires host_leaf<Leaf> {
    for (index_t j = 0; j <= a.cols; ++j) begins[j] = 0;
    for (index_t at = 0; at < a.nonzeros; ++at) ++begins[a.columns[at]];
    // From counts to where a row ends; each element then moves that to the left.
    Index sum = 0;
    for (index_t j = 0; j <= a.cols; ++j) sum = begins[j] = static_cast<Index>(sum + begins[j]);
    for (index_t i = a.rows; i-- > 0;)
        for (index_t at = a.row_begins[i + 1]; at-- > a.row_begins[i];) {
            Index const to = --begins[a.columns[at]];
            columns[to] = static_cast<Index>(i), values[to] = a.values[at];
        }
    return {};
}

STRATAGEMM_END
