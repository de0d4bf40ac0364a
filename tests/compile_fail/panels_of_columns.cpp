// expect: or not this combination of operands; see 'What runs where' in the README
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/panels.hpp>

namespace sg = stratagemm;

// C in panels of columns takes a B in panels of columns.
void columns(sg::out_of_core<sg::host> const& policy, sg::panels<float, sg::host>& a,
             sg::panels<float, sg::host>& b, sg::panels<float, sg::host>& c) {
    sg::gemm(policy, a, b, sg::transposed(c));
}
