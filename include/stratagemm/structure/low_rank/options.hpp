// What low_rank is asked for.
#pragma once

#include "../../core/types.hpp"

STRATAGEMM_BEGIN

// The random matrices of low_rank. fastest: gaussian or srht, by their estimates; signs: sparse_sign with eight of them
// in a column.
enum class low_rank_sketch { fastest, gaussian, signs, srht, srct };

struct low_rank_options {
    double tolerance = 0;      // of |A - U V| / |A|, in the Frobenius norm; 0: `rank` alone decides
    index_t rank = 0;          // at most so many columns; 0: `tolerance` alone decides
    double confidence = 0.999; // that the certified error is an upper bound
    std::uint64_t seed = 0;    // of the random matrices
    low_rank_sketch sketch = low_rank_sketch::fastest;
};

STRATAGEMM_END
