// How a product on the host is multiplied: at once by a kernel, in blocks, with B read once, or as dot products; as it is
// or as its transpose. What decides are counts of cycles, and limits that were measured; tests see them by estimate().
#pragma once

#include "../../core/problem.hpp"
#include "caches.hpp"
#include "generated.hpp"
#include "team.hpp"

STRATAGEMM_BEGIN

// How a job is done: in blocks, or with B read once (vector.hpp), by rows or as dot products.
enum class host_way { blocks, rows, dots };

// If the short operand of dot products has to be turned, or the kernels are compiled, the short side has at most so
// many rows or columns of elements of `size` bytes.
constexpr index_t few_dots(index_t size) { return size == 8 ? 5 : 8; }
// Elements of the longest piece of k of dot products, of `size` bytes, for a C whose short side is `few`. Up to four
// rows or columns are 32 KiB, the first-level cache, since each call of a kernel takes as long as some 200 elements.
// More than four rows or columns read the other operand more than once, and leave room for that operand, unless one
// piece is enough.
constexpr index_t longest_dots(index_t size, index_t few, index_t k) {
    return (few <= 4 ? 512 / few * 64 : k * size <= 4096 ? 4096 : 3072) / size;
}
// The pieces of k of dot products, whole cache lines but for the last. `turns`: the short operand does not lie along k.
inline k_pieces pieces_of_dots(index_t size, index_t few, bool turns, index_t k) {
    index_t const lanes = 64 / size,
                  count = divide_up(k, longest_dots(size, turns ? few_dots(size) : few, k)),
                  length = divide_up(divide_up(k, count), lanes) * lanes;
    return {divide_up(k, length), length};
}

// The vectors of generated kernels for T: their bytes, 0 if there are none, and those that half a cycle multiplies.
struct generated_vectors {
    index_t bytes, half_cycle;
};
template <class T>
generated_vectors vectors_of(index_t bytes) {
    return {bytes, bytes == 64 && std::is_floating_point_v<T> && !cpu_halves_vectors() ? 64 : 32};
}
// Half cycles, about, in which a generated kernel multiplies two rows of `bytes` bytes. Vectors of 32 bytes take two
// multiply-adds, too. But tiles of few registers wait for their loads, and so do tiles whose vectors of 64 bytes take
// half a cycle.
[[gnu::noinline]] inline index_t dots_cycles(index_t bytes, generated_vectors v) {
    return (v.half_cycle == 64 ? 20 : v.bytes == 64 ? 30 : 36) * divide_up(bytes, 64) / 15;
}
// Half cycles, about, to end dot products of vectors of 64 bytes: the elements of each vector are added up, and the
// sums stored. Sums of two or four rows, as many as fill a vector, are added up together: each step makes one vector of
// two. The function has no divisions, which small products would notice.
[[gnu::noinline]] inline index_t dots_ends(index_t size, index_t m, index_t n) {
    index_t const few = smaller(m, n), many = larger_of(m, n);
    int const across = (few <= 2 ? 2 : 1) + (size == 4); // 2^across sums of a row
    index_t const vectors = divide_up(few, 4) * (((many - 1) >> across) + 1);
    return 2 * m * n + (size == 4 ? 40 : 20) * vectors;
}
// The multiplications of an m x n x k product, or more than any limit: a shape whose time is estimated need not fit in any memory.
inline index_t multiplications(index_t m, index_t n, index_t k) {
    index_t all = 0;
    return __builtin_mul_overflow(m * n, k, &all) ? index_t{1} << 62 : all;
}
// Whether a generated kernel that reads contiguous columns of A as vectors and writes columns of C takes the fewest
// cycles. The others are kernels that write rows, for which a B along k is copied, and `dots`, for which A is copied.
// The count is rough: half a cycle for each part of a row that is multiplied in that time, one to store 16 bytes of a
// column or a vector of a row. Larger products are multiplied in blocks.
[[gnu::cold, gnu::noinline]] inline bool are_columns_faster(index_t size, index_t m, index_t n, index_t k,
                                                            bool b_along_k, generated_vectors v, bool dots) {
    if (multiplications(m, n, k) > 1 << 20) return false;
    index_t const rows = divide_up(m * size, v.half_cycle), columns = divide_up(n * size, v.half_cycle);
    index_t const across = rows * n * k / 2 + divide_up(n * size, 16) * (m + (size == 4 ? 4 : 1) * rows);
    index_t const turn = (m * size <= 16 ? 1 : 6) * k / 2 + 100;
    if (dots) return across < m * n * (dots_cycles(k * size, v) / 2 + 2) + turn;
    index_t const masked = n * size % 16 != 0 ? 2 * m : 0;
    return across <
           columns * m * k / 2 + m * columns + masked + (b_along_k ? n * size * (k + 8) / 10 + 150 : 0);
}

// Half cycles, about, of tiles that need a B along k turned, and of such tiles of the transpose, whose C is stored by
// columns.
[[gnu::noinline]] inline index_t turning_tiles(index_t size, index_t m, index_t n, index_t k,
                                               generated_vectors v) {
    return larger_of(m * divide_up(n * size, v.half_cycle), 8) * k +
           (v.half_cycle == 64 ? n * (k + 2) * size / 5 + 400
                               : n * (k + 8) * size / (v.bytes == 64 ? 5 : 10) + 300);
}
[[gnu::noinline]] inline index_t turned_tiles(index_t size, index_t m, index_t n, index_t k,
                                              generated_vectors v) {
    return turning_tiles(size, n, m, k, v) + 3 * m * n;
}

// Whether elements of C are best computed as dot products. The vectors of dot products lie along k: no side has to suit
// the vectors, and no operand that lies along k has to be turned; but summing the elements of a vector takes time.
//
// With generated kernels, and an A along k, the smaller number of half cycles decides, about. Dot products take some
// for the sum, some for a vector that is not whole, and some to turn a B of few columns that lies across k. Tiles take
// one for each part of a row of C, six at least. If B lies along k, tiles also take the time to turn B, or to turn A
// instead for the transpose of C. Few columns of tiles wait for the rows of an A that comes from memory, too: they read
// as many rows side by side as a tile has. The other limits were measured within the caches.
[[gnu::noinline]] inline bool are_dots(index_t size, index_t m, index_t n, index_t k, bool a_along_k,
                                       bool b_along_k, generated_vectors v) {
    if (v.bytes > 0 && a_along_k && smaller(m, n) > 1 && (b_along_k || n <= few_dots(size))) {
        index_t const bytes = k * size, wait = n <= 12 && m * bytes > (16 << 20) ? m * bytes / 2 : 0,
                      pieces = divide_up(k, longest_dots(size, smaller(m, n), k)),
                      products = m * n * dots_cycles(bytes, v);
        if (b_along_k && v.half_cycle == 64) {
            index_t const sums = products + dots_ends(size, m, n) * pieces - wait;
            return sums < turning_tiles(size, m, n, k, v) && sums < turned_tiles(size, m, n, k, v);
        }
        index_t const ends = (v.bytes == 64 ? 3 : 2) * pieces + (bytes % 64 != 0),
                      dots = products + m * n * ends;
        if (b_along_k) return dots < turning_tiles(size, m, n, k, v) + wait;
        index_t const turn_few = (n * size <= 16 ? 3 : 6) * k + 260;
        return dots + turn_few < larger_of(m * divide_up(n * size, v.half_cycle), 6) * k + wait;
    }
    if (m <= few_dots(size) && b_along_k) {
        if (m == 1 || (m * n <= 32 && a_along_k)) return k >= 2;
        return k * size >= (m <= 4 ? 64 : m <= 6 ? 128 : 256);
    }
    if (m == 1 || n > few_dots(size) || !a_along_k) return false;
    return k >= (b_along_k ? (n <= 4 ? 16 : 48) : (n <= 4 ? 48 : 112) * (m < 32 ? 4 : 3));
}
// Whether a C of few columns, whose A has contiguous columns, is multiplied as its transpose where the product is
// computed at once: columns of A fill vectors. Writing C is then more work, which a short k does not pay for; nor does
// a C of few rows, if rows of B are contiguous and need not be turned either way. In cycles, about.
[[gnu::noinline]] inline bool is_turned_unpacked(index_t size, index_t m, index_t n, index_t k,
                                                 bool b_across) {
    if (n <= 1 || n > 8 || m * size < 32 || k < (n * size > 32 ? 3 : 2) * n || m * k < 128) return false;
    index_t const vectors = divide_up(m * size, 64);
    return b_across || larger_of(vectors * n * k / 2, 4 * k) + m * n / 4 + 100 < m * k / 2;
}

// Whether a larger C has so few columns that its transpose is faster where A has contiguous columns: A is then read
// where it is. Writing C is more work, which a short k does not pay for. On AVX2 up to four vectors of columns are one
// strip of a B that is read where it is (is_b_read_in_place()), and short rows of A are read where they are, too: then
// the form with the fuller vectors is faster. For 25 to 64 columns, an A that fills much of the second-level cache
// makes the transpose faster from one and a half times as many rows on.
[[gnu::cold, gnu::noinline]] inline bool is_turned_for_a(index_t size, index_t m, index_t n, index_t k,
                                                         index_t vector) {
    if (vector == 32 && n > 4 && n * size <= 128 && m * size < 1024)
        return 5 * n * divide_up(m * size, 32) < 4 * m * divide_up(n * size, 32);
    if (n <= 24) return m >= 2 * n && k >= 32;
    if (vector == 32 && n <= 64 && 2 * m >= 3 * n && k > 150000 / (m * size)) return k >= 128;
    return vector > 0 && n <= 128 && m >= 3 * n && k >= (n <= 64 ? 128 : 3 * n);
}

// Whether a B with contiguous columns is to be the rows of the transpose, where B is read in place. If few rows of A
// need B, turning B would take longer than these rows do, as long as the rows fit two vectors; where half a cycle
// multiplies 64 bytes, the tiles of either form are counted. If A has contiguous columns, too, no operand is turned
// then; but more than four vectors of AVX2, the last of which is half empty, would take longer than turning B. C is
// written element by element, which a short k would not pay for.
[[gnu::cold, gnu::noinline]] inline bool is_turned_for_b(index_t size, index_t m, index_t n, index_t k,
                                                         bool a_across, generated_vectors v) {
    if (!a_across && v.half_cycle == 64)
        return turned_tiles(size, m, n, k, v) < turning_tiles(size, m, n, k, v);
    if (a_across && v.bytes == 32 && size == 4 && m > 32 && (m - 1) % 8 < 4) return false;
    bool const fits = a_across ? n >= m && k >= 2 * m : m * size <= 128 && n >= 2 * m && k >= 3 * m;
    return fits && k >= 32 && m > 4;
}

// Whether k is so short that most of the time goes to C, and one operand stays in the first-level cache, the rest in
// the second: blocks would not help.
[[gnu::cold, gnu::noinline]] inline bool is_k_short(index_t size, index_t m, index_t n, index_t k) {
    return k <= 64 && smaller(m, n) * k * size <= 16384 && (m + k) * n * size <= 1 << 20;
}

// Whether so few rows of A need a B with contiguous rows that they read it where it is, in the second-level cache.
inline bool is_near(index_t rows, index_t depth, index_t row_bytes) {
    return rows <= 32 && !rows_collide(row_bytes) &&
           depth <= second_level_cache() / larger_of(magnitude(row_bytes), 1);
}

// Whether so few rows of A are multiplied with B read once, in the order in which B lies (vector.hpp). The limit is
// three rows; or 20, if rows of B are too long for tiles to read B where it is. Generated tiles read a B from a cache
// as it lies, in columns of a few vectors. With such tiles B is read once in three cases. First, no cache holds B: the
// limit is 48 rows. Second, the rows of B are whole pages apart, so that a strip displaces the lines that were fetched
// of the next strip: the limit is two tiles of AVX2. Third, with AVX-512 and a third-level cache that is not near, the
// second-level cache does not hold B, and its rows are two pages or less: lines that are read in order come faster than
// strips, and 8 to 40 rows need B sooner than strips come. `vector`: bytes of the vectors of generated kernels; 0:
// there are none.
[[gnu::cold, gnu::noinline]] inline bool are_few_rows(index_t vector, index_t rows, index_t depth,
                                                      index_t row_bytes) {
    if (vector == 32 && are_pages_apart(row_bytes)) return rows <= 12 && depth > (rows == 1 ? 16 : 64);
    if (rows > (vector > 0 ? 48 : 20)) return false;
    bool const has_near = cpu_is_near_third_level();
    if (vector == 64 && !has_near && rows >= 8 && rows <= 40 && row_bytes <= 8192 &&
        depth > second_level_cache() / larger_of(row_bytes, 1))
        return true;
    index_t const near = has_near ? near_memory : 8 << 20;
    if (vector > 0 && row_bytes <= near && depth <= near / larger_of(row_bytes, 1)) return false;
    return rows < 4 || (row_bytes > 2048 && !is_near(rows, depth, row_bytes));
}

// Whether elements of C may be dot products of bfloat16 or int8. Either both operands lie along k; or the long operand
// of a C with few rows or columns does, and the other operand is copied. With int8 one operand is always copied.
inline bool packets_may_be_dots(index_t size, index_t m, index_t n, bool a_along_k, bool b_along_k) {
    index_t const few = few_dots(4);
    if (a_along_k && b_along_k) return size == 2 || smaller(m, n) <= few;
    return a_along_k ? n <= few && n < m : b_along_k && m <= few && m <= n;
}

// A product of real numbers or of packets as the choice of its way sees it: sides and strides, and the kernels that there
// are. The call asks about its operands, estimate() about the shape (costs.hpp): both get one answer.
struct host_facts {
    index_t m, n, k, a_row, a_col, b_row, b_col; // in packets
    index_t size;                                // bytes of a packet
    generated_vectors vectors;                   // of generated kernels
    bool has_dots, has_rows;                     // compiled kernels: dot_products(), rows_times_rows()
    index_t of_packets = 0;                      // bytes of the elements of which k has packets
    bool invariant = false;
    // Of a product that may be small.
    index_t count = 1;
    bool turned = false;      // it is the transpose of the caller's
    bool is_as_summed = true; // alpha is 1, beta 0
    int threads = 1;          // as host::threads

    bool a_across() const { return a_row == 1 && a_col != 1; }
    bool b_across() const { return b_row == 1 && b_col != 1; }
    // Where a generated kernel that writes columns is faster, elements of C are not dot products even before there is
    // such a kernel: otherwise sums would have another order once there is one.
    [[gnu::noinline]] bool are_dots(bool of_transpose = false) const {
        index_t const rows = of_transpose ? n : m, cols = of_transpose ? m : n;
        bool const a_along_k = (of_transpose ? b_row : a_col) == 1,
                   b_along_k = (of_transpose ? a_col : b_row) == 1 &&
                               ((of_transpose ? a_row : b_col) != 1 || cols == 1);
        return !invariant && has_dots &&
               stratagemm::are_dots(size, rows, cols, k, a_along_k, b_along_k, vectors) &&
               (a_along_k || vectors.bytes == 0 ||
                !are_columns_faster(size, rows, cols, k, b_along_k, vectors, true));
    }
    bool are_few_rows() const {
        return has_rows && b_col == 1 &&
               stratagemm::are_few_rows(vectors.bytes, m, k, magnitude(b_row) * size);
    }
    // Whether C is so narrow or so flat that its transpose is faster in blocks: few rows times a matrix that is read in
    // place. `in_rows`: the rows of C are contiguous.
    [[gnu::cold]] bool is_turned(bool in_rows = true) const {
        if (are_dots()) return false;
        // Dot products of A B would be slower, and so would those of the transpose.
        if (b_across() && is_turned_for_b(size, m, n, k, a_across(), vectors) && in_rows)
            return a_across() || !are_dots(true);
        return a_across() && is_turned_for_a(size, m, n, k, vectors.bytes);
    }
    // How the product is then multiplied. The sums of dot products have another order than those of other kernels.
    host_way way() const {
        if (k <= 1) return host_way::blocks;
        bool const may_be_dots =
            of_packets == 0 || packets_may_be_dots(of_packets, m, n, a_col == 1, b_row == 1);
        if (may_be_dots && are_dots()) return host_way::dots;
        return are_few_rows() ? host_way::rows : host_way::blocks;
    }
};
// Sides and strides are those of a view of A, and of B. What decides is compiled once, not where it is asked:
// tests/compile_budget.
template <class T, class From>
[[gnu::noinline]] host_facts host_facts_of(kernel_table<T, From> const& table, index_t m, index_t n,
                                           index_t k, index_t a_row, index_t a_col, index_t b_row,
                                           index_t b_col) {
    return {m,
            n,
            k,
            a_row,
            a_col,
            b_row,
            b_col,
            sizeof(T),
            vectors_of<T>(table.generated),
            table.dot_products != nullptr,
            table.rows_times_rows != nullptr};
}

// What multiplies a product that is smaller than a block at once, if anything does. `run` multiplies, or counts what that
// takes: turned(columns, buffers) the transpose, by a generated kernel that writes columns or by way of a buffer, and
// rows(dots) the product as it is. Both return false if they did nothing.
template <class Run>
[[gnu::noinline]] inline bool dispatch_small(host_facts const& f, Run& run) {
    constexpr index_t most = 64 * 64 * 64;
    index_t const work = multiplications(f.m, f.n, f.k);
    bool const is_one = f.count == 1;
    // Such a product goes through the rows of B in their order (vector.hpp).
    if (f.b_col == 1 && is_one && f.m == 1 && f.n * f.size >= 4096 &&
        are_few_rows(f.vectors.bytes, 1, f.k, f.b_row * f.size))
        return false;
    bool const dots = is_one && f.are_dots();
    if (f.a_across()) {
        bool const few = is_one && f.is_as_summed && work <= most &&
                         is_turned_unpacked(f.size, f.m, f.n, f.k, f.b_col != 1);
        bool const columns =
            !dots && are_columns_faster(f.size, f.m, f.n, f.k, f.b_col != 1, f.vectors, false);
        if ((few || columns) && run.turned(columns, few)) return true;
    }
    if (work > most && (work > 4 * most || !(dots || is_k_short(f.size, f.m, f.n, f.k)) ||
                        (is_one && host_threads(f.threads) > 1)))
        return false;
    // The blocked product turns a column that is not contiguous, too.
    if (f.n == 1 && f.m > 8 && is_one) return false;
    // The transpose of few rows reads a B along k where it is. With factors other than one and zero, the blocked
    // product multiplies instead.
    bool const large = work >= 1 << 15;
    if (work >= 1 << 13 && !f.turned && !dots && is_one && f.b_across() &&
        (large || f.vectors.half_cycle == 64) &&
        is_turned_for_b(f.size, f.m, f.n, f.k, f.a_across(), f.vectors)) {
        if (f.is_as_summed && run.turned(false, true)) return true;
        if (large) return false;
    }
    return run.rows(dots);
}

STRATAGEMM_END
