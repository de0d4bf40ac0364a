// How long a product takes on a device with a tile: what the engines that divide C into tiles have in common. Each has
// a class of its own over this one, which says what differs.
#pragma once

#include "tile.hpp"

STRATAGEMM_BEGIN

// The cost counts rounds of blocks on all multiprocessors. In a round each block has a tile of C and all of k. If k is
// in parts, another launch is added, and the time to write and to read the sums of the parts. Where only the last round
// is in parts, it counts as a separate round. All times are in cycles. The constants are those that fit measurements on
// an H200 best (bench/results/tiles-h200.txt), and on an H100 (tiles-h100.txt).
template <class Cost, class Tile>
class cuda_tile_cost {
public:
    // `blocks` of the tile on a multiprocessor multiply at `rate` multiply-adds in a cycle.
    cuda_tile_cost(cuda_query const& q, Tile const& t, cuda_form const& form, int blocks, double rate,
                   cuda_way const& way)
        : form_(form), t_(t), s_(q.sides), how_(way), blocks_(blocks),
          units_(units_filled(blocks_below(t) * blocks_beside(t), q.device.units)), rate_(rate),
          memory_(q.device.bytes_per_cycle * q.device.units), cache_(real(q.device.cache_bytes)),
          shared_bytes_(q.device.shared_bytes), element_(q.element), layout_(q.layout),
          row_bytes_(static_cast<std::size_t>(s_.n) * q.result()), size_(real(element_)),
          result_(real(q.result())), size_of_a_(layout_.a_bytes > 0 ? layout_.a_bytes : size_),
          size_of_b_(layout_.b_bytes > 0 ? layout_.b_bytes : size_), sum_size_(element_ < 4 ? 4 : size_),
          parts_(real(how_.parts(s_.k))), whole_(real(how_.whole)),
          tiles_(up(s_.m, std::ptrdiff_t{t.m} * blocks_below(t)) * blocks_below(t) *
                 up(s_.n, std::ptrdiff_t{t.n} * blocks_beside(t)) * blocks_beside(t) * real(s_.count)),
          not_fetchable_(copied_of(s_.m, layout_.a_along_k, form_.a_along_k) +
                         copied_of(s_.n, layout_.b_along_k, form_.b_along_k)) {}

    // Or more than `most`, if the cycles are. Most ways need longer than the best one even for what is soon counted.
    double cycles(double most = 1e300) const {
        double const begins = self().begins(), ends = gathering(), copies = copying();
        double const at_least = (begins + least_rounds() + ends + copies) * (1 - 1e-9); // whatever is rounded
        if (at_least > most) return at_least;
        double const summing = longer(summing_tiles(), moving()) + adding_up() / 2;
        double const working = begins + summing + ends + copies;
        bool const gathers = how_.part > 0 && !how_.together;
        return longer(working, launching(1 + gathers + (copied() > 0), Tile::fetches));
    }

protected:
    template <class N>
    static double real(N x) {
        return static_cast<double>(x);
    }
    static double up(std::ptrdiff_t x, std::ptrdiff_t y) { return real((x + y - 1) / y); }
    // The time of two things that happen at once; where both take about as long, each delays the other.
    static double longer(double x, double y) {
        double const most = x > y ? x : y, ratio = x > y ? y / x : x / y, square = ratio * ratio;
        return most * (1 + 0.12 * square * square * square);
    }
    Cost const& self() const { return static_cast<Cost const&>(*this); }
    bool rows_are_aligned() const { return row_bytes_ % 16 == 0; }
    std::ptrdiff_t line_of_a() const { return layout_.a_along_k ? s_.k : s_.m; }
    std::ptrdiff_t line_of_b() const { return layout_.b_along_k ? s_.k : s_.n; }

    // ---- what engines say anew ----------------------------------------------------------------------------

    // Whether threads of a block copy what the hardware cannot fetch or what has to be widened, as it lies; if not, it
    // is copied before. Whether they copy it in words, or in aligned pieces that they shift.
    bool takes_lines() const { return false; }
    bool by_words() const { return false; }
    bool shifts() const { return false; }
    // How much longer it takes to fetch lines that begin within lines of the cache, 128 bytes of each at a time, if a
    // `share` of all multiprocessors fetch.
    double slowed(std::ptrdiff_t, double, bool = false) const { return 1; }
    bool begins_within() const { return false; } // whether tiles of B do, whatever its lines are
    // How much longer blocks multiply that are fewer than a multiprocessor has room for.
    double slowed_alone(double) const { return 1; }
    double rate_by_layout() const { return 1; }
    // Cycles beyond begins() until a first step has come, and those of parts with few steps.
    double filling(double) const { return 0; }
    double short_parts(double, std::ptrdiff_t) const { return 0; }
    double storing_in_step(double, double) const { return 0; } // of all blocks at least
    double between_tiles() const { return 300; }
    bool stores_to_workspace() const { return false; } // sums of parts, whose rows are aligned there
    bool stores_meanwhile(double) const { return false; }
    double exposed(double) const { return 1; }     // the part of storing in which nothing else is done
    double storing_sums_rate() const { return 0; } // of sums that stay in the second-level cache
    std::ptrdiff_t terms_of(std::ptrdiff_t depth) const { return ((depth - 1) / t_.k + 1) * t_.k; }
    double share_of_bytes() const { return 1; } // that arrive in one block only
    // The tiles of a block, `depth` terms of k.
    double fetching(double share, std::ptrdiff_t depth) const {
        return fetching_of(t_.m, t_.n, up(depth, t_.k) * t_.k, share);
    }
    double summing_round(double multiplying, double beside, double share, std::ptrdiff_t depth) const {
        return longer(multiplying, self().fetching(share, depth)) * beside;
    }
    double sectors_written() const { return 1; } // more often than once
    // By how much memory gives less, with `pairs`: what pairs of multiprocessors idle.
    double uneven(double idle, double, double) const { return 0.1 * idle; }
    double scattered() const { return 1; }
    bool waits_for_pairs(double) const { return false; }

    // ---- how operands come --------------------------------------------------------------------------------

    // The lines that tiles are fetched from: those of a copy, if there is one.
    std::ptrdiff_t fetched_line(std::ptrdiff_t side, bool lies_along_k, bool along_k) const {
        std::ptrdiff_t const line = lies_along_k ? s_.k : side;
        bool const is_copy = copied() > 0 && copied_of(side, lies_along_k, along_k) > 0;
        return is_copy ? line_of_copy(along_k ? s_.k : side, element_) : line;
    }
    // Hardware takes lines along one side, which begin at multiples of 16 bytes if rows have no gaps.
    double copied_of(std::ptrdiff_t side, bool lies_along_k, bool along_k) const {
        auto const line = static_cast<std::size_t>(lies_along_k ? s_.k : side);
        bool const copies = lies_along_k != along_k || line * element_ % 16 != 0;
        return Tile::reads_lines() && copies ? real(side) * real(s_.k * s_.count) * size_ : 0;
    }
    // Whether operands that the hardware cannot fetch, or that have to be widened, lie as the tile takes them.
    bool copies_itself() const {
        return how_.whole == 0 && (not_fetchable_ > 0 || layout_.widens()) &&
               form_.a_along_k == layout_.a_along_k && form_.b_along_k == layout_.b_along_k;
    }
    // Bytes of operands that are copied before the product.
    double copied() const {
        return self().takes_lines() || self().by_words() || self().shifts() ? 0 : not_fetchable_;
    }
    double copying() const {
        double const bytes_per_cycle = element_ == 1 ? 14 : element_ == 2 ? 19 : 18;
        return copied() > 0 ? (element_ == 1 ? 7000 : 5500) + 2 * copied() / bytes_per_cycle / units_ : 0;
    }
    // If one row of tiles covers C, tiles of B come from memory. Where B lies along n, each step of k reads other
    // pages.
    bool reads_pages() const {
        double const bytes_of_b = real(s_.k) * real(s_.n) * size_;
        return !layout_.b_along_k && s_.m <= t_.m && bytes_of_b > 4e6 && rows_are_aligned();
    }
    // If one column of tiles covers C, all of A comes from memory.
    bool streams() const { return s_.n <= t_.n && real(s_.m) * real(s_.k) * size_ > 4e6; }
    // Whether one row of tiles covers C, and all of B, along k, comes from memory.
    bool streams_any() const {
        double const bytes_of_b = real(s_.k) * real(s_.n) * size_;
        return streams() || (layout_.b_along_k && s_.m <= t_.m && bytes_of_b > 4e6);
    }
    // Cycles to fetch so much of both operands. All bytes count, whichever block asks for them.
    double fetching_of(double rows, double cols, double terms, double share) const {
        double const asked =
            rows * self().slowed(fetched_line(s_.m, layout_.a_along_k, form_.a_along_k), share) /
                blocks_beside(t_) +
            cols *
                self().slowed(fetched_line(s_.n, layout_.b_along_k, form_.b_along_k), share,
                              self().begins_within()) /
                blocks_below(t_);
        double const all_of_it = (rows + cols) * self().share_of_bytes();
        return (asked > all_of_it ? asked : all_of_it) * (terms * size_) / 60;
    }
    double waiting(std::ptrdiff_t depth, double beside) const {
        return (up(depth, t_.k) - (Tile::reads_lines() ? 0 : 0.6)) * self().shortest_step(beside);
    }

    // ---- how sums leave -----------------------------------------------------------------------------------

    // Elements of C that a tile has: C may be smaller than the tile.
    double elements_of_tile() const {
        return (s_.m < t_.m ? real(s_.m) : t_.m) * (s_.n < t_.n ? real(s_.n) : t_.n);
    }
    // Cycles to store the tile of a block, in elements of `stored` bytes.
    double storing(double stored) const {
        // Sums of parts of all tiles stay in the second-level cache.
        bool const sums = how_.part > 0 && how_.whole == 0 && stored >= 4;
        if (sums && self().storing_sums_rate() > 0)
            return elements_of_tile() * stored / self().storing_sums_rate();
        return elements_of_tile() * stored /
               (self().stores_to_workspace() && stored >= 4 ? 7.5 : self().bytes_stored());
    }

    // ---- rounds -------------------------------------------------------------------------------------------

    // The terms of k that are multiplied. A part of k has whole steps.
    double terms(std::ptrdiff_t depth) const {
        return how_.part > 0 ? up(depth, t_.k) * t_.k : real(self().terms_of(depth));
    }
    // Cycles to multiply the tile of a block.
    double multiplying(std::ptrdiff_t depth, double beside) const {
        return real(t_.m) * t_.n * terms(depth) / (rate_ * self().rate_by_layout()) *
               (beside < blocks_ ? self().slowed_alone(beside) : 1);
    }
    double summing(double beside, double share, std::ptrdiff_t depth) const {
        double const each = multiplying(depth, beside);
        double const alone = beside < blocks_ ? each : 0, waits = waiting(depth, beside);
        double const both = self().summing_round(each, beside, share, depth);
        return longer(both > alone ? both : alone, waits) + self().short_parts(beside, depth);
    }
    // Cycles of a round of blocks with a tile each: `beside` blocks on each multiprocessor, or on a `share` of the
    // multiprocessors. No block multiplies while the last tiles are stored.
    double round(double beside, double share, std::ptrdiff_t depth, double stored, bool last) const {
        double const sums = summing(beside, share, depth);
        double const of_all = storing(stored) * beside * self().exposed(beside),
                     least = self().storing_in_step(beside * share, stored),
                     stores = of_all > least ? of_all : least;
        return self().between_tiles() +
               (self().stores_meanwhile(stored) && !last ? longer(sums, stores) : sums + stores);
    }
    // The first blocks are spread out evenly. Those that take a tile of a last round are on any multiprocessor, and
    // it ends when the one with most of them has done its own. `goes_on`: others come before these.
    double rounds(double tiles, std::ptrdiff_t depth, double stored, bool goes_on = false,
                  bool others_follow = false) const {
        auto const places = real(units_ * blocks_);
        auto const full = real(static_cast<std::ptrdiff_t>(tiles / places));
        double const left = tiles - full * places, each = left / units_;
        auto const of_all = [&](bool last) { return self().round(blocks_, 1, depth, stored, last); };
        double const begun =
            goes_on ? 0 : self().filling(full > 0 ? blocks_ : up(static_cast<std::ptrdiff_t>(left), units_));
        if (left == 0) return begun + (full - 1) * of_all(false) + of_all(!others_follow);
        double const cycles = begun + (full > 0 ? full * of_all(false) : 0);
        double beside = up(static_cast<std::ptrdiff_t>(left), units_);
        if (Tile::fetches && (full > 0 || goes_on)) {
            double const most = each + 0.75 * __builtin_sqrt(each);
            beside = most < 1 ? 1 : most > blocks_ ? blocks_ : most;
        }
        return cycles + self().round(beside, each < 1 ? each : 1, depth, stored, !others_follow);
    }
    // What rounds() is at least: all blocks multiply, and wait for the steps of k.
    double least_rounds(double tiles, std::ptrdiff_t depth) const {
        auto const places = real(units_ * blocks_);
        auto const full = real(static_cast<std::ptrdiff_t>(tiles / places));
        double const each = real(t_.m) * t_.n * terms(depth) / (rate_ * self().rate_by_layout()),
                     waits = waiting(depth, blocks_);
        double const left = tiles > full * places ? each + self().between_tiles() : 0;
        return full * ((each * blocks_ > waits ? each * blocks_ : waits) + self().between_tiles()) + left;
    }
    double least_rounds() const {
        if (how_.whole > 0)
            return least_rounds(whole_, s_.k) + least_rounds((tiles_ - whole_) * parts_, how_.part);
        return how_.part > 0 ? least_rounds(tiles_ * parts_, how_.part) : least_rounds(tiles_, s_.k);
    }
    double summing_tiles() const {
        if (how_.whole > 0)
            return rounds(whole_, s_.k, result_, false, true) +
                   rounds((tiles_ - whole_) * parts_, how_.part, sum_size_, true);
        if (how_.together) return rounds(tiles_ * parts_, how_.part, 0) + adding_up() / 2;
        if (how_.part > 0) return rounds(tiles_ * parts_, how_.part, sum_size_);
        return rounds(tiles_, s_.k, result_);
    }
    // Blocks of a cluster read each other's sums, and each stores a part of C. Half of this comes after what memory has
    // given last. The more multiprocessors take part, the longer a cluster waits until enough of them are free in one
    // place.
    double adding_up() const {
        if (!how_.together) return 0;
        double const area = real(t_.m) * t_.n, stored = area * result_ / parts_;
        double const share = tiles_ * parts_ < units_ ? tiles_ * parts_ / units_ : 1;
        return 1500 + 1500 * share + area * sum_size_ / 20 + stored / (rows_are_aligned() ? 12 : 6);
    }

    // ---- memory -------------------------------------------------------------------------------------------

    double sums() const { // of each part of k
        return how_.part == 0 || how_.together ? 0
               : how_.whole > 0                ? (tiles_ - whole_) * t_.m * t_.n
                                               : real(s_.m) * real(s_.n);
    }
    // Cycles to move operands and C from and to memory, and sums of parts, which stay in the second-level cache. Where
    // some multiprocessors have less to do than others, these do not fetch as fast as memory could give.
    double moving() const {
        auto const m = real(s_.m), n = real(s_.n), k = real(s_.k);
        double const bytes =
            (m * k * size_of_a_ + k * n * size_of_b_ + m * n * result_ * self().sectors_written()) *
            real(s_.count);
        double const items = how_.whole > 0 ? whole_ : tiles_ * parts_;
        double const idle = 1 - items / (up(static_cast<std::ptrdiff_t>(items), units_) * units_);
        // The same holds for pairs of multiprocessors, where some have two blocks and others one: each pair gets the
        // same share of the memory's rate.
        std::ptrdiff_t const half = (units_ + 1) / 2;
        double const pairs = 1 - items / (up(static_cast<std::ptrdiff_t>(items), half) * real(half));
        double const uneven = self().uneven(idle, pairs, items);
        double const within = self().begins_within() ? 0.05 : 0;
        // The blocks of a cluster are on neighbours, of which two share a path, while other paths are idle.
        double const by_clusters = 18 * items;
        bool const on_neighbours = how_.together || blocks_below(t_) * blocks_beside(t_) > 1;
        double const rate = on_neighbours && by_clusters < memory_ ? by_clusters : memory_;
        // A copy that is not too large is still in the second-level cache.
        double const kept = copied() < cache_ / 3 ? copied() : 0;
        double const from_memory = (bytes - kept) / rate * self().scattered() * (1 + uneven + within),
                     added = sums() * sum_size_ * parts_ / 12 / units_ * (1 + uneven + within);
        double const of_pair =
            (bytes - kept) / items * up(static_cast<std::ptrdiff_t>(items), half) / cuda_bytes_of_pair;
        return (self().waits_for_pairs(items) && of_pair > from_memory ? of_pair : from_memory) + added;
    }
    // Cycles of the launch that adds up sums of parts. The sums of a last round come late, and the launch begins when
    // they are there.
    double gathering() const {
        if (how_.part == 0 || how_.together) return 0;
        double const begins = how_.whole > 0 ? 4500 : self().gathering_begins();
        double const bytes = sums() * sum_size_ * (2 * parts_ + 1);
        return begins + 100 * parts_ + bytes / (element_ == 1 ? 20 : 43) / units_;
    }
    double gathering_begins() const { return 3000; }
    // Of tensor cores, which wait for memory even where all multiprocessors have something to do. On an H100, whose
    // memory gives 1500 bytes in a cycle, one block on each pair is not enough where each step reads other pages. On an
    // H200, which has 2250, one block is enough.
    double uneven_on_tensor_cores(double idle, double pairs, double items, double of_many) const {
        bool const too_few = items <= real((units_ + 1) / 2) && reads_pages() && memory_ < 1900;
        return too_few ? 0.3 : items > units_ ? of_many * idle : 0.45 * pairs < 0.1 ? 0.45 * pairs : 0.1;
    }

    cuda_form form_;
    Tile t_; // as it lies on C
    cuda_sides s_;
    cuda_way how_;
    int blocks_, units_;
    double rate_, memory_, cache_;
    std::size_t shared_bytes_, element_;
    cuda_layout layout_;
    std::size_t row_bytes_;                   // of C
    double size_, result_;                    // bytes of an element, and of one of C
    double size_of_a_, size_of_b_, sum_size_; // as the operands are stored, and of a sum of a part of k
    double parts_, whole_, tiles_;
    double not_fetchable_; // bytes of operands that the hardware cannot fetch
};

STRATAGEMM_END
