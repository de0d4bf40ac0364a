// `split` over a leaf of a device: kernels that measure operands, take them apart, and begin and end complex
// products.
//
// A call waits once, for the least and the largest element of A and B, with which the host finds the scales.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "parts.hpp"

STRATAGEMM_BEGIN

namespace split_parts {

inline constexpr char device_text[] = R"(
/* A warp takes pieces of lines, whose elements lie closest, one after another: its t-th is PIECE elements of line i
   from `first` on. */
#define PIECE 1024
#define WARPS (ITEMS / 32)
#define PIECES(length) (((length) + PIECE - 1) / PIECE)
#define EACH_PIECE(t, lines, length) \
    index t = (index)GROUP * WARPS + WARP; t < (lines) * PIECES(length); t += (index)GROUPS * WARPS

/* Of a group: the largest element, infinite if there is Inf or NaN, and the least one that is not 0. */
KERNEL(ITEMS) measure(MATRIX(float const, x), index lines, index length, float infinity, BUFFER(float, table)) {
    SHARED float mosts[ITEMS];
    SHARED float leasts[ITEMS];
    OPEN(float const, x);
    OPEN(float, table);
    float most = 0, least = infinity;
    for (EACH_PIECE(t, lines, length)) {
        index const i = t / PIECES(length), first = t % PIECES(length) * PIECE, end = min(length, first + PIECE);
        for (index j = first + LANE; j < end; j += 8 * 32) {
            float some[8];
#pragma unroll
            for (int u = 0; u < 8; ++u) some[u] = x[AT(x, i, min(j + 32 * u, end - 1))];
#pragma unroll
            for (int u = 0; u < 8; ++u) {
                float const size = fabs(some[u]);
                if (!(size <= most)) most = size < infinity ? size : infinity;
                if (size > 0 && size < least) least = size;
            }
        }
    }
    mosts[ITEM] = most;
    leasts[ITEM] = least;
    for (int other = ITEMS / 2; other > 0; other /= 2) {
        BARRIER();
        if (ITEM < other) {
            if (mosts[ITEM + other] > mosts[ITEM]) mosts[ITEM] = mosts[ITEM + other];
            if (leasts[ITEM + other] < leasts[ITEM]) leasts[ITEM] = leasts[ITEM + other];
        }
    }
    if (ITEM == 0) {
        table[2 * (index)GROUP] = mosts[0];
        table[2 * (index)GROUP + 1] = leasts[0];
    }
}

/* A part keeps 8 or 11 of 24 bits. Half has few exponents: the second part is stored times NEXT. */
#ifdef HALVES
#define PART half
#define LOST 0x2000u
#define NEXT 4096.0f
#else
#define PART bfloat16
#define LOST 0x10000u
#define NEXT 1.0f
#endif
typedef union {
    float number;
    unsigned bits;
} float_bits;
/* To as many bits as a part has. */
FUNCTION float rounded(float x) {
    float_bits v;
    v.number = x;
    v.bits = (v.bits + LOST / 2u - 1u + (v.bits / LOST & 1u)) & ~(LOST - 1u);
    return v.number;
}

/* Elements in two or three parts, x = h + m / NEXT (+ l); what is in `to` beyond x is zeros. */
KERNEL(ITEMS) take_apart(MATRIX(float const, x), index x_lines, index x_length, float factor, MATRIX(PART, to),
                         index lines, index length, index next, int parts) {
    OPEN(float const, x);
    OPEN(PART, to);
    for (EACH_PIECE(t, lines, length)) {
        index const i = t / PIECES(length), first = t % PIECES(length) * PIECE, end = min(length, first + PIECE);
        for (index j0 = first + LANE; j0 < end; j0 += 4 * 32) {
            float rest[4];
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                index const j = j0 + 32 * u;
                rest[u] = i < x_lines && j < x_length ? x[AT(x, i, j)] * factor : 0;
            }
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                index const j = j0 + 32 * u;
                for (int part = 0; part < parts && j < end; ++part) {
                    float const high = rounded(rest[u]);
                    STORE(PART, to, AT(to, i, j) + part * next, high);
                    rest[u] = (rest[u] - high) * NEXT;
                }
            }
        }
    }
}
)";

// [Re -Im; Im Re] or [Re; Im], and C from a product of these.
inline constexpr char device_complex_text[] = R"(
KERNEL(ITEMS) as_real(MATRIX(complex64 const, x), index x_rows, index x_cols, int x_conjugated,
                      MATRIX(float, to), index rows, index cols) {
    OPEN(complex64 const, x);
    OPEN(float, to);
    for (EACH(at, rows * cols)) {
        index const i = at / cols, j = at % cols;
        int const low = i >= x_rows, right = j >= x_cols;
        index const from = AT(x, low ? i - x_rows : i, right ? j - x_cols : j);
        float const re = x[from].x, im = x_conjugated ? -x[from].y : x[from].y;
        to[AT(to, i, j)] = low == right ? re : low ? im : -im;
    }
}

KERNEL(ITEMS) finish(BUFFER(float const, sums), complex64 alpha, complex64 beta, int adds,
                     MATRIX(complex64 const, e), int e_conjugated, MATRIX(complex64, c), index rows,
                     index cols) {
    OPEN(float const, sums);
    OPEN(complex64 const, e);
    OPEN(complex64, c);
    for (EACH(at, rows * cols)) {
        double const x = sums[at], y = sums[rows * cols + at];
        double re = (double)alpha.x * x - (double)alpha.y * y, im = (double)alpha.x * y + (double)alpha.y * x;
        index const i = at / cols, j = at % cols;
        if (adds) {
            complex64 const added = e[AT(e, i, j)];
            double const f = added.x, g = e_conjugated ? -added.y : added.y;
            re += (double)beta.x * f - (double)beta.y * g;
            im += (double)beta.x * g + (double)beta.y * f;
        }
        complex64 z;
        z.x = (float)re;
        z.y = (float)im;
        c[AT(c, i, j)] = z;
    }
}
)";

template <class Leaf, class Space>
class on_device {
    template <class Element>
    using handle = typename Space::template handle<Element>;

public:
    explicit on_device(Leaf leaf) : leaf_(std::move(leaf)) {}

    // What `measure` writes for one operand: a largest and a least element for each of so many groups at most.
    static constexpr index_t groups = 1024, table_size = groups * measures;
    struct range {
        float most = 0, least = infinite<float>();
    };
    // Measures A and B; `table` is for both. Waits for the device.
    status measure(view<float const, Space> const& a, view<float const, Space> const& b, handle<float> table,
                   range& of_a, range& of_b) const {
        index_t const count_a = groups_for(by_lines(a, a)) * measures,
                      count = count_a + groups_for(by_lines(b, b)) * measures;
        if (status s = measure(by_lines(a, a), table); !s) return s;
        if (status s = measure(by_lines(b, b), table + count_a); !s) return s;
        float found[2 * table_size];
        if (status s = leaf_.download(handle<float const>(table), found, count); !s) return s;
        for (index_t i = 0; i < count; i += measures) {
            range& to = i < count_a ? of_a : of_b;
            if (found[i + largest] > to.most) to.most = found[i + largest];
            if (found[i + least] < to.least) to.least = found[i + least];
        }
        return {};
    }

    // Stores part p of element (i, j) at to(i, j), p `next` further on. `to` includes the columns that
    // padding adds.
    template <class Part>
    status take_apart(view<float const, Space> const& x, float factor, view<Part, Space> const& to,
                      index_t next, int parts) const {
        auto const from = by_lines(x, x);
        auto const lines = by_lines(to, x);
        char const* const definitions = std::is_same_v<Part, half> ? "#define HALVES\n" : "";
        return leaf_.launch({"take_apart", device_text, definitions, items, false, true}, groups_for(lines),
                            from, from.rows, from.cols, factor, lines, lines.rows, lines.cols, next, parts);
    }

    // The same as left_as_real or right_as_real.
    template <class T>
    status as_real(view<T const, Space> const& x, view<float, Space> const& to) const {
        return launch<true>("as_real", device_complex_text, groups_for_each(to.rows * to.cols, items), x,
                            x.rows, x.cols, int{x.conjugate}, to, to.rows, to.cols);
    }
    // `sums` has no gaps.
    template <class P>
    status finish(P const& p, view<float, Space> const& sums) const {
        bool const adds = p.beta != typename P::scalar(0);
        auto const e = added_or_c(p);
        status s =
            launch<true>("finish", device_complex_text, groups_for_each(p.c.rows * p.c.cols, items),
                         sums.data, p.alpha, p.beta, int{adds}, e, int{e.conjugate}, p.c, p.c.rows, p.c.cols);
        return s ? apply_to_c(leaf_, p) : std::move(s); // the epilogue's argument has been rounded already
    }

private:
    static constexpr int items = 256;

    // X, or its transpose if columns of `like` lie closer than rows do: rows are then lines.
    template <class X, class Like>
    static X by_lines(X const& x, Like const& like) {
        return magnitude(like.col_stride) <= magnitude(like.row_stride) ? x : x.transposed();
    }
    template <class X>
    static index_t groups_for(X const& lines) {
        constexpr index_t piece = 1024, warps = items / 32;
        index_t const wanted = (lines.rows * ((lines.cols + piece - 1) / piece) + warps - 1) / warps;
        return wanted < 1 ? 1 : wanted < groups ? wanted : groups;
    }
    status measure(view<float const, Space> const& lines, handle<float> table) const {
        return launch("measure", device_text, groups_for(lines), lines, lines.rows, lines.cols,
                      infinite<float>(), table);
    }
    template <bool Double = false, class... Arguments>
    status launch(char const* name, static_text text, index_t count, Arguments const&... arguments) const {
        return leaf_.launch({name, text, {}, items, Double, true}, count, arguments...);
    }

    Leaf leaf_;
};

} // namespace split_parts

STRATAGEMM_END
