// Beside bare.cpp, with exceptions: gemm throws.
#include <stratagemm/stratagemm.hpp>

#include <cstdio>

namespace sg = stratagemm;

int other() {
    sg::matrix<float> const a(3, 4), b(5, 6);
    sg::matrix<float> c(3, 6);
    try {
        sg::gemm(a, b, c);
    } catch (sg::error const& e) {
        return e.code() != sg::errc::shape;
    }
    std::puts("gemm did not throw");
    return 1;
}
