#include "catch.hpp"

#include <stratagemm/device/search.hpp>

namespace sg = stratagemm;

namespace {

// Parameters 0..9 each; costs grow with the distance from (3, 7, 5), and products of 6 are not legal.
sg::search_problem bowl(int& budget) {
    sg::search_problem p;
    for (int d = 0; d < 3; ++d) p.values.push_back({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    p.legal = [](sg::search_point const& x) { return x[0] * x[1] * x[2] != 6; };
    p.measure = [](sg::search_point const& x) {
        auto const square = [](int v) { return static_cast<double>(v * v); };
        return 1 + square(x[0] - 3) + square(x[1] - 7) + square(x[2] - 5);
    };
    p.more = [&budget] { return budget-- > 0; };
    return p;
}

} // namespace

TEST_CASE("the search ends at the best, if there is time") {
    int budget = 100000;
    auto const found = sg::search(bowl(budget));
    CHECK(found.best == sg::search_point{3, 7, 5});
    CHECK(found.seconds == 1);
    CHECK(found.measured < 100);
}

TEST_CASE("the same seed, the same search") {
    int one = 100000, two = 100000;
    CHECK(sg::search(bowl(one)).measured == sg::search(bowl(two)).measured);
    CHECK(one == two);
}

TEST_CASE("without time nothing is measured; with a little, what is known to be good") {
    int budget = 0;
    CHECK(sg::search(bowl(budget)).best.empty());
    budget = 1;
    auto p = bowl(budget);
    p.known = {{3, 7, 4}, {0, 0, 0}};
    auto const found = sg::search(p);
    CHECK(found.best == sg::search_point{3, 7, 4});
    CHECK(found.measured == 1);
}

TEST_CASE("what is wrong or fails is never the best") {
    int budget = 100000;
    auto p = bowl(budget);
    auto const cost = p.measure;
    p.measure = [cost](sg::search_point const& x) { return x[0] == 3 ? -1.0 : cost(x); };
    auto const found = sg::search(p);
    REQUIRE(!found.best.empty());
    CHECK(found.best[0] != 3);
    CHECK(found.seconds == 2);
}
