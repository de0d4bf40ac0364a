// A product on an NVIDIA device. It takes the headers of the CUDA toolkit to compile, and no nvcc; a driver and NVRTC
// to run. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -Iinclude -isystem /usr/local/cuda/include examples/cuda_gemm.cpp -o cuda_gemm -ldl
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/cuda.hpp>

#include <cstdio>

namespace sg = stratagemm;

// An epilogue of one's own: a line of C for the device, and the same for the host.
struct threshold {
    float limit;
    float operator()(float x) const { return x > limit ? x : 0; }
    template <class To>
    void device(To& to) const {
        to("x > $0 ? x : 0", limit);
    }
};

int main() {
    for (auto const& device : sg::cuda::devices())
        std::printf("%d: %s, %s, %d multiprocessors, %zu MiB\n", device.ordinal, device.name.c_str(),
                    device.architecture().c_str(), device.units, device.global_bytes >> 20);

    sg::cuda const gpu; // or sg::cuda gpu{.device = 1, .stream = stream}
    if (sg::status const s = gpu.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }

    sg::index_t const m = 100, n = 90, k = 80;
    sg::matrix<float> const a(m, k, [](sg::index_t i, sg::index_t j) { return (i + 2 * j) % 9 - 4; });
    sg::matrix<float> const b(k, n, [](sg::index_t i, sg::index_t j) { return (3 * i + j) % 7 - 3; });
    sg::matrix<float> c(m, n);

    // Operands live on the device. The product is queued; download() waits for it.
    sg::cuda::matrix<float> const da(gpu, a), db(gpu, b);
    sg::cuda::matrix<float> dc(gpu, m, n);
    sg::gemm(gpu, da, db, dc);
    sg::gemm(sg::strassen{gpu, {.levels = 1}}, 2.0f, da, db, -1.0f, dc, threshold{3}); // of 2 A B - A B
    dc.download(c);

    // Operands on the host are taken there, and C back; it returns when C is here.
    sg::matrix<float> d(m, n);
    sg::gemm(gpu, a, b, d);

    int wrong = 0;
    for (sg::index_t i = 0; i < m; ++i)
        for (sg::index_t j = 0; j < n; ++j) {
            float sum = 0;
            for (sg::index_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
            wrong += c(i, j) != threshold{3}(sum) || d(i, j) != sum;
        }

    // Memory that another library has allocated, as cudaMalloc does: a view of it is all it takes.
    float* const theirs = dc.data().address;
    auto const view = sg::cuda::on_device(sg::row_major(theirs, m, n));
    sg::gemm(gpu, da, db, view, sg::relu);

    auto const plan = sg::plan(gpu, sg::shape<sg::bfloat16>{.m = 4096, .n = 4096, .k = 4096});
    std::printf("%s\n%zu bytes of workspace\n", plan.describe().c_str(), plan.workspace().device);

    gpu.synchronize().or_throw();
    std::printf("%s\n", wrong ? "WRONG" : "ok");
    return wrong != 0;
}
