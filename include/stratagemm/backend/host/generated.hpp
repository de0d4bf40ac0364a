// Code for small products of one shape, written into memory at run time.
//
// A product of some thousand multiply-adds takes hardly longer than to find out what it is and how to divide it. A
// program that multiplies one shape again and again gets a kernel for it, in which sides and strides are constants: no
// tile is partly used, and no loop counts what is known. Kernels are of AVX-512; each sums in the order of all others
// (blocked.hpp), so that no result shows whether its kernel was compiled or generated.
//
// STRATAGEMM_GENERATED in the environment is "never", or "always", which does not wait; unset, a shape gets its kernel
// once it has been multiplied some dozen times. Where the system gives no executable memory, compiled kernels run.
#pragma once

#include "generated/dots.hpp"

#include <cstdlib>

#if defined(__x86_64__) && defined(__linux__)
#    define STRATAGEMM_GENERATES 1
#    include <sys/mman.h>
#else
#    define STRATAGEMM_GENERATES 0
#endif

STRATAGEMM_BEGIN

// How a product comes to its kernel. Kernels of whole products and of pieces must not be taken for each other: where pieces
// have one, dot products may multiply the whole, whose order is their own.
enum class generated_way {
    whole = 0,
    whole_invariant = 1,
    whole_batch = 2,
    piece = 4,
    whole_dots = 5,
    piece_of_dots = 6
};
constexpr generated_way whole_way(bool is_batch, bool invariant) {
    return static_cast<generated_way>(2 * is_batch + invariant);
}

#if STRATAGEMM_GENERATES

// Kernels, and how often shapes without one were multiplied. Both are found by a hash of the shape. Nothing is ever
// removed; a shape whose place is taken is multiplied by compiled kernels.
struct generated_kernels {
    static constexpr unsigned places = 1024;
    struct entry { // the first in pages of its own, which have the code, too
        generated_shape shape;
        void (*code)();
    };
    bool any;
    entry const* kernel[places];
    unsigned tried[places];

    static unsigned place_of(generated_shape const& s) {
        auto const times = [](index_t x, std::uint64_t y) { return static_cast<std::uint64_t>(x) * y; };
        std::uint64_t const sum = times(s.m, 0x9e3779b97f4a7c15) + times(s.n, 0xc2b2ae3d27d4eb4f) +
                                  times(s.k, 0x165667b19e3779f9) + times(s.a_row, 0x27d4eb2f165667c5) +
                                  times(s.a_col, 0x85ebca77c2b2ae63) + times(s.b_row, 0xff51afd7ed558ccd) +
                                  times(s.b_strip, 0x2545f4914f6cdd1d) + times(s.c_row, 0xc4ceb9fe1a85ec53) +
                                  times(s.kind, 0xd6e8feb86659fd93);
        return static_cast<unsigned>(sum >> 54);
    }
    auto find(generated_shape const& s) const -> void (*)() {
        if (!__atomic_load_n(&any, __ATOMIC_RELAXED)) return nullptr;
        entry const* const k = __atomic_load_n(&kernel[place_of(s)], __ATOMIC_ACQUIRE);
        return k && k->shape == s ? k->code : nullptr;
    }

    // Counts a call that had no kernel, and generates one when there were enough.
    void miss(generated_shape const& s) {
        static unsigned const enough = calls_before();
        unsigned const place = place_of(s),
                       work = static_cast<unsigned>(1 + smaller(s.m * s.n * s.k >> 14, 64));
        if (enough == 0 || __atomic_load_n(&kernel[place], __ATOMIC_RELAXED)) return;
        if (__atomic_add_fetch(&tried[place], work, __ATOMIC_RELAXED) >= enough) generate(s, place);
    }

private:
    // Of a small product; large ones gain more from each call. 0: none is generated.
    [[gnu::cold]] static unsigned calls_before() {
        char const* const asked = std::getenv("STRATAGEMM_GENERATED");
        if (current_isa().isa < host_isa::avx512 || (asked && __builtin_strcmp(asked, "never") == 0))
            return 0;
        return asked && __builtin_strcmp(asked, "always") == 0 ? 1 : 64;
    }
    [[gnu::cold, gnu::noinline]] void generate(generated_shape const& s, unsigned place) {
        constexpr std::size_t room = 16384;
        void* const memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return;
        auto* const made = static_cast<entry*>(memory);
        made->shape = s;
        // Code begins with a cache line, and not always with the same of a page, which shares its place in the cache with
        // those of all pages.
        unsigned char* const begin = static_cast<unsigned char*>(memory) + 128 + place % 32 * 64;
        made->code = reinterpret_cast<void (*)()>(begin);
        assembler to(begin, static_cast<unsigned char*>(memory) + room);
        if ((s.kind & 7) >= static_cast<int>(generated_way::whole_dots))
            dots_generator(s, to).write();
        else
            product_generator(s, to).write();
        entry const* nobody = nullptr;
        if (to.is_whole() && mprotect(memory, room, PROT_READ | PROT_EXEC) == 0 &&
            __atomic_compare_exchange_n(&kernel[place], &nobody, made, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            __atomic_store_n(&any, true, __ATOMIC_RELAXED);
        else
            munmap(memory, room);
    }
};
inline generated_kernels generated;

template <class T>
generated_shape generated_shape_of(block_args<T> const& g, generated_way way) {
    generated_end const end = g.beta != T(0)    ? generated_end::added
                              : g.alpha != T(1) ? generated_end::scaled
                                                : generated_end::plain;
    index_t const kind = 32 * index_t{sizeof(T)} + static_cast<int>(end) + static_cast<int>(way);
    return {g.m, g.n, g.k, g.a_row, g.a_col, g.b_row, g.b_strip, g.c_row, kind};
}

#endif

// The kernel that was generated for a product whose columns of B are side by side, or for dot products whose operands both
// lie along k, and that adds C itself; or null.
template <class T>
using block_function = void (*)(block_args<T> const&);
template <class T>
block_function<T> generated_for([[maybe_unused]] block_args<T> const& g, [[maybe_unused]] generated_way way) {
#if STRATAGEMM_GENERATES
    return reinterpret_cast<block_function<T>>(generated.find(generated_shape_of(g, way)));
#else
    return nullptr;
#endif
}
// The same; if there was none, there may be one the next time.
template <class T>
[[gnu::noinline]] block_function<T> generated_next([[maybe_unused]] block_args<T> const& g,
                                                   [[maybe_unused]] generated_way way) {
#if STRATAGEMM_GENERATES
    generated_shape const s = generated_shape_of(g, way);
    if (auto const code = generated.find(s)) return reinterpret_cast<block_function<T>>(code);
    // One row is as fast by vectors of memory in their order once B leaves the first-level cache.
    if (way >= generated_way::whole_dots || s.m > 1 || s.k * s.n * index_t{sizeof(T)} <= 32768)
        generated.miss(s);
#endif
    return nullptr;
}

STRATAGEMM_END
