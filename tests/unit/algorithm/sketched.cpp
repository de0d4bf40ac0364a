#include "catch.hpp"
#include "unit/algorithm/approximate.hpp"

#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/stratagemm.hpp>

#include <limits>

namespace sg = stratagemm;
using namespace approximations;
using sg::otherwise;
using support::contains;

namespace {

// A kind of one's own: two signs in each column.
struct two_signs : sg::sketches::by_mean_square {
    template <class T>
    auto make(index_t rows, index_t cols, std::uint64_t seed) const {
        return sg::sparse_sign<T>(rows, cols, seed + 7, 2);
    }
    index_t multiple() const { return 2; }
};

template <class F>
void each_kind(F const& f) {
    f("gaussian", sg::sketches::gaussian{});
    f("sparse_sign", sg::sketches::sparse_sign{4});
    f("count_sketch", sg::sketches::count_sketch{});
    f("srht", sg::sketches::srht{});
    f("srct", sg::sketches::srct{});
}

} // namespace

TEST_CASE("sketched keeps its tolerance as often as it says, whatever the data", "[trials]") {
    index_t const m = 6, n = 5;
    slow const base{sg::host{1}, m, n};
    int const trials = support::sanitized ? 20 : 400;
    for (data const kind_of_data : all_data)
        each_kind([&](char const* name, auto const& kind) {
            for (double const confidence : {0.5, 0.9, 0.99}) {
                INFO(name_of(kind_of_data) << ", " << name << ", " << confidence);
                index_t rows = 40; // the first of 40, 280 and 700 that promise something
                for (index_t const more : {280, 700})
                    if (kind.template deviation<float>(static_cast<double>(rows), confidence) >= 0.9)
                        rows = more;
                index_t const k = rows == 40 ? 90 : rows + 20;
                double const tolerance =
                    kind.template deviation<float>(static_cast<double>(rows), confidence) + 1e-3;
                operands<float> const x(kind_of_data, m, n, k, 1);
                auto const expected = exact_product(x.a, x.b);
                double const norms = norm_of(x.a) * norm_of(x.b);
                sg::matrix<float> c(m, n);
                int missed = 0;
                for (int seed = 0; seed < trials; ++seed) {
                    sg::report made;
                    sg::gemm(sg::sketched{base,
                                          kind,
                                          {.tolerance = tolerance,
                                           .confidence = confidence,
                                           .seed = static_cast<std::uint64_t>(seed),
                                           .report = &made}},
                             x.a, x.b, c);
                    CHECK(made.ran == "sketched");
                    CHECK(made.count <= rows);
                    CHECK(made.bound.worst <= tolerance);
                    missed += distance(expected, c) / norms > tolerance;
                }
                CHECK(missed <= (1 - confidence) * trials);
            }
        });
}

TEST_CASE("the mean square of a sketch's error is what bounds are made of", "[trials]") {
    index_t const m = 4, n = 3, k = 100, rows = 24;
    slow const base{sg::host{1}, m, n};
    operands<double> const x(data::random, m, n, k, 5);
    auto const expected = exact_product(x.a, x.b);
    double const norms = norm_of(x.a) * norm_of(x.b);
    int const trials = 1000;
    each_kind([&](char const* name, auto const& kind) {
        INFO(name);
        double const tolerance = kind.template deviation<double>(rows, 0.5) * (1 + 1e-6);
        double squares = 0;
        for (int seed = 0; seed < trials; ++seed) {
            sg::report made;
            sg::matrix<double> c(m, n);
            sg::gemm(sg::sketched{base,
                                  kind,
                                  {.tolerance = tolerance,
                                   .confidence = 0.5,
                                   .seed = static_cast<std::uint64_t>(seed),
                                   .report = &made}},
                     x.a, x.b, c);
            CHECK(made.count == rows);
            double const off = distance(expected, c) / norms;
            squares += off * off / trials;
        }
        // (|A|^2 |B|^2 + |A B|^2) / rows; the second is a tenth of the first here, or less. Of all rows of a transform,
        // those that are not sampled have the error.
        double const sampled = name == std::string("srht")   ? static_cast<double>(rows) / 128
                               : name == std::string("srct") ? static_cast<double>(rows) / 100
                                                             : 0;
        CHECK(squares * rows > 0.9 * (1 - sampled));
        CHECK(squares * rows < 1.2 * (1 - sampled));
    });
}

TEST_CASE("sketched is right on average", "[trials]") {
    index_t const m = 4, n = 3, k = 40;
    slow const base{sg::host{1}, m, n};
    int const trials = support::sanitized ? 100 : 3000;
    operands<double> const x(data::positive, m, n, k, 5);
    auto const expected = exact_product(x.a, x.b);
    each_kind([&](char const* name, auto const& kind) {
        INFO(name);
        double const tolerance = kind.template deviation<double>(14, 0.5);
        sg::matrix<double> c(m, n), sums(m, n), squares(m, n);
        for (int seed = 0; seed < trials; ++seed) {
            sg::gemm(
                sg::sketched{
                    base,
                    kind,
                    {.tolerance = tolerance, .confidence = 0.5, .seed = static_cast<std::uint64_t>(seed)}},
                x.a, x.b, c);
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j) {
                    double const off = c(i, j) - expected(i, j).real();
                    sums(i, j) += off, squares(i, j) += off * off;
                }
        }
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) CHECK(std::abs(sums(i, j)) <= 4 * std::sqrt(squares(i, j)));
    });
}

TEMPLATE_TEST_CASE("sketched takes every layout, alpha, beta, E, an epilogue and batches", "", float, double,
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    index_t const m = 9, n = 7, k = 600;
    slow const base{sg::host{1}, m, n};
    each_kind([&](char const* name, auto const& kind) {
        for (auto const order : {sg::layout::row_major, sg::layout::col_major})
            for (bool const certify : {false, true}) {
                INFO(name);
                double const tolerance = kind.template deviation<T>(400, 0.9);
                operands<T> const x(data::random, m, n, k, 3, order);
                auto const expected = exact_product(x.a, x.b);
                double const norms = norm_of(x.a) * norm_of(x.b);
                sg::report made;
                sg::sketched_options const options{.tolerance = tolerance + 1e-3,
                                                   .confidence = 0.9,
                                                   .seed = 4,
                                                   .certify = certify,
                                                   .report = &made};
                sg::sketched const policy{base, kind, options};
                sg::matrix<T> c(m, n, order);
                sg::gemm(policy, x.a, x.b, c);
                CHECK(distance(expected, c) <= made.bound.worst * norms);
                CHECK(distance(expected, c) > 0.01 * norms);
                CHECK(distance(expected, c) < 2 * norms / std::sqrt(made.count));
                T const alpha = support::make<T>(0.5, 0.25), beta = support::make<T>(-2, 1);
                auto const e = support::fractions<T>(m, n, 8, order);
                sg::matrix<T> d = e, batch(2 * m, n);
                auto const finish = [](T y, index_t i, index_t j) { return y + T(static_cast<R>(i - j)); };
                sg::gemm(policy, alpha, x.a, x.b, beta, d, finish);
                sg::gemm(policy, alpha, x.a, x.b, beta, e,
                         sg::batched(sg::row_major(batch.data(), m, n), 2, m * n), finish);
                for (index_t i = 0; i < m; ++i)
                    for (index_t j = 0; j < n; ++j) {
                        auto const y = wide(alpha) * wide(c(i, j)) + wide(beta) * wide(e(i, j)) +
                                       static_cast<double>(i - j);
                        double const may = 20 * sg::unit_roundoff<T>() * (30 + std::abs(y) + norms);
                        CHECK(std::abs(wide(d(i, j)) - y) <= may);
                        CHECK(std::abs(wide(batch(m + i, j)) - y) <= may);
                    }
            }
    });
}

TEST_CASE("sketched is refused, or exact, where its tolerance takes more work than the exact product") {
    index_t const m = 30, n = 40, k = 500;
    operands<float> const x(data::random, m, n, k, 2);
    sg::matrix<float> c(m, n), expected(m, n);
    sg::gemm(sg::host{1}, x.a, x.b, expected);
    each_kind([&](char const* name, auto const& kind) {
        INFO(name);
        sg::report made;
        sg::sketched_options options{.tolerance = 0.05, .report = &made};
        c(0, 0) = 5;
        auto refused = sg::try_gemm(sg::sketched{slow{sg::host{1}, m, n}, kind, options}, x.a, x.b, c);
        REQUIRE(!refused);
        CHECK(refused.error().code() == sg::errc::argument);
        CHECK(contains(refused.error().what(), "sketched: a tolerance of 0.05 takes "));
        CHECK(contains(refused.error().what(), "rows of a sketch, which are more work"));
        CHECK(made.ran == "refused");
        CHECK(c(0, 0) == 5);
        options.otherwise = otherwise::exact;
        sg::gemm(sg::sketched{slow{sg::host{1}, m, n}, kind, options}, x.a, x.b, c);
        CHECK(support::same_bits(c, expected));
        CHECK(made.ran == "native");
        options.tolerance = 1e-12;
        sg::gemm(sg::sketched{sg::host{1}, kind, options}, x.a, x.b, c);
        CHECK(support::same_bits(c, expected));
        options.tolerance = 0;
        CHECK(!sg::try_gemm(sg::sketched{sg::host{1}, kind, options}, x.a, x.b, c));
    });
}

TEST_CASE("sketched of data without a prediction") {
    index_t const m = 8, n = 9, k = 300;
    slow const base{sg::host{1}, m, n};
    operands<float> x(data::random, m, n, k, 2);
    sg::matrix<float> c(m, n), expected(m, n);
    sg::report made;
    auto const is_exact = [&] {
        sg::gemm(base, x.a, x.b, expected);
        sg::gemm(sg::sketched{base, {.tolerance = 0.5, .otherwise = otherwise::exact, .report = &made}}, x.a,
                 x.b, c);
        return std::memcmp(c.data(), expected.data(), sizeof(float) * static_cast<std::size_t>(m * n)) == 0 &&
               made.ran == "native";
    };
    CHECK(!is_exact());
    CHECK(made.ran == "sketched");
    x.a(3, 70) = std::numeric_limits<float>::quiet_NaN();
    CHECK(is_exact());
    CHECK(!sg::try_gemm(sg::sketched{base, {.tolerance = 0.5}}, x.a, x.b, c));
    for (index_t i = 0; i < m; ++i)
        for (index_t l = 0; l < k; ++l) x.a(i, l) = 0;
    CHECK(is_exact());
}

TEST_CASE("sketched by a kind of one's own, with the same bits for any number of threads") {
    index_t const m = 60, n = 50, k = 3000;
    operands<float> const x(data::random, m, n, k, 6);
    auto const same = [&](auto const& kind, double confidence) {
        sg::matrix<float> first(m, n), c(m, n);
        auto const run = [&](int threads, sg::matrix<float>& to) {
            sg::gemm(sg::sketched{slow{sg::host{.threads = threads}, m, n},
                                  kind,
                                  {.tolerance = 0.3, .confidence = confidence, .certify = true}},
                     x.a, x.b, to);
        };
        run(1, first);
        for (int const threads : {2, 5}) {
            run(threads, c);
            if (!support::same_bits(c, first)) return false;
        }
        return error_of(x, first) < 0.3;
    };
    CHECK(same(sg::sketches::gaussian{}, 0.99));
    CHECK(same(sg::sketches::sparse_sign{8}, 0.9));
    CHECK(same(two_signs{}, 0.9));
}

TEST_CASE("sketched: a certificate finds what the base did wrong, and the workspace suffices") {
    index_t const m = 20, n = 18, k = 500;
    operands<float> const x(data::random, m, n, k, 2);
    harmful const base(sg::host{1}, m, n, k, static_cast<float>(norm_of(x.a) * norm_of(x.b)));
    sg::report made;
    sg::sketched_options options{
        .tolerance = 0.4, .otherwise = otherwise::exact, .certify = true, .report = &made};
    sg::matrix<float> c(m, n), expected(m, n);
    sg::gemm(sg::host{1}, x.a, x.b, expected);
    sg::gemm(sg::sketched{base, options}, x.a, x.b, c);
    CHECK(support::same_bits(c, expected));
    CHECK(made.repeated == 1);
    options.otherwise = otherwise::refuse;
    auto const refused = sg::try_gemm(sg::sketched{base, options}, x.a, x.b, c);
    REQUIRE(!refused);
    CHECK(refused.error().code() == sg::errc::verification);
    options.report = nullptr;
    each_kind([&](char const* name, auto const& kind) {
        INFO(name);
        options.confidence = 0.8;
        options.otherwise = otherwise::exact;
        sg::sketched const policy{slow{sg::host{1}, m, n}, kind, options};
        CHECK(support::try_arena(policy, sg::product(1.0f, x.a, x.b, 0.5f, c)).stayed_inside);
    });
    auto const plan = sg::plan(sg::sketched{slow{sg::host{1}, m, n}, options}, sg::shape<float>{m, n, k});
    CHECK(contains(plan.describe(), "sketched: rows of a sketch that keep |C - A B| <= 0.4 |A||B|"));
    CHECK(plan.estimate() > 0);
}
