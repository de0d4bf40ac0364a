// Hello, world: C = A B. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/hello.cpp -o hello
#include <stratagemm/core/print.hpp>
#include <stratagemm/stratagemm.hpp>

#include <iostream>

namespace sg = stratagemm;

int main() {
    sg::matrix<double> a{{1, 2}, {3, 4}}, b{{5, 6}, {7, 8}}, c(2, 2);
    sg::gemm(a, b, c); // or c = sg::multiplied(a, b)
    std::cout << c << '\n';
    return c == sg::matrix<double>{{19, 22}, {43, 50}} ? 0 : 1;
}
