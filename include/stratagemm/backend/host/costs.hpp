// What a product costs on the host, for estimate(): how often each thing is done, from the shape, times what it
// costs once (costs_table.hpp, which ./dev bench fit writes from measurements). The paths are those of host.hpp,
// small.hpp, vector.hpp and blocked.hpp, as far as sizes and the way operands lie decide; numbers of tiles and
// vectors are counted, not looped over.
#pragma once

#include "costs_table.hpp"
#include "vector.hpp"

STRATAGEMM_BEGIN

// How often a product does each of them.
struct host_counts {
    double of[static_cast<int>(host_cost::kinds)] = {};

    double& operator[](host_cost what) { return of[static_cast<int>(what)]; }
    double seconds(host_isa isa) const {
        int const column = isa < host_isa::avx512                            ? static_cast<int>(isa)
                           : isa == host_isa::avx512 && cpu_halves_vectors() ? 3
                                                                             : 2;
        double cycles = 0;
        for (int i = 0; i < static_cast<int>(host_cost::kinds); ++i) cycles += of[i] * host_costs[i][column];
        return cycles / host_clock_of(isa);
    }
    // All but the call and the threads.
    void repeat(double times) {
        for (int i = static_cast<int>(host_cost::step); i < static_cast<int>(host_cost::kinds); ++i)
            of[i] *= times;
    }
};

// The vectors and tiles of an instruction set (kernels.hpp).
struct host_tiles_of {
    index_t vector, tallest, second, shortest; // bytes; rows
    bool masked;
    explicit host_tiles_of(host_isa isa)
        : vector(isa == host_isa::portable ? 16
                 : isa == host_isa::avx2   ? 32
                                           : 64),
          tallest(isa == host_isa::portable ? 4
                  : isa == host_isa::avx2   ? 6
                                            : 14),
          second(isa == host_isa::portable ? 4
                 : isa == host_isa::avx2   ? 2
                                           : 8),
          shortest(isa == host_isa::avx2 ? 2 : 4), masked(isa >= host_isa::avx512) {}
};

// A product as a kernel sees it: rows, columns, and what k has of packets of so many bytes.
struct host_part {
    index_t m, n, k, size;
    bool a_across, b_across; // columns are contiguous
    bool in_place;           // operands may be read where they are
    bool by_element = false; // each packet is packed by itself
    bool turned = false;     // C is written as its transpose
    int packets = 0;         // 1: k has pairs of bfloat16; 2: packets of four int8

    host_part transposed() const {
        return {n, m, k, size, !b_across, !a_across, in_place, by_element, !turned, packets};
    }
    double a() const { return times(m, k, size); } // bytes
    double b() const { return times(k, n, size); }
    double c() const { return times(m, n, size); }
    double work() const { return times(m, n, k); }
    bool is_flat() const { return b_across && stratagemm::is_flat(size, m, n, k, a_across); }
    static double times(index_t x, index_t y, index_t z) {
        return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
    }
};

inline bool is_dots(host_part const& p) {
    host_isa const isa = current_isa().isa;
    bool const packets =
        p.packets > 0 && packets_may_be_dots(4 / (2 * p.packets), p.m, p.n, !p.a_across, p.b_across);
    return (p.in_place || packets) && isa != host_isa::portable &&
           are_dots(p.size, p.m, p.n, p.k, !p.a_across, p.b_across, isa >= host_isa::avx512);
}

// Counts what one thread does.
class host_counter {
public:
    // Bytes of the operands of this thread, and of all.
    host_counter(host_isa isa, double own, double whole) : tiles_(isa), own_(own), whole_(whole) {}

    host_counts counts;

    void count(host_part p, bool at_once) {
        if (at_once && count_turned(p)) return;
        if (is_dots(p)) return count_dots(p);
        if (p.m == 1 && p.k > 1 && p.in_place && !p.b_across) return count_row(p);
        if (at_once && count_small(p)) return;
        if ((p.in_place || p.packets > 0) && is_narrow(p)) p = p.transposed();
        if (p.in_place && is_few(p)) return count_few(p);
        count_blocks(p);
    }

    // Bytes that come from the cache that holds the whole product, or from memory.
    void read(double bytes) {
        constexpr double first = 48 << 10;
        if (whole_ > static_cast<double>(third_level_cache()))
            counts[host_cost::memory] += bytes;
        else if (own_ > static_cast<double>(second_level_cache()))
            counts[host_cost::third] += bytes;
        else if (own_ > first)
            counts[host_cost::second] += bytes;
    }

private:
    static double times(index_t x, index_t y) { return host_part::times(x, y, 1); }
    index_t pieces(host_part const& p) const { return larger_of(1, divide_up(p.k * p.size, 1536)); }

    void copy(double bytes) { counts[host_cost::moved] += bytes; }
    // gather() of contiguous columns: 16 bytes of each of as many columns as a vector has elements.
    void turn(index_t rows, index_t cols, index_t size) {
        index_t const length = 16 / size, width = narrow / size;
        if (rows > 1 && cols >= (rows < length ? width : length))
            copy(times(divide_up(rows, length), divide_up(cols, width)) *
                 static_cast<double>(length * narrow));
        else
            counts[host_cost::element] += times(rows, cols);
    }
    void pack(host_part const& p, index_t rows, index_t cols, bool turned) {
        if (p.packets > 0) // is joined from 16 bytes at a time
            copy(8 * host_part::times(rows, cols, p.size));
        else if (p.by_element || (turned && !p.in_place))
            counts[host_cost::element] += times(rows, cols);
        else if (turned)
            turn(rows, cols, p.size);
        else
            copy(host_part::times(rows, cols, p.size));
    }
    void write_turned(host_part const& p) {
        if (p.turned) turn(p.n, p.m, p.size);
    }

    void count_row(host_part const& p) {
        constexpr index_t latency = 6; // vectors that take as long as a sum waits for the one before
        index_t const vectors = divide_up(p.n * p.size, tiles_.vector);
        counts[host_cost::row_vector] += times(larger_of(vectors, latency), p.k);
        counts[host_cost::row_end] += static_cast<double>(vectors);
        read(p.b());
    }

    // Tiles of eight sums, or of as many vectors of four columns; what is short is turned if it does not lie along k.
    void count_dots(host_part const& p) {
        // Of int8, a row more.
        index_t const m = p.packets == 2 && p.m <= p.n ? p.m + 1 : p.m,
                      n = p.packets == 2 && p.m > p.n ? p.n + 1 : p.n;
        double const groups = tiles_.masked && m > 2 ? 2 * times(divide_up(m, 4), divide_up(n, 4))
                              : tiles_.masked        ? times(m, divide_up(n, 8))
                                                     : times(m, divide_up(n, 4)) / 2;
        counts[host_cost::dots] += groups * times(divide_up(p.k * p.size, tiles_.vector), 1);
        counts[host_cost::dots_end] += groups;
        if (p.packets > 0) return read(p.a() + p.b());
        if (p.a_across) turn(p.m, p.k, p.size);
        if (!p.b_across) turn(p.n, p.k, p.size);
        read(p.a() + p.b());
    }

    bool is_few(host_part const& p) const {
        return !p.b_across && are_few_rows(tiles_.masked, p.m, p.k, p.n * p.size);
    }
    void count_few(host_part const& p) {
        counts[host_cost::few_vector] +=
            times(p.m, p.k) * static_cast<double>(divide_up(p.n * p.size, tiles_.vector));
        read(p.b());
        write_turned(p);
    }

    // Tiles of two vectors, and of one at the right end; those of less than four rows take as long as those of four.
    void count_tiles(host_part const& p) {
        index_t const full = p.m / tiles_.tallest, rest = p.m % tiles_.tallest;
        index_t const strip = 2 * tiles_.vector / p.size, wide = p.n / strip + (p.n % strip * 2 > strip);
        bool const narrow_end = p.n % strip > 0 && p.n % strip * 2 <= strip;
        auto const add = [&](index_t rows, index_t many) {
            auto const tall = static_cast<double>(larger_of(rows, tiles_.shortest)), latency = 4.0;
            auto const all = static_cast<double>(many), steps = static_cast<double>(p.k);
            double const of_wide = tall, of_narrow = tiles_.masked ? tall / 2 : tall;
            double const w = static_cast<double>(wide), e = narrow_end ? 1 : 0;
            auto const cycles = [&](double c) { return c > latency ? c : latency; };
            counts[host_cost::step] += all * steps * (w * cycles(of_wide) + e * cycles(of_narrow));
            counts[host_cost::tile] += all * (w + e) * static_cast<double>(pieces(p));
            counts[host_cost::tile_vector] +=
                all * static_cast<double>(rows) * (2 * w + e) * static_cast<double>(pieces(p));
        };
        if (tiles_.masked) { // generated: of heights that differ by one
            index_t const tiles = larger_of(1, divide_up(p.m, tiles_.tallest)), larger = p.m % tiles;
            add(p.m / tiles + 1, larger), add(p.m / tiles, tiles - larger);
            return;
        }
        add(tiles_.tallest, full);
        if (rest >= tiles_.second && rest > 0) add(tiles_.second, rest / tiles_.second);
        if (rest % tiles_.second > 0) add(rest % tiles_.second, 1);
    }

    bool count_turned(host_part const& p) {
        if (!p.a_across || !p.in_place || !is_turned_at_once(p.size, p.m, p.n, p.k, p.b_across)) return false;
        count_tiles({p.n, p.m, p.k, p.size, false, false, true});
        turn(p.m, p.n, p.size);
        read(p.a() + p.b() + 2 * p.c());
        return true;
    }
    // False: it is left to the blocked loops.
    bool count_small(host_part const& p) {
        bool const copies = p.b_across && p.k > 1;
        index_t const k = divide_up(p.k, pieces(p));
        if (copies && k * p.n * p.size > 16384) return false;
        count_tiles(p);
        if (copies) turn(p.k, p.n, p.size), counts[host_cost::copy] += static_cast<double>(pieces(p));
        read(p.a() + p.b() + 2 * p.c());
        return true;
    }

    bool is_narrow(host_part const& p) const {
        return p.is_flat() || (p.a_across && is_slim(p.m, p.n, p.k, tiles_.masked));
    }

    void count_blocks(host_part const& p) {
        count_tiles(p);
        index_t const k = divide_up(p.k, pieces(p)), row = p.n * p.size, wide = 4 * tiles_.vector / p.size;
        bool const a_is_near = p.n <= wide && p.a() <= static_cast<double>(second_level_cache());
        bool const a_in_place = p.packets == 1
                                    ? !p.a_across
                                    : p.in_place && (p.a_across ? p.m * p.size < 1024 || a_is_near
                                                                : !rows_collide(p.k * p.size) || k < 32);
        bool const b_in_place =
            p.in_place && !p.b_across && (tiles_.masked || p.n % (wide / 2) == 0) && is_close(p.m, k, row);
        if (!a_in_place) pack(p, p.m, p.k, p.a_across && (p.n > 256 || !p.in_place));
        if (!b_in_place) pack(p, p.k, p.n, p.b_across);
        write_turned(p);
        double const blocks = static_cast<double>(divide_up(p.n, block_sizes<float>::n_max));
        double const bytes = p.a() * blocks + p.b() + p.c() * static_cast<double>(pieces(p)),
                     meanwhile = 4 * counts[host_cost::step]; // what memory gives while tiles multiply
        if (whole_ <= static_cast<double>(third_level_cache())) return read(bytes);
        counts[host_cost::third] += bytes;
        if (bytes > meanwhile) read(bytes - meanwhile);
    }

    static constexpr index_t narrow = 32; // bytes of the vectors of kernels for few rows
    host_tiles_of tiles_;
    double own_, whole_;
};

// Whether a call does it at once, before it asks for workspace (host.hpp).
inline bool is_at_once(host_part const& p, bool is_shared) {
    constexpr double most = 64 * 64 * 64;
    if (p.work() > most && is_shared) return false;
    bool const is_short = p.k <= 64 && p.a() <= 16384 && p.b() + p.c() <= 1 << 20 && p.work() <= 4 * most;
    if (p.work() > most && !is_short) return is_dots(p) && p.work() <= 4 * most;
    return is_dots(p) || !p.is_flat() || p.work() < 1 << 15;
}

// What one of so many threads gets of a product that they share.
inline host_part share_of(host_part p, host_tiles_of const& tiles, int team) {
    if (p.c() <= static_cast<double>(block_sizes<float>::few_elements * p.size) &&
        p.k * p.size >= 32 * 1536) {
        p.k = divide_up(p.k, team);
    } else if (p.m == 1 || is_dots(p)) {
        index_t& longer = p.m > p.n ? p.m : p.n;
        longer = divide_up(longer, team);
    } else {
        host_grid const grid = grid_of(team, p.m, p.n, p.k, static_cast<int>(tiles.tallest),
                                       static_cast<int>(2 * tiles.vector / p.size));
        p.m = divide_up(p.m, grid.rows), p.n = divide_up(p.n, grid.cols);
    }
    return p;
}

// Of the thread that does most, by at most so many threads.
template <class S>
host_counts counts_of(S const& s, host_isa isa, int threads) {
    using packing = typename packing_of<typename S::a_type>::type;
    host_part p{.m = s.m * packing::tall,
                .n = s.n * packing::widen,
                .k = packing::depth(s.k),
                .size = sizeof(typename packing::packet),
                .a_across = s.a_across,
                .b_across = s.b_across,
                .in_place = packing::in_place && packing::tall == 1,
                .by_element = std::is_same_v<typename S::a_type, std::int8_t>};
    using T = typename S::a_type;
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, std::int8_t>)
        if (multiplies_packets<T>()) {
            host_part q = p;
            q.k = packet_packing<T>::depth(s.k), q.by_element = false, q.packets = sizeof(T) == 2 ? 1 : 2;
            if (multiplies_blocks_of_packets<T>() || is_dots(q)) p = q;
        }
    if (p.n == 1) p = p.transposed(), p.turned = false;
    bool const at_once = p.in_place && is_at_once(p, s.count == 1 && host_threads(threads) > 1);
    bool const shares_batch = s.count >= threads && s.count > 1;
    int const team = at_once && !shares_batch ? 1 : host_operations{threads}.team(multiply_adds(s));
    double const many = static_cast<double>(s.count), whole = (p.a() + p.b() + p.c()) * many;
    if (team > 1 && !shares_batch) p = share_of(p, host_tiles_of(isa), team);
    host_counter counter(isa, (p.a() + p.b() + p.c()) * many, whole);
    counter.count(p, at_once);
    if (s.adds) counter.read(p.c());
    host_counts& counts = counter.counts;
    counts.repeat(shares_batch ? many / team : many);
    // A call that takes workspace is as long as four that do not; one of packets, which packs at least B, as sixteen.
    counts[host_cost::call] = at_once ? 1 : p.packets > 0 ? 16 : 4, counts[host_cost::thread] = team - 1;
    return counts;
}

STRATAGEMM_END
