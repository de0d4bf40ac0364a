// Products of matrices in files: the bits of the product in memory, whatever the files look like, and
// whenever the process ends. Products over devices are in unit/backend/parts.hpp.
#include "catch.hpp"
#include "files.hpp"

#include <stratagemm/algorithm/out_of_core/files.hpp>
#include <stratagemm/stratagemm.hpp>

#include <complex>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
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
                ::_exit(sg::try_gemm(with(400'000, journal, die), fa, fb, fc) ? 0 : 1);
            }
            if (attempt > 0) {
                ::usleep(static_cast<useconds_t>(1000 + source.below(attempt < 30 ? 10000 : 200000)));
                ::kill(child, SIGKILL);
            }
            int how = 0;
            REQUIRE(::waitpid(child, &how, 0) == child);
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

TEST_CASE("a journal is of one product, and blocks that are in it are not done again") {
    folder const here;
    auto const a = random<float>(100, 100, 1);
    auto const fa = stored(here / "a.npy", a);
    auto fc = sg::file_matrix<float>::create_npy(here / "c.npy", 100, 100);
    std::string const journal = here / "journal";
    // A journal as one finds it after a process ended: the progress of another product ends it early.
    std::string copy;
    auto policy = with(40'000, journal);
    policy =
        sg::out_of_core{sg::host{.threads = 1},
                        {.host_bytes = 40'000, .journal = journal, .progress = [&](index_t done, index_t) {
                             if (done == 3) copy = bytes_of(journal);
                         }}};
    sg::gemm(policy, fa, fa, fc);
    REQUIRE(!copy.empty());
    CHECK(!std::filesystem::exists(journal));
    std::vector<index_t> counts;
    auto const counting =
        sg::out_of_core{sg::host{.threads = 1},
                        {.host_bytes = 40'000, .journal = journal, .progress = [&](index_t done, index_t) {
                             counts.push_back(done);
                         }}};
    write(journal, copy);
    sg::gemm(counting, fa, fa, fc);
    REQUIRE(!counts.empty());
    CHECK(counts.front() == 4);
    // A record that was cut off counts for nothing.
    counts.clear();
    write(journal, copy.substr(0, copy.size() - 5));
    sg::gemm(counting, fa, fa, fc);
    CHECK(counts.front() == 3);
    // Another product: other factors, other blocks, another A.
    auto const message = [&](auto const& with_policy, float alpha) {
        write(journal, copy);
        sg::status const s = sg::try_gemm(with_policy, alpha, fa, fa, 0, fc);
        return s ? std::string() : std::string(s.error().what());
    };
    CHECK(contains(message(counting, 2),
                   "is the journal of another product: it says 'stratagemm 1: 100 x 100 x 100"));
    CHECK(contains(message(with(30'000, journal), 1), "remove it to begin anew"));
    CHECK(message(counting, 1) == "");
    write(journal, copy);
    auto const other = stored(here / "b.npy", a);
    CHECK(!sg::try_gemm(counting, other, fa, fc));
}
