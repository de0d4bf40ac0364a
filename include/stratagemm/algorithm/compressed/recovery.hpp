// The elements of a product from its sketches: medians of their estimates, row by row.
#pragma once

#include "kernels.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// f(thread, part, i, j, count, medians) for rows [0, m) and columns of each row, `count` of them from j on. A part is a
// run of rows, and one thread has it.
template <class R, class Leaf, class Sketch, class F>
void each_median(Leaf const& leaf, Sketch const& sketch, index_t m, index_t n, int team, int parts,
                 F const& f) {
    constexpr index_t width = compressed_width<R>;
    int const d = sketch.sketches();
    median_network const network(d);
    auto const& kernels = compressed_kernels_here<R>();
    leaf.each(team, parts, [&](int, int part) {
        alignas(64) R x[most_sketches * width];
        typename Sketch::place rows[most_sketches];
        index_t const end = m * (part + 1) / parts;
        for (index_t i = m * part / parts; i < end; ++i) {
            for (int s = 0; s < d; ++s) rows[s] = sketch.row(s, i);
            for (index_t j = 0; j < n; j += width) {
                for (int s = 0; s < d; ++s) sketch.fetch(s, rows[s], sketch.col(s, j), x + s * width);
                kernels.medians(network, x, width);
                f(part, i, j, smaller(width, n - j), x + d / 2 * width);
            }
        }
    });
}

} // namespace compressed_parts

STRATAGEMM_END
