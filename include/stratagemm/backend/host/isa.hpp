// Which kernels run: the best instruction set that this machine has, or the one that STRATAGEMM_ISA names.
#pragma once

#include "../../core/error.hpp"
#include "../../core/posix.hpp"

#include <cstdlib>

STRATAGEMM_BEGIN

// Whether kernels are generated at run time (generated.hpp).
#if defined(__x86_64__) && defined(__linux__)
#    define STRATAGEMM_GENERATES 1
#else
#    define STRATAGEMM_GENERATES 0
#endif

#if defined(__x86_64__)
// The target of functions for AVX-512, with tiles and other extensions or without: the instructions of these are
// written in assembly. All have one target, since GCC keeps some hundred KiB for every set of options that it meets.
#    define STRATAGEMM_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#endif

enum class host_isa { portable, avx2, avx512, amx };

inline char const* name_of(host_isa isa) {
    constexpr char const* names[] = {"portable", "avx2", "avx512", "amx"};
    return names[static_cast<int>(isa)];
}

#if defined(__x86_64__)
// The operating system hands out tile state on request, once per process.
inline bool request_tiles() {
#    if defined(__linux__)
    constexpr long arch_prctl = 158, arch_req_xcomp_perm = 0x1023, tile_data = 18;
    return posix_syscall(arch_prctl, arch_req_xcomp_perm, tile_data) == 0;
#    else
    return false;
#    endif
}

// __builtin_cpu_supports of g++ 12 and clang 14 does not know AMX; CPUID leaf 7 does.
inline bool cpu_has_amx() {
    unsigned a = 7, c = 0, d = 0;
    asm volatile("cpuid" : "+a"(a), "+c"(c), "=d"(d) : : "ebx");
    constexpr unsigned bf16 = 1u << 22, tile = 1u << 24, int8 = 1u << 25;
    bool const there = (d & bf16) && (d & tile) && (d & int8) && request_tiles();
#    ifdef STRATAGEMM_TILES_EMULATED // in our tests
    return there || tiles_are_emulated();
#    else
    return there;
#    endif
}

// Some compilers that we take do not know the name "f16c".
[[gnu::cold, gnu::noinline]] inline bool cpu_has_f16c() {
    unsigned a = 1, c = 0;
    asm volatile("cpuid" : "+a"(a), "=c"(c) : : "ebx", "edx");
    return (c & 1u << 29) != 0;
}

[[gnu::cold, gnu::noinline]] inline bool cpu_has(host_isa isa) {
    switch (isa) {
    case host_isa::portable: return true;
    case host_isa::avx2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c();
    case host_isa::avx512:
        return cpu_has(host_isa::avx2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq");
    case host_isa::amx: return cpu_has(host_isa::avx512) && cpu_has_amx();
    }
    return false;
}
// Whether vectors of AVX-512 are multiplied in two halves, as Zen 4 does.
inline bool cpu_halves_vectors() { return __builtin_cpu_is("amdfam19h"); }
inline bool cpu_has_vnni() { return __builtin_cpu_supports("avx512vnni"); }
inline bool cpu_has_bf16() { return __builtin_cpu_supports("avx512bf16"); }
// Whether the instruction on pairs of bfloat16 is as fast as that on floats, so that k takes half the time. This is so
// on AMD's processors; on Sapphire Rapids the instruction takes four times as long.
inline bool cpu_is_fast_with_bf16() { return cpu_has_bf16() && __builtin_cpu_is("amd"); }
// Whether a core reads some 50 GB/s from the third-level cache, as on AMD's processors, where few cores share one.
// Through the mesh of Sapphire Rapids a core reads 10 to 15.
[[gnu::cold, gnu::noinline]] inline bool cpu_is_near_third_level() { return __builtin_cpu_is("amd"); }
#else
inline bool cpu_has(host_isa isa) { return isa == host_isa::portable; }
inline bool cpu_halves_vectors() { return false; }
inline bool cpu_has_vnni() { return false; }
inline bool cpu_has_bf16() { return false; }
inline bool cpu_is_fast_with_bf16() { return false; }
inline bool cpu_is_near_third_level() { return false; }
#endif

struct isa_choice {
    host_isa isa = host_isa::portable;
    bool available = true;  // false: STRATAGEMM_ISA asks for what is not there
    bool known = true;      // false: STRATAGEMM_ISA is no name of an instruction set
    bool vnni = false;      // beside AVX-512: products of four int8 in one instruction,
    bool bf16 = false;      // and of pairs of bfloat16,
    bool fast_bf16 = false; // which are faster than products of floats
};

[[gnu::cold, gnu::noinline]] inline isa_choice find_isa() {
    isa_choice choice;
    choice.vnni = cpu_has_vnni(), choice.bf16 = cpu_has_bf16(), choice.fast_bf16 = cpu_is_fast_with_bf16();
    if (char const* forced = std::getenv("STRATAGEMM_ISA"); forced && *forced) {
        for (host_isa isa : {host_isa::portable, host_isa::avx2, host_isa::avx512, host_isa::amx})
            if (__builtin_strcmp(forced, name_of(isa)) == 0) {
                choice.isa = isa;
                choice.available = cpu_has(isa);
                return choice;
            }
        choice.known = choice.available = false;
        return choice;
    }
    for (host_isa isa : {host_isa::amx, host_isa::avx512, host_isa::avx2})
        if (cpu_has(isa)) {
            choice.isa = isa;
            break;
        }
    return choice;
}

// Read once: the environment and the machine do not change under a running program.
[[gnu::noinline]] inline isa_choice const& current_isa() {
    static isa_choice const choice = find_isa();
    return choice;
}

// The error of a machine that lacks what STRATAGEMM_ISA asks for.
[[gnu::cold, gnu::noinline]] inline status isa_failure() {
    isa_choice const& choice = current_isa();
    if (!choice.known)
        return failure(errc::unsupported,
                       "host: STRATAGEMM_ISA must be portable, avx2, avx512 or amx, or be unset");
    char text[160];
    __builtin_snprintf(text, sizeof(text),
                       "STRATAGEMM_ISA asks for %s, which this machine lacks; unset it to use what is here",
                       name_of(choice.isa));
    return failure(errc::unsupported, "host", text);
}
inline status isa_status() {
    if (current_isa().available) return {};
    return isa_failure();
}

STRATAGEMM_END
