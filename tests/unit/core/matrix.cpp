#include "catch.hpp"

#include <stratagemm/core/matrix.hpp>

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
