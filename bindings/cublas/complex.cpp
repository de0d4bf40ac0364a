#include "multiply.inl.hpp"

namespace stratagemm_cublas {

template answer multiply_types<std::complex<float>, std::complex<float>>(product_call const&, place&);
template answer multiply_types<std::complex<double>, std::complex<double>>(product_call const&, place&);

} // namespace stratagemm_cublas
