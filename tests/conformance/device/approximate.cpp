// Approximate products on a device: within their tolerance, refused, exact, certified; with what the host draws.
#include "unit/algorithm/approximate.hpp"
#include "catch.hpp"
#include "conformance/device/without_double.hpp"
#include "policies.hpp"

#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/stratagemm.hpp>

#include <limits>

using namespace trials;
using namespace approximations;

namespace {

template <class T>
using there = typename under_test::template matrix<T>;

} // namespace

TEMPLATE_TEST_CASE("monte_carlo on a device", "", float, double, std::complex<float>, sg::half) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    under_test const device;
    if (!device.leaf().limits().has_double) return;
    index_t const m = 20, n = 18, k = 300;
    slow const base{device};
    for (auto const order : {sg::layout::row_major, sg::layout::col_major})
        for (bool const certify : {false, true}) {
            bool const is_half = std::is_same_v<T, sg::half>; // which is too narrow
            operands<T> const x(is_half ? data::random : data::spread, m, n, k, 3, order);
            there<T> const a(device, x.a), b(device, x.b);
            there<S> c(device, m, n);
            sg::matrix<S> here(m, n), on_host(m, n);
            sg::report made;
            sg::monte_carlo_options options{.tolerance = 0.3, .seed = 4, .certify = certify, .report = &made};
            sg::gemm(sg::monte_carlo{base, options}, a, b, c);
            c.download(here);
            CHECK(made.ran == "monte_carlo");
            CHECK(error_of(x, here) <= 0.3);
            CHECK(error_of(x, here) <= made.bound.worst);
            sg::gemm(sg::monte_carlo{slow{sg::host{1}}, options}, x.a, x.b, on_host); // the same draws
            CHECK(distance(here, on_host) <= 40 * sg::unit_roundoff<T>() * norm_of(x.a) * norm_of(x.b));
            sg::gemm(sg::monte_carlo{base, options}, S(2), a, b, S(1), c, sg::scale(S(3)));
            sg::matrix<S> twice(m, n);
            c.download(twice);
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j) {
                    auto const y = 9.0 * wide(here(i, j));
                    CHECK(std::abs(wide(twice(i, j)) - y) <=
                          40 * sg::unit_roundoff<T>() * norm_of(x.a) * norm_of(x.b));
                }
        }
}

TEMPLATE_TEST_CASE("sketched on a device", "", float, std::complex<double>) {
    using T = TestType;
    under_test const device;
    if (!device.leaf().limits().has_double) return;
    index_t const m = 20, n = 18, k = 400;
    auto const try_kind = [&](auto const& kind, double confidence) {
        operands<T> const x(data::random, m, n, k, 3);
        there<T> const a(device, x.a), b(device, x.b);
        there<T> c(device, m, n);
        sg::matrix<T> here(m, n), on_host(m, n);
        sg::report made;
        sg::sketched_options const options{
            .tolerance = 0.6, .confidence = confidence, .seed = 4, .certify = true, .report = &made};
        sg::gemm(sg::sketched{slow{device, m, n}, kind, options}, a, b, c);
        c.download(here);
        CHECK(made.ran == "sketched");
        CHECK(error_of(x, here) <= made.bound.worst);
        CHECK(made.bound.worst <= 0.6);
        sg::gemm(sg::sketched{slow{sg::host{1}, m, n}, kind, options}, x.a, x.b, on_host); // the same sketch
        CHECK(distance(here, on_host) <= 100 * sg::unit_roundoff<T>() * norm_of(x.a) * norm_of(x.b));
    };
    try_kind(sg::sketches::gaussian{}, 0.9);
    try_kind(sg::sketches::sparse_sign{4}, 0.9);
    try_kind(sg::sketches::srht{}, 0.9);
    try_kind(sg::sketches::srct{}, 0.9);
}

TEST_CASE("an approximate product on a device is refused, exact, or certified") {
    using T = float;
    under_test const device;
    if (!device.leaf().limits().has_double) return;
    index_t const m = 20, n = 18, k = 300;
    operands<T> x(data::random, m, n, k, 3);
    there<T> a(device, x.a), b(device, x.b), c(device, m, n), d(device, m, n);
    sg::report made;
    sg::monte_carlo_options options{.tolerance = 0.05, .report = &made};
    auto const refused = sg::try_gemm(sg::monte_carlo{slow{device}, options}, a, b, c);
    REQUIRE(!refused);
    CHECK(refused.error().code() == sg::errc::argument);
    options.otherwise = sg::otherwise::exact;
    sg::matrix<T> here(m, n), expected(m, n);
    auto const is_exact = [&] {
        sg::gemm(sg::monte_carlo{slow{device}, options}, a, b, c);
        sg::gemm(device, a, b, d);
        c.download(here), d.download(expected);
        return std::memcmp(here.data(), expected.data(), sizeof(T) * static_cast<std::size_t>(m * n)) == 0 &&
               made.ran == "native";
    };
    CHECK(is_exact());
    options.tolerance = 0.5;
    x.a(3, 7) = std::numeric_limits<T>::quiet_NaN();
    a = there<T>(device, x.a);
    CHECK(is_exact());
    for (index_t i = 0; i < m; ++i)
        for (index_t l = 0; l < k; ++l) x.a(i, l) = 0;
    a = there<T>(device, x.a);
    CHECK(is_exact());
}

TEMPLATE_TEST_CASE("norms on a device without double", "", float, sg::half, std::complex<float>) {
    using T = TestType;
    under_test const device;
    without_double<under_test> const narrow{device};
    struct sides {
        index_t rows, cols;
    } const all[] = {{1, 1}, {7, 300}, {300, 7}, {65, 2000}};
    for (auto const& s : all)
        for (auto const order : {sg::layout::row_major, sg::layout::col_major})
            for (double const by : {1.0, 1e-30, 1e25}) {
                if (std::is_same_v<T, sg::half> && by != 1) continue;
                support::random_source from(4);
                sg::matrix<T> const x(
                    s.rows, s.cols,
                    [&](index_t i, index_t) {
                        double const one = by * (i % 3 == 1 && by != 1 ? 1e10 : 1);
                        return support::make<T>(one * from.normal(), one * from.normal());
                    },
                    order);
                there<T> const y(device, x);
                sg::footprint room;
                under_test::space::share(room) =
                    sg::approximate_parts::bytes_for_squares<under_test::arena, T>(under_test::space{},
                                                                                   s.rows, s.cols);
                auto memory = device.reserve(room);
                memory.or_throw();
                std::vector<double> found(static_cast<std::size_t>(s.rows));
                sg::view<T const, under_test::space> const lines = y.view();
                sg::approximate_parts::squares_of_rows(narrow.leaf(), lines, found.data(), *memory)
                    .or_throw();
                for (index_t i = 0; i < s.rows; ++i) {
                    double expected = 0;
                    for (index_t j = 0; j < s.cols; ++j) expected += std::norm(wide(x(i, j)));
                    CHECK(found[static_cast<std::size_t>(i)] == Approx(expected).epsilon(1e-12));
                }
            }
}

TEMPLATE_TEST_CASE("approximate products and certificates on a device without double", "", float, sg::half) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    under_test const device;
    index_t const m = 20, n = 18, k = 300;
    slow const base{without_double{device}, m, n};
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        operands<T> const x(data::random, m, n, k, 3, order);
        there<T> const a(device, x.a), b(device, x.b);
        there<S> c(device, m, n);
        sg::matrix<S> here(m, n), before(m, n);
        sg::report made;
        sg::monte_carlo_options const options{.tolerance = 0.3, .seed = 4, .certify = true, .report = &made};
        sg::gemm(sg::monte_carlo{base, options}, a, b, c);
        c.download(here);
        CHECK(made.ran == "monte_carlo");
        double const error = error_of(x, here);
        CHECK(error <= made.bound.worst);
        CHECK(made.bound.worst <= 3 * error); // 16 vectors say more than this rarely
        // What the certificate says, with alpha and beta, is what one in double says.
        if (device.leaf().limits().has_double) {
            double const narrow = made.bound.worst;
            sg::gemm(sg::monte_carlo{slow{device, m, n}, options}, a, b, c);
            CHECK(narrow == Approx(made.bound.worst).epsilon(1e-3));
        }
        before = here;
        sg::gemm(sg::monte_carlo{base, options}, S(2), a, b, S(-1), c);
        c.download(here);
        CHECK(made.ran == "monte_carlo");
        CHECK(made.bound.worst >= distance(here, before) / (norm_of(x.a) * norm_of(x.b)) - 2 * error);
        CHECK(made.bound.worst <= 3 * error);
    }
}

TEST_CASE("sketched on a device without double; and what it refuses") {
    using T = float;
    under_test const device;
    index_t const m = 20, n = 18, k = 400;
    slow const base{without_double{device}, m, n};
    operands<T> x(data::random, m, n, k, 3);
    there<T> a(device, x.a);
    there<T> const b(device, x.b);
    there<T> c(device, m, n);
    sg::matrix<T> here(m, n);
    sg::report made;
    sg::sketched_options const options{
        .tolerance = 0.6, .confidence = 0.9, .seed = 4, .certify = true, .report = &made};
    sg::gemm(sg::sketched{base, options}, a, b, c);
    c.download(here);
    CHECK(made.ran == "sketched");
    CHECK(error_of(x, here) <= made.bound.worst);
    auto const fails_with = [&](double by) {
        sg::matrix<T> const y(m, k, [&](index_t i, index_t j) { return x.a(i, j) * static_cast<T>(by); });
        a = there<T>(device, y);
        auto const s = sg::try_gemm(sg::sketched{base, options}, a, b, c);
        return s ? sg::errc{} : s.error().code();
    };
    CHECK(fails_with(1e-30) == sg::errc::argument);
    CHECK(fails_with(1e25) == sg::errc::argument);
    CHECK(fails_with(std::numeric_limits<double>::quiet_NaN()) == sg::errc::argument);
    using Z = std::complex<float>;
    there<Z> const d(device, m, k), e(device, k, n);
    there<Z> f(device, m, n);
    auto const s = sg::try_gemm(sg::sketched{base, options}, d, e, f);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::unsupported);
}
