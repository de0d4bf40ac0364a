#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using sg::half;

STRATAGEMM_CONFORMANCE(half, float, "[half]")
STRATAGEMM_CONFORMANCE(half, half, "[half]")

TEST_CASE("half to float: infinities and NaNs", "[quick][sample][half]") {
    infinities_and_nans<half, float>(5);
}
TEST_CASE("half to float: more infinities and NaNs", "[half]") { infinities_and_nans<half, float>(1); }

TEST_CASE("half to half: infinities and NaNs", "[quick][sample][half]") {
    infinities_and_nans<half, half>(5);
}
TEST_CASE("half to half: more infinities and NaNs", "[half]") { infinities_and_nans<half, half>(1); }
