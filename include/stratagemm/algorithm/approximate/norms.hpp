// Norms of the rows of a matrix, for predictions of errors: sums of squares in double, on the host or on a device. They
// are the same for any number of threads.
#pragma once

#include "../../backend/host/isa.hpp"
#include "../../backend/host/kernels.hpp"
#include "../../core/policy.hpp"
#include "../../device/dialect.hpp"
#include "narrow.hpp"

STRATAGEMM_BEGIN

namespace approximate_parts {

#define STRATAGEMM_INLINE inline __attribute__((always_inline))

// Four doubles, and as many elements of R, which compilers divide where the machine has shorter vectors.
template <class R>
struct four {
    typedef double wide __attribute__((vector_size(32)));
    typedef R narrow __attribute__((vector_size(4 * sizeof(R)), aligned(alignof(R)), may_alias));
};
template <class R>
STRATAGEMM_INLINE double squares_of(R const* x, index_t count) {
    using V = typename four<R>::wide;
    V s[4] = {};
    index_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int u = 0; u < 4; ++u) {
            V const v =
                __builtin_convertvector(*reinterpret_cast<typename four<R>::narrow const*>(x + i + 4 * u), V);
            s[u] += v * v;
        }
    V const sums = (s[0] + s[1]) + (s[2] + s[3]);
    double all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < count; ++i) all += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return all;
}
// to[i] += x[i]^2
template <class R>
STRATAGEMM_INLINE void add_squares_of(R const* x, index_t count, double* to) {
    using V = typename four<R>::wide;
    index_t i = 0;
    for (; i + 4 <= count; i += 4) {
        V const v = __builtin_convertvector(*reinterpret_cast<typename four<R>::narrow const*>(x + i), V);
        V sum; // `to` is aligned to a double alone, which a pointer of a deduced type forgets
        __builtin_memcpy(&sum, to + i, sizeof(sum));
        sum += v * v;
        __builtin_memcpy(to + i, &sum, sizeof(sum));
    }
    for (; i < count; ++i) to[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
}
#undef STRATAGEMM_INLINE

#if defined(__x86_64__)
template <class R>
__attribute__((noinline, target("avx2,fma"))) double squares_avx2(R const* x, index_t count) {
    return squares_of(x, count);
}
template <class R>
__attribute__((noinline, target("avx2,fma"))) void add_squares_avx2(R const* x, index_t count, double* to) {
    add_squares_of(x, count, to);
}
inline bool has_avx2() { return current_isa().isa >= host_isa::avx2; }
#endif
template <class R>
double squares(R const* x, index_t count) {
#if defined(__x86_64__)
    if (has_avx2()) return squares_avx2(x, count);
#endif
    return squares_of(x, count);
}
template <class R>
void add_squares(R const* x, index_t count, double* to) {
#if defined(__x86_64__)
    if (has_avx2()) return add_squares_avx2(x, count, to);
#endif
    add_squares_of(x, count, to);
}

// x[i] = its root. Loops with sqrt() itself would look at errno, one number at a time.
inline void take_roots_of(double* x, index_t count) {
    for (index_t i = 0; i < count; ++i) x[i] = __builtin_sqrt(x[i]);
}
#if defined(__x86_64__)
__attribute__((noinline, target("avx2"))) inline void take_roots_avx2(double* x, index_t count) {
    typedef double wide __attribute__((vector_size(32)));
    index_t i = 0;
    for (; i + 4 <= count; i += 4) {
        wide v;
        __builtin_memcpy(&v, x + i, sizeof(v));
        asm("vsqrtpd %1, %0" : "=x"(v) : "x"(v));
        __builtin_memcpy(x + i, &v, sizeof(v));
    }
    take_roots_of(x + i, count - i);
}
#endif
inline void take_roots(double* x, index_t count) {
#if defined(__x86_64__)
    if (has_avx2()) return take_roots_avx2(x, count);
#endif
    take_roots_of(x, count);
}

template <class T>
double square_of(T const& x) {
    auto const square = [](auto const& part) {
        auto const y = static_cast<double>(static_cast<real_t<T>>(part));
        return y * y;
    };
    if constexpr (complex_like<T>)
        return square(x.real()) + square(x.imag());
    else
        return square(x);
}

// ---- on the host -----------------------------------------------------------------------------------------

template <class T>
inline constexpr index_t reals_of = complex_like<T> ? 2 : 1;
template <class T>
inline constexpr bool is_native = std::is_same_v<T, float> || std::is_same_v<T, double> || complex_like<T>;

// How many parts the columns are summed in, where elements of a column lie side by side: a fixed number for a shape, so
// that no sum depends on threads.
inline index_t parts_of_columns(index_t cols) { return larger_of(1, smaller(16, cols / 64)); }

template <class T>
double squares_of_row(view<T const> const& x, index_t i) {
    if constexpr (is_native<T>)
        if (x.col_stride == 1 || x.cols == 1)
            return squares(reinterpret_cast<real_t<T> const*>(x.data + i * x.row_stride),
                           reals_of<T> * x.cols);
    double sum = 0;
    for (index_t j = 0; j < x.cols; ++j) sum += square_of(x(i, j));
    return sum;
}
// Adds the squares of a column to `sums`, which has a place for each real number.
template <class T>
void add_column(view<T const> const& x, index_t j, double* sums) {
    if constexpr (is_native<T>)
        if (x.row_stride == 1 || x.rows == 1)
            return add_squares(reinterpret_cast<real_t<T> const*>(x.data + j * x.col_stride),
                               reals_of<T> * x.rows, sums);
    for (index_t i = 0; i < x.rows; ++i) sums[reals_of<T> * i] += square_of(x(i, j));
}

template <class Arena, class T>
std::size_t bytes_for_squares(host_memory, index_t rows, index_t cols) {
    return Arena::rounded(static_cast<std::size_t>(reals_of<T> * rows * parts_of_columns(cols)) *
                          sizeof(double));
}
// to[i] = the sum of |x_ij|^2 over j. `memory` has room for bytes_for_squares().
template <host_leaf Leaf, class T, class Arena>
status squares_of_rows(Leaf const& leaf, view<T const> const& x, double* to, Arena& memory) {
    int const team = leaf.team(4 * static_cast<double>(x.rows) * static_cast<double>(x.cols));
    if (x.cols == 1 || (x.rows > 1 && magnitude(x.row_stride) < magnitude(x.col_stride))) {
        typename Arena::scope const scope(memory);
        index_t const width = reals_of<T> * x.rows;
        auto const parts = static_cast<int>(parts_of_columns(x.cols));
        double* const sums = memory.template take<double>(width * parts);
        leaf.each(team < parts ? team : parts, parts, [&](int, int part) {
            double* const own = sums + part * width;
            for (index_t i = 0; i < width; ++i) own[i] = 0;
            for (index_t j = x.cols * part / parts; j < x.cols * (part + 1) / parts; ++j)
                add_column(x, j, own);
        });
        for (index_t i = 0; i < x.rows; ++i) {
            to[i] = 0;
            for (index_t part = 0; part < parts; ++part)
                for (index_t u = 0; u < reals_of<T>; ++u) to[i] += sums[part * width + reals_of<T> * i + u];
        }
    } else {
        leaf.each(team, team, [&](int, int part) {
            for (index_t i = x.rows * part / team; i < x.rows * (part + 1) / team; ++i)
                to[i] = squares_of_row(x, i);
        });
    }
    return {};
}

// ---- on a device -----------------------------------------------------------------------------------------

// Sums of a part of each row, in an order that is fixed: ACROSS where the elements of a column lie side by side, a
// work-item for each row; else a warp for each row. add_parts adds them up. Each work-item has eight loads on the way.
inline constexpr char squares_text[] = R"(
#if COMPLEX
#define SQUARE(z) ((double)(z).x * (double)(z).x + (double)(z).y * (double)(z).y)
#else
#define SQUARE(z) ((double)(z) * (double)(z))
#endif
#define AT_ONCE 8
/* Adds the squares of elements j, j + step, ... below `end` of row i. */
#define ADD_SQUARES(i, step)                                                      \
    for (; j < end; j += AT_ONCE * (step)) {                                      \
        scalar some[AT_ONCE];                                                     \
        for (int u = 0; u < AT_ONCE; ++u) {                                       \
            some[u] = ZERO;                                                       \
            if (j + u * (step) < end) some[u] = LOAD(IN, x, AT(x, i, j + u * (step))); \
        }                                                                         \
        for (int u = 0; u < AT_ONCE; ++u) sum += SQUARE(some[u]);                 \
    }

KERNEL(ITEMS) squares_across(MATRIX(IN const, x), index rows, index cols, index blocks, index parts,
                             BUFFER(double, to)) {
    OPEN(IN const, x);
    OPEN(double, to);
    index const part = GROUP / blocks, i = (index)(GROUP % blocks) * ITEMS + ITEM, end = cols * (part + 1) / parts;
    index j = cols * part / parts;
    double sum = 0;
    if (i >= rows) return;
    ADD_SQUARES(i, 1)
    to[part * rows + i] = sum;
}

KERNEL(ITEMS) squares_along(MATRIX(IN const, x), index rows, index cols, index blocks, index parts,
                            BUFFER(double, to)) {
    SHARED double of_lane[ITEMS];
    OPEN(IN const, x);
    OPEN(double, to);
    index const part = GROUP / blocks, i = (index)(GROUP % blocks) * (ITEMS / 32) + WARP;
    index const end = i < rows ? cols * (part + 1) / parts : 0;
    index j = cols * part / parts + LANE;
    double sum = 0;
    ADD_SQUARES(i, 32)
    of_lane[ITEM] = sum;
    for (int others = 16; others > 0; others /= 2) {
        BARRIER();
        if (LANE < others) of_lane[ITEM] += of_lane[ITEM + others];
    }
    if (LANE == 0 && i < rows) to[part * rows + i] = of_lane[ITEM];
}

KERNEL(ITEMS) add_parts(BUFFER(double const, parts_of), index rows, index parts, BUFFER(double, to)) {
    OPEN(double const, parts_of);
    OPEN(double, to);
    for (EACH(i, rows)) {
        double sum = 0;
        for (index part = 0; part < parts; part += AT_ONCE) {
            double some[AT_ONCE];
            for (int u = 0; u < AT_ONCE; ++u) some[u] = part + u < parts ? parts_of[(part + u) * rows + i] : 0;
            for (int u = 0; u < AT_ONCE; ++u) sum += some[u];
        }
        to[i] = sum;
    }
}
)";

// Enough groups for any device, of parts that are long enough to be worth one.
inline index_t parts_on_device(index_t rows, index_t cols) {
    return larger_of(1, smaller(smaller(64, cols / 64), (index_t{1} << 18) / larger_of(1, rows)));
}
// A warp has a part of a row, which it reads 256 elements at a time.
inline index_t parts_along(index_t rows, index_t cols) {
    return larger_of(1, smaller(smaller(parts_on_device(rows, cols), cols / 256),
                                (index_t{1} << 14) / larger_of(1, rows)));
}
// Sums of parts, and of rows.
template <class Arena, class T, class Space>
std::size_t bytes_for_squares(Space, index_t rows, index_t cols) {
    auto const parts = static_cast<std::size_t>(parts_on_device(rows, cols)),
               few = static_cast<std::size_t>(narrow_parts(parts_on_device(rows, cols)));
    std::size_t const each = larger(parts * sizeof(double), few * narrow_sums * sizeof(float));
    return Arena::rounded(static_cast<std::size_t>(rows) * each) +
           Arena::rounded(static_cast<std::size_t>(rows) * sizeof(double));
}
// Queues to[i] = the sum of |x_ij|^2 over j.
template <class Leaf, class T, class Space, class Arena>
status queue_squares(Leaf const& leaf, view<T const, Space> const& x,
                     typename Space::template handle<double> to, Arena& memory) {
    bool const across = magnitude(x.row_stride) < magnitude(x.col_stride);
    index_t const parts = across ? parts_on_device(x.rows, x.cols) : parts_along(x.rows, x.cols),
                  blocks = divide_up(x.rows, across ? 256 : 8);
    auto const sums = parts > 1 ? memory.template take<double>(x.rows * parts) : to;
    device_kernel const kernel{
        across ? "squares_across" : "squares_along", squares_text, {}, 256, true, false, kernel_types<T, T>};
    if (status s = leaf.launch(kernel, blocks * parts, x, x.rows, x.cols, blocks, parts, sums); !s) return s;
    if (parts == 1) return {};
    device_kernel const add{"add_parts", squares_text, {}, 256, true, false, kernel_types<T, T>};
    return leaf.launch(add, groups_for_each(x.rows, 256), sums, x.rows, parts, to);
}
template <class Leaf, class T, class Space>
status narrow_squares_in(Leaf const& leaf, view<T const, Space> const& x, double* to, auto& memory) {
    index_t const few = narrow_parts(parts_on_device(x.rows, x.cols));
    return narrow_squares_of_rows(leaf, x, to, memory.template take<float>(narrow_sums * few * x.rows), few);
}
// Waits for the sums.
template <class Leaf, class T, class Space, class Arena>
requires device_leaf<Leaf, Space> status squares_of_rows(Leaf const& leaf, view<T const, Space> const& x,
                                                         double* to, Arena& memory) {
    typename Arena::scope const scope(memory);
    if (!leaf.limits().has_double) return narrow_squares_in(leaf, x, to, memory);
    auto const sums = memory.template take<double>(x.rows);
    if (status s = queue_squares(leaf, x, sums, memory); !s) return s;
    return leaf.download(sums, to, x.rows);
}

// ---- of two matrices with as many rows: those of y lie behind those of x, and one copy brings both -------

template <host_leaf Leaf, class X, class Y, class Arena>
status squares_of_both(Leaf const& leaf, view<X const> const& x, view<Y const> const& y, double* to,
                       Arena& memory) {
    if (status s = squares_of_rows(leaf, x, to, memory); !s) return s;
    return squares_of_rows(leaf, y, to + x.rows, memory);
}
template <class Leaf, class X, class Y, class Space, class Arena>
requires device_leaf<Leaf, Space> status squares_of_both(Leaf const& leaf, view<X const, Space> const& x,
                                                         view<Y const, Space> const& y, double* to,
                                                         Arena& memory) {
    typename Arena::scope const scope(memory);
    if (!leaf.limits().has_double) {
        if (status s = narrow_squares_in(leaf, x, to, memory); !s) return s;
        return narrow_squares_in(leaf, y, to + x.rows, memory);
    }
    auto const sums = memory.template take<double>(2 * x.rows);
    if (status s = queue_squares(leaf, x, sums, memory); !s) return s;
    if (status s = queue_squares(leaf, y, sums + x.rows, memory); !s) return s;
    return leaf.download(sums, to, 2 * x.rows);
}

} // namespace approximate_parts

STRATAGEMM_END
