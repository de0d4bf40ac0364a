// Types of C that no other device takes.
#include "conformance/device/suite.hpp"

using namespace trials;
using sg::bfloat16;
using sg::fp8_e4m3;
using sg::fp8_e5m2;
using sg::half;
using int8 = std::int8_t;

STRATAGEMM_DEVICE_CONFORMANCE(fp8_e4m3, float)
STRATAGEMM_DEVICE_CONFORMANCE(fp8_e5m2, half)
STRATAGEMM_DEVICE_CONFORMANCE(int8, int8)

TEST_CASE("fp8_e4m3 to bfloat16: shapes and layouts") { shapes_and_layouts<fp8_e4m3, bfloat16>(60); }
TEST_CASE("fp8_e4m3 to float: infinities and NaNs") { infinities_and_nans<fp8_e4m3, float>(4); }
TEST_CASE("fp8_e5m2 to float: infinities and NaNs") { infinities_and_nans<fp8_e5m2, float>(4); }
