// expect: a pointer, a std::vector or a std::span does not say how many rows and columns it has; write row_major(v, rows, cols)
#include <stratagemm/stratagemm.hpp>

#include <vector>

namespace sg = stratagemm;

void vector_and_matrices(std::vector<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(a, b, c);
}
