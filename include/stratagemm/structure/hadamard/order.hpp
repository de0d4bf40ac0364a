// Numbers of points, and the order of rows by sequency.
#pragma once

#include "../../core/types.hpp"

STRATAGEMM_BEGIN

// natural: H_2n = [H_n H_n; H_n -H_n]. sequency: the same rows by the number of their changes of sign (Walsh).
enum class hadamard_order { natural, sequency };

// The least power of two that is not below n is 1 << bits_of(n).
constexpr int bits_of(index_t n) {
    int bits = 0;
    while (bits < 62 && (index_t{1} << bits) < n) ++bits;
    return bits;
}

// The row of a Hadamard matrix of 1 << bits rows, in natural order, that is row i in order of sequency: the bits of the
// Gray code of i, reversed. Both functions are linear: of x ^ y they give what they give of x, ^ what they give of y.
constexpr index_t row_of_sequency(index_t i, int bits) {
    index_t row = 0;
    for (int b = 0; b < bits; ++b) row |= ((i ^ i >> 1) >> b & 1) << (bits - 1 - b);
    return row;
}
// And back: how many changes of sign the row has.
constexpr index_t sequency_of_row(index_t row, int bits) {
    auto x = static_cast<std::uint32_t>(row);
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = __builtin_bswap32(x);
    x = bits == 0 ? 0 : x >> (32 - bits);
    for (int step = 1; step < 32; step *= 2) x ^= x >> step;
    return static_cast<index_t>(x);
}
static_assert(row_of_sequency(2, 3) == 6 && sequency_of_row(6, 3) == 2 && row_of_sequency(1, 2) == 2);

STRATAGEMM_END
