// One row times a matrix, few rows times a matrix whose columns are contiguous, and such a matrix turned, with AVX2.
// Included by kernels.hpp in its namespace. AVX-512 takes the same functions, with the same bits: they wait for memory
// and for shuffles. Portable code does without.

// In every 16 bytes: the low or the high 8 bytes of a and b, their pieces of so many bytes in turn.
template <int Bytes, bool High, class V>
STRATAGEMM_OP V interleave(V a, V b) {
    V c;
    if constexpr (Bytes == 8 && High)
        asm("vunpckhpd %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
    else if constexpr (Bytes == 8)
        asm("vunpcklpd %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
    else if constexpr (High)
        asm("vunpckhps %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
    else
        asm("vunpcklps %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
    return c;
}
// 16 bytes each of columns that are `next` apart, as many as fit: two, this is for AVX2.
template <class T>
STRATAGEMM_OP vec<T> load_parts(T const* p, index_t next) {
    using bytes16 = typename vector_types<lane<T>, 16>::loose;
    vec<T> v;
    asm("vmovups %1, %x0\n\tvinsertf128 $1, %2, %0, %0"
        : "=&x"(v)
        : "m"(*reinterpret_cast<bytes16 const*>(p)), "m"(*reinterpret_cast<bytes16 const*>(p + next)));
    return v;
}
// 16 bytes of each of as many columns as a vector has lanes, `step` apart, as vectors that have an element of each.
template <class T>
struct columns_part {
    vec<T> a, b, c, d; // the last two of floats only
};
template <class T>
STRATAGEMM_OP columns_part<T> load_columns(T const* p, index_t step) {
    columns_part<T> to;
    if constexpr (sizeof(T) == 8) {
        vec<T> const x = load_parts<T>(p, 2 * step), y = load_parts<T>(p + step, 2 * step);
        to.a = interleave<8, false>(x, y), to.b = interleave<8, true>(x, y);
    } else {
        vec<T> const x = load_parts<T>(p, 4 * step), y = load_parts<T>(p + step, 4 * step),
                     z = load_parts<T>(p + 2 * step, 4 * step), w = load_parts<T>(p + 3 * step, 4 * step);
        vec<T> const low = interleave<4, false>(x, y), low2 = interleave<4, false>(z, w),
                     high = interleave<4, true>(x, y), high2 = interleave<4, true>(z, w);
        to.a = interleave<8, false>(low, low2), to.b = interleave<8, true>(low, low2);
        to.c = interleave<8, false>(high, high2), to.d = interleave<8, true>(high, high2);
    }
    return to;
}

// sum += x B for 16 bytes of each column.
template <class T, int... I>
STRATAGEMM_OP void add_lanes(vec<T> (&sum)[sizeof...(I)], T const* a, index_t const (&rows)[sizeof...(I)],
                             index_t a_col, T const* b, index_t step, std::integer_sequence<int, I...>) {
    auto const x = load_columns<T>(b, step);
    (multiply_add_row<T>(sum[I], a + rows[I], x.a), ...);
    (multiply_add_row<T>(sum[I], a + rows[I] + a_col, x.b), ...);
    if constexpr (sizeof(T) == 4) {
        (multiply_add_row<T>(sum[I], a + rows[I] + 2 * a_col, x.c), ...);
        (multiply_add_row<T>(sum[I], a + rows[I] + 3 * a_col, x.d), ...);
    }
}
// Sums of a few rows times as many columns as a vector has lanes, over a piece of k: a chain in each lane. Columns are
// contiguous, `step` apart. `far`: the next lines are fetched from memory. Rows beyond the last are the last again.
template <class T, int... I>
STRATAGEMM_TARGET __attribute__((noinline)) void
rows_times_lanes(block_args<T> const& g, T const* a, T const* b, index_t step, index_t k, bool far, T* sums,
                 std::integer_sequence<int, I...> all) {
    constexpr int W = lanes<T>;
    constexpr index_t length = 16 / sizeof(T), line = 64 / sizeof(T);
    index_t const a_col = g.a_col, rows[] = {(I < g.m ? I : g.m - 1) * g.a_row...};
    vec<T> sum[sizeof...(I)] = {};
    index_t p = 0;
    for (; p + length <= k; p += length, a += length * a_col, b += length) {
        if (far && p % line == 0)
            for (int l = 0; l < W; ++l) __builtin_prefetch(b + l * step + 8 * line);
        add_lanes<T>(sum, a, rows, a_col, b, step, all);
    }
    for (; p < k; ++p, a += a_col, ++b) {
        T x[W];
        for (int l = 0; l < W; ++l) x[l] = b[l * step];
        (multiply_add_row<T>(sum[I], a + rows[I], load<T>(x)), ...);
    }
    (store<T>(sums + I * W, sum[I]), ...);
}

// Sums += A B for some rows of B and one of A.
template <class T, int... R>
STRATAGEMM_TARGET __attribute__((noinline)) void add_rows_once(block_args<T> const& g, T const* a, T const* b,
                                                               T* sums, index_t n,
                                                               std::integer_sequence<int, R...>) {
    constexpr int W = lanes<T>;
    index_t const b_row = g.b_row;
    vec<T> const x[] = {broadcast<T>(a + R * g.a_col)...};
    index_t j = 0;
    for (; j + W <= n; j += W) {
        vec<T> sum = load<T>(sums + j);
        (multiply_add<T>(sum, x[R], load<T>(b + R * b_row + j)), ...);
        store<T>(sums + j, sum);
    }
    if (j < n) {
        auto const tail = make_part<T>(static_cast<int>(n - j));
        vec<T> sum = load<T>(sums + j);
        (multiply_add<T>(sum, x[R], load_part<T>(b + R * b_row + j, tail)), ...);
        store<T>(sums + j, sum);
    }
}

// One row times a piece of a matrix whose rows are contiguous, as rows_times_rows() does it.
template <class T>
STRATAGEMM_TARGET void row_times_rows(block_args<T> const& g) {
    constexpr index_t width = 8192 / sizeof(T);
    T sums[width];
    for (index_t from = 0; from < g.n; from += width) {
        index_t const n = g.n - from < width ? g.n - from : width;
        for (index_t j = 0; j < n; ++j) sums[j] = T(0);
        T const *a = g.a, *b = g.b + from;
        index_t left = g.k;
        for (; left >= 8; left -= 8, a += 8 * g.a_col, b += 8 * g.b_row)
            add_rows_once<T>(g, a, b, sums, n, rows_of<8>{});
        for (; left > 0; --left, a += g.a_col, b += g.b_row) add_rows_once<T>(g, a, b, sums, n, rows_of<1>{});
        finish_line<T>(g.c + from, sums, g.alpha, g.beta, g.e ? g.e + from : nullptr, n);
    }
}

// Up to four rows times a matrix whose columns are contiguous, all pieces of k. Columns that do not fill vectors are
// copied to where there are as many.
template <class T>
STRATAGEMM_TARGET void rows_times_columns(block_args<T> const& g) {
    constexpr int W = lanes<T>;
    constexpr index_t longest = 1536 / sizeof(T);
    bool const far = g.k * g.n * index_t{sizeof(T)} > 1 << 20;
    T copy[W * longest], sums[4 * W];
    for (index_t j = 0, n; j < g.n; j += n) {
        n = g.n - j < W ? g.n - j : W;
        index_t const again = g.n < W ? 0 : W - n; // columns that are multiplied again
        for (index_t p = 0; p < g.k; p += g.piece) {
            index_t const k = g.k - p < g.piece ? g.k - p : g.piece;
            T const *const a = g.a + p * g.a_col, *b = g.b + (j - again) * g.b_strip + p;
            index_t step = g.b_strip;
            if (g.n < W) {
                for (index_t l = 0; l < W; ++l)
                    __builtin_memcpy(copy + l * k, b + (l < n ? l : 0) * step,
                                     static_cast<std::size_t>(k) * sizeof(T));
                b = copy, step = k;
            }
            rows_times_lanes<T>(g, a, b, step, k, far, sums, rows_of<4>{});
            for (index_t i = 0; i < g.m; ++i) {
                T* const c = g.c + i * g.c_row + j;
                finish_line<T>(c, sums + i * W + again, g.alpha, p == 0 ? g.beta : T(1),
                               p > 0 ? c
                               : g.e ? g.e + i * g.e_row + j
                                     : nullptr,
                               n);
            }
        }
    }
}

// to = from, whose columns are contiguous, into rows of unit stride: whole vectors, 16 bytes of each column at a time.
template <class T>
STRATAGEMM_TARGET void turn(T* to, index_t to_row, T const* from, index_t from_col, index_t rows,
                            index_t cols) {
    constexpr int W = lanes<T>;
    constexpr index_t length = 16 / sizeof(T);
    for (index_t j = 0; j + W <= cols; j += W, from += W * from_col)
        for (index_t i = 0; i + length <= rows; i += length) {
            auto const x = load_columns<T>(from + i, from_col);
            T* const t = to + i * to_row + j;
            store<T>(t, x.a);
            store<T>(t + to_row, x.b);
            if constexpr (length == 4) {
                store<T>(t + 2 * to_row, x.c);
                store<T>(t + 3 * to_row, x.d);
            }
        }
}
