// Random matrices on a device, and how their elements are compared bit by bit with those of the host.
#pragma once

#include "policies.hpp"

namespace trials {

template <class T>
using matrix_there = under_test::matrix<T>;

template <class T>
sg::matrix<T> uniform_matrix(sg::index_t rows, sg::index_t cols, unsigned seed) {
    support::random_source from(seed);
    return {rows, cols, [&](sg::index_t, sg::index_t) {
                using R = sg::real_t<T>;
                auto const re = static_cast<R>(from.uniform(-1, 1));
                if constexpr (sg::complex_like<T>)
                    return T(re, static_cast<R>(from.uniform(-1, 1)));
                else
                    return T(re);
            }};
}
template <class T>
int differences(sg::matrix<T> const& expected, matrix_there<T> const& x, bool turned = false) {
    sg::matrix<T> here(x.rows(), x.cols());
    x.download(here);
    int wrong = 0;
    for (sg::index_t i = 0; i < expected.rows(); ++i)
        for (sg::index_t j = 0; j < expected.cols(); ++j)
            wrong += !(expected(i, j) == (turned ? here(j, i) : here(i, j)));
    return wrong;
}

} // namespace trials
