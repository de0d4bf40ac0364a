// Kernels for products of one shape, whose code is written into memory at run time.
//
// A product of some thousand multiply-adds takes hardly longer than to find out how large it is and how to divide it, and
// compiled tiles do not suit all sides of a larger one. So a shape that is large, or is multiplied again and again, gets a
// kernel in which sides and strides are constants: no tile is partly used, and no loop counts what is known. Kernels are of
// AVX-512; each sums in the order of compiled kernels (blocked.hpp), so that no result shows which of them ran.
//
// STRATAGEMM_GENERATED in the environment is "never", or "always", which does not wait; unset, a small product gets its
// kernel after some dozen calls. Where the system gives no executable memory, compiled kernels run.
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
// removed; a shape whose places are taken is multiplied by compiled kernels.
struct generated_kernels {
    static constexpr unsigned places = 4096, tries = 8;
    struct entry { // at the begin of pages of its own, which hold the code, too
        generated_shape shape;
        void (*code)(); // null: it has none
    };
    bool any, refused;
    entry const* kernel[places];
    unsigned tried[places];

    static unsigned place_of(generated_shape const& s) {
        auto const three = [](index_t x, index_t y, index_t z) {
            return static_cast<std::uint64_t>(x) + (static_cast<std::uint64_t>(y) << 21) +
                   (static_cast<std::uint64_t>(z) << 42);
        };
        std::uint64_t const sum = three(s.m, s.n, s.k) * 0x9e3779b97f4a7c15 +
                                  three(s.a_row, s.b_row, s.a_col) * 0xc2b2ae3d27d4eb4f +
                                  three(s.kind, s.c_row, s.b_strip) * 0xff51afd7ed558ccd;
        return static_cast<unsigned>(sum >> 52);
    }
    // What a shape has, or null.
    entry const* find(generated_shape const& s) const {
        if (!__atomic_load_n(&any, __ATOMIC_RELAXED)) return nullptr;
        unsigned const place = place_of(s);
        for (unsigned i = 0; i < tries; ++i) {
            entry const* const k = __atomic_load_n(&kernel[(place + i) % places], __ATOMIC_ACQUIRE);
            if (!k || k->shape == s) return k;
        }
        return nullptr;
    }

    // Counts a call that had no entry, and makes one when there were enough.
    void miss(generated_shape const& s) {
        static unsigned const enough = calls_before();
        if (enough == 0 || __atomic_load_n(&refused, __ATOMIC_RELAXED)) return;
        unsigned const place = place_of(s),
                       work = static_cast<unsigned>(1 + smaller(s.m * s.n * s.k >> 14, 64));
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
        bool taken = true;
        for (unsigned i = 0; i < tries; ++i)
            taken = taken && __atomic_load_n(&kernel[(place + i) % places], __ATOMIC_RELAXED);
        if (taken) return;
        constexpr std::size_t room = 65536, page = 4096;
        void* const memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return __atomic_store_n(&refused, true, __ATOMIC_RELAXED);
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
        if (!to.is_whole()) made->code = nullptr;
        auto const written = static_cast<std::size_t>(to.here() - static_cast<unsigned char*>(memory)),
                   used = (written + page - 1) / page * page;
        if (used < room) munmap(static_cast<unsigned char*>(memory) + used, room - used);
        if (mprotect(memory, used, PROT_READ | PROT_EXEC) == 0)
            for (unsigned i = 0; i < tries; ++i) {
                entry const* nobody = nullptr;
                if (__atomic_compare_exchange_n(&kernel[(place + i) % places], &nobody, made, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                    return __atomic_store_n(&any, true, __ATOMIC_RELAXED);
                if (nobody->shape == s) break; // another thread was faster
            }
        else
            __atomic_store_n(&refused, true, __ATOMIC_RELAXED);
        munmap(memory, used);
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
    auto const* const found = generated.find(generated_shape_of(g, way));
    return found ? reinterpret_cast<block_function<T>>(found->code) : nullptr;
#else
    return nullptr;
#endif
}
// The same; if there was none, there may be one the next time.
template <class T>
[[gnu::noinline]] block_function<T> generated_next([[maybe_unused]] block_args<T> const& g,
                                                   [[maybe_unused]] generated_way way) {
#if STRATAGEMM_GENERATES
    if (g.beta != T(0) && (g.e != g.c || g.e_row != g.c_row)) return nullptr;
    generated_shape const s = generated_shape_of(g, way);
    if (auto const* const found = generated.find(s)) return reinterpret_cast<block_function<T>>(found->code);
    generated.miss(s);
#endif
    return nullptr;
}

STRATAGEMM_END
