// What `compressed` and heavy() keep wherever they run: one text for the host and for devices. A place says what runs
// there and how data get there and back:
//   matrix<T>                      a matrix there
//   policy(), slow(m, n)           what multiplies; one that says that products take long (approximate.hpp)
//   of_lists()                     what multiplies sparse matrices, so that products with few elements are compressed
//   put(x), here(x)                a matrix or a csr there; a matrix here
//   elements(list)                 what a coo has
//   estimates(size, seed, a, b)    the medians of all elements by sketches of a size, of matrices here or of csr
#pragma once

#include "catch.hpp"
#include "sparse.hpp"
#include "unit/algorithm/approximate.hpp"
#include "unit/algorithm/cancelling.hpp"
#include "unit/algorithm/planted.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace compressed_cases {

namespace sg = stratagemm;
using approximations::distance;
using approximations::norm_of;
using planting::cancelling;
using planting::planted;
using sg::index_t;

template <class R>
using elements = std::map<std::pair<index_t, index_t>, R>; // by rows

template <class R>
sg::matrix<R> normal_matrix(index_t rows, index_t cols, std::uint64_t seed) {
    support::random_source from(seed);
    return {rows, cols, [&](index_t, index_t) { return static_cast<R>(from.normal()); }};
}
template <class R>
elements<R> above(sg::matrix<R> const& c, double threshold) {
    elements<R> all;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j)
            if (std::fabs(static_cast<double>(c(i, j))) >= threshold) all[{i, j}] = c(i, j);
    return all;
}
// Whether a list has `factor` times these elements, to within rounding.
template <class R>
bool has(elements<R> const& list, elements<R> const& expected, double factor = 1) {
    bool same = list.size() == expected.size();
    for (auto const& [place, x] : expected) {
        auto const at = list.find(place);
        same = same && at != list.end() &&
               std::fabs(static_cast<double>(at->second) - factor * static_cast<double>(x)) <=
                   1e-4 * std::fabs(factor * static_cast<double>(x));
    }
    return same;
}

// The medians of sketches that are made by their definition: each element is added to its bucket with its sign.
template <class R>
sg::matrix<R> defined_estimates(sg::compressed_parts::sketch_size size, std::uint64_t seed,
                                sg::matrix<R> const& c) {
    int const row_bits = sg::bits_of(c.rows()), col_bits = sg::bits_of(c.cols());
    std::vector<sg::matrix<double>> each;
    for (int t = 0; t < size.sketches; ++t) {
        sg::compressed_parts::linear_hash const h(seed, t, size.bits, row_bits, col_bits);
        auto const word = [](index_t x) { return static_cast<std::uint32_t>(x); };
        auto const at = [&](index_t i, index_t j) {
            return h.bucket_of_row(word(i)) ^ h.bucket_of_col(word(j));
        };
        auto const sign = [&](index_t i, index_t j) {
            return h.row_is_negative(word(i)) != h.col_is_negative(word(j)) ? -1 : 1;
        };
        std::vector<double> buckets(static_cast<std::size_t>(size.buckets()), 0.0);
        for (index_t i = 0; i < c.rows(); ++i)
            for (index_t j = 0; j < c.cols(); ++j)
                buckets[at(i, j)] += sign(i, j) * static_cast<double>(c(i, j));
        each.emplace_back(c.rows(), c.cols(),
                          [&](index_t i, index_t j) { return sign(i, j) * buckets[at(i, j)]; });
    }
    return {c.rows(), c.cols(), [&](index_t i, index_t j) {
                std::vector<double> x;
                for (auto const& one : each) x.push_back(one(i, j));
                std::sort(x.begin(), x.end());
                return static_cast<R>(x[x.size() / 2]);
            }};
}

template <class R, class Place>
void buckets_are_those_of_the_definition(Place const& place) {
    struct sides {
        index_t m, n, k;
        int bits, sketches;
    } const all[] = {{1, 1, 1, 6, 1},      {5, 7, 3, 6, 3},     {64, 64, 64, 6, 1},
                     {37, 200, 130, 6, 1}, {130, 67, 65, 9, 5}, {3, 1000, 2, 7, 1},
                     {40, 9, 300, 11, 3},  {20, 30, 33, 9, 3},  {9, 16, 70, 12, 1}};
    for (auto const& s : all) {
        auto const a = normal_matrix<R>(s.m, s.k, 7), b = normal_matrix<R>(s.k, s.n, 8);
        auto const c = support::product_of(a, b);
        auto const expected = defined_estimates<R>({s.bits, s.sketches}, 5, c),
                   found = place.template estimates<R>({s.bits, s.sketches}, 5, a, b);
        INFO(s.m << " x " << s.n << " x " << s.k << ", " << s.bits << " bits");
        CHECK(distance(found, expected) <= 100 * static_cast<double>(std::numeric_limits<R>::epsilon()) *
                                               (norm_of(expected) + norm_of(c)));
    }
}

template <class R, class Place>
void options_are_as_elsewhere(Place const& place) {
    index_t const m = 67, n = 90;
    sg::matrix<R> const e(m, n, [](index_t i, index_t j) { return static_cast<R>((i + 2 * j) % 5); }),
        e_turned(n, m, [&](index_t j, index_t i) { return e(i, j); });
    for (auto const order : {sg::layout::row_major, sg::layout::col_major})
        for (bool const turned : {false, true}) {
            planted<R> const p(m, n, 45, 40, 3, order);
            auto const &a = place.put(p.a), &b = place.put(p.b);
            sg::report made;
            sg::compressed_options const options{.tolerance = 1e-4,
                                                 .confidence = 0.999999,
                                                 .certify = order == sg::layout::row_major,
                                                 .report = &made,
                                                 .nonzeros = 40};
            sg::compressed const policy{place.slow(m, n), options};
            double const allowed = 1e-4 * norm_of(p.a) * norm_of(p.b);
            typename Place::template matrix<R> c = place.put(e), d = place.put(e_turned);
            if (turned)
                sg::gemm(policy, R(2), a, b, R(3), sg::transposed(d.view()), sg::clamp(R(-1), R(5)));
            else
                sg::gemm(policy, R(2), a, b, R(3), c, sg::clamp(R(-1), R(5)));
            CHECK(made.ran == "compressed");
            auto const back = place.here(d);
            auto const here = turned ? sg::matrix<R>(m, n, [&](index_t i, index_t j) { return back(j, i); })
                                     : place.here(c);
            CHECK(distance(here, sg::matrix<R>(m, n, [&](index_t i, index_t j) {
                               return std::clamp(2 * p.c(i, j) + 3 * e(i, j), R(-1), R(5));
                           })) <= 2 * allowed);
            sg::gemm(policy, sg::scaled(R(-1), sg::as_view(a)), b, c);
            CHECK(distance(place.here(c),
                           sg::matrix<R>(m, n, [&](index_t i, index_t j) { return -p.c(i, j); })) <= allowed);
            sg::gemm(sg::compressed{place.slow(n, m), options}, sg::transposed(b), sg::transposed(a), d);
            CHECK(distance(place.here(d),
                           sg::matrix<R>(n, m, [&](index_t j, index_t i) { return p.c(i, j); })) <= allowed);
        }
}

// In as many trials as the confidence says, and with the same bits each time.
template <class Place>
void planted_products_are_found(Place const& place, int trials, sg::compressed_form form) {
    int missed = 0;
    for (int t = 0; t < trials; ++t) {
        planted<float> const p(20, 30, 17, 12, static_cast<std::uint64_t>(t));
        auto const &a = place.put(p.a), &b = place.put(p.b);
        typename Place::template matrix<float> c = place.put(p.c), again = place.put(p.c);
        sg::report found;
        sg::compressed const policy{place.slow(20, 30),
                                    {.tolerance = 1e-4,
                                     .confidence = 0.9,
                                     .seed = static_cast<std::uint64_t>(t),
                                     .report = &found,
                                     .nonzeros = p.nonzeros(),
                                     .form = form}};
        sg::gemm(policy, a, b, c);
        CHECK(found.ran == "compressed");
        auto const here = place.here(c);
        missed += distance(here, p.c) > 1e-4 * norm_of(p.a) * norm_of(p.b);
        if (t % 10 > 0) continue;
        sg::gemm(policy, a, b, again);
        CHECK(support::same_bits(here, place.here(again)));
    }
    CHECK(missed <= trials / 10);
}

template <class Place>
void refusals_and_exact_products(Place const& place) {
    index_t const m = 60, n = 70, k = 50;
    approximations::operands<float> x(approximations::data::random, m, n, k, 3);
    sg::matrix<float> const before(m, n, [](index_t, index_t) { return 7.0f; });
    typename Place::template matrix<float> a = place.put(x.a), c = place.put(before), d = place.put(before);
    auto const& b = place.put(x.b);
    sg::report made;
    auto const failure_of = [&](auto const& base, sg::compressed_options options) {
        options.report = &made;
        auto const s = sg::try_gemm(sg::compressed{base, options}, a, b, c);
        return s ? sg::errc{} : s.error().code();
    };
    auto const is_exact = [&](auto const& base, sg::compressed_options options) {
        options.report = &made, options.otherwise = sg::otherwise::exact;
        sg::gemm(sg::compressed{base, options}, a, b, c);
        sg::gemm(place.policy(), a, b, d);
        return support::same_bits(place.here(c), place.here(d)) && made.ran == "native";
    };
    auto const base = place.slow(m, n);
    CHECK(failure_of(place.policy(), {.tolerance = 1e-3}) == sg::errc::argument);
    CHECK(made.ran == "refused");
    CHECK(failure_of(place.policy(), {.tolerance = 1e-3, .nonzeros = 4200}) == sg::errc::argument);
    CHECK(failure_of(base, {.tolerance = 1e-4}) == sg::errc::argument); // known only after the vectors
    CHECK(failure_of(base, {.tolerance = 1e-9, .nonzeros = 12}) == sg::errc::argument); // below rounding
    for (sg::compressed_options const bad : {sg::compressed_options{.nonzeros = 12},
                                             {.tolerance = 1, .nonzeros = 12},
                                             {.tolerance = 0.1, .confidence = 1, .nonzeros = 12},
                                             {.tolerance = 0.1, .confidence = 0, .nonzeros = 12},
                                             {.tolerance = 0.1, .nonzeros = -1}})
        CHECK(failure_of(base, bad) == sg::errc::argument);
    CHECK(support::same_bits(place.here(c), before));
    CHECK(failure_of(base, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}) == sg::errc::verification);
    CHECK(is_exact(place.policy(), {.tolerance = 1e-3}));
    CHECK(is_exact(base, {.tolerance = 1e-3, .certify = true, .nonzeros = 3}));
    for (float const bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        x.a(3, 4) = bad;
        a = place.put(x.a);
        CHECK(failure_of(base, {.tolerance = 1e-3, .nonzeros = 3}) == sg::errc::argument);
        sg::gemm(sg::compressed{base, {.tolerance = 1e-3, .otherwise = sg::otherwise::exact, .nonzeros = 3}},
                 a, b, c);
        sg::gemm(place.policy(), a, b, d);
        CHECK(support::same_bits(place.here(c), place.here(d)));
    }
    // Without a number of elements, by |A B|.
    x.a(3, 4) = 0;
    a = place.put(x.a);
    sg::gemm(sg::compressed{base, {.tolerance = 0.5, .report = &made}}, a, b, c);
    CHECK(made.ran == "compressed");
    CHECK(approximations::error_of(x, place.here(c)) <= 0.5);
}

template <class R, class Place>
void heavy_finds_the_large_elements(Place const& place, sg::compressed_form form) {
    planted<R> p(90, 75, 130, 60, 2);
    typename Place::template matrix<R> a = place.put(p.a);
    auto const& b = place.put(p.b);
    auto const base = place.slow(90, 75);
    auto const found = [&](auto const& by, sg::compressed_options options, auto const& left,
                           double threshold) {
        options.form = form;
        auto const list = sg::heavy(sg::compressed{by, options}, left, b, threshold);
        return place.elements(list.view());
    };
    CHECK(has(found(base, {.nonzeros = 60}, a, 2), above(p.c, 2)));
    if (form == sg::compressed_form::walsh_hadamard) // by |A B| alone, which takes many buckets
        CHECK(has(found(base, {}, a, 3), above(p.c, 3)));
    CHECK(has(found(base, {.nonzeros = 60}, sg::scaled(R(-2), sg::as_view(a)), 4), above(p.c, 2), -2));
    CHECK(
        has(found(place.policy(), {.otherwise = sg::otherwise::exact, .nonzeros = 60}, a, 2), above(p.c, 2)));
    sg::compressed const policy{base, {.nonzeros = 60, .form = form}};
    CHECK_THROWS_AS(sg::heavy(sg::compressed{place.policy(), {.nonzeros = 60, .form = form}}, a, b, 2.0),
                    sg::error);
    CHECK(sg::heavy(policy, a, b, 1e6).view().nonzeros == 0);
    for (double const threshold : {0.0, std::nan(""), 1e-15}) // the last is below rounding
        CHECK_THROWS_AS(sg::heavy(policy, a, b, threshold), sg::error);
    CHECK_THROWS_AS(sg::heavy(policy, a, sg::transposed(sg::as_view(b)), 1.0), sg::error);
    auto const none = place.put(sg::matrix<R>(0, 4)), nothing = place.put(sg::matrix<R>(4, 5));
    CHECK(sg::heavy(policy, none, nothing, 1.0).view().nonzeros == 0);
    p.a(1, 2) = std::numeric_limits<R>::infinity();
    a = place.put(p.a);
    CHECK_THROWS_AS(sg::heavy(policy, a, b, 1.0), sg::error);
}

// ---- sparse operands --------------------------------------------------------------------------------------

template <class R, class Place>
void sparse_options_are_as_elsewhere(Place const& place) {
    index_t const m = 500, n = 600;
    cancelling<R> const p(m, n, 120, 20, 0.9, 1);
    sg::report made;
    sg::compressed const policy{
        place.of_lists(),
        {.tolerance = 1e-4, .confidence = 0.999, .certify = true, .report = &made, .nonzeros = 20}};
    auto const &of_a = place.put(p.a.view()), &of_b = place.put(p.b.view());
    auto const a = sg::as_view(of_a), b = sg::as_view(of_b);
    double const allowed = 1e-4 * p.norms();
    sg::matrix<R> const e(m, n, [](index_t i, index_t j) { return static_cast<R>((i + j) % 3); });
    typename Place::template matrix<R> c = place.put(e), turned = place.put(sg::matrix<R>(n, m));
    sg::gemm(policy, R(2), sg::scaled(R(-2), a), b, R(3), c, sg::clamp(R(-7), R(5)));
    CHECK(made.ran == "compressed");
    CHECK(made.bound.worst <= 1e-4);
    CHECK(distance(place.here(c), sg::matrix<R>(m, n, [&](index_t i, index_t j) {
                       return std::clamp(-4 * p.c(i, j) + 3 * e(i, j), R(-7), R(5));
                   })) <= 4 * allowed);
    // Turned, by columns, and with a matrix on either side, where the exact product may be less work.
    sg::gemm(policy, b.transposed(), a.transposed(), turned);
    CHECK(made.ran == "compressed");
    CHECK(distance(place.here(turned),
                   sg::matrix<R>(n, m, [&](index_t j, index_t i) { return p.c(i, j); })) <= allowed);
    auto const by_columns = sg::to_csc(place.policy(), a);
    auto const with = [&](auto const& left, auto const& right) {
        c = place.put(e);
        sg::gemm(policy, left, right, c);
        CHECK(made.ran == "compressed");
        CHECK(distance(place.here(c), p.c) <= allowed);
    };
    with(by_columns.view(), b);
    with(a, place.put(p.b.dense()));
    with(place.put(p.a.dense()), b);
    // Without a number of elements: the norm of A B is small beside those of A and B.
    sg::gemm(sg::compressed{place.of_lists(), {.tolerance = 0.02, .report = &made}}, a, b, c);
    CHECK(made.ran == "compressed");
    CHECK(distance(place.here(c), p.c) <= 0.02 * p.norms());
}

template <class Place>
void sparse_refusals_and_exact_products(Place const& place) {
    index_t const m = 60, n = 70, k = 50;
    auto a = support::uniform_sparse<float>(m, k, 0.1, 1);
    auto const b = support::uniform_sparse<float>(k, n, 0.1, 2);
    auto const product = support::product_of(a.dense(), b.dense()); // of integers
    sg::matrix<float> const before(m, n, [](index_t, index_t) { return 7.0f; });
    typename Place::template matrix<float> c = place.put(before);
    auto const by = place.policy();
    sg::report made;
    auto const failure_of = [&](sg::compressed_options options) {
        auto const s = sg::try_gemm(sg::compressed{by, options}, place.put(a.view()), place.put(b.view()), c);
        return s ? sg::errc{} : s.error().code();
    };
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20}) == sg::errc::argument);
    CHECK(failure_of({.tolerance = 1e-3}) == sg::errc::argument);
    CHECK(failure_of({.nonzeros = 20}) == sg::errc::argument);
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = -1}) == sg::errc::argument);
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20, .form = sg::compressed_form::fourier}) ==
          sg::errc::unsupported);
    CHECK(support::same_bits(place.here(c), before));
    sg::compressed const exact{
        by, {.tolerance = 1e-3, .otherwise = sg::otherwise::exact, .report = &made, .nonzeros = 20}};
    auto const is_exact = [&](auto const& left, auto const& right) {
        c = place.put(before);
        sg::gemm(exact, left, right, c);
        return made.ran == "native" && support::same_bits(place.here(c), product);
    };
    CHECK(is_exact(place.put(a.view()), place.put(b.view())));
    CHECK(is_exact(place.put(a.view()), place.put(b.dense())));
    CHECK(is_exact(place.put(a.dense()), place.put(b.view())));
    // Inf, zeros, and sides of zero.
    a.values[3] = std::numeric_limits<float>::infinity();
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20}) == sg::errc::argument);
    for (auto& x : a.values) x = 0;
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20}) == sg::errc{});
    CHECK(norm_of(place.here(c)) == 0);
    auto const none = support::uniform_sparse<float>(5, 0, 0.1, 1),
               nothing = support::uniform_sparse<float>(0, 6, 0.1, 1);
    typename Place::template matrix<float> zero = place.put(sg::matrix<float>(5, 6));
    sg::gemm(sg::compressed{by, {.tolerance = 1e-3, .nonzeros = 20}}, place.put(none.view()),
             place.put(nothing.view()), zero);
    CHECK(norm_of(place.here(zero)) == 0);
}

template <class Place>
void a_certificate_finds_more_sparse_elements(Place const& place) {
    cancelling<float> const p(500, 600, 120, 300, 0.9, 1);
    auto const &a = place.put(p.a.view()), &b = place.put(p.b.view());
    typename Place::template matrix<float> c = place.put(sg::matrix<float>(500, 600));
    sg::compressed_options options{.tolerance = 1e-4, .certify = true, .nonzeros = 1};
    auto const wrong = sg::try_gemm(sg::compressed{place.of_lists(), options}, a, b, c);
    REQUIRE(!wrong);
    CHECK(wrong.error().code() == sg::errc::verification);
    options.otherwise = sg::otherwise::exact;
    sg::gemm(sg::compressed{place.of_lists(), options}, a, b, c);
    CHECK(distance(place.here(c), p.c) <= 1e-5 * p.norms());
}

// By sketches where `of_lists` says that these pay, and from the exact product; of lists, with a matrix on either side.
template <class R, class Place>
void heavy_finds_them_of_lists(Place const& place) {
    cancelling<R> const p(500, 600, 120, 20, 0.9, 3);
    auto const &of_a = place.put(p.a.view()), &of_b = place.put(p.b.view());
    auto const a = sg::as_view(of_a), b = sg::as_view(of_b);
    auto const &x = place.put(p.a.dense()), &y = place.put(p.b.dense());
    auto const expected = above(p.c, 2);
    REQUIRE(expected.size() > 5);
    auto const found = [&](auto const& by, sg::compressed_options options, auto const& left,
                           auto const& right, double threshold) {
        auto const list = sg::heavy(sg::compressed{by, options}, left, right, threshold);
        return place.elements(list.view());
    };
    auto const by = place.of_lists();
    sg::compressed_options const known{.confidence = 0.999, .nonzeros = 20};
    CHECK(has(found(by, known, a, b, 2), expected));
    CHECK(has(found(by, known, a, y, 2), expected));
    CHECK(has(found(by, known, x, b, 2), expected));
    CHECK(has(found(by, known, sg::scaled(R(-2), a), sg::scaled(R(3), b), 12), expected, -6));
    elements<R> turned;
    for (auto const& [place_of, value] : expected) turned[{place_of.second, place_of.first}] = value;
    CHECK(has(found(by, known, b.transposed(), a.transposed(), 2), turned));
    sg::compressed_options exactly{.otherwise = sg::otherwise::exact}; // of all elements
    exactly.nonzeros = 500 * 600;
    CHECK(has(found(by, exactly, a, b, 2), expected));
    CHECK(has(found(by, exactly, a, y, 2), expected));
    CHECK(has(found(by, exactly, x, b, 2), expected));
    CHECK_THROWS_AS(sg::heavy(sg::compressed{by, {.nonzeros = 500 * 600}}, a, b, 2.0), sg::error);
    CHECK_THROWS_AS(sg::heavy(sg::compressed{by, known}, a, a, 2.0), sg::error);
}

} // namespace compressed_cases
