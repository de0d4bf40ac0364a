#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using sg::fp8_e4m3;
using sg::fp8_e5m2;
using sg::half;

// Policies over the reference: the host does not take fp8.
TEST_CASE("fp8_e4m3 to float: shapes and layouts", "[quick][fp8]") {
    shapes_and_layouts<fp8_e4m3, float>(11);
}
TEST_CASE("fp8_e4m3 to float: error bounds", "[quick][fp8]") { bounds<fp8_e4m3, float>(5); }
TEST_CASE("fp8_e4m3 to float: infinities and NaNs", "[quick][fp8]") {
    infinities_and_nans<fp8_e4m3, float>(5);
}
TEST_CASE("fp8_e5m2 to half: random products", "[quick][fp8]") { random_products<fp8_e5m2, half>(60); }
TEST_CASE("fp8_e5m2 to half: a chain of epilogues", "[quick][fp8]") { epilogue_chain<fp8_e5m2, half>(6); }
TEST_CASE("fp8_e5m2 to float: infinities and NaNs", "[quick][fp8]") {
    infinities_and_nans<fp8_e5m2, float>(5);
}
