// bench_automatic_cuda [SEED [COUNT [SECONDS]]]: what `automatic` chooses on a device (automatic.hpp).
#include "automatic.hpp"

#include <stratagemm/backend/cuda.hpp>

int main(int argc, char** argv) {
    stratagemm::cuda const gpu;
    if (auto const s = gpu.ready(); !s) return std::puts(s.error().what()), 77;
    bench::judge judge(gpu, bench::device_place<stratagemm::cuda>{gpu}, 16384, 1e12);
    bench::arguments const x(argc, argv);
    judge.run<float, double, std::complex<float>>(static_cast<unsigned>(x.seed), x.count, x.seconds);
}
