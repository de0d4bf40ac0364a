// What a tuner measures: a product of one size, timed, and checked at some of its elements.
#pragma once

#include "device_matrix.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

STRATAGEMM_BEGIN

// C = A B: operands on the device of a policy, and elements of the exact result.
template <class T, class Policy>
class tuning_trial {
    using C = accumulator_t<T>;

public:
    tuning_trial(Policy const& policy, index_t m, index_t n, index_t k)
        : a_(m, k, noise(1)), b_(k, n, noise(2)), c_(m, n), device_a_(policy, a_), device_b_(policy, b_),
          device_c_(policy, m, n) {}

    // Seconds of one product, or -1 if the policy fails or is wrong.
    double measure(Policy const& policy) {
        auto const product = stratagemm::product(device_a_, device_b_, device_c_);
        auto arena = policy.reserve(policy.workspace(product.shape()));
        if (!arena) return -1;
        for (index_t i = 0; i < c_.rows() * c_.cols(); ++i)
            c_.data()[i] = wrong(); // not what ran before left there
        device_c_.upload(c_);
        if (!policy(product, *arena) || !policy.synchronize()) return -1;
        device_c_.download(c_);
        if (!is_right(policy.error_bound(product.shape()).worst)) return -1;
        auto const timed = [&](int times) {
            auto const start = std::chrono::steady_clock::now();
            for (int i = 0; i < times; ++i)
                if (!policy(product, *arena)) return -1.0;
            if (!policy.synchronize()) return -1.0;
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
        };
        double const once = timed(1);
        if (once < 0) return -1;
        int const times = once > 0.005 ? 1 : static_cast<int>(0.005 / once) + 1;
        std::array<double, 5> samples;
        for (double& s : samples) s = timed(times);
        std::sort(samples.begin(), samples.end());
        return samples[0] < 0 ? -1 : samples[2];
    }

private:
    static C wrong() {
        if constexpr (std::is_integral_v<C>)
            return std::numeric_limits<C>::min();
        else
            return C(std::numeric_limits<real_t<C>>::quiet_NaN());
    }
    static auto noise(unsigned state) {
        return [state](index_t, index_t) mutable {
            state = state * 1664525u + 1013904223u;
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(static_cast<int>(state >> 24) - 128);
            else
                return static_cast<T>(static_cast<real_t<T>>(static_cast<double>(state >> 8) * 0x1p-23 - 1));
        };
    }
    bool is_right(double bound) const {
        index_t const m = c_.rows(), n = c_.cols(), k = a_.cols();
        for (index_t i = 0; i < m; i += m / 8 + 1)
            for (index_t j = 0; j < n; j += n / 8 + 1) {
                double sum = 0, size = 0;
                for (index_t l = 0; l < k; ++l) {
                    double const term = value(a_(i, l)) * value(b_(l, j));
                    sum += term, size += term < 0 ? -term : term;
                }
                double const off = sum - value(c_(i, j));
                if (!((off < 0 ? -off : off) <= bound * size * (1 + 0x1p-40) + size * 0x1p-50)) return false;
            }
        return true;
    }
    template <class X>
    static double value(X const& x) { // operands are real, and so are complex results
        if constexpr (complex_like<X>)
            return static_cast<double>(x.real());
        else
            return static_cast<double>(static_cast<accumulator_t<X>>(x));
    }

    matrix<T> a_, b_;
    matrix<C> c_;
    device_matrix<T, Policy> device_a_, device_b_;
    device_matrix<C, Policy> device_c_;
};

STRATAGEMM_END
