#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sketch.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

template <class X>
sg::matrix<X> random_matrix(index_t rows, index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    return sg::matrix<X>(
        rows, cols,
        [&](index_t, index_t) {
            double const re = from.uniform(-1, 1);
            return support::make<X>(re, from.uniform(-1, 1));
        },
        order);
}
template <class S>
sg::matrix<typename S::value_type> written(S const& sketch) {
    return {sketch.rows, sketch.cols, [&](index_t i, index_t j) { return sketch.element(i, j); }};
}

std::uint32_t const all_ones = 0xffffffff;

} // namespace

TEST_CASE("sketch: the generator gives the published answers") {
    // kat_vectors of the authors' library Random123, philox4x32 with 10 rounds
    struct {
        std::uint32_t counter[4], key[2], answer[4];
    } const known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{all_ones, all_ones, all_ones, all_ones},
         {all_ones, all_ones},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (auto const& k : known) {
        std::uint32_t c[] = {k.counter[0], k.counter[1], k.counter[2], k.counter[3]};
        sg::host_portable::draw<sg::single_word>(c, k.key[0], k.key[1]);
        for (int i = 0; i < 4; ++i) CHECK(c[i] == k.answer[i]);
    }
}

TEST_CASE("sketch: normal numbers are those of Box and Muller") {
    support::random_source from(1);
    double worst = 0, worst_small = 0;
    for (int trial = 0; trial < 200000; ++trial) {
        auto const some = [&] { return static_cast<std::uint32_t>(from.next() >> 32); };
        std::uint32_t const ends[] = {0,          1,          all_ones,   all_ones - 1, 0x80000000,
                                      0x7fffffff, 0xb504f333, 0xb504f334, 0x40000000,   0xc0000000};
        std::uint32_t radius = trial < 100 ? ends[trial / 10] : some() >> (trial % 8 ? 0 : from.below(32)),
                      angle = trial < 100 ? ends[trial % 10] : some();
        if (trial % 8 == 4) radius = ~radius;
        std::uint32_t x = 0, y = 0;
        sg::host_portable::two_normals<sg::single_word>(radius, angle, x, y);
        double const u = static_cast<double>(radius | 1) * 0x1p-32,
                     t = static_cast<double>((angle << 2 | 2) & all_ones) * 0x1p-32 * 1.5707963267948966,
                     r = std::sqrt(-2 * std::log(u));
        double const error =
            std::max(std::fabs(static_cast<std::int32_t>(x) * 0x1p-28 - (angle >> 31 ? -1 : 1) * r * std::sin(t)),
                     std::fabs(static_cast<std::int32_t>(y) * 0x1p-28 -
                               (angle >> 30 & 1 ? -1 : 1) * r * std::cos(t)));
        (r < 0x1p-6 ? worst_small : worst) = std::max(r < 0x1p-6 ? worst_small : worst, error);
    }
    CHECK(worst <= 0x1p-24);
    CHECK(worst > 0x1p-26);
    CHECK(worst_small <= 0x1p-15);
}

TEMPLATE_TEST_CASE("sketch: a product is that of the written-out matrix", "", float, double) {
    using T = TestType;
    auto const s = sg::gaussian<T>(37, 301, 7);
    auto const x = random_matrix<T>(301, 29, 1);
    sg::matrix<T> c(37, 29), exact(37, 29);
    sg::gemm(sg::reference{}, written(s), x, exact);
    sg::gemm(sg::reference{}, s, x, c);
    double error = 0;
    for (index_t i = 0; i < 37; ++i)
        for (index_t j = 0; j < 29; ++j) error = std::max(error, std::fabs(double(c(i, j)) - double(exact(i, j))));
    CHECK(error < 1e-5);
    sg::gemm(sg::host{}, s, x, c);
    error = 0;
    for (index_t i = 0; i < 37; ++i)
        for (index_t j = 0; j < 29; ++j) error = std::max(error, std::fabs(double(c(i, j)) - double(exact(i, j))));
    CHECK(error < 1e-5);
}

TEMPLATE_TEST_CASE("sketch: sparse", "", float, double) {
    using T = TestType;
    for (index_t n : {1, 2, 29})
        for (index_t k : {1, 5, 37}) {
            auto const s = sg::sparse_sign<T>(37, 301, 7, k);
            auto const x = random_matrix<T>(301, n, 1);
            sg::matrix<T> c(37, n), exact(37, n);
            sg::gemm(sg::reference{}, written(s), x, exact);
            auto const off = [&] {
                double error = 0;
                for (index_t i = 0; i < 37; ++i)
                    for (index_t j = 0; j < n; ++j)
                        error = std::max(error, std::fabs(double(c(i, j)) - double(exact(i, j))));
                return error;
            };
            sg::gemm(sg::reference{}, s, x, c);
            CHECK(off() < 1e-5);
            sg::gemm(sg::host{}, s, x, c);
            CHECK(off() < 1e-5);
        }
}
