// What low_rank decides by on a device: Cholesky's factor of a Gram matrix, its inverse, and sums of squares. These are
// launches; device_kernels.hpp says how they work.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../../core/leaf.hpp"
#include "../../device/dialect.hpp"
#include "device_kernels.hpp"
#include "small.hpp"

STRATAGEMM_BEGIN

struct low_rank_device {
    static constexpr index_t wide_cols = 16; // of X
    template <class W>
    static constexpr index_t wide_lines = complex_like<W> ? 32 : 64; // of A in a group
    static constexpr index_t sums = 256;                             // of squares that a launch leaves

    // Sides of tiles, two of which are in the memory of a group.
    template <class W>
    static constexpr index_t side = complex_like<W> ? 16 : 32;

    // Overwrites G and U, of W, and sets X and the 2 n numbers of `levels`. A pivot of less than `noise` of its
    // column's square counts as so much. Behind a tile all of whose pivots are at most `enough` of these squares, pivots
    // are zero, and X is not set.
    template <class W, class Leaf, class Space, class Levels>
    static status factor(Leaf const& leaf, view<W, Space> const& g, view<W, Space> const& u,
                         view<W, Space> const& x, Levels levels, double noise, double enough) {
        index_t const n = g.rows, blocks = (n + side<W> - 1) / side<W>;
        device_kernel const kernel{"factor_step",
                                   low_rank_text,
                                   complex_like<W> ? "#define SIDE 16\n" : "#define SIDE 32\n",
                                   256,
                                   true,
                                   false,
                                   kernel_types<W, W>};
        for (index_t b = 0; b < blocks; ++b) {
            index_t const groups = b == 0 ? blocks : blocks * (blocks - b);
            if (status s = leaf.launch(kernel, groups, g, u, x, levels, n, static_cast<int>(b),
                                       static_cast<int>(blocks), noise, enough);
                !s)
                return s;
        }
        return {};
    }
    // How many chunks the depth of a wide product is cut in: as many as give a device enough groups, of some length.
    static index_t chunks_of(index_t blocks, index_t depth) {
        return larger_of(index_t{1}, smaller(1024 / blocks, (depth + 127) / 128));
    }
    // Numbers of W that the chunks of `rows` lines take, at most.
    template <class W>
    static index_t room_of_chunks(index_t rows) {
        return wide_cols * larger_of(rows, 1024 * wide_lines<W>);
    }
    template <class T, class W>
    static device_kernel wide_kernel(char const* name) {
        return {name,
                low_rank_wide_text,
                complex_like<W> ? "#define COLS 16\n#define LINES 32\n"
                                : "#define COLS 16\n#define LINES 64\n",
                256,
                true,
                false,
                kernel_types<T, W>};
    }
    // Chunks of A X: `count` of them.
    template <class T, class W, class Leaf, class Space, class Chunks>
    static status wide_chunks(Leaf const& leaf, view<T const, Space> const& a, view<W const, Space> const& x,
                              Chunks chunks, int& count) {
        index_t const blocks = (a.rows + wide_lines<W> - 1) / wide_lines<W>, all = chunks_of(blocks, a.cols);
        count = static_cast<int>(all);
        return leaf.launch(wide_kernel<T, W>("wide_chunks"), blocks * all, a, int{a.conjugate}, x, chunks,
                           a.rows, a.cols, (a.cols + all - 1) / all, static_cast<int>(blocks));
    }
    // Z = alpha A X, and Z before it if `adds`.
    template <class T, class W, class Leaf, class Space, class Chunks>
    static status wide_product(Leaf const& leaf, W alpha, view<T const, Space> const& a,
                               view<W const, Space> const& x, view<W, Space> const& z, bool adds,
                               Chunks chunks) {
        int count = 0;
        if (status s = wide_chunks(leaf, a, x, chunks, count); !s) return s;
        return leaf.launch(wide_kernel<T, W>("wide_sum"), groups_for_each(a.rows * wide_cols, 256), chunks,
                           count, alpha, z, int{adds}, a.rows);
    }
    // |alpha A X - Q Y|^2 in `sums` parts, where Q has no factor. There is room for chunks of both products.
    template <class T, class W, class Leaf, class Space, class Chunks, class Sums>
    static status squares_of_rest(Leaf const& leaf, W alpha, view<T const, Space> const& a,
                                  view<W const, Space> const& x, view<T const, Space> const& q,
                                  view<W const, Space> const& y, Chunks chunks, Sums to) {
        int of_a = 0, of_q = 0;
        if (status s = wide_chunks(leaf, a, x, chunks, of_a); !s) return s;
        index_t const taken = of_a * wide_cols * a.rows * index_t{sizeof(W) / sizeof(double)};
        if (status s = wide_chunks(leaf, q, y, chunks + taken, of_q); !s) return s;
        return leaf.launch(wide_kernel<T, W>("wide_squares"), sums, chunks, of_a, of_q, alpha, a.rows, to);
    }
    // `to` has room for `sums` numbers; all are set.
    template <class T, class Leaf, class Space, class Sums>
    static status add_squares(Leaf const& leaf, view<T const, Space> x, Sums to) {
        if (magnitude(x.row_stride) < magnitude(x.col_stride)) x = x.transposed();
        return leaf.launch(
            device_kernel{"add_squares", low_rank_squares_text, {}, 256, true, false, kernel_types<T, T>},
            sums, x, x.rows, x.cols, to);
    }
};

STRATAGEMM_END
