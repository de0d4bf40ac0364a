// What the tests call of cuBLAS, declared as it is, and what they ask the library that stands for it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using handle = struct cublas_context*;
using stream = struct CUstream_st*;

int cublasCreate_v2(handle* made);
int cublasDestroy_v2(handle h);
int cublasSetStream_v2(handle h, stream s);
int cublasGetStream_v2(handle h, stream* s);
int cublasSetPointerMode_v2(handle h, int mode);
int cublasGetPointerMode_v2(handle h, int* mode);
int cublasSetMathMode(handle h, int mode);
int cublasGetMathMode(handle h, int* mode);
int cublasSetAtomicsMode(handle h, int mode);
int cublasGetAtomicsMode(handle h, int* mode);
int cublasSetSmCountTarget(handle h, int count);
int cublasGetSmCountTarget(handle h, int* count);

// P: the letter of the type T; I: the type of integers; S: what the name ends with.
#define TEST_CUBLAS_GEMM(P, T, I, S)                                                                         \
    int cublas##P##gemm_v2##S(handle, int ta, int tb, I m, I n, I k, T const* alpha, T const* a, I lda,      \
                              T const* b, I ldb, T const* beta, T* c, I ldc);                                \
    int cublas##P##gemmStridedBatched##S(handle, int ta, int tb, I m, I n, I k, T const* alpha, T const* a,  \
                                         I lda, long long a_step, T const* b, I ldb, long long b_step,       \
                                         T const* beta, T* c, I ldc, long long c_step, I count);             \
    int cublas##P##gemmBatched##S(handle, int ta, int tb, I m, I n, I k, T const* alpha, T const* const* a,  \
                                  I lda, T const* const* b, I ldb, T const* beta, T* const* c, I ldc,        \
                                  I count);
struct c8 {
    float re, im;
};
struct c16 {
    double re, im;
};
#define TEST_CUBLAS_EX(I, S)                                                                                 \
    int cublasGemmEx##S(handle, int ta, int tb, I m, I n, I k, void const* alpha, void const* a, int a_type, \
                        I lda, void const* b, int b_type, I ldb, void const* beta, void* c, int c_type,      \
                        I ldc, int sums, int algorithm);                                                     \
    int cublasGemmStridedBatchedEx##S(                                                                       \
        handle, int ta, int tb, I m, I n, I k, void const* alpha, void const* a, int a_type, I lda,          \
        long long a_step, void const* b, int b_type, I ldb, long long b_step, void const* beta, void* c,     \
        int c_type, I ldc, long long c_step, I count, int sums, int algorithm);
TEST_CUBLAS_GEMM(S, float, int, )
TEST_CUBLAS_GEMM(D, double, int, )
TEST_CUBLAS_GEMM(C, c8, int, )
TEST_CUBLAS_GEMM(Z, c16, int, )
TEST_CUBLAS_GEMM(S, float, std::int64_t, _64)
TEST_CUBLAS_GEMM(D, double, std::int64_t, _64)
TEST_CUBLAS_GEMM(C, c8, std::int64_t, _64)
TEST_CUBLAS_GEMM(Z, c16, std::int64_t, _64)
TEST_CUBLAS_EX(int, )
TEST_CUBLAS_EX(std::int64_t, _64)

int cublasLtMatmulDescCreate(void** made, int sums, int factors);
int cublasLtMatmulDescDestroy(void* of);
int cublasLtMatmulDescSetAttribute(void* of, int id, void const* value, std::size_t bytes);
int cublasLtMatmulDescGetAttribute(void const* of, int id, void* value, std::size_t bytes,
                                   std::size_t* written);
int cublasLtMatrixLayoutCreate(void** made, int type, std::uint64_t rows, std::uint64_t cols,
                               std::int64_t ld);
int cublasLtMatrixLayoutDestroy(void* of);
int cublasLtMatrixLayoutSetAttribute(void* of, int id, void const* value, std::size_t bytes);
int cublasLtMatrixLayoutGetAttribute(void const* of, int id, void* value, std::size_t bytes,
                                     std::size_t* written);
int cublasLtMatmul(handle, void const* descriptor, void const* alpha, void const* a, void const* a_layout,
                   void const* b, void const* b_layout, void const* beta, void const* c, void const* c_layout,
                   void* d, void const* d_layout, void const* algorithm, void* workspace, std::size_t bytes,
                   stream s);

// How many products the library was asked for, and what it says to these.
int beneath_calls();
void beneath_says(int status);
}
