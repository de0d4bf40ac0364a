#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;
using support::product_of;

namespace {

constexpr sg::reference oracle{};
float infinity() { return std::numeric_limits<float>::infinity(); }

template <class T, class A>
T dot(std::initializer_list<A> x, std::initializer_list<A> y) {
    T c{};
    auto const k = static_cast<sg::index_t>(x.size());
    sg::gemm(oracle, sg::row_major(x.begin(), 1, k), sg::col_major(y.begin(), k, 1), sg::row_major(&c, 1, 1));
    return c;
}

} // namespace

TEST_CASE("the reference is exact on small integers") {
    for (sg::index_t n = 0; n < 12; ++n) {
        auto const a = integers<double>(n, n + 1, 1), b = integers<double>(n + 1, 3, 2);
        sg::matrix<double> c(n, 3);
        sg::gemm(oracle, a, b, c);
        CHECK(equal(c, product_of(a, b)));
    }
}

TEST_CASE("the reference sums in more digits than it returns") {
    // The small terms vanish in arithmetic of the result's own width.
    CHECK(dot<float>({1e8f, 1.0f, -1e8f}, {1.0f, 1.0f, 1.0f}) == 1.0f);
    CHECK(dot<double>({1e16, 1.0, -1e16}, {1.0, 1.0, 1.0}) == 1.0);
    CHECK(dot<double>({1e30, 1.0, -1e30}, {1.0, 1e-2, 1.0}) == 1e-2);
    CHECK(dot<double>({0x1.0000001p0, -1.0}, {0x1.0000001p0, 0x1.0000002p0}) ==
          0x1p-56); // the product's low half
    auto const third = dot<sg::half>({sg::half(1.0f), sg::half(1024.0f), sg::half(-1024.0f)},
                                     {sg::half(0.25f), sg::half(4.0f), sg::half(4.0f)});
    CHECK(static_cast<float>(third) == 0.25f);
    using complex = std::complex<double>;
    CHECK(dot<complex>({complex(1e16, 1), complex(1, 1), complex(-1e16, 0)},
                       {complex(1), complex(1), complex(1)}) == complex(1, 2));
}

TEST_CASE("the reference returns float products in double for those who measure others") {
    float const a[] = {0.1f, 0.2f}, b[] = {0.3f, 0.7f};
    double c = 0;
    sg::gemm(oracle, sg::row_major(a, 1, 2), sg::col_major(b, 2, 1), sg::row_major(&c, 1, 1));
    CHECK(c == double{0.1f} * double{0.3f} + double{0.2f} * double{0.7f});
}

TEST_CASE("int8 products are exact over their whole range") {
    std::int8_t a[300], b[300];
    std::int32_t c = 0;
    for (auto& x : a) x = -128;
    for (auto& x : b) x = -128;
    sg::gemm(oracle, sg::row_major(a, 1, 300), sg::col_major(b, 300, 1), sg::row_major(&c, 1, 1));
    CHECK(c == 300 * 128 * 128);
    for (auto& x : b) x = 127;
    sg::gemm(oracle, 3, sg::row_major(a, 1, 300), sg::col_major(b, 300, 1), -1, sg::row_major(&c, 1, 1));
    CHECK(c == -3 * 300 * 128 * 127 - 300 * 128 * 128);
}

TEST_CASE("Inf, NaN and the sign of zero behave as BLAS users expect") {
    float const nan = std::nanf("");
    CHECK(dot<float>({infinity(), 1.0f}, {1.0f, 2.0f}) == infinity());
    CHECK(dot<float>({infinity(), 1.0f}, {-1.0f, 2.0f}) == -infinity());
    CHECK(std::isnan(dot<float>({infinity(), 1.0f}, {0.0f, 2.0f})));
    CHECK(std::isnan(dot<float>({infinity(), infinity()}, {1.0f, -1.0f})));
    CHECK(std::isnan(dot<float>({1.0f, nan}, {1.0f, 0.0f})));
    CHECK(dot<double>({HUGE_VAL, 1.0}, {1.0, 2.0}) == HUGE_VAL);
    CHECK(dot<double>({1e300, 1.0}, {1e300, 2.0}) == HUGE_VAL);
    CHECK(std::isnan(dot<double>({HUGE_VAL, HUGE_VAL}, {1.0, -1.0})));
    CHECK(dot<float>({1e30f, 1.0f}, {1e30f, 1.0f}) == infinity()); // fits a double, not a float
    CHECK(dot<float>({1.0f, -1.0f}, {1.0f, 1.0f}) == 0.0f);
}

TEST_CASE("beta of zero does not read C, alpha of zero reads neither factor, k of zero leaves beta C") {
    float const nan = std::nanf("");
    float a[4] = {1, 2, 3, 4}, bad[4] = {nan, nan, nan, nan}, c[4] = {nan, nan, nan, nan};
    auto const A = sg::row_major(a, 2, 2), N = sg::row_major(bad, 2, 2), C = sg::row_major(c, 2, 2);
    sg::gemm(oracle, A, A, C);
    CHECK(c[3] == 22);
    sg::gemm(oracle, 1.0f, A, A, 0.0f, N, C);
    CHECK(c[0] == 7);
    sg::gemm(oracle, 0.0f, N, N, 2.0f, C);
    CHECK(c[3] == 44);
    sg::gemm(oracle, 1.0f, sg::row_major(bad, 2, 0), sg::row_major(bad, 0, 2), 0.5f, C);
    CHECK(c[3] == 22);
    sg::gemm(oracle, 0.0f, N, N, 0.0f, C);
    for (float const x : c) CHECK(x == 0.0f);
    // The epilogue is applied in these cases, too.
    sg::gemm(oracle, 0.0f, N, N, 0.0f, C,
             [](float x, sg::index_t i, sg::index_t j) { return x + static_cast<float>(10 * i + j); });
    CHECK(c[3] == 11.0f);
}

TEST_CASE("conjugated factors") {
    using complex = std::complex<float>;
    complex const a{1, 2}, b{3, -4};
    complex c{};
    auto const A = sg::row_major(&a, 1, 1), B = sg::row_major(&b, 1, 1);
    auto const C = sg::row_major(&c, 1, 1);
    sg::gemm(oracle, sg::conjugated(A), B, C);
    CHECK(c == std::conj(a) * b);
    sg::gemm(oracle, A, sg::conjugated(B), C);
    CHECK(c == a * std::conj(b));
    sg::gemm(oracle, complex(0, 1), A, B, complex(2, 0), sg::conjugated(B), C);
    CHECK(c == complex(0, 1) * a * b + 2.0f * std::conj(b));
}

TEST_CASE("the reference needs nothing and says what it is") {
    sg::shape<double> const s{100, 100, 100};
    CHECK(oracle.workspace(s) == sg::footprint{});
    CHECK(contains(oracle.describe(s), "reference"));
    CHECK(contains(oracle.describe(s), "double"));
    CHECK(oracle.error_bound(s).worst < 4 * 0x1p-53);
    CHECK(oracle.error_bound(sg::shape<std::int8_t>{9, 9, 9}).worst == 0);
    CHECK(oracle.error_bound(sg::shape<sg::half, sg::half, sg::half>{9, 9, 9}).worst > 0x1p-11);
}
