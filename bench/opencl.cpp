// bench_opencl: the OpenCL backend against CLBlast, if that is installed, on one device and in one queue.
//
//   bench_opencl [--device=PART OF ITS NAME] [--quick] [Google Benchmark's options]
//
// One Google Benchmark entry a case; each of its repetitions is a round in which both take a turn, and its counters
// are the GFLOP/s of each and their ratio. Both write to the same C, which is compared first.
#include <stratagemm/backend/opencl.hpp>

#include <benchmark/benchmark.h>
#ifdef STRATAGEMM_BENCH_CLBLAST
#    include <clblast.h>
#endif

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

namespace sg = stratagemm;

namespace {

struct sides {
    sg::index m, n, k;
};

double seconds(sg::opencl const& device, std::function<void()> const& product, int times) {
    device.synchronize().or_throw();
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) product();
    device.synchronize().or_throw();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

template <class T>
void race(benchmark::State& state, sg::opencl const& device, sides s) {
    unsigned seed = 1;
    auto const random = [&](sg::index, sg::index) {
        seed = seed * 1664525u + 1013904223u;
        return static_cast<T>(static_cast<float>(seed >> 8) * 0x1p-23f - 1);
    };
    sg::opencl::matrix<T> a(device, sg::matrix<T>(s.m, s.k, random)),
        b(device, sg::matrix<T>(s.k, s.n, random)), c(device, s.m, s.n);
    auto const shape = sg::shape<T>{.m = s.m, .n = s.n, .k = s.k};
    auto arena = device.reserve(device.workspace(shape));
    arena.or_throw();
    std::function<void()> const ours = [&] { device(sg::product(a, b, c), *arena).or_throw(); };
    ours();
    sg::matrix<T> first(s.m, s.n);
    c.download(first);

    std::function<void()> theirs;
#ifdef STRATAGEMM_BENCH_CLBLAST
    theirs = [&] {
        auto queue = device.queue();
        auto const size = [](sg::index x) { return static_cast<std::size_t>(x); };
        auto const code = clblast::Gemm<T>(clblast::Layout::kRowMajor, clblast::Transpose::kNo,
                                           clblast::Transpose::kNo, size(s.m), size(s.n), size(s.k), T(1),
                                           a.data().buffer, 0, size(s.k), b.data().buffer, 0, size(s.n), T(0),
                                           c.data().buffer, 0, size(s.n), &queue, nullptr);
        if (code != clblast::StatusCode::kSuccess) throw std::runtime_error("CLBlast failed");
    };
    theirs();
    sg::matrix<T> second(s.m, s.n);
    c.download(second);
    for (sg::index i = 0; i < s.m; ++i)
        for (sg::index j = 0; j < s.n; ++j)
            if (std::abs(first(i, j) - second(i, j)) > T(1e-3) * static_cast<T>(std::sqrt(double(s.k))))
                return state.SkipWithError("the results differ");
#endif

    double const gflop = 2e-9 * double(s.m) * double(s.n) * double(s.k);
    int const times = std::max(1, static_cast<int>(0.05 / seconds(device, ours, 1)));
    for (auto _ : state) {
        double const mine = seconds(device, ours, times);
        state.SetIterationTime(mine);
        state.counters["stratagemm"] = gflop / mine;
        if (theirs) {
            double const other = seconds(device, theirs, std::max(1, times / 2));
            state.counters["CLBlast"] = gflop / other;
            state.counters["ratio"] = other / mine;
        }
    }
    state.SetLabel(device.describe(shape));
}

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
    std::vector<char*> rest;
    for (int i = 0; i < argc; ++i) {
        if (std::strncmp(argv[i], "--device=", 9) == 0)
            device_name = argv[i] + 9;
        else if (std::strcmp(argv[i], "--quick") == 0)
            quick = true;
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
    for (sides const s : {sides{256, 256, 256}, {1000, 1000, 1000}, {1023, 1023, 1023}, {1024, 1024, 1024}})
        if (!quick || s.m == 1024) add<float>("sgemm", device, s);
    if (!quick) add<float>("sgemm", device, {64, 64, 65536});
    if (gpu && !quick)
        for (sg::index const n : {2048, 4095, 4096, 8192}) add<float>("sgemm", device, {n, n, n});
    if (device.where().has_double && !quick) add<double>("dgemm", device, {1024, 1024, 1024});
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
