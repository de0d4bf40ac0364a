// Products of matrices in files: the bits of the product in memory, whatever the files look like, and
// whenever the process ends. Products over devices are in unit/backend/parts.hpp.
#include "catch.hpp"
#include "child.hpp"
#include "files.hpp"

#include <stratagemm/algorithm/out_of_core/files.hpp>
#include <stratagemm/stratagemm.hpp>

#include <complex>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::bytes_of;
using support::contains;
using support::files;
using support::folder;
using support::held;
using support::message_of;
using support::same;
using support::stored;
using support::write;

namespace {

template <class T>
sg::matrix<T> random(index_t m, index_t n, std::uint64_t seed) {
    return support::fractions<T>(m, n, seed);
}

// Over one thread: children that fork() made have no others.
sg::out_of_core<sg::host> with(index_t bytes, std::string journal = {},
                               std::function<void(index_t, index_t)> progress = {}) {
    return sg::out_of_core{
        sg::host{.threads = 1},
        {.host_bytes = bytes, .journal = std::move(journal), .progress = std::move(progress)}};
}

// Ends a child process.
[[noreturn]] void end(sg::status const& s) {
    if (!s) std::fprintf(stderr, "%s\n", s.error().what());
    ::_exit(s ? 0 : 1);
}

} // namespace

// Sums of integers are exact: blocks of other shapes may take other kernels.
TEMPLATE_TEST_CASE("products of files are those of products in memory", "", float, double,
                   std::complex<float>) {
    folder const here;
    using T = TestType;
    auto const a = support::integers<T>(70, 150, 1), b = support::integers<T>(150, 90, 2),
               e = support::integers<T>(70, 90, 3);
    for (index_t const budget : {100'000, 10'000'000})
        for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
            sg::file_matrix<T> fa = stored(here / "a.npy", a, order), fb = stored(here / "b.npy", b);
            sg::file_matrix<T> const fe = stored(here / "e.npy", e, order);
            auto fc = sg::file_matrix<T>::create_npy(here / "c.npy", 70, 90, order);
            sg::matrix<T> c(70, 90);
            sg::host const cpu{.threads = 1};

            sg::gemm(with(budget), fa, fb, fc);
            sg::gemm(cpu, a, b, c);
            CHECK(same(held(fc), c));
            sg::gemm(with(budget), 2, fa, sg::conjugated(fb), 3, fe, fc);
            sg::gemm(cpu, 2, a, sg::conjugated(b), 3, e, c);
            CHECK(same(held(fc), c));
            sg::gemm(with(budget), 2, fa, fb, 1, fc); // adds to the file
            sg::gemm(cpu, 2, a, b, 1, c);
            CHECK(same(held(fc), c));
            // Blocks, and what a product with nothing to multiply is.
            sg::gemm(with(budget), fa.block(3, 5, 60, 140), fb.block(7, 2, 140, 80), fc.block(1, 4, 60, 80));
            sg::gemm(cpu, a.block(3, 5, 60, 140), b.block(7, 2, 140, 80), c.block(1, 4, 60, 80));
            CHECK(same(held(fc), c));
            sg::gemm(with(budget), 0, fa, fb, 2, fc);
            sg::gemm(cpu, 0, a, b, 2, c);
            CHECK(same(held(fc), c));
            sg::gemm(with(budget), 0, fa, fb, 0, fc);
            sg::gemm(cpu, 0, a, b, 0, c);
            CHECK(same(held(fc), c));
        }
}

// By default small blocks, and those of few rows or columns, may be dot products.
TEMPLATE_TEST_CASE("blocks of an invariant policy have the bits of the product in memory", "", float,
                   double) {
    folder const here;
    using T = TestType;
    support::random_source source(3);
    sg::host const cpu{.threads = 1, .invariant = true};
    int whole = 0;
    for (int round = 0; round < (support::sanitized ? 40 : 300); ++round) {
        auto const side = [&] { return 1 + source.below(source.below(2) ? 12 : 90); };
        index_t const m = side(), n = side(), k = 1 + source.below(500);
        index_t const bytes = (m * k + k * n + m * n) * static_cast<index_t>(sizeof(T));
        sg::out_of_core const cut{cpu, {.host_bytes = 2000 + bytes * (40 + source.below(60)) / 100}};
        std::string const how = sg::plan(cut, sg::shape<T>{.m = m, .n = n, .k = k}).describe();
        if (!contains(how, "blocks of") || contains(how, "pieces of k")) continue;
        INFO(how);
        ++whole;
        auto const a = random<T>(m, k, 1), b = random<T>(k, n, 2);
        auto fc = sg::file_matrix<T>::create_npy(here / "c.npy", m, n);
        sg::matrix<T> c(m, n);
        sg::gemm(cut, stored(here / "a.npy", a), stored(here / "b.npy", b), fc);
        sg::gemm(cpu, a, b, c);
        CHECK(same(held(fc), c));
    }
    CHECK(whole > 5);
}

TEST_CASE("an epilogue sees the indices of the whole C in a file, and files go through a layer") {
    folder const here;
    auto const a = random<float>(100, 60, 1), b = random<float>(60, 110, 2);
    auto const fa = stored(here / "a.npy", a), fb = stored(here / "b.npy", b);
    auto fc = sg::file_matrix<float>::create_npy(here / "c.npy", 100, 110);
    sg::matrix<float> c(100, 110);
    auto const by_place = [](float x, index_t i, index_t j) { return x + static_cast<float>(100 * i + j); };
    sg::gemm(with(50'000), fa, fb, fc, by_place);
    sg::gemm(sg::host{.threads = 1}, a, b, c, by_place);
    CHECK(same(held(fc), c));
    sg::gemm(sg::out_of_core{sg::reference{}, {.host_bytes = 50'000}}, fa, fb, fc);
    sg::gemm(sg::reference{}, a, b, c);
    CHECK(same(held(fc), c));
    CHECK(sg::plan(with(50'000), sg::shape<float>{.m = 100, .n = 110, .k = 60}).workspace().host <= 50'000);
}

TEST_CASE("raw files have an offset and a leading dimension, and what lies between stays") {
    folder const here;
    auto const a = random<double>(20, 31, 1), b = random<double>(31, 17, 2);
    write(here / "a.bin", std::string(40 + 8 * (20 * 35), '\1'));
    write(here / "b.bin", std::string(8 * (31 * 17), '\1'));
    write(here / "c.bin", std::string(24 + 8 * (20 * 19), '\7'));
    sg::file_matrix<double> fa(here / "a.bin", {.rows = 20, .cols = 31, .leading = 35, .offset = 40}, true),
        fb(here / "b.bin", {.rows = 31, .cols = 17}, true),
        fc(here / "c.bin", {.rows = 20, .cols = 17, .leading = 19, .offset = 24}, true);
    files.copy_async(a.view(), fa.view()).or_throw();
    files.copy_async(b.view(), fb.view()).or_throw();
    // Blocks are so small that some of them may be dot products.
    sg::host const cpu{.threads = 1, .invariant = true};
    sg::gemm(sg::out_of_core{cpu, {.host_bytes = 20'000}}, fa, fb, fc);
    sg::matrix<double> c(20, 17);
    sg::gemm(cpu, a, b, c);
    CHECK(same(held(fc), c));
    std::string const all = bytes_of(here / "c.bin");
    for (std::size_t i = 0; i < all.size(); ++i) {
        bool const inside = i >= 24 && (i - 24) / 8 % 19 < 17 && (i - 24) / 8 < 20 * 19;
        if (!inside && all[i] != '\7') FAIL("byte " << i << " was written");
    }
}

TEST_CASE("files that cannot be multiplied") {
    folder const here;
    auto const a = stored(here / "a.npy", random<float>(30, 30, 1));
    sg::file_matrix<float> again(here / "a.npy", true), c = stored(here / "c.npy", random<float>(30, 30, 2));
    auto const before = bytes_of(here / "c.npy");
    auto const message = [&](auto const& policy, auto&&... args) {
        sg::status const s = sg::try_gemm(policy, args...);
        return s ? std::string() : std::string(s.error().what());
    };
    CHECK(contains(message(with(10'000), a, a, again), "C overlaps A or B"));
    sg::file_matrix<float> reading(here / "c.npy");
    CHECK(contains(message(with(10'000), a, a, reading), "is open for reading alone"));
    CHECK(message(with(0), a, a, c) == "out_of_core: host_bytes must be positive");
    CHECK(contains(message(with(50), a, a, c), "host_bytes is 50, which is too little for one block"));
    // The budget that it says is enough.
    for (index_t const k : {1, 3, 5, 30}) {
        auto const narrow = a.block(0, 0, 30, k), low = a.block(0, 0, k, 30);
        std::string const text = message(with(50), narrow, low, c);
        std::string const least = text.substr(text.rfind(' ') + 1);
        CHECK(message(with(std::stol(least)), narrow, low, c) == "");
    }
    files.copy_async(random<float>(30, 30, 2).view(), c.view()).or_throw();
    CHECK(contains(message(with(10'000, here / "j"), 1, a, a, 1, c), "must be in another file than C"));
    CHECK(contains(message(with(10'000, here / "no/j"), a, a, c), "the journal cannot be opened"));
    CHECK(bytes_of(here / "c.npy") == before);
    // Shortened after it was opened.
    std::filesystem::resize_file(here / "a.npy", 1000);
    CHECK(contains(message(with(10'000), a, a, c), "has become shorter than the matrix in it"));
    CHECK(bytes_of(here / "c.npy") == before);
    // A disk that is full: C lies where no byte can be written.
    if (std::filesystem::exists("/dev/full"))
        CHECK(
            contains(message_of([] { sg::file_matrix<float> x("/dev/full", {.rows = 1, .cols = 1}, true); }),
                     "is not a regular file"));
}

TEST_CASE("a product that is killed is resumed, with the bits of one that was not") {
    folder const here;
    auto const a = random<float>(300, 400, 1), b = random<float>(400, 350, 2);
    stored(here / "a.npy", a), stored(here / "b.npy", b);
    sg::matrix<float> c(300, 350);
    sg::gemm(sg::host{.threads = 1}, a, b, c);
    std::string const journal = here / "journal";
    support::random_source source(7);
    for (int round = 0; round < 20; ++round) {
        // However fast this machine is, the first attempt of each round dies: between two blocks. The others die
        // at any time, or finish.
        index_t const last = 1 + source.below(5);
        { // C holds what is wrong everywhere
            auto fc = sg::file_matrix<float>::create_npy(here / "c.npy", 300, 350);
            files.fill(fc.view(), -1.0f).or_throw();
        }
        for (int attempt = 0;; ++attempt) {
            REQUIRE(attempt < 1000);
            pid_t const child = ::fork();
            if (child == 0) {
                sg::file_matrix<float> const fa(here / "a.npy"), fb(here / "b.npy");
                sg::file_matrix<float> fc(here / "c.npy", true);
                auto const die = [&](index_t done, index_t all) {
                    if (attempt == 0 && done == last && done < all) ::kill(::getpid(), SIGKILL);
                };
                end(sg::try_gemm(with(400'000, journal, die), fa, fb, fc));
            }
            if (attempt > 0) {
                ::usleep(static_cast<useconds_t>(1000 + source.below(attempt < 30 ? 10000 : 200000)));
                ::kill(child, SIGKILL);
            }
            int const how = support::wait_for(child);
            REQUIRE(how != -1);
            if (WIFEXITED(how)) {
                REQUIRE(attempt > 0);
                REQUIRE(WEXITSTATUS(how) == 0);
                break;
            }
        }
        CHECK(!std::filesystem::exists(journal));
        CHECK(same(held(sg::file_matrix<float>(here / "c.npy")), c));
    }
}

// A product of 100 x 100 x 100 in several blocks, and the journal as it is after three of them.
struct journaled {
    folder here;
    std::string const path = here / "journal";
    sg::matrix<float> const a = random<float>(100, 100, 1);
    sg::file_matrix<float> fa = stored(here / "a.npy", a);
    sg::file_matrix<float> fc = sg::file_matrix<float>::create_npy(here / "c.npy", 100, 100);
    sg::matrix<float> c{100, 100};
    std::string after_three;
    index_t first = 0, all = 0; // how many blocks are done when the first is, of how many

    journaled() {
        sg::gemm(with(40'000, path,
                      [&](index_t done, index_t blocks) {
                          if (done == 3) after_three = bytes_of(path);
                          all = blocks;
                      }),
                 fa, fa, fc);
        REQUIRE(!after_three.empty());
        REQUIRE(all > 4);
        REQUIRE(!std::filesystem::exists(path));
        c = held(fc);
    }
    // As after a process that ended then.
    std::string resumed() {
        write(path, after_three);
        return continued();
    }
    std::string continued() {
        first = 0;
        return multiplied(
            with(40'000, path, [&](index_t done, index_t) { first = first > 0 ? first : done; }), 1);
    }
    template <class Policy, class... Args>
    std::string multiplied(Policy const& policy, float alpha, Args const&... args) {
        sg::status const s = sg::try_gemm(policy, alpha, fa, fa, 0, fc, args...);
        return s ? std::string() : std::string(s.error().what());
    }
};

TEST_CASE("blocks that are in a journal are not done again") {
    journaled one;
    CHECK(one.resumed() == "");
    CHECK(one.first == 4);
    CHECK(same(held(one.fc), one.c));
    // A record that was cut off counts for nothing, and neither does one with a wrong byte, or what follows it.
    std::size_t const text = one.after_three.find("\n\n") + 2, record = (one.after_three.size() - text) / 3;
    write(one.path, one.after_three.substr(0, one.after_three.size() - 5));
    CHECK(one.continued() == "");
    CHECK(one.first == 3);
    for (std::size_t byte = 0; byte < record; ++byte) {
        std::string wrong = one.after_three;
        wrong[text + record + byte] ^= 4;
        write(one.path, wrong);
        CHECK(one.continued() == "");
        CHECK(one.first == 2);
    }
    // A text that was cut off counts for nothing, too.
    for (std::size_t size = 0; size < text; size += 29) {
        write(one.path, one.after_three.substr(0, size));
        CHECK(one.continued() == "");
        CHECK(one.first == 1);
    }
    CHECK(same(held(one.fc), one.c));
}

TEST_CASE("blocks of C that are not what they were when they were done are done again") {
    journaled one;
    auto const made = [&] { one.fc = sg::file_matrix<float>::create_npy(one.here / "c.npy", 100, 100); };
    SECTION("C was removed") {
        std::filesystem::remove(one.here / "c.npy");
        made();
        CHECK(one.resumed() == "");
        CHECK(one.first == 1);
    }
    SECTION("C was cut off") {
        std::filesystem::resize_file(one.here / "c.npy", 0);
        made();
        CHECK(one.resumed() == "");
        CHECK(one.first == 1);
    }
    SECTION("C was written over") {
        files.fill(one.fc.view(), 3.0f).or_throw();
        CHECK(one.resumed() == "");
        CHECK(one.first == 1);
    }
    SECTION("one element of C is another") {
        files.fill(one.fc.block(0, 0, 1, 1), 3.0f).or_throw();
        CHECK(one.resumed() == "");
        CHECK(one.first == 3);
    }
    SECTION("C is a copy of what it was") {
        std::filesystem::copy_file(one.here / "c.npy", one.here / "copy.npy");
        std::filesystem::rename(one.here / "copy.npy", one.here / "c.npy");
        made();
        CHECK(one.resumed() == "");
        CHECK(one.first == 4);
    }
    CHECK(same(held(one.fc), one.c));
}

TEST_CASE("a journal is of one product, and says what differs from another") {
    journaled one;
    auto const message = [&](auto const& policy, float alpha, auto const&... epilogue) {
        write(one.path, one.after_three);
        return one.multiplied(policy, alpha, epilogue...);
    };
    auto const policy = with(40'000, one.path);
    auto const over = [&](auto const& base) {
        return sg::out_of_core{base, {.host_bytes = 40'000, .journal = one.path}};
    };
    std::string const says = "out_of_core: " + one.path + " is the journal of another product: it says '";
    CHECK(message(policy, 2) == says + "alpha: 1', and this one is 'alpha: 2'; remove it to begin anew");
    CHECK(contains(message(policy, 1, sg::relu),
                   says + "epilogue: none', and this one is 'epilogue: stratagemm::"));
    CHECK(contains(message(with(30'000, one.path), 1), says + "blocks: "));
    // What computes a block: its bits depend on the policy, its options and the instruction set.
    CHECK(contains(message(over(sg::reference{}), 1), "and this one is 'policy: reference: "));
    CHECK(contains(message(over(sg::host{.threads = 1, .invariant = true}), 1),
                   ", invariant, 1 thread'; remove"));
    CHECK(message(over(sg::host{.threads = 2}), 1) == "");
    std::string const isa = "policy: host: " + std::string(sg::name_of(sg::current_isa().isa)) + ",";
    REQUIRE(contains(one.after_three, isa));
    std::string elsewhere = one.after_three;
    elsewhere.replace(elsewhere.find(isa), isa.size(), "policy: host: abacus,");
    write(one.path, elsewhere);
    CHECK(contains(one.continued(), says + "policy: host: abacus, "));
    // Refused journals stay as they are.
    CHECK(bytes_of(one.path) == elsewhere);

    // A of the same length, with the same time of its last write.
    CHECK(message(policy, 1) == "");
    auto const when = std::filesystem::last_write_time(one.here / "a.npy");
    ::usleep(30'000); // longer than a tick of the clock of files
    files.fill(one.fa.block(99, 99, 1, 1), 3.0f).or_throw();
    std::filesystem::last_write_time(one.here / "a.npy", when);
    CHECK(contains(message(policy, 1), says + "A: " + (one.here / "a.npy") + ", file "));
    // Another file.
    one.fa = stored(one.here / "b.npy", one.a);
    CHECK(contains(message(policy, 1), "and this one is 'A: " + (one.here / "b.npy")));
}

TEST_CASE("a file that is no journal is refused, and stays as it is") {
    journaled one;
    for (std::string const& other :
         {std::string("what I wrote"), bytes_of(one.here / "a.npy"), std::string(100, '\0')}) {
        write(one.path, other);
        CHECK(one.continued() == "out_of_core: " + one.path +
                                     " is not a journal of this version of the library: name another path");
        CHECK(bytes_of(one.path) == other);
    }
    std::filesystem::remove(one.path);
    std::filesystem::create_directory(one.path);
    CHECK(contains(one.continued(), "the journal cannot be opened"));
    std::filesystem::remove(one.path);
    REQUIRE(::mkfifo(one.path.c_str(), 0600) == 0);
    ::alarm(20); // or it would wait for ever
    CHECK(contains(one.continued(), "the journal is not a regular file"));
    ::alarm(0);
    // Nothing that is one part is added to twice.
    std::filesystem::remove(one.path);
    CHECK(contains(sg::try_gemm(with(10'000'000, one.path), 1, one.fa, one.fa, 1, one.fc).error().what(),
                   "must be in another file than C"));
}

// All products of a batch share a journal.
TEST_CASE("a batch that is killed is resumed") {
    folder const here;
    constexpr index_t side = 100, count = 4;
    auto const a = support::integers<float>(count * side, side, 1),
               b = support::integers<float>(side, side, 2);
    stored(here / "a.npy", a), stored(here / "b.npy", b);
    sg::matrix<float> c(count * side, side);
    for (index_t i = 0; i < count; ++i)
        sg::gemm(sg::host{.threads = 1}, a.block(i * side, 0, side, side), b,
                 c.block(i * side, 0, side, side));
    auto made = sg::file_matrix<float>::create_npy(here / "c.npy", count * side, side);
    files.fill(made.view(), -1.0f).or_throw();
    auto const run = [&](index_t last) { // dies after so many blocks of this attempt
        pid_t const child = ::fork();
        if (child == 0) {
            sg::file_matrix<float> const fa(here / "a.npy"), fb(here / "b.npy");
            sg::file_matrix<float> fc(here / "c.npy", true);
            auto const each = [](auto v) {
                v.rows = side;
                return sg::batch<typename decltype(v)::element_type, sg::file_memory>{v, count, side * side};
            };
            index_t blocks = 0;
            auto const die = [&](index_t, index_t) {
                if (++blocks == last) ::kill(::getpid(), SIGKILL);
            };
            end(sg::try_gemm(with(40'000, here / "journal", die), each(fa.view()), fb, each(fc.view())));
        }
        int const how = support::wait_for(child);
        REQUIRE(how != -1);
        return how;
    };
    int attempts = 0, how = 0;
    do {
        REQUIRE(++attempts < 100);
        how = run(250);
    } while (WIFSIGNALED(how));
    CHECK(WIFEXITED(how));
    CHECK(WEXITSTATUS(how) == 0);
    CHECK(attempts > 3);
    CHECK(!std::filesystem::exists(here / "journal"));
    CHECK(same(held(sg::file_matrix<float>(here / "c.npy")), c));
}
