// cuda_start: see start.hpp. Then, what a planned product takes of the host when nothing waits for the device, and
// products of operands on the host, where most of the time goes into bringing them there and back.
#include "median.hpp"
#include "start.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/cuda.hpp>

namespace {

using clock = std::chrono::steady_clock;

template <class F>
double seconds(F&& f) {
    auto const start = clock::now();
    f();
    return std::chrono::duration<double>(clock::now() - start).count();
}
using bench::median;

template <class T>
void queue(sg::cuda const& gpu, sg::index_t m, sg::index_t n, sg::index_t k) {
    sg::shape<T> const shape{.m = m, .n = n, .k = k};
    sg::cuda::matrix<T> const a(gpu, m, k), b(gpu, k, n);
    sg::cuda::matrix<sg::accumulator_t<T>> c(gpu, m, n);
    auto const plan = sg::plan(gpu, shape);
    auto arena = plan.reserve();
    plan.run(a, b, c, arena);
    std::vector<double> each;
    for (int round = 0; round < 25; ++round) {
        gpu.synchronize().or_throw();
        each.push_back(seconds([&] {
                           for (int i = 0; i < 50; ++i) plan.run(a, b, c, arena);
                       }) /
                       50);
    }
    gpu.synchronize().or_throw();
    std::printf("%-8s %5td x %5td x %5td: %.2f us of the host; %s\n", sg::type_name<T>(), m, n, k,
                median(each) * 1e6, plan.describe().c_str());
}

void from_host(sg::cuda const& gpu, sg::index_t n) {
    sg::matrix<float> const a(
        n, n, [](sg::index_t i, sg::index_t j) { return static_cast<float>((i + 2 * j) % 7); });
    sg::matrix<float> c(n, n);
    sg::gemm(gpu, a, a, c);
    std::vector<double> all, up, down;
    sg::cuda::matrix<float> there(gpu, n, n);
    for (int round = 0; round < 5; ++round) {
        all.push_back(seconds([&] { sg::gemm(gpu, a, a, c); }));
        up.push_back(seconds([&] { there.upload(a), gpu.synchronize().or_throw(); }));
        down.push_back(seconds([&] { there.download(c); }));
    }
    double const gigabytes = static_cast<double>(n * n) * 4e-9;
    std::printf("host operands, float %td: %.1f ms; copies alone %.1f GB/s there, %.1f GB/s back\n", n,
                median(all) * 1e3, gigabytes / median(up), gigabytes / median(down));
}

} // namespace

int main() {
    return first_product([] { (void)sg::cuda::devices(); }, [] { return sg::cuda(); },
                         [](sg::cuda const& gpu) {
                             queue<float>(gpu, 16, 16, 16);
                             queue<float>(gpu, 256, 256, 32);
                             queue<float>(gpu, 1024, 1024, 32);
                             queue<sg::bfloat16>(gpu, 256, 256, 256);
                             for (sg::index_t const n : {1024, 4096, 8192}) from_host(gpu, n);
                         });
}
