// What a compiled kernel depends on: the target it was compiled for, the options and the source.
#pragma once

#include "../core/config.hpp"

#include <cstdint>
#include <string>
#include <string_view>

STRATAGEMM_BEGIN

// FNV-1a: short, and the same everywhere.
constexpr std::uint64_t hash_bytes(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u) {
    for (char const c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return seed;
}

struct program_key {
    std::string target; // device, driver and compiler, in words
    std::string options;
    std::string source;

    // All of it; two programs with the same text are the same program. A template, as what follows, so that a program
    // that asks for no stored text does not pay for compiling it.
    template <class Text = std::string>
    Text text() const {
        return Text(target) + '\0' + options + '\0' + source + '\0' +
               std::to_string(STRATAGEMM_VERSION_MAJOR) + '.' + std::to_string(STRATAGEMM_VERSION_MINOR) +
               '.' + std::to_string(STRATAGEMM_VERSION_PATCH);
    }

    // A name for files: 32 hexadecimal digits.
    template <class Text = std::string>
    static Text name_of(std::string_view text) {
        char name[33];
        __builtin_snprintf(name, sizeof(name), "%016llx%016llx",
                           static_cast<unsigned long long>(hash_bytes(text)),
                           static_cast<unsigned long long>(hash_bytes(text, 0x9e3779b97f4a7c15u)));
        return name;
    }
};

STRATAGEMM_END
