// Norms and certificates on a device without double: sums of two floats each, which the host adds up in double.
//
// Products and sums keep what they round off (Dekker; Ogita, Rump, Oishi: Accurate sum and dot product, 2005), so sums
// of k terms are off by about 2^-46 of the sum of their magnitudes. Squares are of numbers that are scaled by one of
// three powers of two (Blue: A portable Fortran program to find the Euclidean norm of a vector, 1978).
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../../backend/host/memory.hpp"
#include "../../core/certificate.hpp"
#include "../../core/policy.hpp"
#include "../../device/dialect.hpp"
#include "../../structure/sketch/device.hpp"
#include "written.hpp"

STRATAGEMM_BEGIN

namespace approximate_parts {

// ADD(sum, rest, x, lost) adds x, which lost `lost` when it was rounded. For kernels that are `exact`.
inline constexpr char narrow_text[] = R"(
#define ADD(sum, rest, x, lost)                                             \
    do {                                                                    \
        float const next = (sum) + (x), added = next - (sum);               \
        (rest) += (((sum) - (next - added)) + ((x) - added)) + (lost);      \
        (sum) = next;                                                       \
    } while (0)
#define ADD_SCALED(q, number)                                               \
    do {                                                                    \
        float const scaled = number, square = scaled * scaled;              \
        ADD(sum[2 * (q)], sum[2 * (q) + 1], square, fma(scaled, scaled, -square)); \
    } while (0)
#define ADD_SQUARE(number)                                                  \
    do {                                                                    \
        float const size = fabs((float)(number));                           \
        if (size > 4503599627370496.0f)                                     \
            ADD_SCALED(2, ldexp(size, -76));                                \
        else if (size < 1.0f / 1125899906842624.0f)                         \
            ADD_SCALED(0, ldexp(size, 80));                                 \
        else                                                                \
            ADD_SCALED(1, size);                                            \
    } while (0)

/* Of a part of each row: a work-item for each row if `across`, where the elements of a column lie side by side; else a
   warp for each row. */
KERNEL(ITEMS) narrow_squares(MATRIX(IN const, x), index rows, index cols, index blocks, index parts, int across,
                             BUFFER(float, to)) {
    SHARED float of_lane[6 * ITEMS];
    OPEN(IN const, x);
    OPEN(float, to);
    index const part = GROUP / blocks, block = GROUP % blocks, end = cols * (part + 1) / parts;
    index const i = across ? block * ITEMS + ITEM : block * (ITEMS / 32) + WARP;
    float sum[6];
    for (int u = 0; u < 6; ++u) sum[u] = 0;
    for (index j = cols * part / parts + (across ? 0 : LANE); j < (i < rows ? end : 0); j += across ? 1 : 32) {
        scalar const element = LOAD(IN, x, AT(x, i, j));
#if COMPLEX
        ADD_SQUARE(element.x);
        ADD_SQUARE(element.y);
#else
        ADD_SQUARE(element);
#endif
    }
    if (!across) {
        for (int u = 0; u < 6; ++u) of_lane[u * ITEMS + ITEM] = sum[u];
        BARRIER();
        for (int lane = 1; lane < (LANE == 0 ? 32 : 0); ++lane)
            for (int q = 0; q < 3; ++q)
                ADD(sum[2 * q], sum[2 * q + 1], of_lane[2 * q * ITEMS + ITEM + lane],
                    of_lane[(2 * q + 1) * ITEMS + ITEM + lane]);
    }
    if (i < rows && (across || LANE == 0))
        for (int u = 0; u < 6; ++u) to[(part * rows + i) * 6 + u] = sum[u];
}

#if !COMPLEX
#define VECTORS 16
#define DEPTH 32
/* Z = alpha X Y + beta Z for 16 vectors, whose elements are sums of two numbers, the second behind all of the first. */
KERNEL(ITEMS) times_vectors(MATRIX(IN const, x), int turned, float alpha, BUFFER(float const, y), float beta,
                            BUFFER(float, z), index rows, index cols) {
    SHARED float tile[16 * (DEPTH + 1)];
    SHARED float some[2 * DEPTH * VECTORS];
    OPEN(IN const, x);
    OPEN(float const, y);
    OPEN(float, z);
    int const v = ITEM % VECTORS, r = ITEM / VECTORS;
    index const row0 = (index)GROUP * 16, to = (row0 + r) * VECTORS + v;
    float sum = 0, rest = 0;
    for (index l0 = 0; l0 < cols; l0 += DEPTH) {
        for (int at = ITEM; at < 16 * DEPTH; at += ITEMS) {
            int const i = turned ? at % 16 : at / DEPTH, l = turned ? at / 16 : at % DEPTH;
            bool const is_there = row0 + i < rows && l0 + l < cols;
            tile[i * (DEPTH + 1) + l] = is_there ? LOAD(IN, x, AT(x, row0 + i, l0 + l)) : 0;
        }
        for (int at = ITEM; at < 2 * DEPTH * VECTORS; at += ITEMS) {
            index const from = l0 * VECTORS + at % (DEPTH * VECTORS);
            bool const is_there = from < cols * VECTORS;
            some[at] = is_there ? y[at / (DEPTH * VECTORS) * cols * VECTORS + from] : 0;
        }
        BARRIER();
        for (int l = 0; l < DEPTH; ++l) {
            float const a = tile[r * (DEPTH + 1) + l], b = some[l * VECTORS + v], product = a * b;
            ADD(sum, rest, product, fma(a, b, -product) + a * some[(DEPTH + l) * VECTORS + v]);
        }
        BARRIER();
    }
    if (row0 + r < rows) {
        float high = alpha * sum, low = fma(alpha, sum, -high) + alpha * rest;
        if (beta != 0) {
            float const before = z[to], product = beta * before;
            ADD(high, low, product, fma(beta, before, -product) + beta * z[rows * VECTORS + to]);
        }
        sum = high + low;
        z[to] = sum;
        z[rows * VECTORS + to] = low - (sum - high);
    }
}
#endif
)";

template <class T>
device_kernel narrow_kernel(char const* name) {
    return {name, narrow_text, {}, 256, uses_double<T, T>, true, kernel_types<T, T>};
}

inline constexpr index_t narrow_sums = 6; // of each row: two floats for each power of two
inline index_t narrow_parts(index_t parts) { return smaller(8, parts); }
// to[i] = the sum of |x_ij|^2 over j. `sums` has room for narrow_sums floats of each row in each of `parts` parts.
template <class Leaf, class T, class Space>
status narrow_squares_of_rows(Leaf const& leaf, view<T const, Space> const& x, double* to,
                              typename Space::template handle<float> sums, index_t parts) {
    bool const across = magnitude(x.row_stride) < magnitude(x.col_stride);
    index_t const blocks = divide_up(x.rows, across ? 256 : 8), count = narrow_sums * parts * x.rows;
    footprint room;
    room.host = host_arena::rounded(static_cast<std::size_t>(count) * sizeof(float));
    auto host = reserve_host(room, Leaf::layer);
    if (!host) return host.take_status();
    float* const here = host->template take<float>(count);
    if (status s = leaf.launch(narrow_kernel<T>("narrow_squares"), blocks * parts, x, x.rows, x.cols, blocks,
                               parts, int{across}, sums);
        !s)
        return s;
    if (status s = leaf.download(sums, here, count); !s) return s;
    constexpr double scales[] = {0x1p-160, 1, 0x1p152};
    for (index_t i = 0; i < x.rows; ++i) {
        to[i] = 0;
        for (index_t part = 0; part < parts; ++part)
            for (index_t q = 0; q < 3; ++q) {
                float const* const two = here + (part * x.rows + i) * narrow_sums + 2 * q;
                to[i] += scales[q] * (static_cast<double>(two[0]) + static_cast<double>(two[1]));
            }
    }
    return {};
}

// What certificate.hpp has, of real products without doubles.
template <class Base, class S>
class narrow_certificate {
    using space = typename Base::space;
    using arena = typename Base::arena;
    template <class T>
    using handle = typename space::template handle<T>;
    template <class T>
    static constexpr bool is_narrow =
        !complex_like<T> && sizeof(T) <= sizeof(float) && !std::is_integral_v<T>;

public:
    static constexpr int vectors = 16;
    static constexpr bool is_possible = device_leaf<leaf_of<Base>, space> && is_narrow<typename S::a_type> &&
                                        is_narrow<typename S::b_type> && is_narrow<typename S::c_type>;

    static footprint room(Base const&, S const& s) {
        footprint all;
        space::share(all) = bytes(s.n) + bytes(s.k) + bytes(s.m);
        return all;
    }
    // Each element is read once, and takes some ten operations for each vector.
    static double seconds(Base const& base, S const& s) {
        auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
        return (m * k + k * n + m * n) * 8 * sizeof(float) / base.leaf().limits().bandwidth;
    }

    narrow_certificate(Base const& base, S const& s, std::uint64_t seed) : base_(base), s_(s), seed_(seed) {}

    template <class P>
    status begin(P const& p, arena& memory) {
        x_ = take(memory, s_.n), z_ = take(memory, s_.m);
        view<float, space> const drawn{x_, s_.n, vectors, vectors, 1},
            rest{x_ + s_.n * vectors, s_.n, vectors, vectors, 1};
        if (status s = write_normals_on_device(base_.leaf(), seed_, 0, 0, drawn); !s) return s;
        if (status s = base_.leaf().fill(rest, 0.0f); !s) return s;
        typename arena::scope const scope(memory);
        auto const y = take(memory, s_.k);
        if (status s = add_times(1, as_read(p.b), x_, 0, y); !s) return s;
        if (status s = add_times(static_cast<float>(p.alpha), as_read(p.a), y, 0, z_); !s) return s;
        if (p.beta == typename P::scalar(0)) return {};
        return add_times(static_cast<float>(p.beta), p.e, x_, 1, z_);
    }
    template <class C>
    status finish(view<C, space> const& c, double confidence, double& norm, arena&) {
        if (status s = add_times(-1, view<C const, space>(c), x_, 1, z_); !s) return s;
        index_t const count = s_.m * vectors;
        footprint room;
        room.host = host_arena::rounded(static_cast<std::size_t>(2 * count) * sizeof(float));
        auto host = reserve_host(room, "certificate");
        if (!host) return host.take_status();
        float* const here = host->template take<float>(2 * count);
        if (status s = base_.leaf().download(z_, here, 2 * count); !s) return s;
        double all = 0;
        for (index_t i = 0; i < count; ++i) {
            double const z = static_cast<double>(here[i]) + static_cast<double>(here[count + i]);
            all += z * z;
        }
        norm = certified(vectors, confidence) * __builtin_sqrt(all / vectors);
        return {};
    }

private:
    static std::size_t bytes(index_t rows) {
        return arena::rounded(static_cast<std::size_t>(2 * rows * vectors) * sizeof(float));
    }
    static handle<float> take(arena& memory, index_t rows) {
        return memory.template take<float>(2 * rows * vectors);
    }
    template <class X>
    status add_times(float alpha, view<X const, space> const& x, handle<float> y, float beta,
                     handle<float> z) const {
        return base_.leaf().launch(narrow_kernel<X>("times_vectors"), divide_up(x.rows, 16), x,
                                   int{rows_are_closer(x)}, alpha, handle<float const>(y), beta, z, x.rows,
                                   x.cols);
    }

    Base const& base_;
    S s_;
    std::uint64_t seed_;
    handle<float> x_{}, z_{};
};

} // namespace approximate_parts

STRATAGEMM_END
