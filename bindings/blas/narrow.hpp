// Products of narrow types, which BLAS itself does not have: sbgemm and bgemm as in OpenBLAS, gemm_s8u8s32 as in oneMKL.
// The first two are gemm of routines.hpp, for bfloat16 into float and into bfloat16.
#pragma once

#include "routines.hpp"

#include <cstdint>

namespace stratagemm_blas {

enum class offset : unsigned char { fixed, column, row, bad };

// C = alpha (op(A) + oa) (op(B) + ob) + beta C + oc, rounded to the nearest integer. By columns A has signs and B has
// none; by rows A has none and B has signs. oc: one number for all, for each row (a column of them) or for each
// column.
struct integer_call {
    op transa, transb;      // 1, 2
    offset offsetc;         // 3
    index_t m, n, k;        // 4, 5, 6
    float alpha;            // 7
    void const* a;          // 8
    index_t lda;            // 9
    std::int8_t oa;         // 10
    void const* b;          // 11
    index_t ldb;            // 12
    std::int8_t ob;         // 13
    float beta;             // 14
    std::int32_t* c;        // 15
    index_t ldc;            // 16
    std::int32_t const* oc; // 17
};
void gemm_s8u8s32(caller const& who, integer_call const& call);

} // namespace stratagemm_blas
