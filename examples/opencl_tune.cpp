// Tunes an OpenCL device for products of float of the sizes given, and keeps what it finds in the user's cache:
//   opencl_tune [--device=PART OF ITS NAME] [--seconds=60] M N K [M N K ...]
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -Iinclude examples/opencl_tune.cpp -o opencl_tune -lOpenCL
#include <stratagemm/backend/opencl.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sg = stratagemm;

int main(int argc, char** argv) try {
    std::string device;
    sg::opencl_tuning_options options;
    std::vector<sg::index_t> sides;
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        if (word.rfind("--device=", 0) == 0)
            device = word.substr(9);
        else if (word.rfind("--seconds=", 0) == 0)
            options.seconds = std::atof(word.c_str() + 10);
        else
            sides.push_back(std::atol(argv[i]));
    }
    if (sides.empty() || sides.size() % 3 != 0) {
        std::printf("usage: opencl_tune [--device=NAME] [--seconds=60] M N K [M N K ...]\n");
        return 2;
    }

    sg::opencl const gpu = device.empty() ? sg::opencl() : sg::opencl(sg::opencl::find(device));
    if (sg::status const s = gpu.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }
    std::printf("%s, driver %s\n", gpu.where().name.c_str(), gpu.where().driver.c_str());
    for (std::size_t i = 0; i < sides.size(); i += 3) {
        sg::shape<float> const shape{.m = sides[i], .n = sides[i + 1], .k = sides[i + 2]};
        double const gflop =
            2e-9 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
        std::printf("\n%td x %td x %td, now: %s\n", shape.m, shape.n, shape.k, gpu.describe(shape).c_str());
        int tried = 0;
        options.progress = [&](sg::opencl_tile const& tile, double seconds, double best) {
            std::printf("%4d %9.1f GFLOP/s, best %9.1f: %s\n", ++tried, seconds > 0 ? gflop / seconds : 0,
                        best > 0 ? gflop / best : 0, sg::describe(tile).c_str());
            std::fflush(stdout);
        };
        auto tuned = gpu.tune(shape, options);
        tuned.or_throw();
        if (tuned->measured == 0)
            std::printf("no tile was tried in that time; %.1f GFLOP/s as it is\n", gflop / tuned->before);
        else
            std::printf("before %.1f, after %.1f GFLOP/s: %s\n", gflop / tuned->before, gflop / tuned->after,
                        gpu.describe(shape).c_str());
    }
    return 0;
} catch (sg::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
