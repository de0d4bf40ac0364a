// expect: has no kernel for an A and a B of these two element types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// What the leaf lacks is said once, by the front, whatever is stacked above it.
void deep(sg::matrix<float>& a, sg::matrix<double>& b, sg::matrix<double>& c) {
    sg::gemm(sg::strassen{sg::recursive{sg::host{}}}, a, b, c);
}
