#include "catch.hpp"
#include "unit/structure/tensors.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/cp.hpp>

#include <limits>
#include <string>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::distance;
using support::of_two_products;
using support::random_matrix;

namespace {

sg::cp_sides sides_of(std::vector<index_t> const& rows, std::vector<index_t> const& cols, index_t rank) {
    sg::cp_sides x;
    for (std::size_t k = 0; k < rows.size(); ++k) x.rows[k] = rows[k], x.cols[k] = cols[k];
    x.cores = static_cast<int>(rows.size()), x.rank = rank;
    return x;
}

} // namespace

TEMPLATE_TEST_CASE("a sum of Kronecker products is found, and multiplies like the matrix", "", float, double,
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    auto const a = of_two_products<T>();
    auto const x = sg::cp(a, {2, 3, 4}, {3, 2, 5}, {.rank = 2, .tolerance = 1e-6});
    CHECK(x.report().bound.worst <= 1e-6);
    CHECK(x.report().error > 0);
    CHECK(x.report().count == 2);
    CHECK(x.report().phases > 0);
    CHECK(distance(a, sg::written(x)) <= 1e-6);
    CHECK(std::abs(x.norm() - support::norm_of(a)) < 1e-5 * x.norm());
    sg::matrix<T> const turned(30, 24, [&](index_t i, index_t j) { return a(j, i); });
    CHECK(distance(turned, sg::written(sg::transposed(x))) <= 1e-6);
    // Its terms.
    sg::matrix<T> const sum(24, 30, [&](index_t i, index_t j) {
        T all(0);
        for (index_t r = 0; r < 2; ++r)
            all += x.factor(0, r)(i / 12, j / 10) * x.factor(1, r)(i / 4 % 3, j / 5 % 2) *
                   x.factor(2, r)(i % 4, j % 5);
        return all;
    });
    CHECK(distance(a, sum) <= 2e-6);

    double const near = 2e-6;
    index_t const n = 7;
    auto const b = random_matrix<T>(30, n, 7), left = random_matrix<T>(n, 24, 8),
               e = random_matrix<T>(24, n, 9);
    sg::matrix<T> c(24, n), expected(24, n), d(n, 30), expected_d(n, 30);
    auto const halved = [](T v, index_t i, index_t j) { return i > j ? v : v * R(0.5); };
    sg::gemm(sg::reference{}, T(R(2)), sg::conjugated(a), b, T(R(-1)), e, expected, halved);
    sg::gemm(sg::host{1}, T(R(2)), sg::conjugated(x), b, T(R(-1)), e, c, halved);
    CHECK(distance(expected, c) < near);
    sg::gemm(sg::reference{}, left, a, expected_d);
    sg::gemm(sg::strassen{sg::host{1}}, left, x, d);
    CHECK(distance(expected_d, d) < near);
    sg::plan const plan(sg::host{1}, sg::product(x, b, c).shape());
    CHECK(contains(plan.describe(), "sum of 2 Kronecker products of 3 factors, " +
                                        std::to_string(2 * (6 + 6 + 20) * sizeof(T)) + " bytes: "));
}

TEMPLATE_TEST_CASE("sums of Kronecker products of any parts multiply like what they stand for", "", float,
                   std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    // Parts of the rows, of the columns, and terms: done from either end, by terms or by rows.
    struct {
        std::vector<index_t> rows, cols;
        index_t rank;
    } const cases[] = {{{2, 3, 4}, {3, 2, 5}, 3},
                       {{6, 1, 1}, {1, 4, 5}, 4},
                       {{1, 1, 5}, {3, 4, 1}, 4},
                       {{2, 2}, {3, 5}, 1},
                       {{7}, {5}, 3},
                       {{2, 1, 3, 2}, {1, 4, 2, 3}, 30},
                       {{4, 9}, {9, 2}, 5}};
    for (auto const& [rows, cols, rank] : cases) {
        auto const sides = sides_of(rows, cols, rank);
        auto const data = random_matrix<T>(1, sides.size(), 5);
        sg::cp_view<T> const x(data.data(), sides);
        auto const a = sg::written(x);
        CAPTURE(rows, cols, rank);
        double const near = 1e3 * sg::unit_roundoff<R>();
        for (index_t const n : {1, 6})
            for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
                auto const b = random_matrix<T>(x.cols, n, 7, order), e = random_matrix<T>(x.rows, n, 9);
                sg::matrix<T> c(x.rows, n, order), expected(x.rows, n), y(x.cols, n, order),
                    expected_y(x.cols, n);
                sg::gemm(sg::reference{}, T(R(2)), a, b, T(R(-1)), e, expected);
                sg::gemm(sg::host{1}, T(R(2)), x, b, T(R(-1)), e, c);
                CHECK(distance(expected, c) < near);
                sg::gemm(sg::reference{}, sg::transposed(a), e, expected_y);
                sg::gemm(sg::host{1}, sg::transposed(x), e, y);
                CHECK(distance(expected_y, y) < near);
                sg::matrix<T> same(x.rows, n, order);
                sg::gemm(sg::host{3}, T(R(2)), x, b, T(R(-1)), e, same);
                CHECK(support::same_bits(c, same));
            }
        auto const b = random_matrix<T>(2 * x.cols, 3, 10);
        sg::matrix<T> c(2 * x.rows, 3), expected(2 * x.rows, 3);
        auto const of = [](auto& v, index_t count) {
            return sg::batched(v.block(0, 0, count, 3), 2, count * 3);
        };
        sg::gemm(sg::reference{}, a, of(b, x.cols), of(expected, x.rows));
        sg::plan const plan(sg::host{1}, sg::product(x, of(b, x.cols), of(c, x.rows)).shape());
        auto memory = plan.reserve();
        plan.run(x, of(b, x.cols), of(c, x.rows), memory);
        CHECK(distance(expected, c) < near);
    }
}

TEMPLATE_TEST_CASE("terms are found of tensors whose modes are vectors, with noise, and of one mode", "",
                   float, std::complex<double>) {
    using T = TestType;
    auto const u = random_matrix<T>(9, 3, 1), v = random_matrix<T>(7, 3, 2), w = random_matrix<T>(8, 3, 3),
               noise = random_matrix<T>(9, 56, 4);
    sg::matrix<T> const a(9, 56, [&](index_t i, index_t j) {
        T sum = static_cast<sg::real_t<T>>(1e-3) * noise(i, j);
        for (index_t r = 0; r < 3; ++r) sum += u(i, r) * v(j / 8, r) * w(j % 8, r);
        return sum;
    });
    auto const x = sg::cp(a, {9, 1, 1}, {1, 7, 8}, {.rank = 3, .tolerance = 1e-2, .seed = 3});
    CHECK(distance(a, sg::written(x)) <= 1e-2);
    CHECK(x.report().seed == 3);
    auto const still = sg::cp(a, {9, 1, 1}, {1, 7, 8}, {.rank = 3});
    CHECK(distance(a, sg::written(still)) <= 1e-2);
    auto const again = sg::cp(a, {9, 1, 1}, {1, 7, 8}, {.rank = 3});
    CHECK(support::same_bits(sg::written(still), sg::written(again)));
    // Two modes are a matrix whose best terms are singular vectors; one mode is one term.
    auto const two = sg::cp(a, {9, 1}, {1, 56}, {.rank = 9, .tolerance = 1e-5});
    CHECK(distance(a, sg::written(two)) <= 1e-5);
    auto const one = sg::cp(a, {9}, {56}, {.rank = 1, .tolerance = 1e-5});
    CHECK(distance(a, sg::written(one)) <= 1e-5);
    // More terms than the tensor has leave the equations without a solution of their own.
    auto const spare = sg::cp(of_two_products<T>(0), {2, 3, 4}, {3, 2, 5}, {.rank = 4, .tolerance = 1e-5});
    CHECK(spare.report().bound.worst <= 1e-5);
}

TEST_CASE("terms are as near at any scale of the matrix") {
    auto const a = of_two_products<double>();
    auto const x = sg::cp(a, {2, 3, 4}, {3, 2, 5}, {.rank = 2, .tolerance = 1e-6});
    for (double const scale : {0x1p-900, 0x1p+900}) {
        auto const y = sg::cp(sg::scaled(scale, a), {2, 3, 4}, {3, 2, 5}, {.rank = 2, .tolerance = 1e-6});
        CHECK(y.report().error == x.report().error);
        CHECK(y.norm() == x.norm() * scale);
    }
}

TEST_CASE("sums of Kronecker products of bad input are refused in one sentence") {
    auto const a = random_matrix<float>(6, 4, 1);
    auto const message = [&](std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                             sg::cp_options const& o) {
        return std::string(sg::try_cp(a, rows, cols, o).error().what());
    };
    CHECK(message({2, 3}, {4}, {.rank = 1}) ==
          "cp: give as many parts of the rows as of the columns, from 1 to 16");
    CHECK(message({2, 2}, {2, 2}, {.rank = 1}) ==
          "cp: the parts do not multiply to the sides of the matrix, 6 x 4");
    index_t const huge = index_t{1} << 62;
    CHECK(message({huge, huge}, {2, 2}, {.rank = 1}) ==
          "cp: the parts do not multiply to the sides of the matrix, 6 x 4");
    for (index_t const rank : {-1, 0, 5})
        CHECK(message({2, 3}, {2, 2}, {.rank = rank}) ==
              "cp: `rank` is from 1 to 4, which suffices for any matrix of these parts");
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (double const bad : {1.0, -0.5, nan})
        CHECK(message({2, 3}, {2, 2}, {.rank = 1, .tolerance = bad}) ==
              "cp: `tolerance` is from 0 to 1, and less than 1");
    for (double const bad : {1.0, 0.0, nan})
        CHECK(message({2, 3}, {2, 2}, {.rank = 1, .change = bad}) ==
              "cp: `change` is more than 0 and less than 1");
    CHECK(message({2, 3}, {2, 2}, {.rank = 1, .iterations = 0}) == "cp: `iterations` is 1 or more");
    CHECK(contains(message({2, 3}, {2, 2}, {.rank = 1, .tolerance = 1e-3, .iterations = 40}),
                   "cp: 40 iterations from "));
    CHECK(contains(message({2, 3}, {2, 2}, {.rank = 3, .iterations = 1}),
                   "cp: after 1 iterations the error of "));
    CHECK(contains(message({2, 3}, {2, 2}, {.rank = 4, .tolerance = 1e-9}), "cp: "));
    for (float const bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        auto wrong = a;
        wrong(3, 3) = bad;
        CHECK(std::string(sg::try_cp(wrong, {2, 3}, {2, 2}, {.rank = 1}).error().what()) ==
              "cp: the matrix has Inf or NaN");
    }
    auto const none = sg::cp(sg::matrix<float>(6, 4), {2, 3}, {2, 2}, {.rank = 2, .tolerance = 1e-3});
    CHECK(none.report().error == 0);
    CHECK(none.norm() == 0);
    sg::matrix<float> b(4, 2), c(6, 2);
    CHECK_THROWS_AS(sg::gemm(sg::host{1}, sg::cp_view<float>(a.data(), sides_of({6}, {4}, 0)), b, c),
                    sg::error);
    CHECK_THROWS_AS(sg::gemm(sg::host{1}, sg::cp_view<float>(a.data(), sides_of({2, 2}, {2, 2}, 1)), b, c),
                    sg::error);
}
