// Run twice: with the kernels of this machine, and with STRATAGEMM_ISA=amx, where operands are kept as packed tiles.
#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/quantized.hpp>
#include <stratagemm/stratagemm.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace sg = stratagemm;
using support::contains;
using support::same_bits;

namespace {

bool here() {
    if (sg::current_isa().available) return true;
    std::puts("skipped: no AVX-512 here to emulate the tile unit with");
    return false;
}

template <class T>
sg::matrix<T> draw(sg::index m, sg::index n, unsigned seed, sg::layout order = sg::layout::row_major) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> u(-0.5, 0.5);
    return sg::matrix<T>(
        m, n,
        [&](sg::index, sg::index) {
            if constexpr (sg::complex_like<T>)
                return T(static_cast<sg::real_t<T>>(u(random)), static_cast<sg::real_t<T>>(u(random)));
            else
                return static_cast<T>(u(random) * std::exp(3 * u(random)));
        },
        order);
}

// A product with B kept and one with A kept, against the layer beneath.
template <class Base, class A, class B, class E, class T, class... Epilogue>
void check(sg::ozaki<Base> const& policy, T alpha, A const& a, B const& b, T beta, E const& e, sg::index m,
           sg::index n, Epilogue const&... epilogue) {
    sg::quantized const by_a{policy, a, sg::kept::a};
    sg::quantized const by_b{policy, b};
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        sg::matrix<T> expected(m, n, order), c(m, n, order), d(m, n, order);
        sg::gemm(policy, alpha, a, b, beta, e, expected, epilogue...);
        for (int twice = 0; twice < 2; ++twice) {
            sg::gemm(by_a, alpha, a, b, beta, e, c, epilogue...);
            sg::gemm(by_b, alpha, a, b, beta, e, d, epilogue...);
            CHECK(same_bits(c, expected));
            CHECK(same_bits(d, expected));
        }
    }
}

template <class F>
void over_bases(F const& f) {
    f(sg::host{.threads = 1});
    f(sg::host{.threads = 2});
    f(eager{untiled{{.threads = 3}}}); // no leaf that packs
    f(sg::reference{});
}

} // namespace

TEMPLATE_TEST_CASE("a kept operand gives the bits of ozaki", "", float, double, std::complex<float>,
                   std::complex<double>) {
    if (!here()) return;
    using T = TestType;
    using order = sg::layout;
    for (auto const& [m, n, k] :
         {std::array<sg::index, 3>{1, 1, 1}, {37, 45, 70}, {3, 130, 64}, {130, 3, 65}, {64, 64, 128}})
        for (int const count : {2, 8, 15, 20})
            for (int const turned : {0, 1, 2, 3}) {
                if (turned > 0 && (m != 37 || count != 15)) continue;
                CAPTURE(m, n, k, count, turned);
                auto const a = draw<T>(m, k, 1, turned & 1 ? order::col_major : order::row_major),
                           b = draw<T>(k, n, 2, turned & 2 ? order::col_major : order::row_major),
                           e = draw<T>(m, n, 3);
                over_bases([&](auto const& base) {
                    sg::ozaki const policy{base, {.moduli = count}};
                    check(policy, T(1), a, b, T(0), e, m, n);
                    if (m == 37 && count == 15) check(policy, T(0.3f), a, b, T(-1.7f), e, m, n);
                });
            }
    auto const a = draw<T>(37, 70, 1), b = draw<T>(70, 45, 2), e = draw<T>(37, 45, 3);
    over_bases([&](auto const& base) {
        sg::ozaki const policy{base, {.moduli = 9}};
        check(policy, T(0.3f), sg::conjugated(a), sg::conjugated(b), T(1), sg::conjugated(e), 37, 45);
        check(policy, T(1), sg::scaled(T(2), a), sg::scaled(T(0.1f), b), T(1), e, 37, 45);
        check(policy, T(1), a, b, T(0), e, 37, 45,
              [](T x, sg::index i, sg::index j) { return x + T(static_cast<sg::real_t<T>>(i * 100 + j)); });
        check(policy, T(0), a, b, T(2), e, 37, 45);
    });
}

TEST_CASE("strides of any sign, and products on more threads than blocks") {
    if (!here()) return;
    auto const all = draw<double>(120, 200, 5);
    sg::index const m = 37, n = 45, k = 40;
    auto const a = sg::strided(all.data() + 7 + 2 * (k - 1), m, k, 200, -2),
               b = sg::strided(all.data() + 3 + 200 * (k - 1), k, n, -200, 3);
    check(sg::ozaki{sg::host{.threads = 5}, {.moduli = 15}}, 1.0, a, b, 0.0, draw<double>(m, n, 1), m, n);
}

TEST_CASE("several macro-blocks and chunks of k; k longer than can be packed") {
    if (!here()) return;
    auto const a = draw<double>(530, 1100, 1), b = draw<double>(1100, 33, 2);
    check(sg::ozaki{sg::host{.threads = 2}, {.moduli = 6}}, 1.0, a, b, 0.0, draw<double>(530, 33, 3), 530,
          33);
    auto const c = draw<double>(33, 65, 1), d = draw<double>(65, 1100, 2);
    check(sg::ozaki{sg::host{.threads = 2}, {.moduli = 6}}, 1.0, c, d, 0.0, draw<double>(33, 1100, 3), 33,
          1100);
    sg::index const longer = (sg::index{1} << 18) + 1;
    auto const x = draw<double>(2, longer, 1), y = draw<double>(longer, 3, 2);
    check(sg::ozaki{sg::host{.threads = 2}, {.moduli = 8}}, 1.0, x, y, 0.0, draw<double>(2, 3, 3), 2, 3);
}

TEST_CASE("a kept operand serves a batch, and other shapes of the other operand") {
    if (!here()) return;
    sg::index const m = 20, n = 33, k = 40;
    auto const b = draw<double>(k, n, 1), a = draw<double>(4 * m, k, 2);
    sg::ozaki const policy{sg::host{.threads = 2}, {.moduli = 15}};
    sg::quantized const by_b{policy, b};
    sg::matrix<double> c(4 * m, n), expected(4 * m, n);
    auto const as = sg::batched(sg::row_major(a.data(), m, k), 4, m * k);
    sg::gemm(by_b, as, b, sg::batched(sg::row_major(c.data(), m, n), 4, m * n));
    sg::gemm(policy, as, b, sg::batched(sg::row_major(expected.data(), m, n), 4, m * n));
    CHECK(same_bits(c, expected));
    for (sg::index const rows : {0, 1, 5, 80}) {
        sg::matrix<double> x(rows, n), y(rows, n);
        auto const part = a.view().block(0, 0, rows, k);
        sg::gemm(by_b, part, b, x);
        sg::gemm(policy, part, b, y);
        CHECK(same_bits(x, y));
    }
    // In a batch the kept operand is one, or it is refused before anything is written.
    auto const many = draw<double>(4 * k, n, 3);
    auto const first = sg::row_major(many.data(), k, n);
    sg::matrix<double> untouched(4 * m, n, [](sg::index, sg::index) { return 42; });
    auto const s = sg::try_gemm(sg::quantized{policy, first}, as, sg::batched(first, 4, k * n),
                                sg::batched(sg::row_major(untouched.data(), m, n), 4, m * n));
    REQUIRE(!s);
    CHECK(contains(s.error().what(), "once for a whole batch"));
    CHECK(untouched(0, 0) == 42);
}

TEST_CASE("what ozaki leaves to its base is left to it, whichever operand it is in") {
    if (!here()) return;
    double const inf = std::numeric_limits<double>::infinity(), nan = std::nan(""),
                 huge = std::numeric_limits<double>::max();
    auto const e = draw<double>(20, 33, 3);
    for (double const odd : {inf, -inf, nan, huge, 0x1p-1060})
        for (bool const in_a : {false, true}) {
            auto a = draw<double>(20, 40, 1), b = draw<double>(40, 33, 2);
            if (odd == 0x1p-1060) // a line that one power of two cannot scale
                for (sg::index l = 0; l < 40; ++l) (in_a ? a(7, l) : b(l, 7)) = odd * double(l);
            else
                (in_a ? a(7, 9) : b(9, 7)) = odd;
            (in_a ? b(9, 3) : a(3, 9)) = 1e100;
            sg::ozaki_report report;
            sg::ozaki const policy{sg::host{.threads = 1}, {.moduli = 15, .report = &report}};
            check(policy, 1.0, a, b, 0.5, e, 20, 33);
            sg::quantized const by_b{policy, b};
            sg::matrix<double> c(20, 33), native(20, 33);
            sg::gemm(by_b, a, b, c);
            sg::gemm(sg::host{.threads = 1}, a, b, native);
            CHECK(report.scheme == sg::ozaki_report::native);
            CHECK(*report.reason != '\0');
            CHECK(same_bits(c, native));
            sg::shape<double> const s{20, 33, 40};
            if (!in_a && odd != huge) {
                CHECK(contains(by_b.describe(s), "not kept: "));
                CHECK(by_b.workspace(s) == sg::host{.threads = 1}.workspace(s));
            }
        }
    // Zeros are no reason.
    check(sg::ozaki{sg::host{}, {.moduli = 9}}, 1.0, sg::matrix<double>(20, 40), draw<double>(40, 33, 2), 0.0,
          e, 20, 33);
    check(sg::ozaki{sg::host{}, {.moduli = 9}}, 1.0, draw<double>(20, 40, 1), sg::matrix<double>(40, 33), 0.0,
          e, 20, 33);
}

TEST_CASE("quantized: workspace is exact, and what is kept is not in it") {
    if (!here()) return;
    for (int const threads : {1, 2}) {
        sg::ozaki const packed{sg::host{.threads = threads}, {.moduli = 15}};
        sg::ozaki const planes{sg::reference{}, {.moduli = 15}};
        auto const a = draw<double>(33, 300, 1), b = draw<double>(300, 170, 2);
        sg::matrix<double> c(33, 170);
        auto const use = [&](auto const& policy) { return support::try_arena(policy, sg::product(a, b, c)); };
        CHECK(use(sg::quantized{packed, b}).stayed_inside);
        CHECK(use(sg::quantized{packed, a, sg::kept::a}).stayed_inside);
        for (auto const& x : {use(sg::quantized{planes, b}), use(sg::quantized{planes, a, sg::kept::a})}) {
            CHECK(x.stayed_inside);
            CHECK(x.used_up);
        }
        sg::shape<double> const s{33, 170, 300}, large{128, 4096, 4096};
        CHECK(sg::quantized{packed, b}.workspace(large).host < packed.workspace(large).host);
        CHECK(sg::quantized{packed, a, sg::kept::a}.workspace(large).host < packed.workspace(large).host);
        // Planes of one modulus at a time, and the lines
        CHECK(planes.workspace(s).host - sg::quantized{planes, b}.workspace(s).host >= 300 * 170 + 170 * 68);
    }
}

TEST_CASE("a plan of a policy that keeps an operand; copies, and many threads at once") {
    if (!here()) return;
    auto const a = draw<double>(40, 90, 1), b = draw<double>(90, 50, 2);
    sg::ozaki const policy{sg::host{.threads = 1}, {.moduli = 15}};
    sg::matrix<double> expected(40, 50);
    sg::gemm(policy, a, b, expected);
    auto const plan = [&] {
        sg::quantized const gone{policy, b};
        auto copy = gone;
        copy = gone;
        return sg::plan(copy, sg::shape<double>{40, 50, 90});
    }();
    CHECK(contains(plan.describe(), "quantized: B is kept in "));
    CHECK(contains(plan.describe(), "15 moduli"));
    CHECK(plan.error_bound().worst == policy.error_bound(sg::shape<double>{40, 50, 90}).worst);
    sg::matrix<double> c(40, 50);
    plan.run(a, b, c);
    CHECK(same_bits(c, expected));

    sg::quantized const by_a{policy, a, sg::kept::a};
    std::array<int, 4> wrong{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            auto const own = by_a;
            for (int x = 0; x < 5; ++x) {
                sg::matrix<double> d(40, 50);
                sg::gemm(x % 2 ? own : by_a, a, b, d);
                wrong[static_cast<std::size_t>(t)] += !same_bits(d, expected);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == std::array<int, 4>{});
}

TEST_CASE("quantized: what cannot be kept, and what is not the kept operand") {
    if (!here()) return;
    auto const a = draw<double>(20, 40, 1), b = draw<double>(40, 33, 2), other = draw<double>(40, 33, 2);
    auto const refused = [&](auto const& policy, auto const& x, auto const& y) {
        sg::matrix<double> c(x.rows, y.cols, [](sg::index, sg::index) { return 42; });
        auto const s = sg::try_gemm(policy, x, y, c);
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::argument);
        CHECK(c(0, 0) == 42);
        return std::string(s.error().what());
    };
    sg::host const cpu{.threads = 1};
    for (sg::ozaki_options const& options :
         {sg::ozaki_options{}, {.slices = 7}, {.moduli = 15, .scaling = sg::ozaki_scaling::product}}) {
        sg::quantized const policy{sg::ozaki{cpu, options}, b};
        CHECK(contains(refused(policy, a.view(), b.view()), "explicit `moduli` scaled by norms"));
        CHECK(contains(policy.describe(sg::shape<double>{20, 33, 40}), "cannot be kept"));
    }
    // Too few for the leading bits of a product to say anything: scaled by norms.
    sg::matrix<double> c(20, 33);
    sg::gemm(sg::quantized{sg::ozaki{cpu, {.moduli = 6, .scaling = sg::ozaki_scaling::product}}, b}, a, b, c);
    CHECK(contains(refused(sg::quantized{sg::ozaki{cpu, {.moduli = 21}}, b}, a.view(), b.view()), "2 to 20"));

    sg::quantized const by_b{sg::ozaki{cpu, {.moduli = 15}}, b};
    CHECK(contains(refused(by_b, a.view(), other.view()), "B is not the operand"));
    CHECK(contains(refused(by_b, sg::transposed(b), sg::transposed(a)), "B is not the operand"));
    CHECK(contains(refused(by_b, a.view().block(0, 0, 20, 39), b.view().block(0, 0, 39, 33)), "B is not"));
    CHECK(contains(refused(by_b, a.view(), b.view().block(0, 0, 40, 32)), "B is not the operand"));
    sg::quantized const by_a{sg::ozaki{cpu, {.moduli = 15}}, a, sg::kept::a};
    CHECK(contains(refused(by_a, a.view().block(0, 0, 19, 40), b.view()), "A is not the operand"));
    auto const same = sg::quantized{sg::ozaki{cpu, {.moduli = 15}}, sg::row_major(b.data(), 40, 33)};
    sg::gemm(same, a, b, c); // recognised by what it is, not by who says so

    using Z = std::complex<double>;
    auto const x = draw<Z>(5, 6, 1), y = draw<Z>(6, 7, 2);
    sg::matrix<Z> z(5, 7);
    sg::quantized const by_y{sg::ozaki{cpu, {.moduli = 15}}, y};
    CHECK(!sg::try_gemm(by_y, x, sg::conjugated(y), z));
    CHECK(sg::try_gemm(by_y, sg::conjugated(x), y, z));

    // What a call would be told anyhow.
    auto const null = sg::row_major(static_cast<double const*>(nullptr), 40, 33);
    auto const s = sg::try_gemm(sg::quantized{sg::ozaki{cpu, {.moduli = 15}}, null}, a, null, c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::null_data);
    sg::matrix<double> const nothing(0, 33);
    sg::gemm(sg::quantized{sg::ozaki{cpu, {.moduli = 15}}, nothing}, 1.0, sg::matrix<double>(20, 0), nothing,
             0.0, c);
    CHECK(c(3, 3) == 0);

    using policy = sg::quantized<sg::host, double>;
    static_assert(sg::takes<policy, sg::dense_problem<double, double, double>>);
    static_assert(!sg::takes<policy, sg::dense_problem<float, float, float>>);
}
