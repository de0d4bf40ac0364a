// Hadamard transforms of the columns of a matrix on a device: the kernel, and how transforms are divided.
//
// A group transforms a tile in shared memory: a power of two of points of some lines. A line is a transform or, where
// the points of one do not fit, a part: points that are a power of two apart. Each work-item has 32 numbers in
// registers, which it adds and subtracts in up to five steps before the group exchanges them. So a transform that fits
// is read and written once. A longer one takes several passes, with workspace between them; the transforms are done in
// such numbers that the workspace is likely to stay in a cache. Lines are chosen to lie beside each other where points
// do not, for whole sectors of memory to be read and written.
//
// Points that are far apart are added before near ones, as on the host, so the results are the same.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "order.hpp"

STRATAGEMM_BEGIN

// Element e of the tile is point POINT_OF(e) of line LINE_OF(e): neighbours are of neighbouring lines if LINES_LOW is
// 1, else of one line. STORE_LINES_LOW says the same of the order in which the tile is written. COLUMNS: lines are
// columns of x, else parts of one column whose first points are 1 << line_shift apart. BITS_1, BITS_2, ...: the steps
// of each round between two exchanges, for points that are 1 << AT_1 and less elements of the tile apart. SEQUENCY: 1
// if a whole transform is written in this order; 2 if parts are. LAST: what is written is C. SHARE_IN, SHARE_OUT: which
// points are rows of x and of C. 0: all. 1: those from point0 on, with signs. 2: those of `places`, which has for each
// point a row or -1; where a whole transform is written, it has for each row a point. An XOR of the number of an
// element with the bits above the fifth keeps 32 elements that differ in five neighbouring bits in different banks.
inline constexpr char hadamard_text[] = R"(
#define NUMBERS 32
#define UNROLL _Pragma("unroll")
#define POINTS (1 << POINT_BITS)
#define LINES (1 << LINE_BITS)
#if LINES_LOW
#define POINT_OF(e) ((e) >> LINE_BITS)
#define LINE_OF(e) ((e) & (LINES - 1))
#define ELEMENT_OF(p, l) ((p) << LINE_BITS | (l))
#else
#define POINT_OF(e) ((e) & (POINTS - 1))
#define LINE_OF(e) ((e) >> POINT_BITS)
#define ELEMENT_OF(p, l) ((l) << POINT_BITS | (p))
#endif
#if STORE_LINES_LOW
#define STORED_POINT(e) ((e) >> LINE_BITS)
#define STORED_LINE(e) ((e) & (LINES - 1))
#else
#define STORED_POINT(e) ((e) & (POINTS - 1))
#define STORED_LINE(e) ((e) >> POINT_BITS)
#endif
#if SEQUENCY == 1
#define POINT_THERE(p) row_of_sequency(p)
#else
#define POINT_THERE(p) (p)
#endif

/* i with `count` zeros before bit `at`. This and what follows are linear: of x ^ y they give what they give of x, ^ what
   they give of y. So the part of a place that depends on the work-item is computed once. */
#define OPENED(i, at, count) ((i) >> (at) << ((at) + (count)) | ((i) & ((1 << (at)) - 1)))
#define SWIZZLED(e) ((e) ^ (((e) >> 5 ^ (e) >> 10) & 31))
#define PLACE(i, at, bits) \
    SWIZZLED(OPENED(ITEMS * ((i) >> (bits)), at, bits) | ((i) & ((1 << (bits)) - 1)) << (at))
#define PLACE_TO_STORE(e) SWIZZLED(ELEMENT_OF(POINT_THERE(STORED_POINT(e)), STORED_LINE(e)))

FUNCTION int row_of_sequency(int i) {
    int const gray = i ^ i >> 1;
    int row = 0;
    UNROLL for (int b = 0; b < POINT_BITS; ++b) row |= (gray >> b & 1) << (POINT_BITS - 1 - b);
    return row;
}
FUNCTION int sequency_of_row(int row, int bits) {
    uint x = (uint)row;
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
    x = (x << 16 | x >> 16) >> (32 - bits);
    for (int step = 1; step < 32; step *= 2) x ^= x >> step;
    return (int)x;
}

#define ADD_APART(step)                                             \
    do {                                                            \
        UNROLL for (int r = 0; r < NUMBERS; ++r) if (!(r & (step))) {  \
            scalar const first = v[r], second = v[r | (step)];      \
            v[r] = first + second;                                  \
            v[r | (step)] = first - second;                         \
        }                                                           \
    } while (0)
#define ADD_ROUND(bits)                  \
    do {                                 \
        if ((bits) > 4) ADD_APART(16);   \
        if ((bits) > 3) ADD_APART(8);    \
        if ((bits) > 2) ADD_APART(4);    \
        if ((bits) > 1) ADD_APART(2);    \
        if ((bits) > 0) ADD_APART(1);    \
    } while (0)
#define PUT(at, bits)                                                                          \
    do {                                                                                       \
        int const mine = SWIZZLED(OPENED(ITEM, at, bits));                                     \
        UNROLL for (int i = 0; i < NUMBERS; ++i) tile[mine ^ PLACE(i, at, bits)] = v[i];          \
        BARRIER();                                                                             \
    } while (0)
#define ROUND(at, bits)                                                                        \
    do {                                                                                       \
        int const mine = SWIZZLED(OPENED(ITEM, at, bits));                                     \
        UNROLL for (int i = 0; i < NUMBERS; ++i) v[i] = tile[mine ^ PLACE(i, at, bits)];          \
        ADD_ROUND(bits);                                                                       \
        UNROLL for (int i = 0; i < NUMBERS; ++i) tile[mine ^ PLACE(i, at, bits)] = v[i];          \
        BARRIER();                                                                             \
    } while (0)

#if SHARE_IN == 1 || SHARE_OUT == 1
#if SIGN_SHIFT == 0
#define IS_NEGATIVE(k) ((uint)signs[0] >> (k) & 1)
#else
#define IS_NEGATIVE(k) ((uint)signs[(k) & ((1 << SIGN_SHIFT) - 1)] >> ((k) >> SIGN_SHIFT) & 1)
#endif
#endif
#define FINISH_SUM(i, j, to, sum)                                                                       \
    do {                                                                                                \
        scalar finished = scale_by(alpha, sum);                                                         \
        if (adds) {                                                                                     \
            scalar const added = LOAD(OUT, e, AT(e, i, j));                                             \
            finished = multiply_add(beta, conjugate_if(e_conjugated, added), finished);                 \
        }                                                                                               \
        value const last =                                                                              \
            epilogue((value)finished, row0 + (turned ? j : i), col0 + (turned ? i : j) EPILOGUE_NAMES); \
        STORE(OUT, c, to, CONVERT(OUT_VALUE, last));                                                    \
    } while (0)

/* `tiles` of each column, or block of columns; `blocks` of these in a matrix of the batch. A point is 1 << point_shift
   rows from the next. */
KERNEL(ITEMS) hadamard_pass(MATRIX(IN const, x), index x_step, int x_conjugated, int tiles, int blocks,
                            int point_shift, int line_shift,
#if SHARE_IN || SHARE_OUT
                            index point0, index count, index sampled, BUFFER(int const, signs),
                            BUFFER(int const, places),
#endif
                            index c_step,
#if LAST
                            index e_step, index row0, index col0, int turned, PRODUCT EPILOGUE_STATE) {
#else
                            MATRIX(OUT, c), index cols) {
#endif
    SHARED scalar tile[POINTS * LINES];
    OPEN(IN const, x);
    OPEN(OUT, c);
#if SHARE_IN || SHARE_OUT
    OPEN(int const, signs);
    OPEN(int const, places);
#endif
    int const number = GROUP % tiles, block = GROUP / tiles % blocks, batch = GROUP / tiles / blocks;
#if COLUMNS
    index const k0 = OPENED(number, point_shift, POINT_BITS), j0 = (index)block * LINES;
    int const lines = (int)min((index)LINES, cols - j0);
#define LINE_STRIDE(m) m##_col
#else
    int const opened = line_shift < point_shift ? OPENED(number, line_shift, LINE_BITS)
                                                : OPENED(number, point_shift, POINT_BITS);
    index const k0 = line_shift < point_shift ? OPENED(opened, point_shift, POINT_BITS)
                                              : OPENED(opened, line_shift, LINE_BITS);
    index const j0 = block;
    int const lines = LINES;
#define LINE_STRIDE(m) (m##_row * ((index)1 << line_shift))
#endif
#define POINT_STRIDE(m) (m##_row * ((index)1 << point_shift))
/* The point of the whole transform that element e is. */
#define WHOLE_POINT(p, line) (k0 + ((index)(p) << point_shift) + (COLUMNS ? (index)0 : (index)(line) << line_shift))
    scalar v[NUMBERS];
    {
        index const x_point = POINT_STRIDE(x), x_line = LINE_STRIDE(x);
        index const step = x_point * (1 << (BITS_1 == 0 ? 0 : POINT_BITS - BITS_1));
#if SHARE_IN
        x += (index)batch * x_step + j0 * x_col;
#else
        x += (index)batch * x_step + AT(x, k0, j0);
#endif
        UNROLL for (int s = 0; s < (NUMBERS >> BITS_1); ++s) {
            int const e = OPENED(ITEM + ITEMS * s, AT_1, BITS_1), line = LINE_OF(e);
#if SHARE_IN
            index const k = WHOLE_POINT(POINT_OF(e), line),
                        apart = (index)(1 << (BITS_1 == 0 ? 0 : POINT_BITS - BITS_1)) << point_shift;
            GLOBAL IN const *const from = x + (COLUMNS ? (index)line * x_col : (index)0);
#if SHARE_IN == 1 && BITS_1 == 5
            uint const flips = (uint)signs[k];
#endif
            UNROLL for (int r = 0; r < (1 << BITS_1); ++r) {
                scalar one = ZERO;
#if SHARE_IN == 1
                index const row = k + r * apart - point0;
                bool const is_there = row >= 0 && row < count;
#else
                index const row = places[k + r * apart];
                bool const is_there = row >= 0;
#endif
                if (line < lines && is_there) one = LOAD(IN, from, row * x_row);
                v[s << BITS_1 | r] = conjugate_if(x_conjugated, one);
#if SHARE_IN == 1 && BITS_1 == 5
                if (flips >> r & 1) v[s << BITS_1 | r] = ZERO - v[s << BITS_1 | r];
#elif SHARE_IN == 1
                if (IS_NEGATIVE(k + r * apart)) v[s << BITS_1 | r] = ZERO - v[s << BITS_1 | r];
#endif
            }
#else
            GLOBAL IN const *const from = x + (POINT_OF(e) * x_point + line * x_line);
            UNROLL for (int r = 0; r < (1 << BITS_1); ++r) {
                scalar one = ZERO;
                if (line < lines) one = LOAD(IN, from, r * step);
                v[s << BITS_1 | r] = conjugate_if(x_conjugated, one);
            }
#endif
        }
    }
    ADD_ROUND(BITS_1);
    PUT(AT_1, BITS_1);
#if BITS_2 > 0
    ROUND(AT_2, BITS_2);
#endif
#if BITS_3 > 0
    ROUND(AT_3, BITS_3);
#endif
#if BITS_4 > 0
    ROUND(AT_4, BITS_4);
#endif
#if LAST
    OPEN(OUT const, e);
    e += (index)batch * e_step;
#endif
    c += (index)batch * c_step;
#if SHARE_OUT == 2 && WHOLE
    for (int t = ITEM; t < (int)sampled * LINES; t += ITEMS) {
#if STORE_LINES_LOW
        int const i = t >> LINE_BITS, line = t & (LINES - 1);
#else
        int const line = t / (int)sampled, i = t - line * (int)sampled;
#endif
        if (line >= lines) continue;
        index const j = j0 + line, to = AT(c, i, j);
        scalar const sum = tile[SWIZZLED(ELEMENT_OF(places[i], line))];
        FINISH_SUM(i, j, to, sum);
    }
#else
    int const mine = PLACE_TO_STORE(ITEM), my_line = STORED_LINE(ITEM), my_point = STORED_POINT(ITEM);
    index const c_point = POINT_STRIDE(c), c_line = LINE_STRIDE(c);
#if SEQUENCY != 2 && !SHARE_OUT
    c += AT(c, k0, j0) + my_point * c_point + my_line * c_line;
#endif
    UNROLL for (int s = 0; s < NUMBERS; ++s) {
        scalar sum = tile[mine ^ PLACE_TO_STORE(ITEMS * s)];
        int const more_points = STORED_POINT(ITEMS * s), more_lines = STORED_LINE(ITEMS * s);
        int const line = my_line + more_lines;
        if (line < lines) {
#if LAST
            index const k = WHOLE_POINT(my_point + more_points, line);
            index const j = COLUMNS ? j0 + line : j0;
#if SHARE_OUT == 2
            index const i = places[k], to = AT(c, i, j);
            if (i < 0) continue;
#elif SHARE_OUT == 1
            index const i = k - point0, to = AT(c, i, j);
            if (i < 0 || i >= count) continue;
            if (IS_NEGATIVE(k)) sum = ZERO - sum;
#elif SEQUENCY == 2
            index const i = sequency_of_row((int)k, TRANSFORM_BITS), to = AT(c, i, j);
#else
            index const i = k, to = more_points * c_point + more_lines * c_line;
#endif
            FINISH_SUM(i, j, to, sum);
#else
            STORE(OUT, c, more_points * c_point + more_lines * c_line, CONVERT(OUT_VALUE, (value)sum));
#endif
        }
    }
#endif
}
)";

// One launch of the kernel, for transforms of 1 << bits points.
struct hadamard_pass {
    int bits = 0, point_bits = 0, point_shift = 0, line_bits = 0, line_shift = 0;
    bool columns = true, lines_low = false, store_lines_low = false, last = true;
    int sequency = 0;
    int first_round = 0; // steps
    int share_in = 0, share_out = 0;

    int tile_bits() const { return point_bits + line_bits; }
    int items() const { return (1 << tile_bits()) / 32; }
    // Of a column, or of a block of columns.
    index_t tiles() const { return index_t{1} << (bits - point_bits - (columns ? 0 : line_bits)); }
    index_t blocks(index_t cols) const { return columns ? ((cols - 1) >> line_bits) + 1 : cols; }
    std::string definitions() const {
        auto const define = [](std::string const& name, int value) {
            return "#define " + name + ' ' + std::to_string(value) + '\n';
        };
        std::string text = define("POINT_BITS", point_bits) + define("LINE_BITS", line_bits) +
                           define("COLUMNS", columns) + define("LINES_LOW", lines_low) +
                           define("STORE_LINES_LOW", store_lines_low) + define("LAST", last) +
                           define("SEQUENCY", sequency) + define("SHARE_IN", share_in) +
                           define("SHARE_OUT", share_out);
        if (share_out == 2) text += define("WHOLE", point_bits == bits);
        if (share_in == 1 || share_out == 1) text += define("SIGN_SHIFT", bits < 5 ? 0 : bits - 5);
        if (sequency == 2) text += define("TRANSFORM_BITS", bits);
        int left = point_bits, steps = first_round;
        for (int round = 1; round <= 4; ++round, steps = left < 5 ? left : 5) {
            left -= steps;
            text += define("BITS_" + std::to_string(round), steps) +
                    define("AT_" + std::to_string(round), left + (lines_low ? line_bits : 0));
        }
        return text;
    }
};

// The passes of transforms of 1 << bits points, whose sums have `size` bytes. Across: columns lie beside each other,
// else the points of a column.
struct hadamard_passes {
    int count = 0;
    hadamard_pass at[8];

    // log2 of the points that fit 32 KiB, which all devices have.
    static constexpr int most_bits(int size) { return 15 - bits_of(size); }

    // `splits`: whether there is room for what is between two passes, where one would do.
    hadamard_passes(int bits, int size, bool across, bool by_sequency, bool splits, index_t cols) {
        int const bytes = bits_of(size), most = most_bits(size),
                  sector = 5 - bytes; // elements that memory reads at once
        int const first_most = most - sector, last_most = across || by_sequency ? first_most : most;
        // One pass over halves of sectors takes as long as two passes.
        count = bits <= (across && splits ? first_most + 1 : most) ? 1 : 2;
        while (count > 1 && (count - 1) * first_most + last_most < bits) ++count;
        int left = bits;
        for (int i = 0; i < count; ++i) {
            hadamard_pass& pass = at[i];
            int const even = (left + count - i - 1) / (count - i),
                      least = left - (count - i - 2) * first_most - last_most;
            pass.bits = bits, pass.last = i + 1 == count;
            pass.point_bits = pass.last ? left : even < least ? least : even;
            left -= pass.point_bits;
            pass.point_shift = left;
            pass.columns = across || count == 1;
            pass.lines_low = across || !pass.last;
            pass.store_lines_low = pass.lines_low || (by_sequency && count > 1);
            if (by_sequency && pass.last) pass.sequency = count == 1 ? 1 : 2;
            choose_lines(pass, bytes, most, sector, cols);
            int const apart = pass.point_bits - sector; // points of a sector are not added in the first round
            pass.first_round = smaller_of(5, pass.lines_low || apart < 1 ? pass.point_bits : apart);
        }
    }

private:
    static int smaller_of(int x, int y) { return x < y ? x : y; }
    // Tiles of 8 KiB or more; of a warp at least.
    static void choose_lines(hadamard_pass& pass, int bytes, int most, int sector, index_t cols) {
        constexpr int least = 10;
        bool const beside = pass.lines_low || pass.store_lines_low; // sectors are of several lines
        int tile = larger_of(13 - bytes, pass.point_bits + (beside ? sector + 1 : 0));
        tile = larger_of(least, smaller_of(tile, most));
        int const lines = tile - pass.point_bits;
        pass.line_bits =
            pass.columns ? larger_of(least - pass.point_bits, smaller_of(lines, bits_of(cols))) : lines;
        if (pass.line_bits < 0) pass.line_bits = 0;
        // Parts of a column begin beside each other; those of the last pass in the order in which they are written.
        if (!pass.columns && pass.last)
            pass.line_shift = pass.sequency == 2 ? pass.bits - pass.line_bits : pass.point_bits;
    }
    static int larger_of(int x, int y) { return x < y ? y : x; }
};

// How many transforms of n points are done together if they take several passes: what lies between two passes is likely
// to stay in a cache then, and there is work for all of a device.
constexpr index_t hadamard_together(index_t n, index_t transforms) {
    constexpr index_t elements = 1 << 22;
    index_t const some = n < elements ? elements / n : 1;
    return some < transforms ? some : transforms;
}
template <class Sum>
index_t hadamard_workspace(index_t n, index_t transforms) {
    return bits_of(n) <= hadamard_passes::most_bits(sizeof(Sum)) ? 0 : n * hadamard_together(n, transforms);
}

// Which points are rows of x or of C where not all are, as in a sketch: points [first, first + count) of one of the
// two, and `sampled` ones of the other. `in` and `out` say of which, as SHARE_IN and SHARE_OUT do.
template <class Space>
struct hadamard_share_on {
    int in, out;
    index_t first, count, sampled;
    typename Space::template handle<int const> signs, places;
};
template <class F, class Space>
void each_given(F&& f, hadamard_share_on<Space> const& x) {
    f(x.first), f(x.count), f(x.sampled), f(x.signs), f(x.places);
}
struct no_hadamard_share {
    static constexpr int in = 0, out = 0;
};
template <class F>
void each_given(F&&, no_hadamard_share const&) {}

template <class In, class Out>
device_kernel hadamard_kernel(hadamard_pass const& pass, std::string const& epilogue) {
    return {"hadamard_pass",      hadamard_text, pass.definitions() + epilogue, pass.items(),
            uses_double<In, Out>, false,         kernel_types<In, Out>};
}

// A product whose A is a Hadamard matrix, or a part of one. `turned`: rows are the caller's columns.
template <class Leaf, class Q, class Arena, class Share = no_hadamard_share>
class hadamard_launches {
    using In = typename Q::b_type;
    using Out = typename Q::c_type;
    using S = typename Q::scalar;
    using Space = typename Q::space;

public:
    hadamard_launches(Leaf const& by, Q const& problem, bool is_turned, Share const& points = {})
        : leaf(by), p(problem), turned(is_turned), share(points), epilogue(problem.epilogue) {
        p.alpha = scaled_by(p.alpha, S(p.a.scale)), p.e = added_or_c(p);
        if (p.beta == S(0)) p.e_step = p.c_step;
        // Vectors of a batch are columns, if no epilogue asks for these.
        if (std::is_same_v<typename Q::epilogue_type, identity> && p.c.cols == 1) {
            p.b.cols = p.c.cols = p.e.cols = p.count, p.count = 1;
            p.b.col_stride = p.b_step, p.c.col_stride = p.c_step, p.e.col_stride = p.e_step;
        }
    }
    status operator()(Arena& memory) const {
        index_t n = p.c.rows;
        bool by_sequency = false;
        if constexpr (is_part)
            n = p.a.points();
        else
            by_sequency = p.a.order == hadamard_order::sequency;
        index_t const cols = p.c.cols;
        bool const across = !rows_are_closer(p.b) && cols > 1;
        bool const fits = bits_of(n) <= hadamard_passes::most_bits(sizeof(S)),
                   in_c = std::is_same_v<Out, S> && p.beta == S(0) && !by_sequency &&
                          !is_part; // is what is between two passes
        hadamard_passes passes(bits_of(n), sizeof(S), across, by_sequency, in_c || !fits, cols);
        passes.at[0].share_in = share.in, passes.at[passes.count - 1].share_out = share.out;
        if (passes.count == 1) return last_pass<In>(passes.at[0], p, p.b, p.b_step, p.b.conjugate);
        typename Arena::scope const scope(memory);
        index_t const together = fits ? cols : hadamard_together(n, cols);
        auto const room = memory.template take<S>(fits ? 0 : n * together);
        for (index_t b = 0; b < p.count; ++b)
            for (index_t j = 0; j < cols; j += together) {
                index_t const some = cols - j < together ? cols - j : together;
                Q one = p.at(b);
                one.b = one.b.block(0, j, p.b.rows, some), one.c = one.c.block(0, j, p.c.rows, some);
                one.e = one.e.block(0, j, p.c.rows, some), one.col0 += turned ? 0 : j,
                one.row0 += turned ? j : 0;
                view<S, Space> t{room, n, some, across ? some : 1, across ? 1 : n};
                if constexpr (std::is_same_v<Out, S> && !is_part)
                    if (fits) t = one.c;
                if (status s = in_passes(passes, one, t); !s) return s;
            }
        return {};
    }

private:
    status in_passes(hadamard_passes const& passes, Q const& one, view<S, Space> const& t) const {
        status s = first_pass<In>(passes.at[0], one.b, t, one.b.conjugate);
        view<S const, Space> const from = t;
        for (int i = 1; s && i + 1 < passes.count; ++i) s = first_pass<S>(passes.at[i], from, t, false);
        return s ? last_pass<S>(passes.at[passes.count - 1], one, from, 0, false) : std::move(s);
    }
    // f(what a kernel gets of the share)
    template <class F>
    status with_share(hadamard_pass const& pass, F const& f) const {
        if constexpr (is_part)
            if (pass.share_in > 0 || pass.share_out > 0) return f(share);
        return f(no_hadamard_share{});
    }
    template <class From>
    status first_pass(hadamard_pass const& pass, view<From const, Space> const& x, view<S, Space> const& t,
                      bool conjugated) const {
        return with_share(pass, [&](auto const& points) {
            return leaf.launch(hadamard_kernel<From, S>(pass, {}), pass.tiles() * pass.blocks(x.cols), x,
                               index_t{0}, int{conjugated}, static_cast<int>(pass.tiles()),
                               static_cast<int>(pass.blocks(x.cols)), pass.point_shift, pass.line_shift,
                               points, index_t{0}, t, x.cols);
        });
    }
    template <class From>
    status last_pass(hadamard_pass const& pass, Q const& one, view<From const, Space> const& x,
                     index_t x_step, bool conjugated) const {
        return with_share(pass, [&](auto const& points) {
            return leaf.launch(hadamard_kernel<From, Out>(pass, epilogue.definitions()),
                               pass.tiles() * pass.blocks(x.cols) * one.count, x, x_step, int{conjugated},
                               static_cast<int>(pass.tiles()), static_cast<int>(pass.blocks(x.cols)),
                               pass.point_shift, pass.line_shift, points, one.c_step, one.e_step, one.row0,
                               one.col0, int{turned}, one.alpha, one.beta, int{one.beta != S(0)}, one.e,
                               int{one.e.conjugate}, one.c, one.c.rows, one.c.cols, epilogue);
        });
    }

    static constexpr bool is_part = !std::is_same_v<Share, no_hadamard_share>;

    Leaf const& leaf;
    Q p;
    bool turned;
    Share share;
    typename Leaf::template epilogue<S> epilogue;
};

STRATAGEMM_END
