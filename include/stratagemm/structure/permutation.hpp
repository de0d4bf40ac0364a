// A permutation as an operand that borrows its indices.
//
//   sg::gemm(cpu, sg::permutation<float>(p), x, y);                     row i of y is row p[i] of x
//   sg::gemm(cpu, sg::transposed(sg::permutation<float>(p)), x, y);     row p[i] of y is row i of x
//   sg::gemm(cpu, x, sg::permutation<float>(p), y);                     column p[j] of y is column j of x
//   sg::permutation<float, Space>(n, p)                                 p is a handle of another memory than the host's
//
// float is the element type of x. p is a range of 32- or 64-bit integers, each number from 0 to n - 1 once: on the host a
// product checks that before it writes, on a device check() of a copy on the host does. x and y may have any strides; x
// may be a batch, with y; alpha, beta, E and an epilogue serve as in other products.
#pragma once

#include "../gemm.hpp"
#include "diagonal/product.hpp"

STRATAGEMM_BEGIN

template <class T, class Index>
struct permutation_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true;
    template <class P>
    requires P::is_backend using over = single_element_product<P>;

    permutation_form transposed() const { return {}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t) const {
        return 2 * Arena::rounded(static_cast<std::size_t>(rows + 1) * sizeof(Index));
    }
    index_t most(index_t rows, index_t) const { return rows; }
    index_t likely(index_t rows, index_t) const { return rows; }
    bool conjugates() const { return false; }
    std::string origin() const { return "permutation; "; }
};

template <class T, class Index = std::int32_t, class Space = host_memory>
struct permutation_matrix {
    using value_type = T;
    using space = Space;
    using form = permutation_form<T, Index>;
    using index_type = Index;
    using list = csr_of_ones<T, Index, Space>;
    static constexpr int most_views = 1;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> indices{}; // as many
    bool is_transposed = false;
    accumulator_t<T> scale{1};
    bool conjugate = false; // without effect

    form facts() const { return {}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{indices, 1, rows, rows, 1});
    }
    permutation_matrix transposed() const {
        permutation_matrix one = *this;
        one.is_transposed = !is_transposed;
        return one;
    }
    status usable() const {
        if (!can_count<Index>(rows))
            return failure(errc::overflow, "permutation: there are more rows than the indices can count");
        if constexpr (std::is_same_v<Space, host_memory>)
            return check_range_of("permutation", "an index", indices, rows, rows);
        else
            return {};
    }
    // Each index is there once.
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = usable(); !s) return s;
        stratagemm::list<Index> inverse;
        if (!inverse.resize(static_cast<std::size_t>(rows)))
            return failure(errc::memory, "permutation: no host memory is left");
        return invert(inverse.data());
    }
    // The inverse of a permutation on the host whose indices are in range.
    status invert(Index* to) const requires std::is_same_v<Space, host_memory> {
        for (index_t i = 0; i < rows; ++i) to[i] = -1;
        for (index_t i = 0; i < rows; ++i) {
            if (to[indices[i]] >= 0) return wrong_at("permutation", "an index is there twice: number ", i);
            to[indices[i]] = static_cast<Index>(i);
        }
        return {};
    }
    template <class Leaf, class Arena>
    result<list> listed(Leaf const& leaf, Arena& memory) const {
        auto const begins = memory.template take<Index>(rows + 1);
        auto const inverse = memory.template take<Index>(rows);
        if (status s = number_rows<T, Index>(leaf, begins, rows + 1); !s) return s;
        list x{rows, cols, begins, indices, rows, scale};
        if constexpr (host_leaf<Leaf>) {
            if (status s = invert(inverse); !s) return s;
        } else if (is_transposed) {
            if (status s = number_rows<T, Index>(leaf, inverse, rows); !s) return s;
            if (status s = leaf.launch(list_kernel<T, Index>("invert_permutation", single_element_text, ""),
                                       groups_for_each(rows, 256), indices, inverse, rows);
                !s)
                return s;
        }
        if (is_transposed) x.columns = inverse;
        return x;
    }
};
static_assert(sparse_operand<permutation_matrix<float>>);

template <element T, lasting_range R>
auto permutation(R&& indices) {
    using Index = std::remove_cvref_t<decltype(*indices.data())>;
    static_assert(std::is_integral_v<Index> && std::is_signed_v<Index> &&
                      (sizeof(Index) == 4 || sizeof(Index) == 8),
                  "stratagemm: the indices of a permutation are std::int32_t or std::int64_t");
    auto const n = static_cast<index_t>(indices.size());
    return permutation_matrix<T, Index>{n, n, indices.data()};
}
// Space: that of the indices.
template <element T, class Space, class Index = std::int32_t>
auto permutation(index_t n, std::type_identity_t<typename Space::template handle<Index const>> indices) {
    return permutation_matrix<T, Index, Space>{n, n, indices};
}

STRATAGEMM_END
