// Sorts the elements of a sparse matrix by rows or by columns, on the host or on a device: the sort is stable and
// has no atomics, so the result does not depend on threads. Transposing a matrix by rows is sorting by columns.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "arrays.hpp"
#include "sum_of_group.hpp"

STRATAGEMM_BEGIN

// ---- on the host ------------------------------------------------------------------------------------------

// Element `at` goes to place(at, to). That place is behind all elements with a lower key, and behind those with the
// same key that are before it. begins[key] becomes the first place of that key; `begins` has room for keys + 1 numbers.
template <class Index, class Place>
void sort_stably(Index const* key_of, index_t count, index_t keys, Index* begins, Place&& place) {
    for (index_t key = 0; key <= keys; ++key) begins[key] = 0;
    for (index_t at = 0; at < count; ++at) ++begins[key_of[at]];
    // From counts to where each key ends; each element then moves that down.
    Index sum = 0;
    for (index_t key = 0; key <= keys; ++key) sum = begins[key] = static_cast<Index>(sum + begins[key]);
    for (index_t at = count; at-- > 0;) place(at, --begins[key_of[at]]);
}

// ---- on a device ------------------------------------------------------------------------------------------

// A radix sort of the numbers of the elements, four bits of the key at a time. A group has `span` elements. It counts
// each digit; a scan over digits and then groups says where they go; and the group moves its elements there, tile
// by tile and in order. BY_LINES: the elements are those of a matrix by rows, whose number is the last of
// line_begins; elements behind them get the key `keys`. Otherwise the payload is `others`.
inline constexpr char sort_text[] = R"(
#define DIGITS 16
#define STRETCH 8
#if BY_LINES
#define COUNT_OF_ELEMENTS (index)others[lines]
#else
#define COUNT_OF_ELEMENTS most
#endif
#define KEY(p) ((p) < count ? (index)key_of[p] : keys)
#define DIGIT(p) ((int)(KEY(p) >> shift) & (DIGITS - 1))
#define SORTED BUFFER(INDEX const, key_of), BUFFER(INDEX const, others), index lines, index keys, index most

KERNEL(ITEMS) count_digits(SORTED, BUFFER(int const, from), int first_pass, BUFFER(int, counts), int shift,
                           index span) {
    SHARED int own[DIGITS * ITEMS];
    OPEN(INDEX const, key_of);
    OPEN(INDEX const, others);
    OPEN(int const, from);
    OPEN(int, counts);
    index const count = COUNT_OF_ELEMENTS, begin = GROUP * span, end = min(begin + span, most);
    for (int d = 0; d < DIGITS; ++d) own[d * ITEMS + ITEM] = 0;
    for (index at = begin + ITEM; at < end; at += ITEMS) {
        index const p = first_pass ? at : (index)from[at];
        own[DIGIT(p) * ITEMS + ITEM] += 1;
    }
    BARRIER();
    if (ITEM < DIGITS) {
        int sum = 0;
        for (int w = 0; w < ITEMS; ++w) sum += own[ITEM * ITEMS + w];
        counts[(index)ITEM * GROUPS + GROUP] = sum;
    }
}

KERNEL(ITEMS) place_digits(SORTED, BUFFER(int const, from), int first_pass, BUFFER(int, to), BUFFER(int const, counts),
                           int shift, index span) {
    SHARED int own[DIGITS * ITEMS];
    SHARED int sums[ITEMS];
    SHARED int next[DIGITS];
    SHARED int total[DIGITS];
    OPEN(INDEX const, key_of);
    OPEN(INDEX const, others);
    OPEN(int const, from);
    OPEN(int, to);
    OPEN(int const, counts);
    index const count = COUNT_OF_ELEMENTS, begin = GROUP * span, end = min(begin + span, most);
    if (ITEM < DIGITS) next[ITEM] = counts[(index)ITEM * GROUPS + GROUP];
    for (index first = begin; first < end; first += ITEMS * STRETCH) {
        int number[STRETCH], digit[STRETCH];
        BARRIER();
        for (int d = 0; d < DIGITS; ++d) own[d * ITEMS + ITEM] = 0;
        for (int u = 0; u < STRETCH; ++u) {
            index const at = first + ITEM * STRETCH + u;
            digit[u] = -1, number[u] = 0;
            if (at < end) {
                number[u] = first_pass ? (int)at : from[at];
                digit[u] = DIGIT(number[u]);
                own[digit[u] * ITEMS + ITEM] += 1;
            }
        }
        BARRIER();
        /* How many of each digit the work-items before have: one work-item adds up those of ITEMS / DIGITS. */
        int const stretch = ITEMS * DIGITS / ITEMS, of = ITEM / (ITEMS / DIGITS), part = ITEM % (ITEMS / DIGITS);
        int mine = 0;
        for (int w = 0; w < stretch; ++w) mine += own[of * ITEMS + part * stretch + w];
        sums[ITEM] = mine;
        BARRIER();
        int before = 0;
        for (int w = 0; w < part; ++w) before += sums[ITEM - part + w];
        for (int w = 0; w < stretch; ++w) {
            int const one = own[of * ITEMS + part * stretch + w];
            own[of * ITEMS + part * stretch + w] = before;
            before += one;
        }
        if (part == ITEMS / DIGITS - 1) total[of] = before;
        BARRIER();
        for (int u = 0; u < STRETCH; ++u)
            if (digit[u] >= 0) {
                int const place = own[digit[u] * ITEMS + ITEM];
                own[digit[u] * ITEMS + ITEM] = place + 1;
                to[next[digit[u]] + place] = number[u];
            }
        BARRIER();
        if (ITEM < DIGITS) next[ITEM] += total[ITEM];
    }
}

KERNEL(ITEMS) list_sorted(SORTED, BUFFER(int const, sorted), BUFFER(INDEX, begins), BUFFER(INDEX, columns)
#if VALUES
                          , BUFFER(IN const, from_values), BUFFER(IN, values)
#endif
                          ) {
    OPEN(INDEX const, key_of);
    OPEN(INDEX const, others);
    OPEN(int const, sorted);
    OPEN(INDEX, begins);
    OPEN(INDEX, columns);
#if VALUES
    OPEN(IN const, from_values);
    OPEN(IN, values);
#endif
    index const count = COUNT_OF_ELEMENTS;
    for (EACH(at, most)) {
        index const p = (index)sorted[at];
        if (p < count) {
#if BY_LINES
            index low = 0, high = lines; /* others[low] <= p < others[high] */
            while (high - low > 1) {
                index const middle = (low + high) / 2;
                if ((index)others[middle] <= p)
                    low = middle;
                else
                    high = middle;
            }
            columns[at] = (INDEX)low;
#else
            columns[at] = others[p];
#endif
#if VALUES
            scalar const element = LOAD(IN, from_values, p);
            STORE(IN, values, at, CONVERT(OUT_VALUE, (value)element));
#endif
        }
    }
    for (EACH(key, keys + 1)) {
        index low = 0, high = most; /* the first whose key is not less */
        while (low < high) {
            index const middle = (low + high) / 2;
            if (KEY((index)sorted[middle]) < key)
                low = middle + 1;
            else
                high = middle;
        }
        begins[key] = (INDEX)low;
    }
}
)";

// A work-item writes a row, so that elements of one place add up in order.
inline constexpr char dense_text[] = R"(
KERNEL(ITEMS) write_dense(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                          MATRIX(IN, c), index rows, scalar factor, int conjugated, scalar none) {
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(IN, c);
    for (EACH(i, rows)) {
        for (index at = (index)begins[i]; at < (index)begins[i + 1]; ++at)
            STORE(IN, c, AT(c, i, (index)columns[at]), CONVERT(OUT_VALUE, (value)none));
        for (index at = (index)begins[i]; at < (index)begins[i + 1]; ++at) {
            index const to = AT(c, i, (index)columns[at]);
            scalar const one = LOAD(IN, values, at), before = LOAD(IN, c, to);
            scalar const element = scale_by(factor, conjugate_if(conjugated, one)) + before;
            STORE(IN, c, to, CONVERT(OUT_VALUE, (value)element));
        }
    }
}
)";

// Replaces each of `count` numbers by the sum of the numbers before it. `scan` is one group, for a few numbers. For
// more numbers, groups have `span` numbers each: sum_spans adds up the numbers of each group, and scan_spans then adds
// the sums of the groups before.
inline constexpr char scan_text[] = R"(
#define STRETCH 8

KERNEL(ITEMS) scan(BUFFER(NUMBER, x), index count) {
    SHARED ulong sums[ITEMS];
    OPEN(NUMBER, x);
    index const stretch = (count + ITEMS - 1) / ITEMS, begin = ITEM * stretch, end = min(begin + stretch, count);
    ulong mine = 0;
    for (index at = begin; at < end; ++at) mine += (ulong)x[at];
    sums[ITEM] = mine;
    BARRIER();
    ulong next = 0;
    for (int w = 0; w < ITEM; ++w) next += sums[w];
    for (index at = begin; at < end; ++at) {
        ulong const one = (ulong)x[at];
        x[at] = (NUMBER)next;
        next += one;
    }
}

KERNEL(ITEMS) sum_spans(BUFFER(NUMBER const, x), BUFFER(NUMBER, sums_of_spans), index count, index span) {
    SHARED ulong sums[ITEMS];
    OPEN(NUMBER const, x);
    OPEN(NUMBER, sums_of_spans);
    index const begin = GROUP * span, end = min(begin + span, count);
    ulong mine = 0;
    for (index at = begin + ITEM; at < end; at += ITEMS) mine += (ulong)x[at];
    SUM_OF_GROUP(mine, sums);
    if (ITEM == 0) sums_of_spans[GROUP] = (NUMBER)sums[0];
}

KERNEL(ITEMS) scan_spans(BUFFER(NUMBER, x), BUFFER(NUMBER const, sums_of_spans), index count, index span) {
    SHARED ulong sums[ITEMS];
    SHARED ulong some[ITEMS / 16];
    OPEN(NUMBER, x);
    OPEN(NUMBER const, sums_of_spans);
    ulong next = 0;
    for (int group = ITEM; group < GROUP; group += ITEMS) next += (ulong)sums_of_spans[group];
    SUM_OF_GROUP(next, sums);
    next = sums[0];
    BARRIER();
    index const begin = GROUP * span, end = min(begin + span, count);
    for (index first = begin; first < end; first += ITEMS * STRETCH) {
        index const from = min(first + ITEM * STRETCH, end), to = min(from + STRETCH, end);
        ulong own[STRETCH], mine = 0;
        for (int u = 0; u < STRETCH; ++u) own[u] = from + u < to ? (ulong)x[from + u] : 0;
        for (int u = 0; u < STRETCH; ++u) mine += own[u];
        sums[ITEM] = mine;
        BARRIER();
        if (ITEM < ITEMS / 16) {
            ulong of_16 = 0;
            for (int w = 0; w < 16; ++w) of_16 += sums[ITEM * 16 + w];
            some[ITEM] = of_16;
        }
        BARRIER();
        ulong before = next;
        for (int w = 0; w < ITEMS / 16; ++w) {
            if (w < ITEM / 16) before += some[w];
            next += some[w];
        }
        for (int w = ITEM / 16 * 16; w < ITEM; ++w) before += sums[w];
        for (int u = 0; u < STRETCH; ++u) {
            if (from + u < to) x[from + u] = (NUMBER)before;
            before += own[u];
        }
        BARRIER();
    }
}
)";
struct scan_parts {
    static constexpr index_t most = 1024, tile = 256 * 8;
    index_t groups, span;
    explicit scan_parts(index_t count) : groups(0), span(((count - 1) / tile / most + 1) * tile) {
        groups = (count - 1) / span + 1;
    }
};
template <class Number>
device_kernel scan_kernel(char const* name) {
    auto const types = [] {
        return std::string(sizeof(Number) == 8 ? "#define NUMBER index\n" : "#define NUMBER int\n") +
               sum_of_group_text;
    };
    return {name, scan_text, {}, 256, false, false, types};
}
template <class Number, class Leaf, class Handle>
status scan_numbers(Leaf const& leaf, Handle x, index_t count) {
    return leaf.launch(scan_kernel<Number>("scan"), index_t{1}, x, count);
}
// The same for many numbers; `sums` has room for scan_parts::most of them.
template <class Number, class Leaf, class Handle>
status scan_numbers(Leaf const& leaf, Handle x, index_t count, Handle sums) {
    if (count <= 2 * scan_parts::tile) return scan_numbers<Number>(leaf, x, count);
    scan_parts const by(count);
    if (status s = leaf.launch(scan_kernel<Number>("sum_spans"), by.groups, x, sums, count, by.span); !s)
        return s;
    return leaf.launch(scan_kernel<Number>("scan_spans"), by.groups, x, sums, count, by.span);
}

// How the elements are divided among groups.
struct sort_parts {
    index_t groups = 1, span = 1;
    explicit sort_parts(index_t elements) {
        constexpr index_t tile = 256 * 8, most = 1024;
        index_t const tiles = elements == 0 ? 1 : (elements - 1) / tile + 1;
        span = (tiles + most - 1) / most * tile;
        groups = elements == 0 ? 1 : (elements - 1) / span + 1;
    }
};
template <class Arena, class Index, class Leaf>
std::size_t bytes_to_sort(index_t elements) {
    if (host_leaf<Leaf>) return 0;
    auto const numbers = [](index_t n) { return Arena::rounded(static_cast<std::size_t>(n) * sizeof(int)); };
    return 2 * numbers(elements) + numbers(16 * sort_parts(elements).groups);
}

// The kernels that list elements with values of type T.
template <class T, class Index>
std::string list_types() {
    return kernel_types<T, T>() + "#define INDEX " + (sizeof(Index) == 8 ? "index\n" : "int\n");
}
template <class T, class Index>
device_kernel list_kernel(char const* name, static_text text, char const* definitions) {
    return {name, text, definitions, 256, uses_double<T, T>, false, list_types<T, Index>};
}

// What the kernels sort: `most` elements with keys below `keys`. `by_lines` is BY_LINES, where `others` has the begins of
// `lines` lines.
template <class Numbers, class Values>
struct unsorted_elements {
    bool by_lines;
    Numbers key_of, others;
    index_t lines, keys, most;
    Values values;
};
template <class Numbers, class Values>
unsorted_elements(bool, Numbers, Numbers, index_t, index_t, index_t, Values)
    -> unsorted_elements<Numbers, Values>;
// Where the sorted elements go: `begins` has room for keys + 1 numbers.
template <class Numbers, class Values>
struct sorted_arrays {
    Numbers begins, columns;
    Values values;
};
template <class Numbers, class Values>
sorted_arrays(Numbers, Numbers, Values) -> sorted_arrays<Numbers, Values>;

template <class T, class Index, class Leaf, class From, class ToNumbers, class ToValues, class Arena>
status sort_on_device(Leaf const& leaf, From const& from, sorted_arrays<ToNumbers, ToValues> const& to,
                      Arena& memory) {
    if (from.most > device_longest)
        return error(errc::unsupported, Leaf::layer,
                     "a sparse matrix has more than 2^31 - 1 elements; sort it on the host");
    typename Arena::scope const scope(memory);
    sort_parts const by(from.most);
    auto order = memory.template take<int>(from.most), next_order = memory.template take<int>(from.most);
    auto const counts = memory.template take<int>(16 * by.groups);
    constexpr bool valued = !std::is_same_v<ToValues, no_values>;
    auto const kernel = [&](char const* name) {
        auto k = list_kernel<T, Index>(name, sort_text, valued ? "#define VALUES 1\n" : "#define VALUES 0\n");
        k.definitions += from.by_lines ? "#define BY_LINES 1\n" : "#define BY_LINES 0\n";
        return k;
    };
    for (int shift = 0; from.most > 0 && (shift == 0 || from.keys >> shift != 0); shift += 4) {
        int const first = shift == 0;
        auto const pass = [&](char const* name, auto const&... places) {
            return leaf.launch(kernel(name), by.groups, from.key_of, from.others, from.lines, from.keys,
                               from.most, order, first, places..., counts, shift, by.span);
        };
        if (status s = pass("count_digits"); !s) return s;
        if (status s = scan_numbers<int>(leaf, counts, 16 * by.groups); !s) return s;
        if (status s = pass("place_digits", next_order); !s) return s;
        std::swap(order, next_order);
    }
    auto const launch = [&](auto const&... of_values) {
        return leaf.launch(kernel("list_sorted"),
                           groups_for_each((from.keys > from.most ? from.keys : from.most) + 1, 256),
                           from.key_of, from.others, from.lines, from.keys, from.most, order, to.begins,
                           to.columns, of_values...);
    };
    if constexpr (valued)
        return launch(from.values, to.values);
    else
        return launch();
}

// ---- both -------------------------------------------------------------------------------------------------

// Elements of a coo matrix, in any order, by rows.
template <class Leaf, class Coo, class Numbers, class Values, class Arena>
status sort_by_rows(Leaf const& leaf, Coo const& a, sorted_arrays<Numbers, Values> const& to, Arena& memory) {
    using T = typename Coo::value_type;
    using Index = typename Coo::index_type;
    if constexpr (host_leaf<Leaf>) {
        (void)leaf, (void)memory;
        sort_stably(a.row_numbers, a.nonzeros, a.rows, to.begins, [&](index_t at, Index place) {
            to.columns[place] = a.columns[at], to.values[place] = a.values[at];
        });
        return {};
    } else {
        unsorted_elements const from{false, a.row_numbers, a.columns, 0, a.rows, a.nonzeros, a.values};
        return sort_on_device<T, Index>(leaf, from, to, memory);
    }
}

// `begins` has room for a.cols + 1 numbers, `columns` and `values` for a.nonzeros. The elements stay as they are
// stored. If A has no values, `values` is no_values.
template <class Leaf, class A, class Numbers, class Values, class Arena>
status transpose_csr(Leaf const& leaf, A const& a, Numbers begins, Numbers columns, Values values,
                     Arena& memory) {
    using T = typename A::value_type;
    using Index = typename A::index_type;
    if constexpr (host_leaf<Leaf>) {
        (void)leaf, (void)memory;
        index_t i = a.rows;
        sort_stably(a.columns, a.nonzeros, a.cols, begins, [&](index_t at, Index to) {
            while (at < a.row_begins[i]) --i;
            columns[to] = static_cast<Index>(i);
            if constexpr (has_values<A>) values[to] = a.values[at];
        });
        return {};
    } else {
        auto const from_values = [&] {
            if constexpr (has_values<A>)
                return a.values;
            else
                return no_values{};
        }();
        unsorted_elements const from{true, a.columns, a.row_begins, a.rows, a.cols, a.nonzeros, from_values};
        return sort_on_device<T, Index>(leaf, from, sorted_arrays{begins, columns, values}, memory);
    }
}

STRATAGEMM_END
