// What kernels on tensor cores ask the hardware for in few registers: the number of a lane, and words of shared memory.
// Kernels of the dialect have it as well, for the kernels in CUDA C++ of a warpgroup_leaf.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_shared_text[] = R"cu(
/* Asked for anew: what follows from it should not take registers while tiles are multiplied. */
inline int lane_now() {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)::"memory");
    return lane;
}
inline unsigned word_at(unsigned address) {
    unsigned x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    return x;
}
)cu";

STRATAGEMM_END
