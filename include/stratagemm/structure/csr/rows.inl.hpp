// Rows of a sparse matrix times a dense one, in one instruction set. Included once for each, inside its namespace, by
// host.hpp, which defines STRATAGEMM_TARGET, STRATAGEMM_OP and STRATAGEMM_UNROLLED; the vector operations are those of
// backend/host.

// L numbers.
template <class T, int L>
using some = typename vector_types<lane<T>, L* static_cast<int>(sizeof(T))>::type;

template <class T, int L, bool Tail>
STRATAGEMM_OP some<T, L> load_some(T const* p, part last) {
    if constexpr (Tail) {
        return load_part<T>(p, last);
    } else {
        (void)last;
        some<T, L> v;
        __builtin_memcpy(&v, p, sizeof(v));
        return v;
    }
}

// acc += element `at` of A times NV vectors of its row of B, from column j on.
template <class T, class Index, bool Ones, int L, int NV, bool Tail>
STRATAGEMM_OP void add_to_strip(some<T, L> (&acc)[NV], sparse_rows<T, Index, Ones> const& g, index_t at,
                                index_t j, part last) {
    T const* const b = g.b + g.columns[at] * g.b_row + j;
    if constexpr (Ones) {
        STRATAGEMM_UNROLLED
        for (int v = 0; v < NV; ++v) acc[v] += load_some<T, L, Tail>(b + v * L, last);
    } else {
        some<T, L> const x = g.values[at] - some<T, L>{};
        STRATAGEMM_UNROLLED
        for (int v = 0; v < NV; ++v) acc[v] += x * load_some<T, L, Tail>(b + v * L, last);
    }
}

// NV vectors of a row of C, from column j on: their sums are registers while the elements of the row run. Where
// there are few vectors, each has several sums, of every second or fourth element, which do not wait for each other.
// g++ at -O2 keeps the sums in memory unless it is told to unroll.
template <class T, class Index, bool Ones, int L, int NV, bool Tail>
STRATAGEMM_OP void sparse_strip(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j, T* c, T const* e,
                                int tail) {
    constexpr int sums = NV < 4 ? 4 / NV : 1;
    part const last = make_part<T>(tail);
    some<T, L> acc[sums][NV] = {};
    index_t const end = g.begins[i + 1];
    index_t at = g.begins[i];
    for (; at + sums <= end; at += sums) {
        STRATAGEMM_UNROLLED
        for (int s = 0; s < sums; ++s) add_to_strip<T, Index, Ones, L, NV, Tail>(acc[s], g, at + s, j, last);
    }
    for (; at < end; ++at) add_to_strip<T, Index, Ones, L, NV, Tail>(acc[0], g, at, j, last);
    STRATAGEMM_UNROLLED
    for (int v = 0; v < NV; ++v) {
        if constexpr (sums == 4) acc[0][v] = (acc[0][v] + acc[1][v]) + (acc[2][v] + acc[3][v]);
        if constexpr (sums == 2) acc[0][v] += acc[1][v];
        some<T, L> sum = g.alpha * acc[0][v];
        if (g.adds) sum += g.beta * load_some<T, L, Tail>(e + v * L, last);
        if constexpr (Tail)
            store_part<T>(c + v * L, sum, last);
        else
            __builtin_memcpy(c + v * L, &sum, sizeof(sum));
    }
}

// B by rows.
template <class T, class Index, bool Ones>
STRATAGEMM_TARGET void sparse_times_rows(sparse_rows<T, Index, Ones> const& g) {
    constexpr int W = lanes<T>;
    for (index_t i = g.first; i < g.last; ++i) {
        T* const c = g.c + i * g.c_row;
        T const* const e = g.adds ? g.e + i * g.e_row : c;
        index_t j = 0;
        for (; j + 8 * W <= g.n; j += 8 * W)
            sparse_strip<T, Index, Ones, W, 8, false>(g, i, j, c + j, e + j, W);
        if (j + 4 * W <= g.n) sparse_strip<T, Index, Ones, W, 4, false>(g, i, j, c + j, e + j, W), j += 4 * W;
        if (j + 2 * W <= g.n) sparse_strip<T, Index, Ones, W, 2, false>(g, i, j, c + j, e + j, W), j += 2 * W;
        if (j + W <= g.n) sparse_strip<T, Index, Ones, W, 1, false>(g, i, j, c + j, e + j, W), j += W;
        // Vectors of two, and half vectors, need no masks.
        if (j + 2 == g.n)
            sparse_strip<T, Index, Ones, 2, 1, false>(g, i, j, c + j, e + j, 2);
        else if (2 * (g.n - j) == W)
            sparse_strip<T, Index, Ones, (W > 2 ? W / 2 : 1), 1, false>(g, i, j, c + j, e + j, W / 2);
        else if (j < g.n)
            sparse_strip<T, Index, Ones, W, 1, true>(g, i, j, c + j, e + j, static_cast<int>(g.n - j));
    }
}

// sum += x y. Assembly where there is an instruction for that, because g++ makes vectors of four such sums. These
// were up to 1.15 times as fast from a cache, and 0.7 times where elements of B come from the third cache.
template <class T>
STRATAGEMM_OP void add_product(T& sum, T x, T y) {
#ifdef STRATAGEMM_SCALAR_FMA
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

// One column of B, or several one after the other: a row has four sums, each of every fourth element, which do not
// wait for each other. Short rows have one sum: neighbouring rows do not wait for each other either, and a processor
// guesses wrong once at the end of a row, where it would guess wrong at the end of two loops. Unit: b_row is 1, so
// that the processor finds an element of B without a multiplication.
template <bool Unit, class T, class Index, bool Ones>
STRATAGEMM_OP void sparse_times_column(sparse_rows<T, Index, Ones> const& g, index_t j) {
    index_t const b_row = Unit ? 1 : g.b_row, c_row = g.c_row, e_row = g.e_row, last = g.last;
    Index const *const begins = g.begins, *const columns = g.columns;
    T const *const values = g.values, *const b = g.b + j * g.b_col, *e = g.e;
    T* c = g.c + g.first * c_row + j * g.c_col;
    T const alpha = g.alpha, beta = g.beta;
    bool const adds = g.adds;
    index_t const short_row = g.short_row;
    if (adds) e += g.first * e_row + j * g.e_col;
    index_t at = begins[g.first];
    for (index_t i = g.first; i < last; ++i, c += c_row) {
        index_t const end = begins[i + 1];
        T x = 0;
        if (end - at < short_row) {
            for (; at < end; ++at) add_element<Ones>(x, values, at, b[columns[at] * b_row]);
        } else {
            T y = 0, z = 0, w = 0;
            for (; at + 4 <= end; at += 4) {
                add_element<Ones>(x, values, at, b[columns[at] * b_row]);
                add_element<Ones>(y, values, at + 1, b[columns[at + 1] * b_row]);
                add_element<Ones>(z, values, at + 2, b[columns[at + 2] * b_row]);
                add_element<Ones>(w, values, at + 3, b[columns[at + 3] * b_row]);
            }
            for (; at < end; ++at) add_element<Ones>(x, values, at, b[columns[at] * b_row]);
            x = (x + y) + (z + w);
        }
        T const sum = alpha * x;
        *c = adds ? sum + beta * *e : sum;
        if (adds) e += e_row;
    }
}
template <class T, class Index, bool Ones>
STRATAGEMM_TARGET void sparse_times_columns(sparse_rows<T, Index, Ones> const& g) {
    for (index_t j = 0; j < g.n; ++j)
        if (g.b_row == 1)
            sparse_times_column<true>(g, j);
        else
            sparse_times_column<false>(g, j);
}
