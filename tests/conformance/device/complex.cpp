#include "suite.hpp"

using namespace trials;
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

STRATAGEMM_DEVICE_CONFORMANCE(complex64, complex64)
STRATAGEMM_DEVICE_CONFORMANCE(complex128, complex128)

TEST_CASE("complex64 to complex64: infinities and NaNs") { infinities_and_nans<complex64, complex64>(4); }
TEST_CASE("complex128 to complex128: infinities and NaNs") { infinities_and_nans<complex128, complex128>(4); }
