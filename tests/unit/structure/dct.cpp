#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dct.hpp>

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

namespace sg = stratagemm;
using sg::dct_type;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

constexpr dct_type types[] = {dct_type::ii, dct_type::iii, dct_type::iv};

template <class X>
X from_parts(double re, double im) {
    using R = sg::real_t<X>;
    if constexpr (sg::complex_like<X>)
        return X(static_cast<R>(re), static_cast<R>(im));
    else
        return X(static_cast<R>(re));
}
template <class X>
sg::matrix<X> random_matrix(index_t rows, index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    return sg::matrix<X>(
        rows, cols,
        [&](index_t, index_t) {
            double const re = from.uniform(-1, 1);
            return from_parts<X>(re, sg::complex_like<X> ? from.uniform(-1, 1) : 0);
        },
        order);
}
template <class X>
X const not_a_number = from_parts<X>(std::numeric_limits<double>::quiet_NaN(), 0);

// Quarters of pi / n in the angle of element (k, j), which are linear in j, and the cosines of all of them.
index_t angle_of(dct_type type, index_t n, index_t k, index_t j) {
    index_t const angle = type == dct_type::ii    ? 2 * (2 * j + 1) * k
                          : type == dct_type::iii ? 2 * (2 * k + 1) * j
                                                  : (2 * j + 1) * (2 * k + 1);
    return angle % (8 * n);
}
// Kept for the next call, which mostly asks for the same: those of long double take long. One is computed for four.
std::vector<long double> const& cosines_of(index_t n) {
    static std::vector<long double> cosines;
    auto const all = static_cast<std::size_t>(8 * n), half = all / 2, quarter = all / 4;
    if (cosines.size() == all) return cosines;
    long double const pi = 3.14159265358979323846264338327950288L;
    cosines.assign(all, 0);
    for (std::size_t i = 0; i <= quarter; ++i) {
        long double const c = std::cos(2 * pi * static_cast<long double>(i) / static_cast<long double>(all));
        cosines[i] = cosines[(all - i) % all] = c, cosines[half - i] = cosines[half + i] = -c;
    }
    return cosines;
}
// The largest error of y = factor dct x at some rows, over n max|x| factor.
template <class X>
double error_of(dct_type type, sg::matrix<X> const& x, sg::matrix<X> const& y, index_t rows,
                long double factor = 1) {
    index_t const n = x.rows(), most = std::min(n, rows);
    auto const& cosines = cosines_of(n);
    double error = 0, largest = 0;
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < x.cols(); ++j)
            largest = std::max(largest, static_cast<double>(std::abs(x(i, j))));
    for (index_t f = 0; f < most; ++f) {
        index_t const k = most == n || f < most / 2 ? f : f * 7919 % n, first = angle_of(type, n, k, 0),
                      step = (angle_of(type, n, k, 1) - first + 8 * n) % (8 * n);
        for (index_t j = 0; j < x.cols(); ++j) {
            long double re = 0, im = 0;
            for (index_t i = 0, angle = first; i < n; ++i) {
                X const e = x(i, j);
                long double const c = cosines[static_cast<std::size_t>(angle)];
                if constexpr (sg::complex_like<X>)
                    re += c * static_cast<long double>(e.real()),
                        im += c * static_cast<long double>(e.imag());
                else
                    re += c * static_cast<long double>(e);
                if ((angle += step) >= 8 * n) angle -= 8 * n;
            }
            std::complex<sg::real_t<X>> const got = y(k, j);
            error = std::max(
                error, static_cast<double>(std::hypot(factor * re - static_cast<long double>(got.real()),
                                                      factor * im - static_cast<long double>(got.imag()))));
        }
    }
    return error / (static_cast<double>(n) * largest * static_cast<double>(factor));
}
// Cosines, whose transform is one large element.
template <class X>
sg::matrix<X> tones(dct_type type, index_t n, index_t cols) {
    auto const& cosines = cosines_of(n);
    return sg::matrix<X>(n, cols, [&](index_t i, index_t j) {
        return from_parts<X>(
            static_cast<double>(cosines[static_cast<std::size_t>(angle_of(type, n, j * 5 % n, i))]), 0);
    });
}
template <class X, class P>
sg::bound bound_of(P const& policy, dct_type type, index_t n, index_t cols) {
    sg::shape<sg::dct_form<sg::real_t<X>>, X, X> s{n, cols, n};
    s.a_facts.type = type;
    return sg::plan(policy, s).error_bound();
}
template <class X>
sg::matrix<X> transform(dct_type type, sg::matrix<X> const& x, sg::host const& cpu = {1}) {
    sg::matrix<X> y(x.rows(), x.cols());
    sg::gemm(cpu, sg::dct<sg::real_t<X>>(x.rows(), type), x, y);
    return y;
}
// One, even and odd ones, a prime, and longer than a block.
std::vector<index_t> some_lengths() {
    if (support::sanitized) return {1, 2, 12, 17, 35, 65536};
    return {1, 2, 3, 12, 17, 34, 64, 225, 131072, 16411};
}
index_t some_columns(index_t n) { return n > 1000 ? 2 : 37; }

} // namespace

TEMPLATE_TEST_CASE("dct of every length is the transform by its definition", "", float, double,
                   std::complex<float>) {
    using X = TestType;
    for (auto const type : types) {
        double tightest = 0;
        for (index_t n = 1; n <= 70; n += support::sanitized ? 7 : 1) {
            INFO("type " << static_cast<int>(type) << ", " << n);
            auto const x = random_matrix<X>(n, 9, 1), tone = tones<X>(type, n, 5);
            auto const bound = bound_of<X>(sg::host{1}, type, n, 9);
            double const error = error_of(type, x, transform(type, x), n),
                         of_tones = error_of(type, tone, transform(type, tone), n);
            REQUIRE(error <= bound.expected);
            REQUIRE(std::max(error, of_tones) <= bound.worst);
            REQUIRE(bound.normwise);
            if (n > 2) REQUIRE(error >= bound.expected / 20);
            // Factors are rounded, too.
            using R = sg::real_t<X>;
            for (R const alpha : {R(0.7), R(0.9), R(1.1)}) {
                sg::matrix<X> y(n, 5);
                sg::gemm(sg::host{1}, X(alpha), sg::scaled(R(0.3), sg::dct<R>(n, type)), tone, X(R(0)), y);
                long double const factor = static_cast<long double>(alpha) * static_cast<long double>(R(0.3));
                double const scaled = error_of(type, tone, y, n, factor);
                REQUIRE(scaled <= bound.worst);
                if (n > 1) tightest = std::max(tightest, scaled / bound.worst);
            }
            sg::matrix<X> y(n, 9);
            sg::gemm(sg::reference{}, sg::dct<sg::real_t<X>>(n, type), x, y);
            REQUIRE(error_of(type, x, y, n) <= bound_of<X>(sg::reference{}, type, n, 9).expected);
        }
        if (!support::sanitized) CHECK(tightest > 0.05);
    }
}

TEMPLATE_TEST_CASE("dct of long lengths", "", float, double) {
    using X = TestType;
    for (auto const type : types)
        for (index_t const n : {960, 1009, 1024, 3125, 4096, 131072, 30011}) {
            if (support::sanitized && n > 5000) continue;
            INFO("type " << static_cast<int>(type) << ", " << n);
            auto const x = random_matrix<X>(n, 2, 2), tone = tones<X>(type, n, 2);
            auto const bound = bound_of<X>(sg::host{1}, type, n, 2);
            double const error = error_of(type, x, transform(type, x), 40);
            CHECK(error <= bound.expected);
            CHECK(error >= bound.expected / 20);
            CHECK(error_of(type, tone, transform(type, tone), 40) <= bound.worst);
        }
}

TEMPLATE_TEST_CASE("dct of columns and rows in any layout has the same bits, and writes C alone", "", float,
                   double, std::complex<float>, std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    X const guard = from_parts<X>(77, 78);
    for (auto const type : types)
        for (index_t const n : some_lengths()) {
            index_t const cols = some_columns(n);
            auto const x = random_matrix<X>(n, cols, 3);
            auto const expected = transform(type, x);
            auto const d = sg::dct<R>(n, type);
            for (int layout = 0; layout < (n > 1000 ? 3 : 6); ++layout) {
                INFO("type " << static_cast<int>(type) << ", " << n << ", layout " << layout);
                // Every second row and third column of a larger matrix, or all, by rows, by columns, or backwards.
                index_t const rs = layout / 2 == 0   ? 3 * cols
                                   : layout / 2 == 1 ? 1
                                                     : -(cols + 1),
                              cs = layout / 2 == 0   ? 3
                                   : layout / 2 == 1 ? n + 1
                                                     : 1,
                              size = (n + 2) * 3 * (cols + 2), first = rs < 0 ? (n + 1) * (cols + 1) : 5;
                std::vector<X> from(static_cast<std::size_t>(size), not_a_number<X>),
                    to(static_cast<std::size_t>(size), guard);
                auto v = sg::strided<X>(from.data() + first, n, cols, rs, cs);
                auto w = sg::strided<X>(to.data() + first, n, cols, rs, cs);
                for (index_t i = 0; i < n; ++i)
                    for (index_t j = 0; j < cols; ++j) v(i, j) = x(i, j), w(i, j) = not_a_number<X>;
                if (layout % 2 == 0)
                    sg::gemm(sg::host{1}, d, v, w);
                else
                    sg::gemm(sg::host{1}, v.transposed(), sg::transposed(d), w.transposed());
                int wrong = 0;
                for (index_t i = 0; i < n; ++i)
                    for (index_t j = 0; j < cols; ++j)
                        wrong += std::memcmp(&w(i, j), &expected(i, j), sizeof(X)) != 0, w(i, j) = guard;
                CHECK(wrong == 0);
                CHECK(std::count(to.begin(), to.end(), guard) == size);
            }
        }
}

TEMPLATE_TEST_CASE("dct in place, and back", "", float, std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    for (auto const type : types)
        for (index_t const n : some_lengths()) {
            INFO("type " << static_cast<int>(type) << ", " << n);
            index_t const cols = some_columns(n);
            auto const x = random_matrix<X>(n, cols, 4);
            auto const expected = transform(type, x);
            auto y = x;
            sg::gemm(sg::host{2}, sg::dct<R>(n, type), y, y);
            CHECK(same_bits(y, expected));
            auto const differs = [&] {
                double difference = 0;
                for (index_t i = 0; i < n; ++i)
                    for (index_t j = 0; j < cols; ++j)
                        difference = std::max(difference, static_cast<double>(std::abs(y(i, j) - x(i, j))));
                return difference > 60 * sg::unit_roundoff<R>();
            };
            sg::gemm(sg::host{2}, sg::idct<R>(n, type), y, y);
            CHECK(!differs());
            auto const o = sg::orthogonal(sg::dct<R>(n, type));
            sg::gemm(sg::host{2}, o, y = x, y), sg::gemm(sg::host{2}, sg::transposed(o), y, y);
            CHECK(!differs());
            // Rows are transformed by the transpose, by an orthogonal matrix, too.
            sg::matrix<X> z(cols, n, [&](index_t i, index_t j) { return x(j, i); });
            sg::gemm(sg::host{2}, z, o, z);
            sg::gemm(sg::host{2}, sg::transposed(o), x, y);
            int wrong = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += z(j, i) != y(i, j);
            CHECK(wrong == 0);
            if (n > 1000) continue;
            auto u = x, by_definition = x;
            sg::gemm(sg::reference{}, o, x, by_definition), sg::gemm(sg::reference{}, o, u, u);
            CHECK(same_bits(u, by_definition));
            sg::gemm(sg::host{1}, o, x, y);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j)
                    wrong += !(static_cast<double>(std::abs(y(i, j) - u(i, j))) <=
                               40 * sg::unit_roundoff<R>() * std::sqrt(static_cast<double>(n)));
            CHECK(wrong == 0);
        }
    std::vector<X> memory(200);
    auto const s = sg::try_gemm(sg::host{1}, sg::dct<R>(8), sg::strided<X>(memory.data(), 8, 8, 8, 1),
                                sg::strided<X>(memory.data() + 1, 8, 8, 8, 1));
    CHECK((!s && s.error().code() == sg::errc::alias));
}

TEMPLATE_TEST_CASE("dct with factors, conjugates, an added matrix and an epilogue", "", float, double,
                   std::complex<float>, std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    double const u = sg::unit_roundoff<R>();
    X const alpha = from_parts<X>(1.5, -0.5), beta = from_parts<X>(0.25, 2);
    auto const conjugate = [](X x) {
        if constexpr (sg::complex_like<X>)
            return std::conj(x);
        else
            return x;
    };
    auto const place = [](X v, index_t i, index_t j) {
        return v + from_parts<X>(3.0 * static_cast<double>(i), static_cast<double>(j));
    };
    for (auto const type : types)
        for (index_t const n : some_lengths()) {
            INFO("type " << static_cast<int>(type) << ", " << n);
            index_t const cols = some_columns(n);
            auto const x = random_matrix<X>(n, cols, 8), e = random_matrix<X>(n, cols, 9);
            auto const plain = transform(type, x);
            auto const d = sg::dct<R>(n, type);
            sg::matrix<X> y(n, cols), own = e, turned(cols, n), none(n, cols);
            sg::gemm(sg::host{1}, alpha, sg::conjugated(d), sg::conjugated(x), beta, sg::conjugated(e), y,
                     place);
            sg::gemm(sg::host{1}, alpha, d, x, beta, own);
            sg::gemm(sg::host{1}, sg::transposed(x), sg::transposed(d), turned,
                     [&](X v, index_t i, index_t j) { return place(v, j, i); });
            sg::gemm(sg::host{1}, sg::scaled(R(0.5), d), sg::conjugated(x), none);
            int wrong = 0;
            auto const far = [&](X a, X b) {
                double const size = static_cast<double>(7 * n) + static_cast<double>(std::abs(a));
                return !(static_cast<double>(std::abs(a - b)) <= 8 * u * size);
            };
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) {
                    wrong +=
                        far(y(i, j), place(alpha * conjugate(plain(i, j)) + beta * conjugate(e(i, j)), i, j));
                    wrong += far(own(i, j), alpha * plain(i, j) + beta * e(i, j));
                    wrong += far(turned(j, i), place(plain(i, j), i, j));
                    wrong += none(i, j) != R(0.5) * conjugate(plain(i, j));
                }
            CHECK(wrong == 0);
            if (n > 600) continue;
            sg::gemm(sg::reference{}, alpha, d, sg::conjugated(x), beta, sg::conjugated(e), none, place);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += far(none(i, j), y(i, j));
            CHECK(wrong == 0);
        }
}

TEMPLATE_TEST_CASE("dct has the same bits in any batch and with any number of threads", "", float,
                   std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    for (auto const type : types)
        for (index_t const n : some_lengths()) {
            INFO("type " << static_cast<int>(type) << ", " << n);
            index_t const width = n > 1000 ? 1 : 50, count = n > 1000 ? 2 : 7, cols = width * count;
            auto const d = sg::dct<R>(n, type);
            auto const x = random_matrix<X>(n, cols, 10);
            auto const expected = transform(type, x);
            for (int threads = 2; threads <= 5; ++threads)
                CHECK(same_bits(transform(type, x, {threads}), expected));
            sg::matrix<X> y(n, cols), one(n, 1), repeated(n, cols);
            auto const batch = [&](auto const& v) {
                return sg::batched(v.block(0, 0, n, width), count, width);
            };
            sg::gemm(sg::host{3}, d, batch(x.view()), batch(y.view()));
            CHECK(same_bits(y, expected));
            sg::gemm(sg::host{3}, d, x.view().block(0, 0, n, width), batch(repeated.view()));
            sg::gemm(sg::host{1}, d, x.view().block(0, cols - 1, n, 1), one);
            int wrong = 0;
            for (index_t i = 0; i < n; ++i) {
                wrong += one(i, 0) != expected(i, cols - 1);
                for (index_t j = 0; j < cols; ++j) wrong += repeated(i, j) != expected(i, j % width);
            }
            CHECK(wrong == 0);
        }
    // A NaN stays in the column that it is in.
    auto x = random_matrix<float>(12, 20, 11);
    auto const expected = transform(dct_type::ii, x);
    x(5, 7) = not_a_number<float>;
    auto const y = transform(dct_type::ii, x);
    int wrong = 0;
    for (index_t i = 0; i < 12; ++i)
        for (index_t j = 0; j < 20; ++j) wrong += j == 7 ? !std::isnan(y(i, j)) : y(i, j) != expected(i, j);
    CHECK(wrong == 0);
}

TEST_CASE("dct refuses lengths and shapes in one sentence, and writes nothing") {
    float both[] = {1, 2}; // y follows x
    auto const message = [&](index_t n, index_t x_rows, index_t y_rows) {
        auto const s = sg::try_gemm(sg::host{1}, sg::dct<float>(n), sg::strided(&both[0], x_rows, 1, 0, 1),
                                    sg::strided(&both[1], y_rows, 1, 1, 1));
        return s ? std::string() : std::string(s.error().what());
    };
    index_t const beyond = index_t{1} << 30;
    CHECK(message(0, 0, 0) == "dct: a cosine transform has from 1 to 1073741823 points, and this one has 0");
    CHECK(message(beyond, beyond, beyond) ==
          "dct: a cosine transform has from 1 to 1073741823 points, and this one has 1073741824");
    CHECK(message(-1, -1, -1) == "gemm: sizes must not be negative");
    CHECK(contains(message(8, 9, 8), "C = A B needs"));
    CHECK(both[1] == 2);
    CHECK(message(1, 1, 1) == "");
    CHECK(both[1] == 1);
}

TEST_CASE("dct takes operands of its own precision") {
    using sg::verdict;
    using F = std::complex<float>;
    auto const of = []<class T, class X, class Y>(T, X, Y) {
        using Q = sg::problem<sg::dct<T>, sg::view<X const>, sg::view<Y>>;
        return sg::answer<sg::performer<sg::host, Q>, Q>();
    };
    CHECK(of(1.0f, F{}, F{}) == verdict::yes);
    CHECK(of(1.0f, 1.0f, 1.0f) == verdict::yes);
    CHECK(of(1.0, 1.0, 1.0) == verdict::yes);
    CHECK(of(1.0f, 1.0f, F{}) == verdict::types);
    CHECK(of(1.0, F{}, F{}) == verdict::types);
    CHECK(of(1.0f, sg::half{}, 1.0f) == verdict::types);
    using layered = sg::problem<sg::dct<float>, sg::view<float const>, sg::view<float>>;
    CHECK(sg::answer<sg::performer<sg::strassen<sg::host>, layered>, layered>() == verdict::structure);
}

TEST_CASE("a plan of a dct says what runs, what memory it takes, and that it suffices") {
    using S = sg::shape<sg::dct_form<float>, float, float>;
    sg::plan const plan(sg::host{1}, S{64, 100, 64});
    CHECK(contains(plan.describe(), "dct of 64 points, by a dft of 32 points, "));
    CHECK(contains(sg::plan(sg::reference{}, S{64, 1, 64}).describe(), "by its definition"));
    CHECK(plan.estimate() > 0);
    auto const x = random_matrix<float>(64, 100, 12);
    auto const expected = transform(dct_type::ii, x);
    sg::matrix<float> y(64, 100), turned(100, 64);
    auto memory = plan.reserve();
    plan.run(sg::dct<float>(64), x, y, memory);
    CHECK(same_bits(y, expected));
    using turned_shape = sg::shape<float, sg::dct_form<float>, float>;
    sg::plan const rows(sg::host{1}, turned_shape{100, 64, 64});
    CHECK(rows.workspace() == plan.workspace());
    rows.run(sg::transposed(x), sg::transposed(sg::dct<float>(64)), turned);
    CHECK(turned(7, 3) == expected(3, 7));

    // A plan is of one type: an odd IV is longer than II.
    auto const from = x.view().block(0, 0, 63, 100);
    auto const to = y.view().block(0, 0, 63, 100);
    auto const four = sg::product(sg::dct<float>(63, dct_type::iv), from, to);
    sg::plan const of_two(sg::host{1}, S{63, 100, 63}), of_four(sg::host{1}, four.shape());
    auto room = of_two.reserve();
    auto const s = of_two.try_run(four, room);
    CHECK((!s && contains(s.error().what(), "give its shape the facts()")));
    of_four.run(sg::dct<float>(63, dct_type::iv), from, to);
}
