#include "catch.hpp"
#include "unit/structure/tensors.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/tucker.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::distance;
using support::of_two_products;
using support::random_matrix;

TEMPLATE_TEST_CASE("a Tucker decomposition has the ranks of its modes, and multiplies like the matrix", "",
                   float, double, std::complex<float>, std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    auto const a = of_two_products<T>();
    auto const x = sg::tucker(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-4});
    for (int k = 0; k < x.modes(); ++k) CHECK(x.rank(k) == 2);
    double const near = 1e3 * sg::unit_roundoff<R>();
    CHECK(distance(a, sg::written(x)) < near);
    sg::matrix<T> const turned(30, 24, [&](index_t i, index_t j) { return a(j, i); });
    CHECK(distance(turned, sg::written(sg::transposed(x))) < near);
    CHECK(x.report().count == 2);
    CHECK(x.report().bound.worst < near);
    CHECK(std::abs(x.norm() - support::norm_of(a)) < near * x.norm());

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
    auto memory = plan.reserve();
    plan.run(x, b, c, memory);
    sg::gemm(sg::reference{}, a, b, expected);
    CHECK(distance(expected, c) < near);
    std::string const bytes = std::to_string((8 + 2 * (6 + 6 + 20)) * sizeof(T));
    CHECK(contains(plan.describe(),
                   "tucker of ranks 2 2 2, " + bytes + " bytes, as a tensor train of 3 cores, ranks 2 2, "));
    // What takes a train takes it.
    auto const twice = sg::rounded(sg::added(x, x), {.tolerance = 1e-3});
    CHECK(twice.report().count == 2);
    CHECK(distance(sg::matrix<T>(24, 30, [&](index_t i, index_t j) { return R(2) * a(i, j); }),
                   sg::written(twice)) < 1e-3);
}

TEMPLATE_TEST_CASE("factors of a Tucker decomposition are orthonormal, and make the matrix with its core", "",
                   float, std::complex<double>) {
    using T = TestType;
    auto const a = random_matrix<T>(12, 10, 3);
    auto const x = sg::tucker(a, {3, 4}, {2, 5}, {});
    auto const core = x.core(), u = x.factor(0), v = x.factor(1);
    CHECK(u.rows == 6);
    CHECK(v.rows == 20);
    double const near = 1e3 * sg::unit_roundoff<sg::real_t<T>>();
    for (auto const& f : {u, v}) {
        sg::matrix<T> gram(f.cols, f.cols);
        sg::gemm(sg::reference{}, sg::transposed(sg::conjugated(f)), f, gram);
        CHECK(distance(sg::matrix<T>(f.cols, f.cols, [](index_t i, index_t j) { return T(i == j ? 1 : 0); }),
                       gram) < near);
    }
    sg::matrix<T> half(6, v.cols), tensor(6, 20);
    sg::gemm(sg::reference{}, u, core, half);
    sg::gemm(sg::reference{}, half, sg::transposed(v), tensor);
    sg::matrix<T> const matrix(
        12, 10, [&](index_t i, index_t j) { return tensor(i / 4 * 2 + j / 5, i % 4 * 5 + j % 5); });
    CHECK(distance(a, matrix) < near);
}

TEMPLATE_TEST_CASE("a Tucker decomposition keeps its tolerance with ranks as small as that allows", "", float,
                   std::complex<double>) {
    using T = TestType;
    auto a = of_two_products<T>(1e-2);
    auto const noise = random_matrix<T>(24, 30, 11);
    for (index_t i = 0; i < 24; ++i)
        for (index_t j = 0; j < 30; ++j) a(i, j) += static_cast<sg::real_t<T>>(1e-4) * noise(i, j);
    index_t before = 0;
    for (double const tolerance : {0.2, 1e-3, 1e-5, 0.0}) {
        auto const x = sg::tucker(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = tolerance});
        double const off = distance(a, sg::written(x));
        CHECK(off <= (tolerance > 0 ? tolerance : 1e-5));
        CHECK(off <= x.report().bound.worst + 4 * sg::unit_roundoff<sg::real_t<T>>());
        CHECK(x.rank(0) >= before);
        before = x.rank(0);
        if (tolerance == 0.2) CHECK(x.report().count == 1);
        if (tolerance == 1e-3) CHECK(x.report().count == 2);
    }
    auto const given = sg::tucker(a, {2, 3, 4}, {3, 2, 5}, {.ranks = {1, 2, 1}});
    CHECK(given.rank(0) == 1);
    CHECK(given.rank(1) == 2);
    CHECK(given.report().error > 1e-4);
    // Modes that are not pairs: a tensor of 24 x 6 x 5. Four modes, and one.
    for (auto const& x : {sg::tucker(a, {24, 1, 1}, {1, 6, 5}, {.tolerance = 1e-5}),
                          sg::tucker(a, {2, 1, 3, 4}, {1, 6, 1, 5}, {.tolerance = 1e-5}),
                          sg::tucker(a, {24}, {30}, {.tolerance = 1e-5})}) {
        CHECK(distance(a, sg::written(x)) <= 1e-5);
        sg::matrix<T> const unit(30, 30, [](index_t i, index_t j) { return T(i == j ? 1 : 0); });
        sg::matrix<T> c(24, 30);
        sg::gemm(sg::host{2}, x, unit, c);
        CHECK(distance(a, c) <= 1.01e-5);
    }
}

TEST_CASE("a Tucker decomposition has the same digits at any scale of the matrix") {
    auto const a = of_two_products<double>();
    auto const x = sg::tucker(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-6});
    for (double const scale : {0x1p-600, 0x1p+600}) {
        auto const y = sg::tucker(sg::scaled(scale, a), {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-6});
        CHECK(y.report().error == x.report().error);
        CHECK(y.norm() == x.norm() * scale);
        auto const of_x = sg::written(x), of_y = sg::written(y);
        int differ = 0;
        for (index_t i = 0; i < 24; ++i)
            for (index_t j = 0; j < 30; ++j) differ += of_y(i, j) != scale * of_x(i, j);
        CHECK(differ == 0);
    }
}

TEST_CASE("Tucker decompositions of bad input are refused in one sentence") {
    auto const a = random_matrix<float>(6, 4, 1);
    auto const message = [&](std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                             sg::tucker_options const& o) {
        return std::string(sg::try_tucker(a, rows, cols, o).error().what());
    };
    CHECK(message({2, 3}, {4}, {}) ==
          "tucker: give as many parts of the rows as of the columns, from 1 to 16");
    CHECK(message({2, 2}, {2, 2}, {}) ==
          "tucker: the parts do not multiply to the sides of the matrix, 6 x 4");
    index_t const huge = index_t{1} << 62;
    CHECK(message({huge, huge}, {2, 2}, {}) ==
          "tucker: the parts do not multiply to the sides of the matrix, 6 x 4");
    for (double const bad : {1.0, -0.5, std::numeric_limits<double>::quiet_NaN()})
        CHECK(message({2, 3}, {2, 2}, {.tolerance = bad}) ==
              "tucker: `tolerance` is from 0 to 1, and less than 1");
    CHECK(message({2, 3}, {2, 2}, {.ranks = {5}}) == "tucker: rank 1 is 5, and mode 1 has 4 elements");
    CHECK(message({2, 3}, {2, 2}, {.ranks = {1, -1}}) == "tucker: rank 2 is -1, and mode 2 has 6 elements");
    CHECK(message({2, 3}, {2, 2}, {.ranks = {1, 1, 1}}) == "tucker: rank 3 is 1, and mode 3 has 0 elements");
    CHECK(contains(message({2, 3}, {2, 2}, {.tolerance = 1e-3, .ranks = {1, 1}}),
                   "with these ranks and this type the error is "));
    CHECK(contains(message({2, 3}, {2, 2}, {.tolerance = 1e-9}), "more than the tolerance of 1e-09"));
    for (float const bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        auto wrong = a;
        wrong(3, 3) = bad;
        CHECK(std::string(sg::try_tucker(wrong, {2, 3}, {2, 2}, {}).error().what()) ==
              "tucker: the matrix has Inf or NaN");
    }
    CHECK_THROWS_AS(sg::tucker(a, {6}, {4}, {.tolerance = 2}), sg::error);
    auto const none = sg::tucker(sg::matrix<float>(6, 4), {2, 3}, {2, 2}, {.tolerance = 1e-3});
    CHECK(none.report().count == 1);
    CHECK(none.report().error == 0);
    CHECK(none.norm() == 0);
    // The squares of these overflow, and their norm does in float.
    sg::matrix<float> const large(6, 4, [](index_t, index_t) { return 3e38f; });
    CHECK(contains(sg::try_tucker(large, {2, 3}, {2, 2}, {}).error().what(), "too large for its type"));
}
