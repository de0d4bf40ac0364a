// Copies of operands for kernels that want them aligned, and along k or not: lines of elements one after another, each
// beginning at a multiple of 16 bytes. Nobody reads what is between the lines. One launch copies one operand, or both.
//
// SUMS: operands are sums of up to four matrices, which are formed on the way. FROM: the type of an operand that is
// widened.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_pack_text[] = R"cu(
enum { transposes /* neighbours within a line are not neighbours in memory, but elements of neighbouring lines are */,
       straight, straight_unit /* neighbours within a line are next to each other */ };

#ifndef SUMS
#define SUMS 0
#endif
#ifdef FROM
#define WIDENS 1
inline float number(signed char x) { return (float)(int)x; }
template <class T> inline float number(T x) { return widen(x); }
inline IN widened(FROM x) { return to<IN>::from(number(x)); }
#else
#define WIDENS 0
#define FROM IN
inline IN widened(IN x) { return x; }
#endif
struct pack_operand {
    operand from;          /* a row is a line */
    IN *to;
    index line, step;      /* from one to the next, in elements */
    int lines, length, batches;
    int way;
    unsigned across;       /* threads of a block along a line, if straight */
    unsigned blocks;
#if SUMS
    int terms, conjugated; /* a bit for each term */
    operand more[3];       /* but the first */
    scalar factor[4];
#endif
};
struct pack_arguments { pack_operand of[2]; };

inline int terms_of(pack_operand const &p) {
#if SUMS
    return p.terms;
#else
    return 1;
#endif
}
inline operand const &term_of(pack_operand const &p, int term) {
#if SUMS
    if (term > 0) return p.more[term - 1];
#endif
    return p.from;
}
/* x, and the element of a term. */
inline IN with_term(pack_operand const &p, int term, IN x, IN of_term) {
#if SUMS
    scalar const more = scale_by(p.factor[term], conjugate_if(p.conjugated >> term & 1, (scalar)widen(of_term)));
    return to<IN>::from(term > 0 ? (scalar)widen(x) + more : more);
#else
    return of_term;
#endif
}

/* SIDE elements of each of as many lines, through shared memory. */
inline void transpose(pack_operand const &p, unsigned number) {
    constexpr int SIDE = sizeof(IN) > 8 ? 32 : 64, each = SIDE * SIDE / 256, apart = 256 / SIDE;
    __shared__ IN tile[SIDE][SIDE + 1];
    unsigned const across = (p.length - 1) / SIDE + 1, down = (p.lines - 1) / SIDE + 1;
    unsigned const batch = number / (across * down), line = number % down * SIDE, first = number / down % across * SIDE;
    unsigned const x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    {
        IN got[each] = {};
        for (int term = 0; term < terms_of(p); ++term) {
            FROM const *from = element<FROM>(term_of(p, term), line + x, first + y, batch);
            index const col = apart * term_of(p, term).col;
#pragma unroll
            for (int v = 0; v < each; ++v, from += col)
                if (line + x < p.lines && first + y + apart * v < p.length) 
                    got[v] = with_term(p, term, got[v], widened(*from));
        }
#pragma unroll
        for (int v = 0; v < each; ++v) tile[y + apart * v][x] = got[v];
    }
    __syncthreads();
    IN *to = p.to + batch * p.step + (index)(line + y) * p.line + first + x;
#pragma unroll
    for (int v = 0; v < each; ++v, to += apart * p.line)
        if (line + y + apart * v < p.lines && first + x < p.line) *to = tile[x][y + apart * v];
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
    auto const is_there = [&](int v) { return line + v * (int)lines < p.lines; };
#if SUMS
    run_of<IN, each> sum[4] = {};
    for (int term = 0; term < terms_of(p); ++term) {
        operand const &o = term_of(p, term);
        IN const *from = element<IN>(o, line, at, batch);
        bool const aligned = ((unsigned long long)from | o.row * sizeof(IN)) % 16 == 0;
        bool const vectors = o.col == 1 && at + each <= p.length && aligned;
        run_of<IN, each> got[4] = {};
#pragma unroll
        for (int v = 0; v < 4; ++v, from += lines * o.row)
            if (is_there(v)) {
                if (vectors)
                    got[v] = *(run_of<IN, each> const *)from;
                else
#pragma unroll
                    for (int x = 0; x < each; ++x)
                        if (at + x < p.length) got[v].x[x] = from[x * o.col];
            }
#pragma unroll
        for (int v = 0; v < 4; ++v)
#pragma unroll
            for (int x = 0; x < each; ++x)
                if (at + x < p.length) sum[v].x[x] = with_term(p, term, sum[v].x[x], got[v].x[x]);
    }
#pragma unroll
    for (int v = 0; v < 4; ++v, to += lines * p.line)
        if (is_there(v)) *(run_of<IN, each> *)to = sum[v];
#else
    FROM const *from = element<FROM>(p.from, line, at, batch);
#if WIDENS
    using some = run_of<FROM, each>;
    bool const aligned = ((unsigned long long)from | lines * p.from.row * sizeof(FROM)) % alignof(some) == 0;
    bool const vectors = p.from.col == 1 && at + each <= p.length && aligned;
    some got[4] = {};
#pragma unroll
    for (int v = 0; v < 4; ++v, from += lines * p.from.row)
        if (is_there(v)) {
            if (vectors)
                got[v] = *(some const *)from;
            else
#pragma unroll
                for (int x = 0; x < each; ++x)
                    if (at + x < p.length) got[v].x[x] = from[x * p.from.col];
        }
#pragma unroll
    for (int v = 0; v < 4; ++v, to += lines * p.line)
        if (is_there(v)) {
            run_of<IN, each> wide;
#pragma unroll
            for (int x = 0; x < each; ++x) wide.x[x] = widened(got[v].x[x]);
            *(run_of<IN, each> *)to = wide;
        }
#else
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
#endif
#endif
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
