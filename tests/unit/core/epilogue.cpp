#include "catch.hpp"

#include <stratagemm/core/epilogue.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace sg = stratagemm;
using sg::apply_epilogue;

TEST_CASE("the epilogues do what their names say") {
    std::vector<float> const v{10, 20, 30};
    CHECK(apply_epilogue(sg::identity{}, 3.0f, 1, 2) == 3.0f);
    CHECK(apply_epilogue(sg::bias(v), 1.0f, 0, 2) == 31.0f);
    CHECK(apply_epilogue(sg::bias(v, sg::along::rows), 1.0f, 1, 2) == 21.0f);
    CHECK(apply_epilogue(sg::relu, -1.0f, 0, 0) == 0.0f);
    CHECK(apply_epilogue(sg::relu, 2.0f, 0, 0) == 2.0f);
    CHECK(std::isnan(apply_epilogue(sg::relu, std::nanf(""), 0, 0)));
    CHECK(apply_epilogue(sg::clamp(-1.0f, 2.0f), -3.0f, 0, 0) == -1.0f);
    CHECK(apply_epilogue(sg::clamp(-1.0f, 2.0f), 3.0f, 0, 0) == 2.0f);
    CHECK(apply_epilogue(sg::clamp(-1.0f, 2.0f), 0.5f, 0, 0) == 0.5f);
    CHECK(std::isnan(apply_epilogue(sg::clamp(-1.0, 2.0), std::nan(""), 0, 0)));
    CHECK(apply_epilogue(sg::scale(3.0), 2.0f, 0, 0) == 6.0f);
    CHECK(apply_epilogue(sg::scale(v), 2.0f, 0, 2) == 60.0f);
    CHECK(apply_epilogue(sg::scale(v, sg::along::rows), 2.0f, 1, 2) == 40.0f);
    CHECK(apply_epilogue(sg::relu, std::int32_t{-5}, 0, 0) == 0);
}

TEST_CASE("gelu is x times the normal distribution function") {
    for (double const x : {-4.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0, 10.0}) {
        double const want = x * 0.5 * std::erfc(-x / std::sqrt(2.0));
        CHECK(std::abs(apply_epilogue(sg::gelu, x, 0, 0) - want) < 1e-15 * (1 + std::abs(x)));
        CHECK(std::abs(apply_epilogue(sg::gelu, static_cast<float>(x), 0, 0) - static_cast<float>(want)) <
              1e-6f * static_cast<float>(1 + std::abs(x)));
    }
}

TEST_CASE("then applies from left to right, any number of them, with the place where it is asked for") {
    std::vector<float> const v{-5, 1};
    auto const chain = sg::then(sg::bias(v), sg::relu, sg::scale(2.0f));
    CHECK(apply_epilogue(chain, 3.0f, 0, 0) == 0.0f);
    CHECK(apply_epilogue(chain, 3.0f, 0, 1) == 8.0f);
    auto const other = sg::then(sg::relu, sg::bias(v));
    CHECK(apply_epilogue(other, -3.0f, 0, 0) == -5.0f);
    auto const mine =
        sg::then([](float x) { return x + 1; },
                 [](float x, sg::index_t i, sg::index_t j) { return x + static_cast<float>(10 * i + j); });
    CHECK(apply_epilogue(mine, 0.0f, 2, 3) == 24.0f);
    static_assert(sg::epilogue_for<decltype(chain), float> && sg::epilogue_for<sg::relu_epilogue, double>);
    static_assert(!sg::epilogue_for<int, float>);
}

TEST_CASE("a vector that is too short is noticed, wherever it is in a chain") {
    std::vector<float> const v(3);
    CHECK(sg::epilogue_fits(sg::bias(v), 100, 3));
    CHECK(!sg::epilogue_fits(sg::bias(v), 1, 4));
    CHECK(sg::epilogue_fits(sg::bias(v, sg::along::rows), 3, 100));
    CHECK(!sg::epilogue_fits(sg::bias(v, sg::along::rows), 4, 1));
    CHECK(sg::epilogue_fits(sg::then(sg::relu, sg::bias(v), sg::gelu), 9, 3));
    CHECK(!sg::epilogue_fits(sg::then(sg::relu, sg::bias(v), sg::gelu), 9, 4));
    CHECK(sg::epilogue_fits(sg::scale(v), 100, 3));
    CHECK(!sg::epilogue_fits(sg::scale(v), 1, 4));
    CHECK(!sg::epilogue_fits(sg::scale(v, sg::along::rows), 4, 1));
    CHECK(sg::epilogue_fits(sg::relu, 1000, 1000));
}

TEST_CASE("epilogues say how many instructions they take, and several of them the sum") {
    std::vector<float> const v{10, 20, 30};
    auto const unknown = [](float x) { return x + 1; };
    CHECK(sg::instructions_of(sg::identity{}) == 0);
    CHECK(sg::instructions_of(unknown) == 1);
    CHECK(sg::instructions_of(sg::gelu) > sg::instructions_of(sg::relu));
    CHECK(sg::instructions_of(sg::then(sg::bias(v), unknown, sg::gelu)) ==
          sg::instructions_of(sg::bias(v)) + 1 + sg::instructions_of(sg::gelu));
}

namespace {
template <class V>
concept can_be_bias = requires(V&& v) {
    sg::bias(static_cast<V&&>(v));
};
template <class V>
concept can_be_scale = requires(V&& v) {
    sg::scale(static_cast<V&&>(v));
};
} // namespace

TEST_CASE("bias and scale do not take a temporary, which would be gone when it is read") {
    static_assert(can_be_bias<std::vector<float>&> && can_be_bias<std::vector<float> const&>);
    static_assert(!can_be_bias<std::vector<float>>);
    static_assert(can_be_scale<std::vector<float>&> && can_be_scale<std::vector<float> const&> &&
                  can_be_scale<float>);
    static_assert(!can_be_scale<std::vector<float>>);
    SUCCEED();
}
