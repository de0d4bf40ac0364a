// What a device can do at most, measured by kernels of the dialect: multiply-adds from registers, and reads from shared
// memory, from the cache of the device and from its memory. A device that is a CPU has the ceilings of the CPU.
#pragma once

#include "machine.hpp"
#include "roofline.hpp"

#include <stratagemm/device/dialect.hpp>

#include <chrono>
#include <thread>

namespace bench {

inline constexpr char ceilings_text[] = R"(
#ifdef T
#define EACH_16(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define BEGIN_CHAIN(i) T x##i = (T)(ITEM + i);
#define STEP_CHAIN(i) x##i = fma(x##i, a, b);
#define END_CHAIN(i) + x##i
KERNEL(256) multiply_adds(index steps, T a, T b, BUFFER(T, out)) {
    OPEN(T, out);
    EACH_16(BEGIN_CHAIN)
    for (index at = 0; at < steps; ++at) { EACH_16(STEP_CHAIN) }
    T const all = 0 EACH_16(END_CHAIN);
    if (all == (T)0.12345) STORE(T, out, 0, all); /* never, but the compiler does not know */
}
#else
KERNEL(256) read_memory(BUFFER(float const, x), index count, index repeats, BUFFER(float, out)) {
    OPEN(float const, x);
    OPEN(float, out);
    float all = 0;
    for (index r = 0; r < repeats; ++r)
        for (EACH(at, count)) {
            VECTOR(float, 4) const v = LOAD_VECTOR(float, 4, x, 4 * at);
            all += v.x + v.y + v.z + v.w;
        }
    if (all == 0.12345f) STORE(float, out, 0, all);
}
KERNEL(256) read_shared(index repeats, BUFFER(float, out)) {
    SHARED float x[4096];
    OPEN(float, out);
    for (int i = ITEM; i < 4096; i += 256) x[i] = (float)i;
    BARRIER();
    float first = 0, second = 0;
    for (index r = 0; r < repeats; ++r) {
        int const at = (int)((ITEM + r * 32) & 2047);
        for (int i = 0; i < 2048; i += 256) first += x[at + i], second += x[at + i + 128];
    }
    if (first + second == 0.12345f) STORE(float, out, 0, first);
}
#endif
)";

// The seconds of the fastest of some launches.
template <class Policy, class F>
double fastest_launch(Policy const& gpu, F const& launch) {
    double least = 1e9;
    for (int i = 0; i < 6; ++i) {
        gpu.leaf().synchronize().or_throw();
        auto const start = std::chrono::steady_clock::now();
        launch().or_throw();
        gpu.leaf().synchronize().or_throw();
        double const passed = seconds_since(start);
        if (i > 0) least = std::min(least, passed); // the first one compiles
    }
    return least;
}

template <class Policy>
class device_ceilings {
    template <class T>
    using matrix = typename Policy::template matrix<T>;

public:
    explicit device_ceilings(Policy const& gpu) : gpu_(gpu), out_(gpu, 1, 1) {}

    ceilings measure() {
        if (gpu_.leaf().limits().is_cpu) return of_processor();
        ceilings most;
        most.units.push_back({element::f32, "multiply-adds", arithmetic<float>("float")});
        if (gpu_.leaf().limits().has_double)
            most.units.push_back({element::f64, "multiply-adds", arithmetic<double>("double")});
        most.levels.push_back({"shared memory", shared()});
        most.levels.push_back({"cache", reads(1 << 11)});
        most.levels.push_back({"memory", reads(1 << 14)});
        return most;
    }

private:
    static constexpr stratagemm::index_t groups = 1 << 12;

    static ceilings of_processor() {
        int const threads = int(std::thread::hardware_concurrency());
        ceilings most;
        for (element const type : {element::f32, element::f64})
            most.units.push_back({type, arithmetic_unit(type), arithmetic_peak(type, threads)});
        most.levels = memory_levels(threads);
        return most;
    }

    static stratagemm::device_kernel kernel(char const* name, std::string definitions = "",
                                            bool uses_double = false) {
        return {name, ceilings_text, std::move(definitions), 256, uses_double};
    }

    template <class T>
    double arithmetic(std::string const& type) const {
        matrix<T> out(gpu_, 1, 1);
        stratagemm::index_t const steps = 4096;
        auto const run = kernel("multiply_adds", "#define T " + type + "\n", sizeof(T) == 8);
        double const flops = 2.0 * 16 * 256 * double(steps) * double(groups);
        return 1e-9 * flops / fastest_launch(gpu_, [&] {
                   return gpu_.leaf().launch(run, groups, steps, T(0.999), T(0.001), out.data());
               });
    }
    // Matrices of side x side floats, which together have about as many bytes as eight readings of the larger one.
    double reads(stratagemm::index_t side) {
        matrix<float> const x(gpu_, side, side);
        stratagemm::index_t const count = side * side / 4, repeats = (stratagemm::index_t{1} << 29) / count;
        double const bytes = 16.0 * double(count) * double(repeats);
        auto const run = kernel("read_memory");
        return 1e-9 * bytes / fastest_launch(gpu_, [&] {
                   return gpu_.leaf().launch(run, groups, x.data(), count, repeats, out_.data());
               });
    }
    double shared() {
        stratagemm::index_t const repeats = 4096;
        auto const run = kernel("read_shared");
        double const bytes = 16.0 * 4 * 256 * double(repeats) * double(groups);
        return 1e-9 * bytes /
               fastest_launch(gpu_, [&] { return gpu_.leaf().launch(run, groups, repeats, out_.data()); });
    }

    Policy gpu_;
    matrix<float> out_;
};

} // namespace bench
