// What measures ways to multiply over one policy against each other: operands where the policy has its memory, a plan's
// prediction beside each way, and rounds that run all ways in turn.
#pragma once

#include "median.hpp"
#include "oracle.hpp"

#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace bench {

namespace sg = stratagemm;
using sg::index_t;

// One way at one place of an axis. `predicted` and `seconds` are those of one product.
struct measured_way {
    std::string line;
    double x;
    double predicted;
    std::function<void()> run;
    std::vector<double> seconds{};
    std::string note{};

    double measured() const { return median(seconds); }
};

template <class T>
sg::matrix<T> random_matrix(index_t rows, index_t cols, unsigned seed) {
    // Large matrices repeat the same numbers, which are quicker to copy than to draw.
    index_t const drawn = std::min(rows * cols, index_t{1048573});
    auto const x = draw<T>(drawn, 0.5, seed);
    return sg::matrix<T>(rows, cols,
                         [&](index_t i, index_t j) { return x[std::size_t((i * cols + j) % drawn)]; });
}

template <class Policy>
class ways_over {
public:
    static constexpr bool on_host = std::is_same_v<typename Policy::space, sg::host_memory>;

    ways_over(Policy over, int rounds) : base(std::move(over)), rounds_(rounds) {}

    template <class T>
    auto there(sg::matrix<T> const& from) const {
        if constexpr (on_host)
            return sg::matrix<T>(from);
        else
            return typename Policy::template matrix<T>(base, from);
    }

    template <class Over, class A, class B, class C>
    static measured_way product(std::string line, double x, Over const& over, A const& a, B const& b, C& c) {
        double const predicted = sg::plan(over, sg::product(a, b, c).shape()).estimate();
        return {std::move(line), x, predicted, [over, &a, &b, &c] { sg::gemm(over, a, b, c); }};
    }

    // Long products have fewer rounds. The first way is the one that tells.
    void race(std::vector<measured_way>& ways) const {
        int const rounds = ways[0].predicted > 0.5 ? std::min(rounds_, 3) : rounds_;
        for (int round = -1; round < rounds; ++round) // the first one warms up
            for (measured_way& w : ways) {
                double const seconds = sample(w);
                if (round >= 0) w.seconds.push_back(seconds);
            }
    }

    Policy base;

private:
    // The seconds of one run, of as many as a sample of 20 ms takes. A device has them queued; the host's one thread is timed by
    // its own clock, which stands still while another program has the processor.
    double sample(measured_way const& w) const {
        for (int runs = 1;; runs *= 2) {
            double const start = now();
            for (int i = 0; i < runs; ++i) w.run();
            base.leaf().synchronize().or_throw();
            double const passed = now() - start;
            if (passed > 20e-3) return passed / runs;
        }
    }
    static double now() {
        if constexpr (on_host) {
            timespec t{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
        } else {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        }
    }

    int rounds_;
};

} // namespace bench
