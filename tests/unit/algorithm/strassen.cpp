#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/stratagemm.hpp>

#include <array>
#include <complex>
#include <cstdint>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;
using support::product_of;

namespace {
using sg::strassen_variant;
constexpr strassen_variant variants[] = {strassen_variant::winograd, strassen_variant::strassen,
                                         strassen_variant::plain, strassen_variant::by_323,
                                         strassen_variant::by_424};

template <class T>
sg::shape<T> shape_of(sg::index_t m, sg::index_t n, sg::index_t k, bool adds = false) {
    sg::shape<T> s{m, n, k};
    s.adds = adds;
    return s;
}
} // namespace

TEST_CASE("the test vector of 2 x 2, in all forms") {
    double const a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    for (auto const variant : variants) {
        double c[4] = {};
        sg::gemm(sg::strassen{sg::reference{}, {.levels = 1, .variant = variant}}, sg::row_major(a, 2, 2),
                 sg::row_major(b, 2, 2), sg::row_major(c, 2, 2));
        CHECK(c[0] == 19);
        CHECK(c[1] == 22);
        CHECK(c[2] == 43);
        CHECK(c[3] == 50);
    }
}

TEMPLATE_TEST_CASE("integers are exact for every odd and even shape, form and depth", "", float, double,
                   std::complex<float>) {
    using T = TestType;
    constexpr sg::index_t step = support::sanitized ? 4 : 2;
    int wrong = 0;
    for (auto const variant : variants)
        for (int const levels : {1, 2, 3}) {
            sg::strassen const policy(sg::reference{}, {.levels = levels, .variant = variant});
            for (sg::index_t m = 1; m < 18; m += step)
                for (sg::index_t n = 1; n < 18; n += step)
                    for (sg::index_t k = 1; k < 18; k += step) {
                        auto const a = integers<T>(m, k + levels % 2, 1),
                                   b = integers<T>(k + levels % 2, n, 2);
                        auto const ab = product_of(a, b);
                        sg::matrix<T> c(m, n, [](sg::index_t, sg::index_t) { return T(1e9f); });
                        sg::gemm(policy, a, b, c);
                        wrong += !equal(c, ab);
                        sg::gemm(policy, T(2), a, b, T(-1), c); // 2 AB - AB
                        wrong += !equal(c, ab);
                        auto const e = integers<T>(m, n, 3);
                        sg::gemm(policy, a, b, e, c);
                        wrong += !equal(c, sg::matrix<T>(m, n, [&](sg::index_t i, sg::index_t j) {
                                            return ab(i, j) + e(i, j);
                                        }));
                    }
        }
    CHECK(wrong == 0);
}

TEST_CASE("workspace is what is needed: not less, and not more") {
    for (auto const variant : variants)
        for (int const levels : {1, 2, 3})
            for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{64, 64, 64},
                                          {33, 50, 71},
                                          {16, 100, 20},
                                          {100, 16, 20},
                                          {17, 17, 120},
                                          {9, 31, 8}})
                for (bool const adds : {false, true}) {
                    sg::strassen const policy(sg::reference{}, {.levels = levels, .variant = variant});
                    auto const a = integers<float>(m, k, 1), b = integers<float>(k, n, 2),
                               e = integers<float>(m, n, 3);
                    sg::matrix<float> c(m, n);
                    auto const use =
                        support::try_arena(policy, sg::product(1.0f, a, b, adds ? 1.0f : 0.0f, e, c));
                    CAPTURE(m, n, k, levels, adds);
                    CHECK(use.stayed_inside);
                    CHECK(use.used_up == (variant != strassen_variant::plain)); // over a base that needs none
                }
}

TEST_CASE("over the host, too, the arena is enough") {
    for (int const threads : {1, 2})
        for (auto const& [m, n, k] :
             {std::array<sg::index_t, 3>{130, 131, 132}, {65, 400, 33}, {301, 20, 299}}) {
            sg::strassen const policy(sg::host{.threads = threads}, {.levels = 2});
            auto const a = integers<float>(m, k, 1), b = integers<float>(k, n, 2);
            sg::matrix<float> c(m, n);
            CHECK(support::try_arena(policy, sg::product(a, b, c)).stayed_inside);
            CHECK(equal(c, product_of(a, b)));
            CHECK(support::try_arena(policy, sg::product(1.0f, a, b, -1.0f, c)).stayed_inside);
            CHECK(equal(c, sg::matrix<float>(m, n)));
        }
}

TEST_CASE("no level is the base itself") {
    sg::strassen const none(sg::reference{}, {.levels = 0});
    auto const s = shape_of<float>(50, 60, 70);
    CHECK(none.workspace(s) == sg::reference{}.workspace(s));
    CHECK(none.error_bound(s).worst == sg::reference{}.error_bound(s).worst);
    CHECK(!none.error_bound(s).normwise);
    // A side of one cannot be halved.
    sg::strassen const one(sg::reference{}, {.levels = 1});
    CHECK(one.workspace(shape_of<float>(1, 60, 70)).host == 0);
    CHECK(one.workspace(shape_of<float>(60, 1, 70)).host == 0);
    CHECK(one.workspace(shape_of<float>(60, 70, 1)).host == 0);
    CHECK(one.workspace(shape_of<float>(60, 70, 2)).host > 0);
}

TEST_CASE("the bound is normwise, and grows with the levels") {
    auto const s = shape_of<float>(256, 256, 256);
    double before = 0;
    for (int const levels : {1, 2, 3}) {
        auto const b = sg::strassen(sg::reference{}, {.levels = levels}).error_bound(s);
        CHECK(b.normwise);
        CHECK(b.expected <= b.worst);
        CHECK(b.worst > before);
        before = b.worst;
    }
}

TEST_CASE("what it accepts, and what it says") {
    using policy = sg::strassen<sg::reference>;
    static_assert(sg::takes<policy, sg::dense_problem<float, float, float>>);
    static_assert(
        sg::takes<policy,
                  sg::dense_problem<std::complex<double>, std::complex<double>, std::complex<double>>>);
    static_assert(
        !sg::takes<policy, sg::dense_problem<std::int8_t, std::int8_t, std::int32_t>>); // sums would not fit
    static_assert(!sg::takes<policy, sg::dense_problem<sg::half, sg::half, float>>);
    static_assert(std::is_same_v<decltype(sg::strassen{sg::strassen{sg::reference{}}}),
                                 sg::strassen<sg::strassen<sg::reference>>>);
    CHECK(contains(policy(sg::reference{}, {.levels = 2}).describe(shape_of<float>(64, 64, 64)), "2 levels"));
    CHECK(contains(policy(sg::reference{}).describe(shape_of<float>(64, 64, 64)), "reference"));
}

TEST_CASE("strassen over strassen is two levels") {
    auto const a = integers<double>(30, 22, 1), b = integers<double>(22, 27, 2);
    sg::matrix<double> c(30, 27), d(30, 27);
    sg::strassen const stacked{sg::strassen{sg::reference{}, {.levels = 1}}, {.levels = 1}};
    sg::gemm(stacked, a, b, c);
    CHECK(equal(c, product_of(a, b)));
    CHECK(support::try_arena(stacked, sg::product(a, b, d)).stayed_inside);
}

TEST_CASE("strassen applies an epilogue once to each element, with its place") {
    auto const a = integers<float>(21, 19, 1), b = integers<float>(19, 23, 2);
    auto const ab = product_of(a, b);
    sg::matrix<float> c(21, 23);
    for (auto const variant : variants) {
        sg::gemm(sg::strassen{sg::reference{}, {.levels = 2, .variant = variant}}, a, b, c,
                 [](float x, sg::index_t i, sg::index_t j) { return x + static_cast<float>(100 * i + j); });
        int wrong = 0;
        for (sg::index_t i = 0; i < 21; ++i)
            for (sg::index_t j = 0; j < 23; ++j)
                wrong += c(i, j) != ab(i, j) + static_cast<float>(100 * i + j);
        CHECK(wrong == 0);
    }
}

TEST_CASE("a form by 3, 2, 3 or by 4, 2, 4 divides what has as many rows, terms and columns") {
    sg::strassen const by_323(sg::reference{}, {.levels = 9, .variant = strassen_variant::by_323});
    CHECK(contains(by_323.describe(shape_of<float>(27, 27, 8)), "3 levels"));
    CHECK(contains(by_323.describe(shape_of<float>(26, 27, 8)), "2 levels"));
    CHECK(contains(by_323.describe(shape_of<float>(27, 26, 8)), "2 levels"));
    CHECK(contains(by_323.describe(shape_of<float>(27, 27, 7)), "2 levels"));
    sg::strassen const by_424(sg::reference{}, {.levels = 9, .variant = strassen_variant::by_424});
    CHECK(contains(by_424.describe(shape_of<float>(64, 64, 8)), "3 levels"));
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{64, 64, 8}, {83, 89, 23}, {28, 30, 20}}) {
        auto const a = integers<double>(m, k, 1), b = integers<double>(k, n, 2);
        auto const ab = product_of(a, b);
        sg::matrix<double> c(m, n);
        sg::gemm(by_323, a, b, c);
        CHECK(equal(c, ab));
        sg::gemm(by_424, 2, a, b, -1, c);
        CHECK(equal(c, ab));
    }
}

TEST_CASE("over sums and spreads of the host, every form is exact for integers, with and without E") {
    for (auto const variant : variants)
        for (int const levels : {1, 2})
            for (auto const& [m, n, k] :
                 {std::array<sg::index_t, 3>{36, 36, 16}, {97, 103, 61}, {150, 36, 900}}) {
                sg::strassen const policy(sg::host{}, {.levels = levels, .variant = variant});
                auto const a = integers<double>(m, k, 1), b = integers<double>(k, n, 2);
                auto const ab = product_of(a, b);
                sg::matrix<double> c(m, n);
                CHECK(support::try_arena(policy, sg::product(a, b, c)).stayed_inside);
                CHECK(equal(c, ab));
                CHECK(support::try_arena(policy, sg::product(2, a, b, -1, c)).stayed_inside);
                CHECK(equal(c, ab));
            }
}

TEST_CASE("Strassen's bound is counted from his table") {
    auto const& f = sg::bilinear_strassen.facts[0];
    CHECK(f.products == 12);
    CHECK(f.additions == 50);
    CHECK(f.mean_square == 20);
    CHECK(f.a_sums + f.b_sums + f.c_sums == 18);
    CHECK(!f.p_beside_s);
    CHECK(sg::bilinear_plain.facts[0].a_sums + sg::bilinear_plain.facts[0].c_sums == 0);
}

namespace {
// Two products of half the terms each: C = A1 B1 + A2 B2.
constexpr sg::bilinear_product two_lines[] = {{"a11", "b11", "c11"}, {"-a12", "-b21", "c11"}};
constexpr sg::bilinear two_halves{"halves of k", 1, 1, 2, two_lines};
} // namespace

TEST_CASE("a table of the caller's") {
    sg::strassen const policy(sg::host{}, {.levels = 3, .table = &two_halves});
    auto const a = integers<float>(19, 47, 1), b = integers<float>(47, 5, 2);
    sg::matrix<float> c(19, 5);
    sg::gemm(policy, a, b, c);
    CHECK(equal(c, product_of(a, b)));
    CHECK(contains(policy.describe(shape_of<float>(19, 5, 47)), "halves of k), 3 levels"));
    CHECK(policy.error_bound(shape_of<float>(19, 5, 47)).normwise);
}

namespace {
// Its additions are estimated to take no time, so that each level seems to pay.
struct only_multiplies : sg::reference {
    template <class S>
    double estimate(S const& s) const {
        return static_cast<double>(s.count * s.m * s.n) * static_cast<double>(s.k > 1 ? s.k : 0);
    }
};
} // namespace

TEST_CASE("automatic levels are the default, and are done where they seem to pay") {
    for (auto const variant : variants) {
        sg::strassen const policy(only_multiplies{}, {.variant = variant});
        sg::index_t const m = 131, n = 133, k = 67;
        auto const s = shape_of<float>(m, n, k);
        CAPTURE(static_cast<int>(variant));
        CHECK(contains(policy.describe(s), "0 levels") == (variant == strassen_variant::plain));
        auto const a = integers<float>(m, k, 1), b = integers<float>(k, n, 2);
        auto const ab = product_of(a, b);
        sg::matrix<float> c(m, n);
        CHECK(support::try_arena(policy, sg::product(a, b, c)).stayed_inside);
        CHECK(equal(c, ab));
        CHECK(support::try_arena(policy, sg::product(2, a, b, -1, c)).stayed_inside);
        CHECK(equal(c, ab));
    }
}

TEST_CASE("automatic levels: none where the base is estimated to be as fast, some for large products") {
    // Levels are chosen by what one thread takes.
    sg::host const one{.threads = 1};
    sg::strassen const policy{one};
    for (sg::index_t const n : {1, 2, 100, 500}) {
        auto const s = shape_of<float>(n, n, n);
        CHECK(contains(policy.describe(s), "0 levels"));
        CHECK(policy.estimate(s) == one.estimate(s));
        CHECK(policy.workspace(s) == one.workspace(s));
    }
    // On the host a level has to be estimated 3% faster than fewer levels.
    for (sg::index_t n = 256; n <= 65536; n *= 2) {
        auto const s = shape_of<float>(n, n, n);
        auto const with = [&](int levels) { return sg::strassen(one, {.levels = levels}).estimate(s); };
        double least = with(0);
        for (int levels = 1; levels <= 3; ++levels)
            if (with(levels) < 0.97 * least) least = with(levels);
        CAPTURE(n);
        CHECK(policy.estimate(s) == least);
    }
    auto const large = shape_of<float>(50000, 50000, 50000);
    CHECK(!contains(policy.describe(large), "0 levels"));
    CHECK(policy.estimate(large) < one.estimate(large));
    auto const a = integers<float>(70, 60, 1), b = integers<float>(60, 50, 2);
    sg::matrix<float> c(70, 50);
    sg::gemm(policy, a, b, c);
    CHECK(equal(c, product_of(a, b)));
    CHECK(!sg::try_gemm(sg::strassen(sg::host{}, {.levels = -2}), a, b, c));
}
