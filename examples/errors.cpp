// What goes wrong, and how one hears of it: gemm throws sg::error, try_gemm returns the same as a value. Either
// way nothing has been written to C. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/errors.cpp -o errors
#include <stratagemm/stratagemm.hpp>

#include <cstdio>

namespace sg = stratagemm;

int failures = 0;

// Prints the message, and checks that the call failed for the reason that we meant.
void expect(sg::errc code, sg::status const& s) {
    bool const as_expected = !s && s.error().code() == code;
    std::printf("%s\n\n", s ? "no error" : s.error().what());
    failures += !as_expected;
}

int main() {
    sg::matrix<float> a(2, 3), b(3, 4), c(2, 4, [](auto, auto) { return 7; });

    // Without exceptions. A status converts to bool: true is success.
    if (sg::status s = sg::try_gemm(a, b, c); !s) return 1;
    c = sg::matrix<float>(2, 4, [](auto, auto) { return 7; });

    expect(sg::errc::shape, sg::try_gemm(a, sg::transposed(b), c));
    expect(sg::errc::alias, sg::try_gemm(c.block(0, 0, 2, 2), b.block(0, 0, 2, 2), c.block(0, 1, 2, 2)));
    expect(sg::errc::null_data, sg::try_gemm(a, sg::row_major(static_cast<float*>(nullptr), 3, 4), c));
    expect(sg::errc::strides, sg::try_gemm(a, b, sg::row_major(c.data(), 2, 4, 3)));
    expect(sg::errc::argument, sg::try_gemm(a, b, sg::scaled(2.0f, c)));

    // With exceptions: code() for the program, what() for the reader.
    try {
        sg::gemm(a, a, c);
        ++failures;
    } catch (sg::error const& e) {
        std::printf("%s\n", e.what());
        failures += e.code() != sg::errc::shape || e.layer() != "gemm";
    }
    for (int j = 0; j < 4; ++j) failures += c(0, j) != 7 || c(1, j) != 7; // C is untouched

    // Wrong types do not get this far; each of these is one readable line from the compiler:
    //   sg::gemm(a, sg::matrix<double>(3, 4), c);     this policy has no kernel for these element types
    //   sg::gemm(a, b);                               gemm takes ([policy,] [alpha,] A, B, [beta,] [E,] C ...
    return failures;
}
