#include "catch.hpp"

#include <stratagemm/core/print.hpp>

#include <complex>
#include <cstdint>
#include <iomanip>
#include <sstream>

namespace sg = stratagemm;

namespace {
template <class M>
std::string printed(M const& x) {
    std::ostringstream out;
    out << x;
    return out.str();
}
} // namespace

TEST_CASE("a matrix is printed by rows, with aligned columns") {
    CHECK(printed(sg::matrix<float>{{1, 2.5}, {-10, 4}}) == "  1 2.5\n-10   4");
    CHECK(printed(sg::matrix<double>({{1, 2}, {3, 4}}, sg::layout::col_major)) == "1 2\n3 4");
    CHECK(printed(sg::matrix<std::int8_t>{{65, -1}}) == "65 -1"); // no characters
    CHECK(printed(sg::matrix<sg::half>{{0.5}}) == "0.5");
    CHECK(printed(sg::matrix<std::complex<double>>{{{1, -2}}}) == "(1,-2)");
    CHECK(printed(sg::matrix<float>()).empty());
}

TEST_CASE("a view is printed as the values that it stands for") {
    sg::matrix<float> const a{{1, 2, 3}, {4, 5, 6}};
    CHECK(printed(sg::transposed(a)) == "1 4\n2 5\n3 6");
    CHECK(printed(sg::scaled(2, a.block(0, 1, 2, 2))) == " 4  6\n10 12");
    sg::matrix<std::complex<float>> const z{{{1, 2}}};
    CHECK(printed(sg::conjugated(z)) == "(1,-2)");
    float values[] = {7, 8};
    CHECK(printed(sg::row_major(values, 1, 2)) == "7 8");
}

TEST_CASE("the format of the stream holds for each number") {
    std::ostringstream out;
    out << std::fixed << std::setprecision(2) << std::setw(6) << sg::matrix<float>{{1, 2}} << '|' << 3.0;
    CHECK(out.str() == "  1.00   2.00|3.00");
}
