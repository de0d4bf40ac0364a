// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/rdft.hpp>

#include <complex>

namespace sg = stratagemm;

// The way back from a spectrum has real results.
void complex_result(sg::matrix<std::complex<float>>& y, sg::matrix<float>& x,
                    sg::matrix<std::complex<float>>& z) {
    sg::gemm(sg::host{}, sg::irdft<float>(8), y, x);
    sg::gemm(sg::host{}, sg::irdft<float>(8), y, z);
}
