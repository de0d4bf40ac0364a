#include "catch.hpp"

#include <stratagemm/device/disk_cache.hpp>

#include <string>
#include <thread>
#include <vector>

namespace sg = stratagemm;
namespace fs = std::filesystem;

namespace {

struct folder {
    fs::path path;
    folder() {
        std::random_device seed;
        path = fs::temp_directory_path() / ("stratagemm-" + std::to_string(seed()) + std::to_string(seed()));
    }
    ~folder() { fs::remove_all(path); }
    fs::path only_file() const { return fs::directory_iterator(path)->path(); }
    int files() const {
        int n = 0;
        for (auto const& entry : fs::directory_iterator(path)) n += entry.is_regular_file();
        return n;
    }
};

sg::program_key key_of(std::string source) { return {"device, driver", "-DX=1", std::move(source)}; }

std::string bytes_of(fs::path const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
void write(fs::path const& file, std::string const& bytes) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

TEST_CASE("a binary comes back as it was stored, for its key only") {
    folder const f;
    sg::disk_cache const cache(f.path);
    std::string const binary("\0binary\n\xff", 9);
    CHECK(!cache.load(key_of("source")));
    cache.store(key_of("source"), binary);
    CHECK(cache.load(key_of("source")) == binary);
    CHECK(f.files() == 1);
    CHECK(!cache.load(key_of("other source")));
    CHECK(!cache.load({"another driver", "-DX=1", "source"}));
    CHECK(!cache.load({"device, driver", "-DX=2", "source"}));
    cache.store(key_of("source"), "newer");
    CHECK(cache.load(key_of("source")) == "newer");
    CHECK(sg::disk_cache(f.path).load(key_of("source")) == "newer");
}

TEST_CASE("an entry with any byte changed, or cut short anywhere, is not found") {
    folder const f;
    sg::disk_cache const cache(f.path);
    cache.store(key_of("source"), "the binary");
    fs::path const file = f.only_file();
    std::string const whole = bytes_of(file);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
        write(file, damaged);
        CHECK(!cache.load(key_of("source")));
        write(file, whole.substr(0, i));
        CHECK(!cache.load(key_of("source")));
    }
    cache.store(key_of("source"), "the binary"); // built again
    CHECK(cache.load(key_of("source")) == "the binary");
}

TEST_CASE("an entry of another key under this name is not found") {
    folder const f;
    sg::disk_cache const cache(f.path);
    cache.store(key_of("one"), "1");
    fs::path const one = f.only_file();
    std::string const foreign = bytes_of(one);
    fs::remove(one);
    cache.store(key_of("two"), "2");
    write(f.only_file(), foreign);
    CHECK(!cache.load(key_of("two")));
}

TEST_CASE("writers and readers at the same time see whole entries only") {
    folder const f;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&f, &wrong, t] {
            sg::disk_cache const cache(f.path);
            for (int i = 0; i < 50; ++i) {
                cache.store(key_of("source"), std::string(1000 + static_cast<std::size_t>(t), 'x'));
                auto const found = cache.load(key_of("source"));
                if (!found || found->size() < 1000 || found->size() > 1003) ++wrong;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(f.files() == 1);
}

TEST_CASE("a cache without a directory, or with one that cannot be, holds nothing") {
    sg::disk_cache const none;
    none.store(key_of("source"), "binary");
    CHECK(!none.load(key_of("source")));
    folder const f;
    write(f.path, "a file where the folder should be");
    sg::disk_cache const blocked(f.path / "sub");
    blocked.store(key_of("source"), "binary");
    CHECK(!blocked.load(key_of("source")));
}
