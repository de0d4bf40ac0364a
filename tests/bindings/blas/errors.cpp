// Arguments that BLAS does not allow: the program's xerbla_ and cblas_xerbla learn which one it is, and nothing is
// written.
#include "catch.hpp"
#include "matrices.hpp"

namespace {

std::string reported; // the routine and the number, of the last call

} // namespace

extern "C" {
[[gnu::visibility("default")]] void xerbla_(char const* routine, std::int32_t const* argument,
                                            std::size_t length) {
    reported = std::string(routine, length) + std::to_string(*argument);
}
[[gnu::visibility("default")]] void cblas_xerbla(int argument, char const* routine, char const*, ...) {
    reported = routine + (" " + std::to_string(argument));
}
}

namespace blas_test {
namespace {

// What a call reports of itself.
template <class F>
std::string report_of(F const& f) {
    reported = "nothing";
    f();
    return reported;
}

// The product of 2 x 3 and 3 x 4 matrices with one argument changed.
struct call {
    char ta = 'N', tb = 'N';
    std::int32_t m = 2, n = 4, k = 3, lda = 2, ldb = 3, ldc = 2;
};
std::string gemm(call const& x, language l, int layout = 0) {
    double const a[12]{}, b[12]{};
    double c[12];
    std::fill(c, c + 12, 7.0);
    routines<double> blas(plain, l);
    blas.layout = layout;
    std::string const said =
        report_of([&] { blas.gemm(x.ta, x.tb, x.m, x.n, x.k, 1.0, a, x.lda, b, x.ldb, 0.0, c, x.ldc); });
    if (said != "nothing")
        for (double const y : c) REQUIRE(y == 7);
    return said;
}

} // namespace

TEST_CASE("gemm: each wrong argument in Fortran") {
    language const l = language::fortran;
    REQUIRE(gemm({}, l) == "nothing");
    REQUIRE(gemm({.ta = 'X'}, l) == "DGEMM 1");
    REQUIRE(gemm({.ta = 'n', .tb = 'R'}, l) == "DGEMM 2");
    REQUIRE(gemm({.m = -1}, l) == "DGEMM 3");
    REQUIRE(gemm({.n = -1}, l) == "DGEMM 4");
    REQUIRE(gemm({.k = -1}, l) == "DGEMM 5");
    REQUIRE(gemm({.lda = 1}, l) == "DGEMM 8");
    REQUIRE(gemm({.ta = 'T', .lda = 2}, l) == "DGEMM 8");
    REQUIRE(gemm({.ldb = 2}, l) == "DGEMM 10");
    REQUIRE(gemm({.ldc = 1}, l) == "DGEMM 13");
    REQUIRE(gemm({.m = 0, .lda = 0, .ldc = 0}, l) == "DGEMM 8");
    REQUIRE(gemm({.tb = 'X', .m = -1, .ldc = 0}, l) == "DGEMM 2");
}
TEST_CASE("gemm: each wrong argument in CBLAS") {
    REQUIRE(gemm({}, language::columns) == "nothing");
    REQUIRE(gemm({.lda = 3, .ldb = 4, .ldc = 4}, language::rows) == "nothing");
    REQUIRE(gemm({}, language::columns, 100) == "cblas_dgemm 1");
    REQUIRE(gemm({.ta = 'X'}, language::columns) == "cblas_dgemm 2");
    REQUIRE(gemm({.lda = 1}, language::columns) == "cblas_dgemm 9");
    REQUIRE(gemm({.m = -1, .lda = 3, .ldb = 4, .ldc = 4}, language::rows) == "cblas_dgemm 4");
    REQUIRE(gemm({.lda = 2, .ldb = 4, .ldc = 4}, language::rows) == "cblas_dgemm 9");
    REQUIRE(gemm({.lda = 3, .ldb = 3, .ldc = 4}, language::rows) == "cblas_dgemm 11");
    REQUIRE(gemm({.lda = 3, .ldb = 4, .ldc = 3}, language::rows) == "cblas_dgemm 14");
}

TEST_CASE("the other routines: options that are none, and leading dimensions") {
    using complex = std::complex<float>;
    routines<complex> const blas(plain, language::fortran);
    complex a[16]{}, b[16]{}, c[16]{};
    complex const one(1);
    auto const symm = [&](char side, char uplo, int lda, int ldb, int ldc) {
        return report_of([&] { blas.symm("hemm", side, uplo, 2, 3, one, a, lda, b, ldb, one, c, ldc); });
    };
    REQUIRE(symm('X', 'U', 2, 2, 2) == "CHEMM 1");
    REQUIRE(symm('L', 'X', 2, 2, 2) == "CHEMM 2");
    REQUIRE(symm('R', 'U', 2, 2, 2) == "CHEMM 7");
    REQUIRE(symm('L', 'U', 2, 1, 2) == "CHEMM 9");
    REQUIRE(symm('L', 'U', 2, 2, 1) == "CHEMM 12");
    auto const herk = [&](char uplo, char trans, int lda, int ldc) {
        return report_of([&] { blas.syrk("herk", uplo, trans, 2, 3, 1.0f, a, lda, 1.0f, c, ldc); });
    };
    REQUIRE(herk('X', 'N', 2, 2) == "CHERK 1");
    REQUIRE(herk('U', 'T', 3, 2) == "CHERK 2");
    REQUIRE(herk('U', 'C', 2, 2) == "CHERK 7");
    REQUIRE(herk('U', 'N', 2, 1) == "CHERK 10");
    REQUIRE(report_of([&] { blas.syrk("syrk", 'U', 'C', 2, 3, one, a, 3, one, c, 2); }) == "CSYRK 2");
    auto const syr2k = [&](char trans, int lda, int ldb, int ldc) {
        return report_of([&] { blas.syr2k("syr2k", 'L', trans, 2, 3, one, a, lda, b, ldb, one, c, ldc); });
    };
    REQUIRE(syr2k('C', 3, 3, 2) == "CSYR2K2");
    REQUIRE(syr2k('T', 2, 3, 2) == "CSYR2K7");
    REQUIRE(syr2k('T', 3, 2, 2) == "CSYR2K9");
    REQUIRE(syr2k('T', 3, 3, 1) == "CSYR2K12");
    auto const trsm = [&](char side, char uplo, char trans, char diag, int m, int lda, int ldb) {
        return report_of(
            [&] { blas.triangular("trsm", side, uplo, trans, diag, m, 3, one, a, lda, b, ldb); });
    };
    REQUIRE(trsm('X', 'U', 'N', 'U', 2, 2, 2) == "CTRSM 1");
    REQUIRE(trsm('L', 'X', 'N', 'U', 2, 2, 2) == "CTRSM 2");
    REQUIRE(trsm('L', 'U', 'X', 'U', 2, 2, 2) == "CTRSM 3");
    REQUIRE(trsm('L', 'U', 'N', 'X', 2, 2, 2) == "CTRSM 4");
    REQUIRE(trsm('L', 'U', 'N', 'U', -1, 2, 2) == "CTRSM 5");
    REQUIRE(trsm('R', 'U', 'N', 'U', 2, 2, 2) == "CTRSM 9");
    REQUIRE(trsm('L', 'U', 'N', 'U', 2, 2, 1) == "CTRSM 11");
}

} // namespace blas_test
