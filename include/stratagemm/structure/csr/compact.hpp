// Dense to CSR: lists the non-zero elements of a matrix by rows, in order, on the host or on a device, with their
// values or without. On a device the call does not wait. -0 counts as zero, NaN as non-zero.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "arrays.hpp"
#include "sum_of_group.hpp"

STRATAGEMM_BEGIN

// A group lists `span` columns of a row, behind the elements of all groups before it. count_nonzeros counts those; if
// there is one short row, each group counts them again, which takes less time than a second kernel. A group first
// marks the non-zero elements of a tile with coalesced reads; then each work-item lists the marks of its stretch.
inline constexpr char compact_text[] = R"(
#define STRETCH 8
#define MARKS (STRETCH + 4) /* bytes from one stretch to the next, so that a warp reads without conflicts */
#if COMPLEX
#define IS_ZERO(v) ((v).x == 0 && (v).y == 0)
#else
#define IS_ZERO(v) ((v) == 0)
#endif

/* How many of the first `to` elements of row i, from `from` on, are this work-item's and not zero. */
#define COUNT(mine, i, from, to)                                                    \
    for (index first = from; first < (to); first += 16 * ITEMS) {                   \
        scalar some[16];                                                            \
        for (int u = 0; u < 16; ++u) {                                              \
            index const j = first + u * ITEMS + ITEM;                               \
            some[u] = ZERO;                                                         \
            if (j < (to)) some[u] = LOAD(IN, x, AT(x, i, j));                       \
        }                                                                           \
        for (int u = 0; u < 16; ++u) mine += IS_ZERO(some[u]) ? 0 : 1;              \
    }

KERNEL(ITEMS) count_nonzeros(MATRIX(IN const, x), BUFFER(int, counts), index cols, int parts, index span) {
    SHARED int sums[ITEMS];
    OPEN(IN const, x);
    OPEN(int, counts);
    index const i = GROUP / parts, from = GROUP % parts * span, to = min(from + span, cols);
    int mine = 0;
    COUNT(mine, i, from, to)
    SUM_OF_GROUP(mine, sums);
    if (ITEM == 0) counts[GROUP] = sums[0];
}

KERNEL(ITEMS) list_nonzeros(MATRIX(IN const, x), int conjugated, BUFFER(int const, counts), BUFFER(INDEX, begins),
                            BUFFER(INDEX, columns),
#if VALUES
                            BUFFER(IN, values),
#endif
                            index cols, int parts, index span, int counted) {
    SHARED int sums[ITEMS];
    SHARED int of_warp[ITEMS / 32];
    SHARED byte marks[ITEMS * MARKS];
    OPEN(IN const, x);
    OPEN(int const, counts);
    OPEN(INDEX, begins);
    OPEN(INDEX, columns);
#if VALUES
    OPEN(IN, values);
#endif
    index const i = GROUP / parts, from = GROUP % parts * span, to = min(from + span, cols);
    int mine = 0;
    if (counted)
        for (int group = ITEM; group < GROUP; group += ITEMS) mine += counts[group];
    else
        COUNT(mine, 0, 0, from)
    SUM_OF_GROUP(mine, sums);
    index next = sums[0];
    if (ITEM == 0 && GROUP % parts == 0) begins[i] = (INDEX)next;
    for (index first = from; first < to; first += ITEMS * STRETCH) {
        BARRIER();
        scalar some[STRETCH];
        for (int u = 0; u < STRETCH; ++u) {
            index const j = first + u * ITEMS + ITEM;
            some[u] = ZERO;
            if (j < to) some[u] = LOAD(IN, x, AT(x, i, j));
        }
        for (int u = 0; u < STRETCH; ++u) {
            int const at = u * ITEMS + ITEM;
            marks[at / STRETCH * MARKS + at % STRETCH] = IS_ZERO(some[u]) ? 0 : 1;
        }
        BARRIER();
        uint own = 0;
        int count = 0;
        for (int w = 0; w < STRETCH; ++w)
            if (marks[ITEM * MARKS + w]) own |= 1u << w, ++count;
#if SHUFFLES
        int before = count;
        for (int step = 1; step < 32; step *= 2) {
            int const lower = SHUFFLE(before, (LANE - step) & 31);
            if (LANE >= step) before += lower;
        }
        before -= count;
#else
        sums[ITEM] = count;
        BARRIER();
        int before = 0;
        for (int l = 0; l < 31; ++l)
            if (l < LANE) before += sums[ITEM - LANE + l];
#endif
        if (LANE == 31) of_warp[WARP] = before + count;
        BARRIER();
        int all = 0;
        for (int w = 0; w < ITEMS / 32; ++w) {
            if (w == WARP) before += all;
            all += of_warp[w];
        }
        index at = next + before;
        for (int w = 0; own != 0; ++w, own >>= 1)
            if (own & 1) {
                index const j = first + ITEM * STRETCH + w;
                columns[at] = (INDEX)j;
#if VALUES
                scalar const there = LOAD(IN, x, AT(x, i, j));
                scalar const element = conjugate_if(conjugated, there);
                STORE(IN, values, at, CONVERT(OUT_VALUE, (value)element));
#endif
                ++at;
            }
        next += all;
    }
    if (ITEM == 0 && GROUP == GROUPS - 1) begins[i + 1] = (INDEX)next;
}
)";

// How the columns are divided among groups.
struct compact_parts {
    index_t parts = 1, span = 1;
    bool counted = false;
    compact_parts(index_t rows, index_t cols) {
        constexpr index_t tile = 256 * 8, enough = 1024, short_row = 32 * tile;
        if (cols == 0) return;
        counted = rows > 1 || cols > short_row;
        index_t const tiles = (cols - 1) / tile + 1, wanted = rows > 0 && rows < enough ? enough / rows : 1;
        parts = tiles < wanted ? tiles : wanted;
        span = (tiles + parts - 1) / parts * tile;
        parts = (cols - 1) / span + 1;
    }
};
// Bytes of device workspace that list_nonzeros() takes for its counts.
template <class Arena>
std::size_t bytes_to_compact(index_t rows, index_t cols) {
    return Arena::rounded(static_cast<std::size_t>(rows * compact_parts(rows, cols).parts) * sizeof(int));
}
// Lists the non-zero elements of x; ignores the factor of the view. `begins` has room for x.rows + 1 numbers,
// `columns` and `values` have room for x.rows * x.cols. Instead of `values` there may be no_values.
template <class Index, class Leaf, class T, class Space, class Numbers, class Values, class Arena>
status list_nonzeros(Leaf const& leaf, view<T const, Space> const& x, Numbers begins, Numbers columns,
                     Values values, Arena& memory) {
    constexpr bool valued = !std::is_same_v<Values, no_values>;
    if (sizeof(Index) < 8 && x.rows > 0 && x.cols > 0x7fffffff / x.rows)
        return error(errc::unsupported, "events: a matrix of more than 2^31 - 1 elements; multiply blocks");
    if constexpr (host_leaf<Leaf>) {
        (void)memory, (void)values;
        index_t at = 0;
        begins[0] = 0;
        for (index_t i = 0; i < x.rows; ++i) {
            for (index_t j = 0; j < x.cols; ++j) {
                T const element = x(i, j);
                if (static_cast<accumulator_t<T>>(element) == accumulator_t<T>(real_t<accumulator_t<T>>(0)))
                    continue;
                if constexpr (valued) values[at] = x.conjugate ? conjugate(element) : element;
                columns[at++] = static_cast<Index>(j);
            }
            begins[i + 1] = static_cast<Index>(at);
        }
        return {};
    } else {
        typename Arena::scope const scope(memory);
        auto const types = [] {
            return kernel_types<stored_t<T>, stored_t<T>>() + "#define INDEX " +
                   (sizeof(Index) == 8 ? "index\n" : "int\n") + "#define VALUES " + (valued ? "1\n" : "0\n") +
                   sum_of_group_text;
        };
        compact_parts const by(x.rows, x.cols);
        index_t const groups = x.rows * by.parts;
        auto const counts = memory.template take<int>(groups);
        auto const kernel = [&](char const* name) {
            return device_kernel{name, compact_text, {}, 256, uses_double<T, T>, false, types};
        };
        if (groups > leaf.limits().groups)
            return error(errc::unsupported, Leaf::layer,
                         "a matrix has too many rows to be listed; list blocks");
        if (by.counted)
            if (status s = leaf.launch(kernel("count_nonzeros"), groups, x, counts, x.cols,
                                       static_cast<int>(by.parts), by.span);
                !s)
                return s;
        auto const launch = [&](auto const&... to) {
            return leaf.launch(kernel("list_nonzeros"), groups, x, int{x.conjugate}, counts, to..., x.cols,
                               static_cast<int>(by.parts), by.span, int{by.counted});
        };
        if constexpr (valued)
            return launch(begins, columns, values);
        else
            return launch(begins, columns);
    }
}

STRATAGEMM_END
