// `verified` over a device: faults that are planted in C, in the device's memory, after the product.
#include "catch.hpp"
#include "policies.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/host.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace sg = stratagemm;
using sg::index_t;
using support::random_source;
using trials::under_test;

namespace {

// What happens to C between a product and its check: f(c, call), where `call` counts the products of the base.
template <class C>
using harm = std::function<void(sg::view<C> const&, int)>;

// A leaf that says that it lacks double.
template <class Leaf>
struct narrow_leaf : Leaf {
    sg::device_limits limits() const {
        sg::device_limits all = Leaf::limits();
        all.has_double = false;
        return all;
    }
};

// A leaf that counts what comes to the host, and a base of it.
template <class Leaf>
struct counting_leaf : Leaf {
    int* downloads;
    counting_leaf(Leaf leaf, int* count) : Leaf(std::move(leaf)), downloads(count) {}
    template <class... Arguments>
    sg::status download(Arguments&&... arguments) const {
        ++*downloads;
        return Leaf::download(std::forward<Arguments>(arguments)...);
    }
};
template <class Base>
struct counted : Base {
    int* downloads;
    counted(Base base, int& count) : Base(std::move(base)), downloads(&count) {}
    auto leaf() const { return counting_leaf<sg::leaf_of<Base>>(Base::leaf(), downloads); }
};

// A base whose results are tampered with. C has no gaps.
template <class Base, class C, bool Narrow = false>
struct faulty : Base {
    harm<C> const* done;
    int* calls;

    faulty(Base base, harm<C> const& f, int& count) : Base(base), done(&f), calls(&count) {}

    auto leaf() const {
        if constexpr (Narrow)
            return narrow_leaf<sg::leaf_of<Base>>{Base::leaf()};
        else
            return Base::leaf();
    }
    template <class P>
    sg::status operator()(P const& p, typename Base::arena& memory) const {
        if (sg::status s = Base::operator()(p, memory); !s) return s;
        if constexpr (std::is_same_v<typename P::c_type, C>) {
            std::vector<C> here(static_cast<std::size_t>(p.c.rows * p.c.cols));
            auto const count = static_cast<index_t>(here.size());
            if (sg::status s = Base::leaf().download(p.c.data, here.data(), count); !s) return s;
            (*done)(sg::view<C>{here.data(), p.c.rows, p.c.cols, p.c.row_stride, p.c.col_stride}, (*calls)++);
            return Base::leaf().upload(static_cast<C const*>(here.data()), p.c.data, count);
        }
        return {};
    }
};

template <class C>
void flip(C& x, int bit) {
    auto* const bytes = reinterpret_cast<unsigned char*>(&x);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1u << bit % 8);
}

template <class T>
sg::matrix<T> random(index_t m, index_t n, std::uint64_t seed) {
    random_source from(seed);
    return sg::matrix<T>(m, n, [&](index_t, index_t) {
        double const x = from.uniform(-1, 1);
        return static_cast<T>(static_cast<sg::real_t<T>>(std::is_integral_v<T> ? std::floor(127 * x) : x));
    });
}

// C = 2 A B + 3 C by a device that is tampered with, checked. A is by rows, B by columns.
template <class TA, class TC = TA, bool Narrow = false>
struct experiment {
    using S = sg::accumulator_t<TA>;
    static constexpr index_t m = 60, n = 70, k = 150;
    under_test device;
    sg::matrix<TA> a, b;
    sg::matrix<TC> e, right, c;
    sg::verified_report report;
    sg::layout lying = sg::layout::row_major;
    int calls = 0;

    experiment()
        : a(random<TA>(m, k, 1)), b(random<TA>(k, n, 2)), e(random<TC>(m, n, 3)), right(m, n), c(m, n) {
        redo();
    }
    void redo() { // after a change of the operands
        run_with(sg::verified{faulty<under_test, TC, Narrow>(device, untouched, calls)}, right).or_throw();
        CHECK(is_near());
    }
    template <class Policy>
    sg::status run_with(Policy const& policy, sg::matrix<TC>& result) {
        typename under_test::template matrix<TA> there_a(device, m, k),
            there_b(device, k, n, sg::layout::col_major);
        typename under_test::template matrix<TC> there_c(device, m, n, lying);
        there_a.upload(a), there_b.upload(b), there_c.upload(e);
        sg::status s = sg::try_gemm(policy, S(2), there_a, there_b, S(3), there_c);
        there_c.download(result);
        return s;
    }
    sg::status run(harm<TC> const& f) {
        calls = 0, report = {};
        return run_with(sg::verified{faulty<under_test, TC, Narrow>(device, f, calls), {.report = &report}},
                        c);
    }
    // How many elements are not what the device computes, to the bit.
    int changed() const {
        int count = 0;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) count += std::memcmp(&c(i, j), &right(i, j), sizeof(TC)) != 0;
        return count;
    }
    // The device's product is what the reference computes, where that is not large.
    bool is_near() {
        sg::matrix<TC> expected(m, n, [&](index_t i, index_t j) { return e(i, j); });
        sg::gemm(sg::reference{}, S(2), a, b, S(3), expected);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) {
                double const x = static_cast<double>(expected(i, j)), y = static_cast<double>(right(i, j));
                double const most = std::is_integral_v<TC> ? 0 : 1e-3;
                if (std::fabs(x) < 1e6 && !(std::fabs(x - y) <= most)) return false;
            }
        return true;
    }
    inline static harm<TC> const untouched = [](auto const&, int) {};
};

template <class T>
bool has_type() {
    return sizeof(sg::real_t<T>) < 8 || under_test().leaf().limits().has_double;
}

template <class TA, class TC, bool Narrow = false>
void find_flipped_bits(int faults) {
    if (!has_type<TC>()) return;
    experiment<TA, TC, Narrow> x;
    random_source from(5);
    sg::bound const bound = x.device.error_bound(sg::shape<TA, TA, TC>{x.m, x.n, x.k, 1, true});
    int beyond = 0;
    auto const try_one = [&] {
        index_t const i = from.below(static_cast<int>(x.m)), j = from.below(static_cast<int>(x.n));
        int const bit = from.below(8 * static_cast<int>(sizeof(TC)));
        double size = 3 * sg::verified_parts::magnitude_of(x.e(i, j));
        for (index_t l = 0; l < x.k; ++l)
            size +=
                2 * sg::verified_parts::magnitude_of(x.a(i, l)) * sg::verified_parts::magnitude_of(x.b(l, j));
        TC wrong = x.right(i, j);
        flip(wrong, bit);
        double const off = std::fabs(static_cast<double>(wrong) - static_cast<double>(x.right(i, j)));
        bool const is_beyond = std::is_integral_v<TC> || !(off <= 3 * bound.worst * size);
        INFO("C(" << i << ", " << j << "), bit " << bit);
        REQUIRE(x.run([&](auto const& c, int) { flip(c(i, j), bit); }));
        CHECK(x.report.products == 1);
        CHECK(x.report.repeated == 0);
        CHECK(x.report.skipped == 0);
        beyond += is_beyond;
        if (is_beyond) CHECK(x.report.repaired == 1);
        CHECK(x.changed() <= 1);
        CHECK(std::fabs(static_cast<double>(x.c(i, j)) - static_cast<double>(x.right(i, j))) <=
              3 * bound.worst * size);
    };
    for (auto const lying : {sg::layout::row_major, sg::layout::col_major}) {
        x.lying = lying;
        x.redo(); // the bits depend on how C lies
        for (int fault = 0; fault < faults / 2; ++fault) try_one();
    }
    CHECK(beyond > faults / 3);
}

} // namespace

TEST_CASE("verified on a device: flipped bits", "[verified]") {
    find_flipped_bits<float, float>(20);
    find_flipped_bits<double, double>(10);
    find_flipped_bits<std::int8_t, std::int32_t>(10);
    find_flipped_bits<sg::half, float>(10);
}
TEST_CASE("verified on a device without double: flipped bits", "[verified]") {
    find_flipped_bits<float, float, true>(20);
}

namespace {

// Faults of any size among elements of any magnitude: none that the report says is found may be left.
template <class T, bool Narrow = false>
void try_promises(int products) {
    if (!has_type<T>()) return;
    under_test const device;
    random_source from(78);
    double const large = 0x1p100;
    for (int x = 0; x < products; ++x) {
        // The first has C = (1, 2^100), the next one eight rows and columns.
        index_t const m = x == 0   ? 1
                          : x == 1 ? 8
                                   : 1 + from.below(30),
                      n = x == 0   ? 2
                          : x == 1 ? 8
                                   : 1 + from.below(30),
                      k = x == 0 ? 1 : 1 + from.below(30);
        int const reach = x % 2 ? 30 : 3;
        auto const draw = [&](index_t i, index_t j) {
            if (x == 0) return static_cast<T>(i + j == 0 ? 1 : large);
            if (from.below(10) == 0) return T(0);
            return static_cast<T>(std::ldexp(from.uniform(-1, 1), from.below(2 * reach) - reach));
        };
        sg::matrix<T> const a(m, k, draw), b(k, n, draw);
        typename under_test::template matrix<T> const there_a(device, a), there_b(device, b);
        typename under_test::template matrix<T> there_c(device, m, n);
        sg::matrix<T> right(m, n), c(m, n);
        sg::gemm(device, there_a, there_b, there_c);
        there_c.download(right);
        double const worst = device.error_bound(sg::shape<T>{m, n, k}).worst;
        auto const bound = [&](double terms) {
            return 2 * worst * terms + 3 * sg::verified_parts::underflow_of<T>(1.0, 0.0, k);
        };
        auto const terms = [&](index_t i, index_t j) {
            double sum = 0;
            for (index_t l = 0; l < k; ++l)
                sum += std::fabs(static_cast<double>(a(i, l)) * static_cast<double>(b(l, j)));
            return sum;
        };
        for (int fault = 0; fault < 6; ++fault) {
            index_t const i = from.below(static_cast<int>(m)),
                          j = fault == 0 ? 0 : from.below(static_cast<int>(n));
            double const more = (from.below(2) ? 1.0 : -1.0) * from.uniform(1, 20) * bound(terms(i, j));
            harm<T> const hit = [&](auto const& y, int) {
                y(i, j) = fault < 2 ? 2 * y(i, j) : static_cast<T>(static_cast<double>(y(i, j)) + more);
            };
            sg::verified_report report;
            int calls = 0;
            sg::gemm(sg::verified{faulty<under_test, T, Narrow>(device, hit, calls), {.report = &report}},
                     there_a, there_b, there_c);
            there_c.download(c);
            double of_row = 0, of_col = 0;
            for (index_t y = 0; y < n; ++y) of_row += terms(i, y) / static_cast<double>(n);
            for (index_t y = 0; y < m; ++y) of_col += terms(y, j) / static_cast<double>(m);
            double const error = std::fabs(static_cast<double>(c(i, j)) - static_cast<double>(right(i, j)));
            INFO(m << " x " << n << " x " << k << ", fault at " << i << ", " << j << ", limit "
                   << report.limit << ", error " << error << ", terms " << terms(i, j));
            CHECK((error <= bound(terms(i, j)) || error <= report.limit * bound(std::max(of_row, of_col))));
            if (m <= 8 && n <= 8) CHECK(error <= bound(terms(i, j)));
        }
    }
}

} // namespace

TEST_CASE("verified on a device: no error beyond the limit is missed", "[verified]") {
    try_promises<float>(12);
    try_promises<double>(12);
    try_promises<float, true>(12);
}

TEST_CASE("verified on a device: several wrong elements, and two that cancel", "[verified]") {
    experiment<float> x;
    REQUIRE(x.run([](auto const& c, int) { c(5, 6) = 1000, c(5, 60) = 1000, c(59, 0) = -1000; }));
    CHECK(x.report.repaired == 3);
    CHECK(x.changed() <= 3);
    // One of these leaves the sum of column 6 as it was.
    for (float const other : {100.f, -100.f}) {
        REQUIRE(x.run([&](auto const& c, int) { c(5, 6) += 100, c(40, 6) += other; }));
        CHECK(x.report.repaired == 2);
        CHECK(x.changed() <= 2);
    }
    for (float const other : {100.f, -100.f}) { // of row 5
        REQUIRE(x.run([&](auto const& c, int) { c(5, 6) += 100, c(5, 40) += other; }));
        CHECK(x.report.repaired == 2);
        CHECK(x.changed() <= 2);
    }
}

TEST_CASE("verified on a device: once more, and an error", "[verified]") {
    experiment<float> x;
    auto const spoil = [](auto const& c) {
        for (index_t i = 0; i < c.rows; ++i) c(i, i) = 700;
    };
    REQUIRE(x.run([&](auto const& c, int call) {
        if (call == 0) spoil(c);
    }));
    CHECK(x.calls == 2);
    CHECK(x.report.repeated == 1);
    CHECK(x.report.repaired == 0);
    CHECK(x.changed() == 0);
    sg::status const s = x.run([&](auto const& c, int) { spoil(c); });
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::verification);
    CHECK(support::contains(s.error().what(), "C("));
    CHECK(x.calls == 2);
    CHECK(x.report.products == 0);
    experiment<std::int8_t, std::int32_t> y;
    REQUIRE(y.run([](auto const& c, int call) {
        for (index_t i = 0; call == 0 && i < c.rows; ++i) c(i, 4) += 1;
    }));
    CHECK(y.report.repeated == 1);
    CHECK(y.changed() == 0);
}

TEST_CASE("verified on a device: Inf and NaN", "[verified]") {
    float const infinity = std::numeric_limits<float>::infinity();
    experiment<float> x;
    for (float const odd : {infinity, std::nanf("")}) {
        REQUIRE(x.run([&](auto const& c, int) { c(5, 6) = odd; }));
        CHECK(x.report.repaired == 1);
        CHECK(x.report.skipped == 0);
        CHECK(x.changed() <= 1);
    }
    REQUIRE(x.run([&](auto const& c, int call) {
        for (index_t j = 0; call == 0 && j < c.cols; ++j) c(7, j) = infinity;
    }));
    CHECK(x.report.repeated == 1);
    for (int where = 0; where < 3; ++where) {
        experiment<float> y;
        (where == 0 ? y.a(4, 5) : where == 1 ? y.b(4, 5) : y.e(4, 5)) = infinity;
        y.redo();
        REQUIRE(y.run([](auto const&, int) {}));
        CHECK(y.report.repaired == 0);
        CHECK(y.report.repeated == 0);
        CHECK(y.report.skipped == 1);
        CHECK(y.changed() == 0);
        REQUIRE(y.run([](auto const& c, int) { c(30, 31) += 1; }));
        CHECK(y.report.repaired == 1);
        CHECK(y.changed() <= 1);
    }
    experiment<float> y; // results that overflow
    for (index_t l = 0; l < y.k; ++l) y.a(7, l) = 3e38f;
    y.redo();
    REQUIRE(y.run([](auto const&, int) {}));
    CHECK(y.report.repaired == 0);
    CHECK(y.changed() == 0);
}

TEST_CASE("verified on a device: over strassen, with an epilogue, in a batch", "[verified]") {
    under_test const device;
    auto const a = random<float>(64, 48, 1), b = random<float>(48, 80, 2);
    using matrix = typename under_test::template matrix<float>;
    matrix const there_a(device, a), there_b(device, b);
    matrix there_c(device, 64, 80);
    sg::matrix<float> plain(64, 80), c(64, 80);
    sg::strassen const base(device, {.levels = 1});
    sg::gemm(base, there_a, there_b, there_c, sg::relu);
    there_c.download(plain);
    int calls = 0;
    harm<float> const hit = [](auto const& x, int) { x(3, 4) = 1e6f; };
    sg::verified_report report;
    sg::verified const policy{faulty<sg::strassen<under_test>, float>(base, hit, calls), {.report = &report}};
    sg::gemm(policy, there_a, there_b, there_c, sg::relu);
    there_c.download(c);
    CHECK(report.repaired == 1);
    CHECK(std::fabs(c(3, 4) - plain(3, 4)) < 1e-3f);
    c(3, 4) = plain(3, 4);
    CHECK(support::same_bits(c, plain));

    matrix many(device, 3 * 64, 80);
    sg::gemm(policy, there_a, there_b, sg::batched(many.block(0, 0, 64, 80), 3, 64 * 80));
    CHECK(report.products == 3);
    CHECK(report.repaired == 3);
}

// The host waits once for a product that is right, whatever the layouts, the sides and the numbers.
template <class TA, class TC>
void wait_once() {
    if (!has_type<TC>()) return;
    using S = sg::accumulator_t<TA>;
    under_test const device;
    for (auto const [m, n, k] :
         {std::array<index_t, 3>{60, 70, 150}, {1, 1, 1}, {300, 5, 1100}, {3, 1201, 40}})
        for (auto const lies : {sg::layout::row_major, sg::layout::col_major}) {
            // Compiling kernels takes most of the time: other types than float have two shapes, each in one layout.
            if (!std::is_same_v<TA, float> && (m < 60 || (m == 60) != (lies == sg::layout::row_major)))
                continue;
            auto const other = lies == sg::layout::row_major ? sg::layout::col_major : sg::layout::row_major;
            typename under_test::template matrix<TA> a(device, m, k, lies), b(device, k, n, other);
            typename under_test::template matrix<TC> c(device, m, n, lies);
            a.upload(random<TA>(m, k, 1)), b.upload(random<TA>(k, n, 2)), c.upload(random<TC>(m, n, 3));
            int downloads = 0;
            sg::verified_report report;
            sg::verified const policy{counted<under_test>(device, downloads), {.report = &report}};
            for (S const beta : {S(0), S(3)}) sg::gemm(policy, S(-2), a, b, beta, c);
            INFO(m << " x " << n << " x " << k);
            CHECK(downloads == 2);
            CHECK(report.products == 1);
            CHECK(report.error <= 1);
        }
}
TEST_CASE("verified on a device: the host waits once", "[verified]") {
    wait_once<float, float>();
    wait_once<double, double>();
    wait_once<std::int8_t, std::int32_t>();
    wait_once<sg::half, float>();
    wait_once<sg::bfloat16, sg::bfloat16>();
}

TEST_CASE("verified on a device: what it takes, and what it says", "[verified]") {
    using space = typename under_test::space;
    using policy = sg::verified<under_test>;
    static_assert(sg::takes<policy, sg::dense_problem<float, float, float, space>>);
    static_assert(sg::takes<policy, sg::dense_problem<std::int8_t, std::int8_t, std::int32_t, space>>);
    using complex = std::complex<float>;
    static_assert(sg::answer<policy, sg::dense_problem<complex, complex, complex, space>>() ==
                  sg::verdict::types);
    sg::shape<float> const s{1000, 1000, 1000};
    policy const p{under_test()};
    CHECK(p.describe(s).find("verified by checksums: ") == 0);
    CHECK(p.estimate(s) > under_test().estimate(s));
    CHECK(p.error_bound(s).worst == under_test().error_bound(s).worst);
    for (sg::index_t m : {0, 1, 700}) // products of nothing have workspace, too
        for (sg::index_t n : {0, 1, 700})
            CHECK(p.workspace(sg::shape<float>{m, n, 0}).device <=
                  p.workspace(sg::shape<float>{1000, 1000, 1000}).device);
}
