// Matrices that are constant along their diagonals, as operands that borrow the elements of these diagonals.
//
//   sg::gemm(cpu, sg::toeplitz(column, row), x, y);     A_ij = column[i - j], or row[j - i] above the diagonal
//   sg::gemm(cpu, sg::toeplitz(column), x, y);          Hermitian: the row is the conjugate of the column
//   sg::gemm(cpu, sg::toeplitz(d, m, n), x, y);         A_ij = d[m - 1 + j - i]: m + n - 1 diagonals, the lowest first
//   sg::gemm(cpu, x, sg::circulant(column), y);         A_ij = column[(i - j) modulo n]
//   sg::gemm(cpu, sg::hankel(column, row), x, y);       A_ij = column[i + j], or row[i + j - m + 1] beyond its end
//   sg::gemm(cpu, sg::hankel(h, m, n), x, y);           A_ij = h[i + j]
//   sg::gemm(cpu, sg::polynomial(f, n), x, y);          the product of polynomials: f, and columns of n coefficients
//   sg::gemm(cpu, sg::block_toeplitz(blocks, m, n), x, y);        m x n blocks, of which `blocks` is a batch
//   sg::gemm(cpu, sg::block_toeplitz(column, row), x, y);         the same from its first column and row of blocks
//
// A vector is a matrix with one row or one column, such as one on a device, or a range such as std::vector. The first
// element of `row` is not read: that of `column` is on the diagonal, as in SciPy. For hankel() too the corner belongs
// to `column`. x and y may have any strides; x may be a batch, with y; alpha, beta, E and an epilogue serve as in other
// products. An operand may be transposed, scaled and conjugated.
//
// Products are direct: dense products of the policy, with its kernels and its bound, whose operand is a view of the
// diagonals; few vectors on a device take a kernel of their own. by_transforms() asks for Fourier transforms instead.
#pragma once

#include "../gemm.hpp"
#include "borrowed_vector.hpp"
#include "toeplitz/keep.hpp"
#include "toeplitz/product.hpp"

STRATAGEMM_BEGIN

template <class Run>
using toeplitz_of = toeplitz_matrix<std::remove_const_t<typename Run::element_type>, typename Run::space>;

// From a first column and a first row of blocks.
template <class T, class Space>
toeplitz_matrix<T, Space> block_toeplitz(batch<T const, Space> const& column,
                                         batch<T const, Space> const& row) {
    if (column.first.rows != row.first.rows || column.first.cols != row.first.cols)
        raise(error(errc::shape,
                    "block_toeplitz: the blocks of the column and of the row have different sides"));
    return {column.count, row.count, reversed(column), without_first(row, 1)};
}
template <class T, class Space>
auto reading_blocks(batch<T, Space> const& b) {
    return batch<T const, Space>{b.first, b.count, b.stride};
}
template <class T, class U, class Space>
requires(!std::is_const_v<T> || !std::is_const_v<U>) auto block_toeplitz(batch<T, Space> const& column,
                                                                         batch<U, Space> const& row) {
    return block_toeplitz(reading_blocks(column), reading_blocks(row));
}
// From all diagonals of m x n blocks, the lowest first.
template <class T, class Space>
toeplitz_matrix<std::remove_const_t<T>, Space> block_toeplitz(batch<T, Space> const& blocks, index_t m,
                                                              index_t n) {
    return {m, n, reading_blocks(blocks)};
}

template <vector_like Column, vector_like Row>
auto toeplitz(Column&& column, Row&& row) {
    return block_toeplitz(elements_of(column), elements_of(row));
}
template <vector_like Column>
auto toeplitz(Column&& column) {
    auto const down = elements_of(column);
    return block_toeplitz(down, conjugated(down));
}
template <vector_like Diagonals>
auto toeplitz(Diagonals&& diagonals, index_t rows, index_t cols) {
    return block_toeplitz(elements_of(diagonals), rows, cols);
}
template <vector_like Column>
auto circulant(Column&& column) {
    auto const back = reversed(elements_of(column));
    auto again = back;
    if (again.count > 0) --again.count;
    return toeplitz_of<decltype(back)>(back.count, back.count, back, again);
}
template <vector_like Column, vector_like Row>
auto hankel(Column&& column, Row&& row) {
    auto const down = elements_of(column), right = elements_of(row);
    return toeplitz_of<decltype(down)>(down.count, right.count, down, without_first(right, 1), true);
}
template <vector_like Values>
auto hankel(Values&& values, index_t rows, index_t cols) {
    auto const all = elements_of(values);
    return toeplitz_of<decltype(all)>(rows, cols, all, {}, true);
}
// Multiplies polynomials of n coefficients by one, whose coefficients are `factor`; the constants come first.
template <vector_like Factor>
auto polynomial(Factor&& factor, index_t n) {
    auto const back = reversed(elements_of(factor));
    index_t const zeros = n > 0 ? n - 1 : 0;
    toeplitz_of<decltype(back)> a(back.count + zeros, n, back);
    a.zeros[0] = a.zeros[1] = zeros;
    return a;
}

static_assert(ready_operand<toeplitz_matrix<float>>);

STRATAGEMM_END
