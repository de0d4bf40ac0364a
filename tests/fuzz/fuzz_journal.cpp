// A journal of any bytes, and a C of which any blocks are what a product left in them: the product refuses, and
// leaves both as they are, or C is right.
//
//   clang++ -std=c++20 -O1 -g -fopenmp -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/fuzz_journal.cpp
//
// Without libFuzzer: replay.cpp. The first byte says what the others are: 0: the journal; 1: what follows the true
// text in it; else changes of a true journal, of four bytes each.
#include "files.hpp"

#include <stratagemm/algorithm/out_of_core/files.hpp>
#include <stratagemm/backend/reference.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sg = stratagemm;
using sg::index_t;

namespace {

void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz_journal: %s\n", what);
    std::abort();
}

// A product of 24 x 20 x 9 in 3 x 3 blocks, and its journal when all of these are done.
struct product {
    support::folder const here;
    std::string const path = here / "journal";
    sg::file_matrix<float> const a = support::stored(here / "a.npy", support::integers<float>(24, 9, 1)),
                                 b = support::stored(here / "b.npy", support::integers<float>(9, 20, 2));
    sg::file_matrix<float> c = sg::file_matrix<float>::create_npy(here / "c.npy", 24, 20);
    std::string journal;
    std::size_t text = 0;
    sg::matrix<float> right;

    product() {
        multiply([&](index_t done, index_t all) {
            if (done == all) journal = support::bytes_of(path);
        }).or_throw();
        text = journal.find("\n\n") + 2;
        require(journal.size() == text + 9 * 24, "there are other blocks");
        right = support::held(c);
    }
    sg::status multiply(std::function<void(index_t, index_t)> progress) {
        return sg::try_gemm(
            sg::out_of_core{sg::reference{},
                            {.host_bytes = 2000, .journal = path, .progress = std::move(progress)}},
            a, b, c);
    }
};

std::string journal_of(product const& p, std::string_view input) {
    if (input.empty()) return {};
    char const how = input[0];
    input.remove_prefix(1);
    if (how == 0) return std::string(input);
    if (how == 1) return p.journal.substr(0, p.text) + std::string(input);
    std::string journal = p.journal;
    for (; input.size() >= 4 && !journal.empty(); input.remove_prefix(4)) {
        auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
        std::size_t const at = (byte(1) + std::size_t{256} * byte(2)) % journal.size();
        std::size_t const record = p.text + byte(2) % 8 * 24;
        switch (byte(0) % 6) {
        case 0: journal[at] = input[3]; break;
        case 1: journal.resize(at); break;
        case 2: journal.insert(at, byte(3), input[3]); break;
        case 3: journal.erase(at, byte(3)); break;
        case 4: // a record once more, or somewhere else
            if (record + 24 <= journal.size()) journal += journal.substr(record, 24);
            break;
        default:
            if (record + 24 <= journal.size()) journal.erase(record, 24);
        }
    }
    return journal;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static product p;
    std::string_view const input(reinterpret_cast<char const*>(data), size);
    std::string const journal = journal_of(p, input);
    support::write(p.path, journal);
    // Elements are right, or something that follows from the input as a whole: no input holds its hash.
    support::random_source source(std::hash<std::string_view>()(input));
    index_t const shift = source.below(2);
    bool const all_right = source.below(4) == 0;
    auto const before = sg::matrix<float>(24, 20, [&](index_t i, index_t j) {
        auto const wrong = static_cast<float>(source.uniform(1000, 2000));
        return all_right || (i / 8 + j / 7 + shift) % 2 == 0 ? p.right(i, j) : wrong;
    });
    support::files.copy_async(before.view(), p.c.view()).or_throw();
    if (p.multiply({})) {
        require(support::same(support::held(p.c), p.right), "C is wrong");
        require(!std::filesystem::exists(p.path), "the journal of a finished product is there");
    } else {
        require(support::same(support::held(p.c), before), "C was changed by a product that was refused");
        require(support::bytes_of(p.path) == journal, "the journal of another product was changed");
    }
    return 0;
}
