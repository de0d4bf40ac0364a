// The order of summation: which products have the same bits, and what of the hardware that rests on.
#include "cuda.hpp"
#include "random.hpp"
#include "unit/backend/invariance.hpp"
#include "unit/support.hpp"

#include <cmath>
#include <complex>

namespace sg = stratagemm;
using namespace on_cuda;

// In pieces of k, with and without parts; narrow ones; of few terms.
TEST_CASE("an element has the same bits, whatever is computed beside it") {
    sg::cuda const gpu{.invariant = true};
    support::random_source from(1);
    invariance::compare<float, float>(gpu, from, 37, 70, 300, 7);
    invariance::compare<double, double>(gpu, from, 20, 33, 200, 7);
    invariance::compare<sg::bfloat16, float>(gpu, from, 18, 70, 530, 7);
    invariance::compare<sg::half, sg::half>(gpu, from, 70, 18, 41, 7);
    invariance::compare<std::complex<float>, std::complex<float>>(gpu, from, 9, 20, 70, 7);
    invariance::compare<sg::bfloat16, float>(gpu, from, 9, 20, 11, 7);
    invariance::compare<float, float>(gpu, from, 40, 3, 290, 4);
    invariance::compare<sg::bfloat16, float>(gpu, from, 3, 40, 1100, 4);
}

// Vectors are copied as they lie around a line, and shifted where they are read: what is beside lines does not count.
TEMPLATE_TEST_CASE("few columns in order, of 16-bit lines that begin anywhere", "", sg::bfloat16, sg::half) {
    sg::cuda const gpu{.invariant = true};
    using T = TestType;
    auto const number = [](sg::index_t x) { return T(static_cast<float>(x)); };
    for (sg::index_t const k : {33, 159, 530, 1101})
        for (sg::index_t const n : {1, 2, 3, 8})
            for (sg::index_t const gap : {0, 1, 2, 5})
                for (bool const across : {false, true}) { // B
                    sg::index_t const m = 75, from = gap % 3;
                    sg::matrix<T> const a(m, k,
                                          [&](auto i, auto l) { return number((3 * i + 2 * l) % 5 - 2); });
                    sg::matrix<T> const b(k, n, [&](auto l, auto j) { return number((5 * j + l) % 3 - 1); });
                    sg::matrix<float> exact(m, n), now(m, n);
                    sg::gemm(sg::reference{}, a, b, exact);
                    auto const nan = T(std::nanf(""));
                    sg::matrix<T> wide(m + 1, k + gap, [&](auto i, auto l) {
                        return i < m && l >= from && l < k + from ? a(i, l - from) : nan;
                    });
                    sg::matrix<T> tall(across ? k + 1 : n + 1, (across ? n : k) + gap, [&](auto i, auto j) {
                        auto const rows = across ? k : n, cols = across ? n : k;
                        if (i >= rows || j < from || j >= cols + from) return nan;
                        return across ? b(i, j - from) : b(j - from, i);
                    });
                    sg::cuda::matrix<T> const da(gpu, wide), db(gpu, tall);
                    sg::cuda::matrix<float> dc(gpu, m, n);
                    auto const of_a = da.block(0, from, m, k);
                    if (across)
                        sg::gemm(gpu, of_a, db.block(0, from, k, n), dc);
                    else
                        sg::gemm(gpu, of_a, sg::transposed(db.block(0, from, n, k)), dc);
                    dc.download(now);
                    CAPTURE(k, n, gap, across);
                    CHECK(different(now, exact) == 0);
                }
}
// Some rows, some pieces at a time, and some blocks that share them: in one round and in several.
TEMPLATE_TEST_CASE("few columns have the same bits in all tiles and clusters", "", float, double,
                   sg::bfloat16) {
    sg::cuda const gpu{.invariant = true};
    if (gpu.where().capability < 90) {
        WARN("skipped: no clusters");
        return;
    }
    using T = TestType;
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{5, 3, 2837}, {33, 8, 4504}})
        for (bool const across : {false, true}) { // A: not of tiles for tensor cores
            if (across && !std::is_same_v<T, float>) continue;
            auto const a = support::fractions<T>(across ? k : m, across ? m : k, 1),
                       b = support::fractions<T>(n, k, 2);
            using Out = std::conditional_t<std::is_same_v<T, double>, double, float>;
            sg::matrix<Out> expected(m, n), now(m, n);
            sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
            sg::cuda::matrix<Out> dc(gpu, m, n);
            auto const of_a = across ? sg::transposed(da.view()) : da.view();
            auto const p = sg::product(of_a, sg::transposed(db.view()), dc.view());
            sg::gemm(gpu, of_a, sg::transposed(db.view()), dc);
            dc.download(expected);
            sg::cuda_device const& d = gpu.where();
            std::ptrdiff_t const piece = sg::cuda_order(d, sg::type_letter<T>(), k).piece;
            for (short const cluster : std::array<short, 3>{1, 2, 8})
                for (short const rows : std::array<short, 2>{2, 16})
                    for (short const micro_m : std::array<short, 2>{1, 2}) {
                        if (!across && rows * n * micro_m > 256) continue;
                        sg::cuda_choice choice;
                        choice.invariant = true, choice.piece = piece;
                        sg::cuda_ordered tile{.m = rows, .n = static_cast<short>(n), .k = 128};
                        tile.pieces = micro_m, tile.stages = 2, tile.cluster = cluster;
                        tile.columns =
                            static_cast<short>(sizeof(T) == 2 || rows * n * micro_m <= 256 ? 1 : n);
                        choice.tile = tile;
                        sg::cuda_product<std::remove_cvref_t<decltype(p)>> product(
                            sg::cuda_session::of(gpu.device), nullptr, p, true);
                        sg::cuda_arena none;
                        CAPTURE(m, n, k, across, cluster, rows, micro_m);
                        dc.upload(sg::matrix<Out>(m, n, [](auto, auto) { return Out(77); }));
                        product.take(choice);
                        REQUIRE(product.run(none));
                        dc.download(now);
                        CHECK(support::same_bits(now, expected));
                    }
        }
}

TEMPLATE_TEST_CASE(
    "ten thousand elements of random products have the same bits, whatever is computed beside them", "[real]",
    float, double, sg::bfloat16, sg::half) {
    sg::cuda const gpu{.invariant = true};
    support::random_source from(2);
    auto const side = [&](double bits) { return static_cast<sg::index_t>(std::exp2(from.uniform(0, bits))); };
    long compared = 0;
    for (int x = 0; x < 25; ++x)
        compared += invariance::compare<TestType, sg::accumulator_t<TestType>>(gpu, from, side(11), side(11),
                                                                               side(13), 14, 100);
    for (int x = 0; x < 10; ++x)
        compared += invariance::compare<TestType, TestType>(gpu, from, side(7), side(7), side(13), 14, 10);
    INFO(compared << " elements");
    CHECK(compared > 10000);
}
TEMPLATE_TEST_CASE("elements of complex products have the same bits, whatever is computed beside them",
                   "[real]", std::complex<float>, std::complex<double>) {
    sg::cuda const gpu{.invariant = true};
    support::random_source from(3);
    auto const side = [&](double bits) { return static_cast<sg::index_t>(std::exp2(from.uniform(0, bits))); };
    for (int x = 0; x < 30; ++x)
        invariance::compare<TestType, TestType>(gpu, from, side(9), side(9), side(11), 14);
}
// What the order of the tensor cores rests on (query.hpp): wgmma and mma round alike, whatever the order of the 16
// terms of an instruction, and doubles are summed one after another, of eight terms the even ones first.
TEMPLATE_TEST_CASE("wgmma and mma have the same bits", "[real]", sg::bfloat16, sg::half) {
    sg::index_t const n = 256;
    SUCCEED();
    if (sg::cuda().where().capability != 90) return;
    for (sg::index_t const k : {16, 64, 1000, 4096})
        for (double const phi : {0.0, 1.0, 4.0}) {
            auto const a = support::spread_out<TestType>(n, k, phi, 1),
                       b = support::spread_out<TestType>(k, n, phi, 2);
            auto const product = [&](sg::cuda_configuration const& tile, auto const& term) {
                sg::matrix<TestType> const x(n, k,
                                             [&](sg::index_t i, sg::index_t l) { return a(i, term(l)); });
                sg::matrix<TestType> const y(k, n,
                                             [&](sg::index_t l, sg::index_t j) { return b(term(l), j); });
                sg::matrix<float> c(n, n);
                sg::gemm(sg::cuda{.tile = tile}, x, y, c);
                return c;
            };
            sg::cuda_wgmma const wgmma{64, 64, 64, 6, 8, 1, 1, 1};
            sg::cuda_mma const mma{64, 64, 64, 32, 32, 3, 8, 1};
            sg::cuda_mma const one_stage{64, 64, 32, 32, 32, 1, 8, 1};
            auto const given = [](sg::index_t l) { return l; };
            auto const reversed = [&](sg::index_t l) {
                return l / 16 * 16 + 16 <= k ? l / 16 * 16 + 15 - l % 16 : l;
            };
            CAPTURE(k, phi);
            auto const c = product(wgmma, given);
            CHECK(support::same_bits(c, product(mma, given)));
            CHECK(support::same_bits(c, product(one_stage, given)));
            CHECK(support::same_bits(c, product(mma, reversed)));
            CHECK(support::same_bits(c, product(wgmma, reversed)));
        }
}
TEST_CASE("the tensor cores of sm_90 sum doubles one after another", "[real]") {
    SUCCEED();
    if (sg::cuda().where().capability != 90) return;
    sg::index_t const n = 128, k = 999;
    auto const a = support::spread_out<double>(n, k, 4, 1), b = support::spread_out<double>(k, n, 4, 2);
    sg::matrix<double> c(n, n);
    sg::gemm(sg::cuda{.tile = sg::cuda_fp64{64, 64, 16, 32, 16, 6, 8, 1}}, a, b, c);
    auto const in_order = [&](sg::index_t i, sg::index_t j) {
        double sum = 0;
        for (sg::index_t l0 = 0; l0 < k; l0 += 8)
            for (sg::index_t const t : {0, 2, 4, 6, 1, 3, 5, 7})
                if (l0 + t < k) sum = std::fma(a(i, l0 + t), b(l0 + t, j), sum);
        return sum;
    };
    CHECK(support::same_bits(c, sg::matrix<double>(n, n, in_order)));
}

// Explicit tiles keep the order, or are not used.
TEST_CASE("an explicit tile does not change the bits of an invariant product", "[real]") {
    sg::matrix<float> const a = support::fractions<float>(150, 1000, 4),
                            b = support::fractions<float>(1000, 90, 5);
    sg::matrix<float> c(150, 90), d(150, 90);
    sg::gemm(sg::cuda{.invariant = true}, a, b, c);
    for (sg::cuda_configuration const& tile : std::vector<sg::cuda_configuration>{
             sg::cuda_simt{256, 128, 32, 8, 16, 4, 8}, sg::cuda_blocked{32, 64, 8, 4, 4, 2, 2},
             sg::cuda_simt{64, 64, 32, 4, 4, 3, 8, 3}}) {
        sg::gemm(sg::cuda{.tile = tile, .invariant = true}, a, b, d);
        CHECK(support::same_bits(c, d));
    }
}
