// Products of a matrix that is mostly zero with a dense matrix W. A product reads only the rows, or columns, of W
// that meet a non-zero element.
//
//   sg::gemm(gpu, sg::events(x), w, y);          Y = X W: rows of W; X has few rows, such as one vector of activations
//   sg::gemm(gpu, w, sg::events(x), y);          Y = W X: columns of W
//   sg::gemm(gpu, sg::events<float>(s), w, y);   marks, such as spikes, in bool or an integer type: each that is not
//                                                zero counts as one. float is the type of W
//
//   auto const list = sg::keep_left(gpu, sg::events(x));         once
//   sg::gemm(gpu, list, w, y);                                   many times
//   auto const right = sg::keep(gpu, sg::events(x));             for products with x on the right
//   sg::compact(gpu, x), sg::compact<float>(gpu, s)              other names of keep_left(gpu, events...)
//
// The product lists the non-zero elements on the device, in workspace that has room for all elements, and does not
// wait for the host. If X has up to 8 rows and turns out to have so many non-zero elements that it takes less time to
// read all of W, the product does so. The order of all sums depends on shapes and on x alone, so the result is the same
// from run to run. Zeros are not multiplied in any case: 0 times Inf or NaN in W adds nothing. Where such a product
// must give NaN, pass x itself.
#pragma once

#include "csr.hpp"
#include "csr/compact.hpp"

STRATAGEMM_BEGIN

// Ones: there are no values.
template <class T, bool Ones = false>
struct event_form {
    using value_type = T;
    using index_type = std::int32_t;
    static constexpr bool has_facts = true, is_sparse = true, is_whole = true, ones = Ones;
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

// Mark: the type of the elements. Where it is not T, each that is not zero counts as one.
template <class T, class Space, class Mark = T>
struct event_matrix {
    using value_type = T;
    using space = Space;
    static constexpr bool valued = std::is_same_v<T, Mark>;
    using form = event_form<T, !valued>;
    using index_type = std::int32_t;
    static constexpr int most_views = 1;
    using list = std::conditional_t<valued, csr<T, index_type, Space>, csr_of_ones<T, index_type, Space>>;

    index_t rows = 0, cols = 0;
    view<Mark const, Space> elements{};
    accumulator_t<T> scale{1};
    bool conjugate = false;

    event_matrix() = default;
    explicit event_matrix(view<Mark const, Space> const& x) : rows(x.rows), cols(x.cols), elements(x) {
        if constexpr (valued) scale = x.scale, conjugate = x.conjugate;
        elements.scale = accumulator_t<Mark>(real_t<Mark>(1)), elements.conjugate = false;
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
    // The elements in the list's type, with the zeros.
    view<Mark const, Space> whole() const {
        auto x = elements;
        x.conjugate = conjugate;
        return x;
    }
    // On a device the host does not learn how many non-zero elements there are: `nonzeros` of the list is the
    // number of all elements then.
    template <class Leaf, class Arena>
    result<list> listed(Leaf const& leaf, Arena& memory) const {
        auto const begins = memory.template take<index_type>(rows + 1);
        auto const columns = memory.template take<index_type>(rows * cols);
        list x{rows, cols, begins, columns};
        status s;
        if constexpr (valued) {
            auto const values = memory.template take<T>(rows * cols);
            x.values = values;
            s = list_nonzeros<index_type>(leaf, whole(), begins, columns, values, memory);
        } else {
            s = list_nonzeros<index_type>(leaf, whole(), begins, columns, no_values{}, memory);
        }
        if (!s) return s;
        x.nonzeros = rows * cols, x.scale = scale;
        if constexpr (host_leaf<Leaf>) x.nonzeros = begins[rows];
        return x;
    }
};

static_assert(sparse_operand<event_matrix<float, host_memory>> &&
              sparse_operand<event_matrix<float, host_memory, bool>>);

template <operand X>
requires is_view<reading_t<decltype(as_view(std::declval<X const&>()))>>::value auto events(X const& x) {
    auto const v = reading(as_view(x));
    return event_matrix<typename decltype(v)::value_type, typename decltype(v)::space>(v);
}

// T: the element type of the dense matrix.
template <element T, operand X>
auto events(X const& x) {
    auto const v = reading(as_view(x));
    using Mark = typename decltype(v)::value_type;
    constexpr bool is_mark = std::is_integral_v<Mark> && sizeof(Mark) <= 4 && !std::is_same_v<T, Mark>;
    static_assert(is_mark,
                  "stratagemm: the marks of events<T>(x) have an integer type, or bool, that is not T; for "
                  "elements that are multiplied write events(x)");
    if constexpr (is_mark) return event_matrix<T, typename decltype(v)::space, Mark>(v);
}

// The list of events(x) that is kept for products with x on the left. The list is also a csr_matrix.
template <policy P, operand X>
requires std::is_same_v<typename decltype(as_view(std::declval<X const&>()))::space, typename P::space>
auto compact(P const& policy, X const& x) { return keep_left(policy, events(x)); }
template <element T, policy P, operand X>
auto compact(P const& policy, X const& x) {
    return keep_left(policy, events<T>(x));
}

STRATAGEMM_END
