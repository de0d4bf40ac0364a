// bench_crossovers_BACKEND FILE: crossovers.hpp on the backend that this is compiled for. Writes what it measured to FILE, and
// prints it.
#include "backend.hpp"

#include "crossovers.hpp"

#include <fstream>

namespace {

bench::crossover_sizes sizes(bench::backend const& over) {
#if defined(STRATAGEMM_BENCH_CUDA)
    (void)over;
    return {{1024, 2048, 4096, 8192, 16384}, 4096, 8192, 16384, 5};
#elif defined(STRATAGEMM_BENCH_OPENCL)
    if (!bench::is_large(over)) return {{256, 512}, 256, 512, 1024, 3, 2, bench::has_double(over)};
    return {{1024, 2048, 4096, 8192}, 2048, 8192, 8192, 5, 2, bench::has_double(over)};
#else
    (void)over;
    return {{256, 512, 1024, 2048, 4096}, 512, 1024, 0, 5};
#endif
}

} // namespace

int main(int argc, char** argv) try {
    bench::backend const over = bench::make_backend();
    if (stratagemm::status const s = bench::ready(over); !s)
        return std::printf("skipped: %s\n", s.error().what()), 77;
    std::ofstream data(argc > 1 ? argv[1] : "crossovers.txt");
    data << "about | device | " << bench::device_of(over) << '\n';
    bench::crossovers(over, sizes(over), data).run_all();
    return data.flush() ? 0 : 1;
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_crossovers: %s\n", e.what());
    return 1;
}
