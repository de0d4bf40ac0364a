// Sparse matrices by rows (CSR), and their product with a dense one.
//
//   sg::csr<float> a{m, k, row_begins, columns, values};       borrowed: row i is values[row_begins[i], row_begins[i + 1])
//   sg::gemm(cpu, a, b, c);                                    C = A B, with alpha, beta, E and epilogue as for any product
//
// The arrays are in the memory of the policy: pointers on the host, handles of a device elsewhere. A row's products are
// summed in the order in which they are stored, so that results depend on neither threads nor devices' scheduling. What
// is not stored is zero and is not multiplied: 0 x Inf in B leaves no NaN. Columns may repeat, and come in any order.
//
// check() reads the arrays on the host, and finds rows that are not in order and columns beyond the last; products do
// not look.
#pragma once

#include "../backend/host/combined.hpp"
#include "../core/policy.hpp"
#include "../device/elementwise.hpp"

STRATAGEMM_BEGIN

template <policy P>
class csr_product;

template <class T>
struct csr_form {
    using value_type = T;
    static constexpr bool has_facts = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    index nonzeros = 0;
};

// Index: std::int32_t or std::int64_t.
template <class T, class Index = std::int32_t, class Space = host_memory>
struct csr {
    using value_type = T;
    using space = Space;
    using form = csr_form<T>;
    using index_type = Index;
    static constexpr int most_views = 3;

    index rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{}; // rows + 1
    typename Space::template handle<Index const> columns{};
    typename Space::template handle<T const> values{};
    index nonzeros = 0;

    form facts() const { return {nonzeros}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_begins, 1, rows + 1, rows + 1, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
        f(view<T const, Space>{values, 1, nonzeros, nonzeros, 1});
    }

    status check() const requires std::is_same_v<Space, host_memory> {
        auto const wrong = [](char const* what, index at) {
            char text[120];
            __builtin_snprintf(text, sizeof(text), "%s%td", what, at);
            return failure(errc::argument, "csr", text);
        };
        if (row_begins[0] != 0) return wrong("row_begins does not begin with 0 but with ", row_begins[0]);
        for (index i = 0; i < rows; ++i)
            if (row_begins[i + 1] < row_begins[i]) return wrong("row_begins falls after row ", i);
        if (row_begins[rows] != nonzeros)
            return wrong("the number of non-zeros is not the last of row_begins, ", row_begins[rows]);
        for (index at = 0; at < nonzeros; ++at)
            if (columns[at] < 0 || columns[at] >= cols) return wrong("a column is out of range: number ", at);
        return {};
    }
};

// An item for each element of C: a warp has 32 columns of one row.
inline constexpr char csr_text[] = R"(
KERNEL(ITEMS) csr_times_dense(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                              MATRIX(IN const, b), int b_conjugated, scalar alpha, scalar beta, int adds,
                              MATRIX(OUT const, e), int e_conjugated, MATRIX(OUT, c), index rows, index cols) {
    index const across = (cols - 1) / 32 + 1;
    index const j = GROUP % across * 32 + LANE, i = GROUP / across * 8 + WARP;
    if (j >= cols || i >= rows) return;
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(IN const, b);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    scalar sum = ZERO;
    for (index at = begins[i]; at < begins[i + 1]; ++at) {
        scalar const x = LOAD(IN, values, at), y = LOAD(IN, b, AT(b, columns[at], j));
        sum = multiply_add(x, conjugate_if(b_conjugated, y), sum);
    }
    sum = scale_by(alpha, sum);
    if (adds) {
        scalar const x = LOAD(OUT, e, AT(e, i, j));
        sum = multiply_add(beta, conjugate_if(e_conjugated, x), sum);
    }
    STORE(OUT, c, AT(c, i, j), CONVERT(OUT_VALUE, (value)(sum)));
}
)";

// Products of CSR matrices over the leaf of a backend.
template <policy P>
class csr_product {
    using Leaf = leaf_of<P>;

public:
    using space = typename P::space;
    using arena = typename P::arena;
    static constexpr bool on_host = host_leaf<Leaf>, on_device = device_leaf<Leaf, space>;

    csr_product(P policy) : policy_(std::move(policy)) {}

    template <class Q>
    static constexpr verdict accepts = verdict::structure;
    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using T = typename Q::a_type;
        constexpr bool sparse_dense = requires { typename Q::a_operand::index_type; }
        &&is_view<typename Q::b_operand>::value&& is_view<typename Q::c_operand>::value;
        constexpr bool types =
            std::is_same_v<T, typename Q::b_type> && element<T> &&
            (std::is_same_v<typename Q::c_type, T> || std::is_same_v<typename Q::c_type, accumulator_t<T>>);
        if constexpr (!sparse_dense)
            return verdict::structure;
        else if constexpr (!on_host && !on_device)
            return verdict::leaf;
        else // a device's epilogue is told by what it says of the same product of matrices
            return types_if(types) &
                   (on_host
                        ? verdict::yes
                        : answer<P,
                                 dense_problem<T, T, accumulator_t<T>, space, typename Q::epilogue_type>>());
    }();

    auto leaf() const { return policy_.leaf(); }
    result<arena> reserve(footprint f) const { return policy_.reserve(f); }

    template <class S>
    footprint workspace(S const&) const {
        return {};
    }
    // No row has more than k terms, unless columns repeat.
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k);
    }
    // From the bytes that are read and written, at a rough bandwidth of a host or of a device.
    template <class S>
    double estimate(S const& s) const {
        auto const rows = static_cast<double>(s.m), cols = static_cast<double>(s.n);
        double const nonzeros = static_cast<double>(nonzeros_of(s));
        double const bytes = nonzeros * (sizeof(typename S::a_type) * (1 + cols) + 4) +
                             rows * cols * sizeof(typename S::c_type);
        return bytes / (on_host ? 10e9 : 500e9);
    }
    template <class S>
    std::string describe(S const& s) const {
        return "csr of " + std::to_string(nonzeros_of(s)) +
               (on_host ? " non-zeros, rows by the host's threads"
                        : " non-zeros, an item for each element of C");
    }

    template <class Q>
    status operator()(Q const& p, arena&) const {
        for (index i = 0; i < p.count; ++i)
            if (status s = multiply(p.at(i)); !s) return s;
        return {};
    }

private:
    template <class S>
    static index nonzeros_of(S const& s) {
        if constexpr (requires { s.a_facts.nonzeros; })
            return s.a_facts.nonzeros;
        else
            return s.m * s.k;
    }

    template <class Q>
    status multiply(Q const& p) const requires on_host {
        using S = typename Q::scalar;
        auto const by = leaf();
        int const team = by.team(static_cast<double>(p.a.nonzeros) * static_cast<double>(p.c.cols));
        by.each(team, team, [&](int, int part) {
            constexpr index width = 256;
            S sum[width];
            for (index i = p.c.rows * part / team; i < p.c.rows * (part + 1) / team; ++i)
                for (index j = 0; j < p.c.cols; j += width) {
                    index const cols = p.c.cols - j < width ? p.c.cols - j : width;
                    sum_row(p, i, j, cols, sum);
                    for (index x = 0; x < cols; ++x) {
                        S y = p.alpha * sum[x];
                        if (p.beta != S(0)) {
                            auto const e = static_cast<S>(p.e(i, j + x));
                            y = y + p.beta * (p.e.conjugate ? conjugate(e) : e);
                        }
                        p.c(i, j + x) = static_cast<typename Q::c_type>(
                            apply_epilogue(p.epilogue, y, p.row0 + i, p.col0 + j + x));
                    }
                }
        });
        return {};
    }
    template <class Q, class S>
    static void sum_row(Q const& p, index i, index j, index cols, S* sum) {
        using T = typename Q::a_type;
        for (index x = 0; x < cols; ++x) sum[x] = S(real_t<S>(0));
        for (index at = p.a.row_begins[i]; at < p.a.row_begins[i + 1]; ++at) {
            T const* const b = &p.b(p.a.columns[at], j);
            if constexpr (std::is_same_v<S, T> && std::is_floating_point_v<S>)
                if (p.b.col_stride == 1) {
                    S const* const terms[] = {sum, b};
                    S const factors[] = {S(1), p.a.values[at]};
                    combine(sum, cols, index{0}, terms, factors, 2, cols);
                    continue;
                }
            auto const value = static_cast<S>(p.a.values[at]);
            for (index x = 0; x < cols; ++x) {
                auto const y = static_cast<S>(b[x * p.b.col_stride]);
                sum[x] = sum[x] + value * (p.b.conjugate ? conjugate(y) : y);
            }
        }
    }

    template <class Q>
    status multiply(Q const& p) const requires(!on_host) {
        using T = typename Q::a_type;
        static std::string const definitions =
            kernel_types<T, typename Q::c_type>() + "#define INDEX " +
            (sizeof(typename Q::a_operand::index_type) == 8 ? "index" : "int") + '\n';
        bool const adds = p.beta != typename Q::scalar(0);
        auto const e = adds ? p.e : view<typename Q::c_type const, space>(p.c);
        auto const by = leaf();
        index const groups = ((p.c.cols - 1) / 32 + 1) * ((p.c.rows + 7) / 8);
        if (status s = by.launch(
                {"csr_times_dense", csr_text, definitions, 256, uses_double<T, typename Q::c_type>}, groups,
                p.a.row_begins, p.a.columns, p.a.values, p.b.data, p.b.row_stride, p.b.col_stride,
                int{p.b.conjugate}, p.alpha, p.beta, int{adds}, e.data, e.row_stride, e.col_stride,
                int{e.conjugate}, p.c.data, p.c.row_stride, p.c.col_stride, p.c.rows, p.c.cols);
            !s)
            return s;
        if constexpr (!std::is_same_v<typename Q::epilogue_type, identity>)
            return by.apply(p.epilogue, p.c, p.row0, p.col0);
        return {};
    }

    P policy_;
};

STRATAGEMM_END
