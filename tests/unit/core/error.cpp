#include "catch.hpp"

#include <stratagemm/core/error.hpp>

#include <memory>
#include <string>

namespace sg = stratagemm;

TEST_CASE("an error says who, what and what to do") {
    sg::error const e(sg::errc::native, "device", "start the driver", 42);
    CHECK(e.code() == sg::errc::native);
    CHECK(e.layer() == "device");
    CHECK(e.native_code() == 42);
    CHECK(std::string(e.what()) == "device: start the driver");
    std::exception const& base = e;
    CHECK(std::string(base.what()) == e.what());
}

TEST_CASE("a status is success or an error, and moves") {
    sg::status good;
    CHECK(static_cast<bool>(good));
    good.or_throw();
    sg::status bad = sg::error(sg::errc::shape, "gemm", "look");
    CHECK(!bad);
    CHECK(bad.error().code() == sg::errc::shape);
    CHECK_THROWS_AS(bad.or_throw(), sg::error);
    sg::status moved = std::move(bad);
    CHECK(!moved);
    good = std::move(moved);
    CHECK(!good);
    static_assert(sizeof(sg::status) == sizeof(void*));
}

TEST_CASE("a result is a value or an error") {
    sg::result<std::unique_ptr<int>> value(std::make_unique<int>(3));
    REQUIRE(static_cast<bool>(value));
    CHECK(**value == 3);
    value.or_throw();
    sg::result<int> none = sg::error(sg::errc::memory, "host", "buy some");
    CHECK(!none);
    CHECK(none.error().layer() == "host");
    CHECK_THROWS_AS(none.or_throw(), sg::error);
    sg::status const passed_on = none.take_status();
    CHECK(passed_on.error().code() == sg::errc::memory);
}
