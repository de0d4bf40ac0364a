#include "catch.hpp"

#include <stratagemm/device/tuning.hpp>

#include <filesystem>

namespace sg = stratagemm;

namespace {

struct tile {
    short side = 0, depth = 0;
    static tile of(std::vector<short> const& v) { return {v[0], v[1]}; }
    friend bool operator==(tile, tile) = default;
};
std::vector<short> values_of(tile const& t) { return {t.side, t.depth}; }

} // namespace

TEST_CASE("what was tuned is found again: by size, type, target and kernels") {
    auto const folder = std::filesystem::temp_directory_path() / "stratagemm_tuning_test";
    std::filesystem::remove_all(folder);
    using store = sg::tuning_store<tile>;
    tile const best{64, 8}, none{};
    store first(sg::program_store(folder), "device", "kernels");
    CHECK(first.find({'s', 100, 200, 300}) == none);
    first.keep({'s', 100, 200, 300}, best);
    CHECK(first.find({'s', 100, 200, 300}) == best);

    store next(sg::program_store(folder), "device", "kernels"); // as in another process
    CHECK(next.find({'s', 120, 220, 300}) == best);             // sides that round to the same powers of two
    CHECK(next.find({'d', 100, 200, 300}) == none);
    CHECK(next.find({'s', 200, 200, 300}) == none);
    CHECK(store(sg::program_store(folder), "another", "kernels").find({'s', 100, 200, 300}) == none);
    CHECK(store(sg::program_store(folder), "device", "changed").find({'s', 100, 200, 300}) == none);
    CHECK(store(sg::program_store(), "device", "kernels").find({'s', 100, 200, 300}) == none);
    std::filesystem::remove_all(folder);
}
