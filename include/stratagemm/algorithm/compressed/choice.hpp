// How many buckets and sketches a compressed product takes, and how long it takes.
//
// An estimate of C_ij in one sketch is bad with a probability of at most p = Z / b, where Z is
//   the number of elements of C that are not 0, if it is known: then an estimate that is not bad is exact; or
//   |C|^2 / t^2, where t is the error of an element that is allowed (Chebyshev; the variance is at most |C|^2 / b).
// The median of d sketches, d odd, is bad only if (d + 1) / 2 of them are. So all m n medians are good with a
// probability of at least 1 - m n P(at least (d + 1) / 2 of d), a binomial tail, which is less than what d >= 8 ln(m
// n / delta) with b >= 4 Z stands for (Hoeffding). Many small sketches or few large ones: the one that takes less
// time.
#pragma once

#include "../../core/types.hpp"

#include <cstdint>

STRATAGEMM_BEGIN

enum class compressed_form { walsh_hadamard, fourier };

namespace compressed_parts {

inline constexpr int most_sketches = 31, least_bits = 6, most_bits = 24;
inline constexpr int unrolled = 19; // so many sketches have a network of their own, in registers

struct sketch_size {
    int bits = 0, sketches = 0; // 0: none
    index_t buckets() const { return index_t{1} << bits; }
    index_t numbers() const { return sketches * buckets(); }
};

// A network of comparisons that leaves the median of `count` numbers in the middle: Batcher's merge exchange (Knuth,
// The Art of Computer Programming 3, 5.2.2, algorithm M), without what the middle does not depend on.
struct median_network {
    struct step {
        std::uint8_t low, high;
        bool keeps_low, keeps_high; // whether the smaller, and the larger, is read again
    };
    step at[256]{};
    int steps = 0;

    explicit constexpr median_network(int count) {
        int top = 1;
        while (2 * top < count) top *= 2;
        for (int p = top; p > 0 && count > 1; p /= 2)
            for (int q = top, r = 0, apart = p;; apart = q - p, q /= 2, r = p) {
                for (int i = 0; i + apart < count; ++i)
                    if ((i & p) == r)
                        at[steps++] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i + apart),
                                       false, false};
                if (q == p) break;
            }
        prune(count);
    }

private:
    constexpr void prune(int count) {
        bool is_read[most_sketches] = {};
        is_read[count / 2] = true;
        int kept = steps;
        for (int i = steps; i-- > 0;) {
            step s = at[i];
            s.keeps_low = is_read[s.low], s.keeps_high = is_read[s.high];
            if (!s.keeps_low && !s.keeps_high) continue;
            is_read[s.low] = is_read[s.high] = true;
            at[--kept] = s;
        }
        for (int i = kept; i < steps; ++i) at[i - kept] = at[i];
        steps -= kept;
    }
};

// The probability that at least (d + 1) / 2 of d independent events of probability p happen.
inline double most_happen(int d, double p) {
    double sum = 0, choose = 1;
    for (int i = 0; i <= d; ++i) {
        if (2 * i > d) sum += choose * __builtin_pow(p, i) * __builtin_pow(1 - p, d - i);
        choose = choose * (d - i) / (i + 1);
    }
    return sum;
}

// Seconds, roughly: what a core that ran with vectors of 16 floats took for each vector of `lanes` numbers.
struct compressed_times {
    double m, n, k, listed, lanes, threads; // listed: elements of sparse operands

    double of(sketch_size size, compressed_form form) const {
        double const d = size.sketches, b = static_cast<double>(size.buckets()), vector = 1 / lanes;
        double const compared = d + 2 * median_network(size.sketches).steps;
        double const written = m * n * 1e-9;
        if (form == compressed_form::fourier) {
            double const transforms = 2 * d * k * b * (2.5 * size.bits + 6), added = d * k * (m + n);
            double const medians = m * n * (d * 1e-9 + compared * in_memory * vector);
            return ((transforms + added) * 0.5e-9 + medians + written) / threads;
        }
        double const transforms = k * (padded(m) + padded(n)) * vector * 15e-9;
        double const dots = d * b * (k * vector * 1.2e-9 + 12e-9);
        double const medians =
            m * n * vector * (d + compared) * (size.sketches <= unrolled ? in_registers : in_memory);
        return listed * 10e-9 + (transforms + dots + medians + written) / threads;
    }

private:
    static constexpr double in_registers = 0.32e-9, in_memory = 0.7e-9;
    static double padded(double x) {
        double y = 1;
        while (y < x) y *= 2;
        return y;
    }
};

// The size whose medians are all good with a probability of at least 1 - delta, in the least time. Times has m, n and
// of(size, form).
template <class Times>
sketch_size choose_size(double z, double delta, Times const& times, compressed_form form) {
    sketch_size best;
    double least = 0;
    for (int d = 1; d <= most_sketches; d += 2)
        for (int bits = least_bits; bits <= most_bits; ++bits) {
            double const p = z / static_cast<double>(index_t{1} << bits);
            if (p >= 0.5 || times.m * times.n * most_happen(d, p) > delta) continue;
            double const time = times.of({bits, d}, form);
            if (best.sketches == 0 || time < least) best = {bits, d}, least = time;
            break;
        }
    return best;
}

} // namespace compressed_parts

STRATAGEMM_END
