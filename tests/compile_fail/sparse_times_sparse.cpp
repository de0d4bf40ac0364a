// expect: or not this combination of operands; see 'What runs where' in the README
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

namespace sg = stratagemm;

void sparse(sg::host& cpu, sg::csr<float>& a, sg::csr<float>& b, sg::matrix<float>& c) {
    sg::gemm(cpu, a, b, c);
}
