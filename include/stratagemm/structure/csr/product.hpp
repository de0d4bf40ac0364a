// The product of a sparse matrix of any format with a dense one, over the leaf of a backend.
#pragma once

#include "../../core/layer.hpp"
#include "device.hpp"
#include "format.hpp"
#include "host.hpp"
#include "pieces.hpp"

STRATAGEMM_BEGIN

// The verdict of a backend P on a product Q with sparse operands, if there is a product of these operands. A device
// takes the epilogues that it takes for dense products.
template <class P, class Q>
constexpr verdict answer_of_sparse() {
    using Leaf = leaf_of<P>;
    using T = typename Q::a_type;
    using C = typename Q::c_type;
    using Dense = dense_problem<T, T, accumulator_t<T>, typename P::space, typename Q::epilogue_type>;
    if constexpr (!host_leaf<Leaf> && !device_leaf<Leaf, typename P::space>)
        return verdict::leaf;
    else
        return types_if(element<T> && std::is_same_v<T, typename Q::b_type> &&
                        (std::is_same_v<C, T> || std::is_same_v<C, accumulator_t<T>>)) &
               (host_leaf<Leaf> ? verdict::yes : answer<P, Dense>());
}

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
        if constexpr (!(sparse_operand<A> && is_view<B>::value) && !(is_view<A>::value && sparse_operand<B>))
            return verdict::structure;
        else if constexpr (!is_view<typename Q::c_operand>::value)
            return verdict::structure;
        else
            return answer_of_sparse<P, Q>();
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
    // A device reads each operand from memory once, and from caches, 2.5 times as fast, the row of B that an element
    // needs, or 32 bytes of it; a host see seconds_on_host().
    template <class S>
    double estimate(S const& s) const {
        auto const r = sparse_first(s);
        constexpr double size = sizeof(typename S::a_type);
        auto const rows = static_cast<double>(r.m), cols = static_cast<double>(r.n),
                   nonzeros = static_cast<double>(r.a_facts.likely(r.m, r.k));
        double const results = rows * cols * sizeof(typename S::c_type), row_of_b = size * cols;
        if constexpr (on_device) {
            double const once = nonzeros * (size + 4) + results + static_cast<double>(r.k) * row_of_b,
                         again = nonzeros * (row_of_b < 32 ? 32 : row_of_b);
            return (once + again / 2.5) / this->leaf().limits().bandwidth + (merges(r) ? 2 : 1) * 3e-6;
        } else {
            double const all = static_cast<double>(r.count);
            int const team = s.alone ? 1 : this->leaf().team(nonzeros * cols * all);
            return 0.3e-6 +
                   all * seconds_on_host(rows, static_cast<double>(r.k), nonzeros, row_of_b, results) / team;
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const r = sparse_first(s);
        index_t const most = r.a_facts.most(r.m, r.k);
        bool const exact = most == r.a_facts.likely(r.m, r.k);
        constexpr bool whole = has_whole_matrix<decltype(r.a_facts)>;
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
    // Of one thread: each row and each element, what is stored, and for each element its row of B, from the cache that B
    // fits into, or whole lines from memory. Fitted to products of 30 to 200000 rows with 3 and 40 elements each, times 1 to
    // 512 columns of floats and doubles, on an EPYC with AVX2: off by a factor of 1.26 in the mean.
    static double seconds_on_host(double rows, double k, double nonzeros, double row_of_b, double results) {
        double const b = k * row_of_b;
        double const read = b <= 0x1p19     ? 9e-12 * row_of_b
                            : b <= 0x1.8p23 ? 33e-12 * row_of_b
                                            : 109e-12 * (row_of_b < 64 ? 64 : row_of_b);
        return 5.3e-9 * rows + nonzeros * (0.67e-9 + read) + 29e-12 * results;
    }
    // Whether an epilogue gets a sum before the sum is rounded to a narrower C.
    template <class Q>
    static constexpr bool ends_narrower = !std::is_same_v<typename Q::epilogue_type, identity> &&
                                          !std::is_same_v<typename Q::c_type, typename Q::scalar>;
    // Kernels of devices round the numbers that they write. If there is an epilogue, kernels write sums, and the
    // epilogue gets these before C does. `self` multiplies.
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
        if constexpr (on_host && has_whole_matrix<decltype(r.a_facts)>) need = need + bytes_for_whole<S>(r);
        if constexpr (on_device) {
            std::size_t of_sums = 0;
            std::size_t const to_merge = bytes_to_merge<S>(r);
            if constexpr (has_pieces<decltype(r.a_facts)>)
                of_sums = bytes_for_sums<arena, accumulator_t<typename S::a_type>>(r.a_facts.sums, r.n);
            space::share(need) += of_sums > to_merge ? of_sums : to_merge;
        }
        return need;
    }
    // Whether the merged kernels run, if B is stored by rows, or by columns (`vector` is 0).
    template <class R>
    static bool merges(R const& r, int vector = 1) {
        if constexpr (has_whole_matrix<decltype(r.a_facts)>)
            return false;
        else
            return csr_merges_form(r.a_facts, r.m, r.k, r.n, r.a_facts.most(r.m, r.k), vector);
    }
    template <class S, class R>
    static std::size_t bytes_to_merge(R const& r) {
        return merges(r, 0) || merges(r)
                   ? bytes_for_merging<arena, typename S::a_type>(r.m, r.n, r.a_facts.most(r.m, r.k))
                   : 0;
    }
    // The kernel of a device for `nonzeros` elements, if B is stored by rows, and why it is that.
    template <class R>
    std::string describe_kernel(R const& r, index_t nonzeros) const {
        using T = typename R::a_type;
        std::string reason;
        if constexpr (!has_whole_matrix<decltype(r.a_facts)>) {
            index_t longest = csr_longest_row(r.a_facts, r.m, r.k, nonzeros), sums = 0;
            if constexpr (has_pieces<decltype(r.a_facts)>)
                if (r.a_facts.sums > 0) sums = r.a_facts.sums, longest = r.a_facts.longest;
            std::string const lengths = "(" + std::to_string(longest) + " elements" +
                                        (sums > 0 ? ", " : " at most, ") +
                                        std::to_string(r.m > 0 ? nonzeros / r.m : 0) + " on average)";
            if (merges(r)) {
                constexpr int vector = most_of_vector<T>();
                auto const x =
                    choose_csr_merged<accumulator_t<T>>(r.m, r.n, nonzeros, r.n % vector == 0 ? vector : 1);
                return std::string("divided by elements and rows together, because a row ") +
                       (sums > 0 ? "is" : "may be") + " long " + lengths + ": " + x.describe();
            }
            if (r.n == 1 && sums <= 1)
                if (auto const x =
                        choose_csr_vector<T, typename std::remove_cvref_t<decltype(r.a_facts)>::index_type>(
                            r.m, r.k, nonzeros, csr_vector_units<space>(this->leaf()));
                    x.rows > 0)
                    return x.describe();
            reason = sums > 1 ? ", long rows in pieces " + lengths
                              : ", because no row is long enough to wait for " + lengths;
        }
        return choose_csr(r.m, r.k, r.n, nonzeros, 1).describe() + reason;
    }
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

    // Whether the elements are added up as they are stored, a column of B at a time. This takes less time than to list
    // the elements by rows. A list pays for more columns.
    template <class Form>
    static constexpr bool as_stored(index_t columns) {
        return adds_as_stored<Form> && columns <= 2;
    }
    template <class Form>
    static constexpr bool adds_as_stored = on_host&& has_elements_of<Form> && !is_by_rows<Form>;
    // Each part has separate sums. There are so few sums that the elements take the time, whatever the number of
    // threads.
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
            if constexpr (has_whole_matrix<typename Q::a_operand::form>)
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

    // With few rows, either product is bound by reading B. Single rows of B are read at half the speed of all of B. If
    // B is stored by columns, one element takes as long as the 64 bytes around it. The dense product multiplies zeros,
    // too: if its result is NaN, a zero of X may have met Inf or NaN in B, and the list decides.
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
        footprint need = this->base_.workspace(shape<T, T, Sum>{r.m, r.n, r.k});
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
        if (status s = this->base_(q, memory); !s) return s;
        if constexpr (!std::is_integral_v<S>)
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j)
                    if (!(sums(i, j) == sums(i, j))) return multiply(p);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) finish_element(p, i, j, sums(i, j));
        return {};
    }

    // Rows are divided by their elements and their number together. An element takes longer in a short row, and where its
    // row of B comes from memory, so a thread that has ended a part takes another. If A has few rows, columns of C are
    // divided.
    template <class Q>
    status multiply(Q const& p) const requires on_host {
        constexpr int parts_of_thread = 8; // a thread may wait for one part in the end
        auto const by = this->leaf();
        int const team = by.team(static_cast<double>(p.a.nonzeros) * static_cast<double>(p.c.cols));
        bool const few_rows = p.c.rows < 4 * index_t{team};
        int const parts = few_rows || team == 1 ? team : team * parts_of_thread;
        // A column of B by itself is read as it lies.
        bool const by_columns = p.c.cols == 1 || rows_are_closer(p.b);
        by.each(team, parts, [&](int, int part) {
            if (!few_rows)
                return multiply_csr_part(p, p.c.cols, by_columns,
                                         first_row(p.a.row_begins, p.c.rows, part, parts),
                                         first_row(p.a.row_begins, p.c.rows, part + 1, parts));
            index_t const pieces = (p.c.cols - 1) / 64 + 1, j = pieces * part / team * 64,
                          end = lesser(pieces * (part + 1) / team * 64, p.c.cols);
            Q q = p;
            q.b = p.b.part(0, j, p.b.rows, end - j);
            q.c = p.c.part(0, j, p.c.rows, end - j);
            if (p.beta != typename Q::scalar(0)) q.e = p.e.part(0, j, p.c.rows, end - j);
            q.col0 += j;
            if (j < end) multiply_csr_part(q, p.c.cols, by_columns, 0, p.c.rows);
        });
        return {};
    }
};

STRATAGEMM_END
