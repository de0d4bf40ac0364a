// The hashes of a compressed product: to which of b buckets, and with which sign, an element (i, j) of C is added. They
// are functions of seed, number of the sketch, and place.
//
// Form Walsh-Hadamard: linear maps over GF(2), so that bucket (i, j) = h1(i) ^ h2(j). h1(i) = M i for a uniform M; of
// h2 the low bits of j are kept, and R times the high bits is added, for a uniform R. Two places collide with a
// probability of at most 1 / b: if their rows differ, M (i ^ i') is uniform; else the high bits of their columns
// differ, or the places never collide. The signs are characters, (-1)^<a, i> and (-1)^<d, high bits of j>. Of two
// places that collide the rows or those high bits differ, so the mean of the product of their signs is 0. Variance
// and collisions need no more.
//
// Form Fourier: bucket (i, j) = h1(i) + h2(j) modulo b, where each h and each sign is a random word of its own.
#pragma once

#include "../../structure/hadamard/order.hpp"
#include "../../structure/sketch/host.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// Four random words. The stream is none of a sketch's (sketch_stream).
struct words_of_place {
    static constexpr std::uint32_t stream = 0x70636f6d;
    std::uint32_t at[4];
    words_of_place(std::uint64_t seed, index_t sketch, index_t place) {
        draw_words({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream,
                    static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(sketch)},
                   at);
    }
};
inline bool is_odd(std::uint32_t x) { return __builtin_parity(x); }

// M and R are kept by their rows: `row_of[t]` gives bit t of h1(i), the parity of row_of[t] & i. So the transform of a
// sketch at w is that of C at (row(w), col(w)), where a bit t of w adds row_of[t] to the row: a sketch of the
// transformed A and B is a part of their product.
struct linear_hash {
    std::uint32_t row_of[32],
        high_of[32]; // the first: for each bit of a bucket; the other: for each high bit of a column
    std::uint32_t row_signs, col_signs;
    int bits, low; // of a bucket; of a column that are kept

    linear_hash(std::uint64_t seed, index_t sketch, int bucket_bits, int row_bits, int col_bits)
        : bits(bucket_bits), low(bucket_bits < col_bits ? bucket_bits : col_bits) {
        std::uint32_t const rows = mask(row_bits), buckets = mask(bits);
        for (int t = 0; t < 32; ++t) {
            words_of_place const words(seed, sketch, t);
            row_of[t] = t < bits ? words.at[0] & rows : 0;
            high_of[t] = low + t < col_bits ? words.at[1] & buckets : 0;
        }
        words_of_place const signs(seed, sketch, 32);
        row_signs = signs.at[0] & rows, col_signs = signs.at[1] & mask(col_bits - low);
    }
    static std::uint32_t mask(int count) {
        return count >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
    }

    std::uint32_t bucket_of_row(std::uint32_t i) const {
        std::uint32_t h = 0;
        for (int t = 0; t < bits; ++t) h |= static_cast<std::uint32_t>(is_odd(row_of[t] & i)) << t;
        return h;
    }
    bool row_is_negative(std::uint32_t i) const { return is_odd(row_signs & i); }
    std::uint32_t bucket_of_col(std::uint32_t j) const {
        std::uint32_t h = j & mask(low);
        for (std::uint32_t rest = low < 32 ? j >> low : 0; rest != 0; rest &= rest - 1)
            h ^= high_of[__builtin_ctz(rest)];
        return h;
    }
    bool col_is_negative(std::uint32_t j) const { return low < 32 && is_odd(col_signs & j >> low); }

    // Where the transform of C has what the transform of the sketch has at w. Without the signs, it is linear in w.
    struct place {
        std::uint32_t row, col;
        place operator^(place other) const { return {row ^ other.row, col ^ other.col}; }
    };
    place place_of(std::uint32_t w, int col_bits) const {
        std::uint32_t row = row_signs, col = col_signs;
        for (std::uint32_t rest = w; rest != 0; rest &= rest - 1) row ^= row_of[__builtin_ctz(rest)];
        for (int t = 0; low + t < col_bits; ++t)
            col ^= static_cast<std::uint32_t>(is_odd(high_of[t] & w)) << t;
        return {row, (w & mask(low)) | (low < 32 ? col << low : 0)};
    }
    // f(w, row, col) for each place w of the transform of the sketch, w rising.
    template <class F>
    void each_place(int col_bits, F&& f) const {
        auto const count = std::uint32_t{1} << bits;
        for (std::uint32_t w = 0; w < count; ++w) {
            place const x = place_of(w, col_bits);
            f(w, x.row, x.col);
        }
    }
};

} // namespace compressed_parts

STRATAGEMM_END
