// expect: brent_equations_do_not_hold
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// Strassen's table with one sign changed.
constexpr sg::bilinear_product lines[] = {
    {"a11+a22", "b11+b22", "c11+c22"}, {"a21+a22", "b11", "c21-c22"}, {"a11", "b12-b22", "c12+c22"},
    {"a22", "b21-b11", "c11+c21"},     {"a11+a12", "b22", "c12-c11"}, {"a21+a11", "b11+b12", "c22"},
    {"a12-a22", "b21+b22", "c11"},
};
constexpr sg::bilinear wrong{"wrong", 2, 2, 2, lines};
