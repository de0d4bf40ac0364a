#include "missing.hpp"

#include <stratagemm/stratagemm.hpp>

#include <cstdlib>

// The instruction set in STRATAGEMM_ISA, if one is set.
std::string missing_here() {
    namespace sg = stratagemm;
    if (!std::getenv("STRATAGEMM_ISA")) return {};
    float const a = 2, b = 3;
    float c = 0;
    auto const tried =
        sg::try_gemm(sg::host{}, sg::row_major(&a, 1, 1), sg::row_major(&b, 1, 1), sg::row_major(&c, 1, 1));
    if (!tried && tried.error().code() == sg::errc::unsupported) return tried.error().what();
    return {}; // any other failure is for the tests to report
}
