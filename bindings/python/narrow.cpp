// Products of half, bfloat16 and int8.
#include "product.inl.hpp"

namespace stratagemm_python {
STRATAGEMM_PYTHON_INSTANCES(sg::half, sg::half)
STRATAGEMM_PYTHON_INSTANCES(sg::half, float)
STRATAGEMM_PYTHON_INSTANCES(sg::bfloat16, sg::bfloat16)
STRATAGEMM_PYTHON_INSTANCES(sg::bfloat16, float)
STRATAGEMM_PYTHON_INSTANCES(std::int8_t, std::int32_t)
} // namespace stratagemm_python
