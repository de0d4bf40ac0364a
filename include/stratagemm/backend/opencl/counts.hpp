// How long a product takes in each way: counts of what the way does, times costs (costs.hpp).
//
// Times are clocks of the busiest compute unit. What happens at once takes about as long as what takes longest.
#pragma once

#include "costs.hpp"
#include "query.hpp"

STRATAGEMM_BEGIN

class opencl_counts {
    using kind = opencl_cost;

public:
    opencl_counts(opencl_query const& q, opencl_costs const& costs)
        : q_(q), s_(q.sides), cost_(costs), units_(q.device.compute_units), size_(real(q.scalar)) {
        auto const m = real(s_.m), n = real(s_.n), k = real(s_.k), count = real(s_.count);
        moved_ = (m * k + k * n + m * n) * count * size_ / real(units_);
    }

    // `groups` of the tile fit on a unit, and reach `rate`.
    double clocks(opencl_choice const& x, int groups, opencl_rate const& rate) const {
        switch (x.way) {
        case opencl_way::direct: return direct();
        case opencl_way::narrow: return narrow(x.tile, x.part);
        case opencl_way::small: return small(x.tile);
        case opencl_way::tiled: break;
        }
        return tiled(x, groups, rate);
    }

private:
    template <class N>
    static double real(N x) {
        return static_cast<double>(x);
    }
    static std::ptrdiff_t up(std::ptrdiff_t x, std::ptrdiff_t by) { return (x + by - 1) / by; }
    static double longest(double x, double y, double z = 0) {
        double const x2 = x * x, y2 = y * y, z2 = z * z;
        return __builtin_sqrt(__builtin_sqrt(x2 * x2 + y2 * y2 + z2 * z2));
    }

    // A product whose groups take so long on the busiest unit. `busy`: the part of the units that have any group.
    double whole(double groups_take, double busy, std::ptrdiff_t parts) const {
        double const by_all = cost_[kind::memory],
                     by_one = cost_[kind::memory_of_one] / (busy < 1 ? busy : 1);
        double const moves = moved_ * (by_all > by_one ? by_all : by_one);
        // Bytes of sums of parts that a unit writes, and reads again.
        double const sums = parts > 1 ? real(parts) * real(s_.m) * real(s_.n) * size_ / real(units_) : 0;
        double const adds = parts > 1 ? cost_[kind::add] + real(parts) * cost_[kind::add_part] : 0;
        double const takes =
            cost_[kind::begin] + longest(groups_take, moves) + adds + sums * cost_[kind::sum];
        // The host queues products while the device runs others: they hardly delay each other.
        double const queued = cost_[kind::queue] * (parts > 1 ? 2 : 1);
        return __builtin_sqrt(longest(takes * takes, queued * queued));
    }

    double tiled(opencl_choice const& x, int groups, opencl_rate const& rate) const {
        opencl_tile const& t = x.tile;
        std::ptrdiff_t const parts = x.parts(s_.k);
        std::ptrdiff_t const all = up(s_.m, t.tile_m()) * up(s_.n, t.tile_n()) * s_.count * parts,
                             places = std::ptrdiff_t{units_} * groups, left = all % places;
        double const steps = real(up(x.part > 0 ? x.part : s_.k, t.depth));
        // Of a step of a group: multiply-adds, and those of a work-item; bytes of tiles, and loads.
        double const multiply_adds = real(t.tile_m()) * t.tile_n() * t.depth,
                     products = multiply_adds / t.threads();
        double const of_a = real(t.tile_m()) * t.depth, of_b = real(t.tile_n()) * t.depth;
        double const comes = (of_a + of_b) * size_ * cost_[kind::fetch] +
                             (of_a / a_width(t) + of_b / b_width(t)) * cost_[kind::piece];
        // A group that has a unit for itself takes longer than its share of a full one.
        double const multiplies = multiply_adds / static_cast<double>(rate.full),
                     fewest = 1 / static_cast<double>(rate.alone);
        double const waits = cost_[kind::wait] + products * cost_[kind::wait_product];
        double const slower = is_guarded(x, s_) ? cost_[kind::guard] : 1;
        // Of a group: sums of slices that meet, and bytes of C.
        double const meet = real(t.slices - 1) * t.tile_m() * t.tile_n() * cost_[kind::meet];
        double const stores = (s_.m < t.tile_m() ? real(s_.m) : t.tile_m()) *
                              (s_.n < t.tile_n() ? real(s_.n) : t.tile_n()) * size_ * cost_[stored(t)];
        auto const round = [&](double beside) {
            return cost_[kind::tile] + beside * (meet + stores) +
                   steps * slower *
                       longest(multiplies * (beside > fewest ? beside : fewest), beside * comes, waits);
        };
        double const rounds = real(all / places), last = left > 0 ? round(real(up(left, units_))) : 0;
        double const busy = rounds > 0 || left >= units_ ? 1 : real(left) / real(units_);
        return whole((rounds > 0 ? rounds * round(groups) : 0) + last, busy, parts);
    }
    // The widths of loads where rows and columns lie one behind the other, as kernels take them (product.hpp).
    static int width(short wanted, std::ptrdiff_t line) { return line % wanted == 0 ? wanted : 1; }
    int a_width(opencl_tile const& t) const { return width(t.a_width, q_.along_k ? s_.k : s_.m); }
    int b_width(opencl_tile const& t) const { return width(t.b_width, s_.n); }
    opencl_cost stored(opencl_tile const& t) const {
        if (t.lanes_n > 1 && s_.n % t.lanes_n == 0) return kind::store_vectors;
        return stores_lines(t) || t.lanes_n == 1 ? kind::store_lines : kind::store_apart;
    }

    double narrow(opencl_tile const& t, std::ptrdiff_t part) const {
        std::ptrdiff_t const parts = part > 0 ? up(s_.k, part) : 1;
        int const rows = q_.along_k ? t.micro_m : t.a_width, terms = t.unroll * (q_.along_k ? t.a_width : 1);
        std::ptrdiff_t const groups = up(s_.m, std::ptrdiff_t{t.threads_m} * rows) * s_.count * parts;
        double const on_a_unit = groups < units_ ? 1 : real(groups) / real(units_);
        // A work-item reads `terms` of its rows at a time.
        double const trips = real(up(part > 0 ? part : s_.k, std::ptrdiff_t{t.threads_n} * terms));
        // Of a trip: loads of A and of B, and multiply-adds.
        double const loads = real(terms) * rows / t.a_width + real(terms) * t.micro_n,
                     multiply_adds = real(terms) * rows * t.micro_n;
        double const busy_item = cost_[kind::narrow_trip] + loads * cost_[kind::narrow_load] +
                                 multiply_adds * cost_[kind::narrow_multiply];
        int halvings = 0;
        for (int n = t.threads_n; n > 1; n /= 2) ++halvings;
        double const folds = halvings * cost_[kind::narrow_fold];
        double const alone = cost_[kind::narrow_wait] + loads * cost_[kind::narrow_load_alone];
        double const takes = longest(
            trips * alone + folds, on_a_unit * (trips * t.threads() * busy_item + cost_[kind::narrow_group]));
        return whole(takes, real(groups) / real(units_), parts);
    }

    double small(opencl_tile const& t) const {
        double const on_a_unit = real(up(up(s_.count, t.slices), units_));
        int const items = t.threads() / t.slices;
        // Of a work-item: elements of A and B that it brings, those that it reads in local memory, and multiply-adds.
        double const reads = real(up(s_.m * s_.k, items) + up(s_.n * s_.k, items)),
                     loads = real(s_.k) * (t.micro_m + t.micro_n),
                     multiply_adds = real(s_.k) * t.micro_m * t.micro_n;
        double const group =
            cost_[kind::small_group] +
            t.threads() * (reads * cost_[kind::small_read] + loads * cost_[kind::small_load] +
                           multiply_adds * cost_[kind::small_multiply]);
        double const alone =
            reads * cost_[kind::small_read_alone] + (loads + multiply_adds) * cost_[kind::small_load_alone];
        return whole(longest(on_a_unit * group, alone), on_a_unit, 1);
    }

    double direct() const {
        double const elements = real(s_.m) * real(s_.n) * real(s_.count) / real(units_), k = real(s_.k);
        double const full = elements * (k * cost_[kind::direct_term] + cost_[kind::direct_element]);
        return whole(longest(k * cost_[kind::direct_wait], full), elements / 64, 1);
    }

    opencl_query const& q_;
    opencl_sides const& s_;
    opencl_costs const& cost_;
    int units_;
    double size_, moved_; // bytes of an element; those that a unit moves from and to memory
};

STRATAGEMM_END
