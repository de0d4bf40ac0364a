#include "unit/structure/toeplitz.hpp"

#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/structure/toeplitz.hpp>

#include <limits>

namespace sg = stratagemm;
using namespace structured;
using support::contains;

namespace {

constexpr index_t some_sides[][3] = {{1, 1, 1},   {1, 9, 4},   {9, 1, 3},   {5, 5, 1},
                                     {33, 20, 7}, {20, 70, 3}, {64, 64, 40}};

template <class T>
sg::matrix<T> toeplitz_by_definition(std::vector<T> const& column, std::vector<T> const& row) {
    return sg::matrix<T>(static_cast<index_t>(column.size()), static_cast<index_t>(row.size()),
                         [&](index_t i, index_t j) { return i >= j ? at(column, i - j) : at(row, j - i); });
}
template <class T>
sg::matrix<T> hankel_by_definition(std::vector<T> const& column, std::vector<T> const& row) {
    auto const m = static_cast<index_t>(column.size());
    return sg::matrix<T>(m, static_cast<index_t>(row.size()), [&](index_t i, index_t j) {
        return i + j < m ? at(column, i + j) : at(row, i + j - m + 1);
    });
}

} // namespace

TEMPLATE_TEST_CASE("products with Toeplitz, Hankel and circulant matrices", "", float, double,
                   std::complex<float>) {
    using T = TestType;
    for (auto const& s : some_sides) {
        index_t const m = s[0], k = s[1], n = s[2];
        INFO(m << " x " << k << ", " << n);
        auto const seed = static_cast<unsigned>(m + k);
        auto const column = random_vector<T>(m, seed), row = random_vector<T>(k, seed + 1);
        auto const check = [&](auto const& policy) {
            check_products(policy, sg::toeplitz(column, row), toeplitz_by_definition(column, row), n, seed);
            check_products(policy, sg::hankel(column, row), hankel_by_definition(column, row), n, seed);
            sg::matrix<T> const circle(m, m,
                                       [&](index_t i, index_t j) { return at(column, (i - j + m) % m); });
            check_products(policy, sg::circulant(column), circle, n, seed);
            std::vector<T> other = column;
            for (T& x : other) x = sg::conjugate(x);
            check_products(policy, sg::toeplitz(column), toeplitz_by_definition(column, other), n, seed);
        };
        check(sg::host{2});
        if (n < 10) check(sg::reference{});
    }
}

TEST_CASE("Toeplitz matrices under layers") {
    index_t const m = 40, k = 33;
    auto const d = random_vector<float>(m + k - 1, 1);
    sg::matrix<float> const dense(m, k, [&](index_t i, index_t j) { return at(d, m - 1 + j - i); });
    check_products(sg::strassen{sg::host{1}, {.levels = 1}}, sg::toeplitz(d, m, k), dense, 20, 1);
    sg::report done;
    check_products(sg::verified{sg::host{1}, {.report = &done}}, sg::toeplitz(d, m, k), dense, 6, 2);
    CHECK(done.ran == "checked");
}

TEST_CASE("a sequence of diagonals, as it lies and with any stride") {
    using T = float;
    index_t const m = 12, k = 17;
    auto const d = random_vector<T>(2 * (m + k - 1), 1);
    for (index_t const stride : {1, 2, -1}) {
        INFO(stride);
        auto const number = [&](index_t i) { return at(d, stride < 0 ? m + k - 2 - i : i * stride); };
        auto const v = sg::strided<T const>(d.data() + (stride < 0 ? m + k - 2 : 0), 1, m + k - 1, 1, stride);
        sg::matrix<T> const dense(m, k, [&](index_t i, index_t j) { return number(m - 1 + j - i); });
        sg::matrix<T> const turned(m, k, [&](index_t i, index_t j) { return number(i + j); });
        auto const by_rows = sg::toeplitz(v, m, k);
        check_products(sg::host{1}, by_rows, dense, 5, 3);
        check_products(sg::host{1}, sg::toeplitz(v.transposed(), m, k), dense, 1, 3);
        check_products(sg::host{1}, sg::hankel(v, m, k), turned, 5, 3);
        sg::matrix<T> x(k, 3), y(m, 3);
        auto const text = sg::plan(sg::host{1}, sg::product(by_rows, x, y).shape()).describe();
        CHECK(contains(text, "copied") == (stride == 2));
    }
}

TEMPLATE_TEST_CASE("products with matrices of Toeplitz blocks", "", float, std::complex<double>) {
    using T = TestType;
    constexpr index_t some[][5] = {{2, 3, 5, 4, 6}, {7, 2, 3, 9, 1}, {3, 3, 1, 4, 5}, {1, 4, 6, 2, 3}};
    for (auto const& s : some) {
        index_t const p = s[0], q = s[1], m = s[2], k = s[3], n = s[4];
        INFO(p << " x " << q << ", " << m << " x " << k);
        auto const column = random_vector<T>(m * p * q, 1), row = random_vector<T>(k * p * q, 2);
        // Blocks of the column by rows; those of the row by columns, one beside another.
        auto const down = sg::batched(sg::row_major(column.data(), p, q), m, p * q);
        auto const right = sg::batched(sg::col_major(row.data(), p, q), k, p * q);
        sg::matrix<T> const dense(m * p, k * q, [&](index_t i, index_t j) {
            index_t const block = j / q - i / p, a = i % p, b = j % q;
            return block <= 0 ? at(column, -block * p * q + a * q + b) : at(row, block * p * q + a + b * p);
        });
        check_products(sg::host{2}, sg::block_toeplitz(down, right), dense, n, 1);
        check_products(sg::reference{}, sg::block_toeplitz(down, right), dense, n, 2);

        index_t const all = m + k - 1;
        auto const d = random_vector<T>(all * p * q, 5);
        sg::matrix<T> const whole(m * p, k * q, [&](index_t i, index_t j) {
            return at(d, (i % p) * all * q + (m - 1 + j / q - i / p) * q + j % q);
        });
        auto const blocks = sg::batched(sg::row_major(d.data(), p, q, all * q), all, q); // read as they lie
        check_products(sg::host{1}, sg::block_toeplitz(blocks, m, k), whole, n, 3);
    }
}

TEMPLATE_TEST_CASE("products by transforms", "", float, double, std::complex<float>, std::complex<double>) {
    using T = TestType;
    constexpr index_t sides[][3] = {{1, 1, 1},   {1, 9, 4},    {9, 1, 3},   {5, 5, 1},
                                    {33, 20, 7}, {20, 70, 30}, {64, 64, 40}};
    for (auto const& s : sides) {
        index_t const m = s[0], k = s[1], n = s[2];
        INFO(m << " x " << k << ", " << n);
        auto const seed = static_cast<unsigned>(m + k);
        auto const column = random_vector<T>(m, seed), row = random_vector<T>(k, seed + 1);
        auto const check = [&](auto const& policy) {
            check_products(policy, sg::toeplitz(column, row).by_transforms(),
                           toeplitz_by_definition(column, row), n, seed);
            check_products(policy, sg::hankel(column, row).by_transforms(), hankel_by_definition(column, row),
                           n, seed);
            auto const kept = sg::keep_left(policy, sg::toeplitz(column, row).by_transforms());
            check_products(policy, kept.view(), toeplitz_by_definition(column, row), n, seed);
        };
        check(sg::host{2});
        if (n < 10) check(sg::reference{});
    }
}

TEMPLATE_TEST_CASE("products with matrices of Toeplitz blocks by transforms", "", float,
                   std::complex<double>) {
    using T = TestType;
    constexpr index_t some[][5] = {{2, 3, 5, 4, 6}, {7, 2, 3, 9, 1}, {3, 3, 1, 4, 25}, {1, 4, 6, 2, 30}};
    for (auto const& s : some) {
        index_t const p = s[0], q = s[1], m = s[2], k = s[3], n = s[4], all = m + k - 1;
        INFO(p << " x " << q << ", " << m << " x " << k);
        auto const d = random_vector<T>(all * p * q, 5);
        sg::matrix<T> const dense(m * p, k * q, [&](index_t i, index_t j) {
            return at(d, (m - 1 + j / q - i / p) * p * q + (i % p) * q + j % q);
        });
        auto const blocks = sg::batched(sg::row_major(d.data(), p, q), all, p * q);
        check_products(sg::host{2}, sg::block_toeplitz(blocks, m, k).by_transforms(), dense, n, 1);
        if (n < 10)
            check_products(sg::reference{}, sg::block_toeplitz(blocks, m, k).by_transforms(), dense, n, 2);
    }
}

TEMPLATE_TEST_CASE("the error by transforms is as expected, and bits do not depend on other columns", "",
                   float, double, std::complex<float>) {
    using T = TestType;
    double tightest = 0;
    for (index_t const k : {40, 500, 17000}) { // the last one does not fit the cache
        if (support::sanitized && k > 1000) continue;
        INFO(k);
        index_t const m = 300, n = 3;
        auto const d = random_vector<T>(m + k - 1, 1);
        auto const x = random_matrix<T>(k, n, 2);
        using Wide = std::conditional_t<sg::complex_like<T>, std::complex<double>, double>;
        std::vector<Wide> wide(d.begin(), d.end());
        sg::matrix<Wide> const wide_x(k, n, [&](index_t i, index_t j) { return Wide(x(i, j)); });
        sg::matrix<Wide> expected(m, n);
        sg::matrix<T> y(m, n), alone(m, 1);
        auto const a = sg::toeplitz(d, m, k).by_transforms();
        sg::gemm(sg::host{1}, sg::toeplitz(wide, m, k), wide_x, expected);
        sg::gemm(sg::host{2}, a, x, y);
        auto const bound = sg::plan(sg::host{1}, sg::product(a, x, y).shape()).error_bound();
        CHECK(bound.normwise);
        double worst = 0, slack = std::is_same_v<T, double> ? 0x1p-53 * std::sqrt(static_cast<double>(k)) : 0;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j)
                worst = std::max(worst, static_cast<double>(std::abs(Wide(y(i, j)) - expected(i, j))));
        worst /= static_cast<double>(k) * (sg::complex_like<T> ? 2 : 1);
        CHECK(worst <= bound.expected + slack);
        tightest = std::max(tightest, worst / bound.expected);
        sg::gemm(sg::host{1}, a, x.view().block(0, 1, k, 1), alone);
        for (index_t i = 0; i < m; ++i) REQUIRE(std::memcmp(&alone(i, 0), &y(i, 1), sizeof(T)) == 0);
    }
    CHECK(tightest > 0.05);
}

TEMPLATE_TEST_CASE("the product of two Toeplitz matrices", "", float, double, std::complex<float>,
                   std::complex<double>) {
    using T = TestType;
    constexpr index_t sides[][3] = {{1, 1, 1},    {5, 4, 1},      {1, 90, 30},   {40, 9, 33},
                                    {40, 60, 50}, {1100, 17, 30}, {31, 17, 1100}};
    for (auto const& s : sides) {
        index_t const m = s[0], k = s[1], n = s[2];
        if (support::sanitized && m > 1000) continue;
        INFO(m << " x " << k << " x " << n);
        auto const d = random_vector<T>(m + k - 1, 1), f = random_vector<T>(k + n - 1, 2);
        auto const e = random_matrix<T>(m, n, 3);
        T const alpha(sg::real_t<T>(1.5)), beta(sg::real_t<T>(-0.75));
        auto const element = [](std::vector<T> const& v, bool hankel, index_t rows, index_t i, index_t j) {
            return at(v, hankel ? i + j : rows - 1 - i + j);
        };
        for (int kind = 0; kind < 4; ++kind) {
            INFO(kind);
            bool const first = kind % 2, second = kind / 2;
            auto const a = first ? sg::hankel(d, m, k) : sg::toeplitz(d, m, k);
            auto const b = second ? sg::hankel(f, k, n) : sg::toeplitz(f, k, n);
            sg::matrix<T> const dense_a(
                m, k, [&](index_t i, index_t j) { return sg::conjugate(element(d, first, m, i, j)); }),
                dense_b(k, n, [&](index_t i, index_t j) { return element(f, second, k, i, j); });
            sg::matrix<T> c(m, n), plain(m, n), zero(m, n, [](index_t, index_t) { return T{}; });
            auto const check = [&](auto const& policy) {
                auto const bound =
                    sg::plan(policy, sg::product(alpha, sg::conjugated(a), b, beta, e, c).shape())
                        .error_bound();
                sg::gemm(policy, alpha, sg::conjugated(a), b, beta, e, c);
                CHECK(error_over_bound(bound, alpha, dense_a, dense_b, beta, e, c) <= 1);
                sg::gemm(policy, sg::scaled(alpha, sg::conjugated(a)), b, plain);
                CHECK(error_over_bound(bound, alpha, dense_a, dense_b, T{}, zero, plain) <= 1);
            };
            check(sg::host{2});
            if (m * k * n < 30000) check(sg::reference{});
        }
    }
    auto const d = random_vector<T>(399, 1);
    auto const a = sg::toeplitz(d, 200, 200);
    sg::matrix<T> c(200, 200);
    CHECK(contains(sg::plan(sg::host{1}, sg::product(a, a, c).shape()).describe(), "sums along diagonals"));
    auto broken = d;
    broken[1] = std::numeric_limits<sg::real_t<T>>::infinity();
    sg::gemm(sg::host{1}, sg::toeplitz(broken, 200, 200), a, c);
    CHECK(std::isfinite(std::abs(c(100, 100))));
    CHECK(!std::isfinite(std::abs(c(199, 100))));
}

TEST_CASE("the product of two matrices of Toeplitz blocks, and of polynomials") {
    using T = double;
    index_t const m = 3, k = 4, n = 2, p = 2, q = 3, r = 4;
    auto const d = random_vector<T>((m + k - 1) * p * q, 1), f = random_vector<T>((k + n - 1) * q * r, 2);
    sg::matrix<T> const a(m * p, k * q, [&](index_t i, index_t j) {
        return at(d, (m - 1 + j / q - i / p) * p * q + (i % p) * q + j % q);
    });
    sg::matrix<T> const b(k * q, n * r, [&](index_t i, index_t j) {
        return at(f, (k - 1 + j / r - i / q) * q * r + (i % q) * r + j % r);
    });
    auto const left = sg::block_toeplitz(sg::batched(sg::row_major(d.data(), p, q), m + k - 1, p * q), m, k);
    auto const right = sg::block_toeplitz(sg::batched(sg::row_major(f.data(), q, r), k + n - 1, q * r), k, n);
    sg::matrix<T> c(m * p, n * r);
    sg::gemm(sg::host{1}, left, right, c);
    auto const bound = sg::plan(sg::host{1}, sg::product(left, right, c).shape()).error_bound();
    CHECK(error_over_bound(bound, 1.0, a, b, 0.0, c, c) <= 1);

    auto const factor = random_vector<T>(5, 4);
    sg::matrix<T> const dense(
        11, 7, [&](index_t i, index_t j) { return i >= j && i - j < 5 ? at(factor, i - j) : 0; });
    check_products(sg::host{1}, sg::polynomial(factor, 7), dense, 4, 1);
    check_products(sg::reference{}, sg::polynomial(factor, 7).by_transforms(), dense, 4, 1);
    check_products(sg::host{1}, sg::polynomial(factor, 7).by_transforms(), dense, 40, 1);
}

TEST_CASE("a NaN of a direct product stays in its row and column") {
    using T = double;
    auto const d = random_vector<T>(39, 1);
    auto x = random_matrix<T>(20, 6, 2);
    x(3, 4) = std::numeric_limits<T>::quiet_NaN();
    sg::matrix<T> y(20, 6);
    sg::gemm(sg::host{1}, sg::toeplitz(d, 20, 20), x, y);
    for (index_t i = 0; i < 20; ++i)
        for (index_t j = 0; j < 6; ++j) CHECK((y(i, j) != y(i, j)) == (j == 4));
}

TEST_CASE("what is wrong with a Toeplitz matrix") {
    auto const d = random_vector<float>(9, 1);
    auto const x = random_matrix<float>(5, 3, 2);
    sg::matrix<float> y(5, 3, [](index_t, index_t) { return 7.0f; });
    auto const message = [&](auto const& a) {
        auto const s = sg::try_gemm(sg::host{1}, a, x, y);
        CHECK(!s);
        for (index_t i = 0; i < 15; ++i) CHECK(y.data()[i] == 7.0f);
        return s ? std::string() : std::string(s.error().what());
    };
    auto const short_of = sg::strided(d.data(), 1, 8, 1, 1);
    CHECK(contains(message(sg::toeplitz(short_of, 5, 5)),
                   "5 x 5 elements have 9 diagonals (5 + 5 - 1), and 8 are given"));
    CHECK(
        contains(message(sg::toeplitz(sg::strided<float const>(nullptr, 1, 9, 1, 1), 5, 5)), "null pointer"));
    CHECK(contains(message(sg::toeplitz(d, 4, 5)), "A is 4 x 5"));
    index_t const vast = std::numeric_limits<index_t>::max() / 2;
    auto const blocks = sg::batched(sg::row_major(d.data(), 3, 3), 9, 1);
    CHECK(!message(sg::block_toeplitz(blocks, vast, vast)).empty());
    CHECK(!message(sg::toeplitz(sg::strided(d.data(), 1, vast, 1, 1), 5, 5)).empty());
    CHECK(contains(message(sg::toeplitz(sg::strided(y.data(), 1, 9, 1, 1), 5, 5)), "C overlaps A or B"));
    CHECK_THROWS_AS(sg::toeplitz(x), sg::error);

    // Numbers in one place stand for many.
    index_t const many = index_t{1} << 31;
    auto const long_one =
        sg::toeplitz(sg::strided<float const>(d.data(), 1, many, 1, 0), many, 1).by_transforms();
    CHECK(contains(long_one.usable().error().what(), "more diagonals than a transform has points"));
}
