// One row times a matrix, and a matrix whose columns are contiguous turned, with AVX2.
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
