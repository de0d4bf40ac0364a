// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sketch.hpp>

namespace sg = stratagemm;

// A sketch by a transform has the type of its operands.
void mixed(sg::matrix<float>& x, sg::matrix<float>& y) {
    sg::gemm(sg::host{}, sg::srct<float>(4, 8, 1), x, y);
    sg::gemm(sg::host{}, sg::srct<double>(4, 8, 1), x, y);
}
