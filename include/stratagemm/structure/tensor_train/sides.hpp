// The parts of the indices of a matrix that stands for a tensor. Mode k of the tensor is the pair of part k of the rows
// and part k of the columns; index 0 belongs to the slowest part.
#pragma once

#include "../../core/types.hpp"

STRATAGEMM_BEGIN

struct part_sides {
    static constexpr int most = 16;
    int cores = 0; // parts of either index
    index_t rows[most] = {}, cols[most] = {};

    // Negative: too large for an index.
    index_t all_rows() const { return product_of(rows); }
    index_t all_cols() const { return product_of(cols); }
    index_t side(int k) const { return rows[k] * cols[k]; }

private:
    index_t product_of(index_t const* sides) const {
        index_t all = 1;
        for (int k = 0; k < cores; ++k)
            if (__builtin_mul_overflow(all, sides[k], &all)) return -1;
        return all;
    }
};

STRATAGEMM_END
