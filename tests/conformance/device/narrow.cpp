#include "suite.hpp"

using namespace trials;
using int8 = std::int8_t;
using int32 = std::int32_t;
using sg::bfloat16;
using sg::half;

STRATAGEMM_DEVICE_CONFORMANCE(half, float)
STRATAGEMM_DEVICE_CONFORMANCE(half, half)
STRATAGEMM_DEVICE_CONFORMANCE(bfloat16, float)
STRATAGEMM_DEVICE_CONFORMANCE(bfloat16, bfloat16)
STRATAGEMM_DEVICE_CONFORMANCE(int8, int32)

TEST_CASE("half to half: infinities and NaNs") { infinities_and_nans<half, half>(8); }
TEST_CASE("bfloat16 to bfloat16: infinities and NaNs") { infinities_and_nans<bfloat16, bfloat16>(8); }
