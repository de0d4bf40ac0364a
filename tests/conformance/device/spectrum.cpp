// Products with Toeplitz matrices by transforms on a device, against the matrices that they stand for and the bound.
#include "catch.hpp"
#include "policies.hpp"
#include "unit/structure/toeplitz.hpp"

#include <stratagemm/structure/toeplitz.hpp>

#include <cstring>
#include <limits>

using namespace structured;
using support::contains;
using trials::under_test;

namespace {

template <class T>
using there = typename under_test::template matrix<T>;

template <class T>
sg::bound bound_there(sg::matrix<T> const& dense, index_t n, index_t points_of_m, index_t points_of_n) {
    using form = sg::toeplitz_form<T, sg::toeplitz_way::by_transforms>;
    sg::shape<form, T, T> s{dense.rows(), n, dense.cols()};
    s.a_facts.block_rows = dense.rows() / points_of_m, s.a_facts.block_cols = dense.cols() / points_of_n;
    return sg::plan(under_test(), s).error_bound();
}

// C = alpha A B + beta E with an epilogue from the left, and with the matrix on the right, transposed and conjugated,
// in a batch: the largest error over the bound. Guards around C stay.
template <class T, class A, class Policy = under_test>
double error_there(A const& a, sg::matrix<T> const& dense, index_t n, unsigned seed) {
    Policy const device;
    index_t const m = dense.rows(), k = dense.cols();
    T const alpha(sg::real_t<T>(1.5)), beta(sg::real_t<T>(-0.75));
    auto const order = seed % 2 ? sg::layout::col_major : sg::layout::row_major;
    auto const x = random_matrix<T>(k, n, seed, order), e = random_matrix<T>(m, n, seed + 1);
    auto const bound = bound_there(dense, n, a.rows_of_blocks(), a.cols_of_blocks());
    double worst = 0;
    {
        there<T> there_x(device, k, n, order), there_e(device, e), there_c(device, m, n, order);
        there_x.upload(x);
        sg::matrix<T> c(m, n);
        sg::gemm(device, alpha, a, there_x, beta, there_e, there_c, sg::scale(T(2)));
        there_c.download(c);
        worst = error_over_bound(bound, T(2) * alpha, dense, x, T(2) * beta, e, c);
    }
    { // two matrices of a batch, with gaps
        index_t const row = n + 3, step = m * row + 5;
        T const guard(sg::real_t<T>(77));
        there<T> there_x(device, 1, 2 * k * n), there_c(device, 1, 2 * step);
        sg::matrix<T> both(1, 2 * k * n), c(1, 2 * step, [&](index_t, index_t) { return guard; });
        for (index_t b = 0; b < 2; ++b)
            for (index_t i = 0; i < k; ++i)
                for (index_t j = 0; j < n; ++j)
                    both(0, (b * n + j) * k + i) = b == 0 ? x(i, j) : sg::conjugate(x(i, j));
        there_x.upload(both), there_c.upload(c);
        using space = typename Policy::space;
        auto const xs = sg::batched(sg::view<T, space>{there_x.data(), n, k, k, 1}, 2, k * n);
        auto const cs = sg::batched(sg::view<T, space>{there_c.data(), n, m, 1, row}, 2, step);
        sg::gemm(device, xs, sg::conjugated(a.transposed()), cs);
        there_c.download(c);
        sg::matrix<T> const conjugated(m, k,
                                       [&](index_t i, index_t j) { return sg::conjugate(dense(i, j)); });
        for (index_t b = 0; b < 2; ++b) {
            sg::matrix<T> const from(k, n,
                                     [&](index_t i, index_t j) { return both(0, (b * n + j) * k + i); });
            sg::matrix<T> const found(m, n,
                                      [&](index_t i, index_t j) { return c(0, b * step + i * row + j); });
            worst = std::max(worst, error_over_bound(bound, T(1), conjugated, from, T{}, found, found));
        }
        int written = 0;
        for (index_t at = 0; at < 2 * step; ++at)
            if (at % step % row >= n || at % step >= m * row) written += !(c(0, at) == guard);
        REQUIRE(written == 0);
    }
    return worst;
}

template <class T>
sg::matrix<T> as_row(std::vector<T> const& v) {
    return sg::matrix<T>(1, static_cast<index_t>(v.size()), [&](index_t, index_t j) { return at(v, j); });
}

template <class T>
void matrices_by_transforms(index_t m, index_t k, index_t n) {
    INFO(m << " x " << k << ", " << n);
    under_test const device;
    auto const seed = static_cast<unsigned>(m + k);
    auto const d = random_vector<T>(m + k - 1, seed), column = random_vector<T>(m, seed + 1),
               row = random_vector<T>(k, seed + 2);
    there<T> const there_d(device, as_row(d)), there_column(device, as_row(column)),
        there_row(device, as_row(row));
    sg::matrix<T> const dense(m, k, [&](index_t i, index_t j) { return at(d, m - 1 + j - i); }),
        hankel(m, k, [&](index_t i, index_t j) { return at(d, i + j); }),
        both(m, k, [&](index_t i, index_t j) { return i >= j ? at(column, i - j) : at(row, j - i); });
    auto const a = sg::toeplitz(there_d, m, k).by_transforms();
    REQUIRE(error_there(a, dense, n, seed) <= 1);
    REQUIRE(error_there(sg::hankel(there_d, m, k).by_transforms(), hankel, n, seed) <= 1);
    REQUIRE(error_there(sg::toeplitz(there_column, there_row).by_transforms(), both, n, seed + 1) <= 1);

    // With a spectrum that was kept, the same bits.
    auto const kept = sg::keep_left(device, a);
    auto const kept_right = sg::keep(device, a.transposed());
    sg::matrix<T> const x = random_matrix<T>(k, n, 3),
                        x_turned(n, k, [&](index_t i, index_t j) { return x(j, i); });
    there<T> const there_x(device, x), there_turned(device, x_turned);
    there<T> there_c(device, m, n), there_kept(device, m, n), there_right(device, n, m);
    sg::gemm(device, a, there_x, there_c);
    sg::gemm(device, kept, there_x, there_kept);
    sg::gemm(device, there_turned, kept_right, there_right);
    sg::matrix<T> c(m, n), by_kept(m, n), by_right(n, m);
    there_c.download(c), there_kept.download(by_kept), there_right.download(by_right);
    int differ = 0;
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) differ += !(c(i, j) == by_kept(i, j)) + !(c(i, j) == by_right(j, i));
    CHECK(differ == 0);
}

template <class T>
void blocks_by_transforms(index_t p, index_t q, index_t m, index_t k, index_t n) {
    INFO(p << " x " << q << ", " << m << " x " << k);
    under_test const device;
    index_t const all = m + k - 1;
    auto const d = random_vector<T>(all * p * q, 5);
    there<T> const there_d(device, as_row(d));
    sg::matrix<T> const dense(m * p, k * q, [&](index_t i, index_t j) {
        return at(d, (m - 1 + j / q - i / p) * p * q + (i % p) * q + j % q);
    });
    sg::view<T const, typename under_test::space> const block{there_d.data(), p, q, q, 1};
    auto const blocks = sg::batched(block, all, p * q);
    REQUIRE(error_there(sg::block_toeplitz(blocks, m, k).by_transforms(), dense, n, 1) <= 1);
}

} // namespace

TEMPLATE_TEST_CASE("Toeplitz matrices by transforms on a device", "[structured]", float, double,
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    constexpr index_t sides[][3] = {{1, 1, 1}, {1, 9, 4}, {9, 1, 3}, {33, 20, 7}, {130, 200, 20}};
    for (auto const& s : sides) {
        if (sizeof(T) == 16 && s[0] == 33) continue;
        matrices_by_transforms<T>(s[0], s[1], s[2]);
    }
}
TEST_CASE("Toeplitz matrices by transforms through workspace on a device", "[structured]") {
    // More points than a launch has room for.
    index_t const m = 3, k = 40000;
    matrices_by_transforms<float>(m, k, 2);
    matrices_by_transforms<std::complex<double>>(m, 20000, 5);
    blocks_by_transforms<float>(2, 3, 5, 4, 6);
    blocks_by_transforms<std::complex<float>>(3, 1, 4, 7, 9);
    blocks_by_transforms<float>(1, 2, 2, 40000, 1);
}
TEST_CASE("Toeplitz matrices by transforms on a device: bits, texts and NaN", "[structured]") {
    using T = float;
    under_test const device;
    index_t const m = 100, k = 77, n = 9;
    auto const d = random_vector<T>(m + k - 1, 1);
    auto x = random_matrix<T>(k, n, 2);
    x(5, 3) = std::numeric_limits<T>::quiet_NaN();
    there<T> const there_d(device, as_row(d));
    auto const a = sg::toeplitz(there_d, m, k).by_transforms();
    sg::matrix<T> y(m, n), one(m, 1);
    there<T> const there_x(device, x);
    there<T> there_y(device, m, n), there_one(device, m, 1);
    sg::gemm(device, a, there_x, there_y);
    sg::gemm(device, a, there_x.view().block(0, 4, k, 1), there_one);
    there_y.download(y), there_one.download(one);
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) {
            REQUIRE((y(i, j) != y(i, j)) == (j == 3));
            if (j == 4) REQUIRE(std::memcmp(&y(i, j), &one(i, 0), sizeof(T)) == 0);
        }
    auto const plan = sg::plan(device, sg::product(a, there_x, there_y).shape());
    CHECK(contains(plan.describe(), "both and the product in one launch"));
    CHECK(plan.estimate() > 0);
    auto const kept = sg::keep_left(device, a);
    auto const other = sg::plan(device, sg::product(kept, there_x, there_y).shape());
    CHECK(contains(other.describe(), "its spectrum kept"));
    CHECK(other.workspace().device < plan.workspace().device);
}
