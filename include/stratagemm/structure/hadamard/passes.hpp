// How a device does Hadamard transforms: the launches that a length takes, and what a group does in each. It depends on
// the length, the type, the layout and the room of a group alone.
#pragma once

#include "../../core/leaf.hpp"
#include "order.hpp"

STRATAGEMM_BEGIN

// One launch of the kernel, for transforms of 1 << bits points.
struct hadamard_pass {
    int bits = 0, point_bits = 0, point_shift = 0, line_bits = 0, line_shift = 0;
    int size = 4; // bytes of a sum
    bool columns = true, lines_low = false, store_lines_low = false, last = true;
    int sequency = 0;
    int share_in = 0, share_out = 0;
    bool in_unit = false, out_unit = false, out_vectors = false;

    int tile_bits() const { return point_bits + line_bits; }
    int items() const { return 1 << (tile_bits() - registers); }
    // A column, or a block of columns, has so many tiles.
    index_t tiles() const { return index_t{1} << (bits - point_bits - (columns ? 0 : line_bits)); }
    index_t blocks(index_t cols) const { return columns ? ((cols - 1) >> line_bits) + 1 : cols; }
    // Groups of a multiprocessor, whose registers are twice as many as the numbers of its work-items.
    int groups_at_once() const {
        constexpr int register_bytes = 256 << 10;
        int const groups = register_bytes / (2 * size << tile_bits());
        return groups < 1 ? 1 : groups;
    }
    // Bytes of shared memory that the launch has to ask for; 0 if the kernel declares them.
    std::size_t launched_bytes() const {
        auto const all = static_cast<std::size_t>(size) << tile_bits();
        return all > device_declared_bytes ? all : 0;
    }

    // What is in registers: bits [at, at + 5) of the number of an element. Bit b of `steps`: elements that are
    // 1 << (at + b) apart are added.
    struct round {
        int at = 0, steps = 0;
        // Then a warp has 1024 elements in a row.
        bool is_in_warp() const { return at <= registers; }
    };
    struct rounds_of {
        int count = 0;
        round at[3];
        round const& last() const { return at[count - 1]; }
    };
    rounds_of rounds() const {
        int const low = lines_low ? line_bits : 0;
        int left = low + point_bits, at = first_round();
        rounds_of all;
        for (;;) {
            round& one = all.at[all.count++];
            one.at = at;
            for (int b = 0; b < registers; ++b)
                if (at + b >= low && at + b < left) one.steps |= 1 << b;
            left = smaller_of(left, at);
            if (left <= low) return all;
            at = left - low <= registers ? low : larger_of(left - registers, registers);
        }
    }
    // Whether the last registers are written as they are: neighbours of a sector lie in neighbouring work-items.
    bool is_direct(rounds_of const& all) const {
        return store_lines_low == lines_low && sequency != 1 && !samples() &&
               all.last().at >= sector_bits(size);
    }
    static constexpr int sector_bits(int size) {
        return 5 - bits_of(size);
    } // elements that memory reads at once
    // Whether the tile is read and written in the order of its elements, so that 16 bytes of them stay together.
    bool keeps_order() const {
        return !lines_low && !store_lines_low && sequency != 1 && !samples() && size <= 8;
    }
    // What the kernel is compiled for: what definitions() reads, and nothing else, so that passes that differ in other
    // things share one.
    text_numbers numbers(bool is_complex) const {
        bool const places = sequency == 2, shares = share_in > 0 || share_out > 0;
        index_t flags = 0;
        for (bool const one :
             {columns, lines_low, store_lines_low, last, in_unit, out_unit, out_vectors, is_complex})
            flags = 2 * flags + one;
        return {{places || shares ? bits : 0, point_bits | (places ? point_shift : 0) << 8,
                 line_bits | (places ? line_shift : 0) << 8,
                 size | sequency << 8 | share_in << 12 | share_out << 16, flags}};
    }
    explicit hadamard_pass(text_numbers const& x) {
        bits = static_cast<int>(x.at[0]);
        auto const low = [&](int i) { return static_cast<int>(x.at[i] & 0xff); };
        auto const high = [&](int i) { return static_cast<int>(x.at[i] >> 8); };
        point_bits = low(1), point_shift = high(1), line_bits = low(2), line_shift = high(2), size = low(3);
        sequency = high(3) & 15, share_in = high(3) >> 4 & 15, share_out = high(3) >> 8;
        int flag = 7;
        for (bool* const one :
             {&columns, &lines_low, &store_lines_low, &last, &in_unit, &out_unit, &out_vectors})
            *one = x.at[4] >> flag-- & 1;
    }
    hadamard_pass() = default;
    static bool is_complex(text_numbers const& x) { return x.at[4] & 1; }
    std::string definitions(bool is_complex) const {
        auto const define = [](std::string const& name, int value) {
            return "#define " + name + ' ' + std::to_string(value) + '\n';
        };
        auto const all = rounds();
        bool const direct = is_direct(all);
        std::string text =
            define("POINT_BITS", point_bits) + define("LINE_BITS", line_bits) + define("COLUMNS", columns) +
            define("LINES_LOW", lines_low) + define("STORE_LINES_LOW", store_lines_low) +
            define("LAST", last) + define("SEQUENCY", sequency) + define("SHARE_IN", share_in) +
            define("SHARE_OUT", share_out) + define("IN_UNIT", in_unit) + define("OUT_UNIT", out_unit) +
            define("DIRECT", direct) + define("VECTORS", keeps_order() && !is_complex) +
            define("VECTOR_BITS", 4 - bits_of(size)) + define("OUT_VECTORS", out_vectors && !is_complex) +
            define("IS_LARGE", launched_bytes() > 0) + define("AT_ONCE", groups_at_once());
        if (share_out == 2) text += define("WHOLE", point_bits == bits);
        if (share_in == 1 || share_out == 1) text += define("SIGN_SHIFT", bits < 5 ? 0 : bits - 5);
        if (share_in == 1) text += define("TOP_STEPS", all.at[0].steps == (1 << registers) - 1);
        if (sequency == 2)
            text += define("TRANSFORM_BITS", bits) + define("POINT_SHIFT", point_shift) +
                    define("LINE_SHIFT", line_shift);
        text += define("ROUNDS", all.count);
        for (int i = 0; i < all.count; ++i) {
            std::string const number = '_' + std::to_string(i + 1);
            bool const next_in_warp = i + 1 < all.count ? all.at[i + 1].is_in_warp() : keeps_order();
            text += define("AT" + number, all.at[i].at) + define("STEPS" + number, all.at[i].steps) +
                    define("IN_WARP" + number, all.at[i].is_in_warp() && next_in_warp);
        }
        std::string const number = '_' + std::to_string(all.count);
        return text + "#define AT_LAST AT" + number + "\n#define IN_WARP_LAST IN_WARP" + number + '\n';
    }

    static constexpr int registers = 5; // log2 of the numbers of a work-item
private:
    // The highest bits of elements, whose neighbours in memory are neighbours in a warp. Signs are read by 32 for the
    // highest bits of points.
    int first_round() const {
        bool const by_points = share_in == 1 && !lines_low && point_bits >= registers + sector_bits(size);
        return (by_points ? point_bits : tile_bits()) - registers;
    }
    bool samples() const { return share_out == 2 && point_bits == bits; }
    static int smaller_of(int x, int y) { return x < y ? x : y; }
    static int larger_of(int x, int y) { return x < y ? y : x; }
};

// The passes of transforms of 1 << bits points, whose sums have `size` bytes. Across: columns lie beside each other,
// else the points of a column.
struct hadamard_passes {
    int count = 0;
    hadamard_pass at[8];

    // log2 of the points that a group has room for: in shared memory, and in registers, of which a multiprocessor has
    // 256 KiB. The numbers take half of them.
    static int most_bits(int size, device_limits const& limits = {}) {
        int most = 15 - bits_of(size); // of 32 KiB, which all devices have
        while (most < most_bits_at_best(size) &&
               limits.group_bytes >> (most + 1) >= static_cast<std::size_t>(size) &&
               2 << (most - hadamard_pass::registers) <= limits.group_items)
            ++most;
        return most;
    }
    // The same where whole sectors are read of several lines that lie beside each other.
    static int most_bits_across(int size, device_limits const& limits = {}) {
        return most_bits(size, limits) - hadamard_pass::sector_bits(size);
    }

    // `splits`: whether there is room for what is between two passes, where one would do.
    hadamard_passes(int bits, int size, bool across, bool by_sequency, bool splits, index_t cols,
                    device_limits const& limits = {}) {
        int const most = most_bits(size, limits), sector = hadamard_pass::sector_bits(size);
        int const first_most = most - sector, last_most = across || by_sequency ? first_most : most;
        // Halves of sectors take longer than two passes.
        count = bits <= (across && splits ? first_most : most) ? 1 : 2;
        while (count > 1 && (count - 1) * first_most + last_most < bits) ++count;
        int left = bits;
        for (int i = 0; i < count; ++i) {
            hadamard_pass& pass = at[i];
            int const even = smaller_of((left + count - i - 1) / (count - i), first_most),
                      least = left - (count - i - 2) * first_most - last_most;
            pass.bits = bits, pass.size = size, pass.last = i + 1 == count;
            pass.point_bits = pass.last ? left : even < least ? least : even;
            left -= pass.point_bits;
            pass.point_shift = left;
            pass.columns = across || count == 1;
            pass.lines_low = across || !pass.last;
            pass.store_lines_low = pass.lines_low || (by_sequency && count > 1);
            if (by_sequency && pass.last && bits > 0) pass.sequency = across || count > 1 ? 2 : 1;
            choose_lines(pass, most, sector, cols);
        }
    }

private:
    // Where neighbours in memory are of several lines, more lines make longer pieces of it, and larger groups, of which
    // fewer run at once on a multiprocessor: pieces have about as many sectors as there are groups. Otherwise a tile is
    // of a warp, which waits for no other one, or of four warps and more.
    static int lines_of(hadamard_pass const& pass, int most, int sector) {
        if (pass.lines_low || pass.store_lines_low) {
            int const both = most_bits_at_best(pass.size) - sector - pass.point_bits;
            return sector + (both > 0 ? (both + 1) / 2 : 0);
        }
        int const least = pass.point_bits <= warp ? warp : warp + 2;
        return larger_of(smaller_of(least, most) - pass.point_bits, 0);
    }
    static void choose_lines(hadamard_pass& pass, int most, int sector, index_t cols) {
        int const lines = smaller_of(lines_of(pass, most, sector), most - pass.point_bits),
                  wanted = larger_of(lines, warp - pass.point_bits);
        // A tile of few columns is of a warp at least.
        pass.line_bits =
            !pass.columns ? wanted : larger_of(warp - pass.point_bits, smaller_of(lines, bits_of(cols)));
        if (pass.line_bits < 0) pass.line_bits = 0;
        // Parts of a column begin beside each other; those of the last pass in the order in which they are written.
        if (!pass.columns && pass.last)
            pass.line_shift = pass.sequency == 2 ? pass.bits - pass.line_bits : pass.point_bits;
    }
    // Where one group fills a multiprocessor.
    static constexpr int most_bits_at_best(int size) { return 17 - bits_of(size); }
    static constexpr int warp = 2 * hadamard_pass::registers; // log2 of the elements of its work-items
    static int smaller_of(int x, int y) { return x < y ? x : y; }
    static int larger_of(int x, int y) { return x < y ? y : x; }
};

STRATAGEMM_END
