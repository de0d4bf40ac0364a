// expect: this epilogue cannot run on a result that is no plain matrix; the header of that result says what its epilogues need
#include <stratagemm/backend/opencl.hpp>
#include <stratagemm/structure/panels.hpp>

namespace sg = stratagemm;

// The vector lies on one device.
void biased(sg::out_of_core<sg::opencl> const& policy, sg::panels<float, sg::opencl>& a,
            sg::panels<float, sg::opencl>& b, sg::panels<float, sg::opencl>& c,
            sg::opencl::matrix<float> const& values) {
    sg::gemm(policy, a, b, c, sg::bias(values));
}
