// CSR times a vector on NVIDIA's sm_90: the kernel, and when it runs.
//
// The product is bound by the rate of memory, at which this kernel reads the elements of A: each once, in aligned
// pieces of a whole warp, of which the next is on its way while one is multiplied. There is one group for each
// multiprocessor. A warp takes a tile after the other: up to 32 rows below each other. It goes through the elements of
// a tile in chunks, puts their products into shared memory, and then divides itself among the rows that have elements
// in the chunk. Tiles with many elements are left to the end. Then a whole group takes such a tile: its warps share the
// rows, and all of them add up a long one.
//
// The first elements of B are in shared memory if B does not fit the first cache, but nearly so.
//
// The shape and row_begins determine the order in which the products of a row are added, so the result is the same
// from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "arrays.hpp"

STRATAGEMM_BEGIN

// AHEAD: elements of A that a work-item loads before it uses the first. If ALONE is 1, a tile is one row. STAGED: the
// bytes of shared memory into which the first `staged` elements of B are copied, or 0. If ONES is 1, each element of A
// is one, and there are no values.
inline constexpr char csr_times_vector_text[] = R"cu(
#define WARPS (ITEMS / 32)
#define CHUNK (32 * AHEAD)
#define LINE (CHUNK + AHEAD) /* one more behind each 32, so that rows of similar length do not meet in a bank */
#define LONG_ROW (4 * CHUNK)
#if ONES
#define OF_VALUES(x)
#define OF_A(statement)
#define TIMES_B(u) of_b(u)
#else
#define OF_VALUES(x) x,
#define OF_A(statement) statement
#define TIMES_B(u) times((scalar)widen(of_a[u]), of_b(u))
#endif

/* What is read or written once leaves the caches to B. */
template <int BYTES> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned type; };
template <> struct word<8> { typedef unsigned long long type; };
template <class T> T load_once(T const *p) {
    typedef typename word<sizeof(T)>::type bits;
    union { bits raw; T x; } both = {__ldcs((bits const *)p)};
    return both.x;
}
template <class R> complex<R> load_once(complex<R> const *p) { return {load_once(&p->x), load_once(&p->y)}; }
template <class T> void store_once(T *p, T x) {
    typedef typename word<sizeof(T)>::type bits;
    union { T x; bits raw; } both = {x};
    __stcs((bits *)p, both.raw);
}
template <class R> void store_once(complex<R> *p, complex<R> x) { store_once(&p->x, x.x), store_once(&p->y, x.y); }
#undef STORE
#define STORE(T, p, i, x) store_once((p) + (i), to<T>::from(x))

template <class T> T from_lane(T x, int lane) { return SHUFFLE(x, lane); }
template <class R> complex<R> from_lane(complex<R> x, int lane) { return {SHUFFLE(x.x, lane), SHUFFLE(x.y, lane)}; }
/* Of so many neighbours. */
inline scalar sum_of(int lanes, scalar sum) {
    for (int step = 1; step < lanes; step *= 2) sum = sum + from_lane(sum, LANE ^ step);
    return sum;
}

KERNEL_AT_ONCE(ITEMS, 1)
csr_times_vector(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), OF_VALUES(BUFFER(IN const, values))
                 BUFFER(IN const, b), int b_bytes, int b_conjugated, int tile_rows, int staged,
                 int longest, PRODUCT) {
    SHARED scalar sums[WARPS];
    SHARED unsigned masks[WARPS];
    SHARED int any_long;
#if !ALONE
    SHARED scalar products_of_all[WARPS * LINE];
    scalar *const products = products_of_all + WARP * LINE;
#endif
    auto const element_of_b = [&](INDEX at) { return *(IN const *)((char const *)b + (index)(int)at * b_bytes); };
    int const m = (int)rows, tiles = (m - 1) / tile_rows + 1, warps = GROUPS * WARPS;
    int tile = GROUP * WARPS + WARP;

    /* Of the tile after the next one: where the row of this lane begins and ends. */
    INDEX next_begin = 0, next_end = 0;
    auto const look_at = [&](int tile) {
        if (tile >= tiles) return;
        int const first = tile * tile_rows, past = min(first + tile_rows, m), row = min(first + LANE, past);
        next_begin = begins[row], next_end = begins[min(row + 1, past)];
    };
    /* From element `at` of A on, which begins a piece of 32: where the elements of the tile begin and end, those of the
       row of this lane, and the chunk that is loaded. A tile that is left to the end, and the one behind the last, end
       at -1. */
    INDEX at = 0, column[AHEAD];
    int skipped = 0, left = 0, begin = 0, end = 0, chunk = 0;
#if !ONES
    IN value_of[AHEAD];
#endif
    auto const enter = [&] {
        INDEX const first = SHUFFLE(next_begin, 0), past = SHUFFLE(next_end, 31);
        skipped = (int)(first & 31), chunk = 0;
        at = first - skipped;
        left = tile < tiles && past - first <= longest ? (int)(past - at) : -1;
        begin = (int)(next_begin - at), end = (int)(next_end - at);
        look_at(tile + warps);
    };
    /* Whether element u of this lane in a chunk is one of the tile: there are `past`, and of the first piece the tile has
       those from `from` on. */
#define IS_THERE(u, from, past) ((u)*32 + LANE < (past) && ((u) > 0 || LANE >= (from)))
    auto const load_of = [&](int past) {
        int const from = chunk == 0 ? skipped : 0;
        INDEX const first = at + (chunk + LANE);
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (IS_THERE(u, from, past)) column[u] = load_once(columns + first + u * 32);
#if !ONES
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (IS_THERE(u, from, past)) value_of[u] = load_once(values + first + u * 32);
#endif
    };
    /* Most chunks are full, and need no comparisons. The branches also keep the compiler from moving loads behind the use
       of what the last chunk waits for. */
    auto const load = [&] {
        if (left - chunk >= CHUNK)
            load_of(CHUNK);
        else
            load_of(left - chunk);
    };

    look_at(tile);
    /* Tiles with many elements are the last, and dealt to the groups in turn, for they often are neighbours. */
    auto const tile_of_group = [&](int number) { return GROUP + number * GROUPS; };
    auto const has_long = [&](int tile) {
        return tile < tiles && begins[min(tile * tile_rows + tile_rows, m)] - begins[tile * tile_rows] > longest;
    };
    bool some_long = false;
    for (int number = ITEM; tile_of_group(number) < tiles; number += ITEMS) some_long |= has_long(tile_of_group(number));
    ANY(any_long, some_long);
    enter();
    load();
#if STAGED
    extern __shared__ __align__(16) char memory[];
    IN *const near = (IN *)memory;
#pragma unroll 8
    for (int i = ITEM; i < staged; i += ITEMS) near[i] = element_of_b(i);
    BARRIER();
#endif
    scalar sum = ZERO;
    while (tile < tiles) {
        int const from = chunk == 0 ? skipped : 0, past = left - chunk;
        IN b_of[AHEAD];
        OF_A(IN of_a[AHEAD];)
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            OF_A(of_a[u] = value_of[u];)
#if STAGED
            if (IS_THERE(u, from, past) && (int)column[u] < staged) b_of[u] = near[(int)column[u]];
#endif
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (IS_THERE(u, from, past) && (!STAGED || (int)column[u] >= staged)) b_of[u] = element_of_b(column[u]);
        auto const of_b = [&](int u) { return conjugate_if(b_conjugated, (scalar)widen(b_of[u])); };

        int const row_begin = max(begin - chunk, 0), row_end = min(min(end - chunk, past), CHUNK);
        bool const last = past <= CHUNK, is_computed = left >= 0;
        chunk += CHUNK;
        if (last) {
            tile += warps;
            enter();
        }
        load();
#if ALONE
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (IS_THERE(u, from, past)) sum = sum + TIMES_B(u);
        if (last) {
            sum = sum_of(32, sum);
            if (is_computed && LANE == 0) FINISH_ELEMENT((index)(tile - warps), 0, sum);
            sum = ZERO;
        }
#else
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) products[u * 33 + LANE] = TIMES_B(u);
        unsigned const mask = __ballot_sync(0xffffffffu, row_begin < row_end);
        WARP_BARRIER();
        if (mask != 0) {
            /* The rows of these lanes; each gets a power of two of lanes. */
            int const first = __ffs(mask) - 1, count = 32 - __clz(mask) - first;
            int const doublings = count == 1 ? 5 : __clz(count - 1) - 27, lanes = 1 << doublings;
            int const of = first + (LANE >> doublings);
            int const begin_of = SHUFFLE(row_begin, of & 31), end_of = SHUFFLE(row_end, of & 31);
            scalar part = ZERO;
            if (of < first + count)
#pragma unroll 4
                for (int q = begin_of + (LANE & (lanes - 1)); q < end_of; q += lanes)
                    part = part + products[q + q / 32];
            part = sum_of(lanes, part);
            scalar const mine = from_lane(part, ((LANE - first) << doublings) & 31);
            if (row_begin < row_end) sum = sum + mine;
        }
        WARP_BARRIER();
        if (last) {
            int const row = (tile - warps) * tile_rows + LANE;
            if (is_computed && LANE < tile_rows && row < m) FINISH_ELEMENT((index)row, 0, sum);
            sum = ZERO;
        }
#endif
    }

    if (!any_long) return;
    /* Every `items`-th element of a row. */
    auto const add = [&](index at, index past, int items) {
        scalar sum = ZERO;
        for (; at < past; at += AHEAD * items) {
            INDEX row_of[AHEAD];
            IN b_of[AHEAD];
            OF_A(IN of_a[AHEAD];)
            auto const of_b = [&](int u) { return conjugate_if(b_conjugated, (scalar)widen(b_of[u])); };
#pragma unroll
            for (int u = 0; u < AHEAD; ++u)
                if (u * items < past - at) {
                    row_of[u] = load_once(columns + at + u * items);
                    OF_A(of_a[u] = load_once(values + at + u * items);)
                }
#pragma unroll
            for (int u = 0; u < AHEAD; ++u)
                if (u * items < past - at) b_of[u] = element_of_b(row_of[u]);
#pragma unroll
            for (int u = 0; u < AHEAD; ++u)
                if (u * items < past - at) sum = sum + TIMES_B(u);
        }
        return sum;
    };
    for (int number = 0; tile_of_group(number) < tiles; number += ITEMS) {
        unsigned const mask = __ballot_sync(0xffffffffu, has_long(tile_of_group(number + ITEM)));
        if (LANE == 0) masks[WARP] = mask;
        BARRIER();
        for (int of = 0; of < ITEMS; ++of) {
            if (!(masks[of / 32] >> of % 32 & 1)) continue;
            int const first = tile_of_group(number + of) * tile_rows, past = min(first + tile_rows, m);
            for (int row = first + WARP; row < past; row += WARPS)
                if (begins[row + 1] - begins[row] <= LONG_ROW) {
                    scalar const all = sum_of(32, add((index)begins[row] + LANE, begins[row + 1], 32));
                    if (LANE == 0) FINISH_ELEMENT((index)row, 0, all);
                }
            for (int row = first; row < past; ++row)
                if (begins[row + 1] - begins[row] > LONG_ROW) {
                    scalar const part = sum_of(32, add((index)begins[row] + ITEM, begins[row + 1], ITEMS));
                    if (LANE == 0) sums[WARP] = part;
                    BARRIER();
                    if (WARP == 0) {
                        scalar const all = sum_of(WARPS, LANE < WARPS ? sums[LANE] : ZERO);
                        if (LANE == 0) FINISH_ELEMENT((index)row, 0, all);
                    }
                    BARRIER();
                }
        }
        BARRIER();
    }
}
)cu";

// How the kernel divides its work.
struct csr_vector_work {
    static constexpr int items = 1024;
    int rows = 0;       // of a tile; 0: this kernel does not run
    int staged = 0;     // elements of B in shared memory
    int longest = 4096; // elements of a tile; the whole group has those with more

    friend bool operator==(csr_vector_work const&, csr_vector_work const&) = default;
    index_t groups(index_t m, index_t units) const {
        index_t const needed = ((m - 1) / rows) / (items / 32) + 1;
        return needed < units ? needed : units;
    }
    std::string describe() const {
        return (rows == 1 ? "a row" : std::to_string(rows) + " rows") + " of A by a warp" +
               (staged > 0 ? ", " + std::to_string(staged) + " elements of B in shared memory" : "");
    }
};

// Elements of A that a work-item loads at a time: as many as there are registers for.
template <class In, class Index>
constexpr int csr_vector_ahead() {
    constexpr auto words = [](std::size_t bytes) { return static_cast<int>((bytes + 3) / 4); };
    int const ahead = 32 / (words(sizeof(accumulator_t<In>)) + 2 * words(sizeof(In)) + words(sizeof(Index)));
    return ahead < 8 ? ahead : 8;
}
// Bytes of shared memory that are left for B beside the products of warps and some sums, if the group gets as much as
// `staged` elements need. Shared memory comes in steps, less 1 KiB. The first cache, through which A comes, has the
// rest of 256 KiB.
template <class In, class Index>
int csr_vector_shared_bytes(bool alone, index_t staged) {
    constexpr int warps = csr_vector_work::items / 32,
                  line = 33 * csr_vector_ahead<In, Index>() * static_cast<int>(sizeof(accumulator_t<In>));
    int left = 0;
    for (int const step : {64, 100, 132, 164, 196, 228}) {
        left = (step - 2) * 1024 - (alone ? 0 : warps * line);
        if (left >= staged * static_cast<index_t>(sizeof(In))) break;
    }
    return left;
}

// How to divide a product with A m x k on a device with `units` multiprocessors. The numbers are from an H100.
// csr_times_dense is as fast or faster in these cases: below 40 MB, most of which is in the second cache from the last
// product on; for rows of 192 to 384 elements of float; and where many warps would wait for the last ones.
template <class In, class Index>
csr_vector_work choose_csr_vector(index_t m, index_t k, index_t nonzeros, index_t units) {
    constexpr index_t least = 40 << 20, warps_of_group = csr_vector_work::items / 32,
                      chunk = 32 * csr_vector_ahead<In, Index>();
    index_t const average = nonzeros / m, bytes = nonzeros * static_cast<index_t>(sizeof(In) + sizeof(Index)),
                  warps = units * warps_of_group;
    csr_vector_work x;
    if (units == 0 || bytes < least || m < warps || m > device_longest / 2 || k > device_longest) return x;
    // The part of the time in which warps have as many elements on their way as there are registers for. Warps have
    // fewer in the last chunk of a tile, which is half full, and while other warps have a tile more.
    auto const busy = [&](index_t rows) {
        index_t const rounds = (m - 1) / (rows * warps) + 1, elements = rows * average;
        double const by_rounds = static_cast<double>(m) / static_cast<double>(rounds * rows * warps);
        return by_rounds *
               (rows == 1 ? 1
                          : static_cast<double>(elements) / (static_cast<double>(elements) + 0.5 * chunk));
    };
    x.rows = 1;
    if (4 * average < 3 * chunk) {
        for (int rows = 2; rows <= 32; ++rows)
            if (x.rows == 1 || busy(rows) > busy(x.rows)) x.rows = rows;
    } else if (2 * average < 3 * chunk || busy(1) < 0.95) {
        return {};
    }
    index_t const usual = lesser(average, device_longest / 512) * x.rows;
    if (3 * usual > x.longest) x.longest = static_cast<int>(3 * usual);
    // A B that is small beside A, and of which most fits shared memory.
    index_t const b_bytes = k * static_cast<index_t>(sizeof(In)),
                  room = csr_vector_shared_bytes<In, Index>(x.rows == 1, k);
    if (b_bytes >= 64 << 10 && 2 * b_bytes <= 3 * room && bytes >= 8 * units * lesser(b_bytes, room))
        x.staged = static_cast<int>(lesser(b_bytes, room) / static_cast<index_t>(sizeof(In)));
    return x;
}

template <class In, class Out, class Index>
std::string csr_types() {
    return kernel_types<In, Out>() + "#define SUM " + kernel_type<accumulator_t<In>>() + "\n#define INDEX " +
           (sizeof(Index) == 8 ? "index\n" : "int\n");
}
template <class In, class Out, class Index>
device_kernel csr_vector_kernel(csr_vector_work const& x, bool ones) {
    bool const alone = x.rows == 1;
    int const shared = x.staged > 0 ? csr_vector_shared_bytes<In, Index>(alone, x.staged) : 0;
    std::string const definitions = "#define AHEAD " + std::to_string(csr_vector_ahead<In, Index>()) +
                                    "\n#define ALONE " + (alone ? "1" : "0") + "\n#define STAGED " +
                                    std::to_string(shared) + "\n#define ONES " + (ones ? "1\n" : "0\n");
    return {"csr_times_vector",
            csr_times_vector_text,
            definitions,
            x.items,
            uses_double<In, Out>,
            false,
            csr_types<In, Out, Index>,
            static_cast<std::size_t>(shared)};
}

// How many multiprocessors of the leaf's device run the kernel; 0 where there is none.
template <class Space, class Leaf>
index_t csr_vector_units(Leaf const& leaf) {
    if constexpr (warpgroup_leaf<Leaf, Space>)
        return leaf.warpgroup_units();
    else
        return 0;
}

// C = alpha A B + beta E, without the epilogue; B has one column.
template <class Leaf, class Q>
status multiply_csr_by_vector(Leaf const& leaf, Q const& p, csr_vector_work const& x) {
    using In = typename Q::a_type;
    using A = typename Q::a_operand;
    auto const& a = p.a;
    index_t const m = p.c.rows;
    auto const kernel = csr_vector_kernel<In, typename Q::c_type, typename A::index_type>(x, !has_values<A>);
    auto const e = added_or_c(p);
    auto const launch = [&](auto const&... values) {
        return leaf.launch(kernel, x.groups(m, leaf.warpgroup_units()), a.row_begins, a.columns, values...,
                           p.b.data, static_cast<int>(p.b.row_stride * static_cast<index_t>(sizeof(In))),
                           int{p.b.conjugate}, x.rows, x.staged, x.longest, p.alpha, p.beta,
                           int{p.beta != typename Q::scalar(0)}, e, int{e.conjugate}, p.c, m, index_t{1});
    };
    if constexpr (has_values<A>)
        return launch(a.values);
    else
        return launch();
}

STRATAGEMM_END
