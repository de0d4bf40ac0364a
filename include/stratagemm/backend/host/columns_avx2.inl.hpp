// Products smaller than a block, and a matrix whose columns are contiguous turned, with AVX2. Included by kernels.hpp
// in its namespace. AVX-512 takes the same functions, with the same bits: they wait for memory and for shuffles.
// Portable code does without.

// A tile of a product so small that a call costs as much as it does; the last vector of a row has `columns`. A row that
// ends within a vector goes through a buffer.
template <class T, int MR>
STRATAGEMM_OP void small_tile(block_args<T> const& g, T const* a, T const* b, accumulated<T>* c, int columns,
                              int height) {
    constexpr int W = lanes<T>;
    accumulated<T> whole[MR * W];
    bool const direct = columns == W;
    part const parts[1]{make_part<T>(columns)};
    tile_body<T, 1, true, true>(g, {a, nullptr, height}, b, nullptr, direct ? c : whole, direct ? g.c_row : W,
                                parts, rows_of<MR>{});
    if (!direct) take_columns<accumulated<T>>(whole, W, c, g.c_row, height, columns);
}
// C = A B for each of a batch of such products.
template <class T>
STRATAGEMM_TARGET void small(block_args<T> const& g) {
    constexpr int W = lanes<T>, tall = 8, low = short_rows;
    T const *a = g.a, *b = g.b;
    accumulated<T>* c = g.c;
    for (index_t x = 0; x < g.count; ++x, a += g.a_step, b += g.b_step, c += g.c_step)
        for (index_t j = 0; j < g.n; j += W) {
            int const columns = static_cast<int>(smaller(g.n - j, W));
            index_t i = 0;
            for (; i + tall <= g.m; i += tall)
                small_tile<T, tall>(g, a + i * g.a_row, b + j, c + i * g.c_row + j, columns, tall);
            for (; i < g.m; i += low)
                small_tile<T, low>(g, a + i * g.a_row, b + j, c + i * g.c_row + j, columns,
                                   static_cast<int>(smaller(g.m - i, low)));
        }
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

// The low or the high 8 bytes of a and b in every 16 bytes: pieces of `Bytes` bytes of a and of b in turn.
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
// 16 bytes of each of two columns.
template <class T>
STRATAGEMM_OP vec<T> load_parts(T const* p, T const* q) {
    using bytes16 = typename vector_types<lane<T>, 16>::loose;
    auto const &x = *reinterpret_cast<bytes16 const*>(p), &y = *reinterpret_cast<bytes16 const*>(q);
    vec<T> v;
    asm("vmovups %1, %x0\n\tvinsertf128 $1, %2, %0, %0" : "=&x"(v) : "m"(x), "m"(y));
    return v;
}
// Two, three or four floats of each of two columns that have no more.
template <class T>
STRATAGEMM_OP vec<T> load_short(T const* p, T const* q, part column) {
    using bytes16 = typename vector_types<lane<T>, 16>::loose;
    auto const &x = *reinterpret_cast<bytes16 const*>(p), &y = *reinterpret_cast<bytes16 const*>(q);
    vec<T> v, w;
    asm("vmaskmovps %2, %x4, %x0\n\tvmaskmovps %3, %x4, %x1\n\tvinsertf128 $1, %x1, %0, %0"
        : "=&x"(v), "=&x"(w)
        : "m"(x), "m"(y), "x"(mask_of<T>(column)));
    return v;
}

// to = from, whose columns are contiguous and have two to four floats or two doubles, into rows of unit stride, a
// vector of columns at a time. The last columns overlap with those before. Code for size is as fast here.
template <class T>
STRATAGEMM_TARGET __attribute__((cold)) void turn_short(T* to, index_t to_row, T const* from,
                                                        index_t from_col, index_t rows, index_t cols) {
    constexpr int W = lanes<T>;
    auto const column = make_part<T>(static_cast<int>(rows));
    for (index_t next = 0; next < cols; next += W) {
        index_t const j = next < cols - W ? next : cols - W;
        T const *const p = from + j * from_col, *const q = p + W / 2 * from_col;
        T* t = to + j;
        if constexpr (sizeof(T) == 8) {
            vec<T> const x = load_parts<T>(p, q), y = load_parts<T>(p + from_col, q + from_col);
            store<T>(t, interleave<8, false>(x, y));
            store<T>(t + to_row, interleave<8, true>(x, y));
        } else {
            vec<T> const x = load_short<T>(p, q, column),
                         y = load_short<T>(p + from_col, q + from_col, column),
                         z = load_short<T>(p + 2 * from_col, q + 2 * from_col, column),
                         w = load_short<T>(p + 3 * from_col, q + 3 * from_col, column);
            vec<T> const low = interleave<4, false>(x, y), low2 = interleave<4, false>(z, w),
                         high = interleave<4, true>(x, y), high2 = interleave<4, true>(z, w);
            store<T>(t, interleave<8, false>(low, low2));
            store<T>(t += to_row, interleave<8, true>(low, low2));
            if (rows > 2) store<T>(t += to_row, interleave<8, false>(high, high2));
            if (rows > 3) store<T>(t += to_row, interleave<8, true>(high, high2));
        }
    }
}
// Stores the first 16 bytes of v at p, and the others at q.
template <class T>
STRATAGEMM_OP void store_halves(T* p, T* q, vec<T> v) {
    using bytes16 = typename vector_types<lane<T>, 16>::loose;
    auto &x = *reinterpret_cast<bytes16*>(p), &y = *reinterpret_cast<bytes16*>(q);
    asm("vmovups %x2, %0\n\tvextractf128 $1, %2, %1" : "=m"(x), "=m"(y) : "x"(v));
}
// The same for rows and columns of 16 bytes at least. Each half of a vector is 16 bytes of a row; the halves overlap
// where a row is shorter than a vector.
template <class T>
STRATAGEMM_TARGET void turn(T* to, index_t to_row, T const* from, index_t from_col, index_t rows,
                            index_t cols) {
    constexpr int W = lanes<T>;
    constexpr index_t length = 16 / sizeof(T);
    if (cols >= W && rows <= length) return turn_short<T>(to, to_row, from, from_col, rows, cols);
    index_t const half = cols < W ? cols - length : length; // columns from one half to the other
    for (index_t j = 0; j < cols; j += W) {
        if (cols - j < W) j = cols - length - half;
        T const *p = from + j * from_col, *q = p + half * from_col;
        T* line = to + j;
        for (index_t left = rows; left > 0;
             left -= length, p += length, q += length, line += length * to_row) {
            if (index_t const over = length - left; over > 0) p -= over, q -= over, line -= over * to_row;
            T* t = line;
            if constexpr (sizeof(T) == 8) {
                vec<T> const x = load_parts<T>(p, q), y = load_parts<T>(p + from_col, q + from_col);
                store_halves<T>(t, t + half, interleave<8, false>(x, y));
                t += to_row;
                store_halves<T>(t, t + half, interleave<8, true>(x, y));
            } else {
                vec<T> const x = load_parts<T>(p, q), y = load_parts<T>(p + from_col, q + from_col),
                             z = load_parts<T>(p + 2 * from_col, q + 2 * from_col),
                             w = load_parts<T>(p + 3 * from_col, q + 3 * from_col);
                vec<T> const low = interleave<4, false>(x, y), low2 = interleave<4, false>(z, w),
                             high = interleave<4, true>(x, y), high2 = interleave<4, true>(z, w);
                store_halves<T>(t, t + half, interleave<8, false>(low, low2));
                t += to_row;
                store_halves<T>(t, t + half, interleave<8, true>(low, low2));
                t += to_row;
                store_halves<T>(t, t + half, interleave<8, false>(high, high2));
                t += to_row;
                store_halves<T>(t, t + half, interleave<8, true>(high, high2));
            }
        }
    }
}
