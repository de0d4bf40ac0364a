// What tests of approximate policies share: bases whose products are said to take long, so that small products are
// approximated, data that are friendly and data that are not, and errors relative to |A||B|.
#pragma once

#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>
#include <stratagemm/core/layer.hpp>

#include <cmath>
#include <complex>
#include <string>
#include <type_traits>
#include <vector>

namespace approximations {

namespace sg = stratagemm;
using sg::index_t;

// Says that every multiply-add takes a microsecond; but a thousandth of it in products with the vectors of certificates
// and, where sides of C are given, in products with other sides.
template <class Base>
struct slow : sg::layer_over<Base> {
    static constexpr bool is_backend = requires { requires Base::is_backend; };
    index_t m, n;
    double seconds = 1e-6; // of a multiply-add
    explicit slow(Base base, index_t of_m = 0, index_t of_n = 0)
        : sg::layer_over<Base>(std::move(base)), m(of_m), n(of_n) {}
    using typename sg::layer_over<Base>::arena;
    template <class P>
    static constexpr sg::verdict accepts = sg::answer<Base, P>();
    template <class S>
    double estimate(S const& s) const {
        bool const is_other = s.n == 16 || (m > 0 && (s.m != m || s.n != n));
        return (is_other ? 1e-3 : 1) * seconds * sg::multiply_adds(s);
    }
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        return this->base_(p, memory);
    }
};
// Changes the products of floats of a depth.
struct harmful : slow<sg::host> {
    index_t depth;
    float by;
    harmful(sg::host base, index_t m, index_t n, index_t of_depth, float amount)
        : slow<sg::host>(base, m, n), depth(of_depth), by(amount) {}
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        sg::status s = slow<sg::host>::operator()(p, memory);
        if constexpr (std::is_same_v<typename P::c_type, float>)
            if (p.c.rows == m && p.c.cols == n && p.a.cols < depth) p.c(0, 0) += by;
        return s;
    }
};

enum class data { random, spread, huge_row, rank_one, orthogonal, positive };
inline constexpr data all_data[] = {data::random,   data::spread,     data::huge_row,
                                    data::rank_one, data::orthogonal, data::positive};
inline char const* name_of(data kind) {
    constexpr char const* names[] = {"random", "spread", "huge row", "rank one", "orthogonal", "positive"};
    return names[static_cast<int>(kind)];
}

template <class T>
std::complex<double> wide(T const& x) {
    if constexpr (sg::complex_like<T>)
        return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
    else
        return static_cast<double>(static_cast<sg::real_t<T>>(x));
}

template <class T>
struct operands {
    sg::matrix<T> a, b;

    operands(data kind, index_t m, index_t n, index_t k, std::uint64_t seed,
             sg::layout order = sg::layout::row_major) {
        support::random_source from(seed);
        auto const number = [&] { return kind == data::positive ? from.uniform(0, 1) : from.normal(); };
        auto const next = [&](double by) {
            double const re = by * number();
            return support::make<T>(re, sg::complex_like<T> ? by * number() : 0);
        };
        std::vector<double> scale(static_cast<std::size_t>(k), 1);
        for (double& x : scale)
            if (kind == data::spread) x = std::ldexp(1.0, from.below(41) - 20);
        auto const of = [&](index_t l) { return scale[static_cast<std::size_t>(l)]; };
        a = sg::matrix<T>(
            m, k, [&](index_t, index_t l) { return next(of(l)); }, order);
        b = sg::matrix<T>(
            k, n, [&](index_t l, index_t) { return next(kind == data::huge_row && l == k / 3 ? 1e6 : 1); },
            order);
        if (kind == data::rank_one) {
            for (index_t l = 0; l < k; ++l)
                for (index_t i = 0; i < m; ++i) a(i, l) = a(i, 0);
            for (index_t l = 0; l < k; ++l)
                for (index_t j = 0; j < n; ++j) b(l, j) = b(0, j);
        }
        if (kind == data::orthogonal) // the second half of the terms cancels the first
            for (index_t l = 0; l < k / 2; ++l) {
                for (index_t i = 0; i < m; ++i) a(i, k - 1 - l) = a(i, l);
                for (index_t j = 0; j < n; ++j)
                    b(k - 1 - l, j) = support::make<T>(-wide(b(l, j)).real(), -wide(b(l, j)).imag());
            }
    }
};

template <class M>
double norm_of(M const& x) {
    double all = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) all += std::norm(wide(x(i, j)));
    return std::sqrt(all);
}
template <class X, class Y>
double distance(X const& x, Y const& y) {
    double all = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) all += std::norm(wide(x(i, j)) - wide(y(i, j)));
    return std::sqrt(all);
}
// A B in double.
template <class T>
sg::matrix<std::complex<double>> exact_product(sg::matrix<T> const& a, sg::matrix<T> const& b) {
    return {a.rows(), b.cols(), [&](index_t i, index_t j) {
                std::complex<double> sum = 0;
                for (index_t l = 0; l < a.cols(); ++l) sum += wide(a(i, l)) * wide(b(l, j));
                return sum;
            }};
}
template <class T, class C>
double error_of(operands<T> const& x, C const& c) {
    return distance(exact_product(x.a, x.b), c) / (norm_of(x.a) * norm_of(x.b));
}

} // namespace approximations
