// Decompositions of tensors on a device: products of trains, Tucker decompositions and sums of Kronecker products
// against the oracle.
#include "catch.hpp"
#include "policies.hpp"

#include "unit/structure/tensors.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/cp.hpp>
#include <stratagemm/structure/tucker.hpp>

using namespace trials;
using support::distance;
using support::random_matrix;

namespace {

template <class T>
using there = typename under_test::template matrix<T>;

// X B and its transposed, for the matrix A that X stands for, with a sum.
template <class T, class X>
void check_products(under_test const& device, X const& x, sg::matrix<T> const& a) {
    sg::index_t const m = a.rows(), k = a.cols(), n = 5;
    double const near = 1e3 * sg::unit_roundoff<T>();
    auto const b = random_matrix<T>(k, n, 7), e = random_matrix<T>(m, n, 9);
    there<T> const there_b(device, b), there_e(device, e);
    there<T> there_c(device, m, n), there_y(device, k, n);
    auto const on_device = sg::to_device(device, x);
    sg::matrix<T> c(m, n), y(k, n), expected(m, n), expected_y(k, n);
    using R = sg::real_t<T>;
    sg::gemm(sg::reference{}, T(R(2)), a, b, T(R(-1)), e, expected);
    sg::gemm(device, T(R(2)), on_device, there_b, T(R(-1)), there_e, there_c);
    there_c.download(c);
    CHECK(distance(expected, c) < near);
    sg::gemm(sg::reference{}, sg::transposed(a), e, expected_y);
    sg::gemm(device, sg::transposed(on_device), there_e, there_y);
    there_y.download(y);
    CHECK(distance(expected_y, y) < near);
}

} // namespace

TEMPLATE_TEST_CASE("decompositions of tensors on a device", "", float, std::complex<float>) {
    using T = TestType;
    under_test const device;
    auto const a = support::of_two_products<T>();
    check_products(device, sg::tensor_train(a, {2, 3, 4}, {3, 2, 5}, {}), a);
    check_products(device, sg::tensor_train(a, {24, 1}, {1, 30}, {}), a); // from its last core
    check_products(device, sg::tucker(a, {2, 3, 4}, {3, 2, 5}, {.tolerance = 1e-5}), a);
    auto const sum = sg::cp(a, {2, 3, 4}, {3, 2, 5}, {.rank = 2, .tolerance = 1e-5});
    check_products(device, sum, sg::written(sum));
    auto const vectors = sg::cp(a, {24, 1}, {1, 30}, {.rank = 4});
    check_products(device, vectors, sg::written(vectors));
}
