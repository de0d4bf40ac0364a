// Functions of the C library that <unistd.h> declares, for headers that every program includes. <unistd.h> itself, with its
// hundreds of constants for sysconf, takes 2% of the memory in which a product compiles. The names differ from those of
// <unistd.h>, which a program may include, too.
#pragma once

#include "config.hpp"

#include <cstddef>

#if !defined(__linux__) && !defined(_WIN32)
#    include <unistd.h>
#endif

STRATAGEMM_BEGIN

#if defined(__linux__)
extern "C" {
std::ptrdiff_t posix_read(int file, void* to, std::size_t bytes) __asm__("read");
std::ptrdiff_t posix_write(int file, void const* from, std::size_t bytes) __asm__("write");
int posix_close(int file) __asm__("close");
unsigned posix_effective_user() noexcept __asm__("geteuid");
long posix_sysconf(int name) noexcept __asm__("sysconf");
long posix_syscall(long number, ...) noexcept __asm__("syscall");
}
#    if defined(__GLIBC__)
// Names of sysconf that glibc adds; a test compares them with those of <unistd.h>.
inline constexpr int sysconf_level2_cache_size = 191, sysconf_level3_cache_size = 194;
#    endif
#elif !defined(_WIN32)
inline std::ptrdiff_t posix_read(int file, void* to, std::size_t bytes) { return ::read(file, to, bytes); }
inline std::ptrdiff_t posix_write(int file, void const* from, std::size_t bytes) {
    return ::write(file, from, bytes);
}
inline int posix_close(int file) { return ::close(file); }
inline unsigned posix_effective_user() { return ::geteuid(); }
#endif

STRATAGEMM_END
