// A whole backend of one's own, and what it gets for it: every form of gemm, every algorithm, plans and error
// bounds. This one is slow and short. CONTRIBUTING.md tells the rest. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/custom_backend.cpp -o custom_backend
#include <stratagemm/stratagemm.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace mine {
namespace sg = stratagemm;
using sg::index_t;

// C row by row: a row of C is the sum of the rows of B, each times an element of A. The row is summed in
// workspace, so that C is written once and the epilogue sees the finished sum.
struct by_rows {
    // Where the operands live, and where workspace comes from. A backend with a memory of its own defines a
    // space like sg::host_memory, and an arena over it: sg::linear_arena<its space>.
    using space = sg::host_memory;
    using arena = sg::host_arena;

    // Which problems there is a kernel for. Any other is a compile error, in one line.
    template <class P>
    static constexpr sg::verdict accepts = sg::types_if(
        std::is_same_v<typename P::a_type, typename P::b_type>&& std::floating_point<typename P::a_type>&&
            std::is_same_v<typename P::c_type, typename P::a_type>);

    // What algorithms are made of besides products: copy, add, fill, apply, synchronize, on sub-views.
    sg::host_operations leaf() const { return {}; }
    sg::result<arena> reserve(sg::footprint f) const { return sg::reserve_host(f, "by_rows"); }

    // Workspace, error, speed and description follow from the shape alone.
    template <class S>
    sg::footprint workspace(S const& s) const {
        return {.host = arena::rounded(static_cast<std::size_t>(s.n) * sizeof(typename S::c_type))};
    }
    // Sums in order: k roundings of products and additions, and three for alpha and beta. Random errors grow
    // as the square root.
    template <class S>
    sg::bound error_bound(S const& s) const {
        double const u = sg::unit_roundoff<typename S::c_type>(), steps = static_cast<double>(s.k) + 3;
        return {.worst = steps * u / (1 - steps * u), .expected = 2 * std::sqrt(steps) * u};
    }
    // Seconds, roughly: operations and bytes a second, and what a call costs. Layers and callers compare policies by it.
    template <class S>
    double estimate(S const& s) const {
        return sg::roofline(s, 2e9, 10e9, 0.1e-6);
    }
    template <class S>
    std::string describe(S const&) const {
        return std::string("by_rows, ") + sg::type_name<typename S::a_type>();
    }

    // The product. It has been checked: the shapes fit, C overlaps nothing, and k and alpha are not zero.
    template <class P>
    sg::status operator()(P const& batch, arena& workspace) const {
        using T = typename P::c_type;
        arena::scope const until_return(workspace);
        T* const row = workspace.take<T>(batch.c.cols);
        for (index_t t = 0; t < batch.count; ++t) {
            auto const p = batch.at(t);
            for (index_t i = 0; i < p.c.rows; ++i) {
                for (index_t j = 0; j < p.c.cols; ++j) row[j] = 0;
                for (index_t l = 0; l < p.a.cols; ++l)
                    for (index_t j = 0; j < p.c.cols; ++j) row[j] += p.a(i, l) * p.b(l, j);
                for (index_t j = 0; j < p.c.cols; ++j) {
                    T x = p.alpha * row[j];
                    if (p.beta != 0) x += p.beta * p.e(i, j); // with beta = 0, E must not be read
                    p.c(i, j) = sg::apply_epilogue(p.epilogue, x, p.row0 + i, p.col0 + j);
                }
            }
        }
        return {};
    }
};
} // namespace mine

// ---- using it --------------------------------------------------------------------------------------------

namespace sg = stratagemm;
using sg::index_t;

int main() {
    index_t const m = 60, n = 70, k = 50;
    sg::matrix<double> a(m, k,
                         [](index_t i, index_t j) { return (i + 2 * j) % 9 - 4; }); // small integers: exact
    sg::matrix<double> b(k, n, [](index_t i, index_t j) { return (3 * i + j) % 7 - 3; });
    sg::matrix<double> c(m, n), expected(m, n);
    std::vector<double> const v(n, 1.0);
    int failures = 0;
    auto same = [&](char const* what) {
        int wrong = 0;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) wrong += c(i, j) != expected(i, j);
        std::printf("%-24s %s\n", what, wrong ? "WRONG" : "ok");
        failures += wrong != 0;
    };

    mine::by_rows const backend;
    sg::gemm(sg::reference{}, a, b, expected);
    sg::gemm(backend, a, b, c);
    same("by_rows");
    sg::gemm(sg::strassen{backend, {.levels = 2}}, a, b, c);
    same("strassen over it");

    auto const layer = sg::then(sg::bias(v), sg::relu);
    sg::gemm(sg::reference{}, 2.0, a, b, -1.0, expected, layer);
    sg::gemm(backend, 2.0, a, b, -1.0, c, layer);
    same("alpha, beta, epilogue");

    auto const plan = sg::plan(sg::recursive{backend}, sg::shape<double>{.m = m, .n = n, .k = k});
    std::printf("%s\n", plan.describe().c_str());
    return failures;
}
