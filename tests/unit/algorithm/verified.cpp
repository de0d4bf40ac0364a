#include "catch.hpp"
#include "conformance/trial.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::integers;
using support::product_of;
using support::random_source;
using support::same_bits;
using trials::prepared;
using trials::trial;

namespace {

// What happens to C between a product and its check: f(c, call), where `call` counts the products of the
// base.
template <class C>
using harm = std::function<void(sg::view<C> const&, int)>;

// A base whose results are tampered with.
template <class Base, class C>
struct faulty : Base {
    harm<C> const* done;
    int* calls;

    faulty(Base base, harm<C> const& f, int& count) : Base(base), done(&f), calls(&count) {}

    template <class P>
    sg::status operator()(P const& p, typename Base::arena& memory) const {
        sg::status s = Base::operator()(p, memory);
        if constexpr (std::is_same_v<typename P::c_type, C>) (*done)(p.c, (*calls)++);
        return s;
    }
};

template <class C>
void flip(C& x, int bit) {
    auto* const bytes = reinterpret_cast<unsigned char*>(&x);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1u << bit % 8);
}

template <class T>
sg::matrix<T> random(index_t m, index_t n, int seed) {
    random_source from(static_cast<std::uint64_t>(seed));
    return sg::matrix<T>(m, n, [&](index_t, index_t) {
        double const re = from.uniform(-1, 1);
        return support::make<T>(std::is_integral_v<T> ? std::floor(127 * re) : re, from.uniform(-1, 1));
    });
}

// C = 2 A B + 3 C by a host that is tampered with, checked.
template <class TA, class TC = TA>
struct experiment {
    using S = sg::accumulator_t<TA>;
    index_t m, n, k;
    sg::matrix<TA> a, b;
    sg::matrix<TC> e, right, c;
    sg::verified_report report;
    int calls = 0;

    explicit experiment(index_t m_ = 60, index_t n_ = 70, index_t k_ = 50)
        : m(m_), n(n_), k(k_), a(random<TA>(m, k, 1)), b(random<TA>(k, n, 2)), e(random<TC>(m, n, 3)),
          right(copy(e)), c(copy(e)) {
        redo();
    }
    static sg::matrix<TC> copy(sg::matrix<TC> const& x) {
        return sg::matrix<TC>(x.rows(), x.cols(), [&](index_t i, index_t j) { return x(i, j); });
    }
    void redo() { // after a change of the operands
        right = copy(e);
        sg::gemm(sg::host{.threads = 1}, S(2), a, b, S(3), right);
    }
    sg::status run(harm<TC> const& f, sg::verified_options options = {}) {
        c = copy(e), calls = 0, report = {};
        options.report = &report;
        return sg::try_gemm(sg::verified{faulty<sg::host, TC>({.threads = 1}, f, calls), options}, S(2), a, b,
                            S(3), c);
    }
    // How many elements are not what the host computes, to the bit.
    int changed() const {
        int count = 0;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) count += std::memcmp(&c(i, j), &right(i, j), sizeof(TC)) != 0;
        return count;
    }
    // The largest error, over the bound of |A||B|; exactness to the bit for integers.
    bool is_right() const {
        double const worst = sg::host{}.error_bound(sg::shape<TA, TA, TC>{m, n, k, 1, true}).worst;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) {
                double const scale = 2 * static_cast<double>(k) + 3; // at least
                double const off = sg::verified_parts::magnitude_of(c(i, j) - right(i, j));
                if (!(off <= 4 * worst * scale)) return false;
            }
        return true;
    }
};

// One flipped bit in each product. How many were beyond the bound of their element, and how many of these
// were certain to be found, by the report's limit; how many were left, and how many of these in an element
// whose |A||B| is 0. With dense operands and k at least the other sides, none may be left. Where k is small
// or most elements are zero, an element may have a bound so small that an error beyond it is lost in the
// checksum of its line.
struct tally {
    int faults = 0, beyond = 0, certain = 0, missed = 0, in_zeros = 0, repaired = 0, repeated = 0, wrong = 0;
    double limit = 0;
};

template <class TA, class TC, class Base>
void inject(tally& sum, Base const& base, random_source& from, int products, int faults, int longest,
            bool dense) {
    for (int x = 0; x < products; ++x) {
        trial t = trials::draw_trial(from);
        t.m = 1 + from.below(longest), t.n = 1 + from.below(longest), t.k = 1 + from.below(longest);
        if (t.alpha == trials::factor::zero) t.alpha = trials::factor::other;
        if (t.count == 0) t.count = 1;
        if (t.data == trials::values::spread) t.data = trials::values::random;
        if (dense) t.k += std::max(t.m, t.n);
        if (dense && t.data == trials::values::integers)
            t.data = trials::values::positive; // most of them are 0
        prepared<TA, TC> p(t);
        sg::bound const bound = base.error_bound(p.call.shape());
        for (int y = 0; y < faults; ++y) {
            int const product = from.below(static_cast<int>(t.count)), i = from.below(static_cast<int>(t.m)),
                      j = from.below(static_cast<int>(t.n)),
                      bit = from.below(8 * static_cast<int>(sizeof(TC)));
            auto const cell = static_cast<std::size_t>((product * t.m + i) * t.n + j);
            using W = typename prepared<TA, TC>::W;
            auto const exact = p.exact[cell];
            // The bound, the rounding of what it is compared with, and what bounds do not cover: underflow.
            constexpr double least =
                std::is_integral_v<TC> ? 0 : sg::verified_parts::least_of<sg::real_t<TC>>();
            double const may = bound.worst * (bound.normwise ? p.norm : p.terms[cell]) +
                               2 * sg::unit_roundoff<TC>() * trials::size_of(exact) +
                               8 * static_cast<double>(t.k + 4) * least;
            // Average elements of the row and the column. Their bounds have underflow in them, too.
            double of_row = 8 * static_cast<double>(t.k + 4) * least / bound.worst, of_col = of_row;
            auto const terms_at = [&](index_t r, index_t c) {
                return p.terms[static_cast<std::size_t>((product * t.m + r) * t.n + c)];
            };
            for (index_t c = 0; c < t.n; ++c) of_row += terms_at(i, c) / static_cast<double>(t.n);
            for (index_t r = 0; r < t.m; ++r) of_col += terms_at(r, j) / static_cast<double>(t.m);
            auto const off = [&](TC const& value) {
                auto const got = trials::widen<W>(value);
                double const by_how_much =
                    trials::size_of(trials::number<W>{got.re - exact.re, got.im - exact.im});
                return std::isnan(by_how_much) ? std::numeric_limits<double>::infinity() : by_how_much;
            };
            double by = 0;
            harm<TC> const hit = [&](sg::view<TC> const& c, int call) {
                if (call != product) return;
                flip(c(i, j), bit);
                by = off(c(i, j));
            };
            p.c.restore(p.c_before);
            sg::verified_report report;
            int calls = 0;
            sg::status const s =
                sg::run(sg::verified{faulty<Base, TC>(base, hit, calls), {.report = &report}}, p.call);
            bool const good = s && p.c.guards_hold(p.c_before), beyond = by > may,
                       left = off(p.c(product, i, j)) > may,
                       certain = beyond && by > report.limit * bound.worst * std::max(of_row, of_col);
            if (!good || (left && certain) || (!left && beyond && report.repaired + report.repeated == 0))
                FAIL_CHECK((s ? "missed: " : s.error().what())
                           << trials::describe(t) << "\n    element " << product << ", " << i << ", " << j
                           << ", bit " << bit << ", limit " << report.limit << ", off by " << by << ", bound "
                           << may << ", averages " << of_row << ' ' << of_col << " own " << p.terms[cell]);
            ++sum.faults, sum.beyond += beyond, sum.certain += certain, sum.missed += left;
            sum.in_zeros += left && p.terms[cell] == 0;
            sum.repaired += beyond && report.repaired == 1 && report.repeated == 0;
            sum.repeated += static_cast<int>(report.repeated), sum.wrong += !good;
            sum.limit = std::max(sum.limit, report.limit);
        }
    }
}
template <class TA, class TC, class Base>
void faults(char const* name, Base const& base, int products, int each, int longest, bool dense = true) {
    random_source from(31);
    tally sum;
    inject<TA, TC>(sum, base, from, products, each, longest, dense);
    INFO(name);
    CHECK(sum.repaired + sum.missed == sum.beyond);
    if (dense) CHECK(sum.missed == 0);
    CHECK(sum.repeated == 0);
    CHECK(sum.wrong == 0);
    std::printf("%s: %d faults, %d beyond the bound (%d of them certain to be found), %d missed (%d where "
                "|A||B| is 0), %d "
                "repaired; largest limit %.2g\n",
                name, sum.faults, sum.beyond, sum.certain, sum.missed, sum.in_zeros, sum.repaired, sum.limit);
}

// Products that nobody tampers with: how many are changed, repeated or refused.
template <class TA, class TC, class Base>
int alarms(Base const& base, int products, int longest, double* largest = nullptr) {
    random_source from(32);
    int count = 0;
    for (int x = 0; x < products; ++x) {
        trial t = trials::draw_trial(from);
        t.m = from.below(longest), t.n = from.below(longest), t.k = from.below(longest);
        t.specials = from.below(8) == 0 ? 1 + from.below(3) : 0;
        prepared<TA, TC> p(t, trials::unsolved);
        sg::run(base, p.call).or_throw();
        auto const plain = p.c.bytes();
        p.c.restore(p.c_before);
        sg::verified_report report;
        sg::status const s = sg::run(sg::verified{base, {.report = &report}}, p.call);
        bool const alarm = !s || report.repaired != 0 || report.repeated != 0 || !p.c.same_bytes(plain);
        if (alarm)
            FAIL_CHECK((s ? "a false alarm: " : s.error().what())
                       << trials::describe(t) << "\n    repaired " << report.repaired << ", repeated "
                       << report.repeated);
        count += alarm;
        if (largest) *largest = std::max(*largest, report.error);
    }
    return count;
}

} // namespace

// ---- single faults, and none ---------------------------------------------------------------------------

TEST_CASE("every bit that is flipped beyond the bound is found") {
    sg::host const one{.threads = 1}, two{.threads = 2};
    faults<float, float>("float", one, 30, 10, 90);
    faults<double, double>("double", two, 30, 10, 90);
    faults<std::int8_t, std::int32_t>("int8", one, 30, 10, 90);
    faults<std::complex<double>, std::complex<double>>("complex", one, 15, 10, 60);
    faults<sg::bfloat16, float>("bfloat16", one, 15, 10, 60);
    faults<float, float>("float, any shape and data", one, 30, 10, 90, false);
    faults<double, double>("double, any shape and data", one, 30, 10, 90, false);
    faults<float, float>("float, strassen", sg::strassen{one, {.levels = 2}}, 15, 10, 90);
}

// 10,000 of each, which ctest leaves out: unit_tests "[faults]" and unit_tests "[alarms]" run them.
TEST_CASE("ten thousand flipped bits", "[.][faults]") {
    sg::host const one{.threads = 1};
    faults<float, float>("float", one, 1000, 10, 150);
    faults<double, double>("double", one, 1000, 10, 150);
    faults<std::int8_t, std::int32_t>("int8", one, 1000, 10, 150);
    faults<float, float>("float, any shape and data", one, 1000, 10, 150, false);
    faults<double, double>("double, any shape and data", one, 1000, 10, 150, false);
}
TEST_CASE("ten thousand products without", "[.][alarms]") {
    sg::host const one{.threads = 1};
    double largest = 0;
    CHECK(alarms<float, float>(one, 10000, 100, &largest) == 0);
    std::printf("float: largest error over bound %.2g\n", largest);
    CHECK(alarms<double, double>(one, 10000, 100, &largest) == 0);
    CHECK(alarms<std::int8_t, std::int32_t>(one, 10000, 100) == 0);
}

TEST_CASE("no alarm without a fault: the bits of the base") {
    sg::host const one{.threads = 1}, two{.threads = 2};
    CHECK(alarms<float, float>(two, 200, 80) == 0);
    CHECK(alarms<double, double>(one, 200, 80) == 0);
    CHECK(alarms<sg::half, sg::half>(one, 100, 60) == 0);
    CHECK(alarms<sg::bfloat16, float>(one, 100, 60) == 0);
    CHECK(alarms<std::int8_t, std::int32_t>(one, 100, 60) == 0);
    CHECK(alarms<std::complex<float>, std::complex<float>>(one, 100, 60) == 0);
    CHECK(alarms<float, float>(sg::reference{}, 100, 60) == 0);
    CHECK(alarms<float, float>(sg::strassen{one, {.levels = 2}}, 100, 80) == 0);
    CHECK(alarms<double, double>(sg::ozaki{one, {.moduli = 15}}, 30, 60) == 0);
}

// ---- what the report promises ------------------------------------------------------------------------------

namespace {

// C = alpha A B + beta E with a fault, and what the report says of it.
template <class T>
struct promise {
    using S = sg::accumulator_t<T>;
    index_t m, n, k;
    sg::matrix<T> a, b, e, right, c;
    S alpha{1}, beta{0};
    sg::verified_report report;
    int calls = 0;

    template <class F, class G>
    promise(index_t m_, index_t n_, index_t k_, F const& of_a, G const& of_b)
        : m(m_), n(n_), k(k_), a(m, k, of_a), b(k, n, of_b), e(m, n), right(m, n), c(m, n) {
        redo();
    }
    void redo() { sg::gemm(sg::host{.threads = 1}, alpha, a, b, beta, e, right); }
    sg::status run(harm<T> const& f) {
        calls = 0, report = {};
        return sg::try_gemm(sg::verified{faulty<sg::host, T>({.threads = 1}, f, calls), {.report = &report}},
                            alpha, a, b, beta, e, c);
    }
    static double size_of(T const& x) { return sg::verified_parts::magnitude_of(x); }
    static double distance(T const& x, T const& y) {
        if constexpr (sg::complex_like<T>)
            return std::abs(x - y);
        else
            return std::fabs(static_cast<double>(static_cast<sg::real_t<T>>(x)) -
                             static_cast<double>(static_cast<sg::real_t<T>>(y)));
    }
    double terms(index_t i, index_t j) const {
        double sum = 0;
        for (index_t l = 0; l < k; ++l) sum += size_of(a(i, l)) * size_of(b(l, j));
        return sg::verified_parts::magnitude_of(alpha) * sum +
               sg::verified_parts::magnitude_of(beta) * size_of(e(i, j));
    }
    // The bound of an element with such terms, and what is added: the rounding of the product that it is compared with,
    // that of the element computed again, and underflow.
    double bound_of(double terms_there) const {
        double const worst = sg::host{}.error_bound(sg::shape<T, T, T>{m, n, k, 1, true}).worst;
        return (2 * worst + 2 * sg::unit_roundoff<T>()) * terms_there +
               3 * sg::verified_parts::underflow_of<T>(alpha, beta, k);
    }
    // Whether C(i, j) is right within its bound, or not beyond what the report lets pass.
    bool holds(index_t i, index_t j) const {
        double const error = distance(c(i, j), right(i, j));
        if (error <= bound_of(terms(i, j))) return true;
        double of_row = 0, of_col = 0;
        for (index_t y = 0; y < n; ++y) of_row += terms(i, y) / static_cast<double>(n);
        for (index_t x = 0; x < m; ++x) of_col += terms(x, j) / static_cast<double>(m);
        return error <= report.limit * bound_of(std::max(of_row, of_col));
    }
};

} // namespace

TEMPLATE_TEST_CASE("a small element beside a large one is checked", "", float, double) {
    using T = TestType;
    T const large = std::ldexp(T(1), 60);
    // C = (1, 2^100), and its transpose.
    auto const one = [](index_t, index_t) { return T(1); };
    auto const both = [](index_t i, index_t j) { return i + j == 0 ? T(1) : std::ldexp(T(1), 100); };
    for (bool const turned : {false, true}) {
        promise<T> x = turned ? promise<T>(2, 1, 1, both, one) : promise<T>(1, 2, 1, one, both);
        REQUIRE(x.run([](auto const& c, int) { c(0, 0) *= 2; }));
        CHECK(x.report.repaired == 1);
        CHECK(x.c(0, 0) == 1);
        CHECK(x.report.limit == 0);
    }
    // Up to eight rows and columns, each element by itself.
    for (auto const [m, n] : {std::array<index_t, 2>{8, 8}, {3, 8}, {8, 1}}) {
        promise<T> x(
            m, n, 2, [&](index_t i, index_t l) { return i == l ? large : T(1); },
            [&](index_t l, index_t j) { return l == 0 && j == 0 ? large : T(1) / large; });
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) {
                REQUIRE(x.run([&](auto const& c, int) { c(i, j) *= 2; }));
                CHECK(x.report.repaired == 1);
                CHECK(x.c(i, j) == x.right(i, j));
            }
    }
}

TEMPLATE_TEST_CASE("an error that vanishes between large elements of its row is no more than the limit", "",
                   float, double) {
    using T = TestType;
    T const large = std::ldexp(T(1), 100);
    for (index_t const size : {9, 16, 20, 70}) {
        // Each row is (1, 2^100, -2^100, ...).
        auto const b = [&](index_t, index_t j) { return j == 0 ? T(1) : j % 2 ? large : -large; };
        promise<T> x(
            size, size, 1, [](index_t, index_t) { return T(1); }, b);
        for (index_t const j : {index_t{0}, index_t{1}, size - 1}) {
            REQUIRE(x.run([&](auto const& c, int) { c(2, j) *= 2; }));
            INFO(size << ", column " << j << ": repaired " << x.report.repaired << ", limit "
                      << x.report.limit);
            CHECK(x.holds(2, j));
            CHECK(x.report.limit > 0);
            CHECK(x.report.limit < 100);
        }
    }
}

TEST_CASE("subnormal elements hide no fault, or the limit says so") {
    auto const a_of = [](index_t i, index_t l) { return i == 1 && l == 0 ? 1e300 : l == 0 ? 0.0 : 1e-5; };
    auto const b_of = [](index_t l, index_t) { return l == 0 ? 1e-310 : 1e-7; };
    promise<double> x(20, 30, 40, a_of, b_of);
    REQUIRE(x.run([](auto const& c, int) { c(1, 3) *= 1.5; }));
    CHECK(x.report.repaired == 1);
    REQUIRE(x.run([](auto const&, int) {}));
    CHECK(x.report.repaired == 0);
    CHECK(x.report.limit < 10);
    // A device may take subnormal floats for zero.
    promise<float> y(
        20, 30, 40, [&](index_t i, index_t l) { return i == 1 && l == 0 ? 1e38f
                                                       : l == 0         ? 0.0f
                                                                        : 1e-5f; },
        [&](index_t l, index_t) { return l == 0 ? 1e-39f : 1e-7f; });
    REQUIRE(y.run([](auto const&, int) {}));
    CHECK(y.report.limit < 10);
    for (float const factor : {1.5f, 2.5f, -1.0f, 0.0f}) {
        REQUIRE(y.run([&](auto const& c, int) { c(1, 3) *= factor; }));
        INFO(factor << ": repaired " << y.report.repaired << ", limit " << y.report.limit);
        CHECK(y.holds(1, 3));
    }
}

TEST_CASE("subnormal elements are no alarm, whatever the base") {
    random_source from(9);
    auto const quiet = [&](auto const& base) {
        for (int x = 0; x < 20; ++x) {
            auto const draw = [&](index_t, index_t) {
                int const kind = from.below(4);
                return std::ldexp(from.uniform(-1, 1), kind == 0 ? -1060 : kind == 1 ? -300 : 300);
            };
            sg::matrix<double> const a(30, 20, draw), b(20, 25, draw);
            sg::matrix<double> c(30, 25);
            sg::verified_report report;
            sg::gemm(sg::verified{base, {.report = &report}}, a, b, c);
            CHECK(report.repaired + report.repeated == 0);
        }
    };
    sg::host const one{.threads = 1};
    quiet(one);
    quiet(sg::strassen{one, {.levels = 1}});
    quiet(sg::ozaki{one, {.moduli = 15}});
    quiet(sg::ozaki{one});
}

TEST_CASE("an element that is too large to tell makes the limit infinite") {
    promise<float> x(
        20, 30, 1, [](index_t i, index_t) { return i == 4 ? 3.3e38f : 1.0f; },
        [](index_t, index_t) { return 1.0f; });
    REQUIRE(x.run([](auto const& c, int) { c(4, 5) = -1e38f; }));
    CHECK(x.report.repaired == 0);
    CHECK(std::isinf(x.report.limit));
}

namespace {

// Elements of any magnitude, zeros and subnormal ones among them, and a fault of any size anywhere.
template <class T>
void try_promises(int products, int faults) {
    using R = sg::real_t<T>;
    random_source from(77);
    for (int x = 0; x < products; ++x) {
        auto const size = [&] { return 1 + from.below(from.below(3) == 0 ? 9 : 40); };
        int const most = sizeof(R) == 8 ? 9 : 6, reach = 1 << from.below(sizeof(T) == 2 ? 3 : most),
                  zeros = from.below(3);
        auto const number = [&] {
            int const kind = from.below(20);
            if (kind < zeros) return 0.0;
            if (kind == 19 && reach > 20)
                return static_cast<double>(std::numeric_limits<R>::denorm_min()) * from.below(999);
            return std::ldexp(from.uniform(-1, 1), from.below(2 * reach) - reach);
        };
        auto const draw = [&](index_t, index_t) {
            double const re = number();
            return support::make<T>(re, number());
        };
        index_t const m = size(), n = size(), k = size();
        promise<T> p(m, n, k, draw, draw);
        if (from.below(2) == 0) {
            p.alpha = support::make<sg::accumulator_t<T>>(-0.7, 0.3),
            p.beta = support::make<sg::accumulator_t<T>>(1.3, 2);
            p.e = sg::matrix<T>(m, n, draw);
            p.redo();
        }
        REQUIRE(p.run([](auto const&, int) {}));
        CHECK(p.report.repaired + p.report.repeated == 0);
        CHECK(same_bits(p.c, p.right));
        for (int y = 0; y < faults; ++y) {
            index_t const i = from.below(static_cast<int>(m)), j = from.below(static_cast<int>(n));
            int const kind = from.below(3), bit = from.below(8 * static_cast<int>(sizeof(T)));
            double const more = p.bound_of(p.terms(i, j)) * from.uniform(1, 50);
            sg::status const s = p.run([&](auto const& c, int) {
                if (kind == 0) flip(c(i, j), bit);
                if (kind == 1) c(i, j) = p.e(0, 0);
                if (kind == 2) c(i, j) = static_cast<T>(c(i, j) + support::make<T>(more, more));
            });
            INFO(m << " x " << n << " x " << k << ", reach " << reach << ", fault " << x << '.' << y
                   << " of kind " << kind << ", bit " << bit << " at " << i << ", " << j << ": limit "
                   << p.report.limit << ", repaired " << p.report.repaired << ", off by "
                   << p.distance(p.c(i, j), p.right(i, j)) << ", terms " << p.terms(i, j));
            REQUIRE(s);
            CHECK(p.holds(i, j));
        }
    }
}

} // namespace

TEST_CASE("no error beyond the limit is missed, whatever the magnitudes") {
    int const products = support::sanitized ? 20 : 150;
    try_promises<double>(products, 10);
    try_promises<float>(products, 10);
    try_promises<std::complex<double>>(products / 4, 10);
    try_promises<sg::half>(products / 4, 10);
}
TEST_CASE("tens of thousands of faults among any magnitudes", "[.][promises]") {
    try_promises<double>(5000, 10);
    try_promises<float>(5000, 10);
    try_promises<std::complex<float>>(2000, 10);
    try_promises<sg::half>(2000, 10);
    try_promises<sg::bfloat16>(2000, 10);
}
TEST_CASE("the limit of large products", "[.][promises]") {
    auto const of = [](auto number) {
        using T = decltype(number);
        auto const a = random<T>(4096, 4096, 1), b = random<T>(4096, 4096, 2);
        sg::matrix<T> c(4096, 4096);
        sg::verified_report report;
        sg::gemm(sg::verified{sg::host{}, {.report = &report}}, a, b, c);
        std::printf("%s: limit %.2g\n", sg::type_name<T>(), report.limit);
        CHECK(report.limit < 3);
    };
    of(1.0f), of(1.0);
}

// ---- more than one fault -------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("several wrong elements are repaired, with E in place", "", float, double,
                   std::complex<float>) {
    experiment<TestType> x;
    REQUIRE(x.run([](auto const& c, int) {
        c(5, 6) = TestType(1000);
        c(5, 60) = TestType(1000);
        c(59, 0) = TestType(-1000);
    }));
    CHECK(x.report.products == 1);
    CHECK(x.report.repaired == 3);
    CHECK(x.report.repeated == 0);
    CHECK(x.changed() <= 3);
    CHECK(x.is_right());
}

TEST_CASE("two faults that cancel in the checksum of their column") {
    experiment<float> x;
    for (float const other : {100.f, -100.f}) {
        REQUIRE(x.run([&](auto const& c, int) { c(5, 6) += 100, c(40, 6) += other; }));
        CHECK(x.report.repaired == 2);
        CHECK(x.changed() <= 2);
        CHECK(x.is_right());
    }
}

TEMPLATE_TEST_CASE("a product that went wrong altogether is done once more", "", float, double) {
    experiment<TestType> x;
    REQUIRE(x.run([](auto const& c, int call) {
        for (index_t i = 0; call == 0 && i < c.rows; ++i)
            for (index_t j = 0; j < c.cols; ++j) c(i, j) = TestType(7);
    }));
    CHECK(x.calls == 2);
    CHECK(x.report.repeated == 1);
    CHECK(x.report.repaired == 0);
    CHECK(x.changed() == 0);
}

TEST_CASE("wrong twice is an error, and says where") {
    experiment<double> x;
    sg::status const s = x.run([](auto const& c, int) {
        for (index_t i = 0; i < c.rows; ++i) c(i, i) = 7;
    });
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::verification);
    CHECK(s.error().layer() == "verified");
    CHECK(support::contains(s.error().what(), "C("));
    CHECK(x.calls == 2);
    CHECK(x.report.repeated == 1);
    CHECK(x.report.products == 0);
}

TEST_CASE("a base that does something else is found out") {
    experiment<float> x;
    CHECK(!x.run([](auto const& c, int) { // forgets alpha
        for (index_t i = 0; i < c.rows; ++i)
            for (index_t j = 0; j < c.cols; ++j) c(i, j) *= 0.5f;
    }));
    CHECK(!x.run([](auto const& c, int) { // a tile is left out
        for (index_t i = 0; i < 16; ++i)
            for (index_t j = 0; j < 16; ++j) c(20 + i, 30 + j) = 0;
    }));
    CHECK(!x.run([](auto const& c, int) { // a row comes twice
        for (index_t j = 0; j < c.cols; ++j) c(3, j) = c(4, j);
    }));
}

// ---- exact types ---------------------------------------------------------------------------------------

TEST_CASE("int8: sums beyond 2^31, and faults of any size") {
    experiment<std::int8_t, std::int32_t> x;
    for (index_t i = 0; i < x.m; ++i)
        for (index_t j = 0; j < x.n; ++j) x.e(i, j) = static_cast<std::int32_t>(i * 40000001 + j * 3);
    x.redo();
    for (int bit = 0; bit < 32; ++bit) {
        REQUIRE(x.run([&](auto const& c, int) { flip(c(17, bit), bit); }));
        CHECK(x.report.repaired == 1);
        CHECK(x.changed() == 0);
    }
    // Differences of 2^31 in a rectangle cancel in checksums of odd numbers; random ones find them.
    REQUIRE(x.run([](auto const& c, int) {
        for (index_t const i : {3, 9})
            for (index_t const j : {5, 50}) flip(c(i, j), 31);
    }));
    CHECK(x.report.repaired == 4);
    CHECK(x.changed() == 0);
    REQUIRE(x.run([](auto const& c, int call) {
        for (index_t i = 0; call == 0 && i < c.rows; ++i) c(i, 4) += 1;
    }));
    CHECK(x.report.repeated == 1);
    CHECK(x.changed() == 0);
}

// ---- Inf, NaN, overflow --------------------------------------------------------------------------------

TEST_CASE("a fault that makes Inf or NaN is a fault") {
    experiment<float> x;
    for (float const odd : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
        REQUIRE(x.run([&](auto const& c, int) { c(5, 6) = odd; }));
        CHECK(x.report.repaired == 1);
        CHECK(x.report.skipped == 0);
        CHECK(x.changed() <= 1);
        CHECK(x.is_right());
    }
}

TEST_CASE("Inf and NaN in operands are no alarm, and hide no faults elsewhere") {
    for (float const odd : {std::numeric_limits<float>::infinity(), std::nanf("")})
        for (int where = 0; where < 3; ++where) {
            experiment<float> x;
            (where == 0 ? x.a(4, 5) : where == 1 ? x.b(4, 5) : x.e(4, 5)) = odd;
            x.redo();
            REQUIRE(x.run([](auto const&, int) {}));
            CHECK(x.report.repaired == 0);
            CHECK(x.report.repeated == 0);
            CHECK(x.report.skipped == 1);
            CHECK(x.changed() == 0);
            REQUIRE(x.run([](auto const& c, int) { c(30, 31) += 1; }));
            CHECK(x.report.repaired == 1);
            CHECK(x.changed() <= 1);
        }
}

TEST_CASE("results that overflow are no alarm") {
    experiment<float> x;
    for (index_t j = 0; j < x.k; ++j) x.a(7, j) = 3e38f;
    for (index_t j = 0; j < x.n; ++j) x.e(9, j) = 3e38f;
    x.redo();
    REQUIRE(x.run([](auto const&, int) {}));
    CHECK(x.report.repaired == 0);
    CHECK(x.changed() == 0);
    REQUIRE(x.run([](auto const& c, int) { c(30, 31) += 1; }));
    CHECK(x.report.repaired == 1);
}

// ---- the rest of a product -----------------------------------------------------------------------------

TEST_CASE("the epilogue comes after the check") {
    auto const a = random<float>(40, 30, 1), b = random<float>(30, 50, 2);
    sg::matrix<float> plain(40, 50), c(40, 50);
    auto const last = sg::then(sg::scale(3.0f), [](float x, index_t i, index_t j) {
        return i == j ? std::nanf("") : x < 0 ? 0 : x;
    });
    sg::gemm(sg::host{}, a, b, plain, last);
    int calls = 0;
    harm<float> const hit = [](auto const& c0, int) { c0(3, 4) = 1e6f; };
    sg::verified_report report;
    sg::gemm(sg::verified{faulty<sg::host, float>({}, hit, calls), {.report = &report}}, a, b, c, last);
    CHECK(report.repaired == 1);
    c(3, 4) = plain(3, 4);
    CHECK(same_bits(c, plain));
}

TEST_CASE("each product of a batch is checked") {
    auto const a = random<double>(8, 9, 1), b = random<double>(9, 7, 2);
    std::vector<double> c(5 * 56);
    int calls = 0;
    harm<double> const hit = [](auto const& c0, int call) {
        if (call % 2 == 1) c0(7, 6) = 1e6;
    };
    sg::verified_report report;
    sg::gemm(sg::verified{faulty<sg::host, double>({}, hit, calls), {.report = &report}}, a, b,
             sg::batched(sg::row_major(c.data(), 8, 7), 5, 56));
    CHECK(report.products == 5);
    CHECK(report.repaired == 2);
    for (std::size_t i = 56; i < c.size(); ++i) CHECK(std::fabs(c[i] - c[i % 56]) < 1e-14);
}

TEST_CASE("the same call gives the same bits and the same report, whatever the threads") {
    auto const a = random<float>(300, 200, 1), b = random<float>(200, 250, 2);
    harm<float> const hit = [](auto const& c, int) { c(100, 100) += 50, c(299, 0) = -7; };
    sg::matrix<float> first(300, 250), c(300, 250);
    sg::verified_report of_first, report;
    int calls = 0;
    auto const run = [&](int threads, std::uint64_t seed, sg::verified_report& to,
                         sg::matrix<float>& result) {
        sg::gemm(sg::verified{faulty<sg::host, float>({threads}, hit, calls), {.seed = seed, .report = &to}},
                 a, b, result);
    };
    run(1, 1, of_first, first);
    CHECK(of_first.repaired == 2);
    for (int const threads : {1, 2, 3}) {
        run(threads, 1, report, c);
        CHECK(same_bits(first, c));
        CHECK(report.error == of_first.error);
        CHECK(report.limit == of_first.limit);
    }
    run(1, 2, report, c);
    CHECK(same_bits(first, c)); // other vectors, the same repairs
    CHECK(report.limit != of_first.limit);
}

TEST_CASE("what the report says") {
    experiment<float> x(200, 300, 100);
    REQUIRE(x.run([](auto const&, int) {}));
    CHECK(x.report.error > 0);
    CHECK(x.report.error < 1);
    CHECK(x.report.limit > 0);
    CHECK(x.report.limit < 1);
    // A fault just beyond the limit is found, and one far within the bound is let be.
    sg::bound const bound = sg::host{}.error_bound(sg::shape<float>{200, 300, 100, 1, true});
    double size = 3 * std::fabs(static_cast<double>(x.e(7, 8)));
    for (index_t l = 0; l < 100; ++l) size += 2 * std::fabs(static_cast<double>(x.a(7, l) * x.b(l, 8)));
    auto const fault = static_cast<float>(bound.worst * size);
    REQUIRE(x.run([&](auto const& c, int) { c(7, 8) += 1.5f * fault; }));
    CHECK(x.report.repaired == 1);
    REQUIRE(x.run([&](auto const& c, int) { c(7, 8) += 0.5f * fault; }));
    CHECK(x.report.repaired == 0);
    CHECK(x.report.error > 0.4);
}

TEST_CASE("it stays within its workspace") {
    for (bool const adds : {false, true})
        for (index_t const size : {1, 9, 70, 200}) {
            auto const a = random<float>(size, 40, 1), b = random<float>(40, 33, 2);
            sg::matrix<float> c(size, 33);
            auto p = sg::product(1.0f, a, b, adds ? 1.0f : 0.0f, c);
            CHECK(support::try_arena(sg::verified{sg::host{.threads = 1}}, p).stayed_inside);
            auto const z = random<std::complex<double>>(size, 40, 1),
                       w = random<std::complex<double>>(40, 33, 2);
            sg::matrix<std::complex<double>> y(size, 33);
            auto q = sg::product(1.0, z, w, adds ? 1.0 : 0.0, y);
            CHECK(support::try_arena(sg::verified{sg::host{.threads = 1}}, q).stayed_inside);
        }
}

TEST_CASE("its options, and what it says of itself") {
    sg::matrix<float> a(3, 3), c(3, 3);
    sg::status const s = sg::try_gemm(sg::verified{sg::host{}, {.rounds = 0}}, a, a, c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::argument);

    sg::verified const policy{sg::verified{sg::host{}}};
    static_assert(std::is_same_v<decltype(policy), sg::verified<sg::verified<sg::host>> const>);
    sg::shape<float> const shape{.m = 1000, .n = 1000, .k = 1000};
    CHECK(policy.describe(shape).starts_with("verified by checksums: verified by checksums: host"));
    CHECK(policy.error_bound(shape).worst == sg::host{}.error_bound(shape).worst);
    CHECK(policy.estimate(shape) > sg::host{}.estimate(shape));
    sg::shape<float> adding = shape;
    adding.adds = true; // a copy of E
    CHECK(sg::verified{sg::host{}}.workspace(adding).host >=
          sg::verified{sg::host{}}.workspace(shape).host + 4000000);
}
