// Products smaller than a block, plain and in place: one call of a kernel, and nothing on the way that is not needed,
// since that would cost as much as the product.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// Multiplies g.count products, or returns false and leaves them to the blocked loops. The strip is not set yet.
template <class T>
bool multiply_small_blocks(block_args<T>& g, int threads) {
    auto const& table = real_packing<T, T>::kernels();
    auto kernel = table.block;
    g.b_strip = table.strip;
    if (g.beta == T(0) && g.alpha == T(1) && table.small) {
        index_t const row = g.n * index_t{sizeof(T)};
        bool const square =
            g.m == g.n && g.k == g.n && g.a_col == 1 && g.a_row == g.n && g.b_row == g.n && g.c_row == g.n;
        kernel = square && table.squares && row == 64          ? table.squares
                 : square && table.narrow_squares && row == 32 ? table.narrow_squares
                 : square && table.quads && g.n == 4           ? table.quads
                 : table.narrow && row <= 32                   ? table.narrow
                                                               : table.small;
    } else if (!table.masked && g.n % table.strip != 0) {
        return false;
    }
    if (g.count == 1) return kernel(g), true;
    // Products of a batch are small enough for threads to start at a quarter of the work.
    double const work = static_cast<double>(larger_of(g.m * g.n * g.k, 256));
    int const team = host_operations{threads}.team(4 * static_cast<double>(g.count) * work);
    host_each(team, team, [&](int, int x) {
        index_t const from = g.count * x / team, to = g.count * (x + 1) / team;
        block_args<T> part = g;
        part.a += from * g.a_step, part.b += from * g.b_step, part.c += from * g.c_step;
        part.count = to - from;
        if (g.beta != T(0)) part.e += from * g.e_step;
        kernel(part);
    });
    return true;
}

STRATAGEMM_END
