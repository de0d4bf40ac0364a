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

namespace {

// x times weights of another type, which are the long operand, for a batch of rows as for one.
template <class X, class Weight>
void reads_as_stored(sg::index_t rows, sg::index_t n, sg::index_t k, sg::layout order) {
    sg::cuda const gpu;
    auto const of = [](auto zero, sg::index_t m, sg::index_t l, int step, sg::layout lying) {
        using T = decltype(zero);
        return sg::matrix<T>(
            m, l,
            [&](sg::index_t i, sg::index_t j) { return T(static_cast<float>((step * i + 3 * j) % 9 - 4)); },
            lying);
    };
    auto const x = of(X{}, rows, k, 1, sg::layout::row_major);
    auto const weights = of(Weight{}, k, n, 7, order);
    sg::matrix<float> c(rows, n), exact(rows, n);
    sg::gemm(sg::reference{}, x, weights, exact);
    sg::cuda::matrix<X> dx(gpu, x);
    sg::cuda::matrix<Weight> dw(gpu, weights);
    sg::cuda::matrix<float> dc(gpu, rows, n);
    INFO(rows << " x " << n << " x " << k << ", " << static_cast<int>(order));
    // No room for wider weights.
    CHECK(gpu.workspace_for(sg::product(dx, dw, dc)).device <
          static_cast<std::size_t>(k * n) * sizeof(Weight));
    sg::gemm(gpu, dx, dw, dc);
    dc.download(c);
    int wrong = 0;
    for (sg::index_t i = 0; i < rows; ++i)
        for (sg::index_t j = 0; j < n; ++j) wrong += c(i, j) != exact(i, j);
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("few rows times weights of a narrower type: these are read as they are stored") {
    for (auto const order : {sg::layout::row_major, sg::layout::col_major})
        for (sg::index_t const rows : {1, 3}) {
            reads_as_stored<float, sg::bfloat16>(rows, 512, 256, order);
            reads_as_stored<float, sg::bfloat16>(rows, 500, 2050, order);
            reads_as_stored<sg::bfloat16, std::int8_t>(rows, 512, 320, order);
            reads_as_stored<sg::half, std::int8_t>(rows, 129, 9000, order);
        }
}
