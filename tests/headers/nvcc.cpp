// Compiled and linked by nvcc: every header, and a product of each kind.
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>
#if __has_include(<CL/cl.h>)
#    include <stratagemm/backend/opencl.hpp>
#endif

namespace sg = stratagemm;

int main() {
    sg::matrix<float> a(4, 4), b(4, 4), c(4, 4);
    sg::gemm(a, b, c);
    sg::gemm(sg::recursive{sg::strassen{sg::host{}}}, 2, a, sg::transposed(b), 1, c, sg::relu);
    sg::gemm(sg::split{sg::host{}}, a, b, c);
    sg::matrix<double> x(4, 4), y(4, 4);
    sg::gemm(sg::ozaki{sg::host{}}, x, x, y);
    sg::cuda const gpu;
    sg::cuda::matrix<float> d(gpu, 4, 4), e(gpu, 4, 4);
    sg::gemm(gpu, d, d, e, sg::relu);
    sg::gemm(sg::staged{gpu}, a, b, c);
}
