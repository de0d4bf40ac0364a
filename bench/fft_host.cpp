// bench_fft_host: the host's transforms against FFTW, MKL and ducc0, where they are installed. fft.hpp says what its
// cases, counters and flags are. The library has a plan and workspace, as its peers have.
//
//   bench_fft_host errors   the error of the library over that of FFTW for every length to 1024 and 100 beyond
#include "fft.hpp"
#include "peers/fft.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/rdft.hpp>

#include <cstring>
#include <ctime>
#include <fstream>
#include <thread>

namespace sg = stratagemm;

namespace {

using bench::fft_case;
using bench::fft_peer;
using bench::fft_way;
using sg::index_t;

// One thread is timed by its own clock, which does not count what other programs take of the processor.
double seconds(int threads) {
    timespec now{};
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Those that are here.
std::vector<fft_peer const*> const& peers() {
    static std::vector<fft_peer const*> const here = [] {
        std::vector<fft_peer const*> all;
#ifdef STRATAGEMM_BENCH_FFTW
        all.push_back(&bench::fft_fftw);
#endif
        if (auto const* const mkl = bench::open_fft_mkl()) all.push_back(mkl);
#ifdef STRATAGEMM_BENCH_DUCC0
        all.push_back(&bench::fft_ducc0);
#endif
        return all;
    }();
    return here;
}

template <class X, class T>
void run_case(benchmark::State& state, bench::fft_table& table, fft_case const& c) {
    using C = std::complex<T>;
    auto const x = bench::fft_data<X>(c.points * c.count);
    std::vector<C> y(static_cast<std::size_t>(c.frequencies() * c.count)); // of all
    bench::exact_fft const exact(c.points);

    auto const transform = c.real ? sg::rdft<T>(c.points) : sg::dft<T>(c.points);
    auto const product = sg::product(transform, sg::col_major(x, c.points, c.count),
                                     sg::col_major(y, c.frequencies(), c.count));
    sg::plan const plan(sg::host{c.threads}, product.shape());
    auto memory = plan.reserve();
    std::vector<fft_way> all;
    all.push_back({"stratagemm", [&](long times) {
                       for (long i = 0; i < times; ++i) plan.run(product, memory);
                   }});
    auto const judge = [&](fft_way& one) {
        std::fill(y.begin(), y.end(), C(NAN));
        one.run(1);
        one.error = exact.error(c, x.data(), y.data());
    };
    judge(all[0]);

    bench::fft_problem const p{c.points, c.count, c.wide, c.real, c.threads, x.data(), y.data()};
    std::vector<std::pair<fft_peer const*, void*>> kept;
    for (fft_peer const* const peer : peers()) {
        void* const made = peer->prepare(p);
        if (!made) continue;
        kept.emplace_back(peer, made);
        all.push_back({peer->name, [&p, peer, made](long times) {
                           for (long i = 0; i < times; ++i) peer->run(p, made);
                       }});
        judge(all.back());
    }
    double const most = c.wide ? 1e-14 : 1e-5;
    for (fft_way const& one : all)
        if (!(one.error < most)) return state.SkipWithError((one.name + " is wrong").c_str());
    bench::race(state, all, [&] { return seconds(c.threads); });
    for (auto const& [peer, made] : kept) peer->release(made);
    table.add(state, c, all);
}

#ifdef STRATAGEMM_BENCH_FFTW
// The library's relative error over FFTW's in so many transforms of n points. Where FFTW has no error, the unit of
// rounding stands in its place.
template <class T>
double error_ratio(long n, long count) {
    using C = std::complex<T>;
    fft_case const c{n, count, sizeof(T) == 8};
    auto const x = bench::fft_data<C>(n * count, static_cast<std::uint64_t>(n));
    std::vector<C> y(x.size());
    bench::exact_fft const exact(n);
    sg::gemm(sg::host{1}, sg::dft<T>(n), sg::col_major(x, n, count), sg::col_major(y, n, count));
    double const ours = exact.error(c, x.data(), y.data());
    bench::fft_problem const p{n, count, c.wide, false, 1, x.data(), y.data(), false};
    void* const made = bench::fft_fftw.prepare(p);
    bench::fft_fftw.run(p, made);
    bench::fft_fftw.release(made);
    return ours / std::max(exact.error(c, x.data(), y.data()), 0.1 * sg::unit_roundoff<T>());
}
template <class T>
void print_errors(char const* type) {
    std::vector<std::pair<double, long>> all;
    for (long n = 1; n <= 1024; ++n) all.emplace_back(error_ratio<T>(n, 1 + 4096 / n), n);
    std::uint64_t state = 5;
    for (int i = 0; i < 100; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        long const n = 1025 + static_cast<long>((state >> 33) % 7168);
        all.emplace_back(error_ratio<T>(n, 1), n);
    }
    std::sort(all.rbegin(), all.rend());
    double logs = 0;
    for (auto const& [ratio, n] : all) logs += std::log(std::max(ratio, 1e-3));
    auto const above = std::count_if(all.begin(), all.end(), [](auto const& x) { return x.first > 1.2; });
    std::printf(
        "%s, %zu lengths: error over FFTW's %.2f (geometric mean), %td lengths above 1.2; the largest:", type,
        all.size(), std::exp(logs / double(all.size())), above);
    for (std::size_t i = 0; i < 10; ++i) std::printf(" %.2f (%ld)", all[i].first, all[i].second);
    std::printf("\n");
}
int errors() {
    print_errors<float>("float");
    print_errors<double>("double");
    return 0;
}
#else
int errors() {
    std::printf("skipped: no FFTW here\n");
    return 77;
}
#endif

std::string processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return "unknown";
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "errors") == 0) return errors();
    std::string versions = "peers:";
    for (fft_peer const* const peer : peers()) versions += std::string(" ") + peer->name;
#ifdef STRATAGEMM_BENCH_FFTW
    versions += std::string("; ") + bench::fft_fftw_version() + ", planned by measuring";
#endif
    bench::fft_table table({"processor: " + processor() + ", " +
                                std::to_string(std::thread::hardware_concurrency()) + " logical cores",
                            versions});
    auto const run = [&](benchmark::State& state, fft_case const& c) {
        if (c.wide && c.real)
            run_case<double, double>(state, table, c);
        else if (c.wide)
            run_case<std::complex<double>, double>(state, table, c);
        else if (c.real)
            run_case<float, float>(state, table, c);
        else
            run_case<std::complex<float>, float>(state, table, c);
    };
    return bench::run_ffts(argc, argv, bench::fft_cases(1 << 18, {1, 2}), table, "", run);
}
