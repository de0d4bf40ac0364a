#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/stratagemm.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::fractions;
using support::integers;
using support::product_of;
using support::same_bits;

namespace {

constexpr sg::recursive_options tiny{.leaf_bytes = 2000};
sg::recursive<sg::reference> const policy(sg::reference{}, tiny);

} // namespace

TEMPLATE_TEST_CASE("integers are exact, whatever is divided", "", float, double, std::complex<float>) {
    using T = TestType;
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{60, 60, 60},
                                  {1, 1, 3000},
                                  {1, 900, 5},
                                  {900, 1, 5},
                                  {37, 3, 301},
                                  {129, 127, 2}}) {
        auto const a = integers<T>(m, k, 1), b = integers<T>(k, n, 2), e = integers<T>(m, n, 3);
        auto const ab = product_of(a, b);
        sg::matrix<T> c(m, n);
        sg::gemm(policy, a, b, c);
        CHECK(equal(c, ab));
        sg::gemm(policy, T(2), a, b, T(-1), c);
        CHECK(equal(c, ab));
        sg::gemm(policy, a, b, e, c);
        CHECK(
            equal(c, sg::matrix<T>(m, n, [&](sg::index_t i, sg::index_t j) { return ab(i, j) + e(i, j); })));
    }
}

TEST_CASE("the bits of the base, where k stays whole") {
    auto const a = fractions<float>(200, 4, 1), b = fractions<float>(4, 150, 2);
    sg::matrix<float> c(200, 150), d(200, 150);
    sg::gemm(policy, a, b, c);
    sg::gemm(sg::reference{}, a, b, d);
    CHECK(same_bits(c, d));
    // A narrow C is not a place to add up in: k is not divided.
    auto const x = fractions<sg::half>(30, 2000, 1), y = fractions<sg::half>(2000, 30, 2);
    sg::matrix<sg::half> z(30, 30), w(30, 30);
    sg::gemm(policy, x, y, z);
    sg::gemm(sg::reference{}, x, y, w);
    CHECK(same_bits(z, w));
}

TEST_CASE("int8 products are exact when k is divided") {
    sg::matrix<std::int8_t> const a(
        9, 1000, [](sg::index_t i, sg::index_t j) { return static_cast<std::int8_t>(i * 31 + j * 17); });
    sg::matrix<std::int8_t> const b(
        1000, 7, [](sg::index_t i, sg::index_t j) { return static_cast<std::int8_t>(i * 13 - j * 29); });
    sg::matrix<std::int32_t> c(9, 7), d(9, 7);
    sg::gemm(policy, a, b, c);
    sg::gemm(sg::reference{}, a, b, d);
    CHECK(same_bits(c, d));
}

TEST_CASE("recursion applies an epilogue once to each element, with its place") {
    auto const a = integers<float>(50, 300, 1), b = integers<float>(300, 40, 2);
    auto const ab = product_of(a, b);
    sg::matrix<float> c(50, 40);
    sg::gemm(policy, a, b, c,
             [](float x, sg::index_t i, sg::index_t j) { return x + static_cast<float>(100 * i + j); });
    int wrong = 0;
    for (sg::index_t i = 0; i < 50; ++i)
        for (sg::index_t j = 0; j < 40; ++j) wrong += c(i, j) != ab(i, j) + static_cast<float>(100 * i + j);
    CHECK(wrong == 0);
}

TEST_CASE("recursion needs no workspace of its own, and its base's is enough") {
    sg::shape<float> const s{300, 300, 300};
    CHECK(policy.workspace(s).host == 0);
    for (int const threads : {1, 2}) {
        sg::recursive const over_host(sg::host{.threads = threads},
                                      sg::recursive_options{.leaf_bytes = 60000});
        auto const a = integers<float>(201, 203, 1), b = integers<float>(203, 199, 2);
        sg::matrix<float> c(201, 199);
        CHECK(support::try_arena(over_host, sg::product(a, b, c)).stayed_inside);
        CHECK(equal(c, product_of(a, b)));
        CHECK(over_host.workspace(s).host <= sg::host{.threads = threads}.workspace(s).host);
    }
}

TEST_CASE("each division of k is in the bound") {
    for (bool const adds : {false, true}) {
        sg::shape<float> s{10, 10, 64};
        s.adds = adds;
        double const base = sg::reference{}.error_bound(s).worst;
        sg::recursive const halves(sg::reference{}, sg::recursive_options{.leaf_bytes = 5000});
        CHECK(contains(halves.describe(s), "10 x 10 x 32"));
        CHECK(halves.error_bound(s).worst > 1.5 * base);
        CHECK(halves.error_bound(s).expected <= halves.error_bound(s).worst);
    }
    // m and n may be divided at no cost.
    sg::shape<float> const flat{1000, 1000, 4};
    CHECK(policy.error_bound(flat).worst == sg::reference{}.error_bound(flat).worst);
}

// Sums of positive terms grow, so that each rounding of C is one of the whole sum.
TEST_CASE("errors of positive data are what is expected, of vectors too") {
    auto const positive = [](sg::index_t m, sg::index_t n, std::uint64_t seed, sg::layout order) {
        return support::random_matrix<float>(
            m, n, seed, order, [](support::random_source& from) { return from.uniform(0.1, 1.1); });
    };
    for (std::size_t const leaf_bytes : {65536u, 4096u, 64u})
        for (auto const order : {sg::layout::row_major, sg::layout::col_major})
            for (auto const& [m, n, k] :
                 {std::array<sg::index_t, 3>{500, 1, 2000}, {1, 500, 2000}, {20, 20, 2000}}) {
                sg::recursive const divided(sg::host{.threads = 1}, {.leaf_bytes = leaf_bytes});
                auto const a = positive(m, k, 1, order), b = positive(k, n, 2, order);
                sg::matrix<float> c(m, n);
                sg::gemm(divided, a, b, c);
                sg::matrix<double> exact(m, n);
                sg::gemm(sg::reference{}, a, b, exact);
                double most = 0;
                for (sg::index_t i = 0; i < m * n; ++i) {
                    double const off = std::abs(c.data()[i] / exact.data()[i] - 1);
                    most = off > most ? off : most;
                }
                CAPTURE(leaf_bytes, order == sg::layout::row_major, m, n);
                CHECK(most <= divided.error_bound(sg::shape<float>{m, n, k}).expected);
            }
}

TEST_CASE("what fits is left to the base") {
    sg::shape<float> const s{100, 100, 100};
    sg::recursive const large{sg::reference{}};
    CHECK(large.error_bound(s).worst == sg::reference{}.error_bound(s).worst);
    CHECK(contains(large.describe(s), "reference"));
    static_assert(std::is_same_v<decltype(sg::recursive{sg::recursive{sg::reference{}}}),
                                 sg::recursive<sg::recursive<sg::reference>>>);
}

namespace {

std::size_t const limits[] = {20000, 60000, 200000, 1000000};

template <class Policy>
void check_limit(Policy const& base, sg::index_t m, sg::index_t n, sg::index_t k, std::size_t limit,
                 bool same) {
    CAPTURE(m, n, k, limit);
    sg::recursive const policy{base, {.workspace_bytes = limit}};
    sg::shape<double> const s{m, n, k}, least{m < 63 ? m : 63, n < 63 ? n : 63, k};
    std::size_t const needed = base.workspace(least).host;
    CHECK(policy.workspace(s).host <= (needed < limit ? limit : needed));
    CHECK(policy.workspace(s).host <= base.workspace(s).host);
    auto const a = fractions<double>(m, k, 1), b = fractions<double>(k, n, 2);
    sg::matrix<double> c(m, n), expected(m, n);
    CHECK(support::try_arena(policy, sg::product(a, b, c)).stayed_inside);
    sg::gemm(base, a, b, expected);
    if (same) {
        CHECK(same_bits(c, expected));
        return;
    }
    double worst = 0;
    for (sg::index_t i = 0; i < m * n; ++i) {
        double const off = c.data()[i] - expected.data()[i];
        worst = off > worst ? off : -off > worst ? -off : worst;
    }
    CHECK(worst <= 2 * policy.error_bound(s).worst * static_cast<double>(k) / 4);
}

} // namespace

TEST_CASE("workspace below a limit, by blocks of C, to the same bits") {
    for (auto const& [m, n, k] :
         {std::array<sg::index_t, 3>{300, 200, 40}, {129, 1, 64}, {1, 257, 33}, {65, 70, 500}, {10, 10, 9}})
        for (std::size_t const limit : limits) {
            if (support::sanitized && (m == 129 || limit > limits[1])) continue;
            check_limit(sg::ozaki{sg::reference{}, {.moduli = 15}}, m, n, k, limit, true);
            check_limit(sg::ozaki{sg::host{.threads = 2}, {.moduli = 9}}, m, n, k, limit, true);
            check_limit(sg::ozaki{sg::host{.threads = 1}, {.slices = 3}}, m, n, k, limit, true);
            check_limit(sg::ozaki{eager<sg::reference>{}}, m, n, k, limit,
                        false); // each block measured by itself
        }
    // A limit that nothing meets: as small as blocks get, and no smaller.
    sg::recursive const tight{sg::ozaki{sg::reference{}, {.moduli = 15}}, {.workspace_bytes = 1}};
    CHECK(contains(tight.describe(sg::shape<double>{300, 200, 40}), "blocks such as "));
    CHECK(tight.workspace(sg::shape<double>{300, 200, 40}).host > 40 * 2 * 16);
    check_limit(sg::ozaki{sg::reference{}, {.moduli = 3}}, 130, 140, 20, 1, true);
}

TEST_CASE("a limit for workspace holds for a batch, which is taken one by one where it has to be") {
    sg::host const cpu{.threads = 2};
    sg::index_t const m = 40, count = 6;
    auto const a = fractions<float>(count * m, m, 1), b = fractions<float>(m, m, 2);
    sg::matrix<float> c(count * m, m), expected(count * m, m);
    auto const into = [&](sg::matrix<float>& x) {
        return sg::product(sg::batched(sg::row_major(a.data(), m, m), count, m * m), b,
                           sg::batched(sg::row_major(x.data(), m, m), count, m * m));
    };
    sg::gemm(cpu, sg::batched(sg::row_major(a.data(), m, m), count, m * m), b,
             sg::batched(sg::row_major(expected.data(), m, m), count, m * m));
    auto const shape = into(c).shape();
    auto one = shape;
    one.count = 1;
    for (std::size_t const limit :
         {cpu.workspace(shape).host, cpu.workspace(shape).host - 1, cpu.workspace(one).host}) {
        sg::recursive const policy{cpu, {.workspace_bytes = limit}};
        // With one thread a batch takes no more than each of its products, and these are too small to be divided.
        CHECK(policy.workspace(shape).host <= sg::larger(limit, cpu.workspace(one).host));
        CHECK(support::try_arena(policy, into(c)).stayed_inside);
        CHECK(same_bits(c, expected));
    }
}
