// Rows of a sparse matrix times a dense one, in one instruction set. Included once for each, inside its namespace, by
// host.hpp, which defines STRATAGEMM_TARGET and STRATAGEMM_OP; the vector operations are those of backend/host.

// NV vectors of a row of C, from column j of B on: their sums are registers while the elements of the row run.
template <class T, class Index, bool Ones, int NV, bool Tail>
STRATAGEMM_OP void sparse_strip(sparse_rows<T, Index, Ones> const& g, index_t i, index_t j, T* c, T const* e,
                                int tail) {
    constexpr int W = lanes<T>;
    part const last = make_part<T>(tail);
    vec<T> acc[NV] = {};
    for (index_t at = g.begins[i]; at < g.begins[i + 1]; ++at) {
        T const* const b = g.b + g.columns[at] * g.b_row + j;
        if constexpr (Ones) {
            for (int v = 0; v < NV; ++v)
                if constexpr (Tail)
                    acc[v] += load_part<T>(b + v * W, last);
                else
                    acc[v] += load<T>(b + v * W);
        } else {
            vec<T> const x = broadcast<T>(g.values + at);
            for (int v = 0; v < NV; ++v)
                if constexpr (Tail)
                    multiply_add<T>(acc[v], x, load_part<T>(b + v * W, last));
                else
                    multiply_add<T>(acc[v], x, load<T>(b + v * W));
        }
    }
    vec<T> const alpha = broadcast<T>(&g.alpha), beta = broadcast<T>(&g.beta);
    for (int v = 0; v < NV; ++v)
        if constexpr (Tail) {
            vec<T> sum = alpha * acc[v];
            if (g.adds) multiply_add<T>(sum, beta, load_part<T>(e + v * W, last));
            store_part<T>(c + v * W, sum, last);
        } else {
            vec<T> sum = alpha * acc[v];
            if (g.adds) multiply_add<T>(sum, beta, load<T>(e + v * W));
            store<T>(c + v * W, sum);
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
        for (; j + 8 * W <= g.n; j += 8 * W) sparse_strip<T, Index, Ones, 8, false>(g, i, j, c + j, e + j, W);
        if (j + 4 * W <= g.n) sparse_strip<T, Index, Ones, 4, false>(g, i, j, c + j, e + j, W), j += 4 * W;
        if (j + 2 * W <= g.n) sparse_strip<T, Index, Ones, 2, false>(g, i, j, c + j, e + j, W), j += 2 * W;
        if (j + W <= g.n) sparse_strip<T, Index, Ones, 1, false>(g, i, j, c + j, e + j, W), j += W;
        if (j < g.n) sparse_strip<T, Index, Ones, 1, true>(g, i, j, c + j, e + j, static_cast<int>(g.n - j));
    }
}

// sum += x y. Assembly where there is an instruction for that, because g++ makes vectors of four such sums, which
// takes longer than what it saves.
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
STRATAGEMM_OP void add_element(T& sum, T const* of_a, T of_b) {
    if constexpr (Ones)
        sum += of_b;
    else
        add_product(sum, *of_a, of_b);
}

// One column of B, or several one after the other: a row has four sums, each of every fourth element, which do not
// wait for each other. Short rows have one sum: neighbouring rows do not wait for each other either, and a
// processor guesses wrong once at the end of a row, where it would guess wrong at the end of two loops. Unit: b_row
// is 1, so that the processor finds an element of B without a multiplication.
template <bool Unit, class T, class Index, bool Ones>
STRATAGEMM_OP void sparse_times_column(sparse_rows<T, Index, Ones> const& g, index_t j) {
    index_t const b_row = Unit ? 1 : g.b_row, c_row = g.c_row, e_row = g.e_row, last = g.last;
    Index const *const begins = g.begins, *const columns = g.columns;
    T const *const values = g.values, *const b = g.b + j * g.b_col, *e = g.e;
    T* c = g.c + g.first * c_row + j * g.c_col;
    T const alpha = g.alpha, beta = g.beta;
    bool const adds = g.adds, few_in_row = g.short_rows;
    if (adds) e += g.first * e_row + j * g.e_col;
    index_t at = begins[g.first];
    for (index_t i = g.first; i < last; ++i, c += c_row) {
        index_t const end = begins[i + 1];
        T x = 0;
        if (few_in_row) {
            for (; at < end; ++at) add_element<Ones>(x, values + at, b[columns[at] * b_row]);
        } else {
            T y = 0, z = 0, w = 0;
            for (; at + 4 <= end; at += 4) {
                add_element<Ones>(x, values + at, b[columns[at] * b_row]);
                add_element<Ones>(y, values + at + 1, b[columns[at + 1] * b_row]);
                add_element<Ones>(z, values + at + 2, b[columns[at + 2] * b_row]);
                add_element<Ones>(w, values + at + 3, b[columns[at + 3] * b_row]);
            }
            for (; at < end; ++at) add_element<Ones>(x, values + at, b[columns[at] * b_row]);
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
