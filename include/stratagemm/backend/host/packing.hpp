// How the elements of an operand become what the kernels multiply.
//
// A packing names the packet type of the kernels and lays A out in rows and B in strips:
//   float, double      themselves
//   half, bfloat16     converted to float, as int8 is beside one of them
//   bfloat16, int8     packets along k, where the machine multiplies these (packets.hpp)
//   int8               else pairs of 16-bit integers along k
//   complex            real numbers: a row of A as two, of its real and of its imaginary parts; B as its interleaved
//                      parts, columns 2j and 2j + 1. The real product of these has the four sums of an element of C
//                      side by side, and join() adds them in pairs. Conjugation is a choice of signs there.
//                      The sums do not tell A from B, so C and its transpose get the same bits
#pragma once

#include "../../core/problem.hpp"
#include "kernels.hpp"

STRATAGEMM_BEGIN

// to = from, four rows and columns at least, whose columns are contiguous: converted as they lie, some at a time, and
// then turned.
template <class T, class From>
[[gnu::noinline]] void convert_columns(kernel_table<T, From> const& table, T* to, index_t to_row,
                                       From const* from, index_t from_col, index_t rows, index_t cols) {
    constexpr index_t side = 32, length = 16 / sizeof(T);
    alignas(64) T part[side * side];
    // The last rows and columns are not too few to be turned: they overlap with those before.
    for (index_t i = 0; i < rows; i += side) {
        if (rows - i < length) i = rows - length;
        for (index_t j = 0; j < cols; j += side) {
            if (cols - j < 2 * length) j = cols < 2 * length ? 0 : cols - 2 * length;
            index_t const in = rows - i < side ? rows - i : side, jn = cols - j < side ? cols - j : side;
            table.convert_rows(part, side, from + i + j * from_col, from_col, jn, in);
            table.turn(to + i * to_row + j, to_row, part, side, in, jn);
        }
    }
}

// to = from, converted, into rows of unit stride. Rows that are contiguous are copied whole, with the next ones
// on their way; otherwise squares of 8 x 8 keep both sides within a few cache lines.
template <class T, class From>
[[gnu::noinline]] void gather(kernel_table<T, From> const& table, T* to, index_t to_row, From const* from,
                              index_t from_row, index_t from_col, index_t rows, index_t cols) {
    if (from_col == 1) {
        if constexpr (!std::is_same_v<T, From>)
            return table.convert_rows(to, to_row, from, from_row, rows, cols);
        else
            for (index_t i = 0; i < rows; ++i, to += to_row, from += from_row) {
                if (i + 2 < rows)
                    for (index_t j = 0; j < cols; j += 64 / index_t{sizeof(T)})
                        __builtin_prefetch(from + 2 * from_row + j);
                __builtin_memcpy(to, from, static_cast<std::size_t>(cols) * sizeof(T));
            }
        return;
    }
    if (constexpr index_t length = 16 / sizeof(T);
        from_row == 1 && table.turn && rows > 1 && cols >= (rows < length ? 2 * length : length)) {
        if constexpr (std::is_same_v<T, From>)
            return table.turn(to, to_row, from, from_col, rows, cols);
        else if (rows >= length)
            return convert_columns(table, to, to_row, from, from_col, rows, cols);
    }
    constexpr index_t side = 8;
    for (index_t i = 0; i < rows; i += side) {
        index_t const in = rows - i < side ? rows - i : side;
        for (index_t j = 0; j < cols; j += side) {
            index_t const jn = cols - j < side ? cols - j : side;
            From const* const f = from + i * from_row + j * from_col;
            T* const t = to + i * to_row + j;
            if constexpr (std::is_same_v<T, From> && !portable_is_last_resort) // others have turn()
                if (from_row == 1 && in == side && jn == side) {
                    transpose_square(t, to_row, f, from_col);
                    continue;
                }
            for (index_t y = 0; y < jn; ++y)
                for (index_t x = 0; x < in; ++x)
                    t[x * to_row + y] = static_cast<T>(f[x * from_row + y * from_col]);
        }
    }
}

// Zeros for the columns that a strip lacks: kernels without masks read whole strips.
template <class Packet>
[[gnu::cold, gnu::noinline]] void clear_strip(Packet* to, index_t strip, index_t depth, index_t width) {
    if (width < strip) __builtin_memset(to, 0, static_cast<std::size_t>(strip * depth) * sizeof(Packet));
}

// Real floating-point types, with or without conversion.
template <class From, class T>
struct real_packing {
    using packet = T;
    using table = kernel_table<T, From>;
    static table const& kernels() { return stratagemm::kernels<T, From>(); }

    static constexpr index_t widen = 1, tall = 1; // columns and rows of the kernel's C for one of C
    static constexpr index_t head = 0;            // rows that a packed strip of B begins with
    static index_t depth(index_t k) { return k; }
    using operand = view<From const>;

    // An operand that the kernel can read where it is, and how.
    static constexpr bool in_place = std::is_same_v<From, T>;
    struct place {
        T const* data;
        index_t row, col;
    };
    static place place_of(view<From const> const& v) {
        if constexpr (in_place)
            return {v.data, v.row_stride, v.col_stride};
        else
            return {};
    }
    static place place_of_b(view<From const> const& v) { return place_of(v); }

    [[gnu::noinline]] static void pack_a(view<From const> const& a, index_t i, index_t p, index_t rows,
                                         index_t depth, T* to) {
        gather(kernels(), to, depth, a.data + i * a.row_stride + p * a.col_stride, a.row_stride, a.col_stride,
               rows, depth);
    }
    [[gnu::cold, gnu::noinline]] static void pack_b(view<From const> const& b, index_t p, index_t j,
                                                    index_t depth, index_t cols, T* to) {
        table const& t = kernels();
        From const* const from = b.data + p * b.row_stride + j * b.col_stride;
        if (std::is_same_v<From, T> && b.col_stride == 1) {
            index_t const whole = cols / t.strip * t.strip, rest = cols - whole;
            if (rest && !t.masked) clear_strip(to + whole * depth, t.strip, depth, rest);
            // Four rows are written at a time, so that neighbouring writes are side by side. A strip is two vectors, 32
            // bytes at least.
            for (index_t q = 0; q < depth; q += 4)
                for (index_t s = 0; s < cols; s += t.strip)
                    for (index_t r = q; r < q + 4 && r < depth; ++r) {
                        From const* const row = from + r * b.row_stride + s;
                        T* const there = to + s * depth + r * t.strip;
                        if (r + 8 < depth)
                            for (index_t c = 0; c < t.strip; c += 64 / index_t{sizeof(T)})
                                __builtin_prefetch(row + 8 * b.row_stride + c);
                        if (s < whole)
                            for (index_t c = 0; c < t.strip; c += 32 / index_t{sizeof(T)})
                                __builtin_memcpy(there + c, row + c, 32);
                        else
                            __builtin_memcpy(there, row, static_cast<std::size_t>(rest) * sizeof(T));
                    }
            return;
        }
        for (index_t s = 0; s < cols; s += t.strip, to += depth * t.strip) {
            index_t const width = cols - s < t.strip ? cols - s : t.strip;
            if (!t.masked) clear_strip(to, t.strip, depth, width);
            gather(t, to, t.strip, from + s * b.col_stride, b.row_stride, b.col_stride, depth, width);
        }
    }
};

template <class T>
struct pair_packing {
    using packet = pair16;
    using table = kernel_table<packet, T>;
    static table const& kernels() { return stratagemm::kernels<packet, T>(); }

    static constexpr index_t widen = 1, tall = 1, head = 0;
    static index_t depth(index_t k) { return (k + 1) / 2; }
    using operand = view<T const>;
    static constexpr bool in_place = false;
    struct place {
        packet const* data;
        index_t row, col;
    };
    static place place_of(view<T const> const&) { return {}; }
    static place place_of_b(view<T const> const&) { return {}; }

    // Eight integers, widened; and four pairs of them, with vectors that every machine has.
    typedef T bytes __attribute__((vector_size(8), aligned(1), may_alias));
    typedef std::int16_t shorts __attribute__((vector_size(16), aligned(2), may_alias));
    static shorts widened(T const* x) {
        return __builtin_convertvector(*reinterpret_cast<bytes const*>(x), shorts);
    }
    static void store(packet* to, shorts pairs) { *reinterpret_cast<shorts*>(to) = pairs; }
    // Eight pairs, each of an integer of x and the same of y.
    static void store_pairs(packet* to, shorts x, shorts y) {
        store(to, __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11));
        store(to + 4, __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15));
    }

    [[gnu::noinline]] static void pack_a(view<T const> const& a, index_t i, index_t p, index_t rows,
                                         index_t depth, packet* to) {
        index_t const pairs = a.cols - 2 * p >= 2 * depth ? depth : depth - 1; // the last may be half a pair
        index_t r = 0;
        if (a.row_stride == 1)
            for (; r + 8 <= rows; r += 8, to += 8 * depth) {
                T const* x = a.data + i + r + 2 * p * a.col_stride;
                for (index_t q = 0; q < depth; ++q, x += 2 * a.col_stride) {
                    packet column[8];
                    store_pairs(column, widened(x), q < pairs ? widened(x + a.col_stride) : shorts{});
                    for (index_t l = 0; l < 8; ++l) to[l * depth + q] = column[l];
                }
            }
        for (; r < rows; ++r, to += depth) {
            T const* x = a.data + (i + r) * a.row_stride + 2 * p * a.col_stride;
            index_t q = 0;
            if (a.col_stride == 1)
                for (; q + 4 <= pairs; q += 4, x += 8) store(to + q, widened(x));
            for (; q < pairs; ++q, x += 2 * a.col_stride) to[q] = {x[0], x[a.col_stride]};
            if (pairs < depth) to[pairs] = {x[0], 0};
        }
    }
    [[gnu::noinline]] static void pack_b(view<T const> const& b, index_t p, index_t j, index_t depth,
                                         index_t cols, packet* to) {
        int const strip = kernels().strip;
        for (index_t s = 0; s < cols; s += strip) {
            index_t const width = cols - s < strip ? cols - s : strip;
            if (!kernels().masked) clear_strip(to, strip, depth, width);
            for (index_t q = 0; q < depth; ++q, to += strip) {
                index_t const l = 2 * (p + q);
                T const* const x = b.data + l * b.row_stride + (j + s) * b.col_stride;
                bool const whole = l + 1 < b.rows;
                index_t const second = whole ? b.row_stride : 0;
                index_t c = 0;
                if (b.col_stride == 1)
                    for (; c + 8 <= width; c += 8)
                        store_pairs(to + c, widened(x + c), whole ? widened(x + c + second) : shorts{});
                for (; c < width; ++c) {
                    to[c].x = x[c * b.col_stride];
                    to[c].y = x[c * b.col_stride + second];
                    if (!whole) to[c].y = 0;
                }
            }
        }
    }
};

// Real and imaginary parts of 16 bytes' worth of each, with vectors that every machine has.
template <class T>
void deinterleave(T* real, T* imag, T const* from) {
    typedef T vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
    auto const* const in = reinterpret_cast<vector const*>(from);
    vector const x = in[0], y = in[1];
    if constexpr (sizeof(T) == 8) {
        *reinterpret_cast<vector*>(real) = __builtin_shufflevector(x, y, 0, 2);
        *reinterpret_cast<vector*>(imag) = __builtin_shufflevector(x, y, 1, 3);
    } else {
        *reinterpret_cast<vector*>(real) = __builtin_shufflevector(x, y, 0, 2, 4, 6);
        *reinterpret_cast<vector*>(imag) = __builtin_shufflevector(x, y, 1, 3, 5, 7);
    }
}

template <class Z>
struct complex_packing {
    using packet = typename Z::value_type;
    using table = kernel_table<packet, packet>;
    static table const& kernels() { return stratagemm::kernels<packet, packet>(); }

    static constexpr index_t widen = 2, tall = 2, head = 0;
    static index_t depth(index_t k) { return k; }
    using operand = view<Z const>;

    static constexpr bool in_place = true;
    struct place {
        packet const* data;
        index_t row, col;
    };
    // A row-major B is already interleaved.
    static place place_of(view<Z const> const& v) {
        return {reinterpret_cast<packet const*>(v.data), 2 * v.row_stride, v.col_stride == 1 ? 1 : 0};
    }
    static place place_of_b(view<Z const> const& v) { return place_of(v); }

    static void pack_a(view<Z const> const& a, index_t i, index_t p, index_t rows, index_t depth,
                       packet* to) {
        for (index_t r = 0; r < rows; ++r, to += 2 * depth) {
            auto const* from =
                reinterpret_cast<packet const*>(a.data + (i + r) * a.row_stride + p * a.col_stride);
            index_t q = 0;
            if (a.col_stride == 1) {
                constexpr index_t lanes = 16 / sizeof(packet);
                for (; q + lanes <= depth; q += lanes, from += 2 * lanes)
                    deinterleave(to + q, to + depth + q, from);
            }
            for (; q < depth; ++q, from += 2 * a.col_stride) to[q] = from[0], to[depth + q] = from[1];
        }
    }
    // Columns are counted as real ones.
    static void pack_b(view<Z const> const& b, index_t p, index_t j, index_t depth, index_t cols,
                       packet* to) {
        if (b.col_stride == 1) {
            auto const from = place_of(b);
            return real_packing<packet, packet>::pack_b({from.data, b.rows, 2 * b.cols, from.row, 1}, p, j,
                                                        depth, cols, to);
        }
        int const strip = kernels().strip;
        for (index_t s = 0; s < cols; s += strip, to += depth * strip) {
            index_t const width = cols - s < strip ? cols - s : strip;
            if (!kernels().masked) clear_strip(to, strip, depth, width);
            for (index_t c = 0; c < width; c += 2) {
                auto const* from = reinterpret_cast<packet const*>(b.data + p * b.row_stride +
                                                                   (j + s + c) / 2 * b.col_stride);
                for (index_t q = 0; q < depth; ++q, from += 2 * b.row_stride)
                    to[q * strip + c] = from[0], to[q * strip + c + 1] = from[1];
            }
        }
    }
};

// The types that the host multiplies: operands of one type as they are, operands of two types in the accumulator's
// type.
template <class S>
using multiplied_as =
    std::conditional_t<has_one_type<S>, typename S::a_type, accumulator_t<typename S::wide_type>>;

template <class T>
struct packing_of {
    using type = real_packing<T, accumulator_t<T>>;
};
template <>
struct packing_of<std::int8_t> {
    using type = pair_packing<std::int8_t>;
};
template <complex_like T>
struct packing_of<T> {
    using type = complex_packing<T>;
};

STRATAGEMM_END
