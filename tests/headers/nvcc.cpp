// Compiled and linked by nvcc: every header, and a product of each kind.

#include <complex>
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/blocked_ell.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/dct.hpp>
#include <stratagemm/structure/dft.hpp>
#include <stratagemm/structure/diagonal.hpp>
#include <stratagemm/structure/ell.hpp>
#include <stratagemm/structure/hadamard.hpp>
#include <stratagemm/structure/kronecker.hpp>
#include <stratagemm/structure/permutation.hpp>
#include <stratagemm/structure/sampled.hpp>
#include <stratagemm/structure/sketch.hpp>
#include <stratagemm/structure/toeplitz.hpp>
#include <stratagemm/structure/two_of_four.hpp>
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
    sg::matrix<std::complex<float>> z(4, 4);
    sg::gemm(sg::host{}, sg::dft<float>(4), a, z);
    sg::fft(sg::host{}, z, z);
    sg::gemm(sg::host{}, sg::hadamard<float>(4), a, b);
    sg::gemm(sg::host{}, sg::gaussian<float>(4, 4, 1), a, c);
    sg::gemm(sg::host{}, sg::dct<float>(4), a, b);
    auto const toeplitz = sg::toeplitz(sg::row_major(a.data(), 1, 7), 4, 4);
    sg::gemm(sg::host{}, toeplitz, b, c);
    sg::gemm(sg::host{}, toeplitz.by_transforms(), b, c);
    sg::gemm(sg::host{}, toeplitz, toeplitz, c);
    sg::gemm(sg::host{}, sg::kronecker(a), sg::transposed(b), c);
    sg::gemm(sg::host{}, sg::diagonal(b.view().block(0, 0, 1, 4)), a, c);
    sg::cuda const gpu;
    sg::cuda::matrix<float> d(gpu, 4, 4), e(gpu, 4, 4);
    sg::gemm(gpu, d, d, e, sg::relu);
    sg::gemm(gpu, sg::sparse_sign<float>(4, 4, 1, 2), d, e);
    sg::gemm(sg::staged{gpu}, a, b, c);
    std::int32_t const begins[] = {0, 1, 1, 1, 1}, column = 2;
    float const one = 1;
    sg::csr<float> const list{4, 4, begins, &column, &one, 1};
    auto square = sg::pattern(sg::host{}, list, list);
    sg::gemm(sg::host{}, list, list, sg::sampled(square));
    sg::csr_matrix<float, std::int32_t, sg::cuda> there;
    auto product = sg::pattern(gpu, there, there);
    sg::gemm(gpu, there, there, sg::sampled(product));
    sg::gemm(gpu, d, d, sg::sampled(product), sg::relu);
    sg::cuda::matrix<sg::half> h(gpu, 4, 4);
    sg::gemm(gpu, sg::prune_to_two_of_four(gpu, h), h, h);
    sg::gemm(gpu, sg::to_bsr(gpu, sg::to_ell(gpu, product), 2), d, e);
    sg::gemm(gpu, sg::to_blocked_ell(gpu, product, 2), d, e);
}
