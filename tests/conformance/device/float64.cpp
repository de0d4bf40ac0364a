#include "suite.hpp"

using namespace trials;

STRATAGEMM_DEVICE_CONFORMANCE(double, double)

TEST_CASE("double to double: infinities and NaNs") { infinities_and_nans<double, double>(4); }
