// Hadamard transforms on a device, against the host: numbers are added in the same order, so the bits are the same.
#include "catch.hpp"
#include "conformance/device/matrix_there.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/hadamard.hpp>

#include <complex>
#include <limits>

using namespace trials;

namespace {

// Columns beside each other and apart, rows, in place, with a guard around C, in both orders.
template <class T>
int wrong_in_layouts(sg::index_t n, sg::index_t cols) {
    using R = sg::real_t<T>;
    under_test const device;
    sg::host const cpu{1};
    auto const x = uniform_matrix<T>(n, cols, 1);
    sg::matrix<T> const turned_x(cols, n, [&](sg::index_t i, sg::index_t j) { return x(j, i); });
    matrix_there<T> const across(device, x), along(device, turned_x);
    auto const columns = sg::transposed(along.view());
    int wrong = 0;
    for (auto const h : {sg::hadamard<R>(n), sg::sequency(sg::hadamard<R>(n))}) {
        sg::matrix<T> expected(n, cols);
        sg::gemm(cpu, h, x, expected);
        matrix_there<T> y(device, n, cols), z(device, cols, n), in_place(device, x),
            in_rows(device, turned_x);
        sg::gemm(device, h, across, y);
        wrong += differences(expected, y);
        sg::gemm(device, along, h, z);
        wrong += differences(expected, z, true);
        sg::gemm(device, h, columns, y);
        wrong += differences(expected, y);
        sg::gemm(device, h, across, sg::transposed(z.view()));
        wrong += differences(expected, z, true);
        sg::gemm(device, h, in_place, in_place), sg::gemm(device, in_rows, h, in_rows);
        wrong += differences(expected, in_place) + differences(expected, in_rows, true);

        // Every second row and third column, backwards.
        matrix_there<T> from(device, 2 * n + 1, 3 * cols + 2), to(device, 2 * n + 1, 3 * cols + 2);
        T const guard = T(R(77)), none = T(std::numeric_limits<R>::quiet_NaN());
        device.leaf().fill(from.view(), none).or_throw(), device.leaf().fill(to.view(), guard).or_throw();
        auto const part = [&](auto& m) {
            sg::index_t const row = m.cols();
            return sg::view<T, under_test::space>{m.data() + (2 * n - 1) * row + 1, n, cols, -2 * row, 3};
        };
        device.leaf().copy(sg::view<T const, under_test::space>(across.view()), part(from)).or_throw();
        sg::gemm(device, h, part(from), part(to));
        sg::matrix<T> all(to.rows(), to.cols());
        to.download(all);
        for (sg::index_t i = 0; i < all.rows(); ++i)
            for (sg::index_t j = 0; j < all.cols(); ++j) {
                sg::index_t const row = 2 * n - 1 - i;
                bool const there_is = row >= 0 && row % 2 == 0 && row / 2 < n && j >= 1 && (j - 1) % 3 == 0 &&
                                      (j - 1) / 3 < cols;
                wrong += !(all(i, j) == (there_is ? expected(row / 2, (j - 1) / 3) : guard));
            }
    }
    return wrong;
}

// An odd number of rows or columns that begin at a multiple of 16 bytes, or do not, among NaN; what is beside C stays.
template <class T>
int wrong_among_nan(sg::index_t n, sg::index_t count) {
    using R = sg::real_t<T>;
    under_test const device;
    auto const x = uniform_matrix<T>(n, count, 5);
    matrix_there<T> const there_x(device, x);
    sg::matrix<T> expected(n, count);
    T const guard = T(R(77)), none = T(std::numeric_limits<R>::quiet_NaN());
    int wrong = 0;
    sg::gemm(sg::host{1}, sg::hadamard<R>(n), x, expected);
    for (sg::index_t const first : {0, 4, 1})
        for (bool const across : {false, true}) {
            sg::index_t const rows = across ? n : count, cols = across ? count : n, pitch = cols + 4 + first;
            matrix_there<T> from(device, rows + 2, pitch), to(device, rows + 2, pitch);
            device.leaf().fill(from.view(), none).or_throw(), device.leaf().fill(to.view(), guard).or_throw();
            auto const part = [&](auto& m) {
                auto const block = m.view().block(1, first, rows, cols);
                return across ? block : sg::transposed(block);
            };
            device.leaf().copy(sg::view<T const, under_test::space>(there_x.view()), part(from)).or_throw();
            sg::gemm(device, sg::hadamard<R>(n), part(from), part(to));
            sg::matrix<T> all(to.rows(), to.cols());
            to.download(all);
            for (sg::index_t i = 0; i < all.rows(); ++i)
                for (sg::index_t j = 0; j < all.cols(); ++j) {
                    sg::index_t const r = i - 1, c = j - first;
                    bool const there_is = r >= 0 && r < rows && c >= 0 && c < cols;
                    wrong += !(all(i, j) == (!there_is ? guard : across ? expected(r, c) : expected(c, r)));
                }
        }
    return wrong;
}

// Factors that are powers of two, so that nothing is rounded that the host does not round.
template <class T>
int wrong_with_factors(sg::index_t n, sg::index_t cols) {
    using R = sg::real_t<T>;
    under_test const device;
    sg::host const cpu{1};
    auto const x = uniform_matrix<T>(n, cols, 2), e = support::integers<T>(n, cols, 3);
    sg::matrix<T> const turned_x(cols, n, [&](sg::index_t i, sg::index_t j) { return x(j, i); });
    matrix_there<T> const there_x(device, x), there_turned_x(device, turned_x), there_e(device, e);
    std::vector<T> steps;
    for (sg::index_t j = 0; j < cols; ++j) steps.push_back(T(static_cast<R>(j % 5)));
    matrix_there<T> const there_steps(device, sg::row_major(steps, 1, cols));
    int wrong = 0;
    auto const near = [&](sg::matrix<T> const& expected, matrix_there<T> const& y, bool turned) {
        sg::matrix<T> here(y.rows(), y.cols());
        y.download(here);
        for (sg::index_t i = 0; i < n; ++i)
            for (sg::index_t j = 0; j < cols; ++j) {
                T const v = turned ? here(j, i) : here(i, j);
                wrong += !(static_cast<double>(std::abs(v - expected(i, j))) <=
                           8 * sg::unit_roundoff<R>() * (16 + static_cast<double>(std::abs(expected(i, j)))));
            }
    };
    for (auto const h : {sg::hadamard<R>(n), sg::sequency(sg::hadamard<R>(n))}) {
        sg::matrix<T> expected(n, cols);
        matrix_there<T> y(device, n, cols), z(device, cols, n), own(device, e);
        sg::gemm(cpu, T(2), h, sg::conjugated(x), T(-1), sg::conjugated(e), expected);
        sg::gemm(device, T(2), h, sg::conjugated(there_x), T(-1), sg::conjugated(there_e), y);
        near(expected, y, false);
        sg::gemm(cpu, T(2), h, x, T(-1), e, expected);
        sg::gemm(device, T(2), h, there_x, T(-1), own);
        near(expected, own, false);
        auto const finish = [](auto const& v) { return sg::then(sg::scale(T(2)), sg::bias(v)); };
        sg::gemm(cpu, sg::scaled(R(0.5), h), x, expected, finish(steps));
        sg::gemm(device, sg::scaled(R(0.5), h), there_x, y, finish(there_steps));
        near(expected, y, false);
        sg::gemm(device, there_turned_x, sg::scaled(R(0.5), h), z,
                 sg::then(sg::scale(T(2)), sg::bias(there_steps, sg::along::rows)));
        near(expected, z, true);
        // alpha = 0 does not read x.
        sg::gemm(device, T(0), h, there_x, T(2), there_e, y);
        sg::gemm(cpu, T(0), h, x, T(2), e, expected);
        near(expected, y, false);
    }
    return wrong;
}

template <class T>
int wrong_in_batches(sg::index_t n) {
    using R = sg::real_t<T>;
    under_test const device;
    constexpr sg::index_t width = 3, count = 4;
    auto const x = uniform_matrix<T>(n, width * count, 4);
    matrix_there<T> const there_x(device, x);
    matrix_there<T> y(device, n, width * count);
    int wrong = 0;
    for (auto const h : {sg::hadamard<R>(n), sg::sequency(sg::hadamard<R>(n))}) {
        sg::matrix<T> expected(n, width * count), repeated(n, width * count);
        sg::gemm(sg::host{1}, h, x, expected);
        for (sg::index_t const some : {width, sg::index_t{1}}) {
            auto const batch = [&](auto const& v) {
                return sg::batched(v.block(0, 0, n, some), width * count / some, some);
            };
            device.leaf().fill(y.view(), T(R(5))).or_throw();
            sg::gemm(device, h, batch(there_x.view()), batch(y.view()));
            wrong += differences(expected, y);
            for (sg::index_t i = 0; i < n; ++i)
                for (sg::index_t j = 0; j < width * count; ++j) repeated(i, j) = expected(i, j % some);
            sg::gemm(device, h, there_x.view().block(0, 0, n, some), batch(y.view()));
            wrong += differences(repeated, y);
        }
    }
    return wrong;
}

} // namespace

TEMPLATE_TEST_CASE("hadamard on a device: the bits of the host", "", float, double, std::complex<float>,
                   std::complex<double>) {
    using T = TestType;
    for (sg::index_t const n : {1, 2, 8, 64, 256, 1024}) {
        INFO(n);
        CHECK(wrong_in_layouts<T>(n, n > 100 ? 5 : 37) == 0);
    }
    CHECK(wrong_in_layouts<T>(64, 1) == 0);
    for (sg::index_t const n : {2, 32, 128, 2048}) {
        INFO(n);
        CHECK(wrong_among_nan<T>(n, 33) == 0);
    }
    CHECK(wrong_with_factors<T>(1, 1) == 0);
    CHECK(wrong_with_factors<T>(32, 7) == 0);
    CHECK(wrong_in_batches<T>(16) == 0);
}

TEMPLATE_TEST_CASE("hadamard on a device: long ones", "", float, std::complex<double>) {
    using T = TestType;
    CHECK(wrong_among_nan<T>(4096, 17) == 0);
    CHECK(wrong_among_nan<T>(32768, 3) == 0);
    for (sg::index_t const n : {4096, 8192, 16384, 131072}) {
        INFO(n);
        CHECK(wrong_in_layouts<T>(n, n > 20000 ? 2 : 9) == 0);
        if (n < 10000 || n > 20000) continue;
        CHECK(wrong_with_factors<T>(n, 2) == 0);
        CHECK(wrong_in_batches<T>(n) == 0);
    }
}

TEMPLATE_TEST_CASE("hadamard on a device: elements of 16 bits", "", sg::half, sg::bfloat16) {
    using T = TestType;
    under_test const device;
    for (sg::index_t const n : {4, 128, 16384}) {
        INFO(n);
        sg::matrix<T> const x(
            n, 3, [](sg::index_t i, sg::index_t j) { return T(static_cast<float>((i * 5 + j) % 7 - 3)); });
        matrix_there<T> const there_x(device, x);
        sg::matrix<T> expected(n, 3);
        sg::matrix<float> sums(n, 3);
        matrix_there<T> y(device, n, 3);
        matrix_there<float> z(device, n, 3);
        auto const h = sg::scaled(0.0625f, sg::hadamard<float>(n));
        sg::gemm(sg::host{1}, h, x, expected), sg::gemm(sg::host{1}, h, x, sums);
        sg::gemm(device, h, there_x, y), sg::gemm(device, h, there_x, z);
        sg::matrix<T> here(n, 3);
        y.download(here);
        int wrong = differences(sums, z);
        for (sg::index_t i = 0; i < n; ++i)
            for (sg::index_t j = 0; j < 3; ++j)
                wrong += static_cast<float>(here(i, j)) != static_cast<float>(expected(i, j));
        CHECK(wrong == 0);
    }
}
