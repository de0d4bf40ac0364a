// Which kernel a product gets, from its shape, the device and the tiles that there are.
#pragma once

#include "../../device/order.hpp"
#include "../../device/product.hpp"
#include "tuning/entries.hpp"

#include <cstring>
#include <vector>

STRATAGEMM_BEGIN

struct cuda_choice {
    cuda_tile tile;           // by default the direct kernel
    std::ptrdiff_t part = 0;  // depth of each part of k, where there are several; 0: k is summed at once
    std::ptrdiff_t whole = 0; // tiles ahead of those that are in parts: full rounds of blocks
    double cycles = 0;        // that it should take
    bool by_reals = false; // complex numbers: the tile, the parts and `whole` are of the product of real ones
    bool invariant = false;   // in the order of cuda_order
    std::ptrdiff_t piece = 0; // depth of each piece of k, which the kernel sums apart; 0: there is one

    std::ptrdiff_t parts(std::ptrdiff_t k) const { return part > 0 ? (k + part - 1) / part : 1; }
};

using cuda_sides = device_sides;

inline constexpr std::ptrdiff_t small_side = 32; // the longest of a product that many share a launch of
// Of the product of real numbers that one of complex ones is, alone.
inline cuda_sides of_reals(cuda_sides const& s) { return {s.m, 2 * s.n, 2 * s.k, 1}; }

// The least that a step of k takes a block, in cycles: until what it reads has come. `blocked` has to store that before
// its threads, a few warps, multiply it.
inline double shortest_step(cuda_tile const& t, std::size_t element) {
    double const each = t.micro_m * t.micro_n * t.k; // multiply-adds of a thread
    switch (t.engine) {
    case cuda_engine::simt: return 1150;
    case cuda_engine::fp64: return 220;
    case cuda_engine::wgmma: return 400;
    case cuda_engine::mma: return 250;
    default: return element == 4 ? 480 + 2.2 * each : element == 8 ? 900 + 5 * each : 500 + 4.5 * each;
    }
}

// Bytes of C that a multiprocessor stores in a cycle, and nothing else meanwhile, in rows of so many.
inline double bytes_stored(cuda_tile const& t, std::size_t element, std::size_t row) {
    bool const aligned = row % 16 == 0;
    switch (t.engine) {
    case cuda_engine::simt: return t.micro_m * t.micro_n > 128 ? (aligned ? 12 : 7) : aligned ? 24 : 8.5;
    case cuda_engine::fp64: return aligned ? 14 : 12;
    case cuda_engine::blocked: // warps that lie along n store whole lines
        return t.n / t.micro_n % 32 != 0 ? 6 : element == 2 ? 15 : 24;
    case cuda_engine::mma: return aligned ? 12 : 6;
    default: return aligned ? 28 : row % 4 == 0 ? 7.5 : 5;
    }
}

// Cycles that pass until the host has queued so many launches, and made maps of operands: small products wait for that.
inline double launching(int launches, bool maps) { return 7500.0 * launches - 1500 + (maps ? 1500 : 0); }

// In cycles: rounds of blocks on all multiprocessors, each for a tile of C and all of k; and for sums of
// parts of k another launch, and what it takes to write and to read them. Where only the last round is in
// parts, it is a round of its own. The constants are those that fit measurements on an H200 best
// (bench/results/tiles-h200-2026-11-23.txt), and on an H100 of shapes that were behind cuBLAS there
// (tiles-h100-2026-11-25.txt).
inline double cycles_of(cuda_tile const& given, int blocks, double rate, cuda_sides const& s,
                        cuda_choice const& how, int units, std::size_t element, bool b_along_k) {
    cuda_form const form = form_for(given, element, {.b_along_k = b_along_k});
    cuda_tile const t = lying_on_c(given, form, element);
    auto const up = [](std::ptrdiff_t x, std::ptrdiff_t y) { return static_cast<double>((x + y - 1) / y); };
    // Of two things at a time; where both take about as long, each delays the other.
    auto const longer = [](double x, double y) {
        double const most = x > y ? x : y, ratio = x > y ? y / x : x / y, square = ratio * ratio;
        return most * (1 + 0.12 * square * square * square);
    };
    auto const size = static_cast<double>(element), sum = size < 4 ? 4 : size;
    double const whole = static_cast<double>(how.whole), parts = static_cast<double>(how.parts(s.k));
    double const tiles =
        up(s.m, std::ptrdiff_t{t.m} * t.cluster) * t.cluster * up(s.n, t.n) * static_cast<double>(s.count);
    auto const rows = static_cast<double>(s.m < t.m ? s.m : t.m),
               cols = static_cast<double>(s.n < t.n ? s.n : t.n);
    std::size_t const row = static_cast<std::size_t>(s.n) * element;
    // simt takes longer to store where k ends within a step.
    bool const ends_within = t.engine == cuda_engine::simt && s.k % t.k != 0;
    double const store_rate = bytes_stored(t, element, row) * (ends_within && row % 16 == 0 ? 2 / 3.0 : 1);
    // For tensor cores, lines that begin within those of the cache take longer to fetch, if all multiprocessors do.
    double const slowed = t.engine == cuda_engine::wgmma ? (t.cluster > 1 ? 1.5 : 2)
                          : t.engine == cuda_engine::mma ? 1.5
                                                         : 1;
    auto const slowly = [&](std::ptrdiff_t line, double share) {
        bool const within = static_cast<std::size_t>(line) * element % 128 != 0;
        return within && slowed * share > 1 ? slowed * share : 1.0;
    };
    // Sums of parts of k have aligned rows in workspace, whatever the rows of C are. In a second and last round, wgmma
    // stores these sums as slowly as rows that the hardware's copies do not take. After more rounds it makes no
    // difference.
    bool const of_parts =
        (element == 4 && t.engine == cuda_engine::blocked && how.part > 0 && store_rate < 7.5) ||
        (element == 2 && t.engine == cuda_engine::wgmma && how.whole > 0 && how.whole <= units);
    // Of operands that lie otherwise than the engine takes them; and, if rows have no gaps, of what does not begin at
    // multiples of 16 bytes. A is nearly always along k.
    auto const copied = [&](std::ptrdiff_t side, bool lies_along_k, bool along_k) {
        auto const line = static_cast<std::size_t>(lies_along_k ? s.k : side);
        bool const copies = lies_along_k != along_k || line * element % 16 != 0;
        return reads_lines(t.engine) && copies
                   ? static_cast<double>(side) * static_cast<double>(s.k * s.count) * size
                   : 0;
    };
    double copies = copied(s.m, true, form.a_along_k) + copied(s.n, b_along_k, form.b_along_k);
    double fetched = 60; // bytes a cycle
    // If one row of tiles covers C, tiles of B come from memory. Where B lies along n, each step of k reads other
    // pages.
    double const of_b = static_cast<double>(s.k) * static_cast<double>(s.n) * size;
    bool const from_pages = (t.engine == cuda_engine::wgmma || t.engine == cuda_engine::mma) && !b_along_k &&
                            s.m <= t.m && of_b > 4e6 && row % 16 == 0;
    double step = from_pages ? 650 : shortest_step(t, element);
    double begins = 5300; // until the first tile has come
    double rows_fetched = rows, cols_fetched = cols;
    std::ptrdiff_t fetched_depth = 1; // and multiples of that
    if (copies > 0 && how.whole == 0) {
        // Copying word by word takes as long for elements beyond the matrix as for others.
        bool const are_words = static_cast<std::size_t>(s.k | (b_along_k ? s.k : s.n)) * element % 4 == 0;
        if (takes_any_lines(t)) copies = 0, fetched = 22;
        if (how.invariant && !are_words && takes_elements(t, element, how.part > 0 ? how.part : s.k))
            copies = 0, fetched = 6, step = 1000;
        if (takes_words(t, element) && are_words)
            copies = 0, fetched = 13, begins += 2000, rows_fetched = t.m, cols_fetched = t.n,
            fetched_depth = t.k;
    }
    // A round of blocks, each with a tile: `beside` of them on each multiprocessor, or on a `share` of the
    // multiprocessors.
    auto const round_of = [&](double beside, double share, std::ptrdiff_t depth, double stored) {
        double const slow_a = slowly(s.k, share), slow_b = slowly(b_along_k ? s.k : s.n, share);
        double const multiplying = static_cast<double>(t.m) * t.n * up(depth, t.k) * t.k / rate,
                     fetching = (rows_fetched * slow_a + cols_fetched * slow_b / t.cluster) *
                                up(depth, fetched_depth) * static_cast<double>(fetched_depth) * size /
                                fetched,
                     waiting = (up(depth, t.k) - (reads_lines(t.engine) ? 0 : 0.6)) * step;
        // One block does not keep a multiprocessor busy that has room for several.
        double const alone = beside < blocks ? multiplying : 0;
        double const summing =
                         longer(longer(multiplying, fetching) * beside, waiting > alone ? waiting : alone),
                     storing = rows * cols * stored / (of_parts && stored >= 4 ? 7.5 : store_rate) * beside;
        // wgmma leaves rows that are aligned to the hardware, and multiplies the next tile meanwhile.
        bool const together = t.engine == cuda_engine::wgmma && row % 16 == 0 && !(of_parts && stored >= 4);
        return 300 + (together ? longer(summing, storing) : summing + storing);
    };
    auto const rounds_of = [&](double all, std::ptrdiff_t depth, double stored) {
        auto const places = static_cast<double>(units * blocks);
        auto const full = static_cast<double>(static_cast<std::ptrdiff_t>(all / places));
        double const left = all - full * places;
        double const cycles = full > 0 ? full * round_of(blocks, 1, depth, stored) : 0;
        if (left == 0) return cycles;
        return cycles + round_of(up(static_cast<std::ptrdiff_t>(left), units),
                                 left < units ? left / units : 1, depth, stored);
    };
    double const summing =
        how.whole > 0 ? rounds_of(whole, s.k, size) + rounds_of((tiles - whole) * parts, how.part, sum)
                      : rounds_of(tiles * parts, how.part > 0 ? how.part : s.k, how.part > 0 ? sum : size);
    auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k),
               count = static_cast<double>(s.count);
    double const sums = how.part == 0 ? 0 : how.whole > 0 ? (tiles - whole) * t.m * t.n : m * n;
    double const traffic = (m * k + k * n + m * n) * size * count + sums * sum * parts;
    double const gathering = how.part > 0 ? 3000 + 8 * parts + sums * sum * (2 * parts + 1) / 24 / units : 0;
    // Where some multiprocessors have less to do than others, these do not fetch as fast as memory could give.
    double const items = how.whole > 0 ? whole : tiles * parts;
    double const idle = 1 - items / (up(static_cast<std::ptrdiff_t>(items), units) * units);
    double const working = begins + longer(summing, traffic / 16 / units * (1 + 0.5 * idle)) + gathering +
                           (copies > 0 ? 7500 + 2 * copies / 16 / units : 0);
    return longer(working, launching(1 + (how.part > 0) + (copies > 0), fetches(t.engine)));
}

// Whether C has so few columns, or after turning it so few rows, that A is best read once by a kernel for that.
// `type` as in choose().
inline bool is_narrow(char type, cuda_sides const& s) {
    bool const batch_of_small = s.count >= 16 && s.m <= small_side && s.n <= small_side && s.k <= small_side;
    bool const no_overflow = s.k <= device_longest - 65536; // of what a step adds
    return s.n <= s.m && s.n <= narrow_most(type, s.m) && s.k >= 32 && no_overflow && !batch_of_small;
}
// Of C or of its transpose, if that is narrow.
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
// CUDA cores, one multiply-add after another. Deeper products of the other types have the order of the tensor cores: they
// round once for each instruction, which has 16 terms of 16-bit types. mma and wgmma gave the same bits on sm_90, whatever
// the order of these terms (bench/results/invariant-h100-2026-11-25.txt).
struct cuda_order {
    static constexpr std::ptrdiff_t shallow = 16;
    bool on_tensor_cores = false;
    std::ptrdiff_t piece = 0; // its depth; 0: k is not cut

    cuda_order(cuda_device const& d, char type, std::ptrdiff_t k) {
        bool const of_doubles =
            (type == 'd' || type == 'z') && d.capability == 90; // those of fp64 need no more
        on_tensor_cores = k > shallow && (of_doubles || engine_takes(cuda_engine::mma, type, d));
        // Of fp8 each step of a kernel is a piece already. Kernels of tf32 have no registers for two sums.
        bool const is_cut = std::strchr("t45", type) == nullptr;
        std::ptrdiff_t const depth = type == 'h' || type == 'w'   ? piece_depth(k, 512, 16)
                                     : type == 'c' || type == 'z' ? piece_depth(2 * k, 128, 32) / 2
                                                                  : piece_depth(k, 128, 32);
        if (is_cut && depth < k) piece = depth;
    }
    // Whether an engine sums so. Of complex numbers: as they are.
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

// Of kernels/ordered.cu.hpp: a block goes through the steps of its pieces, and A is read once. A step takes as long as its
// threads need to ask for its operands; of 16-bit types, as memory takes to answer.
inline double cycles_of_ordered(cuda_tile const& t, cuda_sides const& s, std::ptrdiff_t pieces,
                                std::size_t element, int units) {
    auto const up = [](std::ptrdiff_t x, std::ptrdiff_t y) { return static_cast<double>((x + y - 1) / y); };
    double const bytes = (static_cast<double>(s.m) * static_cast<double>(s.k + s.n) +
                          static_cast<double>(s.k) * static_cast<double>(s.n)) *
                         static_cast<double>(element) * static_cast<double>(s.count);
    double const blocks = up(((s.m - 1) / t.m + 1) * s.count, std::ptrdiff_t{2} * units);
    std::ptrdiff_t const piece = (s.k - 1) / pieces + 1;
    double summing = 0;
    if (element == 2) {
        summing = blocks * up(pieces, t.stages) * up(piece, 128) * 1400;
    } else {
        std::ptrdiff_t const at_once = 256 / t.m < pieces ? 256 / t.m : pieces;
        bool const in_vectors = static_cast<std::size_t>(s.k) * element % 16 == 0 ||
                                static_cast<std::size_t>(s.m) * element % 16 == 0;
        std::ptrdiff_t const vector = in_vectors ? 16 / static_cast<std::ptrdiff_t>(element) : 1;
        double const copies = up(at_once * t.m * t.k, 256 * vector) + up(at_once * s.n * t.k, 256);
        summing = blocks * up(pieces, 256 / t.m) * up(piece, t.k) * (400 + 130 * copies);
    }
    double const reading = bytes / (16 * units);
    double const working = 5300 + (summing > reading ? summing : reading), queued = launching(1, false);
    return working > queued ? working : queued;
}

// `type` is the letter of the operands, or t. `only` is a tile that the caller wants for all. B lies along n or along k.
// `invariant`: the order of sums may depend on k and the type only. Products of integers are exact in any order.
inline cuda_choice choose(cuda_device const& d, char type, std::size_t element, cuda_sides const& s,
                          cuda_tile const& only, bool b_along_k = false, bool invariant = false) {
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
    auto consider = [&](cuda_tile const& tile, int blocks, double rate) {
        if (!can_run(tile, d, element)) return;
        auto with_parts = [&](std::ptrdiff_t part, std::ptrdiff_t whole) {
            cuda_choice next = best;
            next.tile = tile, next.part = part, next.whole = whole;
            next.cycles = cycles_of(tile, blocks, rate, s, next, d.units, element, b_along_k);
            if (next.cycles < best.cycles) best = next;
        };
        if (invariant) {
            if (!order.is_of(tile.engine, type, d)) return;
            if (order.piece == 0 || sums_pieces(tile)) with_parts(0, 0);
            if (order.piece > 0 && s.count == 1) with_parts(order.piece, 0);
            return;
        }
        with_parts(0, 0);
        std::ptrdiff_t const least_part = fetches(tile.engine) ? 32 : 4 * tile.k;
        for (std::ptrdiff_t parts = 2; parts <= 256 && s.count == 1; parts += parts < 8 ? 1 : parts) {
            std::ptrdiff_t const part = (s.k / parts + tile.k - 1) / tile.k * tile.k;
            if (part < least_part) break;
            with_parts(part, 0);
        }
        // Only of the tiles that are left for a last round.
        std::ptrdiff_t const places = std::ptrdiff_t{blocks} * d.units,
                             tiles = ((s.m - 1) / tile.m + 1) * ((s.n - 1) / tile.n + 1),
                             left = tiles % places;
        if (!divides_last_round(tile, element) || s.count != 1 || tiles < places || left == 0) return;
        for (std::ptrdiff_t parts = 2; parts <= 16; ++parts) {
            std::ptrdiff_t const part = (s.k / parts + tile.k - 1) / tile.k * tile.k;
            if (part < 8 * tile.k) break;
            with_parts(part, tiles - left);
        }
    };
    if (only.engine != cuda_engine::direct && engine_takes(only.engine, type, d)) {
        // At the rate of the built-in tile of the same sides, or of the first of the engine.
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
            std::ptrdiff_t const part = (s.k / only.parts + only.k - 1) / only.k * only.k;
            best.whole = 0;
            best.part = only.parts > 1 && s.count == 1 && part > 0 && part < s.k ? part : 0;
            best.tile.parts = 0;
        }
    }
    // Complex numbers as real ones: A is copied, and B as what has twice its size (kernels/reals.cu.hpp).
    char const real_type = type == 'c' ? 's' : type == 'z' ? 'd' : 0;
    auto const by_reals = [&](cuda_tile const& with) {
        cuda_sides const real = oriented(real_type, of_reals(s));
        bool const same_order =
            !invariant || cuda_order(d, real_type, real.k).on_tensor_cores == order.on_tensor_cores;
        if (real_type == 0 || !same_order || real.m > device_longest || real.n > device_longest ||
            real.k > device_longest)
            return best;
        cuda_choice reals = choose(d, real_type, element / 2, real, with, false, invariant);
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
    bool const small = s.count >= 16 && s.m <= small_side && s.n <= small_side && s.k <= small_side;
    if (small && (!invariant || order.is_of(cuda_engine::small, type, d))) {
        best.tile = tile_for_small(s.m, s.n, s.k, element);
        return best;
    }
    if (invariant && is_narrow(type, s) && order.is_of(cuda_engine::narrow, type, d)) {
        cuda_choice ordered = best;
        std::ptrdiff_t const pieces = order.piece > 0 ? (s.k - 1) / order.piece + 1 : 1;
        ordered.tile = element == 2 ? tile_for_ordered_mma(s.n, pieces, true)
                                    : tile_for_ordered(s.m * s.count, s.n, pieces, element, d.units);
        ordered.cycles = cycles_of_ordered(ordered.tile, s, pieces, element, d.units);
        std::size_t const bytes = element == 2 ? 0 : shared_bytes_of_ordered(ordered.tile, element);
        if (bytes <= d.shared_bytes && ordered.cycles < best.cycles) best = ordered;
    } else if (!invariant && is_narrow(type, s)) {
        double const bytes = (static_cast<double>(s.m) * static_cast<double>(s.k + s.n) +
                              static_cast<double>(s.k) * static_cast<double>(s.n)) *
                             static_cast<double>(element) * static_cast<double>(s.count);
        cuda_choice narrow;
        narrow.tile = {.engine = cuda_engine::narrow, .n = static_cast<short>(s.n)};
        // The parts of k. A block reads 128 bytes of each column of A. With several columns of B, parts are chosen so
        // that rounds of blocks are full. A vector gets as few parts as keep memory busy: no multiprocessor may read
        // its blocks, at up to 40 bytes a cycle, for longer than memory takes for all of A, and no block may wait for
        // its lines for longer than that.
        std::ptrdiff_t const blocks = (s.m * static_cast<std::ptrdiff_t>(element) - 1) / 128 + 1,
                             places = std::ptrdiff_t{2} * d.units, most = s.count > 1 ? 1 : s.k / 256;
        std::ptrdiff_t parts = 1;
        double least = 1e300;
        for (std::ptrdiff_t p = 1; p <= most && (p == 1 || blocks * (p - 1) < 2 * places); ++p) {
            auto const rounds = static_cast<double>((blocks * p - 1) / places + 1);
            double time = rounds / static_cast<double>(p) * (1 + 0.02 * static_cast<double>(p));
            if (s.n == 1) {
                auto const each = static_cast<double>((blocks * p - 1) / d.units + 1),
                           lines = static_cast<double>(s.k / p);
                double const reading = bytes / (20 * d.units),
                             longest = lines * (3.2 * each > 4.3 ? 3.2 * each : 4.3);
                time = (reading > longest ? reading : longest) +
                       (p > 1 ? 4000 + 50 * static_cast<double>(p) : 0);
            }
            if (time < least) least = time, parts = p;
        }
        narrow.part = parts > 1 ? (s.k / parts + 31) / 32 * 32 : 0;
        // Where no line can begin at a multiple of 16 bytes, A is read element by element, and tiles may be faster.
        bool const dense = static_cast<std::size_t>(s.k) * element % 16 == 0 ||
                           static_cast<std::size_t>(s.m) * element % 16 == 0 || s.n == 1;
        narrow.cycles = 5000 + bytes / ((dense ? 20 : 3) * d.units) + (parts > 1 ? 4000 : 0);
        if (bytes > 1e6 && dense) return narrow;
        // Of small ones launches are most of it, and tiles may need fewer. B is copied unless it lies along k, aligned.
        bool const copied = !b_along_k || static_cast<std::size_t>(s.k) * element % 16 != 0;
        double const queued = launching(1 + (parts > 1) + copied, false);
        if (narrow.cycles < queued) narrow.cycles = queued;
        if (narrow.cycles < best.cycles) best = narrow;
    }
    for (cuda_entry const& e : cuda_entries) {
        cuda_engine const engine = e.tile.engine;
        if (!std::strchr(e.types, type) || !engine_takes(engine, type, d)) continue;
        // wgmma is twice as fast there. Of 16 bits mma has smaller tiles, for few rows.
        if (engine == cuda_engine::mma && d.capability == 90 && element != 2) continue;
        consider(e.tile, e.blocks, static_cast<double>(e.rate));
    }
    if (cuda_choice const reals = by_reals({}); reals.by_reals && reals.cycles < best.cycles) return reals;
    return best;
}

// How a group is done: by launches that its products share, of one tile, or by launches of their own.
struct cuda_sharing {
    cuda_tile tile;
    std::vector<char> alone; // whether each of them is
};

// Whether a product shares launches without further thought: it is a few tiles, and soon done by one block
// each.
inline bool surely_shares(cuda_sides const& s) {
    return s.k <= 256 && s.count <= 64 && s.m < 256 && s.n < 256 &&
           (s.m + 64) * (s.n + 64) * s.count <= 192 * 192;
}

// `table` products at most share a launch. In cycles, and of a product that is alone roughly: to choose a
// kernel for each would take longer than to run it.
inline cuda_sharing share_out(cuda_device const& d, char type, std::size_t element,
                              std::vector<cuda_sides> const& all, int table, cuda_tile const& only) {
    bool const any = only.engine == cuda_engine::direct; // whether tiles' rates are known
    double fastest = 1;                                  // multiply-adds of a multiprocessor
    for (cuda_entry const& e : cuda_entries)
        if (any && std::strchr(e.types, type) && engine_takes(e.tile.engine, type, d) &&
            can_run(e.tile, d, element) && static_cast<double>(e.rate) > fastest)
            fastest = static_cast<double>(e.rate);
    auto const tiles_along = [](std::ptrdiff_t side,
                                short tile) { // ints divide sooner, and sides are ints to kernels
        auto const up = static_cast<unsigned>(side) + static_cast<unsigned>(tile) - 1;
        return static_cast<double>(up / static_cast<unsigned>(tile));
    };
    cuda_sharing best;
    double least = 0;
    struct sums {
        double tiles = 0, together = 0; // cycles of all, side by side
        double deepest = 0;             // k
    };
    // A launch ends with its deepest tile, which began beside others, and after its place in the table was
    // found. By itself it has less than twice its share of the rate, and waits for memory at each of its
    // steps.
    auto const until = [&](cuda_entry const& e, double depth, double tiles) {
        cuda_tile const& t = e.tile;
        double const present = tiles / d.units, fewest = 0.6 * e.blocks;
        double const beside = present > e.blocks ? e.blocks : present > fewest ? present : fewest;
        double const multiplying = static_cast<double>(t.m) * t.n / static_cast<double>(e.rate) * beside;
        double const waiting = 1400.0 / t.k;
        return 10000 + (depth + t.k) * (multiplying > waiting ? multiplying : waiting);
    };
    // If `before` says that the launch would wait for its longest tiles, these are alone if that is sooner.
    auto const consider = [&](cuda_entry const& e, sums const& before) {
        cuda_tile const& t = e.tile;
        double const area = static_cast<double>(t.m) * t.n, size = area / static_cast<double>(e.rate);
        double const once = 6000.0 / e.blocks + area * static_cast<double>(element) / 14; // begins, is stored
        bool const waits = until(e, before.deepest, before.tiles) > before.together;
        sums shared;
        double apart = 0;
        int sharing = 0;
        std::vector<char> alone(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            cuda_sides const& s = all[i];
            double const tiles = tiles_along(s.m, t.m) * tiles_along(s.n, t.n) * static_cast<double>(s.count);
            auto const depth = static_cast<double>(s.k);
            double const share = tiles * (size * (depth + t.k) + once) / d.units;
            if ((share > 10000 || waits) && !surely_shares(s)) {
                double const work = static_cast<double>(s.m) * static_cast<double>(s.n) * depth *
                                    static_cast<double>(s.count);
                double const own = 10000 + 1.3 * work / (fastest * d.units);
                double const end = waits ? until(e, depth, before.tiles) : 0;
                if ((any && own < share) || (end > before.together && own < end)) {
                    alone[i] = true, apart += own;
                    continue;
                }
            }
            ++sharing, shared.tiles += tiles, shared.together += share;
            if (depth > shared.deepest) shared.deepest = depth;
        }
        double const end = until(e, shared.deepest, shared.tiles);
        double const launches = (sharing + table - 1) / table;
        double const cycles = apart + (shared.together > end ? shared.together : end) + 2000 * launches;
        if (best.tile.engine != cuda_engine::blocked || cycles < least)
            best = {t, std::move(alone)}, least = cycles;
        return shared;
    };
    auto const consider_both = [&](cuda_entry const& e) {
        sums none;
        none.together = 1e300;
        sums const all_together = consider(e, none);
        if (until(e, all_together.deepest, all_together.tiles) > all_together.together)
            consider(e, all_together);
    };
    if (only.engine == cuda_engine::blocked) {
        consider_both({"", only, 1, 1});
    } else {
        for (cuda_entry const& e : cuda_group_entries)
            if (std::strchr(e.types, type)) consider_both(e);
    }
    return best;
}

STRATAGEMM_END
