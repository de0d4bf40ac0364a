// A small product C = A B as straight code and counted loops: which tiles there are, and their instructions.
//
// As in kernel.inl.hpp, a tile is a block of rows and vectors of C that stays in registers while k runs. Here strips of
// columns and tiles in a strip are as even as the sides allow, and only the last vector of a row is masked. It is as short
// as its elements allow: processors that multiply 64 bytes in two halves (Zen 4) take half as long for 32.
#pragma once

#include "../kernels.hpp"
#include "assembler.hpp"

STRATAGEMM_BEGIN

// C = A B, C = alpha A B, or C = alpha A B + beta C.
enum class generated_end { plain = 0, scaled = 8, added = 16 };

// What a generated kernel has as constants. C has columns of stride one; so has B, which lies in strips of so many columns
// where these are apart.
struct generated_shape {
    index_t m, n, k, a_row, a_col, b_row, b_strip, c_row;
    index_t kind; // 32 times the bytes of an element, a generated_end, and 1 for dot products
};
inline bool operator==(generated_shape const& x, generated_shape const& y) {
    return ((x.m ^ y.m) | (x.n ^ y.n) | (x.k ^ y.k) | (x.a_row ^ y.a_row) | (x.a_col ^ y.a_col) |
            (x.b_row ^ y.b_row) | (x.b_strip ^ y.b_strip) | (x.c_row ^ y.c_row) | (x.kind ^ y.kind)) == 0;
}

// A number in parts that differ by one at most.
struct evenly {
    index_t parts, least, larger; // `larger` of the parts, and not all, have least + 1
    evenly(index_t x, index_t most) : parts(divide_up(x, most)), least(x / parts), larger(x % parts) {}
};

// A member of the argument of a kernel, block_args<float> or block_args<double>, which is in r11.
inline x86_memory argument_at(bool wide, std::size_t of_floats, std::size_t of_doubles) {
    return {x86::r11, static_cast<index_t>(wide ? of_doubles : of_floats)};
}
#define STRATAGEMM_ARGUMENT(WIDE, NAME)                                                                      \
    argument_at(WIDE, __builtin_offsetof(block_args<float>, NAME),                                           \
                __builtin_offsetof(block_args<double>, NAME))

class product_generator {
    using gpr = x86::gpr;
    using enum x86::gpr;

public:
    product_generator(generated_shape const& s, assembler& to)
        : s_(s), to_(to), size_(s.kind / 32), end_(static_cast<generated_end>(s.kind & 24)),
          t_(vector_of(s.n)), lanes_(t_.bytes() / size_), vectors_(divide_up(s.n, lanes_)),
          rest_(s.n % lanes_), last_(rest_ > 0 ? vector_of(rest_) : t_),
          masked_(rest_ * size_ % last_.bytes() != 0) {}

    // A function of block_args<float> or block_args<double>, of which it reads pointers, factors and what a batch has.
    // Registers: rdi, rsi, rdx for A, B and C; r8, r9 for A and B while k runs; rcx, r10, rax, rbx count steps of k, tiles of
    // a row, rows of tiles, and products; r11 is the argument.
    [[gnu::cold, gnu::noinline]] void write() {
        if (masked_) to_.set_mask((index_t{1} << rest_) - 1);
        to_.push(rbx);
        to_.move(r11, rdi);
        to_.load(rbx, STRATAGEMM_ARGUMENT(t_.wide, count));
        to_.load(rsi, STRATAGEMM_ARGUMENT(t_.wide, b));
        to_.load(rdx, STRATAGEMM_ARGUMENT(t_.wide, c));
        to_.load(rdi, STRATAGEMM_ARGUMENT(t_.wide, a));
        unsigned char* const product = to_.here();

        evenly const strips(vectors_, widest()), tiles(s_.m, tallest(divide_up(vectors_, strips.parts)));
        write_rows(strips, tiles.least + 1, tiles.larger);
        write_rows(strips, tiles.least, tiles.parts - tiles.larger);
        a_ahead_ -= s_.m * s_.a_row, c_ahead_ -= s_.m * s_.c_row;

        unsigned char* const leave = to_.leave_loop(rbx);
        go();
        to_.load(r8, STRATAGEMM_ARGUMENT(t_.wide, a_step));
        to_.load(r9, STRATAGEMM_ARGUMENT(t_.wide, b_step));
        to_.load(r10, STRATAGEMM_ARGUMENT(t_.wide, c_step));
        to_.add_elements(rdi, r8, size_ == 8);
        to_.add_elements(rsi, r9, size_ == 8);
        to_.add_elements(rdx, r10, size_ == 8);
        to_.jump(product);
        to_.lands(leave);
        to_.pop(rbx);
        to_.leave();
    }

private:
    // The shortest that holds so many elements, or the longest.
    assembler::vectors vector_of(index_t elements) const {
        return {size_ == 8, elements * size_ <= 16 ? 0 : elements * size_ <= 32 ? 1 : 2};
    }

    // Rows of the tallest tile of so many vectors: these, a row of B and an element of A are in registers, and three are left
    // when the sums are done.
    static index_t tallest(index_t width) { return width == 1 ? 28 : (31 - width) / width; }

    // Where a vector of a row of B lies: B may consist of strips of two.
    bool has_strips() const { return s_.b_strip != 128 / size_; }
    index_t column(index_t vector) const {
        return has_strips() ? vector / 2 * s_.b_strip + vector % 2 * lanes_ : vector * lanes_;
    }

    // Cycles of tiles of so many vectors that are as high as all rows, about: two multiply-adds or loads a cycle, six
    // instructions, a result after four, a store.
    double cycles(index_t width) const {
        if (width == 0) return 0;
        evenly const tiles(s_.m, tallest(width));
        double all = 0;
        for (int more = 0; more < 2; ++more) {
            index_t const rows = tiles.least + more, sums = rows * width, loads = rows + width;
            index_t const step =
                larger_of(larger_of(3 * sums, 3 * loads), larger_of(width > 1 ? loads + sums : loads, 24));
            all += static_cast<double>(more ? tiles.larger : tiles.parts - tiles.larger) *
                   static_cast<double>(6 * (10 + sums) + s_.k * step);
        }
        return all;
    }
    // The width of strips that takes the fewest.
    [[gnu::cold, gnu::noinline]] index_t widest() const {
        if (has_strips()) return smaller(2, vectors_);
        double least = 0;
        index_t best = 0;
        for (index_t width = 1; width <= vectors_ && width <= 12; ++width) {
            evenly const strips(vectors_, width);
            double const all = static_cast<double>(strips.larger) * cycles(strips.least + 1) +
                               static_cast<double>(strips.parts - strips.larger) * cycles(strips.least);
            if (best == 0 || all < least) best = width, least = all;
        }
        return best;
    }

    // `count` times so many rows of C.
    [[gnu::cold, gnu::noinline]] void write_rows(evenly const& strips, index_t rows, index_t count) {
        if (count == 0) return;
        go();
        unsigned char* const loop = to_.begin_loop(rax, count);
        write_strips(rows, strips.least + 1, strips.larger, false);
        write_strips(rows, strips.least, strips.parts - strips.larger, rest_ > 0);
        b_ahead_ -= column(vectors_), a_ahead_ += rows * s_.a_row,
            c_ahead_ += rows * s_.c_row - vectors_ * lanes_;
        if (count > 1) go();
        to_.end_loop(rax, count, loop);
    }
    // `ends`: the last vector of the last strip is the last of its row, and not whole.
    [[gnu::cold, gnu::noinline]] void write_strips(index_t rows, index_t width, index_t count, bool ends) {
        count -= ends;
        if (count > 0) {
            go();
            unsigned char* const loop = to_.begin_loop(r10, count);
            write_tile(static_cast<int>(rows), static_cast<int>(width), false);
            if (count > 1) go();
            to_.end_loop(r10, count, loop);
        }
        if (ends) write_tile(static_cast<int>(rows), static_cast<int>(width), true);
    }

    // Sums are registers 0, 1 and so on, a row of B those after them, an element of A the last.
    [[gnu::cold, gnu::noinline]] void write_tile(int rows, int width, bool ends) {
        go();
        int const sums = rows * width;
        for (int x = 0; x < sums; ++x) {
            to_.clear(t_, x);
            if (s_.m * s_.n * size_ > 32768)
                to_.prefetch(of_c(x / width, x % width), true); // of a C in no near cache
        }
        // What fits well into the cache of decoded instructions is written out.
        index_t const step = width > 1 ? sums + rows + width : sums + 1;
        if (s_.k * step <= 320) {
            write_steps(rows, width, ends, rdi, rsi, s_.k);
        } else {
            index_t const unrolled = larger_of(1, 96 / step);
            to_.move(r8, rdi), to_.move(r9, rsi);
            unsigned char* const loop = to_.begin_loop(rcx, s_.k / unrolled);
            write_steps(rows, width, ends, r8, r9, unrolled);
            to_.add(r8, unrolled * s_.a_col * size_), to_.add(r9, unrolled * s_.b_row * size_);
            to_.end_loop(rcx, s_.k / unrolled, loop);
            write_steps(rows, width, ends, r8, r9, s_.k % unrolled);
        }
        // As finish_part() in kernels.hpp.
        int const alpha = 29, beta = 30, other = 31;
        assembler::vectors const all{t_.wide, t_.length > 0 ? t_.length : 1};
        bool const adds = end_ == generated_end::added;
        if (end_ != generated_end::plain) to_.broadcast(all, alpha, STRATAGEMM_ARGUMENT(t_.wide, alpha));
        if (adds) to_.broadcast(all, beta, STRATAGEMM_ARGUMENT(t_.wide, beta));
        for (int x = 0; x < sums; ++x) {
            x86_memory const c = of_c(x / width, x % width);
            bool const last = ends && x % width == width - 1, masked = last && masked_;
            assembler::vectors const t = last ? last_ : t_;
            if (adds) {
                to_.load(t, other, c, masked);
                to_.multiply(t, other, other, beta);
                to_.multiply_add(t, other, x, alpha);
            } else if (end_ == generated_end::scaled) {
                to_.multiply(t, x, x, alpha);
            }
            to_.store(t, c, adds ? other : x, masked);
        }
        b_ahead_ += column(width), c_ahead_ += width * lanes_;
    }
    [[gnu::cold, gnu::noinline]] void write_steps(int rows, int width, bool ends, gpr a, gpr b,
                                                  index_t steps) {
        int const row = rows * width, element = 31;
        bool const in_memory = rows == 1 && width > 1;
        for (index_t p = 0; p < steps; ++p)
            for (int r = in_memory ? 0 : -1; r < rows; ++r) {
                x86_memory const of_a{a, (r * s_.a_row + p * s_.a_col) * size_};
                if (r >= 0 && width > 1) to_.broadcast(t_, element, of_a);
                for (int v = 0; v < width; ++v) {
                    x86_memory const of_b{b, (p * s_.b_row + column(v)) * size_};
                    bool const last = ends && v == width - 1, masked = last && masked_;
                    assembler::vectors const t = last ? last_ : t_;
                    // The next rows of a B that comes from the second-level cache, which one row of A waits for.
                    if (in_memory && s_.k * s_.n * size_ > 32768)
                        to_.prefetch({b, of_b.distance + 4 * s_.b_row * size_}, false);
                    if (r < 0)
                        to_.load(t, row + v, of_b, masked);
                    else if (width == 1)
                        to_.multiply_add_element(t, r, row, of_a);
                    else if (in_memory)
                        to_.multiply_add(t, v, element, of_b, masked);
                    else
                        to_.multiply_add(t, r * width + v, element, row + v);
                }
            }
    }

    x86_memory of_c(int r, int v) const { return {rdx, (r * s_.c_row + v * lanes_) * size_}; }
    // Moves on to where what comes next begins.
    [[gnu::cold, gnu::noinline]] void go() {
        to_.add(rdi, a_ahead_ * size_), to_.add(rsi, b_ahead_ * size_), to_.add(rdx, c_ahead_ * size_);
        a_ahead_ = b_ahead_ = c_ahead_ = 0;
    }

    generated_shape const& s_;
    assembler& to_;
    index_t size_;
    generated_end end_;
    assembler::vectors t_;
    index_t lanes_, vectors_, rest_; // elements; vectors and further elements of a row
    assembler::vectors last_;        // of which the rest is
    bool masked_;
    index_t a_ahead_ = 0, b_ahead_ = 0, c_ahead_ = 0;
};

STRATAGEMM_END
