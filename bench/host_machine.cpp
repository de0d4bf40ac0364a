// The CPU: operands in ordinary memory, time by the clock.
#include "peaks.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>

namespace bench {
namespace {

std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return "unknown";
}

class host_machine final : public machine {
public:
    explicit host_machine(double sample_seconds) : sample_seconds_(sample_seconds) {}

    facts about(std::vector<int> const& threads) override {
        facts list{{"processor", cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) +
                                     " logical cores"}};
        for (int t : threads) {
            std::string s;
            for (auto [e, name] : {std::pair{element::f32, "float"},
                                   {element::f64, "double"},
                                   {element::bf16, "bf16"},
                                   {element::i8, "int8"}})
                if (double const most = arithmetic_peak(e, t); most > 0)
                    s += name + (" " + bench::rate(most)) + " (" + arithmetic_unit(e) + "), ";
            s += "reading " + bench::rate(read_bandwidth(t, 256 << 20)) + " GB/s, copying " +
                 bench::rate(copy_bandwidth(t)) + " GB/s";
            list.emplace_back("peak, " + std::to_string(t) + (t == 1 ? " thread" : " threads"), s);
        }
        return list;
    }

    memory allocate(long bytes) override {
        void* const p = std::aligned_alloc(64, std::size_t(bytes / 64 + 2) * 64);
        if (!p) throw std::bad_alloc();
        return {p, &std::free};
    }
    void upload(void* to, long at, void const* from, long bytes) override {
        std::memcpy(static_cast<char*>(to) + at, from, std::size_t(bytes));
    }
    void download(void* to, void const* from, long at, long bytes) override {
        std::memcpy(to, static_cast<char const*>(from) + at, std::size_t(bytes));
    }
    bool is_host() const override { return true; }

    double warm_up(runs const&, double first) override { return first; }
    double sample(runs const& run, double& estimate) override {
        // Untimed: wake the threads, fill the caches, reach the clock of this instruction mix. A product of
        // many milliseconds does so by itself.
        auto start = std::chrono::steady_clock::now();
        for (double t = 0; t < sample_seconds_ / 5 && estimate < sample_seconds_; t = seconds_since(start)) {
            run(0);
            estimate = std::min(estimate, seconds_since(start) - t);
        }

        // In chunks, so that a first run that was slow does not cut the sample short.
        long const at_once = std::max(1L, long(sample_seconds_ / 4 / estimate));
        long times = 0;
        double elapsed = 0;
        start = std::chrono::steady_clock::now();
        while (elapsed < sample_seconds_) {
            for (long j = 0; j < at_once; ++j) run(0);
            times += at_once;
            elapsed = seconds_since(start);
        }
        estimate = std::min(estimate, elapsed / double(times));
        return elapsed / double(times);
    }

    double peak(problem const& p, limit l) override {
        double const arithmetic = arithmetic_peak(p.type, p.threads);
        if (l == limit::arithmetic) return arithmetic;
        return std::min(arithmetic, read_bandwidth(p.threads, p.bytes()) * p.flops() / p.bytes());
    }

private:
    double sample_seconds_;
};

} // namespace

std::unique_ptr<machine> make_host_machine(double sample_seconds) {
    return std::make_unique<host_machine>(sample_seconds);
}

} // namespace bench
