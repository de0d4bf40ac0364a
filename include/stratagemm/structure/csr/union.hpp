// The columns that several rows of a sparse matrix have together, each once and in order, on a device: for the blocks
// of a BSR matrix, and for a product of sparse matrices. There are no atomics.
#pragma once

#include "../../device/dialect.hpp"
#include "transpose.hpp"

STRATAGEMM_BEGIN

// A group lists the columns of one line after another. It marks them in shared memory, which has room for MARKS
// columns at a time, and then goes on with the next column that the line has. It compares the columns of a short line
// of a wide matrix with each other.
//   OF_PRODUCT 0    line i has the columns, divided by `side`, of rows [i * side, (i + 1) * side)
//   OF_PRODUCT 1    line i has the columns of those rows of B that row i of A names
//   LISTS 0         counts them
//   LISTS 1         lists them from the sum of the counts before on, and writes where each line begins
inline constexpr char union_text[] = R"(
#define STRETCH 64 /* marks that one work-item lists */
#define MARKS (ITEMS * STRETCH)
#define SHORT 256 /* elements of a line that are kept in shared memory */
#define MARK_OF(j) ((j) / STRETCH * (STRETCH + 4) + (j) % STRETCH) /* so that a warp reads without conflicts */
#if OF_PRODUCT
#define EACH_ELEMENT(x)                                                                              \
    for (index e = (index)row_begins[i] + WARP; e < (index)row_begins[i + 1]; e += ITEMS / 32)       \
        for (index x = (index)b_begins[numbers[e]] + LANE; x < (index)b_begins[numbers[e] + 1]; x += 32)
#define COLUMN_OF(x) ((index)b_numbers[x])
/* The first SHORT of the elements go to `some`, and `total` becomes the number of all, or more than SHORT. */
#define KEEP_SOME                                                                                         \
    for (index e = (index)row_begins[i]; e < (index)row_begins[i + 1] && total <= SHORT; e += ITEMS) {    \
        int const rows = (int)min((index)row_begins[i + 1] - e, (index)ITEMS);                            \
        BARRIER();                                                                                        \
        if (ITEM < rows) {                                                                                \
            index const k = (index)numbers[e + ITEM], begin = (index)b_begins[k];                         \
            least[ITEM] = (ulong)begin;                                                                   \
            sums[ITEM] = (int)((index)b_begins[k + 1] - begin);                                           \
        }                                                                                                 \
        BARRIER();                                                                                        \
        for (int w = 0; w < rows; ++w) {                                                                  \
            int const length = sums[w];                                                                   \
            if (w % (ITEMS / 32) == WARP)                                                                 \
                for (index x = LANE; x < length && total + x < SHORT; x += 32)                            \
                    some[(int)(total + x)] = (ulong)COLUMN_OF((index)least[w] + x);                       \
            total += length;                                                                              \
        }                                                                                                 \
    }
#else
#define EACH_ELEMENT(x) \
    for (index x = (index)row_begins[i * side] + ITEM; x < (index)row_begins[(i + 1) * side]; x += ITEMS)
#define COLUMN_OF(x) ((index)numbers[x] / side)
#define KEEP_SOME                                                              \
    do {                                                                       \
        index const begin = (index)row_begins[i * side];                       \
        total = (index)row_begins[(i + 1) * side] - begin;                     \
        for (index x = ITEM; x < total && x < SHORT; x += ITEMS)               \
            some[(int)x] = (ulong)COLUMN_OF(begin + x);                        \
    } while (0)
#endif

KERNEL(ITEMS) list_union(BUFFER(INDEX const, row_begins), BUFFER(INDEX const, numbers),
#if OF_PRODUCT
                         BUFFER(INDEX const, b_begins), BUFFER(INDEX const, b_numbers),
#else
                         index side,
#endif
#if LISTS
                         BUFFER(INDEX, begins), BUFFER(INDEX, columns),
#endif
                         BUFFER(index, counts), index lines, index across) {
    SHARED byte marks[ITEMS * (STRETCH + 4)];
    SHARED ulong least[ITEMS];
    SHARED int sums[ITEMS];
    SHARED ulong some[SHORT];
    SHARED byte is_first[SHORT];
    OPEN(INDEX const, row_begins);
    OPEN(INDEX const, numbers);
#if OF_PRODUCT
    OPEN(INDEX const, b_begins);
    OPEN(INDEX const, b_numbers);
#endif
#if LISTS
    OPEN(INDEX, begins);
    OPEN(INDEX, columns);
#endif
    OPEN(index, counts);
    for (index i = GROUP; i < lines; i += GROUPS) {
#if LISTS
        index to = counts[i];
        if (ITEM == 0) begins[i] = (INDEX)to;
#else
        index to = 0;
#endif
        index first = 0;
        /* In a wide matrix, columns may be so far apart that there is one mark at a time. */
        index total = across > 2 * MARKS ? 0 : SHORT + 1;
        if (total == 0) KEEP_SOME;
        BARRIER();
        if (total <= SHORT) {
            for (int s = ITEM; s < (int)total; s += ITEMS) {
                int w = 0;
                while (some[w] != some[s]) ++w;
                is_first[s] = w == s ? 1 : 0;
            }
            BARRIER();
            int all = 0;
            for (int s = 0; s < (int)total; ++s) all += is_first[s];
#if LISTS
            for (int s = ITEM; s < (int)total; s += ITEMS)
                if (is_first[s]) {
                    int lower = 0;
                    for (int w = 0; w < (int)total; ++w) lower += is_first[w] && some[w] < some[s] ? 1 : 0;
                    columns[to + lower] = (INDEX)some[s];
                }
#endif
            to += all;
            first = across;
            BARRIER();
        }
        while (first < across) {
            for (int w = 0; w < STRETCH + 4; ++w) marks[w * ITEMS + ITEM] = 0;
            BARRIER();
            index next = across;
            EACH_ELEMENT(x) {
                index const j = COLUMN_OF(x);
                if (j >= first + MARKS)
                    next = min(next, j);
                else if (j >= first)
                    marks[MARK_OF((int)(j - first))] = 1;
            }
            least[ITEM] = (ulong)next;
            BARRIER();
            int count = 0;
            for (int w = 0; w < STRETCH; ++w) count += marks[ITEM * (STRETCH + 4) + w];
            sums[ITEM] = count;
            BARRIER();
            int before = 0, all = 0;
            for (int w = 0; w < ITEMS; ++w) {
                if (w == ITEM) before = all;
                all += sums[w];
                next = min(next, (index)least[w]);
            }
#if LISTS
            index at = to + before;
            for (int w = 0; w < STRETCH; ++w)
                if (marks[ITEM * (STRETCH + 4) + w]) columns[at++] = (INDEX)(first + ITEM * STRETCH + w);
#endif
            to += all;
            first = next;
            BARRIER();
        }
#if LISTS
        if (ITEM == 0 && i == lines - 1) begins[lines] = (INDEX)to;
#else
        if (ITEM == 0) counts[i] = to;
        if (ITEM == 0 && i == lines - 1) counts[lines] = 0;
#endif
    }
}
)";

template <class Index>
device_kernel union_kernel(bool of_product, bool lists) {
    return {"list_union", union_text,
            std::string("#define OF_PRODUCT ") + (of_product ? "1" : "0") + "\n#define LISTS " +
                (lists ? "1" : "0") + "\n#define INDEX " + (sizeof(Index) == 8 ? "index\n" : "int\n"),
            128};
}
constexpr index_t groups_for_lines(index_t lines) { return lesser(lines, index_t{1} << 16); }

// Counts the columns of each line; counts[i] becomes the sum of the counts before line i. Returns the sum of all.
// `rows` are the arguments of the kernel that say which rows a line has. Waits for the device.
template <class Index, class Leaf, class Handle, class... Rows>
result<index_t> count_unions(Leaf const& leaf, bool of_product, Handle counts, index_t lines, index_t across,
                             Rows const&... rows) {
    if (lines == 0) return index_t{0};
    index_t all = 0;
    status s = leaf.launch(union_kernel<Index>(of_product, false), groups_for_lines(lines), rows..., counts,
                           lines, across);
    if (s) s = scan_numbers<index_t>(leaf, counts, lines + 1);
    if (s) s = leaf.download(counts + lines, &all, 1);
    if (!s) return result<index_t>(std::move(s));
    return all;
}
// Lists them; `begins` has room for lines + 1 numbers.
template <class Index, class Leaf, class Handle, class To, class... Rows>
status list_unions(Leaf const& leaf, bool of_product, Handle counts, To begins, To columns, index_t lines,
                   index_t across, Rows const&... rows) {
    if (lines == 0) {
        Index const zero = 0;
        return leaf.upload(&zero, begins, 1);
    }
    return leaf.launch(union_kernel<Index>(of_product, true), groups_for_lines(lines), rows..., begins,
                       columns, counts, lines, across);
}

STRATAGEMM_END
