// Measures the tile unit (AMX) of this CPU beside its vectors, once, and keeps that in the user's cache: from then on
// `ozaki` and `split` know when they pay.
//   host_tune [SECONDS = 60]
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/host_tune.cpp -o host_tune
#include <stratagemm/backend/host/tuning.hpp>
#include <stratagemm/stratagemm.hpp>

#include <cstdio>
#include <cstdlib>

namespace sg = stratagemm;

int main(int argc, char** argv) {
    sg::host const cpu;
    auto tuned = sg::tune(cpu, argc > 1 ? std::atof(argv[1]) : 60);
    if (!tuned) {
        std::printf("skipped: %s\n", tuned.error().what());
        return 77;
    }
    std::printf("tile unit beside vectors: %.2f, was %.2f (1: a fast clock); %d rounds\n", tuned->after,
                tuned->before, tuned->measured);
    if (sg::status s = sg::program_store::standard().ready(); !s)
        std::printf("not kept for other programs: %s\n", s.error().what());

    std::printf("\nseconds of a product of doubles, estimated:\n%6s %10s %10s\n", "n", "host", "ozaki");
    for (sg::index_t n = 512; n <= 8192; n *= 2) {
        sg::shape<double> const s{n, n, n};
        double const native = cpu.estimate(s), own = sg::ozaki{cpu}.estimate(s);
        std::printf("%6td %10.4f %10.4f%s\n", n, native, own, own == native ? "  (native)" : "");
    }
    return 0;
}
