// The other libraries that multiply here, and what the host can do at most. others.cpp knows them; a program without it
// has none.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace compare {

struct other {
    std::string name, version;
    std::function<void(void const* a, void const* b, void* c)> run; // C = A B, row by row
};
// Libraries multiply n x n matrices of one type with this many threads.
struct others {
    std::vector<other> all{};
    std::vector<std::string> missing{}; // libraries that are not installed, and what installs them
    std::string unit{};                 // "AVX2"
    double peak = 0;                    // GFLOP/s; 0: not known
};

// By backend: on a device, operands are addresses there.
using find_others = others (*)(std::string const& type, std::ptrdiff_t n, int threads);
inline std::map<std::string, find_others>& other_libraries() {
    static std::map<std::string, find_others> all;
    return all;
}
inline others others_on(std::string const& backend, std::string const& type, std::ptrdiff_t n, int threads) {
    auto const at = other_libraries().find(backend);
    if (at != other_libraries().end()) return at->second(type, n, threads);
    return backend == "host" ? others{.missing = {"other libraries: ./dev demo has them, on x86-64 Linux"}}
                             : others{};
}

} // namespace compare
