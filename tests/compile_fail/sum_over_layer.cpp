// expect: takes plain matrices only
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void summed(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::strassen{sg::host{}}, sg::sum(a, a), b, c);
}
