#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using float_x_bfloat16 = two_types<float, sg::bfloat16>;
using half_x_float = two_types<sg::half, float>;
using bfloat16_x_int8 = two_types<sg::bfloat16, std::int8_t>;
using int8_x_half = two_types<std::int8_t, sg::half>;
using sg::half;

STRATAGEMM_CONFORMANCE(float_x_bfloat16, float, "[two_types]")
STRATAGEMM_CONFORMANCE(half_x_float, float, "[two_types]")
STRATAGEMM_CONFORMANCE(bfloat16_x_int8, float, "[two_types]")
STRATAGEMM_CONFORMANCE(int8_x_half, half, "[two_types]")

TEST_CASE("two types: infinities and NaNs", "[quick][sample][two_types]") {
    infinities_and_nans<float_x_bfloat16, float>(5);
    infinities_and_nans<int8_x_half, half>(5);
}
TEST_CASE("two types: more infinities and NaNs", "[two_types]") {
    infinities_and_nans<float_x_bfloat16, float>(1);
    infinities_and_nans<half_x_float, float>(1);
    infinities_and_nans<bfloat16_x_int8, float>(1);
    infinities_and_nans<int8_x_half, half>(1);
}
