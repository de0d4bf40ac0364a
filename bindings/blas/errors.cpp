// What becomes of arguments that BLAS does not allow, and of what it has no way to report.
#include "../variables.hpp"
#include "beneath.hpp"
#include "call.hpp"

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The program's, or those of the BLAS beneath. Integers of 64 bits begin with those of 32 bits.
extern "C" {
[[gnu::weak]] void xerbla_(char const* routine, std::int64_t const* argument, std::size_t length);
[[gnu::weak]] void cblas_xerbla(int argument, char const* routine, char const* format, ...);
[[gnu::weak]] extern int RowMajorStrg;
}

namespace stratagemm_blas {
namespace {

// "DGEMM ", as Fortran routines call themselves.
struct fortran_name {
    char text[32] = {};
    std::size_t length = 0;

    explicit fortran_name(char const* name) {
        for (; *name && length < sizeof(text) - 1; ++name)
            text[length++] = static_cast<char>(std::toupper(static_cast<unsigned char>(*name)));
        while (length < 6) text[length++] = ' ';
    }
};

template <class Function>
Function* found(Function* linked, char const* name) {
    return linked ? linked : reinterpret_cast<Function*>(find_beneath(name, width::in_name));
}

// The cblas_xerbla of the reference is told of a row-major call as of the column-major one that is made of it, whose
// operands change places, and undoes that where RowMajorStrg says so.
int as_in_columns(int argument, char const* routine) {
    struct {
        char const* part;
        int one, other;
    } const exchanged[] = {{"gemm", 4, 5}, {"gemm", 9, 11}, {"symm", 4, 5},
                           {"hemm", 4, 5}, {"trmm", 6, 7},  {"trsm", 6, 7}};
    for (auto const& [part, one, other] : exchanged)
        if (std::strstr(routine, part) && (argument == one || argument == other))
            return one + other - argument;
    return argument;
}
void report_to_cblas(decltype(cblas_xerbla)* report, caller const& who, int argument) {
    if (&RowMajorStrg == nullptr) return report(argument, who.name, "");
    int const before = RowMajorStrg;
    RowMajorStrg = who.by_rows;
    report(who.by_rows ? as_in_columns(argument, who.name) : argument, who.name, "");
    RowMajorStrg = before;
}

} // namespace

[[gnu::cold]] void refuse(caller const& who, int argument) {
    if (who.is_c) {
        if (auto* const report = found(&cblas_xerbla, "cblas_xerbla"))
            return report_to_cblas(report, who, argument + 1);
        std::fprintf(stderr, "Parameter %d to routine %s was incorrect\n", argument + 1, who.name);
        return;
    }
    fortran_name const name(who.name);
    std::int64_t const number = argument;
    if (auto* const report = found(&xerbla_, "xerbla_")) return report(name.text, &number, name.length);
    std::fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", name.text,
                 argument);
}

[[gnu::cold]] void refuse_layout(caller const& who) { refuse(who, 0); }

[[gnu::cold]] void give_up(char const* what) {
    stratagemm_bindings::variables("stratagemm-blas").give_up(what);
}

} // namespace stratagemm_blas
