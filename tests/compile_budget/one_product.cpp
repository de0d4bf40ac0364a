// What a small program costs to compile: everything included, one product.
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

int main() {
    sg::matrix<float> a(64, 64), b(64, 64), c(64, 64);
    sg::gemm(a, b, c);
}
