// A complex number in the memory of transforms alone, as far as they need one.
#pragma once

#include "../../core/config.hpp"

STRATAGEMM_BEGIN

template <class R>
struct dft_complex {
    using value_type = R;
    R re{}, im{};
    constexpr dft_complex() = default;
    constexpr dft_complex(R r, R i = R(0)) : re(r), im(i) {}
    constexpr R real() const { return re; }
    constexpr R imag() const { return im; }
    constexpr dft_complex conjugated() const { return {re, -im}; }
    friend constexpr dft_complex operator*(dft_complex x, dft_complex y) {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
    friend constexpr dft_complex operator+(dft_complex x, dft_complex y) {
        return {x.re + y.re, x.im + y.im};
    }
    friend constexpr dft_complex operator-(dft_complex x, dft_complex y) {
        return {x.re - y.re, x.im - y.im};
    }
    friend constexpr bool operator==(dft_complex, dft_complex) = default;
};

STRATAGEMM_END
