// Products with a matrix that has at most one element in each row and column, such as a diagonal matrix or a permutation:
// those of a sparse matrix, with another bound.
#pragma once

#include "../csr.hpp"

STRATAGEMM_BEGIN

template <policy P>
class single_element_product : public csr_product<P> {
public:
    using csr_product<P>::csr_product;

    // No element of C is a sum.
    template <class S>
    bound error_bound(S const&) const {
        return chain_bound<S>(1);
    }
};

// A work-item writes a number: of its row, or of the row that is moved to its row.
inline constexpr char single_element_text[] = R"(
KERNEL(ITEMS) number_rows(BUFFER(INDEX, begins), index count) {
    OPEN(INDEX, begins);
    for (EACH(i, count)) begins[i] = (INDEX)i;
}
KERNEL(ITEMS) invert_permutation(BUFFER(INDEX const, from), BUFFER(INDEX, to), index rows) {
    OPEN(INDEX const, from);
    OPEN(INDEX, to);
    for (EACH(i, rows)) {
        INDEX const j = from[i];
        if (j >= 0 && j < rows) to[j] = (INDEX)i;
    }
}
)";

// 0, 1, ... count - 1
template <class T, class Index, class Leaf, class Handle>
status number_rows(Leaf const& leaf, Handle const& to, index_t count) {
    if constexpr (host_leaf<Leaf>) {
        (void)leaf;
        for (index_t i = 0; i < count; ++i) to[i] = static_cast<Index>(i);
        return {};
    } else {
        return leaf.launch(list_kernel<T, Index>("number_rows", single_element_text, ""),
                           groups_for_each(count, 256), to, count);
    }
}

STRATAGEMM_END
