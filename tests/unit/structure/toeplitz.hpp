// What the tests of structured operands share: random data, matrices in memory of what an operand stands for, and the
// error of a product in long double against the bound of a plan.
#pragma once

#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <complex>
#include <vector>

namespace structured {

namespace sg = stratagemm;
using sg::index_t;

template <class T>
T random_number(support::random_source& from) {
    using R = sg::real_t<T>;
    auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
    if constexpr (sg::complex_like<T>) {
        R const re = part();
        return T(re, part());
    } else {
        return part();
    }
}
template <class T>
sg::matrix<T> random_matrix(index_t rows, index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    return sg::matrix<T>(
        rows, cols, [&](index_t, index_t) { return random_number<T>(from); }, order);
}
template <class T>
std::vector<T> random_vector(index_t size, unsigned seed) {
    support::random_source from(seed);
    std::vector<T> v(static_cast<std::size_t>(size));
    for (T& x : v) x = random_number<T>(from);
    return v;
}
template <class T>
T at(std::vector<T> const& v, index_t i) {
    return v.at(static_cast<std::size_t>(i));
}

template <class T>
using exact = std::conditional_t<sg::complex_like<T>, std::complex<long double>, long double>;
template <class T>
exact<T> exactly(T const& x) {
    if constexpr (sg::complex_like<T>)
        return {static_cast<long double>(x.real()), static_cast<long double>(x.imag())};
    else
        return static_cast<long double>(x);
}

// The largest error of c = alpha a b + beta e, over a bound that holds for each element, or for the norm.
template <class T>
double error_over_bound(sg::bound const& bound, T alpha, sg::matrix<T> const& a, sg::matrix<T> const& b,
                        T beta, sg::matrix<T> const& e, sg::matrix<T> const& c) {
    long double most_a = 0, most_b = 0, most_e = 0, worst = 0;
    auto const largest = [](sg::matrix<T> const& x) {
        long double most = 0;
        for (index_t i = 0; i < x.rows(); ++i)
            for (index_t j = 0; j < x.cols(); ++j) most = std::max(most, std::abs(exactly(x(i, j))));
        return most;
    };
    if (bound.normwise) most_a = largest(a), most_b = largest(b), most_e = largest(e);
    long double const most = std::abs(exactly(alpha)) * most_a * most_b * static_cast<long double>(a.cols());
    std::vector<exact<T>> row(static_cast<std::size_t>(a.cols()));
    for (index_t i = 0; i < c.rows(); ++i) {
        for (index_t l = 0; l < a.cols(); ++l)
            row[static_cast<std::size_t>(l)] = exactly(alpha) * exactly(a(i, l));
        for (index_t j = 0; j < c.cols(); ++j) {
            exact<T> sum = exactly(beta) * exactly(e(i, j));
            long double scale = bound.normwise ? std::abs(exactly(beta)) * most_e + most : std::abs(sum);
            for (index_t l = 0; l < a.cols(); ++l) {
                exact<T> const term = row[static_cast<std::size_t>(l)] * exactly(b(l, j));
                sum += term;
                if (!bound.normwise) scale += std::abs(term);
            }
            long double const error = std::abs(exactly(c(i, j)) - sum);
            if (!(error <= scale * static_cast<long double>(bound.worst))) return 1e30;
            if (scale > 0) worst = std::max(worst, error / (scale * static_cast<long double>(bound.worst)));
        }
    }
    return static_cast<double>(worst);
}

// C = alpha A B + beta E with the operand on either side of matrices of any layout, transposed, conjugated, in a batch
// and with an epilogue. `dense` is the matrix that the operand stands for. Returns the largest error over the bound.
template <class P, class A, class T>
double check_products(P const& policy, A const& a, sg::matrix<T> const& dense, index_t n, unsigned seed) {
    index_t const m = dense.rows(), k = dense.cols();
    REQUIRE(a.rows == m);
    REQUIRE(a.cols == k);
    using S = sg::accumulator_t<T>;
    T const alpha(sg::real_t<T>(1.5)), beta(sg::real_t<T>(-0.75));
    double worst = 0;
    auto const by_columns = seed % 2 ? sg::layout::col_major : sg::layout::row_major;
    auto const x = random_matrix<T>(k, n, seed, by_columns), e = random_matrix<T>(m, n, seed + 1);
    sg::matrix<T> shaped(m, n);
    auto const bound =
        sg::plan(policy, sg::product(S(alpha), a, x, S(beta), e, shaped).shape()).error_bound();
    auto const note = [&](double error) {
        REQUIRE(error <= 1);
        worst = std::max(worst, error);
    };
    { // from the left
        sg::matrix<T> c(m, n, by_columns);
        sg::gemm(policy, S(alpha), a, x, S(beta), e, c);
        note(error_over_bound(bound, alpha, dense, x, beta, e, c));
    }
    { // from the right, transposed
        sg::matrix<T> c(n, m), e_turned(n, m, [&](index_t i, index_t j) { return e(j, i); });
        sg::matrix<T> const turned(n, k, [&](index_t i, index_t j) { return x(j, i); });
        sg::gemm(policy, S(alpha), turned, sg::transposed(a), S(beta), e_turned, c);
        sg::matrix<T> const back(m, n, [&](index_t i, index_t j) { return c(j, i); });
        note(error_over_bound(bound, alpha, dense, x, beta, e, back));
    }
    { // conjugated, scaled, into C itself, with an epilogue that sees its place
        sg::matrix<T> c = e;
        auto const finish = [](T v, index_t i, index_t j) { return i + 2 * j > 3 ? v : T{}; };
        sg::gemm(policy, S(1), sg::scaled(alpha, sg::conjugated(a)), x, S(beta), c, finish);
        sg::matrix<T> const other(m, k, [&](index_t i, index_t j) { return sg::conjugate(dense(i, j)); });
        sg::matrix<T> plain(m, n);
        sg::gemm(policy, S(alpha), sg::conjugated(a), x, S(beta), e, plain);
        note(error_over_bound(bound, alpha, other, x, beta, e, plain));
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j)
                REQUIRE((i + 2 * j > 3 ? std::abs(c(i, j) - plain(i, j)) <= 1e-3 : c(i, j) == T{}));
    }
    { // a batch of strided matrices, beside guards
        index_t const count = 3, step = 2 * m * n + 5;
        std::vector<T> from = random_vector<T>(count * 2 * k * n, seed + 3),
                       to(static_cast<std::size_t>(count * step), T(7));
        auto const in = sg::strided<T const>(from.data(), k, n, 2, 2 * k);
        auto const out = sg::strided(to.data(), m, n, 2 * n, 2);
        sg::gemm(policy, a, sg::batched(in, count, 2 * k * n), sg::batched(out, count, step));
        for (index_t b = 0; b < count; ++b) {
            sg::matrix<T> const right(
                k, n, [&](index_t i, index_t j) { return at(from, b * 2 * k * n + 2 * i + 2 * k * j); });
            sg::matrix<T> const c(m, n,
                                  [&](index_t i, index_t j) { return at(to, b * step + 2 * n * i + 2 * j); });
            note(error_over_bound(bound, T(sg::real_t<T>(1)), dense, right, T{}, e, c));
        }
        for (index_t i = 0; i < count * step; ++i)
            if (index_t const in_one = i % step; in_one >= 2 * m * n || in_one % 2 == 1)
                REQUIRE(at(to, i) == T(7));
    }
    return worst;
}

} // namespace structured
