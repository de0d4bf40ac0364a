// A sum that kernels of the dialect share: work-items of a group add up a number of each.
#pragma once

#include "../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char sum_of_group_text[] = R"(
/* The sum over the group of `mine`, in sums[0]: for all of it, which reads sums[0] before it changes `sums` again. */
#define SUM_OF_GROUP(mine, sums)                              \
    do {                                                      \
        sums[ITEM] = mine;                                    \
        for (int step = ITEMS / 2; step > 0; step /= 2) {     \
            BARRIER();                                        \
            if (ITEM < step) sums[ITEM] += sums[ITEM + step]; \
        }                                                     \
        BARRIER();                                            \
    } while (0)
)";

STRATAGEMM_END
