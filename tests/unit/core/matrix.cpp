#include "catch.hpp"

#include <stratagemm/core/matrix.hpp>

#include <complex>
#include <cstdint>
#include <limits>

namespace sg = stratagemm;

TEST_CASE("a matrix is zero, or what it was given") {
    sg::matrix<float> const zero(3, 4);
    CHECK(zero.rows() == 3);
    CHECK(zero.cols() == 4);
    for (int i = 0; i < 12; ++i) CHECK(zero.data()[i] == 0);
    sg::matrix<double> const m(2, 3,
                               [](sg::index_t i, sg::index_t j) { return static_cast<double>(10 * i + j); });
    CHECK(m(1, 2) == 12);
    CHECK(m.data()[5] == 12);
    sg::matrix<double> const c(
        2, 3, [](sg::index_t i, sg::index_t j) { return static_cast<double>(10 * i + j); },
        sg::layout::col_major);
    CHECK(c(1, 2) == 12);
    CHECK(c.data()[1] == 10);
}

TEST_CASE("a matrix may be written row by row") {
    sg::matrix<float> const a{{1, 2, 3}, {4, 5, 0.5}};
    CHECK(a.rows() == 2);
    CHECK(a.cols() == 3);
    CHECK(a(0, 2) == 3);
    CHECK(a(1, 2) == 0.5f);
    sg::matrix<double> const c({{1, 2}, {3, 4}, {5, 6}}, sg::layout::col_major);
    CHECK(c.rows() == 3);
    CHECK(c.data()[1] == 3);
    sg::matrix<sg::half> const h{{0.5, 2}};
    CHECK(h(0, 0) == 0.5f);
    sg::matrix<std::int8_t> const bytes{{-128}, {127}};
    CHECK(bytes.rows() == 2);
    CHECK(bytes(0, 0) == -128);
    sg::matrix<std::complex<float>> const z{{1, {0, 2}}};
    CHECK(z(0, 1) == std::complex<float>(0, 2));
    CHECK(sg::matrix<float>{2, 3}.cols() == 3); // sides, not elements
    CHECK(sg::matrix<float>{{}, {}}.rows() == 2);
    sg::matrix<float> b;
    b = {{1, 2}, {3, 4}};
    CHECK(b(1, 0) == 3);
    try {
        sg::matrix<float> const uneven{{1, 2}, {3}};
        FAIL("the rows are not of one length");
    } catch (sg::error const& e) {
        CHECK(e.code() == sg::errc::shape);
        CHECK(std::string(e.what()) == "matrix: all rows of a literal must have the same length");
    }
}

TEST_CASE("matrices are filled and compared") {
    sg::matrix<float> a(2, 3), b(2, 3, sg::layout::col_major);
    a.fill(2), b.fill(2);
    CHECK(a == b); // layouts may differ
    b(1, 2) = 3;
    CHECK(a != b);
    CHECK(a != sg::matrix<float>(3, 2, [](auto, auto) { return 2; }));
    CHECK(sg::matrix<float>() == sg::matrix<float>());
    a(0, 0) = std::numeric_limits<float>::quiet_NaN();
    auto const copy = a;
    CHECK(copy != a);
    sg::matrix<sg::half> h(1, 2);
    h.fill(0.5f);
    CHECK(h == sg::matrix<sg::half>{{0.5, 0.5}});
}

TEST_CASE("the view of a matrix shares its elements") {
    sg::matrix<float> m(3, 5);
    m.view()(1, 2) = 7;
    CHECK(m(1, 2) == 7);
    m.block(1, 2, 2, 2)(1, 1) = 8;
    CHECK(m(2, 3) == 8);
    static_assert(std::is_same_v<decltype(m.view()), sg::view<float>>);
    static_assert(std::is_same_v<decltype(std::as_const(m).view()), sg::view<float const>>);
    sg::matrix<float> c(3, 5, sg::layout::col_major);
    CHECK(c.view().row_stride == 1);
    CHECK(c.view().col_stride == 3);
}

TEST_CASE("matrices are aligned for vectors") {
    for (int n = 1; n < 20; ++n)
        CHECK(reinterpret_cast<std::uintptr_t>(sg::matrix<float>(n, n).data()) % 64 == 0);
}

TEST_CASE("matrices copy, move and assign") {
    sg::matrix<float> a(2, 2, [](sg::index_t i, sg::index_t j) { return static_cast<float>(i + 2 * j); });
    sg::matrix<float> b = a;
    b(0, 0) = 9;
    CHECK(a(0, 0) == 0);
    float const* const where = b.data();
    sg::matrix<float> c = std::move(b);
    CHECK(c.data() == where);
    CHECK(c(0, 0) == 9);
    a = c;
    CHECK(a(0, 0) == 9);
    a = sg::matrix<float>(1, 3);
    CHECK(a.cols() == 3);
    auto& self = a;
    a = self;
    CHECK(a.rows() == 1);
    sg::matrix<float> none;
    CHECK(none.rows() == 0);
    none = a;
    CHECK(none.cols() == 3);
    sg::matrix<float> const empty(0, 5), copy = empty;
    CHECK(copy.cols() == 5);
}

TEST_CASE("sizes that no matrix can have are refused") {
    constexpr auto huge = std::numeric_limits<sg::index_t>::max();
    auto code_of = [](sg::index_t m, sg::index_t n) {
        try {
            sg::matrix<double> const a(m, n);
        } catch (sg::error const& e) {
            CHECK(e.layer() == "matrix");
            return e.code();
        }
        return sg::errc::native;
    };
    CHECK(code_of(-1, 2) == sg::errc::overflow);
    CHECK(code_of(2, -1) == sg::errc::overflow);
    CHECK(code_of(huge, 2) == sg::errc::overflow);
    CHECK(code_of(huge / 4, 1) == sg::errc::overflow);
}
