// The one way in which this library multiplies: C = alpha A B + beta C by the policy of the environment.
#pragma once

#include "call.hpp"

namespace stratagemm_blas {

// Returns when C is there. Where C shares memory with A or B, the old values of these are multiplied, as far as copies
// of them find memory.
template <class T, class S, class U>
void multiply(S alpha, sg::view<T const> const& a, sg::view<T const> const& b, S beta, sg::view<U> const& c);

// `count` products, of which the i-th multiplies the operands moved by i steps.
template <class T>
void multiply_batch(T alpha, sg::batch<T const> const& a, sg::batch<T const> const& b, T beta,
                    sg::batch<T> const& c);

} // namespace stratagemm_blas
