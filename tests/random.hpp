// The random numbers of all tests: the same on every machine, unlike those of the distributions of <random>.
//
// Each number depends on the seed and on how many were drawn before it, so a test that fails does so again.
#pragma once

#include <stratagemm/core/matrix.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace support {

namespace sg = stratagemm;

// splitmix64: a counter whose bits are mixed. G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014.
class random_source {
public:
    explicit random_source(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    int below(int n) { return static_cast<int>(next() % static_cast<unsigned>(n)); } // 0 to n - 1
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }            // in [0, 1)
    double uniform(double low, double high) { return low + (high - low) * unit(); }
    double normal() {
        double const r = std::sqrt(-2 * std::log(unit() + 0x1p-60));
        return r * std::cos(6.283185307179586 * unit());
    }

    // Uniform in [-1, 1), times 2^low, ... or 2^high, each as likely.
    double over_binades(int low, int high) {
        double const x = uniform(-1, 1);
        return std::ldexp(x, low + below(high - low + 1));
    }
    // (u - 1/2) exp(phi g): phi says how far the exponents spread, as in docs/accuracy.md.
    double spread(double phi) {
        double const x = uniform(-0.5, 0.5);
        return x * std::exp(phi * normal());
    }

private:
    std::uint64_t state_;
};

// A number of any element type; im is left out of real ones. An integer type wraps,
// and takes its least number for Inf and NaN.
template <class T>
T make(double re, double im = 0) {
    using R = sg::real_t<T>;
    if constexpr (std::is_integral_v<T>)
        return std::isfinite(re) ? static_cast<T>(static_cast<std::int64_t>(re))
                                 : std::numeric_limits<T>::min();
    else if constexpr (sg::complex_like<T>)
        return T(static_cast<R>(re), static_cast<R>(im));
    else
        return static_cast<T>(static_cast<R>(re));
}
// The same of one call of draw(), or of two for complex types.
template <class T, class Draw>
T make_by(Draw&& draw) {
    double const re = draw();
    return make<T>(re, sg::complex_like<T> ? draw() : 0);
}

// ---- matrices --------------------------------------------------------------------------------------------

// Each number of it is draw(random_source&).
template <class T, class Draw>
sg::matrix<T> random_matrix(sg::index_t m, sg::index_t n, std::uint64_t seed, sg::layout order, Draw&& draw) {
    random_source from(seed);
    auto const one = [&] { return static_cast<double>(draw(from)); };
    return sg::matrix<T>(
        m, n, [&](sg::index_t, sg::index_t) { return make_by<T>(one); }, order);
}

// Integers from -3 to 3: exact in every type, and so are short sums of their products.
template <class T>
sg::matrix<T> integers(sg::index_t m, sg::index_t n, std::uint64_t seed,
                       sg::layout order = sg::layout::row_major) {
    return random_matrix<T>(m, n, seed, order, [](random_source& from) { return from.below(7) - 3; });
}
// Uniform in [-1/2, 1/2), with so many bits that each rounding shows.
template <class T>
sg::matrix<T> fractions(sg::index_t m, sg::index_t n, std::uint64_t seed,
                        sg::layout order = sg::layout::row_major) {
    return random_matrix<T>(m, n, seed, order, [](random_source& from) { return from.uniform(-0.5, 0.5); });
}
// Fractions whose exponents spread by phi.
template <class T>
sg::matrix<T> spread_out(sg::index_t m, sg::index_t n, double phi, std::uint64_t seed,
                         sg::layout order = sg::layout::row_major) {
    return random_matrix<T>(m, n, seed, order, [phi](random_source& from) { return from.spread(phi); });
}

} // namespace support
