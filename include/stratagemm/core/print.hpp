// Printing: std::cout << c << '\n', for matrices and views in host memory.
//
// A row is a line, without a line break after the last. Columns are aligned, and at least as wide as the stream's width.
// The format of numbers is the stream's. A view shows the values that it stands for: its elements times its factor, and
// conjugated if the view is.
#pragma once

#include "matrix.hpp"

#include <ostream>
#include <sstream>
#include <string>

STRATAGEMM_BEGIN

template <class T>
requires element<std::remove_cv_t<T>> std::ostream& operator<<(std::ostream& out, view<T> const& v) {
    using S = accumulator_t<std::remove_cv_t<T>>; // int8 is no character, and half is written as float
    auto width = static_cast<std::size_t>(out.width(0));
    auto const text_of = [&](index_t i, index_t j) {
        auto x = static_cast<S>(v(i, j));
        if (v.conjugate) x = conjugate(x);
        if (v.scale != S(1)) x = v.scale * x;
        std::ostringstream text;
        text.copyfmt(out);
        if constexpr (complex_like<S>)
            text << '(' << x.real() << ',' << x.imag() << ')';
        else
            text << x;
        return std::move(text).str();
    };
    for (index_t i = 0; i < v.rows; ++i)
        for (index_t j = 0; j < v.cols; ++j)
            if (std::size_t const length = text_of(i, j).size(); length > width) width = length;
    for (index_t i = 0; i < v.rows; ++i)
        for (index_t j = 0; j < v.cols; ++j) {
            std::string const text = text_of(i, j);
            out << (j > 0 ? " " : i > 0 ? "\n" : "") << std::string(width - text.size(), ' ') << text;
        }
    return out;
}

template <class T>
std::ostream& operator<<(std::ostream& out, matrix<T> const& m) {
    return out << m.view();
}

STRATAGEMM_END
