// The cost of a product on the host, for estimate(): how often each step is done, from the shape, times the cost of the
// step (costs_table.hpp, which ./dev bench fit writes from measurements). dispatch.hpp says which way a product takes, as
// it does for the call. Numbers of tiles and vectors are counted, not looped over.
#pragma once

#include "costs_table.hpp"
#include "vector.hpp"

STRATAGEMM_BEGIN

// How often a product does each step.
struct host_counts {
    double of[static_cast<int>(host_cost::kinds)] = {};

    double& operator[](host_cost what) { return of[static_cast<int>(what)]; }
    double seconds(host_isa isa) const {
        int const column = column_of(isa);
        double cycles = 0;
        for (int i = 0; i < static_cast<int>(host_cost::kinds); ++i) cycles += of[i] * host_costs[i][column];
        return cycles / host_clock_of(isa);
    }
    // The column of the table. AMX has no separate column; AVX-512 that multiplies 64 bytes in two halves has one.
    static int column_of(host_isa isa) {
        return isa < host_isa::avx512                            ? static_cast<int>(isa)
               : isa == host_isa::avx512 && cpu_halves_vectors() ? 3
                                                                 : 2;
    }
    // Repeats all steps but the call and the threads.
    void repeat(double times) {
        for (int i = static_cast<int>(host_cost::step); i < static_cast<int>(host_cost::kinds); ++i)
            of[i] *= times;
    }
};

// The vectors of each column of the table, and the rows of its compiled tiles (kernels.hpp).
struct host_registers {
    index_t vector, tallest; // bytes; rows
    index_t generated;       // bytes of the vectors of generated kernels; 0: there are none
    bool halves;             // 64 bytes are multiplied in two halves
    generated_vectors vectors_for(int packets) const {
        return {generated, generated == 64 && packets == 0 && !halves ? 64 : 32};
    }
};
inline constexpr host_registers tiles_of_column[4] = {
    {16, 4, 0, false}, {32, 6, STRATAGEMM_GENERATES ? 32 : 0, false}, {64, 8, 64, false}, {64, 8, 64, true}};

// A product as a kernel sees it: rows, columns, and packets of k, each of `size` bytes.
struct host_part {
    index_t m, n, k, size;
    bool a_across, b_across; // columns are contiguous
    bool in_place;           // operands may be read where they are
    bool pairs = false;      // of int8, which kernels for 16-bit integers multiply
    bool turned = false;     // C is written as its transpose
    int packets = 0;         // 1: k has pairs of bfloat16; 2: packets of four int8

    host_part transposed() const {
        return {n, m, k, size, !b_across, !a_across, in_place, pairs, !turned, packets};
    }
    double a() const { return times(m, k, size); } // bytes
    double b() const { return times(k, n, size); }
    double c() const { return times(m, n, size); }
    double work() const { return times(m, n, k); }
    // As the dispatch sees it, if no lines have gaps.
    host_facts facts(host_registers const& tiles) const {
        host_facts f{m,
                     n,
                     k,
                     a_across ? 1 : k,
                     a_across ? m : 1,
                     b_across ? 1 : n,
                     b_across ? k : 1,
                     size,
                     tiles.vectors_for(packets),
                     tiles.vector > 16 && (in_place || packets > 0),
                     in_place};
        f.of_packets = packets > 0 ? 4 / (2 * packets) : 0;
        f.turned = turned;
        return f;
    }
    static double times(index_t x, index_t y, index_t z) {
        return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
    }
};

// Counts what one thread does.
class host_counter {
public:
    // `count` products, with operands of `whole` bytes.
    host_counter(host_registers const& tiles, host_part const& p, index_t count, double whole)
        : tiles_(tiles), part_(p), count_(count), own_(whole), whole_(whole) {}

    using enum host_cost;
    host_counts counts;
    static constexpr double first = 48 << 10; // bytes of the first-level cache, and some that come as fast

    // What dispatch_small() runs: false if the product is left to the blocked loops.
    [[gnu::cold]] bool turned(bool columns, bool buffers) {
        host_part const& p = part_;
        host_part const across{p.n, p.m, p.k, p.size, false, false, true};
        if (columns && tiles_.generated > 0) {
            count_generated(across, 4096, 4096, false, true);
        } else if (buffers && (p.a_across || has_room_for_strip(p.m))) {
            count_tiles(across), turn(p.m, p.n, p.size);
            if (!p.a_across) turn(p.k, p.m, p.size);
        } else {
            return false;
        }
        read(p.a() + p.b() + 2 * p.c());
        return true;
    }
    [[gnu::cold]] bool rows(bool as_dots) {
        host_part const& p = part_;
        if (as_dots) return count_dots(p), true;
        bool const copies = p.b_across && p.k > 1;
        if (count_ > 1 && (copies || pieces(p) > 1)) return false; // no kernel computes all of one
        if (copies && !has_room_for_strip(p.n)) return false;
        count_tiles(p);
        if (copies) turn(p.k, p.n, p.size);
        read(p.a() + p.b() + 2 * p.c());
        return true;
    }
    // Whether multiply_small_pieces() can copy a strip of so many columns.
    bool has_room_for_strip(index_t cols) const {
        index_t const strip = 2 * tiles_.vector; // bytes
        return divide_up(part_.k, pieces(part_)) * smaller(cols * part_.size, strip) <= 16384;
    }
    // The part of a product that is not small which a thread has, with operands of `own` bytes.
    [[gnu::cold]] void count_part(host_part p, double own) {
        own_ = own;
        host_facts facts = p.facts(tiles_);
        if ((p.in_place || p.packets > 0) && facts.is_turned()) p = p.transposed(), facts = p.facts(tiles_);
        switch (facts.way()) {
        case host_way::dots: return count_dots(p);
        case host_way::rows: return count_few(p);
        case host_way::blocks: return count_blocks(p);
        }
    }

    // Bytes that come from the cache that holds the whole product, or from memory.
    void read(double bytes) {
        if (whole_ > static_cast<double>(third_level_cache()))
            counts[memory] += bytes;
        else if (own_ > static_cast<double>(second_level_cache()))
            counts[third] += bytes;
    }

private:
    static double times(index_t x, index_t y) { return host_part::times(x, y, 1); }
    // Whether 64 bytes take a cycle instead of half of one. Pairs of bfloat16 take a cycle everywhere.
    bool halves(host_part const& p) const { return tiles_.halves || p.packets == 1; }
    index_t pieces(host_part const& p) const { return larger_of(1, divide_up(p.k * p.size, 1536)); }

    // gather() of contiguous columns: 16 bytes of each of as many columns as a vector has elements.
    void turn(index_t rows, index_t cols, index_t size) {
        index_t const length = 16 / size, width = narrow / size;
        if (rows > 1 && cols >= (rows < length ? width : length))
            counts[moved] +=
                host_part::times(divide_up(rows, length), divide_up(cols, width), length * narrow);
        else
            counts[element] += times(rows, cols);
    }
    void pack(host_part const& p, index_t rows, index_t cols, bool turned) {
        if (turned && !p.in_place)
            counts[element] += times(rows, cols);
        else if (p.pairs)
            counts[joined] += host_part::times(rows, cols, p.size);
        else if (turned)
            turn(rows, cols, p.size);
        else
            counts[moved] += host_part::times(rows, cols, p.size);
    }
    // A is turned if it lies across k, and B if it lies along k. Before that, an operand that lies across k is joined
    // into packets.
    [[gnu::cold]] void pack_packets(host_part const& p, bool a, bool b) {
        if (a && p.a_across && p.m * p.packets <= 2)
            counts[element] += times(p.m, p.k);
        else if (a && p.a_across)
            counts[joined] += p.a(), turn(p.m, p.k, p.size);
        else if (a)
            counts[moved] += p.a();
        if (b && !p.b_across)
            counts[joined] += p.b();
        else if (b)
            turn(p.k, p.n, p.size);
    }

    // The tiles of a generated kernel; where none is generated, eight sums at a time. The short operand is turned if it
    // does not lie along k.
    [[gnu::cold]] void count_dots(host_part const& p) {
        // int8 has one row more.
        index_t const m = p.packets == 2 && p.m <= p.n ? p.m + 1 : p.m,
                      n = p.packets == 2 && p.m > p.n ? p.n + 1 : p.n;
        double const k = static_cast<double>(divide_up(p.k * p.size, tiles_.vector));
        if (tiles_.generated > 0) {
            dots_tiling const tiling({smaller(m, 64), smaller(n, 64), p.k, p.k, 1, 1, p.k, n, 64 * p.size},
                                     tiles_.vector == 64);
            double const tiles = times(divide_up(m, tiling.rows()), divide_up(n, tiling.columns()));
            auto const units = static_cast<double>(tiling.rows() * tiling.columns() * (halves(p) ? 2 : 1));
            double const cycles = tiles * k * (units > 8 ? units : 8) / 2,
                         from_far = own_ > first ? (p.a() > p.b() ? p.a() : p.b()) / 27 : 0;
            counts[dots] += cycles > from_far ? cycles : from_far;
            counts[dots_end] +=
                tiles * static_cast<double>(tiling.end(tiling.rows(), tiling.columns()) *
                                            divide_up(p.k, longest_dots(p.size, smaller(m, n), p.k)));
        } else {
            double const groups = times(m, divide_up(n, 4)) / 2;
            counts[dots] += groups * k, counts[dots_end] += groups;
        }
        if (p.packets > 0) {
            pack_packets(p, p.packets == 2 ? p.m <= p.n : p.a_across,
                         p.packets == 2 ? p.m > p.n : !p.b_across);
            return read(p.a() + p.b());
        }
        if (p.a_across) turn(p.m, p.k, p.size);
        if (!p.b_across) turn(p.n, p.k, p.size);
        read(p.a() + p.b());
    }

    [[gnu::cold]] void count_few(host_part const& p) {
        counts[few_vector] += times(p.m, p.k) * static_cast<double>(divide_up(p.n * p.size, tiles_.vector));
        read(p.b());
        if (p.turned) turn(p.n, p.m, p.size);
    }

    // Tiles of generated kernels with `rows` rows and `columns` columns each, whose B may lie in strips.
    [[gnu::cold]] void count_generated(host_part const& p, index_t rows, index_t cols, bool strips,
                                       bool turned = false) {
        index_t const m = smaller(p.m, rows), n = smaller(p.n, cols), k = smaller(p.k, 1 << 20);
        generated_tiling::work const work =
            generated_tiling(
                {m, n, k, p.k, 1, n, strips ? 1 : 2 * tiles_.vector / p.size, p.n,
                 64 * p.size + static_cast<int>(turned ? generated_form::turned : generated_form::tiles)},
                tiles_.vector == 64)
                .count(halves(p), p.b() > first);
        double const blocks = host_part::times(p.m, p.n, p.k) / host_part::times(m, n, k);
        counts[step] += blocks * work.cycles;
        counts[tile_vector] += blocks * work.stores;
    }
    // Compiled tiles of two vectors, of which less than four rows take as long as four; pairs of int8 take
    // two instructions, but additions of integers run on more units than multiplications.
    [[gnu::cold]] void count_tiles(host_part const& p) {
        if (tiles_.generated > 0) return count_generated(p, 4096, 4096, false);
        index_t const vectors = divide_up(p.n * p.size, tiles_.vector), strips = divide_up(vectors, 2),
                      rest = p.m % tiles_.tallest;
        counts[step] +=
            host_part::times(rest > 0 && rest < 4 ? p.m - rest + 4 : p.m, strips, p.k) * (p.pairs ? 1.35 : 1);
        index_t const ends = p.n * p.size % (2 * tiles_.vector) != 0 ? 48 : 0; // through a buffer
        counts[tile_vector] += host_part::times(p.m, 6 * vectors + ends, pieces(p));
    }

    [[gnu::cold]] void count_blocks(host_part const& p) {
        index_t const k = divide_up(p.k, pieces(p)), row = p.n * p.size, wide = 4 * tiles_.vector / p.size;
        bool const low = tiles_.vector != 64;
        bool const a_in_place =
            p.packets == 1 ? !p.a_across
                           : p.in_place && is_a_read_in_place(p.a_across ? 1 : p.k, p.a_across ? p.m : 1, p.k,
                                                              k, p.n, p.size, low);
        bool const b_in_place =
            p.in_place && !p.b_across && is_b_read_in_place(p.m, k, p.k, row, 2 * tiles_.vector);
        index_t const blocks = divide_up(p.n, block_sizes<float>::n_max),
                      cols = divide_up(divide_up(p.n, blocks), wide / 2) * (wide / 2),
                      rows = a_in_place && !p.turned   ? 4096
                             : p.turned || blocks <= 2 ? block_sizes<float>::panel
                                                       : 2048;
        if (tiles_.generated > 0)
            count_generated(p, rows, cols, !b_in_place);
        else
            count_tiles(p);
        if (p.packets > 0) {
            pack_packets(p, !a_in_place, true);
        } else {
            if (!a_in_place) pack(p, p.m, p.k, p.a_across && (p.n > few_for_across(low) || !p.in_place));
            if (!b_in_place) pack(p, p.k, p.n, p.b_across);
        }
        if (p.turned) turn(p.n, p.m, p.size);
        double const bytes =
                         p.a() * static_cast<double>(blocks) + p.b() + p.c() * static_cast<double>(pieces(p)),
                     meanwhile = 4 * counts[step]; // what memory gives while tiles multiply
        if (whole_ <= static_cast<double>(third_level_cache())) return read(bytes);
        counts[third] += bytes;
        if (bytes > meanwhile) read(bytes - meanwhile);
    }

    static constexpr index_t narrow = 32; // bytes of the vectors of kernels for few rows
    host_registers tiles_;
    host_part part_;
    index_t count_;
    double own_, whole_;
};

// The part of a shared product that one of `team` threads gets.
[[gnu::cold]] inline host_part share_of(host_part p, host_registers const& tiles, int team) {
    if (p.c() <= static_cast<double>(block_sizes<float>::few_elements * p.size) &&
        p.k * p.size >= 32 * 1536) {
        p.k = divide_up(p.k, team);
    } else if (p.m == 1 || p.facts(tiles).way() == host_way::dots) {
        index_t& longer = p.m > p.n ? p.m : p.n;
        longer = divide_up(longer, team);
    } else {
        host_grid const grid = grid_of(team, p.m, p.n, p.k, static_cast<int>(tiles.tallest),
                                       static_cast<int>(2 * tiles.vector / p.size));
        p.m = divide_up(p.m, grid.rows), p.n = divide_up(p.n, grid.cols);
    }
    return p;
}

// The steps of the thread that has most of them, for at most `threads` threads.
template <class S>
[[gnu::cold]] host_counts counts_of(S const& s, int column, int threads) {
    host_registers tiles = tiles_of_column[column];
    using T = multiplied_as<S>;
    using packing = typename packing_of<T>::type;
    if (!is_generated<typename packing::packet>) tiles.generated = 0;
    host_part p{.m = larger_of(s.m, 1) * packing::tall, // a product without elements is a call, too
                .n = larger_of(s.n, 1) * packing::widen,
                .k = packing::depth(larger_of(s.k, 1)),
                .size = sizeof(typename packing::packet),
                .a_across = s.a_across,
                .b_across = s.b_across,
                .in_place = packing::in_place && packing::tall == 1,
                .pairs = std::is_same_v<T, std::int8_t>};
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, std::int8_t>)
        if (multiplies_packets<T>()) {
            host_part q = p;
            q.k = packet_packing<T>::depth(larger_of(s.k, 1)), q.pairs = false,
            q.packets = sizeof(T) == 2 ? 1 : 2;
            if (multiplies_blocks_of_packets<T>() || q.facts(tiles).way() == host_way::dots)
                p = q, tiles.generated = tiles.vector;
        }
    bool const is_column = p.n == 1;
    if (is_column) p = p.transposed(), p.turned = false;
    if (p.k == 1) p.b_across = false;
    if (p.m == 1) p.a_across = false, p.b_across = p.b_across || p.n == 1; // one row lies along k, too
    double const many = static_cast<double>(s.count), whole = (p.a() + p.b() + p.c()) * many;
    host_counter counter(tiles, p, s.count, whole);
    host_facts facts = p.facts(tiles);
    facts.turned = is_column, facts.count = s.count, facts.threads = threads;
    bool const small = p.in_place && dispatch_small(facts, counter),
               shares_batch = s.count >= threads && s.count > 1;
    int const team = small && !shares_batch ? 1 : host_operations{threads}.team(multiply_adds(s));
    if (!small) {
        if (team > 1 && !shares_batch) p = share_of(p, tiles, team);
        counter.count_part(p, (p.a() + p.b() + p.c()) * many);
    }
    if (s.adds) counter.read(p.c());
    using enum host_cost;
    host_counts& counts = counter.counts;
    counts.repeat(shares_batch ? many / team : many);
    counts[call] = 1, counts[thread] = team - 1;
    counts[workspace] = !small, counts[packets] = p.packets > 0;
    return counts;
}

STRATAGEMM_END
