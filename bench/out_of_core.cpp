// Products of matrices in host memory that a CUDA device is not given room for: out_of_core against cublasXt, and
// against the same product with everything on the device.
//
//   bench_out_of_core [N = 24576] [MIB = 4096] [DEVICES = 1]
//
// N x N floats; at most MIB of each device. Each round measures every way once; medians of the rounds. cublasXt is
// opened at run time, and left out where it is not.
#include "cublas_xt.hpp"
#include "free_memory.hpp"
#include "median.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/cuda.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void fill(float* x, index_t count, std::uint32_t seed) {
    for (index_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
    }
}

using bench::least_free;
using bench::median;

// The largest error of some elements in units of |A||B| times the unit roundoff.
double error_of(index_t n, float const* a, float const* b, float const* c) {
    double worst = 0;
    for (index_t x = 0; x < 64; ++x) {
        index_t const i = (x * 7919 + 13) % n, j = (x * 104729 + n - 1) % n;
        double sum = 0, all = 0;
        for (index_t l = 0; l < n; ++l) {
            double const p = static_cast<double>(a[i * n + l]) * static_cast<double>(b[l * n + j]);
            sum += p, all += p < 0 ? -p : p;
        }
        double const d = static_cast<double>(c[i * n + j]) - sum;
        worst = std::max(worst, (d < 0 ? -d : d) / all / 0x1p-24);
    }
    return worst;
}

} // namespace

int main(int argc, char** argv) {
    index_t const n = argc > 1 ? std::atol(argv[1]) : 24576, mib = argc > 2 ? std::atol(argv[2]) : 4096;
    int const devices = argc > 3 ? std::atoi(argv[3]) : 1;
    sg::cuda const gpu;
    if (sg::status s = gpu.ready(); !s) return std::printf("%s\n", s.error().what()), 77;
    std::vector<sg::cuda> gpus;
    for (int i = 0; i < devices; ++i) gpus.push_back(sg::cuda{.device = i});
    sg::out_of_core_options const options{.device_bytes = mib << 20};
    // Named whole: to leave <sg::cuda> out would mean out_of_core over out_of_core.
    using over_gpus = sg::out_of_core<sg::cuda>;
    over_gpus const policy = devices == 1   ? over_gpus(gpus[0], options)
                             : devices == 2 ? over_gpus({gpus[0], gpus[1]}, options)
                                            : over_gpus({gpus[0], gpus[1], gpus[2], gpus[3]}, options);

    auto const bytes = static_cast<std::size_t>(n * n) * sizeof(float);
    auto block = gpu.leaf().pin(3 * bytes);
    if (!block) return std::printf("%s\n", block.error().what()), 1;
    auto* const pinned = reinterpret_cast<float*>(block->data());
    float* const a = pinned;
    float* const b = a + n * n;
    float* const c = b + n * n;
    {
        std::vector<std::thread> all;
        for (std::uint32_t t = 0; t < 16; ++t)
            all.emplace_back([=] {
                index_t const first = 2 * n * n / 16 * t;
                fill(a + first, 2 * n * n / 16, t + 1);
            });
        for (std::thread& t : all) t.join();
    }
    std::vector<float> plain(a, a + 3 * n * n);

    // Before anything else is on the device.
    auto const view = [&](float* x) { return sg::row_major(x, n, n); };
    {
        std::size_t const before = bench::free_memory(0);
        least_free watch(0);
        sg::gemm(policy, view(a), view(b), view(c));
        std::size_t const least = watch.stop();
        std::printf("%s, driver %d, %d device(s); %td x %td x %td float, %td MiB of each device\n%s\n"
                    "out_of_core took %.0f MiB of the first device, as the driver counts\n",
                    gpu.where().name.c_str(), gpu.where().driver, devices, n, n, n, mib,
                    sg::plan(policy, sg::shape<float>{.m = n, .n = n, .k = n}).describe().c_str(),
                    static_cast<double>(before - std::min(before, least)) / 0x1p20);
    }

    struct way {
        std::string name;
        std::function<bool()> run;
        float const* result;
        std::vector<double> seconds{};
    };
    std::vector<way> ways;
    sg::cuda::matrix<float> da(gpu, n, n), db(gpu, n, n), dc(gpu, n, n);
    da.upload(view(a)), db.upload(view(b));
    double const before_copy = now();
    da.upload(view(a));
    std::printf("a pinned copy to the device: %.1f GB/s\n",
                static_cast<double>(bytes) / (now() - before_copy) / 1e9);
    auto const multiply = [&](float* x, float* y, float* z) {
        sg::status s = sg::try_gemm(policy, view(x), view(y), view(z));
        if (!s) std::printf("%s\n", s.error().what());
        return bool(s);
    };
    ways.push_back(
        {"on the device", [&] { return sg::try_gemm(gpu, da, db, dc) && gpu.synchronize(); }, nullptr});
    ways.push_back({"out_of_core, pinned", [&] { return multiply(a, b, c); }, c});
    float* const plain_c = plain.data() + 2 * n * n;
    ways.push_back({"out_of_core, pageable",
                    [&] { return multiply(plain.data(), plain.data() + n * n, plain_c); }, plain_c});
    // Row-major: C^T = B^T A^T.
    bench::cublas_xt<float> const peers[] = {{devices, 2048}, {devices, 4096}, {devices, 8192}};
    for (auto const& peer : peers)
        if (peer.ready())
            ways.push_back({"cublasXt, pinned, blocks of " + std::to_string(2048 << (&peer - peers)),
                            [&] { return peer.multiply(n, b, a, c); }, c});

    for (int round = 0; round < 4; ++round) // the first one warms up
        for (way& w : ways) {
            double const begin = now();
            if (!w.run()) return std::printf("%s failed\n", w.name.c_str()), 1;
            if (round > 0) w.seconds.push_back(now() - begin);
            if (round == 0 && w.result)
                std::printf("%-34s  error %.2f u\n", w.name.c_str(), error_of(n, a, b, w.result));
        }
    double const work = 2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    for (way const& w : ways)
        std::printf("%-34s %8.1f ms  %6.1f TFLOP/s  %.3f of that on the device\n", w.name.c_str(),
                    median(w.seconds) * 1e3, work / median(w.seconds) / 1e12,
                    median(ways[0].seconds) / median(w.seconds));
    return 0;
}
