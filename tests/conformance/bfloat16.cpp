#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using sg::bfloat16;

STRATAGEMM_CONFORMANCE(bfloat16, float, "[bfloat16]")
STRATAGEMM_CONFORMANCE(bfloat16, bfloat16, "[bfloat16]")

TEST_CASE("bfloat16 to float: infinities and NaNs", "[quick][sample][bfloat16]") {
    infinities_and_nans<bfloat16, float>(5);
}
TEST_CASE("bfloat16 to float: more infinities and NaNs", "[bfloat16]") {
    infinities_and_nans<bfloat16, float>(1);
}

TEST_CASE("bfloat16 to bfloat16: infinities and NaNs", "[quick][sample][bfloat16]") {
    infinities_and_nans<bfloat16, bfloat16>(5);
}
TEST_CASE("bfloat16 to bfloat16: more infinities and NaNs", "[bfloat16]") {
    infinities_and_nans<bfloat16, bfloat16>(1);
}
