#include "catch.hpp"
#include "unit/structure/tensors.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/tensor_train.hpp>

#include <complex>
#include <limits>
#include <string>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::distance;
using support::of_two_products;
using support::random_matrix;

namespace {

template <class T, class Train>
sg::matrix<T> written_out(Train const& x) {
    sg::matrix<T> const unit(x.cols(), x.cols(), [](index_t i, index_t j) { return T(i == j ? 1 : 0); });
    sg::matrix<T> a(x.rows(), x.cols());
    sg::gemm(sg::reference{}, x, unit, a);
    return a;
}

} // namespace

TEMPLATE_TEST_CASE("a tensor train has the ranks that a matrix takes, and multiplies like it", "", float,
                   double, std::complex<float>, std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    auto const a = of_two_products<T>();
    auto const train = sg::tensor_train(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-4});
    auto const& sides = train.view().sides;
    CHECK(sides.rank[1] == 2);
    CHECK(sides.rank[2] == 2);
    CHECK(train.report().count == 2);
    double const near = 1e3 * sg::unit_roundoff<R>();
    CHECK(distance(a, written_out<T>(train)) < near);
    CHECK(distance(a, sg::written(train)) < near);
    auto const of_scaled = sg::tensor_train(sg::scaled(R(-3), a), {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-4});
    CHECK(distance(a, sg::written(sg::scaled(R(-1) / R(3), of_scaled))) < near);
    CHECK(train.report().bound.worst < 1e-4);

    index_t const n = 7;
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        auto const b = random_matrix<T>(30, n, 7, order), left = random_matrix<T>(n, 24, 8, order);
        auto const e = random_matrix<T>(24, n, 9);
        sg::matrix<T> c(24, n, order), expected(24, n), d(n, 30, order), expected_d(n, 30);
        sg::gemm(sg::reference{}, a, b, expected);
        sg::gemm(sg::host{1}, train, b, c);
        CHECK(distance(expected, c) < near);
        sg::gemm(sg::reference{}, left, a, expected_d);
        sg::gemm(sg::host{1}, left, train, d);
        CHECK(distance(expected_d, d) < near);
        auto const halved = [](T x, index_t i, index_t j) { return i > j ? x : x * R(0.5); };
        sg::gemm(sg::reference{}, T(R(2)), sg::conjugated(a), b, T(R(-1)), e, expected, halved);
        sg::gemm(sg::host{1}, T(R(2)), sg::conjugated(train), b, T(R(-1)), e, c, halved);
        CHECK(distance(expected, c) < near);
        sg::gemm(sg::strassen{sg::host{1}}, sg::scaled(R(3), train), b, c);
        sg::gemm(sg::reference{}, sg::scaled(R(3), a), b, expected);
        CHECK(distance(expected, c) < near);
        sg::matrix<T> turned(30, n), expected_turned(30, n);
        sg::gemm(sg::reference{}, sg::transposed(a), e, expected_turned);
        sg::gemm(sg::host{1}, sg::transposed(train), e, turned);
        CHECK(distance(expected_turned, turned) < near);
    }
    // A batch, and a plan whose memory suffices.
    auto const b = random_matrix<T>(60, n, 10);
    sg::matrix<T> c(48, n), expected(48, n);
    auto const of = [](auto& x, index_t rows) { return sg::batched(x.block(0, 0, rows, n), 2, rows * n); };
    sg::gemm(sg::reference{}, a, of(b, 30), of(expected, 24));
    sg::plan const plan(sg::host{1}, sg::product(train, of(b, 30), of(c, 24)).shape());
    auto memory = plan.reserve();
    plan.run(train, of(b, 30), of(c, 24), memory);
    CHECK(distance(expected, c) < near);
    CHECK(contains(plan.describe(), "tensor train of 3 cores, ranks 2 2, "));
}

TEMPLATE_TEST_CASE("a tensor train keeps its tolerance with ranks as small as that allows", "", float,
                   std::complex<double>) {
    using T = TestType;
    auto a = of_two_products<T>(1e-2);
    auto const noise = random_matrix<T>(24, 30, 11);
    for (index_t i = 0; i < 24; ++i)
        for (index_t j = 0; j < 30; ++j) a(i, j) += static_cast<sg::real_t<T>>(1e-4) * noise(i, j);
    index_t before = 0;
    for (double const tolerance : {0.2, 1e-3, 1e-6, 0.0}) {
        auto const train = sg::tensor_train(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = tolerance});
        double const off = distance(a, written_out<T>(train));
        CHECK(off <= (tolerance > 0 ? tolerance : 1e-5));
        CHECK(off <= train.report().bound.worst);
        CHECK(train.view().sides.rank[1] >= before);
        before = train.view().sides.rank[1];
        if (tolerance == 0.2) CHECK(before == 1);
        if (tolerance == 1e-3) CHECK(before == 2);
    }
    auto const one = sg::tensor_train(a, {2, 3, 4}, {3, 2, 5}, {.rank = 1});
    CHECK(one.report().count == 1);
    CHECK(distance(a, written_out<T>(one)) <= one.report().bound.worst);
    // One core is the matrix; so many that each has one part of 1 beside it.
    auto const whole = sg::tensor_train(a, {24}, {30}, {});
    CHECK(distance(a, written_out<T>(whole)) == 0);
    auto const fine = sg::tensor_train(a, {2, 1, 3, 4}, {1, 6, 1, 5}, {.tolerance = 1e-5});
    CHECK(distance(a, written_out<T>(fine)) <= 1e-5);
}

TEMPLATE_TEST_CASE("tensor trains are added and rounded", "", double, std::complex<float>) {
    using T = TestType;
    using R = sg::real_t<T>;
    auto const a = of_two_products<T>(), b = of_two_products<T>(0);
    auto const x = sg::tensor_train(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-4}),
               y = sg::tensor_train(b, {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-4});
    auto const sum = sg::added(x, sg::scaled(R(-1), y));
    CHECK(sum.view().sides.rank[1] == 3);
    sg::matrix<T> const expected(24, 30, [&](index_t i, index_t j) { return a(i, j) - b(i, j); });
    CHECK(distance(expected, written_out<T>(sum)) < 1e3 * sg::unit_roundoff<R>());
    auto const near = sg::rounded(sum, {.tolerance = 1e-3});
    CHECK(near.view().sides.rank[1] == 1);
    CHECK(near.view().sides.rank[2] == 1);
    CHECK(distance(expected, written_out<T>(near)) <= near.report().bound.worst);
    auto const turned = sg::rounded(sg::transposed(sum), {.tolerance = 1e-3});
    CHECK(turned.rows() == 30);
    sg::matrix<T> const expected_turned(30, 24, [&](index_t i, index_t j) { return expected(j, i); });
    CHECK(distance(expected_turned, written_out<T>(turned)) < 1e-3);
    CHECK_THROWS_AS(sg::added(x, sg::tensor_train(a, {24}, {30}, {})), sg::error);
}

TEST_CASE("tensor trains of bad input are refused in one sentence") {
    auto const a = random_matrix<float>(6, 4, 1);
    auto const message = [&](std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                             sg::tensor_train_options const& o) {
        return std::string(sg::try_tensor_train(a, rows, cols, o).error().what());
    };
    CHECK(message({2, 3}, {4}, {}) ==
          "tensor_train: give as many parts of the rows as of the columns, from 1 to 16");
    CHECK(message({2, 2}, {2, 2}, {}) ==
          "tensor_train: the parts do not multiply to the sides of the matrix, 6 x 4");
    CHECK(message({-2, -3}, {2, 2}, {}) ==
          "tensor_train: the parts do not multiply to the sides of the matrix, 6 x 4");
    CHECK(message({2, 3}, {2, 2}, {.tolerance = 1}) ==
          "tensor_train: `tolerance` is from 0 to 1, and less than 1");
    CHECK(message({2, 3}, {2, 2}, {.rank = -1}) == "tensor_train: `rank` must not be negative");
    auto bad = a;
    bad(3, 3) = std::numeric_limits<float>::quiet_NaN();
    CHECK(contains(sg::try_tensor_train(bad, {2, 3}, {2, 2}, {}).error().what(), "Inf or NaN"));
    sg::matrix<double> const tiny(6, 4,
                                  [](index_t i, index_t j) { return static_cast<double>(i + j) * 1e-200; });
    CHECK(std::abs(sg::written(sg::tensor_train(tiny, {2, 3}, {2, 2}, {}))(5, 3) / tiny(5, 3) - 1) < 1e-6);
    sg::matrix<float> const zero(6, 4);
    auto const none = sg::tensor_train(zero, {2, 3}, {2, 2}, {.tolerance = 1e-3});
    CHECK(none.report().count == 1);
    CHECK(none.view().core(0)(0, 0) == 0);
}

TEMPLATE_TEST_CASE("a train is multiplied from the end that takes less work", "", float,
                   std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    auto const a = random_matrix<T>(24, 30, 3);
    index_t const n = 5;
    auto const b = random_matrix<T>(30, n, 7), e = random_matrix<T>(24, n, 9);
    for (auto const& x :
         {sg::tensor_train(a, {2, 3, 4}, {3, 2, 5}, {}), sg::tensor_train(a, {24, 1, 1}, {1, 6, 5}, {}),
          sg::tensor_train(a, {1, 2, 12}, {15, 2, 1}, {}), sg::tensor_train(a, {1, 24}, {30, 1}, {})}) {
        double const near = 1e3 * sg::unit_roundoff<R>();
        for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
            sg::matrix<T> c(24, n, order), expected(24, n), y(30, n, order), expected_y(30, n);
            sg::gemm(sg::reference{}, T(R(2)), sg::conjugated(a), b, T(R(-1)), e, expected);
            sg::gemm(sg::host{1}, T(R(2)), sg::conjugated(x), b, T(R(-1)), e, c);
            CHECK(distance(expected, c) < near);
            sg::gemm(sg::reference{}, sg::transposed(a), e, expected_y);
            sg::gemm(sg::host{1}, sg::transposed(x), e, y);
            CHECK(distance(expected_y, y) < near);
        }
        sg::matrix<T> c(24, n), expected(24, n);
        sg::plan const plan(sg::host{1}, sg::product(x, b, c).shape());
        auto memory = plan.reserve();
        plan.run(x, b, c, memory);
        sg::gemm(sg::reference{}, a, b, expected);
        CHECK(distance(expected, c) < near);
    }
    // 24 x 5 x 6 as a tensor: the columns become ranks before the rows grow.
    auto const x = sg::tensor_train(of_two_products<T>(), {24, 1, 1}, {1, 6, 5}, {.rank = 2});
    sg::matrix<T> c(24, n);
    CHECK(contains(sg::plan(sg::host{1}, sg::product(x, b, c).shape()).describe(),
                   ": 6 of 2 x 5 x 5, 1 of 2 x 5 x 12, 1 of 24 x 5 x 2"));
}
