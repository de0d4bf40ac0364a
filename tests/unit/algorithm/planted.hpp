// Factors of a product that is known and has few elements.
#pragma once

#include "unit/support.hpp"

#include <cstdint>
#include <vector>

namespace planting {

namespace sg = stratagemm;
using sg::index_t;

// A and B whose product has few elements that are not zero, although neither has many zeros: the columns of A are
// those of an orthogonal matrix Q, spread from a few sparse columns, and the rows of B those of Q^T.
template <class R>
struct planted {
    sg::matrix<R> a, b, c;

    planted(index_t m, index_t n, index_t k, int count, std::uint64_t seed,
            sg::layout order = sg::layout::row_major)
        : a(m, k, order), b(k, n, order), c(m, n) {
        support::random_source from(seed);
        for (index_t i = 0; i < m; ++i)
            for (index_t l = 0; l < k; ++l) a(i, l) = R(0);
        for (index_t l = 0; l < k; ++l)
            for (index_t j = 0; j < n; ++j) b(l, j) = R(0);
        for (int at = 0; at < count && at < k; ++at) {
            index_t const i = from.below(static_cast<int>(m)), j = from.below(static_cast<int>(n));
            a(i, at) = static_cast<R>(1 + from.unit()), b(at, j) = static_cast<R>(1 + from.unit());
        }
        std::vector<R> v(static_cast<std::size_t>(k));
        R squares{};
        for (auto& x : v) x = static_cast<R>(from.normal()), squares += x * x;
        reflect(a, v, squares);
        auto turned = sg::matrix<R>(n, k, [&](index_t j, index_t l) { return b(l, j); });
        c = expected_of(count, k, m, n, seed);
        reflect(turned, v, squares);
        for (index_t l = 0; l < k; ++l)
            for (index_t j = 0; j < n; ++j) b(l, j) = turned(j, l);
    }
    int nonzeros() const {
        int count = 0;
        for (index_t i = 0; i < c.rows(); ++i)
            for (index_t j = 0; j < c.cols(); ++j) count += c(i, j) != R(0);
        return count;
    }

private:
    // The product before both were multiplied by Householder's matrix.
    static sg::matrix<R> expected_of(int count, index_t k, index_t m, index_t n, std::uint64_t seed) {
        support::random_source from(seed);
        sg::matrix<R> c(m, n, [](index_t, index_t) { return R(0); });
        for (int at = 0; at < count && at < k; ++at) {
            index_t const i = from.below(static_cast<int>(m)), j = from.below(static_cast<int>(n));
            double const x = 1 + from.unit();
            c(i, j) += static_cast<R>(x * (1 + from.unit()));
        }
        return c;
    }
    static void reflect(sg::matrix<R>& x, std::vector<R> const& v, R squares) {
        for (index_t i = 0; i < x.rows(); ++i) {
            R sum{};
            for (index_t l = 0; l < x.cols(); ++l) sum += x(i, l) * v[static_cast<std::size_t>(l)];
            for (index_t l = 0; l < x.cols(); ++l)
                x(i, l) -= 2 * sum / squares * v[static_cast<std::size_t>(l)];
        }
    }
};

} // namespace planting
