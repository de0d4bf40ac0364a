// expect: has no kernel for these element types
#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/stratagemm.hpp>

#include <complex>

namespace sg = stratagemm;

// Medians are those of real numbers.
void medians(sg::matrix<float>& x, sg::matrix<std::complex<float>>& a) {
    sg::gemm(sg::compressed{sg::host{}, {.tolerance = 0.1}}, x, x, x);
    sg::gemm(sg::compressed{sg::host{}, {.tolerance = 0.1}}, a, a, a);
}
