#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using int8 = std::int8_t;
using int32 = std::int32_t;

STRATAGEMM_CONFORMANCE(int8, int32, "[int8]")
