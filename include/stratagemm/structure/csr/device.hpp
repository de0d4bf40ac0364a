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

// VECTORS is 1 if one load reads the WIDE columns of B.
inline constexpr char csr_text[] = R"(
#define IN_FLIGHT 4 /* loads of B that a work-item does not wait for; FEW of them at the end of a row */
#define FEW 2
#define LINE (ITEMS + 8) /* sums of one of WIDE columns, so that a warp adds them up without conflicts */
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

#define BEGIN_SUM(w, member) sum[w] = ZERO;
#define ADD_TO_SUM(w, member) sum[w] = multiply_add(x, some member, sum[w]);
#define SHOW_SUM(w, member) part[(w)*LINE + ITEM / (LANES * in_warp) * LANES + ITEM % LANES] = sum[w];
#define ADD_NEIGHBOUR(w, member) sum[w] += SHUFFLE(sum[w], LANE ^ (in_warp * LANES));
#define IS_LONG(i) (begins[(i) + 1] - begins[i] > long_row)

KERNEL(ITEMS) csr_times_dense(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                              MATRIX(IN const, b), int b_conjugated, index long_row, PRODUCT) {
    SHARED scalar part[WIDE * LINE];
    SHARED int any_long;
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(IN const, b);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    int const down = (int)((rows - 1) / ROWS + 1);
    index const first_i = (index)(GROUP % down) * ROWS, first_j = (index)(GROUP / down) * (STRIPES * LANES * WIDE);
    /* All units side by side, and then those with a long row one after the other, by the whole group. */
    for (int whole = -1; whole < UNITS; ++whole) {
        bool alone = UNITS > 1 && whole >= 0;
        int const parts = alone ? ITEMS / LANES : PARTS, unit = alone ? whole : ITEM / (PARTS * LANES);
        index const i = first_i + unit / STRIPES;
        index const j = first_j + (unit % STRIPES * LANES + ITEM % LANES) * WIDE;
        index const begin = i < rows ? begins[i] : 0;
        index end = i < rows ? begins[i + 1] : 0;
        bool is_long = UNITS > 1 && end - begin > long_row;
        if (alone && !is_long) continue;
        if (j >= cols || is_long != alone) end = begin;
        scalar sum[WIDE];
        EACH_COLUMN(BEGIN_SUM)
        /* IN_FLIGHT elements at a time; where the next are is read while these are multiplied. What is left goes
           FEW at a time. */
        index at = begin + ITEM / LANES % parts;
        INDEX row_of[IN_FLIGHT];
        if (at + (IN_FLIGHT - 1) * parts < end)
            for (int u = 0; u < IN_FLIGHT; ++u) row_of[u] = columns[at + u * parts];
        for (; at + (IN_FLIGHT - 1) * parts < end; at += IN_FLIGHT * parts) {
            some_of_b y[IN_FLIGHT];
            scalar of_a[IN_FLIGHT];
            for (int u = 0; u < IN_FLIGHT; ++u) LOAD_SOME(y[u], row_of[u]);
            for (int u = 0; u < IN_FLIGHT; ++u) of_a[u] = LOAD(IN, values, at + u * parts);
            if (at + (2 * IN_FLIGHT - 1) * parts < end)
                for (int u = 0; u < IN_FLIGHT; ++u) row_of[u] = columns[at + (IN_FLIGHT + u) * parts];
            for (int u = 0; u < IN_FLIGHT; ++u) {
                scalar const x = of_a[u];
                some_of_b const some = y[u];
                EACH_COLUMN(ADD_TO_SUM)
            }
        }
        for (; at < end; at += FEW * parts) {
            some_of_b y[FEW];
            for (int u = 0; u < FEW; ++u)
                if (at + u * parts < end) LOAD_SOME(y[u], columns[at + u * parts]);
            for (int u = 0; u < FEW; ++u)
                if (at + u * parts < end) {
                    scalar const x = LOAD(IN, values, at + u * parts);
                    some_of_b const some = y[u];
                    EACH_COLUMN(ADD_TO_SUM)
                }
        }

        /* Sums of parts become one: within a warp by exchange, if the device can do that, and else by memory. */
        int in_warp = 1;
#if SHUFFLES && !COMPLEX
        for (; in_warp < parts && in_warp * LANES < 32; in_warp *= 2) { EACH_COLUMN(ADD_NEIGHBOUR) }
#endif
        int const left = parts / in_warp;
        if (UNITS > 1 && !alone)
            ANY(any_long, is_long);
        else
            BARRIER();
        if (ITEM / LANES % in_warp == 0) { EACH_COLUMN(SHOW_SUM) }
        BARRIER();
        for (int at_c = ITEM; at_c < (alone ? 1 : UNITS) * LANES * WIDE; at_c += ITEMS) {
            int const column = at_c % (LANES * WIDE), nth = at_c / (LANES * WIDE), of_unit = alone ? whole : nth;
            scalar all = ZERO;
            for (int q = 0; q < left; ++q)
                all = all + part[column % WIDE * LINE + (nth * left + q) * LANES + column / WIDE];
            index const row = first_i + of_unit / STRIPES;
            index const col = first_j + of_unit % STRIPES * (LANES * WIDE) + column;
            if (row >= rows || col >= cols) continue;
            if (UNITS == 1 || alone || !any_long || !IS_LONG(row)) FINISH_ELEMENT(row, col, all);
        }
        if (UNITS == 1 || !any_long) break;
    }
}
)";

// How the kernel divides its work.
struct csr_work {
    int items = 256, wide = 1, lanes = 1, parts = 1, rows = 1, stripes = 1;
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
// `vector` is what vector_of() gives for B; `most_items` is the largest group of the device.
inline csr_work choose_csr(index_t m, index_t n, index_t nonzeros, int vector, int most_items) {
    csr_work x;
    bool const along = vector > 0 && n > 1;
    double const average = static_cast<double>(nonzeros) / static_cast<double>(m);
    constexpr double enough = 250e3; // work-items of a large device, which keep it busy
    auto const items = [&] {
        return static_cast<double>(m) * static_cast<double>((n - 1) / x.wide + 1) * x.parts;
    };
    if (along) {
        x.vectors = vector > 1, x.wide = vector;
        while (x.lanes < 32 && x.lanes * x.wide < n) x.lanes *= 2;
        while (x.parts * x.lanes < x.items && items() < enough && x.parts * 4 <= average) x.parts *= 2;
        // A product of one or a few rows has too few groups to keep the device busy: make them larger.
        if (x.parts * x.lanes == x.items && items() < enough && most_items >= 512) x.items *= 2, x.parts *= 2;
    } else {
        x.wide = n >= 4 ? 4 : n >= 2 ? 2 : 1;
        while (x.parts < 32 && (x.parts * 8 <= average || (x.parts * 2 <= average && items() < enough)))
            x.parts *= 2;
    }
    int const units = x.items / (x.lanes * x.parts);
    double const usual = 4 * average < 128.0 * x.parts ? 128.0 * x.parts : 4 * average;
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

// C = alpha A B + beta E, without the epilogue.
template <class Index, class Leaf, class Q, class A>
status multiply_csr(Leaf const& leaf, Q const& p, A const& a) {
    using In = typename Q::a_type;
    using Out = typename Q::c_type;
    constexpr bool wide_index = sizeof(Index) == 8;
    auto const types = [] {
        return kernel_types<In, Out>() + "#define INDEX " + (wide_index ? "index\n" : "int\n");
    };
    csr_work const x = choose_csr(p.c.rows, p.c.cols, a.nonzeros, vector_of(p.b), leaf.limits().items);
    device_kernel const kernel{
        "csr_times_dense", csr_text, x.definitions(), x.items, uses_double<In, Out>, false, types};
    auto const e = added_or_c(p);
    bool const adds = p.beta != typename Q::scalar(0);
    return leaf.launch(kernel, x.groups(p.c.rows, p.c.cols), a.row_begins, a.columns, a.values, p.b,
                       int{p.b.conjugate}, x.long_row, p.alpha, p.beta, int{adds}, e, int{e.conjugate}, p.c,
                       p.c.rows, p.c.cols);
}

STRATAGEMM_END
