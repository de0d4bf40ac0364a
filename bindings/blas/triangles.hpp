// The other routines of level 3, as products of blocks: triangles of C, symmetric and triangular operands.
//
// Everything is said with views: a transpose, a row-major matrix and an operand on the right are strides, and each
// function has one case. Halves are divided again, and so most of the work is in large products.
#pragma once

#include "multiply.hpp"

namespace stratagemm_blas {

// The triangle of C = alpha A B + beta C. The rest of C is neither read nor written.
template <class T>
void multiply_triangle(T alpha, sg::view<T const> const& a, sg::view<T const> const& b, T beta,
                       sg::view<T> const& c, half which);

// C = alpha A B + beta C, where A is symmetric, or Hermitian, and only one triangle of it is read.
template <class T>
void multiply_symmetric(T alpha, sg::view<T const> const& a, half which, bool hermitian,
                        sg::view<T const> const& b, T beta, sg::view<T> const& c);

// B = alpha A B, where A is the triangle of a matrix.
template <class T>
void multiply_triangular(T alpha, sg::view<T const> const& a, half which, diagonal ones,
                         sg::view<T> const& b);

// B = alpha A^-1 B.
template <class T>
void solve_triangular(T alpha, sg::view<T const> const& a, half which, diagonal ones, sg::view<T> const& b);

} // namespace stratagemm_blas
