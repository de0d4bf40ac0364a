#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sketch.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

template <class T>
sg::matrix<T> random_matrix(index_t rows, index_t cols, unsigned seed) {
    support::random_source from(seed);
    return sg::matrix<T>(rows, cols, [&](index_t, index_t) {
        using R = sg::real_t<T>;
        auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
        if constexpr (sg::complex_like<T>) {
            R const re = part();
            return T(re, part());
        } else {
            return part();
        }
    });
}
template <class T, class Sketch>
sg::matrix<T> written(Sketch const& s) {
    return {s.rows, s.cols, [&](index_t i, index_t j) { return s.element(i, j); }};
}
// The largest error of alpha S X + beta E and alpha X^T S^T + beta E^T, over the bounds.
template <class T, class Policy, class Sketch>
double error_of_products(Policy const& policy, Sketch const& s, index_t n) {
    using R = sg::real_t<T>;
    using wide = std::complex<double>;
    auto const x = random_matrix<T>(s.cols, n, 1), e = random_matrix<T>(s.rows, n, 2);
    T const alpha(R(2)), beta(R(-1));
    auto const a = written<T>(s);
    sg::matrix<T> c(s.rows, n), d(n, s.rows);
    auto const problem = sg::product(alpha, s, x, beta, e, c);
    auto const bound = sg::plan(policy, problem.shape()).error_bound();
    sg::gemm(policy, alpha, s, x, beta, e, c);
    sg::gemm(policy, alpha, sg::transposed(x), sg::transposed(s), beta, sg::transposed(e), d);
    double largest_a = 0, largest_x = 0, most = 0;
    for (index_t i = 0; i < s.rows; ++i)
        for (index_t l = 0; l < s.cols; ++l) largest_a = std::max(largest_a, double(std::abs(a(i, l))));
    for (index_t l = 0; l < s.cols; ++l)
        for (index_t j = 0; j < n; ++j) largest_x = std::max(largest_x, double(std::abs(x(l, j))));
    for (index_t i = 0; i < s.rows; ++i)
        for (index_t j = 0; j < n; ++j) {
            wide sum = -wide(e(i, j));
            double terms = std::abs(e(i, j));
            for (index_t l = 0; l < s.cols; ++l) {
                wide const one = 2.0 * wide(a(i, l)) * wide(x(l, j));
                sum += one, terms += std::abs(one);
            }
            if (bound.normwise) terms = 2 * static_cast<double>(s.cols) * largest_a * largest_x + 1;
            // The elements are rounded themselves.
            double const unit = (bound.worst + 2 * sg::unit_roundoff<R>()) * terms + 1e-300;
            most = std::max(most, std::abs(wide(c(i, j)) - sum) / unit);
            most = std::max(most, std::abs(wide(d(j, i)) - sum) / unit);
        }
    return most;
}

} // namespace

namespace {

template <class T, class Make>
void products_of(Make const& make) {
    for (index_t const n : {1, 3, 40})
        for (index_t const cols : {1, 2, 7, 16, 100, 1001}) {
            index_t const rows = std::min<index_t>(cols, 13);
            auto const s = make(rows, cols);
            INFO(cols << ' ' << n);
            CHECK(error_of_products<T>(sg::host{1}, s, n) <= 1);
            CHECK(error_of_products<T>(sg::host{2}, sg::transposed(s), n) <= 1);
            CHECK(error_of_products<T>(sg::reference{}, s, n) <= 1);
            if (cols < 100) continue;
            auto const part = sg::scaled(T(3), s.block(2, 17, 9, 60));
            CHECK(error_of_products<T>(sg::host{1}, part, n) <= 1);
            CHECK(error_of_products<T>(sg::host{1}, sg::transposed(part), n) <= 1);
        }
}

} // namespace

TEMPLATE_TEST_CASE("srht and srct: products are those of the elements", "", float, double,
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    products_of<T>([](index_t m, index_t n) { return sg::srht<T>(m, n, 5); });
    products_of<T>([](index_t m, index_t n) { return sg::srct<T>(m, n, 5); });
}

namespace {

// f(sketch) for both, of one shape.
template <class T, class F>
void each_sketch(index_t rows, index_t cols, std::uint64_t seed, F const& f) {
    f(sg::srht<T>(rows, cols, seed));
    f(sg::srct<T>(rows, cols, seed));
}

} // namespace

TEST_CASE("the rows of srht and srct are orthogonal, and different rows of a transform") {
    for (index_t const n : {1, 2, 8, 64}) // a power of two: no zeros follow
        for (index_t const m : {n, (n + 1) / 2, index_t{1}})
            each_sketch<double>(m, n, 11, [&](auto const& s) {
                for (index_t i = 0; i < m; ++i)
                    for (index_t k = 0; k < m; ++k) {
                        double sum = 0;
                        for (index_t j = 0; j < n; ++j) sum += s.element(i, j) * s.element(k, j);
                        double const expected = i == k ? static_cast<double>(n) / static_cast<double>(m) : 0;
                        CHECK(std::abs(sum - expected) < 1e-12 * static_cast<double>(n));
                    }
            });
    auto const s = sg::srht<float>(25, 100, 3); // 1/5, with a sign of the row's and one of the column's
    for (index_t i = 0; i < 25; ++i)
        for (index_t j = 0; j < 100; ++j) CHECK(std::abs(s.element(i, j)) == 0.2f);
    CHECK(sg::srht<float>(25, 100, 3).element(7, 9) == s.element(7, 9));
    CHECK(s.block(2, 3, 9, 40).element(5, 6) == s.element(7, 9));
    CHECK(sg::transposed(s.block(2, 3, 9, 40)).element(6, 5) == s.element(7, 9));
    int same = 0;
    auto const other = sg::srht<float>(25, 100, 4);
    for (index_t i = 0; i < 25; ++i)
        for (index_t j = 0; j < 100; ++j) same += other.element(i, j) == s.element(i, j);
    CHECK(same > 1000);
    CHECK(same < 1500);
}

TEST_CASE("a sample is without replacement, and each pair of points is as likely as any other", "[trials]") {
    for (index_t const n : {1, 2, 3, 5, 64, 100, 1000}) {
        sg::point_sample const sample(17, 0, n);
        std::vector<int> times(static_cast<std::size_t>(n));
        int wrong = 0;
        for (index_t i = 0; i < n; ++i) {
            index_t const k = sample.point(i);
            REQUIRE((k >= 0 && k < n));
            ++times[static_cast<std::size_t>(k)], wrong += sample.row(k) != i;
        }
        for (int const t : times) wrong += t != 1;
        CHECK(wrong == 0);
    }
    for (index_t const n : {2, 5, 8, 33}) {
        int const trials = support::sanitized ? 2000 : 40000;
        index_t const pairs = n * (n - 1);
        std::vector<int> times(static_cast<std::size_t>(n * n));
        for (int t = 0; t < trials; ++t) {
            sg::point_sample const sample(static_cast<std::uint64_t>(t), 1, n);
            ++times[static_cast<std::size_t>(sample.point(0) * n + sample.point(1))];
        }
        double const each = static_cast<double>(trials) / static_cast<double>(pairs);
        double squares = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j)
                if (i != j) squares += std::pow(times[static_cast<std::size_t>(i * n + j)] - each, 2) / each;
        double const degrees = static_cast<double>(pairs - 1);
        CHECK(std::abs(squares - degrees) < 5 * std::sqrt(2 * degrees));
    }
}

TEST_CASE("E[S^T S] = I for srht and srct, and they keep the lengths of a subspace", "[trials]") {
    index_t const m = 5, n = 12;
    int const trials = support::sanitized ? 100 : 4000;
    sg::matrix<double> mean[2] = {{n, n}, {n, n}};
    for (int t = 0; t < trials; ++t) {
        int kind = 0;
        each_sketch<double>(m, n, static_cast<std::uint64_t>(t), [&](auto const& s) {
            auto const a = written<double>(s);
            sg::gemm(sg::host{1}, 1.0 / trials, sg::transposed(a), a, 1.0, mean[kind++]);
        });
    }
    // An element of S^T S has a variance of at most 4 / m.
    double const error = 5 * std::sqrt(4.0 / m / trials);
    for (auto const& x : mean)
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) CHECK(std::abs(x(i, j) - (i == j ? 1 : 0)) < error);

    // A subspace that has spikes, and one that has waves: a plain sample of rows, or of frequencies, misses either.
    index_t const length = 1000, rows = 200;
    sg::matrix<double> const x(length, 6, [&](index_t i, index_t j) {
        return j < 3 ? (i == 7 * j ? 1.0 : 0.0)
                     : std::cos(3.14159265358979 * (static_cast<double>(i) + 0.5) * static_cast<double>(j) /
                                static_cast<double>(length)) *
                           std::sqrt(2.0 / static_cast<double>(length));
    });
    each_sketch<double>(rows, length, 5, [&](auto const& s) {
        sg::matrix<double> y(rows, 6), before(6, 6), after(6, 6);
        sg::gemm(sg::host{1}, s, x, y);
        sg::gemm(sg::host{1}, sg::transposed(x), x, before);
        sg::gemm(sg::host{1}, sg::transposed(y), y, after);
        for (index_t i = 0; i < 6; ++i)
            for (index_t j = 0; j < 6; ++j) CHECK(std::abs(after(i, j) - before(i, j)) < 0.35);
    });
}

TEMPLATE_TEST_CASE("srht and srct have the same bits for any threads, layout and place in a batch", "", float,
                   std::complex<double>) {
    using T = TestType;
    index_t const m = 20, n = 300, cols = 9;
    each_sketch<T>(m, n, 8, [&](auto const& forward) {
        for (bool const back : {false, true}) {
            auto const s = back ? sg::transposed(forward) : forward;
            auto const x = random_matrix<T>(3 * s.cols, cols, 1);
            sg::matrix<T> y(3 * s.rows, cols), z(3 * s.rows, cols);
            auto const part = [&](auto& a, index_t rows) {
                return sg::batched(a.view().block(0, 0, rows, cols), 3, rows * cols);
            };
            sg::gemm(sg::host{1}, s, part(x, s.cols), part(y, s.rows));
            sg::gemm(sg::host{4}, s, part(x, s.cols), part(z, s.rows));
            CHECK(same_bits(y, z));
            for (index_t b = 0; b < 3; ++b) {
                sg::matrix<T> one(s.rows, cols), column(s.rows, 1);
                auto const at = x.view().block(b * s.cols, 0, s.cols, cols);
                sg::gemm(sg::host{1}, s, at, one);
                int wrong = 0;
                for (index_t i = 0; i < s.rows; ++i)
                    for (index_t j = 0; j < cols; ++j) wrong += one(i, j) != y(b * s.rows + i, j);
                CHECK(wrong == 0);
                if (!contains(sg::plan(sg::host{1}, sg::product(s, at, one).shape()).describe(), "hadamard"))
                    continue;
                sg::gemm(sg::host{1}, s, at.block(0, 4, s.cols, 1), column);
                for (index_t i = 0; i < s.rows; ++i) wrong += column(i, 0) != y(b * s.rows + i, 4);
                CHECK(wrong == 0);
            }
        }
    });
}

TEMPLATE_TEST_CASE("srht and srct with strides, epilogues and long columns", "", float,
                   std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    T const none(std::numeric_limits<R>::quiet_NaN()), guard(R(77));
    each_sketch<T>(13, 90, 8, [&](auto const& s) {
        index_t const cols = 7;
        auto const x = random_matrix<T>(90, cols, 1), e = random_matrix<T>(13, cols, 2);
        sg::matrix<T> expected(13, cols);
        sg::gemm(sg::host{1}, s, x, expected);
        // Every second row and third column, backwards; C has guards.
        std::vector<T> from(static_cast<std::size_t>(2 * 90 * 3 * cols), none),
            to(static_cast<std::size_t>(2 * 13 * 3 * cols), guard);
        auto v = sg::strided(from.data() + (2 * 90 - 1) * 3 * cols, 90, cols, -2 * 3 * cols, 3),
             w = sg::strided(to.data() + (2 * 13 - 1) * 3 * cols, 13, cols, -2 * 3 * cols, 3);
        for (index_t i = 0; i < 90; ++i)
            for (index_t j = 0; j < cols; ++j) v(i, j) = x(i, j);
        sg::gemm(sg::host{2}, s, v, w);
        int wrong = 0;
        for (index_t i = 0; i < 13; ++i)
            for (index_t j = 0; j < cols; ++j)
                wrong += !(std::abs(w(i, j) - expected(i, j)) <= 1e-5), w(i, j) = guard;
        for (T const& t : to) wrong += t != guard;
        CHECK(wrong == 0);
        // beta = 0 reads no E, and NaN of C goes.
        sg::matrix<T> c(13, cols, [&](index_t, index_t) { return none; });
        sg::gemm(sg::host{1}, T(R(1)), s, x, T(R(0)), c);
        CHECK(same_bits(c, expected));
        std::vector<T> values;
        for (index_t j = 0; j < cols; ++j) values.push_back(T(static_cast<R>(j)));
        sg::gemm(sg::host{1}, T(R(2)), s, x, T(R(-1)), e, c, sg::bias(values));
        sg::gemm(sg::host{1}, T(R(2)), s, x, T(R(-1)), e, expected);
        for (index_t i = 0; i < 13; ++i)
            for (index_t j = 0; j < cols; ++j)
                wrong += !(std::abs(c(i, j) - expected(i, j) - T(static_cast<R>(j))) <= 1e-5);
        sg::matrix<T> turned(cols, 13);
        sg::gemm(sg::host{1}, T(R(2)), sg::transposed(x), sg::transposed(s), T(R(-1)), sg::transposed(e),
                 turned, sg::bias(values, sg::along::rows));
        for (index_t i = 0; i < 13; ++i)
            for (index_t j = 0; j < cols; ++j) wrong += !(std::abs(c(i, j) - turned(j, i)) <= 1e-5);
        CHECK(wrong == 0);
    });
    if (support::sanitized) return;
    // Longer than a cache: by columns and by rows, there and back.
    index_t const n = 400000, m = 300;
    auto const s = sg::srht<T>(m, n, 3);
    sg::point_sample const sample = s.sample();
    for (index_t const cols : {1, 17}) {
        auto const x = random_matrix<T>(m, cols, 1);
        sg::matrix<T> y(n, cols), z(m, cols), along(n, cols, sg::layout::col_major);
        sg::gemm(sg::host{2}, sg::transposed(s), x, y);
        sg::gemm(sg::host{1}, sg::transposed(s),
                 sg::matrix<T>(
                     m, cols, [&](index_t i, index_t j) { return x(i, j); }, sg::layout::col_major),
                 along);
        sg::gemm(sg::host{2}, s, y, z);
        int wrong = 0;
        for (index_t i = 0; i < n; i += 777)
            for (index_t j = 0; j < cols; ++j) {
                std::complex<double> sum = 0;
                for (index_t l = 0; l < m; ++l) {
                    double const sign =
                        __builtin_parityll(static_cast<unsigned long long>(sample.point(l) & i)) ? -1 : 1;
                    sum += sign * std::complex<double>(x(l, j));
                }
                sum *= (sample.is_negative(i) ? -1 : 1) / std::sqrt(static_cast<double>(m));
                wrong += !(std::abs(std::complex<double>(y(i, j)) - sum) < 1e-4) || y(i, j) != along(i, j);
            }
        CHECK(wrong == 0);
        // S S^T is nearly k / m I, for the zeros behind the columns.
        double off = 0, all = 0;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < cols; ++j)
                off +=
                    std::norm(std::complex<double>(z(i, j)) * (m / 400000.0) - std::complex<double>(x(i, j))),
                    all += std::norm(std::complex<double>(x(i, j)));
        CHECK(std::sqrt(off / all) < 0.1);
        sg::gemm(sg::host{1}, s, along, sg::matrix<T>(m, cols, sg::layout::col_major));
    }
}

TEMPLATE_TEST_CASE("srht and srct that are kept have the same results, and less workspace", "", float,
                   std::complex<double>) {
    using T = TestType;
    sg::host const policy{2};
    each_sketch<T>(30, 200, 8, [&](auto const& whole) {
        auto const try_one = [&](auto const& s) {
            auto const x = random_matrix<T>(s.cols, 3, 1), y = random_matrix<T>(3, s.rows, 2);
            sg::matrix<T> c(s.rows, 3), d(s.rows, 3), e(3, s.cols), f(3, s.cols);
            auto const left = sg::keep_left(policy, s), right = sg::keep(policy, s);
            auto const copy = left;
            sg::gemm(policy, s, x, c);
            sg::gemm(policy, copy, x, d);
            CHECK(same_bits(c, d));
            sg::gemm(policy, y, s, e);
            sg::gemm(policy, y, right, f);
            CHECK(same_bits(e, f));
            sg::gemm(policy, sg::scaled(T(2), sg::transposed(s)), sg::transposed(y), sg::transposed(e));
            sg::gemm(policy, sg::scaled(T(2), sg::transposed(left)), sg::transposed(y), sg::transposed(f));
            CHECK(same_bits(e, f));
            auto const bytes = [&](auto const& a) {
                return sg::plan(policy, sg::product(a, x, c).shape()).workspace().host;
            };
            CHECK(bytes(left.view()) < bytes(s));
            CHECK(bytes(left.view().block(0, 0, s.rows, s.cols)) == bytes(s)); // a part draws again
        };
        try_one(whole);
        try_one(whole.transposed());
        try_one(whole.block(5, 20, 12, 100));
    });
    CHECK_THROWS_AS(sg::keep_left(policy, sg::srct<T>(31, 30, 1)), sg::error);
}

TEST_CASE("srht and srct refuse what they cannot draw") {
    sg::matrix<float> const x(100, 2);
    auto const message = [&](auto const& s) {
        sg::matrix<float> y(s.rows, 2);
        auto const done = sg::try_gemm(sg::host{1}, s, x, y);
        return std::string(done ? "" : done.error().what());
    };
    CHECK(message(sg::srht<float>(128, 100, 1)) == "");
    CHECK(message(sg::srht<float>(129, 100, 1)) ==
          "srht: rows are drawn without replacement from the 128 of a transform, and this sketch has 129");
    CHECK(message(sg::srct<float>(101, 100, 1)) ==
          "srct: rows are drawn without replacement from the 100 of a transform, and this sketch has 101");
    CHECK(
        contains(message(sg::srht<float>(0, 100, 1)), "a sketch has from 1 to 2147483647 rows and columns"));
    auto part = sg::srht<float>(10, 200, 1).block(0, 100, 10, 100);
    part.row0 = 5;
    CHECK(contains(message(part), "is not within a sketch of 10 x 200"));
    CHECK(contains(message(sg::srht<float>(4, index_t{1} << 31, 1).part(0, 0, 4, 100)), "rows and columns"));
    CHECK(contains(message(sg::srct<float>(4, index_t{1} << 30, 1).part(0, 0, 4, 100)),
                   "at most 1073741823 points"));
    // A plan of another sketch.
    sg::matrix<float> const long_x(30000, 2);
    sg::matrix<float> y(10, 2);
    sg::plan other(sg::host{1}, sg::shape<sg::transformed_sketch_form<sg::by_hadamard, float>, float, float>{
                                    10, 2, 30000});
    std::vector<std::byte> room(other.workspace().host + 64); // what reserve() gives may be larger
    auto const off = reinterpret_cast<std::uintptr_t>(room.data()) % 64;
    sg::host_arena arena(room.data() + (off == 0 ? 0 : 64 - off), other.workspace().host, nullptr);
    auto const done = other.try_run(sg::product(sg::srht<float>(10, 30000, 1), long_x, y), arena);
    CHECK(contains(done ? "" : done.error().what(), "facts()"));
    using half_problem = sg::problem<sg::transformed_sketch<sg::by_hadamard, float>, sg::view<sg::half const>,
                                     sg::view<float>>;
    STATIC_REQUIRE(!sg::takes<sg::performer<sg::host, half_problem>, half_problem>);
}
