// Dot products of a few rows and a matrix whose columns are contiguous, or the other way round: which tiles there
// are, and their instructions. The order of sums is that of dots() in dots.inl.hpp.
#pragma once

#include "product.hpp"

STRATAGEMM_BEGIN

// The tiles of dot products, which take the fewest cycles. b_strip of the shape: the distance between columns of B.
class dots_tiling {
public:
    [[gnu::cold]] dots_tiling(generated_shape const& s, bool avx512)
        : size_(s.size()), c_size_(size_ == 8 ? 8 : 4), lanes_(64 / size_), bytes_(avx512 ? 64 : 32),
          narrow_a_(s.narrow_a()), narrow_b_(s.narrow_b()), a_size_(s.size_of(narrow_a_)),
          b_size_(s.size_of(narrow_b_)) {
        index_t least = 0;
        bool const a_collides = rows_nearly_collide(s.a_row * a_size_),
                   b_collides = rows_nearly_collide(s.b_strip * b_size_);
        for (index_t rows = 1; rows <= most_rows() && rows <= s.m; ++rows)
            for (index_t columns = 1; columns <= 16 && columns <= s.n && rows * columns <= most_sums();
                 ++columns) {
                if ((a_collides ? rows : 1) + (b_collides ? columns : 1) > ways) continue;
                index_t const all = divide_up(s.m, rows) * divide_up(s.n, columns) *
                                    (step(rows, columns) * divide_up(s.k, lanes_) + end(rows, columns));
                if (least == 0 || all < least) least = all, rows_ = rows, columns_ = columns;
            }
    }

    // Half cycles, about: two multiply-adds or loads a cycle, and a cycle for four loads that the nearest cache does
    // not have; a result after four; a shuffle a cycle.
    index_t step(index_t rows, index_t columns) const {
        index_t const loads = rows + columns;
        return larger_of(8, larger_of(rows * columns, loads) * halves()) + loads / 2;
    }
    index_t end(index_t rows, index_t columns) const {
        return 40 * divide_up(rows, down_of(rows)) * divide_up(columns, across_of(rows)) + 2 * rows * columns;
    }
    index_t rows() const { return rows_; }
    index_t columns() const { return columns_; }

protected:
    // Sums that one vector is made of, where rows of C are apart.
    index_t down_of(index_t rows) const { return smaller(rows, bytes_ / 16); }
    index_t across_of(index_t rows) const {
        return bytes_ / c_size_ / (down_of(rows) == 3 ? 4 : down_of(rows));
    }

    // Vectors of 64 bytes along k, each of which has a separate sum.
    index_t halves() const { return 64 / bytes_; }
    index_t most_rows() const { return bytes_ == 64 ? 8 : 3; }
    int most_sums() const { return bytes_ == 64 ? 20 : 6; }

    // Lines of one set of the first-level cache, which rows that collide share.
    static constexpr index_t ways = 8;

    index_t size_, c_size_, lanes_, bytes_, rows_ = 1, columns_ = 1; // bytes of a vector
    int narrow_a_, narrow_b_;
    index_t a_size_, b_size_; // bytes of an element
};

class dots_generator : dots_tiling {
    using gpr = x86::gpr;
    using enum x86::gpr;

public:
    [[gnu::cold, gnu::noinline]] dots_generator(generated_shape const& s, assembler& to)
        : dots_tiling(s, to.is_avx512()), s_(s), to_(to),
          adds_((s.kind & 48) == static_cast<int>(generated_end::added)), t_{size_ == 8,
                                                                             to.is_avx512() ? 2 : 1},
          row_of_a_(most_sums() * static_cast<int>(halves())), rows_first_(s.m > s.n), fetches_(fetches(s)) {}

    // Registers as in product_generator, but for r10 and rax, which count tiles of columns and of rows.
    [[gnu::cold, gnu::noinline]] void write() {
        to_.packets = size_ == 2 ? 1 : size_ == 1 ? 2 : 0;
        to_.move(r11, rdi);
        to_.load(rsi, STRATAGEMM_ARGUMENT(t_.wide, b));
        to_.load(rdx, STRATAGEMM_ARGUMENT(t_.wide, c));
        to_.load(rdi, STRATAGEMM_ARGUMENT(t_.wide, a));
        // The inner loop is over the smaller operand, which stays in a cache while the other is read once.
        side const down{s_.m, rows_, rax, rdi, s_.a_row * a_size_, s_.c_row},
            across{s_.n, columns_, r10, rsi, s_.b_strip * b_size_, 1};
        if (rows_first_)
            write_side(down, &across, 0);
        else
            write_side(across, &down, 0);
        to_.leave();
    }

private:
    // Whether tiles fetch ahead the operand of the outer loop, since it comes from memory and is multiplied with a few
    // rows or columns. One or two rows are as slow as memory anyway, and slower with more requests; many rows take
    // longer than memory does.
    bool fetches(generated_shape const& s) const {
        index_t const few = smaller(s.m, s.n),
                      bytes = s.m > s.n ? s.m * s.a_row * a_size_ : s.n * s.b_strip * b_size_;
        return few >= 3 && few <= 16 && bytes > fetched_from(to_.is_avx512());
    }

    // Rows of A and C, or columns of B and C: how many of all and at most of a tile, what counts tiles and what
    // points to the operand, and how far apart they are: bytes, and elements of C.
    struct side {
        index_t all, most;
        gpr counter, operand;
        index_t apart, apart_in_c;
    };
    // For each tile of this side, those of the inner side; without one, a tile that has `outer` rows or columns.
    [[gnu::cold, gnu::noinline]] void write_side(side const& x, side const* inner, index_t outer) {
        evenly const parts(x.all, x.most);
        for (int more = 1; more >= 0; --more) {
            index_t const count = more ? parts.larger : parts.parts - parts.larger,
                          length = parts.least + more;
            if (count == 0) continue;
            unsigned char* const loop = to_.begin_loop(x.counter, count);
            index_t in_c = length * x.apart_in_c;
            if (inner) {
                write_side(*inner, nullptr, length);
                to_.add(inner->operand, -inner->all * inner->apart);
                in_c -= inner->all * inner->apart_in_c;
            } else {
                bool const rows = x.counter == rax;
                write_tile(static_cast<int>(rows ? length : outer), static_cast<int>(rows ? outer : length));
            }
            to_.add(x.operand, length * x.apart);
            to_.add(rdx, in_c * c_size_);
            to_.end_loop(x.counter, count, loop);
        }
    }

    // Sums are registers 0, 1 and so on, those of a row side by side.
    [[gnu::cold, gnu::noinline]] void write_tile(int rows, int columns) {
        int const sums = rows * columns, halves = static_cast<int>(this->halves());
        for (int x = 0; x < halves * sums; ++x) to_.clear(t_, x);
        index_t const steps = s_.k / lanes_, step = halves * (rows + columns + sums);
        gpr a = rdi, b = rsi;
        index_t done = 0;
        if (steps * step > 320) {
            index_t const unrolled = larger_of(1, 96 / step), loops = steps / unrolled;
            a = r8, b = r9;
            to_.move(r8, rdi), to_.move(r9, rsi);
            unsigned char* const loop = to_.begin_loop(rcx, loops);
            for (index_t p = 0; p < unrolled * halves; ++p) write_step(rows, columns, a, b, p, false);
            to_.add(r8, unrolled * lanes_ * a_size_), to_.add(r9, unrolled * lanes_ * b_size_);
            to_.end_loop(rcx, loops, loop);
            done = loops * unrolled;
        }
        for (index_t p = done * halves; p < steps * halves; ++p)
            write_step(rows, columns, a, b, p - done * halves, false);
        index_t const in_vector = bytes_ / size_;
        for (index_t left = s_.k % lanes_, p = (steps - done) * halves; left > 0; left -= in_vector, ++p) {
            if (left < in_vector) to_.set_mask(1, left);
            write_step(rows, columns, a, b, p, left < in_vector);
        }
        for (int x = 0; x < sums && halves > 1; ++x) to_.add(t_, x, x, x + sums);
        if (columns == s_.n && s_.c_row == columns && sums <= bytes_ / c_size_) {
            write_sums(0, 1, 0, sums, columns);
        } else {
            int const down = static_cast<int>(down_of(rows)), across = static_cast<int>(across_of(rows));
            for (int r = 0; r < rows; r += down)
                for (int s = 0; s < columns; s += across)
                    write_sums(r, smaller(down, rows - r), s, smaller(across, columns - s), columns);
        }
    }
    // A vector of k, with the sums of a first half or of a second one.
    [[gnu::cold, gnu::noinline]] void write_step(int rows, int columns, gpr a, gpr b, index_t p,
                                                 bool masked) {
        int const half = static_cast<int>(p % halves()), first = half * rows * columns;
        index_t const in_a = p * bytes_ / size_ * a_size_, in_b = p * bytes_ / size_ * b_size_;
        for (int r = 0; r < rows; ++r) {
            x86_memory const of_a{a, r * s_.a_row * a_size_ + in_a};
            load(narrow_a_, row_of_a_ + r, of_a, masked);
            if (fetches_ && rows_first_ && in_a % 64 == 0)
                to_.prefetch({a, of_a.distance + rows * s_.a_row * a_size_}, false);
        }
        for (int s = 0; s < columns; ++s) {
            x86_memory const of_b{b, s * s_.b_strip * b_size_ + in_b};
            if (fetches_ && !rows_first_ && in_b % 64 == 0)
                to_.prefetch({b, of_b.distance + columns * s_.b_strip * b_size_}, false);
            if (rows == 1 && narrow_b_ == 0 && (!masked || size_ >= 4)) {
                to_.multiply_add(t_, first + s, row_of_a_, of_b, masked);
            } else {
                load(narrow_b_, to_.last(), of_b, masked);
                for (int r = 0; r < rows; ++r)
                    to_.multiply_add(t_, first + r * columns + s, row_of_a_ + r, to_.last());
            }
        }
    }

    [[gnu::cold, gnu::noinline]] void load(int narrow, int to, x86_memory from, bool masked) {
        if (masked && size_ < 4)
            to_.load_short(static_cast<int>(size_), to, from, 1);
        else
            to_.load_widened(narrow, t_, to, from, masked);
    }

    // Stores some sums, whose elements are added up, all in one vector: element e of its 16 bytes l is a sum of
    // sums[l]. Rows of C begin with a part of the vector of 16, 32 or 64 bytes.
    [[gnu::cold, gnu::noinline]] void write_sums(int row, index_t rows, int column, index_t columns,
                                                 int sums_of_row) {
        int const size = static_cast<int>(c_size_), in_16 = 16 / size;
        int const length = rows > 2 ? 0 : t_.length + 1 - static_cast<int>(rows),
                  span = (16 << length) / size;
        int elements[4];
        for (int e = 0; e < in_16; ++e) {
            int sums[4];
            for (int l = 0; l < 1 << t_.length; ++l) {
                int const at = l * in_16 + e, r = at / span, s = at % span;
                sums[l] = r < rows && s < columns ? (row + r) * sums_of_row + column + s : -1;
            }
            elements[e] = t_.length == 1 ? join(2, sums[0], sums[1])
                                         : join(2, join(1, sums[0], sums[1]), join(1, sums[2], sums[3]));
        }
        int all = join(3, elements[0], elements[1]);
        if (in_16 == 4) all = join(3, all, join(3, elements[2], elements[3]));

        assembler::vectors const t{t_.wide, length};
        bool const whole = columns * size == t.bytes();
        if (!whole) to_.set_mask(1, columns);
        int const other = row_of_a_;
        for (int r = 0; r < rows; ++r) {
            x86_memory const c{rdx, ((row + r) * s_.c_row + column) * c_size_};
            int part = all;
            if (r > 0) to_.extract(t, part = to_.last(), all, r);
            if (adds_) to_.load(t, other, c, !whole), to_.add(t, other, part, other), part = other;
            to_.store(t, c, part, !whole);
        }
    }
    // x and y, of which each element becomes the sum of two: those 32 bytes apart, 16 bytes apart, or neighbours.
    // None is -1.
    [[gnu::cold]] int join(int apart, int x, int y) {
        if (x < 0) x = y;
        if (y < 0) y = x;
        if (x < 0) return x;
        int const other = row_of_a_;
        for (int second = 1; second >= 0; --second) {
            int const to = second ? other : x;
            if (apart == 1)
                to_.take_halves(t_, to, x, y, second);
            else if (apart == 2)
                to_.take_pieces(t_, to, x, y, second);
            else
                to_.take_elements(t_, to, x, y, second);
        }
        to_.add(t_, x, x, other);
        return x;
    }

    generated_shape const& s_;
    assembler& to_;
    bool adds_;
    assembler::vectors t_;
    int row_of_a_; // the first register of rows of A, which sums are added in at the end
    bool rows_first_, fetches_;
};

#undef STRATAGEMM_ARGUMENT

STRATAGEMM_END
