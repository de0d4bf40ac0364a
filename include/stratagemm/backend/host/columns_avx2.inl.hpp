// Products smaller than a block, one row times a matrix, and a matrix whose columns are contiguous turned, with AVX2.
// Included by kernels.hpp in its namespace. AVX-512 takes the same functions, with the same bits: they wait for memory
// and for shuffles. Portable code does without.

// A tile of a product so small that a call costs as much as it does; the last vector of a row has `columns`. A row that
// ends within a vector goes through a buffer.
template <class T, int NV, int MR>
STRATAGEMM_OP void small_tile(block_args<T> const& g, T const* a, T const* b, accumulated<T>* c, int columns,
                              int height) {
    constexpr int W = lanes<T>;
    accumulated<T> whole[MR * W];
    bool const direct = columns == W;
    part parts[NV]{};
    if constexpr (NV == 1) parts[0] = make_part<T>(columns);
    tile_body<T, NV, true, NV == 1>(g, a, g.a_row, b, nullptr, direct ? c : whole, direct ? g.c_row : W,
                                    parts, nullptr, height, rows_of<MR>{});
    if (!direct) take_columns<accumulated<T>>(whole, W, c, g.c_row, height, columns);
}
// C = A B for each of a batch of such products.
template <class T, int NV>
STRATAGEMM_OP void small_rows(block_args<T> const& g, T const* a, T const* b, accumulated<T>* c,
                              int columns) {
    constexpr int tall = NV == 1 ? 8 : 4, low = short_rows;
    index_t i = g.m;
    if constexpr (tall > low)
        for (; i >= tall; i -= tall, a += tall * g.a_row, c += tall * g.c_row)
            small_tile<T, NV, tall>(g, a, b, c, columns, tall);
    for (; i > 0; i -= low, a += low * g.a_row, c += low * g.c_row)
        small_tile<T, NV, low>(g, a, b, c, columns, i < low ? static_cast<int>(i) : low);
}
template <class T>
STRATAGEMM_TARGET void small(block_args<T> const& g) {
    constexpr index_t W = lanes<T>;
    T const *a = g.a, *b = g.b;
    accumulated<T>* c = g.c;
    for (index_t x = 0; x < g.count; ++x, a += g.a_step, b += g.b_step, c += g.c_step) {
        for (index_t j = 0; j < g.n;) {
            index_t const left = g.n - j;
            if (left >= 2 * W) {
                small_rows<T, 2>(g, a, b + j, c + j, W);
                j += 2 * W;
            } else {
                small_rows<T, 1>(g, a, b + j, c + j, static_cast<int>(left < W ? left : W));
                j += W;
            }
        }
    }
}

// C = A B for a batch of squares as wide as a vector, contiguous one and all: without strides and edges there is
// little but loads and multiply-adds. No step of k is written out: two took longer to compile, and hardly less to run.
template <class T, int... I>
STRATAGEMM_OP void square_batch(block_args<T> const& g, std::integer_sequence<int, I...>) {
    constexpr int W = lanes<T>;
    T const *a = g.a, *b = g.b;
    T* c = g.c;
    for (index_t x = 0; x < g.count; ++x, a += g.a_step, b += g.b_step, c += g.c_step) {
        vec<T> acc[W] = {};
        for (int p = 0; p < W; ++p) {
            vec<T> const row = load<T>(b + p * W);
            (multiply_add_row<T>(acc[I], a + I * W + p, row), ...);
        }
        (store<T>(c + I * W, acc[I]), ...);
    }
}
template <class T>
STRATAGEMM_TARGET void squares(block_args<T> const& g) {
    square_batch<T>(g, rows_of<lanes<T>>{});
}

// C = A B for a batch of 4 x 4 matrices of float, each 64 contiguous bytes. A vector is whole rows of A and C: element
// P of each row of A, spread over its 16 bytes, times row P of B in every 16 bytes.
template <int P>
STRATAGEMM_OP void multiply_add_quad(vec<float>& c, vec<float> a, vec<float> b) {
    vec<float> x;
    asm("vpermilps %2, %1, %0" : "=v"(x) : "v"(a), "i"(P * 0x55));
    multiply_add<float>(c, x, b);
}
STRATAGEMM_OP vec<float> repeat_quad(float const* p) {
    vec<float> v;
    auto const& source = *reinterpret_cast<typename vector_types<char, 16>::loose const*>(p);
    asm("vbroadcastf128 %1, %0" : "=v"(v) : "m"(source));
    return v;
}
STRATAGEMM_TARGET inline void quads(block_args<float> const& g) {
    constexpr int W = lanes<float>;
    float const *a = g.a, *b = g.b;
    float* c = g.c;
    index_t const a_step = g.a_step, b_step = g.b_step, c_step = g.c_step;
    for (index_t x = g.count; x > 0; --x, a += a_step, b += b_step, c += c_step) {
        vec<float> const b0 = repeat_quad(b), b1 = repeat_quad(b + 4), b2 = repeat_quad(b + 8),
                         b3 = repeat_quad(b + 12);
        for (int i = 0; i < 16; i += W) {
            vec<float> const rows = load<float>(a + i);
            vec<float> sum{};
            multiply_add_quad<0>(sum, rows, b0);
            multiply_add_quad<1>(sum, rows, b1);
            multiply_add_quad<2>(sum, rows, b2);
            multiply_add_quad<3>(sum, rows, b3);
            store<float>(c + i, sum);
        }
    }
}

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
// 16 bytes of each of two columns, or the two or three floats that these have.
template <class T>
STRATAGEMM_OP vec<T> load_parts(T const* p, T const* q, bool few, part tail) {
    using bytes16 = typename vector_types<lane<T>, 16>::loose;
    auto const &x = *reinterpret_cast<bytes16 const*>(p), &y = *reinterpret_cast<bytes16 const*>(q);
    vec<T> v;
    if (few) {
        vec<T> w;
        asm("vmaskmovps %2, %x4, %x0\n\tvmaskmovps %3, %x4, %x1\n\tvinsertf128 $1, %x1, %0, %0"
            : "=&x"(v), "=&x"(w)
            : "m"(x), "m"(y), "x"(mask_of<T>(tail)));
    } else {
        asm("vmovups %1, %x0\n\tvinsertf128 $1, %2, %0, %0" : "=&x"(v) : "m"(x), "m"(y));
    }
    return v;
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

// A vector, or so many of its elements: 16, 8 and 4 bytes at a time, since some processors take a dozen operations to store
// through a mask.
template <class T>
STRATAGEMM_OP void store_turned(T* to, vec<T> v, bool all, int count) {
    if (all) return store<T>(to, v);
    int const bytes = count * int{sizeof(T)};
    auto* p = reinterpret_cast<char*>(to);
    if (bytes & 16) {
        asm("vmovups %x1, %0\n\tvextractf128 $1, %1, %x1"
            : "=m"(*reinterpret_cast<typename vector_types<char, 16>::loose*>(p)), "+x"(v));
        p += 16;
    }
    if (bytes & 8) {
        asm("vmovlps %x1, %0\n\tvpermilpd $1, %x1, %x1"
            : "=m"(*reinterpret_cast<typename vector_types<char, 8>::loose*>(p)), "+x"(v));
        p += 8;
    }
    if (bytes & 4) asm("vmovss %x1, %0" : "=m"(*reinterpret_cast<float*>(p)) : "x"(v));
}
// to = from, whose columns are contiguous, into rows of unit stride: 16 bytes of each of as many columns as a vector has
// lanes. The last of both overlap with those before; a column that is not there is the last, and is not stored.
// Columns shorter than 16 bytes are loaded and stored as they are.
template <class T>
STRATAGEMM_TARGET void turn(T* to, index_t to_row, T const* from, index_t from_col, index_t rows,
                            index_t cols) {
    constexpr int W = lanes<T>;
    constexpr index_t length = 16 / sizeof(T);
    bool const all = cols >= W, few = rows < length;
    auto const short_column = make_part<T>(static_cast<int>(few ? rows : length));
    for (index_t j = 0; j < cols; j += W) {
        if (all && cols - j < W) j = cols - W;
        T const* column[W];
        for (index_t l = 0; l < W; ++l) column[l] = from + (j + l < cols ? j + l : cols - 1) * from_col;
        for (index_t i = 0; i < rows; i += length) {
            if (!few && rows - i < length) i = rows - length;
            T* const t = to + i * to_row + j;
            if constexpr (sizeof(T) == 8) {
                vec<T> const x = load_parts<T>(column[0] + i, column[2] + i, few, short_column),
                             y = load_parts<T>(column[1] + i, column[3] + i, few, short_column);
                store_turned<T>(t, interleave<8, false>(x, y), all, static_cast<int>(cols));
                store_turned<T>(t + to_row, interleave<8, true>(x, y), all, static_cast<int>(cols));
            } else {
                vec<T> const x = load_parts<T>(column[0] + i, column[4] + i, few, short_column),
                             y = load_parts<T>(column[1] + i, column[5] + i, few, short_column),
                             z = load_parts<T>(column[2] + i, column[6] + i, few, short_column),
                             w = load_parts<T>(column[3] + i, column[7] + i, few, short_column);
                vec<T> const low = interleave<4, false>(x, y), low2 = interleave<4, false>(z, w),
                             high = interleave<4, true>(x, y), high2 = interleave<4, true>(z, w);
                store_turned<T>(t, interleave<8, false>(low, low2), all, static_cast<int>(cols));
                store_turned<T>(t + to_row, interleave<8, true>(low, low2), all, static_cast<int>(cols));
                if (few && rows == 2) break;
                store_turned<T>(t + 2 * to_row, interleave<8, false>(high, high2), all,
                                static_cast<int>(cols));
                if (few) break;
                store_turned<T>(t + 3 * to_row, interleave<8, true>(high, high2), all,
                                static_cast<int>(cols));
            }
        }
    }
}
