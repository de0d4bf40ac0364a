// Sparse matrices by rows (CSR) and by columns (CSC), and the products of all sparse operands with dense matrices.
//
//   sg::csr<float> a{m, k, row_begins, columns, values, nonzeros};          borrows the arrays
//   auto d = sg::csc<float>(m, k, column_begins, rows, values, nonzeros);   the same by columns
//   sg::gemm(cpu, a, b, c);                                  also with alpha, beta, E and an epilogue
//   sg::gemm(cpu, b, a, c);                                  dense times sparse
//   auto const cut = sg::balanced(gpu, a);                   for many products on a device: long rows in pieces
//   sg::gemm(cpu, a.transposed(), b, c);                     sg::scaled(2, a) and sg::conjugated(a) likewise
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
// call. A format is one header with
//   a form     is_sparse, has_facts, over<P>, index_type; bytes<Arena, Leaf>(rows, cols), which listed() takes at most;
//              most(rows, cols) and likely(rows, cols) elements; conjugates(); origin() for describe(); transposed()
//   an operand what core/operand.hpp lists, index_type, facts(), scale, conjugate, check(), transposed() and
//              listed(leaf, arena); usable(), if there is something to check before listed()
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

// ---- transposed -------------------------------------------------------------------------------------------

template <class X>
struct turned;

// The form of the transposed of what has form F.
template <class F>
struct turned_form {
    using value_type = typename F::value_type;
    using index_type = typename F::index_type;
    static constexpr bool has_facts = true, is_sparse = true;
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
        x.scale = (conjugate ? stratagemm::conjugate(of.scale) : of.scale) * scale;
        return x;
    }
    template <class Leaf, class Arena>
    result<csr<value_type, index_type, space>> listed(Leaf const& leaf, Arena& memory) const {
        using T = value_type;
        index_t const most = facts().most(rows, cols);
        auto const begins = memory.template take<index_type>(rows + 1);
        auto const columns = memory.template take<index_type>(most);
        auto const values = memory.template take<T>(most);
        typename Arena::scope const scope(memory);
        auto x = transposed().listed(leaf, memory);
        if (!x) return x.take_status();
        if (status s = transpose_csr<Leaf, T, index_type, space>(leaf, *x, begins, columns, values, memory);
            !s)
            return s;
        return csr<T, index_type, space>{rows,   cols,        begins,   columns,
                                         values, x->nonzeros, x->scale, x->conjugate};
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
    static constexpr bool has_facts = true, is_sparse = true;
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

    // Element `at`, with the factor.
    accumulator_t<T> number(index_t at) const requires std::is_same_v<Space, host_memory> {
        auto const x = static_cast<accumulator_t<T>>(values[at]);
        return scaled_by(scale, conjugate ? stratagemm::conjugate(x) : x);
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
auto try_by_rows(P const& policy, X const& x)
    -> result<csr_matrix<typename X::value_type, typename X::index_type, P>> {
    if constexpr (requires { x.usable(); })
        if (status s = x.usable(); !s) return s;
    auto memory =
        reserve_for(policy, x.facts().template bytes<typename P::arena, leaf_of<P>>(x.rows, x.cols));
    if (!memory) return memory.take_status();
    auto list = x.listed(policy.leaf(), **memory);
    if (!list) return list.take_status();
    return csr_matrix<typename X::value_type, typename X::index_type, P>(std::move(*memory), *list);
}
template <policy P, sparse_operand X>
auto by_rows(P const& policy, X const& x) {
    auto made = try_by_rows(policy, x);
    made.or_throw();
    return std::move(*made);
}

// A sparse operand of any other format by rows, and any by columns, as arrays of its own.
template <policy P, operand M>
auto to_csr(P const& policy, M const& matrix) {
    auto const x = as_view(matrix);
    constexpr bool is_csr = requires { x.row_begins; };
    static_assert(!is_csr, "stratagemm: this operand is a csr already");
    return by_rows(policy, x);
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
    auto const list = by_rows(policy, x);
    auto const leaf = policy.leaf();
    leaf.fill(to, T(real_t<S>(0))).or_throw();
    auto const a = list.view();
    if constexpr (host_leaf<leaf_of<P>>) {
        for (index_t i = 0; i < a.rows; ++i)
            for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at) {
                T& element = to(i, a.columns[at]);
                element = static_cast<T>(sum_of_two(static_cast<S>(element), a.number(at)));
            }
    } else {
        if (a.rows == 0 || a.cols == 0) return;
        leaf.launch(list_kernel<T, typename decltype(a)::index_type>("write_dense", dense_text, ""),
                    groups_for_each(a.rows, 256), a.row_begins, a.columns, a.values, to, a.rows, a.scale,
                    int{a.conjugate})
            .or_throw();
        leaf.synchronize().or_throw();
    }
}

// ---- products ---------------------------------------------------------------------------------------------

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
        auto const r = sparse_first(s);
        footprint need;
        space::share(need) =
            r.a_facts.template bytes<arena, Leaf>(r.m, r.k) + bytes_to_conjugate<S>(r.a_facts, r.m, r.k);
        if constexpr (on_device && requires { r.a_facts.sums; })
            space::share(need) +=
                bytes_for_sums<arena, accumulator_t<typename S::a_type>>(r.a_facts.sums, r.n);
        return need;
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
        return r.a_facts.origin() + "csr of " + (exact ? "" : "at most ") + std::to_string(most) +
               " non-zeros, " +
               (on_host ? std::string("rows by the host's threads")
                        : choose_csr(r.m, r.k, r.n, most, 1).describe());
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (sparse_operand<typename Q::a_operand>) {
            return list_and_multiply(p, memory);
        } else { // C^T = B^T A^T
            if (status s = list_and_multiply(p.without_epilogue().transposed(), memory); !s) return s;
            for (index_t i = 0; i < p.count; ++i)
                if (status s = apply_to_c(this->leaf(), p.at(i)); !s) return s;
            return {};
        }
    }

private:
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

    template <class Q>
    status list_and_multiply(Q const& p, arena& memory) const {
        using A = typename Q::a_operand;
        using T = typename Q::a_type;
        typename arena::scope const scope(memory);
        auto list = p.a.listed(this->leaf(), memory);
        if (!list) return list.take_status();
        csr<T, typename A::index_type, space>& a = *list;
        if constexpr (!on_host && complex_like<T>)
            if (a.conjugate) {
                auto const values = memory.template take<T>(a.nonzeros);
                view<T const, space> from{a.values, 1, a.nonzeros, a.nonzeros, 1};
                from.conjugate = true;
                if (status s = this->leaf().copy(from, view<T, space>{values, 1, a.nonzeros, a.nonzeros, 1});
                    !s)
                    return s;
                a.values = values, a.conjugate = false;
            }
        problem<csr<T, typename A::index_type, space>, typename Q::b_operand, typename Q::c_operand,
                typename Q::epilogue_type>
            r{p.alpha * a.scale, a,        p.b,      p.beta,   p.e,      p.c,    p.epilogue,
              p.count,           p.a_step, p.b_step, p.e_step, p.c_step, p.row0, p.col0};
        for (index_t i = 0; i < p.count; ++i) {
            auto const one = r.at(i);
            status s;
            if constexpr (on_host)
                s = multiply(one);
            else if (s = multiply_csr(this->leaf(), one, memory); s)
                s = apply_to_c(this->leaf(), one);
            if (!s) return s;
        }
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
                return multiply_part(p, by_columns, first_row(p.a.row_begins, p.c.rows, part, team),
                                     first_row(p.a.row_begins, p.c.rows, part + 1, team));
            index_t const pieces = (p.c.cols - 1) / 64 + 1, j = pieces * part / team * 64,
                          end = lesser(pieces * (part + 1) / team * 64, p.c.cols);
            Q q = p;
            q.b = p.b.part(0, j, p.b.rows, end - j);
            q.c = p.c.part(0, j, p.c.rows, end - j);
            if (p.beta != typename Q::scalar(0)) q.e = p.e.part(0, j, p.c.rows, end - j);
            q.col0 += j;
            if (j < end) multiply_part(q, by_columns, 0, p.c.rows);
        });
        return {};
    }
    template <class Q>
    static void multiply_part(Q const& p, bool by_columns, index_t first, index_t last) {
        using S = typename Q::scalar;
        if constexpr (std::is_same_v<S, typename Q::a_type> && std::is_floating_point_v<S>)
            if (p.b.col_stride == 1 || by_columns) return multiply_real(p, by_columns, first, last);
        multiply_any(p, first, last);
    }
    // Into C as it lies, or else by pieces of a row, which finish_element() writes.
    template <class Q>
    static void multiply_real(Q const& p, bool by_columns, index_t first, index_t last) {
        using T = typename Q::a_type;
        using Index = typename Q::a_operand::index_type;
        sparse_rows<T, Index> g{first,
                                last,
                                p.c.cols,
                                p.a.row_begins,
                                p.a.columns,
                                p.a.values,
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
                                p.a.nonzeros < 12 * p.c.rows};
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
                    auto const factor = static_cast<S>(as_stored(p.a, at));
                    index_t const k = p.a.columns[at];
                    for (index_t x = 0; x < cols; ++x)
                        sum[x] = scaled_sum(factor, element_as<S>(p.b, k, j + x), sum[x]);
                }
                for (index_t x = 0; x < cols; ++x) finish_element(p, i, j + x, sum[x]);
            }
    }
    template <class A>
    static typename A::value_type as_stored(A const& a, index_t at) {
        return a.conjugate ? stratagemm::conjugate(a.values[at]) : a.values[at];
    }
};

STRATAGEMM_END
