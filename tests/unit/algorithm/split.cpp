#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>

namespace sg = stratagemm;
using support::contains;
using support::same_bits;

namespace {

using matrix = sg::matrix<float>;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Sums in double are exact enough to measure float by.
double error(matrix const& a, matrix const& b, matrix const& c) {
    double worst = 0;
    for (sg::index_t i = 0; i < a.rows(); ++i)
        for (sg::index_t j = 0; j < b.cols(); ++j) {
            double sum = 0, size = 0;
            for (sg::index_t l = 0; l < a.cols(); ++l) {
                double const term = static_cast<double>(a(i, l)) * b(l, j);
                sum += term, size += std::fabs(term);
            }
            if (size > 0) worst = std::max(worst, std::fabs(c(i, j) - sum) / size);
        }
    return worst;
}

// (u - 1/2) exp(phi g) 2^scale
matrix draw(sg::index_t m, sg::index_t n, unsigned seed, double phi = 0, int scale = 0) {
    return support::random_matrix<float>(
        m, n, seed, sg::layout::row_major,
        [&](support::random_source& from) { return std::ldexp(from.spread(phi), scale); });
}

template <class Policy>
matrix multiply(Policy const& policy, matrix const& a, matrix const& b) {
    matrix c(a.rows(), b.cols());
    sg::gemm(policy, a, b, c);
    return c;
}

auto counted(int products, sg::split_report* report = nullptr) {
    return sg::split{sg::host{.threads = 1}, {.products = products, .report = report}};
}

// bfloat16 products take `factor`, those of int8 `integers`, others 7.
struct timed : untiled {
    double factor = 1, integers = 1;
    template <class S>
    double estimate(S const&) const {
        using T = typename S::a_type;
        return std::is_same_v<T, sg::bfloat16> ? factor : std::is_same_v<T, std::int8_t> ? integers : 7;
    }
};

} // namespace

TEST_CASE("three bfloat16 hold a float") {
    matrix const x(1, 64, [](sg::index_t, sg::index_t j) {
        return static_cast<float>(
            std::ldexp(1 + static_cast<double>(j * j * 33331 % 8388607) * 0x1p-23, static_cast<int>(j) - 30));
    });
    sg::split_parts::sixteen parts[3 * 4];
    std::int32_t odd = 0;
    sg::split_parts::take_apart const f{x.view(), 1, parts, 12, 4, 3, &odd};
    for (sg::index_t j = 0; j < 4; ++j) parts[j] = f({}, 0, j);
    int wrong = 0;
    for (sg::index_t j = 0; j < 64; ++j) {
        auto const part = [&](int t) { return static_cast<float>(parts[4 * t + j / 16].at[j % 16]); };
        wrong += part(0) + (part(1) + part(2)) != x(0, j);
        wrong += !(std::fabs(part(1)) <= 0x1p-8f * x(0, j)) + !(std::fabs(part(2)) <= 0x1p-17f * x(0, j));
    }
    CHECK(wrong == 0);
    CHECK(odd == 0);
    for (float const y : {0x1p-41f, 0x1p48f, infinity, std::nanf(""), -0x1p-149f}) {
        odd = 0;
        sg::split_parts::take_apart{sg::row_major(&y, 1, 1), 1, parts, 3, 1, 3, &odd}({}, 0, 0);
        CHECK(odd == 1);
    }
}

TEST_CASE("of bfloat16, int8 and native products the fastest runs, as estimated") {
    matrix const a = draw(70, 200, 1), b = draw(200, 50, 2);
    double const native = error(a, b, multiply(sg::host{.threads = 1}, a, b));
    struct {
        double bfloats, integers;
        int parts;
        std::string_view ran;
    } const cases[] = {
        {1, 1, 6, "native"}, {2, 1, 0, "native"}, {1, 0.1, 0, "moduli"}, {0.1, 0.1, 6, "native"}};
    for (auto const& x : cases) {
        timed cpu;
        cpu.threads = 1, cpu.factor = x.bfloats, cpu.integers = x.integers;
        sg::split_report parts;
        sg::ozaki_report integers;
        matrix const c = multiply(sg::ozaki{sg::split{cpu, {.report = &parts}},
                                            {.accuracy = sg::accuracy::fp32, .report = &integers}},
                                  a, b);
        CHECK(parts.products == x.parts);
        CHECK(integers.ran == x.ran);
        CHECK(error(a, b, c) <= 1.5 * native);
    }
}

TEST_CASE("more products of parts, less error") {
    matrix const a = draw(70, 200, 1), b = draw(200, 50, 2);
    double const native = error(a, b, multiply(sg::host{.threads = 1}, a, b));
    double const three = error(a, b, multiply(counted(3), a, b)),
                 six = error(a, b, multiply(counted(6), a, b)),
                 nine = error(a, b, multiply(counted(9), a, b));
    CHECK(three < 0x1p-17);
    CHECK(three > 4 * six);
    CHECK(six <= 1.5 * native);
    CHECK(nine <= 1.5 * native);
    // One term: nothing but what is left out, and the roundings of C.
    matrix const row = draw(300, 1, 3), column = draw(1, 300, 4);
    CHECK(error(row, column, multiply(counted(3), row, column)) < 0x1.02p-15 + 0x1p-23);
    CHECK(error(row, column, multiply(counted(3), row, column)) > 0x1p-18);
    CHECK(error(row, column, multiply(counted(6), row, column)) < 0x1p-24 + 0x1.8p-23);
    CHECK(error(row, column, multiply(counted(9), row, column)) < 0x1.8p-23);
}

TEST_CASE("spread exponents, and magnitudes far from one") {
    for (double const phi : {0.5, 1.0, 2.0, 4.0})
        for (int const scale : {-60, 0, 50}) {
            matrix const a = draw(40, 100, 5, phi, scale), b = draw(100, 30, 6, phi, -scale / 2);
            sg::split_report ran;
            matrix const c = multiply(counted(6, &ran), a, b);
            INFO("phi " << phi << ", scale " << scale << ": " << ran.reason);
            CHECK(ran.products == 6);
            CHECK(error(a, b, c) <= 1.5 * error(a, b, multiply(sg::host{.threads = 1}, a, b)));
        }
}

TEST_CASE("what parts cannot hold is left to the base") {
    struct {
        float value, other;
        char const* reason;
    } const cases[] = {{infinity, 1, "Inf"},
                       {std::nanf(""), 1, "Inf"},
                       {0x1p-149f, 0x1p30f, "spread"},
                       {0x1p120f, 1, "spread"},
                       {0x1p-60f, 0x1p60f, "spread"},
                       {0x1p-130f, 0, "subnormal"},
                       {0x1p126f, 0x1p127f, "overflow"}};
    for (auto const& x : cases) {
        matrix a = draw(20, 30, 7), b = draw(30, 10, 8);
        if (x.other != 1) std::fill(a.data(), a.data() + 600, x.other);
        a(3, 4) = x.value;
        if (x.value == 0x1p126f) std::fill(b.data(), b.data() + 300, 8.0f);
        sg::split_report ran{.products = 6};
        matrix const c = multiply(counted(6, &ran), a, b);
        INFO(x.value << " among " << x.other << ": " << ran.reason);
        CHECK(ran.products == 0);
        CHECK(contains(ran.reason, x.reason));
        CHECK(same_bits(c, multiply(sg::host{.threads = 1}, a, b)));
    }
    matrix const zero(20, 30), b = draw(30, 10, 8);
    CHECK(error(zero, b, multiply(counted(6), zero, b)) == 0);
    matrix c(20, 10);
    sg::split_report ran{.products = 6};
    sg::gemm(counted(6, &ran), 0x1p-140f, draw(20, 30, 7, 0, 60), b, 0.0f, c);
    CHECK(ran.products == 0);
}

TEST_CASE("accuracy chooses the number of products") {
    matrix const a = draw(30, 30, 9), b = draw(30, 30, 10);
    sg::split_report ran;
    auto const with = [&](sg::accuracy accuracy) {
        multiply(sg::split{eager{untiled{{.threads = 1}}}, {.accuracy = accuracy, .report = &ran}}, a, b);
        return ran.products;
    };
    CHECK(with(sg::accuracy::fp32) == 6);
    CHECK(contains(ran.reason, "fewest"));
    CHECK(with(sg::accuracy::fp64) == 6); // C is float
    CHECK(with(sg::accuracy::bits(14)) == 3);
    CHECK(with(sg::accuracy::bits(15)) == 6);
    CHECK(with(sg::accuracy::relative(1e-3)) == 3);
    multiply(counted(9, &ran), a, b);
    CHECK(ran.products == 9);
    CHECK(contains(ran.reason, "options"));
}

TEST_CASE("the leaf says whether native is faster") {
    matrix const a = draw(30, 30, 11), b = draw(30, 30, 12);
    sg::split_report ran;
    timed base;
    base.factor = 1;
    multiply(sg::split{base, {.report = &ran}}, a, b);
    CHECK(ran.products == 6);
    base.factor = 1.2;
    multiply(sg::split{base, {.report = &ran}}, a, b);
    CHECK(ran.products == 0);
    CHECK(contains(ran.reason, "faster"));
    multiply(sg::split{base, {.products = 9, .report = &ran}}, a, b);
    CHECK(ran.products == 9);
}

TEST_CASE("split: what cannot be asked for") {
    matrix const a(4, 4), b(4, 4);
    matrix c(4, 4, [](sg::index_t, sg::index_t) { return 7; });
    auto const refused = [&](sg::split_options options) {
        auto const r = sg::try_gemm(sg::split{sg::host{}, options}, a, b, c);
        return !r && r.error().code() == sg::errc::argument && c(1, 1) == 7 ? std::string(r.error().what())
                                                                            : "";
    };
    CHECK(contains(refused({.products = 4}), "3, 6 or 9"));
    CHECK(contains(refused({.products = -3}), "3, 6 or 9"));
    CHECK(contains(refused({.accuracy = sg::accuracy::bits(200)}), "2 to 53 bits"));
    CHECK(contains(refused({.accuracy = sg::accuracy::relative(1)}), "2 to 53 bits"));
}

TEST_CASE("split: what it says and needs") {
    sg::shape<float> const s{100, 90, 80};
    CHECK(contains(sg::split{sg::host{}}.describe(s), "split: 6 products of 3 parts; host: "));
    CHECK(contains(counted(3).describe(s), "3 products of 2 parts"));
    CHECK(contains(sg::split{sg::host{}}.describe(s), "natively"));
    CHECK(counted(3).workspace(s).host < counted(6).workspace(s).host);
    CHECK(counted(6).workspace(s) == counted(9).workspace(s));
    CHECK(counted(3).error_bound(s).worst > 2 * counted(6).error_bound(s).worst);
    CHECK_FALSE(counted(6).error_bound(s).normwise);
    using doubles = sg::dense_problem<double, double, double>;
    CHECK_FALSE(sg::takes<sg::split<sg::host>, doubles>);
    CHECK(sg::takes<sg::split<sg::recursive<sg::host>>, sg::dense_problem<float, float, float>>);
}

TEST_CASE("split: the arena is as large as it has to be, and no larger") {
    for (int const products : {3, 6, 9})
        for (sg::index_t const m : {5, 40}) {
            matrix const a = draw(m, 600, 16, 0, 60), b = draw(600, 33, 17); // scaled, so measured too
            matrix c(m, 33);
            auto const use = support::try_arena(counted(products), sg::product(a, b, c));
            CHECK(use.stayed_inside);
        }
}

TEST_CASE("split: the same bits every time, for any threads, any layout") {
    matrix const a = draw(130, 700, 13), b = draw(700, 90, 14);
    matrix const first = multiply(counted(6), a, b);
    for (int i = 0; i < 20; ++i) {
        sg::split const two{sg::host{.threads = 2}, {.products = 6}};
        CHECK(same_bits(multiply(i % 2 ? two : counted(6), a, b), first));
    }
    matrix at(700, 130), bt(90, 700), c(130, 90);
    for (sg::index_t i = 0; i < 130; ++i)
        for (sg::index_t l = 0; l < 700; ++l) at(l, i) = a(i, l);
    for (sg::index_t l = 0; l < 700; ++l)
        for (sg::index_t j = 0; j < 90; ++j) bt(j, l) = b(l, j);
    sg::gemm(counted(6), sg::transposed(at), sg::transposed(bt), c);
    CHECK(same_bits(c, first));
}

TEST_CASE("split: complex, with everything") {
    using complex = std::complex<float>;
    sg::matrix<complex> a(9, 21), b(21, 8), e(9, 8), c(9, 8), want(9, 8);
    matrix const re = draw(21, 60, 15);
    auto const fill = [&](sg::matrix<complex>& x, sg::index_t from) {
        for (sg::index_t i = 0; i < x.rows(); ++i)
            for (sg::index_t j = 0; j < x.cols(); ++j) x(i, j) = {re(j, i + from), re(i, j + from + 9)};
    };
    fill(a, 0), fill(b, 18), fill(e, 40);
    complex const alpha(0.5f, -2), beta(1, 0.25f);
    auto const twice = [](complex x) { return x * 2.0f; };
    sg::gemm(counted(6), alpha, sg::conjugated(a), b, beta, e, c, twice);
    sg::gemm(sg::reference{}, alpha, sg::conjugated(a), b, beta, e, want, twice);
    for (sg::index_t i = 0; i < 9; ++i)
        for (sg::index_t j = 0; j < 8; ++j) CHECK(std::abs(c(i, j) - want(i, j)) < 2e-5f);
}

TEMPLATE_TEST_CASE("split: an epilogue does as it would to the finished C", "", float, std::complex<float>) {
    using T = TestType;
    auto const a = support::integers<T>(70, 40, 1), b = support::integers<T>(40, 45, 2),
               e = support::integers<T>(70, 45, 3);
    for (int products : {3, 6, 9})
        for (T const beta : {T(0), T(0.3f)}) {
            CHECK(support::finishes(sg::split{sg::host{.threads = 2}, {.products = products}}, a, b, e,
                                    T(1.5f), beta));
            CHECK(support::finishes(sg::split{sg::reference{}, {.products = products}}, a, b, e, T(1), beta));
        }
}
