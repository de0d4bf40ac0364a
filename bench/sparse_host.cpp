// The host's products of sparse and dense matrices, against the libraries installed here.
//
//   bench_sparse_host [FILTER]      a regular expression on the names of cases, such as banded/.*/1$
//   bench_sparse_host files         Matrix Market files of 10^7 elements, written and read by one thread
//
// A case is PATTERN/TYPE/THREADS/N: C = A B with A by rows, about 20 elements in each of them, and B and C by rows
// with N columns. A is larger than the caches where N is 1 or 2, and smaller where products take long. Contenders
// take turns, the order alternates, and each takes a sample of some milliseconds in every round; a ratio is the
// median of those of the rounds, and the best peer is the one with the least. Peers may prepare A before that; the
// library takes it as it is. Products of banded matrices with a vector are also compared with the rate at which the
// threads copy as many bytes.
#include "peers/sparse.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>
#include <stratagemm/structure/matrix_market.hpp>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
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
double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x.size() % 2 ? x[x.size() / 2] : (x[x.size() / 2 - 1] + x[x.size() / 2]) / 2;
}

struct random_source {
    std::uint64_t state;
    std::uint64_t below(std::uint64_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
    }
};

// Where the elements are. Columns are in order.
struct places {
    long rows = 0;
    std::vector<int> begins{0}, columns;
};
places make(std::string const& pattern, long rows) {
    places a;
    a.rows = rows;
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

struct contender {
    std::string name;
    std::function<void()> run;
    std::function<void()> release = [] {};
    bool counts = true;
    std::vector<double> times{}; // of one run, a sample a round
};

// Seconds of one run, in samples of some milliseconds.
void race(std::vector<contender>& all, int threads, int rounds) {
    std::vector<int> repeats;
    for (contender& one : all) {
        one.run();
        double const begin = seconds(threads);
        one.run();
        repeats.push_back(std::clamp(static_cast<int>(4e-3 / (seconds(threads) - begin + 1e-9)), 1, 10000));
    }
    for (int round = 0; round < rounds; ++round)
        for (std::size_t turn = 0; turn < all.size(); ++turn) {
            std::size_t const at = round % 2 ? all.size() - 1 - turn : turn;
            double const begin = seconds(threads);
            for (int r = 0; r < repeats[at]; ++r) all[at].run();
            all[at].times.push_back((seconds(threads) - begin) / repeats[at]);
        }
}
// How many times as fast as the other the first is.
double ratio(contender const& first, contender const& other) {
    std::vector<double> of_round;
    for (std::size_t r = 0; r < first.times.size(); ++r) of_round.push_back(other.times[r] / first.times[r]);
    return median(of_round);
}

struct outcome {
    std::string name;
    double ratio;
};

template <class T>
void run_case(std::string const& name, places const& a, long n, int threads,
              std::vector<sparse_peer const*> const& peers, std::vector<outcome>& outcomes) {
    random_source from{3};
    auto const number = [&] { return static_cast<T>(from.below(1000)) / T(500) - T(1); };
    std::vector<T> values(a.columns.size()), b(static_cast<std::size_t>(a.rows * n));
    for (T& x : values) x = number();
    for (T& x : b) x = number();
    std::vector<T> c(b.size()), found(b.size());
    auto const nonzeros = static_cast<long>(values.size());
    sparse_problem<T> p{a.rows,           a.rows,        nonzeros, n,        a.begins.data(),
                        a.columns.data(), values.data(), b.data(), c.data(), threads};
    sg::host const cpu{threads};
    sg::csr<T> const x{a.rows, a.rows, p.begins, p.columns, p.values, nonzeros};
    auto const there_b = sg::row_major(b, a.rows, n);
    std::vector<contender> all;
    all.push_back({"stratagemm", [&] { sg::gemm(cpu, x, there_b, sg::row_major(c, a.rows, n)); }});
    for (sparse_peer const* const peer : peers) {
        void* const kept = peer->prepare(p);
        all.push_back({peer->name, [&p, peer, kept] { peer->run(p, kept); },
                       [peer, kept] { peer->release(kept); }, peer->counts});
    }
    // All get the same result but for rounding: sums of numbers from -1 to 1.
    all[0].run();
    found = c;
    for (contender& one : all) {
        one.run();
        double most = 0;
        for (std::size_t at = 0; at < c.size(); ++at)
            most = std::max(most, static_cast<double>(std::abs(c[at] - found[at])));
        if (!(most < 1e-2)) {
            std::printf("%s: %s differs by %g\n", name.c_str(), one.name.c_str(), most);
            std::exit(1);
        }
    }
    std::vector<T> from_there, to_there;
    double const bytes =
        static_cast<double>(nonzeros) * (sizeof(T) + 4) + static_cast<double>(a.rows) * (2 * sizeof(T) + 4);
    if (n == 1 && name.find("banded") == 0) {
        from_there.resize(static_cast<std::size_t>(bytes / 2 / sizeof(T)), T(1));
        to_there.resize(from_there.size(), T(0));
        all.push_back({"copy", [&] {
#pragma omp parallel num_threads(threads)
                           {
                               auto const parts = static_cast<std::size_t>(omp_get_num_threads()),
                                          part = static_cast<std::size_t>(omp_get_thread_num());
                               std::size_t const first = from_there.size() * part / parts,
                                                 last = from_there.size() * (part + 1) / parts;
                               std::memcpy(to_there.data() + first, from_there.data() + first,
                                           (last - first) * sizeof(T));
                           }
                       }});
    }
    race(all, threads, 11);
    double least = 1e300;
    std::string best;
    double const flops = 2 * static_cast<double>(nonzeros) * static_cast<double>(n);
    std::printf("%-28s", name.c_str());
    for (contender& one : all) {
        one.release();
        if (one.name == "copy") continue;
        std::printf(" %9.2f", flops / median(one.times) * 1e-9);
        if (&one == &all[0] || !one.counts) continue;
        if (double const r = ratio(all[0], one); r < least) least = r, best = one.name;
    }
    if (!best.empty()) {
        std::printf("   %5.2f  %s", least, best.c_str());
        outcomes.push_back({name, least});
    }
    if (all.back().name == "copy")
        std::printf("; %.1f GB/s, %.2f of copying", bytes / median(all[0].times) * 1e-9,
                    ratio(all[0], all.back()));
    std::printf("\n");
    std::fflush(stdout);
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

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "files") == 0) return files(), 0;
    std::regex const filter(argc > 1 ? argv[1] : "");
    std::vector<sparse_peer const*> peers;
#ifdef STRATAGEMM_BENCH_EIGEN
    peers.push_back(&bench::sparse_eigen);
#endif
#ifdef STRATAGEMM_BENCH_LIBRSB
    peers.push_back(&bench::sparse_librsb);
#endif
    for (bool const with_inspector : {false, true})
        if (auto const* const mkl = bench::open_sparse_mkl(with_inspector)) peers.push_back(mkl);
    std::printf("GFLOP/s with A by rows, B and C by rows; the ratio to the best peer\n%-28s %9s",
                "pattern/type/threads/columns", "library");
    for (auto const* const peer : peers) std::printf(" %9s", peer->name);
    std::printf("\n");
    std::vector<outcome> outcomes;
    int cases = 0;
    for (char const* const pattern : {"uniform", "banded", "power-law", "block"})
        for (long const n : {1, 2, 8, 64, 512}) {
            auto const name = [&](char const* type, int threads) {
                return std::string(pattern) + '/' + type + '/' + std::to_string(threads) + '/' +
                       std::to_string(n);
            };
            places a;
            for (bool const wide : {false, true})
                for (int const threads : {1, 2}) {
                    std::string const as = name(wide ? "double" : "float", threads);
                    if (!std::regex_search(as, filter)) continue;
                    if (a.rows == 0)
                        a = make(pattern, n <= 2 ? 400000 : n == 8 ? 100000 : n == 64 ? 40000 : 8000);
                    ++cases;
                    if (wide)
                        run_case<double>(as, a, n, threads, peers, outcomes);
                    else
                        run_case<float>(as, a, n, threads, peers, outcomes);
                }
        }
    if (cases == 0) {
        std::fprintf(stderr,
                     "no case matches; a name is {uniform,banded,power-law,block}/{float,double}/{1,2}/"
                     "{1,2,8,64,512}\n");
        return 2;
    }
    if (outcomes.empty()) return 0;
    double sum = 0;
    for (outcome const& o : outcomes) sum += std::log(o.ratio);
    std::sort(outcomes.begin(), outcomes.end(),
              [](outcome const& x, outcome const& y) { return x.ratio < y.ratio; });
    std::printf("geometric mean %.2f; worst:", std::exp(sum / static_cast<double>(outcomes.size())));
    for (std::size_t at = 0; at < std::min<std::size_t>(5, outcomes.size()); ++at)
        std::printf(" %.2f %s", outcomes[at].ratio, outcomes[at].name.c_str());
    std::printf("\n");
}
