// What algorithms are made of besides products: copy, add, fill and apply, on views with any strides.
//
// x and y have the element type IN, the result has OUT; fill and apply take one type for both. OUT_VALUE is the type
// of numbers of OUT.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_elementwise_text[] = R"cu(
struct elementwise_arguments {
    operand x, y, result;
    index row0, col0;
    int rows, cols; /* the columns have the smaller stride */
    int x_conjugated, y_conjugated, turned;
    scalar x_scale, y_scale;
};

/* Blocks of 8 rows by 32 columns. */
#define PLACE                                                                  \
    int const across = (p.cols - 1) / 32 + 1;                                  \
    index const j = (index)(blockIdx.x % across) * 32 + threadIdx.x % 32;      \
    index const i = (index)(blockIdx.x / across) * 8 + threadIdx.x / 32;       \
    if (j >= p.cols || i >= p.rows) return;                                    \
    OUT *const result = (OUT *)element<OUT>(p.result, i, j)
#define ARGUMENTS __grid_constant__ const elementwise_arguments p, __grid_constant__ const epilogue_state state

inline OUT as_out(scalar x) { return to<OUT>::from(to<OUT_VALUE>::from((value)x)); }

extern "C" __global__ void __launch_bounds__(256) copy(ARGUMENTS) {
    wait_for_earlier();
    PLACE;
    scalar const x = (scalar)widen(*element<IN>(p.x, i, j));
    *result = as_out(scale_by(p.x_scale, conjugate_if(p.x_conjugated, x)));
}

extern "C" __global__ void __launch_bounds__(256) add(ARGUMENTS) {
    wait_for_earlier();
    PLACE;
    scalar const x = (scalar)widen(*element<IN>(p.x, i, j)), y = (scalar)widen(*element<IN>(p.y, i, j));
    *result = as_out(scale_by(p.x_scale, conjugate_if(p.x_conjugated, x)) +
                     scale_by(p.y_scale, conjugate_if(p.y_conjugated, y)));
}

extern "C" __global__ void __launch_bounds__(256) fill(ARGUMENTS) {
    wait_for_earlier();
    PLACE;
    *result = as_out(p.x_scale);
}

extern "C" __global__ void __launch_bounds__(256) apply(ARGUMENTS) {
    wait_for_earlier();
    PLACE;
    value const x = epilogue((value)(scalar)widen(*result), p.row0 + (p.turned ? j : i),
                             p.col0 + (p.turned ? i : j), state);
    *result = as_out((scalar)x);
}
)cu";

STRATAGEMM_END
