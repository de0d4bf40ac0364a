// The tiles that tuning (device/tuning.hpp) tries: those whose kernels can be compiled and fit.
#pragma once

#include "../../../device/tuning.hpp"
#include "../choice.hpp"

STRATAGEMM_BEGIN

using cuda_tuning_options = tuning_options<cuda_tile>;
using cuda_tuned = tuned<cuda_tile>;

// Whether a kernel can be compiled for these parameters, by the limits that the kernels state. A parameter that an
// engine does not use has one value.
inline bool is_legal(cuda_tile const& t, std::size_t element, std::size_t scalar) {
    int const line = static_cast<int>(128 / element);
    auto const whole = [&](int step_m, int step_n) {
        return t.micro_m % step_m == 0 && t.micro_n % step_n == 0 && t.m % t.micro_m == 0 &&
               t.n % t.micro_n == 0;
    };
    int const across_m = t.m / t.micro_m, across_n = t.n / t.micro_n, threads = threads_of(t);
    if (t.engine == cuda_engine::wgmma)
        return (t.m == 64 || t.m == 128 || (t.m == 192 && t.n <= 192)) && t.n >= 64 && t.k == line &&
               t.micro_m == 1 && t.micro_n == 1 && t.stages >= 2;
    if (t.blocks_of_cluster() != 1 || threads < 64 || threads > 512) return false;
    std::size_t const sums = static_cast<std::size_t>(t.micro_m * t.micro_n) * scalar;
    switch (t.engine) {
    case cuda_engine::simt: {
        int const warp_n = across_n < 8 ? across_n : 8;
        return whole(4, 4) && across_n % warp_n == 0 && 32 % warp_n == 0 && across_m % (32 / warp_n) == 0 &&
               threads <= 256 && t.k == 32 && t.stages >= 3 && sums <= 768 &&
               threads * t.micro_n <= 16 * (t.m + t.n);
    }
    case cuda_engine::fp64: return whole(16, 16) && t.k == 16 && t.stages >= 3 && sums <= 32 * 576;
    case cuda_engine::mma: {
        auto const rounds = [&](int bytes, int lines) { // of copies
            int const together = threads * 16 / bytes;
            return threads * 16 % bytes == 0 && together % 8 == 0 && lines % together == 0;
        };
        int const width = static_cast<int>(element), deep = t.k * width;
        bool const along_side = element != 2 || (rounds(t.m * 2, t.k) && rounds(t.n * 2, t.k));
        return whole(16, 16) && t.micro_m <= 64 && t.micro_n <= 64 && (deep == 64 || deep == 128) &&
               t.stages >= (element == 2 && deep == 64 ? 1 : 2) && rounds(deep, t.m) && rounds(deep, t.n) &&
               along_side && sums <= 32 * 512;
    }
    case cuda_engine::blocked: {
        std::size_t const shared = static_cast<std::size_t>(2 * t.k * (t.m + t.n + 8)) * scalar;
        auto const loads = [&](int side) { return side * t.k % threads == 0 && side * t.k <= 32 * threads; };
        return whole(1, 1) && t.stages == 2 && t.k <= 32 && loads(t.m) && loads(t.n) && sums <= 512 &&
               shared <= 48 * 1024;
    }
    default: return false;
    }
}

// `type` is the letter of the operands, or t.
inline search_problem cuda_candidates(cuda_device const& d, char type, std::size_t element,
                                      std::size_t scalar, cuda_sides const& s) {
    search_problem p;
    std::vector<short> engines;
    for (cuda_engine const e :
         {cuda_engine::blocked, cuda_engine::simt, cuda_engine::fp64, cuda_engine::wgmma, cuda_engine::mma})
        if (engine_takes(e, type, d) && !(fetches(e) && d.capability < 90) &&
            !(e == cuda_engine::wgmma && d.capability != 90))
            engines.push_back(static_cast<short>(e));
    std::vector<short> const micro = {1, 2, 4, 8, 12, 16, 32, 64};
    p.values = {engines,
                {16, 32, 64, 128, 256},
                {16, 32, 64, 128, 192, 256},
                {8, 16, 32, 64, 128},
                micro,
                micro,
                {2, 3, 4, 5, 6, 8},
                {1, 4, 8, 16},
                {1, 2},
                {1, 2, 3, 4, 6, 8, 12, 16, 32},
                {1, 2}};
    p.legal = [d, type, element, scalar, s](search_point const& x) {
        cuda_tile const t = cuda_tile::of(x);
        bool const deep = t.parts == 1 || s.k >= std::ptrdiff_t{4} * t.k * t.parts;
        return deep && engine_takes(t.engine, type, d) && can_run(t, d, element) &&
               is_legal(t, element, scalar);
    };
    for (cuda_entry const& e : cuda_entries)
        if (std::strchr(e.types, type)) {
            cuda_tile t = e.tile;
            t.parts = 1;
            p.known.push_back(values_of(t));
        }
    return p;
}

STRATAGEMM_END
