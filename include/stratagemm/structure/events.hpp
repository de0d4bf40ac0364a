// Products of a matrix that is mostly zero with a dense matrix W. A product reads only the rows, or columns, of W
// that meet a non-zero element.
//
//   sg::gemm(gpu, sg::events(x), w, y);      Y = X W: rows of W; X has few rows, such as one vector of activations
//   sg::gemm(gpu, w, sg::events(x), y);      Y = W X: columns of W
//
//   auto const list = sg::compact(gpu, x);   once: a csr_matrix
//   sg::gemm(gpu, list, w, y);               many times
//
// The product lists the non-zero elements on the device, in workspace that has room for all elements, and does not
// wait for the host. The list is in the order of the columns, so the result is the same from run to run. Zeros are
// not multiplied: 0 times Inf or NaN in W adds nothing. Where such a product must give NaN, pass x itself.
#pragma once

#include "csr.hpp"
#include "csr/compact.hpp"

STRATAGEMM_BEGIN

template <class T>
struct event_form {
    using value_type = T;
    using index_type = std::int32_t;
    static constexpr bool has_facts = true, is_sparse = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    event_form transposed() const { return {}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t cols) const {
        return bytes_of_lists<Arena, T, index_type>(rows, rows * cols) +
               (host_leaf<Leaf> ? 0 : bytes_to_compact<Arena>(rows, cols));
    }
    // The host does not know how many elements are non-zero: assume one in ten.
    index_t most(index_t rows, index_t cols) const { return rows * cols; }
    index_t likely(index_t rows, index_t cols) const { return rows * cols / 10; }
    bool conjugates() const { return false; } // by what lists the elements
    std::string origin() const { return "events, listed first; "; }
};

template <class T, class Space>
struct event_matrix {
    using value_type = T;
    using space = Space;
    using form = event_form<T>;
    using index_type = std::int32_t;
    static constexpr int most_views = 1;

    index_t rows = 0, cols = 0;
    view<T const, Space> elements{};
    accumulator_t<T> scale{1};
    bool conjugate = false;

    event_matrix() = default;
    explicit event_matrix(view<T const, Space> const& x)
        : rows(x.rows), cols(x.cols), elements(x), scale(x.scale), conjugate(x.conjugate) {
        elements.scale = accumulator_t<T>(real_t<T>(1)), elements.conjugate = false;
    }
    form facts() const { return {}; }
    event_matrix transposed() const {
        event_matrix x = *this;
        x.rows = cols, x.cols = rows, x.elements = elements.transposed();
        return x;
    }
    template <class F>
    void each_view(F&& f) const {
        f(elements);
    }
    // On a device the host does not learn how many non-zero elements there are: `nonzeros` of the list is the
    // number of all elements then.
    template <class Leaf, class Arena>
    result<csr<T, index_type, Space>> listed(Leaf const& leaf, Arena& memory) const {
        auto const begins = memory.template take<index_type>(rows + 1);
        auto const columns = memory.template take<index_type>(rows * cols);
        auto const values = memory.template take<T>(rows * cols);
        auto from = elements;
        from.conjugate = conjugate;
        status s = list_nonzeros<Leaf, T, Space, index_type>(leaf, from, accumulator_t<T>(real_t<T>(1)),
                                                             begins, columns, values, memory);
        if (!s) return s;
        index_t nonzeros = rows * cols;
        if constexpr (host_leaf<Leaf>) nonzeros = begins[rows];
        return csr<T, index_type, Space>{rows, cols, begins, columns, values, nonzeros, scale};
    }
};

template <operand X>
requires is_view<reading_t<decltype(as_view(std::declval<X const&>()))>>::value auto events(X const& x) {
    auto const v = reading(as_view(x));
    return event_matrix<typename decltype(v)::value_type, typename decltype(v)::space>(v);
}

// The list of a matrix that is mostly zero, for many products: a csr_matrix.
template <policy P, operand X>
requires std::is_same_v<typename decltype(as_view(std::declval<X const&>()))::space, typename P::space>
auto compact(P const& policy, X const& x) { return to_csr(policy, events(x)); }

STRATAGEMM_END
