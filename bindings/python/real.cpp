// Products of floats and doubles.
#include "product.inl.hpp"

namespace stratagemm_python {
STRATAGEMM_PYTHON_INSTANCES(float, float)
STRATAGEMM_PYTHON_INSTANCES(double, double)
} // namespace stratagemm_python
