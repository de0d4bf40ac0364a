// expect: has no kernel for these element types
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/stratagemm.hpp>

#include <cstdint>

namespace sg = stratagemm;

// Integers are not approximated.
void draws(sg::matrix<std::int8_t>& a, sg::matrix<std::int32_t>& c) {
    sg::gemm(sg::host{}, a, a, c);
    sg::gemm(sg::monte_carlo{sg::host{}, {.tolerance = 0.1}}, a, a, c);
}
