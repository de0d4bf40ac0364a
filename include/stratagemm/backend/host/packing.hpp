// How the elements of an operand become what the kernels multiply.
//
// A packing names the packet type of the kernels and lays A out in rows and B in strips:
//   float, double      themselves
//   half, bfloat16     converted to float
//   bfloat16, int8     packets along k, where the machine multiplies these
//   int8               else pairs of 16-bit integers along k
//   complex            real numbers: a row of A as two, of its real and of its imaginary parts; B as its interleaved
//                      parts, columns 2j and 2j + 1. The real product of these has the four sums of an element of C
//                      side by side, and join() adds them in pairs. Conjugation is a choice of signs there.
//                      The sums do not tell A from B, so C and its transpose get the same bits
#pragma once

#include "../../core/operand.hpp"
#include "kernels.hpp"

STRATAGEMM_BEGIN

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
    if constexpr (std::is_same_v<T, From>)
        if (constexpr index_t length = 16 / sizeof(T);
            from_row == 1 && table.turn && rows > 1 && cols >= (rows < length ? 2 * length : length))
            return table.turn(to, to_row, from, from_col, rows, cols);
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

// Zeros for a strip that will not be full, which kernels without masks read whole.
template <class Packet>
void clear_strip(Packet* to, index_t strip, index_t depth, index_t width) {
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
    static bool by_panels(operand const& a) {
        return a.col_stride == 1;
    } // its rows are packed a panel at a time

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
            // Four rows at a time, so that what is written is side by side. A strip is two vectors, 32 bytes at
            // least.
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
    static bool by_panels(operand const& a) { return a.col_stride == 1; }
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

// Whether packets of T, bfloat16 or int8, are multiplied; and also in blocks, not as dot products only.
template <class T>
bool multiplies_packets(bool in_blocks = true) {
    isa_choice const& has = current_isa();
    return has.isa >= host_isa::avx512 && (!std::is_same_v<T, bfloat16> ? has.vnni
                                           : in_blocks                  ? has.fast_bf16
                                                                        : has.bf16);
}

// Packets of bfloat16 or int8. Where whole packets lie along k, a kernel reads A of bfloat16 where it is, and to pack B
// moves packets.
template <class T>
struct packet_packing {
    using packet = packet_of<T>;
    using table = kernel_table<packet, packet>;
    static table const& kernels() { return stratagemm::kernels<packet, packet>(); }

    static constexpr index_t widen = 1, tall = 1;
    static constexpr index_t length = 4 / sizeof(T); // elements of a packet
    static constexpr index_t head = std::is_same_v<T, std::int8_t> ? 1 : 0;
    static index_t depth(index_t k) { return divide_up(k, length); }
    using operand = view<T const>;
    static bool by_panels(operand const& a) { return a.col_stride == 1; }

    static constexpr bool in_place = true;
    struct place {
        packet const* data;
        index_t row, col; // of packets; zeros: it has none
    };
    static place place_of(operand const& a) {
        bool const whole =
            a.col_stride == 1 && a.cols % length == 0 && (a.rows == 1 || a.row_stride % length == 0);
        return whole ? place{reinterpret_cast<packet const*>(a.data), a.row_stride / length, 1} : place{};
    }
    static place place_of_b(operand const& b) {
        place const turned = place_of(b.transposed());
        return {turned.data, turned.col, turned.row};
    }

    [[gnu::noinline]] static void pack_a(operand const& a, index_t i, index_t p, index_t rows, index_t depth,
                                         packet* to) {
        index_t const left = a.cols - length * p, whole = smaller(depth, left / length);
        T const* from = a.data + i * a.row_stride + length * p * a.col_stride;
        bool const across = a.row_stride == 1 && rows >= 8;
        for (index_t r = 0; r < rows && across; r += 8)
            for (index_t q = 0; q < depth; q += 8) {
                square columns;
                index_t const row = smaller(r, rows - 8), width = smaller(8, depth - q);
                for (index_t l = 0; l < width; ++l) {
                    index_t const k = (q + l) * length;
                    join(columns[l], from + row + k * a.col_stride, a.col_stride, left - k);
                    store(columns[l], load(columns[l]->at) ^ flips);
                    store(columns[l] + 4, load(columns[l][4].at) ^ flips);
                }
                columns.turn(to + row * depth + q, depth, width);
            }
        for (index_t r = 0; r < rows && !across; ++r, from += a.row_stride, to += depth) {
            index_t q = 0;
            if (a.col_stride == 1 && whole >= 4) { // the last four overlap with those before
                for (; q + 4 < whole; q += 4) store(to + q, load(from + q * length) ^ flips);
                store(to + whole - 4, load(from + (whole - 4) * length) ^ flips);
                q = whole;
            }
            for (; q < depth; ++q)
                to[q] = packet_at(from + q * length * a.col_stride, a.col_stride, left - q * length,
                                  p + q > 0, static_cast<std::uint16_t>(flips) * 0x10001u);
        }
    }
    [[gnu::noinline]] static void pack_b(operand const& b, index_t p, index_t j, index_t depth, index_t cols,
                                         packet* to) {
        table const& t = kernels();
        index_t const strip = t.strip, next = (depth + head) * strip, left = b.rows - length * p;
        place const in = place_of_b(b);
        T const* const from = b.data + length * p * b.row_stride + j * b.col_stride;
        packet* const first = to + head * strip;
        index_t q = 0;
        if (in.data) {
            q = depth;
            for (index_t s = 0; s < cols; s += strip)
                gather(t, first + s / strip * next, strip, in.data + p + (j + s) * in.col, in.row, in.col,
                       depth, smaller(strip, cols - s));
        } else if (b.row_stride == 1) {
            for (; q + 8 <= smaller(depth, left / length); q += 8)
                for (index_t c = 0; c < cols; c += 8) {
                    square columns;
                    index_t const width = smaller(8, cols - c);
                    for (index_t l = 0; l < width; ++l)
                        __builtin_memcpy(columns[l]->at, from + q * length + (c + l) * b.col_stride, 32);
                    columns.turn(first + c / strip * next + q * strip + c % strip, strip, width);
                }
        }
        for (; q < depth; ++q) {
            index_t const k = q * length;
            for (index_t s = 0; s < cols; s += strip) {
                packet* const line = first + s / strip * next + q * strip;
                T const* const x = from + k * b.row_stride + s * b.col_stride;
                index_t const width = smaller(strip, cols - s);
                index_t c = 0;
                if (b.col_stride == 1) {
                    for (; c + 8 <= width; c += 8) join(line + c, x + c, b.row_stride, left - k);
                    // The last eight overlap with those before, which may be of the strip before.
                    if (index_t const over = c + 8 - width; over < 8 && j + s + width >= 8) {
                        square eight;
                        join(eight[0], x + c - over, b.row_stride, left - k);
                        for (; c < width; ++c) line[c] = eight[0][c + 8 - width];
                    }
                }
                for (; c < width; ++c)
                    line[c] = packet_at(x + c * b.col_stride, b.row_stride, left - k, p + q > 0, 0);
            }
        }
        if constexpr (head > 0) begin_strips(t, to, depth, cols);
    }

private:
    // Each strip begins with -128 times the sums of its columns, which are its product with a row of 128.
    static void begin_strips(table const& t, packet* to, index_t depth, index_t cols) {
        index_t const strip = t.strip, next = (depth + 1) * strip;
        auto const bytes = [](index_t count) { return static_cast<std::size_t>(count) * sizeof(packet); };
        std::int32_t sums[n_most];
        constexpr T high = -128; // 128, unsigned
        packet const row{{high, high, high, high}};
        for (index_t s = 0; s < cols; s += strip) __builtin_memset(to + s / strip * next, 0, bytes(strip));
        block_args<packet> g{};
        g.m = 1, g.n = cols, g.k = depth, g.a = &row, g.b = to + strip, g.b_row = strip, g.b_strip = next;
        g.e = g.c = sums, g.c_row = cols, g.alpha = -1;
        multiply_block(t, g);
        for (index_t s = 0; s < cols; s += strip)
            __builtin_memcpy(to + s / strip * next, sums + s, bytes(smaller(strip, cols - s)));
    }
    static constexpr index_t n_most = 1024; // columns of a block (block_sizes)

    // Up to eight columns of eight packets.
    struct square {
        alignas(16) unsigned char bytes[256];
        packet* operator[](index_t column) { return reinterpret_cast<packet*>(bytes + 32 * column); }
        void turn(packet* to, index_t to_row, index_t columns) {
            if (columns == 8) return transpose_square(to, to_row, (*this)[0], 8);
            for (index_t i = 0; i < 8; ++i)
                for (index_t j = 0; j < columns; ++j) to[i * to_row + j] = (*this)[j][i];
        }
    };
    // Vectors that every machine has. Signed bytes plus 128 are their highest bits flipped.
    typedef std::int16_t shorts __attribute__((vector_size(16), aligned(1), may_alias));
    static constexpr std::int16_t flips = head > 0 ? std::int16_t(-0x7f80) : std::int16_t(0);
    typedef std::int8_t bytes __attribute__((vector_size(8), aligned(1), may_alias));
    static shorts load(T const* x) { return *reinterpret_cast<shorts const*>(x); }
    static bytes load_half(T const* x) { return *reinterpret_cast<bytes const*>(x); }
    static void store(packet* to, shorts x) { *reinterpret_cast<shorts*>(to) = x; }
    // A packet of elements that are `next` apart; where fewer elements of k are left, zeros follow. `before`: a whole
    // packet lies before it. The bits `flipped` are flipped.
    static packet packet_at(T const* x, index_t next, index_t left, bool before, std::uint32_t flipped) {
        std::uint32_t word = 0;
        if (index_t const lacks = left < length ? length - left : 0; next == 1 && (lacks == 0 || before)) {
            __builtin_memcpy(&word, x - lacks, 4);
            word >>= 8 * sizeof(T) * static_cast<std::size_t>(lacks);
        } else {
            for (index_t l = 0; l < length - lacks; ++l)
                __builtin_memcpy(reinterpret_cast<T*>(&word) + l, x + l * next, sizeof(T));
        }
        return __builtin_bit_cast(packet, word ^ flipped);
    }
    // Eight such packets, of columns that lie side by side.
    static void join(packet* to, T const* x, index_t next, index_t left) {
        shorts low, high;
        if constexpr (sizeof(T) == 2) {
            low = load(x), high = left > 1 ? load(x + next) : shorts{};
        } else {
            auto const row = [&](index_t l) { return l < left ? load_half(x + l * next) : bytes{}; };
            low = join_bytes(row(0), row(1)), high = join_bytes(row(2), row(3));
        }
        store(to, __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11));
        store(to + 4, __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15));
    }
    static shorts join_bytes(bytes x, bytes y) {
        return __builtin_bit_cast(
            shorts, __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
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
    static bool by_panels(operand const& a) { return a.col_stride == 1; }

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
