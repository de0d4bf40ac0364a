#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sg = stratagemm;
using support::equal;
using support::integers;
using support::product_of;

namespace {

struct operands {
    sg::matrix<float> a = integers<float>(5, 7, 1), b = integers<float>(7, 6, 2),
                      e = integers<float>(5, 6, 3), c = integers<float>(5, 6, 4);
    sg::matrix<float> ab = product_of(a, b), old = c;

    // Whether C is now x AB + y E + z C.
    bool result_is(float x, float y, float z) const {
        return equal(c, sg::matrix<float>(5, 6, [&](sg::index_t i, sg::index_t j) {
                         return x * ab(i, j) + y * e(i, j) + z * old(i, j);
                     }));
    }
};

} // namespace

TEST_CASE("each way to call gemm, with a policy and without") {
    sg::reference const oracle{};
    auto const check = [&](auto&& call, float x, float y, float z) {
        operands with, without;
        call(with, oracle);
        CHECK(with.result_is(x, y, z));
        call(without);
        CHECK(without.result_is(x, y, z));
    };
    check([](operands& o, auto... p) { sg::gemm(p..., o.a, o.b, o.c); }, 1, 0, 0);
    check([](operands& o, auto... p) { sg::gemm(p..., o.a, o.b, o.e, o.c); }, 1, 1, 0);
    check([](operands& o, auto... p) { sg::gemm(p..., 2.0f, o.a, o.b, -1.0f, o.c); }, 2, 0, -1);
    check([](operands& o, auto... p) { sg::gemm(p..., 2.0f, o.a, o.b, 3.0f, o.e, o.c); }, 2, 3, 0);
    check([](operands& o, auto... p) { sg::gemm(p..., o.a, o.b, o.c, sg::scale(2.0f)); }, 2, 0, 0);
    check([](operands& o, auto... p) { sg::gemm(p..., o.a, o.b, o.e, o.c, sg::scale(2.0f)); }, 2, 2, 0);
    check([](operands& o, auto... p) { sg::gemm(p..., 1, o.a, o.b, 2, o.c, sg::scale(2.0f)); }, 2, 0, 4);
    check([](operands& o, auto... p) { sg::gemm(p..., 1.0, o.a, o.b, 2.0, o.e, o.c, sg::scale(2.0f)); }, 2, 4,
          0);
    check([](operands& o, auto... p) { CHECK(static_cast<bool>(sg::try_gemm(p..., o.a, o.b, o.c))); }, 1, 0,
          0);
    check([](operands& o, auto... p) { sg::gemm(p..., o.a.view(), o.b, o.c.view()); }, 1, 0, 0);
    check([](operands& o,
             auto... p) { sg::gemm(p..., sg::scaled(3.0f, o.a), sg::transposed(sg::transposed(o.b)), o.c); },
          3, 0, 0);
    check([](operands& o, auto... p) { sg::gemm(p..., o.a, o.b, o.c, [](float x) { return -x; }); }, -1, 0,
          0);
}

TEST_CASE("multiplied gives back a matrix of its own") {
    operands o;
    CHECK(sg::multiplied(o.a, o.b) == o.ab);
    CHECK(sg::multiplied(sg::reference{}, o.a, o.b.view()) == o.ab);
    CHECK(sg::multiplied(sg::strassen{sg::host{}, {.levels = 1}}, sg::scaled(2.0f, o.a), o.b)(4, 5) ==
          2 * o.ab(4, 5));
    static_assert(std::is_same_v<decltype(sg::multiplied(o.a, o.b)), sg::matrix<float>>);
    sg::matrix<sg::half> const h{{1, 2}, {3, 4}};
    CHECK(sg::multiplied(h, sg::transposed(h)) == sg::matrix<float>{{5, 11}, {11, 25}}); // sums are in float
    sg::matrix<std::int8_t> const i{{100, 100}};
    CHECK(sg::multiplied(i, sg::transposed(i)) == sg::matrix<std::int32_t>{{20000}});
    try {
        (void)sg::multiplied(o.a, o.a);
        FAIL("the sides do not fit");
    } catch (sg::error const& e) {
        CHECK(e.code() == sg::errc::shape);
    }
}

TEST_CASE("gemm and try_gemm refuse the same, in their own way") {
    operands o;
    sg::status const s = sg::try_gemm(o.a, o.a, o.c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::shape);
    try {
        sg::gemm(o.a, o.a, o.c);
        FAIL_CHECK("no error");
    } catch (sg::error const& e) {
        CHECK(std::string(e.what()) == s.error().what());
    }
    CHECK(equal(o.c, o.old));
}

TEST_CASE("a negative number of threads is refused by every call") {
    sg::host const cpu{.threads = -3};
    auto const refused = [](auto&& call) {
        try {
            call();
        } catch (sg::error const& e) {
            CHECK(e.code() == sg::errc::argument);
            return std::string(e.what()) ==
                   "host: threads must not be negative; 0 takes as many as OpenMP offers";
        }
        return false;
    };
    for (int const n : {3, 40, 200}) {
        auto const a = integers<float>(n, n, 1), b = integers<float>(n, n, 2);
        sg::matrix<float> c(n, n);
        std::vector<int> places(static_cast<std::size_t>(n) + 1);
        for (int i = 0; i <= n; ++i) places[static_cast<std::size_t>(i)] = i;
        sg::csr<float> const diagonal{n, n, places.data(), places.data(), a.data(), n};
        for (int i = 0; i < 3; ++i) { // a kernel that is known from a call before does not pass it over
            for (int j = 0; j < 3; ++j) sg::gemm(a, b, c);
            c.fill(7);
            CHECK(refused([&] { sg::gemm(cpu, a, b, c); }));
            CHECK(c(0, 0) == 7);
        }
        CHECK(refused([&] { sg::gemm(sg::strassen{sg::recursive{cpu}}, a, b, c); }));
        CHECK(refused([&] { sg::gemm(sg::ozaki{cpu}, a, b, c); }));
        CHECK(refused([&] { sg::gemm(cpu, a, b, c, sg::relu); }));
        CHECK(refused([&] { sg::gemm(cpu, diagonal, b, c); }));
        CHECK(refused([&] { sg::gemm(cpu, std::vector{sg::product(a, b, c)}); }));
        CHECK(refused([&] { sg::plan(cpu, sg::product(a, b, c).shape()); }));
    }
}

TEST_CASE("results and factors may be temporaries, constants, blocks and batches") {
    auto const a = integers<float>(8, 8, 1);
    sg::matrix<float> c(8, 8), d(8, 8);
    sg::gemm(a.block(0, 0, 4, 8), a, c.block(0, 0, 4, 8));
    sg::gemm(a.block(4, 0, 4, 8), a, c.block(4, 0, 4, 8));
    CHECK(equal(c, product_of(a, a)));
    sg::gemm(sg::batched(a.block(0, 0, 2, 8), 4, 16), a, sg::batched(d.block(0, 0, 2, 8), 4, 16));
    CHECK(equal(c, d));
}
