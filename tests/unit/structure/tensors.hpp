// Matrices that decompositions of tensors are tried with.
#pragma once

#include "unit/support.hpp"

#include <cmath>
#include <complex>

namespace support {

template <class T>
sg::matrix<T> random_matrix(sg::index_t rows, sg::index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    random_source from(seed);
    return sg::matrix<T>(
        rows, cols,
        [&](sg::index_t, sg::index_t) {
            using R = sg::real_t<T>;
            auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
            if constexpr (sg::complex_like<T>) {
                R const re = part();
                return T(re, part());
            } else {
                return static_cast<T>(part());
            }
        },
        order);
}
// A matrix of (2 3 4) x (3 2 5) parts: the sum of two Kronecker products, the second with a factor.
template <class T>
sg::matrix<T> of_two_products(double second = 1) {
    auto const a = random_matrix<T>(2, 3, 1), b = random_matrix<T>(3, 2, 2), c = random_matrix<T>(4, 5, 3),
               x = random_matrix<T>(2, 3, 4), y = random_matrix<T>(3, 2, 5), z = random_matrix<T>(4, 5, 6);
    using R = sg::real_t<T>;
    return sg::matrix<T>(24, 30, [&](sg::index_t i, sg::index_t j) {
        return a(i / 12, j / 10) * b(i / 4 % 3, j / 5 % 2) * c(i % 4, j % 5) +
               static_cast<R>(second) * x(i / 12, j / 10) * y(i / 4 % 3, j / 5 % 2) * z(i % 4, j % 5);
    });
}

template <class T>
double norm_of(sg::matrix<T> const& x) {
    double all = 0;
    for (sg::index_t i = 0; i < x.rows(); ++i)
        for (sg::index_t j = 0; j < x.cols(); ++j) all += std::norm(std::complex<double>(x(i, j)));
    return std::sqrt(all);
}
// |X - Y| / |X|
template <class T>
double distance(sg::matrix<T> const& x, sg::matrix<T> const& y) {
    REQUIRE((x.rows() == y.rows() && x.cols() == y.cols()));
    double off = 0;
    for (sg::index_t i = 0; i < x.rows(); ++i)
        for (sg::index_t j = 0; j < x.cols(); ++j)
            off += std::norm(std::complex<double>(x(i, j)) - std::complex<double>(y(i, j)));
    return std::sqrt(off) / norm_of(x);
}

} // namespace support
