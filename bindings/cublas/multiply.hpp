// The one way in which this library multiplies: by the policy of the environment, on the stream of the caller.
#pragma once

#include "place.hpp"

namespace stratagemm_cublas {

// Whether all products into this type are left beneath: complex ones, most of which the library multiplies as copies of real
// ones, unless the environment names a policy.
bool leaves(type c);
// Returns when the product is queued.
answer multiply(product_call const& p, place& at) noexcept;

// Products of T into C, where alpha, beta and sums have the accumulator's type. Each is defined where its types are
// compiled.
template <class T, class C>
answer multiply_types(product_call const& p, place& at);

} // namespace stratagemm_cublas
