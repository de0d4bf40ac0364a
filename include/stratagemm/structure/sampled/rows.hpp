// The rows of a product of sparse matrices on a device, before it: which of them take part in many products, and how
// these are cut into pieces, without waiting for the host. There are no atomics; the pieces are the same in every
// run.
#pragma once

#include "../../device/dialect.hpp"
#include "../csr/arrays.hpp"

STRATAGEMM_BEGIN

// Examines the rows of sparse matrices before their product. examine_rows finds which rows of A take part in more than
// `limit` products, and in which rows of B the columns rise; LANES work-items look at a row. list_long_rows, one group,
// cuts the long rows of A into pieces, whose sums are kept in workspace with room for `room` of them. It also counts
// the units of work, a unit being a piece of a row of A and SUMS places or columns of C. If there are too many long
// rows for the list, it clears the marks of those that have no room.
//
// The list has the number of its rows, the number of units, and from LISTED_FROM on, for each row: the row, its first
// unit, the number of its pieces, and where their sums are.
inline constexpr char rows_text[] = R"(
#define IN_FLIGHT 4
#if EXAMINES
#define UNITS (ITEMS / LANES)
#define LENGTH(i)                                                             \
    ((i) < a_rows            ? (index)a_begins[(i) + 1] - (index)a_begins[i]  \
     : (i) < a_rows + b_rows ? (index)b_begins[(i)-a_rows + 1] - (index)b_begins[(i)-a_rows] : 0)
/* Elements `first`, first + step, ... of row i: how many products they take part in, or how many columns do not
   rise. */
#define LOOK_AT_ROW(i, first, step)                                                                   \
    do {                                                                                              \
        int const of_a = i < a_rows;                                                                  \
        index const begin = i >= a_rows + b_rows ? 0 : of_a ? (index)a_begins[i] : (index)b_begins[i - a_rows], \
                    end = begin + LENGTH(i) - (of_a ? 0 : 1);                                         \
        for (index at = begin + (first); at < end; at += (step)*IN_FLIGHT) {                          \
            index k[IN_FLIGHT];                                                                       \
            for (int u = 0; u < IN_FLIGHT; ++u) {                                                     \
                index const one = min(at + u * (step), end - 1);                                      \
                k[u] = of_a ? (index)a_columns[one] : b_columns[one] >= b_columns[one + 1];           \
            }                                                                                         \
            for (int u = 0; u < IN_FLIGHT; ++u)                                                       \
                if (!of_a)                                                                            \
                    mine += (ulong)k[u];                                                              \
                else if (at + u * (step) < end)                                                       \
                    mine += (ulong)((index)b_begins[k[u] + 1] - (index)b_begins[k[u]]);               \
        }                                                                                             \
    } while (0)
#define KEEP_LOOK(i)                             \
    do {                                         \
        if (i < a_rows)                          \
            a_long[i] = mine > (ulong)limit;     \
        else if (i < a_rows + b_rows)            \
            b_rising[i - a_rows] = mine == 0;    \
    } while (0)

KERNEL(ITEMS) examine_rows(BUFFER(A_INDEX const, a_begins), BUFFER(A_INDEX const, a_columns),
                           BUFFER(B_INDEX const, b_begins), BUFFER(B_INDEX const, b_columns), BUFFER(byte, a_long),
                           BUFFER(byte, b_rising), index a_rows, index b_rows, index limit) {
    SHARED ulong counts[ITEMS];
    SHARED int any;
    OPEN(A_INDEX const, a_begins);
    OPEN(A_INDEX const, a_columns);
    OPEN(B_INDEX const, b_begins);
    OPEN(B_INDEX const, b_columns);
    OPEN(byte, a_long);
    OPEN(byte, b_rising);
    int const lane = ITEM % LANES;
    for (index top = (index)GROUP * UNITS; top < a_rows + b_rows; top += (index)GROUPS * UNITS) {
        index const i = top + ITEM / LANES;
        int const for_group = LENGTH(i) > 16 * LANES;
        ulong mine = 0;
        if (!for_group) LOOK_AT_ROW(i, lane, LANES);
        counts[ITEM] = mine;
        ANY(any, for_group);
        int const some = any;
        if (lane == 0 && !for_group) {
            for (int w = 1; w < LANES; ++w) mine += counts[ITEM + w];
            KEEP_LOOK(i);
        }
        BARRIER();
        for (int unit = 0; unit < (some ? UNITS : 0); ++unit) {
            index const whole = top + unit;
            if (LENGTH(whole) <= 16 * LANES) continue;
            mine = 0;
            LOOK_AT_ROW(whole, ITEM, ITEMS);
            counts[ITEM] = mine;
            BARRIER();
            if (ITEM == 0) {
                for (int w = 1; w < ITEMS; ++w) mine += counts[w];
                KEEP_LOOK(whole);
            }
            BARRIER();
        }
    }
}
#else

/* The sum of `mine` of the work-items before this one; and of all. All of the group call it. */
#define SUMS_OF_GROUP(before, all, mine)                                        \
    do {                                                                        \
        BARRIER();                                                              \
        sums[ITEM] = (ulong)(mine);                                             \
        BARRIER();                                                              \
        if (ITEM < ITEMS / 16) {                                                \
            ulong of_16 = 0;                                                    \
            for (int item = 0; item < 16; ++item) of_16 += sums[ITEM * 16 + item]; \
            some_sums[ITEM] = of_16;                                            \
        }                                                                       \
        BARRIER();                                                              \
        before = 0, all = 0;                                                    \
        for (int item = 0; item < ITEMS / 16; ++item) {                         \
            if (item == ITEM / 16) before = all;                                \
            all += (index)some_sums[item];                                      \
        }                                                                       \
        for (int item = ITEM / 16 * 16; item < ITEM; ++item) before += (index)sums[item]; \
    } while (0)

KERNEL(ITEMS) list_long_rows(BUFFER(A_INDEX const, a_begins), BUFFER(C_INDEX const, c_begins), BUFFER(byte, a_long),
                             BUFFER(index, list), index rows, index cols, index most, index room, float of_b) {
    SHARED ulong sums[ITEMS];
    SHARED ulong some_sums[ITEMS / 16];
    SHARED ulong found[LISTED];
    SHARED int any;
    OPEN(A_INDEX const, a_begins);
    OPEN(C_INDEX const, c_begins);
    OPEN(byte, a_long);
    OPEN(index, list);
    index listed = 0;
    for (index top = 0; top < rows; top += ITEMS * 64) {
        index const from = top + (index)ITEM * 64;
        ulong words[8], marked = 0;
        for (int u = 0; u < 8; ++u) words[u] = from + 8 * u < rows ? ((GLOBAL ulong const *)a_long)[from / 8 + u] : 0;
        for (int u = 0; u < 8; ++u) marked |= words[u];
        ANY(any, marked != 0);
        int const some = any;
        BARRIER();
        if (!some) continue;
        index mine = 0, before = 0, all = 0;
        for (int u = 0; u < 64 && marked != 0; ++u) mine += from + u < rows && a_long[from + u] ? 1 : 0;
        SUMS_OF_GROUP(before, all, mine);
        before += listed;
        for (int u = 0; u < 64 && marked != 0; ++u)
            if (from + u < rows && a_long[from + u]) {
                if (before < LISTED)
                    found[(int)before] = (ulong)(from + u);
                else
                    a_long[from + u] = 0;
                ++before;
            }
        listed = min(listed + all, (index)LISTED);
    }
    BARRIER();
    if (ITEM == 0) list[0] = listed, list[1] = 0;
    /* What a work-item has of the list, one row behind the other. */
    index const stretch = (listed + ITEMS - 1) / ITEMS, begin = min(ITEM * stretch, listed),
                end = min(begin + stretch, listed);
    index mine = 0, sum = 0, all = 0, units = 0, unit = 0;
    for (int pass = 0; pass < (listed > 0 ? 3 : 0); ++pass) {
        for (index r = begin; r < end; ++r) {
            index const at = LISTED_FROM + 4 * r, i = (index)found[(int)r],
                        length = (index)a_begins[i + 1] - (index)a_begins[i],
                        places = max(min((index)c_begins[i + 1], most) - (index)c_begins[i], (index)0);
            if (pass == 0) {
                list[at] = i;
                float const work = (float)length * of_b;
                index const wanted = min((index)(work / 4096), (index)(4 * work / (float)(places + 1)));
                index const pieces = max(min(wanted, length / 32), (index)1);
                list[at + 2] = pieces;
                if (pieces > 1) mine += pieces * places;
            } else if (pass == 1) {
                index pieces = list[at + 2];
                list[at + 3] = sum;
                if (pieces > 1) sum += pieces * places;
                if (sum > room) list[at + 2] = pieces = 1;
                units += places < 1 ? 0 : pieces * (((DENSE ? cols : places) - 1) / SUMS + 1);
            } else {
                list[at + 1] = unit;
                unit += places < 1 ? 0 : list[at + 2] * (((DENSE ? cols : places) - 1) / SUMS + 1);
            }
        }
        if (pass == 0) SUMS_OF_GROUP(sum, all, mine);
        if (pass == 1) SUMS_OF_GROUP(unit, all, units);
    }
    if (ITEM == 0) list[1] = all;
}
#endif
)";

template <class Index>
constexpr char const* index_name() {
    return sizeof(Index) == 8 ? "index\n" : "int\n";
}
// The workspace of a product of sparse matrices with A m x k and B k x n, in numbers and in bytes.
struct sparse_room {
    static constexpr index_t listed = 2048, listed_from = 2;
    index_t m, k, sums;
    sparse_room(index_t m_, index_t n_, index_t k_) : m(m_), k(k_), sums(4 << 20) {
        if (m > 0 && n_ < 2 * sums / m) sums = m * n_ / 2 + 1;
    }
    static constexpr index_t list = listed_from + 4 * listed;

    template <class Arena>
    std::size_t bytes(std::size_t size) const {
        return Arena::rounded(static_cast<std::size_t>(k)) + Arena::rounded(static_cast<std::size_t>(m)) +
               Arena::rounded(static_cast<std::size_t>(list) * sizeof(index_t)) +
               Arena::rounded(static_cast<std::size_t>(sums) * size);
    }
};
// How rows are examined, and how long ones are cut.
struct row_limits {
    index_t products; // a row of A that takes part in more of them is long
    int lanes;        // the work-items that look at a row
    float of_b;       // elements of a row of B, on average
    bool dense;       // DENSE and SUMS of the kernel that computes pieces
    int sums;
    index_t room; // for sums of pieces
};
// What is found of them.
template <class Flags, class List>
struct examined_rows {
    Flags a_long, b_rising;
    List list;
};
template <class Flags, class List>
examined_rows(Flags, Flags, List) -> examined_rows<Flags, List>;

template <class Leaf, class A, class B, class C, class Flags, class List>
status examine_rows(Leaf const& leaf, A const& a, B const& b, C const& c, row_limits const& limits,
                    examined_rows<Flags, List> const& found) {
    auto const kernel = [&](char const* name, bool examines) {
        auto const define = [](char const* word, index_t value) {
            return std::string("#define ") + word + ' ' + std::to_string(value) + '\n';
        };
        return device_kernel{
            name, rows_text,
            std::string("#define A_INDEX ") + index_name<typename A::index_type>() + "#define B_INDEX " +
                index_name<typename B::index_type>() + "#define C_INDEX " +
                index_name<typename C::index_type>() + define("EXAMINES", examines) +
                define("LANES", limits.lanes) + define("DENSE", limits.dense) + define("SUMS", limits.sums) +
                define("LISTED", sparse_room::listed) + define("LISTED_FROM", sparse_room::listed_from)};
    };
    if (status s =
            leaf.launch(kernel("examine_rows", true), groups_for_each((a.rows + b.rows) * limits.lanes, 256),
                        a.row_begins, a.columns, b.row_begins, b.columns, found.a_long, found.b_rising,
                        a.rows, b.rows, limits.products);
        !s)
        return s;
    return leaf.launch(kernel("list_long_rows", false), index_t{1}, a.row_begins, c.row_begins, found.a_long,
                       found.list, c.rows, c.cols, c.nonzeros, limits.room, limits.of_b);
}

STRATAGEMM_END
