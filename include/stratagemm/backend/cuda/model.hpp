// How long a product takes on a device with a tile: the model that choice.hpp compares tiles by.
#pragma once

#include "../../device/product.hpp"
#include "configuration.hpp"

STRATAGEMM_BEGIN

// A product, and a way to run it: `blocks` of the tile on a multiprocessor multiply at `rate` multiply-adds in a cycle.
// An element of the operands has `element` bytes, and one of C `result` bytes.
struct cuda_model_input {
    cuda_tile const& tile;
    int blocks;
    double rate;
    cuda_way const& choice;
    cuda_sides const& sides;
    cuda_layout const& layout;
    std::size_t element, result;
    cuda_device const& device;
};

// The model counts rounds of blocks on all multiprocessors. In a round each block has a tile of C and all of k. If k is
// in parts, the model adds another launch, and the time to write and to read the sums of the parts. Where only the last
// round is in parts, the model counts it as a separate round. All times are in cycles. The constants are those that fit
// measurements on an H200 best (bench/results/tiles-h200.txt), and on an H100 (tiles-h100.txt).
class cuda_model {
public:
    explicit cuda_model(cuda_model_input const& x)
        : form_(form_for(x.tile, x.element,
                         {.a_along_k = x.layout.a_along_k,
                          .b_along_k = x.layout.b_along_k,
                          .direct = x.choice.shifted})),
          t_(lying_on_c(x.tile, form_, x.element)), s_(x.sides), how_(x.choice), blocks_(x.blocks),
          units_(units_for(x.tile, x.device.units)), rate_(x.rate),
          memory_(x.device.bytes_per_cycle * x.device.units), cache_(real(x.device.cache_bytes)),
          element_(x.element), layout_(x.layout), row_bytes_(static_cast<std::size_t>(s_.n) * x.result),
          size_(real(element_)), result_(real(x.result)),
          size_of_a_(layout_.a_bytes > 0 ? layout_.a_bytes : size_),
          size_of_b_(layout_.b_bytes > 0 ? layout_.b_bytes : size_), sum_size_(element_ < 4 ? 4 : size_),
          parts_(real(how_.parts(s_.k))), whole_(real(how_.whole)),
          tiles_(up(s_.m, std::ptrdiff_t{t_.m} * t_.cluster) * t_.cluster *
                 up(s_.n, std::ptrdiff_t{t_.n} * t_.beside) * t_.beside * real(s_.count)) {
        if (!gathers()) return;
        int const room = blocks_in(x.device.shared_bytes);
        if (room < blocks_) blocks_ = room;
    }

    double cycles() const {
        double const summing = longer(summing_tiles(), moving()) + adding_up() / 2;
        double const working = begins() + summing + gathering() + copying();
        bool const gathers = how_.part > 0 && !how_.together;
        return longer(working, launching(1 + gathers + (copied() > 0), fetches(t_.engine)));
    }

private:
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
    bool is(cuda_engine e) const { return t_.engine == e; }
    int warps_of_tile() const { return t_.m / t_.micro_m * (t_.n / t_.micro_n); } // of fp64 and mma
    bool on_tensor_cores() const { return is(cuda_engine::wgmma) || is(cuda_engine::mma); }
    bool rows_are_aligned() const { return row_bytes_ % 16 == 0; }
    std::ptrdiff_t line_of_a() const { return layout_.a_along_k ? s_.k : s_.m; }
    std::ptrdiff_t line_of_b() const { return layout_.b_along_k ? s_.k : s_.n; }
    // The lines that tiles are fetched from: those of a copy, if there is one.
    std::ptrdiff_t fetched_line(std::ptrdiff_t side, bool lies_along_k, bool along_k) const {
        std::ptrdiff_t const line = lies_along_k ? s_.k : side;
        bool const is_copy = copied() > 0 && copied_of(side, lies_along_k, along_k) > 0;
        return is_copy ? line_of_copy(along_k ? s_.k : side, element_) : line;
    }

    // ---- how operands come --------------------------------------------------------------------------------

    // Hardware takes lines along one side, which begin at multiples of 16 bytes if rows have no gaps.
    double copied_of(std::ptrdiff_t side, bool lies_along_k, bool along_k) const {
        auto const line = static_cast<std::size_t>(lies_along_k ? s_.k : side);
        bool const copies = lies_along_k != along_k || line * element_ % 16 != 0;
        return reads_lines(t_.engine) && copies ? real(side) * real(s_.k * s_.count) * size_ : 0;
    }
    double not_fetchable() const {
        return copied_of(s_.m, layout_.a_along_k, form_.a_along_k) +
               copied_of(s_.n, layout_.b_along_k, form_.b_along_k);
    }
    // Threads of a block copy operands that the hardware cannot fetch, or that have to be widened, if the operands lie
    // as the tile takes them: lines of any kind, words, or aligned pieces that the threads shift.
    bool copies_itself() const {
        return how_.whole == 0 && (not_fetchable() > 0 || layout_.widens()) &&
               form_.a_along_k == layout_.a_along_k && form_.b_along_k == layout_.b_along_k;
    }
    bool lines_are_words() const {
        return static_cast<std::size_t>(line_of_a() | line_of_b()) * element_ % 4 == 0;
    }
    bool takes_lines() const {
        return takes_any_lines(t_) && (how_.shifted || !is(cuda_engine::simt)) && copies_itself();
    }
    // Whether a warp beside those that multiply fetches the operands.
    bool gathers() const { return is(cuda_engine::simt) && takes_lines(); }
    // The blocks that a multiprocessor has room for if they gather. Some of these need more shared memory than those
    // that the hardware serves.
    int blocks_in(std::size_t shared_bytes) const {
        bool const turns = turns_on_the_way(t_);
        cuda_form gathered = form_;
        gathered.dense = false;
        gathered.a_turned = turns && form_.a_along_k, gathered.b_turned = turns && form_.b_along_k;
        return blocks_beside(shared_bytes, shared_bytes_of(t_, element_, gathered));
    }
    bool by_words() const { return takes_words(t_, element_) && lines_are_words() && copies_itself(); }
    bool shifts() const {
        return takes_words(t_, element_) && how_.shifted && !lines_are_words() && copies_itself();
    }
    // Bytes of operands that are copied before the product.
    double copied() const { return takes_lines() || by_words() || shifts() ? 0 : not_fetchable(); }
    double copying() const {
        double const bytes_per_cycle = element_ == 1 ? 14 : element_ == 2 ? 19 : 18;
        return copied() > 0 ? (element_ == 1 ? 7000 : 5500) + 2 * copied() / bytes_per_cycle / units_ : 0;
    }

    // Whether mma has one stage: a block then waits for each step of k, while other blocks of its multiprocessor
    // multiply. The constants are those of an H100.
    bool has_one_stage() const { return is(cuda_engine::mma) && t_.stages == 1; }

    // Cycles until the first tile has come. Blocks of a cluster begin together. The largest clusters fetch so little
    // that their tiles come sooner, small tiles most of all. Products of bytes by `blocked` have few terms: most of
    // their blocks begin while others store.
    double begins() const {
        if (is(cuda_engine::blocked) && element_ == 1) return 3300;
        if (has_one_stage()) return shifts() ? 3000 : by_words() ? 4700 : 3700;
        if (is(cuda_engine::blocked)) return 3700;
        if (is(cuda_engine::mma)) return shifts() ? 6500 : by_words() ? 5300 + few_columns() : 4400;
        int const blocks = t_.blocks_of_cluster();
        if (blocks <= 4) return blocks > 1 ? 7000 : 5300;
        if (has_three_groups(t_)) return 6000;
        return element_ != 2 ? 4100 : t_.m * t_.n > 64 * 64 ? 6500 : 4800;
    }

    // Tiles of 64 rows and more, alone with a few columns that lie apart, take longer than their words explain.
    double few_columns() const { return s_.n <= 8 && t_.m >= 64 && how_.part == 0 ? 5200 : 0; }

    bool in_large_cluster() const {
        return is(cuda_engine::wgmma) && element_ == 2 && t_.blocks_of_cluster() >= 4;
    }
    // Whether tiles of B begin within lines of the cache: B lies along n, and the width of a tile is no multiple of
    // such a line.
    bool begins_within() const {
        return is(cuda_engine::wgmma) && columns_fetched(t_, element_, form_.b_along_k) > t_.n;
    }
    // For tensor cores, lines that begin within lines of the cache take longer to fetch, 128 bytes of each at a time,
    // if all multiprocessors fetch, or a `share` of them that is not small.
    double slowed(std::ptrdiff_t line, double share, bool begins_within = false) const {
        if (by_words()) return 1; // threads beside each other read neighbouring pieces
        double const by_threads = shifts() ? 1.5 : 2.2;
        std::size_t const bytes = static_cast<std::size_t>(line) * element_;
        // Sectors of 32 bytes that two lines share are fetched for both. If lines begin at multiples of 64 bytes, every
        // other one begins within a line of the cache.
        bool const small = t_.m * t_.n <= 128 * 128, pairs = is(cuda_engine::wgmma) && element_ < 4;
        bool const of_pairs = is(cuda_engine::wgmma) && element_ == 2;
        bool const small_ones = is(cuda_engine::fp64) || (of_pairs && small);
        double const by_hardware = bytes % 64 == 0 && !begins_within ? (small_ones ? 1.2 : 1.55)
                                   : bytes % 32 == 0                 ? (small_ones ? 1.65 : 2.1)
                                   : small_ones || of_pairs          ? 2.4
                                                                     : 3;
        double const most = is(cuda_engine::wgmma) || is(cuda_engine::fp64) ? by_hardware
                            : is(cuda_engine::mma)                          ? by_threads
                                                                            : 1;
        bool const within = bytes % 128 != 0 || begins_within;
        // Multiprocessors share paths to the second-level cache, which small tiles keep busy.
        if (!within && pairs) {
            double const busy = share * (small ? 1.4 : 1.3);
            return busy > 1 ? busy : 1;
        }
        // If lines begin within lines of the cache, half of the multiprocessors keep more than half of the paths busy,
        // unless none of them shares a path.
        if (pairs && share > 0.5) share = __builtin_sqrt(share);
        if (shifts()) share = 1; // a multiprocessor's own threads take so long
        return within && most * share > 1 ? most * share : 1.0;
    }
    // The tiles of a block, `depth` terms of k.
    double fetching(double share, std::ptrdiff_t depth) const {
        // Elements beyond the matrix take as long as others if they are copied word by word, and if hardware fills its
        // boxes with zeros: a box of lines along k has no more lines than there are.
        bool const all = !is(cuda_engine::mma) || by_words() || shifts();
        bool const by_boxes = is(cuda_engine::wgmma) || (is(cuda_engine::fp64) && !takes_lines());
        bool const all_of_a = by_boxes ? !form_.a_along_k : all, all_of_b = by_boxes ? !form_.b_along_k : all;
        double const rows = all_of_a || s_.m > t_.m ? t_.m : real(s_.m);
        double const cols = all_of_b && is(cuda_engine::wgmma) ? columns_fetched(t_, element_, false)
                            : all_of_b || s_.n > t_.n          ? t_.n
                                                               : real(s_.n);
        double const terms = all ? up(depth, t_.k) * t_.k : real(depth);
        if (gathers()) {
            // The gathering threads have a limited number of requests under way at a time. Lines that only one tile
            // reads come from memory, which takes longer.
            double const of_a = rows / unit_of_a() * (1 + 0.55 * size_of_a_ / size_ / up(s_.n, t_.n)),
                         of_b = cols / unit_of_b() * (1 + 0.55 * size_of_b_ / size_ / up(s_.m, t_.m));
            return (of_a + of_b) * terms * size_ / 23;
        }
        // Threads that copy pieces wait longer for pieces from memory, most of all if none of these threads multiplies
        // meanwhile. To ask for four bytes at a time takes so long that no thread waits.
        double const from_memory = by_words() || shifts() ? (streams() ? rows : streams_any() ? cols : 0) : 0;
        double const each = terms * size_;
        if (by_words()) {
            bool const words = static_cast<std::size_t>(line_of_a() | line_of_b()) * element_ % 8 != 0;
            double const waits = has_one_stage() ? 2 * from_memory : words ? 0 : 0.4 * from_memory;
            return (rows / pieces_per_cycle(line_of_a()) + cols / pieces_per_cycle(line_of_b()) +
                    waits / 29) *
                   each;
        }
        double const bytes_per_cycle = shifts() ? (has_one_stage() ? 13 : 14) : 60;
        double const asked =
            rows * slowed(fetched_line(s_.m, layout_.a_along_k, form_.a_along_k), share) / t_.beside +
            cols * slowed(fetched_line(s_.n, layout_.b_along_k, form_.b_along_k), share, begins_within()) /
                t_.cluster;
        // All bytes count, whichever block asks for them. Lines that arrive in several blocks at once arrive sooner.
        double const all_of_it = (rows + cols) * (in_large_cluster() ? 0.75 : 1);
        return ((asked > all_of_it ? asked : all_of_it) + from_memory) * each / bytes_per_cycle;
    }
    // Bytes that threads copy in a cycle of lines that begin at multiples of 4, or of 8 and more.
    double pieces_per_cycle(std::ptrdiff_t line) const {
        bool const eights = static_cast<std::size_t>(line) * element_ % 8 == 0;
        return blocks_ > 1 ? (eights ? 29 : 20.5) : eights ? 26 : 17.5;
    }
    // Whether dedicated warps copy doubles: the warps that multiply wait for a part of the copy. Two blocks on a
    // multiprocessor wait for each other's copies, too.
    bool copied_by_threads() const { return is(cuda_engine::fp64) && takes_lines(); }
    double copying_by_threads(std::ptrdiff_t depth) const {
        return 0.0065 * (t_.m + t_.n) * up(depth, t_.k) * t_.k * size_;
    }
    // Together, two blocks whose tiles share no lines copy no more than 12.5 bytes in a cycle. One alone copies 20.
    double copying_together(double beside, std::ptrdiff_t depth) const {
        if (!copied_by_threads() || beside < 2 || s_.n > t_.n) return 0;
        return beside * ((s_.m < t_.m ? real(s_.m) : t_.m) + real(s_.n)) * real(depth) * size_ / 12.5;
    }
    // Floats that gathering copies at a time, or in the time of one. What lies along k is turned, one by one.
    static double unit_of(std::ptrdiff_t line) { return line % 4 == 0 ? 4 : line % 2 == 0 ? 1.3 : 1; }
    double unit_of_a() const { return layout_.a_along_k && turns_on_the_way(t_) ? 1 : unit_of(line_of_a()); }
    double unit_of_b() const { return layout_.b_along_k && turns_on_the_way(t_) ? 1 : unit_of(line_of_b()); }

    // A step of mma with one stage: a block waits for it, and multiplies it. If it is alone, it copies nothing
    // meanwhile.
    double one_after_another(double beside) const {
        return 1000 + real(t_.m) * t_.n * t_.k / rate_ + (beside < 2 ? fetching(1, t_.k) : 0);
    }
    // Cycles until the operands of a step of k have come. `blocked` has to store them before its threads, a few warps,
    // multiply them.
    double shortest_step(double beside) const {
        double const each = t_.micro_m * t_.micro_n * t_.k; // multiply-adds of a thread
        switch (t_.engine) {
        case cuda_engine::simt:
            return gathers() ? longer(1150, (turns_on_the_way(t_) ? 12 : 18) *
                                                (t_.m / unit_of_a() + t_.n / unit_of_b()))
                             : 1150;
        case cuda_engine::fp64: {
            // A single column of tiles: all of them fetch the same lines of B at about the same time.
            double const tiles = tiles_ < units_ ? tiles_ : units_,
                         same = form_.b_along_k && s_.n <= t_.n ? 0.075 * tiles * t_.n : 0;
            // Two warps read so little at a time that lines which share sectors of 32 bytes are felt.
            bool const shares = streams() && warps_of_tile() < 4 && layout_.a_along_k && s_.k % 4 == 2;
            double const one = reads_pages() || shares ? 400 : 250;
            return same > one ? same : one;
        }
        case cuda_engine::wgmma: // a stage comes so long after its request; all stages are on their way
            if (element_ == 2) return 2200.0 / t_.stages;
            return reads_pages() || streams() ? 650 : 400;
        case cuda_engine::mma: {
            if (shifts()) return t_.stages > 1 ? 1400 : beside > 1 && s_.n > t_.n ? 1800 : 2600;
            if (t_.stages == 1) return one_after_another(beside);
            bool const alone = by_words() && beside < 2;
            return streams_any() || alone ? 700 : reads_pages() ? 650 : 250;
        }
        default:
            return element_ == 4   ? 610 + 2.07 * each
                   : element_ == 8 ? 2200 + 5 * each
                   : element_ == 2 ? 500 + 4.5 * each
                                   : 450 + 3.8 * each;
        }
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
    double waiting(std::ptrdiff_t depth, double beside) const {
        return (up(depth, t_.k) - (reads_lines(t_.engine) ? 0 : 0.6)) * shortest_step(beside);
    }

    // ---- how sums leave -----------------------------------------------------------------------------------

    // Bytes of C that a multiprocessor stores in a cycle, and nothing else meanwhile.
    double bytes_stored() const {
        bool const aligned = rows_are_aligned();
        switch (t_.engine) {
        case cuda_engine::simt: {
            // Blocks that gather are not in step: some store while others multiply.
            if (gathers()) {
                if (t_.micro_m * t_.micro_n <= 64) return aligned ? 24 : 11;
                return s_.k <= 128 ? (aligned ? 9 : 6.5) : aligned ? 13 : 8;
            }
            // It takes longer where k ends within a step.
            double const within = aligned && s_.k % t_.k != 0 ? 2 / 3.0 : 1;
            if (form_.direct && !aligned) return t_.micro_m * t_.micro_n > 96 ? 8.5 : 10;
            return t_.micro_m * t_.micro_n > 128 ? (aligned ? 12 * within : 7) : aligned ? 24 * within : 8.5;
        }
        case cuda_engine::fp64: // the fewer sums a warp has, the better blocks store while others multiply
            // Four warps have too few stores under way.
            if (warps_of_tile() <= 4 && t_.micro_m * t_.micro_n > 512 && s_.k <= 160) return 10;
            if (t_.micro_m * t_.micro_n > 1024) return aligned ? 12 : 8;
            if (t_.m * t_.n > 96 * 64) return aligned ? 14 : blocks_ > 1 ? 10 : 9;
            return aligned ? 18 : blocks_ > 1 ? 10 : 12;
        case cuda_engine::blocked: // warps that lie along n store whole lines
            return t_.n / t_.micro_n % 32 != 0 ? 6 : element_ == 2 ? 20 : 28;
        case cuda_engine::mma:
            if (has_one_stage()) return aligned ? 17 : row_bytes_ % 4 == 0 ? 11 : 9.5;
            return blocks_ > 1 ? (aligned ? 24 : 11) : aligned ? 13 : 6.5;
        default: // a warpgroup has so much on its way
            if (aligned && result_ > size_) return t_.m > 64 ? 10 : 8;
            if (aligned) return has_three_groups(t_) ? 11 : 13;
            return (row_bytes_ % 4 == 0 ? 9 : 6.5) / (t_.m == 64 && element_ == 2 ? 2 : 1);
        }
    }
    // Sums of parts of k have aligned rows in workspace, whatever the rows of C are. In a second and last round, wgmma
    // stores these sums as slowly as rows that the hardware's copies do not take. After more rounds it makes no
    // difference.
    bool stores_to_workspace() const {
        return (element_ == 4 && is(cuda_engine::blocked) && how_.part > 0 && bytes_stored() < 7.5) ||
               (element_ == 2 && is(cuda_engine::wgmma) && how_.whole > 0 && how_.whole <= units_);
    }
    // Elements of C that a tile has: C may be smaller than the tile.
    double elements_of_tile() const {
        return (s_.m < t_.m ? real(s_.m) : t_.m) * (s_.n < t_.n ? real(s_.n) : t_.n);
    }
    // Cycles to store the tile of a block, in elements of `stored` bytes.
    double storing(double stored) const {
        // Sums of parts of all tiles stay in the second-level cache.
        bool const sums = how_.part > 0 && how_.whole == 0 && stored >= 4;
        if (is(cuda_engine::wgmma) && sums) return elements_of_tile() * stored / 25;
        return elements_of_tile() * stored / (stores_to_workspace() && stored >= 4 ? 7.5 : bytes_stored());
    }
    // fp64 puts rows that are aligned to shared memory, from where hardware stores them while the next tile is
    // multiplied, if beta is 0, which the model takes for granted. Another block of the multiprocessor multiplies while
    // sums are put there, too.
    bool sends(std::ptrdiff_t depth) const {
        return is(cuda_engine::fp64) && rows_are_aligned() && depth == s_.k;
    }
    double handing_over() const {
        return elements_of_tile() * result_ / (blocks_ > 1 ? 60 : warps_of_tile() > 4 ? 42 : 30);
    }
    // wgmma leaves rows that are aligned to the hardware, and multiplies the next tile meanwhile.
    bool stores_meanwhile(double stored) const {
        return is(cuda_engine::wgmma) && rows_are_aligned() && !(stores_to_workspace() && stored >= 4);
    }

    // ---- rounds -------------------------------------------------------------------------------------------

    // Fewer blocks than a multiprocessor has room for do not keep it busy. Each warp waits for its operands; the fewer
    // sums the warp can work on meanwhile, the longer it waits.
    double slowed_alone(double beside) const {
        // Four warps keep all tensor cores busy with doubles.
        if (is(cuda_engine::fp64)) return warps_of_tile() < 4 ? 1.1 : 1;
        // A block of mma that could have others beside it waits for its copies. Words have separate costs.
        bool const copies = is(cuda_engine::mma) && t_.stages > 1 && !by_words() && !shifts();
        if (copies && element_ == 2) return beside < 2 ? 1.5 : 1;
        if (!is(cuda_engine::simt)) return 1;
        double const warps = beside * real(threads_of(t_)) / 128;
        return 1 + 2.2 / (warps * warps * __builtin_sqrt(real(t_.micro_m) * t_.micro_n));
    }

    // The terms of k that are multiplied. A part of k has whole steps.
    double terms(std::ptrdiff_t depth) const {
        return how_.part > 0 ? up(depth, t_.k) * t_.k : real(terms_of(t_, depth));
    }

    // Multiply-adds in a cycle, where operands do not lie as the tile takes them soonest.
    double rate() const {
        int const sums = t_.micro_m * t_.micro_n;
        double by_layout = 1;
        if (gathers()) {
            // An operand that is turned on the way lies better than lines along k. Where both operands are turned,
            // threads with many sums wait for shared memory.
            bool const both_turned = layout_.a_along_k && layout_.b_along_k;
            by_layout = !turns_on_the_way(t_) ? 1
                        : sums <= 32          ? 1.07
                                              : (sums == 64 ? 1 : 1.04) - (both_turned ? 0.06 : 0);
            if (threads_of(t_) == 96) by_layout = 1.16;
        } else if (form_.direct) {
            by_layout = 0.92;
        } else if (is(cuda_engine::fp64) && form_.b_along_k && t_.micro_n == 16 && t_.m >= 64) {
            by_layout = 0.82;
        }
        if (is(cuda_engine::simt) && !gathers()) by_layout *= 1.03;
        // Lines of B along k are read by fewer threads beside each other.
        if (is(cuda_engine::blocked) && element_ == 4 && layout_.b_along_k) by_layout *= 0.93;
        return rate_ * by_layout;
    }

    // If each block has one tile, and fetches by hardware, all of them store at the same time, no faster than memory.
    double storing_in_step(double tiles, double stored) const {
        if (!is(cuda_engine::simt) || gathers() || how_.part > 0 || tiles_ > real(units_ * blocks_)) return 0;
        return 0.8 * tiles * elements_of_tile() * stored * units_ / memory_;
    }
    // Cycles until threads of `beside` blocks have gathered the first step of their tiles, beyond those that begins()
    // counts. Products that a cluster adds up are small, and the model is accurate enough without these cycles, except
    // where lanes widen an operand and wait for it.
    double filling(double beside) const {
        if (!is(cuda_engine::simt) || (how_.together && !layout_.widens())) return 0;
        return gathers() ? 2100 + 0.45 * beside * fetching(1, t_.k) : 700;
    }

    // All blocks ask for the first steps of their parts at once. Large tiles that the hardware fetches wait for that
    // if their parts have few steps and B lies along n.
    double short_parts(double beside, std::ptrdiff_t depth) const {
        double const steps = up(depth, t_.k);
        bool const large =
            is(cuda_engine::simt) && !gathers() && !layout_.b_along_k && t_.micro_m * t_.micro_n > 64;
        return large && how_.part > 0 && !how_.together && steps < 8 ? 1500 * (8 - steps) * beside : 0;
    }

    // Cycles of a round of blocks with a tile each: `beside` blocks on each multiprocessor, or on a `share` of the
    // multiprocessors. No block multiplies while the last tiles are stored.
    double round(double beside, double share, std::ptrdiff_t depth, double stored, bool last) const {
        double const multiplying =
            real(t_.m) * t_.n * terms(depth) / rate() * (beside < blocks_ ? slowed_alone(beside) : 1);
        double const alone = beside < blocks_ ? multiplying : 0, waits = waiting(depth, beside);
        double const each = copied_by_threads()
                                ? multiplying + (beside > 1 ? 2 : 1) * copying_by_threads(depth)
                                : longer(multiplying, fetching(share, depth));
        double const both =
            each * beside > copying_together(beside, depth) ? each * beside : copying_together(beside, depth);
        double const summing = longer(both > alone ? both : alone, waits) + short_parts(beside, depth);
        // wgmma multiplies nothing while it turns from one tile to the next.
        double const between = is(cuda_engine::wgmma) ? 600 : 300;
        if (sends(depth)) return between + summing + handing_over() * beside;
        // Blocks of simt are not in step: some store while others multiply.
        double const exposed = is(cuda_engine::simt) && beside > 1 ? 0.8 : 1;
        double const of_all = storing(stored) * beside * exposed,
                     least = storing_in_step(beside * share, stored),
                     stores = of_all > least ? of_all : least;
        return between + (stores_meanwhile(stored) && !last ? longer(summing, stores) : summing + stores);
    }
    // The first blocks are spread out evenly. Those that take a tile of a last round are on any multiprocessor, and
    // it ends when the one with most of them has done its own. `goes_on`: others come before these.
    double rounds(double tiles, std::ptrdiff_t depth, double stored, bool goes_on = false,
                  bool others_follow = false) const {
        auto const places = real(units_ * blocks_);
        auto const full = real(static_cast<std::ptrdiff_t>(tiles / places));
        double const left = tiles - full * places, each = left / units_;
        auto const of_all = [&](bool last) { return round(blocks_, 1, depth, stored, last); };
        double const begun =
            goes_on ? 0 : filling(full > 0 ? blocks_ : up(static_cast<std::ptrdiff_t>(left), units_));
        if (left == 0) return begun + (full - 1) * of_all(false) + of_all(!others_follow);
        double const cycles = begun + (full > 0 ? full * of_all(false) : 0);
        double beside = up(static_cast<std::ptrdiff_t>(left), units_);
        if (fetches(t_.engine) && (full > 0 || goes_on)) {
            double const most = each + 0.75 * __builtin_sqrt(each);
            beside = most < 1 ? 1 : most > blocks_ ? blocks_ : most;
        }
        return cycles + round(beside, each < 1 ? each : 1, depth, stored, !others_follow);
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
        // A sector of 32 bytes that two rows share is written in parts.
        double const parts = is(cuda_engine::fp64) && row_bytes_ % 32 != 0 ? 1.3 : 1;
        double const bytes =
            (m * k * size_of_a_ + k * n * size_of_b_ + m * n * result_ * parts) * real(s_.count);
        double const items = how_.whole > 0 ? whole_ : tiles_ * parts_;
        double const idle = 1 - items / (up(static_cast<std::ptrdiff_t>(items), units_) * units_);
        // The same holds for pairs of multiprocessors, where some have two blocks and others one: each pair gets the
        // same share of the memory's rate.
        std::ptrdiff_t const half = (units_ + 1) / 2;
        double const pairs = 1 - items / (up(static_cast<std::ptrdiff_t>(items), half) * real(half));
        // On an H100, whose memory gives 1500 bytes in a cycle, one block on each pair is not enough where each step
        // reads other pages. On an H200, which has 2250, one block is enough.
        bool const too_few = items <= real(half) && reads_pages() && memory_ < 1900;
        double const of_idle =
            items > units_ && (is(cuda_engine::wgmma) || is(cuda_engine::fp64)) ? 0.4 : 0.1;
        double const uneven = !on_tensor_cores()   ? of_idle * idle
                              : too_few            ? 0.3
                              : items > units_     ? of_idle * idle
                              : 0.45 * pairs < 0.1 ? 0.45 * pairs
                                                   : 0.1;
        double const within = begins_within() ? 0.05 : 0;
        // The blocks of a cluster are on neighbours, of which two share a path, while other paths are idle.
        double const by_clusters = 18 * items;
        bool const on_neighbours = how_.together || t_.blocks_of_cluster() > 1;
        double const rate = on_neighbours && by_clusters < memory_ ? by_clusters : memory_;
        // Pieces of lines of B along n that begin anywhere: each step reads other pages, at half of the rate, and so
        // do blocks that have other parts of k.
        double const bytes_of_b = k * n * size_;
        bool const scattered = shifts() && !layout_.b_along_k && s_.m <= t_.m && bytes_of_b > 4e6;
        double const by_pieces = scattered ? 1.8 + 0.03 * parts_ : 1;
        // A copy that is not too large is still in the second-level cache.
        double const kept = copied() < cache_ / 3 ? copied() : 0;
        double const from_memory = (bytes - kept) / rate * by_pieces * (1 + uneven + within),
                     added = sums() * sum_size_ * parts_ / 12 / units_ * (1 + uneven + within);
        double const of_pair =
            (bytes - kept) / items * up(static_cast<std::ptrdiff_t>(items), half) / cuda_bytes_of_pair;
        bool const is_one_round = is(cuda_engine::wgmma) && items <= units_;
        return (is_one_round && of_pair > from_memory ? of_pair : from_memory) + added;
    }
    // Cycles of the launch that adds up sums of parts. The sums of a last round come late, and the launch begins when
    // they are there.
    double gathering() const {
        if (how_.part == 0 || how_.together) return 0;
        bool const of_bytes = element_ == 1;
        double const begins = how_.whole > 0             ? 4500
                              : is(cuda_engine::wgmma)   ? (of_bytes ? 7000 : 2500)
                              : is(cuda_engine::mma)     ? 3800
                              : is(cuda_engine::blocked) ? (element_ == 2 ? 3000 : 4500)
                                                         : 3000;
        double const bytes = sums() * sum_size_ * (2 * parts_ + 1);
        return begins + 100 * parts_ + bytes / (of_bytes ? 20 : 43) / units_;
    }

    cuda_form form_;
    cuda_tile t_; // as it lies on C
    cuda_sides s_;
    cuda_way how_;
    int blocks_, units_;
    double rate_, memory_, cache_;
    std::size_t element_;
    cuda_layout layout_;
    std::size_t row_bytes_;                   // of C
    double size_, result_;                    // bytes of an element, and of one of C
    double size_of_a_, size_of_b_, sum_size_; // as the operands are stored, and of a sum of a part of k
    double parts_, whole_, tiles_;
};

STRATAGEMM_END
