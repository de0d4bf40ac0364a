// Vectors as arguments of structured operands: a matrix with one row or one column, such as one on a device, or a range
// on the host such as std::vector. Vectors are borrowed.
#pragma once

#include "../core/policy.hpp"

STRATAGEMM_BEGIN

// What is taken for a vector.
template <class X>
concept vector_like = (operand<X> && !is_batch<std::remove_cvref_t<X>>::value) || lasting_range<X>;

// A vector as a batch of matrices of one element.
template <vector_like X>
auto elements_of(X&& x) {
    if constexpr (operand<X>) {
        auto const v = reading(as_view(x));
        using V = std::remove_const_t<decltype(v)>;
        static_assert(is_view<V>::value,
                      "stratagemm: a vector is a matrix with one row or one column, or a range");
        if (v.rows > 1 && v.cols > 1) {
            char text[160];
            __builtin_snprintf(text, sizeof(text),
                               "a vector has one row or one column, and this matrix is %td x %td", v.rows,
                               v.cols);
            raise(error(errc::shape, "a structured operand", text));
        }
        bool const is_column = v.cols == 1;
        V one = v;
        one.rows = one.cols = one.row_stride = one.col_stride = 1;
        return batch<typename V::element_type, typename V::space>{
            one, v.rows == 0 || v.cols == 0 ? 0 : v.rows * v.cols, is_column ? v.row_stride : v.col_stride};
    } else {
        using T = std::remove_cvref_t<decltype(*x.data())>;
        return batch<T const>{view<T const>{x.data(), 1, 1, 1, 1}, static_cast<index_t>(x.size()), 1};
    }
}

STRATAGEMM_END
