// A product C = A B as straight code and counted loops: the instructions of its tiles (tiling.hpp). A tile is a block
// of rows and vectors of C that stays in registers while k runs, as in kernel.inl.hpp.
#pragma once

#include "tiling.hpp"

STRATAGEMM_BEGIN

// A member of the argument of a kernel, block_args<float> or block_args<double>, which is in r11.
inline x86_memory argument_at(bool wide, std::size_t of_floats, std::size_t of_doubles) {
    return {x86::r11, static_cast<index_t>(wide ? of_doubles : of_floats)};
}
#define STRATAGEMM_ARGUMENT(WIDE, NAME)                                                                      \
    argument_at(WIDE, __builtin_offsetof(block_args<float>, NAME),                                           \
                __builtin_offsetof(block_args<double>, NAME))

class product_generator : generated_tiling {
    using gpr = x86::gpr;
    using enum x86::gpr;

public:
    [[gnu::cold, gnu::noinline]] product_generator(generated_shape const& s, assembler& to)
        : generated_tiling(s, to.is_avx512()), to_(to), end_(static_cast<generated_end>(s.kind & 48)),
          c_col_(turned_ ? s.c_row : 1), masked_(rest_ * size_ % last_.bytes() != 0),
          copies_(s.is(generated_form::copied) && goes_down() && tiles_.parts > 2) {}

    // A function of block_args<float> or block_args<double>, of which it reads pointers, factors and what a batch
    // has. Registers: rdi, rsi, rdx for A, B and C; r8, r9 for A and B while k runs; rcx, r10, rax, rbx count steps
    // of k, tiles of a row, rows of tiles, and products; rbp is for the copy of a strip; r11 is the argument.
    [[gnu::cold, gnu::noinline]] void write() {
        to_.packets = s_.packets();
        if (masked_) to_.set_mask(1, rest_);
        to_.push(rbx);
        if (copies_) to_.push(rbp);
        to_.move(r11, rdi);
        if (copies_) to_.load(rbp, STRATAGEMM_ARGUMENT(t_.wide, room));
        to_.load(rbx, STRATAGEMM_ARGUMENT(t_.wide, count));
        unsigned char* const none = to_.leave_without(rbx);
        to_.load(rsi, STRATAGEMM_ARGUMENT(t_.wide, b));
        to_.load(rdx, STRATAGEMM_ARGUMENT(t_.wide, c));
        to_.load(rdi, STRATAGEMM_ARGUMENT(t_.wide, a));
        unsigned char* const product = to_.here();

        index_t const k = s_.k;
        auto const pieces = pieces_of(k, size_);
        piece_ = pieces.length;
        for (index_t p = 0, left = pieces.count, steps; p < k; p += steps, left -= beside_) {
            beside_ = static_cast<int>(smaller(left, most_beside()));
            s_.k = smaller(piece_, k - p - (beside_ - 1) * piece_);
            steps = (beside_ - 1) * piece_ + s_.k;
            if (goes_down())
                write_across(0);
            else
                write_down(0, false);
            a_ahead_ += steps * s_.a_col, b_ahead_ += steps * s_.b_row;
            end_ = generated_end::further;
        }
        a_ahead_ -= k * s_.a_col, b_ahead_ -= k * s_.b_row;

        unsigned char* const leave = to_.leave_loop(rbx);
        go();
        to_.load(r8, STRATAGEMM_ARGUMENT(t_.wide, a_step));
        to_.load(r9, STRATAGEMM_ARGUMENT(t_.wide, b_step));
        to_.load(r10, STRATAGEMM_ARGUMENT(t_.wide, c_step));
        to_.add_elements(rdi, r8, size_ == 8);
        to_.add_elements(rsi, r9, size_ == 8);
        to_.add_elements(rdx, r10, size_ == 8);
        to_.jump(product);
        to_.lands(leave), to_.lands(none);
        if (copies_) to_.pop(rbp);
        to_.pop(rbx);
        to_.leave();
    }

private:
    // Whether sums are integers: they begin with the row before B.
    bool sums_integers() const { return to_.packets == 2; }

    // Writes all tiles of `rows` rows; or, if `rows` is 0, all of C, one strip after the other.
    [[gnu::cold, gnu::noinline]] void write_across(index_t rows) {
        bool const ends = rest_ > 0; // the last vector of the last strip is not whole
        repeat(r10, strips_.wides, rows, strips_.wide, false);
        repeat(r10, strips_.narrows - ends, rows, strips_.narrow, false);
        repeat(r10, ends, rows, strips_.narrow, true);
        b_ahead_ -= column(vectors_), c_ahead_ -= vectors_ * lanes_ * c_col_;
    }
    // Writes all tiles of a strip of `width` vectors; or, if `width` is 0, all of C. The first tiles fetch the next
    // strip: each of them some vectors of every row. If a strip is copied, the two tiles after the one that writes the
    // copy fetch the next strip; they use every other step for a row that rsi points to.
    [[gnu::cold, gnu::noinline]] void write_down(index_t width, bool ends) {
        index_t larger = tiles_.larger, left = tiles_.parts;
        bool const copies = copies_ && width > 0;
        index_t const first = copies ? 2 : smaller(left, width), b_row = s_.b_row;
        fetched_to_ = 0;
        for (index_t t = 0; left > 0; ++t) {
            index_t const count = t >= first ? left : copies ? 1 + t : 1, tall = smaller(larger, count);
            fetched_ = fetched_to_;
            if (copies) {
                writes_copy_ = t == 0, fetched_row_ = t == 1 ? b_row : 0;
                if (t == 1) b_ahead_ += column(width), b_ = rbp, s_.b_row = width * lanes_;
            } else if (t < first) {
                fetched_to_ = width * (t + 1) / first;
            }
            repeat(rax, tall, tiles_.least + 1, width, ends);
            repeat(rax, count - tall, tiles_.least, width, ends);
            larger -= tall, left -= count;
        }
        if (copies) b_ahead_ -= column(width) + (s_.k + 1) / 2 * 2 * b_row;
        b_ = rsi, s_.b_row = b_row, fetched_row_ = 0;
        a_ahead_ -= s_.m * s_.a_row, c_ahead_ -= s_.m * c_row_;
    }
    // Repeats a tile `count` times, or, if `width` or `rows` is 0, all tiles across or down. Then moves on by a tile,
    // in the direction that is counted.
    [[gnu::cold, gnu::noinline]] void repeat(gpr counter, index_t count, index_t rows, index_t width,
                                             bool ends) {
        if (count == 0) return;
        go();
        unsigned char* const loop = to_.begin_loop(counter, count);
        if (width == 0)
            write_across(rows);
        else if (rows == 0)
            write_down(width, ends);
        else
            write_tile(static_cast<int>(rows), static_cast<int>(width), ends);
        if (counter == rax)
            a_ahead_ += rows * s_.a_row, c_ahead_ += rows * c_row_;
        else
            b_ahead_ += column(width), c_ahead_ += width * lanes_ * c_col_;
        if (count > 1) go();
        to_.end_loop(counter, count, loop);
    }

    // Registers 0, 1 and so on are sums, of one piece of k after another; the next are a row of B, and the last is an
    // element of A.
    [[gnu::cold, gnu::noinline]] void write_tile(int rows, int width, bool ends) {
        go();
        int const sums = rows * width, all = beside_ * sums;
        index_t const lines = s_.m * s_.n * size_ <= 32768 ? 0 : turned_ ? width * lanes_ : sums;
        for (index_t x = 0; x < all || x < lines; ++x) {
            if (x < all) begin(x / width, static_cast<int>(x), x % width, ends && x % width == width - 1);
            if (x < lines) // of a C in no near cache
                to_.prefetch(turned_ ? of_c(0, x) : of_c(x / width, x % width * lanes_), true);
        }
        // Steps are written out if they fit well into the cache of decoded instructions.
        index_t const step = beside_ * (width > 1 ? sums + rows + width : sums + 1);
        index_t const copy_row = writes_copy_ ? width * t_.bytes() : 0;
        index_t left = s_.k;
        gpr a = rdi, b = b_;
        if (left * step > 320) {
            index_t unrolled = larger_of(1, 96 / step);
            if (fetched_row_ != 0) unrolled = (unrolled + 1) / 2 * 2;
            a = r8, b = r9;
            to_.move(a, rdi), to_.move(b, b_);
            unsigned char* const loop = to_.begin_loop(rcx, left / unrolled);
            write_steps(rows, width, ends, a, b, 0, unrolled, beside_);
            to_.add(a, unrolled * s_.a_col * size_), to_.add(b, unrolled * s_.b_row * b_size_);
            to_.add(rbp, unrolled * copy_row), to_.add(rsi, unrolled / 2 * fetched_row_ * b_size_);
            to_.end_loop(rcx, left / unrolled, loop);
            left %= unrolled;
        }
        write_steps(rows, width, ends, a, b, 0, left, beside_);
        to_.add(rbp, (left - s_.k) * copy_row), b_ahead_ += (left + 1) / 2 * fetched_row_;
        // The last piece may be shorter.
        if (beside_ > 1) write_steps(rows, width, ends, a, b, left, left + piece_ - s_.k, beside_ - 1);

        generated_end const end = end_;
        for (int x = 0; x < all; ++x) {
            int const in_piece = x % sums, v = x % width;
            bool const last = ends && v == width - 1;
            assembler::vectors const t = last ? last_ : t_;
            if (!turned_)
                store(t, of_c(in_piece / width, v * lanes_), x, last && masked_);
            else if (in_piece < width)
                store_turned(t, x, rows, width, v, last ? rest_ : lanes_);
            if (in_piece == sums - 1) end_ = generated_end::further;
        }
        end_ = end;
    }
    [[gnu::cold]] void begin(index_t row, int sum, index_t v, bool last) {
        x86_memory const before_b{rsi, (column(v) - s_.b_row) * size_};
        if (continues_ || sums_integers())
            to_.load(last ? last_ : t_, sum, continues_ ? of_c(row, v * lanes_) : before_b, last && masked_);
        else
            to_.clear(t_, sum);
    }
    // Stores as finish_part() in kernels.hpp does.
    [[gnu::cold, gnu::noinline]] void store(assembler::vectors t, x86_memory c, int sum, int mask) {
        int const result = to_.last();
        if (end_ >= generated_end::added) {
            to_.load(t, result, c, mask);
            if (end_ == generated_end::added)
                to_.multiply_factor(t, result, result, STRATAGEMM_ARGUMENT(t_.wide, beta));
            if (sums_integers()) {
                to_.multiply_factor(t, sum, sum, STRATAGEMM_ARGUMENT(t_.wide, alpha));
                to_.add(t, result, result, sum);
            } else {
                to_.multiply_add_factor(t, result, sum, STRATAGEMM_ARGUMENT(t_.wide, alpha));
            }
        } else if (end_ == generated_end::scaled) {
            to_.multiply_factor(t, result, sum, STRATAGEMM_ARGUMENT(t_.wide, alpha));
        }
        to_.store(t, c, end_ == generated_end::plain ? sum : result, mask);
    }

    // Columns of C from vector v of each row, whose sums are in registers from `first` on. The vector has so many
    // columns: of four floats or two doubles, 16 bytes of a register become those of a column. Two columns of two
    // floats that are side by side are 16 bytes, too.
    [[gnu::cold, gnu::noinline]] void store_turned(assembler::vectors t, int first, int rows, int width,
                                                   int v, index_t columns) {
        int const in_16 = static_cast<int>(16 / size_), low = static_cast<int>(most_turned()),
                  low_2 = low + 1, joined = low + 2, part = low + 3;
        int const together = in_16 == 4 && s_.m == 2 && s_.c_row == 2 ? 2 : 1;
        for (int r = 0, in_mask = 0; r < rows; r += in_16) {
            int const high = rows - r < in_16 ? rows - r : in_16;
            auto const sum = [&](int i) { return first + (r + (i < high ? i : high - 1)) * width; };
            for (int i = 0; i < high; i += 2) {
                to_.take_pairs(t, low + i / 2, sum(i), sum(i + 1), false);
                to_.take_pairs(t, sum(i), sum(i), sum(i + 1), true);
            }
            for (int q = 0; q < in_16; q += together) {
                int from = q < in_16 / 2 ? low : sum(0);
                if (in_16 == 4 && together == 1) {
                    int const second = high <= 2 ? from : from == low ? low_2 : sum(2);
                    to_.take_pairs({true, t.length}, joined, from, second, q % 2 == 1);
                    from = joined;
                }
                for (int l = 0; l < 1 << t.length; ++l) {
                    index_t const column = in_16 * l + q;
                    if (column >= columns) break;
                    int const used = high * static_cast<int>(smaller(together, columns - column));
                    if (used < in_16 && used != in_mask) to_.set_mask(2, used), in_mask = used;
                    if (l > 0) to_.extract({t_.wide, 0}, part, from, l);
                    store({t_.wide, 0}, of_c(r, v * lanes_ + column), l > 0 ? part : from,
                          used < in_16 ? 2 : 0);
                }
            }
        }
    }
    // Steps `from` to `to`, less one, of each of so many pieces of k.
    [[gnu::cold, gnu::noinline]] void write_steps(int rows, int width, bool ends, gpr a, gpr b, index_t from,
                                                  index_t to, int pieces) {
        int const row = beside_ * rows * width, element = to_.last();
        int const narrow = s_.narrow_b();
        bool const in_memory = rows == 1 && width > 1;
        bool const fetches_a = !avx512_ && s_.a_col == 1 && pieces == 1 &&
                               s_.m * s_.a_row * size_ > 4 << 20 && !rows_nearly_collide(s_.a_row * size_);
        for (index_t x = from * pieces; x < to * pieces; ++x) {
            int const piece = static_cast<int>(x % pieces), first = piece * rows * width;
            index_t const p = x / pieces + piece * piece_;
            if (fetched_row_ != 0 && x % 2 == 0)
                to_.prefetch(end_of_line(rsi, x / 2 * fetched_row_ * b_size_), false, true);
            for (index_t v = fetched_; v < fetched_to_; ++v)
                if (begins_line(v))
                    to_.prefetch(end_of_line(b, (p * s_.b_row + column(width + v)) * b_size_), false, true);
            for (int r = in_memory ? 0 : -1; r < rows; ++r) {
                x86_memory const of_a{a, (r * s_.a_row + p * s_.a_col) * size_};
                // If A comes from memory, or is much of the third-level cache, the rows of the next tile are fetched.
                if (fetches_a && r >= 0 && (p - from) * size_ % 64 == 0)
                    to_.prefetch({a, of_a.distance + rows * s_.a_row * size_}, false);
                if (r >= 0 && (width > 1 || sums_integers())) to_.broadcast(t_, element, of_a);
                for (int v = 0; v < width; ++v) {
                    x86_memory const of_b{b, (p * s_.b_row + column(v)) * b_size_};
                    bool const last = ends && v == width - 1, masked = last && masked_;
                    assembler::vectors const t = last ? last_ : t_;
                    // If B comes from the second-level cache and one row of A waits for B, or if B comes from memory,
                    // its next lines are fetched: further rows or, where there are few rows, those of the next tile.
                    if (begins_line(v)) {
                        if (in_memory && s_.k * s_.n * b_size_ > 32768)
                            to_.prefetch(
                                end_of_line(b, of_b.distance +
                                                   (s_.k <= 16 ? width * lanes_ : 4 * s_.b_row) * b_size_),
                                false);
                        else if (r < 0 && continues_)
                            to_.prefetch({b, of_b.distance + s_.k * s_.b_row * b_size_}, false);
                        else if (r < 0 && !goes_down() &&
                                 s_.k * s_.b_row * b_size_ > second_level_cache()) // in the third
                            to_.prefetch(
                                end_of_line(b, of_b.distance + (avx512_ ? 12 : 24) * s_.b_row * b_size_),
                                false);
                    }
                    if (r < 0) {
                        to_.load_widened(narrow, t, row + v, of_b, masked);
                        if (writes_copy_) to_.store(t_, {rbp, (p * width + v) * t_.bytes()}, row + v, 0);
                    } else if (width == 1 && !sums_integers())
                        to_.multiply_add_element(t, first + r, row, of_a);
                    else if (in_memory && narrow)
                        to_.load_widened(narrow, t, row, of_b, masked),
                            to_.multiply_add(t, first + v, element, row);
                    else if (in_memory)
                        to_.multiply_add(t, first + v, element, of_b, masked);
                    else
                        to_.multiply_add(t, first + r * width + v, element, row + v);
                }
            }
        }
    }

    bool begins_line(index_t vector) const { return vector * lanes_ * b_size_ % 64 == 0; }
    // The last of 64 bytes that are fetched. These bytes may be parts of two cache lines; the columns before have then
    // fetched the first line.
    static x86_memory end_of_line(gpr base, index_t distance) { return {base, distance + 63}; }
    x86_memory of_c(index_t r, index_t column) const { return {rdx, (r * c_row_ + column * c_col_) * size_}; }
    // Moves the pointers on to the next tile.
    [[gnu::cold, gnu::noinline]] void go() {
        to_.add(rdi, a_ahead_ * size_), to_.add(rsi, b_ahead_ * b_size_), to_.add(rdx, c_ahead_ * size_);
        a_ahead_ = b_ahead_ = c_ahead_ = 0;
    }

    assembler& to_;
    generated_end end_;
    index_t c_col_;                        // distance of columns
    bool masked_;                          // the last vector
    bool copies_;                          // strips of B, as generated_form says
    bool writes_copy_ = false;             // the tile that is written does
    gpr b_ = rsi;                          // what tiles read: B, or the copy
    index_t fetched_row_ = 0;              // distance of rows of the next strip, where tiles fetch these
    index_t fetched_ = 0, fetched_to_ = 0; // vectors of the next strip that steps fetch
    index_t piece_ = 0;                    // steps of each piece of k but for the last
    int beside_ = 1; // pieces whose sums are in registers together, of which s_.k are the steps of the last
    index_t a_ahead_ = 0, b_ahead_ = 0, c_ahead_ = 0;
};

STRATAGEMM_END
