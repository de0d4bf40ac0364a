// Random numbers whose exponents are spread, and some rows of a product in about twice its precision, to
// measure errors by.
#pragma once

#include "contender.hpp"

#include <stratagemm/backend/reference.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace bench {

// (u - 1/2) exp(phi g), u uniform and g normal; phi = 1/2 is like data that nobody has scaled.
template <class T>
std::vector<T> draw(long count, double phi, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> g;
    std::vector<T> x(static_cast<std::size_t>(count));
    for (T& v : x) v = static_cast<T>((double(random() >> 11) * 0x1p-53 - 0.5) * std::exp(phi * g(random)));
    return x;
}

template <class T>
class oracle {
public:
    // `rows` of them, spread over all.
    oracle(problem const& p, T const* a, T const* b, long rows) : p_(p) {
        for (long r = 0; r < std::min(rows, p.m); ++r) at_.push_back(r * p.m / std::min(rows, p.m));
        sums_.resize(at_.size() * std::size_t(p.n)), sizes_.resize(sums_.size());
#pragma omp parallel for schedule(dynamic)
        for (std::size_t r = 0; r < at_.size(); ++r) row(a + at_[r] * p.k, b, r * std::size_t(p.n));
        auto const largest = [](T const* x, long count) {
            double most = 0;
            for (long i = 0; i < count; ++i) most = std::max(most, std::abs(double(x[i])));
            return most;
        };
        norm_ = double(p.k) * largest(a, p.m * p.k) * largest(b, p.k * p.n);
    }

    // max |dC| / (|A||B|)
    double error(T const* c) const {
        double worst = 0;
        for (std::size_t r = 0; r < at_.size(); ++r)
            for (long j = 0; j < p_.n; ++j) {
                std::size_t const x = r * std::size_t(p_.n) + std::size_t(j);
                double const off = double(c[at_[r] * p_.n + j]) - sums_[x].high;
                double const error = std::abs(off - low(sums_[x])) / sizes_[x];
                if (!(error <= worst)) worst = error;
            }
        return worst;
    }

    // What a normwise bound of 1 amounts to in that measure.
    double norm_over_least() const { return norm_ / *std::min_element(sizes_.begin(), sizes_.end()); }

private:
    using sum = stratagemm::wide_sum<T>;

    static double low(sum const& s) {
        if constexpr (requires { s.low; })
            return s.low;
        else
            return 0;
    }
    void row(T const* a, T const* b, std::size_t to) {
        for (long l = 0; l < p_.k; ++l)
            for (long j = 0; j < p_.n; ++j) {
                sums_[to + std::size_t(j)].add_product(a[l], b[l * p_.n + j]);
                sizes_[to + std::size_t(j)] += std::abs(double(a[l]) * double(b[l * p_.n + j]));
            }
    }

    problem p_;
    std::vector<long> at_;
    std::vector<sum> sums_;
    std::vector<double> sizes_; // |A||B|
    double norm_ = 0;
};

} // namespace bench
