// `verified` where operands are in host memory: sums over rows and columns, and the place that a check asks.
//
// A matrix is multiplied by a vector from the right, from the left, or both in one pass, and so is the matrix of its
// magnitudes. The result does not depend on the number of threads or the instruction set, since each part of the
// lines is summed by itself.
#pragma once

#include "../../backend/host/isa.hpp"
#include "check.hpp"

STRATAGEMM_BEGIN

namespace verified_parts {

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

// What a vector of a line is multiplied by, and what the products are added to.
template <class W>
struct step_factors {
    typename vectors<W>::type const &along, &along_size;
    W across, across_size;
};
template <class W>
struct step_sums {
    typename vectors<W>::type &dot, &dot_size, &sum, &sum_size;
};
template <int Wanted, class T, class W>
STRATAGEMM_INLINE void step(T const* from, step_factors<W> const& by, step_sums<W> const& to) {
    using V = typename vectors<W>::type;
    using narrow = typename vectors<W>::template of<T>::narrow;
    V const x = __builtin_convertvector(*reinterpret_cast<narrow const*>(from), V);
    if constexpr (Wanted & dots) to.dot += x * by.along;
    if constexpr (Wanted & sums) to.sum += x * by.across;
    if constexpr (Wanted & sizes) {
        V size;
        take_sizes(x, size);
        if constexpr (Wanted & dots) to.dot_size += size * by.along_size;
        if constexpr (Wanted & sums) to.sum_size += size * by.across_size;
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
        auto const factors = [&](int r) {
            return step_factors<W>{along, along_size, across[r], across_size[r]};
        };
        step<Wanted>(p, factors(0), step_sums<W>{d0, z0, sum, sum_size});
        if constexpr (Rows > 1) step<Wanted>(p + g.pitch, factors(1), step_sums<W>{d1, z1, sum, sum_size});
        if constexpr (Rows > 2) {
            step<Wanted>(p + 2 * g.pitch, factors(2), step_sums<W>{d2, z2, sum, sum_size});
            step<Wanted>(p + 3 * g.pitch, factors(3), step_sums<W>{d3, z3, sum, sum_size});
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

// ---- the place ----------------------------------------------------------------------------------------

template <class T, class W>
struct host_room {
    W *ones, *w, *w_size, *v, *v_size, *partial, *apart[sweeper<int, W>::arrays];

    template <class Take>
    void each(index_t m, index_t n, index_t k, Take&& take) {
        constexpr index_t several = parts<T>;
        index_t const longer = m < n ? n : m, longest = longer < k ? k : longer;
        take(ones, longer);
        take(w, several * k), take(w_size, k), take(v, several * k), take(v_size, k);
        index_t most_partial = 0;
        for (index_t const count : {sweeper<int, W>::template partial_count<T>(m, k),
                                    sweeper<int, W>::template partial_count<T>(k, n),
                                    sweeper<int, W>::template partial_count<T>(m, n)})
            most_partial = most_partial < count ? count : most_partial;
        take(partial, most_partial);
        for (W*& array : apart) take(array, several == 2 ? 2 * longest : 0);
    }
};

// See check.hpp.
template <class Leaf, class P>
class on_host {
    using T = typename P::wide_type;
    using C = typename P::c_type;
    using W = number_of<C>;
    using room = host_room<T, W>;
    static constexpr bool exact = std::is_integral_v<C>;
    static constexpr int measured = exact ? 0 : int{sizes};

public:
    static constexpr double rounding = 0x1p-52;

    template <class Arena>
    on_host(Leaf const& leaf, P const& p, Arena& memory)
        : p_(p), own_(take_room<room>(memory, p.c.rows, p.c.cols, p.a.cols)) {
        sweep_.leaf = leaf;
        sweep_.partial = own_.partial;
        for (int i = 0; i < sweep_.arrays; ++i) sweep_.apart[i] = own_.apart[i];
        for (index_t i = 0; i < (p.c.rows < p.c.cols ? p.c.cols : p.c.rows); ++i) own_.ones[i] = W(1);
    }
    static constexpr bool ok() { return true; }

    void add_up(sums_of<T, W> const& r, bool clean) {
        using side = verified_parts::side<W>;
        room const& o = own_;
        sweep_.clean = clean;
        sweep_.template times<sums | measured>(p_.a, side{}, side{r.y, o.ones, o.w, o.w_size});
        sweep_.template times<dots | sums | measured>(p_.b, side{r.x, o.ones, o.v, o.v_size},
                                                      side{o.w, o.w_size, r.cols, r.cols_size});
        sweep_.template times<dots | measured>(p_.a, side{o.v, o.v_size, r.rows, r.rows_size}, side{});
        sweep_.template times<dots | sums | measured>(reading(p_.c),
                                                      side{r.x, o.ones, r.rows_c, r.rows_c_size},
                                                      side{r.y, o.ones, r.cols_c, r.cols_c_size});
        if (adds())
            sweep_.template times<dots | sums | measured>(p_.e, side{r.x, o.ones, r.rows_e, r.rows_e_size},
                                                          side{r.y, o.ones, r.cols_e, r.cols_e_size});
    }

    void mark_odd(W* rows, W* cols) const {
        for (index_t i = 0; i < p_.c.rows; ++i) {
            bool good = true;
            for (index_t l = 0; l < p_.a.cols; ++l) good &= finite(p_.a(i, l));
            for (index_t j = 0; adds() && j < p_.c.cols; ++j) good &= finite(p_.e(i, j));
            rows[i] = W(good ? 0 : 1);
        }
        for (index_t j = 0; j < p_.c.cols; ++j) {
            bool good = true;
            for (index_t l = 0; l < p_.a.cols; ++l) good &= finite(p_.b(l, j));
            cols[j] = W(good ? 0 : 1);
        }
    }
    void mark_odd_of_c(W* rows) const {
        for (index_t i = 0; i < p_.c.rows; ++i) {
            bool good = true;
            for (index_t j = 0; j < p_.c.cols; ++j) good &= finite(p_.c(i, j));
            rows[i] = W(good ? 0 : 1);
        }
    }

    // Side by side: a column of B may be in as many pages as it has elements.
    void copy_row_of_a(index_t i, T* to) const {
        for (index_t l = 0; l < p_.a.cols; ++l) to[l] = static_cast<T>(p_.a(i, l));
    }
    void copy_col_of_b(index_t j, T* to) const {
        for (index_t l = 0; l < p_.a.cols; ++l) to[l] = static_cast<T>(p_.b(l, j));
    }
    view<C const> row_of_c(index_t i) const { return p_.c.part(i, 0, 1, p_.c.cols); }
    view<C const> col_of_c(index_t j) const { return p_.c.part(0, j, p_.c.rows, 1); }
    C element_of_e(index_t i, index_t j) const { return p_.e(i, j); }
    C element_of_c(index_t i, index_t j) const { return p_.c(i, j); }
    void put(index_t i, index_t j, C const& value) const { p_.c(i, j) = value; }

    template <class F>
    void look_along(bool by_rows, index_t line, sums_of<T, W> const& at, F&& f) const {
        index_t const k = p_.a.cols;
        for (index_t x = 0; x < (by_rows ? p_.c.cols : p_.c.rows); ++x) {
            index_t const i = by_rows ? line : x, j = by_rows ? x : line;
            if constexpr (has_one_type<P>) {
                if (!f(i, j, p_.a.part(i, 0, 1, k), p_.b.part(0, j, k, 1))) return;
            } else {
                copy_row_of_a(i, at.lines_a), copy_col_of_b(j, at.lines_b);
                if (!f(i, j, view<T const>{at.lines_a, 1, k, k, 1}, view<T const>{at.lines_b, k, 1, 1, k}))
                    return;
            }
        }
    }

    magnitudes peaks() const { return {peak(p_.a), peak(p_.b), adds() ? peak(p_.e) : 0}; }

private:
    bool adds() const { return p_.beta != typename P::scalar(0); }
    template <class E>
    static bool finite(E const& x) {
        return is_finite(magnitude_of(x));
    }
    template <class E>
    double peak(view<E const> m) const {
        if (rows_are_closer(m)) m = m.transposed();
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

    P const& p_;
    room own_;
    sweeper<Leaf, W> sweep_{};
};

} // namespace verified_parts

STRATAGEMM_END
