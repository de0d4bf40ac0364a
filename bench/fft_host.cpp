// bench_fft_host: the host's transforms against FFTW, MKL and ducc0, where they are installed. fft.hpp says what its
// cases, counters and flags are. The library has a plan and workspace, as its peers have.
//
// A real transform of the library has all frequencies, those of its peers half of them.
#include "fft.hpp"
#include "peers/fft.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

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
    using shape = sg::shape<sg::dft_form<T>, X, C>;
    auto const x = bench::fft_data<X>(c.points * c.count);
    std::vector<C> ours(static_cast<std::size_t>(c.points * c.count)), theirs(ours.size());
    bench::exact_fft const exact(c.points);

    sg::plan const plan(sg::host{c.threads}, shape{c.points, c.count, c.points});
    auto memory = plan.reserve();
    auto const product = sg::product(sg::dft<T>(c.points), sg::col_major(x, c.points, c.count),
                                     sg::col_major(ours, c.points, c.count));
    std::vector<fft_way> all;
    all.push_back({"stratagemm", [&](long times) {
                       for (long i = 0; i < times; ++i) plan.run(product, memory);
                   }});
    all[0].run(1);
    all[0].error = exact.error(c, x.data(), ours.data(), c.points);

    bench::fft_problem const p{c.points, c.count, c.wide, c.real, c.threads, x.data(), theirs.data()};
    std::vector<std::pair<fft_peer const*, void*>> kept;
    for (fft_peer const* const peer : peers()) {
        void* const made = peer->prepare(p);
        if (!made) continue;
        kept.emplace_back(peer, made);
        all.push_back({peer->name, [&p, peer, made](long times) {
                           for (long i = 0; i < times; ++i) peer->run(p, made);
                       }});
        all.back().run(1);
        all.back().error = exact.error(c, x.data(), theirs.data(), c.frequencies());
    }
    double const most = c.wide ? 1e-14 : 1e-5;
    for (fft_way const& one : all)
        if (!(one.error < most)) return state.SkipWithError((one.name + " is wrong").c_str());
    bench::race(state, all, [&] { return seconds(c.threads); });
    for (auto const& [peer, made] : kept) peer->release(made);
    table.add(state, c, all);
}

std::string processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return "unknown";
}

} // namespace

int main(int argc, char** argv) {
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
