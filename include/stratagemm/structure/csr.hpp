// Sparse matrices by rows (CSR) and by columns (CSC), and the products of all sparse operands with dense matrices.
//
//   sg::csr<float> a{m, k, row_begins, columns, values, nonzeros};          borrows the arrays
//   auto d = sg::csc<float>(m, k, column_begins, rows, values, nonzeros);   the same by columns
//   sg::gemm(cpu, a, b, c);                                  also with alpha, beta, E and an epilogue
//   sg::gemm(cpu, b, a, c);                                  dense times sparse
//   auto const cut = sg::balanced(gpu, a);                   for many products on a device: long rows in pieces
//   sg::gemm(cpu, a.transposed(), b, c);                     sg::scaled(2, a) and sg::conjugated(a) likewise
//   sg::csr_of_ones<float> p{m, k, row_begins, columns, nonzeros};          a pattern: each element is one
//   auto const places = sg::to_csr_of_ones(cpu, a);          of any sparse operand; sg::to_csr gives ones their values
//
// Row i has the elements [row_begins[i], row_begins[i + 1]) of columns and values. The arrays are in the
// memory of the policy: pointers on the host, handles on a device. Shape and device determine the order in which
// the products of a row are summed, so the result does not depend on threads or scheduling. Elements that are not
// stored are zero and not multiplied: Inf in B gives no NaN. Columns may come in any order, and repeat.
//
// Products do not check the arrays. check() does so on the host: rows in order, columns in range. check_sorted()
// also refuses columns that do not rise within a row.
//
// Every other sparse format is multiplied as CSR: X.listed(leaf, arena) writes it by rows into workspace of the
// call. On the host, a product with a vector, or two, adds up the elements of CSC, COO and ELL as they are stored.
// A format is one header with
//   a form     is_sparse, has_facts, over<P>, index_type; bytes<Arena, Leaf>(rows, cols), which listed() takes at most;
//              most(rows, cols) and likely(rows, cols) elements; conjugates(); origin() for describe(); transposed()
//   an operand what core/operand.hpp lists, index_type, facts(), scale, conjugate, check(), transposed() and
//              listed(leaf, arena); usable(), if there is something to check before listed(); whole(), if the list is
//              of the non-zero elements of a dense matrix: that matrix, which products read if few of them are zero;
//              each_element(part, parts, f), if the form says has_elements: f(i, j, value) for those of a part, as stored
#pragma once

#include "../core/policy.hpp"
#include "csr/arrays.hpp"
#include "csr/device.hpp"
#include "csr/host.hpp"
#include "csr/pieces.hpp"
#include "csr/transpose.hpp"

#include <memory>

STRATAGEMM_BEGIN

template <policy P>
class csr_product;
template <class T, class Index = std::int32_t, class Space = host_memory>
struct csr;

template <class X>
concept sparse_operand = requires {
    requires X::form::is_sparse;
};
template <class F>
concept sparse_form = requires {
    requires F::is_sparse;
};
template <class F>
concept has_elements_of = requires {
    requires F::has_elements;
};

// ---- transposed -------------------------------------------------------------------------------------------

template <class X>
struct turned;

// The form of the transposed of what has form F.
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

// The transposed of a sparse operand. Of a csr, it is the matrix by columns (CSC).
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

    status usable() const {
        if constexpr (requires { of.usable(); }) return of.usable();
        return {};
    }
    X transposed() const {
        X x = of;
        x.conjugate = conjugate != of.conjugate;
        x.scale = scaled_by(conjugate ? stratagemm::conjugate(of.scale) : of.scale, scale);
        return x;
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

// ---- by rows, by columns ----------------------------------------------------------------------------------

template <class T, class Index = std::int32_t>
struct csr_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = true, is_by_rows = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    index_t nonzeros = 0;
    bool conjugate = false;
    index_t sums = 0; // of pieces of rows, kept in workspace

    turned_form<csr_form> transposed() const { return {*this, false}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t, index_t) const {
        return 0;
    }
    index_t most(index_t, index_t) const { return nonzeros; }
    index_t likely(index_t, index_t) const { return nonzeros; }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return {}; }
};

// Index: std::int32_t or std::int64_t.
template <class T, class Index, class Space>
struct csr {
    using value_type = T;
    using space = Space;
    using form = csr_form<T, Index>;
    using index_type = Index;
    static constexpr int most_views = 3;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{}; // rows + 1
    typename Space::template handle<Index const> columns{};
    typename Space::template handle<T const> values{};
    index_t nonzeros = 0; // on a device, it may be more than there are
    accumulator_t<T> scale{1};
    bool conjugate = false;
    csr_pieces<Index, Space> pieces{}; // balanced() makes them

    form facts() const { return {nonzeros, conjugate, pieces.sums}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_begins, 1, rows + 1, rows + 1, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
        f(view<T const, Space>{values, 1, nonzeros, nonzeros, 1});
    }
    turned<csr> transposed() const { return turn(*this); }
    template <class Leaf, class Arena>
    result<csr> listed(Leaf const&, Arena&) const {
        return *this;
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        index_t const end = first_row(row_begins, rows, part + 1, parts);
        for (index_t i = first_row(row_begins, rows, part, parts); i < end; ++i)
            for (index_t at = row_begins[i]; at < row_begins[i + 1]; ++at) f(i, columns[at], values[at]);
    }

    // Element `at`, with the factor.
    accumulator_t<T> number(index_t at) const requires std::is_same_v<Space, host_memory> {
        auto x = static_cast<accumulator_t<T>>(values[at]);
        if (conjugate) x = stratagemm::conjugate(x);
        if constexpr (complex_like<T>) // 0i times Inf is NaN
            if (scale.imag() == 0) return T(scale.real() * x.real(), scale.real() * x.imag());
        return scaled_by(scale, x);
    }

    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = check_begins("csr", "row_begins", row_begins, rows, nonzeros); !s) return s;
        return check_range_of("csr", "a column", columns, nonzeros, cols);
    }
    status check_sorted() const requires std::is_same_v<Space, host_memory> {
        if (status s = check(); !s) return s;
        for (index_t i = 0; i < rows; ++i)
            for (index_t at = row_begins[i] + 1; at < row_begins[i + 1]; ++at)
                if (columns[at] <= columns[at - 1])
                    return wrong_at("csr", "the columns of a row do not rise: number ", at);
        return {};
    }
};
// A pattern: a csr without values, each of whose elements is one. For products with dense matrices.
template <class T, class Index = std::int32_t, class Space = host_memory>
struct csr_of_ones {
    using value_type = T;
    using space = Space;
    using form = csr_form<T, Index>;
    using index_type = Index;
    static constexpr int most_views = 2;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{}; // rows + 1
    typename Space::template handle<Index const> columns{};
    index_t nonzeros = 0; // on a device, it may be more than there are
    accumulator_t<T> scale{1};
    bool conjugate = false; // without effect

    form facts() const { return {nonzeros, false}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_begins, 1, rows + 1, rows + 1, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
    }
    turned<csr_of_ones> transposed() const { return turn(*this); }
    template <class Leaf, class Arena>
    result<csr_of_ones> listed(Leaf const&, Arena&) const {
        return *this;
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        index_t const end = first_row(row_begins, rows, part + 1, parts);
        for (index_t i = first_row(row_begins, rows, part, parts); i < end; ++i)
            for (index_t at = row_begins[i]; at < row_begins[i + 1]; ++at)
                f(i, columns[at], T(real_t<accumulator_t<T>>(1)));
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = check_begins("csr_of_ones", "row_begins", row_begins, rows, nonzeros); !s) return s;
        return check_range_of("csr_of_ones", "a column", columns, nonzeros, cols);
    }
};

// Column j has the elements [column_begins[j], column_begins[j + 1]) of row_numbers and values.
template <class T, class Index = std::int32_t, class Space = host_memory>
turned<csr<T, Index, Space>> csc(index_t rows, index_t cols,
                                 typename Space::template handle<Index const> column_begins,
                                 typename Space::template handle<Index const> row_numbers,
                                 typename Space::template handle<T const> values, index_t nonzeros) {
    return csr<T, Index, Space>{cols, rows, column_begins, row_numbers, values, nonzeros}.transposed();
}

// A sparse matrix that owns its arrays, in the memory of a policy. Copies share them.
template <class View, class Policy>
class owned {
public:
    using value_type = typename View::value_type;
    using arena = typename Policy::arena;

    owned() = default;
    owned(std::shared_ptr<arena> memory, View const& view) : memory_(std::move(memory)), view_(view) {}

    index_t rows() const { return view_.rows; }
    index_t cols() const { return view_.cols; }
    View view() const { return view_; }                       // for as long as a copy of this is there
    std::shared_ptr<arena> memory() const { return memory_; } // for another view of the same arrays

private:
    std::shared_ptr<arena> memory_;
    View view_;
};
template <class T, class Index, class Policy>
using csr_matrix = owned<csr<T, Index, typename Policy::space>, Policy>;
// What a sparse operand is listed as: a csr, or something like it without values.
template <class X, class P>
using list_of = std::remove_cvref_t<decltype(*std::declval<X const&>().listed(
    std::declval<P const&>().leaf(), std::declval<typename P::arena&>()))>;

// Memory for an owned matrix.
template <class Policy>
result<std::shared_ptr<typename Policy::arena>> reserve_for(Policy const& policy, std::size_t bytes) {
    using arena = typename Policy::arena;
    footprint room;
    Policy::space::share(room) = bytes;
    auto memory = policy.reserve(room);
    if (!memory) return memory.take_status();
    return or_no_memory(
        [&]() -> result<std::shared_ptr<arena>> { return std::make_shared<arena>(std::move(*memory)); });
}

// Any sparse operand by rows. A csr keeps its arrays; of anything else the result owns them. A factor and a
// conjugation stay marks of the view.
template <policy P, sparse_operand X>
auto try_by_rows(P const& policy, X const& x) -> result<owned<list_of<X, P>, P>> {
    if constexpr (requires { x.usable(); })
        if (status s = x.usable(); !s) return s;
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

// The memory of a matrix whose arrays are in two blocks: both stay as long as the result does.
template <class Arena>
std::shared_ptr<Arena> keeping(std::shared_ptr<Arena> first, std::shared_ptr<Arena> second) {
    struct both {
        std::shared_ptr<Arena> first, second;
    };
    auto const blocks = std::make_shared<both>(both{std::move(first), std::move(second)});
    return std::shared_ptr<Arena>(blocks, blocks->first.get());
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
        return owned<Csr, P>(keeping(std::move(*memory), list.memory()),
                             Csr{a.rows, a.cols, a.row_begins, a.columns, values, a.nonzeros, a.scale});
    }
}

// A sparse operand of any other format by rows, and any by columns, as arrays of its own.
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

// A csr whose rows are in pieces, for many products on a device; it borrows the arrays of `matrix`, whose values may
// change. On the host, nothing is done: threads there share the rows as they are.
template <policy P, operand M>
auto balanced(P const& policy, M const& matrix) {
    auto x = as_view(matrix);
    using X = decltype(x);
    using Index = typename X::index_type;
    static_assert(
        requires { x.pieces; }, "stratagemm: balanced() takes a csr");
    if constexpr (host_leaf<leaf_of<P>>) {
        return owned<X, P>(nullptr, x);
    } else {
        auto const leaf = policy.leaf();
        std::vector<Index> begins(static_cast<std::size_t>(x.rows) + 1);
        leaf.download(x.row_begins, begins.data(), x.rows + 1).or_throw();
        cut_csr<Index> const cut(begins, x.nonzeros);
        auto memory = reserve_for(policy, cut.template bytes<typename P::arena>());
        memory.or_throw();
        auto pieces = cut.template upload<typename P::space>(leaf, **memory);
        pieces.or_throw();
        x.pieces = *pieces;
        return owned<X, P>(std::move(*memory), x);
    }
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

// ---- products ---------------------------------------------------------------------------------------------

// An epilogue of C as one of the transposed of C.
template <class F>
struct turned_epilogue {
    F of;
    template <class X>
    X operator()(X x, index_t i, index_t j) const {
        return apply_epilogue(of, x, j, i);
    }
};

// Products of a sparse matrix and a dense one over the leaf of a backend.
template <policy P>
class csr_product : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>, on_device = device_leaf<Leaf, space>;

    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        using T = typename Q::a_type;
        using C = typename Q::c_type;
        using Dense = dense_problem<T, T, accumulator_t<T>, space, typename Q::epilogue_type>;
        if constexpr (!(sparse_operand<A> && is_view<B>::value) && !(is_view<A>::value && sparse_operand<B>))
            return verdict::structure;
        else if constexpr (!is_view<typename Q::c_operand>::value)
            return verdict::structure;
        else if constexpr (!on_host && !on_device)
            return verdict::leaf;
        else // a device takes the epilogues that it takes for dense products
            return types_if(element<T> && std::is_same_v<T, typename Q::b_type> &&
                            (std::is_same_v<C, T> || std::is_same_v<C, accumulator_t<T>>)) &
                   (on_host ? verdict::yes : answer<P, Dense>());
    }();

    template <class S>
    footprint workspace(S const& s) const {
        return workspace_of_lists(s) + bytes_before_epilogue(s);
    }
    template <class Q>
    footprint workspace_for(Q const& p) const {
        auto const s = p.shape();
        return ends_narrower<Q> ? workspace(s) : workspace_of_lists(s);
    }
    // No row has more than k terms, unless columns repeat.
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k);
    }
    // The bytes that are read and written, over a rough bandwidth of a host or of a device.
    template <class S>
    double estimate(S const& s) const {
        auto const r = sparse_first(s);
        auto const rows = static_cast<double>(r.m), cols = static_cast<double>(r.n),
                   nonzeros = static_cast<double>(r.a_facts.likely(r.m, r.k));
        double const bytes = nonzeros * (sizeof(typename S::a_type) * (1 + cols) + 4) +
                             rows * cols * sizeof(typename S::c_type);
        return bytes / (on_host ? 10e9 : 500e9);
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const r = sparse_first(s);
        index_t const most = r.a_facts.most(r.m, r.k);
        bool const exact = most == r.a_facts.likely(r.m, r.k);
        constexpr bool whole = is_whole<decltype(r.a_facts)>;
        if (as_stored<decltype(r.a_facts)>(r.n * r.count))
            return std::to_string(most) + " elements, added up as they are stored";
        std::string const origin = r.a_facts.origin();
        return origin + (whole || origin.empty() ? "" : "each call does that, to_csr once; ") + "csr of " +
               (exact ? "" : "at most ") + std::to_string(most) + " non-zeros, " +
               (on_host ? std::string("rows by the host's threads") : describe_kernel(r, most)) +
               (whole && r.m <= most_rows_of_whole ? ", or all of the dense matrix where that takes less time"
                                                   : "");
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (ends_narrower<Q> && !on_host) {
            return multiply_before_epilogue(*this, p, memory);
        } else if constexpr (sparse_operand<typename Q::a_operand>) {
            return list_and_multiply(p, memory);
        } else if constexpr (ends_narrower<Q>) { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            return list_and_multiply(q, memory);
        } else {
            if (status s = list_and_multiply(p.without_epilogue().transposed(), memory); !s) return s;
            for (index_t i = 0; i < p.count; ++i)
                if (status s = apply_to_c(this->leaf(), p.at(i)); !s) return s;
            return {};
        }
    }

protected:
    // Whether an epilogue has a sum before it is rounded to a narrower C.
    template <class Q>
    static constexpr bool ends_narrower = !std::is_same_v<typename Q::epilogue_type, identity> &&
                                          !std::is_same_v<typename Q::c_type, typename Q::scalar>;
    // Kernels of devices round what they write. With an epilogue they write sums, which it has before C does. `self`
    // multiplies.
    template <class Self, class Q>
    static status multiply_before_epilogue(Self const& self, Q const& p, arena& memory) {
        using S = typename Q::scalar;
        typename arena::scope const scope(memory);
        auto const leaf = self.leaf();
        index_t const m = p.c.rows, n = p.c.cols;
        view<S, space> const sums{memory.template take<S>(m * n), m, n, n, 1};
        for (index_t i = 0; i < p.count; ++i) {
            auto const one = p.at(i);
            status s;
            if (p.beta != S(0)) s = leaf.copy(one.e, sums);
            problem<typename Q::a_operand, typename Q::b_operand, view<S, space>> const to_sums{
                p.alpha, one.a, one.b, p.beta, sums, sums};
            if (s) s = self(to_sums, memory);
            if (s) s = leaf.apply(p.epilogue, sums, p.row0, p.col0);
            if (s) s = leaf.copy(view<S const, space>(sums), one.c);
            if (!s) return s;
        }
        return {};
    }

private:
    template <class S>
    static footprint bytes_before_epilogue(S const& s) {
        using Sum = accumulator_t<typename S::a_type>;
        footprint need;
        if constexpr (!on_host && !std::is_same_v<typename S::c_type, Sum>)
            space::share(need) = arena::rounded(static_cast<std::size_t>(s.m * s.n) * sizeof(Sum));
        return need;
    }
    template <class S>
    footprint workspace_of_lists(S const& s) const {
        auto const r = sparse_first(s);
        footprint need;
        if (as_stored<decltype(r.a_facts)>(r.n * r.count)) {
            space::share(need) =
                arena::rounded(static_cast<std::size_t>(parts_of(r.a_facts.most(r.m, r.k), r.m) * r.m) *
                               sizeof(accumulator_t<typename S::a_type>));
            return need;
        }
        space::share(need) =
            r.a_facts.template bytes<arena, Leaf>(r.m, r.k) + bytes_to_conjugate<S>(r.a_facts, r.m, r.k);
        if constexpr (on_host && is_whole<decltype(r.a_facts)>) need = need + bytes_for_whole<S>(r);
        if constexpr (on_device && requires { r.a_facts.sums; })
            space::share(need) +=
                bytes_for_sums<arena, accumulator_t<typename S::a_type>>(r.a_facts.sums, r.n);
        return need;
    }
    // The kernel of a device for so many elements. Rows that are in pieces, but none of them cut, have one sum.
    template <class R>
    std::string describe_kernel(R const& r, index_t nonzeros) const {
        using T = typename R::a_type;
        if constexpr (!is_whole<decltype(r.a_facts)>) {
            bool cut = false;
            if constexpr (requires { r.a_facts.sums; }) cut = r.a_facts.sums > 1;
            csr_vector_work x;
            if (r.n == 1 && !cut)
                x = choose_csr_vector<T, typename std::remove_cvref_t<decltype(r.a_facts)>::index_type>(
                    r.m, r.k, nonzeros, csr_vector_units<space>(this->leaf()));
            if (x.rows > 0) return x.describe();
        }
        return choose_csr(r.m, r.k, r.n, nonzeros, 1).describe();
    }
    // Whether an operand has a dense matrix beside its list.
    template <class Form>
    static constexpr bool is_whole = requires {
        Form::is_whole;
    };
    template <class T>
    using dense = dense_problem<T, T, accumulator_t<T>, space>;
    // The shape of the product with the sparse matrix on the left.
    template <class S>
    static auto sparse_first(S const& s) {
        if constexpr (sparse_form<typename S::a_form>) {
            return s;
        } else {
            auto const turned = s.b_facts.transposed();
            return shape<std::remove_const_t<decltype(turned)>, typename S::a_form, typename S::c_form>{
                s.n, s.m, s.k, s.count, s.adds, turned, s.a_facts};
        }
    }
    // The kernels of devices read conjugated values from workspace.
    template <class S, class Form>
    static std::size_t bytes_to_conjugate(Form const& form, index_t rows, index_t cols) {
        using T = typename S::a_type;
        if (on_host || !complex_like<T> || !form.conjugates()) return 0;
        return arena::rounded(static_cast<std::size_t>(form.most(rows, cols)) * sizeof(T));
    }

    // Whether the elements are added up as they are stored, a column of B at a time: that takes less time than to list
    // them by rows, which pays for more columns.
    template <class Form>
    static constexpr bool as_stored(index_t columns) {
        return adds_as_stored<Form> && columns <= 2;
    }
    template <class Form>
    static constexpr bool adds_as_stored = on_host&& has_elements_of<Form> && !requires {
        Form::is_by_rows;
    };
    // Each part has sums of its own. There are so few that the elements take the time, whatever the number of threads.
    static int parts_of(index_t elements, index_t rows) {
        index_t const parts = rows > 0 ? elements / (8 * rows) : 1;
        return static_cast<int>(parts < 1 ? 1 : parts > 8 ? 8 : parts);
    }
    // Column j of C.
    template <class Q>
    status add_as_stored(Q const& p, index_t j, arena& memory) const {
        using S = typename Q::scalar;
        using T = typename Q::a_type;
        typename arena::scope const scope(memory);
        auto const turned = p.a.transposed(); // has the marks in any format
        index_t const m = p.c.rows, elements = p.a.facts().most(m, p.b.rows);
        int const parts = parts_of(elements, m);
        S* const sums = memory.template take<S>(parts * m);
        auto const by = this->leaf();
        int const team = by.team(static_cast<double>(elements));
        by.each(team, parts, [&](int, int part) {
            S* const to = sums + part * m;
            for (index_t i = 0; i < m; ++i) to[i] = S(real_t<S>(0));
            index_t row = 0; // whose sum is kept here, because elements of one row often follow each other
            S sum = S(real_t<S>(0));
            p.a.each_element(part, parts, [&](index_t i, index_t k, T element) {
                auto const x = static_cast<S>(turned.conjugate ? stratagemm::conjugate(element) : element);
                if (i != row) to[row] = sum, row = i, sum = to[i];
                sum = scaled_sum(x, element_as<S>(p.b, k, j), sum);
            });
            to[row] = sum;
        });
        Q q = p;
        q.alpha = scaled_by(p.alpha, turned.scale);
        by.each(team, team, [&](int, int part) {
            for (index_t i = m * part / team; i < m * (part + 1) / team; ++i) {
                S sum = sums[i];
                for (int other = 1; other < parts; ++other) sum = sum_of_two(sum, sums[other * m + i]);
                finish_element(q, i, j, sum);
            }
        });
        return {};
    }

    template <class Q>
    status list_and_multiply(Q const& p, arena& memory) const {
        if constexpr (adds_as_stored<typename Q::a_operand::form>)
            if (as_stored<typename Q::a_operand::form>(p.c.cols * p.count)) {
                for (index_t i = 0; i < p.count; ++i)
                    for (index_t j = 0; j < p.c.cols; ++j)
                        if (status s = add_as_stored(p.at(i), j, memory); !s) return s;
                return {};
            }
        using T = typename Q::a_type;
        typename arena::scope const scope(memory);
        auto list = p.a.listed(this->leaf(), memory);
        if (!list) return list.take_status();
        auto& a = *list;
        using List = std::remove_reference_t<decltype(a)>;
        if constexpr (!on_host && complex_like<T> && has_values<List>)
            if (a.conjugate) {
                auto const values = memory.template take<T>(a.nonzeros);
                view<T const, space> from{a.values, 1, a.nonzeros, a.nonzeros, 1};
                from.conjugate = true;
                if (status s = this->leaf().copy(from, view<T, space>{values, 1, a.nonzeros, a.nonzeros, 1});
                    !s)
                    return s;
                a.values = values, a.conjugate = false;
            }
        problem<List, typename Q::b_operand, typename Q::c_operand, typename Q::epilogue_type> r{
            scaled_by(p.alpha, a.scale),
            a,
            p.b,
            p.beta,
            p.e,
            p.c,
            p.epilogue,
            p.count,
            p.a_step,
            p.b_step,
            p.e_step,
            p.c_step,
            p.row0,
            p.col0};
        auto const whole = [&] {
            if constexpr (requires { p.a.whole(); })
                return p.a.whole();
            else
                return only_listed{};
        }();
        for (index_t i = 0; i < p.count; ++i) {
            auto const one = r.at(i);
            status s;
            if constexpr (on_host)
                s = multiply_list(one, whole, memory);
            else if (s = multiply_csr(this->leaf(), one, whole, memory); s)
                s = apply_to_c(this->leaf(), one);
            if (!s) return s;
        }
        return {};
    }

    // With few rows, either product is bound by what it reads of B. Rows of B by themselves are read at half the speed
    // of all of B; of columns, an element takes as long as the 64 bytes around it. The dense product multiplies zeros,
    // too: if it gives NaN, a zero of X may have met Inf or NaN in B, and the list decides.
    template <class Q, class Whole>
    status multiply_list(Q const& p, Whole const& x, arena& memory) const requires on_host {
        using T = typename Q::a_type;
        if constexpr (!std::is_same_v<Whole, only_listed>)
            if constexpr (takes<P, dense<T>>) {
                index_t const k = p.b.rows, a_piece = static_cast<index_t>(64 / sizeof(T)),
                              most = rows_are_closer(p.b) ? k / a_piece : k / 2;
                if (p.c.rows <= most_rows_of_whole && p.a.nonzeros > most)
                    return multiply_whole(p, x, memory);
            }
        return multiply(p);
    }
    template <class S, class R>
    footprint bytes_for_whole(R const& r) const {
        using T = typename S::a_type;
        using Sum = accumulator_t<T>;
        if constexpr (!takes<P, dense<T>>) return {};
        if (r.m > most_rows_of_whole) return {};
        footprint need = this->policy().workspace(shape<T, T, Sum>{r.m, r.n, r.k});
        space::share(need) += arena::rounded(static_cast<std::size_t>(r.m * r.n) * sizeof(Sum));
        if (r.a_facts.ones)
            space::share(need) += arena::rounded(static_cast<std::size_t>(r.m * r.k) * sizeof(T));
        return need;
    }
    template <class Q, class Whole>
    status multiply_whole(Q const& p, Whole const& x, arena& memory) const requires on_host {
        using T = typename Q::a_type;
        using S = typename Q::scalar;
        typename arena::scope const scope(memory);
        index_t const m = p.c.rows, n = p.c.cols;
        view<S> const sums{memory.template take<S>(m * n), m, n, n, 1};
        dense<T> q;
        if constexpr (std::is_same_v<typename Whole::value_type, T>) {
            q.a = x;
        } else {
            view<T> const ones{memory.template take<T>(m * x.cols), m, x.cols, x.cols, 1};
            for (index_t i = 0; i < m; ++i)
                for (index_t l = 0; l < x.cols; ++l) ones(i, l) = T(real_t<S>(x(i, l) ? 1 : 0));
            q.a = ones;
        }
        q.b = p.b, q.e = sums, q.c = sums;
        if (status s = this->policy()(q, memory); !s) return s;
        if constexpr (!std::is_integral_v<S>)
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j)
                    if (!(sums(i, j) == sums(i, j))) return multiply(p);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) finish_element(p, i, j, sums(i, j));
        return {};
    }

    // Rows are divided by the elements of A, which take the time; of a few rows, columns of C are divided.
    template <class Q>
    status multiply(Q const& p) const requires on_host {
        auto const by = this->leaf();
        int const team = by.team(static_cast<double>(p.a.nonzeros) * static_cast<double>(p.c.cols));
        bool const few_rows = p.c.rows < 4 * index_t{team};
        // A column of B by itself is read as it lies.
        bool const by_columns = p.c.cols == 1 || rows_are_closer(p.b);
        by.each(team, team, [&](int, int part) {
            if (!few_rows)
                return multiply_part(p, p.c.cols, by_columns, first_row(p.a.row_begins, p.c.rows, part, team),
                                     first_row(p.a.row_begins, p.c.rows, part + 1, team));
            index_t const pieces = (p.c.cols - 1) / 64 + 1, j = pieces * part / team * 64,
                          end = lesser(pieces * (part + 1) / team * 64, p.c.cols);
            Q q = p;
            q.b = p.b.part(0, j, p.b.rows, end - j);
            q.c = p.c.part(0, j, p.c.rows, end - j);
            if (p.beta != typename Q::scalar(0)) q.e = p.e.part(0, j, p.c.rows, end - j);
            q.col0 += j;
            if (j < end) multiply_part(q, p.c.cols, by_columns, 0, p.c.rows);
        });
        return {};
    }
    // Of a product with `across` columns, which choose the order of its sums.
    template <class Q>
    static void multiply_part(Q const& p, index_t across, bool by_columns, index_t first, index_t last) {
        using S = typename Q::scalar;
        if constexpr (std::is_same_v<S, typename Q::a_type> && std::is_floating_point_v<S>)
            if (p.b.col_stride == 1 || by_columns) return multiply_real(p, across, by_columns, first, last);
        multiply_any(p, first, last);
    }
    // Into C as it lies, or else by pieces of a row, which finish_element() writes.
    template <class Q>
    static void multiply_real(Q const& p, index_t across, bool by_columns, index_t first, index_t last) {
        using T = typename Q::a_type;
        using Index = typename Q::a_operand::index_type;
        constexpr bool valued = has_values<typename Q::a_operand>;
        sparse_rows<T, Index, !valued> g{first,
                                         last,
                                         p.c.cols,
                                         p.a.row_begins,
                                         p.a.columns,
                                         nullptr,
                                         p.b.data,
                                         p.b.row_stride,
                                         p.b.col_stride,
                                         p.e.data,
                                         p.e.row_stride,
                                         p.e.col_stride,
                                         nullptr,
                                         0,
                                         1,
                                         p.alpha,
                                         p.beta,
                                         p.beta != T(0),
                                         by_columns,
                                         by_columns && has_even_rows(p.a.row_begins, p.a.rows),
                                         across};
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
    // Rows of C by 256 columns are a piece, whose sums stay in a thread's first cache.
    template <class Q>
    static void multiply_any(Q const& p, index_t first, index_t last) {
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
                        auto const factor = static_cast<S>(stored_value(p.a, at));
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
    template <class A>
    static typename A::value_type stored_value(A const& a, index_t at) {
        return a.conjugate ? stratagemm::conjugate(a.values[at]) : a.values[at];
    }
};

STRATAGEMM_END
