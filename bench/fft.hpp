// What the benchmarks of transforms share: a race of several ways to do one case (fft_exact.hpp), whose results are
// printed as a table. An iteration is a round: the ways take turns, the order alternates, and each takes a sample of
// some milliseconds. Counters are medians over rounds: microseconds of the library and, by their names, of the others;
// the ratio to the best peer; the error of each, which is the 2-norm of the difference over that of the result; and
// "error ratio", that of the library over FFTW's, or over the best peer's where there is no FFTW.
#pragma once

#include "fft_exact.hpp"
#include "median.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <functional>
#include <map>

namespace bench {

// A way to do a case. run(times) does it `calls` times so often, and returns when all are done.
struct fft_way {
    std::string name;
    std::function<void(long times)> run;
    bool is_peer = true; // one that the ratio may be to
    double error = -1;   // below 0: the way transforms nothing
    std::string how{};   // ways are compared with those that have the same word here
    long calls = 1, times = 1;
    std::vector<double> seconds{}; // of one call, a sample a round
};
// How many times as fast as the other the first is.
inline double ratio(fft_way const& first, fft_way const& other) {
    std::vector<double> of_round;
    for (std::size_t r = 0; r < first.seconds.size(); ++r)
        of_round.push_back(other.seconds[r] / first.seconds[r]);
    return median(of_round);
}

// Takes turns. `clock` says the time in seconds.
inline void race(benchmark::State& state, std::vector<fft_way>& all, std::function<double()> const& clock,
                 double sample = 4e-3) {
    for (fft_way& one : all) {
        one.run(1);
        double const begin = clock();
        one.run(1);
        one.times = std::clamp(static_cast<long>(sample / (clock() - begin + 1e-9)), 1L, 10000L);
        one.run(one.times);
    }
    for (auto _ : state) {
        bool const backwards = all[0].seconds.size() % 2;
        for (std::size_t turn = 0; turn < all.size(); ++turn) {
            fft_way& one = all[backwards ? all.size() - 1 - turn : turn];
            double const begin = clock();
            one.run(one.times);
            one.seconds.push_back((clock() - begin) / double(one.times * one.calls));
        }
        state.SetIterationTime(all[0].seconds.back());
    }
}

// Prints a line for each case, and at the end the means of the ratios to each of the others.
class fft_table : public benchmark::BenchmarkReporter {
public:
    // Google Benchmark would list results in its own way.
    explicit fft_table(std::vector<std::string> about) : about_(std::move(about)) {}
    bool ReportContext(Context const&) override {
        for (std::string const& line : about_) std::printf("%s\n", line.c_str());
        std::printf("\nus, and in parentheses how many times as fast the library is; the errors are relative "
                    "2-norms\n");
        return true;
    }
    void ReportRuns(std::vector<Run> const& runs) override {
        for (Run const& run : runs)
            if (run.error_occurred)
                std::printf("%-44s %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
    }

    // A line for each word `how`. The first way with it is the library's.
    void add(benchmark::State& state, fft_case const& c, std::vector<fft_way> const& all) {
        std::vector<std::string> hows;
        for (fft_way const& one : all)
            if (std::find(hows.begin(), hows.end(), one.how) == hows.end()) hows.push_back(one.how);
        for (std::string const& how : hows) {
            std::vector<fft_way> some;
            for (fft_way const& one : all)
                if (one.how == how) some.push_back(one);
            add_line(state, c, some, how);
        }
    }
    void Finalize() override {
        for (auto const& [name, all] : ratios_) {
            double logs = 0;
            for (double const x : all) logs += std::log(x);
            std::printf("ratio to %s: geometric mean %.2f of %zu cases, worst %.2f\n", name.c_str(),
                        std::exp(logs / double(all.size())), all.size(),
                        *std::min_element(all.begin(), all.end()));
        }
    }

private:
    static std::string number(char const* format, double value) {
        char text[40];
        std::snprintf(text, sizeof text, format, value);
        return text;
    }
    void add_line(benchmark::State& state, fft_case const& c, std::vector<fft_way> const& some,
                  std::string const& how) {
        fft_way const& ours = some[0];
        std::string const prefix = how.empty() ? "" : how + " ", name = prefix + c.name();
        fft_way const* best = nullptr;
        std::string line =
            name + std::string(std::max<std::size_t>(1, 48 - std::min<std::size_t>(48, name.size())), ' ') +
            number("%.2f", median(ours.seconds) * 1e6);
        state.counters[prefix + "us"] = median(ours.seconds) * 1e6;
        for (fft_way const& one : some) {
            if (&one == &ours) continue;
            double const times = ratio(ours, one);
            state.counters[prefix + one.name] = median(one.seconds) * 1e6;
            line += "  " + one.name + number(" %.2f", median(one.seconds) * 1e6) + number(" (%.2f)", times);
            ratios_[prefix + one.name].push_back(times);
            if (one.is_peer && (!best || times < ratio(ours, *best))) best = &one;
        }
        if (best) {
            double const least = ratio(ours, *best);
            state.counters[prefix + "ratio"] = least;
            state.SetLabel(best->name);
            ratios_[prefix + "the best of each case"].push_back(least);
            line += number("  ratio %.2f", least);
        }
        std::printf("%s%s\n", line.c_str(), errors(state, some).c_str());
        std::fflush(stdout);
    }
    // Those of the case, as words.
    static std::string errors(benchmark::State& state, std::vector<fft_way> const& all) {
        fft_way const* other = nullptr;
        for (fft_way const& one : all) {
            if (one.error < 0) continue;
            state.counters[&one == &all[0] ? "error" : one.name + " error"] = one.error;
            if (&one == &all[0] || (other && other->name == "FFTW")) continue;
            if (!other || one.name == "FFTW" || one.error < other->error) other = &one;
        }
        if (all[0].error < 0) return "";
        std::string const words = number("  error %.2e", all[0].error);
        if (!other) return words;
        state.counters["error ratio"] = all[0].error / other->error;
        return words + number(", %.2f of ", all[0].error / other->error) + other->name + "'s";
    }

    std::vector<std::string> about_;
    std::map<std::string, std::vector<double>> ratios_;
};

// The main part of a program: registers the cases and runs those that the flags of Google Benchmark name. Its own way to
// show results is used where they name a format. Where something is missing, a device say, it returns 77.
inline int run_ffts(int argc, char** argv, std::vector<fft_case> const& cases, fft_table& table,
                    std::string const& missing,
                    std::function<void(benchmark::State&, fft_case const&)> const& run) {
    constexpr int rounds = 11;
    bool own_table = true, lists = false;
    for (int i = 1; i < argc; ++i) {
        own_table &= std::string(argv[i]).rfind("--benchmark_format", 0) != 0;
        lists |= std::string(argv[i]).rfind("--benchmark_list_tests", 0) == 0;
    }
    if (!missing.empty() && !lists) {
        std::printf("skipped: %s\n", missing.c_str());
        return 77;
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    for (fft_case const& c : cases)
        benchmark::RegisterBenchmark(c.name().c_str(), [&run, c](benchmark::State& s) { run(s, c); })
            ->UseManualTime()
            ->Iterations(rounds);
    return (own_table ? benchmark::RunSpecifiedBenchmarks(&table) : benchmark::RunSpecifiedBenchmarks()) == 0;
}

} // namespace bench
