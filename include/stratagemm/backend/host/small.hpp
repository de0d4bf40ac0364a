// Products smaller than a block: one call of a kernel for each piece of k, and no unnecessary work before it, which
// would cost as much as the product.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// The compiled kernel that computes all of a product, or of a batch on one thread; null if there is none. The columns
// of B are b_col apart. The function sets the distance between strips of B.
template <class T>
[[gnu::cold, gnu::noinline]] block_function<T> only_kernel(block_args<T>& g, index_t b_col) {
    auto const& table = real_packing<T, T>::kernels();
    auto kernel = table.block;
    if (!kernel) return kernel; // see isa_status()
    if (g.m == 1 && g.n >= 8 && g.n * g.k * index_t{sizeof(T)} >= 2048 && g.count == 1 &&
        table.rows_times_rows) {
        kernel = table.rows_times_rows;
    } else if (g.beta == T(0) && g.alpha == T(1) && table.small) {
        index_t const row = g.n * index_t{sizeof(T)};
        if (table.quads && g.m == 4 && g.n == 4 && g.k == 4 && g.a_col == 1 && g.a_row == 4 && g.b_row == 4 &&
            g.c_row == 4)
            kernel = table.quads;
        else if (!table.masked || row <= 32)
            kernel = table.small;
    }
    g.b_strip = table.strip;
    return b_col == 1 && g.k <= block_sizes<T>::k ? kernel : nullptr;
}
// The same for a piece of k, of which there may be a generated kernel.
template <class T>
[[gnu::noinline]] block_function<T> kernel_of_piece(block_args<T>& g) {
    auto const compiled = only_kernel(g, 1);
    auto const own = compiled ? generated_next(g) : nullptr;
    return own ? own : compiled;
}

// Multiplies several pieces of k, or copies B to where kernels can read it, some strips of columns at a time. Returns
// false if there is no kernel, or no room for the copy of a strip.
template <class T>
[[gnu::cold, gnu::noinline]] bool multiply_small_pieces(block_args<T>& g, index_t b_col) {
    constexpr index_t room = 16384 / sizeof(T);
    alignas(64) T copy[room];
    auto const& table = real_packing<T, T>::kernels();
    if (!table.block) return false;
    auto const pieces = pieces_of<T>(g.k);
    bool const copies = b_col != 1;
    index_t const terms = smaller(pieces.length, g.k), strip = table.strip;
    index_t width = g.n;
    if (copies && width * terms > room) {
        index_t const most = room / terms / strip * strip;
        if (most == 0) return false;
        width = divide_up(divide_up(g.n, divide_up(g.n, most)), strip) * strip;
    }
    // A copy of all arguments would wait for the values just stored. The arguments that change are kept here instead.
    index_t const n = g.n, k = g.k, b_row = g.b_row, e_row = g.e_row;
    T const *const a = g.a, *const b = g.b, *const e = g.e, beta = g.beta;
    T* const c = g.c;
    for (index_t j = 0; j < n; j += width) {
        g.n = smaller(width, n - j), g.c = c + j;
        g.e = e ? e + j : nullptr, g.e_row = e_row, g.beta = beta;
        for (index_t p = 0; p < k; p += g.k) {
            g.k = smaller(terms, k - p), g.a = a + p * g.a_col, g.b = b + p * b_row + j * b_col;
            if (copies) {
                gather(table, copy, g.n, g.b, b_row, b_col, g.k, g.n);
                g.b = copy, g.b_row = g.n;
            }
            kernel_of_piece(g)(g);
            g.e = g.c, g.e_row = g.c_row, g.beta = T(1);
        }
    }
    return true;
}

// The threads of a batch: each has a product at least.
template <class T>
int team_of_batch(block_args<T> const& g, int threads) {
    double const work = static_cast<double>(larger_of(g.m * g.n * g.k, 256));
    return static_cast<int>(
        smaller(host_operations{threads}.team(static_cast<double>(g.count) * work), g.count));
}
template <class T>
[[gnu::noinline]] void multiply_small_batch(block_args<T> const& g, block_function<T> kernel, int threads) {
    int const team = team_of_batch(g, threads);
    host_each(team, team, [&](int, int x) {
        index_t const from = g.count * x / team, to = g.count * (x + 1) / team;
        block_args<T> part = g;
        part.a += from * g.a_step, part.b += from * g.b_step, part.c += from * g.c_step;
        part.count = to - from;
        if (g.beta != T(0)) part.e += from * g.e_step;
        kernel(part);
    });
}

template <class T>
[[gnu::noinline]] void run_small(block_args<T> const& g, block_function<T> kernel, int threads) {
    if (!host_has_teams || g.count == 1)
        kernel(g);
    else
        multiply_small_batch(g, kernel, threads);
}

// Multiplies a product as its transpose: where A has contiguous columns, they fill vectors, and where B has, B need not
// be copied. With `columns`, a generated kernel writes columns of C, if there is one. Otherwise, with `buffers`, C is
// turned from a buffer, which pays for few columns or few rows, and needs factors one and zero and no batch. Returns
// false if neither was done. `own`: as multiply_small() sets it.
template <class T>
[[gnu::cold, gnu::noinline]] bool multiply_turned(block_args<T> const& g, index_t b_col, bool columns,
                                                  bool buffers, int threads, block_function<T>& own) {
    constexpr index_t room = 16384 / sizeof(T);
    alignas(64) T sums[room];
    auto const& table = real_packing<T, T>::kernels();
    block_args<T> part = g;
    part.m = g.n, part.n = g.m, part.a = g.b, part.b = g.a;
    part.a_row = b_col, part.a_col = g.b_row, part.b_row = g.a_col, part.b_strip = table.strip;
    part.a_step = g.b_step, part.b_step = g.a_step;
    if (columns && (own = generated_next(part, generated_form::turned))) {
        run_small(part, own, threads);
        return true;
    }
    if (!buffers) return false;
    index_t const width = smaller(room / smaller(g.n, 8) / 64 * 64, g.m), // columns of the buffer
        height = divide_up(g.n, divide_up(g.n, room / width));            // its rows
    for (index_t i = 0; i < g.m; i += width)
        for (index_t j = 0; j < g.n; j += height) {
            // multiply_small_pieces() changes its argument.
            part.n = smaller(width, g.m - i), part.b = g.a + i * g.a_row, part.b_row = g.a_col;
            part.m = smaller(height, g.n - j), part.a = g.b + j * b_col, part.k = g.k;
            part.c = sums, part.c_row = width, part.e = nullptr, part.beta = T(0);
            if (!multiply_small_pieces(part, g.a_row)) return false;
            gather(table, g.c + i * g.c_row + j, g.c_row, sums, 1, width, part.n, part.m);
        }
    return true;
}

// What kernels are told of a dense product or batch. C is multiplied as its transpose (`turned`) if that makes its rows
// contiguous, or makes a row of a column.
template <class T>
struct small_product {
    block_args<T> g;
    index_t b_col, e_col, c_col; // strides of columns
    bool turned;

    template <class Problem>
    [[gnu::always_inline]] explicit small_product(Problem const& p)
        : b_col(p.b.col_stride), e_col(p.e.col_stride), c_col(p.c.col_stride) {
        g.m = p.c.rows, g.n = p.c.cols, g.k = p.a.cols, g.alpha = p.alpha, g.beta = p.beta, g.count = p.count;
        g.a = p.a.data, g.a_row = p.a.row_stride, g.a_col = p.a.col_stride, g.a_step = p.a_step;
        g.b = p.b.data, g.b_row = p.b.row_stride, g.b_step = p.b_step;
        g.e = p.e.data, g.e_row = p.e.row_stride, g.e_step = p.e_step;
        g.c = p.c.data, g.c_row = p.c.row_stride, g.c_step = p.c_step;
        if (g.count == 1) g.a_step = g.b_step = g.e_step = g.c_step = 0; // a null E is not to be moved
        turned = g.n == 1 && g.count == 1 ? g.c_row == 1 : g.n > 1 && c_col != 1;
        if (!turned) return;
        g.a = p.b.data, g.b = p.a.data;
        std::swap(g.m, g.n), std::swap(g.a_step, g.b_step);
        std::swap(g.a_row, b_col), std::swap(g.a_col, g.b_row);
        std::swap(g.c_row, c_col), std::swap(g.e_row, e_col);
    }
};

// Returns false if the product is left to the blocked loops. `dots`: dot products compute it. `own`: a kernel that
// computed all of the product and reads no side or stride; calls of such a product can skip this function.
template <class T>
bool multiply_small(block_args<T>& g, index_t b_col, bool dots, int threads, block_function<T>& own) {
    if (dots) {
        own = multiply_by_dots(g, b_col, smaller(g.m, g.n));
        return true;
    }
    auto const kernel = only_kernel(g, b_col);
    auto const& table = real_packing<T, T>::kernels();
    // Batches of 4 x 4 matrices stay with the compiled kernel, which fills a vector with two rows and reads pointers
    // and steps only, as generated kernels do. Generated kernels have one row in a vector.
    bool const own_e = g.beta == T(0) || g.e_step == g.c_step,
               quads = g.count > 1 && table.quads && kernel == table.quads;
    own = quads ? kernel : own_e && b_col == 1 ? generated_next(g) : nullptr;
    if (!own && !kernel) return g.count == 1 && multiply_small_pieces(g, b_col);
    run_small(g, own ? own : kernel, threads);
    return true;
}

// What dispatch_small() runs. `own`: as multiply_small() sets it; `is_turned`: it multiplies the transpose.
template <class T>
struct small_run {
    block_args<T>& g;
    index_t b_col;
    int threads;
    block_function<T> own = nullptr;
    bool is_turned = false;

    [[gnu::always_inline]] bool turned(bool columns, bool buffers) {
        return is_turned = multiply_turned(g, b_col, columns, buffers, threads, own);
    }
    [[gnu::always_inline]] bool rows(bool dots) { return multiply_small(g, b_col, dots, threads, own); }
};

STRATAGEMM_END
