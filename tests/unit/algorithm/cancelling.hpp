// Sparse factors of a product that is known and has few elements.
#pragma once

#include "sparse.hpp"
#include "unit/algorithm/approximate.hpp"

#include <cstdint>

namespace planting {

namespace sg = stratagemm;
using sg::index_t;

// A product with few elements, of factors whose columns and rows have many: those of even numbers cancel those that
// follow them, but for `count` of the last, which have one element each.
template <class R>
struct cancelling {
    support::sparse_arrays<R> a, b;
    sg::matrix<R> c;

    cancelling(index_t m, index_t n, index_t pairs, index_t count, double density, std::uint64_t seed) {
        support::random_source from(seed);
        index_t const k = 2 * pairs + count;
        sg::matrix<R> left(m, k, [](index_t, index_t) { return R(0); }),
            right(k, n, [](index_t, index_t) { return R(0); });
        c = sg::matrix<R>(m, n, [](index_t, index_t) { return R(0); });
        auto const number = [&] { return from.unit() < density ? static_cast<R>(from.below(7) - 3) : R(0); };
        for (index_t l = 0; l < 2 * pairs; l += 2) {
            for (index_t i = 0; i < m; ++i) left(i, l) = left(i, l + 1) = number();
            for (index_t j = 0; j < n; ++j) right(l, j) = number(), right(l + 1, j) = -right(l, j);
        }
        for (index_t l = 2 * pairs; l < k; ++l) {
            index_t const i = from.below(static_cast<int>(m)), j = from.below(static_cast<int>(n));
            left(i, l) = right(l, j) = static_cast<R>(1 + from.below(3));
            c(i, j) += left(i, l) * right(l, j);
        }
        a = listed(left), b = listed(right);
    }
    index_t nonzeros() const {
        index_t count = 0;
        for (index_t i = 0; i < c.rows(); ++i)
            for (index_t j = 0; j < c.cols(); ++j) count += c(i, j) != R(0);
        return count;
    }
    double norms() const { return approximations::norm_of(a.dense()) * approximations::norm_of(b.dense()); }

private:
    static support::sparse_arrays<R> listed(sg::matrix<R> const& x) {
        support::sparse_arrays<R> to;
        to.rows = x.rows(), to.cols = x.cols();
        for (index_t i = 0; i < x.rows(); ++i) {
            for (index_t j = 0; j < x.cols(); ++j)
                if (x(i, j) != R(0))
                    to.columns.push_back(static_cast<std::int32_t>(j)), to.values.push_back(x(i, j));
            to.begins.push_back(static_cast<std::int32_t>(to.columns.size()));
        }
        return to;
    }
};

} // namespace planting
