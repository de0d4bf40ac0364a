// Conversions of sparse matrices to CSR, CSC, patterns and dense matrices, copies to a device, and what is kept of a
// sparse operand for many products. All of them run on the host and on devices.
#pragma once

#include "operand.hpp"

#include <vector>

STRATAGEMM_BEGIN

// The list of a sparse operand: a csr, or something like a csr without values.
template <class X, class P>
using list_of = std::remove_cvref_t<decltype(*std::declval<X const&>().listed(
    std::declval<P const&>().leaf(), std::declval<typename P::arena&>()))>;

// Any sparse operand by rows. A csr keeps its arrays; for any other operand the result owns the arrays. A factor and a
// conjugation stay marks of the view.
template <policy P, sparse_operand X>
auto try_by_rows(P const& policy, X const& x) -> result<owned<list_of<X, P>, P>> {
    if (status s = usable(x); !s) return s;
    auto const facts = x.facts();
    // Bytes are computed for numbers up to this, and do not overflow.
    auto const is_beyond = [](index_t n) { return n < 0 || n > index_t{1} << 52; };
    if (is_beyond(x.rows) || is_beyond(x.cols) || is_beyond(facts.most(x.rows, x.cols)))
        return failure(
            errc::overflow,
            "by_rows: a sparse matrix has negative sides, or more than 2^52 rows, columns or elements");
    auto memory = reserve_for(policy, facts.template bytes<typename P::arena, leaf_of<P>>(x.rows, x.cols));
    if (!memory) return memory.take_status();
    auto list = x.listed(policy.leaf(), **memory);
    if (!list) return list.take_status();
    return owned<list_of<X, P>, P>(std::move(*memory), *list);
}
template <policy P, sparse_operand X>
auto by_rows(P const& policy, X const& x) {
    auto made = try_by_rows(policy, x);
    made.or_throw();
    return std::move(*made);
}

// Any sparse operand by rows, with values, which are one for a pattern.
template <policy P, sparse_operand X>
auto values_by_rows(P const& policy, X const& x) {
    auto list = by_rows(policy, x);
    auto const a = list.view();
    using List = std::remove_const_t<decltype(a)>;
    if constexpr (has_values<List>) {
        return list;
    } else {
        using T = typename List::value_type;
        using space = typename P::space;
        using Csr = csr<T, typename List::index_type, space>;
        auto memory = reserve_for(policy, static_cast<std::size_t>(a.nonzeros) * sizeof(T));
        memory.or_throw();
        auto const values = (*memory)->template take<T>(a.nonzeros);
        view<T, space> const row{values, 1, a.nonzeros, a.nonzeros, 1};
        if (a.nonzeros > 0) policy.leaf().fill(row, T(real_t<accumulator_t<T>>(1))).or_throw();
        memory->hold(list.memory());
        return owned<Csr, P>(std::move(*memory),
                             Csr{a.rows, a.cols, a.row_begins, a.columns, values, a.nonzeros, a.scale});
    }
}

// Lists a sparse operand of any other format by rows, and any operand by columns. The result owns its arrays.
template <policy P, operand M>
auto to_csr(P const& policy, M const& matrix) {
    auto const x = as_view(matrix);
    constexpr bool is_csr = requires { x.row_begins, x.values; };
    static_assert(!is_csr, "stratagemm: this operand is a csr already");
    return values_by_rows(policy, x);
}
// The places of the elements that a sparse operand stores, zeros as well; each becomes one, without a factor. A csr
// keeps its arrays.
template <policy P, operand M>
auto to_csr_of_ones(P const& policy, M const& matrix) {
    auto const list = by_rows(policy, as_view(matrix));
    auto const a = list.view();
    using Ones =
        csr_of_ones<typename decltype(a)::value_type, typename decltype(a)::index_type, typename P::space>;
    return owned<Ones, P>(list.memory(), Ones{a.rows, a.cols, a.row_begins, a.columns, a.nonzeros});
}
template <policy P, operand M>
auto to_csc(P const& policy, M const& matrix) {
    auto const turned_list = to_csr(policy, as_view(matrix).transposed());
    auto const columns = turned_list.view().transposed();
    return owned<std::remove_const_t<decltype(columns)>, P>(turned_list.memory(), columns);
}

// C = X, with zeros where X has no element. Elements of one place add up.
template <policy P, operand M, operand C>
void to_dense(P const& policy, M const& matrix, C&& c) {
    auto const x = as_view(matrix);
    auto const to = as_view(c);
    using T = typename decltype(x)::value_type;
    using S = accumulator_t<T>;
    static_assert(std::is_same_v<typename decltype(to)::value_type, T>,
                  "stratagemm: C must have the element type of the sparse matrix");
    if (to.rows != x.rows || to.cols != x.cols)
        raise(error(errc::shape, "to_dense: C must have the sides of the sparse matrix"));
    auto const list = values_by_rows(policy, x);
    auto const leaf = policy.leaf();
    leaf.fill(to, T(real_t<S>(0))).or_throw();
    auto const a = list.view();
    if constexpr (host_leaf<leaf_of<P>>) {
        for (index_t i = 0; i < a.rows; ++i) {
            for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at)
                to(i, a.columns[at]) = static_cast<T>(no_sum<S>());
            for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at) {
                T& element = to(i, a.columns[at]);
                element = static_cast<T>(sum_of_two(static_cast<S>(element), a.number(at)));
            }
        }
    } else {
        if (a.rows == 0 || a.cols == 0) return;
        leaf.launch(list_kernel<T, typename decltype(a)::index_type>("write_dense", dense_text, ""),
                    groups_for_each(a.rows, 256), a.row_begins, a.columns, a.values, to, a.rows, a.scale,
                    int{a.conjugate}, no_sum<S>())
            .or_throw();
        leaf.synchronize().or_throw();
    }
}

// A copy of a csr in host memory, in the memory of a device's policy. The same for a csr_of_ones, and for either
// transposed. The copy is there when the call returns.
template <policy P, operand M>
auto to_device(P const& policy, M const& matrix) {
    auto const x = as_view(matrix);
    using X = std::remove_const_t<decltype(x)>;
    using space = typename P::space;
    static_assert(device_leaf<leaf_of<P>, space> && std::is_same_v<typename X::space, host_memory>,
                  "stratagemm: to_device() copies a matrix in host memory to a device");
    if constexpr (csr_list<X>) {
        using T = typename X::value_type;
        using Index = typename X::index_type;
        auto memory = reserve_for(policy, bytes_of_lists<typename P::arena, T, Index>(x.rows, x.nonzeros));
        memory.or_throw();
        auto const copy = [&]<class Number>(Number const* from, index_t count) {
            auto const to = (*memory)->template take<Number>(count);
            if (from && count > 0) policy.leaf().upload(from, to, count).or_throw();
            return to;
        };
        typename X::template in<space> there{x.rows, x.cols};
        there.row_begins = copy(x.row_begins, x.rows + 1), there.columns = copy(x.columns, x.nonzeros);
        if constexpr (has_values<X>) there.values = copy(x.values, x.nonzeros);
        there.nonzeros = x.nonzeros, there.scale = x.scale, there.conjugate = x.conjugate;
        if constexpr (requires { x.longest; }) there.longest = x.longest;
        return owned<decltype(there), P>(std::move(*memory), there);
    } else {
        constexpr bool is_transposed = csr_list<decltype(x.transposed())>;
        static_assert(is_transposed, "stratagemm: to_device() takes a csr or a csc; to_csr() makes one");
        auto const turned_list = to_device(policy, x.transposed());
        auto const there = turned_list.view().transposed();
        return owned<std::remove_const_t<decltype(there)>, P>(turned_list.memory(), there);
    }
}

// ---- kept -------------------------------------------------------------------------------------------------

// The rows of X, for many products with X on the left. A device gets the rows of a csr in pieces, and the call waits
// for the device; the arrays of the csr stay as they are, and its values may change. Any other operand is listed by
// rows. `original` is the memory of X.
template <policy P, sparse_operand X>
auto keep_rows(P const& policy, X x, shared<typename P::arena> const& original) {
    if constexpr (!requires { x.pieces; }) {
        auto const list = by_rows(policy, x);
        auto const memory = is_by_rows<typename X::form> ? original : list.memory();
        return kept<list_of<X, P>, P>(memory, {list.view()});
    } else if constexpr (host_leaf<leaf_of<P>>) { // whose threads share rows as they are
        return kept<X, P>(original, {x});
    } else {
        using Index = typename X::index_type;
        auto const leaf = policy.leaf();
        std::vector<Index> begins(static_cast<std::size_t>(x.rows) + 1);
        leaf.download(x.row_begins, begins.data(), x.rows + 1).or_throw();
        cut_csr<Index> const cut(begins, x.nonzeros);
        auto memory = reserve_for(policy, cut.template bytes<typename P::arena>());
        memory.or_throw();
        auto pieces = cut.template upload<typename P::space>(leaf, **memory);
        pieces.or_throw();
        x.pieces = *pieces;
        memory->hold(original);
        return kept<X, P>(std::move(*memory), {x});
    }
}
// Whether a policy of type P multiplies the operand as CSR. Blocks are not multiplied as CSR if the format has a
// product for blocks.
template <class M, class P>
concept multiplied_as_csr = sparse_operand<view_of<M>> &&
    std::same_as<typename over_form<P, typename view_of<M>::form>::type, csr_product<P>>;

template <policy P, operand M>
requires(lasting<M, P>&& multiplied_as_csr<M, P>) auto keep_left(P const& policy, M&& matrix) {
    return keep_rows(policy, as_view(matrix), memory_of<P>(matrix));
}
// A product with X on the right takes the rows of the transposed: these are kept.
template <policy P, operand M>
requires(lasting<M, P>&& multiplied_as_csr<M, P>) auto keep(P const& policy, M&& matrix) {
    auto const rows = keep_rows(policy, as_view(matrix).transposed(), memory_of<P>(matrix));
    auto const x = rows.view().transposed();
    return owned<std::remove_const_t<decltype(x)>, P>(rows.memory(), x);
}
// Another name of keep_left(), for a csr.
template <policy P, operand M>
auto balanced(P const& policy, M&& matrix) {
    static_assert(
        requires { as_view(matrix).pieces; }, "stratagemm: balanced() takes a csr");
    return keep_left(policy, std::forward<M>(matrix));
}

STRATAGEMM_END
