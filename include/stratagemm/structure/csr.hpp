// Sparse matrices by rows (CSR) and by columns (CSC), and the products of all sparse operands with dense matrices.
//
//   sg::csr<float> a{m, k, row_begins, columns, values, nonzeros};          borrows the arrays
//   auto d = sg::csc<float>(m, k, column_begins, rows, values, nonzeros);   the same by columns
//   sg::gemm(cpu, a, b, c);                                  also with alpha, beta, E and an epilogue
//   sg::gemm(cpu, b, a, c);                                  dense times sparse
//   auto const kept = sg::keep_left(gpu, a);                 for many products with a on the left: long rows in pieces
//   auto const right = sg::keep(cpu, a);                     for many products with a on the right: sorted by columns
//   auto const there = sg::to_device(gpu, a);                a copy in a device's memory
//   auto const x = sg::cuda::on_device(a);                   a is made of pointers to the device, such as cudaMalloc's
//   sg::gemm(cpu, a.transposed(), b, c);                     sg::scaled(2, a) and sg::conjugated(a) likewise
//   sg::csr_of_ones<float> p{m, k, row_begins, columns, nonzeros};          a pattern: each element is one
//   auto const places = sg::to_csr_of_ones(cpu, a);          of any sparse operand; sg::to_csr gives ones their values
//
// The arrays are in the memory of the policy: pointers on the host, handles on a device (csr/operand.hpp). Shape and
// device determine the order in which the products of a row are summed, so the result does not depend on threads or
// scheduling. Elements that are not stored are zero and not multiplied: Inf in B gives no NaN.
//
// Products do not check the arrays. check() does so on the host: rows in order, columns in range. check_sorted()
// also refuses columns that do not rise within a row.
//
// Other formats have a header each: coo.hpp, ell.hpp, blocked_ell.hpp, bsr.hpp, two_of_four.hpp, events.hpp.
// csr/format.hpp says what a format has.
#pragma once

#include "csr/convert.hpp"
#include "csr/operand.hpp"
#include "csr/product.hpp"
