// What a caller asks of layers that trade products for accuracy.
#pragma once

#include "config.hpp"

STRATAGEMM_BEGIN

// How far sums may be from the exact ones, relative to |A||B|. An accuracy beyond that of C's type is that type's.
struct accuracy {
    double eps;

    static constexpr accuracy relative(double eps) { return {eps}; }
    static constexpr accuracy bits(int n) { // relative(2^-n)
        double eps = 1;
        for (; n > 0; --n) eps /= 2;
        return {eps};
    }
    static accuracy const fp32, fp64;
};
inline constexpr accuracy accuracy::fp32{0x1p-24};
inline constexpr accuracy accuracy::fp64{0x1p-53};

STRATAGEMM_END
