// Copies of complex matrices as real ones, in the dialect: a product of complex numbers then is one of real numbers,
// with as many rows, twice as many columns, and sums of twice as many terms.
//
//   C = A B:   (re c, im c) in neighbouring columns  =  (re a, im a) in neighbouring columns  x  | re b   im b |
//                                                                                                | -im b  re b |
#pragma once

#include "../../../core/leaf.hpp"
#include "../../../device/source.hpp"

STRATAGEMM_BEGIN

// Two rows of the result for each row of x. TWICE: both have two columns for each of x, as B has above; else the
// first has the real parts, the second the imaginary ones, which is A, if x is its transpose. `sign` multiplies
// imaginary parts, `other_sign` the second row of B: of a conjugated A it is -1. ACROSS: elements of neighbouring
// rows of x are closer than those of one row, and pass through shared memory.
inline constexpr char cuda_reals_text[] = R"(
#define SIDE 32
KERNEL(ITEMS) as_reals(MATRIX(IN const, x), real sign, real other_sign, BUFFER(real, to), index pitch, index rows,
                       index cols) {
#if ACROSS
    SHARED REAL re[SIDE * (SIDE + 1)], im[SIDE * (SIDE + 1)];
#endif
    OPEN(IN const, x);
    OPEN(real, to);
    index const across = (cols + SIDE - 1) / SIDE, first_row = GROUP / across * SIDE, first_col = GROUP % across * SIDE;
#if ACROSS
    for (int r = WARP; r < SIDE; r += ITEMS / 32)
        if (first_row + LANE < rows && first_col + r < cols) {
            scalar const element = LOAD(IN, x, AT(x, first_row + LANE, first_col + r));
            re[LANE * (SIDE + 1) + r] = element.x, im[LANE * (SIDE + 1) + r] = element.y;
        }
    BARRIER();
#endif
    for (int r = WARP; r < SIDE; r += ITEMS / 32) {
        index const i = first_row + r, j = first_col + LANE;
        if (i >= rows || j >= cols) continue;
#if ACROSS
        scalar element;
        element.x = re[r * (SIDE + 1) + LANE], element.y = im[r * (SIDE + 1) + LANE];
#else
        scalar element = LOAD(IN, x, AT(x, i, j));
#endif
        element.y *= sign;
#if TWICE
        VECTOR(REAL, 2) pair;
        pair.x = element.x, pair.y = element.y;
        STORE_VECTOR(REAL, 2, to, 2 * i * pitch + 2 * j, pair);
        pair.x = -other_sign * element.y, pair.y = other_sign * element.x;
        STORE_VECTOR(REAL, 2, to, (2 * i + 1) * pitch + 2 * j, pair);
#else
        to[2 * i * pitch + j] = element.x;
        to[(2 * i + 1) * pitch + j] = element.y;
#endif
    }
}
)";

template <class T>
device_kernel as_reals(bool twice, bool across) {
    return {"as_reals",
            cuda_reals_text,
            std::string("#define TWICE ") + (twice ? "1" : "0") + "\n#define ACROSS " + (across ? "1" : "0") +
                '\n',
            256,
            uses_double<T, T>,
            false,
            kernel_types<T, T>};
}

STRATAGEMM_END
