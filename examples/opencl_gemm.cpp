// A product on an OpenCL device: a graphics card of any make, or the CPU through PoCL. Needs the OpenCL headers
// and loader. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -Iinclude examples/opencl_gemm.cpp -o opencl_gemm -lOpenCL
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/opencl.hpp>

#include <cstdio>

namespace sg = stratagemm;
using sg::index_t;

int main() {
    for (auto const& device : sg::opencl::devices())
        std::printf("%s (%s), %zu MiB\n", device.name.c_str(), device.platform_name.c_str(),
                    device.global_bytes >> 20);

    sg::opencl const gpu; // or sg::opencl gpu{sg::opencl::find("RX 590")}, or a cl_command_queue
    if (sg::status const s = gpu.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }

    index_t const m = 100, n = 90, k = 80;
    sg::matrix<float> const a(m, k, [](index_t i, index_t j) { return (i + 2 * j) % 9 - 4; });
    sg::matrix<float> const b(k, n, [](index_t i, index_t j) { return (3 * i + j) % 7 - 3; });
    sg::matrix<float> c(m, n);

    // Operands live on the device. The product is queued; download() waits for it.
    sg::opencl::matrix<float> const da(gpu, a), db(gpu, b);
    sg::opencl::matrix<float> dc(gpu, m, n);
    sg::gemm(gpu, da, db, dc);
    sg::gemm(sg::strassen{gpu, {.levels = 1}}, 2.0f, da, db, -1.0f, dc, sg::relu); // relu(2 A B - A B)
    dc.download(c);

    // Operands on the host are brought there and back.
    sg::matrix<float> same(m, n);
    sg::gemm(gpu, a, b, same, sg::relu);

    int wrong = 0;
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) {
            float sum = 0;
            for (index_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
            wrong += c(i, j) != sg::relu(sum) || same(i, j) != c(i, j);
        }
    std::printf("%s\n", wrong ? "WRONG" : "ok");
    return wrong != 0;
}
