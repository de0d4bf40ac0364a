// How a generated kernel divides its product: into which strips of columns, and into how many rows a strip. The
// generator writes these tiles, and estimate() counts them.
//
// Strips of columns and tiles in a strip are as even as the sides allow, and only the last vector of a row is masked.
// The last vector is as short as its elements allow: processors that multiply 64 bytes in two halves (Zen 4) take half
// as long for 32.
#pragma once

#include "../caches.hpp"
#include "../kernels.hpp"
#include "assembler.hpp"

STRATAGEMM_BEGIN

// C = A B, C = alpha A B, C = alpha A B + beta C, or, of a kernel's further pieces of k, C = alpha A B + C.
enum class generated_end { plain = 0, scaled = 16, added = 32, further = 48 };
// `turned`: not columns of C are side by side but rows, and columns are c_row apart. `continued`: sums go on from C.
// `copied`: the first tile of a strip copies the strip of B to where the other tiles read it.
enum class generated_form { tiles = 0, dots = 1, turned = 2, continued = 4, copied = 8 };

// What a generated kernel has as constants. C has columns of stride one; so has B, which lies in strips of so many
// columns where these are apart.
struct generated_shape {
    index_t m, n, k, a_row, a_col, b_row, b_strip, c_row;
    index_t
        kind; // 4096 times block_args::narrow, 64 times generated_element(), a generated_end, and a generated_form

    bool is(generated_form form) const { return (kind & static_cast<int>(form)) != 0; }
    index_t size() const { return kind / 64 % 16; }                   // of an element
    int packets() const { return static_cast<int>(kind / 1024 % 4); } // of assembler
    // The narrower type of B, or of the A of dot products, as load_widened() of assembler numbers it.
    int narrow_b() const { return static_cast<int>(kind / 4096 % 4); }
    int narrow_a() const { return static_cast<int>(kind / 16384); }
    [[gnu::cold, gnu::noinline]] index_t size_of(int narrow) const {
        return narrow == 0 ? size() : narrow == 3 ? 1 : 2;
    }
};
// The elements of a kernel: their bytes, and 16 for each kind of packets.
template <class T>
inline constexpr index_t generated_element = index_t{sizeof(T)} + (std::is_same_v<T, bfloat16_pair> ? 16
                                                                   : std::is_same_v<T, int8_quad>   ? 32
                                                                                                    : 0);

inline bool operator==(generated_shape const& x, generated_shape const& y) {
    return __builtin_memcmp(&x, &y, sizeof(x)) == 0; // it has no padding
}

// A number in parts that differ by one at most.
struct evenly {
    index_t parts, least, larger; // `larger` of the parts, and not all, have least + 1
    evenly(index_t x, index_t most) : parts(divide_up(x, most)), least(x / parts), larger(x % parts) {}
};

// The tiles of a product, or of a piece of its k.
class generated_tiling {
public:
    [[gnu::cold, gnu::noinline]] generated_tiling(generated_shape const& s, bool avx512)
        : avx512_(avx512), s_(s), size_(s.size()), b_size_(s.size_of(s.narrow_b())),
          turned_(s.is(generated_form::turned)), continues_(s.is(generated_form::continued)),
          c_row_(turned_ ? 1 : s.c_row), t_(vector_of(s.n)), lanes_(t_.bytes() / size_),
          vectors_(divide_up(s.n, lanes_)), rest_(s.n % lanes_), last_(rest_ > 0 ? vector_of(rest_) : t_),
          large_(s.m >= (avx512 ? 12 : 7) && smaller(s.k, longest_piece(size_)) * s.n * b_size_ > 1 << 18 &&
                 !turned_ && !continues_ && (has_strips() || cpu_is_near_third_level())),
          strips_(widths()), width_(strips_.wides > 0 ? strips_.wide : strips_.narrow),
          tiles_(s.m, tallest(width_)) {}

    // The costs of tiles, for estimate(): cycles while k runs, and vectors of C, or parts of its columns. `halves`: the
    // processor multiplies 64 bytes in two halves. `far`: B comes from the second-level cache, at some 27 bytes a
    // cycle.
    struct work {
        double cycles, stores;
    };
    work count(bool halves, bool far) const {
        auto const pieces = pieces_of(s_.k, size_);
        index_t const beside = smaller(pieces.count, most_beside()), own = halves && t_.length == 2 ? 2 : 1;
        work all{};
        for (int x = 0; x < 4; ++x) {
            index_t const rows = tiles_.least + x % 2,
                          down = x % 2 ? tiles_.larger : tiles_.parts - tiles_.larger,
                          width = x < 2 ? strips_.wide : strips_.narrow,
                          across = x < 2 ? strips_.wides : strips_.narrows, sums = rows * width,
                          from_far = far ? width * t_.bytes() * 2 / 27 : 0,
                          half_cycles =
                              beside * larger_of(larger_of(own * sums, rows + own * width), from_far),
                          many = down * across * divide_up(pieces.count, beside);
            all.cycles +=
                static_cast<double>(many * smaller(pieces.length, s_.k) * larger_of(half_cycles, 8)) / 2;
            all.stores += static_cast<double>(many * beside * stores(rows, width));
        }
        return all;
    }

protected:
    // Where a vector of a row of B lies: B may consist of strips of two.
    bool has_strips() const { return s_.b_strip != (avx512_ ? 128 : 64) / size_; }
    [[gnu::cold, gnu::noinline]] index_t column(index_t vector) const {
        return has_strips() ? vector / 2 * s_.b_strip + vector % 2 * lanes_ : vector * lanes_;
    }
    // Whether all rows of C are computed before the next strip. Tiles then fetch the next strip from B, which is not
    // packed.
    bool goes_down() const { return large_ && !has_strips(); }
    // Pieces of k that are summed beside each other: eight sums or more keep the units for multiply-adds busy.
    index_t most_beside() const {
        index_t const sums = (tiles_.least + (tiles_.larger > 0)) * width_;
        return smaller(divide_up(8, sums), larger_of(1, (turned_ ? most_turned() : most_alone()) / sums));
    }
    // Sums of a tile of one vector, and of one that is turned.
    index_t most_alone() const { return avx512_ ? 28 : 14; }
    index_t most_turned() const { return avx512_ ? 24 : 10; }

    // How the vectors of a row are divided: `wides` strips of `wide` vectors, then `narrows` of `narrow`.
    struct strips {
        index_t wide, wides, narrow, narrows;
    };

    bool avx512_;
    generated_shape s_;     // of the piece of k that is written
    index_t size_, b_size_; // bytes of an element, and of one of B
    bool turned_, continues_;
    index_t c_row_; // distance of rows
    assembler::vectors t_;
    index_t lanes_, vectors_, rest_; // elements; vectors and further elements of a row
    assembler::vectors last_;        // of which the rest is
    bool large_;                     // B fills much of the second-level cache
    strips strips_;
    index_t width_; // of the widest strip
    evenly tiles_;  // the rows of a strip

private:
    // Vectors of C of a tile, or parts of its columns.
    index_t stores(index_t rows, index_t width) const {
        return turned_ ? divide_up(rows, 16 / size_) * width * lanes_ : rows * width;
    }
    // The shortest vector that holds `elements` elements, or the longest vector.
    [[gnu::cold, gnu::noinline]] assembler::vectors vector_of(index_t elements) const {
        return {size_ == 8, elements * size_ <= 16 ? 0 : elements * size_ <= 32 || !avx512_ ? 1 : 2};
    }
    // Rows of the tallest tile of `width` vectors. Registers hold the rows, a row of B and an element of A. One
    // register is left when the sums are done, or five to turn the sums. Where k is short, a C that the nearest cache
    // does not hold is written eight rows at a time; a C that comes from farther needs the requests of more rows, the
    // sooner the fewer terms there are to multiply.
    [[gnu::cold]] index_t tallest(index_t width) const {
        index_t const bytes = s_.m * s_.n * size_, near = (s_.k > 3 ? 16 : 1) << 20;
        bool const collide = rows_nearly_collide(c_row_ * size_),
                   low = s_.k <= (width > 1 ? 128 : 32) && bytes > 32768 && (bytes <= near || collide);
        // Rows of A that share sets of the cache and are read where they are (blocked.hpp) are no more than the ways of
        // the cache.
        index_t const of_registers = width == 1 ? most_alone() : ((avx512_ ? 31 : 15) - width) / width,
                      most = s_.a_col == 1 && rows_collide(s_.a_row * size_) ? smaller(of_registers, 7)
                                                                             : of_registers;
        return larger_of(1, smaller(turned_ ? most_turned() / width : low ? 8 : 28, most));
    }
    // Cycles of tiles of so many vectors that are as high as all rows, about: two multiply-adds or loads a cycle, six
    // instructions, a result after four, a store. In sixths.
    [[gnu::cold, gnu::noinline]] index_t cycles(index_t width) const {
        if (width == 0) return 0;
        evenly const tiles(s_.m, tallest(width));
        index_t all = 0;
        for (int more = 0; more < 2; ++more) {
            index_t const rows = tiles.least + more, sums = rows * width, loads = rows + width;
            // B comes from the second-level cache once for each row of tiles; from memory, narrow strips would be
            // worse.
            index_t const far = turned_ && s_.k * s_.n * b_size_ > 32768 ? 6 * width : 0;
            index_t const step = far + larger_of(larger_of(3 * sums, 3 * loads),
                                                 larger_of(width > 1 ? loads + sums : loads, 24));
            all += (more ? tiles.larger : tiles.parts - tiles.larger) *
                   (6 * (10 + stores(rows, width)) + s_.k * step);
        }
        return all;
    }
    // If B fills much of the second-level cache, strips have four vectors, or two of AVX2. Such strips need six rows of
    // A at a time, whose lines are fewer than those of fourteen, and write C in longer pieces. Packed strips are taken
    // whole.
    [[gnu::cold, gnu::noinline]] strips widths() const {
        index_t const width = large_ && avx512_        ? 4
                              : large_ || has_strips() ? 2
                                                       : best_width(),
                      rest = vectors_ % width;
        if (has_strips() && rest > 0) return {width, vectors_ / width, rest, 1};
        evenly const even(vectors_, width);
        return {even.least + 1, even.larger, even.least, even.parts - even.larger};
    }
    // The width of strips that takes the fewest cycles.
    [[gnu::cold, gnu::noinline]] index_t best_width() const {
        index_t best = 0, least = 0;
        for (index_t width = 1; width <= vectors_ && width <= (avx512_ ? 12 : 10); ++width) {
            if (continues_ && width > 1 && (avx512_ || !are_pages_apart(s_.b_row * size_)))
                break; // B is read once
            evenly const even(vectors_, width);
            index_t const all =
                even.larger * cycles(even.least + 1) + (even.parts - even.larger) * cycles(even.least);
            if (best == 0 || all < least) best = width, least = all;
        }
        return best;
    }
};

STRATAGEMM_END
