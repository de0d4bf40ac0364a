// What a sparse format is, and the transposed of an operand of any format.
//
// Every sparse format is multiplied as CSR: X.listed(leaf, arena) writes it by rows into workspace of the call. On the
// host, a product with a vector, or two, adds up the elements of CSC, COO and ELL as they are stored. A format is one
// header with a form (sparse_form) and an operand (sparse_operand), and asserts that they are. structure/ell.hpp is the
// shortest.
#pragma once

#include "../../core/policy.hpp"
#include "arrays.hpp"
#include "transpose.hpp"

#include <concepts>
#include <string>

STRATAGEMM_BEGIN

template <policy P>
class csr_product;

// Stand-ins for a policy's leaf and arena: the concepts need declarations of these.
struct any_leaf;
struct any_arena;

// A form may say that its operand has each_element(), or has whole(), or is by rows already. A form has `sums` where
// rows may be in pieces.
template <class F>
concept has_elements_of = requires {
    requires F::has_elements;
};
template <class F>
concept has_whole_matrix = requires {
    requires F::is_whole;
};
template <class F>
concept is_by_rows = requires {
    requires F::is_by_rows;
};
template <class F>
concept has_pieces = requires(F const& f) {
    { f.sums } -> std::convertible_to<index_t>;
};

// What a shape keeps of a sparse operand whose sides are `rows` and `cols`.
//   index_type, value_type
//   over<P>                         csr_product<P>, or the product that the format has instead
//   most(rows, cols)                so many elements are stored, at most; likely(rows, cols): for estimates
//   bytes<Arena, Leaf>(rows, cols)  workspace that listed() takes, at most
//   conjugates()                    whether the list says `conjugate`
//   origin()                        for describe(): what is done before the product, or nothing
//   transposed()                    the form of the transposed
//   longest_row(rows, cols)         optional: the elements of the longest row, roughly; 0: unknown
template <class F>
concept sparse_form = requires {
    requires F::is_sparse;
    requires F::has_facts;
    typename F::value_type;
    typename F::index_type;
}
&&requires(F const& f, index_t rows, index_t cols) {
    { f.most(rows, cols) } -> std::same_as<index_t>;
    { f.likely(rows, cols) } -> std::same_as<index_t>;
    { f.template bytes<any_arena, any_leaf>(rows, cols) } -> std::same_as<std::size_t>;
    { f.conjugates() } -> std::same_as<bool>;
    { f.origin() } -> std::same_as<std::string>;
    f.transposed();
};

// What an operand is listed as: a csr, or a csr without values, whose elements are one.
template <class L>
concept csr_list = ready_operand<L> && requires(L const& l) {
    typename L::index_type;
    l.row_begins, l.columns;
    { l.nonzeros } -> std::convertible_to<index_t>;
    { l.scale } -> std::convertible_to<accumulator_t<typename L::value_type>>;
    { l.conjugate } -> std::convertible_to<bool>;
};

// A sparse operand has the members that core/operand.hpp lists, and these:
//   facts()                   its form
//   scale, conjugate          marks that scaled() and conjugated() change; the list has them
//   listed(leaf, arena)       the list, declared with its type
//   transposed()
// A sparse operand may also have these:
//   usable()                  the error of the operand, before it is listed, without reading its arrays
//   check()                   the error of its arrays, on the host
//   each_element(part, parts, f)   f(i, j, value) for the elements of a part, as stored: if the form says has_elements
//   whole()                   the dense matrix whose non-zero elements are listed, which products read if few are zero:
//                             if the form says is_whole
template <class X>
concept sparse_operand = ready_operand<X> && sparse_form<typename X::form> &&
    requires(X const& x, any_leaf const& leaf, any_arena& memory) {
    typename X::index_type;
    { x.facts() } -> std::same_as<typename X::form>;
    { x.scale } -> std::convertible_to<accumulator_t<typename X::value_type>>;
    { x.conjugate } -> std::convertible_to<bool>;
    { x.transposed() } -> ready_operand;
    requires csr_list<std::remove_cvref_t<decltype(*x.listed(leaf, memory))>>;
} &&(!has_elements_of<typename X::form> ||
     requires(X const& x, void (&f)(index_t, index_t, typename X::value_type)) {
         x.each_element(0, 1, f);
     }) &&
    (!has_whole_matrix<typename X::form> || requires(X const& x) {
        { x.whole() } -> ready_operand;
    });

// The errors of a sparse operand that a product can find without reading its arrays.
template <class X>
status usable([[maybe_unused]] X const& x) {
    if constexpr (requires { x.usable(); })
        return x.usable();
    else
        return {};
}

template <class X>
struct turned;

// The form of the transposed of an operand of form F.
template <class F>
struct turned_form {
    using value_type = typename F::value_type;
    using index_type = typename F::index_type;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = has_elements_of<F>;
    template <class P>
    requires P::is_backend using over = typename F::template over<P>;

    F of{};
    bool conjugate = false;

    F transposed() const {
        F form = of;
        if constexpr (requires { form.conjugate; }) form.conjugate = conjugates();
        return form;
    }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t cols) const {
        return bytes_of_lists<Arena, value_type, index_type>(rows, most(rows, cols)) +
               of.template bytes<Arena, Leaf>(cols, rows) +
               bytes_to_sort<Arena, index_type, Leaf>(most(rows, cols));
    }
    index_t most(index_t rows, index_t cols) const { return of.most(cols, rows); }
    index_t likely(index_t rows, index_t cols) const { return of.likely(cols, rows); }
    bool conjugates() const { return conjugate != of.conjugates(); }
    std::string origin() const { return of.origin() + "transposed first; "; }
};

// The transposed of a sparse operand. The transposed of a csr is the matrix by columns (CSC).
template <class X>
struct turned {
    using value_type = typename X::value_type;
    using space = typename X::space;
    using form = turned_form<typename X::form>;
    using index_type = typename X::index_type;
    static constexpr int most_views = X::most_views;

    index_t rows = 0, cols = 0;
    X of{};
    accumulator_t<value_type> scale{1};
    bool conjugate = false;

    form facts() const { return {of.facts(), conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        of.each_view(f);
    }
    // The messages name rows and columns of what was transposed.
    status check() const requires std::is_same_v<space, host_memory> { return of.check(); }

    status usable() const { return stratagemm::usable(of); }
    X transposed() const {
        X x = of;
        x.conjugate = conjugate != of.conjugate;
        x.scale = scaled_by(conjugate ? stratagemm::conjugate(of.scale) : of.scale, scale);
        return x;
    }
    template <class To>
    auto in_space() const requires requires(X const& x) {
        x.template in_space<To>();
    }
    {
        auto const there = of.template in_space<To>();
        return turned<std::remove_const_t<decltype(there)>>{rows, cols, there, scale, conjugate};
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        of.each_element(part, parts, [&](index_t i, index_t j, value_type x) { f(j, i, x); });
    }
    template <class Leaf, class Arena>
    auto listed(Leaf const& leaf, Arena& memory) const -> decltype(of.listed(leaf, memory)) {
        using List = std::remove_cvref_t<decltype(*of.listed(leaf, memory))>;
        index_t const most = facts().most(rows, cols);
        auto const begins = memory.template take<index_type>(rows + 1);
        auto const columns = memory.template take<index_type>(most);
        auto const values = [&] {
            if constexpr (has_values<List>)
                return memory.template take<value_type>(most);
            else
                return no_values{};
        }();
        typename Arena::scope const scope(memory);
        auto x = transposed().listed(leaf, memory);
        if (!x) return x.take_status();
        if (status s = transpose_csr(leaf, *x, begins, columns, values, memory); !s) return s;
        List list{rows, cols, begins, columns};
        if constexpr (has_values<List>) list.values = values;
        list.nonzeros = x->nonzeros, list.scale = x->scale, list.conjugate = x->conjugate;
        return list;
    }
};

template <class X>
turned<X> turn(X x) {
    turned<X> t{x.cols, x.rows, x, x.scale, x.conjugate};
    t.of.scale = decltype(x.scale)(real_t<typename X::value_type>(1)), t.of.conjugate = false;
    return t;
}

STRATAGEMM_END
