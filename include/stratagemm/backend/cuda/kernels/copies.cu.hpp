// Copies to shared memory by threads, which go on meanwhile from sm_80 on.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_copies_text[] = R"cu(
/* One T. Of 16 bytes the last may be zeros instead: `there` of them are read. What has no alignment of 4 is copied at
   once. */
template <class T> void copy(unsigned to, T const *from, int there = sizeof(T)) {
    static_assert(alignof(T) <= 16);
#if __CUDA_ARCH__ >= 800
    if constexpr (alignof(T) == 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there)
                     : "memory");
        return;
    } else if constexpr (alignof(T) >= 4) {
#pragma unroll
        for (int b = 0; b < sizeof(T); b += alignof(T))
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to + b), "l"((char const *)from + b),
                         "n"(alignof(T)) : "memory");
        return;
    }
#endif
    union { unsigned char byte[sizeof(T)]; T whole; } x = {};
    if (there == sizeof(T))
        x.whole = *from;
    else
#pragma unroll
        for (int b = 0; b < sizeof(T); ++b)
            if (b < there) x.byte[b] = ((unsigned char const *)from)[b];
    *(T *)__cvta_shared_to_generic(to) = x.whole;
}
/* Of 4, 8 or 16 bytes so many are read, an even number, and the others are zeros. */
template <int BYTES> void copy_piece(unsigned to, char const *from, int there) {
    if constexpr (BYTES == 16) {
        copy(to, (uint4 const *)from, there);
        return;
    }
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"((unsigned const *)from), "r"(there),
                 "n"(BYTES) : "memory");
#else
#pragma unroll
    for (int b = 0; b < BYTES; b += 4) {
        unsigned const word = there >= b + 4 ? *(unsigned const *)(from + b)
                              : there > b    ? *(unsigned short const *)(from + b)
                                             : 0;
        *(unsigned *)__cvta_shared_to_generic(to + b) = word;
    }
#endif
}
inline void commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N> void wait_but_for() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
)cu";

STRATAGEMM_END
