// The main of a fuzzer without libFuzzer: runs a target on every file of the folders that are named, and mutates
// those files for a while.
//
//   g++ -std=c++20 -g -fsanitize=address,undefined -Iinclude -Itests tests/fuzz/fuzz_npy.cpp tests/fuzz/replay.cpp ...
//   fuzz_npy tests/fuzz/corpus/npy [--mutate SECONDS] [--seed N]
//
// An input that fails is left in the file fuzz_failure, which can be named in place of a folder.
#include "random.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

std::string current;

void keep_failure() {
    int const file = ::open("fuzz_failure", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || ::write(file, current.data(), current.size()) < 0) return;
    static char const text[] = "the input that failed is in the file fuzz_failure\n";
    (void)!::write(STDERR_FILENO, text, sizeof(text) - 1);
}
void on_signal(int number) {
    keep_failure();
    ::signal(number, SIG_DFL);
    ::raise(number);
}

void run(std::string input) {
    current = std::move(input);
    // A block of just this size, so that a sanitizer sees what is read beyond its end.
    std::vector<std::uint8_t> const bytes(current.begin(), current.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

using support::random_source;
std::size_t below(random_source& source, std::size_t n) {
    return static_cast<std::size_t>(source.next() % n);
}

// One change. Numbers near the ends of types are where arithmetic goes wrong.
void mutate(std::string& x, std::string const& other, random_source& source) {
    static char const* const words[] = {"0",
                                        "-1",
                                        "1",
                                        "2147483648",
                                        "4294967297",
                                        "2305843009213693952",
                                        "4611686018427387904",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551616",
                                        "1e400",
                                        "-0.0",
                                        "nan",
                                        "inf",
                                        " ",
                                        "\n",
                                        "(",
                                        ")",
                                        ","};
    std::size_t const at = below(source, x.size() + 1),
                      length = below(source, std::min<std::size_t>(x.size() - at + 1, 32));
    std::string const word = words[below(source, std::size(words))];
    switch (source.below(9)) {
    case 0: x.erase(at, length); break;
    case 1: x.insert(at, x.substr(at, length)); break;
    case 2: x.resize(at); break;
    case 3: x.insert(at, word); break;
    case 4: { // instead of the number that is there
        std::size_t const first = x.find_first_of("0123456789", at);
        if (first == x.npos) break;
        std::size_t const last = x.find_first_not_of("0123456789", first);
        x.replace(first, (last == x.npos ? x.size() : last) - first, word);
        break;
    }
    case 5: {
        std::uint64_t const ends[] = {0, 1, 255, 65535, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
        std::uint64_t const number = ends[below(source, std::size(ends))];
        std::size_t const bytes = std::min(std::size_t{1} << source.below(4), x.size() - at);
        std::memcpy(x.data() + at, &number, bytes);
        break;
    }
    case 6:
        if (!other.empty()) x = x.substr(0, at) + other.substr(below(source, other.size()));
        break;
    default:
        if (at < x.size())
            x[at] = static_cast<char>(source.below(2) ? x[at] ^ (1 << source.below(8)) : source.below(256));
    }
}

int usage() {
    std::fprintf(stderr, "usage: fuzz_NAME FOLDER|FILE... [--mutate SECONDS] [--seed N]\n");
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    double seconds = 0;
    auto seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        if (word == "--mutate" && i + 1 < argc) {
            seconds = std::atof(argv[++i]);
        } else if (word == "--seed" && i + 1 < argc) {
            seed = std::strtoull(argv[++i], nullptr, 10);
        } else if (std::filesystem::is_directory(word)) {
            for (auto const& file : std::filesystem::directory_iterator(word)) files.push_back(file.path());
        } else if (std::filesystem::exists(word)) {
            files.push_back(word);
        } else {
            return usage();
        }
    }
    if (files.empty()) return usage();
    std::sort(files.begin(), files.end());
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_failure);
    for (int const number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) ::signal(number, on_signal);

    std::vector<std::string> kept;
    for (auto const& file : files) {
        std::ifstream in(file, std::ios::binary);
        kept.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        run(kept.back());
    }
    random_source source(seed);
    long tried = 0;
    auto const begin = std::chrono::steady_clock::now();
    for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds;
         ++tried) {
        std::string x = kept[below(source, kept.size())];
        for (int changes = 1 + source.below(4); changes > 0; --changes)
            mutate(x, kept[below(source, kept.size())], source);
        run(std::move(x));
    }
    std::printf("%zu files and %ld mutations (--seed %llu)\n", files.size(), tried,
                static_cast<unsigned long long>(seed));
    return 0;
}
