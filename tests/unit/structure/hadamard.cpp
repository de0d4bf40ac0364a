#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/hadamard.hpp>

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

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

// Sums and differences of numbers that are far apart, then of nearer ones; in T, which may be wider.
template <class T, class X>
std::vector<T> sums_of(sg::matrix<X> const& x, index_t col) {
    std::vector<T> v;
    for (index_t i = 0; i < x.rows(); ++i) v.push_back(static_cast<T>(x(i, col)));
    for (std::size_t step = v.size() / 2; step > 0; step /= 2)
        for (std::size_t i = 0; i < v.size(); ++i)
            if ((i & step) == 0) {
                T const sum = v[i] + v[i + step];
                v[i + step] = v[i] - v[i + step], v[i] = sum;
            }
    return v;
}
template <class X>
sg::matrix<X> expected_of(sg::matrix<X> const& x) {
    sg::matrix<X> y(x.rows(), x.cols());
    for (index_t j = 0; j < x.cols(); ++j) {
        auto const v = sums_of<X>(x, j);
        for (index_t i = 0; i < x.rows(); ++i) y(i, j) = v[static_cast<std::size_t>(i)];
    }
    return y;
}
int bits(index_t n) { return sg::bits_of(n); }

// Less than a vector, blocks of each kind, and longer than a block, by columns or by rows.
std::vector<index_t> some_lengths() {
    if (support::sanitized) return {1, 2, 8, 64, 16384};
    return {1, 2, 4, 8, 16, 32, 64, 512, 16384, 262144};
}
index_t some_columns(index_t n) { return n > 20000 ? 1 : n > 1000 ? 17 : 37; }

template <class X>
sg::bound bound_of(sg::reference const& policy, index_t n) {
    return sg::plan(policy, sg::shape<sg::hadamard_form<sg::real_t<X>>, X, X>{n, 1, n}).error_bound();
}
template <class X>
sg::bound bound_of(sg::host const& policy, index_t n) {
    return sg::plan(policy, sg::shape<sg::hadamard_form<sg::real_t<X>>, X, X>{n, 1, n}).error_bound();
}

} // namespace

TEST_CASE("the order of sequency counts changes of sign") {
    for (int b = 0; b <= 10; ++b) {
        index_t const n = index_t{1} << b;
        int wrong = 0;
        for (index_t i = 0; i < n; ++i) {
            index_t const row = sg::row_of_sequency(i, b);
            index_t changes = 0;
            for (index_t j = 1; j < n; ++j)
                changes += __builtin_parityll(static_cast<unsigned long long>(row & j)) !=
                           __builtin_parityll(static_cast<unsigned long long>(row & (j - 1)));
            wrong += changes != i || sg::sequency_of_row(row, b) != i;
        }
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("hadamard adds and subtracts, the same in any layout, and writes C alone", "", float,
                   double, std::complex<float>, std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    X const guard = from_parts<X>(77, 78);
    for (index_t const n : some_lengths()) {
        index_t const cols = some_columns(n);
        auto const x = random_matrix<X>(n, cols, 1);
        auto const expected = expected_of(x);
        for (int layout = 0; layout < (n > 20000 ? 4 : 10); ++layout) {
            INFO(n << ", layout " << layout);
            // Rows or columns without gaps, with some, or backwards; from the left or right; in each order.
            index_t const rs = layout / 2 == 0   ? cols
                               : layout / 2 == 1 ? 1
                               : layout / 2 == 2 ? 3 * cols
                               : layout / 2 == 3 ? 1
                                                 : -(cols + 1),
                          cs = layout / 2 == 0   ? 1
                               : layout / 2 == 1 ? n
                               : layout / 2 == 2 ? 3
                               : layout / 2 == 3 ? n + 1
                                                 : 1,
                          size = (n + 2) * 3 * (cols + 2), first = rs < 0 ? (n + 1) * (cols + 1) : 5;
            std::vector<X> from(static_cast<std::size_t>(size), not_a_number<X>),
                to(static_cast<std::size_t>(size), guard);
            auto v = sg::strided<X>(from.data() + first, n, cols, rs, cs);
            auto w = sg::strided<X>(to.data() + first, n, cols, rs, cs);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) v(i, j) = x(i, j);
            for (int order = 0; order < 2; ++order) {
                auto const h = order == 0 ? sg::hadamard<R>(n) : sg::sequency(sg::hadamard<R>(n));
                if (layout % 2 == 0)
                    sg::gemm(sg::host{1}, h, v, w);
                else
                    sg::gemm(sg::host{1}, v.transposed(), h, w.transposed());
                int wrong = 0;
                for (index_t i = 0; i < n; ++i)
                    for (index_t j = 0; j < cols; ++j) {
                        index_t const row = order == 0 ? i : sg::row_of_sequency(i, bits(n));
                        wrong += std::memcmp(&w(i, j), &expected(row, j), sizeof(X)) != 0;
                        w(i, j) = guard;
                    }
                CHECK(wrong == 0);
                CHECK(std::count(to.begin(), to.end(), guard) == size);
            }
        }
        // Columns beside each other become columns apart, and back.
        sg::matrix<X> across(n, cols), along(n, cols, sg::layout::col_major);
        sg::gemm(sg::host{1}, sg::hadamard<R>(n), x, along);
        sg::gemm(sg::host{1}, sg::hadamard<R>(n), random_matrix<X>(n, cols, 1), across);
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) wrong += along(i, j) != across(i, j);
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("hadamard errs within its bound, and the bound is near", "", float, double) {
    using X = TestType;
    for (index_t n = 1; n <= 65536; n *= 2) {
        if (support::sanitized && n > 1024) break;
        INFO(n);
        // The last column is one, and numbers each of which makes a sum be rounded by half a unit in its last place.
        double const u = sg::unit_roundoff<X>();
        sg::matrix<X> x = random_matrix<X>(n, 4, 2);
        for (index_t i = 0; i < n; ++i) x(i, 3) = i == 0 ? X(1) : X(0);
        for (index_t i = n / 2; i > 0; i /= 2) x(i, 3) = static_cast<X>(u * (1 + 64 * u));
        sg::matrix<X> y(n, 4), z(n, 4);
        sg::gemm(sg::host{1}, sg::hadamard<X>(n), x, y);
        double random = 0, worst = 0, oracle = 0;
        if (n <= 2048) sg::gemm(sg::reference{}, sg::hadamard<X>(n), x, z);
        for (index_t j = 0; j < 4; ++j) {
            auto const exact = sums_of<long double>(x, j);
            long double sum = 0;
            for (index_t i = 0; i < n; ++i) sum += std::abs(static_cast<long double>(x(i, j)));
            for (index_t i = 0; i < n; ++i) {
                auto const error = [&](X a) {
                    return static_cast<double>(
                        std::abs(static_cast<long double>(a) - exact[static_cast<std::size_t>(i)]) / sum);
                };
                (j < 3 ? random : worst) = std::max(j < 3 ? random : worst, error(y(i, j)));
                if (n <= 2048) oracle = std::max(oracle, error(z(i, j)));
            }
        }
        auto const bound = bound_of<X>(sg::host{1}, n);
        CHECK(!bound.normwise);
        CHECK(std::max(random, worst) <= bound.worst);
        CHECK(random <= bound.expected);
        if (n > 1) CHECK(worst > bound.worst / 20);
        if (n > 64) CHECK(random > bound.expected / 20);
        CHECK(oracle <= bound_of<X>(sg::reference{}, n).worst);
    }
}

TEMPLATE_TEST_CASE("hadamard in place, twice, and refused where C overlaps otherwise", "", float,
                   std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    for (index_t const n : some_lengths()) {
        for (auto const h : {sg::hadamard<R>(n), sg::sequency(sg::hadamard<R>(n))}) {
            INFO(n);
            index_t const cols = some_columns(n);
            auto const x = random_matrix<X>(n, cols, 4);
            sg::matrix<X> expected(n, cols);
            sg::gemm(sg::host{1}, h, x, expected);
            auto y = x;
            sg::matrix<X> z(cols, n, [&](index_t i, index_t j) { return x(j, i); });
            sg::gemm(sg::host{2}, h, y, y);
            CHECK(same_bits(y, expected));
            sg::gemm(sg::host{2}, z, h, z);
            int wrong = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += z(j, i) != expected(i, j);
            CHECK(wrong == 0);
            // E is x, which C replaces.
            auto added = x;
            sg::gemm(sg::host{2}, X(1), h, added, X(2), added);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += added(i, j) != expected(i, j) + X(2) * x(i, j);
            CHECK(wrong == 0);
            y = x;
            sg::gemm(sg::host{2}, sg::orthogonal(h), y, y), sg::gemm(sg::host{2}, sg::orthogonal(h), y, y);
            double difference = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j)
                    difference = std::max(difference, static_cast<double>(std::abs(y(i, j) - x(i, j))));
            CHECK(difference <= 40 * sg::unit_roundoff<R>());
            if (n > 1000) continue;
            auto oracle = x;
            sg::gemm(sg::reference{}, h, oracle, oracle);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j)
                    wrong += !(static_cast<double>(std::abs(oracle(i, j) - expected(i, j))) <=
                               12 * sg::unit_roundoff<R>() * static_cast<double>(n));
            CHECK(wrong == 0);
        }
    }
    std::vector<X> memory(200);
    auto const at = [&](index_t first, index_t rows, index_t cols) {
        return sg::strided<X>(memory.data() + first, 8, 8, rows, cols);
    };
    auto const refused = [](auto const& x, auto const& y) {
        auto const s = sg::try_gemm(sg::host{1}, sg::hadamard<R>(8), x, y);
        return !s && s.error().code() == sg::errc::alias;
    };
    CHECK(refused(at(0, 8, 1), at(1, 8, 1)));
    CHECK(refused(at(0, 8, 1), at(0, 1, 8)));
}

TEMPLATE_TEST_CASE("hadamard with factors, conjugates, an added matrix and an epilogue", "", float, double,
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
    for (index_t const n : some_lengths()) {
        index_t const cols = some_columns(n);
        auto const e = random_matrix<X>(n, cols, 9);
        for (auto const layout : {sg::layout::row_major, sg::layout::col_major}) {
            INFO(n);
            auto const x = random_matrix<X>(n, cols, 8, layout);
            sg::matrix<X> plain(n, cols), by_sequency(n, cols), y(n, cols),
                own = e, turned(cols, n), none(n, cols, [](index_t, index_t) { return not_a_number<X>; }),
                real(n, cols, layout);
            auto const h = sg::hadamard<R>(n), w = sg::sequency(h);
            auto const place = [](X v, index_t i, index_t j) {
                return v + from_parts<X>(3.0 * static_cast<double>(i), static_cast<double>(j));
            };
            sg::gemm(sg::host{1}, h, x, plain), sg::gemm(sg::host{1}, w, x, by_sequency);
            sg::gemm(sg::host{1}, alpha, sg::conjugated(h), sg::conjugated(x), beta, sg::conjugated(e), y,
                     place);
            sg::gemm(sg::host{1}, alpha, w, x, beta, own);
            sg::gemm(sg::host{1}, sg::transposed(x), w, turned,
                     [&](X v, index_t i, index_t j) { return place(v, j, i); });
            sg::gemm(sg::host{1}, X(R(0.25)), sg::scaled(R(2), h), sg::conjugated(x), X(R(0)), none);
            sg::gemm(sg::host{1}, sg::scaled(R(0.5), w), sg::conjugated(x), real);
            int wrong = 0;
            auto const far = [&](X a, X b) {
                double const size = static_cast<double>(7 * n) + static_cast<double>(std::abs(a));
                return !(static_cast<double>(std::abs(a - b)) <= 8 * u * size);
            };
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) {
                    wrong +=
                        far(y(i, j), place(alpha * conjugate(plain(i, j)) + beta * conjugate(e(i, j)), i, j));
                    wrong += far(own(i, j), alpha * by_sequency(i, j) + beta * e(i, j));
                    wrong += far(turned(j, i), place(by_sequency(i, j), i, j));
                    wrong += none(i, j) != R(0.5) * conjugate(plain(i, j));
                    wrong += real(i, j) != R(0.5) * conjugate(by_sequency(i, j));
                }
            CHECK(wrong == 0);
            // alpha = 0: x is not read
            sg::gemm(sg::host{1}, X(R(0)), h,
                     sg::matrix<X>(n, cols, [](index_t, index_t) { return not_a_number<X>; }), X(R(2)),
                     own = e);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += own(i, j) != R(2) * e(i, j);
            CHECK(wrong == 0);
            if (n > 600) continue;
            sg::gemm(sg::reference{}, alpha, w, sg::conjugated(x), beta, sg::conjugated(e), none, place);
            sg::gemm(sg::host{1}, alpha, w, sg::conjugated(x), beta, sg::conjugated(e), y, place);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += far(none(i, j), y(i, j));
            CHECK(wrong == 0);
        }
    }
}

TEMPLATE_TEST_CASE("hadamard has the same bits in any batch and with any number of threads", "", float,
                   std::complex<double>) {
    using X = TestType;
    using R = sg::real_t<X>;
    for (index_t const n : some_lengths()) {
        for (auto const h : {sg::hadamard<R>(n), sg::sequency(sg::hadamard<R>(n))}) {
            INFO(n);
            index_t const width = n > 1000 ? 1 : 5, count = n > 1000 ? 3 : 7, cols = width * count;
            auto const x = random_matrix<X>(n, cols, 10);
            auto const along = random_matrix<X>(n, cols, 10, sg::layout::col_major);
            sg::matrix<X> expected(n, cols), y(n, cols), z(n, cols, sg::layout::col_major), turned(cols, n),
                repeated(n, cols);
            sg::gemm(sg::host{1}, h, x, expected);
            for (int threads = 2; threads <= 5; ++threads) {
                sg::gemm(sg::host{threads}, h, x, y);
                CHECK(same_bits(y, expected));
            }
            auto const batch = [&](auto const& v) {
                return sg::batched(v.block(0, 0, n, width), count, width * v.col_stride);
            };
            sg::gemm(sg::host{3}, h, batch(x.view()), batch(y.view()));
            sg::gemm(sg::host{3}, h, batch(along.view()), batch(z.view()));
            sg::gemm(sg::host{3}, sg::batched(sg::transposed(x.view().block(0, 0, n, width)), count, width),
                     h, sg::batched(turned.view().block(0, 0, width, n), count, width * n));
            sg::gemm(sg::host{3}, h, x.view().block(0, 0, n, width), batch(repeated.view()));
            int wrong = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) {
                    wrong += y(i, j) != expected(i, j);
                    wrong += turned(j, i) != expected(i, j);
                    wrong += repeated(i, j) != expected(i, j % width);
                }
            sg::gemm(sg::host{1}, h, along, y);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) wrong += z(i, j) != y(i, j);
            CHECK(wrong == 0);
            if (n > 600) continue;
            sg::gemm(sg::reference{}, h, batch(x.view()), batch(y.view()));
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j)
                    wrong += !(static_cast<double>(std::abs(y(i, j) - expected(i, j))) <=
                               12 * sg::unit_roundoff<R>() * static_cast<double>(n));
            CHECK(wrong == 0);
        }
    }
}

TEMPLATE_TEST_CASE("hadamard of elements of 16 bits", "", sg::half, sg::bfloat16) {
    using X = TestType;
    for (index_t const n : {1, 4, 64, 1024}) {
        INFO(n);
        sg::matrix<float> const numbers(
            n, 9, [](index_t i, index_t j) { return static_cast<float>((i * 5 + j) % 7 - 3); });
        sg::matrix<X> const x(n, 9, [&](index_t i, index_t j) { return X(numbers(i, j)); });
        sg::matrix<float> expected(n, 9), y(n, 9);
        sg::matrix<X> z(n, 9), oracle(n, 9);
        sg::gemm(sg::host{1}, sg::hadamard<float>(n), numbers, expected);
        sg::gemm(sg::host{1}, sg::hadamard<float>(n), x, y);
        sg::gemm(sg::host{1}, sg::scaled(0.5f, sg::hadamard<float>(n)), x, z);
        sg::gemm(sg::reference{}, sg::scaled(0.5f, sg::hadamard<float>(n)), x, oracle);
        CHECK(same_bits(y, expected));
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < 9; ++j) {
                float const rounded = static_cast<float>(X(0.5f * expected(i, j)));
                wrong +=
                    static_cast<float>(z(i, j)) != rounded || static_cast<float>(oracle(i, j)) != rounded;
            }
        CHECK(wrong == 0);
    }
}

TEST_CASE("NaN stays in the column that it is in") {
    for (auto const layout : {sg::layout::row_major, sg::layout::col_major}) {
        auto x = random_matrix<float>(4, 20, 11, layout);
        sg::matrix<float> expected(4, 20), y(4, 20);
        sg::gemm(sg::host{1}, sg::hadamard<float>(4), x, expected);
        x(1, 7) = not_a_number<float>;
        sg::gemm(sg::host{1}, sg::hadamard<float>(4), x, y);
        int wrong = 0;
        for (index_t i = 0; i < 4; ++i)
            for (index_t j = 0; j < 20; ++j)
                wrong += j == 7 ? !std::isnan(y(i, j)) : y(i, j) != expected(i, j);
        CHECK(wrong == 0);
    }
}

TEST_CASE("hadamard refuses lengths and shapes in one sentence, and writes nothing") {
    float both[] = {1, 2}; // y follows x
    auto const message = [&](index_t n, index_t x_rows, index_t y_rows) {
        auto const s =
            sg::try_gemm(sg::host{1}, sg::hadamard<float>(n), sg::strided(&both[0], x_rows, 1, 0, 1),
                         sg::strided(&both[1], y_rows, 1, 1, 1));
        return s ? std::string() : std::string(s.error().what());
    };
    auto const sentence = [](char const* points) {
        return std::string("hadamard: a Hadamard transform has a power of two from 1 to 1073741824 of "
                           "points, and this "
                           "one has ") +
               points;
    };
    index_t const beyond = index_t{1} << 31;
    CHECK(message(0, 0, 0) == sentence("0"));
    CHECK(message(12, 12, 12) == sentence("12"));
    CHECK(message(beyond, beyond, beyond) == sentence("2147483648"));
    CHECK(message(-1, -1, -1) == "gemm: sizes must not be negative");
    CHECK(contains(message(8, 9, 8), "C = A B needs"));
    CHECK(contains(message(8, 8, 9), "C = A B needs"));
    CHECK(both[1] == 2);
    CHECK(message(1, 1, 1) == "");
    CHECK(both[1] == 1);
}

TEST_CASE("hadamard takes operands of its own precision") {
    using sg::verdict;
    using F = std::complex<float>;
    using D = std::complex<double>;
    auto const of = []<class T, class X, class Y>(T, X, Y) {
        using Q = sg::problem<sg::hadamard<T>, sg::view<X const>, sg::view<Y>>;
        return sg::answer<sg::performer<sg::host, Q>, Q>();
    };
    CHECK(of(1.0f, F{}, F{}) == verdict::yes);
    CHECK(of(1.0f, 1.0f, 1.0f) == verdict::yes);
    CHECK(of(1.0, D{}, D{}) == verdict::yes);
    CHECK(of(1.0f, sg::half{}, 1.0f) == verdict::yes);
    CHECK(of(1.0f, sg::bfloat16{}, sg::bfloat16{}) == verdict::yes);
    CHECK(of(1.0f, sg::half{}, sg::bfloat16{}) == verdict::types);
    CHECK(of(1.0f, 1.0f, F{}) == verdict::types);
    CHECK(of(1.0f, F{}, D{}) == verdict::types);
    CHECK(of(1.0, F{}, F{}) == verdict::types);
    CHECK(of(1.0, sg::half{}, 1.0) == verdict::types);
    using two = sg::problem<sg::hadamard<float>, sg::hadamard<float>, sg::view<float>>;
    CHECK(sg::answer<sg::performer<sg::host, two>, two>() == verdict::structure);
    using layered = sg::problem<sg::hadamard<float>, sg::view<float const>, sg::view<float>>;
    CHECK(sg::answer<sg::performer<sg::strassen<sg::host>, layered>, layered>() == verdict::structure);
}

TEST_CASE("a plan of a hadamard says what runs, what memory it takes, and that it suffices") {
    using S = sg::shape<sg::hadamard_form<float>, float, float>;
    auto const lanes = std::to_string(sg::hadamard_kernels_here<float>().lanes);
    sg::plan const small(sg::host{1}, S{64, 100, 64});
    CHECK(small.describe() == "hadamard of 64 points, by vectors of " + lanes + ", on 1 thread");
    index_t const length = index_t{1} << 22, longest = index_t{1} << 30; // n x n elements would be refused
    CHECK(contains(sg::plan(sg::host{1}, S{length, 1, length}).describe(), ", as 2048 x 2048 "));
    CHECK(sg::plan(sg::host{1}, S{longest, 1, longest}).workspace().host >= std::size_t{4} << 30);
    CHECK(contains(sg::plan(sg::reference{}, S{64, 1, 64}).describe(), "by its definition"));
    CHECK(small.estimate() > 0);

    auto const x = random_matrix<float>(64, 100, 12);
    sg::matrix<float> expected(64, 100), y(64, 100), turned(100, 64);
    sg::gemm(sg::host{1}, sg::hadamard<float>(64), x, expected);
    auto memory = small.reserve();
    small.run(sg::hadamard<float>(64), x, y, memory);
    CHECK(same_bits(y, expected));
    using turned_shape = sg::shape<float, sg::hadamard_form<float>, float>;
    sg::plan const rows(sg::host{1}, turned_shape{100, 64, 64});
    CHECK(rows.workspace() == small.workspace());
    rows.run(sg::transposed(x), sg::hadamard<float>(64), turned);
    CHECK(turned(7, 3) == expected(3, 7));
}
