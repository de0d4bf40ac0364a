// Operands are views: a transpose, a part of a matrix, a factor or a conjugation is a description, and moves
// no data. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/transposes_and_blocks.cpp -o transposes_and_blocks
#include <stratagemm/stratagemm.hpp>

#include <complex>
#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

int failures = 0;

// Whether c(i, j) is f(i, j) everywhere. All values here are small integers, so that nothing rounds.
template <class C, class F>
void check(char const* what, C const& c, F const& f) {
    bool good = true;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j) good = good && c(i, j) == f(i, j);
    std::printf("%-44s %s\n", what, good ? "ok" : "WRONG");
    failures += !good;
}

int main() {
    index_t const m = 5, n = 4, k = 3;
    sg::matrix<double> a(m, k, [](index_t i, index_t j) { return i - 2 * j; });
    sg::matrix<double> b(k, n, [](index_t i, index_t j) { return 1 + i * j; });
    sg::matrix<double> c(m, n);
    auto ab = [&](index_t i, index_t j) { // the product, element by element
        double sum = 0;
        for (index_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
        return sum;
    };

    sg::gemm(a, b, c);
    check("C = A B", c, ab);

    // C = alpha A B + beta C. With beta = 0, C is written and never read.
    sg::gemm(2.0, a, b, -1.0, c);
    check("C = 2 A B - C", c, ab);

    // A separate added matrix stays as it is.
    sg::matrix<double> const e(m, n, [](index_t i, index_t j) { return 10 * i + j; });
    sg::gemm(a, b, e, c);
    check("C = A B + E", c, [&](index_t i, index_t j) { return ab(i, j) + e(i, j); });
    sg::gemm(a, b, sg::scaled(3.0, e), c);
    check("C = A B + 3 E", c, [&](index_t i, index_t j) { return ab(i, j) + 3 * e(i, j); });

    // Any operand may be transposed, C too.
    sg::matrix<double> bt(n, k, [&](index_t i, index_t j) { return b(j, i); });
    sg::matrix<double> ct(n, m);
    sg::gemm(a, sg::transposed(bt), c);
    check("C = A Bt^T", c, ab);
    sg::gemm(a, b, sg::transposed(ct));
    check("Ct^T = A B", ct, [&](index_t i, index_t j) { return ab(j, i); });

    // Memory of your own, here column-major as in Fortran, with a leading dimension of 8.
    std::vector<double> fortran(8 * k);
    for (index_t i = 0; i < m; ++i)
        for (index_t l = 0; l < k; ++l) fortran[static_cast<std::size_t>(i + 8 * l)] = a(i, l);
    sg::gemm(sg::col_major(fortran.data(), m, k, 8), b, c);
    check("C = A B, A borrowed and column-major", c, ab);

    // A block: block(i, j, rows, columns) is the part with its corner at (i, j). The rest of C stays.
    c = sg::matrix<double>(m, n);
    sg::gemm(a.block(1, 0, 2, k), b.block(0, 2, k, 2), c.block(1, 2, 2, 2));
    check("a block of C from blocks of A and B", c,
          [&](index_t i, index_t j) { return (i == 1 || i == 2) && j >= 2 ? ab(i, j) : 0; });

    // Strides may be negative: the rows of A from last to first.
    sg::gemm(sg::strided(&a(m - 1, 0), m, k, -k, index_t{1}), b, c);
    check("C = (A upside down) B", c, [&](index_t i, index_t j) { return ab(m - 1 - i, j); });

    // Complex: Z^H Z is Hermitian, with real squares on its diagonal.
    using complex = std::complex<double>;
    sg::matrix<complex> z(k, 2, [](index_t i, index_t j) { return complex(double(i), double(1 + j)); });
    sg::matrix<complex> zz(2, 2);
    sg::gemm(sg::conjugated(sg::transposed(z)), z, zz);
    check("C = Z^H Z", zz, [&](index_t i, index_t j) {
        complex sum = 0;
        for (index_t l = 0; l < k; ++l) sum += std::conj(z(l, i)) * z(l, j);
        return sum;
    });
    return failures;
}
