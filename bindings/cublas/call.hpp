// One product as all functions of cuBLAS state it, and what becomes of it.
#pragma once

#include <stratagemm/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace stratagemm_cublas {

namespace sg = stratagemm;
using sg::index_t;

// Element types by their numbers in cudaDataType.
enum class type : int {
    float32 = 0,
    float64 = 1,
    float16 = 2,
    int8 = 3,
    complex64 = 4,
    complex128 = 5,
    int32 = 10,
    bfloat16 = 14
};
// The types of alpha and beta that the sums of these compute types have; the other compute types are not done here.
enum class compute : int { float32 = 68, float64 = 70, int32 = 72 };
// cublasOperation_t
enum class op : int { none = 0, transposed = 1, adjoint = 2, conjugated = 3 };

// A batch of matrices in memory of the device.
struct matrix {
    void const* data = nullptr;
    index_t rows = 0, cols = 0, row_stride = 1, col_stride = 0;
    index_t step = 0; // to the next of the batch
    bool is_conjugated = false;
};
enum class activation : unsigned char { none, relu, gelu };

// C = finish(alpha A B + beta E), where finish() adds bias[i] to row i and then applies a function.
struct product_call {
    type a_type, b_type, c_type;
    compute sums;
    type factors; // of alpha and beta
    matrix a, b, e, c;
    index_t count = 1;
    void const *alpha = nullptr, *beta = nullptr;
    void const* bias = nullptr; // of the type of C
    activation then = activation::none;
};

// Why a call is left to the cuBLAS beneath.
enum class reason : unsigned char {
    none,       // it is done here
    small,      // it has fewer flops than STRATAGEMM_CUBLAS_MIN
    slower,     // the library is not expected to be faster
    scalars,    // alpha and beta are on the device
    arrays,     // addresses of matrices are on the device
    modes,      // of the handle or the environment: TF32, emulation, atomics, fewer multiprocessors
    types,      // element or compute types
    descriptor, // a matmul descriptor or a layout says more than is done here
    arguments,  // they are wrong, and cuBLAS says so
    capture,    // a graph is captured, and the kernels or the workspace are not there yet
    context,    // no driver, or a context that is not the device's primary one
    refused,    // by the library
    last = refused
};

// `failed`: C may have been written in part, so that nobody else can do the call.
struct answer {
    reason why = reason::none;
    bool failed = false;
};

} // namespace stratagemm_cublas
