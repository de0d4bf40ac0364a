// What few columns are made of with a kernel of narrow, and which ways there are.
#pragma once

#include "counts.hpp"
#include "narrow_tile.hpp"

STRATAGEMM_BEGIN

// How the operands of a product of few columns lie, as far as sides and layout tell.
struct cuda_narrow_reads {
    cuda_narrow_form form;
    std::size_t unit; // bytes of A that lie together, up to 16
    bool copied;      // B is copied first

    // As few columns in general are read.
    static cuda_narrow_reads of(cuda_query const& q) {
        cuda_layout const& layout = q.layout;
        std::size_t const unit = layout.a_in_lines ? cuda_counts::begins_at(q.line_of_a()) : q.element;
        bool const along_k = layout.a_along_k, words = q.element < 4 && unit >= 4, vectors = unit == 16,
                   may = narrow_on_tensor_cores(q.type, q.device, q.sides.n, along_k),
                   on_tensor_cores = may && layout.a_in_lines && (!along_k || words),
                   b_lies = q.sides.n == 1 || (layout.b_along_k && (vectors || (may && words)));
        return {{along_k, on_tensor_cores, !along_k && layout.a_in_lines && !vectors},
                unit,
                along_k && !b_lies && !on_tensor_cores};
    }
    // As a kernel reads them that takes lines along k which begin anywhere.
    static cuda_narrow_reads shifted() { return {{true, true, true}, 16, false}; }
};

class cuda_narrow_counts : public cuda_counts {
public:
    cuda_narrow_counts(cuda_query const& q, cuda_narrow const& t, cuda_narrow_reads const& reads,
                       cuda_way const& way) {
        cuda_sides const& s = q.sides;
        units = q.device.units, resident = blocks_of(q, t, reads.form);
        parts = real(way.parts(s.k)), clustered = way.together, added = way.part > 0 && !way.together;
        auto const terms = static_cast<std::ptrdiff_t>(step_of(q, t, reads));
        std::ptrdiff_t const depth = way.part > 0 ? way.part : s.k;
        double const steps = up(depth, terms < 1 ? 1 : terms);
        // Threads bring as much of B to shared memory as has room, or zeros.
        if (t.n > 1 && !reads.form.along_k && !reads.form.on_tensor_cores)
            changed = up(depth, t.k) * t.k * t.n / steps;
        std::ptrdiff_t const blocks = tiles(s, t) * s.count * way.parts(s.k);
        if (clustered)
            rounds(blocks, steps, places_of_clusters(blocks, way.parts(s.k)));
        else
            rounds(blocks, steps);
        memory_of(q, t, reads);
        row = 0;
    }
    // Blocks for a part of k.
    static std::ptrdiff_t tiles(cuda_sides const& s, cuda_narrow const& t) {
        return ((s.m - 1) / (t.m * t.apart) + 1) * t.apart;
    }
    // Blocks that a multiprocessor has room for: RESIDENT in narrow.cu.hpp, as it was when the costs were fitted. Where
    // this says one, there are two now if A lies along m.
    static int blocks_of(cuda_query const& q, cuda_narrow const& t, cuda_narrow_form const& form) {
        auto const each = each_of(q.element, form.along_k);
        bool const has_long_vectors = !form.along_k && q.element <= 2 && t.n <= 2;
        bool const has_room = has_long_vectors && t.n == 1 && q.element == 2 && q.device.capability >= 80;
        if (has_room || (form.on_tensor_cores && form.along_k && !form.shifted)) return 3;
        if (form.on_tensor_cores || has_long_vectors) return 2;
        return q.element < 16 && each * t.n * sum_size(q) <= 64 ? 3 : 1;
    }

private:
    // Elements of A that a thread has of a vector.
    static double each_of(std::size_t element, bool along_k) {
        return element == 1 && !along_k ? 8 : element > 16 ? 1 : 16 / real(element);
    }
    // Blocks that run at a time if so many are in each cluster. Multiprocessors are neighbours in some 16, among which
    // a cluster finds room, if not always, and blocks are shared out evenly (spread_out() in product.hpp).
    std::ptrdiff_t places_of_clusters(std::ptrdiff_t blocks, std::ptrdiff_t in_each) const {
        std::ptrdiff_t const even = (blocks - 1) / units + 1, beside = even < resident ? even : resident,
                             clusters = 16 * beside / in_each * (units < 16 ? 1 : units / 16) * 19 / 20;
        return clusters > 0 ? clusters * in_each : in_each;
    }
    // What a step has; returns its terms: those that a block asks for before it waits.
    double step_of(cuda_query const& q, cuda_narrow const& t, cuda_narrow_reads const& reads) {
        cuda_narrow_form const& form = reads.form;
        double const each = each_of(q.element, form.along_k), size = real(q.element), n = t.n,
                     rows = q.sides.m < t.m ? real(q.sides.m) : t.m;
        double terms = 0;
        if (form.along_k) {
            // Lanes share pieces of lines: four of them on tensor cores, else all of a warp.
            double const ahead = form.shifted ? (n > 32 ? 2 : 4)
                                 : form.on_tensor_cores || t.micro_m >= 4 || n * sum_size(q) > 64 ? 2
                                                                                                  : 4;
            terms = ahead * (form.on_tensor_cores ? 4 : 32) * each * t.slices;
            loads = 8 * terms / t.slices * n;
            stages = form.on_tensor_cores && !form.shifted ? 2 : 1;
            if (form.shifted)
                changed = terms * n; // of B, on the way to shared memory
            else if (reads.unit < 16)
                gathered = rows * terms * size / real(reads.unit >= 4 ? 4 : reads.unit);
        } else {
            double const ahead = each * n > 32 ? 4 : 8, warps_of_terms = 64 / real(t.micro_n);
            terms = form.on_tensor_cores ? warps_of_terms * 32 / size : 256 / real(t.micro_n) * ahead;
            loads = t.micro_n / 8.0 * terms * n;
        }
        multiply_adds = rows * terms * n;
        fetched = rows * terms * size;
        within = form.along_k && q.line_of_a() % 128 != 0 ? fetched : 0;
        gathers = form.shifted || (form.along_k && reads.unit < 16);
        return terms;
    }
    void memory_of(cuda_query const& q, cuda_narrow const& t, cuda_narrow_reads const& reads) {
        cuda_sides const& s = q.sides;
        double const size = real(q.element), rows = s.m < t.m ? real(s.m) : t.m,
                     all = real(s.count) / units * (cuda_fitted_bytes_per_cycle / q.device.bytes_per_cycle),
                     of_c = real(s.m) * real(s.n) * real(q.result());
        // Two blocks may read the same sector of a line along m that begins anywhere.
        double const wide = real(t.m) * size,
                     twice = reads.form.shifted && !reads.form.along_k ? (wide + 32) / wide : 1;
        double const of_b = real(s.k) * real(s.n) * size;
        moved = (real(s.m) * real(s.k) * size * twice + of_b + of_c) * all;
        copied = reads.copied ? of_b * real(s.count) / units : 0;
        aligned = added || s.n == 1 || static_cast<std::size_t>(s.n) * q.result() % 16 == 0;
        stored = rows * t.n * (added ? sum_size(q) : real(q.result())) / (clustered ? parts : 1);
        in_cluster = rows * t.n * sum_size(q);
        finishes(q, added ? 0 : rows * t.n, added ? real(s.m) * real(s.n) : 0);
        sums = added ? real(s.m) * real(s.n) * parts * sum_size(q) / units : 0;
    }
};

// Calls f with the ways to run a block: all of k at once, and in parts, which another launch or the blocks of a cluster
// add up.
template <class F>
class cuda_ways_of_narrow {
public:
    cuda_ways_of_narrow(cuda_query const& q, cuda_narrow_reads const& reads, F& f)
        : q_(q), reads_(reads), costs_(tile_costs_of(reads.form.costs(), q.type)), f_(f) {}

    template <class G>
    void each_block(G const& g) const {
        cuda_narrow::each_block(q_.sides.n, q_.element, q_.element < 4 ? 4 : q_.element, reads_.form, g);
    }
    // With each block, in all ways.
    void ask() const {
        each_block([&](cuda_narrow const& t) { ask(t); });
    }
    void ask(cuda_narrow const& t) const {
        with(t, 0);
        if (q_.sides.count > 1) return;
        std::ptrdiff_t const tiles = cuda_narrow_counts::tiles(q_.sides, t),
                             most = std::ptrdiff_t{4} * q_.device.units *
                                    cuda_narrow_counts::blocks_of(q_, t, reads_.form);
        for (std::ptrdiff_t parts = 2; parts <= 256 && tiles * parts <= most && 128 * parts <= q_.sides.k;
             parts += parts < 8 ? 1 : parts / 4)
            ask(t, parts);
    }
    // In so many parts, whoever adds them up.
    void ask(cuda_narrow const& t, std::ptrdiff_t parts) const {
        with(t, parts);
        if (q_.device.capability >= 90 && parts <= 8) with(t, parts, true);
    }
    void with(cuda_narrow const& t, std::ptrdiff_t parts, bool together = false) const {
        cuda_way way;
        way.shifted = reads_.form.shifted && reads_.form.along_k;
        if (parts > 1 && q_.sides.count == 1) way.part = part_of(parts);
        if (way.part >= q_.sides.k) way.part = 0;
        way.together = together && way.part > 0;
        way.cycles = cuda_narrow_counts(q_, t, reads_, way)
                         .cycles(costs_.costs, static_cast<double>(costs_.slower[t.number()]), f_.least());
        f_(t, way);
    }

private:
    // The terms of a part. A part has as many lines as warps ask for at a time, if this does not make the last part much
    // shorter.
    std::ptrdiff_t part_of(std::ptrdiff_t parts) const {
        std::ptrdiff_t const k = q_.sides.k,
                             unit = (reads_.form.shifted && reads_.form.along_k) || k < 512 * parts ? 32
                                    : k < 2048 * parts                                              ? 128
                                                                                                    : 256;
        return ((k - 1) / parts / unit + 1) * unit;
    }

    cuda_query const& q_;
    cuda_narrow_reads reads_;
    cuda_tile_costs_of const& costs_;
    F& f_;
};

STRATAGEMM_END
