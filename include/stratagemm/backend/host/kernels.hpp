// The kernels of every instruction set, behind one table of functions per element type.
//
// Each instruction set is a namespace with a handful of vector operations; kernel.inl.hpp is compiled against them.
// Multiply-adds are inline assembly: the code that runs is the code written here, whatever the caller's optimisation
// and floating-point flags, and no intrinsics header (0.6 s of compile time) is needed.
#pragma once

#include "../../core/types.hpp"
#include "isa.hpp"

STRATAGEMM_BEGIN

inline index_t divide_up(index_t x, index_t by) { return (x + by - 1) / by; }
inline index_t smaller(index_t x, index_t y) { return x < y ? x : y; }
inline index_t larger_of(index_t x, index_t y) { return x < y ? y : x; }

// Two 16-bit integers that are multiplied and added as one step of k: how int8 is multiplied by machines that have no
// instruction for it.
struct pair16 {
    std::int16_t x, y;
};

// Elements that lie side by side along k. One instruction, where the machine has it, multiplies two packets and adds
// the products. For int8, the instruction takes elements of A as unsigned: packing adds 128 to each of them, and sums
// begin with the negated excess of the product. Elements of 16 bits are kept as integers, since those of a buffer of
// bfloat16 would first be set to zero.
template <class T>
struct [[gnu::may_alias]] packet_of {
    std::conditional_t<sizeof(T) == 2, std::uint16_t, T> at[4 / sizeof(T)];
};
using bfloat16_pair = packet_of<bfloat16>;
using int8_quad = packet_of<std::int8_t>;

template <class T>
struct accumulated_of {
    using type = T;
};
template <class T>
struct accumulated_of<packet_of<T>> {
    using type = accumulator_t<T>;
};
template <>
struct accumulated_of<bfloat16> {
    using type = float;
};
template <>
struct accumulated_of<std::int8_t> {
    using type = std::int32_t;
};
template <>
struct accumulated_of<pair16> {
    using type = std::int32_t;
};
template <class T>
using accumulated = typename accumulated_of<T>::type;

// What vectors of T are made of.
template <class T>
using lane = std::conditional_t<std::is_floating_point_v<accumulated<T>>, accumulated<T>, std::int32_t>;

// Types that generated kernels multiply; packets with AVX-512 only.
template <class T>
inline constexpr bool is_generated = !std::is_same_v<T, pair16>;
// Narrower types that generated kernels make floats of (load_widened() of assembler); 0: any other.
template <class T>
inline constexpr int generated_narrow = std::is_same_v<T, bfloat16>      ? 1
                                        : std::is_same_v<T, half>        ? 2
                                        : std::is_same_v<T, std::int8_t> ? 3
                                                                         : 0;
// Packets that only AVX-512 multiplies.
template <class T>
inline constexpr bool is_packet = is_generated<T> && !std::is_floating_point_v<T>;

// The elements that dot products read: for packets the elements of these, since rows may have any number of elements.
template <class T>
struct dotted_of {
    using type = T;
};
template <class T>
struct dotted_of<packet_of<T>> {
    using type = T;
};
template <class T>
using dotted = typename dotted_of<T>::type;

// Elements of the longest piece of k, of `size` bytes: 14 rows of A are 21 KiB of the first-level cache.
constexpr index_t longest_piece(index_t size) { return 1536 / size; }

// The pieces of k, of one length but for the last.
struct k_pieces {
    index_t count, length;
};
[[gnu::cold, gnu::noinline]] inline k_pieces pieces_of(index_t k, index_t size) {
    index_t const count = larger_of(1, divide_up(k, longest_piece(size)));
    return {count, divide_up(divide_up(k, count), 4) * 4};
}

// C = alpha A B + beta E, `count` times. C and E have columns of stride one; A has the strides a_row and a_col; B has
// rows of `b_row` and lies in strips of vectors x lanes columns, `b_strip` apart.
template <class T>
struct block_args {
    index_t m, n, k;
    T const* a;
    index_t a_row, a_col;
    T const* b;
    index_t b_row, b_strip;
    accumulated<T> const* e;
    index_t e_row;
    accumulated<T>* c;
    index_t c_row;
    accumulated<T> alpha, beta;
    index_t count = 1;
    index_t a_step = 0, b_step = 0, e_step = 0, c_step = 0;
    // The next rows, as many as A has: they are fetched while A is multiplied.
    T const* ahead = nullptr;
    index_t ahead_row = 0;
    T* room = nullptr; // for a copy of a strip of a B that is not packed
    // For generated kernels of floats: if B has elements of a narrower type, whatever the type of its pointer, this is
    // generated_narrow of that type, and strides are counted in such elements; if A has them, it is 4 times that.
    index_t narrow = 0;
};

// to = from, some rows and columns. Where moves cannot be masked, the last strip is computed whole, in a buffer. The
// move is in pieces of four, two and one element: a store through a mask is a dozen operations on some machines with
// AVX2.
template <class Acc>
[[gnu::noinline]] void take_columns(Acc const* from, index_t from_row, Acc* to, index_t to_row, int rows,
                                    int columns) {
    for (int i = 0; i < rows; ++i, from += from_row, to += to_row) {
        int j = 0;
        for (; j + 4 <= columns; j += 4) __builtin_memcpy(to + j, from + j, 4 * sizeof(Acc));
        if (columns & 2) __builtin_memcpy(to + j, from + j, 2 * sizeof(Acc));
        if (columns & 1) to[columns - 1] = from[columns - 1];
    }
}

// C = alpha S + beta E for the up to four columns of S that a row of C has, from (i, j) on.
template <class T>
[[gnu::noinline]] void finish_dots(block_args<T> const& g, accumulated<T> const* sums, index_t i, index_t j) {
    using Acc = accumulated<T>;
    Acc const alpha = g.alpha, beta = g.beta;
    Acc* const c = g.c + i * g.c_row + j;
    Acc const* const e = beta == Acc(0) ? c : g.e + i * g.e_row + j;
    index_t const width = g.n - j < 4 ? g.n - j : 4;
    using number =
        std::conditional_t<std::is_integral_v<Acc>, std::uint32_t, Acc>; // integers are modulo 2^32
    auto const product = [](Acc x, Acc y) { return static_cast<number>(x) * static_cast<number>(y); };
    for (index_t l = 0; l < width; ++l)
        c[l] = static_cast<Acc>(beta == Acc(0) ? product(alpha, sums[l])
                                               : product(alpha, sums[l]) + product(beta, e[l]));
}

// The tile of an instruction set: a function of a block, its A, B, E and C, of how many rows and columns, and the rows
// of A that are read next.
template <class T>
struct tile_set {
    int strip, tallest; // columns; rows
    bool masked;
    void (*tile)(block_args<T> const&, T const*, T const*, accumulated<T> const*, accumulated<T>*, int, int,
                 T const*);
};

// C = alpha A B + beta E for each of `count` products; all strides are the caller's. Where moves cannot be masked, the
// last strip goes through buffers: C, and a B that is read where it lies; a packed one is padded.
template <class T>
[[gnu::cold, gnu::noinline]] void multiply_by_tiles(tile_set<T> const& t, block_args<T> const& g) {
    using Acc = accumulated<T>;
    constexpr int most_rows = 16, most_columns = 16; // of a buffer
    int const strip = t.strip, rest = static_cast<int>(g.n % strip);
    bool const pads = rest > 0 && !t.masked, in_place = g.b_strip == strip;
    T last[longest_piece(sizeof(T)) * most_columns];
    T const *a = g.a, *b = g.b;
    Acc const* e = g.e;
    Acc* c = g.c;
    index_t const e_row = e ? g.e_row : 0, e_strip = e ? strip : 0; // nothing is added to a null pointer
    for (index_t x = 0; x < g.count; ++x, a += g.a_step, b += g.b_step, e += g.e_step, c += g.c_step) {
        if (pads && in_place) {
            // What happens to lie there could overflow, or be no number, and callers see that in the floating-point status.
            __builtin_memset(last, 0, static_cast<std::size_t>(g.k * strip) * sizeof(T));
            take_columns(b + g.n - rest, g.b_row, last, strip, static_cast<int>(g.k), rest);
        }
        for (index_t i = 0; i < g.m;) {
            int const height = static_cast<int>(smaller(t.tallest, g.m - i));
            T const *const ai = a + i * g.a_row, *bj = b;
            Acc const* ej = e + i * e_row;
            Acc* cj = c + i * g.c_row;
            for (index_t j = 0; j < g.n; j += strip, bj += g.b_strip, ej += e_strip, cj += strip) {
                index_t const left = g.n - j;
                int const columns = static_cast<int>(left < strip ? left : strip);
                T const* const next = left > strip || !g.ahead ? nullptr : g.ahead + i * g.ahead_row;
                if (columns == strip || !pads) {
                    t.tile(g, ai, bj, ej, cj, height, columns, next);
                } else {
                    Acc buffer[most_rows * most_columns] = {};
                    block_args<T> whole = g;
                    whole.e_row = whole.c_row = strip;
                    if (in_place) whole.b_row = strip;
                    if (g.beta != Acc(0)) take_columns<Acc>(ej, g.e_row, buffer, strip, height, columns);
                    t.tile(whole, ai, in_place ? last : bj, buffer, buffer, height, strip, next);
                    take_columns<Acc>(buffer, strip, cj, g.c_row, height, columns);
                }
            }
            i += height;
        }
    }
}

// The number that is added where beta is zero: -0, which changes no number, and so not the sign of a zero. The array is
// as long as the strips of all instruction sets.
template <class Acc>
struct nothing {
    Acc at[128 / sizeof(Acc)];
    constexpr nothing() : at() {
        for (Acc& x : at) x = static_cast<Acc>(-0.0);
    }
};
template <class Acc>
inline constexpr nothing<Acc> nothing_added;

#if defined(__x86_64__)
inline constexpr bool portable_is_last_resort = true; // few machines are left that run it
#else
inline constexpr bool portable_is_last_resort = false;
#endif

// An 8 x 8 square of 4- or 8-byte elements, columns contiguous in `from`, rows contiguous in `to`. Written
// with 16-byte vectors, which every machine has.
template <class T>
inline void transpose_square(T* to, index_t to_row, T const* from, index_t from_col) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4) {
        typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
        auto const in = [](T const* p) { return *reinterpret_cast<four const*>(p); };
        auto const out = [](T* p, four v) { *reinterpret_cast<four*>(p) = v; };
        for (int i = 0; i < 8; i += 4)
            for (int j = 0; j < 8; j += 4) {
                T const* const f = from + i + j * from_col;
                four const a = in(f), b = in(f + from_col), c = in(f + 2 * from_col),
                           d = in(f + 3 * from_col);
                four const ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
                four const ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
                four const cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
                four const cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
                T* const t = to + i * to_row + j;
                out(t, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
                out(t + to_row, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
                out(t + 2 * to_row, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
                out(t + 3 * to_row, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
            }
    } else {
        typedef double two __attribute__((vector_size(16), aligned(8), may_alias));
        auto const in = [](T const* p) { return *reinterpret_cast<two const*>(p); };
        auto const out = [](T* p, two v) { *reinterpret_cast<two*>(p) = v; };
        for (int i = 0; i < 8; i += 2)
            for (int j = 0; j < 8; j += 2) {
                T const* const f = from + i + j * from_col;
                two const a = in(f), b = in(f + from_col);
                T* const t = to + i * to_row + j;
                out(t, __builtin_shufflevector(a, b, 0, 2));
                out(t + to_row, __builtin_shufflevector(a, b, 1, 3));
            }
    }
}

// Vectors of one width. The loose type may be read and written at any address.
template <class T, int Bytes>
struct vector_types {
    typedef T type __attribute__((vector_size(Bytes)));
    typedef T loose __attribute__((vector_size(Bytes), aligned(1), may_alias));
};

#define STRATAGEMM_OP STRATAGEMM_TARGET inline __attribute__((always_inline))

// What the three sets of operations have in common.
#define STRATAGEMM_VECTORS(BYTES)                                                                            \
    template <class T>                                                                                       \
    inline constexpr int lanes = (BYTES) / static_cast<int>(sizeof(T));                                      \
    template <class T>                                                                                       \
    using vec = typename vector_types<lane<T>, BYTES>::type;                                                 \
    template <class T>                                                                                       \
    using loose = typename vector_types<lane<T>, BYTES>::loose;                                              \
    template <class T>                                                                                       \
    STRATAGEMM_OP vec<T> load(T const* p) {                                                                  \
        return *reinterpret_cast<loose<T> const*>(p);                                                        \
    }                                                                                                        \
    template <class T>                                                                                       \
    STRATAGEMM_OP void store(T* p, vec<T> v) {                                                               \
        *reinterpret_cast<loose<T>*>(p) = v;                                                                 \
    }                                                                                                        \
    /* a x + b y modulo 2^32, of signed integers, whose own overflow would be undefined */                   \
    template <class T>                                                                                       \
    STRATAGEMM_OP vec<T> modular_sum(vec<T> a, vec<T> x, vec<T> b, vec<T> y) {                               \
        using words = typename vector_types<std::uint32_t, BYTES>::type;                                     \
        return __builtin_bit_cast(vec<T>, __builtin_bit_cast(words, a) * __builtin_bit_cast(words, x) +      \
                                              __builtin_bit_cast(words, b) * __builtin_bit_cast(words, y));  \
    }

namespace host_portable {
#define STRATAGEMM_TARGET
inline constexpr bool masked = false; // loads and stores of part of a vector cost no more than whole ones
inline constexpr int tallest = 4, vectors = 2;
STRATAGEMM_VECTORS(16)

struct part {
    int count;
};
template <class T>
STRATAGEMM_OP part make_part(int count) {
    part n;
    n.count = count < 0 ? 0 : count < lanes<T> ? count : lanes<T>;
    return n;
}
// These are functions, since they serve ends of rows only; inline they are half of the code of a row times a matrix.
template <class T>
[[gnu::noinline]] vec<T> load_part(T const* p, part n) {
    vec<T> v{};
    __builtin_memcpy(&v, p, static_cast<std::size_t>(n.count) * sizeof(T));
    return v;
}
template <class T>
[[gnu::noinline]] void store_part(T* p, vec<T> v, part n) {
    __builtin_memcpy(p, &v, static_cast<std::size_t>(n.count) * sizeof(T));
}
template <class T>
STRATAGEMM_OP vec<T> broadcast(T const* p) {
    lane<T> x;
    __builtin_memcpy(&x, p, sizeof(x));
    return x - vec<T>{}; // x - 0 is x, also for -0
}
template <class T>
STRATAGEMM_OP void multiply_add(vec<accumulated<T>>& c, vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<accumulated<T>, T>)
        c += a * b;
    else
        c += (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
}
// The vector with the elements of each pair exchanged.
template <class T>
STRATAGEMM_OP vec<T> exchange_pairs(vec<T> v) {
    if constexpr (sizeof(T) == 8)
        return __builtin_shufflevector(v, v, 1, 0);
    else
        return __builtin_shufflevector(v, v, 1, 0, 3, 2);
}
template <class T>
STRATAGEMM_OP void multiply_add_row(vec<T>& c, T const* a, vec<T> b) {
    multiply_add<T>(c, broadcast<T>(a), b);
}
// One step of k for one row of a tile: an element of A times a row of B.
template <class T, int NV>
STRATAGEMM_OP void step_row(vec<accumulated<T>> (&c)[NV], T const* a, vec<T> const (&b)[NV]) {
    vec<T> const x = broadcast<T>(a);
    for (int v = 0; v < NV; ++v) multiply_add<T>(c[v], x, b[v]);
}
template <class T>
STRATAGEMM_OP void finish(T* c, vec<T> sum, vec<T> alpha, vec<T> beta, T const* e) {
    if constexpr (std::is_same_v<T, std::int32_t>)
        store<T>(c, modular_sum<T>(beta, load<T>(e), alpha, sum));
    else
        store<T>(c, beta * load<T>(e) + alpha * sum);
}
template <class T, class From>
STRATAGEMM_OP vec<T> load_as(From const* p) {
    if constexpr (std::is_same_v<T, From>)
        return load<T>(p);
    else {
        vec<T> v{};
        for (int l = 0; l < lanes<T>; ++l) v[l] = static_cast<T>(p[l]);
        return v;
    }
}
#ifndef STRATAGEMM_COMPILED_KERNELS
#    include "kernel.inl.hpp"
#    include "rows.inl.hpp"
#    if !defined(__x86_64__)
#        include "dots.inl.hpp"
#    endif
#endif
#undef STRATAGEMM_TARGET
} // namespace host_portable

#if defined(__x86_64__)

namespace host_avx2 {
#    define STRATAGEMM_TARGET __attribute__((target("avx2,fma,f16c")))
inline constexpr bool masked = false;
inline constexpr int tallest = 6, vectors = 2;
STRATAGEMM_VECTORS(32)

struct part {
    int count;
};
template <class T>
STRATAGEMM_OP part make_part(int count) {
    return {count};
}
template <class T>
STRATAGEMM_OP auto mask_of(part n) {
    using I = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    typedef I ints __attribute__((vector_size(32)));
    if constexpr (sizeof(T) == 8)
        return ints{0, 1, 2, 3} < n.count;
    else
        return ints{0, 1, 2, 3, 4, 5, 6, 7} < n.count;
}
template <class T>
STRATAGEMM_OP vec<T> load_part(T const* p, part n) {
    vec<T> v;
    auto const& source = *reinterpret_cast<loose<T> const*>(p);
    if constexpr (sizeof(T) == 8)
        asm("vmaskmovpd %1, %2, %0" : "=x"(v) : "m"(source), "x"(mask_of<T>(n)));
    else
        asm("vmaskmovps %1, %2, %0" : "=x"(v) : "m"(source), "x"(mask_of<T>(n)));
    return v;
}
template <class T>
STRATAGEMM_OP void store_part(T* p, vec<T> v, part n) {
    auto& target = *reinterpret_cast<loose<T>*>(p);
    if constexpr (sizeof(T) == 8)
        asm("vmaskmovpd %1, %2, %0" : "+m"(target) : "x"(v), "x"(mask_of<T>(n)));
    else
        asm("vmaskmovps %1, %2, %0" : "+m"(target) : "x"(v), "x"(mask_of<T>(n)));
}
#    include "vector_x86.inl.hpp"

#    ifndef STRATAGEMM_COMPILED_KERNELS
#        include "kernel.inl.hpp"

#        include "rows.inl.hpp"

#        include "dots.inl.hpp"

#        include "columns_avx2.inl.hpp"
#    endif
#    undef STRATAGEMM_TARGET
} // namespace host_avx2

namespace host_avx512 {
#    define STRATAGEMM_TARGET STRATAGEMM_AVX512
inline constexpr bool masked = true;
inline constexpr int tallest = 8, vectors = 2;
STRATAGEMM_VECTORS(64)

struct part {
    unsigned short mask;
};
template <class T>
STRATAGEMM_OP part make_part(int count) {
    part n;
    n.mask = static_cast<unsigned short>(count >= lanes<T> ? (1 << lanes<T>)-1
                                         : count > 0       ? (1 << count) - 1
                                                           : 0);
    return n;
}
template <class T>
STRATAGEMM_OP vec<T> load_part(T const* p, part n) {
    vec<T> v;
    auto const& source = *reinterpret_cast<loose<T> const*>(p);
    if constexpr (sizeof(T) == 8)
        asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(source), "Yk"(n.mask));
    else
        asm("vmovups %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(source), "Yk"(n.mask));
    return v;
}
template <class T>
STRATAGEMM_OP void store_part(T* p, vec<T> v, part n) {
    auto& target = *reinterpret_cast<loose<T>*>(p);
    if constexpr (sizeof(T) == 8)
        asm("vmovupd %1, %0%{%2%}" : "+m"(target) : "v"(v), "Yk"(n.mask));
    else
        asm("vmovups %1, %0%{%2%}" : "+m"(target) : "v"(v), "Yk"(n.mask));
}
template <class T>
STRATAGEMM_OP void finish_part(T* c, vec<T> sum, vec<T> alpha, vec<T> beta, T const* e, part n) {
    auto& to = *reinterpret_cast<loose<T>*>(c);
    auto const& from = *reinterpret_cast<loose<T> const*>(e);
    vec<T> x;
    if constexpr (std::is_same_v<T, double>)
        asm("vmulpd %2, %4, %1%{%6%}%{z%}\n\tvfmadd231pd %3, %5, %1\n\tvmovupd %1, %0%{%6%}"
            : "+m"(to), "=&v"(x)
            : "m"(from), "v"(sum), "v"(beta), "v"(alpha), "Yk"(n.mask));
    else if constexpr (std::is_same_v<T, float>)
        asm("vmulps %2, %4, %1%{%6%}%{z%}\n\tvfmadd231ps %3, %5, %1\n\tvmovups %1, %0%{%6%}"
            : "+m"(to), "=&v"(x)
            : "m"(from), "v"(sum), "v"(beta), "v"(alpha), "Yk"(n.mask));
    else
        store_part<T>(c, modular_sum<T>(alpha, sum, beta, load_part<T>(e, n)), n);
}
#    include "vector_x86.inl.hpp"

#    ifndef STRATAGEMM_COMPILED_KERNELS
#        include "kernel.inl.hpp"

#        include "rows.inl.hpp"

#        include "packets.inl.hpp"
#    endif
#    undef STRATAGEMM_TARGET
} // namespace host_avx512

#endif

#undef STRATAGEMM_VECTORS
#undef STRATAGEMM_OP

// Bytes of the vectors that dot_products() sums in.
#if defined(__x86_64__)
inline constexpr index_t dot_vector = 32;
#else
inline constexpr index_t dot_vector = 16;
#endif

// The kernels for packets T, packed from elements From.
template <class T, class From>
struct kernel_table {
    int strip;     // columns of B in one strip
    int tallest;   // rows of the tallest tile
    bool masked;   // the last strip of B may be narrower; otherwise a packed one is padded
    int generated; // bytes of the vectors of generated kernels, which do most of the work; 0: there are none
    void (*block)(block_args<T> const&);
    void (*add)(block_args<accumulated<T>> const&); // C = alpha B + beta E
    void (*convert_rows)(T*, index_t, From const*, index_t, index_t,
                         index_t) = nullptr; // where From is not T
    void (*turn)(T*, index_t, T const*, index_t, index_t, index_t) = nullptr;
    // Make packets from rows of elements along k, and from rows that lie across k.
    void (*copy_packets)(T*, index_t, dotted<T> const*, index_t, index_t, index_t, std::int32_t) = nullptr;
    void (*join_packets)(T*, index_t, dotted<T> const*, index_t, index_t, index_t, std::int32_t) = nullptr;
    // Where a function is missing, the blocked product does it. The B of these two has elements From.
    void (*rows_times_rows)(block_args<T> const&) = nullptr;
    void (*dot_products)(block_args<dotted<T>> const&) = nullptr;
    // For products smaller than a block, without portable versions: `small` multiplies any, `quads` contiguous 4 x 4
    // matrices.
    void (*small)(block_args<T> const&) = nullptr;
    void (*quads)(block_args<T> const&) = nullptr;
};

#ifdef STRATAGEMM_COMPILED_KERNELS
template <class T, class From>
kernel_table<T, From> const& kernels(); // instances.hpp says for which types
template <class T>
void join_parts(block_args<T> const&, bool conjugate_a, bool conjugate_b);
#else
#    define STRATAGEMM_TABLE(NAME)                                                                           \
        [] {                                                                                                 \
            kernel_table<T, From> own;                                                                       \
            own.strip = NAME::lanes<T> * NAME::vectors, own.tallest = NAME::tallest,                         \
            own.masked = NAME::masked, own.generated = 0;                                                    \
            own.block = NAME::block<T>;                                                                      \
            if constexpr (std::is_floating_point_v<T>) {                                                     \
                if constexpr (!std::is_same_v<T, From>) own.convert_rows = NAME::convert_rows<T, From>;      \
            }                                                                                                \
            return own;                                                                                      \
        }()

// The table of the instruction set in force, empty where the machine lacks it. A machine with tiles runs the AVX-512
// kernels for all products that tiles cannot compute.
template <class T, class From>
[[gnu::cold, gnu::noinline]] kernel_table<T, From> find_kernels() {
    if (!current_isa().available) return {};
#    if defined(__x86_64__)
    if (current_isa().isa >= host_isa::avx2) {
        if constexpr (is_packet<T>)
            if (current_isa().isa < host_isa::avx512) return {};
        kernel_table<T, From> t;
        if (current_isa().isa >= host_isa::avx512)
            t = STRATAGEMM_TABLE(host_avx512);
        else if constexpr (!is_packet<T>)
            t = STRATAGEMM_TABLE(host_avx2);
        t.generated = t.masked ? 64 : STRATAGEMM_GENERATES ? 32 : 0;
        // Functions that wait for memory and for shuffles more than for arithmetic: AVX2 runs these for AVX-512 too.
        t.add = host_avx2::add<accumulated<T>>;
        if constexpr (std::is_floating_point_v<T>) t.turn = host_avx2::turn<T>;
        if constexpr (is_packet<T>) {
            t.dot_products = host_avx2::dot_products<dotted<T>>, t.turn = host_avx2::turn<T>;
            t.copy_packets = host_avx512::copy_packets<T>, t.join_packets = host_avx512::join_packets<T>;
        } else if constexpr (std::is_same_v<T, From>) {
            t.dot_products = host_avx2::dot_products<T>, t.rows_times_rows = host_avx2::rows_times_rows<T>;
            t.small = host_avx2::small<T>;
        }
        if constexpr (std::is_floating_point_v<T> && !std::is_same_v<T, From>) {
            t.rows_times_rows = // to widen is arithmetic
                t.masked ? host_avx512::rows_times_rows<T, From> : host_avx2::rows_times_rows<T, From>;
            t.dot_products = host_avx2::dot_products<T, From>;
        }
        if constexpr (std::is_same_v<T, From> && std::is_same_v<T, float>) t.quads = host_avx2::quads;
        return t;
    }
#    endif
    if constexpr (!is_packet<T>) {
        kernel_table<T, From> t = STRATAGEMM_TABLE(host_portable);
        t.add = host_portable::add<accumulated<T>>;
        if constexpr (std::is_floating_point_v<T> && !portable_is_last_resort)
            t.rows_times_rows = host_portable::rows_times_rows<T, From>;
#    if !defined(__x86_64__)
        if constexpr (std::is_floating_point_v<T>) t.dot_products = host_portable::dot_products<T, From>;
#    endif
        return t;
    } else {
        return kernel_table<T, From>{};
    }
}
// Hidden: each library that holds this code has its own tables, since they are of no use when the library is unloaded.
template <class T, class From>
[[gnu::visibility("hidden")]] inline kernel_table<T, From> const& kernels() {
    static kernel_table<T, From> const table = find_kernels<T, From>();
    return table;
}

#    undef STRATAGEMM_TABLE

// C = alpha B + beta E, where rows 2i and 2i + 1 of B have the sums for row i of a complex C (packing.hpp). The
// function is not in the table: programs without complex numbers do not need it.
template <class T>
void join_parts(block_args<T> const& g, bool conjugate_a, bool conjugate_b) {
#    if defined(__x86_64__)
    if (current_isa().isa >= host_isa::avx2) return host_avx2::join<T>(g, conjugate_a, conjugate_b);
#    endif
    host_portable::join<T>(g, conjugate_a, conjugate_b);
}
#endif

STRATAGEMM_END
