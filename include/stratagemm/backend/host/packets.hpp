// Packets of bfloat16 and int8: how they are made of operands, and dot products of int8.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// Whether packets of T, bfloat16 or int8, are multiplied: in dot products, and also in blocks.
template <class T>
bool multiplies_packets() {
    isa_choice const& has = current_isa();
    return has.isa >= host_isa::avx512 && (std::is_same_v<T, bfloat16> ? has.bf16 : has.vnni);
}
template <class T>
bool multiplies_blocks_of_packets() {
    return multiplies_packets<T>() && (!std::is_same_v<T, bfloat16> || current_isa().fast_bf16);
}

// Packets of bfloat16 or int8. Where whole packets lie along k, kernels read an A of bfloat16 where it lies, and B is
// turned without a copy.
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

    // A is copied, or, where it lies across k, turned.
    [[gnu::noinline]] static void pack_a(operand const& a, index_t i, index_t p, index_t rows, index_t depth,
                                         packet* to) {
        table const& t = kernels();
        index_t const k = smaller(length * depth, a.cols - length * p), packets = divide_up(k, length);
        T const* const from = a.data + i * a.row_stride + length * p * a.col_stride;
        if (a.col_stride == 1) return t.copy_packets(to, depth, from, a.row_stride, rows, k, flips);
        if (a.row_stride != 1 || rows * length <= 4) // to turn so few would take longer
            return pack_elements(to, depth, 1, a.transposed(), from, k, rows, flips);
        for (index_t r = 0; r < rows; r += side)
            for (index_t q = 0; q * length < k; q += side) {
                packet part[side * side];
                index_t const width = smaller(side, rows - r);
                t.join_packets(part, 0, from + r + q * length * a.col_stride, a.col_stride,
                               smaller(side * length, k - q * length), width, flips);
                gather(t, to + r * depth + q, depth, part, 1, side, width, smaller(side, packets - q));
            }
    }
    // B across k is joined; B along k is turned, from a copy if it has no whole packets.
    [[gnu::noinline]] static void pack_b(operand const& b, index_t p, index_t j, index_t depth, index_t cols,
                                         packet* to) {
        table const& t = kernels();
        index_t const strip = t.strip, next = (depth + head) * strip,
                      k = smaller(length * depth, b.rows - length * p);
        T const* const from = b.data + length * p * b.row_stride + j * b.col_stride;
        packet* const first = to + head * strip;
        place const in = place_of_b(b);
        if (b.col_stride == 1)
            t.join_packets(first, next, from, b.row_stride, k, cols, 0);
        else
            for (index_t s = 0; s < cols; s += strip) {
                packet* const line = first + s / strip * next;
                index_t const width = smaller(strip, cols - s);
                if (in.data) {
                    gather(t, line, strip, in.data + p + (j + s) * in.col, 1, in.col, depth, width);
                    continue;
                }
                if (b.row_stride != 1) {
                    pack_elements(line, 1, strip, b, from + s * b.col_stride, k, width, 0);
                    continue;
                }
                for (index_t q = 0; q < depth; q += side) {
                    packet part[side * side];
                    t.copy_packets(part, side, from + q * length + s * b.col_stride, b.col_stride, width,
                                   smaller(side * length, k - q * length), 0);
                    gather(t, line + q * strip, strip, part, 1, side, smaller(side, depth - q), width);
                }
            }
        if constexpr (head > 0) begin_strips(t, to, depth, cols);
    }

private:
    static constexpr index_t side = 32; // packets that are turned at a time; columns of a strip
    // To add 128 to a signed byte is to flip its highest bit.
    static constexpr std::int32_t flips = head > 0 ? std::int32_t(0x80808080u) : 0;

    // One packet after another, of operands of any strides: packet q of column c goes to to[c * to_col + q * to_row].
    static void pack_elements(packet* to, index_t to_col, index_t to_row, operand const& b, T const* from,
                              index_t k, index_t cols, std::int32_t flipped) {
        for (index_t c = 0; c < cols; ++c)
            for (index_t q = 0; q * length < k; ++q) {
                T at[length] = {};
                for (index_t l = 0; l < length && q * length + l < k; ++l)
                    at[l] = from[(q * length + l) * b.row_stride + c * b.col_stride];
                to[c * to_col + q * to_row] =
                    __builtin_bit_cast(packet, __builtin_bit_cast(std::int32_t, at) ^ flipped);
            }
    }
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
};

// Dot products of int8. A copy of the short operand, of up to eight rows or columns, has 128 added to its elements. The
// function computes the dot products of this copy, less those of a row of 128. `short_b`: the columns are short. The
// caller says so, since a part of a product with many rows may have fewer rows than columns.
template <class Table>
[[gnu::noinline]] void multiply_by_dots(Table const& table, block_args<std::int8_t> const& g, index_t b_col,
                                        bool short_b) {
    constexpr index_t length = 3072, most = 256; // elements of a row; sums
    packet_of<std::int8_t> copy[(few_dots(4) + 1) * length / 4];
    std::int32_t sums[(few_dots(4) + 1) * most];
    index_t const few = short_b ? g.n : g.m, many = short_b ? g.m : g.n, step = short_b ? g.a_row : b_col;
    view<std::int8_t const> const all = short_b ? view<std::int8_t const>{g.b, few, g.k, b_col, g.b_row}
                                                : view<std::int8_t const>{g.a, few, g.k, g.a_row, g.a_col};
    block_args<std::int8_t> part{};
    part.m = few + 1, part.a = reinterpret_cast<std::int8_t const*>(copy), part.a_row = length,
    part.a_col = 1, part.b_row = 1, part.b_strip = step;
    part.e = part.c = sums, part.c_row = part.e_row = most, part.alpha = 1;
    __builtin_memset(copy + few * length / 4, -128, static_cast<std::size_t>(smaller(length, g.k)));
    for (index_t j = 0; j < many; j += most) {
        part.n = smaller(most, many - j), part.beta = 0;
        for (index_t p = 0; p < g.k; p += length, part.beta = 1) {
            part.k = smaller(length, g.k - p), part.b = (short_b ? g.a : g.b) + j * step + p;
            if (j == 0 || g.k > length)
                packet_packing<std::int8_t>::pack_a(all, 0, p / 4, few, length / 4, copy);
            multiply_dots(table, part);
        }
        auto const word = [](std::int32_t x) { return static_cast<std::uint32_t>(x); }; // modulo 2^32
        index_t const c_step = short_b ? g.c_row : 1, e_step = short_b ? g.e_row : 1;
        for (index_t i = 0; i < few; ++i) {
            std::int32_t const *sum = sums + i * most, *too_much = sums + few * most;
            std::int32_t* c = g.c + (short_b ? j * g.c_row + i : i * g.c_row + j);
            for (index_t l = 0; l < part.n; ++l, c += c_step) {
                std::uint32_t x = word(g.alpha) * (word(sum[l]) - word(too_much[l]));
                if (g.beta != 0)
                    x += word(g.beta) * word(g.e[(short_b ? j * g.e_row + i : i * g.e_row + j) + l * e_step]);
                *c = static_cast<std::int32_t>(x);
            }
        }
    }
}

STRATAGEMM_END
