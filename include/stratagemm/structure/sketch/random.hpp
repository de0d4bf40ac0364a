// Random numbers as functions of seed and place: the generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel
// random numbers: as easy as 1, 2, 3, SC 2011), and normal numbers from it (Box, Muller: A note on the generation of
// random normal deviates, 1958).
//
// All arithmetic is of 32-bit integers, so host, OpenCL and CUDA have the same bits, whatever options a compiler has.
// A normal number is an integer times 2^-28. It is within 2^-24 of the exact value of Box and Muller's formula for
// the same uniform numbers, except in one pair of 8000, where both numbers are below 2^-6 and the error below 2^-15.
// No number is beyond 6.67.
#pragma once

#include "../../core/types.hpp"

STRATAGEMM_BEGIN

// The first word of a counter is a block of rows, the second is a column. The third says for which numbers the block is
// drawn, so that sketches of one seed and different kinds have nothing in common.
enum class sketch_stream : std::uint32_t {
    normals = 0,
    complex_normals = 1,
    signs = 2,
    permutation = 3,
    flips = 4
};

// The numbers that host and devices share.
struct philox {
    static constexpr int rounds = 10;
    static constexpr std::uint32_t first = 0xd2511f53, second = 0xcd9e8d57; // factors
    static constexpr std::uint32_t first_key = 0x9e3779b9,
                                   second_key = 0xbb67ae85; // added to the key in each round
};
// Two uniform numbers become two normal ones: sqrt(-2 ln u) times sine and cosine. Each of the functions below is a
// polynomial with positive coefficients in units of 2^-31 or 2^-29, whose terms are added (series) or alternate in
// sign.
struct normal_tables {
    // -log2(1 - t) / t for t below 1 - sqrt(1/2): a least-squares fit at Chebyshev points without the sixth power,
    // whose coefficient would be negative. The error is below 2^-29.
    static constexpr std::uint32_t logarithm[] = {3098164009, 1549082341, 1032689287, 775566059,
                                                  604634599,  629236295,  0,          1191640529};
    // sqrt(2 ln 2) sin(pi/2 t) / t, of t^2: Chebyshev, error below 2^-26.
    static constexpr std::uint32_t sine[] = {3971709440, 1633299193, 201493470, 11818427, 383497};
    // 1 / (2 sqrt(a)) for a in [1/4, 1], in units of 2^-29: Chebyshev, error below 2^-8. Two steps of Newton follow.
    static constexpr std::uint32_t inverse_root[] = {929450382, 2337720011, 3736944724, 2995727023,
                                                     935894963};
    static constexpr std::uint32_t root_of_two = 1779033703; // less one, in units of 2^-32
    static constexpr std::uint32_t least_root =
        3037000500; // the least number from sqrt(1/2) on, in units of 2^-32
};

// Two words of a key for each round of a permutation (sample.hpp).
struct sample_numbers {
    static constexpr int rounds = 6, words = 2 * rounds;
    static constexpr std::uint32_t factor = 0x9e3779b1;
};

// Words of 32 bits one at a time; numbers.inl.hpp has the same operations for vectors.
struct single_word {
    using type = std::uint32_t;
    static type all(std::uint32_t x) { return x; }
    static type high(type a, type b) { return static_cast<type>(std::uint64_t{a} * b >> 32); }
    static void product(type a, type b, type& above, type& below) { above = high(a, b), below = a * b; }
};

STRATAGEMM_END
