// `compressed` with sparse operands.
#include "catch.hpp"
#include "unit/algorithm/compressed_cases.hpp"
#include "unit/algorithm/host_place.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/coo.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace sg = stratagemm;
namespace parts = stratagemm::compressed_parts;
using approximations::distance;
using approximations::norm_of;
using planting::cancelling;
using sg::index_t;
using support::same_bits;

TEMPLATE_TEST_CASE("compressed, sparse: the sketches are those of the same matrices", "[unit]", float,
                   double) {
    using R = TestType;
    struct sides {
        index_t m, n, k;
        int bits, sketches;
    } const all[] = {
        {1, 1, 1, 6, 1}, {5, 7, 3, 6, 3}, {64, 64, 64, 6, 1}, {37, 200, 130, 9, 3}, {3, 1000, 50, 7, 1}};
    for (auto const& s : all) {
        auto const a = support::uniform_sparse<R>(s.m, s.k, 0.3, 1),
                   b = support::uniform_sparse<R>(s.k, s.n, 0.3, 2);
        auto const x = a.dense(), y = b.dense();
        parts::sketch_size const size{s.bits, s.sketches};
        auto const expected = host_place::estimates<R>(size, 5, x, y);
        double const allowed = 100 * static_cast<double>(std::numeric_limits<R>::epsilon()) *
                               (norm_of(x) * norm_of(y) + norm_of(expected));
        INFO(s.m << " x " << s.n << " x " << s.k);
        CHECK(distance(host_place::estimates<R>(size, 5, a.view(), b.view()), expected) <= allowed);
        CHECK(distance(host_place::estimates<R>(size, 5, a.view(), y), expected) <= allowed);
        CHECK(distance(host_place::estimates<R>(size, 5, x, b.view()), expected) <= allowed);
    }
}

TEST_CASE("compressed, sparse: the same bits on any number of threads", "[unit]") {
    auto const a = support::uniform_sparse<float>(90, 200, 0.2, 1),
               b = support::uniform_sparse<float>(200, 70, 0.2, 2);
    auto const one = host_place::estimates<float>({8, 5}, 3, a.view(), b.view());
    for (int const threads : {2, 3, 7})
        CHECK(same_bits(one, host_place::estimates<float>({8, 5}, 3, a.view(), b.view(), threads)));
    CHECK(!same_bits(one, host_place::estimates<float>({8, 5}, 4, a.view(), b.view())));
}

TEST_CASE("compressed, sparse: products that were planted are found as often as the confidence says",
          "[unit]") {
    int const trials = support::sanitized ? 20 : 300;
    sg::host const cpu{.threads = 1};
    sg::compressed_options const options{};
    int missed = 0;
    for (int t = 0; t < trials; ++t) {
        cancelling<float> const p(20, 30, 4, 12, 0.5, static_cast<std::uint64_t>(t));
        parts::work<sg::host, float, sg::csr<float>> const work(cpu, options, p.a.view(), p.b.view());
        auto const made = work.plan_for(static_cast<double>(p.nonzeros()), 0.1);
        REQUIRE(made.size.sketches > 0);
        auto const c =
            host_place::estimates<float>(made.size, static_cast<std::uint64_t>(t), p.a.view(), p.b.view());
        missed += distance(c, p.c) > 1e-4 * p.norms();
    }
    CHECK(missed <= trials / 10);
}

TEMPLATE_TEST_CASE("compressed, sparse: factors, E, epilogues, formats and layouts", "[unit]", float,
                   double) {
    compressed_cases::sparse_options_are_as_elsewhere<TestType>(host_place{});
}
TEST_CASE("compressed, sparse: refused, exact, certified; and bad input", "[unit]") {
    compressed_cases::sparse_refusals_and_exact_products(host_place{});
    compressed_cases::a_certificate_finds_more_sparse_elements(host_place{});
}
TEMPLATE_TEST_CASE("heavy, sparse: the large elements of a product, and no others", "[unit]", float, double) {
    compressed_cases::heavy_finds_them_of_lists<TestType>(host_place{});
}
