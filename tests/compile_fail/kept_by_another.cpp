// expect: or not this combination of operands; see 'What runs where' in the README
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

namespace sg = stratagemm;

void kept(sg::csr<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    auto const by_host = sg::keep_left(sg::host{}, a);
    sg::gemm(sg::reference{}, by_host, b, c);
}
