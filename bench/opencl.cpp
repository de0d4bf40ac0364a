// bench_opencl: the OpenCL backend against CLBlast and, on NVIDIA's cards, cuBLAS, where they are installed: on one
// device, OpenCL in one queue.
//
//   bench_opencl [--device=PART OF ITS NAME] [--quick] [--tune-clblast=SECONDS] [Google Benchmark's options]
//
// One Google Benchmark entry a case; each of its repetitions is a round in which all take a turn, and its counters are
// the GFLOP/s of each and our ratio to theirs. All results are compared first. --tune-clblast looks for parameters of
// CLBlast's for float for so long beforehand; those that it brings along for a device may be for another.
#include "peers/cublas.hpp"

#include <stratagemm/backend/opencl.hpp>

#include <benchmark/benchmark.h>
#ifdef STRATAGEMM_BENCH_CLBLAST
#    include <clblast.h>
#endif

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

namespace sg = stratagemm;

namespace {

struct sides {
    sg::index_t m, n, k;
};

// Somebody's way to the product: queues it, and waits for what is queued.
struct contender {
    char const* name;
    std::function<void()> product, finish;
    std::vector<double> seconds{};

    double measure(int times) const {
        finish();
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < times; ++i) product();
        finish();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
    }
};

bench::cublas const& cuda() {
    static bench::cublas const one;
    return one;
}

template <class T>
bool is_close(sg::matrix<T> const& x, sg::matrix<T> const& y, sg::index_t k) {
    for (sg::index_t i = 0; i < x.rows(); ++i)
        for (sg::index_t j = 0; j < x.cols(); ++j)
            if (!(std::abs(x(i, j) - y(i, j)) <= T(1e-3) * static_cast<T>(std::sqrt(double(k)))))
                return false;
    return true;
}

#ifdef STRATAGEMM_BENCH_CLBLAST
// Row-major C = A B as its column-major view the other way round, which CLBlast has fewer copies to make for.
template <class T>
bool run_clblast(sg::opencl const& device, sides s, sg::opencl::matrix<T> const& a,
                 sg::opencl::matrix<T> const& b, sg::opencl::matrix<T>& c) {
    auto const m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n),
               k = static_cast<std::size_t>(s.k);
    auto queue = device.queue();
    return clblast::Gemm<T>(clblast::Layout::kColMajor, clblast::Transpose::kNo, clblast::Transpose::kNo, n,
                            m, k, T(1), b.data().buffer, 0, n, a.data().buffer, 0, k, T(0), c.data().buffer,
                            0, n, &queue, nullptr) == clblast::StatusCode::kSuccess;
}
#endif

template <class T>
void race(benchmark::State& state, sg::opencl const& device, sides s) {
    unsigned seed = 1;
    auto const random = [&](sg::index_t, sg::index_t) {
        seed = seed * 1664525u + 1013904223u;
        return static_cast<T>(static_cast<float>(seed >> 8) * 0x1p-23f - 1);
    };
    sg::matrix<T> const host_a(s.m, s.k, random), host_b(s.k, s.n, random);
    sg::opencl::matrix<T> const a(device, host_a), b(device, host_b);
    sg::opencl::matrix<T> c(device, s.m, s.n);
    auto const shape = sg::shape<T>{.m = s.m, .n = s.n, .k = s.k};
    auto arena = device.reserve(device.workspace(shape));
    arena.or_throw();

    std::function<void()> const wait = [&] { device.synchronize().or_throw(); };
    std::vector<contender> all{
        {"stratagemm", [&] { device(sg::product(a, b, c), *arena).or_throw(); }, wait}};
    all[0].product();
    sg::matrix<T> first(s.m, s.n), second(s.m, s.n);
    c.download(first);
#ifdef STRATAGEMM_BENCH_CLBLAST
    all.push_back({"CLBlast",
                   [&] {
                       if (!run_clblast(device, s, a, b, c)) throw std::runtime_error("CLBlast failed");
                   },
                   wait});
    all.back().product();
    c.download(second);
    if (!is_close(first, second, s.k)) return state.SkipWithError("CLBlast's result differs");
#endif
    std::unique_ptr<bench::cublas::product<T>> nvidia;
    if (device.where().family == sg::opencl_family::nvidia && cuda().found()) {
        nvidia =
            std::make_unique<bench::cublas::product<T>>(cuda(), s.m, s.n, s.k, host_a.data(), host_b.data());
        if (!nvidia->good() || nvidia->run() || nvidia->download(second.data()))
            return state.SkipWithError("cuBLAS failed");
        if (!is_close(first, second, s.k)) return state.SkipWithError("cuBLAS's result differs");
        all.push_back({"cuBLAS", [&] { (void)nvidia->run(); }, [&] { (void)cuda().finish(); }});
    }

    double const gflop = 2e-9 * double(s.m) * double(s.n) * double(s.k);
    int const times = std::max(1, static_cast<int>(0.05 / all[0].measure(1)));
    for (auto _ : state) {
        double mine = 0;
        for (contender const& x : all) {
            double const seconds = x.measure(&x == all.data() ? times : std::max(1, times / 2));
            if (&x == all.data()) mine = seconds;
            state.counters[x.name] = gflop / seconds;
            if (&x != all.data()) state.counters[std::string("ratio to ") + x.name] = seconds / mine;
        }
        state.SetIterationTime(mine);
    }
    state.SetLabel(device.describe(shape));
}

#ifdef STRATAGEMM_BENCH_CLBLAST
// CLBlast's parameters for float: those that it brings along for the device, which may be for another; then the best of
// 420 that were tried on an H200, drawn from the values that its tuner knows and bettered one by one; then, until the
// time is up, more of that kind. Those that are fastest at 4096 (1024 on a CPU) stay in force.
void tune_clblast(sg::opencl const& device, double budget) {
    static constexpr char const* names[] = {"MWG", "NWG", "KWG",  "MDIMC", "NDIMC", "MDIMA", "NDIMB",
                                            "VWM", "VWN", "STRM", "STRN",  "SA",    "SB"};
    sg::index_t const n = device.where().type & CL_DEVICE_TYPE_GPU ? 4096 : 1024;
    sg::opencl::matrix<float> a(device, n, n), b(device, n, n), c(device, n, n);
    device.leaf().fill(a.view(), 1.5f).or_throw();
    device.leaf().fill(b.view(), 0.5f).or_throw();
    auto const use = [&](sg::search_point const& x) {
        std::unordered_map<std::string, std::size_t> p{{"GEMMK", 0}, {"KREG", 1}, {"KWI", 2}};
        for (std::size_t i = 0; i < x.size(); ++i) p[names[i]] = static_cast<std::size_t>(x[i]);
        return clblast::OverrideParameters(device.where().id, "Xgemm", clblast::Precision::kSingle, p) ==
               clblast::StatusCode::kSuccess;
    };
    auto const now = [] { return std::chrono::steady_clock::now(); };
    auto const timed = [&] {
        double best = -1;
        for (int i = 0; i < 4; ++i) { // the first compiles
            auto const start = now();
            if (!run_clblast(device, {n, n, n}, a, b, c) || !device.synchronize()) return -1.0;
            double const seconds = std::chrono::duration<double>(now() - start).count();
            if (i == 1 || (i > 1 && seconds < best)) best = seconds;
        }
        return best;
    };
    auto const gflops = [&](double seconds) { return 2e-9 * double(n) * double(n) * double(n) / seconds; };

    std::unordered_map<std::string, std::size_t> own;
    if (clblast::RetrieveParameters(device.where().id, "Xgemm", clblast::Precision::kSingle, own) !=
        clblast::StatusCode::kSuccess)
        throw std::runtime_error("CLBlast does not tell its parameters");
    sg::search_point first;
    for (char const* name : names) first.push_back(static_cast<short>(own[name]));
    sg::search_problem p;
    p.known = {first,
               {64, 128, 32, 8, 16, 32, 16, 2, 2, 1, 1, 1, 1},
               {128, 128, 32, 16, 16, 32, 8, 2, 8, 1, 1, 1, 1}};
    p.values = {{32, 64, 128}, {32, 64, 128}, {16, 32}, {8, 16, 32}, {8, 16, 32}, {8, 16, 32}, {8, 16, 32},
                {1, 2, 4, 8},  {1, 2, 4, 8},  {0, 1},   {0, 1},      {0, 1},      {0, 1}};
    p.legal = [&](sg::search_point const& x) {
        int const mwg = x[0], nwg = x[1], kwg = x[2], mdimc = x[3], ndimc = x[4], mdima = x[5], ndimb = x[6],
                  vwm = x[7], vwn = x[8], items = mdimc * ndimc;
        return items >= 64 && items <= static_cast<int>(device.where().work_group) &&
               mwg % (mdimc * vwm) == 0 && nwg % (ndimc * vwn) == 0 && mwg % (mdima * vwm) == 0 &&
               nwg % (ndimb * vwn) == 0 && items % mdima == 0 && items % ndimb == 0 &&
               kwg % (items / mdima) == 0 && kwg % (items / ndimb) == 0 && mwg * nwg <= 128 * items &&
               (x[11] * mwg + x[12] * nwg) * kwg * 4 <= static_cast<int>(device.where().local_bytes);
    };
    auto const end = now() + std::chrono::duration<double>(budget);
    p.more = [&] { return now() < end; };
    double const before = timed();
    p.measure = [&](sg::search_point const& x) { return use(x) ? timed() : -1.0; };
    sg::search_result const found = sg::search(p);
    std::printf("CLBlast at %td: %.0f GFLOP/s with its own parameters, %.0f with the best of %d tried:", n,
                gflops(before), gflops(found.seconds), found.measured);
    for (std::size_t i = 0; i < found.best.size(); ++i) std::printf(" %s=%d", names[i], found.best[i]);
    std::printf("\n");
    if (found.best.empty() || !use(found.best)) throw std::runtime_error("CLBlast could not be tuned");
}
#endif

template <class T>
void add(char const* name, sg::opencl const& device, sides s) {
    auto const label =
        std::string(name) + '/' + std::to_string(s.m) + 'x' + std::to_string(s.n) + 'x' + std::to_string(s.k);
    benchmark::RegisterBenchmark(label.c_str(), [=](benchmark::State& state) { race<T>(state, device, s); })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(7)
        ->ReportAggregatesOnly()
        ->Unit(benchmark::kMillisecond);
}

} // namespace

int main(int argc, char** argv) {
    std::string device_name;
    bool quick = false;
    double tune = 0;
    std::vector<char*> rest;
    for (int i = 0; i < argc; ++i) {
        if (std::strncmp(argv[i], "--device=", 9) == 0)
            device_name = argv[i] + 9;
        else if (std::strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (std::strncmp(argv[i], "--tune-clblast=", 15) == 0)
            tune = std::atof(argv[i] + 15);
        else if (std::strncmp(argv[i], "--report=", 9) != 0) // there is no report of this race
            rest.push_back(argv[i]);
    }
    int count = static_cast<int>(rest.size());
    benchmark::Initialize(&count, rest.data());

    sg::opencl const device = device_name.empty() ? sg::opencl() : sg::opencl(sg::opencl::find(device_name));
    if (sg::status const s = device.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }
    std::printf("%s, driver %s\n", device.where().name.c_str(), device.where().driver.c_str());
    bool const gpu = device.where().type & CL_DEVICE_TYPE_GPU;
#ifdef STRATAGEMM_BENCH_CLBLAST
    if (tune > 0) tune_clblast(device, tune);
#else
    if (tune > 0) std::printf("no CLBlast here to be tuned\n");
#endif
    for (sides const s :
         {sides{256, 256, 256}, {512, 512, 512}, {1000, 1000, 1000}, {1023, 1023, 1023}, {1024, 1024, 1024}})
        if (!quick || s.m == 1024) add<float>("sgemm", device, s);
    if (!quick)
        for (sides const s : {sides{64, 64, 65536}, {4096, 16, 4096}, {4096, 1, 4096}})
            add<float>("sgemm", device, s);
    if (gpu && !quick)
        for (sg::index_t const n : {2048, 4095, 4096, 8192, 16384}) add<float>("sgemm", device, {n, n, n});
    if (device.where().has_double && !quick)
        for (sg::index_t const n : {1023, 1024}) add<double>("dgemm", device, {n, n, n});
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
