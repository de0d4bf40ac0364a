// Tuning: the fastest tile for a product on the device at hand, looked for under a budget of time.
//
// What cannot be compiled or does not fit is not tried. Each candidate is compiled, its result is checked against
// sums on the host, and it is timed; what is found is kept for products of about that size.
#pragma once

#include "../../../core/matrix.hpp"
#include "../../../jit/search.hpp"
#include "../matrix.hpp"
#include "store.hpp"

#include <algorithm>
#include <chrono>

STRATAGEMM_BEGIN

struct opencl_tuning_options {
    double seconds = 60; // after which nothing new is tried
    std::uint64_t seed = 1;
    // Called for each candidate with its time, or -1 if it failed, and with the best so far.
    std::function<void(opencl_tile const& tile, double seconds, double best)> progress;
};
struct opencl_tuned {
    opencl_tile tile;               // the best; none if nothing could be run
    double before = -1, after = -1; // seconds of one product: as chosen until now, and with the tile
    int measured = 0;
};

// Candidates for sums of `scalar` bytes; `complex` ones have no vectors.
inline search_problem opencl_candidates(opencl_device const& d, char sums, std::size_t scalar) {
    bool const complex = sums == 'c' || sums == 'z', cpu = d.family == opencl_family::cpu;
    search_problem p;
    std::vector<short> const lanes = complex ? std::vector<short>{1}
                                     : cpu   ? std::vector<short>{1, 4, 8, 16}
                                             : std::vector<short>{1, 2, 4};
    p.values = {{1, 2, 4, 8, 16, 32},
                {1, 2, 4, 8, 16, 32},
                {1, 2, 4, 8, 16},
                {1, 2, 4, 8, 16},
                {4, 8, 16, 32, 64},
                cpu ? std::vector<short>{1, 2, 4} : std::vector<short>{4, 8, 16, 32},
                lanes,
                lanes,
                lanes,
                lanes,
                {1, 2},
                {0, 4},
                {1, 4, 8, 16},
                cpu ? std::vector<short>{1} : std::vector<short>{1, 2, 4},
                cpu ? std::vector<short>{0} : std::vector<short>{0, 1}};
    p.legal = [d, scalar, cpu](search_point const& x) {
        opencl_tile const t = tile_of(x);
        opencl_form rows;
        rows.aligned = true;
        opencl_tile narrow = t;
        narrow.a_width = narrow.b_width = 1;
        std::size_t const sums_bytes = static_cast<std::size_t>(t.micro_m * t.micro_n) * scalar;
        // PoCL's compiler has aborted on bodies with a hundred loads for each of two work-items.
        auto const loads = [&](int side, int width) { return side * t.depth / (t.threads() * width); };
        bool const short_body = loads(t.tile_m(), t.a_width) <= 32 && loads(t.tile_n(), t.b_width) <= 32;
        if (cpu && (t.threads() < 4 || !short_body)) return false;
        return is_legal(t, rows) && is_legal(narrow, rows) && fits_device(t, d, scalar) &&
               sums_bytes <= 512 && (cpu || (t.unroll == t.depth && t.threads() >= 32));
    };
    for (opencl_entry const& e : opencl_entries)
        if (e.family == tuned_like(d.family) && e.sums == (sums == 'i' ? 's' : sums))
            p.known.push_back(values_of(e.tile));
    return p;
}

// C = A B of one size: operands on the device, and elements of the exact result.
template <class T>
class opencl_trial {
    using C = accumulator_t<T>;

public:
    opencl_trial(std::shared_ptr<opencl_session> const& session, index m, index n, index k)
        : a_(m, k, noise(1)), b_(k, n, noise(2)), c_(m, n), device_a_(session, a_), device_b_(session, b_),
          device_c_(session, m, n) {}

    // Seconds of one product, or -1 if the policy fails or is wrong.
    template <class Policy>
    double measure(Policy const& policy) {
        auto const product = stratagemm::product(device_a_, device_b_, device_c_);
        auto arena = policy.reserve(policy.workspace(product.shape()));
        if (!arena || !policy(product, *arena) || !policy.synchronize()) return -1;
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
    static auto noise(unsigned state) {
        return [state](index, index) mutable {
            state = state * 1664525u + 1013904223u;
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(static_cast<int>(state >> 24) - 128);
            else
                return static_cast<T>(static_cast<real_t<T>>(static_cast<double>(state >> 8) * 0x1p-23 - 1));
        };
    }
    bool is_right(double bound) const {
        index const m = c_.rows(), n = c_.cols(), k = a_.cols();
        for (index i = 0; i < m; i += m / 8 + 1)
            for (index j = 0; j < n; j += n / 8 + 1) {
                double sum = 0, size = 0;
                for (index l = 0; l < k; ++l) {
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
    opencl_matrix<T> device_a_, device_b_;
    opencl_matrix<C> device_c_;
};

STRATAGEMM_END
