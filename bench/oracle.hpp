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
    using real = stratagemm::real_t<T>;
    std::mt19937_64 random(seed);
    std::normal_distribution<double> g;
    std::vector<T> x(static_cast<std::size_t>(count));
    auto const one = [&] {
        return static_cast<real>((double(random() >> 11) * 0x1p-53 - 0.5) * std::exp(phi * g(random)));
    };
    for (T& v : x)
        if constexpr (stratagemm::complex_like<T>) {
            real const re = one();
            v = T(re, one());
        } else {
            v = one();
        }
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
                if (worst <= error || std::isnan(error)) worst = error; // once NaN, it stays
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

// Some elements of a product: of 8 rows of C, the first and the last among them, 25 columns each. For products that
// are too large to compute rows of on the host. Element i of A is a[i % size of a], row by row; likewise of B.
template <class T>
class sampled_oracle {
    using real = stratagemm::real_t<T>;
    static constexpr bool is_complex = stratagemm::complex_like<T>;

public:
    static constexpr long most_rows = 8, most_columns = 25;

    sampled_oracle(problem const& p, std::vector<T> const& a, std::vector<T> const& b) : p_(p) {
        rows_ = spread(p.m, most_rows), columns_ = spread(p.n, most_columns);
        auto const at = [](std::vector<T> const& x, long i) { return x[std::size_t(i) % x.size()]; };
        for (long const i : rows_)
            for (long const j : columns_) {
                part re, im;
                for (long l = 0; l < p.k; ++l) {
                    T const x = at(a, i * p.k + l), y = at(b, l * p.n + j);
                    if constexpr (is_complex) {
                        re.add(x.real(), y.real()), re.add(-x.imag(), y.imag());
                        im.add(x.real(), y.imag()), im.add(x.imag(), y.real());
                    } else {
                        re.add(x, y);
                    }
                }
                parts_.push_back(re);
                if constexpr (is_complex) parts_.push_back(im);
            }
    }
    std::vector<long> const& rows() const { return rows_; }

    // max |dC| / (|A||B|), of complex elements by parts; c: the rows alone, one after the other.
    double error(T const* c) const {
        double worst = 0;
        auto which = parts_.begin();
        for (std::size_t r = 0; r < rows_.size(); ++r)
            for (long const j : columns_) {
                T const x = c[long(r) * p_.n + j];
                auto const judge = [&](real seen) {
                    part const& of = *which++;
                    double const error = of.off(double(seen)) / of.size;
                    if (worst <= error || std::isnan(error)) worst = error; // once NaN, it stays
                };
                if constexpr (is_complex)
                    judge(x.real()), judge(x.imag());
                else
                    judge(x);
            }
        return worst;
    }

private:
    struct part {
        stratagemm::wide_sum<real> sum{};
        double size = 0; // |A||B|

        void add(real x, real y) {
            sum.add_product(x, y);
            size += std::abs(double(x) * double(y));
        }
        double off(double seen) const {
            double low = 0;
            if constexpr (requires { sum.low; }) low = sum.low;
            return std::abs((seen - sum.high) - low);
        }
    };
    static std::vector<long> spread(long count, long most) {
        std::vector<long> at;
        long const many = std::min(count, most);
        for (long x = 0; x < many; ++x) at.push_back(many == 1 ? 0 : x * (count - 1) / (many - 1));
        return at;
    }

    problem p_;
    std::vector<long> rows_, columns_;
    std::vector<part> parts_;
};

} // namespace bench
