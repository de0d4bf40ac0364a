// The names that programs call. Each has a form with integers of 64 bits, whose name ends in _64. Enumerations are
// integers here, and handles addresses.
#include "gemm.hpp"
#include "report.hpp"

#include <complex>

namespace stratagemm_cublas {
namespace {

using c8 = std::complex<float>;
using c16 = std::complex<double>;
using step = long long;

template <class T>
inline constexpr bool is_complex = sg::complex_like<T>;
template <class T>
inline constexpr type type_of = type::float32;
template <>
inline constexpr type type_of<double> = type::float64;
template <>
inline constexpr type type_of<c8> = type::complex64;
template <>
inline constexpr type type_of<c16> = type::complex128;
template <class T>
inline constexpr compute sums_of = sizeof(sg::real_t<T>) == 8 ? compute::float64 : compute::float32;

double flops(bool complex, index_t m, index_t n, index_t k, index_t count = 1) {
    return (complex ? 8 : 2) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(count);
}
bool is_complex_type(int x) { return type{x} == type::complex64 || type{x} == type::complex128; }

// A product of one type.
template <class T>
answer typed(handle h, int transa, int transb, index_t m, index_t n, index_t k, T const* alpha, T const* a,
             index_t lda, index_t a_step, T const* b, index_t ldb, index_t b_step, T const* beta, T* c,
             index_t ldc, index_t c_step, index_t count) noexcept {
    constexpr type t = type_of<T>;
    return gemm({h, transa, transb, m,      n,    k, alpha, a,   t,      lda,   a_step,
                 b, t,      ldb,    b_step, beta, c, t,     ldc, c_step, count, sums_of<T>});
}

} // namespace

// A function of this library: PARAMETERS and ARGUMENTS in parentheses, the FLOPS that it takes, and then its answer.
#define STRATAGEMM_CUBLAS_DEFINE(NAME, PARAMETERS, ARGUMENTS, FLOPS, ...)                                    \
    extern "C" [[gnu::visibility("default")]] int NAME PARAMETERS noexcept {                                 \
        static constinit symbol self{#NAME};                                                                 \
        using function = int PARAMETERS;                                                                     \
        return self.call<function>(                                                                          \
            FLOPS, [&] { return __VA_ARGS__; }, [&](function* f) { return f ARGUMENTS; });                   \
    }

// ---- one type ----------------------------------------------------------------------------------------------

#define STRATAGEMM_CUBLAS_GEMM(P, T, integer, SUFFIX)                                                        \
    STRATAGEMM_CUBLAS_DEFINE(                                                                                \
        cublas##P##gemm_v2##SUFFIX,                                                                          \
        (handle h, int ta, int tb, integer m, integer n, integer k, T const* alpha, T const* a, integer lda, \
         T const* b, integer ldb, T const* beta, T* c, integer ldc),                                         \
        (h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), flops(is_complex<T>, m, n, k),            \
        typed<T>(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1))                       \
    STRATAGEMM_CUBLAS_DEFINE(                                                                                \
        cublas##P##gemmStridedBatched##SUFFIX,                                                               \
        (handle h, int ta, int tb, integer m, integer n, integer k, T const* alpha, T const* a, integer lda, \
         step a_step, T const* b, integer ldb, step b_step, T const* beta, T* c, integer ldc, step c_step,   \
         integer count),                                                                                     \
        (h, ta, tb, m, n, k, alpha, a, lda, a_step, b, ldb, b_step, beta, c, ldc, c_step, count),            \
        flops(is_complex<T>, m, n, k, count),                                                                \
        typed<T>(h, ta, tb, m, n, k, alpha, a, lda, a_step, b, ldb, b_step, beta, c, ldc, c_step, count))    \
    STRATAGEMM_CUBLAS_DEFINE(cublas##P##gemmBatched##SUFFIX,                                                 \
                             (handle h, int ta, int tb, integer m, integer n, integer k, T const* alpha,     \
                              T const* const* a, integer lda, T const* const* b, integer ldb, T const* beta, \
                              T* const* c, integer ldc, integer count),                                      \
                             (h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count),               \
                             flops(is_complex<T>, m, n, k, count), answer{reason::arrays})
#define STRATAGEMM_CUBLAS_TYPES(integer, SUFFIX)                                                             \
    STRATAGEMM_CUBLAS_GEMM(S, float, integer, SUFFIX)                                                        \
    STRATAGEMM_CUBLAS_GEMM(D, double, integer, SUFFIX)                                                       \
    STRATAGEMM_CUBLAS_GEMM(C, c8, integer, SUFFIX)                                                           \
    STRATAGEMM_CUBLAS_GEMM(Z, c16, integer, SUFFIX)
STRATAGEMM_CUBLAS_TYPES(int, )
STRATAGEMM_CUBLAS_TYPES(std::int64_t, _64)

// ---- any types ---------------------------------------------------------------------------------------------

#define STRATAGEMM_CUBLAS_EX(integer, SUFFIX)                                                                \
    STRATAGEMM_CUBLAS_DEFINE(                                                                                \
        cublasGemmEx##SUFFIX,                                                                                \
        (handle h, int ta, int tb, integer m, integer n, integer k, void const* alpha, void const* a,        \
         int a_type, integer lda, void const* b, int b_type, integer ldb, void const* beta, void* c,         \
         int c_type, integer ldc, int sums, int algorithm),                                                  \
        (h, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, sums, algorithm),  \
        flops(is_complex_type(c_type), m, n, k), gemm({h,                                                    \
                                                       ta,                                                   \
                                                       tb,                                                   \
                                                       m,                                                    \
                                                       n,                                                    \
                                                       k,                                                    \
                                                       alpha,                                                \
                                                       a,                                                    \
                                                       type{a_type},                                         \
                                                       lda,                                                  \
                                                       0,                                                    \
                                                       b,                                                    \
                                                       type{b_type},                                         \
                                                       ldb,                                                  \
                                                       0,                                                    \
                                                       beta,                                                 \
                                                       c,                                                    \
                                                       type{c_type},                                         \
                                                       ldc,                                                  \
                                                       0,                                                    \
                                                       1,                                                    \
                                                       compute{sums}}))                                      \
    STRATAGEMM_CUBLAS_DEFINE(                                                                                \
        cublasGemmStridedBatchedEx##SUFFIX,                                                                  \
        (handle h, int ta, int tb, integer m, integer n, integer k, void const* alpha, void const* a,        \
         int a_type, integer lda, step a_step, void const* b, int b_type, integer ldb, step b_step,          \
         void const* beta, void* c, int c_type, integer ldc, step c_step, integer count, int sums,           \
         int algorithm),                                                                                     \
        (h, ta, tb, m, n, k, alpha, a, a_type, lda, a_step, b, b_type, ldb, b_step, beta, c, c_type, ldc,    \
         c_step, count, sums, algorithm),                                                                    \
        flops(is_complex_type(c_type), m, n, k, count),                                                      \
        gemm(                                                                                                \
            {h, ta,           tb,  m,      n,    k, alpha,        a,   type{a_type}, lda,   a_step,          \
             b, type{b_type}, ldb, b_step, beta, c, type{c_type}, ldc, c_step,       count, compute{sums}})) \
    STRATAGEMM_CUBLAS_DEFINE(cublasGemmBatchedEx##SUFFIX,                                                    \
                             (handle h, int ta, int tb, integer m, integer n, integer k, void const* alpha,  \
                              void const* const* a, int a_type, integer lda, void const* const* b,           \
                              int b_type, integer ldb, void const* beta, void* const* c, int c_type,         \
                              integer ldc, integer count, int sums, int algorithm),                          \
                             (h, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type,    \
                              ldc, count, sums, algorithm),                                                  \
                             flops(is_complex_type(c_type), m, n, k, count), answer{reason::arrays})
STRATAGEMM_CUBLAS_EX(int, )
STRATAGEMM_CUBLAS_EX(std::int64_t, _64)

// ---- cublasLt, and the end of a handle ---------------------------------------------------------------------

extern "C" [[gnu::visibility("default")]] int
cublasLtMatmul(handle h, void const* descriptor, void const* alpha, void const* a, void const* a_layout,
               void const* b, void const* b_layout, void const* beta, void const* c, void const* c_layout,
               void* d, void const* d_layout, void const* algorithm, void* workspace, std::size_t bytes,
               void* stream) noexcept {
    static constinit symbol self{"cublasLtMatmul"};
    using function = decltype(cublasLtMatmul);
    matmul_call const call{h, descriptor, alpha, a,        a_layout,  b,     b_layout, beta,
                           c, c_layout,   d,     d_layout, workspace, bytes, stream};
    return self.call<function>(
        flops_of(call), [&] { return matmul(call); },
        [&](function* f) {
            return f(h, descriptor, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                     algorithm, workspace, bytes, stream);
        });
}

// cuBLAS waits here for the device, after which nothing uses the workspace.
extern "C" [[gnu::visibility("default")]] int cublasDestroy_v2(handle h) noexcept {
    auto* const f = reinterpret_cast<int (*)(handle)>(find_beneath("cublasDestroy_v2"));
    if (!f) return not_initialized;
    int const status = f(h);
    if (status == success) forget_workspace(h);
    return status;
}

} // namespace stratagemm_cublas
