// Products into sparse matrices: elements that C stores are computed, and no others.
//
//   sg::gemm(gpu, x, y, sg::sampled(c));                 dense times dense, at the places of c (SDDMM)
//   auto c = sg::pattern(gpu, a, b);                     where the product of sparse a and b can be non-zero
//   sg::gemm(gpu, a, b, sg::sampled(c));                 sparse times sparse; again where only values change
//   sg::gemm(gpu, 2, a, b, 1, sg::sampled(c));           C = 2 A B + C
//
// C is a csr_matrix, or a csr with values of one's own, in the memory of the policy. Each place of c is written once,
// and its products are summed in one order: the result does not depend on threads or scheduling. A row of c may not
// store a column twice; check_sorted() tells. Values of int8 are modulo 2^8; pattern() of int8 has values of int32.
#pragma once

#include "csr.hpp"
#include "csr/union.hpp"
#include "sampled/device.hpp"

#include <algorithm>
#include <concepts>

STRATAGEMM_BEGIN

template <policy P>
class sampled_product;

template <class T>
struct sampled_form {
    using value_type = T;
    template <class P>
    requires P::is_backend using over = sampled_product<P>;
};

// A csr whose values are written.
template <class T, class Index, class Space = host_memory>
struct sampled_matrix {
    using element_type = T;
    using value_type = T;
    using space = Space;
    using form = sampled_form<T>;
    using index_type = Index;
    static constexpr int most_views = 1;
    static constexpr bool is_sampled = true, on_host = std::is_same_v<Space, host_memory>;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{};
    typename Space::template handle<Index const> columns{};
    typename Space::template handle<T> values{};
    index_t nonzeros = 0; // on a device, it may be more than there are

    template <class F>
    void each_view(F&& f) const {
        index_t count = nonzeros;
        if constexpr (on_host) count = rows > 0 && row_begins ? static_cast<index_t>(row_begins[rows]) : 0;
        f(view<T, Space>{values, 1, count, count, 1});
    }
    template <class E>
    bool is_same(E const& e) const {
        auto const same = [](auto const& x, auto const& y) {
            return Space::buffer(x) == Space::buffer(y) && Space::address(x) == Space::address(y);
        };
        if constexpr (std::is_same_v<E, sampled_matrix>)
            return same(e.values, values) && same(e.row_begins, row_begins) && same(e.columns, columns);
        else
            return false;
    }

    // Element `at`, in row i, becomes epilogue(alpha sum + beta itself).
    template <class Problem>
    void finish(Problem const& p, index_t i, index_t at,
                typename Problem::scalar sum) const requires on_host {
        using S = typename Problem::scalar;
        S x = scaled_by(p.alpha, sum);
        if (p.beta != S(0)) x = scaled_sum(p.beta, static_cast<S>(values[at]), x);
        values[at] = static_cast<T>(apply_epilogue(p.epilogue, x, p.row0 + i, p.col0 + columns[at]));
    }
    // Applies the epilogue to beta C, for a product whose k or alpha is zero.
    template <class Leaf, class Problem>
    status keep_only(Leaf const& leaf, Problem p) const {
        if constexpr (on_host) {
            using S = typename Problem::scalar;
            (void)leaf;
            for (index_t i = 0; i < rows; ++i)
                for (index_t at = row_begins[i]; at < row_begins[i + 1]; ++at)
                    finish(p, i, at, S(real_t<S>(0)));
            return {};
        } else {
            return keep_places(leaf, p);
        }
    }
};

// The values of an owned csr, which nothing else may read at the time.
template <class T, class Index, class Space, class P>
sampled_matrix<T, Index, Space> sampled(owned<csr<T, Index, Space>, P>& c) {
    auto const x = c.view();
    return {x.rows, x.cols, x.row_begins, x.columns, Space::writable(x.values), x.nonzeros};
}
// Values that the caller owns, at the places of a csr.
template <class T, class Index, class Space>
sampled_matrix<T, Index, Space> sampled(csr<T, Index, Space> const& pattern,
                                        typename Space::template handle<T> values) {
    return {pattern.rows, pattern.cols, pattern.row_begins, pattern.columns, values, pattern.nonzeros};
}

inline constexpr char const* pattern_is_too_large =
    "pattern: A B has more elements than the indices can count";

// The values of a pattern of matrices of T: of integers, they are as wide as sums.
template <class T>
using pattern_value = std::conditional_t<std::is_integral_v<T>, accumulator_t<T>, T>;

template <policy P, class T, class Index>
csr_matrix<pattern_value<T>, Index, P> pattern_on_host(P const& policy, csr<T, Index> const& a,
                                                       csr<T, Index> const& b) {
    using V = pattern_value<T>;
    using arena = typename P::arena;
    auto const leaf = policy.leaf();
    int const team = leaf.team(static_cast<double>(a.nonzeros) * 8);
    auto const bytes = [](index_t n, std::size_t size) {
        return arena::rounded(static_cast<std::size_t>(n) * size);
    };
    index_t const marks_of_all = product_of_sides("pattern", team, b.cols, sizeof(index_t));
    auto scratch =
        reserve_for(policy, bytes(marks_of_all, sizeof(index_t)) + bytes(a.rows + 1, sizeof(index_t)));
    scratch.or_throw();
    auto const marks = (*scratch)->template take<index_t>(marks_of_all);
    auto const begins = (*scratch)->template take<index_t>(a.rows + 1);
    for (index_t at = 0; at < marks_of_all; ++at) marks[at] = 0;
    // f(j) for each column j of row i, once; `mark` is a number that was not used with these marks.
    auto const each_column = [&](index_t i, index_t* marked, index_t mark, auto&& f) {
        for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at) {
            index_t const k = a.columns[at];
            for (index_t of_b = b.row_begins[k]; of_b < b.row_begins[k + 1]; ++of_b)
                if (index_t const j = b.columns[of_b]; marked[j] != mark) marked[j] = mark, f(j);
        }
    };
    auto const each_row = [&](auto&& f) {
        leaf.each(team, team, [&](int, int part) {
            index_t const end = first_row(a.row_begins, a.rows, part + 1, team);
            for (index_t i = first_row(a.row_begins, a.rows, part, team); i < end; ++i)
                f(i, marks + part * b.cols);
        });
    };
    each_row([&](index_t i, index_t* marked) {
        index_t count = 0;
        each_column(i, marked, i + 1, [&](index_t) { ++count; });
        begins[i + 1] = count;
    });
    begins[0] = 0;
    for (index_t i = 0; i < a.rows; ++i) begins[i + 1] += begins[i];
    index_t const nonzeros = begins[a.rows];
    if (!can_count<Index>(nonzeros)) raise(error(errc::overflow, pattern_is_too_large));

    auto memory = reserve_for(policy, bytes_of_lists<arena, V, Index>(a.rows, nonzeros));
    memory.or_throw();
    auto const to_begins = (*memory)->template take<Index>(a.rows + 1);
    auto const columns = (*memory)->template take<Index>(nonzeros);
    auto const values = (*memory)->template take<V>(nonzeros);
    for (index_t i = 0; i <= a.rows; ++i) to_begins[i] = static_cast<Index>(begins[i]);
    each_row([&](index_t i, index_t* marked) {
        index_t at = begins[i];
        each_column(i, marked, -(i + 1), [&](index_t j) { columns[at++] = static_cast<Index>(j); });
        std::sort(columns + begins[i], columns + at);
        for (at = begins[i]; at < begins[i + 1]; ++at) values[at] = V(real_t<V>(0));
    });
    return {std::move(*memory), {a.rows, b.cols, to_begins, columns, values, nonzeros}};
}

// Waits for the device.
template <policy P, class T, class Index, class Space>
csr_matrix<pattern_value<T>, Index, P> pattern_on_device(P const& policy, csr<T, Index, Space> const& a,
                                                         csr<T, Index, Space> const& b) {
    using V = pattern_value<T>;
    using arena = typename P::arena;
    auto const leaf = policy.leaf();
    index_t const room = room_for_unions(a.rows);
    auto scratch = reserve_for(policy, static_cast<std::size_t>(room) * sizeof(index_t));
    scratch.or_throw();
    auto const counts = (*scratch)->template take<index_t>(room);
    double const average = a.rows == 0 || b.rows == 0
                               ? 0
                               : static_cast<double>(a.nonzeros) / static_cast<double>(a.rows) *
                                     static_cast<double>(b.nonzeros) / static_cast<double>(b.rows);
    union_lines const unions{.of_product = true, .count = a.rows, .across = b.cols, .average = average};
    auto found = count_unions<Index>(leaf, unions, counts, a.row_begins, a.columns, b.row_begins, b.columns);
    found.or_throw();
    index_t const nonzeros = *found;
    if (!can_count<Index>(nonzeros)) raise(error(errc::overflow, pattern_is_too_large));
    auto memory = reserve_for(policy, bytes_of_lists<arena, V, Index>(a.rows, nonzeros));
    memory.or_throw();
    auto const begins = (*memory)->template take<Index>(a.rows + 1);
    auto const columns = (*memory)->template take<Index>(nonzeros);
    auto const values = (*memory)->template take<V>(nonzeros);
    list_unions<Index>(leaf, unions, counts, begins, columns, a.row_begins, a.columns, b.row_begins,
                       b.columns)
        .or_throw();
    leaf.fill(view<V, Space>{values, 1, nonzeros, nonzeros, 1}, V(real_t<V>(0))).or_throw();
    leaf.synchronize().or_throw();
    return {std::move(*memory), {a.rows, b.cols, begins, columns, values, nonzeros}};
}

// Sparse matrices with one element type and one type of indices.
template <class X, class Y>
inline constexpr bool sparse_alike = false;
template <class X, class Y>
requires std::same_as<typename X::index_type, typename Y::index_type>
inline constexpr bool sparse_alike<X, Y> = std::same_as<typename X::value_type, typename Y::value_type>;

// The places of A B that can be non-zero, columns in order; values are zero, of int8 in int32.
template <policy P, operand A, operand B>
auto pattern(P const& policy, A const& a, B const& b) {
    auto const x = as_view(a);
    auto const y = as_view(b);
    constexpr bool alike = sparse_alike<decltype(as_view(a)), decltype(as_view(b))>;
    static_assert(alike,
                  "stratagemm: pattern() takes two sparse matrices with one element type and one type of "
                  "indices; convert the arrays of one of them");
    if constexpr (alike) {
        if (x.cols != y.rows) raise(error(errc::shape, "pattern: A must have as many columns as B has rows"));
        auto const a_list = by_rows(policy, x), b_list = by_rows(policy, y);
        if constexpr (host_leaf<leaf_of<P>>)
            return pattern_on_host(policy, a_list.view(), b_list.view());
        else
            return pattern_on_device(policy, a_list.view(), b_list.view());
    }
}

// Products into sparse matrices over the leaf of a backend: of two sparse matrices, or of two dense ones.
template <policy P>
class sampled_product : public product_over<P> {
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
        constexpr bool both_sparse = sparse_operand<A> && sparse_operand<B>;
        constexpr bool both_dense = is_view<A>::value && is_view<B>::value;
        if constexpr (!requires { requires Q::c_operand::is_sampled; } || (!both_sparse && !both_dense))
            return verdict::structure;
        else
            return answer_of_sparse<P, Q>();
    }();

    // The workspace of sparse matrices: matrices by rows; on the host, also a row of sums for each thread; on a device,
    // copies of dense matrices, or lists about the rows of sparse ones.
    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::a_type;
        footprint need;
        std::size_t& bytes = space::share(need);
        if constexpr (sparse_form<typename S::a_form>)
            bytes += s.a_facts.template bytes<arena, Leaf>(s.m, s.k) +
                     s.b_facts.template bytes<arena, Leaf>(s.k, s.n);
        if constexpr (on_host)
            bytes += static_cast<std::size_t>(all_threads(this->leaf())) *
                     arena::rounded(static_cast<std::size_t>(s.n) * sizeof(accumulator_t<T>));
        else if constexpr (sparse_form<typename S::a_form>)
            bytes += sparse_room(s.m, s.n, s.k).bytes<arena>(sizeof(accumulator_t<T>));
        else
            bytes += bytes_to_lay_along<arena, T>(this->leaf(), s.m, s.n, s.k);
        return need;
    }
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k);
    }
    // The shape does not say what C stores: assume a hundredth.
    template <class S>
    double estimate(S const& s) const {
        auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
        if constexpr (sparse_form<typename S::a_form>)
            return static_cast<double>(s.a_facts.likely(s.m, s.k)) *
                   static_cast<double>(s.b_facts.likely(s.k, s.n)) / (k < 1 ? 1 : k) *
                   (on_host ? 2e-9 : 2e-10);
        else if constexpr (on_host)
            return m * n * k / 100 * 1e-9;
        else
            return m * n * k / 100 * sizeof(typename S::b_type) / 500e9;
    }
    template <class S>
    std::string describe(S const& s) const {
        if constexpr (sparse_form<typename S::a_form>)
            return s.a_facts.origin() + s.b_facts.origin() +
                   "sparse times sparse, at the places of a sparse C";
        else
            return "dense times dense, at the places of a sparse C";
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        typename arena::scope const scope(memory);
        if constexpr (!on_host) {
            return multiply_on_device(p, memory);
        } else if constexpr (sparse_operand<typename Q::a_operand>) {
            auto a = p.a.listed(this->leaf(), memory);
            if (!a) return a.take_status();
            auto b = p.b.listed(this->leaf(), memory);
            if (!b) return b.take_status();
            auto const& x = *a;
            auto const& y = *b;
            double const work = static_cast<double>(x.nonzeros) *
                                (1 + static_cast<double>(y.nonzeros) / static_cast<double>(p.b.rows));
            by_row(p, memory, work, x.row_begins, [&](index_t i, auto const&, auto* sum) {
                for (index_t at = x.row_begins[i]; at < x.row_begins[i + 1]; ++at) {
                    auto const factor = x.number(at);
                    index_t const k = x.columns[at];
                    for (index_t of_b = y.row_begins[k]; of_b < y.row_begins[k + 1]; ++of_b) {
                        auto& to = sum[y.columns[of_b]];
                        to = scaled_sum(factor, y.number(of_b), to);
                    }
                }
            });
        } else {
            using S = typename Q::scalar;
            auto const& c = p.c;
            double const work = static_cast<double>(c.row_begins[c.rows]) * static_cast<double>(p.a.cols);
            bool const by_columns = rows_are_closer(p.b);
            by_row(p, memory, work, c.row_begins, [&](index_t i, auto const& each_place, S* sum) {
                if (by_columns) {
                    each_place([&](index_t, index_t j) {
                        S one(real_t<S>(0));
                        for (index_t k = 0; k < p.a.cols; ++k)
                            one = scaled_sum(element_as<S>(p.a, i, k), element_as<S>(p.b, k, j), one);
                        sum[j] = one;
                    });
                } else {
                    for (index_t k = 0; k < p.a.cols; ++k) {
                        S const factor = element_as<S>(p.a, i, k);
                        each_place([&](index_t, index_t j) {
                            sum[j] = scaled_sum(factor, element_as<S>(p.b, k, j), sum[j]);
                        });
                    }
                }
            });
        }
        return {};
    }

private:
    template <class Q>
    status multiply_on_device(Q const& p, arena& memory) const {
        if constexpr (!sparse_operand<typename Q::a_operand>) {
            return multiply_at_places(this->leaf(), p, memory);
        } else {
            auto a = p.a.listed(this->leaf(), memory);
            if (!a) return a.take_status();
            auto b = p.b.listed(this->leaf(), memory);
            if (!b) return b.take_status();
            problem<std::remove_cvref_t<decltype(*a)>, std::remove_cvref_t<decltype(*b)>,
                    typename Q::c_operand, typename Q::epilogue_type>
                lists{scaled_by(scaled_by(p.alpha, (*a).scale), (*b).scale),
                      *a,
                      *b,
                      p.beta,
                      p.e,
                      p.c,
                      p.epilogue};
            lists.row0 = p.row0, lists.col0 = p.col0;
            return multiply_sparse_at_places(this->leaf(), lists, memory);
        }
    }
    // f(i, each_place, sum) for each row of C: it adds to sum[j], which is 0 for each column j that the row stores.
    // What it leaves elsewhere is not read. Rows are divided by the elements between `begins`.
    template <class Q, class Begins, class F>
    void by_row(Q const& p, arena& memory, double work, Begins begins, F&& f) const {
        using S = typename Q::scalar;
        auto const& c = p.c;
        int const most = all_threads(this->leaf());
        int team = this->leaf().team(work);
        if (team > most) team = most;
        auto const step =
            static_cast<index_t>(arena::rounded(static_cast<std::size_t>(c.cols) * sizeof(S)) / sizeof(S));
        S* const sums = memory.template take<S>(step * team);
        this->leaf().each(team, team, [&](int, int part) {
            S* const sum = sums + part * step;
            for (index_t j = 0; j < c.cols; ++j) sum[j] = S(real_t<S>(0));
            index_t const end = first_row(begins, c.rows, part + 1, team);
            for (index_t i = first_row(begins, c.rows, part, team); i < end; ++i) {
                auto const each_place = [&](auto&& g) {
                    for (index_t at = c.row_begins[i]; at < c.row_begins[i + 1]; ++at) g(at, c.columns[at]);
                };
                each_place([&](index_t, index_t j) { sum[j] = S(real_t<S>(0)); });
                f(i, each_place, sum);
                each_place([&](index_t at, index_t j) { c.finish(p, i, at, sum[j]); });
            }
        });
    }
};

STRATAGEMM_END
