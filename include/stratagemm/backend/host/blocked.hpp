// The blocked product: C in regions for threads, regions in blocks for caches, blocks in tiles for registers.
//
// The loops are those of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008)
// with the two operands exchanged, since C is row-major here: a block of B stays in the second-level cache,
// a few rows of A in the first.
//
// The order of summation is the same in all kernels of an instruction set but dot_products(), and depends on k alone. k
// is cut into pieces (pieces_of). The products of a piece are summed one by one, from zero: s = a_ip b_pj + s. C begins
// as beta E, and each piece makes C alpha s + C. An element of C therefore has the same bits, whatever is computed
// beside it, and on however many threads.
#pragma once

#include "dispatch.hpp"
#include "memory.hpp"
#include "packing.hpp"

STRATAGEMM_BEGIN

// An operand that the kernels cannot read as one matrix. Either the operand is a sum of views: the job then has the
// first view, and the function that packs the sum (combined.hpp). Or the operand is widened: the job then has no data
// (widened.hpp).
template <class Packet>
struct host_sum {
    void const* term = nullptr;
    int terms = 0;
    void (*pack_a)(host_sum const&, index_t i, index_t p, index_t rows, index_t depth, Packet* to) = nullptr;
    void (*pack_b)(host_sum const&, index_t p, index_t j, index_t depth, index_t cols, Packet* to) = nullptr;
    // For an operand that is widened: its elements, and block_args::narrow for a B of such elements; otherwise 0.
    std::byte const* elements = nullptr;
    index_t narrow = 0;
    index_t size = sizeof(Packet); // of an element

    // The address of the element that is `distance` elements after the first. The pointer has the kernels' type,
    // whatever the type of the elements is.
    Packet const* at(index_t distance) const {
        return reinterpret_cast<Packet const*>(elements + distance * size);
    }
};

// A product as the blocked loops see it: row-major C (transpose the whole if not), real or packed scalars,
// and a writer for everything that is not a plain alpha A B + beta E.
template <class TA, class Packing>
struct host_job {
    using packet = typename Packing::packet;
    using acc = accumulated<packet>;
    using writer = void (*)(void const* problem, bool swapped, acc const* sum, index_t sum_row, index_t i,
                            index_t j, index_t rows, index_t cols);

    typename Packing::operand a, b;
    host_sum<packet> a_sum, b_sum; // if they have terms, instead
    acc alpha{1}, beta{0};
    acc const* e = nullptr;
    index_t e_row = 0;
    acc* c = nullptr;
    index_t c_row = 0;
    bool invariant = true; // dot_products() may not multiply this job

    // If set, alpha A B + beta E goes through `write`, and e to c_row are not used; `begin` makes the buffer beta E,
    // and is null where nothing is added.
    writer write = nullptr;
    void (*begin)(void const* problem, bool swapped, acc* sum, index_t sum_row, index_t i, index_t j,
                  index_t rows, index_t cols) = nullptr;
    writer add =
        nullptr; // if set, sums over pieces of k may: the first through `write`, the others through it
    void const* problem = nullptr;
    bool swapped = false; // rows of the job are columns of the problem

    index_t rows() const { return a.rows; }
    index_t cols() const { return b.cols * Packing::widen; }
    index_t depth() const { return Packing::depth(a.cols); }
};

// Sizes of blocks, in packets and accumulators. Only k shows in the results, and it depends on nothing. In the words of
// BLIS, with the operands exchanged: k is KC, n is MC, rows is NC; a strip is MR wide, the tallest tile has NR rows.
template <class Packet>
struct block_sizes {
    static constexpr index_t k = longest_piece(sizeof(Packet));
    static constexpr index_t n_max = 960; // a k x n block of B: 1.4 MiB of the second, or half of that
    static constexpr index_t rows = 2048; // of A, packed at a time, where it is read across
    static constexpr index_t panel = 48; // of A, packed at a time, where one or two blocks of columns need it
    static constexpr index_t staged = 256; // rows of C summed before they are written
    static constexpr index_t long_k = 32 * k, few_elements = 16384; // when k itself is shared out

    static index_t n() { return second_level_cache() < 3 << 19 ? n_max / 2 : n_max; }
};

template <class Packet>
k_pieces pieces_of(index_t depth) {
    return pieces_of(depth, index_t{sizeof(Packet)});
}

// How many pieces of k a team sums at a time, each into a buffer, where C is too small to keep its threads busy;
// otherwise 0.
template <class Packet>
index_t pieces_apart(index_t rows, index_t cols, index_t depth, int team) {
    using sizes = block_sizes<Packet>;
    if (team == 1 || rows * cols > sizes::few_elements || depth < sizes::long_k) return 0;
    return smaller(pieces_of<Packet>(depth).count, 16 * sizes::few_elements / (rows * cols));
}

// Bytes of workspace of one thread, for a job of this shape.
template <class Packing>
struct host_scratch {
    using packet = typename Packing::packet;
    using acc = accumulated<packet>;
    using sizes = block_sizes<packet>;

    packet* a = nullptr;
    packet* b = nullptr;
    acc* sum = nullptr;
    acc* parts = nullptr; // of complex sums: of as many rows as the tallest tile has

    static constexpr index_t strip_max = 64, tallest_max = 16;
    static index_t a_count(index_t rows, index_t depth) {
        return smaller(rows, sizes::rows) * smaller(depth, sizes::k) * Packing::tall;
    }
    static index_t b_count(index_t cols, index_t depth) {
        return divide_up(smaller(cols, sizes::n()), strip_max) * strip_max *
               (smaller(depth, sizes::k) +
                std::is_same_v<acc, std::int32_t>); // strips of packets have a head
    }
    static index_t sum_count(index_t rows, index_t cols) {
        return smaller(rows, sizes::staged) * smaller(cols, sizes::n());
    }
    static index_t parts_count(index_t rows, index_t cols) {
        return Packing::tall == 1 ? 0
                                  : smaller(rows, tallest_max) * Packing::tall * smaller(cols, 4 * strip_max);
    }

    [[gnu::cold, gnu::noinline]] static std::size_t bytes(index_t rows, index_t cols, index_t depth) {
        auto part = [](index_t count, std::size_t size) {
            return host_arena::rounded(static_cast<std::size_t>(count) * size);
        };
        return part(a_count(rows, depth), sizeof(packet)) + part(b_count(cols, depth), sizeof(packet)) +
               part(sum_count(rows, cols), sizeof(acc)) + part(parts_count(rows, cols), sizeof(acc));
    }
    [[gnu::cold, gnu::noinline]] host_scratch(host_arena& arena, index_t rows, index_t cols, index_t depth)
        : a(arena.take<packet>(a_count(rows, depth))), b(arena.take<packet>(b_count(cols, depth))),
          sum(arena.take<acc>(sum_count(rows, cols))), parts(arena.take<acc>(parts_count(rows, cols))) {}
};

// Part of a job: rows, columns (of accumulators) and packets of k.
struct host_region {
    index_t i0, i1, j0, j1, p0, p1;
};

// The most columns of B for which an A across k is read as it lies. Tiles of six rows, `low` ones of AVX2, use a part
// of the lines of A, and wait for these lines where many columns need A.
constexpr index_t few_for_across(bool low) { return low ? 64 : 256; }
// Whether A is read where it is. Rows along k that share sets of the cache are copied if many columns need them. For
// few columns tiles have seven rows at most (tiling.hpp), for which the sets have room. Rows across k are read where
// they are if they are short, or if few columns need them and the second-level cache holds them: no copy would pay.
[[gnu::cold, gnu::noinline]] inline bool
is_a_read_in_place(index_t row, index_t col, index_t k, index_t piece, index_t cols, index_t size, bool low) {
    if (col == 1) return !rows_collide(row * size) || smaller(k, piece) < 32 || cols <= (low ? 256 : 64);
    bool const are_short = col * size < 1024 && (!low || cols <= few_for_across(low));
    return row == 1 && (are_short || (cols * size <= (low ? 128 : 256) &&
                                      magnitude(col) * k * size <= second_level_cache()));
}

// Whether a block of a B with contiguous rows is read where it is. This is so in these cases: few rows of A need the
// block; or not many rows need it, the second-level cache or a near third-level cache holds it, and each page has a row
// of it; or its lines are close to each other. Strips as narrow as a line are copied by their first tile, while the
// next strip is fetched into the second-level cache. This is faster than a copy of all of B before, until many rows of
// A need B: each panel of these rows copies all strips again, and B comes from memory again where no cache holds it.
// Rows whole pages apart leave few places of the second-level cache to the next strip. The limits were measured on a
// Zen 3; those for wider strips on a Zen 4 and on a Xeon. Memory gives the Xeon rows of B in order faster than strips
// of them: a block whose rows are longer than a page is copied there, unless at most 128 rows of A need the block and
// half of the second-level cache holds it. `k`: all rows of B, of which the block has `depth`.
[[gnu::cold, gnu::noinline]] inline bool is_b_read_in_place(index_t rows, index_t depth, index_t k,
                                                            index_t row_bytes, index_t strip_bytes) {
    index_t const distance = magnitude(row_bytes), bytes = depth * distance;
    if (strip_bytes <= 64) {
        bool const far = k > (7 << 20) / larger_of(distance, 1);
        index_t const most = are_pages_apart(distance) ? 12 : far ? 64 : 104;
        return distance <= 128 || rows <= most ||
               (rows <= 160 && distance % 512 != 0 && bytes <= second_level_cache());
    }
    bool const has_near = cpu_is_near_third_level();
    return rows <= 64 || (rows <= 256 && bytes <= second_level_cache() && (has_near || distance <= 4096)) ||
           (rows <= 128 && 2 * bytes <= second_level_cache()) ||
           (rows <= 384 && distance < 4096 && !rows_collide(distance) && has_near) ||
           (distance <= (has_near ? 2048 : 1024) && bytes <= 600000);
}

// Whether tiles widen B as they load it, each tile again. This takes about half a cycle more for each vector of B and
// tile; to widen the vector once and to pack it takes five cycles (bench/results/weights-host-epyc.txt).
inline bool is_widened_by_tiles(index_t rows, index_t tallest) { return divide_up(rows, tallest) <= 10; }

// Multiplies a block, by a generated kernel if there is one. Such a kernel adds C only: if E is another matrix, beta E
// is written to C before. Returns false and does nothing if there is no such kernel yet, and the other kernels do not
// widen B.
template <class Table, class T>
[[gnu::cold, gnu::noinline]] bool multiply_block(Table const& table, block_args<T> const& g) {
    if constexpr (is_generated<T>) {
        using Acc = accumulated<T>;
        block_args<T> own = g;
        bool const apart = g.beta != Acc(0) && (g.e != g.c || g.e_row != g.c_row);
        if (apart) own.e = own.c, own.e_row = own.c_row, own.beta = Acc(1);
        if (auto const kernel =
                generated_next(own, own.room ? generated_form::copied : generated_form::tiles)) {
            if (apart) {
                block_args<Acc> scaled{};
                scaled.m = g.m, scaled.n = g.n, scaled.c = g.c, scaled.c_row = g.c_row;
                scaled.b = g.e, scaled.b_row = g.e_row, scaled.alpha = g.beta, scaled.beta = Acc(0);
                table.add(scaled);
            }
            kernel(own);
            return true;
        }
        if (g.narrow) return false;
    }
    table.block(g);
    return true;
}

// Complex sums, from the sums of their parts, which stay in the first-level cache.
template <class Table, class T>
void multiply_parts(Table const& table, block_args<T> g, T* parts, bool conjugate_a, bool conjugate_b) {
    index_t const n = g.n;
    for (index_t j = 0; j < n; j += g.n) {
        g.n = smaller(4 * table.strip, n - j);
        for (index_t i = 0; i < g.m; ++i)
            for (index_t l = 0; l < g.n; l += 64 / index_t{sizeof(T)})
                __builtin_prefetch(g.c + i * g.c_row + l, 1);
        block_args<T> real = g;
        real.m = 2 * g.m, real.c = parts, real.c_row = g.n, real.alpha = T(1), real.beta = T(0);
        multiply_block(table, real);
        real = g;
        real.b = parts, real.b_row = g.n;
        join_parts<T>(real, conjugate_a, conjugate_b);
        g.b += 4 * g.b_strip, g.c += g.n, g.e += g.n;
    }
}

// Dot products whose operands lie along k. Returns a generated kernel that did them, or null.
template <class Table, class T>
[[gnu::cold, gnu::noinline]] block_function<T> multiply_dots(Table const& table, block_args<T> const& g) {
    using Acc = accumulated<T>;
    bool const factors = g.alpha != Acc(1) || (g.beta != Acc(0) && g.beta != Acc(1));
    auto const own = factors ? nullptr : generated_next(g, generated_form::dots);
    (own ? own : table.dot_products)(g);
    return own;
}

template <class T>
struct packet_packing; // packets.hpp

// Dot products of a C, or of part of one, whose short side is `few`. The short operand is copied first if it does not
// lie along k. Returns the generated kernel, if that did all of the product and adds nothing; otherwise null.
template <class T>
[[gnu::cold, gnu::noinline]] block_function<T> multiply_by_dots(block_args<T> const& g, index_t b_col,
                                                                index_t few) {
    constexpr index_t size = sizeof(T), lanes = 64 / size,
                      length = 4096 / size + lanes; // of rows that do not collide
    using packet = std::conditional_t<sizeof(T) == 2, bfloat16_pair, T>;
    alignas(64) packet room[few_dots(size) * length * size / index_t{sizeof(packet)}];
    T* const copy = reinterpret_cast<T*>(room);
    auto const& table = kernels<packet, packet>();
    bool const turns_a = g.a_col != 1, turns_b = g.b_row != 1;
    auto const turn = [&](view<T const> const& from) {
        if constexpr (std::is_same_v<packet, T>)
            gather(table, copy, length, from.data, from.row_stride, from.col_stride, from.rows, from.cols);
        else
            packet_packing<T>::pack_a(from, 0, 0, from.rows, length / 2, room);
    };
    block_args<T> part = g;
    part.k = pieces_of_dots(size, few, turns_a || turns_b, g.k).length, part.b_strip = b_col;
    block_function<T> own = nullptr;
    for (index_t p = 0; p < g.k; p += part.k) {
        part.k = smaller(part.k, g.k - p), part.a = g.a + p * g.a_col, part.b = g.b + p * g.b_row;
        if (turns_a)
            turn({part.a, g.m, part.k, g.a_row, g.a_col}), part.a = copy, part.a_row = length;
        else if (turns_b)
            turn({part.b, g.n, part.k, b_col, g.b_row}), part.b = copy, part.b_strip = length;
        own = multiply_dots(table, part);
        part.e = g.c, part.e_row = g.c_row, part.beta = accumulated<T>(1);
    }
    return part.k == g.k && g.beta == accumulated<T>(0) && !turns_a && !turns_b ? own : nullptr;
}

// Sets g.b to rows [p, p + g.k) and columns [j, j + g.n) of B, packed: they are packed `now`, or were packed before.
template <class TA, class Packing>
[[gnu::cold, gnu::noinline]] void take_packed(host_job<TA, Packing> const& job,
                                              block_args<typename Packing::packet>& g, index_t p, index_t j,
                                              typename Packing::packet* to, bool now) {
    index_t const strip = Packing::kernels().strip;
    if (now && job.b_sum.terms)
        job.b_sum.pack_b(job.b_sum, p, j, g.k, g.n, to);
    else if (now)
        Packing::pack_b(job.b, p, j, g.k, g.n, to);
    g.b = to + Packing::head * strip, g.b_row = strip, g.b_strip = (g.k + Packing::head) * strip,
    g.narrow = 0;
}

// The products of a region, summed into C, or into `partial` (rows of partial_row) with alpha one. Its functions are
// cold: kernels take the time, and code for size takes less memory to compile.
template <class TA, class Packing>
class region_product {
    using packet = typename Packing::packet;
    using acc = accumulated<packet>;
    using sizes = block_sizes<packet>;
    static constexpr bool has_one_row = Packing::tall == 1; // of A in a row of a packed panel

public:
    [[gnu::cold, gnu::noinline]] region_product(host_job<TA, Packing> const& job, host_region r,
                                                host_scratch<Packing> const& scratch, acc* partial,
                                                index_t partial_row)
        : job_(job), r_(r), scratch_(scratch), partial_(partial), partial_row_(partial_row),
          a_(Packing::place_of(job.a)), b_(Packing::place_of_b(job.b)) {
        auto const [pieces, length] = pieces_of<packet>(r.p1 - r.p0);
        pieces_ = pieces, length_ = length;
        index_t const cols = r.j1 - r.j0;
        // Blocks of about one width: a narrow one at the end would be as much work to begin as a wide one.
        blocks_ = divide_up(cols, sizes::n());
        width_ = divide_up(divide_up(cols, blocks_), table_.strip) * table_.strip;
        by_panel_ = job.write && !partial && (pieces == 1 || job.add);
        staged_ = job.write && !partial && !by_panel_;
        choose_places(cols);
        index_t const panel = divide_up(sizes::panel, table_.tallest) * table_.tallest,
                      rows = staged_                       ? sizes::staged
                             : a_in_place_ || a_by_panels_ ? r.i1 - r.i0
                                                           : sizes::rows;
        rows_at_once_ = rows;
        step_ = a_in_place_ && !by_panel_   ? rows
                : Packing::tall > 1         ? table_.tallest / 2
                : by_panel_ || a_by_panels_ ? panel
                                            : sizes::rows;
    }

    [[gnu::cold, gnu::noinline]] void run() {
        for (index_t i = r_.i0; i < r_.i1; i += rows_at_once_) {
            index_t const rows = smaller(rows_at_once_, r_.i1 - i);
            packed_ = -1;
            // One piece of k runs through all columns, so that A is packed once; staged sums need all of k for some
            // columns.
            for (index_t t = 0; t < pieces_ * blocks_; ++t)
                multiply(i, rows, staged_ ? t % pieces_ : t / blocks_, staged_ ? t / pieces_ : t % blocks_);
        }
    }

private:
    void choose_places(index_t cols) {
        constexpr auto size = static_cast<index_t>(sizeof(packet));
        auto const& [i0, i1, j0, j1, p0, p1] = r_;
        bool const low = !table_.masked;
        a_in_place_ = Packing::in_place && has_one_row && Packing::head == 0 && !job_.a_sum.terms &&
                      a_.col != 0 && is_a_read_in_place(a_.row, a_.col, p1 - p0, length_, cols, size, low);
        b_in_place_ =
            Packing::in_place && Packing::head == 0 &&
            (!job_.b_sum.terms ||
             (job_.b_sum.narrow && table_.generated && is_widened_by_tiles(i1 - i0, table_.tallest))) &&
            b_.col == 1 &&
            is_b_read_in_place(i1 - i0, length_, p1 - p0, b_.row * job_.b_sum.size, table_.strip * size);
        a_across_ = std::is_floating_point_v<packet> && has_one_row && !a_in_place_ && !job_.a_sum.terms &&
                    cols <= few_for_across(low) && job_.a.row_stride == 1 && job_.a.col_stride != 1;
        a_by_panels_ =
            a_across_ || (!a_in_place_ && job_.a_sum.terms <= 1 && blocks_ <= 2 && job_.a.col_stride == 1);
    }

    // Rows [i, i + rows), piece x of k and block y of columns.
    [[gnu::cold, gnu::noinline]] void multiply(index_t i, index_t rows, index_t x, index_t y) {
        index_t const p = r_.p0 + x * length_, j = r_.j0 + y * width_;
        block_args<packet> g{};
        g.n = smaller(width_, r_.j1 - j), g.k = smaller(length_, r_.p1 - p);
        // The packed block may still be there from the rows before.
        set_b(g, p, j, i == r_.i0 || pieces_ * blocks_ > 1);
        set_factors(g, x == 0);
        bool const in_buffer = staged_ || by_panel_, adds_e = x == 0 && in_c() && job_.e;
        g.c_row = in_buffer ? g.n : partial_ ? partial_row_ : job_.c_row;
        g.e_row = adds_e ? job_.e_row : g.c_row;
        acc* const c = in_buffer ? scratch_.sum : partial_ ? partial_ + j : job_.c + j;
        acc const* const e = adds_e ? job_.e + j : c;
        if (staged_ && x == 0) begin(i, rows, j, g.n);
        index_t const step = smaller(step_, rows);
        for (index_t from = i; from < i + rows; from += g.m) {
            g.m = smaller(step, i + rows - from);
            if (Packing::tall > 1 && i + rows - from < 2 * step) g.m = i + rows - from;
            index_t const down = by_panel_ ? 0 : staged_ ? from - i : from; // of c
            g.c = c + down * g.c_row, g.e = e + down * g.e_row;
            set_a(g, from, i, rows, p, x);
            if (by_panel_ && x == 0) begin(from, g.m, j, g.n);
            if constexpr (Packing::tall > 1)
                multiply_parts(table_, g, scratch_.parts, job_.a.conjugate, job_.b.conjugate);
            else if (!multiply_block(table_, g))
                take_packed(job_, g, p, j, scratch_.b, true), multiply_block(table_, g);
            if (by_panel_) end(x == 0 ? job_.write : job_.add, from, g.m, j, g.n);
        }
        if (staged_ && x == pieces_ - 1) end(job_.write, i, rows, j, g.n);
    }

    // Whether sums are added to C itself, and not to `partial` or in a buffer.
    bool in_c() const { return !job_.write && !partial_; }
    // A function reads what is added to the sums of rows [i, i + rows) into their buffer, or writes these sums.
    void begin(index_t i, index_t rows, index_t j, index_t cols) const {
        if (job_.begin)
            job_.begin(job_.problem, job_.swapped, scratch_.sum, cols, i, j / Packing::widen, rows,
                       cols / Packing::widen);
    }
    template <class Write>
    void end(Write write, index_t i, index_t rows, index_t j, index_t cols) const {
        write(job_.problem, job_.swapped, scratch_.sum, cols, i, j / Packing::widen, rows,
              cols / Packing::widen);
    }

    void set_factors(block_args<packet>& g, bool is_first) const {
        g.alpha = partial_ ? acc(1) : job_.alpha;
        if (in_c())
            g.beta = is_first ? job_.beta : acc(1);
        else // in a buffer, that holds what is added
            g.beta =
                !partial_ && (by_panel_ ? is_first && job_.begin : !is_first || job_.begin) ? acc(1) : acc(0);
    }
    void set_b(block_args<packet>& g, index_t p, index_t j, bool now) const {
        if (!b_in_place_) return take_packed(job_, g, p, j, scratch_.b, now);
        g.narrow = job_.b_sum.narrow, g.b_row = b_.row, g.b_strip = table_.strip;
        g.b = g.narrow ? job_.b_sum.at(p * b_.row + j) : b_.data + p * b_.row + j;
        if (!table_.masked && !g.narrow) g.room = scratch_.b;
    }
    // Rows [from, from + g.m) of A, which are among rows [i, i + rows), and piece x of k, which begins at p.
    [[gnu::cold, gnu::noinline]] void set_a(block_args<packet>& g, index_t from, index_t i, index_t rows,
                                            index_t p, index_t x) {
        if (a_in_place_) {
            g.a = a_.data + from * a_.row + p * a_.col, g.a_row = a_.row, g.a_col = a_.col;
            if (a_.col == 1) g.ahead = g.a + table_.tallest * a_.row, g.ahead_row = a_.row;
            return;
        }
        index_t const at_once = a_by_panels_ ? g.m : rows;
        if (job_.a_sum.terms && (a_by_panels_ || packed_ != x))
            job_.a_sum.pack_a(job_.a_sum, from, p, at_once, g.k, scratch_.a);
        else if (a_across_)
            Packing::pack_a(transposed(job_.a), p, from, g.k, g.m, scratch_.a);
        else if (a_by_panels_ || packed_ != x)
            Packing::pack_a(job_.a, from, p, at_once, g.k, scratch_.a);
        packed_ = x;
        g.a = scratch_.a + (a_by_panels_ ? 0 : (from - i) * g.k * Packing::tall);
        g.a_row = a_across_ ? 1 : g.k, g.a_col = a_across_ ? g.m : 1;
        if (a_by_panels_ && a_.data && a_.col == 1 && has_one_row) { // of the panel that is packed next
            bool const more = from + g.m < i + rows;
            index_t const next = more || blocks_ > 1 ? p : smaller(p + length_, r_.p1 - g.k);
            g.ahead = a_.data + (more ? from + g.m : i) * a_.row + next, g.ahead_row = a_.row;
        } else if (!a_by_panels_) { // too much for the second-level cache: the next rows of it
            g.ahead = g.a + table_.tallest * g.k, g.ahead_row = g.k;
        }
    }

    typename Packing::table const& table_ = Packing::kernels();
    host_job<TA, Packing> const& job_;
    host_region r_;
    host_scratch<Packing> const& scratch_;
    acc* partial_;
    index_t partial_row_;
    typename Packing::place a_, b_;
    index_t pieces_, length_; // of k
    index_t blocks_, width_;  // of columns
    index_t rows_at_once_, step_;
    index_t packed_ = -1; // the piece of k that A is packed for
    // A C that a function writes is summed in a buffer first: over all of k, or panel by panel where one piece of k may
    // be written.
    bool by_panel_, staged_;
    bool a_in_place_, b_in_place_;
    // Rows of A that lie along k are packed a panel at a time, while the next is fetched, if one or two blocks of
    // columns need them. Otherwise as many as possible: more blocks would pack them again, lines of memory hold
    // elements of many rows, and forming a sum again would cost more.
    bool a_by_panels_;
    // Rows that lie across k are copied as they lie, some tiles at a time, for so few columns that turning them costs
    // more than tiles lose, which then read twice as many lines.
    bool a_across_;
};
template <class TA, class Packing>
[[gnu::cold]] void
multiply_region(host_job<TA, Packing> const& job, host_region r, host_scratch<Packing> const& scratch,
                accumulated<typename Packing::packet>* partial = nullptr, index_t partial_row = 0) {
    region_product<TA, Packing>(job, r, scratch, partial, partial_row).run();
}

// The rows and columns of a team that works on one C: the division that packs least. Tiles stay whole. Where columns
// are divided, each row of C has a line that two threads write; the less the threads multiply, the longer they wait for
// this line.
struct host_grid {
    int rows = 1, cols = 1;
};
[[gnu::noinline]] inline host_grid grid_of(int team, index_t m, index_t n, index_t k, int tallest,
                                           int strip) {
    host_grid best;
    double least = -1;
    for (int rows = 1; rows <= team; ++rows) {
        if (team % rows != 0) continue;
        int const cols = team / rows;
        auto const part_m = static_cast<double>(divide_up(divide_up(m, rows), tallest) * tallest);
        auto const part_n = static_cast<double>(divide_up(divide_up(n, cols), strip) * strip);
        double const shared = static_cast<double>(m * (cols - 1)), depth = static_cast<double>(k);
        // The cost of a step of k: the multiply-adds of the largest part, in tiles' rows, the elements of B and A that
        // the part packs, and the lines that are shared.
        double const cost = part_m * part_n / 32 + part_n * 0.5 + part_m * 0.3 * (part_n / 480 + 1) +
                            2400 * shared / (depth * depth + 1);
        if (least < 0 || cost < least) least = cost, best = {rows, cols};
    }
    return best;
}
// The i-th of `parts` pieces of n, cut at multiples of `unit`.
[[gnu::noinline]] inline index_t cut(index_t n, index_t i, index_t parts, index_t unit) {
    return smaller(n, divide_up(n, unit) * i / parts * unit);
}

template <class TA, class Packing>
[[gnu::cold]] void multiply_vector_part(host_job<TA, Packing> const& job, bool dots, host_region r,
                                        host_scratch<Packing> const& scratch);

// A small C with a long k: threads share out the pieces of k. Their sums are added to C in order.
template <class TA, class Packing>
[[gnu::noinline]] void multiply_pieces_apart(host_job<TA, Packing> const& job, int team, index_t apart,
                                             host_way way, host_arena& arena) {
    using acc = accumulated<typename Packing::packet>;
    using scratch = host_scratch<Packing>;
    bool const dots = way == host_way::dots;
    index_t const m = job.rows(), n = job.cols(), depth = dots ? job.a.cols : job.depth();
    auto const pieces = dots ? pieces_of_dots(sizeof(TA), smaller(m, n),
                                              job.a.col_stride != 1 || job.b.row_stride != 1, depth)
                             : pieces_of<typename Packing::packet>(depth);
    auto const bytes = static_cast<index_t>(scratch::bytes(m, n, job.depth()));
    acc* const partial = arena.take<acc>(apart * m * n);
    acc* const total = arena.take<acc>(m * n);
    std::byte* const own = arena.take<std::byte>(bytes * team);
    block_args<acc> g{};
    g.m = m, g.n = n, g.b_row = n, g.alpha = job.alpha;
    g.c = job.write ? total : job.c, g.c_row = job.write ? n : job.c_row;
    g.e = job.write ? total : job.e, g.e_row = job.write ? n : job.e_row;
    g.beta = !job.write ? job.beta : job.begin ? acc(1) : acc(0);
    if (job.begin) job.begin(job.problem, job.swapped, total, n, 0, 0, m, n / Packing::widen);
    for (index_t first = 0; first < pieces.count; first += apart) {
        index_t const count = smaller(apart, pieces.count - first);
        host_each(team, team, [&](int thread, int x) {
            for (index_t q = count * x / team; q < count * (x + 1) / team; ++q) {
                host_arena part(own + thread * bytes, static_cast<std::size_t>(bytes), nullptr);
                index_t const p = (first + q) * pieces.length;
                host_region const r{0, m, 0, n, p, smaller(depth, p + pieces.length)};
                scratch const memory(part, m, n, job.depth());
                if constexpr (Packing::in_place && Packing::widen == 1)
                    if (dots) {
                        auto piece = job;
                        piece.a.data += p * job.a.col_stride, piece.b.data += p * job.b.row_stride;
                        piece.a.cols = piece.b.rows = r.p1 - p;
                        piece.write = nullptr, piece.begin = nullptr, piece.alpha = acc(1),
                        piece.beta = acc(0);
                        piece.c = partial + q * m * n, piece.c_row = n;
                        multiply_vector_part(piece, true, r, memory);
                        continue;
                    }
                multiply_region(job, r, memory, partial + q * m * n, n);
            }
        });
        for (index_t q = 0; q < count; ++q) {
            g.b = partial + q * m * n;
            if (dots) // as dot products end
                for (index_t i = 0; i < m; ++i)
                    for (index_t j = 0; j < n; j += 4) finish_dots(g, g.b + i * n + j, i, j);
            else
                Packing::kernels().add(g);
            g.e = g.c, g.e_row = g.c_row, g.beta = acc(1);
        }
    }
    if (job.write) job.write(job.problem, job.swapped, total, n, 0, 0, m, n / Packing::widen);
}

// One product, by `team` threads. The arena holds multiply_bytes() of these sides.
template <class TA, class Packing>
[[gnu::cold]] void multiply(host_job<TA, Packing> const& job, int team, host_arena& arena,
                            host_way way = host_way::blocks) {
    using packet = typename Packing::packet;
    using scratch = host_scratch<Packing>;
    auto const& table = Packing::kernels();
    host_arena::scope const scope(arena);
    index_t const m = job.rows(), n = job.cols(), depth = job.depth();
    bool const by_blocks = way == host_way::blocks;

    if constexpr (!host_has_teams)
        team = 1;
    else if (index_t const apart = by_blocks || m > 1 ? pieces_apart<packet>(m, n, depth, team) : 0;
             apart > 0)
        return multiply_pieces_apart(job, team, apart, way, arena);

    std::size_t const bytes = scratch::bytes(m, n, depth);
    std::byte* const own = arena.take<std::byte>(static_cast<index_t>(bytes) * team);
    index_t const tall = by_blocks ? table.tallest : 4, wide = by_blocks               ? table.strip
                                                               : way == host_way::dots ? 4
                                                                                       : 64;
    host_grid const grid = !host_has_teams || team == 1 ? host_grid{}
                           : by_blocks ? grid_of(team, m, n, depth, table.tallest, table.strip)
                           : m > n     ? host_grid{team, 1}
                                       : host_grid{1, team};
    host_each(team, team, [&](int thread, int x) {
        index_t const row = x / grid.cols, col = x % grid.cols;
        host_region const r{cut(m, row, grid.rows, tall),
                            cut(m, row + 1, grid.rows, tall),
                            cut(n, col, grid.cols, wide),
                            cut(n, col + 1, grid.cols, wide),
                            0,
                            depth};
        if (r.i0 == r.i1 || r.j0 == r.j1) return;
        host_arena part(own + thread * static_cast<index_t>(bytes), bytes, nullptr);
        scratch const memory(part, m, n, depth);
        if constexpr (Packing::in_place && Packing::widen == 1)
            if (!by_blocks) return multiply_vector_part(job, way == host_way::dots, r, memory);
        multiply_region(job, r, memory);
    });
}

template <class Packing>
[[gnu::noinline]] std::size_t multiply_bytes(index_t m, index_t n, index_t k, int team) {
    using packet = typename Packing::packet;
    n *= Packing::widen;
    index_t const depth = Packing::depth(k), apart = pieces_apart<packet>(m, n, depth, team);
    auto const room = [&](index_t count) {
        return host_arena::rounded(static_cast<std::size_t>(count * m * n) * sizeof(accumulated<packet>));
    };
    return (apart > 0 ? room(apart) + room(1) : 0) +
           host_scratch<Packing>::bytes(m, n, depth) * static_cast<std::size_t>(team);
}

STRATAGEMM_END
