// expect: has no kernel for a C of this element type
#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// What no candidate takes is what the backend says of it.
void wide(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<double>& c) {
    sg::gemm(sg::automatic{sg::host{}}, a, b, c);
}
