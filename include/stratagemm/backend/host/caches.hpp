// What caches hold, for the kernels and for the functions that choose kernels.
#pragma once

#include "../../core/types.hpp"
#include "isa.hpp"

STRATAGEMM_BEGIN

// Bytes of one core's second-level cache, or a cautious guess.
[[gnu::noinline]] inline index_t second_level_cache() {
#if defined(__linux__) && defined(__GLIBC__)
    static long const bytes = posix_sysconf(sysconf_level2_cache_size);
    if (bytes > 0) return bytes;
#endif
    return 1 << 20;
}

// Bytes of the last cache, or a cautious guess.
[[gnu::noinline]] inline index_t third_level_cache() {
#if defined(__linux__) && defined(__GLIBC__)
    static long const bytes = posix_sysconf(sysconf_level3_cache_size);
    if (bytes > 0) return bytes;
#endif
    return 16 << 20;
}

// Bytes of an operand that some cache is likely to hold.
inline constexpr index_t near_memory = 12 << 20;
// Bytes from which on an operand is taken to come from memory; its rows are then fetched ahead. With AVX-512 and a
// large third-level cache that is not near, loads alone keep the paths to that cache busy: rows come up to 1.3 times as
// fast without fetching ahead.
[[gnu::noinline]] inline index_t fetched_from(bool avx512) {
    return avx512 && !cpu_is_near_third_level() ? 64 << 20 : near_memory;
}

// Whether rows that are so far apart share sets of a cache, so that they displace each other.
inline bool rows_collide(index_t stride_bytes) { return stride_bytes % 2048 == 0; }
inline bool are_pages_apart(index_t stride_bytes) { return stride_bytes % 4096 == 0; }
// Whether eight rows share two or three sets of the first-level cache, of which each has room for eight lines.
inline bool rows_nearly_collide(index_t stride_bytes) { return (stride_bytes % 2048 + 2144) % 2048 <= 192; }

STRATAGEMM_END
