// Rows of a sparse matrix times a dense one, in one instruction set: backend/host/each_isa.inl.hpp includes this once for
// each. The vector operations are those of backend/host.

// L numbers.
template <class T, int L>
using some = typename vector_types<lane<T>, L* static_cast<int>(sizeof(T))>::type;

template <class T, int L>
STRATAGEMM_OP some<T, L> load_some(T const* p) {
    some<T, L> v;
    __builtin_memcpy(&v, p, sizeof(v));
    return v;
}

// Fetches elements of A from `at` to `end` that lie `distance` further on, and returns where the next call begins.
// Processors fetch ahead within a page of memory and not far enough.
template <class T, class Index, bool Ones>
STRATAGEMM_OP index_t fetch_ahead(sparse_rows<T, Index, Ones> const& g, index_t at, index_t end) {
    constexpr index_t distance = 512, step = 16;
    for (; at < end; at += step) {
        for (index_t line = 0; line < step; line += 64 / static_cast<index_t>(sizeof(Index)))
            __builtin_prefetch(g.columns + at + distance + line);
        if constexpr (!Ones)
            for (index_t line = 0; line < step; line += 64 / static_cast<index_t>(sizeof(T)))
                __builtin_prefetch(g.values + at + distance + line);
    }
    return at;
}

// A row of B is fetched so many elements before it is used: a line from memory takes some hundreds of cycles, and an
// element about five. Loads run ahead by themselves within long rows, but stop where the end of a row is mispredicted.
inline constexpr index_t rows_ahead = 64;
// The element from which on none fetches a row of B.
template <class T, class Index, bool Ones>
STRATAGEMM_OP index_t end_of_fetching(sparse_rows<T, Index, Ones> const& g) {
    constexpr index_t together = 4; // elements that fetch at a time
    return g.fetches ? g.begins[g.last] - rows_ahead - (together - 1) : 0;
}

// Where vector v of NV begins. The last one is `last` columns from the first; it may share columns with the one before.
template <int L, int NV>
constexpr index_t place_of(int v, index_t last) {
    return v > 0 && v == NV - 1 ? last : v * L;
}
// acc += element `at` of A times NV vectors of its row of B, from column j on.
template <class T, class Index, bool Ones, int L, int NV>
STRATAGEMM_OP void add_to_strip(some<T, L> (&acc)[NV], sparse_rows<T, Index, Ones> const& g, index_t at,
                                index_t j, index_t last) {
    T const* const b = g.b + (g.columns[at] * g.b_row + j);
    if constexpr (Ones) {
        STRATAGEMM_UNROLLED
        for (int v = 0; v < NV; ++v) acc[v] += load_some<T, L>(b + place_of<L, NV>(v, last));
    } else {
        some<T, L> const x = g.values[at] - some<T, L>{};
        STRATAGEMM_UNROLLED
        for (int v = 0; v < NV; ++v) acc[v] += x * load_some<T, L>(b + place_of<L, NV>(v, last));
    }
}
// Fetches the lines of B that add_to_strip() reads.
template <class T, class Index, bool Ones, int L, int NV>
STRATAGEMM_OP void fetch_strip(sparse_rows<T, Index, Ones> const& g, index_t at, index_t j, index_t last) {
    constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
    T const* const b = g.b + (g.columns[at] * g.b_row + j);
    STRATAGEMM_UNROLLED
    for (index_t x = 0; x < NV * L; x += line) __builtin_prefetch(b + x);
    // A line more, unless the row is so short that it mostly lies in one.
    if constexpr (NV * L * sizeof(T) > 16) __builtin_prefetch(b + place_of<L, NV>(NV - 1, last) + L - 1);
}

// NV vectors of a row of C, from column j on: their sums are registers while the elements of the row run. Where
// there are few vectors, each has several sums, of every second or fourth element, which do not wait for each other.
// Elements before `fetching` fetch the rows of B of those that come later, in this row of A or the next ones.
// g++ at -O2 keeps the sums in memory unless it is told to unroll.
template <class T, class Index, bool Ones, int L, int NV, int Sums>
STRATAGEMM_OP void sparse_strip(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j, index_t last,
                                index_t fetching) {
    some<T, L> acc[Sums][NV] = {};
    index_t const end = g.begins[i + 1];
    index_t at = g.begins[i];
    for (; at + Sums <= end; at += Sums) {
        if (at < fetching) {
            STRATAGEMM_UNROLLED
            for (int s = 0; s < Sums; ++s)
                fetch_strip<T, Index, Ones, L, NV>(g, at + rows_ahead + s, j, last);
        }
        STRATAGEMM_UNROLLED
        for (int s = 0; s < Sums; ++s) add_to_strip<T, Index, Ones, L, NV>(acc[s], g, at + s, j, last);
    }
    for (; at < end; ++at) {
        if (at < fetching) fetch_strip<T, Index, Ones, L, NV>(g, at + rows_ahead, j, last);
        add_to_strip<T, Index, Ones, L, NV>(acc[0], g, at, j, last);
    }
    T* const c = g.c + (i * g.c_row + j);
    T const* const e = g.adds ? g.e + (i * g.e_row + j) : c;
    some<T, L> sum[NV];
    STRATAGEMM_UNROLLED
    for (int v = 0; v < NV; ++v) {
        if constexpr (Sums == 4) acc[0][v] = (acc[0][v] + acc[1][v]) + (acc[2][v] + acc[3][v]);
        if constexpr (Sums == 2) acc[0][v] += acc[1][v];
        sum[v] = g.alpha * acc[0][v];
        if (g.adds) sum[v] += g.beta * load_some<T, L>(e + place_of<L, NV>(v, last)); // before C changes
    }
    STRATAGEMM_UNROLLED
    for (int v = 0; v < NV; ++v) __builtin_memcpy(c + place_of<L, NV>(v, last), &sum[v], sizeof(sum[v]));
}
// Fewer columns than L, in one or two vectors of L / 2, or of less: loads that cross fewer lines than masked ones of L.
template <class T, class Index, bool Ones, int L>
STRATAGEMM_OP void sparse_end(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j, index_t columns,
                              index_t fetching) {
    constexpr int half = L / 2;
    if (columns < half) {
        if constexpr (half > 1) sparse_end<T, Index, Ones, half>(g, i, j, columns, fetching);
    } else if (columns == half) {
        sparse_strip<T, Index, Ones, half, 1, 4>(g, i, j, 0, fetching);
    } else {
        sparse_strip<T, Index, Ones, half, 2, 4>(g, i, j, columns - half, fetching);
    }
}

// Vector v of NV, of which the first and the last may be parts. A single one is `first`.
template <class T, int NV>
STRATAGEMM_OP vec<T> load_of(T const* p, int v, part first, part last) {
    p += v * lanes<T>;
    return v == 0 ? load_part<T>(p, first) : v == NV - 1 ? load_part<T>(p, last) : load<T>(p);
}
template <class T, class Index, bool Ones, int NV>
STRATAGEMM_OP void add_parts_to_strip(vec<T> (&acc)[NV], sparse_rows<T, Index, Ones> const& g, index_t at,
                                      index_t j, part first, part last) {
    T const* const b = g.b + (g.columns[at] * g.b_row + j);
    if constexpr (Ones) {
        STRATAGEMM_UNROLLED
        for (int v = 0; v < NV; ++v) acc[v] += load_of<T, NV>(b, v, first, last);
    } else {
        vec<T> const x = g.values[at] - vec<T>{};
        STRATAGEMM_UNROLLED
        for (int v = 0; v < NV; ++v) acc[v] += x * load_of<T, NV>(b, v, first, last);
    }
}
// NV vectors of a row of C, of which the first and the last may be parts; Sums of each as above.
template <class T, class Index, bool Ones, int NV, int Sums>
STRATAGEMM_OP void sparse_strip_of_parts(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j,
                                         part first, part last) {
    constexpr int W = lanes<T>;
    vec<T> acc[Sums][NV] = {};
    index_t const end = g.begins[i + 1];
    index_t at = g.begins[i];
    for (; at + Sums <= end; at += Sums) {
        STRATAGEMM_UNROLLED
        for (int s = 0; s < Sums; ++s) add_parts_to_strip(acc[s], g, at + s, j, first, last);
    }
    for (; at < end; ++at) add_parts_to_strip(acc[0], g, at, j, first, last);
    T* const c = g.c + (i * g.c_row + j);
    T const* const e = g.adds ? g.e + (i * g.e_row + j) : c;
    STRATAGEMM_UNROLLED
    for (int v = 0; v < NV; ++v) {
        if constexpr (Sums == 2) acc[0][v] += acc[1][v];
        vec<T> sum = g.alpha * acc[0][v];
        if (g.adds) sum += g.beta * load_of<T, NV>(e, v, first, last);
        if (v == 0)
            store_part<T>(c, sum, first);
        else if (v == NV - 1)
            store_part<T>(c + v * W, sum, last);
        else
            store<T>(c + v * W, sum);
    }
}

// The same, of `width` vectors: NV to Most.
template <int Sums, int NV, int Most, class T, class Index, bool Ones>
STRATAGEMM_OP void sparse_strip_of(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j, part first,
                                   part last, index_t width) {
    if constexpr (NV < Most)
        if (width > NV) return sparse_strip_of<Sums, NV + 1, Most>(g, i, j, first, last, width);
    sparse_strip_of_parts<T, Index, Ones, NV, Sums>(g, i, j, first, last);
}

// A B by rows in a product with more than two vectors, where loads of parts of a vector cost no more than whole ones.
// The vectors begin where lines of the cache do, if these lie alike in all rows of B: a load that meets two lines takes
// twice the time. The number of sums is the same wherever B begins, and in each part of the columns. g is a copy, so
// that no store to C can change it.
template <class T, class Index, bool Ones>
STRATAGEMM_TARGET void sparse_times_wide_rows(sparse_rows<T, Index, Ones> const g) {
    constexpr index_t W = lanes<T>, size = sizeof(T);
    constexpr int most = 9; // vectors at once: more of them share the loads of an element of A
    auto const beyond = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(g.b) % 64);
    index_t const shift = beyond % size == 0 && g.b_row % W == 0 ? beyond / size : 0;
    index_t const count = (shift + g.n - 1) / W + 1, strips = (count - 1) / most + 1;
    auto const all = make_part<T>(static_cast<int>(W));
    auto first = all; // auto: other sets have no masks
    first.mask = static_cast<unsigned short>(first.mask >> shift << shift);
    auto const last = make_part<T>(static_cast<int>(shift + g.n - (count - 1) * W));
    if (count == 1) first.mask = static_cast<unsigned short>(first.mask & last.mask);
    index_t fetched = g.begins[g.first];
    for (index_t i = g.first; i < g.last; ++i) {
        fetched = fetch_ahead(g, fetched, g.begins[i + 1]);
        for (index_t s = 0; s < strips; ++s) {
            index_t const from = count * s / strips, width = count * (s + 1) / strips - from,
                          j = from * W - shift;
            part const left = s == 0 ? first : all, right = s == strips - 1 ? last : all;
            if (g.across <= 4 * W) // which is then one part
                sparse_strip_of<2, 3, 5>(g, i, j, left, right, width);
            else
                sparse_strip_of<1, 1, most>(g, i, j, left, right, width);
        }
    }
}

// The last columns: at most two vectors.
template <class T, class Index, bool Ones>
STRATAGEMM_OP void sparse_last(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j, index_t columns,
                               index_t fetching) {
    constexpr int W = lanes<T>;
    if (columns > W)
        sparse_strip<T, Index, Ones, W, 2, 2>(g, i, j, columns - W, fetching);
    else if (columns == W)
        sparse_strip<T, Index, Ones, W, 1, 4>(g, i, j, 0, fetching);
    else if (columns > 0)
        sparse_end<T, Index, Ones, W>(g, i, j, columns, fetching);
}
// B by rows.
template <class T, class Index, bool Ones>
STRATAGEMM_TARGET void sparse_times_rows(sparse_rows<T, Index, Ones> const g) {
    constexpr int W = lanes<T>;
    if constexpr (masked)
        if (g.across > 2 * W) return sparse_times_wide_rows(g);
    index_t const fetching = end_of_fetching(g);
    index_t fetched = g.begins[g.first];
    for (index_t i = g.first; i < g.last; ++i) {
        fetched = fetch_ahead(g, fetched, g.begins[i + 1]);
        index_t j = 0;
        if constexpr (!masked) { // more than two vectors
            for (; j + 8 * W <= g.n; j += 8 * W)
                sparse_strip<T, Index, Ones, W, 8, 1>(g, i, j, 7 * W, fetching);
            if (j + 4 * W <= g.n) sparse_strip<T, Index, Ones, W, 4, 1>(g, i, j, 3 * W, fetching), j += 4 * W;
            if (j + 2 * W < g.n) sparse_strip<T, Index, Ones, W, 2, 2>(g, i, j, W, fetching), j += 2 * W;
        }
        sparse_last(g, i, j, g.n - j, fetching);
    }
}

// sum += x y. The code is assembly where there is an instruction for a multiply-add, because g++ makes vectors of four
// such sums. These were up to 1.15 times as fast from a cache, and 0.7 times where elements of B come from the third
// cache.
template <class T>
STRATAGEMM_OP void add_product(T& sum, T x, T y) {
#ifdef STRATAGEMM_ON_X86
    if constexpr (sizeof(T) == 8)
        asm("vfmadd231sd %2, %1, %0" : "+x"(sum) : "x"(x), "xm"(y));
    else
        asm("vfmadd231ss %2, %1, %0" : "+x"(sum) : "x"(x), "xm"(y));
#else
    sum += x * y;
#endif
}

template <bool Ones, class T>
STRATAGEMM_OP void add_element(T& sum, T const* values, index_t at, T of_b) {
    if constexpr (Ones)
        sum += of_b;
    else
        add_product(sum, values[at], of_b);
}

// The sum of the elements of a vector.
template <class T, int L>
STRATAGEMM_OP T sum_of_lanes(some<T, L> v) {
    if constexpr (L == 2) {
        return v[0] + v[1];
    } else {
        some<T, L / 2> half[2];
        __builtin_memcpy(half, &v, sizeof(v));
        return sum_of_lanes<T, L / 2>(half[0] + half[1]);
    }
}

template <class T, class Index, bool Ones>
STRATAGEMM_OP T product_at(sparse_rows<T, Index, Ones> const& g, T const* b, index_t b_row, index_t at) {
    T const of_b = b[g.columns[at] * b_row];
    if constexpr (Ones)
        return of_b;
    else
        return g.values[at] * of_b;
}

// Fetches the elements of B of Count elements of A that come later, before `fetching`.
template <bool Fetches, int Count, class T, class Index, bool Ones>
STRATAGEMM_OP void fetch_of_b(sparse_rows<T, Index, Ones> const& g, T const* b, index_t b_row, index_t at,
                              index_t fetching) {
    if constexpr (Fetches)
        if (at < fetching) {
            STRATAGEMM_UNROLLED
            for (int u = 0; u < Count; ++u) __builtin_prefetch(b + g.columns[at + rows_ahead + u] * b_row);
        }
}

// The rows from i on that are shorter than `longest`, as many as have room for their products. Returns the first row
// after them.
template <class T, class Index, bool Ones, class F>
STRATAGEMM_OP index_t add_short_rows(sparse_rows<T, Index, Ones> const& g, T const* b, index_t b_row,
                                     index_t i, index_t longest, index_t& fetched, F const& finish) {
    constexpr int W = lanes<T>;
    constexpr index_t most = 512;
    Index const* const begins = g.begins;
    index_t at = begins[i], stop = i;
    while (stop < g.last && begins[stop + 1] - begins[stop] < longest && begins[stop + 1] - at <= most)
        ++stop;
    T products[most];
    T* p = products;
    for (; at + 4 <= begins[stop]; at += 4, p += 4) {
        fetched = fetch_ahead(g, fetched, at + 1);
        STRATAGEMM_UNROLLED
        for (int u = 0; u < 4; ++u) p[u] = product_at(g, b, b_row, at + u);
    }
    for (; at < begins[stop]; ++at) *p++ = product_at(g, b, b_row, at);
    p = products;
    for (; i < stop; ++i) {
        index_t left = begins[i + 1] - begins[i];
        some<T, W> sum{};
        for (; left > W; left -= W, p += W) sum += load_some<T, W>(p);
        sum += load_part<T>(p, make_part<T>(static_cast<int>(left)));
        p += left;
        finish(sum_of_lanes<T, W>(sum));
    }
    return stop;
}

// sum += L elements of A from `at` on times their elements of B: one load of L values.
template <class T, class Index, bool Ones, int L>
STRATAGEMM_OP void add_some(some<T, L>& sum, sparse_rows<T, Index, Ones> const& g, T const* b, index_t b_row,
                            index_t at) {
    some<T, L> of_b;
    STRATAGEMM_UNROLLED
    for (int u = 0; u < L; ++u) of_b[u] = b[g.columns[at + u] * b_row];
    sum += load_some<T, L>(g.values + at) * of_b;
}
// The sum of the elements of A from `at` to `end`, for a B that is in the second cache. Otherwise this takes longer than
// the sum of each element by itself: a vector waits for the last of its elements of B.
template <class T, class Index, bool Ones>
STRATAGEMM_OP T sum_of_near(sparse_rows<T, Index, Ones> const& g, T const* b, index_t b_row, index_t at,
                            index_t end, index_t& fetched) {
    constexpr int L = 16 / static_cast<int>(sizeof(T)), sums = 8 / L;
    some<T, L> sum[sums] = {};
    for (; at + 8 <= end; at += 8) {
        fetched = fetch_ahead(g, fetched, at + 1);
        STRATAGEMM_UNROLLED
        for (int s = 0; s < sums; ++s) add_some<T, Index, Ones, L>(sum[s], g, b, b_row, at + s * L);
    }
    T rest = 0;
    for (; at < end; ++at) add_element<Ones>(rest, g.values, at, b[g.columns[at] * b_row]);
    if constexpr (sums == 4) sum[0] += sum[2], sum[1] += sum[3];
    return sum_of_lanes<T, L>(sum[0] + sum[1]) + rest;
}

// One column of B, or several one after the other. The length of a row determines the order of its sum.
//
// A row has four sums, each of every fourth element, which do not wait for each other. Short rows have one sum:
// neighbouring rows do not wait for each other either, and a processor mispredicts once at the end of a row, where it
// would mispredict at the end of two loops. If rows have all lengths, the processor mispredicts at the end of each row,
// and one sum pays for longer rows. Floats do better then: one loop makes the products of many rows, and vectors add
// them up. This loop was slower for doubles.
//
// Unit: b_row is 1, so that the processor finds an element of B without a multiplication. Fetches: elements of B are
// fetched before they are used; the loop over many rows is never mispredicted, and gains nothing from that.
template <bool Unit, bool Fetches, class T, class Index, bool Ones>
STRATAGEMM_OP void sparse_times_column(sparse_rows<T, Index, Ones> const& g, index_t j) {
    constexpr index_t longest = 160; // with one sum
    constexpr bool by_vectors = sizeof(T) == 4 && lanes < T >> 4;
    index_t const b_row = Unit ? 1 : g.b_row, c_row = g.c_row, e_row = g.e_row, last = g.last;
    Index const *const begins = g.begins, *const columns = g.columns;
    T const *const values = g.values, *const b = g.b + j * g.b_col, *e = g.e;
    T* c = g.c + g.first * c_row + j * g.c_col;
    T const alpha = g.alpha, beta = g.beta;
    bool const adds = g.adds, even = g.even;
    if (adds) e += g.first * e_row + j * g.e_col;
    auto const finish = [&](T x) {
        T const sum = alpha * x;
        *c = adds ? sum + beta * *e : sum;
        c += c_row;
        if (adds) e += e_row;
    };
    index_t const fetching = end_of_fetching(g);
    index_t fetched = begins[g.first];
    for (index_t i = g.first; i < last;) {
        index_t at = begins[i];
        index_t const end = begins[i + 1], length = end - at;
        if constexpr (by_vectors)
            if (!even && length < longest) {
                i = add_short_rows(g, b, b_row, i, longest, fetched, finish);
                continue;
            }
        T x = 0;
        if (length < 8) { // a separate loop: compilers unroll loops that are known to be short
            fetched = fetch_ahead(g, fetched, end);
            for (; at < end; ++at) {
                fetch_of_b<Fetches, 1>(g, b, b_row, at, fetching);
                add_element<Ones>(x, values, at, b[columns[at] * b_row]);
            }
        } else if (!even && length < longest) {
            fetched = fetch_ahead(g, fetched, end);
            for (; at < end; ++at) {
                fetch_of_b<Fetches, 1>(g, b, b_row, at, fetching);
                add_element<Ones>(x, values, at, b[columns[at] * b_row]);
            }
        } else if (!Ones && g.near) {
            x = sum_of_near(g, b, b_row, at, end, fetched);
        } else {
            T y = 0, z = 0, w = 0;
            for (; at + 4 <= end; at += 4) {
                fetched = fetch_ahead(g, fetched, at + 1);
                fetch_of_b<Fetches, 4>(g, b, b_row, at, fetching);
                add_element<Ones>(x, values, at, b[columns[at] * b_row]);
                add_element<Ones>(y, values, at + 1, b[columns[at + 1] * b_row]);
                add_element<Ones>(z, values, at + 2, b[columns[at + 2] * b_row]);
                add_element<Ones>(w, values, at + 3, b[columns[at + 3] * b_row]);
            }
            for (; at < end; ++at) add_element<Ones>(x, values, at, b[columns[at] * b_row]);
            x = (x + y) + (z + w);
        }
        finish(x);
        ++i;
    }
}
template <class T, class Index, bool Ones>
STRATAGEMM_TARGET void sparse_times_columns(sparse_rows<T, Index, Ones> const& g) {
    for (index_t j = 0; j < g.n; ++j)
        if (g.b_row != 1)
            sparse_times_column<false, false>(g, j);
        else if (g.fetches)
            sparse_times_column<true, true>(g, j);
        else
            sparse_times_column<true, false>(g, j);
}
