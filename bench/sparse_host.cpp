// The host's products of sparse and dense matrices, against the libraries installed here.
//
//   bench_sparse_host               with the flags of Google Benchmark, such as --benchmark_filter=banded/.*/threads:1
//   bench_sparse_host files         Matrix Market files of 10^7 elements, written and read by one thread
//
// A case is PATTERN/TYPE/threads:THREADS/columns:N, a product C = A B. A is stored by rows of about 20 elements, or is one
// of the kinds of sparse_kinds.hpp (graphs/KIND), B and C by rows of N columns. A is larger than the caches where N is 1
// or 2, and smaller where products take long. An
// iteration is a round: contenders take turns, the order alternates, and each takes a sample of some milliseconds.
// Counters are medians over rounds: GFLOP/s of the library and, by their names, of its peers, and the ratio to the best
// of these. Peers may prepare A before that; the library takes it as it is. Products of banded matrices with a vector
// are also compared with the rate at which the threads copy as many bytes.
#include "median.hpp"
#include "peers/sparse.hpp"
#include "sparse_kinds.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>
#include <stratagemm/structure/matrix_market.hpp>

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sg = stratagemm;

namespace {

using bench::sparse_peer;
using bench::sparse_problem;

// One thread is timed by its own clock, which does not count what other programs take of the processor.
double seconds(int threads) {
    timespec now{};
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
using bench::median;

struct random_source {
    std::uint64_t state;
    std::uint64_t below(std::uint64_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
    }
};

// Where the elements are. Columns are in order.
struct places {
    long rows = 0, cols = 0;
    std::vector<int> begins{0}, columns;
};
places make(std::string const& pattern, long rows) {
    places a;
    a.rows = a.cols = rows;
    random_source from{7};
    std::vector<int> line;
    for (long i = 0; i < rows; ++i) {
        line.clear();
        if (pattern == "banded") {
            for (long j = std::max(0L, i - 10); j <= std::min(rows - 1, i + 10); ++j)
                line.push_back(static_cast<int>(j));
        } else if (pattern == "block") { // of 4 x 4
            random_source same{static_cast<std::uint64_t>(i / 4 + 1)};
            for (int block = 0; block < 5; ++block) {
                auto const first = static_cast<int>(same.below(static_cast<std::uint64_t>(rows / 4))) * 4;
                for (int j = first; j < first + 4; ++j) line.push_back(j);
            }
        } else {
            // The row of rank r, in no order, has about rows / r elements of a power law: 20 on average.
            long const rank = 1 + static_cast<long>(from.below(static_cast<std::uint64_t>(rows)));
            double const share = 4.0 * std::pow(static_cast<double>(rows) / static_cast<double>(rank), 0.8);
            long const length = pattern == "uniform" ? 20 : std::min(static_cast<long>(share), rows / 2);
            for (long e = 0; e < length; ++e)
                line.push_back(static_cast<int>(from.below(static_cast<std::uint64_t>(rows))));
        }
        std::sort(line.begin(), line.end());
        line.erase(std::unique(line.begin(), line.end()), line.end());
        a.columns.insert(a.columns.end(), line.begin(), line.end());
        a.begins.push_back(static_cast<int>(a.columns.size()));
    }
    return a;
}

// Those that are here.
std::vector<sparse_peer const*> const& peers() {
    static std::vector<sparse_peer const*> const here = [] {
        std::vector<sparse_peer const*> all;
#ifdef STRATAGEMM_BENCH_EIGEN
        all.push_back(&bench::sparse_eigen);
#endif
#ifdef STRATAGEMM_BENCH_LIBRSB
        all.push_back(&bench::sparse_librsb);
#endif
        for (bool const with_inspector : {false, true})
            if (auto const* const mkl = bench::open_sparse_mkl(with_inspector)) all.push_back(mkl);
        return all;
    }();
    return here;
}

struct contender {
    std::string name;
    std::function<void()> run;
    std::function<void()> release = [] {};
    bool counts = true;
    std::vector<double> times{}; // of one run, a sample a round
};

// Seconds of one run, in samples of some milliseconds.
void race(benchmark::State& state, std::vector<contender>& all, int threads) {
    std::vector<int> repeats;
    for (contender& one : all) {
        one.run();
        double const begin = seconds(threads);
        one.run();
        repeats.push_back(std::clamp(static_cast<int>(4e-3 / (seconds(threads) - begin + 1e-9)), 1, 10000));
    }
    for (auto _ : state) {
        bool const backwards = all[0].times.size() % 2;
        for (std::size_t turn = 0; turn < all.size(); ++turn) {
            std::size_t const at = backwards ? all.size() - 1 - turn : turn;
            double const begin = seconds(threads);
            for (int r = 0; r < repeats[at]; ++r) all[at].run();
            all[at].times.push_back((seconds(threads) - begin) / repeats[at]);
        }
        state.SetIterationTime(all[0].times.back());
    }
}
// How many times as fast as the other the first is.
double ratio(contender const& first, contender const& other) {
    std::vector<double> of_round;
    for (std::size_t r = 0; r < first.times.size(); ++r) of_round.push_back(other.times[r] / first.times[r]);
    return median(of_round);
}

// The kinds of sparse_kinds.hpp have names without blanks here.
std::string name_of_kind(int kind) {
    static std::vector<std::string> const names = [] {
        std::vector<std::string> all;
        for (int k = 0; k < bench::kinds; ++k) {
            std::string const words = bench::make_kind(k, 64).name;
            all.push_back("graphs/");
            for (char const c : words)
                if (c == ' ')
                    all.back() += '-';
                else if (c != ',')
                    all.back() += c;
        }
        return all;
    }();
    return names[static_cast<std::size_t>(kind)];
}
int kind_of(std::string const& pattern) {
    int kind = 0;
    while (name_of_kind(kind) != pattern) ++kind;
    return kind;
}

// The matrix of the case before is kept: the next one mostly has the same.
places const& matrix_of(std::string const& pattern, long n) {
    static std::string kept;
    static places a;
    if (std::string const key = pattern + std::to_string(n); kept != key) {
        if (pattern.find("graphs/") == 0) {
            auto x = bench::make_kind(kind_of(pattern), n <= 4 ? 1 << 18 : n <= 32 ? 1 << 16 : 1 << 14).a;
            a = {x.rows, x.cols, std::move(x.begins), std::move(x.columns)};
        } else {
            a = make(pattern, n <= 2 ? 400000 : n == 8 ? 100000 : n == 64 ? 40000 : 8000);
        }
        kept = key;
    }
    return a;
}

bool differs = false;       // a result, in some case
std::vector<double> ratios; // of the cases so far

void count(benchmark::State& state, std::vector<contender> const& all, double flops, double bytes) {
    double least = 1e300;
    for (contender const& one : all) {
        if (one.name == "copy") {
            state.counters["GB/s"] = bytes / median(all[0].times) * 1e-9;
            state.counters["of copying"] = ratio(all[0], one);
            continue;
        }
        state.counters[&one == &all[0] ? "GFLOP/s" : one.name] = flops / median(one.times) * 1e-9;
        if (&one == &all[0] || !one.counts || ratio(all[0], one) >= least) continue;
        state.counters["ratio"] = least = ratio(all[0], one);
        state.SetLabel(one.name);
    }
    if (least < 1e300) ratios.push_back(least);
}

// All get the same result but for rounding: sums of numbers from -1 to 1. Returns whether one does not.
template <class T>
bool compare(benchmark::State& state, std::vector<contender> const& all, std::vector<T> const& c) {
    all[0].run();
    std::vector<T> const found = c;
    bool wrong = false;
    for (contender const& one : all) {
        one.run();
        double most = 0;
        for (std::size_t at = 0; at < c.size(); ++at)
            most =
                std::max(most, static_cast<double>(std::abs(c[at] - found[at]) / (1 + std::abs(found[at]))));
        if (!(most < 1e-2)) state.SkipWithError((one.name + " differs").c_str()), wrong = true;
    }
    return wrong;
}

// Threads that copy so many bytes.
template <class T>
contender copying(double bytes, int threads, std::vector<T>& from, std::vector<T>& to) {
    from.resize(static_cast<std::size_t>(bytes / 2 / sizeof(T)), T(1));
    to.resize(from.size(), T(0));
    return {"copy", [&from, &to, threads] {
#pragma omp parallel num_threads(threads)
                {
                    auto const parts = static_cast<std::size_t>(omp_get_num_threads()),
                               part = static_cast<std::size_t>(omp_get_thread_num());
                    std::size_t const first = from.size() * part / parts,
                                      last = from.size() * (part + 1) / parts;
                    std::memcpy(to.data() + first, from.data() + first, (last - first) * sizeof(T));
                }
            }};
}

template <class T>
void run_case(benchmark::State& state, std::string const& pattern, long n, int threads) {
    places const& a = matrix_of(pattern, n);
    random_source from{3};
    auto const number = [&] { return static_cast<T>(from.below(1000)) / T(500) - T(1); };
    std::vector<T> values(a.columns.size()), b(static_cast<std::size_t>(a.cols * n));
    for (T& x : values) x = number();
    for (T& x : b) x = number();
    std::vector<T> c(static_cast<std::size_t>(a.rows * n));
    auto const nonzeros = static_cast<long>(values.size());
    sparse_problem<T> p{a.rows,           a.cols,        nonzeros, n,        a.begins.data(),
                        a.columns.data(), values.data(), b.data(), c.data(), threads};
    sg::host const cpu{threads};
    sg::csr<T> const x{a.rows, a.cols, p.begins, p.columns, p.values, nonzeros};
    auto const there_b = sg::row_major(b, a.cols, n);
    std::vector<contender> all;
    all.push_back({"stratagemm", [&] { sg::gemm(cpu, x, there_b, sg::row_major(c, a.rows, n)); }});
    for (sparse_peer const* const peer : peers()) {
        void* const kept = peer->prepare(p);
        all.push_back({peer->name, [&p, peer, kept] { peer->run(p, kept); },
                       [peer, kept] { peer->release(kept); }, peer->counts});
    }
    differs = compare(state, all, c) || differs;
    std::vector<T> from_there, to_there;
    double const bytes =
        static_cast<double>(nonzeros) * (sizeof(T) + 4) + static_cast<double>(a.rows) * (2 * sizeof(T) + 4);
    if (n == 1 && pattern == "banded") all.push_back(copying(bytes, threads, from_there, to_there));
    race(state, all, threads);
    for (contender& one : all) one.release();
    if (!differs) count(state, all, 2 * static_cast<double>(nonzeros) * static_cast<double>(n), bytes);
}

// Median rates of five times, by the thread's own clock.
void files() {
    places const a = make("uniform", 500000);
    random_source from{3};
    std::vector<double> values(a.columns.size());
    for (double& x : values) x = static_cast<double>(from.below(1u << 31)) / 1e9 - 1;
    sg::csr<double> const x{a.rows,           a.rows,        a.begins.data(),
                            a.columns.data(), values.data(), static_cast<long>(values.size())};
    auto const path = std::filesystem::temp_directory_path() / "stratagemm_bench.mtx";
    std::vector<double> writes, reads;
    for (int times = 0; times < 5; ++times) {
        double begin = seconds(1);
        sg::write_matrix_market(path.string(), x);
        writes.push_back(seconds(1) - begin);
        begin = seconds(1);
        auto const read = sg::read_matrix_market<double>(path.string());
        reads.push_back(seconds(1) - begin);
        auto const there = read.view();
        if (there.nonzeros != x.nonzeros || !std::equal(values.begin(), values.end(), there.values)) {
            std::printf("what was read is not what was written\n");
            std::exit(1);
        }
    }
    double const megabytes = static_cast<double>(std::filesystem::file_size(path)) * 1e-6;
    std::filesystem::remove(path);
    std::printf("Matrix Market, %zu elements, %.0f MB: written at %.0f MB/s, read at %.0f MB/s\n",
                values.size(), megabytes, megabytes / median(writes), megabytes / median(reads));
}

void add_cases(std::string const& pattern, std::initializer_list<long> columns) {
    for (long const n : columns)
        for (bool const wide : {false, true})
            for (int const threads : {1, 2}) {
                std::string const name = pattern + (wide ? "/double" : "/float") +
                                         "/threads:" + std::to_string(threads) +
                                         "/columns:" + std::to_string(n);
                auto const run = [=, run = wide ? run_case<double> : run_case<float>](benchmark::State& s) {
                    run(s, pattern, n, threads);
                };
                benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Iterations(11);
            }
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "files") == 0) return files(), 0;
    std::string tables = "--benchmark_counters_tabular=true"; // unless the flags say something else
    std::vector<char*> flags(argv, argv + argc);
    flags.insert(flags.begin() + 1, tables.data());
    int all = argc + 1;
    benchmark::Initialize(&all, flags.data());
    if (benchmark::ReportUnrecognizedArguments(all, flags.data())) return 2;
    for (std::string const pattern : {"uniform", "banded", "power-law", "block"})
        add_cases(pattern, {1, 2, 8, 64, 512});
    for (int kind = 0; kind < bench::kinds; ++kind) add_cases(name_of_kind(kind), {1, 4, 16, 32, 100, 256});
    if (benchmark::RunSpecifiedBenchmarks() == 0) return 1;
    double logs = 0;
    for (double const x : ratios) logs += std::log(x);
    if (!ratios.empty())
        std::fprintf(stderr, "ratios of %zu cases: geometric mean %.2f, worst %.2f\n", ratios.size(),
                     std::exp(logs / static_cast<double>(ratios.size())),
                     *std::min_element(ratios.begin(), ratios.end()));
    return differs;
}
