// The one way in which this library multiplies: by the policy of the environment, on the stream of the caller.
#pragma once

#include "place.hpp"

namespace stratagemm_cublas {

// Whether all products into this type are left beneath. Complex products are, unless the environment names a policy: the
// library multiplies most of them as copies of real numbers.
bool leaves(type c);
// Returns when the product is queued.
answer multiply(product_call const& p, place& at) noexcept;

// Products of T into C, where alpha, beta and sums have the accumulator's type. Each is defined where its types are
// compiled.
template <class T, class C>
answer multiply_types(product_call const& p, place& at);

} // namespace stratagemm_cublas
