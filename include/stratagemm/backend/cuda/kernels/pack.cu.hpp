// Copies of operands for kernels that want them aligned, and along k or not: lines of elements one after another, each
// beginning at a multiple of 16 bytes, with zeros to the next.
//
// TRANSPOSE: neighbours within a line are not neighbours in memory, but elements of neighbouring lines are. UNIT: those
// neighbours are next to each other.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_pack_text[] = R"cu(
struct pack_arguments {
    operand from;          /* a row is a line */
    IN *to;
    index line, step;      /* from one to the next, in elements */
    int lines, length, batches;
};

#if TRANSPOSE
/* 64 elements of each of 64 lines, through shared memory. */
extern "C" __global__ void __launch_bounds__(256) pack(__grid_constant__ const pack_arguments p) {
    wait_for_earlier();
    __shared__ IN tile[64][65];
    unsigned const across = (p.length - 1) / 64 + 1, down = (p.lines - 1) / 64 + 1, number = blockIdx.x;
    unsigned const batch = number / (across * down), line = number % down * 64, first = number / down % across * 64;
    unsigned const x = threadIdx.x % 64, y = threadIdx.x / 64;
    {
        IN const *from = element<IN>(p.from, line + x, first + y, batch);
        IN got[16];
#pragma unroll
        for (int v = 0; v < 16; ++v, from += 4 * p.from.col)
            got[v] = line + x < p.lines && first + y + 4 * v < p.length ? *from : IN();
#pragma unroll
        for (int v = 0; v < 16; ++v) tile[y + 4 * v][x] = got[v];
    }
    __syncthreads();
    IN *to = p.to + batch * p.step + (index)(line + y) * p.line + first + x;
#pragma unroll
    for (int v = 0; v < 16; ++v, to += 4 * p.line)
        if (line + y + 4 * v < p.lines && first + x < p.line) *to = tile[x][y + 4 * v];
}
#else
/* 16 bytes of a line for each thread. */
extern "C" __global__ void __launch_bounds__(256) pack(__grid_constant__ const pack_arguments p) {
    wait_for_earlier();
    constexpr int each = 16 / sizeof(IN);
    int const parts = (p.length - 1) / each + 1;
    index const number = (index)blockIdx.x * 256 + threadIdx.x, line_number = number / parts;
    if (line_number >= (index)p.lines * p.batches) return;
    int const line = line_number % p.lines, batch = line_number / p.lines, at = (number - line_number * parts) * each;
    IN *const to = p.to + batch * p.step + line * p.line + at;
    IN const *const from = element<IN>(p.from, line, at, batch);
#if UNIT
    /* Five aligned words hold it, or four. What lies beyond the line is not read. */
    unsigned long long const address = (unsigned long long)from;
    unsigned const *const words = (unsigned const *)(address & ~3ull);
    unsigned long long const end = (unsigned long long)(from + min(each, p.length - at));
    unsigned word[5];
#pragma unroll
    for (int w = 0; w < 5; ++w) word[w] = (unsigned long long)(words + w) < end ? words[w] : 0;
    unsigned const shift = (unsigned)address % 4 * 8;
    uint4 const whole = {__funnelshift_r(word[0], word[1], shift), __funnelshift_r(word[1], word[2], shift),
                         __funnelshift_r(word[2], word[3], shift), __funnelshift_r(word[3], word[4], shift)};
    *(uint4 *)to = whole;
#else
#pragma unroll
    for (int x = 0; x < each; ++x) to[x] = at + x < p.length ? from[x * p.from.col] : IN();
#endif
}
#endif
)cu";

STRATAGEMM_END
