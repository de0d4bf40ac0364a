// The tiles that tuning (device/tuning.hpp) tries: those that compile and fit.
#pragma once

#include "../../../device/tuning.hpp"
#include "../choice.hpp"

STRATAGEMM_BEGIN

using opencl_tuning_options = tuning_options<opencl_tile>;
using opencl_tuned = tuned<opencl_tile>;

// Candidates for sums of `scalar` bytes; `complex` ones have no vectors.
inline search_problem opencl_candidates(opencl_device const& d, char sums, std::size_t scalar) {
    bool const complex = sums == 'c' || sums == 'z', cpu = d.family == opencl_family::cpu;
    search_problem p;
    std::vector<short> const lanes = complex ? std::vector<short>{1}
                                     : cpu   ? std::vector<short>{1, 4, 8, 16}
                                             : std::vector<short>{1, 2, 4};
    p.values = {{1, 2, 4, 8, 16, 32},
                {1, 2, 4, 8, 16, 32},
                {1, 2, 4, 8, 16},
                {1, 2, 4, 8, 16},
                {4, 8, 16, 32, 64},
                cpu ? std::vector<short>{1, 2, 4} : std::vector<short>{4, 8, 16, 32},
                lanes,
                lanes,
                lanes,
                lanes,
                {1, 2},
                {0, 4},
                {1, 4, 8, 16},
                cpu ? std::vector<short>{1} : std::vector<short>{1, 2, 4},
                cpu ? std::vector<short>{0} : std::vector<short>{0, 1}};
    p.legal = [d, scalar, cpu](search_point const& x) {
        opencl_tile const t = opencl_tile::of(x);
        opencl_form rows;
        rows.aligned = true;
        opencl_tile narrow = t;
        narrow.a_width = narrow.b_width = 1;
        std::size_t const sums_bytes = static_cast<std::size_t>(t.micro_m * t.micro_n) * scalar;
        // PoCL's compiler has aborted on bodies with a hundred loads for each of two work-items.
        auto const loads = [&](int side, int width) { return side * t.depth / (t.threads() * width); };
        bool const short_body = loads(t.tile_m(), t.a_width) <= 32 && loads(t.tile_n(), t.b_width) <= 32;
        if (cpu && (t.threads() < 4 || !short_body)) return false;
        return is_legal(t, rows) && is_legal(narrow, rows) && fits_device(t, d, scalar) &&
               sums_bytes <= 512 && (cpu || (t.unroll == t.depth && t.threads() >= 32));
    };
    for (opencl_entry const& e : opencl_entries)
        if (e.family == tuned_like(d.family) && e.sums == (sums == 'i' ? 's' : sums))
            p.known.push_back(values_of(e.tile));
    return p;
}

STRATAGEMM_END
