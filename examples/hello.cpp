// Hello, world: C = A B. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/hello.cpp -o hello
#include <stratagemm/stratagemm.hpp>

#include <cstdio>

namespace sg = stratagemm;

int main() {
    sg::matrix<double> a(2, 2, [](auto i, auto j) { return 1 + 2 * i + j; }); // 1 2, 3 4
    sg::matrix<double> b(2, 2, [](auto i, auto j) { return 5 + 2 * i + j; }); // 5 6, 7 8
    sg::matrix<double> c(2, 2);
    sg::gemm(a, b, c);
    std::printf("%g %g\n%g %g\n", c(0, 0), c(0, 1), c(1, 0), c(1, 1)); // 19 22, 43 50
    return c(0, 0) == 19 && c(0, 1) == 22 && c(1, 0) == 43 && c(1, 1) == 50 ? 0 : 1;
}
