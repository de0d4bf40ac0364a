// The kernels of one instruction set. Included once for each, inside its namespace, by kernels.hpp, which
// defines STRATAGEMM_TARGET (the function attribute) and the few vector operations used here.
//
// A tile is a block of MR rows and NV vectors of C, kept in registers while k runs: per step it loads NV
// vectors of B and broadcasts MR elements of A. A is read through two strides, so a row-major A needs no
// packing to be multiplied; B must have its columns side by side. There is no separate edge code: the last
// vector of a row is masked, and rows are divided into heights that exist as tiles.

// A row of a tile on its way out: c = alpha acc + beta e.
template <class T, int NV>
STRATAGEMM_OP void finish_row(vec<T> const (&acc)[NV], vec<T> alpha, vec<T> beta, T const* e, T* c,
                              part tail) {
    constexpr int last = (NV - 1) * lanes<T>;
    if constexpr (NV > 1) finish<T>(c, acc[0], alpha, beta, e);
    if constexpr (masked)
        finish_part<T>(c + last, acc[NV - 1], alpha, beta, e + last, tail);
    else
        finish<T>(c + last, acc[NV - 1], alpha, beta, e + last);
}
template <class T, int NV, bool Tail>
STRATAGEMM_OP void store_row(vec<T> const (&acc)[NV], T* c, part tail) {
    if constexpr (NV > 1) store<T>(c, acc[0]);
    if constexpr (Tail && masked)
        store_part<T>(c + (NV - 1) * lanes<T>, acc[NV - 1], tail);
    else
        store<T>(c + (NV - 1) * lanes<T>, acc[NV - 1]);
}

// The rows of the shortest tile of small products: as many as take as long as one, which waits for its own sums, or of
// two vectors twice that, some of which a branch skips.
template <int NV>
inline constexpr int short_rows = masked&& NV > 1 ? 8 : 4;

// One tile. `Plain`: alpha is 1 and beta 0. `Tail`: the last vector of a row may be a part. The shortest tile has `height`
// rows, one at least: of its first four, others are the first again, and the rest are skipped. The rows I... are spelled
// out by the compiler, not unrolled by it, so that the accumulators are registers whatever it makes of loops.
template <class T, int NV, bool Plain, bool Tail, int... I>
STRATAGEMM_OP void tile_body(block_args<T> const& g, T const* a, index_t a_row, T const* b,
                             accumulated<T> const* e, accumulated<T>* c, index_t c_row, part tail,
                             T const* next, int height, std::integer_sequence<int, I...>) {
    using Acc = accumulated<T>;
    constexpr int W = lanes<T>, MR = sizeof...(I), ahead = 8;
    constexpr bool is_short = MR == (Plain ? short_rows<NV> : shortest);
    // The next MR rows, as many cache lines a step as bring them all.
    constexpr int line = 64 / static_cast<int>(sizeof(T)), lines = (MR + line - 1) / line;
    index_t const next_steps = g.k / (lines * line) + 1, next_row = next ? g.ahead_row : 0;
    index_t next_left = next_steps;
    T const* next_line = next = next ? next : a;
    vec<Acc> acc[MR][NV] = {};
    // Rows 0..4 of A are reached from one pointer with the strides 0, 1, 2, 3, 4 that an address can hold (3 from a
    // register of its own), rows 5..9 from the next, rows 10..14 from a third, row 15 from a fourth.
    index_t const a_col = g.a_col, b_row = g.b_row;
    int const rows = is_short ? height : MR;
    index_t const steps[] = {0, rows > 1 ? a_row : 0, rows > 2 ? 2 * a_row : 0, rows > 3 ? 3 * a_row : 0,
                             4 * a_row};
    T const *a0 = a, *a5 = a + (MR > 5 ? 5 * a_row : 0), *a10 = a + (MR > 10 ? 10 * a_row : 0),
            *a15 = a + (MR > 15 ? 15 * a_row : 0);
    for (index_t p = g.k; p > 0; --p) {
        vec<T> row[NV];
        if constexpr (!Plain) {
            for (int v = 0; v < NV; ++v) __builtin_prefetch(b + ahead * b_row + v * W);
            for (int l = 0; l < lines; ++l) __builtin_prefetch(next_line + l * line, 0, 2);
            next_line += lines * line;
            if (--next_left == 0) next_left = next_steps, next_line = next += next_row;
        }
        if constexpr (NV > 1) row[0] = load<T>(b);
        row[NV - 1] = Tail ? load_part<T>(b + (NV - 1) * W, tail) : load<T>(b + (NV - 1) * W);
        (void)(((!is_short || I < 4 || I < height) && (step_row<T>(acc[I],
                                                                   (I < 5    ? a0
                                                                    : I < 10 ? a5
                                                                    : I < 15 ? a10
                                                                             : a15) +
                                                                       steps[I % 5],
                                                                   row),
                                                       true)) &&
               ...);
        b += b_row, a0 += a_col;
        if constexpr (MR > 5) a5 += a_col;
        if constexpr (MR > 10) a10 += a_col;
        if constexpr (MR > 15) a15 += a_col;
    }
    if constexpr (Plain) {
        ((is_short && I >= height ? void() : store_row<Acc, NV, Tail>(acc[I], c + I * c_row, tail)), ...);
    } else {
        // beta = 0 must not read E, which may hold anything: it reads what adds nothing, and there is one way out.
        index_t const e_row = g.beta == Acc(0) ? 0 : g.e_row;
        if (g.beta == Acc(0)) e = nothing_added<Acc, NV * W>.at;
        vec<Acc> const alpha = broadcast<Acc>(&g.alpha), beta = broadcast<Acc>(&g.beta);
        ((is_short && I >= height
              ? void()
              : finish_row<Acc, NV>(acc[I], alpha, beta, e + I * e_row, c + I * c_row, tail)),
         ...);
    }
}
template <int MR>
using rows_of = std::make_integer_sequence<int, MR>;

// MR rows; of the shortest tile, `height` of them.
// Begins with a cache line: the loop over k is as long as three of them, and where a program happened to put it across
// four, products took up to a tenth longer.
template <class T, int MR, int NV>
STRATAGEMM_TARGET __attribute__((noinline, aligned(64))) void
tile(block_args<T> const& g, T const* a, T const* b, accumulated<T> const* e, accumulated<T>* c, int height,
     int columns, T const* next) {
    constexpr int W = lanes<T>;
    accumulated<T>* ahead = c;
    for (int i = 0; i < (MR == shortest ? height : MR); ++i, ahead += g.c_row) {
        __builtin_prefetch(ahead, 1);
        if constexpr (NV > 1) __builtin_prefetch(ahead + W, 1);
    }
    auto const tail = make_part<accumulated<T>>(columns - (NV - 1) * W);
    tile_body<T, NV, false, masked>(g, a, g.a_row, b, e, c, g.c_row, tail, next, height, rows_of<MR>{});
}

// How many rows the next tile takes of `left`: the largest height, except where taking the second one now
// makes the rest come out even.
inline int next_height(index_t left) {
    if (left < tallest) return left >= second ? second : static_cast<int>(left);
    index_t const even = left & ~index_t{1};
    for (int seconds = 0; seconds * second <= left && seconds < tallest / 2; ++seconds)
        if ((even - seconds * second) % tallest == 0) return seconds ? second : tallest;
    return tallest;
}

// The tile of a height, of two vectors, or of one where the second would be masked out.
template <class T, int NV>
constexpr auto tile_of(int height) {
    return height == tallest  ? tile<T, tallest, NV>
           : height == second ? tile<T, second, NV>
                              : tile<T, shortest, NV>;
}

// C = alpha A B + beta E for each of `count` products; all strides are the caller's. Where moves cannot be masked, the
// last strip of B is padded and its tiles go through a buffer.
template <class T>
STRATAGEMM_TARGET void block(block_args<T> const& g) {
    using Acc = accumulated<T>;
    constexpr int W = lanes<T>, strip = W * vectors;
    T const *a = g.a, *b = g.b;
    Acc const* e = g.e;
    Acc* c = g.c;
    index_t const e_row = e ? g.e_row : 0, e_strip = e ? strip : 0; // nothing is added to a null pointer
    for (index_t x = 0; x < g.count; ++x, a += g.a_step, b += g.b_step, e += g.e_step, c += g.c_step) {
        for (index_t i = 0; i < g.m;) {
            int const height = next_height(g.m - i);
            auto* const wide = tile_of<T, 2>(height);
            auto *const narrow = tile_of < T, masked ? 1 : 2 > (height);
            T const *const ai = a + i * g.a_row, *bj = b;
            Acc const* ej = e + i * e_row;
            Acc* cj = c + i * g.c_row;
            for (index_t j = 0; j < g.n; j += strip, bj += g.b_strip, ej += e_strip, cj += strip) {
                index_t const left = g.n - j;
                int const columns = static_cast<int>(left < strip ? left : strip);
                T const* const next = left > strip || !g.ahead ? nullptr : g.ahead + i * g.ahead_row;
                if (masked || columns == strip) {
                    (columns > W ? wide : narrow)(g, ai, bj, ej, cj, height, columns, next);
                } else {
                    Acc buffer[tallest * strip] = {};
                    block_args<T> whole = g;
                    whole.e_row = whole.c_row = strip;
                    if (g.beta != Acc(0)) take_columns<Acc>(ej, g.e_row, buffer, strip, height, columns);
                    wide(whole, ai, bj, buffer, buffer, height, strip, next);
                    take_columns<Acc>(buffer, strip, cj, g.c_row, height, columns);
                }
            }
            i += height;
        }
    }
}

// A tile of a product so small that a call costs as much as it does; the last vector of a row has `columns`. Where
// stores cannot be masked, a row that ends within a vector goes through a buffer.
template <class T, int NV, int MR>
STRATAGEMM_OP void small_tile(block_args<T> const& g, T const* a, T const* b, accumulated<T>* c, int columns,
                              int height) {
    constexpr int W = lanes<T>;
    constexpr bool ends = masked || NV == 1;
    accumulated<T> whole[masked ? 1 : MR * W];
    bool const direct = masked || columns == W;
    tile_body<T, NV, true, ends>(g, a, g.a_row, b, nullptr, direct ? c : whole, direct ? g.c_row : W,
                                 make_part<T>(columns), nullptr, height, rows_of<MR>{});
    if (!direct) take_columns<accumulated<T>>(whole, W, c, g.c_row, height, columns);
}
// C = A B for each of a batch of such products.
template <class T, int NV>
STRATAGEMM_OP void small_rows(block_args<T> const& g, T const* a, T const* b, accumulated<T>* c,
                              int columns) {
    constexpr int tall = masked || NV == 1 ? 8 : 4, low = short_rows<NV>;
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
            if (left >= 2 * W || (masked && left > W)) {
                small_rows<T, 2>(g, a, b + j, c + j, static_cast<int>(left < 2 * W ? left - W : W));
                j += 2 * W;
            } else {
                small_rows<T, 1>(g, a, b + j, c + j, static_cast<int>(left < W ? left : W));
                j += W;
            }
        }
    }
}

// C = A B for a batch of squares as wide as a vector, contiguous one and all: without strides and edges there is
// little but loads and multiply-adds. Two steps of k are written out: more of them took longer to compile, and no less
// to run.
template <class T, int... I>
STRATAGEMM_OP void square_step(vec<T> (&acc)[sizeof...(I)], T const* a, T const* b,
                               std::integer_sequence<int, I...>) {
    vec<T> const row = load<T>(b);
    (multiply_add_row<T>(acc[I], a + I * lanes<T>, row), ...);
}
template <class T, int... I>
STRATAGEMM_OP void square_batch(block_args<T> const& g, std::integer_sequence<int, I...> rows) {
    constexpr int W = lanes<T>;
    static_assert(W % 2 == 0);
    T const *a = g.a, *b = g.b;
    T* c = g.c;
    for (index_t x = 0; x < g.count; ++x, a += g.a_step, b += g.b_step, c += g.c_step) {
        vec<T> acc[W] = {};
        for (int p = 0; p < W; p += 2) {
            square_step<T>(acc, a + p, b + p * W, rows);
            square_step<T>(acc, a + p + 1, b + (p + 1) * W, rows);
        }
        (store<T>(c + I * W, acc[I]), ...);
    }
}
template <class T>
STRATAGEMM_TARGET void squares(block_args<T> const& g) {
    square_batch<T>(g, rows_of<lanes<T>>{});
}

// c = alpha b + beta e, some elements. A function, since all kernels for few rows end with it.
template <class Acc>
STRATAGEMM_TARGET __attribute__((noinline)) void finish_line(Acc* c, Acc const* b, Acc a, Acc beta_of_e,
                                                             Acc const* e, index_t n) {
    constexpr int W = lanes<Acc>;
    vec<Acc> const alpha = broadcast<Acc>(&a), beta = broadcast<Acc>(&beta_of_e);
    index_t const e_step = beta_of_e == Acc(0) ? 0 : W; // E is not read
    if (e_step == 0) e = nothing_added<Acc, W>.at;
    for (; n >= W; n -= W, c += W, b += W, e += e_step) finish<Acc>(c, load<Acc>(b), alpha, beta, e);
    if (n == 0) return;
    auto const tail = make_part<Acc>(static_cast<int>(n));
    if constexpr (masked) {
        finish_part<Acc>(c, load_part<Acc>(b, tail), alpha, beta, e, tail);
    } else {
        Acc end[W];
        store<Acc>(end, load_part<Acc>(e, tail));
        finish<Acc>(end, load_part<Acc>(b, tail), alpha, beta, end);
        store_part<Acc>(c, load<Acc>(end), tail);
    }
}
// C = alpha B + beta E.
template <class Acc>
STRATAGEMM_TARGET void add(block_args<Acc> const& g) {
    index_t const e_row = g.beta == Acc(0) ? 0 : g.e_row;
    for (index_t i = 0; i < g.m; ++i)
        finish_line<Acc>(g.c + i * g.c_row, g.b + i * g.b_row, g.alpha, g.beta, e_row ? g.e + i * e_row : g.e,
                         g.n);
}

// Sums of real parts times both parts, and of imaginary parts times both: those of complex products.
template <class T>
STRATAGEMM_OP void join_vector(T* c, T const* real, T const* imag, T const (&signs)[2][lanes<T>],
                               vec<T> alpha, vec<T> beta, T const* e) {
    vec<T> sum = load<T>(signs[0]) * load<T>(real);
    multiply_add<T>(sum, load<T>(signs[1]), exchange_pairs<T>(load<T>(imag)));
    finish<T>(c, sum, alpha, beta, e);
}
template <class T>
STRATAGEMM_TARGET void join(block_args<T> const& g, bool conjugate_a, bool conjugate_b) {
    constexpr int W = lanes<T>;
    vec<T> const alpha = broadcast<T>(&g.alpha), beta = broadcast<T>(&g.beta);
    T signs[2][W];
    for (int l = 0; l < W; l += 2) {
        signs[0][l] = 1, signs[0][l + 1] = conjugate_b ? T(-1) : T(1);
        signs[1][l] = conjugate_a == conjugate_b ? T(-1) : T(1), signs[1][l + 1] = conjugate_a ? T(-1) : T(1);
    }
    bool const adds = g.beta != T(0);
    for (index_t i = 0; i < g.m; ++i) {
        T const *real = g.b + 2 * i * g.b_row, *imag = real + g.b_row;
        T const* e = adds ? g.e + i * g.e_row : nothing_added<T, W>.at;
        T* c = g.c + i * g.c_row;
        index_t n = g.n;
        for (; n >= W; n -= W, real += W, imag += W, c += W, e += adds ? W : 0)
            join_vector<T>(c, real, imag, signs, alpha, beta, e);
        if (n == 0) continue;
        T ends[4][W] = {};
        for (int l = 0; l < n; ++l) ends[0][l] = real[l], ends[1][l] = imag[l], ends[2][l] = e[l];
        join_vector<T>(ends[3], ends[0], ends[1], signs, alpha, beta, ends[2]);
        for (int l = 0; l < n; ++l) c[l] = ends[3][l];
    }
}

// Sums += A B for some rows of B, one after the other, kept in registers for all rows of A. The next rows of B are
// fetched if g.ahead is set.
template <class T, int... R>
STRATAGEMM_TARGET inline void add_rows(block_args<T> const& g, T const* a, T const* b, T* sums, index_t width,
                                       index_t n, std::integer_sequence<int, R...>) {
    constexpr int W = lanes<T>;
    index_t const b_row = g.b_row, a_row = g.a_row, a_col = g.a_col;
    for (index_t j = 0; j < n; j += W) {
        auto const tail = make_part<T>(static_cast<int>(n - j < W ? n - j : W));
        vec<T> const row[] = {load_part<T>(b + R * b_row + j, tail)...};
        if (g.ahead) (__builtin_prefetch(b + (R + index_t{sizeof...(R)}) * b_row + j), ...);
        T const* x = a;
        T* s = sums + j;
        for (index_t i = g.m; i > 0; --i, x += a_row, s += width) {
            vec<T> sum = load<T>(s);
            (multiply_add_row<T>(sum, x + R * a_col, row[R]), ...);
            store<T>(s, sum);
        }
    }
}

// A few rows times a piece of a matrix whose rows are contiguous, eight rows of B at a time, so that B streams
// through once while the sums stay in the first-level cache.
template <class T>
STRATAGEMM_TARGET void rows_times_rows(block_args<T> const& g) {
    constexpr index_t room = 16384 / sizeof(T), W = lanes<T>;
    alignas(64) T sums[room];
    index_t const most = room / g.m / W * W, width = g.n < most ? (g.n + W - 1) / W * W : most;
    for (index_t from = 0; from < g.n; from += width) {
        index_t const n = g.n - from < width ? g.n - from : width;
        for (index_t j = 0; j < g.m * width; j += W) store<T>(sums + j, vec<T>{});
        T const *a = g.a, *b = g.b + from;
        for (index_t left = g.k, step; left > 0; left -= step, a += step * g.a_col, b += step * g.b_row) {
            step = left >= 8 ? 8 : 1;
            if (step == 8)
                add_rows<T>(g, a, b, sums, width, n, rows_of<8>{});
            else
                add_rows<T>(g, a, b, sums, width, n, rows_of<1>{});
        }
        for (index_t i = 0; i < g.m; ++i)
            finish_line<T>(g.c + i * g.c_row + from, sums + i * width, g.alpha, g.beta,
                           g.e ? g.e + i * g.e_row + from : nullptr, n);
    }
}

// In every 16 bytes the sums of neighbours, those of x first. Each list is spelled out, since nvcc expands no pack there.
template <class T>
STRATAGEMM_OP vec<T> add_neighbours(vec<T> x, vec<T> y) {
    constexpr int W = lanes<T>;
    if constexpr (sizeof(T) == 4 && W == 4)
        return __builtin_shufflevector(x, y, 0, 2, 4, 6) + __builtin_shufflevector(x, y, 1, 3, 5, 7);
    else if constexpr (sizeof(T) == 4 && W == 8)
        return __builtin_shufflevector(x, y, 0, 2, 8, 10, 4, 6, 12, 14) +
               __builtin_shufflevector(x, y, 1, 3, 9, 11, 5, 7, 13, 15);
    else if constexpr (sizeof(T) == 4 && W == 16)
        return __builtin_shufflevector(x, y, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30) +
               __builtin_shufflevector(x, y, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    else if constexpr (sizeof(T) == 8 && W == 2)
        return __builtin_shufflevector(x, y, 0, 2) + __builtin_shufflevector(x, y, 1, 3);
    else if constexpr (sizeof(T) == 8 && W == 4)
        return __builtin_shufflevector(x, y, 0, 4, 2, 6) + __builtin_shufflevector(x, y, 1, 5, 3, 7);
    else
        return __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
}
// The first 16 bytes of a vector, to which the others are added.
template <class T>
STRATAGEMM_OP auto sum_parts(vec<T> v) {
    using ymm = typename vector_types<T, 32>::type;
    using xmm = typename vector_types<T, 16>::type;
    if constexpr (sizeof(v) == 16) {
        return v;
    } else if constexpr (sizeof(v) == 32) {
        xmm low, high;
        asm("vextractf128 $1, %1, %0" : "=x"(high) : "x"(v));
        __builtin_memcpy(&low, &v, sizeof(low));
        return low + high;
    } else {
        ymm low, high;
        xmm first, last;
        asm("vextractf64x4 $1, %1, %0" : "=v"(high) : "v"(v));
        __builtin_memcpy(&low, &v, sizeof(low));
        low += high;
        asm("vextractf32x4 $1, %1, %0" : "=v"(last) : "v"(low));
        __builtin_memcpy(&first, &low, sizeof(first));
        return first + last;
    }
}
// The sums of the elements of each of four vectors.
template <class T>
STRATAGEMM_OP void sum_four(T* to, vec<T> a, vec<T> b, vec<T> c, vec<T> d) {
    auto* const out = reinterpret_cast<typename vector_types<T, 16>::loose*>(to);
    vec<T> const x = add_neighbours<T>(a, b), y = add_neighbours<T>(c, d);
    if constexpr (sizeof(T) == 4)
        out[0] = sum_parts<T>(add_neighbours<T>(x, y));
    else
        out[0] = sum_parts<T>(x), out[1] = sum_parts<T>(y);
}
// sum_rs += a_r b_s, one vector or a part of one.
template <bool Part, class T, int... R>
STRATAGEMM_OP void add_column(vec<T> (&sum)[sizeof...(R)], vec<T> const (&x)[sizeof...(R)], T const* b,
                              part tail, std::integer_sequence<int, R...>) {
    vec<T> const y = Part ? load_part<T>(b, tail) : load<T>(b);
    (multiply_add<T>(sum[R], x[R], y), ...);
}
template <bool Part, class T, int... R, int... S>
STRATAGEMM_OP void add_vectors(vec<T> (&sum)[sizeof...(S)][sizeof...(R)], T const* const (&a)[sizeof...(R)],
                               T const* const (&b)[sizeof...(S)], index_t p, part tail,
                               std::integer_sequence<int, R...> rows, std::integer_sequence<int, S...>) {
    vec<T> const x[] = {(Part ? load_part<T>(a[R] + p, tail) : load<T>(a[R] + p))...};
    (add_column<Part, T>(sum[S], x, b[S] + p, tail, rows), ...);
}
// Dot products of R rows and S columns, a chain in each lane. Where fewer are left, the last is taken again.
template <class T, int... R, int... S>
STRATAGEMM_TARGET __attribute__((noinline)) void dots(block_args<T> const& g, index_t i, index_t j,
                                                      std::integer_sequence<int, R...> all_rows,
                                                      std::integer_sequence<int, S...> all_columns) {
    constexpr int W = lanes<T>, columns = sizeof...(S);
    static_assert(columns == 4 || columns == 8);
    index_t const last_row = g.m - 1 - i, last = g.n - 1 - j;
    T const* const a[] = {g.a + (i + (R < last_row ? R : last_row)) * g.a_row...};
    T const* const b[] = {g.b + (j + (S < last ? S : last)) * g.b_strip...};
    vec<T> sum[columns][sizeof...(R)] = {};
    index_t p = 0;
    for (; p + W <= g.k; p += W) add_vectors<false, T>(sum, a, b, p, part{}, all_rows, all_columns);
    if (p < g.k)
        add_vectors<true, T>(sum, a, b, p, make_part<T>(static_cast<int>(g.k - p)), all_rows, all_columns);
    T sums[sizeof...(R)][columns];
    (sum_four<T>(sums[R], sum[0][R], sum[1][R], sum[2][R], sum[3][R]), ...);
    if constexpr (columns > 4) (sum_four<T>(sums[R] + 4, sum[4][R], sum[5][R], sum[6][R], sum[7][R]), ...);
    finish_dots<T>(g, sums[0], sizeof...(R), columns, i, j);
}
// Rows times a matrix whose columns are contiguous, of which each is read from memory once. Most vectors of 64 bytes lie
// across two lines of the cache: they are worth it in tiles of several rows, which load fewer.
template <class T>
STRATAGEMM_TARGET void dot_products(block_args<T> const& g) {
    for (index_t j = 0; j < g.n; j += 8)
        for (index_t i = 0, rows; i < g.m; i += rows) {
            rows = masked && g.m - i > 2 ? 4 : 1;
            if (rows == 1) single_rows::dots<T>(g, i, j, rows_of<1>{}, rows_of<8>{});
            if constexpr (masked)
                for (index_t half = j; rows == 4 && half < g.n && half < j + 8; half += 4)
                    dots<T>(g, i, half, rows_of<4>{}, rows_of<4>{});
        }
}

// to = from, converted, into rows of unit stride: `from` has contiguous rows.
template <class T, class From>
STRATAGEMM_TARGET void convert_rows(T* to, index_t to_row, From const* from, index_t from_row, index_t rows,
                                    index_t cols) {
    constexpr int W = lanes<T>;
    for (index_t i = 0; i < rows; ++i, to += to_row, from += from_row) {
        index_t j = 0;
        for (; j + W <= cols; j += W) store<T>(to + j, load_as<T, From>(from + j));
        for (; j < cols; ++j) to[j] = static_cast<T>(from[j]);
    }
}
