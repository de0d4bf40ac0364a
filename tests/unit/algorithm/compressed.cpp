#include "catch.hpp"
#include "unit/algorithm/compressed_cases.hpp"
#include "unit/algorithm/host_place.hpp"
#include "unit/support.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sg = stratagemm;
namespace parts = stratagemm::compressed_parts;
using approximations::distance;
using approximations::norm_of;
using compressed_cases::normal_matrix;
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

TEST_CASE("compressed: estimates are unbiased, and their variance is at most |A B|^2 / b", "[unit][trials]") {
    auto const a = normal_matrix<double>(9, 4, 1), b = normal_matrix<double>(4, 13, 2);
    auto const c = support::product_of(a, b);
    int const trials = support::sanitized ? 300 : 10000;
    for (compressed_form const form : forms) {
        sg::matrix<double> sum(9, 13, [](index_t, index_t) { return 0.0; }), squares = sum;
        for (int t = 0; t < trials; ++t) {
            auto const x =
                host_place::estimates<double>({6, 1}, static_cast<std::uint64_t>(t), a, b, 1, form);
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

TEST_CASE("compressed: a tolerance is kept without a number of elements, whatever the data",
          "[unit][trials]") {
    int const trials = support::sanitized ? 10 : 1000;
    int missed = 0;
    for (int t = 0; t < trials; ++t) {
        auto a = normal_matrix<float>(18, 20, static_cast<std::uint64_t>(2 * t)),
             b = normal_matrix<float>(20, 11, static_cast<std::uint64_t>(2 * t + 1));
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
    auto const a = normal_matrix<float>(60, 50, 1), b = normal_matrix<float>(50, 70, 2);
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

TEMPLATE_TEST_CASE("compressed: buckets are those of the definition", "[unit]", float, double) {
    compressed_cases::buckets_are_those_of_the_definition<TestType>(host_place{});
}
TEMPLATE_TEST_CASE("compressed: factors, E, epilogues, layouts", "[unit]", float, double) {
    compressed_cases::options_are_as_elsewhere<TestType>(host_place{});
}
TEST_CASE("compressed: products that were planted are found as often as the confidence says",
          "[unit][trials]") {
    compressed_cases::planted_products_are_found(host_place{}, support::sanitized ? 30 : 1000,
                                                 compressed_form::walsh_hadamard);
    compressed_cases::planted_products_are_found(host_place{}, support::sanitized ? 30 : 300,
                                                 compressed_form::fourier);
}
TEST_CASE("compressed: refused, exact, certified; and bad input", "[unit]") {
    compressed_cases::refusals_and_exact_products(host_place{});
}
TEMPLATE_TEST_CASE("heavy: the large elements of a product, and no others", "[unit]", float, double) {
    for (compressed_form const form : forms)
        compressed_cases::heavy_finds_the_large_elements<TestType>(host_place{}, form);
}
