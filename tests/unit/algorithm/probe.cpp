#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>
#include <stratagemm/structure/rdft.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

// A host whose transforms are tampered with: f(c, call) after each, but for those of probes, whose C has other elements.
template <class C>
struct faulty : sg::layer_over<sg::host> {
    using layer = sg::layer_over<sg::host>;
    std::function<void(sg::view<C> const&, int)> const* harm;
    int* calls;

    faulty(sg::host cpu, std::function<void(sg::view<C> const&, int)> const& f, int& count)
        : layer(cpu), harm(&f), calls(&count) {}
    template <class S>
    using product = sg::multiplier<sg::host, S>;
    template <class P>
    static constexpr sg::verdict accepts = sg::verdict::structure;
    template <class P>
    static constexpr sg::verdict
        accepts_operands = sg::answer<product<decltype(std::declval<P const&>().shape())>, P>();
    template <class S>
    sg::footprint workspace(S const& s) const {
        return product<S>(base_).workspace(s);
    }
    template <class S>
    sg::bound error_bound(S const& s) const {
        return product<S>(base_).error_bound(s);
    }
    template <class S>
    double estimate(S const& s) const {
        return product<S>(base_).estimate(s);
    }
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        sg::status s = product<decltype(p.shape())>(base_)(p, memory);
        if constexpr (std::is_same_v<typename P::c_type, C>) (*harm)(p.c, (*calls)++);
        return s;
    }
};

template <class X>
sg::matrix<X> random_matrix(index_t rows, index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    using R = sg::real_t<X>;
    return sg::matrix<X>(
        rows, cols,
        [&](index_t, index_t) {
            double const re = from.uniform(-1, 1), im = from.uniform(-1, 1);
            if constexpr (sg::complex_like<X>)
                return X(static_cast<R>(re), static_cast<R>(im));
            else
                return static_cast<R>(re);
        },
        order);
}
template <class X>
double largest(sg::matrix<X> const& x) {
    double most = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) most = std::max(most, static_cast<double>(std::abs(x(i, j))));
    return most;
}
template <class R>
R const none = std::numeric_limits<R>::quiet_NaN();

// f(operand, X, C) for each kind of transform of n points, with the types of X and C.
template <class R, class F>
void each_kind(index_t n, F const& f) {
    using Z = std::complex<R>;
    f(sg::dft<R>(n), Z(), Z());
    f(sg::fftshift(sg::idft<R>(n)), Z(), Z());
    f(sg::leading(sg::dft<R>(n), n / 2 + 1, n / 3 + 1), Z(), Z());
    f(sg::dft<R>(n), R(), Z());
    f(sg::conjugated(sg::rdft<R>(n)), R(), Z());
    f(sg::irdft<R>(n), Z(), R());
    f(sg::scaled(R(-3), sg::conjugated(sg::leading(sg::irdft<R>(n), n / 2 + 1, n / 3 + 1))), Z(), R());
}

} // namespace

TEMPLATE_TEST_CASE("verified transforms have the bits of others, and none is refused", "", float, double) {
    using R = TestType;
    for (index_t const n : {1, 2, 15, 64, 131, 1000, 131072})
        each_kind<R>(n, [&]<class A, class X, class C>(A const& a, X, C) {
            if (support::sanitized && n > 1000) return;
            index_t const cols = n > 1000 ? 1 : n == 64 ? 50 : 5;
            INFO(n << ": " << a.rows << " x " << a.cols);
            auto const x = random_matrix<X>(a.cols, cols, 1);
            auto const e = random_matrix<C>(a.rows, cols, 2);
            sg::verified_report report;
            sg::host const cpu{2};
            sg::verified const policy{cpu, {.report = &report}};
            sg::matrix<C> expected(a.rows, cols), c(a.rows, cols), turned(cols, a.rows);
            auto const is_quiet = [&] {
                CHECK(report.products == 1);
                CHECK(report.repaired + report.repeated + report.skipped == 0);
                CHECK(report.limit > 0);
                CHECK(report.limit < 10 * std::sqrt(static_cast<double>(a.rows)));
            };
            sg::gemm(cpu, a, x, expected);
            sg::gemm(policy, a, x, c);
            CHECK(same_bits(c, expected));
            is_quiet();
            sg::gemm(policy, sg::transposed(x), a.transposed(), turned);
            is_quiet();
            int wrong = 0;
            for (index_t i = 0; i < a.rows; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += turned(j, i) != expected(i, j);
            CHECK(wrong == 0);
            using S = sg::real_t<C>;
            auto const place = [](auto v, index_t i, index_t j) {
                return v + decltype(v)(static_cast<R>(i - j));
            };
            expected = e, c = e;
            if constexpr (std::is_same_v<X, R> && sg::complex_like<C>) { // an epilogue of real numbers, too
                sg::gemm(cpu, S(2), a, x, S(-3), expected);
                sg::gemm(policy, S(2), a, x, S(-3), c);
            } else {
                sg::gemm(cpu, S(2), a, sg::conjugated(x), S(-3), expected, place);
                sg::gemm(policy, S(2), a, sg::conjugated(x), S(-3), c, place);
            }
            double const by = static_cast<double>(a.cols) * largest(x) + largest(e);
            double off = 0; // beta E may be added before or after a rounding
            for (index_t i = 0; i < a.rows; ++i)
                for (index_t j = 0; j < cols; ++j)
                    off = std::max(off, static_cast<double>(std::abs(c(i, j) - expected(i, j))));
            CHECK(off <= 8 * static_cast<double>(sg::unit_roundoff<R>()) * (by + static_cast<double>(n)));
            is_quiet();
        });
}

TEMPLATE_TEST_CASE("verified finds an element of a transform that is wrong, and repairs it", "", float,
                   double) {
    using R = TestType;
    support::random_source from(7);
    int found = 0, faults = 0;
    for (index_t const n : {15, 64, 100, 131})
        each_kind<R>(n, [&]<class A, class X, class C>(A const& a, X, C) {
            index_t const cols = 23;
            auto const x = random_matrix<X>(a.cols, cols, 3);
            auto const e = random_matrix<C>(a.rows, cols, 4);
            sg::matrix<C> right = e, c(a.rows, cols);
            sg::gemm(sg::host{1}, R(2), a, x, R(3), right);
            sg::shape<typename A::form, X, C> shape{a.rows, cols, a.cols, 1, true};
            shape.a_facts = a.facts();
            auto const bound = sg::plan(sg::host{1}, shape).error_bound();
            double const size =
                bound.worst * (2 * static_cast<double>(a.cols) * a.peak() * largest(x) + 3 * largest(e));
            for (int again = 0; again < (support::sanitized ? 4 : 20); ++again) {
                index_t const i = from.below(static_cast<int>(a.rows)),
                              j = from.below(static_cast<int>(cols));
                double const by = std::pow(2.0, from.uniform(-1, 12)) * (again % 2 == 0 ? size : -size);
                bool const is_lost = again == 3;
                std::function<void(sg::view<C> const&, int)> const harm = [&](sg::view<C> const& to,
                                                                              int call) {
                    if (call == 0) to(i, j) = is_lost ? C(none<R>) : to(i, j) + C(static_cast<R>(by));
                };
                c = e;
                int calls = 0;
                sg::verified_report report;
                sg::verified const policy{faulty<C>(sg::host{1}, harm, calls), {.report = &report}};
                auto const s = sg::try_gemm(policy, R(2), a, x, R(3), c);
                REQUIRE(s);
                INFO(n << ", " << a.rows << " x " << a.cols << ": " << by / size << " of " << report.limit);
                if (is_lost ||
                    std::abs(by) > report.limit * size * 2.0) { // the bound of its own column is smaller
                    CHECK(report.repaired + report.repeated == 1);
                    CHECK(same_bits(c, right));
                }
                ++faults, found += report.repaired == 1;
                c(i, j) = right(i, j);
                CHECK(same_bits(c, right)); // no other element was touched
            }
        });
    CHECK(found > faults / 2);
}

TEST_CASE("verified repeats a transform that is wrong in many columns, and refuses one that stays wrong") {
    using C = std::complex<float>;
    auto const x = random_matrix<C>(64, 40, 5);
    auto const e = random_matrix<C>(64, 40, 6);
    sg::matrix<C> right = e, c = e;
    sg::gemm(sg::host{1}, sg::dft<float>(64), x, e, right);
    int calls = 0, until = 1;
    std::function<void(sg::view<C> const&, int)> const harm = [&](sg::view<C> const& to, int) {
        if (to.cols > 1 && --until >= 0)
            for (index_t j = 0; j < to.cols; ++j) to(j, j) += C(100);
    };
    sg::verified_report report;
    sg::verified const policy{faulty<C>(sg::host{1}, harm, calls), {.report = &report}};
    sg::gemm(policy, sg::dft<float>(64), x, c, c);
    CHECK(report.repeated == 1);
    CHECK(report.repaired == 0);
    CHECK(same_bits(c, right));
    until = 2;
    auto const s = sg::try_gemm(policy, sg::dft<float>(64), x, e, c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::verification);
}

TEST_CASE("verified leaves out columns with NaN or Inf, and checks the others") {
    using C = std::complex<float>;
    auto x = random_matrix<C>(64, 20, 7);
    x(5, 3) = C(none<float>), x(6, 8) = C(0, std::numeric_limits<float>::infinity());
    std::function<void(sg::view<C> const&, int)> const harm = [&](sg::view<C> const& to, int call) {
        if (call == 0) to(9, 4) = C(none<float>), to(9, 3) = C(0);
    };
    sg::matrix<C> right(64, 20), c(64, 20);
    sg::gemm(sg::host{1}, sg::dft<float>(64), x, right);
    int calls = 0;
    sg::verified_report report;
    sg::gemm(sg::verified{faulty<C>(sg::host{1}, harm, calls), {.report = &report}}, sg::dft<float>(64), x,
             c);
    CHECK(report.skipped == 2);
    CHECK(report.repaired == 1);
    int wrong = 0;
    for (index_t i = 0; i < 64; ++i)
        for (index_t j = 0; j < 20; ++j) wrong += j != 3 && j != 8 && c(i, j) != right(i, j);
    CHECK(wrong == 0);
}

TEST_CASE("a plan of a verified transform says what it takes; C is another matrix") {
    using C = std::complex<float>;
    auto const x = random_matrix<C>(64, 20, 8);
    sg::matrix<C> y(64, 20), expected(64, 20);
    sg::verified const policy{sg::host{1}};
    sg::plan const plan(policy, sg::shape<sg::dft_form<float>, C, C>{64, 20, 64});
    CHECK(contains(plan.describe(), "verified by checksums: dft of 64 points"));
    CHECK(plan.estimate() >
          sg::plan(sg::host{1}, sg::shape<sg::dft_form<float>, C, C>{64, 20, 64}).estimate());
    CHECK(plan.error_bound().normwise);
    auto memory = plan.reserve();
    plan.run(sg::dft<float>(64), x, y, memory);
    sg::gemm(sg::host{1}, sg::dft<float>(64), x, expected);
    CHECK(same_bits(y, expected));

    auto const s = sg::try_gemm(policy, sg::dft<float>(64), y, y);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::alias);
    CHECK(contains(s.error().what(), "C cannot be the operand that is transformed"));
    CHECK(same_bits(y, expected));

    using sg::verdict;
    using transform = sg::problem<sg::dft<float>, sg::view<C const>, sg::view<C>>;
    using sparse = sg::problem<sg::csr<float>, sg::view<float const>, sg::view<float>>;
    CHECK(sg::answer<sg::verified<sg::reference>, transform>() == verdict::yes);
    CHECK(sg::answer<sg::verified<sg::verified<sg::host>>, transform>() == verdict::yes);
    CHECK(sg::answer<sg::verified<sg::strassen<sg::host>>, transform>() == verdict::structure);
    CHECK(sg::answer<sg::verified<sg::host>, sparse>() == verdict::structure);
}
