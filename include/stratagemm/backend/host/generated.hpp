// Kernels for products of one shape, whose code is written into memory at run time.
//
// A product of some thousand multiply-adds takes hardly longer than to find out how large it is and how to divide it,
// and compiled tiles do not suit all sides of a larger product. A shape that is large, or is multiplied again and
// again, therefore gets a kernel in which sides and strides are constants: no tile is partly used, and no loop counts a
// number that is known. Kernels are of AVX-512 or AVX2. Each kernel sums in the order of compiled kernels
// (blocked.hpp), so that no result shows which of them ran.
//
// STRATAGEMM_GENERATED in the environment is "never", or "always", which does not wait; unset, a small product gets its
// kernel after some dozen calls. Where the system gives no executable memory, compiled kernels run.
#pragma once

#include "../../core/operand.hpp"
#include "generated/dots.hpp"
#include "unload.hpp"

#include <cstdlib>

#if STRATAGEMM_GENERATES
#    include <sys/mman.h>
#endif

STRATAGEMM_BEGIN

template <class T>
using block_function = void (*)(block_args<T> const&);

#if STRATAGEMM_GENERATES

// A number that depends on nine others, in its high bits most.
inline std::uint64_t hash_of(index_t const (&x)[9]) {
    auto const three = [](index_t a, index_t b, index_t c) {
        return static_cast<std::uint64_t>(a) + (static_cast<std::uint64_t>(b) << 21) +
               (static_cast<std::uint64_t>(c) << 42);
    };
    return three(x[0], x[1], x[2]) * 0x9e3779b97f4a7c15 + three(x[3], x[4], x[5]) * 0xc2b2ae3d27d4eb4f +
           three(x[6], x[7], x[8]) * 0xff51afd7ed558ccd;
}

// How many products a batch has, and how far they are apart; zeros for one product.
struct batch_steps {
    index_t count, a, b, c;
};

// A product, or a batch of products, that has a dedicated kernel, as its caller states it. Calls of such a product
// check nothing but the addresses.
struct alignas(128) repeated_product {
    std::uint64_t hash; // of the product; 0 until all members are written
    index_t kind;       // of generated_shape, as its caller states it
    index_t m, n, k, a_row, a_col, b_row, b_col, c_row, c_col;
    std::uintptr_t a_bytes, b_bytes, c_bytes; // from the first byte to the end
    void (*code)();
    bool turned, taken; // code multiplies C' = B' A'; a product writes its entry, or has
    batch_steps batch;
};

// Kernels, and how often shapes without a kernel were multiplied. Both are found by a hash of the shape. Nothing is
// removed before the library that holds this code is unloaded. A shape whose places are taken is multiplied by compiled
// kernels.
struct [[gnu::visibility("hidden")]] generated_kernels {
    static constexpr unsigned places = 4096, tries = 8;
    struct entry { // at the begin of the pages that hold the code, too
        generated_shape shape;
        void (*code)();         // null: it has none
        std::size_t bytes;      // of the pages
        std::int32_t masks[16]; // of assembler
    };
    bool any, refused; // there is a kernel, or an entry of a product; none can be made
    entry const* kernel[places];
    unsigned tried[places];
    repeated_product repeated[places][2]; // by twelve bits of their hash

    [[gnu::cold, gnu::noinline]] static unsigned place_of(generated_shape const& s) {
        return static_cast<unsigned>(
            hash_of({s.m, s.n, s.k, s.a_row, s.b_row, s.a_col, s.kind, s.c_row, s.b_strip}) >> 52);
    }
    // The entry of a shape, or null.
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
    [[gnu::cold, gnu::noinline]] void miss(generated_shape const& s) {
        static unsigned const enough = calls_before();
        if (enough == 0 || __atomic_load_n(&refused, __ATOMIC_RELAXED)) return;
        unsigned const place = place_of(s),
                       work = static_cast<unsigned>(1 + smaller(s.m * s.n * s.k >> 14, 64));
        if (__atomic_add_fetch(&tried[place], work, __ATOMIC_RELAXED) >= enough) generate(s, place);
    }

private:
    // How many calls of a small product come before its kernel is generated; large products gain more from each call.
    // 0: no kernel is generated.
    [[gnu::cold]] static unsigned calls_before() {
        char const* const asked = std::getenv("STRATAGEMM_GENERATED");
        bool const runs = current_isa().available && current_isa().isa >= host_isa::avx2;
        if (!runs || (asked && __builtin_strcmp(asked, "never") == 0)) return 0;
        return asked && __builtin_strcmp(asked, "always") == 0 ? 1 : 64;
    }
    [[gnu::cold, gnu::noinline]] void unmap() {
        for (entry const* made : kernel)
            if (made) munmap(const_cast<entry*>(made), made->bytes);
    }
    [[gnu::cold]] void generate(generated_shape const& s, unsigned place);
};
// Hidden: each library has its own kernels, as it has its own tables.
[[gnu::visibility("hidden")]] inline generated_kernels generated;

inline void generated_kernels::generate(generated_shape const& s, unsigned place) {
    static bool const once = (call_at_unload([] { generated.unmap(); }), true);
    (void)once;
    bool taken = true;
    for (unsigned i = 0; i < tries; ++i)
        taken = taken && __atomic_load_n(&kernel[(place + i) % places], __ATOMIC_RELAXED);
    if (taken) return;
    constexpr std::size_t room = 65536, page = 4096;
    void* const memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return __atomic_store_n(&refused, true, __ATOMIC_RELAXED);
    static_assert(sizeof(entry) <= 192);
    auto* const made = static_cast<entry*>(memory);
    made->shape = s;
    for (int i = 0; i < 8; ++i) made->masks[i] = -1;
    // Code begins with a cache line, and not always with the same of a page, which shares its place in the cache
    // with those of all pages.
    unsigned char* const begin = static_cast<unsigned char*>(memory) + 192 + place % 32 * 64;
    made->code = reinterpret_cast<void (*)()>(begin);
    assembler to(begin, static_cast<unsigned char*>(memory) + room, current_isa().isa >= host_isa::avx512,
                 made->masks);
    if (s.is(generated_form::dots))
        dots_generator(s, to).write();
    else
        product_generator(s, to).write();
    if (!to.is_whole()) made->code = nullptr;
    auto const written = static_cast<std::size_t>(to.here() - static_cast<unsigned char*>(memory)),
               used = (written + page - 1) / page * page;
    if (used < room) munmap(static_cast<unsigned char*>(memory) + used, room - used);
    made->bytes = used;
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

// `flag`: of a kernel, its generated_form; of an entry, .invariant of its caller, and 2 for a batch.
template <class T, class Acc>
index_t generated_kind(Acc alpha, Acc beta, int flag) {
    generated_end const end = beta != Acc(0)    ? generated_end::added
                              : alpha != Acc(1) ? generated_end::scaled
                                                : generated_end::plain;
    return 64 * generated_element<T> + static_cast<int>(end) + flag;
}
template <class T>
generated_shape generated_shape_of(block_args<T> const& g, generated_form form) {
    return {g.m,       g.n,     g.k,
            g.a_row,   g.a_col, g.b_row,
            g.b_strip, g.c_row, generated_kind<T>(g.alpha, g.beta, static_cast<int>(form)) + 4096 * g.narrow};
}

template <class A, class B, class C>
[[gnu::always_inline]] inline std::uint64_t hash_of_product(index_t kind, A const& a, B const& b, C const& c,
                                                            batch_steps const& batch = {0, 0, 0, 0}) {
    auto const count = static_cast<std::uint64_t>(batch.count), of_a = static_cast<std::uint64_t>(batch.a),
               of_b = static_cast<std::uint64_t>(batch.b), of_c = static_cast<std::uint64_t>(batch.c);
    return hash_of({c.rows, c.cols, a.cols, a.row_stride, b.row_stride, a.col_stride, c.row_stride,
                    b.col_stride, c.col_stride ^ kind}) +
           count * 0xd6e8feb86659fd93 + (of_a + 5 * of_b + 25 * of_c) * 0xa0761d6478bd642f;
}

// Calls of this product, or batch, will be multiplied by this kernel on one thread, unless a stride of A or B or a step
// is negative.
template <class Problem, class T>
[[gnu::cold, gnu::noinline]] void repeat(Problem const& p, block_function<T> code, bool turned,
                                         bool invariant) {
    index_t const kind = generated_kind<T>(p.alpha, p.beta, invariant + (p.count > 1 ? 2 : 0));
    batch_steps const one{}, all{p.count, p.a_step, p.b_step, p.c_step}, &batch = p.count > 1 ? all : one;
    std::uint64_t const hash = hash_of_product(kind, p.a, p.b, p.c, batch);
    if ((p.a.row_stride | p.a.col_stride | p.b.row_stride | p.b.col_stride | p.a_step | p.b_step | p.c_step) <
        0)
        return;
    auto const bytes = [&](view<T const> const& v, index_t step) {
        return static_cast<std::uintptr_t>(
            ((v.rows - 1) * v.row_stride + (v.cols - 1) * v.col_stride + (p.count - 1) * step + 1) *
            index_t{sizeof(T)});
    };
    for (repeated_product& x : generated.repeated[hash >> 52]) {
        // This is read first: a product whose entries other products have gets here with each call.
        if (__atomic_load_n(&x.taken, __ATOMIC_RELAXED) || __atomic_test_and_set(&x.taken, __ATOMIC_RELAXED))
            continue;
        x.m = p.c.rows, x.n = p.c.cols, x.k = p.a.cols, x.kind = kind;
        x.a_row = p.a.row_stride, x.a_col = p.a.col_stride, x.b_row = p.b.row_stride;
        x.b_col = p.b.col_stride, x.c_row = p.c.row_stride, x.c_col = p.c.col_stride;
        x.batch = batch;
        x.a_bytes = bytes(p.a, p.a_step);
        x.b_bytes = bytes(p.b, p.b_step);
        x.c_bytes = bytes(p.c, p.c_step);
        x.code = reinterpret_cast<void (*)()>(code), x.turned = turned;
        __atomic_store_n(&generated.any, true, __ATOMIC_RELAXED);
        return __atomic_store_n(&x.hash, hash, __ATOMIC_RELEASE);
    }
}

#endif

// C = alpha A B + beta C, if repeat() was called for this product. False for any other product, valid or not.
template <class T, class A, class B, class C, class... Batch>
[[gnu::always_inline]] inline bool multiply_again([[maybe_unused]] bool invariant, [[maybe_unused]] T alpha,
                                                  [[maybe_unused]] A const& a, [[maybe_unused]] B const& b,
                                                  [[maybe_unused]] T beta, [[maybe_unused]] C const& c,
                                                  [[maybe_unused]] Batch const&... batch) {
#if STRATAGEMM_GENERATES
    if (!__atomic_load_n(&generated.any, __ATOMIC_RELAXED)) return false;
    alpha *= a.scale, alpha *= b.scale; // as make_product() does
    index_t const kind = generated_kind<T>(alpha, beta, invariant + int{sizeof...(Batch)} * 2);
    std::uint64_t const hash = hash_of_product(kind, a, b, c, batch...);
    repeated_product const* x = generated.repeated[hash >> 52];
    if (__atomic_load_n(&x->hash, __ATOMIC_ACQUIRE) != hash &&
        __atomic_load_n(&(++x)->hash, __ATOMIC_ACQUIRE) != hash)
        return false;
    index_t const differs = (kind ^ x->kind) | (c.rows ^ x->m) | (a.rows ^ x->m) | (c.cols ^ x->n) |
                            (b.cols ^ x->n) | (a.cols ^ x->k) | (b.rows ^ x->k) | (a.row_stride ^ x->a_row) |
                            (a.col_stride ^ x->a_col) | (b.row_stride ^ x->b_row) |
                            (b.col_stride ^ x->b_col) | (c.row_stride ^ x->c_row) |
                            (c.col_stride ^ x->c_col) | index_t{c.conjugate};
    if (differs != 0 || c.scale != T(1) || alpha == T(0)) return false;
    auto const at_a = reinterpret_cast<std::uintptr_t>(a.data),
               at_b = reinterpret_cast<std::uintptr_t>(b.data),
               at_c = reinterpret_cast<std::uintptr_t>(c.data);
    if (at_a == 0 || at_b == 0 || at_c == 0 || at_c - at_a < x->a_bytes || at_a - at_c < x->c_bytes ||
        at_c - at_b < x->b_bytes || at_b - at_c < x->c_bytes)
        return false;
    block_args<T> g; // what a kernel reads
    if constexpr (sizeof...(Batch) > 0) {
        batch_steps const& y = (batch, ...);
        if (((y.count ^ x->batch.count) | (y.a ^ x->batch.a) | (y.b ^ x->batch.b) | (y.c ^ x->batch.c)) != 0)
            return false;
        g.count = y.count, g.c_step = y.c;
        g.a_step = x->turned ? y.b : y.a, g.b_step = x->turned ? y.a : y.b;
    }
    g.a = x->turned ? b.data : a.data, g.b = x->turned ? a.data : b.data, g.c = c.data;
    g.alpha = alpha, g.beta = beta;
    reinterpret_cast<block_function<T>>(x->code)(g);
    return true;
#else
    return false;
#endif
}

// The kernel that was generated for a product whose columns of B are side by side, or for dot products whose operands
// both lie along k; or null. The kernel adds C itself. If there was no kernel, there may be one the next time.
template <class T>
[[gnu::noinline]] block_function<T>
generated_next([[maybe_unused]] block_args<T> const& g,
               [[maybe_unused]] generated_form form = generated_form::tiles) {
#if STRATAGEMM_GENERATES
    if (g.beta != accumulated<T>(0) && (g.e != g.c || g.e_row != g.c_row)) return nullptr;
    generated_shape const s = generated_shape_of(g, form);
    if (auto const* const found = generated.find(s)) return reinterpret_cast<block_function<T>>(found->code);
    generated.miss(s);
#endif
    return nullptr;
}

STRATAGEMM_END
