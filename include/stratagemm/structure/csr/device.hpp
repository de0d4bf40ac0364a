// CSR times dense on a device: the kernel, and how it divides the work of a product.
//
// The product is bound by memory. A group computes ROWS rows of C by STRIPES stripes of columns. The elements of a
// row of A are dealt to PARTS parts in turn. A part has LANES work-items, and each of them computes WIDE columns of
// C. If B is stored by rows, the lanes lie along a row of B. If B is stored by columns, LANES is 1, and
// neighbouring work-items read neighbouring elements of A. The whole group computes a row that is much longer than
// the others, after these.
//
// If a few rows of A are listed from a dense matrix X, the kernel decides by the number of listed elements, which the
// device alone knows: above a limit it reads all of B once, for all rows of X together, instead of what the list names.
// Zeros of X are skipped in both forms, so that NaN and Inf in B have the same effect.
//
// Shape, layout of B, number of stored elements and, with X, this decision determine the order in which the products of
// a row are added, so the result is the same from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "arrays.hpp"
#include "columns_text.hpp"
#include "format.hpp"
#include "merged.hpp"
#include "pieces.hpp"
#include "times_vector.hpp"

STRATAGEMM_BEGIN

// VECTORS is 1 if one load reads the WIDE columns of B, and one store writes those of C. If PIECES is 1, the
// rows are in pieces (pieces.hpp). If ONES is 1, each element of A is one, and there are no values. If STREAMS is 1,
// there is X with X_ROWS rows, and B is stored by columns; then a group that reads all of B has SPAN columns, its
// work-items share the rows, and each loads AHEAD rows before it uses the first. RESIDENT: for how many groups on a
// multiprocessor there are registers.
inline constexpr char csr_text[] = R"(
#define UNITS (ROWS * STRIPES)

/* How many parts of a row are added within a warp, and how many sums are left for shared memory. */
#define EXCHANGES (SHUFFLES && !COMPLEX)
#if EXCHANGES
#define IN_WARP(parts) ((parts) * LANES < 32 ? (parts) : 32 / LANES)
#else
#define IN_WARP(parts) 1
#endif
#define LONG_ROWS (!PIECES && UNITS > 1)
#define SHARES (STREAMS || LONG_ROWS || PARTS > IN_WARP(PARTS))
#define LINE (ITEMS + 8) /* sums of one of WIDE columns, so that a warp adds them up without conflicts */

#define ADD_NEIGHBOUR(w, member) sum[w] += SHUFFLE(sum[w], LANE ^ (step * LANES));
#define SHOW_SUM(w, member) part[(w)*LINE + ITEM] = sum[w];
#define ADD_SHOWN(w, member) sum[w] = sum[w] + part[(w)*LINE + ITEM + q * in_warp * LANES];
#define KEEP_SUM(w, member) \
    if (j + w < cols) STORE(SUM, sums, (-1 - row) * cols + j + w, CONVERT(SUM, (value)sum[w]));
#if PIECES
#define BEGIN(i) bounds[2 * (i)]
#define END(i) bounds[2 * (i) + 1]
#else
#define BEGIN(i) bounds[i]
#define END(i) bounds[(i) + 1]
#endif

#if STREAMS
#if ONES
typedef uint of_x;
#define IS_ZERO(v) ((v) == 0)
#define ADD_OF_X(sum, factor, y) sum = sum + y
#else
typedef scalar of_x;
#if COMPLEX
#define IS_ZERO(v) ((v).x == 0 && (v).y == 0)
#else
#define IS_ZERO(v) ((v) == 0)
#endif
#define ADD_OF_X(sum, factor, y) sum = multiply_add(conjugate_if(x_conjugated, factor), y, sum)
#endif

typedef struct {
    GLOBAL MARK const *elements;
    index row, col;
    int conjugated;
} matrix_x;

/* Adds every ITEMS-th of all rows of B from `at` on, in columns j to j + SPAN, times each row of X. */
FUNCTION void add_all(scalar *sum, matrix_x all_of_x, matrix_b all_of_b, index j, index at, index end) {
    GLOBAL MARK const *const x = all_of_x.elements;
    index const x_row = all_of_x.row, x_col = all_of_x.col;
    int const x_conjugated = all_of_x.conjugated;
    OPEN_B(all_of_b);
    for (; at < end; at += AHEAD * ITEMS) {
        scalar y[AHEAD * SPAN];
        for (int u = 0; u < AHEAD; ++u) {
            index const row = min(at + u * ITEMS, end - 1);
            for (int w = 0; w < SPAN; ++w) {
                scalar const one = LOAD(IN, b, AT(b, row, min(j + w, cols - 1)));
                y[u * SPAN + w] = conjugate_if(b_conjugated, one);
            }
        }
        for (int u = 0; u < AHEAD; ++u) {
            index const row = at + u * ITEMS;
            if (row < end) {
#pragma unroll
                for (int i = 0; i < X_ROWS; ++i) {
                    of_x const factor = LOAD(MARK, x, AT(x, i, row));
                    if (!IS_ZERO(factor))
                        for (int w = 0; w < SPAN; ++w) ADD_OF_X(sum[i * SPAN + w], factor, y[u * SPAN + w]);
                }
            }
        }
    }
}
#endif

KERNEL_AT_ONCE(ITEMS, RESIDENT)
csr_times_dense(BUFFER(INDEX const, bounds), BUFFER(INDEX const, columns), OF_VALUES(BUFFER(IN const, values))
                MATRIX(IN const, b), int b_conjugated,
#if PIECES
                BUFFER(int const, row_of_piece), BUFFER(SUM, sums), index pieces,
#else
                index long_row,
#endif
#if STREAMS
                MATRIX(MARK const, x), int x_conjugated, index depth, index most_listed,
#endif
                PRODUCT) {
#if STREAMS && SPAN > WIDE
    SHARED scalar part[SPAN * LINE];
#elif SHARES
    SHARED scalar part[WIDE * LINE];
#endif
#if LONG_ROWS
    SHARED int any_long;
#endif
    OPEN(INDEX const, bounds);
    OPEN(INDEX const, columns);
#if !ONES
    OPEN(IN const, values);
#endif
    OPEN(IN const, b);
    OPEN(OUT const, e);
    OPEN(OUT, c);
#if PIECES
    OPEN(int const, row_of_piece);
    OPEN(SUM, sums);
#else
    index const pieces = rows;
#endif
    matrix_b const all_of_b = {b, b_row, b_col, cols, b_conjugated};
#if STREAMS
    OPEN(MARK const, x);
    if ((index)bounds[X_ROWS] > most_listed) {
        index const j = (index)GROUP * SPAN;
        if (j >= cols) return; /* the whole group */
        scalar sum[X_ROWS * SPAN];
        for (int s = 0; s < X_ROWS * SPAN; ++s) sum[s] = ZERO;
        matrix_x const all_of_x = {x, x_row, x_col, x_conjugated};
        add_all(sum, all_of_x, all_of_b, j, (index)ITEM, depth);
#pragma unroll
        for (int i = 0; i < X_ROWS; ++i) {
            for (int w = 0; w < SPAN; ++w) part[w * LINE + ITEM] = sum[i * SPAN + w];
            for (int others = ITEMS / 2; others > 0; others /= 2) {
                BARRIER();
                if (ITEM < others)
                    for (int w = 0; w < SPAN; ++w)
                        part[w * LINE + ITEM] = part[w * LINE + ITEM] + part[w * LINE + ITEM + others];
            }
            if (ITEM == 0)
                for (int w = 0; w < SPAN; ++w)
                    if (j + w < cols) FINISH_ELEMENT(i, j + w, part[w * LINE + ITEM]);
            BARRIER();
        }
        return;
    }
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
            add_part(sum, columns, OF_VALUES(values) all_of_b, j, at, end, ITEMS / LANES);
        else
#endif
            add_part(sum, columns, OF_VALUES(values) all_of_b, j, at, end, PARTS);

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
)";
inline constexpr joined_text csr_rows_text{csr_columns_text, csr_text};

// How the kernel divides its work.
struct csr_work {
    static constexpr int items = 128;
    int wide = 1, lanes = 1, parts = 1, rows = 1, stripes = 1;
    bool vectors = false;
    index_t long_row = 0; // more elements than this are left to the whole group
    // If the list comes from a dense matrix with few rows, and has more elements than `most_listed`, groups read all of
    // B, with `span` columns each, `ahead` rows at a time. 0: never.
    int span = 0, ahead = 0;
    index_t most_listed = 0;

    index_t groups(index_t m, index_t n) const {
        index_t const listed = ((m - 1) / rows + 1) * ((n - 1) / (stripes * lanes * wide) + 1);
        index_t const all = span > 0 ? (n - 1) / span + 1 : 0;
        return listed > all ? listed : all;
    }
    std::string definitions() const {
        auto const define = [](char const* name, int value) {
            return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
        };
        return define("WIDE", wide) + define("LANES", lanes) + define("PARTS", parts) + define("ROWS", rows) +
               define("STRIPES", stripes) + define("VECTORS", vectors) + define("STREAMS", span > 0) +
               define("SPAN", span) + define("AHEAD", ahead);
    }
    std::string describe() const {
        return std::to_string(lanes) + " x " + std::to_string(wide) + " columns of C at once, rows of A in " +
               std::to_string(parts) + (parts == 1 ? " part" : " parts");
    }
};
// How to divide a product with A m x k and C m x n. `vector` is what vector_of() gives for B. The numbers are those
// that were fastest on an H200.
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
        // Rows of A that are multiplied at the same time share the rows of B that they read in the first cache. If B is
        // large, narrow stripes of B stay in that cache longer.
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
// How to divide a product whose A is listed from a dense matrix with m rows, and which may read all of B instead of
// what the list names. The product does so where B is stored by columns, and X has three to eight rows of which 70% of
// the elements are listed. On an H200 the list was as fast or faster everywhere else, up to a list of all elements:
// memory gives the device pieces of 64 bytes, and rows of B are read at memory's rate anyway.
inline csr_work choose_events(index_t m, index_t k, index_t n, int vector) {
    csr_work x = choose_csr(m, k, n, m * k, vector);
    if ((vector > 0 && n > 1) || m < 3 || m > most_rows_of_whole) return x;
    x.most_listed = m * k / 10 * 7;
    x.span = n < 4 ? 1 : 4;
    x.ahead = x.span * m > 16 ? 2 : 4;
    return x;
}

// How many columns of B one load can read; 0 if B is stored by columns.
template <class T>
constexpr int most_of_vector() {
    return std::is_same_v<T, float> ? 4 : std::is_same_v<T, double> ? 2 : 1;
}
template <class T, class Space>
int vector_of(view<T, Space> const& b) {
    using V = std::remove_cv_t<T>;
    constexpr int most = most_of_vector<V>();
    bool const aligned = b.col_stride == 1 && b.row_stride % most == 0 && b.cols % most == 0 &&
                         Space::address(b.data) % static_cast<std::intptr_t>(most * sizeof(V)) == 0;
    return rows_are_closer(b) ? 0 : aligned ? most : 1;
}

// Bytes of device workspace that multiply_csr() takes for n columns.
template <class Arena, class Sum>
std::size_t bytes_for_sums(index_t sums, index_t n) {
    return Arena::rounded(static_cast<std::size_t>(sums) * static_cast<std::size_t>(n) * sizeof(Sum));
}

// The properties that the kernel is compiled for, beside the division of its work.
struct csr_kinds {
    bool stores = false, in_pieces = false, ones = false;
    index_t x_rows = 0; // of the dense matrix beside the list, and how its elements are stored
    char const* mark = "";
};
template <class In, class Out, class Index>
device_kernel csr_kernel(char const* name, csr_work const& x, csr_kinds const& kinds) {
    // Registers for sums, and for rows of B and X, where all of B is read.
    index_t const words = kinds.x_rows + (kinds.x_rows + x.ahead) * x.span *
                                             static_cast<index_t>(sizeof(accumulator_t<In>)) / 4;
    // Pieces of doubles spill some words and are faster, up to 1.2 times on an H200, than with registers for all of
    // them: more rows of B are on their way.
    constexpr int of_pieces = sizeof(accumulator_t<In>) > 8 ? 4 : 10;
    int const resident = kinds.in_pieces ? of_pieces
                         : words <= 21   ? 8
                         : words <= 68   ? 4
                         : words <= 96   ? 3
                                         : 2;
    std::string const definitions = x.definitions() + "#define STORES " + (kinds.stores ? "1" : "0") +
                                    "\n#define PIECES " + (kinds.in_pieces ? "1" : "0") + "\n#define ONES " +
                                    (kinds.ones ? "1" : "0") + "\n#define X_ROWS " +
                                    std::to_string(kinds.x_rows) + "\n#define RESIDENT " +
                                    std::to_string(resident) + "\n#define MARK " + kinds.mark + '\n';
    return {name,  csr_rows_text.at,         definitions, x.items, uses_double<In, Out>,
            false, csr_types<In, Out, Index>};
}

// Chooses the kernel of a product with one column: the one that choose_csr_vector() chooses, unless rows are cut into
// pieces. The kernel for vectors counts the step from one element of B to the next in an int.
template <class Space, class Leaf, class Q>
csr_vector_work vector_work_of(Leaf const& leaf, Q const& p) {
    using In = typename Q::a_type;
    bool cut = false;
    if constexpr (requires { p.a.pieces; }) cut = p.a.pieces.cut_rows > 0;
    index_t const longest_step = device_longest / static_cast<index_t>(sizeof(In)), step = p.b.row_stride;
    if (p.c.cols > 1 || cut || step > longest_step || step < -longest_step) return {};
    return choose_csr_vector<In, typename Q::a_operand::index_type>(p.c.rows, p.b.rows, p.a.nonzeros,
                                                                    csr_vector_units<Space>(leaf));
}

// C = alpha A B + beta E, without the epilogue, by rows or pieces of rows. `whole`: the matrix whose non-zero elements A
// lists, or only_listed.
template <class Leaf, class Q, class Whole, class Arena>
status multiply_csr_rows(Leaf const& leaf, Q const& p, Whole const& whole, Arena& memory) {
    using In = typename Q::a_type;
    using Out = typename Q::c_type;
    using Sum = accumulator_t<In>;
    constexpr bool valued = has_values<typename Q::a_operand>;
    constexpr bool has_whole = !std::is_same_v<Whole, only_listed>;
    auto const& a = p.a;
    index_t const m = p.c.rows, n = p.c.cols;
    bool in_pieces = false;
    if constexpr (requires { a.pieces; }) in_pieces = a.pieces.count > 0;
    csr_work const x = has_whole ? choose_events(m, p.b.rows, n, vector_of(p.b))
                                 : choose_csr(m, p.b.rows, n, a.nonzeros, vector_of(p.b));
    bool const stores = x.vectors && std::is_same_v<In, Out> && vector_of(p.c) == x.wide;
    csr_kinds kinds{stores, in_pieces, !valued};
    if constexpr (has_whole)
        if (x.span > 0) kinds.x_rows = m, kinds.mark = kernel_type<stored_t<typename Whole::value_type>>();
    auto const kernel = [&](char const* name) {
        return csr_kernel<In, Out, typename Q::a_operand::index_type>(name, x, kinds);
    };
    auto const e = added_or_c(p);
    int const adds = p.beta != typename Q::scalar(0);
    auto const launch = [&](index_t rows, auto const& bounds, auto const&... more) {
        if constexpr (valued)
            return leaf.launch(kernel("csr_times_dense"), x.groups(rows, n), bounds, a.columns, a.values, p.b,
                               int{p.b.conjugate}, more..., p.alpha, p.beta, adds, e, int{e.conjugate}, p.c,
                               m, n);
        else
            return leaf.launch(kernel("csr_times_dense"), x.groups(rows, n), bounds, a.columns, p.b,
                               int{p.b.conjugate}, more..., p.alpha, p.beta, adds, e, int{e.conjugate}, p.c,
                               m, n);
    };
    if constexpr (has_whole)
        if (x.span > 0)
            return launch(m, a.row_begins, x.long_row, whole, int{whole.conjugate}, p.b.rows, x.most_listed);
    if (!in_pieces) return launch(m, a.row_begins, x.long_row);
    if constexpr (requires { a.pieces; }) {
        typename Arena::scope const scope(memory);
        auto const sums = memory.template take<Sum>(a.pieces.sums * n);
        status s = launch(a.pieces.count, a.pieces.bounds, a.pieces.lists, sums, a.pieces.count);
        if (!s || a.pieces.cut_rows == 0) return s;
        using Index = typename Q::a_operand::index_type;
        auto const cut_rows = a.pieces.lists + a.pieces.count;
        return add_csr_carries(leaf, p, csr_carries_kernel<In, Out, Index>(0, false, n, true),
                               a.pieces.cut_rows, cut_rows, cut_rows + a.pieces.cut_rows, sums,
                               a.pieces.cut_rows);
    }
    return {};
}

// Whether a product by rows might wait long for a long row, of at most k elements. The rows themselves are not read. Without long rows a
// product by rows is up to twice as fast as a merged one, or more if it is small. The longest row that there can be is
// then the work of one group, and all elements are that of as many work-items as run at once.
inline bool csr_merges(index_t m, index_t k, index_t nonzeros) {
    // 128 multiprocessors have eight groups each. On an H200 the merged kernels took up to 2.2 times as long as those by
    // rows where there was no long row (a stencil of 27 points, four columns of doubles), and the kernels by rows up to
    // 120 times as long where there was one (half of the elements, 100 columns of floats). A row that is only possible
    // counts if it would delay the product by several times what the merged kernels cost.
    constexpr index_t items_at_once = 131072, longest_delay = 16;
    index_t const longest = lesser(k, nonzeros);
    return m > 0 && longest > 8 * (nonzeros / m) + 64 &&
           longest > longest_delay * nonzeros / items_at_once * csr_work::items;
}
// Whether the longest row is not much longer than the others.
inline bool csr_is_even(index_t m, index_t nonzeros, index_t longest) {
    return m > 0 && longest <= 2 * (nonzeros / m) + 1;
}
// The same for a matrix that is kept with its rows in pieces, of which the longest row is known. Rows of like lengths
// are multiplied as they are. Otherwise the merged kernels have products with few columns, where the time is that of
// reading A, and those whose longest row is in more pieces than a group can add up in a short time.
inline bool csr_merges_pieces(index_t m, index_t nonzeros, index_t longest, bool few) {
    constexpr index_t most_sums = 512;
    index_t const average = nonzeros / m;
    return !csr_is_even(m, nonzeros, longest) && (few || longest > most_sums * csr_piece(average));
}

// The most elements of a row, by what is known of A.
template <class Form>
index_t csr_longest_row(Form const& form, index_t m, index_t k, index_t nonzeros) {
    index_t longest = lesser(k, nonzeros);
    if constexpr (requires { form.longest_row(m, k); })
        if (index_t const known = form.longest_row(m, k); known > 0) longest = lesser(known, longest);
    return longest;
}
// Whether a product takes the merged kernels, by what is known of A. `vector` is what vector_of() gives for B.
template <class Form>
bool csr_merges_form(Form const& form, index_t m, index_t k, index_t n, index_t nonzeros, int vector) {
    if (!csr_merges(m, csr_longest_row(form, m, k, nonzeros), nonzeros)) return false;
    if constexpr (has_pieces<Form>)
        if (form.sums > 0) return csr_merges_pieces(m, nonzeros, form.longest, vector == 0 || n <= 4);
    return true;
}

// C = alpha A B + beta E, without the epilogue.
template <class Leaf, class Q, class Whole, class Arena>
status multiply_csr(Leaf const& leaf, Q const& p, Whole const& whole, Arena& memory) {
    if constexpr (std::is_same_v<Whole, only_listed>) {
        using space = typename std::remove_cvref_t<decltype(p.b)>::space;
        index_t const m = p.c.rows, n = p.c.cols, nonzeros = p.a.nonzeros;
        int const vector = vector_of(p.b);
        if (csr_merges_form(p.a.facts(), m, p.b.rows, n, nonzeros, vector)) {
            auto const x = choose_csr_merged<accumulator_t<typename Q::a_type>>(m, n, nonzeros, vector);
            return multiply_csr_merged(leaf, p, x, vector_of(p.c), memory);
        }
        if constexpr (warpgroup_leaf<Leaf, space>)
            if (csr_vector_work const x = vector_work_of<space>(leaf, p); x.rows > 0)
                return multiply_csr_by_vector(leaf, p, x);
    }
    // A vector is multiplied by rows of like lengths as they lie: sorted pieces are read in pieces.
    if constexpr (requires { p.a.pieces; })
        if (p.c.cols == 1 && csr_is_even(p.c.rows, p.a.nonzeros, p.a.pieces.longest)) {
            Q q = p;
            q.a.pieces = {};
            return multiply_csr_rows(leaf, q, whole, memory);
        }
    return multiply_csr_rows(leaf, p, whole, memory);
}

STRATAGEMM_END
