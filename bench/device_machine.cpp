// Timing on devices.
#include "machine.hpp"

#include <algorithm>

namespace bench {

double device_machine::seconds(runs const& run, long times) {
    synchronize();
    auto const start = std::chrono::steady_clock::now();
    for (long i = 0; i < times; ++i) run(i);
    synchronize();
    return seconds_since(start);
}

// Short kernels are slow for some runs, and a whole sample brings the card to its clock.
double device_machine::warm_up(runs const& run, double) {
    for (int warm = 0; warm < 2; ++warm) seconds(run, 1);
    double estimate = seconds(run, 3) / 3;
    sample(run, estimate);
    return estimate;
}

double device_machine::sample(runs const& run, double& estimate) {
    long const times = std::clamp(long(sample_seconds_ / estimate), 1L, most_);
    return seconds(run, times) / double(times);
}

} // namespace bench
