// What is to be done when the library that holds this code is unloaded: memory and threads of its own would stay, and
// threads would run code that is gone. A program ends without it, since other threads may be at work until its end.
#pragma once

#include "../../core/config.hpp"

#ifdef __linux__
#    include <cstdint>

extern "C" unsigned long getauxval(unsigned long) noexcept; // its header would bring all of ELF
// The first byte of this file, by the linker.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::weak, gnu::visibility("hidden")]] char const __ehdr_start[];
#endif

STRATAGEMM_BEGIN

// Whether this code is in the program itself, and not in a shared library.
[[gnu::cold, gnu::visibility("hidden")]] inline bool is_in_program() {
#ifdef __linux__
    constexpr unsigned long headers = 3; // AT_PHDR: those of the program follow its first bytes
    return getauxval(headers) - reinterpret_cast<std::uintptr_t>(__ehdr_start) < 4096;
#else
    return true;
#endif
}

// As a static variable of a hidden function: calls `undo` at the end.
struct at_unload {
    void (*undo)();
    ~at_unload() {
        if (!is_in_program()) undo();
    }
};

STRATAGEMM_END
