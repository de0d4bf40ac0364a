#include "catch.hpp"
#include "unit/algorithm/approximate.hpp"

#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/stratagemm.hpp>

#include <limits>

namespace sg = stratagemm;
using namespace approximations;
using sg::draw_probabilities, sg::otherwise;
using support::contains;

namespace {

constexpr draw_probabilities all_probabilities[] = {draw_probabilities::optimal, draw_probabilities::uniform,
                                                    draw_probabilities::norms};

template <class T>
using sum = sg::accumulator_t<T>;

} // namespace

TEST_CASE("monte_carlo keeps its tolerance as often as it says, whatever the data", "[trials]") {
    index_t const m = 6, n = 5, k = 400;
    slow const base{sg::host{1}};
    int const trials = support::sanitized ? 20 : 1000;
    for (data const kind : all_data)
        for (auto const which : all_probabilities)
            for (double const confidence : {0.5, 0.9, 0.99}) {
                INFO(name_of(kind) << ", " << static_cast<int>(which) << ", " << confidence);
                operands<float> const x(kind, m, n, k, 1);
                auto const expected = exact_product(x.a, x.b);
                double const norms = norm_of(x.a) * norm_of(x.b);
                sg::matrix<float> c(m, n);
                int missed = 0, approximated = 0;
                for (int seed = 0; seed < trials; ++seed) {
                    sg::report made;
                    sg::gemm(sg::monte_carlo{base,
                                             {.tolerance = 0.25,
                                              .confidence = confidence,
                                              .seed = static_cast<std::uint64_t>(seed),
                                              .otherwise = otherwise::exact,
                                              .report = &made,
                                              .probabilities = which}},
                             x.a, x.b, c);
                    double const off = distance(expected, c) / norms;
                    approximated += made.ran == "monte_carlo";
                    missed += off > 0.25;
                    if (made.ran == "monte_carlo") CHECK(made.bound.worst <= 0.25);
                }
                CHECK(missed <= (1 - confidence) * trials);
                // Uniform draws miss a huge row.
                if (which == draw_probabilities::optimal) CHECK(approximated == trials);
            }
}

TEST_CASE("monte_carlo is right on average", "[trials]") {
    index_t const m = 4, n = 3, k = 200;
    slow const base{sg::host{1}};
    int const trials = support::sanitized ? 100 : 10000;
    operands<double> const x(data::spread, m, n, k, 5);
    auto const expected = exact_product(x.a, x.b);
    for (auto const which : {draw_probabilities::optimal, draw_probabilities::norms}) {
        sg::matrix<double> c(m, n), sums(m, n), squares(m, n);
        for (int seed = 0; seed < trials; ++seed) {
            sg::gemm(
                sg::monte_carlo{
                    base,
                    {.tolerance = 0.5, .seed = static_cast<std::uint64_t>(seed), .probabilities = which}},
                x.a, x.b, c);
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j) {
                    double const off = c(i, j) - expected(i, j).real();
                    sums(i, j) += off, squares(i, j) += off * off;
                }
        }
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) CHECK(std::abs(sums(i, j)) <= 4 * std::sqrt(squares(i, j)));
    }
}

TEMPLATE_TEST_CASE("monte_carlo takes every layout, alpha, beta, E, an epilogue and batches", "", float,
                   double, sg::half, sg::bfloat16, std::complex<float>, std::complex<double>) {
    using T = TestType;
    using S = sum<T>;
    using R = sg::real_t<S>;
    index_t const m = 9, n = 7, k = 300;
    double const tolerance = 0.3, rounding = 8 * sg::unit_roundoff<T>();
    slow const base{sg::host{1}};
    for (auto const order : {sg::layout::row_major, sg::layout::col_major})
        for (bool const certify : {false, true}) {
            operands<T> const x(data::random, m, n, k, 3, order);
            auto const expected = exact_product(x.a, x.b);
            double const norms = norm_of(x.a) * norm_of(x.b);
            sg::monte_carlo const policy{base, {.tolerance = tolerance, .seed = 4, .certify = certify}};
            sg::matrix<T> c(m, n, order);
            sg::gemm(policy, x.a, x.b, c);
            CHECK(distance(expected, c) <= (tolerance + rounding) * norms);
            CHECK(distance(expected, c) > 0.01 * norms);
            // The same draws, with all else.
            S const alpha = support::make<S>(0.5, 0.25), beta = support::make<S>(-2, 1);
            auto const e = support::fractions<T>(m, n, 8, order);
            sg::matrix<T> d = e, batch(2 * m, n);
            auto const finish = [](S y, index_t i, index_t j) { return y + S(static_cast<R>(i - j)); };
            sg::gemm(policy, alpha, x.a, x.b, beta, d, finish);
            sg::gemm(policy, alpha, x.a, x.b, beta, e,
                     sg::batched(sg::row_major(batch.data(), m, n), 2, m * n), finish);
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j) {
                    auto const y =
                        wide(alpha) * wide(c(i, j)) + wide(beta) * wide(e(i, j)) + static_cast<double>(i - j);
                    double const may = 20 * sg::unit_roundoff<T>() * (30 + std::abs(y) + 2 * norms / 10);
                    CHECK(std::abs(wide(d(i, j)) - y) <= may);
                    CHECK(std::abs(wide(batch(m + i, j)) - y) <= may);
                }
            auto const back = sg::transposed(c);
            sg::matrix<T> turned(n, m);
            sg::gemm(policy, sg::transposed(x.b), sg::transposed(x.a), turned);
            CHECK(distance(sg::matrix<T>(n, m, [&](index_t i, index_t j) { return back(i, j); }), turned) <=
                  (2 * tolerance + rounding) * norms);
            if constexpr (sg::complex_like<T>) {
                sg::matrix<T> other(m, n);
                sg::gemm(policy, sg::conjugated(x.a), sg::conjugated(x.b), other);
                for (index_t i = 0; i < m; ++i)
                    for (index_t j = 0; j < n; ++j)
                        CHECK(std::abs(std::conj(wide(other(i, j))) - wide(c(i, j))) <=
                              100 * sg::unit_roundoff<T>() * norms);
            }
        }
}

TEST_CASE("monte_carlo is refused, or exact, where its tolerance takes more work than the exact product") {
    index_t const m = 30, n = 40, k = 50;
    operands<float> const x(data::random, m, n, k, 2);
    sg::matrix<float> c(m, n), expected(m, n);
    sg::gemm(sg::host{1}, x.a, x.b, expected);
    sg::report made;
    sg::monte_carlo_options options{.tolerance = 0.1, .report = &made};
    c(0, 0) = 5;
    auto refused = sg::try_gemm(sg::monte_carlo{slow{sg::host{1}}, options}, x.a, x.b, c);
    REQUIRE(!refused);
    CHECK(refused.error().code() == sg::errc::argument);
    INFO(refused.error().what());
    CHECK(contains(refused.error().what(), "monte_carlo: a tolerance of 0.1 takes 15"));
    CHECK(contains(refused.error().what(), "predicted to be within 0.5"));
    CHECK(made.ran == "refused");
    CHECK(made.error > 0.1);
    CHECK(c(0, 0) == 5);
    options.otherwise = otherwise::exact;
    sg::gemm(sg::monte_carlo{slow{sg::host{1}}, options}, x.a, x.b, c);
    CHECK(support::same_bits(c, expected));
    CHECK(made.ran == "native");
    CHECK(made.count == 0);
    CHECK(made.bound.confidence == 1);
    // A real base knows that such a product is quick.
    options.tolerance = 0.9;
    sg::gemm(sg::monte_carlo{sg::host{1}, options}, x.a, x.b, c);
    CHECK(support::same_bits(c, expected));
    options.otherwise = otherwise::refuse;
    refused = sg::try_gemm(sg::monte_carlo{sg::host{1}, options}, x.a, x.b, c);
    REQUIRE(!refused);
    CHECK(contains(refused.error().what(), "set otherwise::exact"));
    // A tolerance below rounding errors.
    options.tolerance = 1e-9;
    CHECK(!sg::try_gemm(sg::monte_carlo{slow{sg::host{1}}, options}, x.a, x.b, c));
}

TEST_CASE("monte_carlo multiplies few lines, once each, where these have most of the norms") {
    operands<double> const x(data::huge_row, 20, 20, 500, 2);
    sg::matrix<double> c(20, 20);
    sg::report made;
    sg::gemm(sg::monte_carlo{slow{sg::host{1}}, {.tolerance = 0.005, .report = &made}}, x.a, x.b, c);
    CHECK(made.ran == "monte_carlo");
    CHECK(made.count > 500);
    CHECK(error_of(x, c) <= 0.005);
    CHECK(made.bound.worst <= 0.005);
    CHECK(made.bound.confidence == 0.99);
    CHECK(made.error < made.bound.worst);
}

TEST_CASE("monte_carlo refuses options out of range") {
    operands<float> const x(data::random, 5, 5, 50, 2);
    sg::matrix<float> c(5, 5);
    auto const says = [&](sg::monte_carlo_options const& options, char const* text) {
        auto const s = sg::try_gemm(sg::monte_carlo{slow{sg::host{1}}, options}, x.a, x.b, c);
        return !s && s.error().code() == sg::errc::argument && contains(s.error().what(), text);
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (double const t : {0.0, -0.5, 1.0, 7.0, nan})
        CHECK(says({.tolerance = t}, "monte_carlo: give a `tolerance`"));
    for (double const p : {0.0, -0.5, 1.0, 7.0, nan})
        CHECK(says({.tolerance = 0.5, .confidence = p}, "monte_carlo: `confidence` is more than 0"));
    CHECK(says({}, "monte_carlo: give a `tolerance`"));
}

TEMPLATE_TEST_CASE("monte_carlo of data without a prediction", "", float, double) {
    using T = TestType;
    index_t const m = 8, n = 9, k = 200;
    slow const base{sg::host{1}};
    operands<T> x(data::random, m, n, k, 2);
    sg::matrix<T> c(m, n), expected(m, n);
    sg::report made;
    auto const exact = [&] {
        sg::gemm(base, x.a, x.b, expected);
        sg::gemm(sg::monte_carlo{base, {.tolerance = 0.5, .otherwise = otherwise::exact, .report = &made}},
                 x.a, x.b, c);
        return std::memcmp(c.data(), expected.data(), sizeof(T) * static_cast<std::size_t>(m * n)) == 0 &&
               made.ran == "native" && made.count == 0;
    };
    auto const refused = [&] {
        auto const s = sg::try_gemm(sg::monte_carlo{base, {.tolerance = 0.5, .report = &made}}, x.a, x.b, c);
        return !s && s.error().code() == sg::errc::argument && contains(s.error().what(), "Inf or NaN");
    };
    for (T const odd : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
        x.a(3, 70) = odd;
        CHECK(exact());
        CHECK(refused());
        x.a(3, 70) = 1, x.b(1, 2) = odd;
        CHECK(exact());
        CHECK(refused());
        x.b(1, 2) = 1;
    }
    // Zero, with Inf in the other operand and without; and no line that both operands have.
    for (index_t i = 0; i < m; ++i)
        for (index_t l = 0; l < k; ++l) x.a(i, l) = 0;
    CHECK(exact());
    x.b(3, 3) = std::numeric_limits<T>::infinity();
    CHECK(exact());
    x.b(3, 3) = 0;
    for (index_t l = 0; l < k; ++l)
        for (index_t j = 0; j < n; ++j) x.b(l, j) = l < k / 2 ? T(0) : T(1);
    for (index_t l = 0; l < k / 2; ++l) x.a(2, l) = 3;
    CHECK(exact());
    CHECK(made.error == 0);
    // Numbers whose squares leave the range of double.
    if constexpr (std::is_same_v<T, double>)
        for (double const by : {1e-160, 1e160}) {
            x = operands<T>(data::random, m, n, k, 2);
            for (index_t l = 0; l < k; ++l)
                for (index_t j = 0; j < n; ++j) x.b(l, j) *= by;
            CHECK(exact());
            CHECK(refused());
        }
    // Numbers near the ends of the range of float.
    for (float const by : {1e-37f, 1e37f}) {
        x = operands<T>(data::random, m, n, k, 2);
        for (index_t l = 0; l < k; ++l)
            for (index_t i = 0; i < m; ++i) x.a(i, l) *= static_cast<T>(by) / (l % 2 == 0 ? 1 : 4);
        for (index_t l = 0; l < k; ++l)
            for (index_t j = 0; j < n; ++j) x.b(l, j) /= static_cast<T>(by);
        sg::gemm(sg::monte_carlo{base, {.tolerance = 0.5, .report = &made}}, x.a, x.b, c);
        CHECK(made.ran == "monte_carlo");
        CHECK(error_of(x, c) < 0.5);
    }
}

TEST_CASE("monte_carlo has the same bits for any number of threads, and others with another seed") {
    index_t const m = 300, n = 260, k = 3000;
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        operands<float> const x(data::random, m, n, k, 6, order);
        sg::matrix<float> first(m, n), c(m, n);
        auto const run = [&](int threads, std::uint64_t seed, sg::matrix<float>& to) {
            sg::gemm(sg::monte_carlo{sg::host{.threads = threads},
                                     {.tolerance = 0.2, .seed = seed, .certify = true}},
                     x.a, x.b, to);
        };
        run(1, 3, first);
        for (int const threads : {2, 3, 7}) {
            run(threads, 3, c);
            CHECK(support::same_bits(c, first));
        }
        run(2, 4, c);
        CHECK(!support::same_bits(c, first));
    }
}

TEST_CASE("monte_carlo: a certificate finds what the base did wrong") {
    index_t const m = 20, n = 18, k = 300;
    operands<float> const x(data::random, m, n, k, 2);
    auto const e = support::fractions<float>(m, n, 5);
    double const norms = norm_of(x.a) * norm_of(x.b);
    harmful const base(sg::host{1}, m, n, k, static_cast<float>(norms));
    sg::report made;
    sg::monte_carlo_options options{
        .tolerance = 0.3, .otherwise = otherwise::exact, .certify = true, .report = &made};
    sg::matrix<float> c = e, expected = e;
    auto const less = [](float y) { return y - 1; };
    sg::gemm(sg::host{1}, 2.0f, x.a, x.b, 3.0f, expected, less);
    sg::gemm(sg::monte_carlo{base, options}, 2.0f, x.a, x.b, 3.0f, c, less);
    CHECK(support::same_bits(c, expected));
    CHECK(made.ran == "native");
    CHECK(made.repeated == 1);
    CHECK(contains(made.reason, "certificate"));
    options.otherwise = otherwise::refuse;
    c = e;
    auto const refused = sg::try_gemm(sg::monte_carlo{base, options}, 2.0f, x.a, x.b, 3.0f, c);
    REQUIRE(!refused);
    CHECK(refused.error().code() == sg::errc::verification);
    CHECK(contains(refused.error().what(), "beyond the tolerance of 0.3"));
    // Without the fault, the certificate is nearer than the prediction, and not below the error.
    c = e;
    sg::gemm(sg::monte_carlo{slow{sg::host{1}}, options}, 2.0f, x.a, x.b, 3.0f, c);
    CHECK(made.ran == "monte_carlo");
    sg::matrix<double> off(m, n, [&](index_t i, index_t j) { return (c(i, j) - 3.0 * e(i, j)) / 2; });
    CHECK(error_of(x, off) <= made.bound.worst);
    CHECK(made.bound.worst <= 4 * error_of(x, off));
    CHECK(made.bound.worst < 0.3);
    CHECK(made.bound.confidence == 0.99);
}

TEST_CASE("certificates hold as often as they say", "[trials]") {
    index_t const m = 6, n = 5, k = 400;
    slow const base{sg::host{1}};
    int const trials = support::sanitized ? 20 : 1000;
    for (double const confidence : {0.9, 0.99}) {
        operands<float> const y(data::random, m, n, k, 1);
        double const norms = norm_of(y.a) * norm_of(y.b);
        auto const other = exact_product(y.a, y.b);
        int missed = 0;
        for (int seed = 0; seed < trials; ++seed) {
            sg::report made;
            sg::matrix<float> c(m, n);
            sg::gemm(sg::monte_carlo{base,
                                     {.tolerance = 0.25,
                                      .confidence = confidence,
                                      .seed = static_cast<std::uint64_t>(seed),
                                      .certify = true,
                                      .report = &made}},
                     y.a, y.b, c);
            missed += distance(other, c) / norms > made.bound.worst;
        }
        CHECK(missed <= (1 - confidence) * trials);
    }
}

TEST_CASE("monte_carlo stays within the workspace that it asks for") {
    for (bool const certify : {false, true})
        for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
            operands<float> const x(data::random, 40, 50, 700, 6, order);
            sg::matrix<float> c(40, 50);
            sg::monte_carlo const policy{
                slow{sg::host{1}}, {.tolerance = 0.2, .otherwise = otherwise::exact, .certify = certify}};
            CHECK(support::try_arena(policy, sg::product(1.0f, x.a, x.b, 0.5f, c)).stayed_inside);
        }
}

TEST_CASE("monte_carlo over other policies, and what it says of itself") {
    index_t const m = 60, n = 50, k = 900;
    operands<double> const x(data::random, m, n, k, 2);
    sg::matrix<double> c(m, n);
    auto const off = [&](auto const& policy) {
        sg::gemm(policy, x.a, x.b, c);
        return error_of(x, c);
    };
    sg::monte_carlo_options const options{.tolerance = 0.2, .certify = true};
    CHECK(off(sg::monte_carlo{slow{sg::recursive{sg::host{1}}}, options}) < 0.2);
    CHECK(off(sg::monte_carlo{slow{sg::strassen{sg::host{1}, {.levels = 1}}}, options}) < 0.2);
    CHECK(off(sg::monte_carlo{slow{sg::reference{}}, options}) < 0.2);
    CHECK(off(sg::recursive{sg::monte_carlo{slow{sg::host{1}}, options}}) < 0.2);
    sg::monte_carlo const policy{slow{sg::host{1}}, options};
    auto const plan = sg::plan(policy, sg::shape<double>{m, n, k});
    CHECK(contains(plan.describe(),
                   "monte_carlo: draws that keep |C - A B| <= 0.2 |A||B| with a confidence of 0.99"));
    CHECK(plan.error_bound().normwise);
    CHECK(plan.error_bound().confidence == 0.99);
    CHECK(plan.error_bound().worst > 0.2);
    CHECK(plan.estimate() > 0);
    CHECK(plan.estimate() < slow{sg::host{1}}.estimate(sg::shape<double>{m, n, k}));
}
