#include "policies.hpp"

#include "suite.hpp"

using namespace trials;

STRATAGEMM_CONFORMANCE(float, float, "[float]")

TEST_CASE("float: each epilogue", "[float]") { epilogues_one_by_one<float, float>(40); }
TEST_CASE("float: each epilogue, a sample", "[quick][sample][float]") {
    epilogues_one_by_one<float, float>(4);
}

TEST_CASE("float to float: infinities and NaNs", "[quick][sample][float]") {
    infinities_and_nans<float, float>(5);
}
TEST_CASE("float to float: more infinities and NaNs", "[float]") { infinities_and_nans<float, float>(1); }
