// expect: this policy takes plain matrices only
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dct.hpp>

namespace sg = stratagemm;

// What is approximated has elements in memory.
void transform(sg::matrix<float>& a, sg::matrix<float>& c) {
    sg::gemm(sg::monte_carlo{sg::host{}, {.tolerance = 0.1}}, a, a, c);
    sg::gemm(sg::monte_carlo{sg::host{}, {.tolerance = 0.1}}, sg::dct<float>(8), a, c);
}
