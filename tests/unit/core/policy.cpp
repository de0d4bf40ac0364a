#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/core/layer.hpp>

#include <array>
#include <cstdint>

namespace sg = stratagemm;

TEST_CASE("footprints add up, and compare, per kind of memory") {
    sg::footprint const x{1, 20, 300}, y{5, 10, 400};
    CHECK(x + y == sg::footprint{6, 30, 700});
    CHECK(sg::larger(x, y) == sg::footprint{5, 20, 400});
    CHECK(sg::footprint{} == sg::footprint{0, 0, 0});
}

TEST_CASE("the larger of two bounds holds for both") {
    sg::bound const x{4, 1, false}, y{3, 2, true};
    sg::bound const both = sg::larger(x, y);
    CHECK(both.worst == 4);
    CHECK(both.expected == 2);
    CHECK(both.normwise);
}

TEST_CASE("an arena hands out aligned blocks in order and takes them back with their scope") {
    alignas(64) std::byte bytes[1024];
    sg::host_arena arena(bytes, sizeof bytes, nullptr);
    CHECK(arena.size() == 1024);
    CHECK(arena.fits({1024, 0, 0}));
    CHECK(!arena.fits({1025, 0, 0}));
    float* const x = arena.take<float>(3);
    float* const y = arena.take<float>(16);
    CHECK(reinterpret_cast<std::byte*>(x) == bytes);
    CHECK(reinterpret_cast<std::byte*>(y) == bytes + 64);
    CHECK(!arena.fits({1024 - 127, 0, 0}));
    CHECK(arena.fits({1024 - 128, 0, 0}));
    {
        sg::host_arena::scope const scope(arena);
        (void)arena.take<double>(100);
        {
            sg::host_arena::scope const inner(arena);
            (void)arena.take<char>(1);
        }
        CHECK(!arena.fits({65, 0, 0}));
    }
    CHECK(arena.fits({1024 - 128, 0, 0}));
    CHECK(arena.take<float>(0) == y + 16);
    CHECK(sg::host_arena::rounded(0) == 0);
    CHECK(sg::host_arena::rounded(1) == 64);
    CHECK(sg::host_arena::rounded(64) == 64);
}

namespace {
int released = 0;
void count_release(std::byte*, std::size_t) { ++released; }
} // namespace

TEST_CASE("an arena releases its block once, however often it was moved") {
    std::byte bytes[64];
    released = 0;
    {
        sg::host_arena first(bytes, 64, count_release);
        sg::host_arena second(std::move(first));
        sg::host_arena third;
        third = std::move(second);
        CHECK(third.size() == 64);
        CHECK(released == 0);
    }
    CHECK(released == 1);
}

TEST_CASE("a backend reserves what is asked for") {
    auto const none = sg::reference{}.reserve({});
    CHECK(static_cast<bool>(none));
    for (std::size_t const bytes :
         {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20, std::size_t{5000}}) {
        auto made = sg::reference{}.reserve({bytes, 0, 0});
        REQUIRE(static_cast<bool>(made));
        CHECK(made->fits({bytes, 0, 0}));
        auto* const p = made->take<std::byte>(static_cast<sg::index_t>(bytes));
        CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
        p[0] = p[bytes - 1] = std::byte{1};
    }
}

TEST_CASE("what is a policy and what is not") {
    static_assert(sg::policy<sg::reference>);
    static_assert(!sg::policy<int> && !sg::policy<sg::matrix<float>> && !sg::policy<sg::host_operations>);
    SUCCEED();
}

namespace {

// The oracle, which counts what it is asked. What it prepares has so many bytes of workspace.
struct asked_once : sg::reference {
    mutable int prepared = 0, run = 0, groups = 0;

    template <class Problem>
    struct ready {
        asked_once const& by;
        Problem const& p;
        sg::footprint workspace() const { return {192}; }
        sg::status run(sg::host_arena& memory) const {
            ++by.run;
            CHECK(memory.fits({192}));
            return static_cast<sg::reference const&>(by)(p, memory);
        }
    };
    template <class Problem>
    auto prepare(Problem const& p) const {
        ++prepared;
        return ready<Problem>{*this, p};
    }
    template <class Problem>
    struct ready_group {
        asked_once const& by;
        sg::group<Problem> all;
        sg::footprint workspace() const { return {64}; }
        sg::status run(sg::host_arena& memory) const {
            CHECK(memory.fits({64}));
            for (Problem const& p : all)
                CHECK(sg::run_checked(static_cast<sg::reference const&>(by), p, memory));
            return {};
        }
    };
    template <class Problem>
    auto prepare_group(sg::group<Problem> const& all) const {
        ++groups;
        return ready_group<Problem>{*this, all};
    }
};

} // namespace

TEST_CASE("a product is prepared once, and runs in the workspace that was found then; so does a group") {
    asked_once const policy;
    sg::matrix<float> const a = support::integers<float>(5, 7, 1), b = support::integers<float>(7, 4, 2);
    sg::matrix<float> c(5, 4);
    sg::gemm(policy, a, b, c);
    CHECK(support::equal(c, support::product_of(a, b)));
    CHECK((policy.prepared == 1 && policy.run == 1));
    sg::gemm(policy, 0.0f, a, b, 0.0f, c); // no product is left
    CHECK(c(1, 1) == 0);
    CHECK(policy.run == 1);
    std::array const products = {sg::product(a, b, c)};
    sg::gemm(policy, products);
    CHECK(support::equal(c, support::product_of(a, b)));
    CHECK((policy.groups == 1 && policy.run == 1));
    auto memory = policy.reserve(sg::group_workspace(policy, products));
    REQUIRE(memory);
    sg::gemm(policy, products, *memory);
    CHECK(policy.groups == 3);
    // A layer does the product itself, and is not passed over.
    CHECK(sg::prepare(sg::product_over<asked_once>(policy), sg::product(a, b, c)).workspace() ==
          sg::footprint{});
}
