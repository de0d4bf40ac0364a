// Inline assembly, so that a plain build reaches the peak and no compiler spills or reorders the
// accumulators.
#include "peaks.hpp"

#if defined(__x86_64__) && defined(__linux__)

#    include <algorithm>
#    include <chrono>
#    include <cpuid.h>
#    include <cstdint>
#    include <cstring>
#    include <fstream>
#    include <memory>
#    include <omp.h>
#    include <sys/syscall.h>
#    include <unistd.h>
#    include <vector>

namespace bench {
namespace {

// Two source registers of random data: on constants the units draw less power and clock higher than in a
// product.
struct alignas(64) sources {
    std::uint8_t bytes[8 * 1024];
};

sources random_sources(element e) {
    sources s;
    std::uint64_t state = 0x9e3779b97f4a7c15;
    auto const next = [&] {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state;
    };
    auto const uniform = [&] { return double(next() >> 11) * 0x1p-52 - 1; };
    for (int i = 0; i < int(sizeof s.bytes); i += size_of(e)) {
        double const d = uniform();
        float const f = float(d);
        if (e == element::f64) std::memcpy(s.bytes + i, &d, 8);
        if (e == element::f32) std::memcpy(s.bytes + i, &f, 4);
        if (e == element::bf16) std::memcpy(s.bytes + i, reinterpret_cast<char const*>(&f) + 2, 2);
        if (e == element::i8) s.bytes[i] = std::uint8_t(next());
    }
    return s;
}

// clang-format off
#define EACH_12(X, ...) X(__VA_ARGS__, 0) X(__VA_ARGS__, 1) X(__VA_ARGS__, 2) X(__VA_ARGS__, 3) X(__VA_ARGS__, 4)   \
    X(__VA_ARGS__, 5) X(__VA_ARGS__, 6) X(__VA_ARGS__, 7) X(__VA_ARGS__, 8) X(__VA_ARGS__, 9) X(__VA_ARGS__, 10)    \
    X(__VA_ARGS__, 11)
#define CLEAR(reg, i) "vxorps %%" reg #i ", %%" reg #i ", %%" reg #i "\n\t"
#define MULTIPLY_ADD(op, reg, i) op " %%" reg "15, %%" reg "14, %%" reg #i "\n\t"
// 12 chains cover the latency of two units (4 or 5 cycles each).
#define REGISTER_LOOP(isa, op, reg)                                                                                 \
    __attribute__((target(isa))) void loop(sources const& s, long n) {                                              \
        asm volatile("vmovups (%1), %%" reg "14\n\tvmovups 64(%1), %%" reg "15\n\t"                                 \
                     EACH_12(CLEAR, reg)                                                                            \
                     "1:\n\t" EACH_12(MULTIPLY_ADD, op, reg) "dec %0\n\tjnz 1b\n\t"                                 \
                     "vzeroupper"                                                                                   \
                     : "+r"(n) : "r"(s.bytes)                                                                       \
                     : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",      \
                       "xmm9", "xmm10", "xmm11", "xmm14", "xmm15");                                                 \
    }
// Reads n blocks of eight registers from p on.
#define READ_LOOP(isa, reg, width)                                                                                  \
    __attribute__((target(isa))) void read(std::uint8_t const* p, long n) {                                         \
        asm volatile("1:\n\tvmovups (%0), %%" reg "0\n\tvmovups " #width "(%0), %%" reg "1\n\t"                     \
                     "vmovups 2*" #width "(%0), %%" reg "2\n\tvmovups 3*" #width "(%0), %%" reg "3\n\t"             \
                     "vmovups 4*" #width "(%0), %%" reg "4\n\tvmovups 5*" #width "(%0), %%" reg "5\n\t"             \
                     "vmovups 6*" #width "(%0), %%" reg "6\n\tvmovups 7*" #width "(%0), %%" reg "7\n\t"             \
                     "add $8*" #width ", %0\n\tdec %1\n\tjnz 1b\n\tvzeroupper"                                     \
                     : "+r"(p), "+r"(n) :                                                                           \
                     : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");             \
    }
namespace avx2   { READ_LOOP("avx2", "ymm", 32) }
namespace avx512 { READ_LOOP("avx512f", "zmm", 64) }
namespace avx2_f32   { REGISTER_LOOP("avx2,fma", "vfmadd231ps", "ymm") }
namespace avx2_f64   { REGISTER_LOOP("avx2,fma", "vfmadd231pd", "ymm") }
namespace avx512_f32 { REGISTER_LOOP("avx512f", "vfmadd231ps", "zmm") }
namespace avx512_f64 { REGISTER_LOOP("avx512f", "vfmadd231pd", "zmm") }
namespace avx512_bf16 { REGISTER_LOOP("avx512f", "vdpbf16ps", "zmm") }
namespace avx512_vnni { REGISTER_LOOP("avx512f", "vpdpbusd", "zmm") }

// Four accumulator tiles, two of A, two of B, as a product would hold them.
#define TILE_LOOP(op)                                                                                               \
    void loop(sources const& s, long n) {                                                                           \
        asm volatile("ldtilecfg (%1)\n\t"                                                                           \
                     "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"                 \
                     "tileloadd (%2,%3,1), %%tmm4\n\ttileloadd 1024(%2,%3,1), %%tmm5\n\t"                           \
                     "tileloadd 2048(%2,%3,1), %%tmm6\n\ttileloadd 3072(%2,%3,1), %%tmm7\n\t"                       \
                     "1:\n\t" op " %%tmm6, %%tmm4, %%tmm0\n\t" op " %%tmm7, %%tmm4, %%tmm1\n\t"                     \
                     op " %%tmm6, %%tmm5, %%tmm2\n\t" op " %%tmm7, %%tmm5, %%tmm3\n\t"                              \
                     "dec %0\n\tjnz 1b\n\ttilerelease"                                                              \
                     : "+r"(n) : "r"(&tiles), "r"(s.bytes), "r"(64L) : "memory", "cc");                             \
    }
// clang-format on

struct alignas(64) tile_shape { // palette 1: eight tiles of 16 rows of 64 bytes
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
tile_shape const tiles;

namespace amx_bf16 {
TILE_LOOP("tdpbf16ps")
}
namespace amx_int8 {
TILE_LOOP("tdpbssd")
}

struct unit {
    char const* name = "";
    void (*loop)(sources const&, long) = nullptr;
    double per_iteration = 0; // operations
};

bool has_amx(unsigned type_bit) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 24 & 1) || !(d >> type_bit & 1)) return false;
    constexpr long request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

unit unit_for(element e) {
    bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool const avx512 = __builtin_cpu_supports("avx512f");
    switch (e) {
    case element::f32:
        if (avx512) return {"AVX-512", avx512_f32::loop, 12 * 32};
        if (avx2) return {"AVX2", avx2_f32::loop, 12 * 16};
        break;
    case element::f64:
        if (avx512) return {"AVX-512", avx512_f64::loop, 12 * 16};
        if (avx2) return {"AVX2", avx2_f64::loop, 12 * 8};
        break;
    case element::bf16:
        if (has_amx(22)) return {"AMX", amx_bf16::loop, 4 * 16 * 16 * 32 * 2};
        if (__builtin_cpu_supports("avx512bf16")) return {"AVX-512 BF16", avx512_bf16::loop, 12 * 64};
        return unit_for(element::f32); // widened
    case element::i8:
        if (has_amx(25)) return {"AMX", amx_int8::loop, 4 * 16 * 16 * 64 * 2};
        if (__builtin_cpu_supports("avx512vnni")) return {"AVX-512 VNNI", avx512_vnni::loop, 12 * 128};
        break;
    case element::f16: return unit_for(element::f32);
    default: break;
    }
    return {};
}

// Work per second of all threads together, each by its own clock; work(thread) does a chunk and returns its
// size. A peak is the rate of the best chunk, so that a neighbour on the machine does not lower it.
enum class over { best_chunk, all_chunks };

template <class Work>
double rate(int threads, double seconds, over which, Work&& work) {
    double total = 0;
#    pragma omp parallel num_threads(threads) reduction(+ : total)
    {
        using clock = std::chrono::steady_clock;
        int const thread = omp_get_thread_num();
        work(thread); // warm
#    pragma omp barrier
        auto const start = clock::now();
        double done = 0, elapsed = 0, best = 0;
        while (elapsed < seconds) {
            double const chunk = work(thread);
            double const now = std::chrono::duration<double>(clock::now() - start).count();
            best = std::max(best, chunk / (now - elapsed));
            done += chunk, elapsed = now;
        }
        total += which == over::best_chunk ? best : done / elapsed;
    }
    return total;
}

constexpr long buffer_bytes = 256L << 20, chunk = 256L << 10;

std::uint8_t* buffer() {
    static std::unique_ptr<std::uint8_t, decltype(&std::free)> const memory = [] {
        auto* p = static_cast<std::uint8_t*>(std::aligned_alloc(4096, buffer_bytes));
        std::memset(p, 1, buffer_bytes);
        return std::unique_ptr<std::uint8_t, decltype(&std::free)>(p, &std::free);
    }();
    return memory.get();
}

void read_chunk(std::uint8_t const* p, long bytes) {
    auto const* const end = p + bytes;
    // Baseline SSE loads: memory, not the width of the load, is the limit.
    asm volatile(
        "1:\n\tmovups (%0), %%xmm0\n\tmovups 16(%0), %%xmm1\n\tmovups 32(%0), %%xmm2\n\tmovups 48(%0), "
        "%%xmm3\n\tadd $64, %0\n\tcmp %1, %0\n\tjb 1b"
        : "+r"(p)
        : "r"(end)
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3");
}

// With the widest loads of the machine: nearer than memory their width is the limit. `bytes` is a multiple of 512.
void read_wide(std::uint8_t const* p, long bytes) {
    static bool const avx512 = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
    if (avx512)
        avx512::read(p, bytes / 512);
    else if (avx2)
        avx2::read(p, bytes / 256);
    else
        read_chunk(p, bytes);
}

// The bytes of a cache of data as Linux names it: the C library's own answer is that of a whole package on some
// machines.
long cache_bytes(int level) {
    for (int i = 0; i < 8; ++i) {
        std::string const folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        std::ifstream level_in(folder + "level"), kind_in(folder + "type"), size_in(folder + "size");
        int of = 0;
        long size = 0;
        std::string kind, unit;
        level_in >> of, kind_in >> kind, size_in >> size >> unit;
        if (of == level && kind != "Instruction") return size << (unit == "M" ? 20 : 10);
    }
    return 0;
}

struct alignas(64) position {
    long next = 0;
};

// Each thread walks a slice of its own in chunks, round and round.
template <class Step>
double stream(int threads, long bytes, double counted_per_byte, Step&& step) {
    std::vector<position> positions(std::size_t(threads), position{});
    long const slice = std::max(bytes / threads / chunk, 1L) * chunk;
    double const counted = double(chunk) * counted_per_byte * 1e-9;
    return rate(threads, 25e-3, over::all_chunks, [&](int t) {
        long& next = positions[std::size_t(t)].next;
        step(t * slice + next);
        next = (next + chunk) % slice;
        return counted;
    });
}

} // namespace

std::string arithmetic_unit(element e) { return unit_for(e).name; }

double arithmetic_peak(element e, int threads) {
    unit const u = unit_for(e);
    if (!u.loop) return 0;
    sources const data = random_sources(e);
    return 1e-9 * rate(threads, 5e-3, over::best_chunk, [&](int) {
               long const iterations = 10000;
               u.loop(data, iterations);
               return double(iterations) * u.per_iteration;
           });
}

double read_bandwidth(int threads, double bytes) {
    auto const* const p = buffer();
    return stream(threads, std::min(long(bytes), buffer_bytes), 1,
                  [&](long at) { read_chunk(p + at, chunk); });
}

double copy_bandwidth(int threads) {
    auto* const p = buffer();
    return stream(threads, buffer_bytes / 2, 2,
                  [&](long at) { std::memcpy(p + buffer_bytes / 2 + at, p + at, chunk); });
}

std::vector<memory_level> memory_levels(int threads) {
    constexpr long step = 4096;
    std::vector<memory_level> all;
    long below = 0;
    for (int const level : {1, 2, 3}) {
        long const bytes = cache_bytes(level);
        // Half of a cache for each thread; the third is shared.
        long const slice = std::max(2 * below, bytes / 2 / (level == 3 ? threads : 1)) / step * step;
        if (bytes <= below || slice * threads > buffer_bytes) continue;
        auto const* const p = buffer();
        long const repeats = std::max(1L, (1L << 20) / slice);
        double const gigabytes = 1e-9 * double(slice * repeats);
        all.push_back({"L" + std::to_string(level), rate(threads, 10e-3, over::best_chunk, [&](int t) {
                           for (long i = 0; i < repeats; ++i) read_wide(p + t * slice, slice);
                           return gigabytes;
                       })});
        below = bytes;
    }
    all.push_back({"memory", read_bandwidth(threads, buffer_bytes)});
    return all;
}

} // namespace bench

#else // not measured

namespace bench {
std::string arithmetic_unit(element) { return ""; }
double arithmetic_peak(element, int) { return 0; }
double read_bandwidth(int, double) { return 0; }
double copy_bandwidth(int) { return 0; }
std::vector<memory_level> memory_levels(int) { return {}; }
} // namespace bench

#endif
