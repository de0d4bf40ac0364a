// The few x86-64 instructions that generated kernels are made of, as bytes (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 2).
#pragma once

#include "../../../core/types.hpp"

STRATAGEMM_BEGIN

struct x86 {
    enum gpr { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11 };
};

// An address: a register and a distance in bytes.
struct x86_memory {
    x86::gpr base;
    index_t distance;
};

// Instructions of AVX-512 with 32 registers of 64 bytes, or of AVX2 with 16 of 32 bytes. AVX2 cannot multiply all
// elements with one number in memory, and has no masks but those of loads: the last two registers are for the code that
// replaces these.
class assembler {
    using gpr = x86::gpr;
    using enum x86::gpr;

public:
    // For AVX2, `masks` are eight words of ones and eight of zeros, less than 2 GiB from the code.
    assembler(unsigned char* begin, unsigned char* end, bool avx512, std::int32_t const* masks)
        : at_(begin), end_(end), avx512_(avx512), masks_(reinterpret_cast<unsigned char const*>(masks)) {}

    bool is_avx512() const { return avx512_; }
    // The last register, which multiply_add_element() needs with AVX2; the one before it is needed by factors and parts
    // of vectors that are multiplied.
    int last() const { return avx512_ ? 31 : 15; }

    // False: there was no room for the code, or a number did not fit an instruction.
    bool is_whole() const { return whole_; }
    unsigned char* here() const { return at_; }

    // ---- vectors of floats or doubles, of 16, 32 or 64 bytes: 0, 1 or 2 ----------------------------------------
    struct vectors {
        bool wide; // doubles
        int length;
        int bytes() const { return 16 << length; }
        int element() const { return wide ? 8 : 4; }
    };
    // `mask`: 0 for all elements, or 1 or 2 for the number of elements given to set_mask(); other elements of the
    // vector become zero
    [[gnu::cold, gnu::noinline]] void load(vectors t, int to, x86_memory from, int mask) {
        if (avx512_ || mask == 0)
            return with_memory(t, 0x10, of_map(1, t.wide), to, 0, from, mask ? 0x80 + mask : 0, t.bytes());
        prefix(t, 0x10, of_map(1, 0), to, 0, 0, 0);
        put((to & 7) * 8 + 5, 1); // relative to the next instruction
        put_number(masks_ + 32 - part_[mask] * t.element() - (at_ + 4));
        with_memory(t, t.wide ? 0x2d : 0x2c, of_map(2, 1), to, to, from, 0, 1);
    }
    // Elements of one or two bytes.
    void load_short(int size, int to, x86_memory from, int mask) {
        with_memory({size == 2, 2}, 0x6f, of_map(1, 3), to, 0, from, 0x80 + mask, 64);
    }
    // Floats from as many elements of a narrower type: 1 for bfloat16, 2 for half, 3 for int8; or load(), for 0.
    [[gnu::cold, gnu::noinline]] void load_widened(int narrow, vectors t, int to, x86_memory from, int mask) {
        if (narrow == 0) return load(t, to, from, mask);
        int const code = narrow == 1 ? 0x33 : narrow == 2 ? 0x13 : 0x21, size = narrow == 3 ? 1 : 2;
        bool const inserts = mask != 0 && !avx512_; // each element, beside zeros
        if (inserts) clear({false, 0}, to);
        for (int i = 0; inserts && i < part_[mask]; ++i, from.distance += size) {
            with_memory({false, 0}, size == 2 ? 0xc4 : 0x20, of_map(size == 2 ? 1 : 3, 1), to, to, from, 0,
                        1);
            put(i, 1);
        }
        if (inserts)
            with_registers(t, code, of_map(2, 1), to, 0, to);
        else
            with_memory(t, code, of_map(2, 1), to, 0, from, mask ? 0x80 + mask : 0, t.bytes() / 4 * size);
        if (narrow == 1) // to the high half
            with_registers(t, 0x72, of_map(1, 1), 6, to, to), put(16, 1);
        else if (narrow == 3) // from integers
            with_registers(t, 0x5b, of_map(1, 0), to, 0, to);
    }
    // With AVX2, a part of more than 16 bytes does not stay in its register: masks would take a dozen operations on
    // some machines.
    [[gnu::cold, gnu::noinline]] void store(vectors t, x86_memory to, int from, int mask) {
        if (avx512_ || mask == 0)
            return with_memory(t, 0x11, of_map(1, t.wide), from, 0, to, mask, t.bytes());
        int left = part_[mask] * t.element();
        if (left >= 16) {
            store({t.wide, 0}, to, from, 0);
            to.distance += 16, left -= 16;
            if (left > 0) extract({t.wide, 0}, from, from, 1);
        }
        if (left >= 8) with_memory({t.wide, 0}, 0x13, of_map(1, 0), from, 0, to, 0, 1); // vmovlps
        if (left % 8 != 0) {                                                            // vextractps
            with_memory({t.wide, 0}, 0x17, of_map(3, 1), from, 0, {to.base, to.distance + left - 4}, 0, 1);
            put(left / 8 * 2, 1);
        }
    }
    [[gnu::cold, gnu::noinline]] void broadcast(vectors t, int to,
                                                x86_memory from) { // with AVX-512 not of doubles in 16 bytes
        if (!avx512_) t.length = 1;
        with_memory(t, t.wide ? 0x19 : 0x18, of_map(2, true), to, 0, from, 0, t.element());
    }
    // The kind of elements that are multiplied. 0: floats or doubles; 1: pairs of bfloat16, whose sums are floats; 2:
    // packets of four int8, whose sums are integers.
    int packets = 0;
    // sum += x y, where y is a register, a vector in memory, or one element of it for all
    void multiply_add(vectors t, int sum, int x, int y) {
        with_registers(t, multiply_code(), multiply_map(), sum, x, y);
    }
    void multiply_add(vectors t, int sum, int x, x86_memory y, int mask) {
        if (!avx512_ && mask != 0) return load(t, last() - 1, y, mask), multiply_add(t, sum, x, last() - 1);
        with_memory(t, multiply_code(), multiply_map(), sum, x, y, mask, t.bytes());
    }
    void multiply_add_element(vectors t, int sum, int x, x86_memory y) {
        if (!avx512_) return broadcast(t, last(), y), multiply_add(t, sum, x, last());
        with_memory(t, multiply_code(), multiply_map(), sum, x, y, 0x10, t.element());
    }
    // to = x y, where y is one number in memory for all; and, of floats or doubles, to += x y
    void multiply_factor(vectors t, int to, int x, x86_memory y) {
        if (!avx512_) {
            broadcast(t, last() - 1, y);
            return with_registers(t, 0x59, of_map(1, t.wide), to, x, last() - 1);
        }
        with_memory(t, packets == 2 ? 0x40 : 0x59, packets == 2 ? of_map(2, 1) : of_map(1, t.wide), to, x, y,
                    0x10, t.element());
    }
    void multiply_add_factor(vectors t, int sum, int x, x86_memory y) {
        if (!avx512_) return broadcast(t, last() - 1, y), multiply_add(t, sum, x, last() - 1);
        with_memory(t, 0xb8, of_map(2, 1), sum, x, y, 0x10, t.element());
    }
    void add(vectors t, int to, int x, int y) {
        with_registers(t, packets == 2 ? 0xfe : 0x58, of_map(1, packets == 2 || t.wide), to, x, y);
    }
    // 16 or 32 bytes of the longest vector
    [[gnu::cold, gnu::noinline]] void extract(vectors t, int to, int from, int which) {
        with_registers({t.wide, avx512_ ? 2 : 1}, t.length == 0 ? 0x19 : 0x1b, of_map(3, true), from, 0, to);
        put(which, 1);
    }
    // take_elements() takes the even or the odd elements of every 16 bytes of x, then of y. take_pieces() takes all
    // even or odd pieces of 16 bytes of both, and take_halves() all low or high halves.
    void take_elements(vectors t, int to, int x, int y, bool odd) {
        with_registers(t, 0xc6, of_map(1, t.wide), to, x, y);
        put(t.wide ? (odd ? 0xff : 0x00) : odd ? 0xdd : 0x88, 1);
    }
    void take_pieces(vectors t, int to, int x, int y, bool odd) {
        if (avx512_) return take_16_bytes(t, to, x, y, odd ? 0xdd : 0x88);
        with_registers(t, 0x06, of_map(3, true), to, x, y);
        put(odd ? 0x31 : 0x20, 1);
    }
    void take_halves(vectors t, int to, int x, int y, bool high) { // of AVX-512
        take_16_bytes(t, to, x, y, high ? 0xee : 0x44);
    }
    // Takes the elements of the low or high halves of every 16 bytes of x and y: one of x, one of y, and so on.
    void take_pairs(vectors t, int to, int x, int y, bool high) {
        with_registers(t, high ? 0x15 : 0x14, of_map(1, t.wide), to, x, y);
    }
    void clear(vectors t, int to) { with_registers({false, t.length}, 0xef, of_map(1, true), to, to, to); }
    [[gnu::cold, gnu::noinline]] void set_mask(int mask, index_t elements) { // 1 to 63, through rcx
        part_[mask] = static_cast<int>(elements);
        if (!avx512_) return;
        put(0xb948, 2), put(static_cast<index_t>(~std::uint64_t{0} >> (64 - elements)), 8);
        put(0x92fbe1c4, 4), put(0xc1 + 8 * mask, 1);
    }
    // `far`: into the second-level cache
    [[gnu::cold, gnu::noinline]] void prefetch(x86_memory line, bool to_write, bool far = false) {
        if (line.base > rdi) put(0x41, 1);
        put(to_write ? 0x0d0f : 0x180f, 2);
        put((far ? 0x90 : 0x88) + (line.base & 7), 1), put_number(line.distance);
    }

    // ---- addresses and loops --------------------------------------------------------------------------------
    [[gnu::cold, gnu::noinline]] void move(gpr to, index_t number) {
        rex(0, to);
        put(0xc7, 1), put(0xc0 + (to & 7), 1), put_number(number);
    }
    [[gnu::cold, gnu::noinline]] void move(gpr to, gpr from) {
        rex(from, to);
        put(0x89, 1), put(0xc0 + 8 * (from & 7) + (to & 7), 1);
    }
    [[gnu::cold, gnu::noinline]] void load(gpr to, x86_memory from) {
        rex(to, from.base);
        put(0x8b, 1), put(0x80 + 8 * (to & 7) + (from.base & 7), 1), put_number(from.distance);
    }
    [[gnu::cold, gnu::noinline]] void add(gpr to, index_t number) {
        if (number == 0) return;
        rex(0, to);
        put(0x81, 1), put(0xc0 + (to & 7), 1), put_number(number);
    }
    // to += from elements, of r8 to r11
    void add_elements(gpr to, gpr from, bool wide) {
        put(0x8d4a, 2), put(0x44 + 8 * to, 1);
        put((wide ? 0xc0 : 0x80) + 8 * (from & 7) + to, 2);
    }
    void push(gpr x) { put(0x50 + x, 1); }
    void pop(gpr x) { put(0x58 + x, 1); }
    // The begin of a loop that runs `count` times. A loop that runs once has no instructions.
    unsigned char* begin_loop(gpr counter, index_t count) {
        if (count > 1) move(counter, count);
        return at_;
    }
    [[gnu::cold, gnu::noinline]] void end_loop(gpr counter, index_t count, unsigned char* loop) {
        if (count <= 1) return;
        add(counter, -1);
        put(0x850f, 2), put_number(loop - (at_ + 4));
    }
    // Jumps to lands(), called with the result of this function, unless the register, one of the first eight, is
    // positive.
    unsigned char* leave_without(gpr x) {
        put(0x8548, 2), put(0xc0 + 9 * x, 1);
        put(0x8e0f, 2), put(0, 4);
        return at_;
    }
    // Decrements the register and, if it is then zero, jumps to lands(), called with the result of this function.
    unsigned char* leave_loop(gpr counter) {
        add(counter, -1);
        put(0x840f, 2), put(0, 4);
        return at_;
    }
    void lands(unsigned char* from) {
        auto const distance = static_cast<std::int32_t>(at_ - from);
        if (whole_) __builtin_memcpy(from - 4, &distance, 4);
    }
    void jump(unsigned char* to) { put(0xe9, 1), put_number(to - (at_ + 4)); }
    void leave() { put(0xc377f8c5, 4); } // vzeroupper, ret

private:
    [[gnu::noinline, gnu::cold]] void put(index_t bytes, int count) {
        if (end_ - at_ < count) whole_ = false, count = 0;
        for (; count > 0; --count, bytes >>= 8) *at_++ = static_cast<unsigned char>(bytes & 255);
    }
    void put_number(index_t x) {
        if (x != static_cast<std::int32_t>(x)) whole_ = false;
        put(x, 4);
    }
    void take_16_bytes(vectors t, int to, int x, int y, int which) {
        with_registers({true, t.length}, 0x23, of_map(3, true), to, x, y);
        put(which, 1);
    }
    // The prefix of an operation on 64 bits.
    void rex(int reg, int base) { put(0x48 + (reg > rdi ? 4 : 0) + (base > rdi ? 1 : 0), 1); }

    // The map and the prefix of an operation in an EVEX prefix: the map is 1 for 0F, 2 for 0F38, 3 for 0F3A; the prefix
    // is 1 for 66, 2 for F3, 3 for F2.
    static int of_map(int map, int prefix) { return map + 8 * prefix; }
    int multiply_code() const { return packets == 0 ? 0xb8 : packets == 1 ? 0x52 : 0x50; }
    int multiply_map() const { return of_map(2, packets == 1 ? 2 : 1); }
    // The prefix and the code. `third`: a register, whose bits are in two places, or the base of an address. `last`:
    // the last byte without the length and the second source. Among the AVX2 instructions here, only multiply-adds have
    // a bit for doubles.
    void prefix(vectors t, int code, int map, int reg, int second, int third, int last) {
        if (!avx512_) {
            put(0xc4, 1);
            put((map & 7) + (reg & 8 ? 0 : 0x80) + 0x40 + (third & 8 ? 0 : 0x20), 1);
            put((t.wide && code == 0xb8 ? 0x80 : 0) + (~second & 15) * 8 + t.length * 4 + map / 8, 1);
            return put(code, 1);
        }
        put(0x62, 1);
        put((map & 7) + (reg & 8 ? 0 : 0x80) + (third & 16 ? 0 : 0x40) + (third & 8 ? 0 : 0x20) +
                (reg & 16 ? 0 : 0x10),
            1);
        put((t.wide ? 0x80 : 0) + (~second & 15) * 8 + 4 + map / 8, 1);
        put(last + t.length * 0x20 + (second & 16 ? 0 : 8), 1);
        put(code, 1);
    }
    [[gnu::noinline, gnu::cold]] void with_registers(vectors t, int code, int map, int reg, int second,
                                                     int third) {
        prefix(t, code, map, reg, second, third, 0);
        put(0xc0 + (reg & 7) * 8 + (third & 7), 1);
    }
    // A distance that is a multiple of `unit` may take one byte.
    [[gnu::noinline, gnu::cold]] void with_memory(vectors t, int code, int map, int reg, int second,
                                                  x86_memory m, int last, int unit) {
        prefix(t, code, map, reg, second, m.base, last);
        if (!avx512_) unit = 1;
        int const operand = (reg & 7) * 8 + (m.base & 7);
        index_t const units = m.distance / unit;
        if (m.distance == 0 && m.base != rbp) // which needs one
            put(operand, 1);
        else if (units * unit == m.distance && units >= -128 && units < 128)
            put(0x40 + operand, 1), put(units & 255, 1);
        else
            put(0x80 + operand, 1), put_number(m.distance);
    }

    unsigned char *at_, *end_;
    bool whole_ = true, avx512_;
    unsigned char const* masks_;
    int part_[3] = {}; // elements of each mask
};

STRATAGEMM_END
