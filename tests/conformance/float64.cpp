#include "policies.hpp"

#include "suite.hpp"

using namespace trials;

STRATAGEMM_CONFORMANCE(double, double, "[double]")

TEST_CASE("double: each epilogue", "[double]") { epilogues_one_by_one<double, double>(40); }
TEST_CASE("double: each epilogue, a sample", "[quick][sample][double]") {
    epilogues_one_by_one<double, double>(4);
}

TEST_CASE("double to double: infinities and NaNs", "[quick][sample][double]") {
    infinities_and_nans<double, double>(5);
}
TEST_CASE("double to double: more infinities and NaNs", "[double]") {
    infinities_and_nans<double, double>(1);
}
