#include "suite.hpp"

using namespace trials;

STRATAGEMM_DEVICE_CONFORMANCE(float, float)

TEST_CASE("float: each epilogue") { epilogues_one_by_one<float, float>(2); }
TEST_CASE("float to float: infinities and NaNs") { infinities_and_nans<float, float>(4); }
