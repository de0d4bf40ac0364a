// Operands that go to the device and back.
#include "cuda.hpp"

#include <array>

namespace sg = stratagemm;
using namespace on_cuda;

TEST_CASE("matrices go to the device and come back in any layout") {
    sg::cuda const gpu;
    auto const a = numbers(17, 23, 3);
    sg::matrix<float> back(23, 17, sg::layout::col_major);
    sg::cuda::matrix<float> rows(gpu, a), columns(gpu, 17, 23, sg::layout::col_major);
    gpu.leaf().copy(rows.view(), columns.view()).or_throw();
    columns.download(sg::transposed(back));
    for (sg::index_t i = 0; i < 17; ++i)
        for (sg::index_t j = 0; j < 23; ++j) CHECK(back(j, i) == a(i, j));
    CHECK_THROWS_AS(rows.download(back), sg::error);
}

TEST_CASE("operands on the host go to the device and back, in more pieces than one") {
    sg::cuda const gpu;
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{33, 40, 21}, {1700, 1600, 3}, {3, 2, 1200000}}) {
        sg::matrix<float> const a = numbers(m, k, 3), b = numbers(k, n, 5);
        sg::matrix<float> c(m, n), exact(m, n), odd(n, m + 1, [](sg::index_t, sg::index_t) { return 7; });
        sg::gemm(sg::reference{}, a, b, exact);
        sg::gemm(gpu, a, b, c);
        auto const turned = sg::transposed(odd.block(0, 1, n, m));
        sg::gemm(gpu, 2.0f, a, b, 0.0f, turned);
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j)
                wrong += c(i, j) != exact(i, j) || turned(i, j) != 2 * exact(i, j);
        for (sg::index_t j = 0; j < n; ++j) wrong += odd(j, 0) != 7;
        CHECK(wrong == 0);
    }
    own_stream const context; // of the driver's calls below
    void* pinned = nullptr;
    CALL(cuMemHostAlloc, &pinned, 4000, 0);
    auto const row = sg::row_major(static_cast<float*>(pinned), 1, 1000);
    for (sg::index_t j = 0; j < 1000; ++j) row(0, j) = static_cast<float>(j);
    sg::cuda::matrix<float> there(gpu, row);
    for (sg::index_t j = 0; j < 1000; ++j) row(0, j) = 0;
    there.download(row);
    CHECK(row(0, 999) == 999);
    CALL(cuMemFreeHost, pinned);
}
