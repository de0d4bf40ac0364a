// The columns that several rows of a sparse matrix have together, each once and in order, on a device: for the blocks
// of a BSR matrix, and for a product of sparse matrices. There are no atomics.
#pragma once

#include "../../device/dialect.hpp"
#include "transpose.hpp"

STRATAGEMM_BEGIN

//   OF_PRODUCT 0    line i has the columns, divided by `side`, of rows [i * side, (i + 1) * side)
//   OF_PRODUCT 1    line i has the columns of those rows of B that row i of A names
//   LISTS 0         counts the columns of each line
//   LISTS 1         lists them from the sum of the counts before on, and writes where each line begins
//
// list_short_unions: a group lists a line with at most MOST elements. It puts their columns into a hash table in shared
// memory whose hash function rises with the column: only columns that lie in a row of occupied slots, a cluster, may be
// out of order, and each finds its place within its cluster. Columns that collide wait for the next round. If several
// columns want one slot, chance decides which goes first, but not which columns the cluster has. Lines that are too
// long, or whose columns crowd together, are marked as long.
//
// list_unions: a group lists a long line. It marks the columns in shared memory, which has room for MARKS columns at
// a time, and then goes on with the next column that the line has.
inline constexpr char union_text[] = R"(
#define WARPS (ITEMS / 32)
#define OWN 16 /* elements of a line that one work-item keeps */
#define MOST (OWN * ITEMS)
#define SLOTS (2 * MOST)
#define BEYOND 64 /* slots behind the last that a column may get, and how far a column may be from its first slot */
#define ROUNDS 32
#define EMPTY ((COLUMN)-1)
#define STRETCH 64 /* marks that one work-item lists */
#define MARKS (ITEMS * STRETCH)
#define MARK_OF(j) ((j) / STRETCH * (STRETCH + 4) + (j) % STRETCH) /* so that a warp reads without conflicts */
#if OF_PRODUCT
#define COLUMN_OF(x) ((index)b_numbers[x])
#define LINE BUFFER(INDEX const, row_begins), BUFFER(INDEX const, numbers), BUFFER(INDEX const, b_begins), \
             BUFFER(INDEX const, b_numbers)
#define OPEN_LINE OPEN(INDEX const, row_begins); OPEN(INDEX const, numbers); OPEN(INDEX const, b_begins); \
                  OPEN(INDEX const, b_numbers)
/* Line i is the elements of several rows: the numbers of the rows begin at `of_row`, and there are `rows` of them. */
#define ROWS_OF_LINE index const of_row = (index)row_begins[i], rows = (index)row_begins[i + 1] - of_row
#define ROW_OF_LINE(begin, end, e) \
    index const row = (index)numbers[of_row + (e)], begin = (index)b_begins[row], end = (index)b_begins[row + 1]
#else
#define COLUMN_OF(x) ((index)numbers[x] / side)
#define LINE BUFFER(INDEX const, row_begins), BUFFER(INDEX const, numbers), index side
#define OPEN_LINE OPEN(INDEX const, row_begins); OPEN(INDEX const, numbers)
#define ROWS_OF_LINE index const rows = 1
#define ROW_OF_LINE(begin, end, e) \
    index const begin = (index)row_begins[i * side], end = (index)row_begins[(i + 1) * side]
#endif
#if LISTS
#define RESULT BUFFER(INDEX, begins), BUFFER(INDEX, columns),
#define OPEN_RESULT OPEN(INDEX, begins); OPEN(INDEX, columns)
#else
#define RESULT
#define OPEN_RESULT ((void)0)
#endif

/* `before`: the sum of `mine` of the work-items before this one; `all`: of all. All of the group call it. */
#if SHUFFLES
#define SUMS_OF_GROUP(before, all, mine)                             \
    do {                                                             \
        before = mine;                                               \
        for (int step = 1; step < 32; step *= 2) {                   \
            int const lower = SHUFFLE(before, (LANE - step) & 31);   \
            if (LANE >= step) before += lower;                       \
        }                                                            \
        if (LANE == 31) sums[WARP] = before;                         \
        before -= mine;                                              \
        BARRIER();                                                   \
        all = 0;                                                     \
        for (int warp = 0; warp < WARPS; ++warp) {                   \
            if (warp == WARP) before += all;                         \
            all += sums[warp];                                       \
        }                                                            \
        BARRIER();                                                   \
    } while (0)
#define LEAST_OF_GROUP(x)                                            \
    do {                                                             \
        for (int step = 1; step < 32; step *= 2) {                   \
            index const other = SHUFFLE(x, LANE ^ step);             \
            x = min(x, other);                                       \
        }                                                            \
        if (LANE == 0) least[WARP] = (ulong)x;                       \
        BARRIER();                                                   \
        for (int warp = 0; warp < WARPS; ++warp) x = min(x, (index)least[warp]); \
        BARRIER();                                                   \
    } while (0)
#else
#define SUMS_OF_GROUP(before, all, mine)                             \
    do {                                                             \
        sums[ITEM] = mine;                                           \
        BARRIER();                                                   \
        all = 0;                                                     \
        for (int item = 0; item < ITEMS; ++item) {                   \
            if (item == ITEM) before = all;                          \
            all += sums[item];                                       \
        }                                                            \
        BARRIER();                                                   \
    } while (0)
#define LEAST_OF_GROUP(x)                                            \
    do {                                                             \
        least[ITEM] = (ulong)x;                                      \
        BARRIER();                                                   \
        for (int item = 0; item < ITEMS; ++item) x = min(x, (index)least[item]); \
        BARRIER();                                                   \
    } while (0)
#endif

#if SHORT
KERNEL_AT_ONCE(ITEMS, (ITEMS > 32 ? 7 : 24))
list_short_unions(LINE, RESULT BUFFER(index, counts), BUFFER(index, is_long), index lines) {
    SHARED COLUMN table[SLOTS + BEYOND];
    SHARED ulong starts[ITEMS];
    SHARED int ends[ITEMS];
    SHARED ulong least[ITEMS];
    SHARED int sums[ITEMS];
    SHARED int any;
    OPEN_LINE;
    OPEN_RESULT;
    OPEN(index, counts);
    OPEN(index, is_long);
    for (index i = GROUP; i < lines; i += GROUPS) {
#if LISTS
        index const to = counts[i];
        if (ITEM == 0) {
            begins[i] = (INDEX)to;
            if (i == lines - 1) begins[lines] = (INDEX)counts[lines];
        }
        if (is_long[i]) continue;
#else
        if (ITEM == 0 && i == lines - 1) counts[lines] = 0;
#endif
        ROWS_OF_LINE;
        int mine = 0, before = 0, total = 0;
        if (rows > ITEMS) {
            mine = MOST + 1;
        } else if (ITEM < rows) {
            ROW_OF_LINE(begin, end, ITEM);
            starts[ITEM] = (ulong)begin;
            mine = (int)min(end - begin, (index)MOST + 1);
        }
        SUMS_OF_GROUP(before, total, mine);
        ends[ITEM] = before + mine;
        BARRIER();
        /* Where columns crowd, this becomes more than MOST. */
        if (total <= MOST) {
            COLUMN own[OWN];
            index low = (index)1 << 62, minus_high = 1;
            for (int q = 0; q < OWN; ++q) {
                int const x = q * ITEMS + ITEM;
                own[q] = EMPTY;
                if (x >= total) continue;
                int w = 0, high = (int)rows - 1;
                while (w < high) {
                    int const middle = (w + high) / 2;
                    if (ends[middle] <= x)
                        w = middle + 1;
                    else
                        high = middle;
                }
                own[q] = (COLUMN)COLUMN_OF((index)starts[w] + x - (w > 0 ? ends[w - 1] : 0));
            }
            for (int q = 0; q < OWN; ++q)
                if (own[q] != EMPTY) low = min(low, (index)own[q]), minus_high = min(minus_high, -(index)own[q]);
            LEAST_OF_GROUP(low);
            LEAST_OF_GROUP(minus_high);
            index const width = total > 0 ? 1 - minus_high - low : 0;
            int slots = 32;
            while (slots < 2 * total) slots *= 2;
            int const direct = width <= slots, limit = direct ? (int)width : slots + BEYOND;
            float const scale = direct ? 1.0f : (float)slots / (float)width;
            for (int s = ITEM; s < limit; s += ITEMS) table[s] = EMPTY;
            int at[OWN], waiting = 0, failed = 0, some_wait = 1;
            for (int q = 0; q < OWN; ++q) {
                int const from_low = (int)((float)(own[q] - (COLUMN)low) * scale);
                at[q] = direct ? (int)(own[q] - (COLUMN)low) : min(from_low, slots - 1);
                if (own[q] != EMPTY) waiting |= 1 << q;
            }
            BARRIER();
            for (int round = 0; some_wait && round < ROUNDS; ++round) {
                /* What is found here stays the same until all of the group have found it. */
                int writes = 0;
                for (int q = 0; q < OWN; ++q)
                    if (waiting >> q & 1) {
                        int s = at[q];
                        while (s < limit && table[s] != EMPTY && table[s] != own[q] && s - at[q] < BEYOND) ++s;
                        if (s >= limit || s - at[q] >= BEYOND)
                            failed = 1, waiting &= ~(1 << q);
                        else if (table[s] == own[q])
                            waiting &= ~(1 << q);
                        else
                            writes |= 1 << q;
                        at[q] = s;
                    }
                BARRIER();
                for (int q = 0; q < OWN; ++q)
                    if (writes >> q & 1) table[at[q]] = own[q];
                BARRIER();
                for (int q = 0; q < OWN; ++q)
                    if (writes >> q & 1 && table[at[q]] == own[q]) waiting &= ~(1 << q);
                ANY(any, waiting != 0);
                some_wait = any;
                BARRIER();
            }
            ANY(any, failed || waiting != 0);
            failed = any;
            BARRIER();
            if (failed) {
                total = MOST + 1;
            } else {
                int const stretch = (limit + ITEMS - 1) / ITEMS, first = min(ITEM * stretch, limit),
                          last = min(first + stretch, limit);
                mine = 0;
                for (int s = first; s < last; ++s) mine += table[s] != EMPTY ? 1 : 0;
                SUMS_OF_GROUP(before, total, mine);
#if LISTS
                for (int s = first; s < last; ++s) {
                    COLUMN const number = table[s];
                    if (number == EMPTY) continue;
                    int place = before++;
                    if (!direct) {
                        for (int w = s; w > 0 && table[w - 1] != EMPTY; --w)
                            if (table[w - 1] > number) --place;
                        for (int w = s + 1; w < limit && table[w] != EMPTY; ++w)
                            if (table[w] < number) ++place;
                    }
                    columns[to + place] = (INDEX)number;
                }
                BARRIER();
#endif
            }
        }
#if !LISTS
        if (ITEM == 0) counts[i] = total > MOST ? 0 : total;
        if (ITEM == 0) is_long[i] = total > MOST ? 1 : 0;
#endif
    }
}
#else
#define MARK(j)                                     \
    do {                                            \
        index const number = j;                     \
        if (number >= first + MARKS)                \
            next = min(next, number);               \
        else if (number >= first)                   \
            marks[MARK_OF((int)(number - first))] = 1; \
    } while (0)

KERNEL_AT_ONCE(ITEMS, 4)
list_unions(LINE, RESULT BUFFER(index, counts), BUFFER(index const, is_long), index lines,
                          index across) {
    SHARED byte marks[ITEMS * (STRETCH + 4)];
    SHARED ulong starts[ITEMS];
    SHARED ulong ends[ITEMS];
    SHARED ulong least[ITEMS];
    SHARED int sums[ITEMS];
    SHARED byte found[ITEMS];
    SHARED int any;
    OPEN_LINE;
    OPEN_RESULT;
    OPEN(index, counts);
    OPEN(index const, is_long);
    for (index top = GROUP; top < lines; top += (index)GROUPS * ITEMS) {
        index const of_item = top + (index)ITEM * GROUPS;
        int const mine_is_long = of_item < lines ? (int)is_long[of_item] : 0;
        ANY(any, mine_is_long);
        found[ITEM] = (byte)mine_is_long;
        int const some_long = any;
        BARRIER();
        for (int which = 0; which < (some_long ? ITEMS : 0); ++which) {
            if (!found[which]) continue;
            index const i = top + (index)which * GROUPS;
            ROWS_OF_LINE;
#if LISTS
            index to = counts[i];
#else
            index to = 0;
#endif
            for (index first = 0; first < across;) {
                for (int w = 0; w < STRETCH + 4; ++w) marks[w * ITEMS + ITEM] = 0;
                index next = across;
                for (index e = 0; e < rows; e += ITEMS) {
                    int const some = (int)min(rows - e, (index)ITEMS);
                    BARRIER();
                    if (ITEM < some) {
                        ROW_OF_LINE(begin, end, e + ITEM);
                        starts[ITEM] = (ulong)begin, ends[ITEM] = (ulong)end;
                    }
                    BARRIER();
                    /* Each warp takes rows in turn, or a part of the only one. */
                    int const step = rows > 1 ? 32 : ITEMS, ahead = rows > 1 ? LANE : ITEM, turn = rows > 1 ? WARP : 0;
                    for (int w = turn; w < some; w += 4 * WARPS) {
                        index j[4];
                        for (int u = 0; u < 4; ++u) {
                            index x = 0, end = 0;
                            if (w + u * WARPS < some)
                                x = (index)starts[w + u * WARPS] + ahead, end = (index)ends[w + u * WARPS];
                            j[u] = x < end ? COLUMN_OF(x) : -1;
                        }
                        for (int u = 0; u < 4; ++u) MARK(j[u]);
                        for (int u = 0; u < 4 && w + u * WARPS < some; ++u) {
                            index const end = (index)ends[w + u * WARPS];
                            for (index x = (index)starts[w + u * WARPS] + ahead + step; x < end; x += step)
                                MARK(COLUMN_OF(x));
                        }
                    }
                }
                BARRIER();
                int count = 0, before = 0, all = 0;
                for (int w = 0; w < STRETCH; ++w) count += marks[ITEM * (STRETCH + 4) + w];
                SUMS_OF_GROUP(before, all, count);
                LEAST_OF_GROUP(next);
#if LISTS
                index at = to + before;
                for (int w = 0; w < STRETCH; ++w)
                    if (marks[ITEM * (STRETCH + 4) + w]) columns[at++] = (INDEX)(first + ITEM * STRETCH + w);
#endif
                to += all;
                first = next;
                BARRIER();
            }
#if !LISTS
            if (ITEM == 0) counts[i] = to;
#endif
        }
    }
}
#endif
)";

// How many numbers the workspace of count_unions() and list_unions() has: the counts, the sums of the scan, and marks
// of the long lines.
constexpr index_t room_for_unions(index_t lines) { return 2 * lines + 1 + scan_parts::most; }

// The lines whose columns are counted or listed: columns are below `across`, and a line has about `average` elements.
// `of_product`: OF_PRODUCT of the kernels.
struct union_lines {
    bool of_product;
    index_t count, across;
    double average;
};

template <class Index, class Launch>
status each_union(union_lines const& lines, bool lists, Launch&& launch) {
    auto const kernel = [&](bool is_short, int items) {
        auto const define = [](char const* name, bool value) {
            return std::string("#define ") + name + (value ? " 1\n" : " 0\n");
        };
        return device_kernel{is_short ? "list_short_unions" : "list_unions", union_text,
                             define("OF_PRODUCT", lines.of_product) + define("LISTS", lists) +
                                 define("SHORT", is_short) + "#define COLUMN " +
                                 (can_count<std::int32_t>(lines.across) ? "int\n" : "index\n") +
                                 "#define INDEX " + (sizeof(Index) == 8 ? "index\n" : "int\n"),
                             items};
    };
    // A group of 32 has room for 512 elements.
    if (status s = launch(kernel(true, lines.average <= 100 ? 32 : 128),
                          lesser(lines.count, index_t{1} << 16), true);
        !s)
        return s;
    return launch(kernel(false, 256), lesser(lines.count, 1024), false);
}

// Counts the columns of each line; counts[i] becomes the sum of the counts before line i. Returns the sum of all.
// Waits for the device. `rows` are the arguments of the kernels that say which rows a line has.
template <class Index, class Leaf, class Handle, class... Rows>
result<index_t> count_unions(Leaf const& leaf, union_lines const& lines, Handle counts, Rows const&... rows) {
    if (lines.count == 0) return index_t{0};
    index_t all = 0;
    auto const sums = counts + (lines.count + 1), is_long = sums + scan_parts::most;
    status s =
        each_union<Index>(lines, false, [&](device_kernel const& kernel, index_t groups, bool is_short) {
            return is_short
                       ? leaf.launch(kernel, groups, rows..., counts, is_long, lines.count)
                       : leaf.launch(kernel, groups, rows..., counts, is_long, lines.count, lines.across);
        });
    if (s) s = scan_numbers<index_t>(leaf, counts, lines.count + 1, sums);
    if (s) s = leaf.download(counts + lines.count, &all, 1);
    if (!s) return result<index_t>(std::move(s));
    return all;
}
// Lists them; `begins` has room for lines.count + 1 numbers.
template <class Index, class Leaf, class Handle, class To, class... Rows>
status list_unions(Leaf const& leaf, union_lines const& lines, Handle counts, To begins, To columns,
                   Rows const&... rows) {
    if (lines.count == 0) {
        Index const zero = 0;
        return leaf.upload(&zero, begins, 1);
    }
    auto const is_long = counts + (lines.count + 1 + scan_parts::most);
    return each_union<Index>(lines, true, [&](device_kernel const& kernel, index_t groups, bool is_short) {
        return is_short ? leaf.launch(kernel, groups, rows..., begins, columns, counts, is_long, lines.count)
                        : leaf.launch(kernel, groups, rows..., begins, columns, counts, is_long, lines.count,
                                      lines.across);
    });
}

STRATAGEMM_END
