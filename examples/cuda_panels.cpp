// A product of matrices whose rows lie on all NVIDIA devices of this machine; on a machine with one, the device counts
// twice. To compile, from the top of the checkout, and run:
//   g++ -std=c++20 -O2 -Iinclude -isystem /usr/local/cuda/include examples/cuda_panels.cpp -o cuda_panels -ldl -pthread
//   ./cuda_panels [SIZE = 200]
#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/structure/panels.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

int main(int argc, char** argv) {
    if (sg::status const s = sg::cuda{}.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }
    std::vector<sg::cuda> gpus;
    for (sg::cuda_device const& d : sg::cuda::devices()) gpus.push_back({.device = d.ordinal});
    if (gpus.size() == 1) gpus.push_back(gpus[0]);

    index_t const n = argc > 1 ? std::atol(argv[1]) : 200;
    sg::matrix<float> const a(n, n, [](index_t i, index_t j) { return (i + 2 * j) % 9 - 4; });
    sg::matrix<float> const b(n, n, [](index_t i, index_t j) { return (3 * i + j) % 7 - 3; });

    // Each device has neighbouring rows of each matrix.
    sg::panels<float, sg::cuda> pa(gpus, n, n), pb(gpus, n, n), pc(gpus, n, n);
    for (int i = 0; i < pa.devices(); ++i)
        std::printf("device %d of the list has %td rows, from row %td on\n", i, pa.panel_on(i).rows,
                    pa.first_row_on(i));
    pa.upload(a), pb.upload(b);

    // Each computes its rows of C, and reads the others' rows of B while it does.
    sg::out_of_core const policy(gpus);
    std::printf(
        "%s\n",
        sg::plan(policy, sg::panels_shape<float, sg::cuda>{.m = n, .n = n, .k = n}).describe().c_str());
    sg::gemm(policy, pa, pb, pc);

    sg::matrix<float> c(n, n);
    pc.download(c);
    int wrong = 0;
    for (index_t i = 0; i < n; i += 7)
        for (index_t j = 0; j < n; ++j) {
            float sum = 0;
            for (index_t l = 0; l < n; ++l) sum += a(i, l) * b(l, j);
            wrong += c(i, j) != sum;
        }
    std::printf("%s\n", wrong ? "WRONG" : "ok");
    return wrong != 0;
}
