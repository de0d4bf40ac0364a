// What algorithms are made of besides products: copy, add, fill and apply, on views with any strides.
//
// x and y have the element type IN, the result has OUT; fill and apply take one type for both. OUT_VALUE is the
// type of numbers of OUT.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_elementwise_text[] = R"cl(
#define TO_OUT(x) PASTE(convert_, OUT_VALUE)((value)(x))

/* sizes: columns and rows; the columns have the smaller stride. */
#define PLACE                                                                                                     \
    long const j = get_global_id(0), i = get_global_id(1);                                                        \
    if (j >= sizes.x || i >= sizes.y) return

kernel void copy(global IN const *x, long4 x_at, scalar scale, int conjugated, global OUT *to, long4 to_at,
                 int2 sizes) {
    PLACE;
    scalar const element = LOAD_IN(x, AT(x_at, i, j));
    STORE_OUT(to, AT(to_at, i, j), TO_OUT(scale_by(scale, conjugate_if(conjugated, element))));
}

kernel void add(global IN const *x, long4 x_at, scalar x_scale, int x_conjugated, global IN const *y, long4 y_at,
                scalar y_scale, int y_conjugated, global OUT *to, long4 to_at, int2 sizes) {
    PLACE;
    scalar const first = LOAD_IN(x, AT(x_at, i, j)), second = LOAD_IN(y, AT(y_at, i, j));
    scalar const sum =
        scale_by(x_scale, conjugate_if(x_conjugated, first)) + scale_by(y_scale, conjugate_if(y_conjugated, second));
    STORE_OUT(to, AT(to_at, i, j), TO_OUT(sum));
}

kernel void fill(global OUT *to, long4 to_at, scalar number, int2 sizes) {
    PLACE;
    STORE_OUT(to, AT(to_at, i, j), number);
}

kernel void apply(global OUT *to, long4 to_at, int turned, long2 place, int2 sizes EPILOGUE_STATE) {
    PLACE;
    scalar const element = LOAD_OUT(to, AT(to_at, i, j));
    value const x = epilogue((value)element, place.x + (turned ? j : i), place.y + (turned ? i : j) EPILOGUE_NAMES);
    STORE_OUT(to, AT(to_at, i, j), (scalar)x);
}
)cl";

STRATAGEMM_END
