// bench_crossovers_BACKEND FILE: crossovers.hpp on the backend that this is compiled for. Writes what it measured to FILE, and
// prints it.
#include <stratagemm/backend/host.hpp>
#ifdef STRATAGEMM_BENCH_OPENCL
#    include <stratagemm/backend/opencl.hpp>
#endif
#ifdef STRATAGEMM_BENCH_CUDA
#    include <stratagemm/backend/cuda.hpp>
#endif

#include "crossovers.hpp"

#include <fstream>

namespace {

namespace sg = stratagemm;

#if defined(STRATAGEMM_BENCH_OPENCL)
sg::opencl make_policy() { return {}; }
sg::status ready(sg::opencl const& gpu) { return gpu.ready(); }
std::string device(sg::opencl const& gpu) { return gpu.where().name + ", driver " + gpu.where().driver; }
bench::crossover_sizes sizes(sg::opencl const& gpu) {
    bool const is_gpu = gpu.where().type & CL_DEVICE_TYPE_GPU;
    if (!is_gpu) return {{256, 512, 1024}, 256, 1024, 1024, 5, 2, gpu.where().has_double};
    return {{1024, 2048, 4096, 8192}, 2048, 8192, 8192, 5, 2, gpu.where().has_double};
}
#elif defined(STRATAGEMM_BENCH_CUDA)
sg::cuda make_policy() { return {}; }
sg::status ready(sg::cuda const& gpu) { return gpu.ready(); }
std::string device(sg::cuda const& gpu) { return gpu.where().name; }
bench::crossover_sizes sizes(sg::cuda const&) {
    return {{1024, 2048, 4096, 8192, 16384}, 4096, 8192, 16384, 5};
}
#else
// One thread: two that share their processors with another program wait for each other.
sg::host make_policy() { return {.threads = 1}; }
sg::status ready(sg::host const&) { return {}; }
std::string device(sg::host const& cpu) {
    return cpu.describe(sg::shape<float>{.m = 1024, .n = 1024, .k = 1024});
}
bench::crossover_sizes sizes(sg::host const&) { return {{256, 512, 1024, 2048, 4096}, 512, 2048, 0, 5}; }
#endif

} // namespace

int main(int argc, char** argv) try {
    auto const policy = make_policy();
    if (sg::status const s = ready(policy); !s) return std::printf("skipped: %s\n", s.error().what()), 77;
    std::ofstream data(argc > 1 ? argv[1] : "crossovers.txt");
    data << "about | device | " << device(policy) << '\n';
    bench::crossovers(policy, sizes(policy), data).run_all();
    return data.flush() ? 0 : 1;
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_crossovers: %s\n", e.what());
    return 1;
}
