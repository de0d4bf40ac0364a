// What the kernels of tensor cores share to store results: a warp's go through shared memory, from where they lie in a
// thread's registers to rows of C, however these are aligned. shared.cu.hpp comes before it.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_rows_text[] = R"cu(
/* Results that threads store go to memory in whole rows: a warp puts 16 rows of 256 bytes, or of 128, to shared memory
   and reads them back as they lie in C. Pieces of 16 bytes are swizzled, such that neither meets in a bank. */
#ifdef WARP_BYTES
#define ROW_BYTES (WARP_BYTES / 16)
#else
#define ROW_BYTES 256
#endif
template <int BYTES> unsigned place_in_row(unsigned byte, int row) {
    return byte ^ (BYTES < 4 ? row & 7 : (row & 3) << 1 | (row >> 2 & 1)) << 4;
}
inline uint4 words_at(unsigned address) {
    uint4 x;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(address)
                 : "memory");
    return x;
}

#ifndef ROWS_IN_FLIGHT
#define ROWS_IN_FLIGHT 8
#endif
/* Rows to `to` as words, of which the first of a row may begin at its second element of 16 bits; HEADS: there are such
   rows. */
template <class T, int width, bool HEADS>
inline void write_words(unsigned from, T *to, index row, int rows, int end) {
    constexpr int in_word = 4 / sizeof(T), each = ROWS_IN_FLIGHT;
    constexpr unsigned last = width * sizeof(T) - 4;
    int const lane = lane_now();
#pragma unroll 1
    for (int left = rows; left > 0; left -= each, to += each * row, from += each * ROW_BYTES)
#pragma unroll
        for (int w = 0; w < width / in_word; w += 32) {
            unsigned const own = (w + lane) * 4, next = own < last ? own + 4 : last;
            unsigned x[each];
            int const first = each % 8 ? rows - left : 0; /* it is the place among eight rows that counts */
#pragma unroll
            for (int r = 0; r < each; ++r) {
                x[r] = word_at(from + r * ROW_BYTES + place_in_row<sizeof(T)>(own, first + r));
                if (HEADS) {
                    unsigned const y = word_at(from + r * ROW_BYTES + place_in_row<sizeof(T)>(next, first + r));
                    if ((unsigned long long)(to + r * row) % 4) x[r] = __funnelshift_r(x[r], y, 16);
                }
            }
            T *line = to + (w + lane) * in_word;
#pragma unroll
            for (int r = 0; r < each; ++r, line += row) {
                int const head = HEADS ? (unsigned long long)line % 4 / 2 : 0;
                if (r < left && (w + lane + 1) * in_word + head <= end) *(unsigned *)(line + head) = x[r];
            }
        }
}
template <class T> T element_at(unsigned row_at, int col, int row) {
    unsigned const byte = col * sizeof(T);
    union { unsigned word; T x; } u = {word_at(row_at + place_in_row<sizeof(T)>(byte / 4 * 4, row)) >> byte % 4 * 8};
    return u.x;
}

/* The rows of a warp to `to`, the place of the first of them; so many of them, and of their columns, are in C. As 16
   bytes if all rows are aligned so, else as words, and what is left by elements. Several are read before the first is
   stored, since none of that may change places. */
template <class T, int width> inline void write_rows(unsigned from, T *to, index row, index col, int rows, int cols) {
    constexpr int each = 16 / sizeof(T), lanes = width / each, in_word = 4 / sizeof(T);
    int const lane = lane_now(), end = min(width, cols);
    bool const aligned = ((unsigned long long)to | row * sizeof(T)) % 16 == 0;
    if (col != 1 || (sizeof(T) == 1 && !aligned)) {
#pragma unroll 1
        for (int r = 0; r < rows; ++r, to += row)
#pragma unroll 1
            for (int j = lane; j < end; j += 32) to[j * col] = element_at<T>(from + r * ROW_BYTES, j, r);
    } else if (aligned) {
        constexpr int warp_rows = 32 / lanes, times = 16 / warp_rows < 4 ? 1 : 4;
        int const first = lane / lanes % warp_rows, at = lane % lanes;
        T *c = to + (first * row + at * each);
#pragma unroll
        for (int r0 = first; r0 < 16; r0 += times * warp_rows) {
            uint4 x[times];
#pragma unroll
            for (int v = 0; v < times; ++v) {
                int const r = r0 + v * warp_rows;
                x[v] = words_at(from + r * ROW_BYTES + place_in_row<sizeof(T)>(at * 16, r));
            }
#pragma unroll
            for (int v = 0; v < times; ++v, c += warp_rows * row)
                if (r0 + v * warp_rows < rows && (at + 1) * each <= end) *(uint4 *)c = x[v];
        }
        for (int e = lane; e < 16 * (end % each); e += 32) {
            int const r = e % 16, j = end - 1 - e / 16;
            if (r < rows) to[r * row + j] = element_at<T>(from + r * ROW_BYTES, j, r);
        }
    } else {
        if (in_word == 2 && ((unsigned long long)to | row * sizeof(T)) % 4)
            write_words<T, width, true>(from, to, row, rows, end);
        else
            write_words<T, width, false>(from, to, row, rows, end);
        /* The element before the first word of each row, and that after the last. */
        int const r = lane % 16;
        if (in_word == 2 && r < rows) {
            int const head = (unsigned long long)(to + r * row) % 4 / 2, j = lane < 16 ? 0 : end - 1;
            if (lane < 16 ? head > 0 && end > 0 : end > head && (end - head) % 2 > 0)
                to[r * row + j] = element_at<T>(from + r * ROW_BYTES, j, r);
        }
    }
}

/* Neighbours to shared memory. Floats stay floats: made words of, the compiler would do so before they are there. */
inline void put(unsigned at, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x), "f"(y) : "memory");
}
inline void put(unsigned at, unsigned x, unsigned y) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(x), "r"(y) : "memory");
}
inline void put(unsigned at, int x, int y) { put(at, (unsigned)x, (unsigned)y); }
inline void put(unsigned at, signed char x, signed char y) {
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(at), "h"((unsigned short)((unsigned char)x | y << 8)) : "memory");
}
template <class T> void put(unsigned at, T x, T y) {
    asm volatile("st.shared.v2.b16 [%0], {%1, %2};" ::"r"(at), "h"(x.bits), "h"(y.bits) : "memory");
}
)cu";

STRATAGEMM_END
