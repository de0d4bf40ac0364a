#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>

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
