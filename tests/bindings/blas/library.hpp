// The functions of a library with the names of BLAS, found by name: every form of a name can be called.
#pragma once

#include <complex>
#include <cstdint>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace blas_test {

template <class T>
inline constexpr bool is_complex = false;
template <class R>
inline constexpr bool is_complex<std::complex<R>> = true;
template <class T>
struct real_of {
    using type = T;
};
template <class R>
struct real_of<std::complex<R>> {
    using type = R;
};
template <class T>
using real = typename real_of<T>::type;
template <class T>
inline constexpr char letter = std::is_same_v<T, float>                 ? 's'
                               : std::is_same_v<T, double>              ? 'd'
                               : std::is_same_v<T, std::complex<float>> ? 'c'
                                                                        : 'z';

// How a library names its functions: "scipy_", "dgemm", "_64_".
struct naming {
    char const* library;
    std::string prefix, fortran_suffix, c_suffix;
};
inline naming const plain{STRATAGEMM_BLAS_LIBRARY, "", "_", ""};

// Fortran, CBLAS by columns, CBLAS by rows.
enum class language { fortran, columns, rows };

inline void* find(naming const& names, std::string const& name) {
    void* const library = dlopen(names.library, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    void* const function = dlsym(library, name.c_str());
    if (!function) throw std::runtime_error(name + " is not there");
    return function;
}

// What CBLAS calls a letter of Fortran.
inline int number_of(char option, char const* letters, int first) {
    for (int i = 0; letters[i]; ++i)
        if (letters[i] == option) return first + i;
    return -1;
}
inline int trans_number(char c) { return number_of(c, "NTC", 111); }
inline int uplo_number(char c) { return number_of(c, "UL", 121); }
inline int diag_number(char c) { return number_of(c, "NU", 131); }
inline int side_number(char c) { return number_of(c, "LR", 141); }

// The routines of one type, with the arguments of Fortran, in any language.
template <class T, class Int = std::int32_t>
class routines {
public:
    routines(naming const& names, language l) : names_(names), language_(l) {}
    bool by_rows() const { return language_ == language::rows; }
    int layout = 0; // instead of that of the language, if it is not 0

    void gemm(char ta, char tb, Int m, Int n, Int k, T alpha, T const* a, Int lda, T const* b, Int ldb,
              T beta, T* c, Int ldc) const {
        if (language_ == language::fortran)
            fortran("gemm", &ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
        else
            cblas("gemm", trans_number(ta), trans_number(tb), m, n, k, factor(alpha), a, lda, b, ldb,
                  factor(beta), c, ldc);
    }
    void gemmt(char const* name, char uplo, char ta, char tb, Int n, Int k, T alpha, T const* a, Int lda,
               T const* b, Int ldb, T beta, T* c, Int ldc) const {
        if (language_ == language::fortran)
            fortran(name, &uplo, &ta, &tb, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
        else
            cblas(name, uplo_number(uplo), trans_number(ta), trans_number(tb), n, k, factor(alpha), a, lda, b,
                  ldb, factor(beta), c, ldc);
    }
    void strided(char ta, char tb, Int m, Int n, Int k, T alpha, T const* a, Int lda, Int a_step, T const* b,
                 Int ldb, Int b_step, T beta, T* c, Int ldc, Int c_step, Int count) const {
        if (language_ == language::fortran)
            fortran("gemm_batch_strided", &ta, &tb, &m, &n, &k, &alpha, a, &lda, &a_step, b, &ldb, &b_step,
                    &beta, c, &ldc, &c_step, &count);
        else
            cblas("gemm_batch_strided", trans_number(ta), trans_number(tb), m, n, k, factor(alpha), a, lda,
                  a_step, b, ldb, b_step, factor(beta), c, ldc, c_step, count);
    }
    // symm and hemm.
    void symm(char const* name, char side, char uplo, Int m, Int n, T alpha, T const* a, Int lda, T const* b,
              Int ldb, T beta, T* c, Int ldc) const {
        if (language_ == language::fortran)
            fortran(name, &side, &uplo, &m, &n, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
        else
            cblas(name, side_number(side), uplo_number(uplo), m, n, factor(alpha), a, lda, b, ldb,
                  factor(beta), c, ldc);
    }
    // syrk, and herk with real factors.
    template <class F>
    void syrk(char const* name, char uplo, char trans, Int n, Int k, F alpha, T const* a, Int lda, F beta,
              T* c, Int ldc) const {
        if (language_ == language::fortran)
            fortran(name, &uplo, &trans, &n, &k, &alpha, a, &lda, &beta, c, &ldc);
        else
            cblas(name, uplo_number(uplo), trans_number(trans), n, k, factor(alpha), a, lda, factor(beta), c,
                  ldc);
    }
    template <class F>
    void syr2k(char const* name, char uplo, char trans, Int n, Int k, T alpha, T const* a, Int lda,
               T const* b, Int ldb, F beta, T* c, Int ldc) const {
        if (language_ == language::fortran)
            fortran(name, &uplo, &trans, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
        else
            cblas(name, uplo_number(uplo), trans_number(trans), n, k, factor(alpha), a, lda, b, ldb,
                  factor(beta), c, ldc);
    }
    // trmm and trsm.
    void triangular(char const* name, char side, char uplo, char trans, char diag, Int m, Int n, T alpha,
                    T const* a, Int lda, T* b, Int ldb) const {
        if (language_ == language::fortran)
            fortran(name, &side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
        else
            cblas(name, side_number(side), uplo_number(uplo), trans_number(trans), diag_number(diag), m, n,
                  factor(alpha), a, lda, b, ldb);
    }

    template <class... Args>
    void fortran(std::string const& routine, Args... args) const {
        auto* const f = find(names_, names_.prefix + letter<T> + routine + names_.fortran_suffix);
        reinterpret_cast<void (*)(Args...)>(f)(args...);
    }
    template <class... Args>
    void cblas(std::string const& routine, Args... args) const {
        auto* const f = find(names_, names_.prefix + "cblas_" + letter<T> + routine + names_.c_suffix);
        int const order = layout != 0 ? layout : by_rows() ? 101 : 102;
        reinterpret_cast<void (*)(int, Args...)>(f)(order, args...);
    }

private:
    // CBLAS takes complex factors by address.
    template <class F>
    static auto factor(F const& x) {
        if constexpr (is_complex<F>)
            return static_cast<void const*>(&x);
        else
            return x;
    }

    naming names_;
    language language_;
};

} // namespace blas_test
