// The products of sg::reference, compiled once and with optimization (reference_products.cpp): they take most of the time
// of tests that are compiled without. What they call is in the same object, which is linked first, so that sums and
// elements of other tests come from there, too.
#pragma once

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/core/problem.hpp>

#include <complex>
#include <cstdint>

// EACH(T, C): operands of T, results of C.
#define STRATAGEMM_REFERENCE_PRODUCTS(EACH)                                                                  \
    EACH(std::int8_t, std::int32_t)                                                                          \
    EACH(float, float)                                                                                       \
    EACH(double, double)                                                                                     \
    EACH(std::complex<float>, std::complex<float>)                                                           \
    EACH(std::complex<double>, std::complex<double>)                                                         \
    EACH(stratagemm::half, float)                                                                            \
    EACH(stratagemm::half, stratagemm::half)                                                                 \
    EACH(stratagemm::bfloat16, float)                                                                        \
    EACH(stratagemm::bfloat16, stratagemm::bfloat16)

#define STRATAGEMM_REFERENCE_ELSEWHERE(T, C)                                                                 \
    extern template stratagemm::status stratagemm::reference::operator()(                                    \
        stratagemm::dense_problem<T, T, C> const&, stratagemm::host_arena&) const;
#ifdef STRATAGEMM_COMPILED_KERNELS
STRATAGEMM_REFERENCE_PRODUCTS(STRATAGEMM_REFERENCE_ELSEWHERE)
#endif
