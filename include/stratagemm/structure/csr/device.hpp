// CSR times dense on a device: the kernel, and how it divides the work of a product.
//
// The product is bound by memory. A group computes ROWS rows of C by STRIPES stripes of columns. The elements of a
// row of A are dealt to PARTS parts in turn. A part has LANES work-items, and each of them computes WIDE columns of
// C. If B is stored by rows, the lanes lie along a row of B. If B is stored by columns, LANES is 1, and
// neighbouring work-items read neighbouring elements of A. The whole group computes a row that is much longer than
// the others, after these.
//
// Shape, layout of B and number of stored elements determine the order in which the products of a row are added, so
// the result is the same from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"

STRATAGEMM_BEGIN

// VECTORS is 1 if one load reads the WIDE columns of B, and one store writes those of C. If PIECES is 1, the
// rows are in pieces (pieces.hpp).
inline constexpr char csr_text[] = R"(
#define IN_FLIGHT (WIDE > 1 ? 4 : 8) /* elements of A that a work-item loads before it uses the first */
#define UNITS (ROWS * STRIPES)
#if WIDE == 4
#define EACH_COLUMN(f) f(0, .x) f(1, .y) f(2, .z) f(3, .w)
#elif WIDE == 2
#define EACH_COLUMN(f) f(0, .x) f(1, .y)
#else
#define EACH_COLUMN(f) f(0, .x)
#endif
typedef struct {
    scalar x;
#if WIDE > 1
    scalar y;
#endif
#if WIDE > 2
    scalar z, w;
#endif
} some_scalars;
#if VECTORS
typedef VECTOR(IN, WIDE) some_of_b;
#define LOAD_SOME(to, row) to = LOAD_VECTOR(IN, WIDE, b, (index)(row) * b_row + j)
#else
typedef some_scalars some_of_b;
/* A column behind the last is that one again. */
#define LOAD_ONE(w, member) \
    loaded member = conjugate_if(b_conjugated, LOAD(IN, b, AT(b, row, min(j + w, cols - 1))));
#define LOAD_SOME(to, of_row)          \
    do {                               \
        index const row = (index)(of_row); \
        some_of_b loaded;                \
        EACH_COLUMN(LOAD_ONE)          \
        to = loaded;                     \
    } while (0)
#endif

/* How many parts of a row are added within a warp, and how many sums are left for shared memory. */
#define EXCHANGES (SHUFFLES && !COMPLEX)
#if EXCHANGES
#define IN_WARP(parts) ((parts) * LANES < 32 ? (parts) : 32 / LANES)
#else
#define IN_WARP(parts) 1
#endif
#define LONG_ROWS (!PIECES && UNITS > 1)
#define SHARES (LONG_ROWS || PARTS > IN_WARP(PARTS))
#define LINE (ITEMS + 8) /* sums of one of WIDE columns, so that a warp adds them up without conflicts */

#define BEGIN_SUM(w, member) sum[w] = ZERO;
#define ADD_TO_SUM(w, member) sum[w] = multiply_add(x, some member, sum[w]);
#define ADD_NEIGHBOUR(w, member) sum[w] += SHUFFLE(sum[w], LANE ^ (step * LANES));
#define SHOW_SUM(w, member) part[(w)*LINE + ITEM] = sum[w];
#define ADD_SHOWN(w, member) sum[w] = sum[w] + part[(w)*LINE + ITEM + q * in_warp * LANES];
#define SCALE_SUM(w, member) scaled member = scale_by(alpha, sum[w]);
#define FINISH_SUM(w, member) \
    if (j + w < cols) FINISH_ELEMENT(row, j + w, sum[w]);
#define KEEP_SUM(w, member) \
    if (j + w < cols) STORE(SUM, sums, (-1 - row) * cols + j + w, CONVERT(SUM, (value)sum[w]));
#if PIECES
#define BEGIN(i) bounds[2 * (i)]
#define END(i) bounds[2 * (i) + 1]
#else
#define BEGIN(i) bounds[i]
#define END(i) bounds[(i) + 1]
#endif

/* Adds every `parts`-th element of a row from `at` on, times columns j to j + WIDE of B. `parts` is known when this is
   compiled. Where the next elements are is read while these are multiplied. */
FUNCTION void add_part(scalar *sum, GLOBAL INDEX const *columns, GLOBAL IN const *values, GLOBAL IN const *b,
                       index b_row, index b_col, int b_conjugated, index j, index cols, index at, index end,
                       int parts) {
    INDEX left = (INDEX)(end - at), row_of[IN_FLIGHT];
    some_of_b y[IN_FLIGHT];
    scalar of_a[IN_FLIGHT];
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) row_of[u] = columns[at + u * parts];
    for (; (IN_FLIGHT - 1) * parts < left; left -= IN_FLIGHT * parts) {
        for (int u = 0; u < IN_FLIGHT; ++u) LOAD_SOME(y[u], row_of[u]);
        for (int u = 0; u < IN_FLIGHT; ++u) of_a[u] = LOAD(IN, values, at + u * parts);
        at += IN_FLIGHT * parts;
        for (int u = 0; u < IN_FLIGHT; ++u)
            if ((IN_FLIGHT + u) * parts < left) row_of[u] = columns[at + u * parts];
        for (int u = 0; u < IN_FLIGHT; ++u) {
            scalar const x = of_a[u];
            some_of_b const some = y[u];
            EACH_COLUMN(ADD_TO_SUM)
        }
    }
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) LOAD_SOME(y[u], row_of[u]);
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) of_a[u] = LOAD(IN, values, at + u * parts);
    for (int u = 0; u < IN_FLIGHT; ++u)
        if (u * parts < left) {
            scalar const x = of_a[u];
            some_of_b const some = y[u];
            EACH_COLUMN(ADD_TO_SUM)
        }
}

KERNEL_AT_ONCE(ITEMS, (PIECES ? 10 : 8))
csr_times_dense(BUFFER(INDEX const, bounds), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                MATRIX(IN const, b), int b_conjugated,
#if PIECES
                BUFFER(int const, row_of_piece), BUFFER(SUM, sums), index pieces,
#else
                index long_row,
#endif
                PRODUCT) {
#if SHARES
    SHARED scalar part[WIDE * LINE];
#endif
#if LONG_ROWS
    SHARED int any_long;
#endif
    OPEN(INDEX const, bounds);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(IN const, b);
    OPEN(OUT const, e);
    OPEN(OUT, c);
#if PIECES
    OPEN(int const, row_of_piece);
    OPEN(SUM, sums);
#else
    index const pieces = rows;
#endif
    int const down = (int)((pieces - 1) / ROWS + 1);
    index const first_i = (index)(GROUP % down) * ROWS, first_j = (index)(GROUP / down) * (STRIPES * LANES * WIDE);
#if LONG_ROWS
    /* All units side by side, and then those with a long row one after the other, by the whole group. */
    for (int whole = -1; whole < UNITS; ++whole) {
        bool const alone = whole >= 0;
        int const parts = alone ? ITEMS / LANES : PARTS, unit = alone ? whole : ITEM / (PARTS * LANES);
#else
    {
        int const parts = PARTS, unit = ITEM / (PARTS * LANES);
#endif
        index const i = first_i + unit / STRIPES;
        index const j = first_j + (unit % STRIPES * LANES + ITEM % LANES) * WIDE;
        index const begin = i < pieces ? BEGIN(i) : 0;
        index end = i < pieces ? END(i) : 0;
        bool leave = i >= pieces || j >= cols;
#if LONG_ROWS
        bool const is_long = end - begin > long_row;
        if (alone && !is_long) continue;
        leave = leave || is_long != alone;
#endif
        if (leave) end = begin;
        scalar sum[WIDE];
        EACH_COLUMN(BEGIN_SUM)
        index const at = begin + ITEM / LANES % parts;
#if LONG_ROWS
        if (alone)
            add_part(sum, columns, values, b, b_row, b_col, b_conjugated, j, cols, at, end, ITEMS / LANES);
        else
#endif
            add_part(sum, columns, values, b, b_row, b_col, b_conjugated, j, cols, at, end, PARTS);

        /* Sums of parts become one: within a warp by exchange, if the device can do that, and else by memory. */
        int const in_warp = IN_WARP(parts);
#if EXCHANGES
        for (int step = 1; step < in_warp; step *= 2) { EACH_COLUMN(ADD_NEIGHBOUR) }
#endif
#if SHARES
#if LONG_ROWS
        if (!alone) ANY(any_long, is_long);
#endif
        if (parts > in_warp) {
            EACH_COLUMN(SHOW_SUM)
            BARRIER();
            if (ITEM / LANES % parts == 0)
                for (int q = 1; q < parts / in_warp; ++q) { EACH_COLUMN(ADD_SHOWN) }
#if LONG_ROWS
            BARRIER();
#endif
        }
#endif
        if (!leave && ITEM / LANES % parts == 0) {
#if PIECES
            index const row = row_of_piece[i];
            if (row < 0) {
                EACH_COLUMN(KEEP_SUM)
            } else
#else
            index const row = i;
#endif
#if STORES
            if (!adds) {
                some_of_b scaled;
                EACH_COLUMN(SCALE_SUM)
                STORE_VECTOR(OUT, WIDE, c, row * c_row + j, scaled);
            } else
#endif
            {
                EACH_COLUMN(FINISH_SUM)
            }
        }
#if LONG_ROWS
        if (!any_long) break;
#endif
    }
}

#if PIECES
KERNEL(ITEMS) sums_of_pieces(BUFFER(int const, cut_rows), BUFFER(int const, first_sums), BUFFER(SUM const, sums),
                             index count, PRODUCT) {
    OPEN(int const, cut_rows);
    OPEN(int const, first_sums);
    OPEN(SUM const, sums);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    for (EACH(at, count * cols)) {
        index const r = at / cols, j = at % cols;
        int const end = first_sums[r + 1];
        scalar all = ZERO;
        for (int first = first_sums[r]; first < end; first += 8) {
            scalar some[8];
            for (int u = 0; u < 8; ++u)
                if (first + u < end) some[u] = LOAD(SUM, sums, (first + u) * cols + j);
            for (int u = 0; u < 8; ++u)
                if (first + u < end) all = all + some[u];
        }
        index const row = cut_rows[r];
        FINISH_ELEMENT(row, j, all);
    }
}
#endif
)";

// How the kernel divides its work.
struct csr_work {
    static constexpr int items = 128;
    int wide = 1, lanes = 1, parts = 1, rows = 1, stripes = 1;
    bool vectors = false;
    index_t long_row = 0; // more elements than this are left to the whole group

    index_t groups(index_t m, index_t n) const {
        return ((m - 1) / rows + 1) * ((n - 1) / (stripes * lanes * wide) + 1);
    }
    std::string definitions() const {
        auto const define = [](char const* name, int value) {
            return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
        };
        return define("WIDE", wide) + define("LANES", lanes) + define("PARTS", parts) + define("ROWS", rows) +
               define("STRIPES", stripes) + define("VECTORS", vectors);
    }
    std::string describe() const {
        return std::to_string(lanes) + " x " + std::to_string(wide) + " columns of C at once, rows of A in " +
               std::to_string(parts) + (parts == 1 ? " part" : " parts");
    }
};
// Of a product with A m x k and C m x n. `vector` is what vector_of() gives for B. The numbers are what was fastest
// on an H200.
inline csr_work choose_csr(index_t m, index_t k, index_t n, index_t nonzeros, int vector) {
    constexpr double enough = 131072; // work-items that keep a large device busy
    csr_work x;
    double const average = static_cast<double>(nonzeros) / static_cast<double>(m);
    auto const items = [&] {
        return static_cast<double>(m) * static_cast<double>((n - 1) / (x.wide * x.lanes) + 1) * x.lanes *
               x.parts;
    };
    auto const can_have_parts = [&] { return 4 * x.parts <= average; };
    if (vector > 0 && n > 1) {
        // Rows of A that are multiplied at the same time share what they read of B in the first cache. If B is large,
        // narrow stripes of it stay there longer.
        int const most = average < 48 || k <= 2048 ? 32 : n < 2048 ? 16 : 8;
        x.vectors = vector > 1, x.wide = vector;
        while (x.lanes < most && x.lanes * x.wide < n) x.lanes *= 2;
        if (average >= 200 && x.lanes < 32) x.parts = 2;
        while (x.parts * x.lanes < 32 && items() < enough && can_have_parts()) x.parts *= 2;
        while (x.lanes > 8 && items() < enough / 2 && can_have_parts()) x.lanes /= 2, x.parts *= 2;
        if (m < 8) // the whole group for a row
            while (x.parts * x.lanes < x.items && items() < enough && can_have_parts()) x.parts *= 2;
    } else {
        x.wide = n < 2 || m < 8 ? 1 : n < 4 ? 2 : 4;
        while (x.parts < 16 && 16 * x.parts <= average) x.parts *= 2;
        while (x.parts < 32 && items() < enough && can_have_parts()) x.parts *= 2;
    }
    int const units = x.items / (x.lanes * x.parts);
    double const usual = 4 * average < 32.0 * x.parts ? 32.0 * x.parts : 4 * average;
    x.long_row = static_cast<index_t>(usual);
    while (x.rows < units && x.rows < m) x.rows *= 2;
    x.stripes = units / x.rows;
    return x;
}

// How many columns of B one load can read; 0 if B is stored by columns.
template <class T, class Space>
int vector_of(view<T, Space> const& b) {
    using V = std::remove_cv_t<T>;
    constexpr int most = std::is_same_v<V, float> ? 4 : std::is_same_v<V, double> ? 2 : 1;
    bool const aligned = b.col_stride == 1 && b.row_stride % most == 0 && b.cols % most == 0 &&
                         Space::address(b.data) % static_cast<std::intptr_t>(most * sizeof(V)) == 0;
    return rows_are_closer(b) ? 0 : aligned ? most : 1;
}

// Bytes of device workspace that multiply_csr() takes for n columns.
template <class Arena, class Sum>
std::size_t bytes_for_sums(index_t sums, index_t n) {
    return Arena::rounded(static_cast<std::size_t>(sums) * static_cast<std::size_t>(n) * sizeof(Sum));
}

// C = alpha A B + beta E, without the epilogue.
template <class Leaf, class Q, class Arena>
status multiply_csr(Leaf const& leaf, Q const& p, Arena& memory) {
    using In = typename Q::a_type;
    using Out = typename Q::c_type;
    using Sum = accumulator_t<In>;
    auto const types = [] {
        using Index = typename Q::a_operand::index_type;
        return kernel_types<In, Out>() + "#define SUM " + kernel_type<Sum>() + "\n#define INDEX " +
               (sizeof(Index) == 8 ? "index\n" : "int\n");
    };
    auto const& a = p.a;
    index_t const m = p.c.rows, n = p.c.cols;
    csr_work const x = choose_csr(m, p.b.rows, n, a.nonzeros, vector_of(p.b));
    bool const stores = x.vectors && std::is_same_v<In, Out> && vector_of(p.c) == x.wide;
    bool const in_pieces = a.pieces.count > 0;
    auto const kernel = [&](char const* name) {
        return device_kernel{name,
                             csr_text,
                             x.definitions() + "#define STORES " + (stores ? "1" : "0") +
                                 "\n#define PIECES " + (in_pieces ? "1\n" : "0\n"),
                             x.items,
                             uses_double<In, Out>,
                             false,
                             types};
    };
    auto const e = added_or_c(p);
    int const adds = p.beta != typename Q::scalar(0);
    if (!in_pieces)
        return leaf.launch(kernel("csr_times_dense"), x.groups(m, n), a.row_begins, a.columns, a.values, p.b,
                           int{p.b.conjugate}, x.long_row, p.alpha, p.beta, adds, e, int{e.conjugate}, p.c, m,
                           n);
    typename Arena::scope const scope(memory);
    auto const sums = memory.template take<Sum>(a.pieces.sums * n);
    status s = leaf.launch(kernel("csr_times_dense"), x.groups(a.pieces.count, n), a.pieces.bounds, a.columns,
                           a.values, p.b, int{p.b.conjugate}, a.pieces.lists, sums, a.pieces.count, p.alpha,
                           p.beta, adds, e, int{e.conjugate}, p.c, m, n);
    if (!s || a.pieces.cut_rows == 0) return s;
    auto const cut_rows = a.pieces.lists + a.pieces.count;
    return leaf.launch(kernel("sums_of_pieces"), groups_for_each(a.pieces.cut_rows * n, x.items), cut_rows,
                       cut_rows + a.pieces.cut_rows, sums, a.pieces.cut_rows, p.alpha, p.beta, adds, e,
                       int{e.conjugate}, p.c, m, n);
}

STRATAGEMM_END
