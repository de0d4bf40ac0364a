// expect: takes plain matrices only
#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// What ozaki kept is ozaki's.
void kept(sg::matrix<double>& a, sg::matrix<double>& b, sg::matrix<double>& c) {
    sg::ozaki const policy{sg::host{}, {.moduli = 15}};
    auto const once = sg::keep(policy, b);
    sg::gemm(sg::automatic{policy, sg::host{}}, a, once, c);
}
