#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/low_rank.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;

namespace {

template <class T>
sg::matrix<T> random_matrix(index_t rows, index_t cols, unsigned seed) {
    support::random_source from(seed);
    return sg::matrix<T>(rows, cols, [&](index_t, index_t) {
        using R = sg::real_t<T>;
        auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
        if constexpr (sg::complex_like<T>) {
            R const re = part();
            return T(re, part());
        } else {
            return static_cast<T>(part());
        }
    });
}
// A matrix of a rank, and noise.
template <class T>
sg::matrix<T> of_rank(index_t m, index_t n, index_t rank, double noise) {
    auto const u = random_matrix<T>(m, rank, 1), v = random_matrix<T>(rank, n, 2);
    auto a = random_matrix<T>(m, n, 3);
    using R = sg::real_t<T>;
    sg::gemm(sg::host{1}, T(R(1)), u, v, T(static_cast<R>(noise)), a);
    return a;
}
template <class T, class F>
double distance(sg::matrix<T> const& a, F const& f) {
    auto const x = f.view();
    long double off = 0, all = 0;
    for (index_t i = 0; i < a.rows(); ++i)
        for (index_t j = 0; j < a.cols(); ++j) {
            std::complex<long double> sum = 0;
            for (index_t l = 0; l < f.rank(); ++l)
                sum += std::complex<long double>(x.left(i, l)) * std::complex<long double>(x.right(l, j));
            off += std::norm(sum - std::complex<long double>(a(i, j))),
                all += std::norm(std::complex<long double>(a(i, j)));
        }
    return static_cast<double>(std::sqrt(off / all));
}

} // namespace

TEMPLATE_TEST_CASE("low_rank finds the rank that a tolerance takes, and certifies it", "", float, double,
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    struct sizes {
        index_t m, n, rank;
    };
    for (sizes const s : {sizes{100, 100, 5}, sizes{37, 203, 3}, sizes{300, 90, 20}})
        for (double const noise : {0.0, 1e-4}) {
            INFO(s.m << " x " << s.n << ", rank " << s.rank << ", noise " << noise);
            auto const a = of_rank<T>(s.m, s.n, s.rank, noise);
            auto const f = sg::low_rank(sg::host{1}, a, {.tolerance = 1e-3, .seed = 7});
            double const off = distance(a, f);
            CHECK(off <= f.report().bound.worst);
            CHECK(f.report().bound.worst <= 1e-3);
            CHECK(f.rank() >= s.rank);
            CHECK(f.rank() <= s.rank + 8);
        }
}

TEMPLATE_TEST_CASE("low_rank of a given rank is nearly the best of that rank", "", float,
                   std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    // Known singular values, between vectors with orthonormal columns: cosines.
    index_t const m = 120, n = 80, rank = 12;
    auto const cosine = [](index_t size, index_t i, index_t k) {
        double const angle = 3.14159265358979 * (static_cast<double>(i) + 0.5) * static_cast<double>(k) /
                             static_cast<double>(size);
        return std::cos(angle) * std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(size));
    };
    double all = 0, rest = 0;
    auto const value = [](index_t k) { return std::pow(0.7, static_cast<double>(k)); };
    for (index_t k = 0; k < n; ++k) all += value(k) * value(k), rest += k < rank ? 0 : value(k) * value(k);
    sg::matrix<T> const a(m, n, [&](index_t i, index_t j) {
        double sum = 0;
        for (index_t k = 0; k < n; ++k) sum += cosine(m, i, k) * value(k) * cosine(n, j, k);
        return T(static_cast<R>(sum));
    });
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        auto const f = sg::low_rank(sg::host{1}, a, {.rank = rank, .seed = seed});
        CHECK(f.rank() == rank);
        double const off = distance(a, f), best = std::sqrt(rest / all);
        CHECK(off >= best * 0.999);
        CHECK(off <= best * 1.1);
        CHECK(off <= f.report().bound.worst);
        CHECK(f.report().bound.worst <= 4 * off);
        CHECK(f.report().bound.confidence == 0.999);
    }
    // Both: the tolerance is kept, or refused.
    CHECK(sg::low_rank(sg::host{1}, a, {.tolerance = 0.2, .rank = rank}).rank() <= rank + 8);
    auto const refused = sg::try_low_rank(sg::host{1}, a, {.tolerance = 1e-3, .rank = rank});
    REQUIRE(!refused);
    CHECK(contains(refused.error().what(), "low_rank: a rank of 12 leaves up to 0.0"));
}

TEST_CASE("low_rank of hostile data is certified or refused") {
    using T = double;
    index_t const m = 60, n = 50;
    auto const certified = [&](sg::matrix<T> const& a, index_t most) {
        auto const f = sg::low_rank(sg::host{1}, a, {.tolerance = 1e-6, .seed = 3});
        CHECK(distance(a, f) <= f.report().bound.worst);
        CHECK(f.report().bound.worst <= 1e-6);
        CHECK(f.rank() <= most);
    };
    auto const u = random_matrix<T>(m, 1, 1), v = random_matrix<T>(1, n, 2);
    certified(sg::matrix<T>(m, n, [&](index_t i, index_t j) { return u(i, 0) * v(0, j); }), 8);
    certified(
        sg::matrix<T>(m, n, [&](index_t i, index_t j) { return i == 7 ? 1e12 * v(0, j) : 1e-3 * u(i, 0); }),
        10);
    // Exponents that differ by 2^40, and that one column alone tells.
    certified(sg::matrix<T>(
                  m, n, [&](index_t i, index_t j) { return j == 11 ? std::ldexp(u(i, 0), 40) : v(0, j); }),
              10);
    sg::matrix<T> const zero(m, n);
    auto const none = sg::low_rank(sg::host{1}, zero, {.tolerance = 1e-6});
    CHECK(none.rank() == 1);
    CHECK(none.report().bound.worst == 0);
    CHECK(none.view().left(3, 0) == 0);
    sg::matrix<T> const unit(m, n, [](index_t i, index_t j) { return i == j ? 1.0 : 0.0; });
    auto const refused = sg::try_low_rank(sg::host{1}, unit, {.tolerance = 1e-2});
    REQUIRE(!refused);
    CHECK(contains(refused.error().what(), "factors of a higher rank have more elements than A"));
    for (T const bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
        auto x = random_matrix<T>(m, n, 4);
        x(5, 6) = bad;
        CHECK(contains(sg::try_low_rank(sg::host{1}, x, {.tolerance = 1e-2}).error().what(), "Inf or NaN"));
        CHECK(contains(sg::try_low_rank(sg::host{1}, x, {.rank = 4}).error().what(), "Inf or NaN"));
    }
}

TEST_CASE("low_rank refuses options that mean nothing") {
    auto const a = random_matrix<float>(9, 7, 1);
    auto const message = [&](sg::low_rank_options const& o) {
        return std::string(sg::try_low_rank(sg::host{1}, a, o).error().what());
    };
    CHECK(message({}) == "low_rank: give a `tolerance`, a `rank`, or both");
    CHECK(message({.tolerance = 1}) == "low_rank: `tolerance` is from 0 to 1, and less than 1");
    CHECK(message({.tolerance = -1e-3}) == "low_rank: `tolerance` is from 0 to 1, and less than 1");
    CHECK(message({.rank = 8}) == "low_rank: `rank` is at most the number of rows and of columns");
    CHECK(message({.rank = -1}) == "low_rank: `rank` is at most the number of rows and of columns");
    CHECK(message({.rank = 2, .confidence = 1}) == "low_rank: `confidence` is more than 0 and less than 1");
    CHECK(message({.rank = 2, .confidence = 0}) == "low_rank: `confidence` is more than 0 and less than 1");
}

TEST_CASE("the certificate of low_rank holds as often as it says, and is not far from the truth",
          "[trials]") {
    // What is left is of rank one, which is the hardest, or spread over many directions.
    for (bool const is_one : {true, false}) {
        index_t const m = 24, n = 20;
        auto const u = random_matrix<double>(m, 1, 1), v = random_matrix<double>(1, n, 2),
                   noise = random_matrix<double>(m, n, 3);
        sg::matrix<double> const a(m, n, [&](index_t i, index_t j) {
            return (j == 4 ? 100.0 : 0.0) * u(i, 0) + (is_one ? u(m - 1 - i, 0) * v(0, j) : noise(i, j));
        });
        int held = 0, trials = support::sanitized ? 50 : 400;
        double mean = 0;
        for (int t = 0; t < trials; ++t) {
            auto const f = sg::low_rank(
                sg::host{1}, a, {.rank = 1, .confidence = 0.8, .seed = static_cast<std::uint64_t>(t)});
            double const off = distance(a, f);
            held += off <= f.report().bound.worst, mean += f.report().error / off / trials;
        }
        CHECK(held >= 0.8 * trials);
        CHECK(mean > 0.9);
        CHECK(mean < 1.1);
    }
}

TEST_CASE("a low_rank matrix is an operand, and depends on the seed alone") {
    auto const a = of_rank<float>(90, 70, 6, 0);
    auto const f = sg::low_rank(sg::host{1}, a, {.tolerance = 1e-4, .seed = 5}),
               g = sg::low_rank(sg::host{2}, a, {.tolerance = 1e-4, .seed = 5});
    auto const b = random_matrix<float>(70, 33, 8);
    sg::matrix<float> c(90, 33), d(90, 33), exact(90, 33);
    {
        auto const copy = f;
        sg::gemm(sg::host{1}, copy, b, c);
    }
    sg::gemm(sg::host{1}, g, b, d);
    CHECK(support::same_bits(c, d));
    sg::gemm(sg::host{1}, a, b, exact);
    double off = 0, all = 0;
    for (index_t i = 0; i < 90; ++i)
        for (index_t j = 0; j < 33; ++j)
            off += std::pow(static_cast<double>(c(i, j) - exact(i, j)), 2),
                all += std::pow(static_cast<double>(exact(i, j)), 2);
    CHECK(std::sqrt(off / all) < 1e-4);
    sg::gemm(sg::strassen{sg::host{1}}, f, b, d);
    sg::gemm(sg::host{1}, f, sg::transposed(f), sg::matrix<float>(90, 90));
}

TEMPLATE_TEST_CASE("low_rank draws from any sketch", "", float, std::complex<double>) {
    using T = TestType;
    auto const a = of_rank<T>(150, 170, 9, 1e-5);
    for (auto const sketch : {sg::low_rank_sketch::gaussian, sg::low_rank_sketch::signs,
                              sg::low_rank_sketch::srht, sg::low_rank_sketch::srct}) {
        INFO(static_cast<int>(sketch));
        auto const f = sg::low_rank(sg::host{1}, a, {.tolerance = 1e-3, .seed = 7, .sketch = sketch}),
                   g = sg::low_rank(sg::host{2}, a, {.tolerance = 1e-3, .seed = 7, .sketch = sketch});
        CHECK(distance(a, f) <= f.report().bound.worst);
        CHECK(f.report().bound.worst <= 1e-3);
        CHECK(f.rank() == 9);
        CHECK(f.report().bound.worst == g.report().bound.worst);
        auto const best = sg::low_rank(sg::host{1}, a, {.rank = 4, .seed = 7, .sketch = sketch});
        CHECK(distance(a, best) <= best.report().bound.worst);
        auto x = a;
        x(5, 6) = T(std::numeric_limits<sg::real_t<T>>::quiet_NaN());
        CHECK(contains(sg::try_low_rank(sg::host{1}, x, {.rank = 4, .sketch = sketch}).error().what(),
                       "Inf or NaN"));
    }
}

TEMPLATE_TEST_CASE("low_rank of operands that are more than memory", "", float, double, std::complex<float>) {
    using T = TestType;
    using R = sg::real_t<T>;
    auto const found = [](auto const& a, sg::matrix<T> const& dense, index_t most) {
        for (auto const sketch : {sg::low_rank_sketch::gaussian, sg::low_rank_sketch::srht}) {
            auto const f = sg::low_rank(sg::host{1}, a, {.tolerance = 1e-3, .seed = 7, .sketch = sketch});
            CHECK(distance(dense, f) <= f.report().bound.worst * 1.001);
            CHECK(f.report().bound.worst <= 1e-3);
            CHECK(f.rank() <= most);
        }
    };
    // Sparse: few rows and columns that are not zero, by rows and by columns, with a factor.
    index_t const m = 80, n = 120;
    auto const few = of_rank<T>(m, n, 60, 0);
    sg::matrix<T> const sparse(
        m, n, [&](index_t i, index_t j) { return i % 9 == 2 || j % 40 == 5 ? few(i, j) : T(R(0)); });
    std::vector<std::int32_t> begins{0}, columns;
    std::vector<T> values;
    for (index_t i = 0; i < m; ++i) {
        for (index_t j = 0; j < n; ++j)
            if (sparse(i, j) != T(R(0)))
                columns.push_back(static_cast<std::int32_t>(j)), values.push_back(sparse(i, j));
        begins.push_back(static_cast<std::int32_t>(columns.size()));
    }
    sg::csr<T> const rows{m, n, begins.data(), columns.data(), values.data(), begins.back()};
    found(rows, sparse, 14);
    auto const turned = sg::scaled(T(R(-2)), sg::transposed(sg::conjugated(rows)));
    found(turned,
          sg::matrix<T>(n, m, [&](index_t i, index_t j) { return T(R(-2)) * sg::conjugate(sparse(j, i)); }),
          14);
    // A product of more columns than its rank.
    auto const u = of_rank<T>(m, 30, 5, 0), v = random_matrix<T>(30, n, 4);
    sg::matrix<T> product(m, n);
    sg::gemm(sg::host{1}, u, v, product);
    found(sg::factored(u, v), product, 6);
    // Exponentials: a Toeplitz matrix of rank 2.
    std::vector<T> diagonals;
    for (index_t l = 0; l < m + n - 1; ++l)
        diagonals.push_back(T(
            static_cast<R>(std::pow(1.01, static_cast<double>(l)) + std::pow(0.99, static_cast<double>(l)))));
    sg::matrix<T> const constant(
        m, n, [&](index_t i, index_t j) { return diagonals[static_cast<std::size_t>(m - 1 + j - i)]; });
    auto const toeplitz = sg::toeplitz(diagonals, m, n);
    found(toeplitz, constant, 3);
    found(sg::transposed(toeplitz), sg::matrix<T>(n, m, [&](index_t i, index_t j) { return constant(j, i); }),
          3);
}

TEMPLATE_TEST_CASE("reflections give an orthogonal complement of a few columns", "", double,
                   std::complex<double>) {
    using T = TestType;
    index_t const m = 23, n = 4;
    auto const random = random_matrix<T>(m, n, 9);
    sg::small_matrix<T> columns(m, n), before(m, n);
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) columns(i, j) = random(i, j);
    sg::make_orthonormal(columns);
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) before(i, j) = columns(i, j);
    sg::complement<T> const c(std::move(columns));
    REQUIRE((c.v && c.m));
    // The columns that were given, and then those of the complement.
    sg::matrix<T> const all(m, m, [&](index_t i, index_t j) {
        if (j < n) return before(i, j);
        T sum(i == j ? 1 : 0);
        for (index_t l = 0; l < n; ++l) sum -= c.v(i, l) * c.m(l, j - n);
        return sum;
    });
    for (index_t p = 0; p < m; ++p)
        for (index_t q = 0; q < m; ++q) {
            T sum(p == q ? -1 : 0);
            for (index_t i = 0; i < m; ++i) sum += sg::conjugate(all(i, p)) * all(i, q);
            CHECK(std::abs(sum) < 1e-14);
        }
}

TEST_CASE("low_rank by a layer") {
    auto const a = of_rank<double>(120, 100, 6, 1e-7);
    sg::strassen const policy{sg::host{1}};
    auto const f = sg::low_rank(policy, a, {.tolerance = 1e-5, .seed = 3});
    CHECK(distance(a, f) <= f.report().bound.worst);
    CHECK(f.rank() == 6);
    auto const g = sg::low_rank(sg::ozaki{sg::host{1}}, a, {.tolerance = 1e-5, .seed = 3});
    CHECK(distance(a, g) <= g.report().bound.worst);
    auto const h = sg::low_rank(sg::verified{sg::host{1}}, a, {.tolerance = 1e-5, .seed = 3});
    CHECK(distance(a, h) <= h.report().bound.worst);
    auto const refused = sg::try_low_rank(policy, a, {.rank = 6, .sketch = sg::low_rank_sketch::srht});
    REQUIRE(!refused);
    CHECK(contains(refused.error().what(), "has no products with this `sketch`"));
}

TEST_CASE("the factor of a certificate is that of a chi-squared number") {
    // As docs/accuracy.md has them.
    struct row {
        int vectors;
        double at_99, at_999;
    };
    for (row const r : {row{10, 1.977, 2.600}, row{16, 1.659, 2.015}, row{20, 1.556, 1.838}}) {
        CHECK(std::abs(sg::certified(r.vectors, 0.99) - r.at_99) < 6e-4);
        CHECK(std::abs(sg::certified(r.vectors, 0.999) - r.at_999) < 6e-4);
    }
    CHECK(std::abs(sg::chi_squared_below(1, 1) - 0.682689492137086) < 1e-14);
    CHECK(std::abs(sg::chi_squared_below(2, 2) - (1 - std::exp(-1.0))) < 1e-14);
    for (double const p : {1e-9, 1e-3, 0.5, 0.999})
        for (int const degrees : {1, 2, 16, 32}) {
            double const x = sg::chi_squared_quantile(p, degrees);
            CHECK(std::abs(sg::chi_squared_below(x, degrees) / p - 1) < 1e-10);
        }
}
