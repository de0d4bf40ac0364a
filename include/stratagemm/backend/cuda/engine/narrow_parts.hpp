// In how many parts of k few columns are multiplied, who adds the parts up, and how long that takes.
#pragma once

#include "narrow_tile.hpp"

STRATAGEMM_BEGIN

// The best number of parts of k for a product with few columns, whether the blocks of a cluster add up the parts, and
// the cycles of the whole product.
struct cuda_parts_of_k {
    std::ptrdiff_t parts = 1;
    bool together = false;
    short slices = 1; // as in cuda_narrow_form
    double cycles = 1e300;

    // The terms of a part. Where A lies along m, a part has as many lines as warps ask for at a time, if this does not
    // make the last part much shorter.
    static std::ptrdiff_t part_of(std::ptrdiff_t k, std::ptrdiff_t parts, bool shifted_along_k) {
        std::ptrdiff_t const unit = shifted_along_k || k < 512 * parts ? 32 : k < 2048 * parts ? 128 : 256;
        return ((k - 1) / parts / unit + 1) * unit;
    }
    static double real(std::ptrdiff_t x) { return static_cast<double>(x); }
    // The time of two things that happen at once; where both take about as long, each delays the other.
    static double longer(double x, double y) {
        double const most = x > y ? x : y, least = x + y - most, square = least / most * (least / most);
        return most * (1 + 0.12 * square * square * square);
    }

    // There are `tiles` blocks for each part, of which `resident` are on a multiprocessor. summing(parts) gives the
    // cycles of the blocks without adding up their sums.
    template <class F>
    void consider(std::ptrdiff_t some, std::ptrdiff_t tiles, std::ptrdiff_t resident, cuda_device const& d,
                  F const& summing) {
        for (bool const by_cluster : {false, true}) {
            if (by_cluster) {
                // Multiprocessors are neighbours in some 16, among which clusters find room.
                std::ptrdiff_t const beside = (tiles * some - 1) / d.units + 1,
                                     room = 16 * beside / some * (d.units / 16);
                if (d.capability < 90 || some == 1 || some > 8 || beside > resident || 20 * tiles > 19 * room)
                    continue;
            }
            double const adding = some == 1    ? 0
                                  : by_cluster ? cuda_fitted_cluster
                                               : cuda_fitted_add + cuda_fitted_add_part * real(some);
            double const working = 3300 + summing(some) + adding,
                         queued = launching(some > 1 && !by_cluster ? 2 : 1);
            double const needs = working > queued ? working : queued;
            if (needs < cycles) cycles = needs, together = by_cluster, parts = some;
        }
    }
};

// The parts where lines of A along k begin anywhere. A block brings a part of B to shared memory and then reads rows of
// A, two blocks on a multiprocessor at a time. All blocks together are no faster than memory.
inline cuda_parts_of_k parts_of_shifted(std::size_t element, cuda_sides const& s, cuda_device const& d) {
    auto const real = cuda_parts_of_k::real;
    double const all = real(s.m) * real(s.k) * static_cast<double>(element);
    cuda_parts_of_k best;
    for (short slices = 1; slices <= 8 && cuda_narrow::can_slice(s.n, slices); slices *= 2) {
        cuda_narrow const t =
            cuda_narrow::for_sides(s.m, s.n, s.k, element, 4, {true, true, true, slices}, d.units);
        std::ptrdiff_t const tiles = ((s.m - 1) / (t.m * t.apart) + 1) * t.apart, units = d.units;
        auto const summing = [&](std::ptrdiff_t p) {
            std::ptrdiff_t const depth = cuda_parts_of_k::part_of(s.k, p, true), blocks = tiles * p;
            double const rounds = real((blocks - 1) / (2 * units) + 1),
                         idle = 1 - real(blocks) / (rounds * real(2 * units));
            double const filling = 1700 * real((depth + t.apart - 2) / t.k + 1) + 0.15 * real(depth * s.n);
            // Each vector of A is multiplied by one of each column, from shared memory.
            double const each = 1 / 31.0 + (s.n > 8 ? 0.006 * real(s.n - 8) : 0);
            double const alone = rounds * (filling + real(depth * t.m) * static_cast<double>(element) * each);
            double const reading = all / (0.7 * d.bytes_per_cycle * real(units)) * (1 + 0.25 * idle);
            return 2000 + cuda_parts_of_k::longer(alone, reading) + 1.2 * rounds * filling;
        };
        cuda_parts_of_k with;
        for (std::ptrdiff_t p = 1; p == 1 || (p * 128 <= s.k && tiles * p <= 2 * units); ++p)
            with.consider(p, tiles, 2, d, summing);
        if (with.cycles < best.cycles) best = with, best.slices = slices;
    }
    return best;
}

// How fast blocks read, `beside` of them on each multiprocessor at a time; others follow as they end. The last blocks
// leave room: a block alone gets `alone` bytes in a cycle, each of more blocks than multiprocessors a part of what a
// pair of multiprocessors gets, and all blocks together a `share` of what memory gives. Memory gives the model's rate
// times `memory`, or times `uncut` where k is not in parts and all blocks go through all of k together. `begins` and
// `each` are cycles besides. Fitted to an H200.
struct cuda_reading {
    struct round {
        double share, each;
    };
    double begins, memory, uncut, alone, pair;
    std::ptrdiff_t beside;
    round only, last; // the round of few blocks, and the last one of many

    // The cycles of `blocks` blocks that read `bytes` bytes each. `parts`: k is in parts. `within`: the factor by which
    // bytes come slower.
    double cycles(std::ptrdiff_t blocks, double bytes, bool parts, cuda_device const& d,
                  double within = 1) const {
        auto const real = cuda_parts_of_k::real;
        std::ptrdiff_t const places = beside * d.units, left = (blocks - 1) % places + 1,
                             full = (blocks - left) / places;
        round const& how = full > 0 ? last : only;
        double const all = (parts ? memory : uncut) * d.bytes_per_cycle * real(d.units) * within,
                     of_pair = pair / 2 / real((left - 1) / d.units + 1);
        double rate = how.share * all / real(left);
        if (rate > alone * within) rate = alone * within;
        if (left > d.units && rate > of_pair) rate = of_pair;
        return begins + real(full) * (real(places) * bytes / all + last.each) + bytes / rate + how.each;
    }
};
inline constexpr cuda_reading cuda_reading_lines{.begins = 300,
                                                 .memory = 1.26,
                                                 .uncut = 1.26,
                                                 .alone = 13,
                                                 .pair = 40,
                                                 .beside = 3,
                                                 .only = {0.84, 1150},
                                                 .last = {0.84, 1150}},
    cuda_reading_columns{.begins = 1000,
                         .memory = 1.1,
                         .uncut = 1.05,
                         .alone = 22.5,
                         .pair = 51,
                         .beside = 2,
                         .only = {0.89, 3700},
                         .last = {0.87, 5250}},
    cuda_reading_wide_columns{.begins = 1000,
                              .memory = 1.1,
                              .uncut = 1.1,
                              .alone = 22.5,
                              .pair = 43,
                              .beside = 2,
                              .only = {1, 3700},
                              .last = {0.87, 5250}},
    cuda_reading_vector{.begins = 3600,
                        .memory = 1.21,
                        .uncut = 1.21,
                        .alone = 18,
                        .pair = 44,
                        .beside = 3,
                        .only = {1, 290},
                        .last = {1, 290}},
    cuda_reading_wide_vector{.begins = -3120,
                             .memory = 1.28,
                             .uncut = 1.05,
                             .alone = 22,
                             .pair = 61,
                             .beside = 2,
                             .only = {0.93, 7930},
                             .last = {0.67, 1530}};

// The parts where A lies along m. A block asks for several lines at a time, and waits for them; all blocks together are
// no faster than memory.
inline cuda_parts_of_k parts_along_m(char type, std::size_t element, cuda_sides const& s,
                                     cuda_device const& d) {
    auto const real = cuda_parts_of_k::real;
    std::size_t const scalar = element < 4 ? 4 : element;
    bool const shifted = static_cast<std::size_t>(s.m) * element % 16 != 0,
               on_tensor_cores = narrow_on_tensor_cores(type, d, s.n, false);
    cuda_narrow const t = cuda_narrow::for_sides(s.m * s.count, s.n, s.k, element, scalar,
                                                 {false, on_tensor_cores, shifted}, d.units);
    std::ptrdiff_t const each = t.m / (t.micro_n - shifted), at_a_time = each * s.n > 32 ? 4 : 8,
                         lines = on_tensor_cores ? 128 : 256 / t.micro_n * at_a_time;
    std::ptrdiff_t const tiles = ((s.m - 1) / t.m + 1) * s.count, units = d.units;
    // Blocks of a multiprocessor that have registers for the lines that they ask for.
    std::ptrdiff_t const resident = element == 2 && s.n == 1 && d.capability >= 80 ? 3 : 2;
    // Two blocks may read the same sector of a line.
    double const wide = real(t.m) * static_cast<double>(element), twice = shifted ? (wide + 32) / wide : 1;
    // Columns that the tensor cores do not multiply take additional time.
    double const multiplying = on_tensor_cores || s.n == 1 ? 0 : 700 * real(s.n);
    double const bytes = real(s.m) * real(s.k * s.count) * static_cast<double>(element),
                 filling = bytes / d.bytes_per_cycle / real(units) * twice;
    auto const summing = [&](std::ptrdiff_t p) {
        std::ptrdiff_t const depth = cuda_parts_of_k::part_of(s.k, p, false), blocks = tiles * p,
                             beside = (blocks - 1) / units + 1;
        double const rounds = real(((depth - 1) / lines + 1) * ((beside - 1) / resident + 1));
        double const waits = rounds * (1930 + (beside > 1 ? 2 : 1) * multiplying);
        // If blocks are few, some multiprocessors have one block more than others.
        double const idle = beside > 2 ? 0 : 1 - real(blocks) / real(beside * units);
        // The blocks of a pair of multiprocessors, which get no more than cuda_bytes_of_pair.
        std::ptrdiff_t const of_pair = blocks > units ? 2 * beside : (blocks - 1) / ((units + 1) / 2) + 1;
        double const even = filling * (1 + 0.3 * idle),
                     uneven = bytes * twice / real(blocks) * real(of_pair) / cuda_bytes_of_pair;
        return cuda_parts_of_k::longer(waits, uneven > even ? uneven : even);
    };
    // Blocks wait for memory if they multiply 16 bits on tensor cores, or large vectors.
    bool const by_tensor_cores = on_tensor_cores && element == 2,
               is_large =
                   !on_tensor_cores && element > 1 && is_large_vector(s.m * s.count, s.n, s.k, element),
               is_wide = t.micro_n > 8;
    cuda_reading const& how = by_tensor_cores ? (is_wide ? cuda_reading_wide_columns : cuda_reading_columns)
                              : is_wide       ? cuda_reading_wide_vector
                                              : cuda_reading_vector;
    auto const reading = [&](std::ptrdiff_t p) {
        double const depth = real(p > 1 ? cuda_parts_of_k::part_of(s.k, p, false) : s.k);
        return how.cycles(tiles * p, wide * depth * twice, p > 1, d);
    };
    cuda_parts_of_k best;
    for (std::ptrdiff_t p = 1; p == 1 || (s.count == 1 && tiles * (p - 1) < 4 * units && p * 128 <= s.k); ++p)
        if (by_tensor_cores || is_large)
            best.consider(p, tiles, 2, d, reading);
        else
            best.consider(p, tiles, resident, d, summing);
    return best;
}

// The parts where A lies along k and is multiplied by tensor cores.
inline cuda_parts_of_k parts_along_k(std::size_t element, cuda_sides const& s, cuda_device const& d) {
    auto const real = cuda_parts_of_k::real;
    cuda_narrow const t = cuda_narrow::for_sides(s.m, s.n, s.k, element, 4, {true, true, false}, d.units);
    std::ptrdiff_t const tiles = (s.m - 1) / t.m + 1, places = cuda_reading_lines.beside * d.units,
                         step = 64 / static_cast<std::ptrdiff_t>(element) * t.slices;
    double const row = static_cast<double>(element) * real(s.m < t.m ? s.m : t.m);
    // Lines that begin within lines of the cache come slower.
    double const within = static_cast<std::size_t>(s.k) * element % 128 != 0 ? 0.92 : 1;
    auto const summing = [&](std::ptrdiff_t p) {
        double const depth = real(p > 1 ? cuda_parts_of_k::part_of(s.k, p, false) : s.k);
        return cuda_reading_lines.cycles(tiles * p, row * depth, p > 1, d, within);
    };
    cuda_parts_of_k best;
    for (std::ptrdiff_t p = 1; p == 1 || ((tiles * p <= places || p <= 8) && p * 2 * step <= s.k); ++p)
        best.consider(p, tiles, 3, d, summing);
    return best;
}

STRATAGEMM_END
