// Sparse matrices by rows (CSR), and their product with a dense one.
//
//   sg::csr<float> a{m, k, row_begins, columns, values, nonzeros};   borrows the arrays
//   sg::gemm(cpu, a, b, c);                                          also with alpha, beta, E and an epilogue
//
// Row i has the elements [row_begins[i], row_begins[i + 1]) of columns and values. The arrays are in the
// memory of the policy: pointers on the host, handles on a device. The products of a row are summed in the
// order in which they are stored, so the result does not depend on threads or scheduling. Elements that are
// not stored are zero and not multiplied: Inf in B gives no NaN. Columns may come in any order, and repeat.
//
// Products do not check the arrays. check() does so on the host: rows in order, columns in range.
#pragma once

#include "../backend/host/combined.hpp"
#include "../core/policy.hpp"
#include "csr/device.hpp"

STRATAGEMM_BEGIN

template <policy P>
class csr_product;

template <class T>
struct csr_form {
    using value_type = T;
    static constexpr bool has_facts = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    index_t nonzeros = 0;
};

// Index: std::int32_t or std::int64_t.
template <class T, class Index = std::int32_t, class Space = host_memory>
struct csr {
    using value_type = T;
    using space = Space;
    using form = csr_form<T>;
    using index_type = Index;
    static constexpr int most_views = 3;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{}; // rows + 1
    typename Space::template handle<Index const> columns{};
    typename Space::template handle<T const> values{};
    index_t nonzeros = 0;

    form facts() const { return {nonzeros}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_begins, 1, rows + 1, rows + 1, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
        f(view<T const, Space>{values, 1, nonzeros, nonzeros, 1});
    }

    status check() const requires std::is_same_v<Space, host_memory> {
        auto const wrong = [](char const* what, index_t at) {
            char text[120];
            __builtin_snprintf(text, sizeof(text), "%s%td", what, at);
            return failure(errc::argument, "csr", text);
        };
        if (row_begins[0] != 0) return wrong("row_begins does not begin with 0 but with ", row_begins[0]);
        for (index_t i = 0; i < rows; ++i)
            if (row_begins[i + 1] < row_begins[i]) return wrong("row_begins falls after row ", i);
        if (row_begins[rows] != nonzeros)
            return wrong("the number of non-zeros is not the last of row_begins, ", row_begins[rows]);
        for (index_t at = 0; at < nonzeros; ++at)
            if (columns[at] < 0 || columns[at] >= cols) return wrong("a column is out of range: number ", at);
        return {};
    }
};

// Products of CSR matrices over the leaf of a backend.
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
        using T = typename Q::a_type;
        using C = typename Q::c_type;
        using Dense = dense_problem<T, T, accumulator_t<T>, space, typename Q::epilogue_type>;
        if constexpr (!requires { typename Q::a_operand::index_type; } ||
                      !is_view<typename Q::b_operand>::value || !is_view<typename Q::c_operand>::value)
            return verdict::structure;
        else if constexpr (!on_host && !on_device)
            return verdict::leaf;
        else // a device takes the epilogues that it takes for dense products
            return types_if(element<T> && std::is_same_v<T, typename Q::b_type> &&
                            (std::is_same_v<C, T> || std::is_same_v<C, accumulator_t<T>>)) &
                   (on_host ? verdict::yes : answer<P, Dense>());
    }();

    // No row has more than k terms, unless columns repeat.
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k);
    }
    // The bytes that are read and written, over a rough bandwidth of a host or of a device.
    template <class S>
    double estimate(S const& s) const {
        auto const rows = static_cast<double>(s.m), cols = static_cast<double>(s.n),
                   nonzeros = static_cast<double>(s.a_facts.nonzeros);
        double const bytes = nonzeros * (sizeof(typename S::a_type) * (1 + cols) + 4) +
                             rows * cols * sizeof(typename S::c_type);
        return bytes / (on_host ? 10e9 : 500e9);
    }
    template <class S>
    std::string describe(S const& s, char const* about = "") const {
        return std::string("csr of ") + about + std::to_string(s.a_facts.nonzeros) + " non-zeros, " +
               (on_host ? std::string("rows by the host's threads")
                        : choose_csr(s.m, s.n, s.a_facts.nonzeros, 1, 256).describe());
    }

    template <class Q>
    status operator()(Q const& p, arena&) const {
        for (index_t i = 0; i < p.count; ++i)
            if (status s = multiply(p.at(i)); !s) return s;
        return {};
    }

private:
    // Rows of C by 256 columns are a piece, whose sums stay in a thread's first cache.
    template <class Q>
    status multiply(Q const& p) const requires on_host {
        using S = typename Q::scalar;
        constexpr index_t width = 256;
        auto const by = this->leaf();
        int const team = by.team(static_cast<double>(p.a.nonzeros) * static_cast<double>(p.c.cols));
        index_t const across = (p.c.cols - 1) / width + 1, pieces = p.c.rows * across;
        by.each(team, team, [&](int, int part) {
            S sum[width];
            for (index_t at_c = pieces * part / team; at_c < pieces * (part + 1) / team; ++at_c) {
                index_t const i = at_c / across, j = at_c % across * width;
                index_t const cols = smaller(width, p.c.cols - j);
                for (index_t x = 0; x < cols; ++x) sum[x] = S(real_t<S>(0));
                for (index_t at = p.a.row_begins[i]; at < p.a.row_begins[i + 1]; ++at)
                    add_row(sum, p.a.values[at], p.b, p.a.columns[at], j, cols);
                for (index_t x = 0; x < cols; ++x) finish_element(p, i, j + x, sum[x]);
            }
        });
        return {};
    }
    // sum += value * (row i of B, from column j).
    template <class S, class T>
    static void add_row(S* sum, T value, view<T const> const& b, index_t i, index_t j, index_t cols) {
        if constexpr (std::is_same_v<S, T> && std::is_floating_point_v<S>)
            if (b.col_stride == 1) {
                S const* const terms[] = {sum, &b(i, j)};
                S const factors[] = {S(1), value};
                return combine(sum, cols, index_t{0}, terms, factors, 2, cols);
            }
        for (index_t x = 0; x < cols; ++x)
            sum[x] = sum[x] + static_cast<S>(value) * element_as<S>(b, i, j + x);
    }

    template <class Q>
    status multiply(Q const& p) const requires(!on_host) {
        auto const by = this->leaf();
        status s = multiply_csr<typename Q::a_operand::index_type>(by, p, p.a);
        return s ? apply_to_c(by, p) : std::move(s);
    }
};

STRATAGEMM_END
