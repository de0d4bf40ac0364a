#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using complex64 = std::complex<float>;

STRATAGEMM_CONFORMANCE(complex64, complex64, "[complex]")

TEST_CASE("complex64 to complex64: infinities and NaNs", "[quick][sample][complex]") {
    infinities_and_nans<complex64, complex64>(5);
}
TEST_CASE("complex64 to complex64: more infinities and NaNs", "[complex]") {
    infinities_and_nans<complex64, complex64>(1);
}
