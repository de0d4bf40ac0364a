// All routines for float and double.
#include "routines.inl.hpp"

namespace stratagemm_blas {
STRATAGEMM_BLAS_INSTANCES(float)
STRATAGEMM_BLAS_INSTANCES(double)
} // namespace stratagemm_blas
