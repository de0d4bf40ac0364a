// The exact arithmetic of the Ozaki schemes: scaled integers, their digits and residues, and the way back.
//
// Everything here is in integers, or in floating point whose roundings are caught (Ogita, Rump, Oishi: Accurate
// sum and dot product, 2005), so that results do not depend on how a compiler contracts expressions.
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
    for (; e > 1000; e -= 1000) x *= power(1000);
    for (; e < -1000; e += 1000) x *= power(-1000);
    return x * power(e);
}

// ---- scaled integers -------------------------------------------------------------------------------------

// m 2^q with q >= 0 and |m| <= 2^53: a double times a power of two, rounded to an integer of any size.
struct integer {
    std::int64_t m = 0;
    int q = 0;
};

// x 2^shift to the nearest integer, halves upwards.
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
    return {(m + (std::int64_t{1} << (-q - 1))) >> -q, 0};
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
inline constexpr int moduli[most_moduli] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                            223, 217, 211, 199, 197, 193, 191, 181, 179, 173}; // coprime

// The square root of half the product of the first `count`: |A'||B'| may come up to its square. What it lacks,
// 2^-30 of it, is far more than the quotient in residue_system and the norms of lines are wrong by.
inline double room(int count) {
    double p = 0.5;
    for (int i = 0; i < count; ++i) p *= moduli[i];
    return __builtin_sqrt(p) * (1 - 0x1p-30);
}

class modulus {
public:
    constexpr explicit modulus(int p) : p_(static_cast<unsigned>(p)), inverse_(~std::uint64_t{0} / p_) {}

    constexpr unsigned of(std::uint64_t x) const {
        // The estimate of the quotient is at most one too small.
        auto const quotient = static_cast<std::uint64_t>(static_cast<unsigned __int128>(x) * inverse_ >> 64);
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

// ---- two doubles -----------------------------------------------------------------------------------------

// A sum of two doubles, with about twice the bits of one.
struct twofold {
    double high = 0, low = 0;

    void add(double x) {
        double const s = high + x, t = s - high;
        low += (high - (s - t)) + (x - t);
        high = s;
    }
    void add_product(double x, double y) {
        double const p = x * y;
        add(p);
        low += __builtin_fma(x, y, -p);
    }
    void add_product(double x, twofold y) {
        add_product(x, y.high);
        low = __builtin_fma(x, y.low, low);
    }
    double value() const {
        double const v = high + low;
        return v == v ? v : high; // what overflows is carried by `high`
    }
};

// ---- the Chinese remainder theorem -----------------------------------------------------------------------

// An integer below half the product P of the first `count` moduli p, from its residues. With M = P / p and y the
// inverse of M mod p, it is the sum of M (y r mod p), less a multiple of P: that which is nearest.
class residue_system {
public:
    constexpr explicit residue_system(int count) : count_(count) {
        whole_ = product_without(count);
        for (int i = 0; i < count; ++i) {
            cofactors_[i] = product_without(i);
            modulus const mod(moduli[i]);
            std::uint64_t rest = 0;
            for (int t = limbs - 1; t >= 0; --t)
                rest = mod.of((rest << limb_bits) + static_cast<std::uint64_t>(cofactors_[i].limb[t]));
            while (mod.of(rest * static_cast<unsigned>(inverses_[i])) != 1) ++inverses_[i];
            fractions_[i] = (std::int64_t{1} << fraction_bits) / moduli[i];
        }
    }

    constexpr int count() const { return count_; }

    // y r mod p for modulus i, where y is what weight() is.
    constexpr int weight(int i) const { return inverses_[i]; }

    // weighted(i) is the residue mod moduli[i], times weight(i), centred.
    template <class F>
    twofold integer_of(F const& weighted) const {
        std::int64_t sum[limbs] = {}, fraction = std::int64_t{1} << (fraction_bits - 1);
        for (int i = 0; i < count_; ++i) {
            std::int64_t const r = weighted(i);
            fraction += r * fractions_[i];
            for (int t = 0; t < limbs; ++t) sum[t] += r * cofactors_[i].limb[t];
        }
        std::int64_t const quotient = fraction >> fraction_bits;
        for (int t = 0; t < limbs; ++t) sum[t] -= quotient * whole_.limb[t];
        // Balanced limbs: the highest that is not zero has the sign, and no leading bits cancel.
        for (int t = 0; t + 1 < limbs; ++t) {
            std::int64_t const carry = (sum[t] + (std::int64_t{1} << (limb_bits - 1))) >> limb_bits;
            sum[t] -= carry * (std::int64_t{1} << limb_bits);
            sum[t + 1] += carry;
        }
        twofold x;
        for (int t = limbs - 1; t >= 0; --t) x.add(static_cast<double>(sum[t]) * power(limb_bits * t));
        return x;
    }

private:
    // P < 2^155 in limbs that hold a sum of twenty products with int8.
    static constexpr int limbs = 4, limb_bits = 48, fraction_bits = 55;
    struct large {
        std::int64_t limb[limbs] = {};
    };

    constexpr large product_without(int left_out) const {
        large x;
        x.limb[0] = 1;
        for (int i = 0; i < count_; ++i) {
            if (i == left_out) continue;
            std::int64_t carry = 0;
            for (auto& l : x.limb) {
                std::int64_t const y = l * moduli[i] + carry;
                carry = y >> limb_bits;
                l = y - (carry << limb_bits);
            }
        }
        return x;
    }

    int count_;
    large whole_{};
    large cofactors_[most_moduli] = {};
    std::int64_t fractions_[most_moduli] = {};
    int inverses_[most_moduli] = {};
};

} // namespace ozaki_parts

STRATAGEMM_END
