// What layers choose on the host, by a stored measurement of the tile unit or without one. Where there is no tile
// unit, and none is emulated, a measurement changes nothing.
#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/backend/host/tuning.hpp>
#include <stratagemm/stratagemm.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace sg = stratagemm;
namespace fs = std::filesystem;
using rate = sg::host_tile_rate;

namespace {

bool has_tiles() { return sg::current_isa().isa == sg::host_isa::amx && sg::current_isa().available; }
bool runs_here() {
    if (!sg::current_isa().available) std::puts("skipped: no AVX-512 here to emulate the tile unit with");
    return sg::current_isa().available;
}

// A cache of its own, which a process that starts now would find.
class cache {
public:
    cache() : path_(fs::temp_directory_path() / ("stratagemm_host_tuning_" + std::to_string(getpid()))) {
        fs::remove_all(path_);
        setenv("STRATAGEMM_CACHE_DIR", path_.c_str(), 1);
        rate::set(0);
    }
    ~cache() {
        fs::remove_all(path_);
        unsetenv("STRATAGEMM_CACHE_DIR");
        rate::set(0);
    }
    void keep(std::string const& text, sg::program_key const& key = rate::key()) const {
        sg::program_store::standard().store(key, text);
        rate::set(0);
    }
    fs::path only_file() const { return fs::directory_iterator(path_)->path(); }

private:
    fs::path path_;
};

// Whether layers leave products of these sides to the host.
struct choice {
    bool doubles, doubles_as_floats, floats, floats_in_parts;
    friend bool operator==(choice, choice) = default;
};
choice choice_at(sg::index_t n) {
    sg::host const cpu{.threads = 1};
    sg::shape<double> const d{n, n, n};
    sg::shape<float> const f{n, n, n};
    auto const is_native = [&](auto const& policy, auto const& s) {
        return policy.estimate(s) == cpu.estimate(s);
    };
    return {is_native(sg::ozaki{cpu}, d), is_native(sg::ozaki{cpu, {.accuracy = sg::accuracy::fp32}}, d),
            is_native(sg::ozaki{cpu}, f), is_native(sg::split{cpu}, f)};
}

constexpr choice native{true, true, true, true};

} // namespace

TEST_CASE("without a measurement the native product runs where a slow tile unit would be behind it") {
    if (!runs_here()) return;
    cache const none;
    for (sg::index_t n : {64, 512, 1024, 2048, 4096, 16384}) {
        CAPTURE(n);
        CHECK(choice_at(n) == choice{true, !has_tiles() || n <= 1024, true, true});
    }
    CHECK(rate::get() == 0.333);
}

TEST_CASE("a stored measurement decides, the same in each call") {
    if (!runs_here()) return;
    cache const here;
    CHECK(choice_at(4096).doubles);
    here.keep("1000"); // as in the next process
    for (int x = 0; x < 20; ++x) {
        CHECK(choice_at(4096) == (has_tiles() ? choice{false, false, false, false} : native));
        CHECK(choice_at(256) == native);
    }
    here.keep("200");
    for (int x = 0; x < 20; ++x) CHECK(choice_at(4096).doubles);

    // And the product itself, where that is as long as its estimate.
    sg::index_t const n = 512;
    auto const a = support::fractions<double>(n, n, 1), b = support::fractions<double>(n, n, 2);
    sg::ozaki_report ran;
    sg::ozaki const policy{sg::host{.threads = 1}, {.accuracy = sg::accuracy::fp32, .report = &ran}};
    sg::matrix<double> c(n, n);
    sg::gemm(policy, a, b, c);
    CHECK(ran.ran == "native");
    CHECK(std::string(ran.reason) == "the native product is faster");
    if (!has_tiles()) return;
    here.keep("8000");
    sg::matrix<double> first(n, n);
    for (int x = 0; x < 2; ++x) {
        sg::gemm(policy, a, b, x ? c : first);
        CHECK(ran.ran == "moduli");
    }
    CHECK(support::same_bits(c, first));
}

TEST_CASE("a measurement that is damaged, foreign or no rate is not there") {
    if (!runs_here()) return;
    cache const here;
    auto const is_unmeasured = [] { return rate::read() == rate::unmeasured; };
    here.keep("1000");
    CHECK(rate::read() == 1000);
    for (char const* const text :
         {"", "fast", "1000 2", "-1000", "0", "19", "8001", "99999999999999999999"}) {
        CAPTURE(text);
        here.keep(text);
        CHECK(is_unmeasured());
    }
    here.keep("1000");
    fs::path const file = here.only_file();
    fs::resize_file(file, fs::file_size(file) - 1);
    CHECK(is_unmeasured());
    here.keep("1000");
    {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(-1, std::ios::end);
        bytes.put('1');
    }
    CHECK(is_unmeasured());
    here.keep("1000");
    chmod(file.c_str(), 0622); // others may have written it
    CHECK(is_unmeasured());

    fs::remove(file);
    auto another = rate::key();
    another.target += " of another make";
    here.keep("1000", another);
    CHECK(is_unmeasured());
    here.keep("1000");
    CHECK(rate::read() == 1000);
    setenv("STRATAGEMM_CACHE_DIR", "", 1);
    CHECK(is_unmeasured());
}

TEST_CASE("tune measures, keeps what it found, and says where there is nothing to measure") {
    if (!runs_here()) return;
    cache const here;
    auto tuned = sg::tune(sg::host{.threads = 1}, 0);
    if (!has_tiles()) {
        REQUIRE(!tuned);
        CHECK(tuned.error().code() == sg::errc::unsupported);
        CHECK(rate::read() == rate::unmeasured);
        return;
    }
    REQUIRE(tuned);
    CHECK(tuned->before == 0.333);
    CHECK(tuned->measured == 1);
    double const after = tuned->after;
    CHECK((after >= 0.02 && after <= 8));
    CHECK(rate::get() == after);
    rate::set(0); // as in the next process
    CHECK(rate::get() == after);
}
