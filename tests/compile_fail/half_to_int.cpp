// expect: has no kernel for these element types
#include <stratagemm/stratagemm.hpp>

#include <cstdint>

namespace sg = stratagemm;

void rounded(sg::matrix<sg::half>& a, sg::matrix<sg::half>& b, sg::matrix<std::int32_t>& c) {
    sg::gemm(a, b, c);
}
