// Level 3 as BLAS defines it, for any size of integers and either language: arguments are checked in the order of
// the reference, calls without work return at once, and what BLAS does not read is not read. The names of arguments are
// those of BLAS; the number in a comment is that of an argument in Fortran.
#pragma once

#include "call.hpp"

namespace stratagemm_blas {

// C = alpha op(A) op(B) + beta C. S: the type of sums and factors. U: the type of C.
template <class T, class S = T, class U = S>
struct product_call {
    op transa, transb; // 1, 2
    index_t m, n, k;   // 3, 4, 5
    S alpha;           // 6
    T const* a;        // 7
    index_t lda;       // 8
    T const* b;        // 9
    index_t ldb;       // 10
    S beta;            // 11
    U* c;              // 12
    index_t ldc;       // 13
};
template <class T, class S = T, class U = S>
void gemm(caller const& who, product_call<T, S, U> const& call);
// The same into one triangle of a square C: uplo comes first, and there is no m.
template <class T>
void gemmt(caller const& who, half uplo, product_call<T> const& call);
// `count` products whose matrices are so many elements apart.
template <class T>
void gemm_batch_strided(caller const& who, product_call<T> const& call, index_t a_stride, index_t b_stride,
                        index_t c_stride, index_t count);
// One product for each pointer of three lists; the pointers of `call` are not used. False: an argument is wrong.
template <class T>
bool gemm_group(caller const& who, product_call<T> const& call, T const* const* a, T const* const* b,
                T* const* c, index_t count);

// C = alpha A B + beta C or alpha B A + beta C, with a symmetric or Hermitian A.
template <class T>
struct symmetric_call {
    side where;   // 1
    half uplo;    // 2
    index_t m, n; // 3, 4
    T alpha;      // 5
    T const* a;   // 6
    index_t lda;  // 7
    T const* b;   // 8
    index_t ldb;  // 9
    T beta;       // 10
    T* c;         // 11
    index_t ldc;  // 12
};
template <class T>
void symm(caller const& who, symmetric_call<T> const& call, bool hermitian);

// C = alpha op(A) op(A)^T + beta C, or with two matrices, in a triangle of C. Hermitian ones have real factors, but for
// alpha of two matrices.
template <class T>
struct rank_call {
    half uplo;    // 1
    op trans;     // 2
    index_t n, k; // 3, 4
    T alpha;      // 5
    T const* a;   // 6
    index_t lda;  // 7
    T const* b;   // 8, of two matrices; the numbers of those below are then larger by two
    index_t ldb;
    T beta;      // 8
    T* c;        // 9
    index_t ldc; // 10
};
template <class T>
void syrk(caller const& who, rank_call<T> const& call, bool hermitian);
template <class T>
void syr2k(caller const& who, rank_call<T> const& call, bool hermitian);

// B = alpha op(A) B or alpha B op(A), or with the inverse of A, which is triangular.
template <class T>
struct triangular_call {
    side where;    // 1
    half uplo;     // 2
    op trans;      // 3
    diagonal diag; // 4
    index_t m, n;  // 5, 6
    T alpha;       // 7
    T const* a;    // 8
    index_t lda;   // 9
    T* b;          // 10
    index_t ldb;   // 11
};
template <class T>
void trmm(caller const& who, triangular_call<T> const& call);
template <class T>
void trsm(caller const& who, triangular_call<T> const& call);

} // namespace stratagemm_blas
