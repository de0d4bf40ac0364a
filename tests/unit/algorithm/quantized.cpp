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
#include <thread>
#include <type_traits>
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
sg::matrix<T> draw(sg::index_t m, sg::index_t n, unsigned seed, sg::layout order = sg::layout::row_major) {
    return support::spread_out<T>(m, n, sg::complex_like<T> ? 0 : 0.8, seed, order);
}

// Products with A kept and with B kept, against those of the matrices.
template <class Base, class T, class... Epilogue>
void check_views(sg::ozaki<Base> const& policy, T alpha, sg::view<T const> const& a,
                 sg::view<T const> const& b, T beta, sg::view<T const> const& e,
                 Epilogue const&... epilogue) {
    auto const kept_a = sg::keep_left(policy, a);
    auto const kept_b = sg::keep(policy, b);
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        sg::matrix<T> expected(e.rows, e.cols, order), c(e.rows, e.cols, order), d(e.rows, e.cols, order);
        sg::gemm(policy, alpha, a, b, beta, e, expected, epilogue...);
        for (int twice = 0; twice < 2; ++twice) {
            sg::gemm(policy, alpha, kept_a, b, beta, e, c, epilogue...);
            sg::gemm(policy, alpha, a, kept_b, beta, e, d, epilogue...);
            CHECK(same_bits(c, expected));
            CHECK(same_bits(d, expected));
        }
    }
}

// Whatever they lie in: one set of products is compiled for a type.
template <class Base, class A, class B, class E, class T, class... Epilogue>
void check(sg::ozaki<Base> const& policy, T alpha, A const& a, B const& b, T beta, E const& e,
           Epilogue const&... epilogue) {
    check_views<Base, T>(policy, alpha, sg::as_view(a), sg::as_view(b), beta, sg::as_view(e), epilogue...);
}

// sg::reference takes most of the time, and takes what is kept as a host without packed tiles does, which has every case
// below: every other number of moduli, and small products. An emulated tile unit takes long, too: it leaves out one
// number of moduli, and the reference, which is the same without it. Sanitizers leave out the reference for complex numbers
// and for all but two moduli.
template <class T, class Base>
bool left_out(Base const&, int count, sg::index_t m) {
    constexpr bool by_reference = std::is_same_v<Base, sg::reference>;
    bool const on_tiles = sg::current_isa().isa == sg::host_isa::amx;
    if (on_tiles && (by_reference || count == 8)) return true;
    if (support::sanitized && by_reference && (sg::complex_like<T> || count != 2)) return true;
    return (support::sanitized || by_reference) && (count == 8 || count == 20 || m == 64);
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
    for (auto const& shape :
         {std::array<sg::index_t, 3>{1, 1, 1}, {37, 45, 70}, {3, 130, 64}, {130, 3, 65}, {64, 64, 128}})
        for (int const count : {2, 8, 15, 20})
            for (int const turned : {0, 1, 2, 3}) {
                sg::index_t const m = shape[0], n = shape[1], k = shape[2];
                if (turned > 0 && (m != 37 || count != 15)) continue;
                CAPTURE(m, n, k, count, turned);
                auto const a = draw<T>(m, k, 1, turned & 1 ? order::col_major : order::row_major),
                           b = draw<T>(k, n, 2, turned & 2 ? order::col_major : order::row_major),
                           e = draw<T>(m, n, 3);
                over_bases([&](auto const& base) {
                    if (left_out<T>(base, count, m)) return;
                    sg::ozaki const policy{base, {.moduli = count}};
                    check(policy, T(1), a, b, T(0), e);
                    if (m == 37 && count == 15) check(policy, T(0.3f), a, b, T(-1.7f), e);
                });
            }
    auto const a = draw<T>(37, 70, 1), b = draw<T>(70, 45, 2), e = draw<T>(37, 45, 3);
    over_bases([&](auto const& base) {
        if (left_out<T>(base, 9, 37)) return;
        sg::ozaki const policy{base, {.moduli = 9}};
        check(policy, T(0.3f), sg::conjugated(a), sg::conjugated(b), T(1), sg::conjugated(e));
        check(policy, T(1), sg::scaled(T(2), a), sg::scaled(T(0.1f), b), T(1), e);
        check(policy, T(1), a, b, T(0), e, [](T x, sg::index_t i, sg::index_t j) {
            return x + T(static_cast<sg::real_t<T>>(i * 100 + j));
        });
        check(policy, T(0), a, b, T(2), e);
    });
}

TEST_CASE("both operands kept give the bits of ozaki") {
    if (!here()) return;
    auto const a = draw<double>(37, 70, 1), b = draw<double>(70, 45, 2), e = draw<double>(37, 45, 3);
    sg::ozaki const policy{sg::host{.threads = 2}, {.moduli = 15}};
    auto const kept_a = sg::keep_left(policy, a);
    auto const kept_b = sg::keep(policy, b);
    sg::matrix<double> expected(37, 45), c(37, 45);
    sg::gemm(policy, 0.3, a, b, -1.7, e, expected);
    sg::gemm(policy, 0.3, kept_a, kept_b, -1.7, e, c);
    CHECK(same_bits(c, expected));
}

TEST_CASE("strides of any sign, and products on more threads than blocks") {
    if (!here()) return;
    auto const all = draw<double>(120, 200, 5);
    sg::index_t const m = 37, n = 45, k = 40;
    auto const a = sg::strided(all.data() + 7 + 2 * (k - 1), m, k, 200, -2),
               b = sg::strided(all.data() + 3 + 200 * (k - 1), k, n, -200, 3);
    check(sg::ozaki{sg::host{.threads = 5}, {.moduli = 15}}, 1.0, a, b, 0.0, draw<double>(m, n, 1));
}

TEST_CASE("several macro-blocks and chunks of k; k longer than can be packed") {
    if (!here()) return;
    auto const a = draw<double>(530, 1100, 1), b = draw<double>(1100, 33, 2);
    check(sg::ozaki{sg::host{.threads = 2}, {.moduli = 6}}, 1.0, a, b, 0.0, draw<double>(530, 33, 3));
    auto const c = draw<double>(33, 65, 1), d = draw<double>(65, 1100, 2);
    check(sg::ozaki{sg::host{.threads = 2}, {.moduli = 6}}, 1.0, c, d, 0.0, draw<double>(33, 1100, 3));
    sg::index_t const longer = (sg::index_t{1} << 18) + 1;
    auto const x = draw<double>(2, longer, 1), y = draw<double>(longer, 3, 2);
    check(sg::ozaki{sg::host{.threads = 2}, {.moduli = 8}}, 1.0, x, y, 0.0, draw<double>(2, 3, 3));
}

TEST_CASE("a kept operand serves a batch, and other shapes of the other operand") {
    if (!here()) return;
    sg::index_t const m = 20, n = 33, k = 40;
    auto const b = draw<double>(k, n, 1), a = draw<double>(4 * m, k, 2);
    sg::ozaki const policy{sg::host{.threads = 2}, {.moduli = 15}};
    auto const kept = sg::keep(policy, b);
    sg::matrix<double> c(4 * m, n), expected(4 * m, n);
    auto const as = sg::batched(sg::row_major(a.data(), m, k), 4, m * k);
    sg::gemm(policy, as, kept, sg::batched(sg::row_major(c.data(), m, n), 4, m * n));
    sg::gemm(policy, as, b, sg::batched(sg::row_major(expected.data(), m, n), 4, m * n));
    CHECK(same_bits(c, expected));
    for (sg::index_t const rows : {0, 1, 5, 80}) {
        sg::matrix<double> x(rows, n), y(rows, n);
        auto const part = a.view().block(0, 0, rows, k);
        sg::gemm(policy, part, kept, x);
        sg::gemm(policy, part, b, y);
        CHECK(same_bits(x, y));
    }
    // What is wrong with a batch is said before anything is written.
    sg::matrix<double> untouched(4 * m, n, [](sg::index_t, sg::index_t) { return 42; });
    auto const s =
        sg::try_gemm(policy, as, kept, sg::batched(sg::row_major(untouched.data(), m, n), 4, m * n - 1));
    REQUIRE(!s);
    CHECK(contains(s.error().what(), "the batch C overlap"));
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
                for (sg::index_t l = 0; l < 40; ++l) (in_a ? a(7, l) : b(l, 7)) = odd * double(l);
            else
                (in_a ? a(7, 9) : b(9, 7)) = odd;
            (in_a ? b(9, 3) : a(3, 9)) = 1e100;
            sg::ozaki_report report;
            sg::ozaki const policy{sg::host{.threads = 1}, {.moduli = 15, .report = &report}};
            check(policy, 1.0, a, b, 0.5, e);
            auto const kept = sg::keep(policy, b);
            sg::matrix<double> c(20, 33), native(20, 33);
            sg::gemm(policy, a, kept, c);
            sg::gemm(sg::host{.threads = 1}, a, b, native);
            CHECK(report.ran == "native");
            CHECK(*report.reason != '\0');
            CHECK(same_bits(c, native));
            if (!in_a && odd != huge) {
                auto const plan = sg::plan(policy, sg::product(a, kept, c).shape());
                CHECK(contains(plan.describe(), "not kept: "));
                CHECK(plan.workspace() == sg::host{.threads = 1}.workspace(sg::shape<double>{20, 33, 40}));
            }
        }
    // Zeros are no reason.
    check(sg::ozaki{sg::host{}, {.moduli = 9}}, 1.0, sg::matrix<double>(20, 40), draw<double>(40, 33, 2), 0.0,
          e);
    check(sg::ozaki{sg::host{}, {.moduli = 9}}, 1.0, draw<double>(20, 40, 1), sg::matrix<double>(40, 33), 0.0,
          e);
}

TEST_CASE("quantized: workspace is exact, and what is kept is not in it") {
    if (!here()) return;
    for (int const threads : {1, 2}) {
        sg::ozaki const packed{sg::host{.threads = threads}, {.moduli = 15}};
        sg::ozaki const planes{sg::reference{}, {.moduli = 15}};
        auto const a = draw<double>(33, 300, 1), b = draw<double>(300, 170, 2);
        sg::matrix<double> c(33, 170);
        auto const use = [&](auto const& policy, auto const& x, auto const& y) {
            return support::try_arena(sg::quantized_product{policy}, sg::product(x, y, c));
        };
        auto const kept_a = sg::keep_left(packed, a), also_a = sg::keep_left(packed, a);
        auto const kept_b = sg::keep(packed, b);
        CHECK(use(packed, a, kept_b).stayed_inside);
        CHECK(use(packed, kept_a, b).stayed_inside);
        CHECK(use(packed, also_a, kept_b).stayed_inside);
        for (auto const& x :
             {use(planes, a, sg::keep(planes, b)), use(planes, sg::keep_left(planes, a), b)}) {
            CHECK(x.stayed_inside);
            CHECK(x.used_up);
        }
        auto const bytes = [](auto const& policy, auto shape) {
            shape.m = 128, shape.n = 4096, shape.k = 4096;
            return sg::quantized_product{policy}.workspace(shape).host;
        };
        sg::shape<double> const s{33, 170, 300}, large{128, 4096, 4096};
        CHECK(bytes(packed, sg::product(a, kept_b, c).shape()) < packed.workspace(large).host);
        CHECK(bytes(packed, sg::product(kept_a, b, c).shape()) < packed.workspace(large).host);
        // Planes of one modulus at a time, and the lines
        auto const with_b = sg::plan(planes, sg::product(a, sg::keep(planes, b), c).shape()).workspace();
        CHECK(planes.workspace(s).host - with_b.host >= 300 * 170 + 170 * 68);
    }
}

TEST_CASE("a plan with a kept operand; copies, and many threads at once") {
    if (!here()) return;
    auto const a = draw<double>(40, 90, 1), b = draw<double>(90, 50, 2);
    sg::ozaki const policy{sg::host{.threads = 1}, {.moduli = 15}};
    sg::matrix<double> expected(40, 50);
    sg::gemm(policy, a, b, expected);
    auto const kept = [&] {
        auto const gone = sg::keep(policy, b);
        auto copy = gone;
        copy = gone;
        return copy;
    }();
    sg::matrix<double> c(40, 50);
    auto const plan = sg::plan(policy, sg::product(a, kept, c).shape());
    CHECK(contains(plan.describe(), "quantized: B is kept in "));
    CHECK(contains(plan.describe(), "15 moduli"));
    CHECK(plan.error_bound().worst == policy.error_bound(sg::shape<double>{40, 50, 90}).worst);
    CHECK(plan.estimate() > 0);
    auto arena = plan.reserve();
    plan.run(sg::product(a, kept, c), arena);
    CHECK(same_bits(c, expected));

    auto const kept_a = sg::keep_left(policy, a);
    std::array<int, 4> wrong{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            auto const own = kept_a;
            for (int x = 0; x < 5; ++x) {
                sg::matrix<double> d(40, 50);
                sg::gemm(policy, x % 2 ? own : kept_a, b, d);
                wrong[static_cast<std::size_t>(t)] += !same_bits(d, expected);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == std::array<int, 4>{});
}

TEST_CASE("quantized: what cannot be kept, and by whom it is not taken") {
    if (!here()) return;
    auto const a = draw<double>(20, 40, 1), b = draw<double>(40, 33, 2);
    auto const refused = [&](auto const& policy, auto const& x, auto const& y) {
        sg::matrix<double> c(20, 33, [](sg::index_t, sg::index_t) { return 42; });
        auto const s = sg::try_gemm(policy, x, y, c);
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::argument);
        CHECK(c(0, 0) == 42);
        return std::string(s.error().what());
    };
    sg::host const cpu{.threads = 1};
    sg::matrix<double> c(20, 33);
    for (sg::ozaki_options const& options :
         {sg::ozaki_options{}, {.slices = 7}, {.moduli = 15, .scaling = sg::ozaki_scaling::product}}) {
        sg::ozaki const policy{cpu, options};
        CHECK(contains(refused(policy, a, sg::keep(policy, b)), "explicit `moduli` scaled by norms"));
        CHECK(contains(refused(policy, sg::keep_left(policy, a), b), "explicit `moduli` scaled by norms"));
    }
    // Too few for the leading bits of a product to say anything: scaled by norms.
    sg::ozaki const few{cpu, {.moduli = 6, .scaling = sg::ozaki_scaling::product}};
    sg::gemm(few, a, sg::keep(few, b), c);
    sg::ozaki const many{cpu, {.moduli = 21}}, policy{cpu, {.moduli = 15}}, less{cpu, {.moduli = 14}};
    CHECK(contains(refused(many, a, sg::keep(many, b)), "2 to 20"));

    auto const kept = sg::keep(policy, b);
    CHECK(contains(refused(less, a, kept), "another number of moduli"));
    CHECK(contains(refused(less, sg::keep_left(policy, a), b), "another number of moduli"));
    CHECK(!sg::try_gemm(policy, a.block(0, 0, 20, 39), kept, c)); // sides are checked as ever

    // What a call would report anyhow.
    auto const null = sg::row_major(static_cast<double const*>(nullptr), 40, 33);
    auto const s = sg::try_gemm(policy, a, sg::keep(policy, null), c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::null_data);
    sg::matrix<double> const nothing(0, 33);
    sg::gemm(policy, 1.0, sg::matrix<double>(20, 0), sg::keep(policy, nothing), 0.0, c);
    CHECK(c(3, 3) == 0);

    using owner = sg::ozaki<sg::host>;
    using kept_b = decltype(kept);
    using term = sg::view<double const>;
    using problem = sg::problem<term, std::remove_cvref_t<kept_b>, sg::view<double>>;
    static_assert(
        std::is_same_v<sg::multiplier<owner, decltype(problem{}.shape())>, sg::quantized_product<sg::host>>);
    static_assert(sg::takes<sg::quantized_product<sg::host>, problem>);
    // Others refuse it when they are compiled; and the left operand is no right one.
    static_assert(sg::answer<sg::host, problem>() == sg::verdict::structure);
    static_assert(sg::answer<sg::quantized_product<sg::reference>, problem>() == sg::verdict::structure);
    using exchanged = sg::problem<std::remove_cvref_t<kept_b>, term, sg::view<double>>;
    static_assert(sg::answer<sg::quantized_product<sg::host>, exchanged>() == sg::verdict::structure);
}
