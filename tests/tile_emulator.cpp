// The tile unit (AMX) in software, for machines that lack it: its instructions end in SIGILL there, and the handler
// does what they would have done. So the code that the library has for such machines is tested on any other with the
// AVX-512 of those machines; slowly, and with nothing in the library but the question whether it may.
//
// Instructions and their encoding: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
#include "tile_emulator.hpp"

#if defined(__x86_64__) && defined(__linux__)

#    include <csignal>
#    include <cstdint>
#    include <cstdlib>
#    include <cstring>
#    include <dlfcn.h>
#    include <immintrin.h>
#    include <ucontext.h>

namespace {

struct tile {
    alignas(64) std::uint8_t byte[16][64];
};
thread_local tile tiles[8];

// With the AVX-512 that every machine with tiles has: loops over bytes took most of the time of the tests.
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vnni")))

// Sums of four products of signed bytes, by an instruction for unsigned times signed ones: A is 128 too large.
AVX512 void multiply_int8(tile& c, tile const& a, tile const& b) {
    __m512i const flip = _mm512_set1_epi8(static_cast<char>(0x80));
    __m512i b_rows[16], excess = _mm512_setzero_si512();
    for (int k = 0; k < 16; ++k) {
        b_rows[k] = _mm512_load_si512(b.byte[k]);
        excess = _mm512_dpbusd_epi32(excess, flip, b_rows[k]);
    }
    for (int m = 0; m < 16; ++m) {
        __m512i sum = _mm512_sub_epi32(_mm512_load_si512(c.byte[m]), excess);
        for (int k = 0; k < 16; ++k) {
            std::int32_t four;
            std::memcpy(&four, &a.byte[m][4 * k], 4);
            sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(_mm512_set1_epi32(four), flip), b_rows[k]);
        }
        _mm512_store_si512(c.byte[m], sum);
    }
}

// The unit sums the products of even and of odd terms apart, and takes and gives zero for denormal numbers. No product
// may be contracted with its sum (CMakeLists.txt).
AVX512 void multiply_bfloat16(tile& c, tile const& a, tile const& b) {
    typedef float floats __attribute__((vector_size(64)));
    typedef std::uint32_t words __attribute__((vector_size(64)));
    unsigned const before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); // flush to zero, denormals are zero
    floats even_rows[16], odd_rows[16];
    for (int k = 0; k < 16; ++k) {
        words row;
        std::memcpy(&row, b.byte[k], 64);
        even_rows[k] = reinterpret_cast<floats>(row << 16),
        odd_rows[k] = reinterpret_cast<floats>(row & ~0xffffu);
    }
    for (int m = 0; m < 16; ++m) {
        floats even{}, odd{}, sum;
        for (int k = 0; k < 16; ++k) {
            std::uint32_t pair;
            std::memcpy(&pair, &a.byte[m][4 * k], 4);
            even += __builtin_bit_cast(float, pair << 16) * even_rows[k];
            odd += __builtin_bit_cast(float, pair & ~0xffffu) * odd_rows[k];
        }
        std::memcpy(&sum, c.byte[m], 64);
        sum += even + odd;
        std::memcpy(c.byte[m], &sum, 64);
    }
    _mm_setcsr(before);
}

// One instruction at the program counter, if it is one of the unit's: three bytes of VEX, opcode, ModRM, and an
// address with or without SIB.
bool emulate(greg_t* registers) {
    static constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    auto const* const code = reinterpret_cast<std::uint8_t const*>(registers[REG_RIP]);
    if (code[0] != 0xc4 || (code[1] & 31) != 2 || (code[2] & 0x84) != 0) return false;
    int const prefix = code[2] & 3, third = ~code[2] >> 3 & 7, opcode = code[3];
    int const mode = code[4] >> 6, reg = code[4] >> 3 & 7, rm = code[4] & 7;
    enum { none, h66, hf3, hf2 };
    int length = 5;
    if (mode == 3) {
        if (opcode == 0x49 && prefix == hf2)
            tiles[reg] = {};
        else if (opcode == 0x5e && prefix == hf2)
            multiply_int8(tiles[reg], tiles[rm], tiles[third]);
        else if (opcode == 0x5c && prefix == hf3)
            multiply_bfloat16(tiles[reg], tiles[rm], tiles[third]);
        else if (opcode != 0x49 || prefix != none) // tilerelease
            return false;
    } else {
        bool const configures = opcode == 0x49 && prefix == none;
        if (!configures && opcode != 0x4b) return false;
        std::int64_t at = 0, stride = 0;
        bool wide = mode == 2, relative = false;
        int const extended_base = code[1] & 0x20 ? 0 : 8, extended_index = code[1] & 0x40 ? 0 : 8;
        if (rm == 4) {
            int const sib = code[5], base = sib & 7, stepped = (sib >> 3 & 7) | extended_index;
            length = 6;
            if (stepped != 4) stride = registers[order[stepped]] * (1 << (sib >> 6));
            if (base == 5 && mode == 0)
                wide = true;
            else
                at = registers[order[base | extended_base]];
        } else if (rm == 5 && mode == 0) {
            wide = relative = true;
        } else {
            at = registers[order[rm | extended_base]];
        }
        if (wide) {
            std::int32_t offset;
            std::memcpy(&offset, code + length, 4);
            at += offset;
            length += 4;
        } else if (mode == 1) {
            at += static_cast<std::int8_t>(code[length++]);
        }
        if (relative) at += registers[REG_RIP] + length;
        // The only configuration that the library loads: all tiles whole.
        if (!configures)
            for (int row = 0; row < 16; ++row) {
                auto* const memory = reinterpret_cast<std::uint8_t*>(at + row * stride);
                if (prefix == hf3)
                    std::memcpy(memory, tiles[reg].byte[row], 64);
                else
                    std::memcpy(tiles[reg].byte[row], memory, 64);
            }
    }
    registers[REG_RIP] += length;
    return true;
}

bool in_place = false;

// They come several in a row, and a signal costs more than they do.
void on_illegal_instruction(int, siginfo_t*, void* context) {
    auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (!emulate(registers)) std::abort();
    while (emulate(registers)) continue;
}

int set_action(int signal, struct sigaction const* wanted, struct sigaction* before) {
    using function = int(int, struct sigaction const*, struct sigaction*);
    static auto* const next = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "sigaction"));
    return next(signal, wanted, before);
}

} // namespace

// Test frameworks set handlers of their own around each case; not for this signal.
extern "C" int sigaction(int signal, struct sigaction const* wanted, struct sigaction* before) noexcept {
    return set_action(signal, in_place && signal == SIGILL ? nullptr : wanted, before);
}

bool tiles_are_emulated() {
    char const* const asked = std::getenv("STRATAGEMM_ISA");
    if (!asked || std::strcmp(asked, "amx") != 0) return false;
    // What every machine with tiles has beside them.
    if (!__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vnni")) return false;
    struct sigaction action = {};
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    in_place = set_action(SIGILL, &action, nullptr) == 0;
    return in_place;
}

#else
bool tiles_are_emulated() { return false; }
#endif
