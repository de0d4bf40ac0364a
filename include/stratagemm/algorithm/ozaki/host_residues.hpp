// Scheme II on the tile unit of the host: a product from residues, without planes of int8 in between.
//
// Each operand is read once: a tile of it is scaled, rounded to integers, and all its residues go straight
// into packed tiles. C is made in macro-blocks; for each, modulus after modulus, the tile kernel multiplies,
// and while it works on one block its last one is reduced to residues of a byte. Then these are put together,
// and alpha, beta and E are applied on the way out. The bits are those of the layered form (product.hpp).
//
// `Lines` are ozaki_parts::lines, `System` is ozaki_parts::residue_system and `Job` ozaki_parts::residue_job.
#pragma once

#include "../../backend/host/exact.hpp"
#include "../../backend/host/tiles.hpp"
#include "maps.hpp"

STRATAGEMM_BEGIN

#if defined(__x86_64__)

#    define STRATAGEMM_RESIDUES STRATAGEMM_AVX512

// Sums that are to be registers; nvcc does not know the pragma, and warns.
#    ifdef __CUDACC__
#        define STRATAGEMM_RESIDUES_UNROLL
#    else
#        define STRATAGEMM_RESIDUES_UNROLL _Pragma("GCC unroll 8")
#    endif

namespace ozaki_tiles {

using namespace host_tiles;
using namespace host_exact;
template <class T>
using vec = host_avx512::vec<T>;

#    define STRATAGEMM_RESIDUES_OP STRATAGEMM_RESIDUES inline __attribute__((always_inline))

using ozaki_parts::power;

// Added to an integer below 2^22, it leaves that in the low bits of a float.
inline constexpr int magic_integer = 3 << 22;
inline constexpr float magic = magic_integer;

// ---- from numbers to residues ----------------------------------------------------------------------------

// An integer v of up to 90 bits is in words of four bytes: below 2^31 in one, below 2^63 in two, else in
// three, of which the third counts in units of 2^60. The sign is in the last of each of these, whose highest
// bit is turned.
inline constexpr int unit_of_third = 60;
constexpr int words_for(int bits) { return bits <= 30 ? 1 : bits <= 62 ? 2 : 3; }
inline constexpr int most_bits = 90;

// One modulus. The residue of an integer is that of the sum of its bytes times the weights of their places,
// less what the turned bits add. `factor` comes into all of it.
struct modulus {
    int p;
    float inverse;
    std::int32_t start; // a multiple of p next to `magic`, less what the turned bits add, as bits of a float
    std::int32_t place[3]; // weights of the bytes, four in a word

    modulus() = default;
    modulus(int m, int words, int factor) : p(m), inverse(1 / static_cast<float>(m)), place{} {
        auto const centred = [&](int x) { return x > (m - 1) / 2 ? x - m : x; };
        int power = factor, excess = 0;
        for (int w = 0; w < words; ++w) {
            if (w == 2) {
                power = factor;
                for (int i = 0; i < unit_of_third; ++i) power = power * 2 % m;
            }
            for (int b = 0; b < 4; ++b, power = power * 256 % m) {
                place[w] |= (centred(power) & 0xff) << (b * 8);
                if (b == 3 && (w > 0 || words == 1)) excess += 128 * power;
            }
        }
        int const multiple = (magic_integer + m - 1) / m;
        start = __builtin_bit_cast(std::int32_t,
                                   static_cast<float>(multiple * m + centred((m - excess % m) % m)));
    }
};

// The numbers of one tile: 16 lines, 64 of each. As rows they are 16 times 64; as quads, 64 times 16.
struct tile_numbers {
    alignas(64) double copy[1024], other[1024];
    alignas(64) std::int32_t word[3][1024];
};

template <class Lines>
STRATAGEMM_RESIDUES void copy_numbers(Lines const& x, index_t line, index_t l, bool quads, double* to) {
    index_t const lines = x.count(), length = x.length();
    for (index_t i = 0; i < 16; ++i)
        for (index_t j = 0; j < 64; ++j)
            to[quads ? j * 16 + i : i * 64 + j] = line + i < lines && l + j < length ? x(line + i, l + j) : 0;
}

// Where the numbers from (line, l) on are, as rows or quads, `row` apart: where they lie if that will do,
// else in a copy.
template <class Lines>
STRATAGEMM_RESIDUES double const* numbers(Lines const& x, index_t line, index_t l, bool quads,
                                          tile_numbers& t, index_t& row) {
    row = quads ? 16 : 64;
    if constexpr (requires { x.by_lines(); }) {
        auto const v = x.by_lines();
        using T = typename decltype(v)::value_type;
        bool const across = v.row_stride == 1; // lines are side by side
        if (line + 16 <= v.rows && l + 64 <= v.cols && (across || v.col_stride == 1)) {
            T const* const from = v.data + line * v.row_stride + l * v.col_stride;
            index_t const step = across ? v.col_stride : v.row_stride;
            double const* in = nullptr;
            index_t in_row = across ? 16 : 64;
            if constexpr (std::is_same_v<T, double>) {
                in = from, in_row = step;
            } else {
                double* const wide = across == quads ? t.copy : t.other;
                for (index_t r = 0; r < 1024; r += in_row)
                    for (index_t j = 0; j < in_row; ++j) wide[r + j] = from[r / in_row * step + j];
                in = wide;
            }
            if (across == quads) {
                row = in_row;
                return in;
            }
            index_t const rows = 1024 / row;
            for (index_t i = 0; i < rows; i += 8)
                for (index_t j = 0; j < row; j += 8)
                    transpose_square(t.copy + i * row + j, row, in + i + j * in_row, in_row);
            return t.copy;
        }
    }
    copy_numbers(x, line, l, quads, t.copy);
    return t.copy;
}

// 16 numbers rounded to integers, as words from `at` on.
STRATAGEMM_RESIDUES_OP void split_words(vec<double> x, vec<double> y, int count, tile_numbers& t,
                                        index_t at) {
    alignas(64) static constexpr std::int32_t even[16] = {0,  2,  4,  6,  8,  10, 12, 14,
                                                          16, 18, 20, 22, 24, 26, 28, 30},
                                              odd[16] = {1,  3,  5,  7,  9,  11, 13, 15,
                                                         17, 19, 21, 23, 25, 27, 29, 31};
    using host_avx512::load, host_avx512::store;
    std::int32_t const turned = INT32_MIN;
    longs a, b;
    words low = load(even), high = load(odd);
    if (count == 3) {
        vec<double> const unit = all(power(unit_of_third)), inverse = all(power(-unit_of_third));
        vec<double> const above = nearest(times(x, inverse)), next = nearest(times(y, inverse));
        x = less_product(x, above, unit), y = less_product(y, next, unit);
        asm("vcvtpd2qq %1, %0" : "=v"(a) : "v"(above));
        asm("vcvtpd2qq %1, %0" : "=v"(b) : "v"(next));
        words third = low;
        asm("vpermi2d %2, %1, %0" : "+v"(third) : "v"(a), "v"(b));
        store(t.word[2] + at, third ^ turned);
    }
    asm("vcvtpd2qq %{rn-sae%}, %1, %0" : "=v"(a) : "v"(x));
    asm("vcvtpd2qq %{rn-sae%}, %1, %0" : "=v"(b) : "v"(y));
    asm("vpermi2d %2, %1, %0" : "+v"(low) : "v"(a), "v"(b));
    store(t.word[0] + at, count == 1 ? low ^ turned : low);
    if (count > 1) {
        asm("vpermi2d %2, %1, %0" : "+v"(high) : "v"(a), "v"(b));
        store(t.word[1] + at, high ^ turned);
    }
}

// The low bytes of four vectors side by side: x's in the lowest byte of each word.
STRATAGEMM_RESIDUES_OP words side_by_side(words x, words y, words z, words w) {
    words const byte = all(0xff), pair = all(0xffff);
    words high = w << 8, low = y << 8;
    asm("vpternlogd $0xe4, %2, %1, %0" : "+v"(x) : "v"(low), "v"(byte));
    asm("vpternlogd $0xe4, %2, %1, %0" : "+v"(z) : "v"(high), "v"(byte));
    high = z << 16;
    asm("vpternlogd $0xe4, %2, %1, %0" : "+v"(x) : "v"(high), "v"(pair));
    return x;
}

// A modulus in registers.
struct spread_modulus {
    words start, place[3], p;
    vec<float> inverse, big;
};
STRATAGEMM_RESIDUES_OP spread_modulus spread(modulus const& m) {
    return {all(m.start),
            {all(m.place[0]), all(m.place[1]), all(m.place[2])},
            all(static_cast<std::int32_t>(m.p)),
            all(m.inverse),
            all(magic)};
}

// Residues of 16 numbers, in the low bytes. The quotient counts from `magic` and has that of `start` in it;
// times p it is wrong by less than one, so a residue may be as much beyond half its modulus. It still fits a
// byte.
template <int Words>
STRATAGEMM_RESIDUES_OP words residues_at(tile_numbers const& t, index_t at, spread_modulus const& m) {
    using host_avx512::load;
    words sum = m.start;
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(load(t.word[0] + at)), "v"(m.place[0]));
    if constexpr (Words > 1)
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(load(t.word[1] + at)), "v"(m.place[1]));
    if constexpr (Words > 2)
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(load(t.word[2] + at)), "v"(m.place[2]));
    vec<float> const quotient = plus_product(m.big, __builtin_bit_cast(vec<float>, sum), m.inverse);
    words multiple; // its low half, and of that only a byte matters
    asm("vpmullw %2, %1, %0" : "=v"(multiple) : "v"(quotient), "v"(m.p));
    return sum - multiple;
}

template <int Words>
STRATAGEMM_RESIDUES inline void residues_of(tile_numbers const& t, modulus const& m, bool quads,
                                            bool past_caches, std::byte* tile) {
    using namespace host_avx512;
    struct table {
        std::uint8_t at[64] = {};
        constexpr table() {
            for (int l = 0; l < 64; ++l) at[l] = static_cast<std::uint8_t>(l % 16 * 4 + l / 16);
        }
    };
    alignas(64) static constexpr table order_table;
    words const order = load(reinterpret_cast<std::int32_t const*>(order_table.at));
    spread_modulus const own = spread(m);
    for (index_t g = 0; g < 1024; g += 64) {
        words out = side_by_side(residues_at<Words>(t, g, own), residues_at<Words>(t, g + 16, own),
                                 residues_at<Words>(t, g + 32, own), residues_at<Words>(t, g + 48, own));
        if (!quads) asm("vpermb %1, %2, %0" : "=v"(out) : "v"(out), "v"(order));
        auto* const to = reinterpret_cast<std::int32_t*>(tile) + g / 4;
        past_caches ? stream(to, out) : store(to, out);
    }
}

// An operand whose residues are wanted: a number x counts as x 2^shift, rounded to an integer of at most 2^bits.
template <class Lines, class System>
struct residue_source {
    Lines const& lines;
    view<std::int32_t const> const& shift;
    int bits;
    System const& system;
};
template <class Lines, class System>
residue_source(Lines const&, view<std::int32_t const> const&, int, System const&)
    -> residue_source<Lines, System>;

// Its residues: a packed operand for each modulus, `plane` bytes from one to the next.
struct packed_residues {
    packed<std::int8_t> first;
    index_t plane;

    packed<std::int8_t> of(int modulus) const {
        return {first.data + modulus * plane, first.blocks, first.steps};
    }
};

// Packs all residues of lines [i0, i1), from a block of 32 of `to` on. The residues of the left operand are weighted as
// the conversion of C to numbers needs its residues.
template <bool Quads, class Lines, class System>
STRATAGEMM_RESIDUES void pack_residues(residue_source<Lines, System> const& from, index_t i0, index_t i1,
                                       packed_residues const& to, index_t block = 0) {
    using namespace host_avx512;
    Lines const& x = from.lines;
    System const& system = from.system;
    packed<std::int8_t> const first = to.first;
    index_t const plane = to.plane;
    int const words_each = words_for(from.bits);
    modulus moduli[32];
    for (int r = 0; r < system.count(); ++r)
        moduli[r] = modulus(system.modulus_of(r), words_each, Quads ? 1 : system.weight(r));
    bool const past_caches = plane * system.count() > index_t{48} << 20; // it would not stay there
    alignas(64) tile_numbers t;
    bool lines_outside = !Quads;
    if constexpr (requires { x.by_lines(); }) lines_outside = x.by_lines().col_stride == 1;
    index_t const count = 2 * divide_up(i1 - i0, 32);
    for (index_t turn = 0; turn < count * first.steps; ++turn) {
        index_t const half = lines_outside ? turn / first.steps : turn % count,
                      s = lines_outside ? turn % first.steps : turn / count, i = i0 + 16 * half;
        alignas(64) double scale[16] = {};
        for (index_t r = 0; r < 16 && i + r < i1; ++r) scale[r] = power(from.shift(i + r, 0));
        index_t row = 0;
        double const* const at = numbers(x, i, s * 64, Quads, t, row);
        for (index_t v = 0; v < 64; ++v) {
            double const* const f = Quads ? at + v * row : at + v / 4 * row + v % 4 * 16;
            vec<double> const left = Quads ? load(scale) : broadcast(scale + v / 4),
                              right = Quads ? load(scale + 8) : left;
            split_words(load(f) * left, load(f + 8) * right, words_each, t, 16 * v);
            // The next tile, if this one was read where it lies.
            __builtin_prefetch(f + (Quads ? 16 : 64), 0, 2), __builtin_prefetch(f + (Quads ? 24 : 72), 0, 2);
        }
        std::byte* tile = first.at(block + half / 2, s) + half % 2 * tile_sizes<std::int8_t>::tile;
        auto const of_words = words_each == 1   ? residues_of<1>
                              : words_each == 2 ? residues_of<2>
                                                : residues_of<3>;
        for (int r = 0; r < system.count(); ++r, tile += plane)
            of_words(t, moduli[r], Quads, past_caches, tile);
    }
    if (past_caches) asm volatile("sfence" : : : "memory");
}

// ---- from products to residues ---------------------------------------------------------------------------

// A finished block of sums, each at most 2^24, on its way to 32 x 32 residues; or added to them. The quotient
// may be one off, and a residue one beyond half its modulus: it still fits. What is beyond 2^24 with the
// residue that was there, and so not exact as a float, is a sum for 256, where the low byte is all that
// counts.
struct reduced {
    std::int32_t const* sum;
    std::int8_t* to;
    index_t rows; // none: nothing to write
    modulus const* m;
    bool first;

    STRATAGEMM_RESIDUES inline void write(index_t from, index_t end) const {
        using namespace host_avx512;
        typedef char bytes __attribute__((vector_size(16), aligned(1), may_alias));
        vec<float> const big = all(magic), inverse = all(m->inverse);
        words const p = all(static_cast<std::int32_t>(m->p));
        if (from < end) __builtin_prefetch(to + 1024 + from * 32, 1, 2); // the next block
        for (index_t i = from; i < end; ++i)
            for (index_t j = 0; j < 32; j += 16) {
                auto& target = *reinterpret_cast<bytes*>(to + i * 32 + j);
                words x = load(sum + i / 16 * 512 + i % 16 * 16 + j * 16);
                if (!first) {
                    words old;
                    asm("vpmovsxbd %1, %0" : "=v"(old) : "m"(target));
                    x += old;
                }
                vec<float> quotient;
                asm("vcvtdq2ps %1, %0" : "=v"(quotient) : "v"(x));
                quotient = plus_product(big, quotient, inverse);
                words multiple; // its low half, and of that only a byte matters
                asm("vpmullw %2, %1, %0" : "=v"(multiple) : "v"(quotient), "v"(p));
                asm("vpmovdb %1, %0" : "=m"(target) : "v"(x - multiple));
            }
    }
};

// ---- from residues to numbers ----------------------------------------------------------------------------

// Residues of C, `plane` bytes from those of one modulus to those of the next. `factors` are what pairs of residues are
// multiplied by to become numbers.
struct block_residues {
    std::int32_t const (*factors)[8];
    std::int8_t const* data;
    index_t plane;
};

// Eight integers, as two doubles each, from their residues: what the system's integer_of does, and so the same bits.
// Up to the last loop all is exact.
template <int Pieces, class System>
STRATAGEMM_RESIDUES_OP void eight_integers(System const& system, block_residues const& from, double* high_to,
                                           double* low_to) {
    auto const [factors, first, plane] = from;
    std::int8_t const* residues = first;
    using host_avx512::broadcast;
    vec<double> sum[Pieces] = {};
    for (int x = 0; x < system.pairs(); ++x, residues += 2 * plane) {
        typedef char eight __attribute__((vector_size(8), aligned(1), may_alias));
        typedef char sixteen __attribute__((vector_size(16), aligned(1), may_alias));
        typedef std::int32_t ints __attribute__((vector_size(32), may_alias));
        vec<double> pair;
        asm("vmovq %1, %x0\n\tvpunpcklbw %2, %x0, %x0\n\tvpmovsxbw %x0, %t0\n\t"
            "vpmaddwd %3, %t0, %t0\n\tvcvtdq2pd %t0, %0"
            : "=&v"(pair)
            : "m"(*reinterpret_cast<eight const*>(residues)),
              "m"(*reinterpret_cast<sixteen const*>(residues + plane)),
              "m"(*reinterpret_cast<ints const*>(factors[x])));
        STRATAGEMM_RESIDUES_UNROLL
        for (int t = 0; t < Pieces; ++t)
            host_avx512::multiply_add_row<double>(sum[t], system.cofactors(x) + t, pair);
    }
    vec<double> top = sum[0];
    if constexpr (Pieces > 1) top = plus(top, sum[1]);
    vec<double> const integer = broadcast(&system.rounding(0));
    vec<double> const multiple = minus(plus(times(top, broadcast(&system.reciprocal())), integer), integer);
    STRATAGEMM_RESIDUES_UNROLL
    for (int t = 0; t < Pieces; ++t) sum[t] = less_product(sum[t], multiple, broadcast(&system.whole(t)));
    STRATAGEMM_RESIDUES_UNROLL
    for (int t = Pieces - 1; t > 0; --t) {
        vec<double> const unit = broadcast(&system.rounding(t)), carry = minus(plus(sum[t], unit), unit);
        sum[t] = minus(sum[t], carry);
        sum[t - 1] = plus(sum[t - 1], carry);
    }
    vec<double> high = sum[0], low = all(0.0);
    STRATAGEMM_RESIDUES_UNROLL
    for (int t = 1; t < Pieces; ++t) {
        vec<double> const before = high;
        high = plus(before, sum[t]);
        low = plus(low, minus(sum[t], minus(high, before)));
    }
    host_avx512::store(high_to, high), host_avx512::store(low_to, low);
}
// The integers of a row of a block: of `cols` elements, rounded up to eight.
template <int Pieces, class System>
STRATAGEMM_RESIDUES void integers(System const& system, block_residues from, index_t cols, double* high,
                                  double* low) {
    for (index_t c = 0; c < cols; c += 8, from.data += 8)
        eight_integers<Pieces>(system, from, high + c, low + c);
}
template <class System>
using integers_function = void (*)(System const&, block_residues, index_t, double*, double*);
template <class System>
inline constexpr integers_function<System> integers_of[] = {
    integers<1, System>, integers<2, System>, integers<3, System>, integers<4, System>, integers<5, System>};

// alpha X + beta e in twice the precision, rounded once: the layer's own steps, in vectors.
STRATAGEMM_RESIDUES_OP vec<double> total(vec<double> high, vec<double> low, double alpha, double beta,
                                         double const* e) {
    if (alpha == 1 && beta == 0) return plus(high, plus(low, all(0.0)));
    vec<double> const a = all(alpha), p = times(a, high);
    vec<double> x = p, y = plus(all(0.0), product_less(p, a, high));
    y = plus_product(y, a, low);
    if (beta != 0) {
        vec<double> const b = all(beta), given = host_avx512::load(e), q = times(b, given);
        vec<double> const s = plus(x, q), t = minus(s, x);
        y = plus(y, plus(minus(x, minus(s, t)), minus(q, t)));
        y = plus(y, product_less(q, b, given));
        x = s;
    }
    vec<double> const v = plus(x, y);
    return v == v ? v : x;
}

// How a product by residues is divided.
struct residue_sizes {
    using sizes = tile_sizes<std::int8_t>;
    static constexpr index_t height = 512, width = 1024, block = 32 * 32; // of C at a time

    index_t steps, pairs, rows, cols,
        planes;                   // of A packed by a thread; of B packed for all; bytes of residues
    index_t kept_rows, kept_cols; // of A or B, if it has been packed before, and as a whole

    residue_sizes(index_t m, index_t n, index_t k, int count, bool left_kept = false, bool right_kept = false)
        : steps(sizes::steps(k)), pairs((count + 1) / 2), rows(at_most(m, height, index_t{80} << 20)),
          cols(right_kept ? up(n) : at_most(n, n + 32, index_t{320} << 20)),
          planes(rows * smaller(width, up(n)) + 320), kept_rows(left_kept ? m : 0),
          kept_cols(right_kept ? n : 0) {}

    static index_t plane_of(index_t lines, index_t steps) {
        return divide_up(lines, 32) * steps * sizes::pair;
    }
    index_t left_plane() const { return plane_of(kept_rows ? kept_rows : rows, steps); }
    index_t right_plane() const { return plane_of(cols, steps); }
    std::size_t own(int count) const { // bytes of a thread
        return host_arena::rounded(static_cast<std::size_t>(kept_rows ? 0 : left_plane() * count)) +
               host_arena::rounded(static_cast<std::size_t>(2 * pairs * planes)) +
               host_arena::rounded(block * sizeof(std::int32_t));
    }
    std::size_t bytes(int count, int team) const {
        return host_arena::rounded(static_cast<std::size_t>(kept_cols ? 0 : right_plane() * count)) +
               own(count) * static_cast<std::size_t>(team);
    }

private:
    static index_t up(index_t x) { return divide_up(x, 32) * 32; }
    // What fits the budget with as many moduli as there may be, so that fewer never take more.
    index_t at_most(index_t lines, index_t most, index_t budget) const {
        constexpr index_t moduli = 20;
        return smaller(up(lines),
                       larger_of(32, smaller(most / 32 * 32, budget / (moduli * steps * 64) / 32 * 32)));
    }
};

STRATAGEMM_RESIDUES_OP void store_as(double* to, vec<double> x, host_avx512::part part) {
    host_avx512::store_part(to, x, part);
}
STRATAGEMM_RESIDUES_OP void store_as(float* to, vec<double> x, host_avx512::part part) {
    typedef float eight __attribute__((vector_size(32), aligned(1), may_alias));
    asm("vcvtpd2ps %1, %t1\n\tvmovups %t1, %0%{%2%}"
        : "+m"(*reinterpret_cast<eight*>(to)), "+v"(x)
        : "Yk"(part.mask));
}

// C from the residues of a block of it, 32 x 32 bytes for each modulus, which begins at (i, j). `plain`: one factor
// undoes both scales.
template <class Job>
STRATAGEMM_RESIDUES void write_block(Job const& job, block_residues const& from, bool plain, index_t i,
                                     index_t j, index_t rows, index_t cols) {
    using T = typename Job::element;
    using System = std::remove_cvref_t<decltype(job.system)>;
    alignas(64) double high[32][32], low[32][32];
    auto const integers_of_row = [&](index_t r, index_t to) {
        integers_of<System>[job.system.pieces() - 1](
            job.system, {from.factors, from.data + r * 32, from.plane}, cols, high[to], low[to]);
    };
    if constexpr (!complex_like<T>) {
        if (plain) {
            auto const& p = job.problem;
            alignas(64) double right[32] = {}, e[32] = {};
            for (index_t c = 0; c < cols; ++c) right[c] = power(-job.right_shift(j + c, 0));
            for (index_t r = 0; r < rows; ++r) {
                for (index_t q = 0; q < 2 * job.system.pairs() && r % 2 == 0; ++q) // of the next block
                    __builtin_prefetch(from.data + q * from.plane + residue_sizes::block + r * 32, 0, 2);
                vec<double> const left = all(power(-job.left_shift(i + r, 0)));
                if (p.beta != T(0))
                    for (index_t c = 0; c < cols; ++c) e[c] = static_cast<double>(p.e(i + r, j + c));
                T* const to = &p.c(i + r, j);
                integers_of_row(r, 0);
                for (index_t c = 0; c < cols; c += 8) {
                    vec<double> const x = host_avx512::load(high[0] + c), y = host_avx512::load(low[0] + c),
                                      scale = times(left, host_avx512::load(right + c)),
                                      sum = total(times(x, scale), times(y, scale),
                                                  static_cast<double>(p.alpha), static_cast<double>(p.beta),
                                                  e + c);
                    if (p.c.col_stride == 1) {
                        store_as(to + c, sum, host_avx512::make_part<double>(static_cast<int>(cols - c)));
                    } else {
                        alignas(64) double each[8];
                        host_avx512::store(each, sum);
                        for (index_t l = 0; l < smaller(8, cols - c); ++l)
                            to[(c + l) * p.c.col_stride] = static_cast<T>(each[l]);
                    }
                }
            }
            if constexpr (Job::finishes) job.finish_block(i, j, rows, cols);
            return;
        }
    }
    for (index_t r = 0; r < rows; ++r) integers_of_row(r, r);
    job.store(i, j, rows, cols, high[0], low[0], 32);
}

// Blocks [first, first + count) of a packed operand.
struct residue_blocks {
    packed_residues const& packed;
    index_t first, count;
};

// The residues of a macro-block of C, modulus after modulus, `plane` bytes apart. Each block of 32 x 32 sums is reduced
// to residues while the next one is computed.
STRATAGEMM_RESIDUES_OP void multiply_blocks(residue_blocks const& of_a, residue_blocks const& of_b,
                                            modulus const* moduli, int count, std::int8_t* residues,
                                            index_t plane, std::int32_t* sums) {
    using element = std::int8_t;
    constexpr index_t chunk = tile_sizes<element>::chunk;
    index_t const steps = of_a.packed.first.steps, top = of_a.first, high = of_a.count, first = of_b.first,
                  panels = of_b.count;
    reduced before{nullptr, nullptr, 0, moduli, true};
    for (int r = 0; r < count; ++r, residues += plane) {
        packed<element> const a = of_a.packed.of(r), b = of_b.packed.of(r);
        for (index_t s = 0; s < steps; s += chunk) {
            index_t const depth = smaller(chunk, steps - s);
            // What follows this chunk: the next of k, or the first of the next modulus.
            bool const more = s + depth < steps, last = !more && r + 1 == count;
            std::byte const* const a_next = last   ? nullptr
                                            : more ? a.at(top, s + chunk)
                                                   : a.at(top, 0) + of_a.packed.plane;
            std::byte const* const b_next = last   ? nullptr
                                            : more ? b.at(first, s + chunk)
                                                   : b.at(first, 0) + of_b.packed.plane;
            for (index_t y = 0; y < panels; ++y) {
                std::byte const* const panel = y + 1 < panels ? b.at(first + y + 1, s) : b_next;
                for (index_t x = 0; x < high; ++x) {
                    host_tiles::block<element>(depth, a.at(top + x, s), b.at(first + y, s), nullptr, sums,
                                               before, {a_next, panel, x, high, y, panels});
                    before = {sums, residues + (y * high + x) * residue_sizes::block, 32, moduli + r, s == 0};
                }
            }
        }
    }
    before.write(0, before.rows);
}

// Rows [i0, i1) and columns [j0, j1) of C. B is packed from column `begin` on.
struct residue_region {
    index_t i0, i1, j0, j1, begin;
};
// One region, by one thread.
template <class Job>
STRATAGEMM_RESIDUES void multiply_residue_region(Job const& job, residue_sizes const& sizes, bool plain,
                                                 residue_region const& region, packed_residues const& b,
                                                 host_arena& arena) {
    auto const [i0, i1, j0, j1, jb] = region;
    tile_unit const unit;
    int const count = job.system.count();
    index_t const plane_a = sizes.left_plane();
    bool const kept = sizes.kept_rows > 0;
    auto* const packed_a = kept ? job.left_packed : arena.take<std::byte>(plane_a * count);
    auto* const residues = arena.take<std::int8_t>(2 * sizes.pairs * sizes.planes);
    auto* const sums = arena.take<std::int32_t>(residue_sizes::block);
    modulus moduli[32];
    for (int r = 0; r < count; ++r) moduli[r] = modulus(job.system.modulus_of(r), 1, 1);
    alignas(64) std::int32_t factors[16][8];
    for (int x = 0; x < job.system.pairs(); ++x)
        for (auto& f : factors[x]) f = job.system.factor(x, 0) | job.system.factor(x, 1) << 16;
    for (index_t ib = i0; ib < i1; ib += sizes.rows) {
        index_t const ib_end = smaller(i1, ib + sizes.rows);
        index_t const high = divide_up(ib_end - ib, 32), top = kept ? ib / 32 : 0; // blocks of A, and which
        packed_residues const a{{packed_a, kept ? divide_up(sizes.kept_rows, 32) : high, sizes.steps},
                                plane_a};
        if (!kept)
            pack_residues<false>(residue_source{job.left, job.left_shift, job.bits, job.system}, ib, ib_end,
                                 a);
        for (index_t jc = j0; jc < j1; jc += residue_sizes::width) {
            index_t const jc_end = smaller(j1, jc + residue_sizes::width);
            multiply_blocks({a, top, high}, {b, (jc - jb) / 32, divide_up(jc_end - jc, 32)}, moduli, count,
                            residues, sizes.planes, sums);
            block_residues block{factors, residues, sizes.planes};
            for (index_t j = jc; j < jc_end; j += 32)
                for (index_t i = ib; i < ib_end; i += 32, block.data += residue_sizes::block)
                    write_block(job, block, plain, i, j, smaller(32, ib_end - i), smaller(32, jc_end - j));
        }
    }
}

// Packs the residues of lines [begin, end), by all threads.
template <bool Quads, class Lines, class System>
void pack_lines(residue_source<Lines, System> const& from, index_t begin, index_t end,
                packed_residues const& to, int team) {
    index_t const count = end - begin;
    host_each(team, team, [&](int, int t) {
        index_t const i0 = cut(count, t, team, 32), i1 = cut(count, t + 1, team, 32);
        pack_residues<Quads>(from, begin + i0, begin + i1, to, i0 / 32);
    });
}

template <class Job>
[[gnu::cold]] void multiply_residues(Job const& job, residue_sizes const& sizes, int team,
                                     host_arena& arena) {
    host_arena::scope const scope(arena);
    auto const& system = job.system;
    int const count = system.count();
    index_t const m = job.left.count(), n = job.right.count();
    bool const kept = sizes.kept_cols > 0;
    auto* const packed_b = kept ? job.right_packed : arena.take<std::byte>(sizes.right_plane() * count);
    std::size_t const bytes = sizes.own(count);
    auto* const own = arena.take<std::byte>(static_cast<index_t>(bytes) * team);
    // One factor undoes both scales, unless a power of two would leave the range of double.
    auto const furthest = [](auto const& shift, int sign) {
        int most = sign * shift(0, 0);
        for (index_t i = 1; i < shift.rows; ++i)
            if (sign * shift(i, 0) > most) most = sign * shift(i, 0);
        return most;
    };
    bool const plain = furthest(job.left_shift, 1) + furthest(job.right_shift, 1) <= 1000 &&
                       furthest(job.left_shift, -1) + furthest(job.right_shift, -1) <= 1000;
    for (index_t jb = 0; jb < n; jb += sizes.cols) {
        index_t const jb_end = smaller(n, jb + sizes.cols);
        packed_residues const b{{packed_b, divide_up(jb_end - jb, 32), sizes.steps}, sizes.right_plane()};
        if (!kept)
            pack_lines<true>(residue_source{job.right, job.right_shift, job.bits, system}, jb, jb_end, b,
                             team);
        int const down = static_cast<int>(smaller(team, divide_up(m, 128))), across = team / down;
        host_each(down * across, down * across, [&](int thread, int x) {
            index_t const row = x / across, col = x % across;
            index_t const i0 = cut(m, row, down, 32), i1 = cut(m, row + 1, down, 32);
            index_t const j0 = jb + cut(jb_end - jb, col, across, 32),
                          j1 = jb + cut(jb_end - jb, col + 1, across, 32);
            if (i0 == i1 || j0 == j1) return;
            host_arena part(own + thread * static_cast<index_t>(bytes), bytes, nullptr);
            multiply_residue_region(job, sizes, plain, {i0, i1, j0, j1, jb}, b, part);
        });
    }
}

} // namespace ozaki_tiles

#    undef STRATAGEMM_RESIDUES_UNROLL
#    undef STRATAGEMM_RESIDUES_OP
#    undef STRATAGEMM_RESIDUES
#endif

STRATAGEMM_END
