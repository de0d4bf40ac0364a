// The elements of a product from its sketches: medians of their estimates, row by row.
#pragma once

#include "kernels.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// f(part, i, j, count, x) for rows [0, m) and columns of each row, `count` of them from j on, with alpha times the
// medians in x. A part is a run of rows, and one thread has it.
template <class R, class Leaf, class Sketch, class F>
void each_median(Leaf const& leaf, Sketch const& sketch, R alpha, index_t m, index_t n, int team, int parts,
                 F const& f) {
    index_t const width = sketch.piece();
    leaf.each(team, parts, [&](int, int part) {
        alignas(64) R x[compressed_piece<R>];
        typename Sketch::row row(sketch);
        index_t const end = m * (part + 1) / parts;
        for (index_t i = m * part / parts; i < end; ++i) {
            row.move_to(i);
            for (index_t j = 0; j < n; j += width) {
                index_t const count = smaller(width, n - j);
                row.estimate(j, count, alpha, x);
                f(part, i, j, count, x);
            }
        }
    });
}

} // namespace compressed_parts

STRATAGEMM_END
