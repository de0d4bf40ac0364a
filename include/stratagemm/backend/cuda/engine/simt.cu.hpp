// The product of floats on the FP32 units of sm_90 and later: tiles come through the tensor memory
// accelerator, so that nearly all instructions are multiply-adds. Each thread has MICRO_M x MICRO_N elements
// of C in registers.
//
// A lies along m and B along n, as they are read, or along k in lines of 32, swizzled, which are read four
// terms at a time. (The compiler then finds no assignment of registers without many conflicts between banks.
// For large tiles a transposing copy costs less.)
//
// The accelerator cannot fetch operands whose lines do not begin at multiples of 16 bytes. With DENSE = 0 warps that do
// nothing else (FETCHERS) copy these operands to the same places, as many elements at a time as begin aligned (A_UNIT,
// B_UNIT). Copying the operand first would take longer. The fetching warps may also turn an operand that lies along k
// (A_TURNED, B_TURNED): the tile then lies in shared memory as if the operand lay along m or n, and the loop is the
// faster one.
//
// A_IN, B_IN: the type of an operand whose elements are narrower than floats. The fetching warps widen these elements
// on the way, once for all threads that multiply them.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_simt_text[] = R"cu(
#if defined A_IN || defined B_IN
#define WIDENS 1
#else
#define WIDENS 0
#endif
#ifndef A_IN
#define A_IN float
#endif
#ifndef B_IN
#define B_IN float
#endif
#define THREADS_M (TILE_M / MICRO_M)
#define THREADS_N (TILE_N / MICRO_N)
#define THREADS (THREADS_M * THREADS_N) /* that multiply */
#define WARP_N (THREADS_N < 8 ? THREADS_N : 8) /* threads of a warp along n */
#define WARPS_N (THREADS_N / WARP_N)
#define A_LINE (TILE_M + (A_TURNED ? 4 : 0)) /* of shared memory, where the tile does not lie along k */
#define B_LINE (TILE_N + (B_TURNED ? 4 : 0))
#define A_BYTES ((A_LINE * TILE_K - (A_LINE - TILE_M)) * 4) /* there is no gap after the last line */
#define B_BYTES ((B_LINE * TILE_K - (B_LINE - TILE_N)) * 4)
#define STAGE_BYTES (A_BYTES + B_BYTES)
/* What says that a stage is full: the hardware; or each lane that gathers, when it has stored what it turns, and when
   its copies have come. */
#define A_STORED (A_TURNED || sizeof(A_IN) < 4)
#define B_STORED (B_TURNED || sizeof(B_IN) < 4)
#define STORES (A_STORED || B_STORED)
#define COPIES (!A_STORED || !B_STORED)
#define ARRIVALS (DENSE ? 1 : (STORES + COPIES) * 32 * FETCHERS)
/* Blocks of a multiprocessor, as many as leave enough registers: 255, 168 or 128 for a thread. */
#define SUMS (MICRO_M * MICRO_N * (PIECES ? 2 : 1))
#define RESIDENT ((SUMS > 64 ? 256 : SUMS > 32 ? 384 : 512) / THREADS)
/* Four warps that gather need few registers, and leave theirs to four that multiply. Those that widen an operand hold
   more words, if the others can spare them, which have to have 208 for 128 sums, 120 for 64 and 80 for 32. */
#define HANDS_OVER (FETCHERS == 4 && THREADS == 128)
#define GATHERING (RESIDENT == 3 ? 40 : WIDENS && SUMS != 32 && SUMS <= 96 ? 56 : 48)
/* Whether all sums are stored through shared memory: if there are so many that a run of code for each would be many times
   as long as all else, and slower than memory, being read for one use. Fewer are stored sooner as they are. */
#define THROUGH_SHARED (MICRO_M * MICRO_N > 128)
/* Whether those of tiles that are not whole are, so that a warp stores lines of C however they are aligned. */
#define LINES_THROUGH_SHARED (THROUGH_SHARED || !(A_ALONG_K || B_ALONG_K || PARTIAL))
#define BY_ROWS (MICRO_M * MICRO_N >= 64) /* of sums, four terms at a time, where operands lie along k */
static_assert(!TOGETHER || TILE_M * TILE_N * 4 <= STAGES * STAGE_BYTES, "stages have room for sums");
static_assert(!LEAVES_OUT || !(PARTIAL || TOGETHER || TAIL), "k is summed at once");
static_assert(STAGES >= 3, "one is read, one is next, one is fetched");
static_assert(TILE_K == 32 || !(A_ALONG_K || B_ALONG_K), "a line of shared memory is the depth of a tile");
static_assert(THREADS % 32 == 0 && THREADS_N % WARP_N == 0 && THREADS_M % (32 / WARP_N) == 0, "whole warps");
static_assert(MICRO_M % 4 == 0 && MICRO_N % 4 == 0, "vectors of 4");

inline float4 at(unsigned address) {
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address));
    return x;
}

/* The lines of a thread, SIDE / MICRO threads share them all: vectors of four, or one by one if they lie along k. */
template <bool ALONG_K, int SIDE, int MICRO> int line_of(int i, int thread) {
    constexpr int threads = SIDE / MICRO;
    return ALONG_K ? i * threads + thread : i / 4 * (threads * 4) + thread * 4 + i % 4;
}
/* Four terms of k of them. */
template <bool ALONG_K, int SIDE, int MICRO> void read_four(float (&x)[4][MICRO], unsigned tile, int l, int thread) {
    if (ALONG_K) {
#pragma unroll
        for (int i = 0; i < MICRO; ++i) {
            int const line = line_of<ALONG_K, SIDE, MICRO>(i, thread);
            float4 const v = at(tile + line * 128 + (l / 4 ^ (line & 7)) * 16);
            x[0][i] = v.x, x[1][i] = v.y, x[2][i] = v.z, x[3][i] = v.w;
        }
    } else {
#pragma unroll
        for (int d = 0; d < 4; ++d)
#pragma unroll
            for (int i = 0; i < MICRO; i += 4) {
                float4 const v = at(tile + ((l + d) * SIDE + line_of<ALONG_K, SIDE, MICRO>(i, thread)) * 4);
                x[d][i] = v.x, x[d][i + 1] = v.y, x[d][i + 2] = v.z, x[d][i + 3] = v.w;
            }
    }
}
/* Of each thread of a warpgroup from here on. */
template <int COUNT, bool MORE> inline void registers() {
    if constexpr (MORE)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
#if !DENSE
inline void put_floats(unsigned to, float const (&x)[1]) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(x[0]) : "memory");
}
inline void put_floats(unsigned to, float const (&x)[2]) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x[0]), "f"(x[1]) : "memory");
}
inline void put_floats(unsigned to, float const (&x)[4]) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3])
                 : "memory");
}
/* UNIT floats, of which so many are read, and the others are zeros. */
template <int UNIT> inline void copy(unsigned to, unsigned const *from, int there) {
    if constexpr (UNIT == 4)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there * 4)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(there * 4),
                     "n"(UNIT * 4) : "memory");
}
inline int fetcher() { return threadIdx.x / 32 - THREADS / 32; }
/* How a warp copies its rows of a tile that lies as the operand does: each row has `length` elements, in pieces of
   UNIT, which a power of two of lanes share. */
template <bool ALONG_K, int SIDE, int UNIT> struct warp_copies {
    static constexpr int length = ALONG_K ? TILE_K : SIDE, rows = (ALONG_K ? SIDE : TILE_K) / FETCHERS;
    static constexpr int pieces = length / UNIT, even = pieces & -pieces, across = even < 32 ? even : 32;
    static constexpr int warp_rows = 32 / across; /* at a time */
};
/* A tile as the hardware fetches it, by FETCHERS warps of which this is one, some lines each; zeros outside of the
   operand. `from` is the first element, of a line that has neighbours side by side; it is `apart` from one line in
   memory to the next. `lines` and `terms` are there from it on; WHOLE: all that the tile takes. Some addresses, none
   of which waits for another, go down the lines. What is fastest is few instructions: units of up to 16 bytes, as the
   lines are aligned. */
template <bool WHOLE, bool ALONG_K, int SIDE, int UNIT>
inline void gather(unsigned to, float const *from, index apart, int lines, int terms, int fetcher) {
    using warp = warp_copies<ALONG_K, SIDE, UNIT>;
    constexpr int length = warp::length, rows = warp::rows, across = warp::across, warp_rows = warp::warp_rows;
    constexpr int most = FETCHERS > 1 ? 2 : 8, each = rows / warp_rows < most ? rows / warp_rows : most;
    static_assert(rows % (each * warp_rows) == 0 && (!ALONG_K || each * warp_rows % 8 == 0),
                  "whole rounds, each swizzled alike");
    int const lane = threadIdx.x % 32, e = lane % across * UNIT, row = fetcher * rows + lane / across;
    if (LEAVES_OUT && !WHOLE && !ALONG_K && fetcher * rows >= terms) return;
    int const down = (ALONG_K ? lines : terms) - row, right = (ALONG_K ? terms : lines) - e;
    to += row * (length * 4) + e * 4;
    unsigned const *at[each];
#pragma unroll
    for (int v = 0; v < each; ++v) at[v] = (unsigned const *)from + ((row + v * warp_rows) * apart + e);
#pragma unroll(WHOLE ? 4 : 1)
    for (int first = 0; first < rows; first += each * warp_rows)
#pragma unroll
        for (int v = 0; v < each; ++v) {
            int const r = first + v * warp_rows;
            unsigned const line = (ALONG_K ? to ^ (row + v * warp_rows) % 8 * 16 : to) + r * (length * 4);
#pragma unroll
            for (int c = 0; c < length; c += across * UNIT)
                copy<UNIT>(line + c * 4, at[v] + c, WHOLE ? UNIT : r < down ? max(0, min(UNIT, right - c)) : 0);
            at[v] += each * warp_rows * apart;
        }
}
/* Of an operand that lies along k, a tile that does not. A lane reads its term of some lines, while those before are
   on their way, and stores that of four lines at a time. Gaps of four floats put what eight lanes store into 32
   banks. (To copy float by float to its place takes shared memory longer.) */
template <bool WHOLE, int SIDE>
inline void gather_turned(unsigned to, float const *from, index apart, int lines, int terms, int fetcher) {
    constexpr int share = SIDE / FETCHERS, most = FETCHERS > 1 ? 8 : 32, some = share % most == 0 ? most : share;
    static_assert(some <= most && some % 4 == 0, "whole rounds");
    int const lane = threadIdx.x % 32;
    bool const there = WHOLE || lane < terms;
    int left = lines - fetcher * share;
    to += (lane * (SIDE + 4) + fetcher * share) * 4;
    from += fetcher * share * apart + lane;
    auto const read = [&](float (&x)[some]) {
#pragma unroll
        for (int v = 0; v < some; ++v, from += apart) {
            asm volatile("" : "+l"(from)); /* not all addresses at a time, which are many registers */
            x[v] = 0;
            if (WHOLE || (there && v < left)) x[v] = *from;
        }
        left -= some;
    };
    auto const put = [&](float const (&x)[some]) {
#pragma unroll
        for (int v = 0; v < some; v += 4) {
            float const y[4] = {x[v], x[v + 1], x[v + 2], x[v + 3]};
            put_floats(to + v * 4, y);
        }
        to += some * 4;
    };
    float x[some], y[some];
    read(x);
#pragma unroll
    for (int i = 0; i < share; i += 2 * some) {
        if (i + some < share) read(y);
        put(x);
        if (i + 2 * some < share) read(x);
        if (i + some < share) put(y);
    }
}
/* However the operand lies. */
template <bool WHOLE, bool TURNED, bool ALONG_K, int SIDE, int UNIT>
inline void gather_either(unsigned to, float const *from, index apart, int lines, int terms) {
    if constexpr (TURNED)
        gather_turned<WHOLE, SIDE>(to, from, apart, lines, terms, fetcher());
    else
        gather<WHOLE, ALONG_K, SIDE, UNIT>(to, from, apart, lines, terms, fetcher());
}
template <bool TURNED, bool ALONG_K, int SIDE, int UNIT>
inline void gather_tile(unsigned to, float const *from, index apart, int lines, int terms) {
    if (lines >= SIDE && terms >= TILE_K)
        gather_either<true, TURNED, ALONG_K, SIDE, UNIT>(to, from, apart, lines, terms);
    else
        gather_either<false, TURNED, ALONG_K, SIDE, UNIT>(to, from, apart, lines, terms);
}

#if WIDENS
/* Operands of which one is widened. What lanes store passes through registers, and each round of that waits for memory:
   lanes ask for the first round of both operands before they store either, and before the stage is empty. A round has as
   many words as there are registers for. */
template <int MOST> struct words_of { static constexpr int most = MOST; };
#define HOLDING (HANDS_OVER ? GATHERING : 65536 / RESIDENT / (THREADS + FETCHERS * 32))
#define HELD (HOLDING >= 64 ? 32 : HOLDING < 48 || SUMS > 96 ? 8 : 16) /* of one operand */
#define ALL_HELD (SUMS > 96 ? 16 : HOLDING / 2)
/* The lines of a tile that gather_turned() turns. A lane reads two terms of narrower elements at a time, if lines begin at
   multiples of both: half of the lanes read four lines, and half the next four. Eight lanes store together; half of them
   store their second term first, to the banks that the others leave. */
template <int SIDE, int UNIT, int MOST, class T> struct turned_lines {
    static constexpr int side = SIDE, share = SIDE / FETCHERS;
    static constexpr int each = sizeof(T) < 4 && UNIT > 1 && share % 8 == 0 ? 2 : 1;
    static constexpr int all = share / each, some = all % 32 == 0 && MOST >= 32   ? 32
                                                  : all % 16 == 0 && MOST >= 16 ? 16
                                                  : all % 8 == 0 && MOST >= 8   ? 8
                                                                                : 4;
    static constexpr int words = some, rounds = all / some;
    static_assert(all % some == 0 && 32 % each == 0, "whole rounds");
    T const *from;
    index apart;
    int lines, terms;
    unsigned to;
    run_of<T, each> x[some];
    static int term() { return threadIdx.x % (32 / each) * each; }
    static int line() { return fetcher() * share + threadIdx.x % 32 / (32 / each) * 4; }
    static int second() { return each == 2 ? threadIdx.x / 4 % 2 : 0; }
    turned_lines(unsigned stage, T const *first, index a, int l, int t)
        : from(first + line() * a + term()), apart(a), lines(l), terms(t),
          to(stage + ((term() + second()) * (SIDE + 4) + line()) * 4) {}
    template <bool WHOLE> void read_some(int round) {
        int const left = lines - line(), there = terms - term();
#pragma unroll
        for (int v = 0; v < some; ++v) {
            asm volatile("" : "+l"(from)); /* not all addresses at a time, which are many registers */
            bool const is_line = round * some * each + v / 4 * 4 * each + v % 4 < left;
            x[v] = {};
            if (WHOLE || (is_line && there >= each))
                x[v] = *(run_of<T, each> const *)from;
            else if (is_line && there > 0)
                x[v].x[0] = *from;
            from += (v % 4 == 3 ? 4 * each - 3 : 1) * apart;
        }
    }
    void copy() {}
    void put(int round) {
        int const other = second() ? -1 : 1; /* of two terms */
#pragma unroll
        for (int v = 0; v < some; v += 4)
#pragma unroll
            for (int e = 0; e < each; ++e) {
                float y[4];
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    y[i] = widen(second() ? x[v + i].x[each - 1 - e] : x[v + i].x[e]);
                put_floats(to + e * other * ((SIDE + 4) * 4) + (round * some + v) * each * 4, y);
            }
    }
};
/* Of narrower elements, a tile that lies as the operand does. A lane reads vectors of UNIT, and stores each where
   gather() would. */
template <bool ALONG_K, int SIDE, int UNIT, int MOST, class T> struct widened_lines {
    using warp = warp_copies<ALONG_K, SIDE, UNIT>;
    static constexpr int side = SIDE, length = warp::length, across = warp::across, warp_rows = warp::warp_rows;
    static constexpr int right = warp::pieces / across, all = warp::rows / warp_rows;
    static constexpr int vector = UNIT == 4 ? 2 : 1, most = MOST / vector / right;
    static constexpr int some = all % 16 == 0 && most >= 16 ? 16
                                : all % 8 == 0 && most >= 8 ? 8
                                : all % 4 == 0 && most >= 4 ? 4
                                : all % 2 == 0 && most >= 2 ? 2
                                                            : 1;
    static constexpr int words = some * right * vector, rounds = all / some;
    static_assert(warp::rows % warp_rows == 0 && UNIT <= 4, "whole rounds");
    T const *from;
    index apart;
    int lines, terms;
    unsigned to;
    run_of<T, UNIT> x[some][right];
    static int row() { return fetcher() * warp::rows + threadIdx.x % 32 / across; }
    static int first_of_row() { return threadIdx.x % across * UNIT; }
    widened_lines(unsigned stage, T const *first, index a, int l, int t)
        : from(first + row() * a + first_of_row()), apart(a), lines(l), terms(t),
          to(stage + row() * (length * 4) + first_of_row() * 4) {}
    template <bool WHOLE> void read_some(int round) {
        int const down = (ALONG_K ? lines : terms) - row(), beside = (ALONG_K ? terms : lines) - first_of_row();
#pragma unroll
        for (int v = 0; v < some; ++v, from += warp_rows * apart)
#pragma unroll
            for (int c = 0; c < right; ++c) {
                T const *const at = from + c * across * UNIT;
                int const there = (round * some + v) * warp_rows < down ? beside - c * across * UNIT : 0;
                x[v][c] = {};
                if (WHOLE || there >= UNIT)
                    x[v][c] = *(run_of<T, UNIT> const *)at;
                else
#pragma unroll
                    for (int u = 0; u < UNIT - 1; ++u)
                        if (u < there) x[v][c].x[u] = at[u];
            }
    }
    void copy() {}
    void put(int round) {
#pragma unroll
        for (int v = 0; v < some; ++v) {
            int const r = (round * some + v) * warp_rows;
            unsigned const line = (ALONG_K ? to ^ (row() + r) % 8 * 16 : to) + r * (length * 4);
#pragma unroll
            for (int c = 0; c < right; ++c) {
                float y[UNIT];
#pragma unroll
                for (int u = 0; u < UNIT; ++u) y[u] = widen(x[v][c].x[u]);
                put_floats(line + c * across * UNIT * 4, y);
            }
        }
    }
};
/* Floats that lie as the tile does pass through no registers. */
template <bool ALONG_K, int SIDE, int UNIT> struct copied_lines {
    static constexpr int side = SIDE, words = UNIT == 4 ? 8 : 12, rounds = 0; /* of addresses */
    float const *from;
    index apart;
    int lines, terms;
    unsigned to;
    copied_lines(unsigned stage, float const *first, index a, int l, int t)
        : from(first), apart(a), lines(l), terms(t), to(stage) {}
    template <bool WHOLE> void read_some(int) {}
    void copy() { gather_tile<false, ALONG_K, SIDE, UNIT>(to, from, apart, lines, terms); }
    void put(int) {}
};
template <bool TURNED, bool ALONG_K, int SIDE, int UNIT, int MOST, class T>
inline auto lines_of(unsigned to, T const *from, index apart, int lines, int terms) {
    if constexpr (TURNED)
        return turned_lines<SIDE, UNIT, MOST, T>(to, from, apart, lines, terms);
    else if constexpr (sizeof(T) < 4)
        return widened_lines<ALONG_K, SIDE, UNIT, MOST, T>(to, from, apart, lines, terms);
    else
        return copied_lines<ALONG_K, SIDE, UNIT>(to, from, apart, lines, terms);
}
template <class LINES> inline void read(LINES &x, int round) {
    if (x.lines >= LINES::side && x.terms >= TILE_K)
        x.template read_some<true>(round);
    else
        x.template read_some<false>(round);
}
template <class X, class Y>
inline void through_registers(X const &first, Y const &second, barrier const &empty, int parity) {
    auto x = first(words_of<HELD>());
    constexpr int left = ALL_HELD - decltype(x)::words;
    auto y = second(words_of<left < HELD ? left : HELD>());
    constexpr int x_rounds = decltype(x)::rounds, y_rounds = decltype(y)::rounds;
    read(x, 0), read(y, 0);
    empty.wait(parity);
    x.copy(), y.copy();
#pragma unroll
    for (int r = 0; r < (x_rounds > y_rounds ? x_rounds : y_rounds); ++r) {
        if (r < x_rounds) x.put(r);
        if (r + 1 < x_rounds) read(x, r + 1);
        if (r < y_rounds) y.put(r);
        if (r + 1 < y_rounds) read(y, r + 1);
    }
}
/* Rows, columns and terms from the first element of a stage to the end of the operands. */
struct sides_left { int m, n, k; };
/* The stage at `to`, from such terms on, once it is empty. */
template <class A, class B>
inline void gather_stage(unsigned to, A const *of_a, B const *of_b, arguments const &p, sides_left const &left,
                         barrier const &empty, int parity) {
    index const a_apart = A_TURNED || A_ALONG_K ? p.a.row : p.a.col;
    index const b_apart = B_TURNED || B_ALONG_K ? p.b.col : p.b.row;
    auto const a = [&](auto words) {
        constexpr int most = decltype(words)::most;
        return lines_of<A_TURNED, A_ALONG_K, TILE_M, A_UNIT, most>(to, of_a, a_apart, left.m, left.k);
    };
    auto const b = [&](auto words) {
        constexpr int most = decltype(words)::most;
        return lines_of<B_TURNED, B_ALONG_K, TILE_N, B_UNIT, most>(to + A_BYTES, of_b, b_apart, left.n, left.k);
    };
    if constexpr (sizeof(A) < 4) /* the other way, there are too few registers */
        through_registers(b, a, empty, parity);
    else
        through_registers(a, b, empty, parity);
}
#endif
#endif
/* The same of four terms, one row of sums after another: then few registers hold what is read next, and compilers keep
   multiply-adds that share an operand together. Threads with fewer sums have no such runs. */
inline void multiply_four(float (&sum)[MICRO_M][MICRO_N], float const (&x)[4][MICRO_M], float const (&y)[4][MICRO_N]) {
#pragma unroll
    for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
        for (int d = 0; d < 4; ++d)
#pragma unroll
            for (int v = 0; v < MICRO_N; ++v) {
                int const j = d % 2 ? MICRO_N - 1 - v : v;
                sum[i][j] = fmaf(x[d][i], y[d][j], sum[i][j]);
            }
}
/* To and fro, so that each multiply-add shares an operand with the one before: a register that is read again at once
   costs nothing. */
inline void multiply(float (&sum)[MICRO_M][MICRO_N], float const (&x)[MICRO_M], float const (&y)[MICRO_N]) {
#pragma unroll
    for (int i = 0; i < MICRO_M; ++i)
#pragma unroll
        for (int v = 0; v < MICRO_N; ++v) {
            int const j = i % 2 ? MICRO_N - 1 - v : v;
            sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
}

/* Where there are few steps to a tile, and four tiles or more to a block, the blocks of a multiprocessor begin one after
   another. In step they would all
   store at once, and nobody would multiply meanwhile. */
inline void take_turns(arguments const &p) {
    unsigned units;
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(units));
    int const steps = (p.k - 1) / TILE_K + 1;
    if (PARTIAL || steps * TILE_K > 256 || tiles_of(p) < 4 * gridDim.x) return;
    long long const until = clock64() + blockIdx.x / units * (steps * TILE_K * (TILE_M * TILE_N / 128));
    while (clock64() < until) __nanosleep(64);
}

/* LEAVES_OUT: terms of a step that are beyond k, in eights, are neither copied nor multiplied. That step is the last
   of k, which need not be the last of a tile. */
inline int left_out(arguments const &p, place const &t, int step, int steps) {
    bool const last = LEAVES_OUT && step == steps - 1 - first_step(p, t.i, t.j, steps);
    return last ? (steps * TILE_K - p.k) / 8 * 8 : 0;
}

/* Sums of a thread from an element of a tile on: to C, or those of a part of k to workspace. */
struct first_of_sums { int i, j; };
template <int W, int M, int N, class DOWN, class RIGHT>
inline void store_in_tile(arguments const &p, epilogue_state const &state, float const (&sum)[M][N], place const &t,
                          bool whole, first_of_sums const &from, DOWN const &down, RIGHT const &right) {
    int const i0 = from.i, j0 = from.j, i = t.i * TILE_M + i0, j = t.j * TILE_N + j0;
    if (is_part(t)) {
        /* Of a part of all tiles alpha is 1. Stored as they are, sums would have to be in registers one after another,
           and so in the banks of what they are multiplied from. */
        auto const scaled = [&](float x, int, int) { return p.alpha * x; };
        index const line = PARTIAL ? line_of_parts(p) : TILE_N;
        float *const to = PARTIAL ? (float *)p.c.data + (((index)t.batch * p.m + i) * line + j)
                                  : (float *)p.a.data + (((index)(-1 - t.batch) * TILE_M + i0) * line + j0);
        if (whole)
            store_from<W, true>(stored_block<float>{to, line, 1, TILE_M, TILE_N}, sum, down, right, scaled);
        else
            store_from<W, false>(stored_block<float>{to, line, 1, p.m - i, p.n - j}, sum, down, right, scaled);
    } else {
        store_sums<W>(p, state, sum, {i, j, t.batch}, whole, down, right);
    }
}

#if LINES_THROUGH_SHARED
#if SPREADS
/* What a warp has at `room` to workspace: it is the sum of a part of k. */
template <int SIZE, class ROW, class COL>
inline void store_part_through(arguments const &p, place const &t, unsigned room, ROW const &row_of, COL const &col_of) {
    int lane = threadIdx.x % 32;
    asm volatile("" : "+r"(lane));
    float *const to = (float *)p.a.data + (index)(-1 - t.batch) * (TILE_M * TILE_N);
#pragma unroll 2
    for (int n = lane * 4; n < SIZE; n += 32 * 4) {
        float4 const x = at(room + n * 4);
        run_of<float, 4> const run = {x.x, x.y, x.z, x.w};
        put(to + (row_of(n) * TILE_N + col_of(n)), run);
    }
}
/* What a warp has at `room` is added to E, in vectors of which some are on their way at a time. */
template <int SIZE, class ROW, class COL>
inline void add_through(arguments const &p, epilogue_state const &state, place const &t, unsigned room,
                        ROW const &row_of, COL const &col_of) {
    typedef run_of<float, 4> four;
    constexpr int each = 2, step = 32 * 4;
    /* What finding places takes should not be in registers all along: the compiler is not to know that it is the same
       for each target and each part of a tile. */
    int lane = threadIdx.x % 32, i0 = t.i * TILE_M, j0 = t.j * TILE_N;
    asm volatile("" : "+r"(lane), "+r"(i0), "+r"(j0));
    bool const vectors = p.e.col == 1 && ((unsigned long long)element<OUT>(p.e, i0, j0) | p.e.row * 4) % 16 == 0;
    for (int begin = lane * 4; begin < SIZE; begin += each * step) {
        four before[each];
#pragma unroll
        for (int v = 0; v < each; ++v) {
            int const n = begin + v * step;
            if (n >= SIZE) continue;
            OUT const *const e = element<OUT>(p.e, i0 + row_of(n), j0 + col_of(n));
            if (vectors)
                before[v] = *(four const *)e;
            else
#pragma unroll
                for (int w = 0; w < 4; ++w) before[v].x[w] = e[w * p.e.col];
        }
#pragma unroll
        for (int v = 0; v < each; ++v) {
            int const n = begin + v * step;
            if (n >= SIZE) continue;
            int const i = i0 + row_of(n), j = j0 + col_of(n);
            float4 const x = at(room + n * 4);
            float const sum[4] = {x.x, x.y, x.z, x.w};
            four run;
#pragma unroll
            for (int w = 0; w < 4; ++w) run.x[w] = finished(p, state, sum[w], true, &before[v].x[w], i, j + w);
            put((OUT *)element<OUT>(p.c, i, j), run);
        }
    }
}
#endif
/* Sums pass through `room`, a stage of shared memory, some rows of each thread at a time, and a short loop stores them
   line by line. */
static_assert(!A_ALONG_K && !B_ALONG_K, "as large tiles take them");
template <bool WHOLE>
inline void store_through(arguments const &p, epilogue_state const &state, float const (&sum)[MICRO_M][MICRO_N],
                          place const &t, int thread_m, int thread_n, unsigned room) {
    constexpr int some = THREADS * 4 * MICRO_N * 4 <= STAGE_BYTES ? 4 : 2;
    constexpr int warp_m = 32 / WARP_N, rows = some * warp_m, cols = MICRO_N * WARP_N, width = WHOLE ? 4 : 1;
    static_assert(THREADS * some * MICRO_N * 4 <= STAGE_BYTES, "a stage has room");
    int const lane = threadIdx.x % 32, first_m = thread_m / warp_m * warp_m, first_n = thread_n / WARP_N * WARP_N;
    room += threadIdx.x / 32 * (rows * cols * 4);
#pragma unroll
    for (int first = 0; first < MICRO_M; first += some) {
#pragma unroll
        for (int i = 0; i < some; ++i)
#pragma unroll
            for (int j = 0; j < MICRO_N; j += 4) {
                int const at = (i * warp_m + thread_m % warp_m) * cols + j * WARP_N + thread_n % WARP_N * 4;
                /* With alpha here: sums stored as they are would have to be in registers one after another, and so in the
                   banks of what they are multiplied from. */
                float x[4];
#pragma unroll
                for (int w = 3; w >= 0; --w) x[w] = p.alpha * sum[first + i][j + w];
                asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(room + at * 4), "f"(x[0]), "f"(x[1]),
                             "f"(x[2]), "f"(x[3])
                             : "memory");
            }
        __syncwarp();
        auto const row_of = [&](int n) {
            int const i = n / cols;
            return line_of<false, TILE_M, MICRO_M>(first + i / warp_m, first_m + i % warp_m);
        };
        auto const col_of = [&](int n) {
            int const j = n % cols;
            return line_of<false, TILE_N, MICRO_N>(j / (WARP_N * 4) * 4 + j % 4, first_n + j / 4 % WARP_N);
        };
#if SPREADS
        if (WHOLE && is_part(t))
            store_part_through<rows * cols>(p, t, room, row_of, col_of);
        else
#endif
        for_each_target(p, 1, false, [&](arguments const &to) {
            if constexpr (!WHOLE && !THROUGH_SHARED) {
                constexpr int across = cols < 32 ? cols : 32, run = WARP_N * 4;
                int const column = lane % across;
#pragma unroll 1
                for (int r = lane / across; r < rows; r += 32 / across) {
                    int const i = t.i * TILE_M + row_of(r * cols);
                    if (i >= p.m) continue;
#pragma unroll
                    for (int c = 0; c < cols; c += across) {
                        int const j = t.j * TILE_N + first_n * 4 + (c + column) / run * (THREADS_N * 4) +
                                      (c + column) % run;
                        float x;
                        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(room + (r * cols + c + column) * 4));
                        if (j < p.n) store_to(to, state, x, i, j, t.batch);
                    }
                }
                return;
            }
#if SPREADS
            if (WHOLE && to.flags & adds) return add_through<rows * cols>(to, state, t, room, row_of, col_of);
#endif
#pragma unroll 2
            for (int n = lane * width; n < rows * cols; n += 32 * width) {
                float x[1][width];
                if constexpr (width == 4) {
                    float4 const v = at(room + n * 4);
                    x[0][0] = v.x, x[0][1] = v.y, x[0][2] = v.z, x[0][3] = v.w;
                } else {
                    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[0][0]) : "r"(room + n * 4));
                }
                store_in_tile<width>(to, state, x, t, WHOLE, {row_of(n), col_of(n)}, [](int) { return 0; },
                                     [](int j) { return j; });
            }
        });
        __syncwarp();
    }
}
#endif

/* Whether the last stage of a tile is what its sums go through, and is not refilled before all have stored. */
inline bool keeps_last(arguments const &p, place const &t) {
    return THROUGH_SHARED || (LINES_THROUGH_SHARED && !is_whole<4>(p, t));
}

/* Of all threads that multiply. */
inline void meet() {
#if DENSE
    __syncthreads();
#else
    asm volatile("barrier.sync %0, %1;" ::"r"(1), "n"(THREADS) : "memory");
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS + FETCHERS * 32, RESIDENT > 0 ? RESIDENT : 1)
simt(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map,
     __grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    extern __shared__ __align__(128) char memory[];
    unsigned const base = DENSE ? (shared_address(memory) + 1023) / 1024 * 1024 : shared_address(memory);
    unsigned const a_tiles = base, b_tiles = base + A_BYTES, barriers = base + STAGES * STAGE_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };

    /* Shared memory serves half a warp at a time if each lane reads what its neighbour reads, or what the next but one
       does. */
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const few = (lane & 1) + lane / 16 * 2, many = lane / 2 % 8;
    int const in_m = WARP_N == 8 ? few : WARP_N == 4 ? many : lane / WARP_N;
    int const in_n = WARP_N == 8 ? many : WARP_N == 4 ? few : lane % WARP_N;
    int const thread_m = warp / WARPS_N * (32 / WARP_N) + in_m, thread_n = warp % WARPS_N * WARP_N + in_n;

#if DENSE
    __shared__ walk ahead; /* of the first thread, which fetches */
    auto const refill = [&](int stage) {
        unsigned const a = a_tiles + stage * STAGE_BYTES, b = b_tiles + stage * STAGE_BYTES;
        int const l = ahead.l, i0 = ahead.i0, j0 = ahead.j0;
        full(stage).expect(A_BYTES + B_BYTES);
        fetch(a, a_map, A_ALONG_K ? l : i0, A_ALONG_K ? i0 : l, matrix_of(p.a, ahead.batch), full(stage));
        fetch(b, b_map, B_ALONG_K ? l : j0, B_ALONG_K ? j0 : l, matrix_of(p.b, ahead.batch), full(stage));
        ahead.next_step(p);
    };
#endif
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(ARRIVALS), empty(s).initialise(THREADS / 32);
        barriers_are_ready();
        if (DENSE) fetch_map(a_map), fetch_map(b_map);
    }
    __syncthreads();
    wait_for_earlier();
    int stage = 0, parity = 0;
#if DENSE
    if (threadIdx.x == 0) {
        ahead.tile(p, blockIdx.x);
        for (int s = 0; s < STAGES && ahead.left > 0; ++s) refill(s);
    }
#else
    if (warp >= THREADS / 32) {
        if (HANDS_OVER) registers<GATHERING, false>();
        walk ahead;
        for (ahead.tile(p, blockIdx.x); ahead.left > 0; ahead.next_step(p)) {
            int const l = ahead.l, i0 = ahead.i0, j0 = ahead.j0;
#if WIDENS
            gather_stage(base + stage * STAGE_BYTES, element<A_IN>(p.a, i0, l, matrix_of(p.a, ahead.batch)),
                         element<B_IN>(p.b, l, j0, matrix_of(p.b, ahead.batch)), p,
                         {p.m - i0, p.n - j0, p.k - l}, empty(stage), parity ^ 1);
#else
            unsigned const a = a_tiles + stage * STAGE_BYTES, b = b_tiles + stage * STAGE_BYTES;
            empty(stage).wait(parity ^ 1);
            gather_tile<A_TURNED, A_ALONG_K, TILE_M, A_UNIT>(
                a, element<A_IN>(p.a, i0, l, matrix_of(p.a, ahead.batch)),
                A_TURNED || A_ALONG_K ? p.a.row : p.a.col, p.m - i0, p.k - l);
            gather_tile<B_TURNED, B_ALONG_K, TILE_N, B_UNIT>(
                b, element<B_IN>(p.b, l, j0, matrix_of(p.b, ahead.batch)),
                B_TURNED || B_ALONG_K ? p.b.col : p.b.row, p.n - j0, p.k - l);
#endif
            if (STORES) full(stage).arrive();
            if (COPIES)
                asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(full(stage).at) : "memory");
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
        if (TOGETHER) cluster_ends(), cluster_ends();
        return;
    }
#endif

    if (HANDS_OVER) registers<512 / RESIDENT / 16 * 16 - GATHERING, true>();
    take_turns(p);

    [[maybe_unused]] bool begun = false;
    for (int number = blockIdx.x; number < tiles_of(p); number += gridDim.x) {
        place const t = tile_at(p, number);
        int const steps = steps_of(p, t);
        float sum[MICRO_M][MICRO_N] = {};
        in_pieces<float[MICRO_M][MICRO_N]> pieces(p, TILE_K);
        full(stage).wait(parity);
#if !A_ALONG_K && !B_ALONG_K
        float x[2][MICRO_M], y[2][MICRO_N];
        auto const read = [](auto &to, unsigned from, int apart) {
            constexpr int count = sizeof(to) / 4;
#pragma unroll
            for (int i = 0; i < count; i += 4) {
                float4 const v = at(from + i * apart);
                to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
            }
        };
        unsigned a = a_tiles + stage * STAGE_BYTES + thread_m * 16, b = b_tiles + stage * STAGE_BYTES + thread_n * 16;
        read(x[0], a, THREADS_M * 4);
        read(y[0], b, THREADS_N * 4);
#endif
#if PIECES
        for (int step = 0; step < steps; pieces.add(sum))
            for (int const end = step + pieces.next(steps - step); step < end; ++step) {
#else
        for (int step = 0; step < steps; ++step) {
#endif
            [[maybe_unused]] int const now = stage, now_parity = parity;
            if (++stage == STAGES) stage = 0, parity ^= 1;
#if A_ALONG_K || B_ALONG_K
#pragma unroll(DENSE && !BY_ROWS ? 2 : 1)
            for (int l = 0; l < TILE_K - left_out(p, t, step, steps); l += 4) {
                float x[4][MICRO_M], y[4][MICRO_N];
                read_four<A_ALONG_K, TILE_M, MICRO_M>(x, a_tiles + now * STAGE_BYTES, l, thread_m);
                read_four<B_ALONG_K, TILE_N, MICRO_N>(y, b_tiles + now * STAGE_BYTES, l, thread_n);
                if (BY_ROWS) {
                    multiply_four(sum, x, y);
                    continue;
                }
#pragma unroll
                for (int d = 0; d < 4; ++d) multiply(sum, x[d], y[d]);
            }
            if (step + 1 < steps) full(stage).wait(parity);
#else
#pragma unroll 1
            for (int l = left_out(p, t, step, steps); l < TILE_K; l += 8) {
                /* The term after these eight is in the next stage, after the last. */
                bool const last = l + 8 == TILE_K;
                unsigned const a_after = last ? a_tiles + stage * STAGE_BYTES + thread_m * 16 : a + 8 * A_LINE * 4;
                unsigned const b_after = last ? b_tiles + stage * STAGE_BYTES + thread_n * 16 : b + 8 * B_LINE * 4;
#pragma unroll
                for (int d = 0; d < 8; ++d) {
                    if (d == 5 && last && step + 1 < steps) full(stage).wait(parity);
                    read(y[(d + 1) % 2], d < 7 ? b + (d + 1) * B_LINE * 4 : b_after, THREADS_N * 4);
                    read(x[(d + 1) % 2], d < 7 ? a + (d + 1) * A_LINE * 4 : a_after, THREADS_M * 4);
                    multiply(sum, x[d % 2], y[d % 2]);
                }
                a = a_after, b = b_after;
            }
#endif
            __syncwarp();
            if (lane == 0 && (step + 1 < steps || !keeps_last(p, t))) empty(now).arrive();
#if DENSE
            /* The stage of the step before has been read by all, or nearly so. */
            if (threadIdx.x == 0 && begun && ahead.left > 0) {
                int const past = now == 0 ? STAGES - 1 : now - 1;
                empty(past).wait(now == 0 ? now_parity ^ 1 : now_parity);
                refill(past);
            }
            begun = true;
#endif
        }
        pieces.finish(sum);
#if TOGETHER
        /* Where tiles were, once all threads have read theirs. */
        meet();
        put_sums<THREADS>(base, threadIdx.x, (float (&)[MICRO_M * MICRO_N])sum);
        cluster_ends();
        add_up<THREADS, MICRO_M * MICRO_N>(base, threadIdx.x, [&](int first, float const (&x)[4]) {
            int const i = first / MICRO_N, j = first % MICRO_N;
            int const row = t.i * TILE_M + line_of<A_ALONG_K, TILE_M, MICRO_M>(i, thread_m);
            auto const col = [&](int w) { return t.j * TILE_N + line_of<B_ALONG_K, TILE_N, MICRO_N>(j + w, thread_n); };
            if (!B_ALONG_K) return store_run<4>(p, state, x, row, col(0), 0);
#pragma unroll
            for (int w = 0; w < 4; ++w) store_run<1>(p, state, x + w, row, col(w), 0);
        });
        cluster_ends();
        return;
#endif
        constexpr int width = B_ALONG_K ? 1 : 4;
        bool const whole = is_whole<width>(p, t);
#if LINES_THROUGH_SHARED
        if (THROUGH_SHARED || !whole) {
            int const last = stage == 0 ? STAGES - 1 : stage - 1;
            unsigned const room = base + last * STAGE_BYTES;
            meet();
#if THROUGH_SHARED
            if (whole)
                store_through<true>(p, state, sum, t, thread_m, thread_n, room);
            else
#endif
                store_through<false>(p, state, sum, t, thread_m, thread_n, room);
            hand_over();
            __syncwarp();
            if (lane == 0) empty(last).arrive();
            continue;
        }
#endif
#if !THROUGH_SHARED
        for_each_target(p, is_part(t), [&](arguments const &to) {
            store_in_tile<width>(to, state, sum, t, LINES_THROUGH_SHARED || whole,
                                 {line_of<A_ALONG_K, TILE_M, MICRO_M>(0, thread_m),
                                  line_of<B_ALONG_K, TILE_N, MICRO_N>(0, thread_n)},
                                 [](int i) { return line_of<A_ALONG_K, TILE_M, MICRO_M>(i, 0); },
                                 [](int j) { return line_of<B_ALONG_K, TILE_N, MICRO_N>(j, 0); });
        });
#endif
    }
}
)cu";

STRATAGEMM_END
