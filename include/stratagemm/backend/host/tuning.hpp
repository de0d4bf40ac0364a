// sg::tune(cpu): measures how fast the tile unit of AMX is beside vectors on this machine, and keeps that rate in the
// cache, for estimate() and for layers that choose by estimates (host/rates.hpp).
//
// No other function measures. Clocks change, and the unit of a virtual machine is shared: a longer measurement sees
// more of these changes. The rate that is kept is that of the slowest tenth of the rounds.
#pragma once

#include "../../core/matrix.hpp"
#include "../../core/policy.hpp"
#include "../../device/program_store.hpp"
#include "../host.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

STRATAGEMM_BEGIN

// Rates are relative to those of the table of host/rates.hpp.
struct host_tuned {
    double before = 0,
           after = 0; // the rate of the tile unit beside vectors: as assumed until now, and as measured
    int measured = 0; // rounds
};

// Rounds begin for `seconds` seconds; there is at least one round.
inline result<host_tuned> tune(host const& cpu, double seconds = 60) {
    using clock = std::chrono::steady_clock;
    if (status s = isa_status(); !s) return s;
    if (current_isa().isa != host_isa::amx)
        return error(errc::unsupported,
                     "tune: this CPU has no tile unit (AMX), or STRATAGEMM_ISA keeps it from being used; "
                     "there is nothing else to tune on the host");
    constexpr index_t n = 1024;
#ifdef __cpp_exceptions
    try {
#endif
        matrix<std::int8_t> const a(n, n, [](index_t i, index_t j) { return (i * 7 + j * 3) % 255 - 127; });
        matrix<float> const x(n, n, [&](index_t i, index_t j) { return a(i, j) / 128.0f; });
        matrix<std::int32_t> c(n, n);
        matrix<float> y(n, n);
        status failed;
        auto const time_of = [&](auto const& p, int times) {
            auto const start = clock::now();
            for (int i = 0; i < times && failed; ++i) failed = run(cpu, p);
            return std::chrono::duration<double>(clock::now() - start).count() / times;
        };
        // Both parts of a round take about as long: a unit that slows down when it works for long is measured at that
        // speed.
        constexpr double ratio = host_rates::int8 / host_rates::vectors;
        auto const round = [&] {
            double const vectors = time_of(product(x, x, y), 1),
                         tiles = time_of(product(a, a, c), static_cast<int>(ratio));
            return vectors / tiles / ratio;
        };
        host_tuned found;
        found.before = host_tile_rate::get();
        std::vector<double> rates;
        auto const end = clock::now() + std::chrono::duration<double>(seconds);
        time_of(product(x, x, y), 1), time_of(product(a, a, c), 1); // memory is touched, threads are started
        do rates.push_back(round());
        while (failed && clock::now() < end);
        if (!failed) return failed;
        std::sort(rates.begin(), rates.end());
        int const rate = static_cast<int>(
            std::clamp<double>(1e3 * rates[rates.size() / 10], host_tile_rate::least, host_tile_rate::most));
        program_store::standard().store(host_tile_rate::key(), std::to_string(rate));
        host_tile_rate::set(rate);
        found.after = host_tile_rate::get(), found.measured = static_cast<int>(rates.size());
        return found;
#ifdef __cpp_exceptions
    } catch (error const& e) { // no memory for the operands
        return e;
    } catch (std::bad_alloc const&) {
        return error(errc::memory, "tune: no host memory is left");
    }
#endif
}

STRATAGEMM_END
