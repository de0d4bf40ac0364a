// Measures the operands of `ozaki` with AVX-512 vectors on the host. For each line (a row of A, a column of
// B) it finds the largest element, the sums and the lowest bit, and stores the leading bits as bytes. For
// each line of the product of leading bits it finds the extremes.
//
// `Survey` stands for ozaki_parts::measured, `Crossing` for ozaki_parts::crossing.
#pragma once

#include "../../backend/host/exact.hpp"
#include "../../backend/host/tiles.hpp"
#include "maps.hpp"

STRATAGEMM_BEGIN

#if defined(__x86_64__)

#    define STRATAGEMM_SURVEY STRATAGEMM_AVX512
#    define STRATAGEMM_SURVEY_OP STRATAGEMM_SURVEY inline __attribute__((always_inline))

namespace ozaki_tiles {

using namespace host_exact;
template <class T>
using vec = host_avx512::vec<T>;
using ozaki_parts::power;

// The measures of a line. Sums are in eight parts; part p is the sum of elements p, p + 8, ...
struct line_facts {
    index_t at;                  // of the largest element
    std::int64_t largest;        // its magnitude, as bits
    std::int64_t exponent;       // the least with |x| < 2^exponent
    double lowest;               // the lowest bit in any element
    double const *sum, *squares; // of |x| 2^-exponent and of its square; squares only without a plane
    index_t step;                // between their parts
};

typedef std::int64_t longs_loose __attribute__((vector_size(64), aligned(1), may_alias));

STRATAGEMM_SURVEY_OP longs load_longs(std::int64_t const* p) {
    return *reinterpret_cast<longs_loose const*>(p);
}
STRATAGEMM_SURVEY_OP void store_longs(std::int64_t* p, longs v) { *reinterpret_cast<longs_loose*>(p) = v; }
// The magnitudes of eight numbers, or of as many as there are; the others are zero.
template <class T>
STRATAGEMM_SURVEY_OP longs magnitudes(T const* p, host_avx512::part part) {
    vec<double> x;
    if constexpr (std::is_same_v<T, double>) {
        x = host_avx512::load_part(p, part);
    } else {
        typedef float eight __attribute__((vector_size(32), aligned(1), may_alias));
        asm("vcvtps2pd %1, %0%{%2%}%{z%}"
            : "=v"(x)
            : "m"(*reinterpret_cast<eight const*>(p)), "Yk"(part.mask));
    }
    return __builtin_bit_cast(longs, x) & INT64_MAX;
}

STRATAGEMM_SURVEY_OP vec<double> maximum(vec<double> a, vec<double> b) { return a > b ? a : b; }
STRATAGEMM_SURVEY_OP vec<double> minimum(vec<double> a, vec<double> b) { return a < b ? a : b; }

inline constexpr std::int64_t infinite_bits = 0x7ff0000000000000;

inline std::int64_t exponent_of_bits(std::int64_t bits) {
    std::int64_t const e = bits >> 52;
    return bits == 0 ? 0 : e != 0 ? e - 1022 : -1010 - __builtin_clzll(static_cast<std::uint64_t>(bits));
}

// The minimum of `least` and of the lowest bits of eight magnitudes. Each lowest bit is a number; zeros have
// none. x minus x without its lowest bit is that bit, unless x is a power of two.
STRATAGEMM_SURVEY_OP vec<double> least_bit(vec<double> least, longs x) {
    longs const rest = x & (x - 1);
    vec<double> lowest = __builtin_bit_cast(vec<double>, x);
    std::uint8_t fraction, any;
    asm("vptestmq %2, %1, %0" : "=Yk"(fraction) : "v"(x), "v"(all(0xfffffffffffff)));
    asm("vptestmq %1, %1, %0" : "=Yk"(any) : "v"(x));
    asm("vsubpd %2, %0, %0%{%1%}"
        : "+v"(lowest)
        : "Yk"(fraction), "v"(__builtin_bit_cast(vec<double>, rest)));
    asm("vminpd %2, %0, %0%{%1%}" : "+v"(least) : "Yk"(any), "v"(lowest));
    return least;
}

// The leading seven bits of eight numbers below one, as bytes.
STRATAGEMM_SURVEY_OP void store_leading(std::int8_t* to, vec<double> scaled, host_avx512::part part) {
    typedef std::int8_t eight __attribute__((vector_size(8), aligned(1), may_alias));
    typedef std::int32_t ints __attribute__((vector_size(32)));
    ints bits;
    asm("vcvttpd2dq %1, %0" : "=v"(bits) : "v"(times(scaled, all(128.0))));
    eight& target = *reinterpret_cast<eight*>(to); // auto would take it for aligned
    if (part.mask == 0xff)
        asm("vpmovdb %1, %0" : "=m"(target) : "v"(bits));
    else
        asm("vpmovdb %1, %0%{%2%}" : "+m"(target) : "v"(bits), "Yk"(part.mask));
}

// Whether squares may be summed before they are scaled, if only norms are wanted: for lines of these
// exponents the result has the same bits.
inline bool squares_in_range(std::int64_t exponent) { return exponent >= -400 && exponent <= 400; }

// Measures lines [i0, i1) of v, which are contiguous, and writes their leading bits to `plane` unless it is
// empty. Returns false if a scale is not one double.
template <class T, class Survey>
STRATAGEMM_SURVEY bool survey_rows(view<T const> const& v, view<std::int8_t> const& plane, bool norms,
                                   Survey const& to, index_t i0, index_t i1) {
    using namespace host_avx512;
    bool simple = true;
    part const whole = make_part<double>(8), rest = make_part<double>(static_cast<int>(v.cols % 8));
    index_t const even = v.cols - v.cols % 8;
    for (index_t i = i0; i < i1; ++i) {
        T const* const x = v.data + i * v.row_stride;
        longs most{};
        vec<double> sum{}, squares{}, lowest = all(infinite<double>());
        for (index_t l = 0; l < v.cols; l += 8) {
            longs const now = magnitudes(x + l, l < even ? whole : rest);
            most = now > most ? now : most;
            auto const number = __builtin_bit_cast(vec<double>, now);
            if (norms) squares = plus_product(squares, number, number);
        }
        line_facts f{};
        for (int p = 0; p < 8; ++p) f.largest = most[p] > f.largest ? most[p] : f.largest;
        f.exponent = exponent_of_bits(f.largest);
        bool const usable = f.largest < infinite_bits && f.exponent >= -1000 && f.exponent <= 1000;
        simple = simple && (usable || f.largest >= infinite_bits);
        vec<double> const scale = all(usable ? power(static_cast<int>(-f.exponent)) : 0.0);
        bool const done = norms && squares_in_range(f.exponent);
        squares = done ? times(times(squares, scale), scale) : vec<double>{};
        f.at = done ? 0 : -1;
        for (index_t l = done ? v.cols : 0; l < v.cols; l += 8) {
            part const n = l < even ? whole : rest;
            longs const bits = magnitudes(x + l, n);
            if (f.at < 0) {
                std::uint8_t here;
                asm("vpcmpeqq %2, %1, %0" : "=Yk"(here) : "v"(bits), "v"(all(f.largest)));
                if (here != 0) f.at = l + __builtin_ctz(here);
            }
            vec<double> const scaled = times(__builtin_bit_cast(vec<double>, bits), scale);
            sum = plus(sum, scaled);
            lowest = least_bit(lowest, bits);
            if (plane.data)
                store_leading(&plane(i, l), scaled, n);
            else
                squares = plus_product(squares, scaled, scaled);
        }
        f.lowest = infinite<double>();
        for (int p = 0; p < 8; ++p) f.lowest = lowest[p] < f.lowest ? lowest[p] : f.lowest;
        alignas(64) double parts[2][8];
        store(parts[0], sum), store(parts[1], squares);
        f.sum = parts[0], f.squares = parts[1], f.step = 1;
        to.take(i, f);
    }
    return simple;
}

// The scale of each line, whose largest element has the magnitude `most`, as bits; 0 for a line that has none. Returns
// false if the scale of a finite line is not one double.
inline bool scale_lines(std::int64_t const* most, int lines, double* scale) {
    bool simple = true;
    for (int i = 0; i < lines; ++i) {
        std::int64_t const e = exponent_of_bits(most[i]);
        bool const finite = most[i] < infinite_bits, usable = finite && e >= -1000 && e <= 1000;
        simple = simple && (usable || !finite);
        scale[i] = usable ? power(static_cast<int>(-e)) : 0;
    }
    return simple;
}

// The same for lines that lie side by side. It measures many of them at a time.
template <class T, class Survey>
STRATAGEMM_SURVEY bool survey_columns(view<T const> const& v, view<std::int8_t> const& plane, bool norms,
                                      Survey const& to, index_t i0, index_t i1) {
    using namespace host_avx512;
    constexpr int most_lines = 256; // half a page of each row; their measures stay in L1
    bool simple = true;
    alignas(64) std::int64_t most[most_lines], at[most_lines];
    alignas(64) double scale[most_lines], lowest[most_lines], sum[8][most_lines], squares[8][most_lines];
    part each[most_lines / 8];
    for (index_t first = i0; first < i1; first += most_lines) {
        int const lines = static_cast<int>(smaller(most_lines, i1 - first));
        for (int i = 0; i < lines; i += 8) each[i / 8] = make_part<double>(lines - i);
        __builtin_memset(most, 0, sizeof(most)), __builtin_memset(at, 0, sizeof(at));
        __builtin_memset(sum, 0, sizeof(sum)), __builtin_memset(squares, 0, sizeof(squares));
        for (index_t l = 0; l < v.cols; ++l) {
            T const* const x = v.data + first + l * v.col_stride;
            for (int i = 0; i < lines; i += 8) {
                __builtin_prefetch(x + i + 8 * v.col_stride);
                longs const now = magnitudes(x + i, each[i / 8]), before = load_longs(most + i);
                longs const larger = now > before;
                store_longs(most + i, larger ? now : before);
                if (norms) {
                    auto const number = __builtin_bit_cast(vec<double>, now);
                    double* const q = squares[l % 8] + i;
                    store(q, plus_product(load(q), number, number));
                } else {
                    store_longs(at + i, larger ? all(l) : load_longs(at + i));
                }
            }
        }
        simple = scale_lines(most, lines, scale) && simple;
        bool done = norms;
        for (int i = 0; i < lines; ++i) {
            lowest[i] = infinite<double>();
            done = done && squares_in_range(exponent_of_bits(most[i]));
        }
        if (done)
            for (auto& part : squares)
                for (int i = 0; i < lines; ++i) part[i] = part[i] * scale[i] * scale[i];
        else
            __builtin_memset(squares, 0, sizeof(squares));
        for (index_t l = done ? v.cols : 0; l < v.cols; ++l) {
            T const* const x = v.data + first + l * v.col_stride;
            for (int i = 0; i < lines; i += 8) {
                longs const bits = magnitudes(x + i, each[i / 8]);
                vec<double> const scaled = times(__builtin_bit_cast(vec<double>, bits), load(scale + i));
                double *const s = sum[l % 8] + i, *const q = squares[l % 8] + i;
                store(s, plus(load(s), scaled));
                store(lowest + i, least_bit(load(lowest + i), bits));
                if (plane.data)
                    store_leading(&plane(first + i, l), scaled, each[i / 8]);
                else
                    store(q, plus_product(load(q), scaled, scaled));
            }
        }
        for (int i = 0; i < lines; ++i)
            to.take(first + i, line_facts{at[i], most[i], exponent_of_bits(most[i]), lowest[i], sum[0] + i,
                                          squares[0] + i, most_lines});
    }
    return simple;
}

// Returns false if vectors cannot read the elements as they lie, or if a line is beyond the range of scales.
// With `norms`, only exponents and squares are wanted.
template <class Survey>
bool survey_lines(Survey const& survey, view<std::int8_t> const& plane, bool norms, int team) {
    if constexpr (requires { survey.line.by_lines(); }) {
        auto const v = survey.line.by_lines();
        bool const rows = v.col_stride == 1;
        if (!rows && v.row_stride != 1) return false;
        bool simple = true;
        host_each(team, team, [&](int, int x) {
            index_t const i0 = cut(v.rows, x, team, 8), i1 = cut(v.rows, x + 1, team, 8);
            if (!(rows ? survey_rows(v, plane, norms, survey, i0, i1)
                       : survey_columns(v, plane, norms, survey, i0, i1)))
                __atomic_store_n(&simple, false, __ATOMIC_RELAXED);
        });
        return simple;
    } else {
        return false;
    }
}

// The extremes of a line of a product of leading bits.
struct crossed {
    double most;  // the largest element, plus 128 times the sum of the line that crosses
    double least; // the smallest quotient by that sum, of those that count
};

// Finds the extremes of rows [i0, i1) of q, and those of its columns within these rows.
template <class Crossing>
STRATAGEMM_SURVEY void cross_rows(Crossing const& x, view<std::int32_t const> const& q, index_t i0,
                                  index_t i1, crossed* rows, double* columns_most, double* columns_least) {
    using namespace host_avx512;
    double const none = infinite<double>();
    constexpr index_t width = 512;
    for (index_t i = i0; i < i1; ++i) rows[i - i0] = {0, none};
    for (index_t j = 0; j < q.cols; ++j) columns_most[j] = 0, columns_least[j] = none;
    alignas(64) double sum[width], inverse[width];
    for (index_t j0 = 0; j0 < q.cols; j0 += width) {
        index_t const cols = smaller(width, q.cols - j0);
        for (index_t j = 0; j < cols; ++j) {
            bool const counts = x.right_counts(j0 + j);
            sum[j] = counts ? 128 * x.right_sum(j0 + j) : -none;
            inverse[j] = counts ? 1 / x.right_sum(j0 + j) : none;
        }
        for (index_t j = cols; j % 8 != 0; ++j) sum[j] = -none, inverse[j] = none; // never extreme
        for (index_t i = i0; i < i1; ++i) {
            if (!x.left_counts(i)) continue;
            vec<double> const my_sum = all(128 * x.left_sum(i)), my_inverse = all(1 / x.left_sum(i));
            vec<double> most{}, least = all(none);
            std::int32_t const* const from = &q(i, j0);
            for (index_t j = 0; j < cols; j += 8) {
                typedef std::int32_t ints __attribute__((vector_size(32), aligned(1), may_alias));
                part const n = make_part<double>(static_cast<int>(smaller(8, cols - j)));
                vec<double> v, small = all(none);
                asm("vcvtdq2pd %1, %0%{%2%}%{z%}"
                    : "=v"(v)
                    : "m"(*reinterpret_cast<ints const*>(from + j)), "Yk"(n.mask));
                vec<double> const s = load(sum + j);
                most = maximum(most, plus(v, s));
                vec<double> const column = load_part(columns_most + j0 + j, n);
                store_part(columns_most + j0 + j, maximum(column, plus(v, my_sum)), n);
                // Few common bits say little: look at these elements one by one.
                std::uint8_t few;
                asm("vcmppd $1, %2, %1, %0" : "=Yk"(few) : "v"(v), "v"(all(32.0)));
                asm("vmovapd %2, %0%{%1%}" : "+v"(v) : "Yk"(few), "v"(small));
                least = minimum(least, times(v, load(inverse + j)));
                vec<double> const column_least = load_part(columns_least + j0 + j, n);
                store_part(columns_least + j0 + j, minimum(column_least, times(v, my_inverse)), n);
                for (unsigned left = few & n.mask; left != 0; left &= left - 1) {
                    index_t const c = j + __builtin_ctz(left);
                    if (!x.right_counts(j0 + c)) continue;
                    auto const share = x.shares(i, j0 + c, from[c]);
                    double const mine = share.left * inverse[c], other = share.right * my_inverse[0];
                    if (mine < least[0]) least[0] = mine;
                    if (other < columns_least[j0 + c]) columns_least[j0 + c] = other;
                }
            }
            crossed& row = rows[i - i0];
            for (int p = 0; p < 8; ++p) {
                if (most[p] > row.most) row.most = most[p];
                if (least[p] < row.least) row.least = least[p];
            }
        }
    }
}

inline std::size_t crossing_bytes(index_t m, index_t n, int team) {
    return host_arena::rounded(static_cast<std::size_t>(m) * sizeof(crossed)) +
           host_arena::rounded(static_cast<std::size_t>(2 * n * team) * sizeof(double));
}

template <class Crossing>
[[gnu::cold]] void cross_lines(Crossing const& x, view<std::int32_t const> const& q, int team,
                               host_arena& arena) {
    host_arena::scope const scope(arena);
    auto* const rows = arena.take<crossed>(q.rows);
    auto* const columns = arena.take<double>(2 * q.cols * team);
    host_each(team, team, [&](int, int t) {
        index_t const i0 = cut(q.rows, t, team, 1), i1 = cut(q.rows, t + 1, team, 1);
        double* const mine = columns + 2 * q.cols * t;
        cross_rows(x, q, i0, i1, rows + i0, mine, mine + q.cols);
        for (index_t i = i0; i < i1; ++i) x.take_left(i, rows[i].most, rows[i].least);
    });
    for (index_t j = 0; j < q.cols; ++j) {
        crossed c{0, infinite<double>()};
        for (int t = 0; t < team; ++t) {
            double const *const most = columns + 2 * q.cols * t, *const least = most + q.cols;
            if (most[j] > c.most) c.most = most[j];
            if (least[j] < c.least) c.least = least[j];
        }
        x.take_right(j, c.most, c.least);
    }
}

} // namespace ozaki_tiles

#    undef STRATAGEMM_SURVEY_OP
#    undef STRATAGEMM_SURVEY
#endif

STRATAGEMM_END
