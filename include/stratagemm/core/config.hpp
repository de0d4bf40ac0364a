// Version, and the inline namespace that keeps differently configured translation units apart.
//
// Two objects compiled with and without OpenMP, or with threads of the library's own (STRATAGEMM_THREADS), may meet in one
// program. Their inline functions differ, so their names must differ: every macro that changes code is spelled in the
// namespace.
#pragma once

#if __cplusplus < 202002L
#    error "stratagemm needs C++20: compile with -std=c++20 (g++ 12, clang 14, or newer)"
#    include "compile_with_std_cxx20" // a file that is missing ends the compilation: the line above is what a user reads
#endif

#define STRATAGEMM_VERSION_MAJOR 0
#define STRATAGEMM_VERSION_MINOR 1
#define STRATAGEMM_VERSION_PATCH 0
// One number, which grows: 10203 is version 1.2.3.
#define STRATAGEMM_VERSION                                                                                   \
    (STRATAGEMM_VERSION_MAJOR * 10000 + STRATAGEMM_VERSION_MINOR * 100 + STRATAGEMM_VERSION_PATCH)

// stratagemm::kernels has its functions once for both ways to fail: they do not differ there.
#if defined(_OPENMP) && (defined(__cpp_exceptions) || defined(STRATAGEMM_COMPILED_KERNELS))
#    define STRATAGEMM_ABI v0_1_openmp
#elif defined(_OPENMP)
#    define STRATAGEMM_ABI v0_1_openmp_ends
#elif defined(STRATAGEMM_THREADS) && (defined(__cpp_exceptions) || defined(STRATAGEMM_COMPILED_KERNELS))
#    define STRATAGEMM_ABI v0_1_threads
#elif defined(STRATAGEMM_THREADS)
#    define STRATAGEMM_ABI v0_1_threads_ends
#elif defined(__cpp_exceptions) || defined(STRATAGEMM_COMPILED_KERNELS)
#    define STRATAGEMM_ABI v0_1_serial
#else
#    define STRATAGEMM_ABI v0_1_serial_ends
#endif

#define STRATAGEMM_BEGIN                                                                                     \
    namespace stratagemm {                                                                                   \
    inline namespace STRATAGEMM_ABI {
#define STRATAGEMM_END                                                                                       \
    }                                                                                                        \
    }
