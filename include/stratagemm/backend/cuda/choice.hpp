// The choice of a product's kernel, by its shape, the device and the built-in tiles.
#pragma once

#include "../../device/order.hpp"
#include "model.hpp"
#include "tuning/entries.hpp"

#include <cstring>

STRATAGEMM_BEGIN

inline constexpr std::ptrdiff_t small_side = 32; // the longest of a product that many share a launch of
// The sides of the product of real numbers that replaces one product of complex numbers.
inline cuda_sides of_reals(cuda_sides const& s) { return {s.m, 2 * s.n, 2 * s.k, 1}; }

// Whether C has so few columns, or after turning it so few rows, that A is best read once by a kernel for that.
// `type` as in choose().
inline bool has_few_columns(cuda_sides const& s, std::ptrdiff_t most = 8) {
    bool const batch_of_small = s.count >= 16 && s.m <= small_side && s.n <= small_side && s.k <= small_side;
    bool const no_overflow = s.k <= device_longest - 65536; // of what a step adds
    return s.n <= s.m && s.n <= most && s.k >= 32 && no_overflow && !batch_of_small;
}
inline bool is_narrow(char type, cuda_sides const& s) { return has_few_columns(s, narrow_most(type, s.m)); }
// The sides of C or, if its transpose is narrow, those of the transpose.
inline cuda_sides oriented(char type, cuda_sides const& s) {
    cuda_sides const turned{s.n, s.m, s.k, s.count};
    return s.m < s.n && is_narrow(type, turned) ? turned : s;
}

// Whether an engine is for operands of a type on a device: its letter (source.hpp), or t for floats that may
// be rounded to tf32.
inline bool engine_takes(cuda_engine e, char type, cuda_device const& d) {
    switch (e) {
    case cuda_engine::simt: return type == 's';
    case cuda_engine::fp64: return type == 'd';
    case cuda_engine::wgmma: return std::strchr("hwbt45", type) != nullptr;
    case cuda_engine::mma:
        return std::strchr(d.capability >= 89   ? "hwbt45"
                           : d.capability >= 80 ? "hwbt"
                                                : "hb",
                           type) != nullptr;
    default: return true;
    }
}

// The order in which an invariant product sums k. Up to `shallow` terms, and of types without them, it is that of the
// CUDA cores, one multiply-add after another. Deeper products of the other types have the order of the tensor cores:
// they round once for each instruction, which has 16 terms of 16-bit types. mma and wgmma gave the same bits on
// sm_90, whatever the order of these terms (bench/results/invariant-cuda-h100.txt).
struct cuda_order {
    static constexpr std::ptrdiff_t shallow = 16;
    bool on_tensor_cores = false;
    std::ptrdiff_t piece = 0; // its depth; 0: k is not cut

    cuda_order(cuda_device const& d, char type, std::ptrdiff_t k) {
        bool const of_doubles =
            (type == 'd' || type == 'z') && d.capability == 90; // those of fp64 need no more
        on_tensor_cores = k > shallow && (of_doubles || engine_takes(cuda_engine::mma, type, d));
        // For fp8 each step of a kernel is a piece already. Kernels of tf32 have no registers for two sums.
        bool const is_cut = std::strchr("t45", type) == nullptr;
        bool const of_halves = type == 'h' || type == 'w', is_complex = type == 'c' || type == 'z';
        std::ptrdiff_t const terms = is_complex ? 2 * k : k;
        // Small products of floats share even few terms among blocks.
        bool const of_few = (type == 's' || type == 'c') && terms > 128 && terms <= 512;
        std::ptrdiff_t const depth = of_halves
                                         ? piece_depth(terms, 512, 16)
                                         : piece_depth(terms, of_few ? 64 : 128, 32) / (is_complex ? 2 : 1);
        if (is_cut && depth < k) piece = depth;
    }
    // Whether an engine sums in this order. Complex numbers are judged as they are, not as real numbers.
    bool is_of(cuda_engine e, char type, cuda_device const& d) const {
        switch (e) {
        case cuda_engine::narrow: // kernels/ordered.cu.hpp
            return std::strchr(!on_tensor_cores ? "sdcz" : d.capability >= 80 ? "dhw" : "", type) != nullptr;
        case cuda_engine::fp64: return on_tensor_cores && d.capability == 90;
        case cuda_engine::wgmma: return on_tensor_cores;
        case cuda_engine::mma: return on_tensor_cores && !(d.capability == 90 && std::strchr("45", type));
        default: return !on_tensor_cores;
        }
    }
};

// Whether few columns are multiplied by the tensor cores, if A may be read as vectors. Doubles whose A lies along k are
// multiplied by tiles instead.
inline bool narrow_on_tensor_cores(char type, cuda_device const& d, std::ptrdiff_t n, bool along_k) {
    if (type == 'h' || type == 'w') return d.capability >= 80 && (along_k || n > 2);
    if (type == 'b') return d.capability >= 80 && along_k;
    return type == 'd' && d.capability >= 90 && n > 4 && !along_k;
}

// Whether few columns of 16 bits may be multiplied by an A whose lines along k begin anywhere, without a copy of A.
// Tiles would need a copy, which is faster where A is small and B is not. For up to eight columns another kernel takes
// lines that begin at multiples of 4 bytes; that kernel is faster for many terms. `of_any_size`: also in sizes in which
// this kernel is never faster.
inline bool reads_shifted(char type, std::size_t element, cuda_device const& d, cuda_sides const& s,
                          cuda_layout const& layout, bool of_any_size = false) {
    bool const of_type = type == 'h' || type == 'w', no_overflow = s.k <= device_longest - 65536;
    std::size_t const line = static_cast<std::size_t>(s.k) * element;
    bool const may = of_type && d.capability >= 80 && layout.a_along_k && layout.a_in_lines &&
                     line % 16 != 0 && s.n <= narrow_most_shifted && no_overflow;
    if (!may || of_any_size) return may;
    if (s.count > 1 || s.n > s.m) return false;
    bool const words = line % 4 == 0;
    if (s.n <= (words ? 8 : 16)) return s.n > 1 && s.m >= 500 && s.k >= 96 && (!words || s.k <= 768);
    double const bytes = static_cast<double>(s.m) * static_cast<double>(line);
    return s.n > 8 && s.m >= 1000 && s.k >= 256 && bytes >= (words ? 12e5 : 6e5) * static_cast<double>(s.n);
}

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
    // cycles of the blocks without adding up their sums. A cluster takes `joining` more cycles, and a launch that adds
    // up the sums `gathering` more.
    template <class F>
    void consider(std::ptrdiff_t some, std::ptrdiff_t tiles, std::ptrdiff_t resident, cuda_device const& d,
                  F const& summing, double joining = 4800, double gathering = 7000) {
        for (bool const by_cluster : {false, true}) {
            if (by_cluster) {
                // Multiprocessors are neighbours in some 16, among which clusters find room.
                std::ptrdiff_t const beside = (tiles * some - 1) / d.units + 1,
                                     room = 16 * beside / some * (d.units / 16);
                if (d.capability < 90 || some == 1 || some > 8 || beside > resident || 20 * tiles > 19 * room)
                    continue;
            }
            double const adding = some == 1    ? 0
                                  : by_cluster ? joining + 220 * real(some)
                                               : gathering + 150 * real(some);
            double const working = 3300 + summing(some) + adding,
                         queued = launching(some > 1 && !by_cluster ? 2 : 1, false);
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
    for (short slices = 1; slices <= 8 && can_slice(s.n, slices); slices *= 2) {
        cuda_tile const t = tile_for_narrow(s.m, s.n, s.k, element, 4, {true, true, true, slices}, d.units);
        std::ptrdiff_t const tiles = ((s.m - 1) / (t.m * t.group) + 1) * t.group, units = d.units;
        auto const summing = [&](std::ptrdiff_t p) {
            std::ptrdiff_t const depth = cuda_parts_of_k::part_of(s.k, p, true), blocks = tiles * p;
            double const rounds = real((blocks - 1) / (2 * units) + 1),
                         idle = 1 - real(blocks) / (rounds * real(2 * units));
            double const filling = 1700 * real((depth + t.group - 2) / t.k + 1) + 0.15 * real(depth * s.n);
            // Each vector of A is multiplied by one of each column, from shared memory.
            double const each = 1 / 31.0 + (s.n > 8 ? 0.006 * real(s.n - 8) : 0);
            double const alone = rounds * (filling + real(depth * t.m) * static_cast<double>(element) * each);
            double const reading = all / (0.7 * d.bytes_per_cycle * real(units)) * (1 + 0.25 * idle);
            return 2000 + cuda_parts_of_k::longer(alone, reading) + 1.2 * rounds * filling;
        };
        cuda_parts_of_k with;
        for (std::ptrdiff_t p = 1; p == 1 || (p * 128 <= s.k && tiles * p <= 2 * units); ++p)
            with.consider(p, tiles, 2, d, summing, 2700);
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
    cuda_tile const t =
        tile_for_narrow(s.m * s.count, s.n, s.k, element, scalar, {false, on_tensor_cores, shifted}, d.units);
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
        // The blocks of a pair of multiprocessors, as in cuda_model.
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
        if (by_tensor_cores)
            best.consider(p, tiles, 2, d, reading, 600 + 440 * real(p), 1000);
        else if (is_large)
            best.consider(p, tiles, 2, d, reading, 4800, 400 * real(p));
        else
            best.consider(p, tiles, resident, d, summing);
    return best;
}

// The parts where A lies along k and is multiplied by tensor cores.
inline cuda_parts_of_k parts_along_k(std::size_t element, cuda_sides const& s, cuda_device const& d) {
    auto const real = cuda_parts_of_k::real;
    cuda_tile const t = tile_for_narrow(s.m, s.n, s.k, element, 4, {true, true, false}, d.units);
    std::ptrdiff_t const tiles = (s.m - 1) / t.m + 1, places = cuda_reading_lines.beside * d.units,
                         step = 64 / static_cast<std::ptrdiff_t>(element) * t.stages;
    double const row = static_cast<double>(element) * real(s.m < t.m ? s.m : t.m);
    // Lines that begin within lines of the cache come slower.
    double const within = static_cast<std::size_t>(s.k) * element % 128 != 0 ? 0.92 : 1;
    auto const summing = [&](std::ptrdiff_t p) {
        double const depth = real(p > 1 ? cuda_parts_of_k::part_of(s.k, p, false) : s.k);
        return cuda_reading_lines.cycles(tiles * p, row * depth, p > 1, d, within);
    };
    cuda_parts_of_k best;
    for (std::ptrdiff_t p = 1; p == 1 || ((tiles * p <= places || p <= 8) && p * 2 * step <= s.k); ++p)
        best.consider(p, tiles, 3, d, summing, element == 1 ? 4800 : 1200, 700 * real(p));
    return best;
}

// The cycles of kernels/ordered.cu.hpp: those of a block with a step of its pieces, and those of all blocks with the
// bytes that they read. Each block reads the terms of B that its pieces have. Where A does not lie along k, threads
// read some terms of A at a time, and wait for them. The constants fit measurements on an H100; those for lines along k
// and for vectors fit an H200.
inline double cycles_of_ordered(cuda_tile const& t, cuda_sides const& s, std::ptrdiff_t piece,
                                std::size_t element, cuda_layout const& layout, int all_units) {
    auto const up = [](std::ptrdiff_t x, std::ptrdiff_t y) { return static_cast<double>((x + y - 1) / y); };
    // A cluster counts as a block with its share of the pieces, and the multiprocessors of a cluster count as one.
    std::ptrdiff_t const blocks = ((s.m - 1) / t.m + 1) * s.count,
                         units = units_for(t, all_units) / t.cluster,
                         pieces = ((s.k - 1) / piece + t.cluster) / t.cluster;
    auto const size = static_cast<double>(element), k = static_cast<double>(s.k),
               n = static_cast<double>(s.n);
    double const bytes_of_a_and_c = static_cast<double>(s.m * s.count) * (k + n) * size,
                 bytes_of_b = static_cast<double>(blocks) * k * n * size;
    // An H200 has four small blocks that read A along k on a multiprocessor.
    bool const small = layout.a_along_k && element <= 4 && shared_bytes_of_ordered(t, element, true) < 55000;
    double const rounds = up(blocks, std::ptrdiff_t{small ? 4 : 2} * units);
    double const steps = up(pieces, t.micro_m) * up(piece, t.k);
    double const depth = piece < t.k ? static_cast<double>(piece) : t.k;
    double const at_a_time = element == 16 ? 8 : t.micro_n == 1 ? 32 : 16;
    double const term = element == 2 ? 2.5 : t.micro_n == 1 ? 10 : 12 * t.micro_n;
    double const step = layout.a_along_k ? 600 + depth * term : (s.n == 1 ? 1700 : 1100) * depth / at_a_time;
    // Bytes of A and B that a multiprocessor reads in a cycle. Bytes of a B of 16-bit types count one and a half times,
    // since warps wait longer for them. If blocks are few, some multiprocessors idle.
    bool const dense = static_cast<std::size_t>(s.k) * element % 16 == 0;
    double const of_halves = !dense ? 8.7 : steps > 1 ? 12 : 16;
    double const of_vector = !dense         ? (element == 8   ? 9
                                               : element == 2 ? of_halves
                                                              : 12)
                             : element == 2 ? (steps > 1 ? 14 : 18)
                                            : 16,
                 of_several = element == 2                    ? of_halves
                              : element == 4 || element == 16 ? 16
                                                              : 12,
                 rate = !layout.a_along_k ? 10
                        : s.n == 1        ? of_vector
                                          : of_several;
    double const traffic = bytes_of_a_and_c + (layout.a_along_k && element == 2 ? 1.5 : 1) * bytes_of_b,
                 even = static_cast<double>(blocks) / (up(blocks, units) * static_cast<double>(units)),
                 slowed = !layout.a_along_k || blocks > 4 * units ? 1
                          : 3 * blocks < units                    ? 1 / even
                                                                  : 2 - even;
    // Elements are copied one by one, 32 words of them in 13 cycles.
    bool const by_elements = layout.a_along_k && element > 2 && !dense;
    double const copying =
        by_elements ? up(blocks, units) * (t.m + n) * k / t.cluster * size / 4 * 13 / 32 : 0;
    double const summing = rounds * steps * step + copying,
                 reading = traffic / (rate * static_cast<double>(units * t.cluster)) * slowed;
    double const meeting = t.cluster > 1 ? up(blocks, units) * (element == 2 ? 1500 : 300) : 0;
    double const working = (element == 2 ? 4800 : 5300) + meeting + (summing > reading ? summing : reading),
                 queued = launching(1, false);
    return working > queued ? working : queued;
}

// Tiles of wgmma as wide as a round of blocks needs, or as wide as a round needs where blocks share k. Built-in tiles
// have multiples of 64 columns, up to 256. These have multiples of 16, which instructions of all types take, and up to
// 304 for two warpgroups: so rows of 16-bit tiles begin with sectors of 32 bytes of memory. Calls f(tile, rate); the
// rate is a part of the rate of `tile`.
template <class F>
void for_other_widths(cuda_device const& d, cuda_tile const& tile, cuda_sides const& s, std::size_t element,
                      bool b_along_k, F const& f) {
    if (tile.n < (element == 2 ? 128 : 192) || s.m < 1 || s.n < 1 || s.count < 1) return;
    std::ptrdiff_t const rows = ((s.m - 1) / tile.m / tile.cluster + 1) * tile.cluster * s.count;
    std::ptrdiff_t const widest = tile.m == 128 && tile.n == 256 ? 304 : tile.n;
    std::ptrdiff_t last = 0;
    auto const with = [&](std::ptrdiff_t places) {
        std::ptrdiff_t const cols = places / rows;
        if (cols == 0) return;
        std::ptrdiff_t const n = ((s.n - 1) / cols / 16 + 1) * 16;
        if (n > widest || n == tile.n || n <= tile.n - 64 || n == last) return;
        last = n;
        cuda_tile other = tile;
        other.n = static_cast<short>(n), other.stages = 8;
        while (other.stages > 2 && !can_run(other, d, element, b_along_k)) --other.stages;
        f(other, 1 - 0.0011 * static_cast<double>(n < tile.n ? tile.n - n : n - tile.n));
    };
    for (std::ptrdiff_t parts = 8; parts > 1 && s.count == 1; --parts) with(d.units / parts);
    for (std::ptrdiff_t rounds = 1; rounds <= 4; ++rounds) with(rounds * d.units);
}

// The factor for the rate of a small tile of 16 bits in clusters of four or eight blocks, each of which fetches a part
// of the operands that all blocks multiply.
inline double rate_in_clusters(cuda_tile const& t, bool b_along_k, std::size_t element) {
    if (element != 2 || t.blocks_of_cluster() < 4 || has_three_groups(t)) return 1;
    if (t.m > 64) return t.n >= 128 ? 1.15 : b_along_k ? 1.06 : 1;
    return b_along_k ? 1.4 : 1.12;
}

// Small tiles of 16 bits for clusters of four or eight blocks, as wide as one round of such clusters needs: they leave
// some multiprocessors idle. Calls f(tile, rate); the rate is a part of the rate of `tile`.
template <class F>
void for_clustered_widths(cuda_device const& d, cuda_tile const& tile, cuda_sides const& s,
                          std::size_t element, bool b_along_k, F const& f) {
    if (element != 2 || tile.m * tile.n > 128 * 128 || tile.n < 128 || tile.cluster > 1) return;
    if (s.m < 1 || s.n < 1 || s.count != 1) return;
    for (int const below : {1, 2, 4, 8})
        for (int const beside : {1, 2, 4, 8}) {
            cuda_tile other = tile;
            other.cluster = static_cast<short>(below), other.beside = static_cast<short>(beside);
            int const blocks = other.blocks_of_cluster();
            if (blocks < 4 || blocks > 8) continue;
            std::ptrdiff_t const rows = (s.m - 1) / tile.m + 1, all_rows = ((rows - 1) / below + 1) * below,
                                 cols = units_for(other, d.units) / all_rows / beside * beside;
            if (cols == 0) continue;
            std::ptrdiff_t const n = ((s.n - 1) / cols / 16 + 1) * 16;
            bool const half_empty = 2 * rows <= below || 2 * ((s.n - 1) / n + 1) <= beside;
            if (n > tile.n || n <= tile.n - 64 || n % (8 * below) != 0 || half_empty) continue;
            other.n = static_cast<short>(n), other.stages = 8;
            while (other.stages > 2 && !can_run(other, d, element, b_along_k)) --other.stages;
            f(other,
              (1 - 0.0011 * static_cast<double>(tile.n - n)) * rate_in_clusters(other, b_along_k, element));
        }
}

// Clusters that share small tiles of A and B, all of which run at a time, and pairs that share large tiles of A: where
// the rows of tiles are an odd number, built-in pairs below each other would have a tile too many. Calls f(tile, rate);
// the rate is a part of the rate of `tile`.
template <class F>
void for_other_clusters(cuda_device const& d, cuda_tile const& tile, cuda_sides const& s, std::size_t element,
                        bool b_along_k, F const& f) {
    int const largest = has_three_groups(tile) ? 192 * 128 : 128 * 128; // no others so large are measured
    if (element == 4 || tile.cluster > 1) return;
    std::ptrdiff_t const rows = (s.m - 1) / tile.m + 1, cols = (s.n - 1) / tile.n + 1;
    cuda_tile other = tile;
    if (tile.m * tile.n > largest) {
        other.beside = 2;
        if (element == 2 && cols > 1) f(other, has_three_groups(tile) ? 1 : 0.97);
        return;
    }
    for (int const below : {1, 2, 4, 8})
        for (int const beside : {1, 2, 4, 8}) {
            other.cluster = static_cast<short>(below), other.beside = static_cast<short>(beside);
            int const blocks = other.blocks_of_cluster();
            bool const half_empty = 2 * rows <= below || 2 * cols <= beside;
            if (blocks == 1 || blocks > 8 || half_empty) continue;
            std::ptrdiff_t const all =
                ((rows - 1) / below + 1) * ((cols - 1) / beside + 1) * blocks * s.count;
            if (all <= units_for(other, d.units)) f(other, rate_in_clusters(other, b_along_k, element));
        }
}

// Cycles to copy operands of two types in the wider type, whose elements have `element` bytes.
inline double cycles_of_widening(cuda_device const& d, cuda_sides const& s, cuda_layout const& layout,
                                 std::size_t element) {
    auto const bytes = [&](std::ptrdiff_t side, short narrow) {
        std::ptrdiff_t const each = narrow > 0 ? narrow + static_cast<std::ptrdiff_t>(element) : 0;
        return static_cast<double>(side) * static_cast<double>(s.k * s.count * each);
    };
    return 5500 +
           (bytes(s.m, layout.a_bytes) + bytes(s.n, layout.b_bytes)) / 18 / d.units; // as in cuda_model
}

// `type` is the letter of the operands, or t. `only` is a tile that the caller wants for all. `invariant`: the order of
// sums may depend on k and the type only. Products of integers are exact in any order. `of_complex`: the product of
// real numbers that replaces one of complex numbers; its operands may lie otherwise than `layout` says.
inline cuda_choice choose(cuda_device const& d, char type, std::size_t element, cuda_sides const& s,
                          cuda_tile const& only, cuda_layout const& layout = {}, bool invariant = false,
                          bool of_complex = false) {
    cuda_order const order(d, type, s.k);
    double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    cuda_choice best;
    double const elements = static_cast<double>(s.m) * static_cast<double>(s.n);
    double const directly = invariant && !order.is_of(cuda_engine::direct, type, d)
                                ? 1e300
                                : 5300 +
                                      (work + 5 * elements) * static_cast<double>(s.count) / (4 * d.units) +
                                      120 * static_cast<double>(s.k);
    best.cycles = directly;
    best.invariant = invariant;
    if (invariant) best.piece = order.piece;
    // Products of integers nearly always have a result of the accumulator's type; products of fp8 nearly always one of
    // 16 bits.
    std::size_t const result = type == 'b' ? 4 : element == 1 ? 2 : element;
    // Each block of a cluster should have a multiprocessor for itself. The multiprocessors of a cluster are
    // neighbours, so that up to one of five is left over.
    auto const can_be_together = [&](cuda_tile const& tile, std::ptrdiff_t parts) {
        std::ptrdiff_t const tiles = ((s.m - 1) / tile.m + 1) * ((s.n - 1) / tile.n + 1);
        bool const all_run = parts == 2 ? tiles * parts <= d.units : 5 * tiles * parts <= 4 * d.units;
        return d.capability >= 90 && all_run && adds_up_together(tile, element, parts);
    };
    bool const fetched = static_cast<std::size_t>(layout.a_along_k ? s.k : s.m) * element % 16 == 0 &&
                         static_cast<std::size_t>(layout.b_along_k ? s.k : s.n) * element % 16 == 0;
    // Whether `shifted` makes a difference to a tile.
    auto const may_shift = [&](cuda_tile const& tile) {
        if (layout.widens()) return takes_any_lines(tile) && !(invariant && may_read_along_k(tile));
        if (may_read_along_k(tile)) return !invariant && (layout.a_along_k || layout.b_along_k);
        bool const gathers = tile.engine == cuda_engine::simt && takes_any_lines(tile);
        return !fetched && (gathers || takes_words(tile, element));
    };
    auto consider = [&](cuda_tile const& tile, int blocks, double rate) {
        if (!can_run(tile, d, element, element != 2 || layout.b_along_k)) return;
        std::ptrdiff_t const tiles = ((s.m - 1) / tile.m + 1) * ((s.n - 1) / tile.n + 1);
        // A tile is left out if it would take longer even at its best. Tiles of tf32 may lie turned, and their number
        // is then that of tiles with exchanged sides.
        double const least = static_cast<double>(tiles * s.count) * tile.m * tile.n *
                             static_cast<double>(terms_of(tile, s.k)) / (rate * d.units);
        if (least > best.cycles && type != 't') return;
        auto with = [&](cuda_choice next) {
            int const beside = next.piece > 0 && next.part == 0 ? blocks_with_pieces(tile, blocks) : blocks;
            next.cycles = cuda_model({.tile = tile,
                                      .blocks = beside,
                                      .rate = rate,
                                      .choice = next,
                                      .sides = s,
                                      .layout = layout,
                                      .element = element,
                                      .result = result,
                                      .device = d})
                              .cycles();
            if (next.cycles < best.cycles) best = next;
        };
        auto with_parts = [&](std::ptrdiff_t part, std::ptrdiff_t whole) {
            for (bool const shifted : {false, true}) {
                if (shifted ? !may_shift(tile) : layout.widens()) continue;
                cuda_choice next;
                next.tile = tile, next.part = part, next.whole = whole, next.shifted = shifted;
                next.invariant = invariant, next.piece = best.piece, next.widens = layout.widens();
                with(next);
                next.together = part > 0 && whole == 0 && can_be_together(tile, next.parts(s.k));
                if (next.together) with(next);
            }
        };
        if (invariant) {
            if (!order.is_of(tile.engine, type, d)) return;
            if (order.piece == 0 || sums_pieces(tile)) with_parts(0, 0);
            if (order.piece > 0 && s.count == 1) with_parts(order.piece, 0);
            return;
        }
        with_parts(0, 0);
        if (tile.beside > 1 || tile.cluster > 2) return;
        std::ptrdiff_t const least_part = fetches(tile.engine)              ? 32
                                          : tile.engine == cuda_engine::mma ? tile.k
                                                                            : 4 * tile.k;
        for (std::ptrdiff_t parts = 2; parts <= 256 && s.count == 1; parts += parts < 8 ? 1 : parts / 4) {
            std::ptrdiff_t const part = ((s.k - 1) / parts / tile.k + 1) * tile.k;
            if (part < least_part) break;
            with_parts(part, 0);
        }
        // Only the tiles that are left for a last round are in parts.
        std::ptrdiff_t const together = tile.blocks_of_cluster(),
                             all = ((s.m - 1) / tile.m / tile.cluster + 1) *
                                   ((s.n - 1) / tile.n / tile.beside + 1) * together;
        std::ptrdiff_t const places = std::ptrdiff_t{blocks} * units_for(tile, d.units), left = all % places;
        if (!divides_last_round(tile, element) || layout.widens() || s.count != 1 || all < places ||
            left == 0)
            return;
        for (std::ptrdiff_t parts = 2; parts <= 16; ++parts) {
            std::ptrdiff_t const part = ((s.k - 1) / parts / tile.k + 1) * tile.k;
            if (part < 8 * tile.k) break;
            with_parts(part, all - left);
        }
    };
    if (only.engine != cuda_engine::direct && engine_takes(only.engine, type, d)) {
        // The rate is that of the built-in tile of the same sides, or that of the first tile of the engine.
        cuda_entry const* like = nullptr;
        for (cuda_entry const& e : cuda_entries) {
            if (e.tile.engine != only.engine || !std::strchr(e.types, type)) continue;
            bool const same = e.tile.m == only.m && e.tile.n == only.n;
            if (!like || same) like = &e;
            if (same) break;
        }
        best.cycles = 1e300;
        if (like) consider(only, like->blocks, static_cast<double>(like->rate));
        if (only.parts > 0 && !invariant && best.tile.engine != cuda_engine::direct) {
            std::ptrdiff_t const part = ((s.k - 1) / only.parts / only.k + 1) * only.k;
            best.whole = 0;
            best.part = only.parts > 1 && s.count == 1 && part > 0 && part < s.k ? part : 0;
            best.together = can_be_together(only, best.parts(s.k));
            best.tile.parts = 0;
        }
    }
    // Complex numbers may be multiplied as real ones: A is copied, and B becomes a matrix of twice its size
    // (kernels/reals.cu.hpp).
    char const real_type = type == 'c' ? 's' : type == 'z' ? 'd' : 0;
    auto const by_reals = [&](cuda_tile const& with) {
        cuda_sides const real = oriented(real_type, of_reals(s));
        bool const same_order =
            !invariant || cuda_order(d, real_type, real.k).on_tensor_cores == order.on_tensor_cores;
        if (real_type == 0 || !same_order || real.m > device_longest || real.n > device_longest ||
            real.k > device_longest)
            return best;
        cuda_choice reals = choose(d, real_type, element / 2, real, with, {}, invariant, true);
        double const copied = 2 * static_cast<double>(s.m) * static_cast<double>(s.k) +
                              3 * static_cast<double>(s.k) * static_cast<double>(s.n);
        reals.cycles += 6000 + copied * static_cast<double>(element) / 16 / d.units;
        reals.cycles *= static_cast<double>(s.count);
        reals.by_reals = reals.tile.engine != cuda_engine::direct;
        return reals;
    };
    if (fetches(only.engine) && engine_takes(only.engine, real_type, d))
        if (cuda_choice const reals = by_reals(only); reals.by_reals && reals.tile.engine == only.engine)
            return reals;
    if (best.tile.engine != cuda_engine::direct) return best;
    best.cycles = directly;
    // No other kernel widens operands. If the caller wants a tile of another kernel, the operands are copied.
    if (layout.widens()) {
        best.cycles = 1e300;
        for (cuda_entry const& e : cuda_entries)
            if (only.engine == cuda_engine::direct && e.tile.engine == cuda_engine::simt && type == 's')
                consider(e.tile, e.blocks, static_cast<double>(e.rate));
        return best;
    }
    bool const small = s.count >= 16 && s.m <= small_side && s.n <= small_side && s.k <= small_side;
    if (small && (!invariant || order.is_of(cuda_engine::small, type, d))) {
        best.tile = tile_for_small(s.m, s.n, s.k, element);
        return best;
    }
    bool const asked = only.engine == cuda_engine::narrow && only.group > 1; // as in tile_for_narrow()
    if (!invariant && reads_shifted(type, element, d, s, layout, asked)) {
        cuda_parts_of_k const by_model = parts_of_shifted(element, s, d);
        bool const given = only.engine == cuda_engine::narrow && only.parts > 0;
        std::ptrdiff_t const parts = s.count > 1 ? 1 : given ? only.parts : by_model.parts;
        cuda_choice narrow;
        narrow.tile = {.engine = cuda_engine::narrow, .n = static_cast<short>(s.n)};
        narrow.shifted = true, narrow.cycles = by_model.cycles;
        narrow.tile.stages = !given ? by_model.slices : can_slice(s.n, only.stages) ? only.stages : short{1};
        if (parts > 1) narrow.part = cuda_parts_of_k::part_of(s.k, parts, true);
        if (narrow.part >= s.k) narrow.part = 0;
        narrow.together = narrow.part > 0 &&
                          (given ? only.cluster > 1 && d.capability >= 90 && parts <= 8 : by_model.together);
        if (asked) return narrow;
        if (narrow.cycles < best.cycles) best = narrow;
    }
    // Where A does not lie along k, tiles for tensor cores read it faster than kernels for few columns do.
    bool const as_it_lies = !order.on_tensor_cores || (layout.a_along_k && layout.a_in_lines);
    // This kernel is also taken without `invariant` where lines begin anywhere, and where the blocks of a cluster share
    // a long k, if the model says that this kernel is faster by a margin. Doubles need a smaller margin.
    bool const anywhere = static_cast<std::size_t>(s.k) * element % 16 != 0;
    bool const may_order = d.capability == 90 && !of_complex && std::strchr("sdhw", type) && s.count == 1 &&
                           layout.a_along_k && layout.a_in_lines && (anywhere || element > 2);
    double const margin = invariant ? 1 : element == 8 ? 1.15 : 1.4;
    cuda_choice ordered;
    ordered.cycles = 1e300, ordered.invariant = true, ordered.piece = order.piece;
    if (has_few_columns(s) && order.is_of(cuda_engine::narrow, type, d) && as_it_lies &&
        (invariant || may_order)) {
        std::ptrdiff_t const piece = order.piece > 0 ? order.piece : s.k;
        for (short cluster = 1; cluster == 1 || (d.capability >= 90 && cluster <= 8 && cluster * piece < s.k);
             cluster = static_cast<short>(2 * cluster)) {
            cuda_tile const tile =
                tile_for_ordered(s.m * s.count, s.n, s.k, piece, element, layout.a_along_k, d, cluster);
            // Clusters are for multiprocessors that would otherwise idle.
            if (cluster > 1 && ((s.m - 1) / tile.m + 1) * s.count * cluster > 3 * d.units) continue;
            double const cycles = cycles_of_ordered(tile, s, piece, element, layout, d.units);
            if (cycles < ordered.cycles) ordered.tile = tile, ordered.cycles = cycles;
        }
    }
    auto const or_ordered = [&](cuda_choice const& x) {
        return margin * ordered.cycles < x.cycles ? ordered : x;
    };
    if (!invariant && is_narrow(type, s)) {
        double const bytes = (static_cast<double>(s.m) * static_cast<double>(s.k + s.n) +
                              static_cast<double>(s.k) * static_cast<double>(s.n)) *
                             static_cast<double>(element) * static_cast<double>(s.count);
        cuda_choice narrow;
        narrow.tile = {.engine = cuda_engine::narrow, .n = static_cast<short>(s.n)};
        // The parts of k. Where A lies along k the blocks of a kernel divide k themselves, if there are enough rows or
        // few enough terms. Otherwise a product of several columns gets parts such that rounds of blocks are full. A
        // vector gets as few parts as keep memory busy: no multiprocessor may read its blocks, at up to 40 bytes a
        // cycle, for longer than memory takes for all of A, and no block may wait for its lines for longer than that.
        // Lines along k that begin within 16 bytes are read word by word, or element by element; tiles may then be
        // faster.
        std::size_t const line = static_cast<std::size_t>(s.k) * element;
        bool const dense = !layout.a_along_k || line % 16 == 0 || s.n == 1;
        bool const words = element < 4 && line % 4 == 0;
        bool const given = only.engine == cuda_engine::narrow && only.parts > 0;
        bool const by_words = layout.a_along_k && layout.a_in_lines && line % 4 == 0 && element < 4 &&
                              narrow_on_tensor_cores(type, d, s.n, true);
        bool const by_steps = by_words && s.k < 32768 && s.count == 1;
        std::ptrdiff_t parts = given ? only.parts : 1;
        double reading = 0;
        if (given) {
            narrow.together =
                only.cluster > 1 && d.capability >= 90 && parts > 1 && parts <= 8 && s.count == 1;
        } else if (!layout.a_along_k) {
            cuda_parts_of_k const by_model = parts_along_m(type, element, s, d);
            parts = by_model.parts, narrow.together = by_model.together, reading = by_model.cycles;
        } else if (by_steps) {
            cuda_parts_of_k const by_model = parts_along_k(element, s, d);
            parts = by_model.parts, narrow.together = by_model.together, reading = by_model.cycles;
        } else if (s.m < d.units && s.k >= 8192 && s.count == 1) {
            std::ptrdiff_t const blocks = (s.m * static_cast<std::ptrdiff_t>(element) - 1) / 128 + 1,
                                 places = std::ptrdiff_t{2} * d.units;
            double least = 1e300;
            for (std::ptrdiff_t p = 1; p <= s.k / 256 && (p == 1 || blocks * (p - 1) < 2 * places); ++p) {
                auto const rounds = static_cast<double>((blocks * p - 1) / places + 1);
                double time = rounds / static_cast<double>(p) * (1 + 0.02 * static_cast<double>(p));
                if (s.n == 1) {
                    auto const each = static_cast<double>((blocks * p - 1) / d.units + 1),
                               lines = static_cast<double>(s.k / p);
                    double const all = bytes / (20 * d.units),
                                 longest = lines * (3.2 * each > 4.3 ? 3.2 * each : 4.3);
                    time = (all > longest ? all : longest) + (p > 1 ? 4000 + 50 * static_cast<double>(p) : 0);
                }
                if (time < least) least = time, parts = p;
            }
        }
        if (parts > 1 && s.count == 1) narrow.part = cuda_parts_of_k::part_of(s.k, parts, false);
        if (narrow.part >= s.k) narrow.part = 0;
        narrow.together &= narrow.part > 0;
        if (given) return narrow;
        // Tiles of doubles on the tensor cores read such an A as fast as this kernel, and need no copy of B.
        bool const by_tiles = type == 'd' && d.capability >= 90 && s.n > 4 && layout.a_along_k;
        bool const gathers = narrow.part > 0 && !narrow.together;
        // Where A lies along k, B is copied, with two exceptions: B lies along k, too, aligned, as a single column
        // does; or tensor cores read B as it lies.
        bool const copied = s.n > 1 && layout.a_along_k && !by_words &&
                            (!layout.b_along_k || static_cast<std::size_t>(s.k) * element % 16 != 0);
        // Bytes in a cycle. Several columns of doubles may be multiplied sooner by the tensor cores of tiles.
        bool const by_threads =
            !layout.a_along_k && s.n > 1 && !narrow_on_tensor_cores(type, d, s.n, layout.a_along_k);
        bool const surely = dense && !by_threads && !(element == 8 && s.n > 1);
        double const by_vectors = surely ? 20 : 12;
        double const by_elements = element == 1 ? 3 : element == 2 ? 4.5 : 12;
        double const rate = dense ? by_vectors : words ? 10 : by_elements;
        // Sums of a row that is read by elements are added up by the threads of a warp.
        double const rows = dense || words ? 0 : static_cast<double>(s.m) * static_cast<double>(s.count);
        narrow.cycles = layout.a_along_k ? 5000 + bytes / (rate * d.units) +
                                               rows * 50 * static_cast<double>(s.n) / d.units +
                                               (gathers ? 4000 : 0) + (dense && !surely && copied ? 7500 : 0)
                                         : reading;
        // Threads that read by elements wait for the copy, and then for each of their elements.
        bool const waits_twice = copied && !dense && !words && element > 1;
        if (waits_twice && narrow.cycles < 18000) narrow.cycles = 18000;
        if (by_steps && (dense || narrow.cycles < reading)) narrow.cycles = reading;
        // Lines along m that begin anywhere wait longer, and tiles of doubles take such lines as they lie. Tiles of 16
        // bits may divide k better.
        bool const doubles_may = type == 'd' && d.capability >= 90 && s.m % 2 != 0 && s.count == 1;
        bool const as_tiles =
            (element == 2 && (!layout.a_along_k || by_steps)) || (!layout.a_along_k && doubles_may);
        if (bytes > 1e6 && surely && !as_tiles) return or_ordered(narrow);
        // Launches take most of the time of small products, and tiles may need fewer launches.
        double const queued = launching(1 + gathers + copied, false);
        if (narrow.cycles < queued) narrow.cycles = queued;
        if (!by_tiles && narrow.cycles < best.cycles) best = narrow;
    }
    for (cuda_entry const& e : cuda_entries) {
        cuda_engine const engine = e.tile.engine;
        if (!std::strchr(e.types, type) || !engine_takes(engine, type, d)) continue;
        // wgmma is twice as fast for these types. But mma has smaller tiles of 16 bits, for few rows, and takes lines
        // that the hardware does not fetch.
        bool const lines_along_k = static_cast<std::size_t>(s.k) * element % 16 == 0;
        if (engine == cuda_engine::mma && d.capability == 90 && element != 2 &&
            (lines_along_k || !layout.a_along_k || !layout.b_along_k))
            continue;
        auto const consider_clusters = [&](cuda_tile const& given, double rate) {
            consider(given, e.blocks, rate);
            if (engine == cuda_engine::wgmma)
                for_other_clusters(
                    d, given, s, element, layout.b_along_k,
                    [&](cuda_tile const& tile, double part) { consider(tile, e.blocks, rate * part); });
        };
        consider_clusters(e.tile, static_cast<double>(e.rate));
        if (engine == cuda_engine::wgmma)
            for_clustered_widths(d, e.tile, s, element, layout.b_along_k,
                                 [&](cuda_tile const& tile, double part) {
                                     consider(tile, e.blocks, static_cast<double>(e.rate) * part);
                                 });
        if (engine == cuda_engine::wgmma && (element == 2 || (element == 1 && layout.b_along_k)))
            for_other_widths(d, e.tile, s, element, layout.b_along_k,
                             [&](cuda_tile const& tile, double part) {
                                 consider_clusters(tile, static_cast<double>(e.rate) * part);
                             });
    }
    if (cuda_choice const reals = by_reals({}); reals.by_reals && reals.cycles < best.cycles) best = reals;
    return or_ordered(best);
}

STRATAGEMM_END
