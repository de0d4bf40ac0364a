// Operands that go to the device and back.
#include "cuda.hpp"
#include "random.hpp"
#include "unit/support.hpp"

#include <array>
#include <cmath>

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
    CHECK(gpu.prepare(sg::product(dx, dw, dc)).workspace().device <
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

namespace {

// A matrix within a larger one on the device, with NaN around it: as it is given, and in floats. `gap`: 1, so that lines
// begin anywhere, 2 or 4.
template <class T>
class with_nan_around {
public:
    with_nan_around(sg::cuda const& gpu, sg::index_t rows, sg::index_t cols, sg::layout order,
                    sg::index_t gap)
        : rows_(rows), cols_(cols), gap_(gap) {
        support::random_source from(static_cast<std::uint64_t>(rows + 7 * cols));
        auto const up = [&](sg::index_t x) {
            return (x + gap - 1) / gap * gap + 2 * gap + (gap == 1 && x % 2 == 0);
        };
        sg::matrix<T> own(up(rows), up(cols), order);
        sg::matrix<float> wide(up(rows), up(cols), order);
        for (sg::index_t i = 0; i < own.rows(); ++i)
            for (sg::index_t j = 0; j < own.cols(); ++j) {
                bool const inside = i >= gap && i < gap + rows && j >= gap && j < gap + cols;
                own(i, j) = support::make<T>(inside ? from.uniform(-1, 1) : std::nan(""));
                wide(i, j) = static_cast<float>(own(i, j));
            }
        own_ = {gpu, own}, wide_ = {gpu, wide};
    }
    auto own() const { return own_.block(gap_, gap_, rows_, cols_); }
    auto wide() const { return wide_.block(gap_, gap_, rows_, cols_); }

private:
    sg::index_t rows_, cols_, gap_;
    sg::cuda::matrix<T> own_;
    sg::cuda::matrix<float> wide_;
};

// In order, a product of two types has the bits of one of floats, and in any a tile needs no room for a wider copy.
template <class A, class B>
void widens_on_the_way(sg::cuda_configuration const& tile, std::array<sg::index_t, 3> const& sides, int lying,
                       sg::index_t gap) {
    sg::index_t const m = sides[0], n = sides[1], k = sides[2];
    sg::cuda gpu{.tile = tile};
    auto const order = [&](int bit) { return lying & bit ? sg::layout::col_major : sg::layout::row_major; };
    with_nan_around<A> const a(gpu, m, k, order(1), gap);
    with_nan_around<B> const b(gpu, k, n, order(2), gap);
    sg::matrix<float> const start(m + 2, n + 3, [](auto i, auto j) { return static_cast<float>(i - 2 * j); });
    CAPTURE(sg::describe(tile), m, n, k, lying, gap);
    for (bool const invariant : {false, true}) {
        gpu.invariant = invariant;
        sg::cuda::matrix<float> c(gpu, start), expected(gpu, start);
        auto const inside = [&](auto& x) { return x.block(1, 2, m, n); };
        auto const product = sg::product(0.5f, a.own(), b.own(), 2.0f, inside(c));
        std::size_t const wider =
            static_cast<std::size_t>(std::is_same_v<A, float> ? k * n : m * k) * sizeof(float);
        // Without a given tile, a copy may be faster, whose room is for operands that lie in any way.
        if (tile.is_given())
            CHECK(gpu.prepare(product).workspace().device <
                  wider + 256 + static_cast<std::size_t>(8 * m * (n + 3)) * 4);
        sg::gemm(gpu, 0.5f, a.own(), b.own(), 2.0f, inside(c));
        sg::gemm(gpu, 0.5f, a.wide(), b.wide(), 2.0f, inside(expected));
        sg::matrix<float> now(m + 2, n + 3), then(m + 2, n + 3);
        c.download(now), expected.download(then);
        int wrong = 0;
        for (sg::index_t i = 0; i < m + 2; ++i)
            for (sg::index_t j = 0; j < n + 3; ++j)
                wrong += !(std::abs(now(i, j) - then(i, j)) < 1e-5f * (10 + std::abs(then(i, j))));
        CHECK(wrong == 0);
        if (invariant) CHECK(support::same_bits(now, then));
    }
}

} // namespace

TEST_CASE("operands of a narrower type than floats are widened on their way to tiles") {
    if (sg::cuda{}.where().capability < 90) {
        WARN("skipped: other kernels multiply floats here");
        return;
    }
    int turn = 0;
    for (auto const& e : sg::cuda_tiles_of<sg::cuda_simt>) {
        if (!e.tile.takes_any_lines()) continue;
        std::array<sg::index_t, 3> const sides{e.tile.m + 5, e.tile.n + 6, 77};
        sg::index_t const gap = ++turn % 3 == 0 ? 4 : turn % 3;
        widens_on_the_way<float, sg::bfloat16>(e.tile, sides, turn % 4, gap);
        widens_on_the_way<sg::half, float>(e.tile, sides, (turn + 1) % 4, gap);
    }
    for (sg::index_t const rows : {6, 16, 40})
        for (int lying = 0; lying < 4; ++lying) {
            widens_on_the_way<float, sg::bfloat16>({}, {rows, 300, 260}, lying, 4);
            widens_on_the_way<float, sg::half>({}, {rows, 131, 1100}, lying, 1);
            widens_on_the_way<sg::bfloat16, float>({}, {260, rows, 520}, lying, 4);
        }
}

TEST_CASE("what is said of rows times weights of a narrower type") {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) return;
    sg::shape<float, sg::bfloat16> const mixed{.m = 64, .n = 512, .k = 512};
    CHECK(support::contains(gpu.describe(mixed), "widened as it is read"));
    CHECK(gpu.estimate(mixed) < 1.5 * gpu.estimate(sg::shape<float>{.m = 64, .n = 512, .k = 512}));
    // Lines that are no lines are copied.
    sg::matrix<sg::bfloat16> const b(96, 300, [](auto i, auto j) {
        return support::make<sg::bfloat16>(static_cast<double>(i % 5 - j % 3));
    });
    sg::matrix<float> const a = numbers(20, 48, 3);
    sg::matrix<float> c(20, 150), exact(20, 150);
    sg::cuda::matrix<float> da(gpu, a), dc(gpu, 20, 150);
    sg::cuda::matrix<sg::bfloat16> db(gpu, b);
    auto every_other = db.view();
    every_other.rows = 48, every_other.cols = 150, every_other.row_stride *= 2, every_other.col_stride *= 2;
    auto on_host = b.view();
    on_host.rows = 48, on_host.cols = 150, on_host.row_stride *= 2, on_host.col_stride *= 2;
    sg::gemm(sg::reference{}, a, on_host, exact);
    sg::gemm(gpu, da, every_other, dc);
    dc.download(c);
    CHECK(different(c, exact) == 0);
}
