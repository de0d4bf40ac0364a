// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dct.hpp>

namespace sg = stratagemm;

// A transform has the precision of its operands.
void mixed(sg::matrix<float>& x, sg::matrix<float>& y) {
    sg::gemm(sg::host{}, sg::dct<float>(8), x, y);
    sg::gemm(sg::host{}, sg::dct<double>(8), x, y);
}
