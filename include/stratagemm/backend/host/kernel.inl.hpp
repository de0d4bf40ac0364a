// The kernels of one instruction set. Included once for each, inside its namespace, by kernels.hpp, which
// defines STRATAGEMM_TARGET (the function attribute) and the few vector operations used here.
//
// A tile is a block of MR rows and NV vectors of C, kept in registers while k runs: per step it loads NV
// vectors of B and broadcasts MR elements of A. A is read through two strides, so a row-major A needs no
// packing to be multiplied; B must have its columns side by side. There is no separate edge code: the last
// vector of a row is masked, and rows are divided into heights that exist as tiles.

// Whether rows of up to one vector have tiles of their own, so that of two vectors only the last may be a part. Floats do
// without: once a kernel is generated, no tile runs.
template <class T>
inline constexpr bool has_narrow = masked && !std::is_floating_point_v<T>;

// A row of a tile on its way out: c = alpha acc + beta e.
template <class T, int NV>
STRATAGEMM_OP void finish_row(vec<T> const (&acc)[NV], vec<T> alpha, vec<T> beta, T const* e, T* c,
                              part const (&parts)[NV]) {
    for (int v = 0; v < NV; ++v)
        if constexpr (masked)
            finish_part<T>(c + v * lanes<T>, acc[v], alpha, beta, e + v * lanes<T>, parts[v]);
        else
            finish<T>(c + v * lanes<T>, acc[v], alpha, beta, e + v * lanes<T>);
}
template <class T, int NV>
STRATAGEMM_OP void store_row(vec<T> const (&acc)[NV], T* c) {
    for (int v = 0; v < NV; ++v) store<T>(c + v * lanes<T>, acc[v]);
}

// The rows of the shortest tile of small products: as many as take as long as one, which waits for its own sums.
inline constexpr int short_rows = 4;

// One tile. `Plain`: alpha is 1 and beta 0. `Parts`: the vectors of a row of B may be parts. The shortest tile has `height`
// rows, one at least: of its first four, others are the first again, and the rest are skipped. The rows I... are spelled
// out by the compiler, not unrolled by it, so that the accumulators are registers whatever it makes of loops.
template <class T, int NV, bool Plain, bool Parts, int... I>
STRATAGEMM_OP void tile_body(block_args<T> const& g, T const* a, index_t a_row, T const* b,
                             accumulated<T> const* e, accumulated<T>* c, index_t c_row,
                             part const (&parts)[NV], T const* next, int height,
                             std::integer_sequence<int, I...>) {
    using Acc = accumulated<T>;
    constexpr int W = lanes<T>, MR = sizeof...(I), ahead = 8;
    constexpr bool is_short = MR == (Plain ? short_rows : shortest);
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
        for (int v = 0; v < NV; ++v)
            row[v] = Parts && (v == NV - 1 || !has_narrow<T>) ? load_part<T>(b + v * W, parts[v])
                                                              : load<T>(b + v * W);
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
        ((is_short && I >= height ? void() : store_row<Acc, NV>(acc[I], c + I * c_row)), ...);
    } else {
        // beta = 0 must not read E, which may hold anything: it reads what adds nothing, and there is one way out.
        index_t const e_row = g.beta == Acc(0) ? 0 : g.e_row;
        if (g.beta == Acc(0)) e = nothing_added<Acc, NV * W>.at;
        vec<Acc> const alpha = broadcast<Acc>(&g.alpha), beta = broadcast<Acc>(&g.beta);
        ((is_short && I >= height
              ? void()
              : finish_row<Acc, NV>(acc[I], alpha, beta, e + I * e_row, c + I * c_row, parts)),
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
    part parts[NV];
    for (int v = 0; v < NV; ++v) parts[v] = make_part<accumulated<T>>(columns - v * W);
    tile_body<T, NV, false, masked>(g, a, g.a_row, b, e, c, g.c_row, parts, next, height, rows_of<MR>{});
}

// The tiles of a height, of two vectors, and those of one where there are.
template <class T>
inline constexpr tile_set<T> tiles{lanes<T> * vectors,
                                   tallest<T>,
                                   second,
                                   masked,
                                   tile<T, tallest<T>, 2>,
                                   tile<T, second, 2>,
                                   tile<T, shortest, 2>,
                                   has_narrow<T> ? tile<T, tallest<T>, has_narrow<T> ? 1 : 2> : nullptr,
                                   has_narrow<T> ? tile<T, shortest, has_narrow<T> ? 1 : 2> : nullptr};
template <class T>
void block(block_args<T> const& g) {
    multiply_by_tiles(tiles<T>, g);
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
