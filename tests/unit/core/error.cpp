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

TEST_CASE("a literal is kept, and a message that was put together is shared by copies") {
    char const* const literal = "host: use less";
    CHECK(sg::error(sg::errc::memory, literal).what() == literal);
    CHECK(sg::error(sg::errc::memory, literal).layer() == "host");
    std::string message = "17 bytes are missing";
    auto made = std::make_unique<sg::error>(sg::errc::memory, "host", message, 5);
    message = "overwritten, and longer than it was before";
    sg::error copy = *made;
    sg::error assigned(sg::errc::shape, "gemm: other");
    assigned = copy;
    CHECK(copy.what() == made->what());
    made.reset();
    CHECK(std::string(copy.what()) == "host: 17 bytes are missing");
    auto const& itself = assigned;
    assigned = itself;
    sg::error const moved = std::move(copy);
    CHECK(std::string(copy.what()) == ""); // NOLINT: a moved-from error may be asked
    CHECK(std::string(moved.what()) == assigned.what());
    CHECK(moved.native_code() == 5);
    static_assert(std::is_nothrow_copy_constructible_v<sg::error>);
    static_assert(std::is_nothrow_constructible_v<sg::error, sg::errc, char const*, std::string const&>);
}

#ifndef __SANITIZE_ADDRESS__ // where an allocation of this size ends the program
TEST_CASE("without memory for its message an error says so") {
    sg::error const e(sg::errc::shape, "gemm", std::string_view("x", std::size_t{1} << 62));
    CHECK(e.code() == sg::errc::shape);
    CHECK(std::string(e.what()).find("no memory") != std::string::npos);
}
#endif

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
