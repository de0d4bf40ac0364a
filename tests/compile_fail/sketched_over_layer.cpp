// expect: this policy takes plain matrices only
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// Backends alone multiply by sketches.
void layered(sg::matrix<float>& a, sg::matrix<float>& c) {
    sg::gemm(sg::sketched{sg::host{}, {.tolerance = 0.1}}, a, a, c);
    sg::gemm(sg::sketched{sg::strassen{sg::host{}}, {.tolerance = 0.1}}, a, a, c);
}
