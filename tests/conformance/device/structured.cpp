// Structured operands on a device, of integers, against the oracle's product of the matrices that they stand for.
#include "catch.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/diagonal.hpp>
#include <stratagemm/structure/kronecker.hpp>
#include <stratagemm/structure/permutation.hpp>
#include <stratagemm/structure/toeplitz.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace trials;

namespace {

using sg::index_t;
template <class T>
using there = typename under_test::template matrix<T>;

// C = 2 A B - E with a scaled epilogue, from the left, and the plain product from the right, transposed: how many
// elements differ from those of `dense`.
template <class T, class A>
int wrong_products(under_test const& device, A const& a, sg::matrix<T> const& dense, index_t n) {
    using S = sg::accumulator_t<T>;
    index_t const m = dense.rows(), k = dense.cols();
    int wrong = 0;
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        sg::matrix<T> const x = support::integers<T>(k, n, 1, order);
        sg::matrix<S> const e = support::integers<S>(m, n, 2);
        sg::matrix<S> expected(m, n), c(m, n), plain(m, n), turned(n, m);
        there<T> there_x(device, k, n, order);
        there_x.upload(x);
        there<S> const there_e(device, e);
        there<S> there_c(device, m, n), there_turned(device, n, m);
        sg::gemm(sg::reference{}, S(2), dense, x, S(-1), e, expected, sg::scale(S(3)));
        sg::gemm(device, S(2), a, there_x, S(-1), there_e, there_c, sg::scale(S(3)));
        there_c.download(c);
        sg::gemm(sg::reference{}, dense, x, plain);
        sg::gemm(device, sg::transposed(there_x), sg::transposed(a), there_turned);
        there_turned.download(turned);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j)
                wrong += !(c(i, j) == expected(i, j)) + !(turned(j, i) == plain(i, j));
    }
    return wrong;
}

template <class T>
void toeplitz_on_device() {
    under_test const device;
    index_t const m = 37, k = 52;
    sg::matrix<T> const d = support::integers<T>(1, m + k - 1, 3), column = support::integers<T>(m, 1, 4),
                        row = support::integers<T>(1, k, 5);
    there<T> const there_d(device, d), there_column(device, column), there_row(device, row);
    sg::matrix<T> const by_diagonals(m, k, [&](index_t i, index_t j) { return d(0, m - 1 + j - i); }),
        hankel(m, k, [&](index_t i, index_t j) { return d(0, i + j); }),
        toeplitz(m, k, [&](index_t i, index_t j) { return i >= j ? column(i - j, 0) : row(0, j - i); }),
        circulant(m, m, [&](index_t i, index_t j) { return column((i - j + m) % m, 0); }),
        product(k + 8, 9, [&](index_t i, index_t j) { return i >= j && i - j < k ? row(0, i - j) : T{}; });
    for (index_t const n : {1, 20}) {
        INFO(n);
        CHECK(wrong_products(device, sg::toeplitz(there_d, m, k), by_diagonals, n) == 0);
        CHECK(wrong_products(device, sg::hankel(there_d, m, k), hankel, n) == 0);
        CHECK(wrong_products(device, sg::toeplitz(there_column, there_row), toeplitz, n) == 0);
        CHECK(wrong_products(device, sg::circulant(there_column), circulant, n) == 0);
        CHECK(wrong_products(device, sg::polynomial(there_row, 9), product, n) == 0);
    }
    // Blocks of 3 x 2, one after another by rows.
    index_t const p = 3, q = 2, bm = 4, bk = 5, size = p * q;
    sg::matrix<T> const numbers = support::integers<T>((bm + bk - 1) * p, q, 6);
    there<T> const there_numbers(device, numbers);
    auto const blocks = sg::batched(there_numbers.view().block(0, 0, p, q), bm + bk - 1, size);
    sg::matrix<T> const dense(bm * p, bk * q, [&](index_t i, index_t j) {
        return numbers((bm - 1 + j / q - i / p) * p + i % p, j % q);
    });
    CHECK(wrong_products(device, sg::block_toeplitz(blocks, bm, bk), dense, 7) == 0);

    // Two Toeplitz matrices.
    using S = sg::accumulator_t<T>;
    sg::matrix<S> expected(m, m), c(m, m);
    there<S> there_c(device, m, m);
    sg::gemm(sg::reference{}, by_diagonals, sg::transposed(by_diagonals), expected);
    auto const a = sg::toeplitz(there_d, m, k);
    sg::gemm(device, a, a.transposed(), there_c);
    there_c.download(c);
    int wrong = 0;
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < m; ++j) wrong += !(c(i, j) == expected(i, j));
    CHECK(wrong == 0);
}

// Rows that begin at multiples of 16 bytes, on either side of one another, as the hardware may fetch tiles from.
template <class T>
void aligned_blocks_on_device() {
    under_test const device;
    index_t const p = 16, bm = 8, bk = 9, all = bm + bk - 1;
    sg::matrix<T> const d = support::integers<T>(p, all * p, 1);
    there<T> const there_d(device, d);
    auto const blocks = sg::batched(there_d.view().block(0, 0, p, p), all, p);
    auto const a = sg::block_toeplitz(blocks, bm, bk);
    sg::matrix<T> const dense(
        bm * p, bk * p, [&](index_t i, index_t j) { return d(i % p, (bm - 1 + j / p - i / p) * p + j % p); });
    CHECK(wrong_products(device, a, dense, 128) == 0);
}

template <class T>
void others_on_device() {
    under_test const device;
    sg::matrix<T> const a = support::integers<T>(3, 4, 1), b = support::integers<T>(5, 2, 2),
                        d = support::integers<T>(1, 70, 3);
    there<T> const there_a(device, a), there_b(device, b), there_d(device, d);
    sg::matrix<T> const product(15, 8,
                                [&](index_t i, index_t j) { return a(i / 5, j / 2) * b(i % 5, j % 2); }),
        diagonal(70, 70, [&](index_t i, index_t j) { return i == j ? d(0, i) : T{}; }),
        spaced(35, 35, [&](index_t i, index_t j) { return i == j ? d(0, 2 * i) : T{}; });
    auto every_second = there_d.view();
    every_second.cols = 35, every_second.col_stride = 2;
    for (index_t const n : {1, 20}) {
        CHECK(wrong_products(device, sg::kronecker(there_a, there_b), product, n) == 0);
        CHECK(wrong_products(device, sg::diagonal(there_d), diagonal, n) == 0);
        CHECK(wrong_products(device, sg::diagonal(every_second), spaced, n) == 0);
    }
}

} // namespace

TEST_CASE("Toeplitz matrices times vectors on a device", "[structured]") {
    under_test const device;
    auto const check = [&](auto number, index_t m, index_t k) {
        using T = decltype(number);
        INFO(m << " x " << k);
        sg::matrix<T> const d = support::integers<T>(1, m + k - 1, 3), column = support::integers<T>(m, 1, 4),
                            row = support::integers<T>(1, k, 5);
        there<T> const there_d(device, d), there_column(device, column), there_row(device, row);
        sg::matrix<T> const toeplitz(m, k, [&](index_t i, index_t j) { return d(0, m - 1 + j - i); }),
            hankel(m, k, [&](index_t i, index_t j) { return d(0, i + j); }),
            by_runs(m, k, [&](index_t i, index_t j) { return i >= j ? column(i - j, 0) : row(0, j - i); }),
            product(m + k - 1, k,
                    [&](index_t i, index_t j) { return i >= j && i - j < m ? column(i - j, 0) : T{}; });
        auto const a = sg::toeplitz(there_d, m, k);
        there<T> const x(device, k, 1);
        there<T> c(device, m, 1);
        auto const plan = sg::plan(device, sg::product(a, x, c).shape());
        // The dense product reads few long rows as fast, on a device with many multiprocessors.
        bool const by_vectors = plan.describe().find("times vectors") != std::string::npos;
        CHECK((by_vectors || k > 16384));
        if (by_vectors) CHECK((plan.workspace().device > 0) == (k > 16384));
        for (index_t const n : {1, 2}) {
            CHECK(wrong_products(device, a, toeplitz, n) == 0);
            CHECK(wrong_products(device, sg::hankel(there_d, m, k), hankel, n) == 0);
            if (k > 16384) continue;
            CHECK(wrong_products(device, sg::toeplitz(there_column, there_row), by_runs, n) == 0);
            CHECK(wrong_products(device, sg::polynomial(there_column, k), product, n) == 0);
        }
    };
    for (index_t const k : {1, 63, 64, 65, 2051}) check(float(), 130, k);
    check(float(), 9, 40001);
    check(double(), 70, 1030);
}
TEST_CASE("Toeplitz matrices times vectors on a device: NaN stays in its row or diagonal", "[structured]") {
    using T = float;
    under_test const device;
    index_t const m = 100, k = 90;
    T const nan = std::numeric_limits<T>::quiet_NaN();
    sg::matrix<T> d = support::integers<T>(1, m + k - 1, 3), x = support::integers<T>(k, 1, 4), y(m, 1);
    d(0, 3) = nan, d(0, m + k - 2) = nan; // of the lowest rows, and of the corner at the top
    there<T> const there_d(device, d), there_x(device, x);
    there<T> there_y(device, m, 1);
    sg::gemm(device, sg::toeplitz(there_d, m, k), there_x, there_y);
    there_y.download(y);
    for (index_t i = 0; i < m; ++i) CHECK((y(i, 0) != y(i, 0)) == (i == 0 || i >= m - 4));
}
TEST_CASE("Toeplitz matrices on a device: float", "[structured]") { toeplitz_on_device<float>(); }
TEST_CASE("Toeplitz matrices on a device: complex", "[structured]") {
    toeplitz_on_device<std::complex<float>>();
}
TEST_CASE("Toeplitz blocks on a device: half", "[structured]") { aligned_blocks_on_device<sg::half>(); }
TEST_CASE("Toeplitz blocks on a device: float", "[structured]") { aligned_blocks_on_device<float>(); }
TEST_CASE("Kronecker products and diagonals on a device: float", "[structured]") {
    others_on_device<float>();
}

TEST_CASE("Toeplitz matrices on the host, products on a device", "[structured]") {
    under_test const device;
    index_t const m = 60, k = 45, n = 33;
    sg::matrix<float> const d = support::integers<float>(1, m + k - 1, 1),
                            x = support::integers<float>(k, n, 2);
    sg::matrix<float> const dense(m, k, [&](index_t i, index_t j) { return d(0, m - 1 + j - i); });
    sg::matrix<float> expected(m, n), c(m, n);
    sg::gemm(sg::reference{}, dense, x, expected);
    sg::gemm(device, sg::toeplitz(d, m, k), x, c);
    int wrong = 0;
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) wrong += c(i, j) != expected(i, j);
    CHECK(wrong == 0);
}

TEST_CASE("permutations on a device", "[structured]") {
    under_test const device;
    index_t const n = 70;
    std::vector<std::int32_t> p(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i)
        p[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((i * 11 + 3) % n);
    auto memory = sg::reserve_for(device, p.size() * sizeof(std::int32_t));
    memory.or_throw();
    auto const indices = (*memory)->take<std::int32_t>(n);
    device.leaf().upload(p.data(), indices, n).or_throw();
    auto const a = sg::permutation<float, under_test::space>(n, indices);
    sg::matrix<float> const dense(
        n, n, [&](index_t i, index_t j) { return p[static_cast<std::size_t>(i)] == j ? 1.0f : 0.0f; });
    sg::matrix<float> const turned(n, n, [&](index_t i, index_t j) { return dense(j, i); });
    CHECK(wrong_products(device, a, dense, 9) == 0);
    CHECK(wrong_products(device, a.transposed(), turned, 9) == 0);
}
