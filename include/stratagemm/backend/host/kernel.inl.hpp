// The kernels of one instruction set. Included once for each, inside its namespace, by kernels.hpp, which
// defines STRATAGEMM_TARGET (the function attribute) and the few vector operations used here.
//
// A tile is a block of MR rows and NV vectors of C, kept in registers while k runs: per step it loads NV
// vectors of B and broadcasts MR elements of A. A is read through two strides, so a row-major A needs no
// packing to be multiplied; B must have its columns side by side. AVX-512 masks the last vector of a row; others
// compute the last strip in a buffer (multiply_by_tiles). A tile of fewer rows skips the others.

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

// The rows of the shortest tile of small products. Such a tile takes as long as one row, which waits for its sums.
inline constexpr int short_rows = 4;

// A's part of a tile: `height` rows, and the rows of the next tile, or null.
template <class T>
struct a_panel {
    T const *rows, *next;
    int height;
};

// One tile. `Plain`: alpha is 1 and beta 0. `Parts`: the vectors of a row of B may be parts. A tile that is not plain,
// and the shortest one that is, have `height` rows, one at least. If `height` is less than four, the rest of the first
// four rows are the first row again. All further rows are skipped. The rows I... are spelled out by the compiler, not
// unrolled by it, so that the accumulators are registers however the compiler treats loops.
template <class T, int NV, bool Plain, bool Parts, int... I>
STRATAGEMM_OP void tile_body(block_args<T> const& g, a_panel<T> const& of_a, T const* b,
                             accumulated<T> const* e, accumulated<T>* c, index_t c_row,
                             part const (&parts)[NV], std::integer_sequence<int, I...>) {
    using Acc = accumulated<T>;
    T const *const a = of_a.rows, *next = of_a.next;
    index_t const a_row = g.a_row;
    int const height = of_a.height;
    constexpr int W = lanes<T>, MR = sizeof...(I), ahead = 8;
    constexpr bool is_short = !Plain || MR == short_rows;
    // The next MR rows, a cache line a step.
    constexpr int line = 64 / static_cast<int>(sizeof(T));
    static_assert(MR <= 9 && MR <= line);
    index_t const next_steps = g.k / line + 1, next_row = next ? g.ahead_row : 0;
    index_t next_left = next_steps;
    T const* next_line = next = next ? next : a;
    vec<Acc> acc[MR][NV] = {};
    if constexpr (std::is_same_v<T, int8_quad>) // what its strips of B begin with
        for (auto& sums : acc)
            for (int v = 0; v < NV; ++v)
                sums[v] = load<Acc>(reinterpret_cast<Acc const*>(b - g.b_row) + v * W);
    // Rows 0..4 of A are reached from one pointer with the strides 0, 1, 2, 3, 4 that an address can hold (3 from a
    // register of its own), rows 5..9 from the next.
    index_t const a_col = g.a_col, b_row = g.b_row;
    int const rows = is_short ? height : MR;
    index_t const steps[] = {0, rows > 1 ? a_row : 0, rows > 2 ? 2 * a_row : 0, rows > 3 ? 3 * a_row : 0,
                             4 * a_row};
    T const *a0 = a, *a5 = a + (MR > 5 ? 5 * a_row : 0);
    for (index_t p = g.k; p > 0; --p) {
        vec<T> row[NV];
        if constexpr (!Plain) {
            for (int v = 0; v < NV; ++v) __builtin_prefetch(b + ahead * b_row + v * W);
            __builtin_prefetch(next_line, 0, 2);
            next_line += line;
            if (--next_left == 0) next_left = next_steps, next_line = next += next_row;
        }
        for (int v = 0; v < NV; ++v) row[v] = Parts ? load_part<T>(b + v * W, parts[v]) : load<T>(b + v * W);
        (void)(((!is_short || I < 4 || I < height) &&
                (step_row<T>(acc[I], (I < 5 ? a0 : a5) + steps[I % 5], row), true)) &&
               ...);
        b += b_row, a0 += a_col;
        if constexpr (MR > 5) a5 += a_col;
    }
    if constexpr (Plain) {
        ((is_short && I >= height ? void() : store_row<Acc, NV>(acc[I], c + I * c_row)), ...);
    } else {
        // beta = 0 must not read E, which may hold anything: the tile then reads numbers that change nothing, and there
        // is one way out.
        index_t const e_row = g.beta == Acc(0) ? 0 : g.e_row;
        if (g.beta == Acc(0)) e = nothing_added<Acc>.at;
        vec<Acc> const alpha = broadcast<Acc>(&g.alpha), beta = broadcast<Acc>(&g.beta);
        ((is_short && I >= height
              ? void()
              : finish_row<Acc, NV>(acc[I], alpha, beta, e + I * e_row, c + I * c_row, parts)),
         ...);
    }
}
template <int MR>
using rows_of = std::make_integer_sequence<int, MR>;

// Tiles of two vectors, and of up to as many rows as registers have room for. The function begins with a cache line:
// the loop over k is as long as three lines. Where a program happened to place the loop across four lines, products
// took up to a tenth longer.
template <class T>
STRATAGEMM_TARGET __attribute__((noinline, aligned(64))) void
tile(block_args<T> const& g, T const* a, T const* b, accumulated<T> const* e, accumulated<T>* c, int height,
     int columns, T const* next) {
    constexpr int W = lanes<T>;
    accumulated<T>* ahead = c;
    for (int i = 0; i < height; ++i, ahead += g.c_row) {
        __builtin_prefetch(ahead, 1);
        __builtin_prefetch(ahead + W, 1);
    }
    part parts[vectors];
    for (int v = 0; v < vectors; ++v) parts[v] = make_part<accumulated<T>>(columns - v * W);
    tile_body<T, vectors, false, masked>(g, {a, next, height}, b, e, c, g.c_row, parts, rows_of<tallest>{});
}

template <class T>
inline constexpr tile_set<T> tiles{lanes<T> * vectors, tallest, masked, tile<T>};
template <class T>
void block(block_args<T> const& g) {
    multiply_by_tiles(tiles<T>, g);
}

// to = from, converted, into rows of unit stride: `from` has contiguous rows, which are fetched two ahead, since they
// may come from memory.
template <class T, class From>
STRATAGEMM_TARGET void convert_rows(T* to, index_t to_row, From const* from, index_t from_row, index_t rows,
                                    index_t cols) {
    constexpr int W = lanes<T>;
    for (index_t i = 0; i < rows; ++i, to += to_row, from += from_row) {
        index_t const ahead = i + 2 < rows ? 2 * from_row : 0;
        index_t j = 0;
        for (; j + W <= cols; j += W) {
            __builtin_prefetch(from + ahead + j);
            store<T>(to + j, load_as<T, From>(from + j));
        }
        for (; j < cols; ++j) to[j] = static_cast<T>(from[j]);
    }
}
