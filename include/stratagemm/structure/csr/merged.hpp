// CSR times dense on a device, with the work divided by rows and elements together: kernels, and how they divide it.
//
// The rows' ends and the elements of A are one list of items: after the elements of a row comes its end. Segments of it
// have the same number of items, whatever the lengths of the rows: the merge path of Merrill and Garland ("Merge-based
// parallel sparse matrix-vector multiplication", 2016). A group finds the first row of its segments by a search in the
// row pointers, whose work-items try as many places at once. The host reads nothing and needs to know nothing but the
// number of elements.
//
// Segments that have a part of a row each leave a sum of it in workspace. A second kernel adds these sums in order and
// finishes the row.
//
// Few columns of C, or a B that is stored by columns (csr_merged_few): a group has a segment and its products in shared
// memory, and then the next one, before which it need not search. If its rows are of like lengths, neighbouring
// work-items share a row. Otherwise each work-item adds up a run of items; sums of rows that several have part in become
// one by a scan.
// More columns (csr_merged): LANES work-items have a segment of their own, and WIDE columns of C each. A row shorter
// than a segment is not cut: the segment in which it ends computes all of it. If the rows of the group's segments are of
// like lengths, its teams take one row after the other instead, because neighbouring rows often read the same of B.
//
// Shape, layout of B and number of elements determine the segments, and so the order in which the products of a row
// are added: the result is the same from run to run, and for any number of groups.
#pragma once

#include "../../device/product.hpp"
#include "arrays.hpp"
#include "columns_text.hpp"
#include "times_vector.hpp"

STRATAGEMM_BEGIN

// SEGMENT: items of a segment. SEGMENTS: of a group. AHEAD: elements of A that a work-item loads before it uses one;
// with few columns, all of its items. RESIDENT: for how many groups on a multiprocessor there are registers.
inline constexpr char csr_merged_text[] = R"(
#define SPAN (SEGMENTS * SEGMENT)
#define FAR (1 << 30) /* as an end of a row: behind all of the span's elements */

/* How many rows have ended before item `item`: in low. */
#define FIND_ROW(item)                                                                      \
    do {                                                                                    \
        if (ITEM == 0) low = 0, high = (int)min(rows, item);                                \
        for (;;) {                                                                          \
            BARRIER();                                                                      \
            int const left = low, right = high;                                             \
            if (left == right) break;                                                       \
            int const step = (right - left - 1) / ITEMS + 1;                                \
            int const at = left + min(ITEM * step, right - left);                           \
            bool const before = at < right && at + (index)begins[at + 1] < item;            \
            flags[ITEM] = before;                                                           \
            BARRIER();                                                                      \
            int const next = min(at + step, right);                                         \
            bool const next_before = next < right && ITEM + 1 < ITEMS && flags[ITEM + 1];   \
            if (before && !next_before) low = at + 1, high = next;                          \
            if (ITEM == 0 && !before) high = left;                                          \
        }                                                                                   \
    } while (0)

/* The ends of the span's rows, and of the one behind them. `low` is the number of rows that end in the span. */
#define LOAD_ENDS()                                                                                                \
    do {                                                                                                           \
        for (int base = 0, odd = 0;; base += ITEMS, odd = 1 - odd) {                                               \
            int const r = base + ITEM;                                                                             \
            int const end = row0 + r < rows ? (int)min((index)begins[row0 + r + 1] - element0, (index)FAR) : FAR;  \
            bool const here = r + end < length;                                                                    \
            if (r <= SPAN) ends[r] = end;                                                                          \
            if (ITEM == ITEMS - 1) more[odd] = here;                                                               \
            BARRIER();                                                                                             \
            if (more[odd]) continue;                                                                               \
            if (ITEM == 0 && !here) low = base;                                                                    \
            if (here && r + 1 + ends[r + 1] >= length) low = r + 1;                                                \
            break;                                                                                                 \
        }                                                                                                          \
        BARRIER();                                                                                                 \
    } while (0)

/* Of the rows that end within the span, counted from its first: how many end before item `item`, counted likewise. */
#define ROWS_BEFORE(to, item)                                  \
    do {                                                       \
        int left = max(0, item - elements), right = min(count, item); \
        while (left < right) {                                 \
            int const middle = (left + right) / 2;             \
            if (middle + ends[middle] < item)                  \
                left = middle + 1;                             \
            else                                               \
                right = middle;                                \
        }                                                      \
        to = left;                                             \
    } while (0)

/* What all work-items of a group know of it and of a span. `ends` counts elements from the span's first one on. */
#define OPEN_GROUP(first_span)                                                          \
    index const nonzeros = (index)begins[rows], items = rows + nonzeros;                \
    index from = (first_span) * SPAN;                                                   \
    if (from >= items) return; /* the whole group */                                    \
    FIND_ROW(from);                                                                     \
    index row0 = low
#define OPEN_SPAN()                                                                     \
    index const element0 = from - row0;                                                 \
    int const length = (int)min((index)SPAN, items - from);                             \
    int const begin0 = row0 < rows ? (int)max((index)begins[row0] - element0, -(index)FAR) : 0; \
    LOAD_ENDS();                                                                        \
    int const count = low, elements = length - count

#define KEEP_SUM(w, member) \
    if (j + w < cols) STORE(SUM, carries, slot * cols + j + w, CONVERT(SUM, (value)sum[w]));
/* `adds` is known when this is compiled. */
#if STORES && !ADDS
#define FINISH_SUMS()                                        \
    do {                                                     \
        some_of_b scaled;                                    \
        EACH_COLUMN(SCALE_SUM)                               \
        STORE_VECTOR(OUT, WIDE, c, row * c_row + j, scaled); \
    } while (0)
#else
#define FINISH_SUMS()           \
    do {                        \
        int const adds = ADDS;  \
        EACH_COLUMN(FINISH_SUM) \
    } while (0)
#endif

#if FEW
#define LINES (SPAN + SPAN / 32) /* one more behind each 32, so that rows of like lengths do not meet in a bank */
#define SHOW_PRODUCT(w, member) products[(w)*LINES + to + to / 32] = PRODUCT_OF(member);
#if ONES
#define PRODUCT_OF(member) some member
#else
#define PRODUCT_OF(member) times(of_a[u], some member)
#endif
#define ADD_PRODUCT(w, member) sum[w] = sum[w] + products[(w)*LINES + at + at / 32];
#define ADD_NEIGHBOUR(w, member) sum[w] = sum[w] + SHUFFLE(sum[w], LANE ^ step);
#define SHOW_ROW(w, member) row_sums[(w)*SPAN + r] = sum[w];
#define ADD_TO_ROW(w, member) sum[w] = other[w] + row_sums[(w)*SPAN + first_r];
#define SHOW_FIRST(w, member) row_sums[(w)*SPAN + first_r] = sum[w];
#define TAKE_ROW(w, member) sum[w] = row_sums[(w)*SPAN + r];
#define NO_OTHER(w, member) other[w] = ZERO;
#define ADD_OTHER(w, member) sum[w] = other[w] + sum[w];

/* The sum of each work-item's last, unfinished row, with those of the work-items before it that have the same: in `sum`.
   `other` gets the sum of the work-item before this one. `whole`: the row began here. */
#if SHUFFLES && !COMPLEX
#define TAKE_NEIGHBOUR(w, member) other[w] = SHUFFLE(sum[w], (LANE - step) & 31);
#define SHOW_LAST(w, member) products[(w)*ITEMS + WARP] = sum[w];
#define ADD_WARP(w, member) other[w] = flags[v] ? products[(w)*ITEMS + v] : other[w] + products[(w)*ITEMS + v];
#define TAKE_BEFORE(w, member)                                     \
    {                                                              \
        scalar const before = SHUFFLE(sum[w], (LANE - 1) & 31);    \
        if (LANE > 0) other[w] = before;                           \
    }
#define SCAN()                                                          \
    do {                                                                \
        for (int step = 1; step < 32; step *= 2) {                      \
            EACH_COLUMN(TAKE_NEIGHBOUR)                                 \
            int const other_whole = SHUFFLE((int)whole, (LANE - step) & 31); \
            if (LANE >= step && !whole) {                               \
                EACH_COLUMN(ADD_OTHER)                                  \
                whole = other_whole;                                    \
            }                                                           \
        }                                                               \
        BARRIER();                                                      \
        if (LANE == 31) {                                               \
            EACH_COLUMN(SHOW_LAST)                                      \
            flags[WARP] = whole;                                        \
        }                                                               \
        BARRIER();                                                      \
        EACH_COLUMN(NO_OTHER)                                           \
        for (int v = 0; v < WARP; ++v) { EACH_COLUMN(ADD_WARP) }        \
        if (!whole) { EACH_COLUMN(ADD_OTHER) }                          \
        EACH_COLUMN(TAKE_BEFORE)                                        \
    } while (0)
#else
#define SHOW_TAIL(w, member) products[(shown * WIDE + w) * ITEMS + ITEM] = sum[w];
#define TAKE_OTHER(w, member) other[w] = products[(shown * WIDE + w) * ITEMS + ITEM - step];
#define SCAN()                                                          \
    do {                                                                \
        int shown = 0;                                                  \
        BARRIER();                                                      \
        EACH_COLUMN(SHOW_TAIL)                                          \
        flags[ITEM] = whole;                                            \
        for (int step = 1; step < ITEMS; step *= 2) {                   \
            BARRIER();                                                  \
            if (!whole && ITEM >= step) {                               \
                EACH_COLUMN(TAKE_OTHER)                                 \
                EACH_COLUMN(ADD_OTHER)                                  \
                whole = flags[shown * ITEMS + ITEM - step];             \
            }                                                           \
            shown = 1 - shown;                                          \
            EACH_COLUMN(SHOW_TAIL)                                      \
            flags[shown * ITEMS + ITEM] = whole;                        \
        }                                                               \
        BARRIER();                                                      \
        int const step = 1;                                             \
        if (ITEM > 0) { EACH_COLUMN(TAKE_OTHER) }                       \
    } while (0)
#endif

/* Where the span's elements are in B. There are no more than items of A. */
#define LOAD_COLUMNS(element0, most)                                                                    \
    for (int u = 0; u < AHEAD; ++u)                                                                     \
        if (ITEM + u * ITEMS < (most)) row_of[u] = columns[(element0) + ITEM + u * ITEMS]
#define MOST_ELEMENTS(from, element0) (int)min(min((index)SPAN, items - (from)), nonzeros - (element0))

KERNEL_AT_ONCE(ITEMS, RESIDENT)
csr_merged_few(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), OF_VALUES(BUFFER(IN const, values))
               MATRIX(IN const, b), int b_conjugated, BUFFER(int, first_rows), BUFFER(SUM, carries), int groups,
               int spans, PRODUCT) {
    SHARED scalar products[WIDE * LINES];
    SHARED scalar row_sums[WIDE * SPAN];
    SHARED int ends[SPAN + 1];
    SHARED int flags[2 * ITEMS];
    SHARED int more[2];
    SHARED int low;
    SHARED int high;
    SHARED int any_long;
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
#if !ONES
    OPEN(IN const, values);
#endif
    OPEN(IN const, b);
    OPEN(int, first_rows);
    OPEN(SUM, carries);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    index const j = (index)(GROUP / groups) * WIDE;
    /* The group takes `spans` spans, one after the other, and searches for the first row of the first. */
    index const first_span = (index)(GROUP % groups) * spans;
    OPEN_GROUP(first_span);
    index const past_items = min(from + (index)spans * SPAN, items);
    INDEX row_of[AHEAD];
    LOAD_COLUMNS(from - row0, MOST_ELEMENTS(from, from - row0));
#pragma unroll 1
    for (index segment = first_span; from < past_items; ++segment) {
    OPEN_SPAN();
    if (ITEM == 0 && j == 0) first_rows[segment] = (int)row0;
        bool const begun_before = begin0 < 0;
        /* Neighbouring work-items share a row, if no row of the span is much longer than others. `most`: elements of such
           a row. */
        int shift = 0;
        while (SHUFFLES && !COMPLEX && shift < 5 && (2 << shift) * (count + 1) <= ITEMS) ++shift;
        int const of_row = 1 << shift, most = (EVEN * AHEAD / ((count << shift) / ITEMS + 1)) << shift;
        bool is_long = false;
        for (int q = ITEM; q <= count; q += ITEMS)
            is_long = is_long || min(ends[q], elements) - (q == 0 ? 0 : ends[q - 1]) > most;
        ANY(any_long, is_long);
    {
        some_of_b y[AHEAD];
#if !ONES
        scalar of_a[AHEAD];
#endif
        for (int u = 0; u < AHEAD; ++u)
            if (ITEM + u * ITEMS < elements) { LOAD_OF_A(u, element0 + ITEM + u * ITEMS); }
        for (int u = 0; u < AHEAD; ++u)
            if (ITEM + u * ITEMS < elements) LOAD_SOME(y[u], row_of[u]);
        for (int u = 0; u < AHEAD; ++u) {
            int const to = ITEM + u * ITEMS;
            if (to < elements) {
                some_of_b const some = y[u];
                EACH_COLUMN(SHOW_PRODUCT)
            }
        }
    }
    /* Those of the next span are on their way while the products of this one are added. */
    from += length;
    if (from < past_items) LOAD_COLUMNS(element0 + elements, MOST_ELEMENTS(from, element0 + elements));
    BARRIER();
        if (!any_long) {
            for (int first_q = 0; first_q <= count; first_q += ITEMS >> shift) {
                int const q = first_q + (ITEM >> shift);
                scalar sum[WIDE];
                EACH_COLUMN(BEGIN_SUM)
                if (q <= count) {
                    int const past = min(ends[q], elements);
                    for (int at = (q == 0 ? 0 : ends[q - 1]) + (ITEM & (of_row - 1)); at < past; at += of_row) {
                        EACH_COLUMN(ADD_PRODUCT)
                    }
                }
#if SHUFFLES && !COMPLEX
                for (int step = 1; step < of_row; step *= 2) { EACH_COLUMN(ADD_NEIGHBOUR) }
#endif
                if (q <= count && (ITEM & (of_row - 1)) == 0) {
                    bool const is_head = q == 0 && begun_before;
                    if (is_head || q == count) {
                        index const slot = 2 * segment + (is_head ? 0 : 1);
                        EACH_COLUMN(KEEP_SUM)
                    } else {
                        index const row = row0 + q;
                        FINISH_SUMS();
                    }
                }
            }
            row0 += count;
            BARRIER();
            continue;
        }


    /* The items of this work-item. The first row that ends here may have begun before. */
    int const first = min(ITEM * AHEAD, length), last = min(first + AHEAD, length);
    int r;
    ROWS_BEFORE(r, first);
    int const first_r = r;
    scalar sum[WIDE], other[WIDE];
    EACH_COLUMN(BEGIN_SUM)
    int at = first - r, end = ends[r];
#pragma unroll 1
    for (int item = first; item < last; ++item) {
        if (at < end) {
            EACH_COLUMN(ADD_PRODUCT)
            ++at;
        } else {
            EACH_COLUMN(SHOW_ROW)
            EACH_COLUMN(BEGIN_SUM)
            end = ends[++r];
        }
    }
    bool const ended = r > first_r;
    bool whole = ended;
    SCAN();
    if (ITEM == ITEMS - 1) {
        index const slot = 2 * segment + (count == 0 && begun_before ? 0 : 1);
        EACH_COLUMN(KEEP_SUM)
    }
    if (ended && ITEM > 0) {
        EACH_COLUMN(ADD_TO_ROW)
        EACH_COLUMN(SHOW_FIRST)
    }
    BARRIER();
    for (r = ITEM; r < count; r += ITEMS) {
        EACH_COLUMN(TAKE_ROW)
        if (r == 0 && begun_before) {
            index const slot = 2 * segment;
            EACH_COLUMN(KEEP_SUM)
        } else {
            index const row = row0 + r;
            FINISH_SUMS();
        }
    }
    row0 += count;
    }
}
#else

/* Ends row r, whose sum is there: into C, or, if other segments have parts of it, into workspace. */
#define END_ROW()                       \
    do {                                \
        index const row = row0 + r;     \
        if (cut) {                      \
            EACH_COLUMN(KEEP_SUM)       \
        } else {                        \
            FINISH_SUMS();              \
        }                               \
        EACH_COLUMN(BEGIN_SUM)          \
        cut = false, ++r, end = ends[r]; \
    } while (0)

KERNEL_AT_ONCE(ITEMS, RESIDENT)
csr_merged(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), OF_VALUES(BUFFER(IN const, values))
           MATRIX(IN const, b), int b_conjugated, BUFFER(int, first_rows), BUFFER(SUM, carries), int groups,
           PRODUCT) {
    SHARED int ends[SPAN + 1];
    SHARED int flags[ITEMS];
    SHARED int more[2];
    SHARED int low;
    SHARED int high;
    SHARED int any_long;
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
#if !ONES
    OPEN(IN const, values);
#endif
    OPEN(IN const, b);
    OPEN(int, first_rows);
    OPEN(SUM, carries);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    int const team = ITEM / LANES;
    index const j = (index)(GROUP / groups) * (LANES * WIDE) + ITEM % LANES * WIDE;
    matrix_b const all_of_b = {b, b_row, b_col, cols, b_conjugated};
    index const slot = (index)(GROUP % groups) * SEGMENTS + team;
    OPEN_GROUP(GROUP % groups);
    OPEN_SPAN();
    int const first = min(team * SEGMENT, length), last = min(first + SEGMENT, length);
    int r, past_r;
    ROWS_BEFORE(r, first);
    if (first < last && j == 0) first_rows[slot] = (int)row0 + r;

    /* Teams share rows, of which neighbours have columns in common, if the longest is short enough for that: an element
       of a row by itself takes half the time of an item. No segment has a part of such a row. */
    int const rounds = (count - 1) / SEGMENTS + 1, most = min(SEGMENT - 1, EVEN * SEGMENT / max(rounds, 1));
    bool is_long = false;
    for (int q = ITEM; q <= count; q += ITEMS) {
        int const begin = q == 0 ? begin0 : ends[q - 1];
        is_long = is_long || (row0 + q < rows && begin < elements && ends[q] - begin > most);
    }
    ANY(any_long, is_long);
    if (!any_long) {
        if (j < cols)
            for (int q = team; q < count; q += SEGMENTS) {
                scalar sum[WIDE];
                EACH_COLUMN(BEGIN_SUM)
                index const row = row0 + q;
                add_part(sum, columns, OF_VALUES(values) all_of_b, j, element0 + (q == 0 ? begin0 : ends[q - 1]),
                         element0 + ends[q], 1);
                FINISH_SUMS();
            }
    } else if (first < last && j < cols) {
        ROWS_BEFORE(past_r, last);

        /* A row that began in the segment before this one is here from its beginning on; one that begins here and ends
           in a later segment is left to that. `cut`: others have parts of the first row. */
        int const begin = r == 0 ? begin0 : ends[r - 1];
        bool cut = begin + r < first - SEGMENT;
        bool const leaves_last = past_r > r || begin + r == first;
        int at = cut ? first - r : begin;
        int const stop = past_r > r ? ends[past_r - 1] : leaves_last ? at : last - past_r;
        int end = ends[r];
        scalar sum[WIDE];
        EACH_COLUMN(BEGIN_SUM)
        INDEX row_of[AHEAD];
        GLOBAL INDEX const *const columns_here = columns + element0;
        for (int u = 0; u < AHEAD; ++u)
            if (at + u < stop) row_of[u] = columns_here[at + u];
        for (; at < stop; at += AHEAD) {
            some_of_b y[AHEAD];
#if !ONES
            scalar of_a[AHEAD];
#endif
            for (int u = 0; u < AHEAD; ++u)
                if (at + u < stop) LOAD_SOME(y[u], row_of[u]);
            for (int u = 0; u < AHEAD; ++u)
                if (at + u < stop) { LOAD_OF_A(u, element0 + at + u); }
            for (int u = 0; u < AHEAD; ++u)
                if (at + AHEAD + u < stop) row_of[u] = columns_here[at + AHEAD + u];
            for (int u = 0; u < AHEAD; ++u)
                if (at + u < stop) {
                    while (at + u == end) END_ROW();
                    some_of_b const some = y[u];
                    EACH_COLUMN(ADD_TO_SUM)
                }
        }
        while (r < past_r) END_ROW();
        if (!leaves_last) { EACH_COLUMN(KEEP_SUM) }
    }
}
#endif
)";
inline constexpr joined_text csr_merged_texts{csr_columns_text, csr_merged_text};

// Adds up sums of parts of rows. PIECES: row number s of `cut_rows` has the sums first_sums[s] to first_sums[s + 1].
// Otherwise it is what segments left of rows that they have parts of. Row i has the items i + begins[i] to i + begins[i + 1];
// the row is of the work-items at the first boundary of segments behind its first item. FEW: segment s has the sum of a
// row that began before in slot 2 s, and that of its last row in 2 s + 1. Otherwise the sum is in slot s, and a row
// within two neighbours has none.
inline constexpr char csr_carries_text[] = R"(
#define PARTS (ITEMS / ACROSS)
#define LONG 8 /* more sums than this are added up by the whole group */

KERNEL(ITEMS)
#if PIECES
csr_sums_of_carries(BUFFER(int const, cut_rows), BUFFER(int const, first_sums), BUFFER(SUM const, carries),
                    index count, PRODUCT) {
#else
csr_sums_of_carries(BUFFER(INDEX const, begins), BUFFER(int const, first_rows), BUFFER(SUM const, carries),
                    index segments, PRODUCT) {
#endif
    SHARED scalar part[ITEMS];
    SHARED int any_long;
#if PIECES
    OPEN(int const, cut_rows);
    OPEN(int const, first_sums);
#else
    OPEN(INDEX const, begins);
    OPEN(int const, first_rows);
    index const items = rows + (index)begins[rows], count = segments - 1;
#endif
    OPEN(SUM const, carries);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    int const down = (int)((count - 1) / BOUNDARIES + 1), of_unit = ITEMS / BOUNDARIES;
    index const j = (index)(GROUP / down) * ACROSS + ITEM % ACROSS;
    for (int whole = -1; whole < BOUNDARIES; ++whole) {
        bool const alone = whole >= 0;
        index s = (index)(GROUP % down) * BOUNDARIES + (alone ? whole : ITEM / of_unit);
        index row = 0, sums = 0;
#if PIECES
        if (s < count) {
            row = cut_rows[s], sums = first_sums[s + 1] - first_sums[s];
            s = first_sums[s];
        }
#else
        ++s;
        if (s < segments && s * SEGMENT < items) {
            row = first_rows[s];
            index const segment = (row + (index)begins[row]) / SEGMENT, last = (row + (index)begins[row + 1]) / SEGMENT;
            if (segment == s - 1 && (FEW || last > s)) sums = last - segment;
        }
#endif
        bool const is_long = sums > LONG;
        if (alone && !is_long) continue;
        bool const is_mine = sums > 0 && is_long == alone && j < cols && (alone || ITEM % of_unit < ACROSS);
        int const step = alone ? PARTS : 1, first = alone ? ITEM / ACROSS : 0;
        scalar sum = ZERO;
        if (is_mine) {
#if FEW
            if (first == 0) sum = LOAD(SUM, carries, (2 * s - 1) * cols + j);
#endif
#pragma unroll 4
            for (index q = first; q < sums; q += step) sum = sum + LOAD(SUM, carries, (1 + FEW) * (s + q) * cols + j);
        }
        if (!alone) {
            ANY(any_long, is_long);
        } else {
            part[ITEM] = sum;
            for (int others = PARTS / 2; others > 0; others /= 2) {
                BARRIER();
                if (first < others) part[ITEM] = part[ITEM] + part[ITEM + others * ACROSS];
            }
            BARRIER();
            sum = part[ITEM];
            BARRIER();
        }
        if (is_mine && first == 0) FINISH_ELEMENT(row, j, sum);
        if (!any_long) break;
    }
}
)";

// How the kernels divide the work of a product.
struct csr_merged_work {
    static constexpr int items = 128;
    int wide = 1, lanes = 1;
    bool vectors = false, few = false;
    int segment = 0; // items of A: elements and ends of rows
    int ahead = 1;   // elements of A that a work-item loads before it uses the first
    int even = 2;  // elements of a row by itself take as long as an item of a segment: on an H200, about two
    int spans = 0; // that a group with few columns takes one after the other; 0: until all groups run at once

    int segments_of_group() const { return few ? 1 : items / lanes; }
    index_t segments(index_t m, index_t nonzeros) const { return (m + nonzeros - 1) / segment + 1; }
    // Spans of segments, and how many groups share those of some columns of C.
    index_t all_spans(index_t m, index_t nonzeros) const {
        return (segments(m, nonzeros) - 1) / segments_of_group() + 1;
    }
    index_t across(index_t n) const { return (n - 1) / (lanes * wide) + 1; }
    // Spans for each group, if `at_once` groups run at once. The search for the first row takes as long as one or two
    // spans of few columns.
    index_t spans_of_group(index_t m, index_t n, index_t nonzeros, index_t at_once) const {
        return !few ? 1 : spans > 0 ? spans : (all_spans(m, nonzeros) * across(n) - 1) / at_once + 1;
    }
    // Sums that segments may leave in workspace, of each column.
    index_t sums(index_t m, index_t nonzeros) const { return segments(m, nonzeros) * (few ? 2 : 1); }
    std::string describe() const {
        return (few ? std::to_string(wide) + " columns of C by groups"
                    : std::to_string(lanes) + " x " + std::to_string(wide) + " columns of C") +
               ", " + std::to_string(segment) + " elements and ends of rows of A at once";
    }
};

// Items of A that a work-item of csr_merged_few has: an odd number, so that neighbours read different banks of shared
// memory, for as many products as 12 KiB hold; the sums of rows take as much.
constexpr int csr_merged_share(std::size_t bytes_of_sum, int wide) {
    auto const fitting = static_cast<int>((12 << 10) / (csr_merged_work::items * bytes_of_sum)) / wide;
    return fitting >= 11 ? 11 : fitting >= 3 ? (fitting - 1) / 2 * 2 + 1 : 3;
}
// How to divide a product with A m x k and C m x n. `vector` is what vector_of() gives for B.
template <class Sum>
csr_merged_work choose_csr_merged(index_t m, index_t n, index_t nonzeros, int vector) {
    constexpr index_t enough = 131072; // work-items that keep a large device busy
    csr_merged_work x;
    x.few = vector == 0 || n <= 4;
    x.vectors = vector > 1;
    if (x.few) {
        x.wide = vector > 1 ? vector : n > 2 ? 4 : static_cast<int>(n);
        x.ahead = csr_merged_share(sizeof(Sum), x.wide);
        x.segment = csr_merged_work::items * x.ahead;
        return x;
    }
    x.wide = vector, x.ahead = vector > 1 ? 4 : 8;
    while (x.lanes < 32 && x.lanes * x.wide < n) x.lanes *= 2;
    index_t const across = ((n - 1) / (x.lanes * x.wide) + 1) * x.lanes;
    // On an H200 longer segments were slower in products with N from 16 on, and those of 64 where they are shorter than
    // most rows, which then have sums in several of them.
    int const most = static_cast<int>(lesser(256, 2048 / x.segments_of_group()));
    x.segment = 32;
    while (x.segment < most &&
           (x.segment < nonzeros / m || (m + nonzeros) / (2 * x.segment) * across >= enough))
        x.segment *= 2;
    return x;
}
// Bytes of workspace that multiply_csr_merged() takes for C m x n, whatever the layout of B.
template <class Arena, class T>
std::size_t bytes_for_merging(index_t m, index_t n, index_t nonzeros) {
    using Sum = accumulator_t<T>;
    std::size_t most = 0;
    if (m == 0 || n == 0) return 0;
    for (int const vector : {0, 1, 2, 4}) {
        csr_merged_work const x = choose_csr_merged<Sum>(m, n, nonzeros, vector);
        std::size_t const bytes =
            Arena::rounded(static_cast<std::size_t>(x.segments(m, nonzeros)) * sizeof(std::int32_t)) +
            Arena::rounded(static_cast<std::size_t>(x.sums(m, nonzeros) * n) * sizeof(Sum));
        if (bytes > most) most = bytes;
    }
    return most;
}

// For how many groups on a multiprocessor there are registers: in eights, for sums, for elements of A and rows of B
// that are on their way, and for `others`.
template <class In, class Index>
constexpr int csr_resident(int wide, int ahead, int others) {
    constexpr int words = sizeof(accumulator_t<In>) / 4, of_index = sizeof(Index) / 4, all = 512;
    int const registers = (others + words * wide + ahead * (words * (wide + 1) + of_index) + 7) / 8 * 8;
    return registers > all / 2 ? 2 : all / registers;
}

// `adds`: whether beta is not 0.
template <class In, class Index>
constexpr int csr_merged_resident(csr_merged_work const& x, bool adds) {
    int const longer = sizeof(Index) == 8 ? 16 : 0;
    int const narrow = sizeof(In) > 4 && !adds ? 36 : 40,
              few = (x.wide > 1 ? 52 : narrow) + (adds ? 8 : 0) + longer;
    return csr_resident<In, Index>(x.wide, x.ahead, x.few ? few : adds ? 60 : 44);
}
// For how many groups there are registers on the whole device: on one of unknown size, on about 128 multiprocessors.
template <class In, class Index, class Space, class Leaf>
index_t csr_merged_at_once(Leaf const& leaf, csr_merged_work const& x, bool adds) {
    index_t units = 128;
    if constexpr (warpgroup_leaf<Leaf, Space>)
        if (leaf.warpgroup_units() > 0) units = leaf.warpgroup_units();
    return units * csr_merged_resident<In, Index>(x, adds);
}
template <class In, class Out, class Index>
device_kernel csr_merged_kernel(csr_merged_work const& x, bool stores, bool ones, bool adds) {
    auto const define = [](char const* name, int value) {
        return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
    };
    std::string const definitions =
        define("WIDE", x.wide) + define("LANES", x.lanes) + define("VECTORS", x.vectors) +
        define("STORES", stores) + define("ONES", ones) + define("FEW", x.few) + define("ADDS", adds) +
        define("SEGMENT", x.segment) + define("SEGMENTS", x.segments_of_group()) + define("EVEN", x.even) +
        define("AHEAD", x.ahead) + define("RESIDENT", csr_merged_resident<In, Index>(x, adds));
    return {x.few ? "csr_merged_few" : "csr_merged",
            csr_merged_texts.at,
            definitions,
            x.items,
            uses_double<In, Out>,
            false,
            csr_types<In, Out, Index>};
}
// Boundaries of segments that a group of csr_sums_of_carries has, and columns of C.
inline constexpr int csr_boundaries = 16;
constexpr int csr_carries_across(index_t n) { return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1; }
template <class In, class Out, class Index>
device_kernel csr_carries_kernel(int segment, bool few, index_t n, bool pieces = false) {
    constexpr int items = csr_merged_work::items;
    auto const define = [](char const* name, int value) {
        return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
    };
    std::string const definitions = define("FEW", few) + define("SEGMENT", segment) +
                                    define("PIECES", pieces) + define("ACROSS", csr_carries_across(n)) +
                                    define("BOUNDARIES", csr_boundaries);
    return {"csr_sums_of_carries",    csr_carries_text, definitions, items, uses_double<In, Out>, false,
            csr_types<In, Out, Index>};
}
// Finishes rows of which there are sums of parts: at `count` boundaries of segments, or so many rows in pieces. `lists`
// are the first two arguments of the kernel, `number` is the fourth.
template <class Leaf, class Q, class First, class Second, class Sums>
status add_csr_carries(Leaf const& leaf, Q const& p, device_kernel const& kernel, index_t count, First first,
                       Second second, Sums carries, index_t number) {
    if (count == 0) return {};
    index_t const m = p.c.rows, n = p.c.cols, across = csr_carries_across(n);
    auto const e = added_or_c(p);
    return leaf.launch(kernel, ((count - 1) / csr_boundaries + 1) * ((n - 1) / across + 1), first, second,
                       carries, number, p.alpha, p.beta, int{p.beta != typename Q::scalar(0)}, e,
                       int{e.conjugate}, p.c, m, n);
}

// C = alpha A B + beta E, without the epilogue. `c_vector` is what vector_of() gives for C.
template <class Leaf, class Q, class Arena>
status multiply_csr_merged(Leaf const& leaf, Q const& p, csr_merged_work const& x, int c_vector,
                           Arena& memory) {
    using In = typename Q::a_type;
    using Out = typename Q::c_type;
    using Sum = accumulator_t<In>;
    using Index = typename Q::a_operand::index_type;
    constexpr bool valued = has_values<typename Q::a_operand>;
    auto const& a = p.a;
    index_t const m = p.c.rows, n = p.c.cols, segments = x.segments(m, a.nonzeros);
    typename Arena::scope const scope(memory);
    auto const first_rows = memory.template take<std::int32_t>(segments);
    auto const carries = memory.template take<Sum>(x.sums(m, a.nonzeros) * n);
    bool const stores = x.vectors && std::is_same_v<In, Out> && c_vector == x.wide;
    auto const e = added_or_c(p);
    int const adds = p.beta != typename Q::scalar(0);
    using space = typename std::remove_cvref_t<decltype(p.b)>::space;
    index_t const spans = x.spans_of_group(m, n, a.nonzeros,
                                           csr_merged_at_once<In, Index, space>(leaf, x, adds != 0)),
                  groups = (x.all_spans(m, a.nonzeros) - 1) / spans + 1;
    auto const launch = [&](auto const&... division) {
        auto const with = [&](auto const&... values) {
            return leaf.launch(csr_merged_kernel<In, Out, Index>(x, stores, !valued, adds != 0),
                               groups * x.across(n), a.row_begins, a.columns, values..., p.b,
                               int{p.b.conjugate}, first_rows, carries, division..., p.alpha, p.beta, adds, e,
                               int{e.conjugate}, p.c, m, n);
        };
        if constexpr (valued)
            return with(a.values);
        else
            return with();
    };
    int const down = static_cast<int>(groups);
    status s = x.few ? launch(down, static_cast<int>(spans)) : launch(down);
    if (!s) return s;
    return add_csr_carries(leaf, p, csr_carries_kernel<In, Out, Index>(x.segment, x.few, n), segments - 1,
                           a.row_begins, first_rows, carries, segments);
}

STRATAGEMM_END
