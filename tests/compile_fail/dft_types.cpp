// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <complex>

namespace sg = stratagemm;

// A transform has the precision of its operands.
void mixed(sg::matrix<std::complex<float>>& x, sg::matrix<std::complex<float>>& y) {
    sg::gemm(sg::host{}, sg::dft<float>(8), x, y);
    sg::gemm(sg::host{}, sg::dft<double>(8), x, y);
}
