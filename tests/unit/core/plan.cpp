#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/host.hpp>
#include <stratagemm/backend/reference.hpp>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;
using support::product_of;

namespace {
sg::strassen<sg::reference> const policy(sg::reference{}, {.levels = 2});
sg::shape<float> shape_of(sg::index_t m, sg::index_t n, sg::index_t k, bool adds = false) {
    sg::shape<float> s{m, n, k};
    s.adds = adds;
    return s;
}
} // namespace

TEST_CASE("a plan tells what its policy tells") {
    auto const s = shape_of(20, 30, 40);
    auto const p = sg::plan(policy, s);
    CHECK(p.describe() == policy.describe(s));
    CHECK(contains(p.describe(), "reference"));
    CHECK(p.workspace() == policy.workspace(s));
    CHECK(p.workspace().host > 0);
    CHECK(p.error_bound().worst == policy.error_bound(s).worst);
    CHECK(p.error_bound().normwise);
}

TEST_CASE("a plan runs any product of its shape, in an arena that is made once") {
    auto const p = sg::plan(policy, shape_of(20, 30, 40));
    auto arena = p.reserve();
    for (unsigned seed = 1; seed < 4; ++seed) {
        auto const a = integers<float>(20, 40, seed), b = integers<float>(40, 30, seed + 10);
        sg::matrix<float> c(20, 30, sg::layout::col_major), d(20, 30);
        p.run(a, b, c, arena);
        CHECK(equal(c, product_of(a, b)));
        p.run(a, b, d);
        CHECK(equal(d, c));
        p.run(sg::product(2.0f, a, b, 0.0f, d), arena);
        CHECK(d(3, 4) == 2 * c(3, 4));
    }
}

TEST_CASE("an arena may serve any plan that needs no more") {
    auto const large = sg::plan(policy, shape_of(64, 64, 64)), small = sg::plan(policy, shape_of(20, 30, 40));
    auto arena = large.reserve();
    auto const a = integers<float>(20, 40, 1), b = integers<float>(40, 30, 2);
    sg::matrix<float> c(20, 30);
    small.run(a, b, c, arena);
    CHECK(equal(c, product_of(a, b)));
    auto tight = small.reserve();
    auto const x = integers<float>(64, 64, 1);
    sg::matrix<float> y(64, 64, [](sg::index_t, sg::index_t) { return 5.0f; });
    sg::status const s = large.try_run(sg::product(x, x, y), tight);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::memory);
    CHECK(s.error().layer() == "plan");
    CHECK(contains(s.error().what(), "workspace()"));
    CHECK(contains(s.error().what(), (std::to_string(large.workspace().host) + " bytes of host").c_str()));
    CHECK(y(0, 0) == 5);
    sg::host_arena none;
    CHECK_THROWS_AS(large.run(x, x, y, none), sg::error);
}

TEST_CASE("a plan refuses another shape") {
    auto const p = sg::plan(policy, shape_of(20, 30, 40));
    auto arena = p.reserve();
    auto const a = integers<float>(20, 39, 1), b = integers<float>(39, 30, 2);
    sg::matrix<float> c(20, 30, [](sg::index_t, sg::index_t) { return 5.0f; });
    sg::status const s = p.try_run(sg::product(a, b, c), arena);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::shape);
    CHECK(s.error().layer() == "plan");
    CHECK(contains(s.error().what(), "20 x 30 x 39"));
    CHECK(contains(s.error().what(), "20 x 30 x 40"));
    CHECK(c(0, 0) == 5);
    CHECK_THROWS_AS(sg::plan(policy, shape_of(-1, 2, 3)), sg::error);
    sg::shape<float> negative{1, 2, 3};
    negative.count = -1;
    CHECK_THROWS_AS(sg::plan(policy, negative), sg::error);
}

TEST_CASE("a plan refuses options that gemm refuses, of layers beneath as well") {
    auto const refused = [](auto const& p, auto const& s) -> std::string {
        try {
            sg::plan const made(p, s);
        } catch (sg::error const& e) {
            CHECK(e.code() == sg::errc::argument);
            return e.what();
        }
        return "";
    };
    sg::host const cpu;
    sg::shape<double> const s{.m = 20, .n = 30, .k = 40};
    sg::shape<float> const floats{.m = 20, .n = 30, .k = 40};
    sg::ozaki const wrong{cpu, {.moduli = 21}};
    CHECK(contains(refused(sg::ozaki{cpu, {.slices = 1}}, s), "`slices` must be 2 to 18"));
    CHECK(contains(refused(wrong, s), "`moduli` must be 2 to 20"));
    CHECK(contains(refused(sg::recursive{wrong}, s), "`moduli` must be 2 to 20"));
    CHECK(contains(refused(sg::strassen{sg::recursive{wrong}}, s), "`moduli` must be 2 to 20"));
    CHECK(contains(refused(sg::verified{wrong}, s), "`moduli` must be 2 to 20"));
    CHECK(contains(refused(sg::strassen{cpu, {.levels = -5}}, s), "levels must not be negative"));
    CHECK(contains(refused(sg::split{cpu, {.products = 4}}, floats), "3, 6 or 9"));
    CHECK(contains(refused(sg::verified{cpu, {.rounds = 0}}, floats), "`rounds` must be at least 1"));
    CHECK(refused(sg::strassen{sg::ozaki{cpu, {.moduli = 15}}}, s).empty());
    // k is too long for so few moduli, but not in blocks.
    sg::ozaki const few{cpu, {.moduli = 2}};
    sg::shape<double> const deep{.m = 2, .n = 2, .k = 40'000};
    CHECK(contains(refused(few, deep), "too large for so few"));
    CHECK(refused(sg::recursive{few, {.leaf_bytes = 1 << 16}}, deep).empty());
}

TEST_CASE("a plan checks its operands as gemm does") {
    auto const p = sg::plan(policy, shape_of(8, 8, 8));
    auto arena = p.reserve();
    auto c = integers<float>(8, 8, 1), b = integers<float>(8, 8, 2);
    auto const before = c;
    sg::status const s = p.try_run(sg::product(c, b, c), arena);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::alias);
    CHECK(equal(c, before));
}

TEST_CASE("a plan with beta in it runs with and without, one without says so if that takes more") {
    auto const a = integers<float>(20, 40, 1), b = integers<float>(40, 30, 2), e = integers<float>(20, 30, 3);
    auto const adding = sg::plan(policy, shape_of(20, 30, 40, true)),
               plain = sg::plan(policy, shape_of(20, 30, 40));
    CHECK(adding.workspace().host > plain.workspace().host);
    auto arena = adding.reserve();
    sg::matrix<float> c(20, 30);
    adding.run(sg::product(1.0f, a, b, -2.0f, e, c), arena);
    auto const ab = product_of(a, b);
    CHECK(c(7, 5) == ab(7, 5) - 2 * e(7, 5));
    adding.run(a, b, c, arena);
    CHECK(equal(c, ab));

    auto tight = plain.reserve();
    sg::status const s = plain.try_run(sg::product(1.0f, a, b, -2.0f, e, c), tight);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::argument);
    CHECK(contains(s.error().what(), "adds"));
    CHECK(equal(c, ab));
    // The reference needs nothing either way, and does not mind.
    auto const simple = sg::plan(sg::reference{}, shape_of(20, 30, 40));
    auto nothing = simple.reserve();
    simple.run(sg::product(1.0f, a, b, -2.0f, e, c), nothing);
    CHECK(c(7, 5) == ab(7, 5) - 2 * e(7, 5));
}

TEST_CASE("plans of batches and of nothing") {
    auto const a = integers<float>(6, 4, 1), b = integers<float>(4, 5, 2);
    sg::matrix<float> c(18, 5);
    auto s = shape_of(6, 5, 4);
    s.count = 3;
    auto const p = sg::plan(policy, s);
    p.run(sg::batched(a, 3, 0), b, sg::batched(c.block(0, 0, 6, 5), 3, 30));
    auto const ab = product_of(a, b);
    for (sg::index_t i = 0; i < 18; ++i) CHECK(c(i, 2) == ab(i % 6, 2));
    auto const empty = sg::plan(policy, shape_of(0, 5, 4));
    sg::matrix<float> const none(0, 4);
    sg::matrix<float> result(0, 5);
    empty.run(none, b, result);
    CHECK(empty.workspace().host == 0);
}

TEST_CASE("a plan refuses a product that nothing can hold") {
    for (int const bits : {40, 62}) {
        sg::index_t const n = sg::index_t{1} << bits;
        try {
            sg::plan const p(policy, shape_of(n, n, n));
            FAIL("planned: " << p.workspace().host);
        } catch (sg::error const& e) {
            CHECK(e.code() == sg::errc::overflow);
            CHECK(contains(e.what(), "2^52 elements"));
        }
    }
    sg::plan const large(policy, shape_of(1 << 20, 1 << 20, 1 << 20));
    CHECK(large.workspace().host > 0);
}
