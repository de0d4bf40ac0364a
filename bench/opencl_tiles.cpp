// What each tile is worth on an OpenCL device: sgemm of several sizes with every tile below, in one run.
//   opencl_tiles [PART OF A DEVICE'S NAME]
// Needs nothing but the OpenCL loader, so that it can be carried to a machine. A row is a tile, or what the library
// chooses; a cell is TFLOP/s, the median of five rounds over which the tiles take turns. Elements of each result are
// checked against sums on the host.
#include <stratagemm/backend/opencl.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace sg = stratagemm;
using sg::index_t;

namespace {

constexpr struct {
    char const* name;
    sg::opencl_tile tile; // in the order of its members
} candidates[] = {
    {"chosen", {}},
    {"128x128x8 pad 4", {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}},
    {"128x128x8 pad 0", {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 0, 8}},
    {"128x128x8 swizzle 1", {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 1}},
    {"128x128x8 swizzle 16", {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 16}},
    {"128x128x16", {16, 16, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8}},
    {"128x128x8 one buffer", {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 1, 4, 8}},
    {"128x128x8 loads of 1", {16, 16, 8, 8, 8, 8, 4, 4, 1, 1, 2, 4, 8}},
    {"256x128x8 16x8", {16, 16, 16, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}},
    {"128x256x8 8x16", {16, 16, 8, 16, 8, 8, 4, 4, 4, 4, 2, 4, 8}},
    {"128x64x16 8x8", {16, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8}},
    {"64x128x16 8x8", {8, 16, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8}},
    {"64x64x16 8x8", {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8}},
    {"64x64x16 4x4", {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}},
    {"64x64x16 2 slices", {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2, 1}},
    {"64x64x16 2 sl. 1 buf.", {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 1, 4, 8, 2, 1}},
    {"64x128x16 2 slices", {8, 16, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8, 2, 1}},
    {"64x128x16 2 sl. 1 buf.", {8, 16, 8, 8, 16, 16, 4, 4, 4, 4, 1, 4, 8, 2, 1}},
    {"128x128x8 16x8", {8, 16, 16, 8, 8, 8, 4, 4, 4, 4, 1, 4, 8, 1, 1}},
};

constexpr struct {
    index_t m, n, k;
} shapes[] = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
              {8192, 8192, 8192}, {1000, 1000, 1000}, {1023, 1023, 1023},
              {4095, 4095, 4095}, {64, 64, 65536},    {4096, 16, 4096}};

double seconds_of(sg::opencl const& policy, auto const& a, auto const& b, auto& c, int times,
                  sg::opencl_arena& arena) {
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) policy(sg::product(a, b, c), arena).or_throw();
    policy.synchronize().or_throw();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

} // namespace

int main(int argc, char** argv) try {
    sg::opencl const gpu = argc > 1 ? sg::opencl(sg::opencl::find(argv[1])) : sg::opencl();
    gpu.ready().or_throw();
    std::printf("%s, driver %s, %s\n", gpu.where().name.c_str(), gpu.where().driver.c_str(),
                gpu.where().platform_name.c_str());
    bool const is_gpu = gpu.where().type & CL_DEVICE_TYPE_GPU;
    for (auto const& s : shapes) {
        if (!is_gpu && s.m * s.n * s.k > index_t{1024} * 1024 * 1024) continue; // a CPU would take all day
        unsigned state = 1;
        auto const random = [&](index_t, index_t) {
            state = state * 1664525u + 1013904223u;
            return static_cast<float>(state >> 8) * 0x1p-23f - 1;
        };
        sg::matrix<float> const a(s.m, s.k, random), b(s.k, s.n, random);
        sg::matrix<float> c(s.m, s.n);
        sg::opencl::matrix<float> const da(gpu, a), db(gpu, b);
        sg::opencl::matrix<float> dc(gpu, s.m, s.n);
        double const flop =
            2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        std::printf("\n%td x %td x %td\n", s.m, s.n, s.k);

        struct row {
            char const* name;
            sg::opencl policy;
            std::vector<double> seconds;
            int times = 1;
            double error = 0;
        };
        std::vector<row> rows;
        for (auto const& x : candidates) {
            index_t const part = s.m * s.n < 1000000 ? -1 : 0; // of k: as seems best for few tiles, else none
            row r{x.name, x.tile.threads() ? gpu.with(x.tile, part) : gpu, {}};
            auto const shape = sg::shape<float>{.m = s.m, .n = s.n, .k = s.k};
            if (x.tile.threads() && !sg::fits_device(x.tile, gpu.where(), sizeof(float))) continue;
            auto arena = r.policy.reserve(r.policy.workspace(shape));
            arena.or_throw();
            try {
                (void)seconds_of(r.policy, da, db, dc, 1, *arena);
            } catch (sg::error const& e) {
                std::printf("  %-22s %s\n", x.name, e.what());
                continue;
            }
            double const once = seconds_of(r.policy, da, db, dc, 3, *arena);
            r.times = std::max(1, static_cast<int>((is_gpu ? 0.02 : 0.05) / once));
            dc.download(c);
            for (index_t i = 0; i < s.m; i += s.m / 7 + 1)
                for (index_t j = 0; j < s.n; j += s.n / 7 + 1) {
                    double sum = 0, size = 0;
                    for (index_t l = 0; l < s.k; ++l) {
                        double const term = static_cast<double>(a(i, l)) * static_cast<double>(b(l, j));
                        sum += term, size += std::abs(term);
                    }
                    r.error = std::max(r.error, std::abs(sum - static_cast<double>(c(i, j))) / size);
                }
            rows.push_back(std::move(r));
        }
        for (int round = 0; round < 5; ++round)
            for (row& r : rows) {
                auto arena =
                    r.policy.reserve(r.policy.workspace(sg::shape<float>{.m = s.m, .n = s.n, .k = s.k}));
                arena.or_throw();
                r.seconds.push_back(seconds_of(r.policy, da, db, dc, r.times, *arena));
            }
        for (row& r : rows) {
            std::nth_element(r.seconds.begin(), r.seconds.begin() + 2, r.seconds.end());
            std::printf("  %-22s %9.3f TFLOP/s %10.1f us   error %.1e%s\n", r.name,
                        1e-12 * flop / r.seconds[2], 1e6 * r.seconds[2], r.error,
                        r.error > 1e-4 ? "  WRONG" : "");
            std::fflush(stdout);
        }
        std::printf("  %s\n", gpu.describe(sg::shape<float>{.m = s.m, .n = s.n, .k = s.k}).c_str());
    }
    return 0;
} catch (sg::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
