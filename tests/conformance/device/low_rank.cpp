// Factors of a matrix on a device: products with factors against the oracle, and factors that are found, against the
// matrix itself.
#include "catch.hpp"
#include "csr_there.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/low_rank.hpp>

#include <cmath>
#include <complex>
#include <vector>

using namespace trials;

namespace {

template <class T>
using there = typename under_test::template matrix<T>;

template <class T>
sg::matrix<T> some_values(sg::index_t rows, sg::index_t cols, unsigned seed) {
    support::random_source from(seed);
    return {rows, cols, [&](sg::index_t, sg::index_t) {
                using R = sg::real_t<T>;
                auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
                if constexpr (sg::complex_like<T>) {
                    R const re = part();
                    return T(re, part());
                } else {
                    return part();
                }
            }};
}
template <class T>
double distance(sg::matrix<T> const& x, sg::matrix<T> const& y) {
    double off = 0, all = 0;
    for (sg::index_t i = 0; i < x.rows(); ++i)
        for (sg::index_t j = 0; j < x.cols(); ++j)
            off += std::norm(std::complex<double>(x(i, j)) - std::complex<double>(y(i, j))),
                all += std::norm(std::complex<double>(x(i, j)));
    return std::sqrt(off / all);
}

// |A - U V| / |A|, with products in double.
template <class T, class F>
double distance_of_factors(under_test const& device, sg::matrix<T> const& a, F const& f) {
    auto const here = [&](auto const& from) {
        there<T> there_x(device, from.rows, from.cols);
        device.leaf().copy(from, there_x.view()).or_throw();
        sg::matrix<T> x(from.rows, from.cols);
        there_x.download(x);
        return x;
    };
    auto const u = here(f.view().left), v = here(f.view().right);
    using W = std::complex<double>;
    double off = 0, all = 0;
    for (sg::index_t i = 0; i < a.rows(); ++i)
        for (sg::index_t j = 0; j < a.cols(); ++j) {
            W rest(a(i, j));
            all += std::norm(rest);
            for (sg::index_t l = 0; l < u.cols(); ++l) rest -= W(u(i, l)) * W(v(l, j));
            off += std::norm(rest);
        }
    return std::sqrt(off / all);
}

} // namespace

TEMPLATE_TEST_CASE("a factored matrix on a device", "", float, std::complex<float>) {
    using T = TestType;
    sg::index_t const m = 37, n = 21, k = 45, rank = 6;
    under_test const device;
    auto const u = some_values<T>(m, rank, 1), v = some_values<T>(rank, k, 2), b = some_values<T>(k, n, 3);
    there<T> const there_u(device, u), there_v(device, v), there_b(device, b);
    there<T> there_c(device, m, n), there_d(device, n, m);
    sg::matrix<T> c(m, n), d(n, m), expected(m, n);
    sg::gemm(sg::reference{}, sg::factored(u, v), b, expected);
    sg::gemm(device, sg::factored(there_u, there_v), there_b, there_c);
    there_c.download(c);
    CHECK(distance(expected, c) < 1e-5);
    sg::gemm(device, sg::transposed(there_b), sg::transposed(sg::factored(there_u, there_v)), there_d);
    there_d.download(d);
    CHECK(distance(expected, sg::matrix<T>(m, n, [&](sg::index_t i, sg::index_t j) { return d(j, i); })) <
          1e-5);
}

TEMPLATE_TEST_CASE("low_rank on a device", "", float, std::complex<float>, double) {
    using T = TestType;
    under_test const device;
    if (std::is_same_v<T, double> && !device.leaf().limits().has_double) return;
    sg::index_t const m = 70, n = 50, rank = 5;
    auto const u = some_values<T>(m, rank, 1), v = some_values<T>(rank, n, 2);
    sg::matrix<T> a(m, n);
    sg::gemm(sg::reference{}, u, v, a);
    there<T> const there_a(device, a);
    auto const f = sg::low_rank(device, there_a, {.tolerance = 1e-4, .seed = 3});
    CHECK(f.rank() >= rank);
    CHECK(f.rank() <= 8);
    CHECK(f.report().bound.worst <= 1e-4);
    CHECK(distance_of_factors(device, a, f) <= f.report().bound.worst);
    auto const g = sg::low_rank(device, there_a, {.rank = 2, .seed = 3});
    CHECK(g.rank() == 2);
    CHECK(distance_of_factors(device, a, g) <= g.report().bound.worst);
    CHECK(g.report().bound.worst < 2.1); // 16 vectors, and at most all of A is left
}

TEMPLATE_TEST_CASE("low_rank on a device: sketches and operands", "", float, std::complex<float>) {
    using T = TestType;
    under_test const device;
    sg::index_t const m = 70, n = 50, rank = 5, wide = 20;
    auto const u = some_values<T>(m, rank, 1), v = some_values<T>(rank, wide, 2),
               w = some_values<T>(wide, n, 3);
    sg::matrix<T> uv(m, wide), a(m, n);
    sg::gemm(sg::reference{}, u, v, uv);
    sg::gemm(sg::reference{}, uv, w, a);
    there<T> const there_a(device, a), there_uv(device, uv), there_w(device, w);
    auto const certified = [&](auto const& f, sg::matrix<T> const& exact) {
        CHECK(distance_of_factors(device, exact, f) <= f.report().bound.worst * 1.001);
        CHECK(f.report().bound.worst <= 1e-4);
        CHECK(f.rank() <= 8);
    };
    for (auto const sketch : {sg::low_rank_sketch::gaussian, sg::low_rank_sketch::signs,
                              sg::low_rank_sketch::srht, sg::low_rank_sketch::srct})
        certified(sg::low_rank(device, there_a, {.tolerance = 1e-4, .seed = 3, .sketch = sketch}), a);
    certified(sg::low_rank(device, sg::factored(there_uv, there_w), {.tolerance = 1e-4, .seed = 3}), a);
    // Five rows that are not zero.
    sg::matrix<T> sparse(m, n);
    std::vector<std::int32_t> begins{0}, columns;
    std::vector<T> values;
    for (sg::index_t i = 0; i < m; ++i) {
        for (sg::index_t j = 0; j < n && i % 15 == 3; j += 2) {
            sparse(i, j) = a(i, j), values.push_back(a(i, j));
            columns.push_back(static_cast<std::int32_t>(j));
        }
        begins.push_back(static_cast<std::int32_t>(columns.size()));
    }
    csr_there<T, std::int32_t> const there_sparse(
        device, {m, n, begins.data(), columns.data(), values.data(), begins.back()}, 7);
    certified(sg::low_rank(device, there_sparse.view, {.tolerance = 1e-4, .seed = 3}), sparse);
}

// G = R^H R, where column j of R has a one in the first row and 10^(-j / 5) on the diagonal.
TEMPLATE_TEST_CASE("the factor of a Gram matrix on a device", "", double, std::complex<double>) {
    using W = TestType;
    under_test const device;
    if (!device.leaf().limits().has_double) return;
    using lr = sg::low_rank_device;
    sg::index_t const n = 75, tile = lr::side<W>;
    auto const entry = [](sg::index_t i, sg::index_t j) {
        double const size = i == j ? std::pow(10, -0.2 * double(j)) : i == 0 ? 1 : 0;
        if constexpr (sg::complex_like<W>)
            return i == j ? W(size) : W(0.6 * size, 0.8 * size);
        else
            return W(size);
    };
    sg::matrix<W> const g(n, n, [&](sg::index_t i, sg::index_t j) {
        W sum(0);
        for (sg::index_t l = 0; l <= i; ++l)
            sum += sg::conjugate(entry(l, i)) * (l <= j ? entry(l, j) : W(0));
        return sum;
    });
    for (bool const stops : {false, true}) {
        there<W> there_g(device, g), u(device, n, n), x(device, n, n);
        there<double> levels(device, 1, 2 * n);
        sg::status const done = lr::factor(device.leaf(), there_g.view(), u.view(), x.view(), levels.data(),
                                           1e-300, stops ? 1e-4 : -1);
        REQUIRE(done);
        sg::matrix<double> level(1, 2 * n);
        levels.download(level);
        for (sg::index_t j = 0; j < n; ++j) {
            INFO(j);
            CHECK(std::abs(level(0, j) - std::abs(g(j, j))) < 1e-12);
            double const pivot = std::pow(10, -0.4 * double(j));
            if (stops && j >= 2 * tile)
                CHECK(level(0, n + j) == 0);
            else if (pivot > 1e-10) // the rest is rounding
                CHECK(std::abs(level(0, n + j) / pivot - 1) < 1e-5);
        }
        // X G X^H is the identity, up to rounding relative to the least pivot.
        sg::matrix<W> inverse(n, n), left(n, n), product(n, n);
        x.download(inverse);
        sg::gemm(sg::reference{}, inverse, g, left);
        sg::gemm(sg::reference{}, left, sg::transposed(sg::conjugated(inverse)), product);
        for (sg::index_t i = 0; i < 12; ++i)
            for (sg::index_t j = 0; j < 12; ++j) CHECK(std::abs(product(i, j) - W(i == j)) < 1e-4);
    }
}
