// The Kronecker product of matrices as an operand that borrows them: it is never formed.
//
//   sg::gemm(cpu, sg::kronecker(a, b), x, y);      block (i, j) of the matrix is a(i, j) b
//   sg::gemm(cpu, x, sg::kronecker(a, b, c), y);   three factors, from the right
//
// Factors have any sides, strides and marks, and the element type of x and y: float, double, or complex. A product
// takes a dense product of the policy for each factor, in the order that multiplies least, and workspace for two matrices
// like x. x and y may have any strides; x may be a batch, with y; alpha, beta, E and an epilogue serve as in other
// products. The error is bounded for each element, like that of the policy's products, or by norms, if that is.
#pragma once

#include "../gemm.hpp"
#include "kronecker/product.hpp"

STRATAGEMM_BEGIN

template <class T, int N, class Space = host_memory>
struct kronecker_matrix {
    using value_type = T;
    using space = Space;
    using form = kronecker_form<T, N>;
    static constexpr int most_views = N;

    index_t rows = 0, cols = 0;
    view<T const, Space> factor[N]{};
    accumulator_t<T> scale{1};
    bool conjugate = false;

    kronecker_matrix() = default;
    template <class... Views>
    explicit kronecker_matrix(Views const&... views) requires(sizeof...(Views) == N) : factor{views...} {
        rows = cols = 1;
        for (auto& v : factor) {
            v = as_stated(v);
            is_too_large_ |= __builtin_mul_overflow(rows, v.rows, &rows);
            is_too_large_ |= __builtin_mul_overflow(cols, v.cols, &cols);
            scale = scaled_by(scale, v.scale), v.scale = accumulator_t<T>(real_t<T>(1));
        }
    }
    form facts() const {
        form f;
        for (int i = 0; i < N; ++i) f.rows[i] = factor[i].rows, f.cols[i] = factor[i].cols;
        return f;
    }
    template <class F>
    void each_view(F&& f) const {
        for (auto const& v : factor) f(v);
    }
    kronecker_matrix transposed() const {
        kronecker_matrix one = *this;
        one.rows = cols, one.cols = rows;
        for (auto& v : one.factor) v = v.transposed();
        return one;
    }
    status usable() const {
        if (is_too_large_)
            return failure(errc::overflow, "kronecker: the matrix has more than 2^63 rows or columns");
        return {};
    }

private:
    bool is_too_large_ = false;
};

template <operand First, operand... Rest>
auto kronecker(First&& first, Rest&&... rest) {
    using V = reading_t<view_of<First>>;
    constexpr bool alike = (std::is_same_v<V, reading_t<view_of<Rest>>> && ... && is_view<V>::value);
    static_assert(
        alike, "stratagemm: the factors of a Kronecker product are matrices of one element type and memory");
    return kronecker_matrix<typename V::value_type, 1 + sizeof...(Rest), typename V::space>(
        reading(as_view(first)), reading(as_view(rest))...);
}

static_assert(ready_operand<kronecker_matrix<float, 2>>);

STRATAGEMM_END
