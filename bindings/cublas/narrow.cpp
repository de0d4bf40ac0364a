#include "multiply.inl.hpp"

namespace stratagemm_cublas {

template answer multiply_types<sg::half, sg::half>(product_call const&, place&);
template answer multiply_types<sg::half, float>(product_call const&, place&);
template answer multiply_types<sg::bfloat16, sg::bfloat16>(product_call const&, place&);
template answer multiply_types<sg::bfloat16, float>(product_call const&, place&);
template answer multiply_types<std::int8_t, std::int32_t>(product_call const&, place&);

} // namespace stratagemm_cublas
