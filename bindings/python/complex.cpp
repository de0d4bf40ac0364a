// Products of complex numbers.
#include "product.inl.hpp"

namespace stratagemm_python {
STRATAGEMM_PYTHON_INSTANCES(std::complex<float>, std::complex<float>)
STRATAGEMM_PYTHON_INSTANCES(std::complex<double>, std::complex<double>)
} // namespace stratagemm_python
