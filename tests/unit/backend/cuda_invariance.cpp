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
// What the order of the tensor cores rests on (choice.hpp): wgmma and mma round alike, whatever the order of the 16
// terms of an instruction, and doubles are summed one after another, of eight terms the even ones first.
TEMPLATE_TEST_CASE("wgmma and mma have the same bits", "[real]", sg::bfloat16, sg::half) {
    sg::index_t const n = 256;
    SUCCEED();
    if (sg::cuda().where().capability != 90) return;
    for (sg::index_t const k : {16, 64, 1000, 4096})
        for (double const phi : {0.0, 1.0, 4.0}) {
            auto const a = support::spread_out<TestType>(n, k, phi, 1),
                       b = support::spread_out<TestType>(k, n, phi, 2);
            auto const product = [&](sg::cuda_tile const& tile, auto const& term) {
                sg::matrix<TestType> const x(n, k,
                                             [&](sg::index_t i, sg::index_t l) { return a(i, term(l)); });
                sg::matrix<TestType> const y(k, n,
                                             [&](sg::index_t l, sg::index_t j) { return b(term(l), j); });
                sg::matrix<float> c(n, n);
                sg::gemm(sg::cuda{.tile = tile}, x, y, c);
                return c;
            };
            sg::cuda_tile const wgmma{sg::cuda_engine::wgmma, 64, 64, 64, 1, 1, 6, 8, 1, 1};
            sg::cuda_tile const mma{sg::cuda_engine::mma, 64, 64, 64, 32, 32, 3, 8, 1, 1};
            sg::cuda_tile const one_stage{sg::cuda_engine::mma, 64, 64, 32, 32, 32, 1, 8, 1, 1};
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
    sg::gemm(sg::cuda{.tile = {sg::cuda_engine::fp64, 64, 64, 16, 32, 16, 6, 8, 1, 1}}, a, b, c);
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
    for (sg::cuda_tile const tile : {sg::cuda_tile{sg::cuda_engine::simt, 256, 128, 32, 8, 16, 4, 8},
                                     sg::cuda_tile{sg::cuda_engine::blocked, 32, 64, 8, 4, 4, 2, 2},
                                     sg::cuda_tile{sg::cuda_engine::simt, 64, 64, 32, 4, 4, 3, 8, 1, 3}}) {
        sg::gemm(sg::cuda{.tile = tile, .invariant = true}, a, b, d);
        CHECK(support::same_bits(c, d));
    }
}
