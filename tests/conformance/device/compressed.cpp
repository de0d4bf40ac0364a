// Compressed products on a device, and their large elements: within the tolerance, refused, exact, certified; with the
// hashes of the host.
#include "catch.hpp"
#include "conformance/device/without_double.hpp"
#include "policies.hpp"
#include "unit/algorithm/approximate.hpp"
#include "unit/algorithm/planted.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

using namespace trials;
using approximations::distance;
using approximations::norm_of;
using approximations::slow;
using planting::planted;
using sg::index_t;

namespace {

template <class T>
using there = typename under_test::template matrix<T>;
template <class T>
using on_device = sg::view<T const, under_test::space>;

// The medians of all elements by sketches of a size.
template <class R>
sg::matrix<R> estimates(sg::compressed_parts::sketch_size size, std::uint64_t seed, sg::matrix<R> const& a,
                        sg::matrix<R> const& b) {
    under_test const device;
    sg::compressed_options const options{.seed = seed};
    there<R> const x(device, a), y(device, b);
    there<R> c(device, a.rows(), b.cols());
    sg::compressed_parts::work<under_test, R> const work(device, options, x.view(), y.view());
    auto sketch = work.on_device(size);
    sg::footprint room;
    under_test::space::share(room) = work.bytes(size);
    auto memory = device.reserve(room);
    memory.or_throw();
    sketch.run(seed, *memory).or_throw();
    using space = under_test::space;
    sg::view<R, space> const to = c.view();
    sketch.write(sg::dense_problem<R, R, R, space>{R(1), x.view(), y.view(), R(0), to, to}, false).or_throw();
    sg::matrix<R> here(a.rows(), b.cols());
    c.download(here);
    return here;
}

template <class List>
std::set<std::pair<int, int>> places_of(under_test const& device, List const& list) {
    auto const count = static_cast<std::size_t>(list.nonzeros);
    std::vector<std::int32_t> rows(count), cols(count);
    if (count > 0) device.leaf().download(list.row_numbers, rows.data(), list.nonzeros).or_throw();
    if (count > 0) device.leaf().download(list.columns, cols.data(), list.nonzeros).or_throw();
    std::set<std::pair<int, int>> all;
    for (std::size_t at = 0; at < count; ++at) all.insert({rows[at], cols[at]});
    CHECK(all.size() == count);
    return all;
}
template <class R>
std::set<std::pair<int, int>> places_above(sg::matrix<R> const& c, double threshold) {
    std::set<std::pair<int, int>> all;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j)
            if (std::fabs(static_cast<double>(c(i, j))) >= threshold)
                all.insert({static_cast<int>(i), static_cast<int>(j)});
    return all;
}

} // namespace

TEST_CASE("the numbers of a sketch's buckets have a basis that moves along rows and columns") {
    for (int const row_bits : {0, 2, 5, 9})
        for (int const col_bits : {0, 3, 7})
            for (int const bits : {6, 8, 12})
                for (std::uint64_t seed = 0; seed < 50; ++seed) {
                    sg::compressed_parts::linear_hash const h(seed, 0, bits, row_bits, col_bits);
                    sg::compressed_parts::bucket_basis const basis(h, col_bits);
                    REQUIRE(basis.count == bits);
                    auto const origin = h.place_of(0, col_bits);
                    sg::compressed_parts::xor_span span;
                    for (int t = 0; t < bits; ++t) {
                        auto const moved = h.place_of(basis.at[t], col_bits) ^ origin;
                        CHECK(span.add(basis.at[t]));
                        if (t < basis.rows)
                            CHECK(moved.col == 0);
                        else if (t < basis.rows + basis.cols)
                            CHECK(moved.row == 0);
                    }
                    CHECK(basis.rows >= std::min(4, bits - col_bits));
                    CHECK(basis.rows + basis.cols >= std::min(4, bits - row_bits));
                }
}

// Sums are in another order than the host's.
TEMPLATE_TEST_CASE("sketches of a product on a device have the buckets of the definition", "", float,
                   double) {
    using R = TestType;
    under_test const device;
    if (std::is_same_v<R, double> && !device.leaf().limits().has_double) return;
    struct sides {
        index_t m, n, k;
        int bits, sketches;
    } const all[] = {{1, 1, 1, 6, 1},      {5, 7, 3, 6, 3},     {64, 64, 64, 6, 1},
                     {37, 200, 130, 6, 1}, {130, 67, 65, 9, 5}, {3, 1000, 2, 7, 1},
                     {40, 9, 300, 11, 3},  {20, 30, 33, 9, 3},  {9, 16, 70, 12, 1}};
    for (auto const& s : all) {
        support::random_source from(7);
        sg::matrix<R> const a(s.m, s.k, [&](index_t, index_t) { return static_cast<R>(from.normal()); }),
            b(s.k, s.n, [&](index_t, index_t) { return static_cast<R>(from.normal()); });
        auto const c = support::product_of(a, b);
        int const row_bits = sg::bits_of(s.m), col_bits = sg::bits_of(s.n);
        std::vector<sg::matrix<double>> each;
        for (int t = 0; t < s.sketches; ++t) {
            sg::compressed_parts::linear_hash const h(5, t, s.bits, row_bits, col_bits);
            auto const at = [&](index_t i, index_t j) {
                return h.bucket_of_row(static_cast<std::uint32_t>(i)) ^
                       h.bucket_of_col(static_cast<std::uint32_t>(j));
            };
            auto const sign = [&](index_t i, index_t j) {
                return h.row_is_negative(static_cast<std::uint32_t>(i)) !=
                               h.col_is_negative(static_cast<std::uint32_t>(j))
                           ? -1
                           : 1;
            };
            std::vector<double> buckets(std::size_t{1} << s.bits, 0.0);
            for (index_t i = 0; i < s.m; ++i)
                for (index_t j = 0; j < s.n; ++j)
                    buckets[at(i, j)] += sign(i, j) * static_cast<double>(c(i, j));
            each.emplace_back(s.m, s.n, [&](index_t i, index_t j) { return sign(i, j) * buckets[at(i, j)]; });
        }
        sg::matrix<R> const expected(s.m, s.n, [&](index_t i, index_t j) {
            std::vector<double> x;
            for (auto const& one : each) x.push_back(one(i, j));
            std::sort(x.begin(), x.end());
            return static_cast<R>(x[x.size() / 2]);
        });
        auto const found = estimates<R>({s.bits, s.sketches}, 5, a, b);
        INFO(s.m << " x " << s.n << " x " << s.k << ", " << s.bits << " bits");
        CHECK(distance(found, expected) <= 100 * static_cast<double>(std::numeric_limits<R>::epsilon()) *
                                               (norm_of(expected) + norm_of(c)));
    }
}

TEMPLATE_TEST_CASE("compressed on a device: factors, E, epilogues, layouts", "", float, double) {
    using R = TestType;
    under_test const device;
    if (std::is_same_v<R, double> && !device.leaf().limits().has_double) return;
    for (auto const order : {sg::layout::row_major, sg::layout::col_major})
        for (bool const turned : {false, true}) {
            planted<R> const p(67, 90, 45, 40, 3, order);
            there<R> const a(device, p.a), b(device, p.b);
            sg::report made;
            sg::compressed const policy{slow{device, 67, 90},
                                        {.tolerance = 1e-4,
                                         .confidence = 0.999999,
                                         .certify = order == sg::layout::row_major,
                                         .report = &made,
                                         .nonzeros = 40}};
            double const allowed = 1e-4 * norm_of(p.a) * norm_of(p.b);
            sg::matrix<R> const e(67, 90,
                                  [&](index_t i, index_t j) { return static_cast<R>((i + 2 * j) % 5); });
            sg::matrix<R> const e_turned(90, 67, [&](index_t j, index_t i) { return e(i, j); });
            there<R> c(device, e), d(device, e_turned);
            if (turned)
                sg::gemm(policy, R(2), a, b, R(3), sg::transposed(d.view()), sg::clamp(R(-1), R(5)));
            else
                sg::gemm(policy, R(2), a, b, R(3), c, sg::clamp(R(-1), R(5)));
            CHECK(made.ran == "compressed");
            sg::matrix<R> here(67, 90), back(90, 67);
            c.download(here), d.download(back);
            if (turned) here = sg::matrix<R>(67, 90, [&](index_t i, index_t j) { return back(j, i); });
            sg::matrix<R> const expected(67, 90, [&](index_t i, index_t j) {
                return std::clamp(2 * p.c(i, j) + 3 * e(i, j), R(-1), R(5));
            });
            CHECK(distance(here, expected) <= 2 * allowed);
            sg::gemm(policy, sg::scaled(R(-1), a.view()), b, c);
            c.download(here);
            sg::matrix<R> const negative(67, 90, [&](index_t i, index_t j) { return -p.c(i, j); });
            CHECK(distance(here, negative) <= allowed);
        }
}

TEST_CASE("compressed on a device: products that were planted are found as often as the confidence says") {
    under_test const device;
    int missed = 0;
    constexpr int trials = 100;
    for (int t = 0; t < trials; ++t) {
        planted<float> const p(20, 30, 17, 12, static_cast<std::uint64_t>(t));
        there<float> const a(device, p.a), b(device, p.b);
        there<float> c(device, 20, 30), again(device, 20, 30);
        sg::compressed const policy{slow{device, 20, 30},
                                    {.tolerance = 1e-4,
                                     .confidence = 0.9,
                                     .seed = static_cast<std::uint64_t>(t),
                                     .nonzeros = p.nonzeros()}};
        sg::gemm(policy, a, b, c), sg::gemm(policy, a, b, again);
        sg::matrix<float> here(20, 30), twice(20, 30);
        c.download(here), again.download(twice);
        CHECK(support::same_bits(here, twice));
        missed += distance(here, p.c) > 1e-4 * norm_of(p.a) * norm_of(p.b);
    }
    CHECK(missed <= trials / 10);
}

TEST_CASE("compressed on a device: refused, exact, certified, and bad options") {
    under_test const device;
    index_t const m = 60, n = 70, k = 50;
    approximations::operands<float> x(approximations::data::random, m, n, k, 3);
    there<float> a(device, x.a);
    there<float> const b(device, x.b);
    there<float> c(device, m, n), d(device, m, n);
    sg::matrix<float> here(m, n), expected(m, n);
    sg::report made;
    auto const failure_of = [&](auto const& base, sg::compressed_options options) {
        auto const s = sg::try_gemm(sg::compressed{base, options}, a, b, c);
        return s ? sg::errc{} : s.error().code();
    };
    auto const is_exact = [&](auto const& base, sg::compressed_options options) {
        options.report = &made, options.otherwise = sg::otherwise::exact;
        sg::gemm(sg::compressed{base, options}, a, b, c);
        sg::gemm(device, a, b, d);
        c.download(here), d.download(expected);
        return support::same_bits(here, expected) && made.ran == "native";
    };
    slow const base{device, m, n};
    CHECK(failure_of(device, {.tolerance = 1e-3}) == sg::errc::argument);
    CHECK(failure_of(device, {.tolerance = 1e-3, .nonzeros = 4200}) == sg::errc::argument);
    CHECK(failure_of(base, {.tolerance = 1e-4}) == sg::errc::argument); // known only after the vectors
    CHECK(failure_of(base, {.tolerance = 1e-9, .nonzeros = 12}) == sg::errc::argument);
    CHECK(failure_of(base, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}) == sg::errc::verification);
    CHECK(failure_of(base, {.tolerance = 1e-3, .nonzeros = 3, .form = sg::compressed_form::fourier}) ==
          sg::errc::unsupported);
    CHECK(is_exact(device, {.tolerance = 1e-3}));
    CHECK(is_exact(base, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}));
    x.a(3, 4) = std::numeric_limits<float>::quiet_NaN();
    a = there<float>(device, x.a);
    CHECK(failure_of(base, {.tolerance = 1e-3, .nonzeros = 3}) == sg::errc::argument);
    // Without a number of elements, by |A B|.
    x.a(3, 4) = 0;
    a = there<float>(device, x.a);
    sg::gemm(sg::compressed{base, {.tolerance = 0.5, .report = &made}}, a, b, c);
    CHECK(made.ran == "compressed");
    c.download(here);
    CHECK(approximations::error_of(x, here) <= 0.5);
}

TEMPLATE_TEST_CASE("heavy on a device: the large elements of a product, and no others", "", float, double) {
    using R = TestType;
    under_test const device;
    if (std::is_same_v<R, double> && !device.leaf().limits().has_double) return;
    planted<R> p(90, 75, 130, 60, 2);
    there<R> a(device, p.a);
    there<R> const b(device, p.b);
    slow const base{device, 90, 75};
    auto const known = sg::heavy(sg::compressed{base, {.nonzeros = 60}}, a, b, 2.0);
    CHECK(places_of(device, known.view()) == places_above(p.c, 2));
    std::vector<R> values(static_cast<std::size_t>(known.view().nonzeros));
    device.leaf().download(known.view().values, values.data(), known.view().nonzeros).or_throw();
    std::size_t at = 0;
    for (auto const& [i, j] : places_above(p.c, 2)) // by rows
        CHECK(static_cast<double>(values[at++]) == Approx(static_cast<double>(p.c(i, j))).epsilon(1e-4));
    auto const unknown = sg::heavy(sg::compressed{base, {}}, a, b, 3.0); // by |A B| alone
    CHECK(places_of(device, unknown.view()) == places_above(p.c, 3));
    auto const scaled =
        sg::heavy(sg::compressed{base, {.nonzeros = 60}}, sg::scaled(R(-2), a.view()), b, 4.0);
    CHECK(places_of(device, scaled.view()) == places_above(p.c, 2));
    CHECK_THROWS_AS(sg::heavy(sg::compressed{device, {.nonzeros = 60}}, a, b, 2.0), sg::error);
    auto const exact =
        sg::heavy(sg::compressed{device, {.otherwise = sg::otherwise::exact, .nonzeros = 60}}, a, b, 2.0);
    CHECK(places_of(device, exact.view()) == places_above(p.c, 2));
    sg::compressed const policy{base, {.nonzeros = 60}};
    CHECK(sg::heavy(policy, a, b, 1e6).view().nonzeros == 0);
    CHECK_THROWS_AS(sg::heavy(policy, a, b, 0.0), sg::error);
    CHECK_THROWS_AS(sg::heavy(policy, a, sg::transposed(b.view()), 1.0), sg::error);
    p.a(1, 2) = std::numeric_limits<R>::infinity();
    a = there<R>(device, p.a);
    CHECK_THROWS_AS(sg::heavy(policy, a, b, 1.0), sg::error);
}

TEST_CASE("compressed and heavy on a device without double") {
    under_test const device;
    planted<float> const p(90, 75, 130, 60, 2);
    there<float> const a(device, p.a), b(device, p.b);
    there<float> c(device, 90, 75);
    slow const base{without_double{device}, 90, 75};
    sg::report made;
    sg::gemm(sg::compressed{base, {.tolerance = 1e-4, .certify = true, .report = &made, .nonzeros = 60}}, a,
             b, c);
    CHECK(made.ran == "compressed");
    CHECK(made.bound.worst <= 1e-4);
    sg::matrix<float> here(90, 75);
    c.download(here);
    CHECK(distance(here, p.c) <= 1e-4 * norm_of(p.a) * norm_of(p.b));
    auto const wrong =
        sg::try_gemm(sg::compressed{base, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}}, a, b, c);
    REQUIRE(!wrong);
    CHECK(wrong.error().code() == sg::errc::verification);
    auto const large = sg::heavy(sg::compressed{base, {.nonzeros = 60}}, a, b, 2.0);
    CHECK(places_of(device, large.view()) == places_above(p.c, 2));
}
