// Copies of operands for kernels that want them aligned, and along k or not: lines of elements one after
// another, each beginning at a multiple of 16 bytes; what is between is for nobody to read. One launch copies
// one operand, or both.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_pack_text[] = R"cu(
enum { transposes /* neighbours within a line are not neighbours in memory, but elements of neighbouring lines are */,
       straight, straight_unit /* neighbours within a line are next to each other */ };

struct pack_operand {
    operand from;          /* a row is a line */
    IN *to;
    index line, step;      /* from one to the next, in elements */
    int lines, length, batches;
    int way;
    unsigned across;       /* threads of a block along a line, if straight */
    unsigned blocks;
};
struct pack_arguments { pack_operand of[2]; };

/* 64 elements of each of 64 lines, through shared memory. */
inline void transpose(pack_operand const &p, unsigned number) {
    __shared__ IN tile[64][65];
    unsigned const across = (p.length - 1) / 64 + 1, down = (p.lines - 1) / 64 + 1;
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
/* 16 bytes of each of four lines for a thread; `across` threads side by side. */
inline void realign(pack_operand const &p, unsigned number) {
    constexpr int each = 16 / sizeof(IN);
    unsigned const side_by_side = ((p.length - 1) / each + p.across) / p.across, lines = 256 / p.across;
    unsigned const down = (p.lines - 1) / (4 * lines) + 1, group = number / side_by_side, batch = group / down;
    int const at = ((number - group * side_by_side) * p.across + threadIdx.x % p.across) * each;
    int const line = (group - batch * down) * 4 * lines + threadIdx.x / p.across;
    if (at >= p.length) return;
    IN *to = p.to + batch * p.step + line * p.line + at;
    IN const *from = element<IN>(p.from, line, at, batch);
    auto const is_there = [&](int v) { return line + v * (int)lines < p.lines; };
    if (p.way == straight) {
#pragma unroll
        for (int v = 0; v < 4; ++v, from += lines * p.from.row, to += lines * p.line)
            if (is_there(v))
#pragma unroll
                for (int x = 0; x < each; ++x) to[x] = at + x < p.length ? from[x * p.from.col] : IN();
        return;
    }
    /* Five aligned words hold it, or four. What lies beyond the line is not read. All is read before any is written. */
    unsigned word[4][5], shift[4];
#pragma unroll
    for (int v = 0; v < 4; ++v, from += lines * p.from.row) {
        unsigned long long const address = (unsigned long long)from;
        unsigned const *const words = (unsigned const *)(address & ~3ull);
        unsigned long long const end = (unsigned long long)(from + min(each, p.length - at));
        shift[v] = (unsigned)address % 4 * 8;
#pragma unroll
        for (int w = 0; w < 5; ++w)
            word[v][w] = is_there(v) && (unsigned long long)(words + w) < end ? words[w] : 0;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v, to += lines * p.line)
        if (is_there(v))
            *(uint4 *)to = {__funnelshift_r(word[v][0], word[v][1], shift[v]),
                            __funnelshift_r(word[v][1], word[v][2], shift[v]),
                            __funnelshift_r(word[v][2], word[v][3], shift[v]),
                            __funnelshift_r(word[v][3], word[v][4], shift[v])};
}
extern "C" __global__ void __launch_bounds__(256) pack(__grid_constant__ const pack_arguments p) {
    wait_for_earlier();
    bool const second = blockIdx.x >= p.of[0].blocks;
    pack_operand const &of = p.of[second];
    unsigned const block = blockIdx.x - (second ? p.of[0].blocks : 0);
    if (of.way == transposes)
        transpose(of, block);
    else
        realign(of, block);
}
)cu";

STRATAGEMM_END
