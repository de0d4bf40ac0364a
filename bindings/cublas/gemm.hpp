// The calls of cuBLAS that have a handle, as products.
#pragma once

#include "beneath.hpp"
#include "call.hpp"

namespace stratagemm_cublas {

struct gemm_call {
    handle of;
    int transa, transb;
    index_t m, n, k;
    void const* alpha;
    void const* a;
    type a_type;
    index_t lda, a_step;
    void const* b;
    type b_type;
    index_t ldb, b_step;
    void const* beta;
    void* c;
    type c_type;
    index_t ldc, c_step;
    index_t count;
    compute sums;
};
answer gemm(gemm_call const& g) noexcept;

// cublasLtMatmul
struct matmul_call {
    handle of;
    void const* descriptor;
    void const *alpha, *a, *a_layout, *b, *b_layout, *beta, *c, *c_layout;
    void* d;
    void const* d_layout;
    void* workspace;
    std::size_t workspace_bytes;
    void* stream;
};
answer matmul(matmul_call const& m) noexcept;
// The flops of such a call, as far as its layouts can be read.
double flops_of(matmul_call const& m) noexcept;

// Gives back what a handle kept. The handle is gone, and all work of the device is done.
void forget_workspace(handle h);

// The type of the factors that a compute type and a type of C have; in doubt, those of C.
type factors_of(type c, compute sums);

} // namespace stratagemm_cublas
