#include "multiply.inl.hpp"

namespace stratagemm_cublas {

template answer multiply_types<float, float>(product_call const&, place&);
template answer multiply_types<double, double>(product_call const&, place&);

} // namespace stratagemm_cublas
