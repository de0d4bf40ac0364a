// One product with a transform, on a device and on the host, for matrices that lie in any way.
#pragma once

#include "catch.hpp"
#include "policies.hpp"
#include "random.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <algorithm>
#include <complex>
#include <limits>
#include <vector>

namespace transforms {

using namespace trials;
using sg::index_t;

template <class T>
using there = under_test::matrix<T>;
using device_space = under_test::space;

template <class T>
T not_read() {
    return T(std::numeric_limits<float>::quiet_NaN());
}
template <class T>
T guard() {
    return T(77);
}

// Where the matrices of a batch lie in an array.
struct layout {
    index_t rows, cols, count, row = 0, col = 0, step = 0, first = 0, size = 0;

    enum kind { gaps, columns, aligned_columns, rows_alone, backwards, kinds };
    layout(int how, index_t rows_, index_t cols_, index_t count_) : rows(rows_), cols(cols_), count(count_) {
        switch (how) {
        case gaps: row = 3 * cols + 2, col = 3, first = 5; break;
        case columns: row = 1, col = rows + 1, first = 1; break;
        case aligned_columns: row = 1, col = rows + rows % 2, first = 0; break;
        case rows_alone: row = cols, col = 1; break;
        default: row = -1, col = -(rows + 2), first = (rows - 1) + (cols - 1) * (rows + 2); break;
        }
        index_t const each = 1 + (rows - 1) * std::abs(row) + (cols - 1) * std::abs(col);
        step = each + each % 2 + 2, size = first + count * step + 4;
    }
    index_t at(index_t i, index_t j, index_t b) const { return first + i * row + j * col + b * step; }
    template <class T>
    auto here(std::vector<T>& x) const {
        return sg::batched(sg::strided<T>(x.data() + first, rows, cols, row, col), count, step);
    }
    template <class T>
    auto on(there<T>& x) const {
        return sg::batched(sg::view<T, device_space>{x.data() + first, rows, cols, row, col}, count, step);
    }
};

template <class T>
std::vector<T> random_elements(layout const& by, unsigned seed) {
    support::random_source from(seed);
    auto const part = [&] { return static_cast<sg::real_t<T>>(from.uniform(-1, 1)); };
    std::vector<T> all(static_cast<std::size_t>(by.size), not_read<T>());
    for (index_t b = 0; b < by.count; ++b)
        for (index_t j = 0; j < by.cols; ++j)
            for (index_t i = 0; i < by.rows; ++i) {
                T& x = all[static_cast<std::size_t>(by.at(i, j, b))];
                if constexpr (sg::complex_like<T>) {
                    auto const re = part();
                    x = T(re, part());
                } else {
                    x = part();
                }
            }
    return all;
}
template <class T>
there<T> upload(under_test const& device, std::vector<T> const& x) {
    return there<T>(device, sg::row_major(x, 1, static_cast<index_t>(x.size())));
}
template <class T>
std::vector<T> download(there<T> const& x) {
    std::vector<T> all(static_cast<std::size_t>(x.cols()));
    x.download(sg::row_major(all, 1, x.cols()));
    return all;
}

// One product, here and there.
template <class D, class X, class C>
struct transform_trial {
    using R = typename D::real_type;
    using result_type = C;
    using S = std::conditional_t<sg::complex_like<C>, X, C>; // of alpha and beta
    D d;
    int x_lies = layout::rows_alone, c_lies = layout::rows_alone;
    index_t width = 3, count = 1;
    bool right = false, ends = false, conjugates = false, defines = false;
    S alpha{1}, beta{0};

    // The largest error over k max|X|; guards that were overwritten make it infinite.
    double error(std::vector<C>* result = nullptr) const {
        under_test const device;
        layout const of_x(x_lies, d.cols, width, count), of_c(c_lies, d.rows, width, count);
        auto x = random_elements<X>(of_x, 1);
        auto e = random_elements<C>(of_c, 2);
        std::vector<C> c(e.size(), guard<C>());
        for (index_t b = 0; b < count; ++b)
            for (index_t j = 0; j < width; ++j)
                for (index_t i = 0; i < d.rows; ++i)
                    c[static_cast<std::size_t>(of_c.at(i, j, b))] = not_read<C>();
        auto x_there = upload(device, x);
        auto e_there = upload(device, e), c_there = upload(device, c);
        if (defines)
            run(sg::reference{}, of_x.here(x), of_c.here(e), of_c.here(c));
        else
            run(sg::host{1}, of_x.here(x), of_c.here(e), of_c.here(c));
        run(device, of_x.on(x_there), of_c.on(e_there), of_c.on(c_there));
        auto const found = download(c_there);
        std::vector<bool> written(c.size());
        double most = 0;
        for (index_t b = 0; b < count; ++b)
            for (index_t j = 0; j < width; ++j)
                for (index_t i = 0; i < d.rows; ++i) {
                    auto const at = static_cast<std::size_t>(of_c.at(i, j, b));
                    double const one = static_cast<double>(std::abs(found[at] - c[at]));
                    most = one <= most ? most : one; // NaN is kept
                    written[at] = true;
                    if (result) result->push_back(found[at]);
                }
        for (std::size_t at = 0; at < c.size(); ++at)
            if (!written[at] && !(found[at] == guard<C>())) return std::numeric_limits<double>::infinity();
        double const size = static_cast<double>(std::abs(alpha)) * static_cast<double>(d.cols) +
                            static_cast<double>(std::abs(beta));
        return most / (size * (sg::complex_like<X> ? 1.4142 : 1));
    }
    sg::bound bound() const { return sg::plan(under_test(), shape()).error_bound(); }
    auto shape() const {
        sg::shape<typename D::form, X, C> s{d.rows, width, d.cols};
        s.count = count, s.adds = beta != S(0);
        s.a_facts = d.facts();
        return s;
    }
    double peak() const {
        if constexpr (requires { d.peak(); })
            return d.peak();
        else
            return static_cast<double>(std::abs(d.scale));
    }

private:
    template <class P, class V, class E, class W>
    void run(P const& policy, V const& x, E const& e, W const& c) const {
        auto y = x;
        y.first.conjugate = conjugates;
        C factor(R(0.5));
        if constexpr (sg::complex_like<C>) factor = C(R(0.5), R(1));
        auto const epilogue = sg::then(sg::scale(factor), sg::scale(C(R(2))));
        auto const go = [&](auto const& a, auto const& b, auto const& added, auto const& to) {
            if (ends)
                sg::gemm(policy, alpha, a, b, beta, added, to, epilogue);
            else
                sg::gemm(policy, alpha, a, b, S(0), to);
        };
        auto const turned = [](auto v) {
            v.first = v.first.transposed();
            return v;
        };
        if (right)
            go(turned(y), d.transposed(), turned(e), turned(c));
        else
            go(d, y, e, c);
    }
};

// Calls f with trials of every layout, batch and ending.
template <class Trial, class F>
void every_option(Trial const& first, F const& f, int step = 1) {
    using X = std::conditional_t<std::is_same_v<typename Trial::S, typename Trial::R>, typename Trial::R,
                                 std::complex<typename Trial::R>>;
    using R = typename Trial::R;
    for (int way = 0; way < 10; way += step) {
        INFO(way);
        Trial t = first;
        t.x_lies = way % layout::kinds, t.c_lies = (way * 3 + way / 5) % layout::kinds;
        t.width = way == 4 ? 1 : 3, t.count = 1 + way % 3;
        t.right = way % 2 == 1, t.ends = way % 4 == 2;
        if (t.ends) t.alpha = X(R(1.5)), t.beta = X(R(-0.75));
        if constexpr (sg::complex_like<X>) {
            t.conjugates = way % 3 == 1;
            if (way == 2) t.alpha = X(R(1.5), R(-0.5)), t.beta = X(R(0.25), R(2));
            if (way == 4) t.alpha = X(R(0), R(1));
        }
        f(t, way);
        double const limit = t.bound().worst * t.peak() * (t.ends ? 3 : 1);
        REQUIRE(t.error() <= 2 * limit);
    }
}
// The same bits in every layout.
template <class Trial>
void check_bits(Trial t) {
    using C = typename Trial::result_type;
    std::vector<C> expected, found;
    t.width = 37;
    t.error(&expected);
    for (int lies = 0; lies < layout::kinds; ++lies) {
        INFO(lies);
        t.x_lies = lies, t.c_lies = (lies + 1) % layout::kinds, t.right = lies % 2 == 1;
        found.clear();
        t.error(&found);
        REQUIRE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
    }
}

} // namespace transforms
