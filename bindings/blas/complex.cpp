// All routines for complex numbers.
#include "routines.inl.hpp"

namespace stratagemm_blas {
STRATAGEMM_BLAS_INSTANCES(std::complex<float>)
STRATAGEMM_BLAS_INSTANCES(std::complex<double>)
} // namespace stratagemm_blas
