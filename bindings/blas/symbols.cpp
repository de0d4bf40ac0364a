// The names that programs call. This source is compiled for each width of integers and each way to name them:
//   STRATAGEMM_BLAS_WIDE     integers have 64 bits instead of 32
//   STRATAGEMM_BLAS_SUFFIX   their names say so: dgemm_64_, cblas_dgemm64_ (OpenBLAS), cblas_dgemm_64 (reference)
// Names without a suffix also have the prefix of the OpenBLAS that the wheels of NumPy and SciPy bring along.
#include "narrow.hpp"
#include "report.hpp"
#include "routines.hpp"
#include "settings.hpp"

#include <cstdint>

namespace stratagemm_blas {
namespace {

#ifdef STRATAGEMM_BLAS_WIDE
using integer = std::int64_t;
#else
using integer = std::int32_t;
#endif
using c8 = std::complex<float>;
using c16 = std::complex<double>;

constexpr width integers_of([[maybe_unused]] char const* name) {
#ifdef STRATAGEMM_BLAS_SUFFIX
    return width::in_name;
#else
    bool const has_prefix = name[0] == 's' && name[1] == 'c' && name[2] == 'i'; // of a wheel
    return has_prefix ? width::in_name : sizeof(integer) == 8 ? width::wide : width::narrow;
#endif
}

#if defined(STRATAGEMM_BLAS_SUFFIX)
#    define STRATAGEMM_BLAS_FORTRAN(NAME, ...)                                                               \
        STRATAGEMM_BLAS_DEFINE(NAME##_64_, __VA_ARGS__)                                                      \
        STRATAGEMM_BLAS_DEFINE(scipy_##NAME##_64_, __VA_ARGS__)
#    define STRATAGEMM_BLAS_C(NAME, ...)                                                                     \
        STRATAGEMM_BLAS_DEFINE(NAME##64_, __VA_ARGS__)                                                       \
        STRATAGEMM_BLAS_DEFINE(NAME##_64, __VA_ARGS__)                                                       \
        STRATAGEMM_BLAS_DEFINE(scipy_##NAME##64_, __VA_ARGS__)
#elif defined(STRATAGEMM_BLAS_WIDE)
#    define STRATAGEMM_BLAS_FORTRAN(NAME, ...) STRATAGEMM_BLAS_DEFINE(NAME##_, __VA_ARGS__)
#    define STRATAGEMM_BLAS_C(NAME, ...) STRATAGEMM_BLAS_DEFINE(NAME, __VA_ARGS__)
#else
#    define STRATAGEMM_BLAS_FORTRAN(NAME, ...)                                                               \
        STRATAGEMM_BLAS_DEFINE(NAME##_, __VA_ARGS__)                                                         \
        STRATAGEMM_BLAS_DEFINE(scipy_##NAME##_, __VA_ARGS__)
#    define STRATAGEMM_BLAS_C(NAME, ...)                                                                     \
        STRATAGEMM_BLAS_DEFINE(NAME, __VA_ARGS__)                                                            \
        STRATAGEMM_BLAS_DEFINE(scipy_##NAME, __VA_ARGS__)
#endif

// A function of this library: PARAMETERS and ARGUMENTS in parentheses, the FLOPS that it takes, and then the call that
// does the work.
#define STRATAGEMM_BLAS_DEFINE(NAME, PARAMETERS, ARGUMENTS, FLOPS, ...)                                      \
    extern "C" [[gnu::visibility("default")]] void NAME PARAMETERS noexcept {                                \
        static constinit symbol self{#NAME, integers_of(#NAME)};                                             \
        using function = void PARAMETERS;                                                                    \
        double const flops = FLOPS;                                                                          \
        function* const beneath = self.beneath<function>(flops);                                             \
        counted_call const counted(self, flops, beneath != nullptr);                                         \
        if (beneath) return beneath ARGUMENTS;                                                               \
        __VA_ARGS__;                                                                                         \
    }

// ---- arguments ---------------------------------------------------------------------------------------------

op op_of(char c) {
    switch (c) {
    case 'N':
    case 'n': return op::none;
    case 'T':
    case 't': return op::transposed;
    case 'C':
    case 'c': return op::adjoint;
    default: return op::bad;
    }
}
side side_of(char c) {
    return c == 'L' || c == 'l' ? side::left : c == 'R' || c == 'r' ? side::right : side::bad;
}
half half_of(char c) {
    return c == 'U' || c == 'u' ? half::upper : c == 'L' || c == 'l' ? half::lower : half::bad;
}
diagonal diagonal_of(char c) {
    return c == 'N' || c == 'n' ? diagonal::stored : c == 'U' || c == 'u' ? diagonal::unit : diagonal::bad;
}

// The numbers of CBLAS; 114 is OpenBLAS's CblasConjNoTrans.
op op_of(int x) {
    switch (x) {
    case 111: return op::none;
    case 112: return op::transposed;
    case 113: return op::adjoint;
    case 114: return op::conjugated;
    default: return op::bad;
    }
}
half half_of(int x) { return x == 121 ? half::upper : x == 122 ? half::lower : half::bad; }
diagonal diagonal_of(int x) {
    return x == 131 ? diagonal::stored : x == 132 ? diagonal::unit : diagonal::bad;
}
side side_of(int x) { return x == 141 ? side::left : x == 142 ? side::right : side::bad; }

offset offset_of(char c) {
    switch (c) {
    case 'F':
    case 'f': return offset::fixed;
    case 'C':
    case 'c': return offset::column;
    case 'R':
    case 'r': return offset::row;
    default: return offset::bad;
    }
}
offset offset_of(int x) {
    return x == 173 ? offset::fixed : x == 172 ? offset::column : x == 171 ? offset::row : offset::bad;
}

constexpr caller fortran(char const* name) { return {name}; }
constexpr int row_major = 101, col_major = 102;
constexpr caller cblas(char const* name, int layout) { return {name, true, layout == row_major}; }
// f(), unless the layout is none.
template <class F>
void with_layout(int layout, char const* name, F const& f) {
    if (layout != row_major && layout != col_major) return refuse_layout(cblas(name, layout));
    f(cblas(name, layout));
}

// Flops of a multiply-add, and how many of these there are.
template <class T>
inline constexpr double each = is_complex<T> ? 8 : 2;
template <class M, class N, class K>
double volume(M m, N n, K k) {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}
// The order of A, which stands on one side of an m x n matrix, times that.
double beside(side where, integer m, integer n) { return volume(m, n, where == side::left ? m : n); }

// CBLAS takes real factors as they are, and complex ones by their address.
template <class T>
using factor = std::conditional_t<is_complex<T>, void const*, T>;
template <class T>
T value_of(factor<T> x) {
    if constexpr (is_complex<T>)
        return *static_cast<T const*>(x);
    else
        return x;
}

// The i-th shape of gemm_batch.
template <class T, class Op>
struct shapes {
    Op const *transa, *transb;
    integer const *m, *n, *k;
    T const* alpha;
    T const* const* a;
    integer const* lda;
    T const* const* b;
    integer const* ldb;
    T const* beta;
    T* const* c;
    integer const *ldc, *size;

    product_call<T> at(integer i) const {
        return {op_of(transa[i]), op_of(transb[i]), m[i],   n[i],    k[i],    alpha[i], nullptr,
                lda[i],           nullptr,          ldb[i], beta[i], nullptr, ldc[i]};
    }
    double flops(integer count) const {
        double all = 0;
        for (integer i = 0; i < count; ++i)
            all += each<T> * volume(m[i], n[i], k[i]) * static_cast<double>(size[i]);
        return all;
    }
    void multiply(caller const& who, integer count) const {
        if (count < 0) return refuse(who, 14);
        index_t done = 0;
        for (integer i = 0; i < count; done += size[i++])
            if (!gemm_group(who, at(i), a + done, b + done, c + done, size[i])) return;
    }
};

} // namespace

#define STRATAGEMM_BLAS_REAL_TYPES(X) X(s, float) X(d, double)
#define STRATAGEMM_BLAS_COMPLEX_TYPES(X) X(c, c8) X(z, c16)
#define STRATAGEMM_BLAS_TYPES(X) STRATAGEMM_BLAS_REAL_TYPES(X) STRATAGEMM_BLAS_COMPLEX_TYPES(X)

// ---- gemm --------------------------------------------------------------------------------------------------

#define STRATAGEMM_BLAS_GEMM(P, T)                                                                           \
    STRATAGEMM_BLAS_FORTRAN(P##gemm,                                                                         \
                            (char const* transa, char const* transb, integer const* m, integer const* n,     \
                             integer const* k, T const* alpha, T const* a, integer const* lda, T const* b,   \
                             integer const* ldb, T const* beta, T* c, integer const* ldc),                   \
                            (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                  \
                            each<T>* volume(*m, *n, *k),                                                     \
                            gemm<T>(fortran(#P "gemm"), {op_of(*transa), op_of(*transb), *m, *n, *k, *alpha, \
                                                         a, *lda, b, *ldb, *beta, c, *ldc}))                 \
    STRATAGEMM_BLAS_C(cblas_##P##gemm,                                                                       \
                      (int layout, int transa, int transb, integer m, integer n, integer k, factor<T> alpha, \
                       T const* a, integer lda, T const* b, integer ldb, factor<T> beta, T* c, integer ldc), \
                      (layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                \
                      each<T>* volume(m, n, k),                                                              \
                      with_layout(layout, "cblas_" #P "gemm", [&](caller const& who) {                       \
                          gemm<T>(who, {op_of(transa), op_of(transb), m, n, k, value_of<T>(alpha), a, lda,   \
                                        b, ldb, value_of<T>(beta), c, ldc});                                 \
                      }))
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_GEMM)

// Two names: OpenBLAS and MKL have the first, the reference has the second.
#define STRATAGEMM_BLAS_GEMMT_AS(P, T, NAME)                                                                 \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##NAME,                                                                                             \
        (char const* uplo, char const* transa, char const* transb, integer const* n, integer const* k,       \
         T const* alpha, T const* a, integer const* lda, T const* b, integer const* ldb, T const* beta,      \
         T* c, integer const* ldc),                                                                          \
        (uplo, transa, transb, n, k, alpha, a, lda, b, ldb, beta, c, ldc), each<T>* volume(*n, *n, *k) / 2,  \
        gemmt<T>(fortran(#P #NAME), half_of(*uplo),                                                          \
                 {op_of(*transa), op_of(*transb), *n, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc}))    \
    STRATAGEMM_BLAS_C(cblas_##P##NAME,                                                                       \
                      (int layout, int uplo, int transa, int transb, integer n, integer k, factor<T> alpha,  \
                       T const* a, integer lda, T const* b, integer ldb, factor<T> beta, T* c, integer ldc), \
                      (layout, uplo, transa, transb, n, k, alpha, a, lda, b, ldb, beta, c, ldc),             \
                      each<T>* volume(n, n, k) / 2,                                                          \
                      with_layout(layout, "cblas_" #P #NAME, [&](caller const& who) {                        \
                          gemmt<T>(who, half_of(uplo),                                                       \
                                   {op_of(transa), op_of(transb), n, n, k, value_of<T>(alpha), a, lda, b,    \
                                    ldb, value_of<T>(beta), c, ldc});                                        \
                      }))
#define STRATAGEMM_BLAS_GEMMT(P, T)                                                                          \
    STRATAGEMM_BLAS_GEMMT_AS(P, T, gemmt) STRATAGEMM_BLAS_GEMMT_AS(P, T, gemmtr)
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_GEMMT)

#define STRATAGEMM_BLAS_STRIDED(P, T)                                                                        \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##gemm_batch_strided,                                                                               \
        (char const* transa, char const* transb, integer const* m, integer const* n, integer const* k,       \
         T const* alpha, T const* a, integer const* lda, integer const* stridea, T const* b,                 \
         integer const* ldb, integer const* strideb, T const* beta, T* c, integer const* ldc,                \
         integer const* stridec, integer const* count),                                                      \
        (transa, transb, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c, ldc, stridec, count),    \
        each<T>* volume(*m, *n, *k) * static_cast<double>(*count),                                           \
        gemm_batch_strided<T>(                                                                               \
            fortran(#P "gemm_batch_strided"),                                                                \
            {op_of(*transa), op_of(*transb), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},          \
            *stridea, *strideb, *stridec, *count))                                                           \
    STRATAGEMM_BLAS_C(cblas_##P##gemm_batch_strided,                                                         \
                      (int layout, int transa, int transb, integer m, integer n, integer k, factor<T> alpha, \
                       T const* a, integer lda, integer stridea, T const* b, integer ldb, integer strideb,   \
                       factor<T> beta, T* c, integer ldc, integer stridec, integer count),                   \
                      (layout, transa, transb, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c,    \
                       ldc, stridec, count),                                                                 \
                      each<T>* volume(m, n, k) * static_cast<double>(count),                                 \
                      with_layout(layout, "cblas_" #P "gemm_batch_strided", [&](caller const& who) {         \
                          gemm_batch_strided<T>(who,                                                         \
                                                {op_of(transa), op_of(transb), m, n, k, value_of<T>(alpha),  \
                                                 a, lda, b, ldb, value_of<T>(beta), c, ldc},                 \
                                                stridea, strideb, stridec, count);                           \
                      }))
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_STRIDED)

#define STRATAGEMM_BLAS_BATCH(P, T)                                                                          \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##gemm_batch,                                                                                       \
        (char const* transa, char const* transb, integer const* m, integer const* n, integer const* k,       \
         T const* alpha, T const* const* a, integer const* lda, T const* const* b, integer const* ldb,       \
         T const* beta, T* const* c, integer const* ldc, integer const* groups, integer const* size),        \
        (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, size),                        \
        (shapes<T, char>{transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, size}.flops(          \
            *groups)),                                                                                       \
        (shapes<T, char>{transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, size}.multiply(       \
            fortran(#P "gemm_batch"), *groups)))                                                             \
    STRATAGEMM_BLAS_C(                                                                                       \
        cblas_##P##gemm_batch,                                                                               \
        (int layout, int const* transa, int const* transb, integer const* m, integer const* n,               \
         integer const* k, T const* alpha, T const* const* a, integer const* lda, T const* const* b,         \
         integer const* ldb, T const* beta, T* const* c, integer const* ldc, integer groups,                 \
         integer const* size),                                                                               \
        (layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, size),                \
        (shapes<T, int>{transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, size}.flops(groups)),  \
        with_layout(layout, "cblas_" #P "gemm_batch", [&](caller const& who) {                               \
            shapes<T, int>{transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, size}.multiply(     \
                who, groups);                                                                                \
        }))
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_BATCH)

// ---- symmetric operands ------------------------------------------------------------------------------------

#define STRATAGEMM_BLAS_SYMM_AS(P, T, NAME, HERMITIAN)                                                       \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##NAME,                                                                                             \
        (char const* where, char const* uplo, integer const* m, integer const* n, T const* alpha,            \
         T const* a, integer const* lda, T const* b, integer const* ldb, T const* beta, T* c,                \
         integer const* ldc),                                                                                \
        (where, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc), each<T>* beside(side_of(*where), *m, *n),  \
        symm<T>(fortran(#P #NAME),                                                                           \
                {side_of(*where), half_of(*uplo), *m, *n, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},         \
                HERMITIAN))                                                                                  \
    STRATAGEMM_BLAS_C(cblas_##P##NAME,                                                                       \
                      (int layout, int where, int uplo, integer m, integer n, factor<T> alpha, T const* a,   \
                       integer lda, T const* b, integer ldb, factor<T> beta, T* c, integer ldc),             \
                      (layout, where, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc),                      \
                      each<T>* beside(side_of(where), m, n),                                                 \
                      with_layout(layout, "cblas_" #P #NAME, [&](caller const& who) {                        \
                          symm<T>(who,                                                                       \
                                  {side_of(where), half_of(uplo), m, n, value_of<T>(alpha), a, lda, b, ldb,  \
                                   value_of<T>(beta), c, ldc},                                               \
                                  HERMITIAN);                                                                \
                      }))
#define STRATAGEMM_BLAS_SYMM(P, T) STRATAGEMM_BLAS_SYMM_AS(P, T, symm, false)
#define STRATAGEMM_BLAS_HEMM(P, T) STRATAGEMM_BLAS_SYMM_AS(P, T, hemm, true)
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_SYMM)
STRATAGEMM_BLAS_COMPLEX_TYPES(STRATAGEMM_BLAS_HEMM)

// ---- rank updates ------------------------------------------------------------------------------------------

// FACTOR: the type of alpha and beta.
#define STRATAGEMM_BLAS_SYRK_AS(P, T, NAME, FACTOR, HERMITIAN)                                               \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##NAME,                                                                                             \
        (char const* uplo, char const* trans, integer const* n, integer const* k, FACTOR const* alpha,       \
         T const* a, integer const* lda, FACTOR const* beta, T* c, integer const* ldc),                      \
        (uplo, trans, n, k, alpha, a, lda, beta, c, ldc), each<T>* volume(*n, *n, *k) / 2,                   \
        syrk<T>(fortran(#P #NAME),                                                                           \
                {half_of(*uplo), op_of(*trans), *n, *k, T(*alpha), a, *lda, nullptr, 0, T(*beta), c, *ldc},  \
                HERMITIAN))                                                                                  \
    STRATAGEMM_BLAS_C(cblas_##P##NAME,                                                                       \
                      (int layout, int uplo, int trans, integer n, integer k, factor<FACTOR> alpha,          \
                       T const* a, integer lda, factor<FACTOR> beta, T* c, integer ldc),                     \
                      (layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc),                              \
                      each<T>* volume(n, n, k) / 2,                                                          \
                      with_layout(layout, "cblas_" #P #NAME, [&](caller const& who) {                        \
                          syrk<T>(who,                                                                       \
                                  {half_of(uplo), op_of(trans), n, k, T(value_of<FACTOR>(alpha)), a, lda,    \
                                   nullptr, 0, T(value_of<FACTOR>(beta)), c, ldc},                           \
                                  HERMITIAN);                                                                \
                      }))
#define STRATAGEMM_BLAS_SYRK(P, T) STRATAGEMM_BLAS_SYRK_AS(P, T, syrk, T, false)
#define STRATAGEMM_BLAS_HERK(P, T) STRATAGEMM_BLAS_SYRK_AS(P, T, herk, real<T>, true)
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_SYRK)
STRATAGEMM_BLAS_COMPLEX_TYPES(STRATAGEMM_BLAS_HERK)

// FACTOR: the type of beta.
#define STRATAGEMM_BLAS_SYR2K_AS(P, T, NAME, FACTOR, HERMITIAN)                                              \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##NAME,                                                                                             \
        (char const* uplo, char const* trans, integer const* n, integer const* k, T const* alpha,            \
         T const* a, integer const* lda, T const* b, integer const* ldb, FACTOR const* beta, T* c,           \
         integer const* ldc),                                                                                \
        (uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc), each<T>* volume(*n, *n, *k),               \
        syr2k<T>(fortran(#P #NAME),                                                                          \
                 {half_of(*uplo), op_of(*trans), *n, *k, *alpha, a, *lda, b, *ldb, T(*beta), c, *ldc},       \
                 HERMITIAN))                                                                                 \
    STRATAGEMM_BLAS_C(cblas_##P##NAME,                                                                       \
                      (int layout, int uplo, int trans, integer n, integer k, factor<T> alpha, T const* a,   \
                       integer lda, T const* b, integer ldb, factor<FACTOR> beta, T* c, integer ldc),        \
                      (layout, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                      \
                      each<T>* volume(n, n, k),                                                              \
                      with_layout(layout, "cblas_" #P #NAME, [&](caller const& who) {                        \
                          syr2k<T>(who,                                                                      \
                                   {half_of(uplo), op_of(trans), n, k, value_of<T>(alpha), a, lda, b, ldb,   \
                                    T(value_of<FACTOR>(beta)), c, ldc},                                      \
                                   HERMITIAN);                                                               \
                      }))
#define STRATAGEMM_BLAS_SYR2K(P, T) STRATAGEMM_BLAS_SYR2K_AS(P, T, syr2k, T, false)
#define STRATAGEMM_BLAS_HER2K(P, T) STRATAGEMM_BLAS_SYR2K_AS(P, T, her2k, real<T>, true)
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_SYR2K)
STRATAGEMM_BLAS_COMPLEX_TYPES(STRATAGEMM_BLAS_HER2K)

// ---- triangular operands -----------------------------------------------------------------------------------

#define STRATAGEMM_BLAS_TRIANGULAR(P, T, NAME)                                                               \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        P##NAME,                                                                                             \
        (char const* where, char const* uplo, char const* trans, char const* diag, integer const* m,         \
         integer const* n, T const* alpha, T const* a, integer const* lda, T* b, integer const* ldb),        \
        (where, uplo, trans, diag, m, n, alpha, a, lda, b, ldb),                                             \
        each<T>* beside(side_of(*where), *m, *n) / 2,                                                        \
        NAME<T>(fortran(#P #NAME), {side_of(*where), half_of(*uplo), op_of(*trans), diagonal_of(*diag), *m,  \
                                    *n, *alpha, a, *lda, b, *ldb}))                                          \
    STRATAGEMM_BLAS_C(cblas_##P##NAME,                                                                       \
                      (int layout, int where, int uplo, int trans, int diag, integer m, integer n,           \
                       factor<T> alpha, T const* a, integer lda, T* b, integer ldb),                         \
                      (layout, where, uplo, trans, diag, m, n, alpha, a, lda, b, ldb),                       \
                      each<T>* beside(side_of(where), m, n) / 2,                                             \
                      with_layout(layout, "cblas_" #P #NAME, [&](caller const& who) {                        \
                          NAME<T>(who, {side_of(where), half_of(uplo), op_of(trans), diagonal_of(diag), m,   \
                                        n, value_of<T>(alpha), a, lda, b, ldb});                             \
                      }))
#define STRATAGEMM_BLAS_TRMM(P, T) STRATAGEMM_BLAS_TRIANGULAR(P, T, trmm)
#define STRATAGEMM_BLAS_TRSM(P, T) STRATAGEMM_BLAS_TRIANGULAR(P, T, trsm)
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_TRMM)
STRATAGEMM_BLAS_TYPES(STRATAGEMM_BLAS_TRSM)

// ---- narrow types ------------------------------------------------------------------------------------------

// bfloat16 as programs know it: its bits.
using bits16 = sg::bfloat16;

// U: the type of C and of the factors, which are summed with as floats.
#define STRATAGEMM_BLAS_BFLOAT16(NAME, U)                                                                    \
    STRATAGEMM_BLAS_FORTRAN(                                                                                 \
        NAME,                                                                                                \
        (char const* transa, char const* transb, integer const* m, integer const* n, integer const* k,       \
         U const* alpha, bits16 const* a, integer const* lda, bits16 const* b, integer const* ldb,           \
         U const* beta, U* c, integer const* ldc),                                                           \
        (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), 2 * volume(*m, *n, *k),              \
        gemm<bits16, float, U>(fortran(#NAME), {op_of(*transa), op_of(*transb), *m, *n, *k, *alpha, a, *lda, \
                                                b, *ldb, *beta, c, *ldc}))                                   \
    STRATAGEMM_BLAS_C(cblas_##NAME,                                                                          \
                      (int layout, int transa, int transb, integer m, integer n, integer k, U alpha,         \
                       bits16 const* a, integer lda, bits16 const* b, integer ldb, U beta, U* c,             \
                       integer ldc),                                                                         \
                      (layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                \
                      2 * volume(m, n, k), with_layout(layout, "cblas_" #NAME, [&](caller const& who) {      \
                          gemm<bits16, float, U>(who, {op_of(transa), op_of(transb), m, n, k, alpha, a, lda, \
                                                       b, ldb, beta, c, ldc});                               \
                      }))
STRATAGEMM_BLAS_BFLOAT16(sbgemm, float)
STRATAGEMM_BLAS_BFLOAT16(bgemm, bits16)

STRATAGEMM_BLAS_FORTRAN(gemm_s8u8s32,
                        (char const* transa, char const* transb, char const* offsetc, integer const* m,
                         integer const* n, integer const* k, float const* alpha, void const* a,
                         integer const* lda, std::int8_t const* oa, void const* b, integer const* ldb,
                         std::int8_t const* ob, float const* beta, std::int32_t* c, integer const* ldc,
                         std::int32_t const* oc),
                        (transa, transb, offsetc, m, n, k, alpha, a, lda, oa, b, ldb, ob, beta, c, ldc, oc),
                        2 * volume(*m, *n, *k),
                        gemm_s8u8s32(fortran("gemm_s8u8s32"),
                                     {op_of(*transa), op_of(*transb), offset_of(*offsetc), *m, *n, *k, *alpha,
                                      a, *lda, *oa, b, *ldb, *ob, *beta, c, *ldc, oc}))
STRATAGEMM_BLAS_C(cblas_gemm_s8u8s32,
                  (int layout, int transa, int transb, int offsetc, integer m, integer n, integer k,
                   float alpha, void const* a, integer lda, std::int8_t oa, void const* b, integer ldb,
                   std::int8_t ob, float beta, std::int32_t* c, integer ldc, std::int32_t const* oc),
                  (layout, transa, transb, offsetc, m, n, k, alpha, a, lda, oa, b, ldb, ob, beta, c, ldc, oc),
                  2 * volume(m, n, k), with_layout(layout, "cblas_gemm_s8u8s32", [&](caller const& who) {
                      gemm_s8u8s32(who, {op_of(transa), op_of(transb), offset_of(offsetc), m, n, k, alpha, a,
                                         lda, oa, b, ldb, ob, beta, c, ldc, oc});
                  }))

// ---- ScaLAPACK ---------------------------------------------------------------------------------------------

// Asks how many rows or columns its PBLAS multiplies at once: the k of its local products. Its own answer, 32, is too
// small for what packs, splits or counts in digits. As a name in front of ScaLAPACK's, this one is what PBLAS calls.
#ifndef STRATAGEMM_BLAS_SUFFIX
extern "C" [[gnu::visibility("default")]] integer pilaenv_(integer const* /*context*/, char const* /*type*/) {
    return environment().block;
}
#endif

} // namespace stratagemm_blas
