// Vector arithmetic on AVX-512 whose bits no compiler option changes: each operation is one instruction, in assembly,
// so that nothing is contracted, reordered or left out.
#pragma once

#include "kernels.hpp"

STRATAGEMM_BEGIN

#if defined(__x86_64__)

#    define STRATAGEMM_EXACT STRATAGEMM_AVX512 inline __attribute__((always_inline))

namespace host_exact {

template <class T>
using vec = host_avx512::vec<T>;
using words = vec<std::int32_t>;
typedef std::int64_t longs __attribute__((vector_size(64)));

#    define STRATAGEMM_EXACT_BINARY(NAME, INSTRUCTION)                                                       \
        STRATAGEMM_EXACT vec<float> NAME(vec<float> a, vec<float> b) {                                       \
            vec<float> c;                                                                                    \
            asm(INSTRUCTION "ps %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));                                     \
            return c;                                                                                        \
        }                                                                                                    \
        STRATAGEMM_EXACT vec<double> NAME(vec<double> a, vec<double> b) {                                    \
            vec<double> c;                                                                                   \
            asm(INSTRUCTION "pd %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));                                     \
            return c;                                                                                        \
        }
#    define STRATAGEMM_EXACT_TERNARY(NAME, INSTRUCTION)                                                      \
        STRATAGEMM_EXACT vec<float> NAME(vec<float> c, vec<float> a, vec<float> b) {                         \
            asm(INSTRUCTION "ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));                                     \
            return c;                                                                                        \
        }                                                                                                    \
        STRATAGEMM_EXACT vec<double> NAME(vec<double> c, vec<double> a, vec<double> b) {                     \
            asm(INSTRUCTION "pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));                                     \
            return c;                                                                                        \
        }
STRATAGEMM_EXACT_BINARY(plus, "vadd")
STRATAGEMM_EXACT_BINARY(minus, "vsub")
STRATAGEMM_EXACT_BINARY(times, "vmul")
STRATAGEMM_EXACT_TERNARY(plus_product, "vfmadd231")  // c + a b
STRATAGEMM_EXACT_TERNARY(less_product, "vfnmadd231") // c - a b
STRATAGEMM_EXACT_TERNARY(product_less, "vfmsub231")  // a b - c
#    undef STRATAGEMM_EXACT_BINARY
#    undef STRATAGEMM_EXACT_TERNARY
STRATAGEMM_EXACT vec<double> nearest(vec<double> x) {
    vec<double> y;
    asm("vrndscalepd $0, %1, %0" : "=v"(y) : "v"(x));
    return y;
}
STRATAGEMM_EXACT vec<float> all(float x) { return host_avx512::broadcast<float>(&x); }
STRATAGEMM_EXACT vec<double> all(double x) { return host_avx512::broadcast<double>(&x); }

STRATAGEMM_EXACT words all(std::int32_t x) {
    words v;
    asm("vpbroadcastd %1, %0" : "=v"(v) : "r"(x));
    return v;
}
STRATAGEMM_EXACT longs all(std::int64_t x) {
    longs v;
    asm("vpbroadcastq %1, %0" : "=v"(v) : "r"(x));
    return v;
}

} // namespace host_exact

#    undef STRATAGEMM_EXACT
#endif

STRATAGEMM_END
