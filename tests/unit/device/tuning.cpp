#include "catch.hpp"

#include <stratagemm/device/tuning.hpp>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace sg = stratagemm;

namespace {

struct tile {
    short side = 0, depth = 0;
    static tile of(std::vector<short> const& v) { return {v[0], v[1]}; }
    friend bool operator==(tile, tile) = default;
};
std::vector<short> values_of(tile const& t) { return {t.side, t.depth}; }

using store = sg::tuning_store<tile>;

// A cache of its own.
struct cache {
    std::filesystem::path folder;

    cache() {
        std::random_device seed;
        folder = std::filesystem::temp_directory_path() / ("stratagemm-tuning-" + std::to_string(seed()));
    }
    cache(cache const&) = delete;
    cache& operator=(cache const&) = delete;
    ~cache() { clear(); }

    void clear() const { std::filesystem::remove_all(folder); }
    // As another process has it.
    store opened() const { return store(sg::program_store(folder), "device", "kernels"); }
};

} // namespace

TEST_CASE("what was tuned is found again: by size, type, target and kernels") {
    cache const here;
    tile const best{64, 8}, none{};
    store first = here.opened();
    CHECK(first.find({'s', 100, 200, 300}) == none);
    first.keep({'s', 100, 200, 300}, best);
    CHECK(first.find({'s', 100, 200, 300}) == best);

    store next = here.opened();
    CHECK(next.find({'s', 120, 220, 300}) == best); // sides that round to the same powers of two
    CHECK(next.find({'d', 100, 200, 300}) == none);
    CHECK(next.find({'s', 200, 200, 300}) == none);
    sg::program_store const there(here.folder);
    CHECK(store(there, "another", "kernels").find({'s', 100, 200, 300}) == none);
    CHECK(store(there, "device", "changed").find({'s', 100, 200, 300}) == none);
    CHECK(store(sg::program_store(), "device", "kernels").find({'s', 100, 200, 300}) == none);
}

TEST_CASE("a process reads what was tuned once, and keeps to it") {
    cache const here;
    tile const best{64, 8}, later{16, 4}, none{};
    sg::tuning_bucket const small{'s', 10, 10, 10}, large{'s', 1000, 1000, 1000}, other{'d', 10, 10, 10};
    here.opened().keep(small, best);
    here.opened().keep(large, later);
    store reads = here.opened();
    CHECK(reads.find(small) == best);
    here.clear();
    CHECK(reads.find(large) == later);
    CHECK(reads.find(other) == none);
    here.opened().keep(other, best);
    CHECK(reads.find(other) == none);
    sg::tuning_bucket const not_asked{'d', 100, 10, 10};
    here.opened().keep(not_asked, best);
    CHECK(reads.find(not_asked) == none);
}

TEST_CASE("processes that tune at the same time keep each other's tiles") {
    cache const here;
    tile const first{64, 8}, second{16, 4}, third{8, 2};
    sg::tuning_bucket const small{'s', 10, 10, 10}, large{'s', 1000, 1000, 1000};
    store one = here.opened(), two = here.opened();
    CHECK(one.find(large) == two.find(small)); // both have read
    one.keep(small, first);
    two.keep(large, second);
    CHECK(here.opened().find(small) == first);
    CHECK(here.opened().find(large) == second);
    two.keep(small, third); // for the same products the last one counts
    CHECK(here.opened().find(small) == third);
    CHECK(here.opened().find(large) == second);
    CHECK(one.find(small) == first);

    std::vector<std::thread> writers;
    for (short i = 0; i < 8; ++i)
        writers.emplace_back([&here, i] {
            store own = here.opened();
            for (sg::index_t n = 1; n < 200; n *= 4) own.keep({static_cast<char>('a' + i), n, n, n}, {i, 1});
        });
    for (std::thread& x : writers) x.join();
    store all = here.opened();
    for (short i = 0; i < 8; ++i)
        for (sg::index_t n = 1; n < 200; n *= 4)
            CHECK(all.find({static_cast<char>('a' + i), n, n, n}) == tile{i, 1});
}

TEST_CASE("tiles in a damaged entry are not found, and the next ones replace it") {
    cache const here;
    tile const best{64, 8};
    sg::tuning_bucket const small{'s', 10, 10, 10}, large{'s', 1000, 1000, 1000};
    here.opened().keep(small, best);
    auto const file = std::filesystem::directory_iterator(here.folder)->path();
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(-2, std::ios::end);
    damaged.put('?');
    damaged.close();
    CHECK(here.opened().find(small) == tile{});
    here.opened().keep(large, best);
    CHECK(here.opened().find(large) == best);
    CHECK(here.opened().find(small) == tile{});
}

TEST_CASE("lines are found by the whole of their names") {
    cache const here;
    sg::program_store const to(here.folder);
    sg::program_key const key{"machine", "options", "source"};
    auto const opened = [&] { return sg::kept_lines<>(here.folder.string(), key); };
    auto lines = opened();
    auto const keep = [&](std::string const& name, std::string const& line) {
        lines.set(name, line);
        lines.store(to, name, line);
    };
    keep("1 x 1", "first"), keep("11 x 1", "second"), keep("1 x 11", "third"), keep("x", "");
    keep("1 x 1", "replaced"), keep("empty", "");
    for (auto x : {lines, opened()}) {
        CHECK(x.find("1 x 1") == "replaced");
        CHECK(x.find("11 x 1") == "second");
        CHECK(x.find("1 x 11") == "third");
        CHECK(x.find("x").empty());
        CHECK(x.find("x 1").empty());
        CHECK(x.find("1").empty());
    }
    CHECK(opened().are_of(here.folder.string(), key));
    CHECK_FALSE(opened().are_of(here.folder.string(), {"machine", "options", "changed"}));
    CHECK_FALSE(opened().are_of("elsewhere", key));
}
