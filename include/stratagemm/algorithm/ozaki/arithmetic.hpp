// The exact arithmetic of the Ozaki schemes: scaled integers, their digits and residues, and the way back.
//
// Everything here is in integers, or in floating point whose roundings are caught (Ogita, Rump, Oishi:
// Accurate sum and dot product, 2005), so that results do not depend on how a compiler contracts or, with
// -ffast-math, reorders expressions.
#pragma once

#include "../../core/types.hpp"

STRATAGEMM_BEGIN

namespace ozaki_parts {

// ---- powers of two ---------------------------------------------------------------------------------------

// The least e with |x| < 2^e, for finite x that is not zero; subnormals included.
inline int exponent_of(double x) {
    auto const bits = __builtin_bit_cast(std::uint64_t, x) & 0x7fffffffffffffffu;
    auto const e = static_cast<int>(bits >> 52);
    return e != 0 ? e - 1022 : -1010 - __builtin_clzll(bits);
}

// 2^e, for normal numbers.
constexpr double power(int e) {
    return __builtin_bit_cast(double, static_cast<std::uint64_t>(e + 1023) << 52);
}

// x 2^e for any e, rounded at most once if |x| >= 1 or x 2^e >= 1.
inline double times_power(double x, int e) {
    for (; e > 1000; e -= 1000) x = as_rounded(x * power(1000));
    for (; e < -1000; e += 1000) x = as_rounded(x * power(-1000));
    return x * power(e);
}

// ---- scaled integers -------------------------------------------------------------------------------------

// m 2^q with q >= 0 and |m| <= 2^53: a double times a power of two, rounded to an integer of any size.
struct integer {
    std::int64_t m = 0;
    int q = 0;
};

// x 2^shift to the nearest integer, halves to the even one.
inline integer scaled(double x, int shift) {
    auto const bits = __builtin_bit_cast(std::uint64_t, x);
    int e = static_cast<int>(bits >> 52 & 0x7ff);
    auto m = static_cast<std::int64_t>(bits & 0xfffffffffffffu);
    if (e == 0)
        e = 1;
    else
        m |= std::int64_t{1} << 52;
    if (bits >> 63) m = -m;
    int const q = e - 1075 + shift;
    if (q >= 0) return {m, q};
    if (q < -54) return {}; // below a quarter
    return {(m + (std::int64_t{1} << (-q - 1)) - 1 + (m >> -q & 1)) >> -q, 0};
}

// The exponent of the lowest bit that is set, of x not zero.
inline int lowest_bit(double x) {
    integer const v = scaled(x, 1074);
    return v.q - 1074 + __builtin_ctzll(static_cast<std::uint64_t>(v.m));
}

// The coefficient of 256^j in balanced base 256, -128 to 127. With b = 128 (1 + 256 + ... + 256^(j-1)), the
// digits from j upwards make up floor((v + b) / 256^j), whose low byte is digit j.
inline int digit(integer v, int j) {
    int const drop = 8 * j - v.q; // bits of m below the digit
    if (drop > 55) return 0;      // |m| is below half of it
    std::int64_t high = 0;
    if (drop > 0)
        high = (v.m + static_cast<std::int64_t>(0x8080808080808080u >> (64 - drop))) >> drop;
    else if (drop > -8)
        high = v.m * (1 << -drop);
    return static_cast<std::int8_t>(high & 0xff);
}

// ---- residues --------------------------------------------------------------------------------------------

inline constexpr int most_moduli = 20;
// Coprime, and none between 253 and 256: a residue that is centred but for one fits a byte.
inline constexpr int moduli[most_moduli] = {256, 253, 251, 249, 247, 245, 241, 239, 233, 229,
                                            227, 223, 211, 199, 197, 193, 191, 181, 179, 173};

// The square root of half the product of the first `count`: |A'||B'| may come up to its square. What it
// lacks, 2^-30 of it, is far more than the quotient in residue_system and the norms of lines are wrong by.
inline double room(int count) {
    double p = 0.5;
    for (int i = 0; i < count; ++i) p *= moduli[i];
    return __builtin_sqrt(p) * (1 - 0x1p-30);
}

class modulus {
public:
    constexpr explicit modulus(int p) : p_(static_cast<unsigned>(p)), inverse_(~std::uint64_t{0} / p_) {}

    constexpr int number() const { return static_cast<int>(p_); }
    constexpr unsigned of(std::uint64_t x) const {
        // The estimate of the quotient is at most one too small.
        __extension__ typedef unsigned __int128 wide;
        auto const quotient = static_cast<std::uint64_t>(static_cast<wide>(x) * inverse_ >> 64);
        auto const r = static_cast<unsigned>(x - quotient * p_);
        return r < p_ ? r : r - p_;
    }
    // In (-p/2, p/2), or from -p/2 for even p: always an int8.
    constexpr int centred(std::int64_t x) const { return centred(magnitude(x), x < 0); }
    constexpr int centred(integer v) const {
        std::uint64_t r = of(magnitude(v.m));
        for (int q = v.q; q > 0; q -= 32) r = of(r << (q < 32 ? q : 32));
        return centred(r, v.m < 0);
    }

private:
    static constexpr std::uint64_t magnitude(std::int64_t x) {
        return x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    }
    constexpr int centred(std::uint64_t x, bool negative) const {
        auto const p = static_cast<int>(p_);
        int r = static_cast<int>(of(x));
        if (negative && r != 0) r = p - r;
        return r > (p - 1) / 2 ? r - p : r;
    }

    unsigned p_;
    std::uint64_t inverse_;
};

// ---- the Chinese remainder theorem -----------------------------------------------------------------------

// An integer X below half the product P of the first `count` moduli p, from its residues. With M = P / p and
// y the inverse of M mod p, it is the sum of M (y r mod p), less a multiple of P: that which is nearest.
//
// Large numbers are sums of pieces of 32 bits, the highest first, each a double. A sum of pieces times what
// comes from two residues stays below 2^53 units of the piece, so it is exact; and vectors can do the same.
class residue_system {
public:
    static constexpr int most_pieces = 5, piece_bits = 32, most_pairs = (most_moduli + 1) / 2;

    [[gnu::cold]] constexpr explicit residue_system(int count) : count_(count) {
        large const product = product_without(count, count);
        int bits = 32 * large::limbs;
        while (!product.bit(bits - 1)) --bits;
        pieces_ = (bits + piece_bits - 1) / piece_bits;
        for (int t = 0; t < pieces_; ++t) {
            int const unit = bits - piece_bits * (t + 1);
            units_[t] = unit < 0 ? 0 : unit;
            roundings_[t] = 0x1.8p52 * (t > 0 ? power(units_[t - 1]) : 1);
        }
        split(product, whole_);
        double p = 1;
        for (int x = 0; x < count; ++x) p *= moduli[x];
        reciprocal_ = 1 / p;
        for (int x = 0; x < count; ++x) {
            modulus const mod(moduli[x]);
            std::uint64_t const rest = product_without(x, x).mod(mod);
            while (mod.of(rest * static_cast<unsigned>(inverses_[x])) != 1) ++inverses_[x];
        }
        for (int x = 0; x < pairs(); ++x) {
            bool const alone = 2 * x + 1 == count;
            split(product_without(2 * x, alone ? count : 2 * x + 1), cofactors_[x]);
            factors_[x][0] = alone ? 1 : moduli[2 * x + 1];
            factors_[x][1] = alone ? 0 : moduli[2 * x];
        }
    }

    constexpr int count() const { return count_; }
    constexpr int pairs() const { return (count_ + 1) / 2; }
    constexpr int pieces() const { return pieces_; }
    constexpr int modulus_of(int i) const { return moduli[i]; }

    // y r mod p for modulus i, where y is what weight() is.
    constexpr int weight(int i) const { return inverses_[i]; }

    // X is the sum over pairs of residues u, v, weighted, of (factor(x, 0) u + factor(x, 1) v) times the
    // number in pieces cofactors(x)[.], less a multiple of the product, which is in pieces whole(.).
    constexpr int factor(int pair, int i) const { return factors_[pair][i]; }
    constexpr double const* cofactors(int pair) const { return cofactors_[pair]; }
    constexpr double const& whole(int piece) const { return whole_[piece]; }
    constexpr double const& reciprocal() const { return reciprocal_; }
    // Added and subtracted again, it rounds to units of the piece above; to integers for the first.
    constexpr double const& rounding(int piece) const { return roundings_[piece]; }

    // weighted(i) is the residue mod moduli[i], times weight(i), centred.
    template <class F>
    twofold integer_of(F const& weighted) const {
        double sum[most_pieces] = {};
        for (int x = 0; x < pairs(); ++x) {
            int pair = factor(x, 0) * weighted(2 * x);
            if (2 * x + 1 < count_) pair += factor(x, 1) * weighted(2 * x + 1);
            for (int t = 0; t < pieces_; ++t) sum[t] += pair * cofactors_[x][t];
        }
        // Two pieces tell the multiple, since X is not close to half the product.
        double const multiple = as_rounded((sum[0] + sum[1]) * reciprocal_ + roundings_[0]) - roundings_[0];
        for (int t = 0; t < pieces_; ++t) sum[t] -= multiple * whole_[t];
        // Balanced pieces: the highest that is not zero has the sign, and no leading bits cancel.
        for (int t = pieces_ - 1; t > 0; --t) {
            double const carry = as_rounded(as_rounded(sum[t] + roundings_[t]) - roundings_[t]);
            sum[t] = as_rounded(sum[t] - carry);
            sum[t - 1] = as_rounded(sum[t - 1] + carry);
        }
        twofold x;
        for (int t = 0; t < pieces_; ++t) x.add(sum[t]);
        return x;
    }

private:
    struct large {
        static constexpr int limbs = 5;
        std::uint32_t limb[limbs] = {1};

        constexpr void multiply(int x) {
            std::uint64_t carry = 0;
            for (auto& l : limb) {
                carry += std::uint64_t{l} * static_cast<unsigned>(x);
                l = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
        }
        constexpr bool bit(int i) const { return limb[i / 32] >> (i % 32) & 1; }
        constexpr std::uint64_t mod(modulus const& m) const {
            std::uint64_t rest = 0;
            for (int t = limbs - 1; t >= 0; --t) rest = m.of((rest << 32) + limb[t]);
            return rest;
        }
    };
    constexpr large product_without(int x, int y) const {
        large p;
        for (int i = 0; i < count_; ++i)
            if (i != x && i != y) p.multiply(moduli[i]);
        return p;
    }
    constexpr void split(large const& x, double (&to)[most_pieces]) const {
        int above = 32 * large::limbs;
        for (int t = 0; t < pieces_; ++t) {
            for (int i = above - 1; i >= units_[t]; --i) to[t] = 2 * to[t] + x.bit(i);
            to[t] *= power(units_[t]);
            above = units_[t];
        }
    }

    int count_, pieces_ = 0;
    int units_[most_pieces] = {};
    double whole_[most_pieces] = {}, roundings_[most_pieces] = {}, reciprocal_ = 0;
    double cofactors_[most_pairs][most_pieces] = {};
    int factors_[most_pairs][2] = {};
    int inverses_[most_moduli] = {};
};

} // namespace ozaki_parts

STRATAGEMM_END
