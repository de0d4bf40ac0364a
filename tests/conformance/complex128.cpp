#include "policies.hpp"

#include "suite.hpp"

using namespace trials;
using complex128 = std::complex<double>;

STRATAGEMM_CONFORMANCE(complex128, complex128, "[complex]")

TEST_CASE("complex128 to complex128: infinities and NaNs", "[quick][sample][complex]") {
    infinities_and_nans<complex128, complex128>(5);
}
TEST_CASE("complex128 to complex128: more infinities and NaNs", "[complex]") {
    infinities_and_nans<complex128, complex128>(1);
}
