// The same bits on a device, for a policy with .invariant: elements of one product, computed alone, in a row, a column, a
// block, a batch and a group, from operands that lie otherwise.
#pragma once

#include "catch.hpp"
#include "unit/support.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <vector>

namespace invariance {

namespace sg = stratagemm;
using sg::index_t;
using support::random_source;

struct unchanged {
    template <class T>
    T operator()(T x) const {
        return x;
    }
    template <class To>
    void device(To& to) const {
        to("x");
    }
};

// A matrix by rows, and by columns within a larger one whose lines begin anywhere.
template <class T, class Policy>
class two_ways {
public:
    two_ways(Policy const& on, sg::matrix<T> const& from) : m_(from.rows()), n_(from.cols()) {
        memory_[0].emplace(on, m_, n_);
        memory_[1].emplace(on, m_ + 3, n_ + 2, sg::layout::col_major);
        for (int way : {0, 1}) on.leaf().copy_async(sg::as_view(from), view(way)).or_throw();
        on.leaf().synchronize().or_throw();
    }
    auto view(int way) { return memory_[static_cast<std::size_t>(way)]->block(way, way, m_, n_); }

private:
    std::array<std::optional<typename Policy::template matrix<T>>, 2> memory_;
    index_t m_, n_;
};

template <class S>
S factor(random_source& from) {
    int const kind = from.below(3);
    if constexpr (sg::complex_like<S>)
        return kind == 0 ? S(1)
                         : S(static_cast<sg::real_t<S>>(from.uniform(-2, 2)),
                             kind == 1 ? sg::real_t<S>(0) : static_cast<sg::real_t<S>>(from.uniform(-2, 2)));
    else
        return kind == 0 ? S(1) : static_cast<S>(from.uniform(-2, 2));
}

// How many elements were compared; fails where one differs. `parts` of the product are computed again, and so many
// elements `alone`.
template <class T, class R, class Policy>
long compare(Policy const& on, random_source& from, index_t m, index_t n, index_t k, int parts,
             int alone = 0) {
    using S = sg::accumulator_t<T>;
    auto const numbers = [&]<class X>(X, index_t rows, index_t cols) {
        return support::fractions<X>(rows, cols, from.next());
    };
    two_ways<T, Policy> a(on, numbers(T(), m, k)), b(on, numbers(T(), k, n));
    auto const added = numbers(R(), m, n);
    two_ways<R, Policy> e(on, added), c(on, added);
    S const alpha = factor<S>(from), beta = from.below(2) ? factor<S>(from) : S(0);
    sg::matrix<R> whole(m, n);
    sg::gemm(on, alpha, a.view(0), b.view(0), beta, e.view(0), c.view(0));
    on.leaf().copy_async(c.view(0), sg::as_view(whole)).or_throw();
    on.leaf().synchronize().or_throw();
    auto const side = [&](index_t all) { return 1 + from.below(static_cast<int>(all)); };
    long compared = 0;
    std::vector<std::array<index_t, 2>> places;
    for (int x = 0; x < alone; ++x) {
        index_t const i = from.below(static_cast<int>(m)), j = from.below(static_cast<int>(n));
        int const ways = from.below(8);
        sg::gemm(on, alpha, a.view(ways % 2).block(i, 0, 1, k), b.view(ways / 2 % 2).block(0, j, k, 1), beta,
                 e.view(ways / 4).block(i, j, 1, 1), c.view(1).block(i, j, 1, 1));
        places.push_back({i, j});
    }
    if (alone > 0) {
        sg::matrix<R> there(m, n);
        on.leaf().copy_async(c.view(1), sg::as_view(there)).or_throw();
        on.leaf().synchronize().or_throw();
        long differ = 0;
        for (auto const& [i, j] : places) differ += std::memcmp(&there(i, j), &whole(i, j), sizeof(R)) != 0;
        CAPTURE(sg::type_name<T>(), m, n, k, alpha == S(1), beta == S(0));
        REQUIRE(differ == 0);
        compared += alone;
    }
    for (int x = 0; x < parts; ++x) {
        int const kind = x % 7; // an element, a row, a column, a block, all, a batch, a group
        index_t const rows = kind == 0 || kind == 1   ? 1
                             : kind == 2 || kind == 4 ? m
                                                      : side(m),
                      cols = kind == 0 || kind == 2   ? 1
                             : kind == 1 || kind == 4 ? n
                                                      : side(n);
        index_t const i = from.below(static_cast<int>(m - rows + 1)),
                      j = from.below(static_cast<int>(n - cols + 1));
        int const ways = from.below(16);
        auto const ap = a.view(ways % 2).block(i, 0, rows, k);
        auto const bp = b.view(ways / 2 % 2).block(0, j, k, cols);
        auto const ep = e.view(ways / 4 % 2).block(i, j, rows, cols);
        auto const cp = c.view(ways / 8).block(i, j, rows, cols);
        CAPTURE(sg::type_name<T>(), m, n, k, kind, rows, cols, i, j, ways, alpha == S(1), beta == S(0));
        if (kind == 5) {
            sg::gemm(on, alpha, sg::batched(ap, cols, 0),
                     sg::batched(bp.block(0, 0, k, 1), cols, bp.col_stride), beta,
                     sg::batched(ep.block(0, 0, rows, 1), cols, ep.col_stride),
                     sg::batched(cp.block(0, 0, rows, 1), cols, cp.col_stride));
        } else if (kind == 6) { // halves of rows
            using one = decltype(sg::product(alpha, ap, bp, beta, ep, cp));
            std::vector<one> group;
            index_t const half = rows / 2;
            if (half > 0)
                group.push_back(sg::product(alpha, ap.block(0, 0, half, k), bp, beta,
                                            ep.block(0, 0, half, cols), cp.block(0, 0, half, cols)));
            group.push_back(sg::product(alpha, ap.block(half, 0, rows - half, k), bp, beta,
                                        ep.block(half, 0, rows - half, cols),
                                        cp.block(half, 0, rows - half, cols)));
            sg::gemm(on, group);
        } else if (from.below(4) == 0) {
            sg::gemm(on, alpha, ap, bp, beta, ep, cp, unchanged{});
        } else {
            sg::gemm(on, alpha, ap, bp, beta, ep, cp);
        }
        sg::matrix<R> part(rows, cols);
        on.leaf().copy_async(cp, sg::as_view(part)).or_throw();
        on.leaf().synchronize().or_throw();
        long differ = 0;
        for (index_t r = 0; r < rows; ++r)
            for (index_t s = 0; s < cols; ++s)
                differ += std::memcmp(&part(r, s), &whole(i + r, j + s), sizeof(R)) != 0;
        REQUIRE(differ == 0);
        compared += rows * cols;
    }
    return compared;
}

} // namespace invariance
