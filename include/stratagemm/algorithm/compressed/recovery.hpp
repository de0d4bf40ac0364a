// The elements of a product from its sketches: medians of their estimates, row by row.
#pragma once

#include "hashes.hpp"
#include "kernels.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// Estimates of the elements of a row of C, by sketches with linear hashes.
template <class R>
class linear_row {
public:
    linear_row(linear_hash const* hashes, R const* tables, sketch_size size)
        : hashes_(hashes), count_(size.sketches), network_(size.sketches) {
        for (int s = 0; s < count_; ++s) tables_[s] = tables + s * size.buckets();
    }
    // The buckets of so many columns, from a multiple of this number on, differ in the low bits of their numbers.
    static index_t piece(sketch_size size) { return smaller(compressed_piece<R>, size.buckets()); }

    void move_to(index_t i) {
        auto const at = static_cast<std::uint32_t>(i);
        for (int s = 0; s < count_; ++s) {
            buckets_[s] = hashes_[s].bucket_of_row(at);
            is_negative_[s] = hashes_[s].row_is_negative(at);
        }
    }
    // `to` has room for whole vectors.
    void estimate(index_t j, index_t count, R alpha, R* to) const {
        auto const at = static_cast<std::uint32_t>(j);
        std::uint32_t from[most_sketches];
        R signs[most_sketches];
        for (int s = 0; s < count_; ++s) {
            from[s] = buckets_[s] ^ hashes_[s].bucket_of_col(at);
            signs[s] = is_negative_[s] != hashes_[s].col_is_negative(at) ? R(-1) : R(1);
        }
        auto const& with = compressed_kernels_here<R>();
        with.estimate(
            {count_, tables_, from, signs, divide_up(count, with.lanes) * with.lanes, alpha, to, &network_});
    }

private:
    linear_hash const* hashes_;
    int count_;
    median_network network_;
    R const* tables_[most_sketches];
    std::uint32_t buckets_[most_sketches];
    bool is_negative_[most_sketches];
};

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
