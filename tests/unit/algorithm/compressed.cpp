#include "catch.hpp"
#include "unit/algorithm/planted.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace sg = stratagemm;
namespace parts = stratagemm::compressed_parts;
using planting::planted;
using sg::compressed_form;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

// Says that products take long, so that small ones are compressed.
struct slow : sg::layer_over<sg::host> {
    explicit slow(int threads = 1) : sg::layer_over<sg::host>(sg::host{.threads = threads}) {}
    template <class P>
    static constexpr sg::verdict accepts = sg::answer<sg::host, P>();
    template <class S>
    double estimate(S const& s) const {
        return s.n == 16 ? 0 : 1e-5 * sg::multiply_adds(s);
    }
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        return this->base_(p, memory);
    }
};

constexpr compressed_form forms[] = {compressed_form::walsh_hadamard, compressed_form::fourier};

template <class R>
sg::matrix<R> random_matrix(index_t rows, index_t cols, std::uint64_t seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    return sg::matrix<R>(
        rows, cols, [&](index_t, index_t) { return static_cast<R>(from.normal()); }, order);
}

template <class R>
double norm_of(sg::matrix<R> const& x) {
    double sum = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j)
            sum += static_cast<double>(x(i, j)) * static_cast<double>(x(i, j));
    return std::sqrt(sum);
}
template <class R>
double distance(sg::matrix<R> const& x, sg::matrix<R> const& y) {
    double sum = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) {
            double const d = static_cast<double>(x(i, j)) - static_cast<double>(y(i, j));
            sum += d * d;
        }
    return std::sqrt(sum);
}

// The medians of all elements by sketches of a size.
template <class R>
sg::matrix<R> estimates(compressed_form form, parts::sketch_size size, std::uint64_t seed,
                        sg::matrix<R> const& a, sg::matrix<R> const& b, int threads = 1) {
    sg::host const cpu{.threads = threads};
    sg::compressed_options options{.seed = seed, .form = form};
    parts::work<sg::host, R> const work(cpu, options, sg::as_view(a), sg::as_view(b));
    sg::footprint room;
    room.host = work.bytes(size);
    auto memory = cpu.reserve(room);
    memory.or_throw();
    sg::matrix<R> c(a.rows(), b.cols());
    work.each(size, R(1), *memory, 3,
              [&](int, index_t i, index_t j, index_t count, R const* x) {
                  for (index_t l = 0; l < count; ++l) c(i, j + l) = x[l];
              })
        .or_throw();
    return c;
}

} // namespace

TEST_CASE("compressed: places collide with a probability of at most 1 / b, and signs are as likely",
          "[unit][trials]") {
    constexpr int bits = 6, trials = 20000;
    // Columns of 9 bits and of 4, beside buckets of 6.
    struct places {
        std::uint32_t i, j, k, l;
    } const all[] = {{0, 0, 1, 0},       {3, 5, 3, 7},       {3, 5, 3, 5 + 64},
                     {3, 5, 6, 5 + 128}, {100, 511, 5, 300}, {7, 1, 8, 2}};
    for (int const col_bits : {4, 9})
        for (auto const& p : all) {
            std::uint32_t const mask = (1u << col_bits) - 1, j = p.j & mask, l = p.l & mask;
            if (p.i == p.k && j == l) continue;
            int collide = 0, sign = 0, together = 0;
            for (int t = 0; t < trials; ++t) {
                parts::linear_hash const h(static_cast<std::uint64_t>(t), 0, bits, 7, col_bits);
                bool const meet = (h.bucket_of_row(p.i) ^ h.bucket_of_col(j)) ==
                                  (h.bucket_of_row(p.k) ^ h.bucket_of_col(l));
                bool const differ = (h.row_is_negative(p.i) != h.row_is_negative(p.k)) !=
                                    (h.col_is_negative(j) != h.col_is_negative(l));
                collide += meet;
                if (meet) ++together, sign += differ ? -1 : 1;
            }
            double const expected = trials / 64.0, deviation = std::sqrt(expected);
            INFO(p.i << ',' << j << " and " << p.k << ',' << l << ": " << collide << " of " << expected);
            CHECK(collide < expected + 5 * deviation);
            CHECK(std::abs(sign) <= 5 * std::sqrt(together));
        }
}

TEMPLATE_TEST_CASE("compressed: buckets are those of the definition", "[unit]", float, double) {
    using R = TestType;
    struct sides {
        index_t m, n, k;
        int bits;
    } const all[] = {{1, 1, 1, 6},      {5, 7, 3, 6},     {64, 64, 64, 6},
                     {37, 200, 130, 6}, {130, 67, 65, 9}, {3, 1000, 2, 7}};
    for (auto const& s : all) {
        auto const a = random_matrix<R>(s.m, s.k, 1), b = random_matrix<R>(s.k, s.n, 2);
        auto const c = support::product_of(a, b);
        int const row_bits = sg::bits_of(s.m), col_bits = sg::bits_of(s.n);
        parts::linear_hash const h(5, 0, s.bits, row_bits, col_bits);
        std::vector<double> buckets(std::size_t{1} << s.bits, 0.0);
        auto const at = [&](index_t i, index_t j) {
            return h.bucket_of_row(static_cast<std::uint32_t>(i)) ^
                   h.bucket_of_col(static_cast<std::uint32_t>(j));
        };
        auto const sign = [&](index_t i, index_t j) {
            return h.row_is_negative(static_cast<std::uint32_t>(i)) !=
                           h.col_is_negative(static_cast<std::uint32_t>(j))
                       ? -1
                       : 1;
        };
        for (index_t i = 0; i < s.m; ++i)
            for (index_t j = 0; j < s.n; ++j) buckets[at(i, j)] += sign(i, j) * static_cast<double>(c(i, j));
        sg::matrix<R> const expected(
            s.m, s.n, [&](index_t i, index_t j) { return static_cast<R>(sign(i, j) * buckets[at(i, j)]); });
        auto const found = estimates<R>(compressed_form::walsh_hadamard, {s.bits, 1}, 5, a, b);
        INFO(s.m << " x " << s.n << " x " << s.k);
        CHECK(distance(found, expected) <= 100 * static_cast<double>(std::numeric_limits<R>::epsilon()) *
                                               (norm_of(expected) + norm_of(c)));
    }
}

TEST_CASE("compressed: estimates are unbiased, and their variance is at most |A B|^2 / b", "[unit][trials]") {
    auto const a = random_matrix<double>(9, 4, 1), b = random_matrix<double>(4, 13, 2);
    auto const c = support::product_of(a, b);
    int const trials = support::sanitized ? 300 : 10000;
    for (compressed_form const form : forms) {
        sg::matrix<double> sum(9, 13, [](index_t, index_t) { return 0.0; }), squares = sum;
        for (int t = 0; t < trials; ++t) {
            auto const x = estimates<double>(form, {6, 1}, static_cast<std::uint64_t>(t), a, b);
            for (index_t i = 0; i < 9; ++i)
                for (index_t j = 0; j < 13; ++j) {
                    double const d = x(i, j) - c(i, j);
                    sum(i, j) += d, squares(i, j) += d * d;
                }
        }
        int biased = 0, wide = 0;
        for (index_t i = 0; i < 9; ++i)
            for (index_t j = 0; j < 13; ++j) {
                biased += std::fabs(sum(i, j)) > 4 * std::sqrt(squares(i, j));
                wide += !support::sanitized && squares(i, j) / trials > 1.2 * norm_of(c) * norm_of(c) / 64;
            }
        CHECK(biased == 0);
        CHECK(wide == 0);
    }
}

TEST_CASE("compressed: the median of an odd number is in the middle", "[unit]") {
    support::random_source from(1);
    for (int count = 1; count <= parts::most_sketches; count += 2) {
        parts::median_network const network(count);
        for (int t = 0; t < 200; ++t) {
            std::vector<float> x(static_cast<std::size_t>(count)), y;
            for (auto& e : x) e = static_cast<float>(from.below(t % 2 == 0 ? 2 : 1000));
            y = x;
            std::sort(y.begin(), y.end());
            for (int i = 0; i < network.steps; ++i) {
                auto const s = network.at[i];
                float const low = std::min(x[s.low], x[s.high]), high = std::max(x[s.low], x[s.high]);
                if (s.keeps_low) x[s.low] = low;
                if (s.keeps_high) x[s.high] = high;
            }
            CHECK(x[static_cast<std::size_t>(count / 2)] == y[static_cast<std::size_t>(count / 2)]);
        }
    }
    CHECK(parts::most_happen(3, 0.5) == Approx(0.5));
    CHECK(parts::most_happen(5, 0.1) == Approx(0.00856));
}

TEST_CASE("compressed: products that were planted are found in 1000 trials, as often as the confidence says",
          "[unit][trials]") {
    int const trials = support::sanitized ? 30 : 1000;
    for (compressed_form const form : forms) {
        int missed = 0;
        for (int t = 0; t < trials; ++t) {
            planted<float> const p(20, 30, 17, 12, static_cast<std::uint64_t>(t));
            sg::report found;
            sg::matrix<float> c(20, 30);
            sg::gemm(sg::compressed{slow{},
                                    {.tolerance = 1e-4,
                                     .confidence = 0.9,
                                     .seed = static_cast<std::uint64_t>(t),
                                     .report = &found,
                                     .nonzeros = p.nonzeros(),
                                     .form = form}},
                     p.a, p.b, c);
            CHECK(found.ran == "compressed");
            missed += distance(c, p.c) > 1e-4 * norm_of(p.a) * norm_of(p.b);
        }
        CHECK(missed <= trials / 10);
    }
}

TEST_CASE("compressed: a tolerance is kept without a number of elements, whatever the data",
          "[unit][trials]") {
    int const trials = support::sanitized ? 10 : 1000;
    int missed = 0;
    for (int t = 0; t < trials; ++t) {
        auto a = random_matrix<float>(18, 20, static_cast<std::uint64_t>(2 * t)),
             b = random_matrix<float>(20, 11, static_cast<std::uint64_t>(2 * t + 1));
        if (t % 4 == 1) // one huge row
            for (index_t l = 0; l < 20; ++l) a(3, l) *= 0x1p20f;
        if (t % 4 == 2) // rank one
            for (index_t i = 0; i < 18; ++i)
                for (index_t l = 0; l < 20; ++l) a(i, l) = a(i, 0) * a(0, l);
        sg::matrix<float> c(18, 11);
        sg::gemm(sg::compressed{slow{},
                                {.tolerance = 0.5, .confidence = 0.9, .seed = static_cast<std::uint64_t>(t)}},
                 a, b, c);
        missed += distance(c, support::product_of(a, b)) > 0.5 * norm_of(a) * norm_of(b);
    }
    CHECK(missed <= trials / 10);
}

TEMPLATE_TEST_CASE("compressed: factors, E, epilogues, layouts and batches are as elsewhere", "[unit]", float,
                   double) {
    using R = TestType;
    sg::compressed const policy{slow{}, {.tolerance = 1e-4, .confidence = 0.999999, .nonzeros = 40}};
    for (auto const order : {sg::layout::row_major, sg::layout::col_major})
        for (auto const result : {sg::layout::row_major, sg::layout::col_major}) {
            planted<R> const p(67, 131, 45, 40, 3, order);
            auto const e = random_matrix<R>(67, 131, 4);
            double const allowed = 1e-4 * norm_of(p.a) * norm_of(p.b);
            sg::matrix<R> c(
                67, 131, [&](index_t i, index_t j) { return e(i, j); }, result);
            sg::gemm(policy, R(2), p.a, p.b, R(3), c, sg::clamp(R(-1), R(5)));
            sg::matrix<R> const expected(67, 131, [&](index_t i, index_t j) {
                return std::clamp(2 * p.c(i, j) + 3 * e(i, j), R(-1), R(5));
            });
            CHECK(distance(c, expected) <= 2 * allowed);
            sg::gemm(policy, sg::scaled(R(-1), p.a), p.b, c);
            sg::matrix<R> const negative(67, 131, [&](index_t i, index_t j) { return -p.c(i, j); });
            CHECK(distance(c, negative) <= allowed);
            sg::matrix<R> turned(131, 67);
            sg::gemm(policy, sg::transposed(p.b), sg::transposed(p.a), turned);
            sg::matrix<R> const across(131, 67, [&](index_t i, index_t j) { return p.c(j, i); });
            CHECK(distance(turned, across) <= allowed);
        }
    sg::matrix<R> none(0, 5), zero(3, 5, [](index_t, index_t) { return R(7); });
    sg::gemm(policy, sg::matrix<R>(0, 4), sg::matrix<R>(4, 5), none);
    sg::gemm(policy, sg::matrix<R>(3, 0), sg::matrix<R>(0, 5), zero);
    CHECK(norm_of(zero) == 0);
}

TEST_CASE("compressed: the same bits on any number of threads, and others for another seed", "[unit]") {
    planted<float> const p(200, 150, 300, 30, 3);
    for (compressed_form const form : forms) {
        auto const of = [&](int threads, std::uint64_t seed) {
            sg::matrix<float> c(200, 150);
            sg::gemm(sg::compressed{slow{threads},
                                    {.tolerance = 1e-3, .seed = seed, .nonzeros = 30, .form = form}},
                     p.a, p.b, c);
            return c;
        };
        auto const one = of(1, 5);
        CHECK(same_bits(one, of(2, 5)));
        CHECK(same_bits(one, of(3, 5)));
        CHECK(same_bits(one, of(9, 5)));
        CHECK(!same_bits(one, of(1, 6)));
    }
}

TEST_CASE("compressed: what does not pay is refused, or exact", "[unit]") {
    auto const a = random_matrix<float>(60, 50, 1), b = random_matrix<float>(50, 70, 2);
    sg::matrix<float> c(60, 70, [](index_t, index_t) { return 7.0f; }), before = c, exact(60, 70);
    sg::host const cpu;
    sg::gemm(cpu, a, b, exact);
    sg::report found;
    for (index_t const nonzeros : {0, 4200}) {
        auto const refused = sg::try_gemm(
            sg::compressed{cpu, {.tolerance = 1e-3, .report = &found, .nonzeros = nonzeros}}, a, b, c);
        REQUIRE(!refused);
        CHECK(refused.error().code() == sg::errc::argument);
        CHECK(contains(std::string(refused.error().what()), "buckets"));
        CHECK(same_bits(c, before));
        CHECK(found.ran == "refused");
    }
    sg::gemm(sg::compressed{cpu, {.tolerance = 1e-3, .otherwise = sg::otherwise::exact, .report = &found}}, a,
             b, c);
    CHECK(found.ran == "native");
    CHECK(same_bits(c, exact));
    // |A B| is known only after the vectors, which is not too late.
    c = before;
    auto const late = sg::try_gemm(sg::compressed{slow{}, {.tolerance = 1e-4}}, a, b, c);
    REQUIRE(!late);
    CHECK(late.error().code() == sg::errc::argument);
    CHECK(same_bits(c, before));
}

TEST_CASE("compressed: a wrong number of elements is found by a certificate", "[unit]") {
    auto const a = random_matrix<float>(60, 50, 1), b = random_matrix<float>(50, 70, 2);
    sg::matrix<float> c(60, 70), exact(60, 70);
    sg::gemm(slow{}, a, b, exact);
    auto const wrong =
        sg::try_gemm(sg::compressed{slow{}, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}}, a, b, c);
    REQUIRE(!wrong);
    CHECK(wrong.error().code() == sg::errc::verification);
    sg::gemm(
        sg::compressed{
            slow{}, {.tolerance = 1e-3, .otherwise = sg::otherwise::exact, .certify = true, .nonzeros = 3}},
        a, b, c);
    CHECK(same_bits(c, exact));
}

TEST_CASE("compressed: bad numbers and bad options", "[unit]") {
    planted<float> p(20, 30, 17, 12, 1);
    sg::matrix<float> c(20, 30), exact(20, 30);
    auto const refuses = [&](sg::compressed_options options) {
        auto const s = sg::try_gemm(sg::compressed{slow{}, options}, p.a, p.b, c);
        return !s && s.error().code() == sg::errc::argument;
    };
    CHECK(refuses({.nonzeros = 12}));
    CHECK(refuses({.tolerance = 1, .nonzeros = 12}));
    CHECK(refuses({.tolerance = 0.1, .confidence = 1, .nonzeros = 12}));
    CHECK(refuses({.tolerance = 0.1, .confidence = 0, .nonzeros = 12}));
    CHECK(refuses({.tolerance = 0.1, .nonzeros = -1}));
    CHECK(refuses({.tolerance = 1e-9, .nonzeros = 12})); // below rounding
    for (float const bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        p.a(3, 4) = bad;
        CHECK(refuses({.tolerance = 0.1, .nonzeros = 12}));
        sg::gemm(
            sg::compressed{slow{}, {.tolerance = 0.1, .otherwise = sg::otherwise::exact, .nonzeros = 12}},
            p.a, p.b, c);
        sg::gemm(slow{}, p.a, p.b, exact);
        CHECK(same_bits(c, exact));
    }
}

namespace {
template <class R>
std::set<std::pair<int, int>> places_of(sg::coo<R> const& list) {
    std::set<std::pair<int, int>> all;
    for (index_t at = 0; at < list.nonzeros; ++at) all.insert({list.row_numbers[at], list.columns[at]});
    return all;
}
template <class R>
std::set<std::pair<int, int>> places_above(sg::matrix<R> const& c, double threshold) {
    std::set<std::pair<int, int>> all;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j)
            if (std::fabs(static_cast<double>(c(i, j))) >= threshold)
                all.insert({static_cast<int>(i), static_cast<int>(j)});
    return all;
}
} // namespace

TEMPLATE_TEST_CASE("heavy: the large elements of a product, and no others", "[unit]", float, double) {
    using R = TestType;
    for (compressed_form const form : forms) {
        planted<R> const p(90, 75, 130, 60, 2);
        auto const known = sg::heavy(sg::compressed{slow{2}, {.nonzeros = 60, .form = form}}, p.a, p.b, 2.0);
        CHECK(places_of(known.view()) == places_above(p.c, 2));
        CHECK(known.view().check_sorted());
        for (index_t at = 0; at < known.view().nonzeros; ++at) {
            auto const& x = known.view();
            CHECK(static_cast<double>(x.values[at]) ==
                  Approx(static_cast<double>(p.c(x.row_numbers[at], x.columns[at]))).epsilon(1e-4));
        }
        // By |A B| alone, beside elements that are small.
        auto const unknown = sg::heavy(sg::compressed{slow{}, {.form = form}}, p.a, p.b, 3.0);
        CHECK(places_of(unknown.view()) == places_above(p.c, 3));
        // -2 A B has twice as large elements.
        auto const scaled = sg::heavy(sg::compressed{slow{}, {.nonzeros = 60, .form = form}},
                                      sg::scaled(R(-2), p.a), p.b, 4.0);
        CHECK(places_of(scaled.view()) == places_above(p.c, 2));
        CHECK((scaled.view().nonzeros == 0 || scaled.view().values[0] < 0));
    }
}

TEST_CASE("heavy: the exact product where sketches do not pay; and bad input", "[unit]") {
    planted<float> p(90, 75, 130, 60, 2);
    sg::host const cpu;
    CHECK_THROWS_AS(sg::heavy(sg::compressed{cpu, {.nonzeros = 60}}, p.a, p.b, 2.0), sg::error);
    auto const exact =
        sg::heavy(sg::compressed{cpu, {.otherwise = sg::otherwise::exact, .nonzeros = 60}}, p.a, p.b, 2.0);
    CHECK(places_of(exact.view()) == places_above(p.c, 2));
    sg::compressed const policy{slow{}, {.nonzeros = 60}};
    CHECK(sg::heavy(policy, sg::matrix<float>(0, 4), sg::matrix<float>(4, 5), 1.0).view().nonzeros == 0);
    CHECK_THROWS_AS(sg::heavy(policy, p.a, p.b, 0.0), sg::error);
    CHECK_THROWS_AS(sg::heavy(policy, p.a, p.b, std::nan("")), sg::error);
    CHECK_THROWS_AS(sg::heavy(policy, p.a, sg::transposed(p.b), 1.0), sg::error);
    CHECK_THROWS_AS(sg::heavy(policy, p.a, p.b, 1e-6), sg::error); // below rounding
    p.a(1, 2) = std::numeric_limits<float>::infinity();
    CHECK_THROWS_AS(sg::heavy(policy, p.a, p.b, 1.0), sg::error);
}
