// Sketches on a device: their elements have the bits of the host's, and products are those of the written-out matrix.
#include "catch.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sketch.hpp>

#include <complex>

using namespace trials;

namespace {

// With elements that no factor rounds.
template <class Sketch>
Sketch plain(Sketch s) {
    s.scale = decltype(s.scale)(1);
    return s;
}
template <class T, class Sketch>
sg::matrix<T> written(Sketch const& s) {
    return {s.rows, s.cols, [&](sg::index_t i, sg::index_t j) { return s.element(i, j); }};
}
template <class T>
sg::matrix<T> identity(sg::index_t n) {
    return {n, n, [](sg::index_t i, sg::index_t j) { return T(static_cast<sg::real_t<T>>(i == j)); }};
}

// How many elements of S I and of I S differ from those of the host.
template <class T, class Sketch, class By = under_test>
int wrong_elements(under_test const& device, Sketch const& s, By const& by = {}) {
    typename under_test::template matrix<T> const left(device, identity<T>(s.rows)),
        right(device, identity<T>(s.cols));
    typename under_test::template matrix<T> there(device, s.rows, s.cols);
    sg::matrix<T> const expected = written<T>(s);
    sg::matrix<T> c(s.rows, s.cols);
    int wrong = 0;
    auto const compare = [&] {
        there.download(c);
        for (sg::index_t i = 0; i < s.rows; ++i)
            for (sg::index_t j = 0; j < s.cols; ++j) wrong += !(c(i, j) == expected(i, j));
    };
    sg::gemm(by, s, right, there);
    compare();
    device.leaf().fill(there.view(), T(sg::real_t<T>(7))).or_throw();
    sg::gemm(by, left, s, there);
    compare();
    return wrong;
}
// The largest error of C = alpha S X + beta E and of C = alpha X S^T + beta E, over the bounds.
template <class T, class Sketch, class By = under_test>
double error_of_products(under_test const& device, Sketch const& s, sg::index_t n, By const& by = {}) {
    sg::matrix<T> const x = support::integers<T>(s.cols, n, 1), e = support::integers<T>(s.rows, n, 2);
    typename under_test::template matrix<T> const there_x(device, x), there_e(device, e);
    typename under_test::template matrix<T> there(device, s.rows, n), turned(device, n, s.rows);
    sg::matrix<T> exact(s.rows, n), c(s.rows, n), d(n, s.rows);
    T const alpha(2), beta(-1);
    sg::gemm(sg::reference{}, alpha, written<T>(s), x, beta, e, exact);
    auto const problem = sg::product(alpha, s, there_x, beta, there_e, there);
    auto const bound = sg::plan(device, problem.shape()).error_bound();
    sg::gemm(by, alpha, s, there_x, beta, there_e, there);
    there.download(c);
    sg::gemm(by, alpha, sg::transposed(there_x), sg::transposed(s), beta, sg::transposed(there_e), turned);
    turned.download(d);
    double most = 0;
    for (sg::index_t i = 0; i < s.rows; ++i)
        for (sg::index_t j = 0; j < n; ++j) {
            double terms = static_cast<double>(std::abs(e(i, j)));
            for (sg::index_t l = 0; l < s.cols; ++l)
                terms += static_cast<double>(2 * std::abs(s.element(i, l)) * std::abs(x(l, j)));
            // the oracle has rounded its own factors and C
            double const unit = (bound.worst + 8 * sg::unit_roundoff<T>()) * terms + 1e-300;
            most = std::max(most, static_cast<double>(std::abs(c(i, j) - exact(i, j))) / unit);
            most = std::max(most, static_cast<double>(std::abs(d(j, i) - exact(i, j))) / unit);
        }
    return most;
}

template <class T>
void sketches_on_device() {
    under_test const device;
    if (sizeof(sg::real_t<T>) == 8 && !device.leaf().limits().has_double) return;
    auto const all = plain(sg::gaussian<T>(75, 301, 0x123456789abcdef0));
    auto const some = plain(sg::sparse_sign<T>(75, 301, 5, 7));
    CHECK(wrong_elements<T>(device, all) == 0);
    CHECK(wrong_elements<T>(device, sg::transposed(all.block(3, 5, 6, 40))) == 0);
    CHECK(wrong_elements<T>(device, sg::conjugated(all.block(2, 0, 1, 33))) == 0);
    CHECK(wrong_elements<T>(device, some) == 0);
    CHECK(wrong_elements<T>(device, sg::transposed(some.block(13, 5, 40, 290))) == 0);
    CHECK(wrong_elements<T>(device, plain(sg::count_sketch<T>(9, 70, 3)).block(1, 1, 4, 66)) == 0);
    auto const s = sg::gaussian<T>(40, 130, 9);
    CHECK(error_of_products<T>(device, s, 37) <= 1);
    CHECK(error_of_products<T>(device, s.block(5, 1, 30, 100), 3) <= 1);
    auto const list = sg::keep_left(device, plain(sg::sparse_sign<T>(75, 301, 5, 7)));
    typename under_test::template matrix<T> const columns(device, identity<T>(301));
    typename under_test::template matrix<T> there(device, 75, 301);
    sg::matrix<T> c(75, 301);
    sg::gemm(device, list, columns, there);
    there.download(c);
    int wrong = 0;
    for (sg::index_t i = 0; i < 75; ++i)
        for (sg::index_t j = 0; j < 301; ++j) wrong += !(c(i, j) == some.element(i, j));
    CHECK(wrong == 0);
    for (sg::index_t const signs : {1, 8}) {
        auto const t = sg::sparse_sign<T>(40, 130, 9, signs);
        CHECK(error_of_products<T>(device, t, 37) <= 1);
        CHECK(error_of_products<T>(device, sg::transposed(t), 1) <= 1);
    }
}

// Signs in blocks of the sums, whatever the estimate says: more rows than a group has, blocks that no column fills, signs
// that no group has all of, and parts of a sketch.
template <class T>
void signs_in_blocks() {
    under_test const device;
    if (sizeof(sg::real_t<T>) == 8 && !device.leaf().limits().has_double) return;
    sg::sign_product<under_test> const by{device, true};
    auto const some = plain(sg::sparse_sign<T>(75, 301, 5, 7));
    under_test::matrix<T> const x(device, 301, 40);
    under_test::matrix<T> y(device, 75, 40);
    std::string const text = sg::plan(by, sg::product(some, x, y).shape()).describe();
    sg::device_limits const limits = device.leaf().limits();
    bool const has_room = sg::choose_sign_blocks({75, 7, 75, 301, 40}, sizeof(T), limits).depth > 0;
    CHECK((text.find("listed first for blocks of") != text.npos) == has_room);
    CHECK((has_room || limits.group_bytes < 128 << 10));
    CHECK(wrong_elements<T>(device, some, by) == 0);
    CHECK(wrong_elements<T>(device, some.block(13, 5, 40, 290), by) == 0);
    CHECK(wrong_elements<T>(device, sg::transposed(some.block(13, 5, 40, 290)), by) == 0);
    CHECK(wrong_elements<T>(device, plain(sg::count_sketch<T>(1100, 70, 3)).block(1, 1, 1090, 66), by) == 0);
    CHECK(wrong_elements<T>(device, plain(sg::sparse_sign<T>(700, 90, 3, 3)), by) == 0);
    // Kept for the device, and multiplied by this policy.
    auto const list = sg::keep_left(device, some.block(13, 5, 40, 290)), all = sg::keep_left(device, some);
    sg::listed_signs<T, under_test::space> const left = list.view(), right = all.view().transposed();
    under_test::matrix<T> const columns(device, identity<T>(290)), rows(device, identity<T>(301));
    under_test::matrix<T> there(device, 40, 290), turned(device, 301, 75);
    sg::gemm(by, left, columns, there);
    sg::gemm(by, rows, right, turned);
    sg::matrix<T> c(40, 290), d(301, 75);
    there.download(c), turned.download(d);
    int wrong = 0;
    for (sg::index_t i = 0; i < 75; ++i)
        for (sg::index_t j = 0; j < 301; ++j) {
            wrong += !(d(j, i) == some.element(i, j));
            if (i < 40 && j < 290) wrong += !(c(i, j) == some.element(13 + i, 5 + j));
        }
    CHECK(wrong == 0);
    for (sg::index_t const signs : {1, 8}) {
        auto const t = sg::sparse_sign<T>(40, 600, 9, signs);
        CHECK(error_of_products<T>(device, t, 37, by) <= 1);
        CHECK(error_of_products<T>(device, t, 130, by) <= 1);
    }
}

} // namespace

TEST_CASE("sketch on a device: signs in blocks") {
    signs_in_blocks<float>();
    signs_in_blocks<double>();
    signs_in_blocks<std::complex<float>>();
    signs_in_blocks<std::complex<double>>();
}
TEST_CASE("sketch on a device: float") { sketches_on_device<float>(); }
TEST_CASE("sketch on a device: double") { sketches_on_device<double>(); }
TEST_CASE("sketch on a device: complex64") { sketches_on_device<std::complex<float>>(); }
TEST_CASE("sketch on a device: complex128") { sketches_on_device<std::complex<double>>(); }
