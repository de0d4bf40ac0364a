// The sketches of a compressed product on a device, in form Walsh-Hadamard, and what they say of the elements of C.
//
// As on the host (transforms.hpp), A and B are transformed once, and each bucket of a sketch's transform is a dot
// product of a row of H A with a row of H B^T. Where these lie is a linear function of the bucket's number
// (hashes.hpp). Therefore, if a sketch has more buckets than A has rows, or B columns, some changes of the number change
// the row alone, and others the column alone: the dot products of a sketch are blocks of a product, of up to 16 x 16,
// that share their rows. Blocks are known before the data, each has work-items of its own, and each bucket is written
// once for each panel of k: no atomics.
//
// An estimate reads one number of each sketch. A warp has 32 neighbours of a row, whose buckets differ in their low
// bits alone, so it reads whole sectors.
#pragma once

#include "../../core/policy.hpp"
#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../../structure/hadamard.hpp"
#include "choice.hpp"
#include "hashes.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// Words that a device has of each sketch: row_of, high_of, and, of each vector of a basis of the buckets' numbers, the
// number and the row and the column that it changes; then the signs of rows and columns, the bits that columns keep,
// and the row and the column of bucket 0.
struct device_words {
    static constexpr int row_of = 0, high_of = 32, basis = 64, basis_rows = 96, basis_cols = 128, signs = 160,
                         low = 162, origin = 163, count = 168;
};

// Sets of numbers that are closed under ^.
class xor_span {
public:
    // False: x is in the span already.
    bool add(std::uint32_t x) {
        for (int bit = 31; bit >= 0; --bit) {
            if (!(x >> bit & 1)) continue;
            if (leads_[bit] == 0) {
                leads_[bit] = x;
                return true;
            }
            x ^= leads_[bit];
        }
        return false;
    }

private:
    std::uint32_t leads_[32] = {};
};

// A basis of the numbers of a sketch's buckets: `rows` vectors that change rows alone, `cols` vectors that change
// columns alone, and the others.
struct bucket_basis {
    static constexpr int most = 4; // of rows and of columns that blocks have: log2
    int rows = 0, cols = 0, count = 0;
    std::uint32_t at[32] = {};

    bucket_basis(linear_hash const& h, int col_bits) {
        linear_hash::place const origin = h.place_of(0, col_bits);
        auto const image = [&](int t) { return h.place_of(std::uint32_t{1} << t, col_bits) ^ origin; };
        rows = append_kernel(h.bits, [&](int t) { return image(t).col; });
        cols = append_kernel(h.bits, [&](int t) { return image(t).row; });
        for (int t = 0; t < h.bits; ++t) append(std::uint32_t{1} << t);
    }

private:
    bool append(std::uint32_t x) {
        if (!span_.add(x)) return false;
        at[count++] = x;
        return true;
    }
    // Appends numbers that a linear map, given by its images of single bits, maps to 0: `most` or fewer.
    template <class Image>
    int append_kernel(int bits, Image const& image) {
        std::uint32_t leads[32] = {},
                      sources[32] = {}; // images by their highest bits, and what they are images of
        int found = 0;
        for (int t = 0; t < bits && found < most; ++t) {
            std::uint32_t x = image(t), from = std::uint32_t{1} << t;
            while (x != 0) {
                int const bit = 31 - __builtin_clz(x);
                if (leads[bit] == 0) {
                    leads[bit] = x, sources[bit] = from;
                    break;
                }
                x ^= leads[bit], from ^= sources[bit];
            }
            if (x == 0) found += append(from);
        }
        return found;
    }
    xor_span span_;
};

// The bucket and the sign, as the highest bit, of each row and of each column, in each sketch.
inline constexpr char compressed_places_text[] = R"(
FUNCTION uint parity_of(uint x) {
    x ^= x >> 16;
    x ^= x >> 8;
    x ^= x >> 4;
    return 0x6996u >> (x & 15) & 1;
}
KERNEL(ITEMS) list_places(BUFFER(int const, words), int sketches, int bits, BUFFER(int, rows), index m,
                          BUFFER(int, cols), index n) {
    OPEN(int const, words);
    OPEN(int, rows);
    OPEN(int, cols);
    for (EACH(at, (m + n) * sketches)) {
        index const sketch = at / (m + n), place = at - sketch * (m + n);
        GLOBAL int const *const of = words + sketch * WORDS;
        uint bucket = 0, sign;
        if (place < m) {
            for (int t = 0; t < bits; ++t) bucket |= parity_of((uint)of[t] & (uint)place) << t;
            sign = parity_of((uint)of[SIGNS] & (uint)place);
            rows[sketch * m + place] = (int)(bucket | sign << 31);
        } else {
            uint const col = (uint)(place - m), high = col >> of[LOW];
            bucket = col & ((1u << of[LOW]) - 1);
            for (int t = 0; t < 32; ++t)
                if (high >> t & 1) bucket ^= (uint)of[HIGH_OF + t];
            sign = parity_of((uint)of[SIGNS + 1] & high);
            cols[sketch * n + (index)col] = (int)(bucket | sign << 31);
        }
    }
}
)";

// Blocks of 1 << ROW_BITS by 1 << COL_BITS buckets of sketches from `first` on. A work-item has up to 4 x 4 of them,
// for every SLICES-th four of k; ITEMS / (SLICES * THREADS) blocks are in a group. The order of sums is fixed.
inline constexpr char compressed_buckets_text[] = R"(
#define UNROLL _Pragma("unroll")
#define MIN_OF(x, y) ((x) < (y) ? (x) : (y))
#define MY_ROW_BITS MIN_OF(ROW_BITS, 2)
#define MY_COL_BITS MIN_OF(COL_BITS, 2)
#define MY_ROWS (1 << MY_ROW_BITS)
#define MY_COLS (1 << MY_COL_BITS)
#define MINE (MY_ROWS * MY_COLS)
#define THREADS (1 << (ROW_BITS - MY_ROW_BITS + COL_BITS - MY_COL_BITS))
#define SLICES MIN_OF(32, ITEMS / THREADS)
#define BLOCKS (ITEMS / (THREADS * SLICES))

/* Adds to bucket, row and col what the set bits of x stand for, from vector `from` of the basis on. */
#define MOVE(x, from, bits)                                   \
    for (int t = 0; t < (bits); ++t)                          \
        if ((x) >> t & 1) {                                   \
            bucket ^= (uint)of[BASIS + (from) + t];           \
            row ^= (uint)of[BASIS_ROWS + (from) + t];         \
            col ^= (uint)of[BASIS_COLS + (from) + t];         \
        }

KERNEL(ITEMS) add_buckets(BUFFER(IN const, a), BUFFER(IN const, b), index stride, int count, BUFFER(int const, words),
                          int first, int bits, index blocks, int adds, BUFFER(IN, tables)) {
    SHARED IN sums[ITEMS * MINE];
    OPEN(IN const, a);
    OPEN(IN const, b);
    OPEN(int const, words);
    OPEN(IN, tables);
    int const slice = ITEM % SLICES, thread = ITEM / SLICES % THREADS, block = ITEM / (SLICES * THREADS);
    int const high_row = thread >> (COL_BITS - MY_COL_BITS), high_col = thread & ((1 << (COL_BITS - MY_COL_BITS)) - 1);
    int const other_bits = bits - ROW_BITS - COL_BITS;
    index const number = (index)GROUP * BLOCKS + block;
    bool const is_there = number < blocks;
    index const sketch = first + (is_there ? number >> other_bits : 0);
    uint const other = (uint)number & ((1u << other_bits) - 1);
    GLOBAL int const *const of = words + sketch * WORDS;
    uint bucket = 0, row = (uint)of[ORIGIN], col = (uint)of[ORIGIN + 1];
    MOVE(other, ROW_BITS + COL_BITS, other_bits)
    index rows[MY_ROWS], cols[MY_COLS];
    UNROLL for (int i = 0; i < MY_ROWS; ++i) {
        uint at = row;
        for (int t = 0; t < ROW_BITS; ++t)
            if ((high_row << MY_ROW_BITS | i) >> t & 1) at ^= (uint)of[BASIS_ROWS + t];
        rows[i] = at * stride;
    }
    UNROLL for (int j = 0; j < MY_COLS; ++j) {
        uint at = col;
        for (int t = 0; t < COL_BITS; ++t)
            if ((high_col << MY_COL_BITS | j) >> t & 1) at ^= (uint)of[BASIS_COLS + ROW_BITS + t];
        cols[j] = at * stride;
    }
    scalar sum[MINE];
    UNROLL for (int u = 0; u < MINE; ++u) sum[u] = 0;
    for (int l = 4 * slice; l < (is_there ? count : 0); l += 4 * SLICES) {
        VECTOR(IN, 4) x[MY_ROWS], y[MY_COLS];
        UNROLL for (int i = 0; i < MY_ROWS; ++i) x[i] = LOAD_VECTOR(IN, 4, a, rows[i] + l);
        UNROLL for (int j = 0; j < MY_COLS; ++j) y[j] = LOAD_VECTOR(IN, 4, b, cols[j] + l);
        UNROLL for (int u = 0; u < MINE; ++u) {
            sum[u] = fma(x[u >> MY_COL_BITS].x, y[u & (MY_COLS - 1)].x, sum[u]);
            sum[u] = fma(x[u >> MY_COL_BITS].y, y[u & (MY_COLS - 1)].y, sum[u]);
            sum[u] = fma(x[u >> MY_COL_BITS].z, y[u & (MY_COLS - 1)].z, sum[u]);
            sum[u] = fma(x[u >> MY_COL_BITS].w, y[u & (MY_COLS - 1)].w, sum[u]);
        }
    }
    UNROLL for (int u = 0; u < MINE; ++u) sums[u * ITEMS + ITEM] = sum[u];
    BARRIER();
    /* One bucket after another of the block, for all its work-items. */
    for (int at = ITEM % (SLICES * THREADS); at < (is_there ? THREADS * MINE : 0); at += SLICES * THREADS) {
        int const by = at / MINE, u = at % MINE;
        int const i = by >> (COL_BITS - MY_COL_BITS) << MY_ROW_BITS | u >> MY_COL_BITS;
        int const j = (by & ((1 << (COL_BITS - MY_COL_BITS)) - 1)) << MY_COL_BITS | (u & (MY_COLS - 1));
        uint to = bucket;
        for (int t = 0; t < ROW_BITS + COL_BITS; ++t)
            if ((j << ROW_BITS | i) >> t & 1) to ^= (uint)of[BASIS + t];
        index const place = (sketch << bits) + (index)to;
        scalar all = adds ? LOAD(IN, tables, place) : 0;
        for (int s = 0; s < SLICES; ++s) /* neighbours read other banks */
            all += sums[u * ITEMS + (block * THREADS + by) * SLICES + ((s + at) & (SLICES - 1))];
        STORE(IN, tables, place, all);
    }
}
)";

// Medians of the sketches' estimates: C, or where they are large. Without sketches, tables is the product.
inline constexpr char compressed_medians_text[] = R"(
#define UNROLL _Pragma("unroll")
#if SKETCHES > 0
#define COMPARE(low, high)                     \
    do {                                       \
        scalar const x = v[low], y = v[high];  \
        v[low] = min(x, y);                    \
        v[high] = max(x, y);                   \
    } while (0)
FUNCTION scalar median_of(GLOBAL IN const *tables, int bits, GLOBAL int const *row, index rows, uint const *col) {
    scalar v[SKETCHES];
    UNROLL for (int s = 0; s < SKETCHES; ++s) {
        uint const at = (uint)row[s * rows] ^ col[s];
        scalar const x = LOAD(IN, tables, ((index)s << bits) + (index)(at & ((1u << bits) - 1)));
        v[s] = at >> 31 ? -x : x;
    }
    NETWORK
    return v[SKETCHES / 2];
}
#define COLUMN(j)      \
    uint col[SKETCHES]; \
    UNROLL for (int s = 0; s < SKETCHES; ++s) col[s] = (uint)col_places[s * cols + (j)]
#define ESTIMATE(i, j) median_of(tables, bits, row_places + (i), rows, col)
#else
#define COLUMN(j) ((void)0)
#define ESTIMATE(i, j) LOAD(IN, tables, (i) * cols + (j))
#endif

#ifdef EPILOGUE_BODY
KERNEL(ITEMS) write_medians(BUFFER(IN const, tables), int bits, BUFFER(int const, row_places),
                            BUFFER(int const, col_places), index row0, index col0, int turned, PRODUCT EPILOGUE_STATE) {
    OPEN(IN const, tables);
    OPEN(int const, row_places);
    OPEN(int const, col_places);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    ELEMENT(four, j, (rows - 1) / 4 + 1, cols);
    COLUMN(j);
    for (index i = 4 * four; i < 4 * four + 4 && i < rows; ++i) {
        scalar finished = scale_by(alpha, ESTIMATE(i, j));
        if (adds) finished = multiply_add(beta, LOAD(OUT, e, AT(e, i, j)), finished);
        value const last =
            epilogue((value)finished, row0 + (turned ? j : i), col0 + (turned ? i : j) EPILOGUE_NAMES);
        STORE(OUT, c, AT(c, i, j), CONVERT(OUT_VALUE, last));
    }
}
#else
#define IS_LARGE(x) ((x) >= least || (x) <= -least)

/* How many elements of each row are large: a row for a group. */
KERNEL(ITEMS) count_large(BUFFER(IN const, tables), int bits, BUFFER(int const, row_places),
                          BUFFER(int const, col_places), index rows, index cols, scalar least, BUFFER(int, counts)) {
    SHARED int sums[ITEMS];
    OPEN(IN const, tables);
    OPEN(int const, row_places);
    OPEN(int const, col_places);
    OPEN(int, counts);
    index const i = GROUP;
    int own = 0;
    for (index j = ITEM; j < cols; j += ITEMS) {
        COLUMN(j);
        scalar const x = ESTIMATE(i, j);
        own += IS_LARGE(x) ? 1 : 0;
    }
    sums[ITEM] = own;
    BARRIER();
    for (int step = ITEMS / 2; step > 0; step /= 2) {
        if (ITEM < step) sums[ITEM] += sums[ITEM + step];
        BARRIER();
    }
    if (ITEM == 0) counts[i] = sums[0];
}
/* Lists them, in the rows that have some: from `begins` on. */
KERNEL(ITEMS) list_large(BUFFER(IN const, tables), int bits, BUFFER(int const, row_places),
                         BUFFER(int const, col_places), index rows, index cols, scalar least,
                         BUFFER(int const, which), BUFFER(int const, begins), int first_row, BUFFER(int, to_rows),
                         BUFFER(int, to_cols)) {
    SHARED int flags[ITEMS];
    SHARED int some;
    OPEN(IN const, tables);
    OPEN(int const, row_places);
    OPEN(int const, col_places);
    OPEN(int const, which);
    OPEN(int const, begins);
    OPEN(int, to_rows);
    OPEN(int, to_cols);
    index const i = which[GROUP];
    index next = begins[GROUP];
    for (index from = 0; from < cols; from += ITEMS) {
        index const j = from + ITEM;
        int is_large = 0;
        if (j < cols) {
            COLUMN(j);
            scalar const x = ESTIMATE(i, j);
            is_large = IS_LARGE(x) ? 1 : 0;
        }
        flags[ITEM] = is_large;
        ANY(some, is_large);
        if (some) {
            int before = 0, all = 0;
            for (int item = 0; item < ITEMS; ++item) {
                before += item < ITEM ? flags[item] : 0;
                all += flags[item];
            }
            if (is_large) {
                to_rows[next + before] = first_row + (int)i;
                to_cols[next + before] = (int)j;
            }
            next += all;
        }
        BARRIER();
    }
}
#endif
)";

// Elements of A B, each as the sum of two numbers: products and sums keep what they round off.
inline constexpr char compressed_exact_text[] = R"(
KERNEL(ITEMS) exact_elements(MATRIX(IN const, a), MATRIX(IN const, b), index k, BUFFER(int const, rows),
                             BUFFER(int const, cols), BUFFER(IN, to)) {
    SHARED IN sums[ITEMS];
    SHARED IN rests[ITEMS];
    OPEN(IN const, a);
    OPEN(IN const, b);
    OPEN(int const, rows);
    OPEN(int const, cols);
    OPEN(IN, to);
    index const i = rows[GROUP], j = cols[GROUP];
    IN sum = 0, rest = 0;
    for (index l = ITEM; l < k; l += ITEMS) {
        IN const x = a[AT(a, i, l)], y = b[AT(b, l, j)], product = x * y;
        IN const next = sum + product, added = next - sum;
        rest += (sum - (next - added)) + (product - added) + fma(x, y, -product);
        sum = next;
    }
    sums[ITEM] = sum;
    rests[ITEM] = rest;
    BARRIER();
    for (int step = ITEMS / 2; step > 0; step /= 2) {
        if (ITEM < step) {
            IN const other = sums[ITEM + step], next = sum + other, added = next - sum;
            rest += rests[ITEM + step] + (sum - (next - added)) + (other - added);
            sum = next;
            sums[ITEM] = sum;
            rests[ITEM] = rest;
        }
        BARRIER();
    }
    if (ITEM == 0) {
        to[2 * GROUP] = sum;
        to[2 * GROUP + 1] = rest;
    }
}
)";

inline std::string define_number(char const* name, int number) {
    return "#define " + std::string(name) + ' ' + std::to_string(number) + '\n';
}
inline device_kernel places_kernel() {
    using w = device_words;
    return {"list_places", compressed_places_text,
            define_number("WORDS", w::count) + define_number("SIGNS", w::signs) +
                define_number("LOW", w::low) + define_number("HIGH_OF", w::high_of)};
}
template <class R>
device_kernel buckets_kernel(int row_bits, int col_bits) {
    using w = device_words;
    return {"add_buckets",
            compressed_buckets_text,
            define_number("ROW_BITS", row_bits) + define_number("COL_BITS", col_bits) +
                define_number("WORDS", w::count) + define_number("BASIS", w::basis) +
                define_number("BASIS_ROWS", w::basis_rows) + define_number("BASIS_COLS", w::basis_cols) +
                define_number("ORIGIN", w::origin),
            256,
            uses_double<R, R>,
            false,
            kernel_types<R, R>};
}
// `epilogue` is none where elements are counted or listed.
template <class R>
device_kernel medians_kernel(char const* name, int sketches, std::string const& epilogue) {
    std::string text = define_number("SKETCHES", sketches) + "#define NETWORK";
    median_network const network(sketches);
    for (int i = 0; i < network.steps; ++i)
        text += " COMPARE(" + std::to_string(network.at[i].low) + ", " + std::to_string(network.at[i].high) +
                ");";
    return {name,  compressed_medians_text, text + '\n' + epilogue, 256, uses_double<R, R>,
            false, kernel_types<R, R>};
}
template <class R>
device_kernel exact_elements_kernel() {
    return {"exact_elements", compressed_exact_text, {}, 256, uses_double<R, R>, true, kernel_types<R, R>};
}

// Seconds, roughly, on a device that moves `bandwidth` bytes a second, and half again as many in its caches.
struct compressed_device_times {
    double m, n, k, bytes, bandwidth;

    double of(sketch_size size, compressed_form) const {
        double const d = size.sketches, b = static_cast<double>(size.buckets());
        int const row_bits = shared_bits(size.bits, n), col_bits = shared_bits(size.bits, m);
        double const lines = padded(m) + padded(n), rows = 1.0 / (1 << row_bits),
                     cols = 1.0 / (1 << col_bits);
        double const moved = lines * k * 6 + d * b * 6 + m * n;
        double const cached = d * b * k * (rows + cols) + m * n * 1.25 * d;
        double const computed = d * b * k / 8 + m * n * median_network(size.sketches).steps / 4;
        return bytes * (moved + cached / 1.5 + computed / 4) / bandwidth + 60e-6 + 20e-6 * panels();
    }
    // The terms of k that are done at a time: few enough for a panel of both transforms to stay in a cache.
    index_t panel() const {
        auto const some = static_cast<index_t>(0x1p23 / (padded(m) + padded(n)));
        index_t const most = larger_of(32, some / 32 * 32), all = divide_up(static_cast<index_t>(k), 4) * 4;
        return larger_of(1, smaller(most, all));
    }

private:
    double panels() const { return __builtin_ceil(k / static_cast<double>(panel())); }
    static double padded(double x) {
        return static_cast<double>(index_t{1} << bits_of(static_cast<index_t>(x)));
    }
    static int shared_bits(int bits, double side) {
        int const more = bits - bits_of(static_cast<index_t>(side));
        return more < 0 ? 0 : more < bucket_basis::most ? more : bucket_basis::most;
    }
};

// What lies in workspace. take(array, count, T{}) for each array of T.
template <class R, class Space>
struct device_room {
    template <class T>
    using handle = typename Space::template handle<T>;
    handle<std::int32_t> words{}, rows{}, cols{};
    handle<R> tables{}, left{}, right{};

    template <class Take>
    void each(sketch_size size, index_t m, index_t n, index_t numbers_left, index_t numbers_right,
              Take const& take) {
        constexpr std::int32_t word{};
        take(words, size.sketches * index_t{device_words::count}, word);
        take(rows, size.sketches * m, word), take(cols, size.sketches * n, word);
        take(tables, size.numbers(), R{}), take(left, numbers_left, R{}), take(right, numbers_right, R{});
    }
};

// A: m x k, and B as n x k.
template <class Base, class R>
class device_sketch {
    using space = typename Base::space;
    using matrix = view<R const, space>;
    using transform_problem = problem<hadamard<R>, matrix, view<R, space>>;

public:
    device_sketch(Base const& base, matrix const& a, matrix const& b, sketch_size size)
        : base_(base), of_{a, b}, size_(size), bits_{bits_of(a.rows), bits_of(b.rows)},
          panel_(compressed_device_times{static_cast<double>(a.rows), static_cast<double>(b.rows),
                                         static_cast<double>(a.cols), sizeof(R), 1}
                     .panel()) {
        of_[0].scale = of_[1].scale = R(1);
    }

    template <class Arena>
    std::size_t bytes() const {
        std::size_t all = 0, inner = 0;
        auto own = own_;
        each_array(own, [&]<class T>(auto&, index_t count, T) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(T));
        });
        auto const also = [&](index_t points, index_t cols) {
            if (cols == 0) return;
            auto const x = transform({}, {{}, points, cols, cols, 1}, R(1));
            footprint const room = hadamard_product<Base>(base_).workspace(x.shape());
            inner = larger(inner, space::share(room));
        };
        for (int side = 0; side < 2; ++side)
            also(padded(side), smaller(panel_, of_[side].cols)), also(padded(side), of_[side].cols % panel_);
        also(size_.buckets(), size_.sketches);
        return all + inner;
    }
    template <class Arena>
    status run(std::uint64_t seed, Arena& memory) {
        each_array(own_,
                   [&]<class T>(auto& array, index_t count, T) { array = memory.template take<T>(count); });
        if (status s = describe_sketches(seed); !s) return s;
        for (index_t l = 0; l < of_[0].cols; l += panel_)
            if (status s = add_panel(l, smaller(panel_, of_[0].cols - l), memory); !s) return s;
        view<R, space> const tables{own_.tables, size_.buckets(), size_.sketches, 1, size_.buckets()};
        auto const one = R(1) / static_cast<R>(size_.buckets());
        return hadamard_product<Base>(base_)(transform(tables, tables, one), memory);
    }

    // C = epilogue(alpha A B + beta E), by medians. `turned`: rows are the caller's columns.
    template <class Q>
    status write(Q const& p, bool turned) const {
        using R_ = typename Q::scalar;
        auto const leaf = base_.leaf();
        typename leaf_of<Base>::template epilogue<R_> const epilogue(p.epilogue);
        auto const e = added_or_c(p);
        return leaf.launch(medians_kernel<R>("write_medians", size_.sketches, epilogue.definitions()),
                           groups_for_elements(divide_up(p.c.rows, 4), p.c.cols), own_.tables, size_.bits,
                           own_.rows, own_.cols, p.row0, p.col0, int{turned}, p.alpha, p.beta,
                           int{p.beta != R_(0)}, e, int{e.conjugate}, p.c, p.c.rows, p.c.cols, epilogue);
    }
    // f(sketches, tables, bits, places of rows, places of columns): what a kernel looks at the estimates with.
    template <class F>
    status look(F const& f) const {
        return f(size_.sketches, own_.tables, size_.bits, own_.rows, own_.cols);
    }

private:
    index_t padded(int side) const { return index_t{1} << bits_[side]; }
    template <class Take>
    void each_array(device_room<R, space>& own, Take const& take) const {
        own.each(size_, of_[0].rows, of_[1].rows, padded(0) * panel_, padded(1) * panel_, take);
    }
    // Y = scale H X
    static transform_problem transform(matrix const& x, view<R, space> const& y, R scale) {
        hadamard<R> h(y.rows);
        h.scale = scale;
        return {{R(1)}, h, x, {}, y, y};
    }

    // Draws the hashes, and lists the places of all rows and columns.
    status describe_sketches(std::uint64_t seed) {
        using w = device_words;
        std::int32_t words[most_sketches * w::count] = {};
        for (int s = 0; s < size_.sketches; ++s) {
            linear_hash const h(seed, s, size_.bits, bits_[0], bits_[1]);
            bucket_basis const basis(h, bits_[1]);
            block_rows_[s] = basis.rows, block_cols_[s] = basis.cols;
            auto const put = [&, to = words + s * w::count](int at, std::uint32_t x) {
                to[at] = static_cast<std::int32_t>(x);
            };
            auto const origin = h.place_of(0, bits_[1]);
            for (int t = 0; t < 32; ++t) {
                auto const moved = h.place_of(basis.at[t], bits_[1]) ^ origin;
                put(w::row_of + t, h.row_of[t]), put(w::high_of + t, h.high_of[t]);
                put(w::basis + t, basis.at[t]);
                put(w::basis_rows + t, moved.row), put(w::basis_cols + t, moved.col);
            }
            put(w::signs, h.row_signs), put(w::signs + 1, h.col_signs);
            put(w::low, static_cast<std::uint32_t>(h.low));
            put(w::origin, origin.row), put(w::origin + 1, origin.col);
        }
        index_t const m = of_[0].rows, n = of_[1].rows;
        auto const leaf = base_.leaf();
        if (status s = leaf.upload(words, own_.words, size_.sketches * index_t{w::count}); !s) return s;
        return leaf.launch(places_kernel(), groups_for_each((m + n) * size_.sketches, 256), own_.words,
                           size_.sketches, size_.bits, own_.rows, m, own_.cols, n);
    }
    template <class Arena>
    status add_panel(index_t from, index_t count, Arena& memory) const {
        index_t const stride = divide_up(count, 4) * 4; // kernels read four at a time
        for (int side = 0; side < 2; ++side)
            if (status s = transform_panel(side, from, count, stride, memory); !s) return s;
        for (int first = 0, end; first < size_.sketches; first = end) {
            int const rows = block_rows_[first], cols = block_cols_[first];
            for (end = first + 1; end < size_.sketches; ++end)
                if (block_rows_[end] != rows || block_cols_[end] != cols) break;
            index_t const blocks = index_t{end - first} << (size_.bits - rows - cols);
            if (status s =
                    base_.leaf().launch(buckets_kernel<R>(rows, cols), groups_of(rows, cols, blocks),
                                        own_.left, own_.right, stride, static_cast<int>(stride), own_.words,
                                        first, size_.bits, blocks, int{from > 0}, own_.tables);
                !s)
                return s;
        }
        return {};
    }
    // As the kernel divides its work-items.
    static index_t groups_of(int rows, int cols, index_t blocks) {
        int const threads = 1 << ((rows > 2 ? rows - 2 : 0) + (cols > 2 ? cols - 2 : 0)),
                  slices = threads > 8 ? 256 / threads : 32;
        return divide_up(blocks, 256 / (threads * slices));
    }
    status transform_panel(int side, index_t from, index_t count, index_t stride, auto& memory) const {
        index_t const rows = of_[side].rows, all = padded(side);
        auto const leaf = base_.leaf();
        view<R, space> const to{side == 0 ? own_.left : own_.right, all, stride, stride, 1},
            used = to.part(0, 0, all, count);
        matrix x = of_[side].part(0, from, rows, count);
        if (rows < all || x.col_stride != 1) { // in place, where the others are 0
            if (status s = leaf.copy(x, to.part(0, 0, rows, count)); !s) return s;
            if (rows < all)
                if (status s = leaf.fill(to.part(rows, 0, all - rows, count), R(0)); !s) return s;
            x = used;
        }
        if (count < stride)
            if (status s = leaf.fill(to.part(0, count, all, stride - count), R(0)); !s) return s;
        return hadamard_product<Base>(base_)(transform(x, used, R(1)), memory);
    }

    Base const& base_;
    matrix of_[2];
    sketch_size size_;
    int bits_[2], block_rows_[most_sketches] = {}, block_cols_[most_sketches] = {};
    index_t panel_;
    device_room<R, space> own_{};
};

} // namespace compressed_parts

STRATAGEMM_END
