#include "catch.hpp"

#include <stratagemm/device/program_store.hpp>

#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
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
    sg::program_store const store(f.path);
    std::string const binary("\0binary\n\xff", 9);
    CHECK(!store.load(key_of("source")));
    store.store(key_of("source"), binary);
    CHECK(store.load(key_of("source")) == binary);
    CHECK(f.files() == 1);
    CHECK(!store.load(key_of("other source")));
    CHECK(!store.load({"another driver", "-DX=1", "source"}));
    CHECK(!store.load({"device, driver", "-DX=2", "source"}));
    store.store(key_of("source"), "newer");
    CHECK(store.load(key_of("source")) == "newer");
    CHECK(sg::program_store(f.path).load(key_of("source")) == "newer");
}

TEST_CASE("an entry with any byte changed, or cut short anywhere, is not found") {
    folder const f;
    sg::program_store const store(f.path);
    store.store(key_of("source"), "the binary");
    fs::path const file = f.only_file();
    std::string const whole = bytes_of(file);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
        write(file, damaged);
        CHECK(!store.load(key_of("source")));
        write(file, whole.substr(0, i));
        CHECK(!store.load(key_of("source")));
    }
    store.store(key_of("source"), "the binary"); // built again
    CHECK(store.load(key_of("source")) == "the binary");
}

TEST_CASE("sizes that an entry does not have are not allocated") {
    folder const f;
    sg::program_store const store(f.path);
    store.store(key_of("source"), "the binary");
    fs::path const file = f.only_file();
    std::string const whole = bytes_of(file);
    auto const peak = [] { // bytes that were resident at once
        rusage use{};
        REQUIRE(getrusage(RUSAGE_SELF, &use) == 0);
        return static_cast<std::uint64_t>(use.ru_maxrss) * 1024;
    };
    std::uint64_t const before = peak();
    for (std::size_t const field : {8u, 16u}) { // of the key; of the binary
        for (int const shift : {30, 40, 63}) {
            std::string damaged = whole;
            std::uint64_t const size = std::uint64_t{1} << shift;
            std::memcpy(&damaged[field], &size, sizeof(size));
            write(file, damaged);
            CHECK(!store.load(key_of("source")));
        }
    }
    // A file that is as long as it says, but of another key.
    std::string other = whole;
    std::uint64_t const size = std::uint64_t{1} << 30;
    std::memcpy(&other[16], &size, sizeof(size));
    other[32] = static_cast<char>(other[32] ^ 1);
    write(file, other);
    fs::resize_file(file, whole.size() - std::strlen("the binary") + size);
    CHECK(!store.load(key_of("source")));
    CHECK(peak() - before < std::uint64_t{256} << 20);
}

TEST_CASE("an entry of another key under this name is not found") {
    folder const f;
    sg::program_store const store(f.path);
    store.store(key_of("one"), "1");
    fs::path const one = f.only_file();
    std::string const foreign = bytes_of(one);
    fs::remove(one);
    store.store(key_of("two"), "2");
    write(f.only_file(), foreign);
    CHECK(!store.load(key_of("two")));
}

TEST_CASE("writers and readers at the same time see whole entries only") {
    folder const f;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&f, &wrong, t] {
            sg::program_store const store(f.path);
            for (int i = 0; i < 50; ++i) {
                store.store(key_of("source"), std::string(1000 + static_cast<std::size_t>(t), 'x'));
                auto const found = store.load(key_of("source"));
                if (!found || found->size() < 1000 || found->size() > 1003) ++wrong;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(f.files() == 1);
}

TEST_CASE("a store without a directory, or with one that cannot be, holds nothing") {
    sg::program_store const none;
    none.store(key_of("source"), "binary");
    CHECK(!none.load(key_of("source")));
    CHECK(!none.ready());
    folder const f;
    write(f.path, "a file where the folder should be");
    sg::program_store const blocked(f.path / "sub");
    blocked.store(key_of("source"), "binary");
    CHECK(!blocked.load(key_of("source")));
    CHECK(!blocked.ready());
}

namespace {

unsigned mode_of(fs::path const& p) {
    struct stat about {};
    REQUIRE(stat(p.c_str(), &about) == 0);
    return about.st_mode & 07777u;
}
// Whether a store in the folder has what was stored there before; and gives a reason if it refuses the folder.
bool finds(fs::path const& directory) {
    return sg::program_store(directory).load(key_of("source")).has_value();
}
bool refuses(fs::path const& directory) {
    sg::program_store const store(directory);
    sg::status const s = store.ready();
    return !s && s.error().code() == sg::errc::unsupported &&
           std::string_view(s.error().what()).find("chmod go-w") != std::string_view::npos;
}
void store_in(fs::path const& directory, std::string const& name = "source") {
    sg::program_store(directory).store(key_of(name), "binary");
}

} // namespace

TEST_CASE("what a store makes is for this user only") {
    folder const f;
    mode_t const before = umask(0);
    CHECK(sg::program_store(f.path).ready());
    store_in(f.path / "cache" / "stratagemm");
    umask(before);
    CHECK(mode_of(f.path) == 0700);
    CHECK(mode_of(f.path / "cache") == 0700);
    CHECK(mode_of(f.path / "cache" / "stratagemm") == 0700);
    CHECK(mode_of(fs::directory_iterator(f.path / "cache" / "stratagemm")->path()) == 0600);
    CHECK(sg::program_store(f.path / "cache" / "stratagemm").ready());
}

TEST_CASE("a folder that others can write is refused, and nothing is put there") {
    folder const f;
    store_in(f.path);
    for (mode_t const mode : {0720u, 0702u, 0777u, 01777u}) {
        REQUIRE(chmod(f.path.c_str(), mode) == 0);
        CHECK(!finds(f.path));
        CHECK(refuses(f.path));
        store_in(f.path, "another");
        CHECK(f.files() == 1);
    }
    REQUIRE(chmod(f.path.c_str(), 0755) == 0); // to read is allowed
    CHECK(finds(f.path));
    CHECK(sg::program_store(f.path).ready());
}

TEST_CASE("a folder behind a link is taken for what it is") {
    folder const f, behind;
    fs::create_directory_symlink(f.path, behind.path);
    store_in(f.path);
    CHECK(finds(behind.path));
    store_in(behind.path, "another");
    CHECK(f.files() == 2);
    REQUIRE(chmod(f.path.c_str(), 0777) == 0);
    CHECK(!finds(behind.path));
    CHECK(refuses(behind.path));
}

TEST_CASE("a file that others can write, or that is none, is refused") {
    folder const f;
    store_in(f.path);
    fs::path const file = f.only_file(), elsewhere = f.path / "elsewhere";
    for (mode_t const mode : {0620u, 0602u, 0666u}) {
        REQUIRE(chmod(file.c_str(), mode) == 0);
        CHECK(!finds(f.path));
    }
    REQUIRE(chmod(file.c_str(), 0644) == 0);
    CHECK(finds(f.path));

    fs::rename(file, elsewhere);
    fs::create_symlink(elsewhere, file);
    CHECK(!finds(f.path));
    fs::remove(file);
    REQUIRE(mkfifo(file.c_str(), 0600) == 0); // is not waited for
    CHECK(!finds(f.path));
    fs::remove(file);
    fs::create_directory(file);
    CHECK(!finds(f.path));
    fs::remove(file);
    fs::rename(elsewhere, file);
    CHECK(finds(f.path));

    fs::remove(file);
    fs::create_symlink(f.path / "nothing", file); // replaced by what is stored, and not followed
    store_in(f.path);
    CHECK(!fs::is_symlink(file));
    CHECK(finds(f.path));
}

TEST_CASE("what another user owns is refused") {
    if (geteuid() != 0) {
        WARN("skipped: only the superuser can give files away");
        return;
    }
    folder const f;
    store_in(f.path);
    uid_t const nobody = 65534;
    REQUIRE(chown(f.only_file().c_str(), nobody, static_cast<gid_t>(-1)) == 0);
    CHECK(!finds(f.path));
    REQUIRE(chown(f.only_file().c_str(), 0, static_cast<gid_t>(-1)) == 0);
    CHECK(finds(f.path));
    REQUIRE(chown(f.path.c_str(), nobody, static_cast<gid_t>(-1)) == 0);
    CHECK(!finds(f.path));
    CHECK(refuses(f.path));
}

namespace {

// An entry of 1000 bytes and some, used so many hours ago.
void add(sg::program_store const& store, folder const& f, std::string const& name, int hours) {
    std::set<fs::path> before;
    if (fs::exists(f.path))
        for (auto const& entry : fs::directory_iterator(f.path)) before.insert(entry.path());
    store.store(key_of(name), std::string(1000, 'x'));
    for (auto const& entry : fs::directory_iterator(f.path))
        if (!before.count(entry.path()))
            fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

} // namespace

TEST_CASE("a store keeps to its size; what was used last stays") {
    folder const f;
    sg::program_store const all(f.path), four(f.path, 4400);
    for (int i = 0; i < 8; ++i)
        add(all, f, std::to_string(i), 8 - i % 4);       // 0 and 4, 1 and 5, ... at one time
    CHECK(all.load(key_of("0")));                        // used now
    write(f.path / "notes.txt", std::string(5000, 'x')); // not the store's
    fs::last_write_time(f.path / "notes.txt", fs::file_time_type::clock::now() - std::chrono::hours(100));
    four.store(key_of("8"), std::string(1000, 'x'));
    CHECK(f.files() == 4 + 1);
    for (char const* kept : {"0", "3", "7", "8"}) CHECK(four.load(key_of(kept)));
    for (char const* gone : {"1", "2", "4", "5", "6"}) CHECK(!four.load(key_of(gone)));
    four.store(key_of("large"), std::string(4400, 'x')); // would leave room for nothing, itself included
    CHECK(!four.load(key_of("large")));
    CHECK(f.files() == 4 + 1);
    four.store(key_of("most"), std::string(4200, 'x')); // the newest stays
    CHECK(four.load(key_of("most")));
    CHECK(f.files() == 1 + 1);
}

TEST_CASE("drafts that were left behind are removed, others are not") {
    folder const f;
    store_in(f.path);
    std::string const entry = f.only_file().string();
    fs::path const old = entry + ".0123456789abcdef.0.tmp", young = entry + ".0123456789abcdef.1.tmp";
    write(old, "draft"), write(young, "draft");
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
    store_in(f.path, "another");
    CHECK(!fs::exists(old));
    CHECK(fs::exists(young));
    CHECK(f.files() == 3);
}

TEST_CASE("stores that remove at the same time keep to the size, and entries stay whole") {
    folder const f;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&f, &wrong, t] {
            sg::program_store const store(f.path, 5000);
            for (int i = 0; i < 50; ++i) {
                auto const key = key_of(std::to_string(t) + ' ' + std::to_string(i));
                store.store(key, std::string(1000, static_cast<char>('a' + t)));
                auto const found = store.load(key);
                wrong += found && *found != std::string(1000, static_cast<char>('a' + t));
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    sg::program_store(f.path, 5000).store(key_of("last"), "binary");
    std::uintmax_t sum = 0;
    for (auto const& entry : fs::directory_iterator(f.path)) sum += entry.file_size();
    CHECK(sum <= 5000);
    CHECK(f.files() >= 2);
}

TEST_CASE("folder and size are named by the environment") {
    char const* const names[] = {"STRATAGEMM_CACHE_DIR", "STRATAGEMM_CACHE_BYTES"};
    std::optional<std::string> before[2];
    for (int i = 0; i < 2; ++i)
        if (char const* const value = std::getenv(names[i])) before[i] = value;
    setenv("STRATAGEMM_CACHE_DIR", "/somewhere", 1);
    auto const bytes = [](char const* text) {
        setenv("STRATAGEMM_CACHE_BYTES", text, 1);
        return sg::program_store::standard().bytes();
    };
    CHECK(sg::program_store::standard().directory() == "/somewhere");
    CHECK(bytes("0") == 0);
    CHECK(bytes("123456") == 123456);
    CHECK(bytes("64K") == 65536);
    CHECK(bytes("3M") == 3u << 20);
    CHECK(bytes("2G") == std::uint64_t{2} << 30);
    for (char const* nonsense :
         {"", "M", "-1", " 5", "5 M", "5MB", "5T", "99999999999999999999", "99999999999999G"})
        CHECK(bytes(nonsense) == std::uint64_t{512} << 20);
    unsetenv("STRATAGEMM_CACHE_BYTES");
    CHECK(sg::program_store::standard().bytes() == std::uint64_t{512} << 20);
    for (int i = 0; i < 2; ++i)
        if (before[i])
            setenv(names[i], before[i]->c_str(), 1);
        else
            unsetenv(names[i]);
}
