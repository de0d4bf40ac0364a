// The smallest consumer: one include, one product, non-zero if it is wrong.
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

int main() {
    sg::matrix<float> a(2, 2), b(2, 2), c(2, 2);
    a(0, 0) = 1, a(0, 1) = 2, a(1, 0) = 3, a(1, 1) = 4;
    b(0, 0) = 5, b(0, 1) = 6, b(1, 0) = 7, b(1, 1) = 8;
    sg::gemm(a, b, c);
    return c(0, 0) == 19 && c(0, 1) == 22 && c(1, 0) == 43 && c(1, 1) == 50 ? 0 : 1;
}
