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
#    include <ucontext.h>

namespace {

struct tile {
    alignas(64) std::uint8_t byte[16][64];
};
thread_local tile tiles[8];

float flushed(float x) { return __builtin_isnormal(x) || x != x || x - x != 0 ? x : 0 * x; }
float widened(std::uint8_t const* p) {
    std::uint32_t bits = static_cast<std::uint32_t>(p[0] << 16) | static_cast<std::uint32_t>(p[1]) << 24;
    float x;
    std::memcpy(&x, &bits, 4);
    return flushed(x);
}

void multiply_int8(tile& c, tile const& a, tile const& b) {
    for (int m = 0; m < 16; ++m) {
        std::int32_t sum[16];
        std::memcpy(sum, c.byte[m], 64);
        for (int k = 0; k < 16; ++k)
            for (int n = 0; n < 16; ++n)
                for (int q = 0; q < 4; ++q)
                    sum[n] += static_cast<std::int8_t>(a.byte[m][4 * k + q]) *
                              static_cast<std::int8_t>(b.byte[k][4 * n + q]);
        std::memcpy(c.byte[m], sum, 64);
    }
}
void multiply_bfloat16(tile& c, tile const& a, tile const& b) {
    for (int m = 0; m < 16; ++m) {
        float sum[16], part[32] = {};
        std::memcpy(sum, c.byte[m], 64);
        for (int k = 0; k < 16; ++k)
            for (int n = 0; n < 32; ++n)
                part[n] = flushed(
                    part[n] + flushed(widened(&a.byte[m][4 * k + n % 2 * 2]) * widened(&b.byte[k][2 * n])));
        for (int n = 0; n < 16; ++n)
            sum[n] = flushed(flushed(sum[n]) + flushed(part[2 * n] + part[2 * n + 1]));
        std::memcpy(c.byte[m], sum, 64);
    }
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
