// Products that are checked: wrong elements of C are found and repaired, or the call fails.
//
//   sg::verified_report seen;
//   sg::gemm(sg::verified{policy, {.report = &seen}}, a, b, c);   over any policy for operands in host memory
//
// After the base has computed C = alpha A B + beta E, row and column checksums compare it with its operands:
// C x with alpha A (B x) + beta E x, and y^T C with alpha (y^T A) B + beta y^T E, for vectors x and y of
// random signs. That takes four passes over the operands, and no product. The rows and the columns that are
// off by most, relative to |A||B|, cross in the elements that may be wrong. These are computed again in wider
// arithmetic and compared with the base's own worst error bound. So no correct product is refused, whatever
// the data: an element is wrong only if it is beyond the bound. An element that is wrong is replaced by what
// was computed again. If more than 8 are wrong, the whole product is done once more; if it is wrong then,
// too, the call fails with errc::verification, and C is not to be used.
//
// What is found: an error that stands out among the rounding errors of its row and of its column, which add
// up in a checksum. `limit` of the report says how large that is, as a multiple of the base's bound. Products
// of up to 2^24 multiply-adds are checked with several pairs of vectors.
//
// Sums of int8 products are exact modulo 2^32, and so are their checksums (Freivalds): a row or column with
// one wrong element is always found. Any other wrong C is missed with a probability of at most 4^(1 -
// rounds). That is reached only where all differences are multiples of 2^31; where one is odd, it is less
// than 2^-62.
//
// Rows of A, columns of B and rows of E with Inf or NaN, and elements of C near overflow, are not checked;
// the report counts these rows and columns. The epilogue is applied after the check. Nothing is random
// between calls: the same call has the same vectors. The copy of E that a second try needs is made only where
// C replaces E.
//
// Freivalds: Probabilistic machines can use less running time, 1977. Huang, Abraham: Algorithm-based fault
// tolerance for matrix operations, 1984.
#pragma once

#include "../backend/host/isa.hpp"
#include "../backend/reference.hpp"

STRATAGEMM_BEGIN

// What was found in all products of the last call.
struct verified_report {
    index_t products = 0; // checked
    index_t repaired = 0; // elements of C that were wrong, and were replaced
    index_t repeated = 0; // products that were done once more
    index_t skipped = 0;  // rows and columns of C that were not checked: Inf, NaN, overflow
    double error = 0; // the largest error of an element that was computed again and was right, over the bound
    double limit = 0; // an error of more than so many times the bound of an average element is found
};

struct verified_options {
    std::uint64_t seed = 1; // of the vectors
    int rounds = 4;         // how many pairs of vectors; one for inexact types beyond 2^24 multiply-adds
    verified_report* report = nullptr; // written by each call, if not null
};

namespace verified_parts {

// What checksums are kept in: double, or integers modulo 2^32.
template <class T>
using number_of = std::conditional_t<std::is_integral_v<T>, std::uint32_t, double>;
template <class T>
inline constexpr index_t parts = complex_like<T> ? 2 : 1;

// ---- sums over lines of a matrix of real numbers -------------------------------------------------------

// A line is a row or a column, whichever is contiguous.
//   dot[l] += sum_j M_lj along[j]     dot_size[l] += sum_j |M_lj| along_size[j]
//   sum[j] += sum_l across[l] M_lj    sum_size[j] += sum_l across_size[l] |M_lj|
template <class T, class W>
struct lines {
    T const* data = nullptr;
    index_t pitch = 0, count = 0, length = 0;
    W const *along = nullptr, *along_size = nullptr, *across = nullptr, *across_size = nullptr;
    W *dot = nullptr, *dot_size = nullptr, *sum = nullptr, *sum_size = nullptr;
};
enum wanted { dots = 1, sums = 2, sizes = 4 };

// Vectors of 32 bytes, which compilers divide where the machine has shorter ones. They are never passed by
// value: that would depend on the instruction set.
template <class W>
struct vectors {
    static constexpr index_t lanes = 32 / static_cast<index_t>(sizeof(W));
    typedef W type __attribute__((vector_size(32)));
    typedef W loose __attribute__((vector_size(32), aligned(alignof(W)), may_alias));
    template <class T>
    struct of {
        typedef T narrow __attribute__((vector_size(lanes * sizeof(T)), aligned(alignof(T)), may_alias));
    };
};
#define STRATAGEMM_INLINE inline __attribute__((always_inline))

template <class V>
STRATAGEMM_INLINE void take_sizes(V const& x, V& to) {
    typedef std::int64_t bits __attribute__((vector_size(32)));
    to = __builtin_bit_cast(V, __builtin_bit_cast(bits, x) & INT64_MAX);
}

template <int Wanted, class T, class W, class V = typename vectors<W>::type>
STRATAGEMM_INLINE void step(T const* from, V const& along, V const& along_size, W across, W across_size,
                            V& dot, V& dot_size, V& sum, V& sum_size) {
    using narrow = typename vectors<W>::template of<T>::narrow;
    V const x = __builtin_convertvector(*reinterpret_cast<narrow const*>(from), V);
    if constexpr (Wanted & dots) dot += x * along;
    if constexpr (Wanted & sums) sum += x * across;
    if constexpr (Wanted & sizes) {
        V size;
        take_sizes(x, size);
        if constexpr (Wanted & dots) dot_size += size * along_size;
        if constexpr (Wanted & sums) sum_size += size * across_size;
    }
}

// Lines [l, l + Rows).
template <int Wanted, int Rows, class T, class W>
STRATAGEMM_INLINE void sweep_few(lines<T, W> const& g, index_t l) {
    using V = typename vectors<W>::type;
    using loose = typename vectors<W>::loose;
    constexpr index_t lanes = vectors<W>::lanes;
    constexpr bool sized = (Wanted & sizes) != 0;
    T const* const row = g.data + l * g.pitch;
    W across[4] = {}, across_size[4] = {};
    for (int r = 0; r < Rows; ++r) {
        if constexpr (Wanted & sums) across[r] = g.across[l + r];
        if constexpr ((Wanted & sums) && sized) across_size[r] = g.across_size[l + r];
    }
    V d0{}, d1{}, d2{}, d3{}, z0{}, z1{}, z2{}, z3{}, along{}, along_size{}, sum{}, sum_size{};
    index_t j = 0;
    for (; j + lanes <= g.length; j += lanes) {
        if constexpr (Wanted & dots) along = *reinterpret_cast<loose const*>(g.along + j);
        if constexpr ((Wanted & dots) && sized)
            along_size = *reinterpret_cast<loose const*>(g.along_size + j);
        if constexpr (Wanted & sums) sum = *reinterpret_cast<loose const*>(g.sum + j);
        if constexpr ((Wanted & sums) && sized) sum_size = *reinterpret_cast<loose const*>(g.sum_size + j);
        T const* const p = row + j;
        step<Wanted>(p, along, along_size, across[0], across_size[0], d0, z0, sum, sum_size);
        if constexpr (Rows > 1)
            step<Wanted>(p + g.pitch, along, along_size, across[1], across_size[1], d1, z1, sum, sum_size);
        if constexpr (Rows > 2) {
            step<Wanted>(p + 2 * g.pitch, along, along_size, across[2], across_size[2], d2, z2, sum,
                         sum_size);
            step<Wanted>(p + 3 * g.pitch, along, along_size, across[3], across_size[3], d3, z3, sum,
                         sum_size);
        }
        if constexpr (Wanted & sums) *reinterpret_cast<loose*>(g.sum + j) = sum;
        if constexpr ((Wanted & sums) && sized) *reinterpret_cast<loose*>(g.sum_size + j) = sum_size;
    }
    V const* const dot[] = {&d0, &d1, &d2, &d3};
    V const* const size[] = {&z0, &z1, &z2, &z3};
    for (int r = 0; r < Rows; ++r) {
        W total{}, total_size{};
        for (index_t v = 0; v < lanes; ++v) total += (*dot[r])[v], total_size += (*size[r])[v];
        for (index_t i = j; i < g.length; ++i) {
            auto const x = static_cast<W>(row[r * g.pitch + i]);
            if constexpr (Wanted & dots) total += x * g.along[i];
            if constexpr (Wanted & sums) g.sum[i] += x * across[r];
            if constexpr (sized) {
                W const magnitude = x < W(0) ? -x : x;
                if constexpr (Wanted & dots) total_size += magnitude * g.along_size[i];
                if constexpr (Wanted & sums) g.sum_size[i] += magnitude * across_size[r];
            }
        }
        if constexpr (Wanted & dots) g.dot[l + r] += total;
        if constexpr ((Wanted & dots) && sized) g.dot_size[l + r] += total_size;
    }
}
template <int Wanted, class T, class W>
STRATAGEMM_INLINE void sweep_all(lines<T, W> const& g) {
    constexpr int rows = Wanted == (dots | sums | sizes) ? 2 : 4; // as many as there are registers for
    index_t l = 0;
    for (; l + rows <= g.count; l += rows) sweep_few<Wanted, rows>(g, l);
    for (; l < g.count; ++l) sweep_few<Wanted, 1>(g, l);
}
#undef STRATAGEMM_INLINE

template <int Wanted, class T, class W>
[[gnu::noinline]] void sweep_portable(lines<T, W> const& g) {
    sweep_all<Wanted>(g);
}
#if defined(__x86_64__)
template <int Wanted, class T, class W>
__attribute__((noinline, target("avx2,fma"))) void sweep_avx2(lines<T, W> const& g) {
    sweep_all<Wanted>(g);
}
#endif
template <int Wanted, class T, class W>
void sweep(lines<T, W> const& g) {
#if defined(__x86_64__)
    if (current_isa().isa >= host_isa::avx2) return sweep_avx2<Wanted>(g);
#endif
    sweep_portable<Wanted>(g);
}

// ---- a matrix times vectors, from both sides -----------------------------------------------------------

// y = M x and size = |M| x_size, or the same from the left. Complex vectors are interleaved; sizes are real.
template <class W>
struct side {
    W const *x = nullptr, *x_size = nullptr;
    W *y = nullptr, *size = nullptr;
};

// How many parts the lines of a matrix are in: each is summed by itself, so that threads do not change the
// sums.
inline index_t parts_of(index_t count) {
    index_t const n = count / 64;
    return n < 1 ? 1 : n > 16 ? 16 : n;
}

// Multiplies a matrix by a vector from the right, from the left, or both in one pass.
template <class Leaf, class W>
class sweeper {
public:
    Leaf leaf;
    bool clean = false;   // Inf and NaN in the matrix count as zero
    W* partial = nullptr; // partial_count() of the matrix
    static constexpr int arrays = 10;
    W* apart[arrays] = {}; // of complex vectors, taken apart: twice the longest side each

    template <class T>
    static index_t partial_count(index_t rows, index_t cols) { // whichever way it lies
        index_t const x = parts_of(rows) * cols, y = parts_of(cols) * rows;
        return 2 * parts<T> * (x < y ? y : x);
    }

    // `Wanted`: dots for the right side, sums for the left one.
    template <int Wanted, class T>
    void times(view<T const> const& m, side<W> const& right, side<W> const& left) const {
        bool const by_rows =
            m.cols != 1 && (m.rows == 1 || magnitude(m.col_stride) <= magnitude(m.row_stride));
        constexpr int turned =
            (Wanted & sizes) | (Wanted & dots ? int{sums} : 0) | (Wanted & sums ? int{dots} : 0);
        if (by_rows)
            times_lines<Wanted>(m, right, left);
        else
            times_lines<turned>(m.transposed(), left, right);
    }

private:
    template <int Wanted, class T>
    void times_lines(view<T const> const& m, side<W> const& along, side<W> const& across) const {
        if constexpr (!complex_like<T>) {
            run<Wanted>(m, {nullptr, 0, m.rows, m.cols, along.x, along.x_size, across.x, across.x_size,
                            along.y, along.size, across.y, across.size});
        } else {
            // With elements a + s b i, stored as two numbers: one pass for the real part of x, another for
            // the imaginary.
            auto const [re, im, twice, from_re, from_im, dot_re, dot_im, sum_re, sum_im, size] = apart;
            W const s = m.conjugate ? -1 : 1;
            for (index_t j = 0; (Wanted & dots) && j < m.cols; ++j) {
                W const a = along.x[2 * j], b = along.x[2 * j + 1];
                re[2 * j] = a, re[2 * j + 1] = -s * b, im[2 * j] = b, im[2 * j + 1] = s * a;
                if constexpr (Wanted & sizes) twice[2 * j] = twice[2 * j + 1] = along.x_size[j];
            }
            for (index_t l = 0; (Wanted & sums) && l < m.rows; ++l)
                from_re[l] = across.x[2 * l], from_im[l] = across.x[2 * l + 1];
            run<Wanted>(m, {nullptr, 0, m.rows, 2 * m.cols, re, twice, from_re, across.x_size, dot_re,
                            along.size, sum_re, size});
            run<Wanted & ~sizes>(m, {nullptr, 0, m.rows, 2 * m.cols, im, nullptr, from_im, nullptr, dot_im,
                                     nullptr, sum_im, nullptr});
            for (index_t l = 0; (Wanted & dots) && l < m.rows; ++l)
                along.y[2 * l] = dot_re[l], along.y[2 * l + 1] = dot_im[l];
            for (index_t j = 0; (Wanted & sums) && j < m.cols; ++j) {
                across.y[2 * j] = sum_re[2 * j] - s * sum_im[2 * j + 1];
                across.y[2 * j + 1] = s * sum_re[2 * j + 1] + sum_im[2 * j];
                if constexpr (Wanted & sizes) across.size[j] = size[2 * j] + size[2 * j + 1];
            }
        }
    }

    template <int Wanted, class T>
    void run(view<T const> const& m, lines<T, W> g) const {
        auto const n = static_cast<int>(parts_of(g.count));
        int const team = leaf.team(8 * static_cast<double>(g.count) * static_cast<double>(g.length));
        leaf.each(team, n, [&](int, int part) {
            index_t const begin = g.count * part / n, end = g.count * (part + 1) / n;
            auto one = g;
            one.count = end - begin;
            if constexpr (Wanted & dots) {
                one.dot += begin;
                zero(one.dot, one.count);
                if constexpr (Wanted & sizes) one.dot_size += begin, zero(one.dot_size, one.count);
            }
            if constexpr (Wanted & sums) {
                one.across += begin, one.sum = partial + 2 * part * g.length;
                zero(one.sum, g.length);
                if constexpr (Wanted & sizes)
                    one.across_size += begin, one.sum_size = one.sum + g.length, zero(one.sum_size, g.length);
            }
            sweep_part<Wanted>(m.part(begin, 0, one.count, m.cols), one);
        });
        if constexpr (Wanted & sums) {
            add_up(g.sum, partial, g.length, n);
            if constexpr (Wanted & sizes) add_up(g.sum_size, partial + g.length, g.length, n);
        }
    }
    static void zero(W* to, index_t count) {
        for (index_t i = 0; i < count; ++i) to[i] = W(0);
    }
    static void add_up(W* to, W const* from, index_t count, int n) {
        for (index_t i = 0; i < count; ++i) to[i] = from[i];
        for (int part = 1; part < n; ++part) {
            from += 2 * count;
            for (index_t i = 0; i < count; ++i) to[i] += from[i];
        }
    }

    // As they lie, or, where elements are to be converted or are apart, by way of a buffer.
    template <int Wanted, class T>
    void sweep_part(view<T const> const& m, lines<T, W> const& g) const {
        using R = std::conditional_t<complex_like<T>, real_t<T>, T>;
        if constexpr (std::is_floating_point_v<R> || std::is_integral_v<R>)
            if (!clean && (m.col_stride == 1 || m.cols == 1))
                return sweep<Wanted>(lines<R, W>{reinterpret_cast<R const*>(m.data), parts<T> * m.row_stride,
                                                 g.count, g.length, g.along, g.along_size, g.across,
                                                 g.across_size, g.dot, g.dot_size, g.sum, g.sum_size});
        constexpr index_t most = 4, width = 256;
        W buffer[most * width];
        for (index_t l = 0; l < g.count; l += most)
            for (index_t j = 0; j < g.length; j += width) {
                lines<W, W> one;
                one.data = buffer, one.pitch = width;
                one.count = g.count - l < most ? g.count - l : most;
                one.length = g.length - j < width ? g.length - j : width;
                for (index_t r = 0; r < one.count; ++r)
                    for (index_t c = 0; c < one.length; ++c) buffer[r * width + c] = number(m, l + r, j + c);
                if constexpr (Wanted & dots) one.along = g.along + j, one.dot = g.dot + l;
                if constexpr (Wanted & sums) one.across = g.across + l, one.sum = g.sum + j;
                if constexpr ((Wanted & dots) && (Wanted & sizes))
                    one.along_size = g.along_size + j, one.dot_size = g.dot_size + l;
                if constexpr ((Wanted & sums) && (Wanted & sizes))
                    one.across_size = g.across_size + l, one.sum_size = g.sum_size + j;
                sweep<Wanted>(one);
            }
    }
    template <class T>
    W number(view<T const> const& m, index_t l, index_t j) const {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<W>(m(l, j));
        } else {
            double x = 0;
            if constexpr (complex_like<T>)
                x = static_cast<double>(j % 2 == 0 ? m(l, j / 2).real() : m(l, j / 2).imag());
            else
                x = static_cast<double>(static_cast<real_t<T>>(m(l, j)));
            return clean && !is_finite(x) ? 0 : x;
        }
    }
};

// ---- one product ---------------------------------------------------------------------------------------

// splitmix64 (Steele, Lea, Flood, 2014), as a function of the place.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
    std::uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <class T>
double magnitude_of(T const& x) {
    if constexpr (complex_like<T>)
        return __builtin_hypot(static_cast<double>(x.real()), static_cast<double>(x.imag()));
    else if constexpr (std::is_integral_v<T>)
        return x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
    else
        return __builtin_fabs(static_cast<double>(static_cast<real_t<T>>(x)));
}
// The largest and the smallest normal number of T.
template <class T>
constexpr double largest_of() {
    if constexpr (std::is_same_v<T, half>)
        return 65504;
    else if constexpr (std::is_same_v<T, bfloat16>)
        return static_cast<double>(std::numeric_limits<float>::max());
    else if constexpr (std::is_integral_v<T>)
        return 0;
    else
        return static_cast<double>(std::numeric_limits<real_t<T>>::max());
}
template <class T>
constexpr double least_of() {
    return std::is_same_v<T, half> ? 0x1p-24 : static_cast<double>(std::numeric_limits<real_t<T>>::min());
}

// The workspace of a check; `Arena` gives it, or counts it.
template <class P, class W>
struct room {
    using T = typename P::a_type;
    static constexpr index_t several = parts<T>;
    static constexpr int most = 8; // rows, and columns, that are looked at closely
    static constexpr index_t both = 2;

    W *x, *y, *ones, *w, *w_size, *v, *v_size;
    W *rows, *rows_size, *rows_e, *rows_e_size, *rows_c, *cols, *cols_size, *cols_e, *cols_e_size, *cols_c;
    W *partial, *apart[sweeper<int, W>::arrays];
    T *lines_a, *lines_b;

    template <class Take>
    void each(index_t m, index_t n, index_t k, Take&& take) {
        index_t const longer = m < n ? n : m, longest = longer < k ? k : longer;
        take(x, several * n), take(y, several * m), take(ones, longer);
        take(w, several * k), take(w_size, k), take(v, several * k), take(v_size, k);
        take(rows, several * m), take(rows_size, m), take(rows_e, several * m), take(rows_e_size, m);
        take(rows_c, several * m);
        take(cols, several * n), take(cols_size, n), take(cols_e, several * n), take(cols_e_size, n);
        take(cols_c, several * n);
        index_t most_partial = 0;
        for (index_t const count : {sweeper<int, W>::template partial_count<T>(m, k),
                                    sweeper<int, W>::template partial_count<T>(k, n),
                                    sweeper<int, W>::template partial_count<T>(m, n)})
            most_partial = most_partial < count ? count : most_partial;
        take(partial, most_partial);
        for (W*& array : apart) take(array, several == 2 ? 2 * longest : 0);
        take(lines_a, most * k), take(lines_b, most * k);
    }
    template <class Arena>
    static std::size_t bytes(index_t m, index_t n, index_t k) {
        std::size_t all = 0;
        room{}.each(m, n, k, [&]<class E>(E*&, index_t count) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
        });
        return all;
    }
};

// Compares the C of a product without an epilogue with its operands, and repairs it.
template <class Leaf, class P>
class check {
    using T = typename P::a_type;
    using C = typename P::c_type;
    using S = typename P::scalar;
    using W = number_of<C>;
    static constexpr bool exact = std::is_integral_v<C>;
    static constexpr index_t several = parts<T>;
    static constexpr int most = room<P, W>::most, most_repairs = most;
    static constexpr int measured = exact ? 0 : int{sizes};

public:
    template <class Arena>
    check(Leaf const& leaf, P const& p, bound const& allowed, verified_options const& options, Arena& memory)
        : p_(p), allowed_(allowed), options_(options), m_(p.c.rows), n_(p.c.cols), k_(p.a.cols) {
        at_.each(m_, n_, k_,
                 [&]<class E>(E*& array, index_t count) { array = memory.template take<E>(count); });
        sweep_.leaf = leaf;
        sweep_.partial = at_.partial;
        for (int i = 0; i < sweep_.arrays; ++i) sweep_.apart[i] = at_.apart[i];
    }

    // Whether C is right now.
    bool run() {
        if constexpr (!exact)
            if (!is_finite(magnitude_of(p_.alpha)) || !is_finite(magnitude_of(p_.beta))) {
                skipped_ = m_ + n_;
                return true;
            }
        bool const small =
            static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_) <= 0x1p24;
        int const rounds = exact || small ? options_.rounds : 1;
        for (int round = 0; round < rounds; ++round) {
            choose_vectors(round);
            round_limit_ = 0;
            add_up();
            if constexpr (!exact)
                if (!sums_are_finite() && !leave_out()) return false;
            if (!search()) return false;
            if (round == 0 || limit_ > round_limit_) limit_ = round_limit_;
        }
        return true;
    }

    // Takes what was found into the report; a product that was not right leaves its repairs behind.
    void tell(verified_report& to, bool right) const {
        if (!right) return;
        to.products += 1, to.repaired += repaired_, to.skipped += skipped_;
        to.error = to.error < error_ ? error_ : to.error;
        to.limit = to.limit < limit_ ? limit_ : to.limit;
    }
    // Where the last wrong element was, and how many bounds it was off by; a row of -1: nowhere in
    // particular.
    index_t row() const { return row_; }
    index_t col() const { return col_; }
    double off_by() const { return off_by_; }

private:
    bool adds() const { return p_.beta != S(0); }

    // ---- checksums -------------------------------------------------------------------------------------

    // Signs; for exact types odd integers in the first round, any integers in the others.
    void choose_vectors(int round) {
        auto const draw = [&](std::uint64_t which, W* to, index_t count) {
            std::uint64_t const seed =
                random_bits(options_.seed, 2 * static_cast<std::uint64_t>(round) + which);
            for (index_t i = 0; i < count; ++i) {
                std::uint64_t const bits = random_bits(seed, static_cast<std::uint64_t>(i));
                if constexpr (exact) {
                    to[i] = static_cast<W>(bits >> 32) | (round == 0 ? 1u : 0u);
                } else if (round == 0 || !left_out(to, i)) {
                    to[several * i] = bits >> 63 ? -1 : 1;
                    if constexpr (several == 2) to[2 * i + 1] = 0;
                }
            }
        };
        draw(0, at_.x, n_), draw(1, at_.y, m_);
        for (index_t i = 0; i < (m_ < n_ ? n_ : m_); ++i) at_.ones[i] = W(1);
    }

    void add_up() {
        using side = verified_parts::side<W>;
        room<P, W>& r = at_;
        sweep_.template times<sums | measured>(p_.a, side{}, side{r.y, r.ones, r.w, r.w_size});
        sweep_.template times<dots | sums | measured>(p_.b, side{r.x, r.ones, r.v, r.v_size},
                                                      side{r.w, r.w_size, r.cols, r.cols_size});
        sweep_.template times<dots | measured>(p_.a, side{r.v, r.v_size, r.rows, r.rows_size}, side{});
        sweep_.template times<dots | sums>(reading(p_.c), side{r.x, nullptr, r.rows_c, nullptr},
                                           side{r.y, nullptr, r.cols_c, nullptr});
        if (adds())
            sweep_.template times<dots | sums | measured>(p_.e, side{r.x, r.ones, r.rows_e, r.rows_e_size},
                                                          side{r.y, r.ones, r.cols_e, r.cols_e_size});
        expect(m_, r.rows, r.rows_size, r.rows_e, r.rows_e_size);
        expect(n_, r.cols, r.cols_size, r.cols_e, r.cols_e_size);
    }
    // alpha times the sums of A B, and beta times those of E.
    void expect(index_t count, W* sum, W* size, W const* e, W const* e_size) const {
        for (index_t i = 0; i < count; ++i) {
            if constexpr (complex_like<S>) {
                auto const times = [](S const& f, W const* z, W& re, W& im) {
                    W const a = z[0], b = z[1];
                    re = f.real() * a - f.imag() * b, im = f.real() * b + f.imag() * a;
                };
                W re = 0, im = 0;
                times(p_.alpha, sum + 2 * i, sum[2 * i], sum[2 * i + 1]);
                if (adds()) times(p_.beta, e + 2 * i, re, im);
                sum[2 * i] += re, sum[2 * i + 1] += im;
            } else {
                sum[i] *= static_cast<W>(p_.alpha);
                if (adds()) sum[i] += static_cast<W>(p_.beta) * e[i];
            }
            if constexpr (!exact) {
                size[i] *= magnitude_of(p_.alpha);
                if (adds()) size[i] += magnitude_of(p_.beta) * e_size[i];
            }
        }
    }
    bool sums_are_finite() const {
        bool finite = true;
        auto const look = [&](index_t count, W const* sum, W const* size, W const* of_c) {
            for (index_t i = 0; i < several * count; ++i) finite &= is_finite(sum[i]) && is_finite(of_c[i]);
            for (index_t i = 0; i < count; ++i) finite &= is_finite(size[i]);
        };
        look(m_, at_.rows, at_.rows_size, at_.rows_c), look(n_, at_.cols, at_.cols_size, at_.cols_c);
        return finite;
    }

    // ---- Inf and NaN -----------------------------------------------------------------------------------

    template <class E>
    static bool finite(E const& x) {
        return is_finite(magnitude_of(x));
    }
    // Leaves out what has no checksum: rows of A, columns of B and rows of E with Inf or NaN, and rows of C
    // with elements that may rightly overflow. Then all is summed up again. False: too many elements of C are
    // wrong.
    bool leave_out() {
        index_t const before = skipped_;
        for (index_t i = 0; i < m_; ++i) {
            bool good = true;
            for (index_t l = 0; l < k_; ++l) good &= finite(p_.a(i, l));
            for (index_t j = 0; adds() && j < n_; ++j) good &= finite(p_.e(i, j));
            if (!good) leave(at_.y, i);
        }
        for (index_t j = 0; j < n_; ++j) {
            bool good = true;
            for (index_t l = 0; l < k_; ++l) good &= finite(p_.b(l, j));
            if (!good) leave(at_.x, j);
        }
        // Such algorithms may spread what is not finite.
        if (allowed_.normwise && skipped_ > before) {
            for (index_t i = 0; i < m_; ++i) leave(at_.y, i);
            for (index_t j = 0; j < n_; ++j) leave(at_.x, j);
        }
        for (index_t i = 0; i < m_; ++i)
            for (index_t j = 0; j < n_; ++j) {
                if (left_out(at_.y, i) || left_out(at_.x, j) || finite(p_.c(i, j))) continue;
                finding const found = judge(i, j, p_.a.part(i, 0, 1, k_), p_.b.part(0, j, k_, 1));
                if (found == finding::wrong && !repair(i, j)) return false;
                if (found == finding::unknown) leave(at_.y, i);
            }
        sweep_.clean = true;
        add_up();
        // Sums may overflow that are no element.
        auto const rest = [&](index_t count, W* x, W const* sum, W const* size, W const* of_c) {
            for (index_t i = 0; i < count; ++i) {
                bool good = is_finite(size[i]);
                for (index_t s = several * i; s < several * (i + 1); ++s)
                    good &= is_finite(sum[s]) && is_finite(of_c[s]);
                if (!good) leave(x, i);
            }
        };
        rest(m_, at_.y, at_.rows, at_.rows_size, at_.rows_c);
        rest(n_, at_.x, at_.cols, at_.cols_size, at_.cols_c);
        return true;
    }
    void leave(W* x, index_t i) {
        if (!left_out(x, i)) ++skipped_;
        x[several * i] = 0;
    }
    bool left_out(W const* x, index_t i) const { return !exact && x[several * i] == W(0); }

    // ---- which rows and columns ------------------------------------------------------------------------

    // How far the sum of a line is off, relative to |A||B|; of integers, whether it is.
    double off(bool by_rows, index_t i) const {
        W const *sum = by_rows ? at_.rows : at_.cols, *of_c = by_rows ? at_.rows_c : at_.cols_c;
        if constexpr (exact) {
            return sum[i] == of_c[i] ? 0 : 1;
        } else {
            if (left_out(by_rows ? at_.y : at_.x, i)) return 0;
            double x = 0;
            for (index_t s = several * i; s < several * (i + 1); ++s) x += __builtin_fabs(sum[s] - of_c[s]);
            double const size = (by_rows ? at_.rows_size : at_.cols_size)[i];
            if (x == 0) return 0;
            double const y = x / size;
            return size > 0 && is_finite(y) ? y : 1e300;
        }
    }
    // The lines that are off by most, in order, and the mean of the others.
    struct suspects {
        index_t at[most];
        double by[most];
        int count = 0;
        index_t of = 0;
        bool by_rows = true;
        double mean = 0;
    };
    suspects select(bool by_rows) const {
        suspects s;
        s.of = by_rows ? m_ : n_, s.by_rows = by_rows;
        double sum = 0;
        for (index_t i = 0; i < s.of; ++i) {
            double const x = off(by_rows, i);
            if (x == 0) continue;
            if (s.count == most && x <= s.by[most - 1]) {
                sum += x;
                continue;
            }
            if (s.count == most) sum += s.by[--s.count];
            int place = s.count++;
            for (; place > 0 && s.by[place - 1] < x; --place)
                s.by[place] = s.by[place - 1], s.at[place] = s.at[place - 1];
            s.by[place] = x, s.at[place] = i;
        }
        if (s.of > most) s.mean = sum / static_cast<double>(s.of - most);
        return s;
    }
    // An error relative to |A||B| of all a line, as a multiple of the bound of an average element.
    double in_bounds(suspects const& s, double x) const {
        return x * static_cast<double>(s.by_rows ? n_ : m_) / allowed_.worst;
    }
    // Whether all of a line is to be looked at, since no crossing explains how far its sum is off: far beyond
    // the others and enough for one wrong element, or more than all its elements may be off together.
    bool stands_out(suspects const& s) const {
        if (exact || s.count == 0 || s.of <= 2 * most) return false;
        double const by = in_bounds(s, s.by[0]);
        return (s.by[0] > 12 * s.mean && by > 0.5) || by > static_cast<double>(s.by_rows ? n_ : m_);
    }

    bool search() {
        index_t row_done = -1, col_done = -1;
        for (;;) {
            suspects const r = select(true), c = select(false);
            int found = cross(r, c);
            if (found == 0 && stands_out(r) && r.at[0] != row_done) {
                row_done = r.at[0];
                for (index_t j = 0; found >= 0 && j < n_; ++j) found = look(row_done, j, found);
            }
            if (found == 0 && stands_out(c) && c.at[0] != col_done) {
                col_done = c.at[0];
                for (index_t i = 0; found >= 0 && i < m_; ++i) found = look(i, col_done, found);
            }
            if (found < 0) return false;
            if (found > 0) continue;
            if (exact && r.count + c.count > 0) return false;
            note_limit(r), note_limit(c);
            return true;
        }
    }
    // An error that is less may be hidden by those of its line, or be lost in the rounding of its sum.
    void note_limit(suspects const& s) {
        if (exact || s.of <= most || allowed_.worst == 0) return;
        double rounding = 0;
        for (index_t i = 0; i < s.of; ++i) {
            double const size = (s.by_rows ? at_.rows_size : at_.cols_size)[i];
            double const x = 0x1p-52 * magnitude_of((s.by_rows ? at_.rows_c : at_.cols_c)[several * i]);
            if (size > 0 && x > rounding * size && !left_out(s.by_rows ? at_.y : at_.x, i))
                rounding = x / size;
        }
        double const first = s.count > 0 ? s.by[0] : 0, last = s.count == most ? s.by[most - 1] : 0;
        double const x = in_bounds(s, first + last + rounding);
        round_limit_ = round_limit_ < x ? x : round_limit_;
    }

    // ---- which elements --------------------------------------------------------------------------------

    // How many elements were wrong where suspects cross, and have been repaired; -1: too many.
    int cross(suspects const& r, suspects const& c) {
        if (r.count == 0 || c.count == 0) return 0;
        // Side by side: a column of B may be in as many pages as it has elements.
        for (index_t l = 0; l < k_; ++l)
            for (int x = 0; x < c.count; ++x) at_.lines_b[x * k_ + l] = p_.b(l, c.at[x]);
        for (int x = 0; x < r.count; ++x)
            for (index_t l = 0; l < k_; ++l) at_.lines_a[x * k_ + l] = p_.a(r.at[x], l);
        int found = 0;
        for (int x = 0; x < r.count; ++x)
            for (int y = 0; y < c.count; ++y) {
                view<T const> row{at_.lines_a + x * k_, 1, k_, k_, 1};
                view<T const> col{at_.lines_b + y * k_, k_, 1, 1, k_};
                row.conjugate = p_.a.conjugate, col.conjugate = p_.b.conjugate;
                if (judge(r.at[x], c.at[y], row, col) != finding::wrong) continue;
                if (!repair(r.at[x], c.at[y])) return -1;
                ++found;
            }
        return found;
    }
    int look(index_t i, index_t j, int found) {
        if (left_out(at_.y, i) || left_out(at_.x, j)) return found;
        if (judge(i, j, p_.a.part(i, 0, 1, k_), p_.b.part(0, j, k_, 1)) != finding::wrong) return found;
        return repair(i, j) ? found + 1 : -1;
    }

    enum class finding { right, wrong, unknown };
    // Computes an element again, into value_, and compares.
    finding judge(index_t i, index_t j, view<T const> const& row, view<T const> const& col) {
        P one = p_;
        one.a = row, one.b = col, one.c = {&value_, 1, 1, 1, 1}, one.e = one.c;
        if (adds()) one.e = p_.e.part(i, j, 1, 1);
        host_arena none;
        (void)reference{}(one, none);
        C const& c = p_.c(i, j);
        if constexpr (exact) {
            if (c == value_) return finding::right;
            row_ = i, col_ = j, off_by_ = 0;
            return finding::wrong;
        } else {
            // |A||B|, and the part of it that is lost where subnormal numbers count as zero.
            double size = 0, lost = 0;
            constexpr double least = static_cast<double>(std::numeric_limits<real_t<T>>::min());
            for (index_t l = 0; l < k_; ++l) {
                double const a = magnitude_of(row(0, l)), b = magnitude_of(col(l, 0)), x = a * b;
                size += x;
                if (a < least || b < least) lost += x;
            }
            double const e = adds() ? magnitude_of(p_.beta) * magnitude_of(p_.e(i, j)) : 0;
            double const alpha = magnitude_of(p_.alpha), all = alpha * size + e;
            double const of_norm = allowed_.normwise ? norm() : all;
            double const exact_value = magnitude_of(value_), accumulates = largest_of<S>();
            if (!is_finite(exact_value) || exact_value > 0.9 * largest_of<C>() || !(all < accumulates / 16) ||
                !(size < accumulates / 16) || !(of_norm < accumulates / 64))
                return finding::unknown;
            auto const k = static_cast<double>(k_);
            double const wide = sizeof(real_t<S>) == 8 ? (4 * k + 8) * 0x1p-104 : (k + 8) * 0x1p-52;
            double const may = allowed_.worst * of_norm + alpha * lost + wide * all +
                               1.001 * unit_roundoff<C>() * exact_value + slack();
            double const by = distance(c, value_) / may;
            if (is_finite(by) && by <= 1) {
                error_ = error_ < by ? by : error_;
                return finding::right;
            }
            row_ = i, col_ = j, off_by_ = by;
            return finding::wrong;
        }
    }
    static double distance(C const& x, C const& y) {
        using R = real_t<C>;
        if constexpr (complex_like<C>)
            return __builtin_hypot(static_cast<double>(x.real()) - static_cast<double>(y.real()),
                                   static_cast<double>(x.imag()) - static_cast<double>(y.imag()));
        else
            return __builtin_fabs(static_cast<double>(static_cast<R>(x)) -
                                  static_cast<double>(static_cast<R>(y)));
    }
    // What underflow may come to.
    double slack() const {
        double const each = (static_cast<double>(k_) + 4) * least_of<S>();
        return 2 * (magnitude_of(p_.alpha) + magnitude_of(p_.beta) + 1) * each + least_of<C>();
    }
    double norm() {
        if (norm_ < 0) {
            norm_ = magnitude_of(p_.alpha) * static_cast<double>(k_) * peak(p_.a) * peak(p_.b);
            if (adds()) norm_ += magnitude_of(p_.beta) * peak(p_.e);
        }
        return norm_;
    }
    template <class E>
    double peak(view<E const> m) const {
        if (magnitude(m.row_stride) < magnitude(m.col_stride)) m = m.transposed();
        double most_of[16] = {};
        auto const n = static_cast<int>(parts_of(m.rows));
        int const team = sweep_.leaf.team(4 * static_cast<double>(m.rows) * static_cast<double>(m.cols));
        sweep_.leaf.each(team, n, [&](int, int part) {
            double x[2] = {};
            for (index_t i = m.rows * part / n; i < m.rows * (part + 1) / n; ++i)
                for (index_t j = 0; j < m.cols; ++j) {
                    double const size = magnitude_of(m(i, j));
                    x[j % 2] = size > x[j % 2] && is_finite(size) ? size : x[j % 2];
                }
            most_of[part] = x[0] < x[1] ? x[1] : x[0];
        });
        double all = 0;
        for (double const x : most_of) all = all < x ? x : all;
        return all;
    }

    // Writes value_ to C, whose sums change; false if that was done too often.
    bool repair(index_t i, index_t j) {
        if (++repaired_ > most_repairs) return false;
        p_.c(i, j) = value_;
        renew(reading(p_.c).part(i, 0, 1, n_), at_.x, at_.rows_c + several * i);
        renew(reading(p_.c).part(0, j, m_, 1).transposed(), at_.y, at_.cols_c + several * j);
        return true;
    }
    void renew(view<C const> const& line, W const* x, W* sum) const {
        for (index_t s = 0; s < several; ++s) sum[s] = W(0);
        for (index_t l = 0; l < line.cols; ++l) {
            C const& c = line(0, l);
            if constexpr (exact) {
                sum[0] += static_cast<W>(c) * x[l];
            } else if (!sweep_.clean || finite(c)) {
                if constexpr (complex_like<C>)
                    sum[0] += x[2 * l] * c.real(), sum[1] += x[2 * l] * c.imag();
                else
                    sum[0] += x[l] * static_cast<W>(static_cast<real_t<C>>(c));
            }
        }
    }

    P const& p_;
    bound const allowed_;
    verified_options const& options_;
    index_t const m_, n_, k_;
    room<P, W> at_{};
    sweeper<Leaf, W> sweep_{};
    C value_{};
    double norm_ = -1;
    index_t repaired_ = 0, skipped_ = 0, row_ = -1, col_ = -1;
    double off_by_ = 0, error_ = 0, limit_ = 0, round_limit_ = 0;
};

} // namespace verified_parts

template <policy Base>
class verified {
public:
    using space = typename Base::space;
    using arena = typename Base::arena;

    // The base does the product without the epilogue; the check is done by the threads of a host.
    template <class P>
    static constexpr verdict accepts = [] {
        using Plain = decltype(std::declval<P const&>().without_epilogue());
        if constexpr (!std::is_same_v<space, host_memory> || !host_leaf<leaf_of<Base>>)
            return verdict::leaf;
        else
            return answer<Base, Plain>() & answer<reference, Plain>();
    }();

    explicit verified(Base base, verified_options options = {}) : base_(std::move(base)), options_(options) {}

    auto leaf() const { return base_.leaf(); }
    result<arena> reserve(footprint f) const { return base_.reserve(f); }

    template <class S>
    footprint workspace(S s) const {
        s.count = 1; // one after the other
        using C = typename S::c_type;
        using P = dense_problem<typename S::a_type, typename S::b_type, C>;
        footprint check, copy;
        space::share(check) =
            verified_parts::room<P, verified_parts::number_of<C>>::template bytes<arena>(s.m, s.n, s.k);
        if (s.adds) space::share(copy) = arena::rounded(static_cast<std::size_t>(s.m * s.n) * sizeof(C));
        return copy + larger(base_.workspace(s), check);
    }
    template <class S>
    bound error_bound(S const& s) const {
        return base_.error_bound(s);
    }
    // Four passes over the operands, which wait for memory.
    template <class S>
    double estimate(S s) const {
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        return count * (base_.estimate(s) + 1.5 * operand_bytes(s) / 8e9 / all_threads(leaf()));
    }
    template <class S>
    std::string describe(S const& s) const {
        return "verified by checksums: " + base_.describe(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (options_.rounds < 1) return error(errc::argument, "verified: `rounds` must be at least 1");
        verified_report seen;
        status done;
        for (index_t i = 0; done && i < p.count; ++i) done = multiply(p.at(i), memory, seen);
        if (options_.report) *options_.report = seen;
        return done;
    }

private:
    template <class P>
    status multiply(P const& with_epilogue, arena& memory, verified_report& seen) const {
        auto p = with_epilogue.without_epilogue();
        using Plain = decltype(p);
        using C = typename P::c_type;
        typename arena::scope const until_return(memory);
        auto again = p; // with an E that stays
        if (p.beta != typename P::scalar(0) && p.e.data == p.c.data) {
            bool const by_rows = magnitude(p.c.col_stride) <= magnitude(p.c.row_stride);
            index_t const m = p.c.rows, n = p.c.cols;
            view<C> copy{memory.template take<C>(m * n), m, n, by_rows ? n : 1, by_rows ? 1 : m};
            again.e.conjugate = false;
            if (status s = leaf().copy(again.e, copy); !s) return s;
            again.e = copy;
            again.e.conjugate = p.e.conjugate;
        }
        bound const allowed = base_.error_bound(p.shape());
        for (bool first = true;; first = false) {
            if (status s = base_(first ? p : again, memory); !s) return s;
            typename arena::scope const until_checked(memory);
            verified_parts::check<leaf_of<Base>, Plain> check(leaf(), again, allowed, options_, memory);
            bool const right = check.run();
            check.tell(seen, right);
            if (right) break;
            if (!first) return refusal(check.row(), check.col(), check.off_by());
            ++seen.repeated;
        }
        if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
            return leaf().apply(with_epilogue.epilogue, p.c, p.row0, p.col0);
        return {};
    }

    [[gnu::cold, gnu::noinline]] static status refusal(index_t row, index_t col, double by) {
        char text[200];
        if (row < 0)
            __builtin_snprintf(
                text, sizeof(text),
                "C is wrong, and was wrong when it was computed once more: its checksums differ; do not "
                "use C, and test the machine");
        else
            __builtin_snprintf(
                text, sizeof(text),
                "C(%td, %td) is wrong (by %.1e times the error bound), as elements were when C was first "
                "computed; do not use C, and test the machine",
                row, col, by);
        return failure(errc::verification, "verified", text);
    }

    Base base_;
    verified_options options_;
};

// A check of a checked product is two of them, and not a copy of one.
template <policy Base>
verified(verified<Base>) -> verified<verified<Base>>;

STRATAGEMM_END
