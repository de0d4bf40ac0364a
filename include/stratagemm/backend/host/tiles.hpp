// bfloat16 and int8 on the tile units (AMX) of x86-64.
//
// A tile is 16 rows of 64 bytes. Two tiles of A and two of B make a 32 x 32 block of C in four accumulators:
// per step of k (64 bytes of a row) four loads and four products of 16 cycles each. Tiles of A have 16 rows of
// A as they are; tiles of B have the elements that one product adds (two bfloat16, four int8) side by side.
// Both are packed tile after tile.
//
// The source of tiles decides the speed: the unit takes 64 bytes a cycle, and the second-level cache gives less (the
// loop alone runs at 0.8 to 0.9 of the unit's rate, 0.99 with half of the loads left out). A panel of 32 columns of B,
// 16 steps deep, therefore stays in the first level, while blocks of A stream past it from the second, loaded with the
// hint that they will not be used again soon. The third level gives a good deal less: lines from there are fetched a
// panel or more before their use. Sums of unfinished blocks wait in the second level, as tiles: the loops over a
// macro-block of C have k outside. A finished block leaves through a buffer and is written row by row between the steps
// of the next one.
//
// Few panels of B need each row of A so seldom that packing the row does not pay: from 32 rows on, up to 96 columns of
// C load tiles from where rows of A lie along k, and only the rest that 64 bytes do not divide is packed. Where one
// block of rows needs B, each thread packs a chunk of B just before the chunk is used, and not all of B.
//
// The unit reads subnormal bfloat16 numbers as zero and flushes subnormal sums; integers are exact.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

template <class T>
concept tile_element = std::same_as<T, bfloat16> || std::same_as<T, std::int8_t>;

template <tile_element T>
struct tile_sizes {
    static constexpr index_t side = 32;                                   // rows and columns of a block of C
    static constexpr index_t step = 64 / static_cast<index_t>(sizeof(T)); // elements of k in one product
    static constexpr index_t group = 4 / static_cast<index_t>(sizeof(T)); // elements of k side by side in B
    static constexpr index_t chunk = 16;                                  // steps of a panel of B
    static constexpr index_t rows = 256, cols = 512;                      // a macro-block of C
    static constexpr index_t few = 3;                      // so many panels of B read A where it is
    static constexpr index_t window = 256;                 // rows packed together, if by quads
    static constexpr index_t tile = 1024, pair = 2 * tile; // bytes

    static index_t steps(index_t k) { return divide_up(k, step); }
    // Rows of A and columns of B that are packed at a time: all of k, within a limit of bytes.
    static index_t packed_rows(index_t m, index_t k) {
        return smaller(divide_up(m, side) * side, clamp(index_t{8} << 20, k, rows));
    }
    static index_t packed_cols(index_t n, index_t k) {
        return smaller(divide_up(n, side) * side, clamp(index_t{32} << 20, k, 16384));
    }

private:
    static index_t clamp(index_t bytes, index_t k, index_t most) {
        return larger_of(side, smaller(most, bytes / (steps(k) * 64) / side * side));
    }
};

#if defined(__x86_64__)

#    define STRATAGEMM_TILES STRATAGEMM_AVX512

namespace host_tiles {

template <class T>
using vec = host_avx512::vec<T>;

// All eight tiles 16 rows of 64 bytes; smaller operands are padded with zeros.
struct configuration {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
class tile_unit {
public:
    STRATAGEMM_TILES tile_unit() {
        static constexpr configuration c{};
        asm volatile("ldtilecfg %0" : : "m"(c));
    }
    STRATAGEMM_TILES ~tile_unit() { asm volatile("tilerelease"); }
    tile_unit(tile_unit const&) = delete;
    tile_unit& operator=(tile_unit const&) = delete;
};

template <class Acc>
STRATAGEMM_TILES inline void stream(Acc* to, vec<Acc> v) {
    asm("vmovntps %1, %0" : "=m"(*reinterpret_cast<vec<Acc>*>(to)) : "v"(v));
}

// A finished block on its way to C = alpha sum + beta E: 32 x 32 sums as four tiles.
template <class Acc>
struct finished {
    Acc const* sum;
    Acc const* e;
    Acc* c;
    index_t e_row, c_row;
    index_t rows = 0, cols = 0; // no rows: nothing to write
    Acc alpha, beta;
    bool streams;      // whole cache lines, past the caches
    index_t first = 0; // rows before are written already; block_of_rows() alone begins there

    STRATAGEMM_TILES inline void write(index_t from, index_t to) const {
        using namespace host_avx512;
        auto const left = make_part<Acc>(static_cast<int>(cols)),
                   right = make_part<Acc>(static_cast<int>(cols < 16 ? 0 : cols - 16));
        vec<Acc> const va = broadcast<Acc>(&alpha), vb = broadcast<Acc>(&beta);
        for (index_t i = from; i < to; ++i) {
            Acc const* const s = sum + i / 16 * 512 + i % 16 * 16;
            vec<Acc> x{}, y{};
            if (beta != Acc(0)) {
                x = load_part<Acc>(e + i * e_row, left);
                y = load_part<Acc>(e + i * e_row + 16, right);
            }
            if constexpr (std::is_integral_v<Acc>) {
                x = modular_sum<Acc>(va, load<Acc>(s), vb, x);
                y = modular_sum<Acc>(va, load<Acc>(s + 256), vb, y);
            } else {
                x *= vb, y *= vb;
                multiply_add<Acc>(x, va, load<Acc>(s));
                multiply_add<Acc>(y, va, load<Acc>(s + 256));
            }
            if (streams) {
                stream<Acc>(c + i * c_row, x);
                stream<Acc>(c + i * c_row + 16, y);
                continue;
            }
            store_part<Acc>(c + i * c_row, x, left);
            store_part<Acc>(c + i * c_row + 16, y, right);
        }
    }
};

// The four accumulators.
STRATAGEMM_TILES inline __attribute__((always_inline)) void zero_sums() {
    asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
}
STRATAGEMM_TILES inline __attribute__((always_inline)) void store_sums(void* to) {
    asm volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 1024(%0,%1,1)\n\t"
                 "tilestored %%tmm2, 2048(%0,%1,1)\n\ttilestored %%tmm3, 3072(%0,%1,1)"
                 :
                 : "r"(to), "r"(index_t{64})
                 : "memory");
}

// Two tiles of A, one below the other. Packed, their rows follow each other.
struct tile_rows {
    std::byte const* data;
    index_t apart; // bytes

    tile_rows(std::byte const* packed) : data(packed), apart(64) {}
    tile_rows(std::byte const* first, index_t apart_) : data(first), apart(apart_) {}
};
// The tiles of one step of A and B; and the four products of a step, added to the accumulators, between which the tiles
// of the next are loaded, each as soon as its place is free.
STRATAGEMM_TILES inline __attribute__((always_inline)) void load_step(tile_rows a, std::byte const* b) {
    asm volatile("tileloaddt1 (%0,%1,1), %%tmm4\n\ttileloadd (%3,%4,1), %%tmm6\n\t"
                 "tileloaddt1 (%2,%1,1), %%tmm5\n\ttileloadd 1024(%3,%4,1), %%tmm7"
                 :
                 : "r"(a.data), "r"(a.apart), "r"(a.data + 16 * a.apart), "r"(b), "r"(index_t{64})
                 : "memory");
}
template <class T>
STRATAGEMM_TILES inline __attribute__((always_inline)) void multiply_and_load(tile_rows a,
                                                                              std::byte const* b) {
#    define STRATAGEMM_TILES_STEP(PRODUCT)                                                                   \
        asm volatile(PRODUCT " %%tmm6, %%tmm4, %%tmm0\n\t" PRODUCT                                           \
                             " %%tmm7, %%tmm4, %%tmm1\n\ttileloaddt1 (%0,%1,1), %%tmm4\n\t" PRODUCT          \
                             " %%tmm6, %%tmm5, %%tmm2\n\ttileloadd (%3,%4,1), %%tmm6\n\t" PRODUCT            \
                             " %%tmm7, %%tmm5, %%tmm3\n\ttileloaddt1 (%2,%1,1), %%tmm5\n\t"                  \
                             "tileloadd 1024(%3,%4,1), %%tmm7"                                               \
                     :                                                                                       \
                     : "r"(a.data), "r"(a.apart), "r"(a.data + 16 * a.apart), "r"(b), "r"(index_t{64})       \
                     : "memory")
    if constexpr (std::is_same_v<T, bfloat16>)
        STRATAGEMM_TILES_STEP("tdpbf16ps");
    else
        STRATAGEMM_TILES_STEP("tdpbssd");
#    undef STRATAGEMM_TILES_STEP
}
template <class T>
STRATAGEMM_TILES inline __attribute__((always_inline)) void multiply_last() {
    if constexpr (std::is_same_v<T, bfloat16>)
        asm volatile("tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm7, %tmm4, %tmm1\n\t"
                     "tdpbf16ps %tmm6, %tmm5, %tmm2\n\ttdpbf16ps %tmm7, %tmm5, %tmm3");
    else
        asm volatile("tdpbssd %tmm6, %tmm4, %tmm0\n\ttdpbssd %tmm7, %tmm4, %tmm1\n\t"
                     "tdpbssd %tmm6, %tmm5, %tmm2\n\ttdpbssd %tmm7, %tmm5, %tmm3");
}

// The next operands are fetched to the second-level cache: with every block a piece of the next panel of B, and, over
// the last panels, one of the next chunk of A, which is large and would not stay there for long. Null: nothing is
// fetched.
class ahead {
public:
    ahead() = default;
    ahead(std::byte const* next_a, std::byte const* next_b, index_t x, index_t rows, index_t y, index_t cols)
        : wide_(rows < 16) {
        index_t const parts = wide_ ? 8 : 16; // of a panel
        if (next_b && x < parts) b_ = next_b + x * (panel / parts);
        if (next_a && y >= cols - 8) a_ = next_a + ((y - larger_of(0, cols - 8)) * rows + x) * (panel / 8);
    }

    inline __attribute__((always_inline)) void fetch() { // in each of 16 steps
        if (b_) b_ = wide_ ? fetch<256>(b_) : fetch<128>(b_);
        if (a_) a_ = fetch<256>(a_);
    }

private:
    static constexpr index_t panel = 32 << 10; // of 32 columns, or rows

    template <index_t Bytes>
    static inline __attribute__((always_inline)) std::byte const* fetch(std::byte const* from) {
        for (index_t line = 0; line < Bytes; line += 64) __builtin_prefetch(from + line, 0, 2);
        return from + Bytes;
    }
    std::byte const *a_ = nullptr, *b_ = nullptr;
    bool wide_ = false;
};

// to (four tiles) = from (likewise, or zero) + `steps` steps of A and B. Meanwhile the finished block `before` is
// written, and the next operands are fetched. `before` is read before `to` is written.
template <class T, class Finished>
STRATAGEMM_TILES inline void block(index_t steps, std::byte const* a, std::byte const* b,
                                   accumulator_t<T> const* from, accumulator_t<T>* to, Finished const& before,
                                   ahead next = {}) {
    load_step(a, b);
    if (from)
        asm volatile("tileloadd (%0,%1,1), %%tmm0\n\ttileloadd 1024(%0,%1,1), %%tmm1\n\t"
                     "tileloadd 2048(%0,%1,1), %%tmm2\n\ttileloadd 3072(%0,%1,1), %%tmm3"
                     :
                     : "r"(from), "r"(index_t{64})
                     : "memory");
    else
        zero_sums();
    index_t row = 0;
    for (; steps > 0; --steps) {
        a += tile_sizes<T>::pair, b += tile_sizes<T>::pair;
        if (steps > 1)
            multiply_and_load<T>(a, b);
        else
            multiply_last<T>();
        next.fetch();
        if (row < before.rows) {
            index_t const end = steps > 1 ? smaller(row + 2, before.rows) : before.rows;
            before.write(row, end);
            row = end;
        }
    }
    store_sums(to);
}

// A packed operand: `blocks` blocks of 32 rows (of A, or columns of B), and of k the steps [begin, steps), a pair of
// tiles each. Chunks of k are outermost, so that what is used together lies together.
template <class T>
struct packed {
    std::byte* data;
    index_t blocks, steps;
    index_t begin = 0;

    std::byte* at(index_t block, index_t step) const {
        index_t const first = (step - begin) / tile_sizes<T>::chunk * tile_sizes<T>::chunk;
        return data + (first * blocks + block * depth(step) + (step - begin - first)) * tile_sizes<T>::pair;
    }
    // Steps of the chunk that has this step.
    index_t depth(index_t step) const {
        index_t const first = (step - begin) / tile_sizes<T>::chunk * tile_sizes<T>::chunk;
        return smaller(tile_sizes<T>::chunk, steps - begin - first);
    }
    static index_t bytes(index_t rows, index_t k) {
        return divide_up(rows, 32) * tile_sizes<T>::steps(k) * tile_sizes<T>::pair;
    }
};

// 32 rows of C of 32 columns at most: to (four tiles) = `whole` steps of rows of A where they are, and of `end`, what
// is left of them, packed, unless that is null. Rows of this block and of the next are fetched some steps ahead.
template <class T, class Finished>
STRATAGEMM_TILES inline void block_of_rows(index_t whole, tile_rows a, std::byte const* end,
                                           packed<T> const& b, index_t panel, std::byte const* next,
                                           accumulator_t<T>* to, Finished const& before) {
    index_t const steps = whole + (end != nullptr), early = smaller(8, steps - 1);
    auto const step = [&](index_t s) {
        return s < whole ? tile_rows{a.data + s * 64, a.apart} : tile_rows{end, 64};
    };
    load_step(step(0), b.at(panel, 0));
    zero_sums();
    index_t row = before.first;
    for (index_t s = 1; s < steps; ++s) {
        multiply_and_load<T>(step(s), b.at(panel, s));
        if (next) {
            std::byte const* from =
                s + early < steps ? a.data + (s + early) * 64 : next + (s + early - steps) * 64;
            for (index_t r = 0; r < 32; ++r, from += a.apart) __builtin_prefetch(from, 0, 2);
        }
        if (row < before.rows) {
            index_t const most = smaller(row + 2, before.rows);
            before.write(row, most);
            row = most;
        }
    }
    multiply_last<T>();
    before.write(row, before.rows);
    store_sums(to);
}

typedef std::uint8_t bytes __attribute__((vector_size(64), may_alias));
typedef std::uint8_t loose_bytes __attribute__((vector_size(64), may_alias, aligned(1)));

// 16 x 16 words of 4 bytes, rows and columns exchanged. Rows of `from`, which lies elsewhere, are `apart` bytes apart.
// Four columns at a time: 16 bytes of each of four rows lie side by side, and of four such vectors first the words and
// then pairs of words take turns.
STRATAGEMM_TILES inline void transpose_tile(std::byte* tile, std::byte const* from, index_t apart) {
    typedef float line __attribute__((vector_size(64), may_alias));
    auto* to = reinterpret_cast<line*>(tile);
    for (int column = 0; column < 16; column += 4, from += 16, to += 4) {
        line x[4], y[4];
        for (int r = 0; r < 4; ++r)
            asm("vmovdqu (%1), %x0\n\tvinserti32x4 $1, (%1,%2,4), %0, %0\n\t"
                "vinserti32x4 $2, (%1,%2,8), %0, %0\n\tvinserti32x4 $3, (%3,%2,4), %0, %0"
                : "=&x"(x[r])
                : "r"(from + r * apart), "r"(apart), "r"(from + r * apart + 8 * apart)
                : "memory");
        asm("vunpcklps %5, %4, %0\n\tvunpckhps %5, %4, %1\n\tvunpcklps %7, %6, %2\n\tvunpckhps %7, %6, %3"
            : "=&v"(y[0]), "=&v"(y[1]), "=&v"(y[2]), "=&v"(y[3])
            : "v"(x[0]), "v"(x[1]), "v"(x[2]), "v"(x[3]));
        asm("vunpcklpd %6, %4, %0\n\tvunpckhpd %6, %4, %1\n\tvunpcklpd %7, %5, %2\n\tvunpckhpd %7, %5, %3"
            : "=&v"(to[0]), "=&v"(to[1]), "=&v"(to[2]), "=&v"(to[3])
            : "v"(y[0]), "v"(y[1]), "v"(y[2]), "v"(y[3]));
    }
}
STRATAGEMM_TILES inline void transpose_tile(std::byte* tile) {
    alignas(64) std::byte copy[1024];
    __builtin_memcpy(copy, tile, sizeof(copy));
    transpose_tile(tile, copy, 64);
}

// Steps [s0, s1) of 16 rows of v, as they are, to half of a block. Rows that v does not have are not written; what they
// add is not part of C.
template <class T>
STRATAGEMM_TILES inline void pack_rows(view<T const> const& v, index_t i, index_t s0, index_t s1,
                                       packed<T> const& to, index_t block, index_t half) {
    using sizes = tile_sizes<T>;
    for (index_t r = 0; r < smaller(16, v.rows - i); ++r) {
        T const* f = v.data + (i + r) * v.row_stride + s0 * sizes::step * v.col_stride;
        index_t left = v.cols - s0 * sizes::step;
        if (v.col_stride == 1)
            for (index_t l = 0; l < smaller(left, (s1 - s0) * sizes::step); l += sizes::step)
                __builtin_prefetch(f + 2 * v.row_stride + l);
        std::byte* t = nullptr;
        for (index_t s = s0; s < s1; ++s, left -= sizes::step, f += sizes::step * v.col_stride) {
            t = s == s0 || s % sizes::chunk == 0 ? to.at(block, s) + half * sizes::tile + r * 64
                                                 : t + sizes::pair;
            if (v.col_stride == 1 && left >= sizes::step) {
                *reinterpret_cast<bytes*>(t) = *reinterpret_cast<loose_bytes const*>(f);
            } else if (v.col_stride == 1) { // what is not there is zero, and not read
                bytes line;
                asm("vmovdqu8 %1, %0%{%2%}%{z%}"
                    : "=v"(line)
                    : "m"(*reinterpret_cast<loose_bytes const*>(f)),
                      "Yk"((std::uint64_t{1} << left * index_t{sizeof(T)}) - 1));
                *reinterpret_cast<bytes*>(t) = line;
            } else {
                alignas(64) T line[sizes::step] = {};
                for (index_t q = 0; q < smaller(left, sizes::step); ++q) line[q] = f[q * v.col_stride];
                __builtin_memcpy(t, line, 64);
            }
        }
    }
}

// One step of rows [i0, i1) of v, a window of them at most, which are side by side in memory: 4 bytes of k of 16 rows
// after each other.
// Source lines are read from end to end, `group` at a time.
template <class T>
STRATAGEMM_TILES inline void pack_quads(view<T const> const& v, index_t i0, index_t i1, index_t s,
                                        packed<T> const& to, index_t block) {
    using sizes = tile_sizes<T>;
    constexpr index_t group = sizes::group, size = sizeof(T);
    typedef char piece __attribute__((vector_size(16 * sizeof(T)), aligned(1), may_alias));
    // Byte l of a line of the tile: byte l % size of element l % 4 / size of the group, row l / 4.
    struct table {
        std::uint8_t at[64] = {};
        constexpr table() {
            for (int l = 0; l < 64; ++l)
                at[l] = static_cast<std::uint8_t>(l % 4 / size * 16 * size + l / 4 * size + l % size);
        }
    };
    alignas(64) static constexpr table order_table;
    alignas(64) static constexpr T zeros[sizes::window] = {};
    bytes const order = *reinterpret_cast<bytes const*>(order_table.at);
    index_t const distance = to.at(block + 1, s) - to.at(block, s);
    for (index_t g = 0; g < 16; ++g) {
        index_t const p = s * sizes::step + g * group;
        T const* const f = v.data + p * v.col_stride + i0;
        T const* row[group];
        for (index_t q = 0; q < group; ++q) row[q] = p + q < v.cols ? f + q * v.col_stride : zeros;
        std::byte* t = to.at(block, s) + g * 64;
        for (index_t i = 0; i < i1 - i0; i += 16, t += i % 32 == 0 ? distance - sizes::tile : sizes::tile) {
            if (i * size % 64 == 0)
                for (index_t q = 0; q < group; ++q) __builtin_prefetch(f + (group + q) * v.col_stride + i);
            bytes in, out;
            auto const source = [&](index_t q) -> piece const& {
                return *reinterpret_cast<piece const*>(row[q] + i);
            };
            if (index_t const left = v.rows - i0 - i; left < 16) { // what is not there is zero, and not read
                auto const mask = static_cast<unsigned short>(left > 0 ? (1 << left) - 1 : 0);
                bytes part;
                if constexpr (group == 4)
                    asm("vmovdqu8 %2, %x0%{%6%}%{z%}\n\tvmovdqu8 %3, %x1%{%6%}%{z%}\n\t"
                        "vinserti32x4 $1, %x1, %0, %0\n\tvmovdqu8 %4, %x1%{%6%}%{z%}\n\t"
                        "vinserti32x4 $2, %x1, %0, %0\n\tvmovdqu8 %5, %x1%{%6%}%{z%}\n\t"
                        "vinserti32x4 $3, %x1, %0, %0"
                        : "=&v"(in), "=&v"(part)
                        : "m"(source(0)), "m"(source(1)), "m"(source(2)), "m"(source(3)), "Yk"(mask));
                else
                    asm("vmovdqu16 %2, %t0%{%4%}%{z%}\n\tvmovdqu16 %3, %t1%{%4%}%{z%}\n\t"
                        "vinserti64x4 $1, %t1, %0, %0"
                        : "=&v"(in), "=&v"(part)
                        : "m"(source(0)), "m"(source(1)), "Yk"(mask));
            } else if constexpr (group == 4) {
                asm("vmovdqu %1, %x0\n\tvinserti32x4 $1, %2, %0, %0\n\t"
                    "vinserti32x4 $2, %3, %0, %0\n\tvinserti32x4 $3, %4, %0, %0"
                    : "=&x"(in)
                    : "m"(source(0)), "m"(source(1)), "m"(source(2)), "m"(source(3)));
            } else {
                asm("vmovdqu %1, %t0\n\tvinserti64x4 $1, %2, %0, %0"
                    : "=&x"(in)
                    : "m"(source(0)), "m"(source(1)));
            }
            asm("vpermb %1, %2, %0" : "=v"(out) : "v"(in), "v"(order));
            *reinterpret_cast<bytes*>(t) = out;
        }
    }
}

// Rows [i0, i1) of v (rows of A, or columns of B) and steps [s0, s1) of k into tiles, 4-byte words exchanged if
// `quads`. i0 is a multiple of 32 and the first row of `to`; so is i1, unless it is the last.
template <class T>
STRATAGEMM_TILES void pack(view<T const> const& v, index_t i0, index_t i1, index_t s0, index_t s1, bool quads,
                           packed<T> const& to) {
    using sizes = tile_sizes<T>;
    bool const by_quads = v.row_stride == 1 && v.col_stride != 1;
    index_t const end = i0 + divide_up(i1 - i0, 32) * 32;
    if (by_quads)
        for (index_t i = i0; i < end; i += sizes::window)
            for (index_t s = s0; s < s1; ++s)
                pack_quads(v, i, smaller(end, i + sizes::window), s, to, (i - i0) / 32);
    for (index_t i = i0; i < i1; i += 16) {
        index_t const block = (i - i0) / 32, half = (i - i0) / 16 % 2;
        if (!by_quads && !quads) {
            pack_rows(v, i, s0, s1, to, block, half);
            continue;
        }
        for (index_t s = s0; s < s1 && by_quads != quads; ++s) {
            std::byte* const tile = to.at(block, s) + half * sizes::tile;
            index_t const k = s * sizes::step;
            if (!by_quads && v.col_stride == 1 && i + 16 <= v.rows && k + sizes::step <= v.cols) {
                transpose_tile(tile, reinterpret_cast<std::byte const*>(v.data + i * v.row_stride + k),
                               v.row_stride * index_t{sizeof(T)});
                continue;
            }
            if (!by_quads)
                pack_rows<T>(v.block(i, k, smaller(16, v.rows - i), v.cols - k), 0, 0, 1, {tile, 1, 1}, 0, 0);
            transpose_tile(tile);
        }
    }
}

} // namespace host_tiles

// Workspace of one thread.
template <tile_element T>
struct tile_scratch {
    using sizes = tile_sizes<T>;
    using acc = accumulator_t<T>;
    static constexpr index_t block = 32 * 32;
    std::byte *a, *b;        // A, and a chunk of B if each is packed when it is needed
    acc *sums, *out, *stage; // unfinished blocks; a finished one; one in rows

    static index_t a_bytes(index_t m, index_t k) {
        return host_tiles::packed<T>::bytes(sizes::packed_rows(m, k), k);
    }
    static index_t sum_count(index_t m, index_t n, index_t k) {
        return sizes::steps(k) <= sizes::chunk
                   ? 0
                   : sizes::packed_rows(m, k) * smaller(divide_up(n, 32) * 32, sizes::cols);
    }
    static index_t b_bytes(index_t n, index_t k, bool by_chunks) {
        return by_chunks ? host_tiles::packed<T>::bytes(smaller(n, sizes::cols),
                                                        smaller(k, sizes::chunk * sizes::step))
                         : 0;
    }
    static std::size_t bytes(index_t m, index_t n, index_t k, bool by_chunks) {
        return host_arena::rounded(static_cast<std::size_t>(a_bytes(m, k))) +
               host_arena::rounded(static_cast<std::size_t>(b_bytes(n, k, by_chunks))) +
               host_arena::rounded(static_cast<std::size_t>(sum_count(m, n, k)) * sizeof(acc)) +
               2 * block * sizeof(acc);
    }
    tile_scratch(host_arena& arena, index_t m, index_t n, index_t k, bool by_chunks)
        : a(arena.take<std::byte>(a_bytes(m, k))), b(arena.take<std::byte>(b_bytes(n, k, by_chunks))),
          sums(arena.take<acc>(sum_count(m, n, k))), out(arena.take<acc>(block)),
          stage(arena.take<acc>(block)) {}
};

// A block of C that begins at (i, j). Rows before `first` are left out; `streams`: C is written past the caches.
struct tile_block {
    index_t i, j, rows, cols;
    index_t first = 0;
    bool streams = false;
};

// Writes the sums of a block to C, if C is written through a function. Otherwise returns the block that is to be
// written between the steps of the next block.
template <class T, class Packing>
STRATAGEMM_TILES inline __attribute__((always_inline)) host_tiles::finished<accumulator_t<T>>
finish_block(host_job<T, Packing> const& job, tile_scratch<T> const& scratch, accumulator_t<T> const* sum,
             tile_block const& block) {
    using acc = accumulator_t<T>;
    auto const [i, j, height, width, first, streams] = block;
    if (!job.write)
        return {sum,
                job.e + i * job.e_row + j,
                job.c + i * job.c_row + j,
                job.e_row,
                job.c_row,
                height,
                width,
                job.alpha,
                job.beta,
                streams,
                first};
    acc* const stage = scratch.stage;
    if (job.begin)
        job.begin(job.problem, job.swapped, stage + first * 32, 32, i + first, j, height - first, width);
    host_tiles::finished<acc> const now{
        sum, stage, stage, 32, 32, height, width, job.alpha, job.begin ? acc(1) : acc(0), false};
    now.write(first, height);
    job.write(job.problem, job.swapped, stage + first * 32, 32, i + first, j, height - first, width);
    return {};
}

// The same as below for a few panels of B and 32 rows or more of an A whose rows lie along k.
template <class T, class Packing>
STRATAGEMM_TILES void multiply_rows_by_tiles(host_job<T, Packing> const& job, index_t i0, index_t i1,
                                             index_t j0, index_t j1, index_t jb,
                                             host_tiles::packed<T> const& b, tile_scratch<T> const& scratch) {
    using sizes = tile_sizes<T>;
    using acc = accumulator_t<T>;
    host_tiles::tile_unit const unit;
    index_t const k = job.a.cols, whole = k / sizes::step, apart = job.a.row_stride * index_t{sizeof(T)};
    bool const ends = k % sizes::step != 0;
    host_tiles::packed<T> const end{scratch.a, 1, 1};
    auto const row = [&](index_t i) {
        return reinterpret_cast<std::byte const*>(job.a.data + i * job.a.row_stride);
    };
    host_tiles::finished<acc> before{};
    for (index_t done = i0; done < i1;) {
        // The last block has rows that are done already, rather than less rows.
        index_t const i = smaller(done, i1 - 32), next = smaller(i + 32, i1 - 32);
        if (ends) {
            view<T const> const rest = job.a.block(i, whole * sizes::step, 32, k - whole * sizes::step);
            for (index_t half = 0; half < 2; ++half)
                host_tiles::pack_rows<T>(rest, 16 * half, 0, 1, end, 0, half);
        }
        for (index_t j = j0; j < j1; j += 32) {
            host_tiles::block_of_rows<T>(whole, {row(i), apart}, ends ? scratch.a : nullptr, b, (j - jb) / 32,
                                         j == j0 ? row(next) : nullptr, scratch.out, before);
            before = finish_block(job, scratch, scratch.out, {i, j, 32, smaller(32, j1 - j), done - i});
        }
        done = i + 32;
    }
    before.write(before.first, before.rows);
}

// Rows [i0, i1) and columns [j0, j1) of a job, by one thread. `packed_b` is B from column jb on. If it has no data,
// this function packs the chunks of B.
template <class T, class Packing>
STRATAGEMM_TILES void
multiply_tiles_region(host_job<T, Packing> const& job, index_t i0, index_t i1, index_t j0, index_t j1,
                      index_t jb, host_tiles::packed<T> const& packed_b, tile_scratch<T> const& scratch) {
    using sizes = tile_sizes<T>;
    if (job.a.col_stride == 1 && i1 - i0 >= 32 && packed_b.blocks <= sizes::few)
        return multiply_rows_by_tiles(job, i0, i1, j0, j1, jb, packed_b, scratch);
    using acc = accumulator_t<T>;
    host_tiles::tile_unit const unit;
    bool const by_chunks = !packed_b.data;
    index_t const steps = packed_b.steps, rows = sizes::packed_rows(i1 - i0, job.a.cols);
    // If no cache will keep C, and C is only written, C is written past the caches.
    bool const streams = !job.write && job.beta == acc(0) &&
                         job.rows() * job.cols() * 4 > second_level_cache() && job.c_row % 16 == 0 &&
                         reinterpret_cast<std::uintptr_t>(job.c + j0) % 64 == 0;
    for (index_t ib = i0; ib < i1; ib += rows) {
        index_t const ib_end = smaller(i1, ib + rows);
        host_tiles::packed<T> const a{scratch.a, divide_up(ib_end - ib, 32), steps};
        host_tiles::pack<T>(job.a, ib, ib_end, 0, steps, false, a);
        host_tiles::finished<acc> before{};
        for (index_t jc = j0; jc < j1; jc += sizes::cols) {
            index_t const jc_end = smaller(j1, jc + sizes::cols);
            for (index_t s = 0; s < steps; s += sizes::chunk) {
                index_t const depth = a.depth(s), apart = depth * sizes::pair; // of panels of A and B
                bool const last = s + depth == steps;
                std::byte const *const a_now = a.at(0, s), *const a_next = !last ? a.at(0, s + sizes::chunk)
                                                                           : jc_end < j1 ? a.at(0, 0)
                                                                                         : nullptr;
                std::byte const *b = scratch.b, *b_after = nullptr; // where the next panels of B are
                if (by_chunks) {
                    host_tiles::pack<T>(transposed(job.b), jc, jc_end, s, s + depth, true,
                                        {scratch.b, divide_up(jc_end - jc, 32), s + depth, s});
                } else {
                    b = packed_b.at((jc - jb) / 32, s);
                    if (!last)
                        b_after = packed_b.at((jc - jb) / 32, s + sizes::chunk);
                    else if (jc_end < j1)
                        b_after = packed_b.at((jc_end - jb) / 32, 0);
                }
                for (index_t j = jc; j < jc_end; j += 32, b += apart) {
                    std::byte const* const b_next = j + 32 < jc_end ? b + apart : b_after;
                    for (index_t i = ib; i < ib_end; i += 32) {
                        index_t const x = (i - ib) / 32;
                        acc* const sum = scratch.sums + ((j - jc) / 32 * a.blocks + x) * scratch.block;
                        acc* const out = last ? scratch.out : sum;
                        host_tiles::block<T>(
                            depth, a_now + x * apart, b, s == 0 ? nullptr : sum, out, before,
                            {a_next, b_next, x, a.blocks, (j - jc) / 32, divide_up(jc_end - jc, 32)});
                        before.rows = 0;
                        if (!last) continue;
                        index_t const height = smaller(32, ib_end - i), width = smaller(32, jc_end - j);
                        before =
                            finish_block(job, scratch, out, {i, j, height, width, 0, streams && width == 32});
                    }
                }
            }
        }
        before.write(0, before.rows);
    }
    if (streams) asm volatile("sfence" : : : "memory");
}

// Whether the thread that uses a chunk of B packs it, just before. This is so if there is one block of rows, so that no
// other block needs the chunk, and A is packed: if A is read where it is, all of B is packed. All of a large B, packed,
// would have to come from memory again.
template <class T>
bool packs_by_chunks(index_t m, index_t n, index_t k, int team) {
    using sizes = tile_sizes<T>;
    return m <= sizes::packed_rows(m, k) && (m < 32 || n > sizes::few * sizes::side) &&
           grid_of(team, m, n, k, 32, 32).rows == 1;
}

template <class T, class Packing>
[[gnu::cold]] void multiply_tiles(host_job<T, Packing> const& job, int team, host_arena& arena) {
    using sizes = tile_sizes<T>;
    host_arena::scope const scope(arena);
    index_t const m = job.rows(), n = job.cols(), k = job.a.cols, steps = sizes::steps(k);
    bool const by_chunks = packs_by_chunks<T>(m, n, k, team);
    index_t const width = by_chunks ? n : sizes::packed_cols(n, k);
    std::byte* const packed_b =
        by_chunks ? nullptr : arena.take<std::byte>(host_tiles::packed<T>::bytes(width, k));
    std::size_t const bytes = tile_scratch<T>::bytes(m, n, k, by_chunks);
    std::byte* const own = arena.take<std::byte>(static_cast<index_t>(bytes) * team);
    for (index_t jb = 0; jb < n; jb += width) {
        index_t const jb_end = smaller(n, jb + width);
        host_tiles::packed<T> const b{packed_b, divide_up(jb_end - jb, 32), steps};
        if (!by_chunks)
            host_each(team, team, [&](int, int x) {
                host_tiles::pack<T>(transposed(job.b), jb, jb_end, cut(steps, x, team, 1),
                                    cut(steps, x + 1, team, 1), true, b);
            });
        host_grid const grid = grid_of(team, m, jb_end - jb, k, 32, 32);
        host_each(team, team, [&](int thread, int x) {
            index_t const row = x / grid.cols, col = x % grid.cols;
            index_t const i0 = cut(m, row, grid.rows, 32), i1 = cut(m, row + 1, grid.rows, 32);
            index_t const j0 = jb + cut(jb_end - jb, col, grid.cols, 32),
                          j1 = jb + cut(jb_end - jb, col + 1, grid.cols, 32);
            if (i0 == i1 || j0 == j1) return;
            host_arena part(own + thread * static_cast<index_t>(bytes), bytes, nullptr);
            multiply_tiles_region(job, i0, i1, j0, j1, jb, b, tile_scratch<T>(part, m, n, k, by_chunks));
        });
    }
}

// Whether the transpose is less work. Rows of A along k and rows of B across k become tiles as they lie. For other
// operands, words are exchanged in each tile, as sums are in a C that is written as the transpose.
inline bool are_tiles_turned(index_t m, index_t n, index_t k, bool a_along_k, bool b_along_k) {
    index_t const as_it_is = (a_along_k ? 0 : m) + (b_along_k ? n : 0),
                  turned = (b_along_k ? 0 : n) + (a_along_k ? m : 0);
    return turned * k + 4 * m * n < as_it_is * k;
}

template <class T>
std::size_t multiply_tiles_bytes(index_t m, index_t n, index_t k, int team) {
    bool const by_chunks = packs_by_chunks<T>(m, n, k, team);
    index_t const b = by_chunks ? 0 : host_tiles::packed<T>::bytes(tile_sizes<T>::packed_cols(n, k), k);
    return host_arena::rounded(static_cast<std::size_t>(b)) +
           tile_scratch<T>::bytes(m, n, k, by_chunks) * static_cast<std::size_t>(team);
}

#    undef STRATAGEMM_TILES
#endif

STRATAGEMM_END
