// Products of integers, which are exact in any order, for the unit tests of devices; and what an error says.
#pragma once

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/gemm.hpp>

#include <string_view>

namespace sg = stratagemm;

namespace integers {

inline sg::matrix<float> numbers(sg::index_t m, sg::index_t n, sg::index_t step) {
    return {m, n,
            [step](sg::index_t i, sg::index_t j) { return static_cast<float>((step * i + 2 * j) % 9 - 4); }};
}

// How many elements of two matrices differ.
template <class T>
int different(sg::matrix<T> const& x, sg::matrix<T> const& y) {
    int count = 0;
    for (sg::index_t i = 0; i < x.rows(); ++i)
        for (sg::index_t j = 0; j < x.cols(); ++j) count += !(x(i, j) == y(i, j));
    return count;
}

// A product, on the device and on the host.
struct product {
    sg::matrix<float> a = numbers(33, 21, 3), b = numbers(21, 40, 5), c{33, 40}, exact{33, 40};
    product() { sg::gemm(sg::reference{}, a, b, exact); }
    int wrong() const { return different(c, exact); }
};

inline bool says(sg::status const& s, char const* text) {
    return std::string_view(s.error().what()).find(text) != std::string_view::npos;
}

} // namespace integers
