#include "catch.hpp"

#include <stratagemm/device/build_once.hpp>

#include <thread>
#include <vector>

namespace sg = stratagemm;

TEST_CASE("a value is made once for each key, by whoever comes first") {
    sg::build_once<int, int> cache;
    std::atomic<int> made{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                auto value = cache.get(i % 10, [&]() -> sg::result<int> {
                    ++made;
                    return 100 + i % 10;
                });
                if (!value || **value != 100 + i % 10) ++wrong;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(made == 10);
    CHECK(wrong == 0);
}

TEST_CASE("a failure is reported, and not kept") {
    sg::build_once<int, int> cache;
    auto const failed =
        cache.get(1, []() -> sg::result<int> { return sg::error(sg::errc::native, "test", "not today"); });
    CHECK(!failed);
    auto later = cache.get(1, []() -> sg::result<int> { return 7; });
    REQUIRE(later);
    CHECK(**later == 7);
}
