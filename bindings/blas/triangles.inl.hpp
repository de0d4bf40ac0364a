// What triangles.hpp declares, for the sources that instantiate it.
#pragma once

#include "triangles.hpp"

namespace stratagemm_blas {

// A block of C on its diagonal is multiplied as a whole, and half of it is thrown away; a symmetric block is completed.
// Both are kept on the stack: a block of doubles is as large as the first-level cache of common processors.
inline constexpr index_t square_side = 64;
// A triangular block is not completed with zeros, since these would make NaN of Inf; loops multiply it. Its sides are
// two lines of the cache for doubles, and what it multiplies is kept on the stack, too.
inline constexpr index_t triangle_side = 16, panel_width = 64;

// Where to divide a side, so that all blocks but the last one are whole.
inline index_t middle(index_t n, index_t block) {
    index_t const blocks = (n + block - 1) / block;
    return blocks / 2 * block;
}

// x += y z, without the recovery of infinities that std::complex does.
template <class T>
inline void add_product(T& x, T const& y, T const& z) {
    if constexpr (is_complex<T>)
        x = {x.real() + (y.real() * z.real() - y.imag() * z.imag()),
             x.imag() + (y.real() * z.imag() + y.imag() * z.real())};
    else
        x += y * z;
}
template <class T>
inline T times(T const& y, T const& z) {
    if (y == T(1)) return z;
    T x{};
    add_product(x, y, z);
    return x;
}

template <class T>
void multiply_triangle(T alpha, sg::view<T const> const& a, sg::view<T const> const& b, T beta,
                       sg::view<T> const& c, half which) {
    index_t const n = c.rows, k = a.cols;
    if (n > square_side) {
        index_t const h = middle(n, square_side), r = n - h;
        multiply_triangle(alpha, a.part(0, 0, h, k), b.part(0, 0, k, h), beta, c.part(0, 0, h, h), which);
        if (which == half::lower)
            multiply(alpha, a.part(h, 0, r, k), b.part(0, 0, k, h), beta, c.part(h, 0, r, h));
        else
            multiply(alpha, a.part(0, 0, h, k), b.part(0, h, k, r), beta, c.part(0, h, h, r));
        return multiply_triangle(alpha, a.part(h, 0, r, k), b.part(0, h, k, r), beta, c.part(h, h, r, r),
                                 which);
    }
    T room[square_side * square_side];
    sg::view<T> whole{room, n, n, 1, n};
    if (c.col_stride == 1) whole = whole.transposed();
    multiply(alpha, a, b, T(0), whole);
    for (index_t j = 0; j < n; ++j) {
        index_t const first = which == half::lower ? j : 0, last = which == half::lower ? n : j + 1;
        for (index_t i = first; i < last; ++i) {
            T sum = whole(i, j);
            if (beta != T(0)) sum += times(beta, c(i, j));
            c(i, j) = sum;
        }
    }
}

template <class T>
void multiply_symmetric(T alpha, sg::view<T const> const& a, half which, bool hermitian,
                        sg::view<T const> const& b, T beta, sg::view<T> const& c) {
    index_t const m = a.rows, n = c.cols;
    auto const mirrored = [&](sg::view<T const> const& v) {
        sg::view<T const> t = v.transposed();
        if (hermitian) t.conjugate = !t.conjugate;
        return t;
    };
    if (m > square_side) {
        index_t const h = middle(m, square_side), r = m - h;
        auto const b1 = b.part(0, 0, h, n), b2 = b.part(h, 0, r, n);
        auto const c1 = c.part(0, 0, h, n), c2 = c.part(h, 0, r, n);
        bool const is_lower = which == half::lower;
        auto const corner = is_lower ? a.part(h, 0, r, h) : a.part(0, h, h, r);
        multiply_symmetric(alpha, a.part(0, 0, h, h), which, hermitian, b1, beta, c1);
        multiply(alpha, is_lower ? mirrored(corner) : corner, b2, T(1), c1);
        multiply_symmetric(alpha, a.part(h, h, r, r), which, hermitian, b2, beta, c2);
        return multiply(alpha, is_lower ? corner : mirrored(corner), b1, T(1), c2);
    }
    T room[square_side * square_side];
    sg::view<T> const whole{room, m, m, 1, m};
    auto const flipped = mirrored(a);
    for (index_t j = 0; j < m; ++j)
        for (index_t i = 0; i < m; ++i) {
            bool const is_stored = which == half::lower ? i >= j : i <= j;
            whole(i, j) = sg::element_as<T>(is_stored ? a : flipped, i, j);
            if constexpr (is_complex<T>)
                if (hermitian && i == j) whole(i, j) = whole(i, j).real();
        }
    multiply<T>(alpha, whole, b, beta, c);
}

// A triangular block, and columns of B that lie in rows: the loops below then run along lines of memory, whatever B's
// strides are.
template <class T>
struct panel {
    T a[triangle_side][triangle_side];
    T x[triangle_side][panel_width];
    index_t m;
    bool is_lower, has_ones;

    panel(sg::view<T const> const& from, half which, diagonal ones)
        : m(from.rows), is_lower(which == half::lower), has_ones(ones == diagonal::unit) {
        for (index_t i = 0; i < m; ++i)
            for (index_t j = is_lower ? 0 : i; j < (is_lower ? i + 1 : m); ++j)
                a[i][j] = i == j && has_ones ? T(1) : sg::element_as<T>(from, i, j);
    }
    void load(T alpha, sg::view<T> const& b) {
        for (index_t j = 0; j < b.cols; ++j)
            for (index_t i = 0; i < m; ++i) x[i][j] = times(alpha, b(i, j));
    }
    void store(sg::view<T> const& b) const {
        for (index_t j = 0; j < b.cols; ++j)
            for (index_t i = 0; i < m; ++i) b(i, j) = x[i][j];
    }
    // Row `to` of x plus f times row `from`.
    void add(index_t to, T f, index_t from, index_t width) {
        T* const y = x[to];
        T const* const z = x[from];
        for (index_t j = 0; j < width; ++j) add_product(y[j], f, z[j]);
    }
    // Row i depends on those rows that its triangle has beside the diagonal; the row that others depend on comes last.
    void multiply(index_t width) {
        for (index_t step = 0; step < m; ++step) {
            index_t const i = is_lower ? m - 1 - step : step;
            if (!has_ones)
                for (index_t j = 0; j < width; ++j) {
                    T y{};
                    add_product(y, a[i][i], x[i][j]);
                    x[i][j] = y;
                }
            for (index_t k = is_lower ? 0 : i + 1; k < (is_lower ? i : m); ++k) add(i, a[i][k], k, width);
        }
    }
    void solve(index_t width) {
        for (index_t step = 0; step < m; ++step) {
            index_t const i = is_lower ? step : m - 1 - step;
            for (index_t k = is_lower ? 0 : i + 1; k < (is_lower ? i : m); ++k) add(i, -a[i][k], k, width);
            if (!has_ones)
                for (index_t j = 0; j < width; ++j) x[i][j] /= a[i][i];
        }
    }
};

// f(panel, columns) for all columns of B, on as many threads as the work is worth.
template <class T, class F>
void each_panel(sg::view<T const> const& a, half which, diagonal ones, sg::view<T> const& b, F const& f) {
    auto const leaf = sg::host{}.leaf();
    index_t const parts = (b.cols + panel_width - 1) / panel_width;
    int const team = leaf.team(static_cast<double>(a.rows * a.rows) / 2 * static_cast<double>(b.cols));
    int const count = static_cast<int>(parts < team ? parts : team);
    leaf.each(count, count, [&](int, int part) {
        panel<T> here(a, which, ones);
        for (index_t p = part; p < parts; p += count) {
            index_t const first = p * panel_width, rest = b.cols - first;
            f(here, b.part(0, first, a.rows, rest < panel_width ? rest : panel_width));
        }
    });
}

// The two halves of a triangular matrix: one depends on the other through the corner between them.
template <class T>
struct divided {
    index_t h, r;
    bool is_lower;
    sg::view<T const> alone, corner, dependent; // of A
    sg::view<T> b_alone, b_dependent;

    divided(sg::view<T const> const& a, half which, sg::view<T> const& b)
        : h(middle(a.rows, triangle_side)), r(a.rows - h), is_lower(which == half::lower) {
        auto const upper_a = a.part(0, 0, h, h), lower_a = a.part(h, h, r, r);
        auto const upper_b = b.part(0, 0, h, b.cols), lower_b = b.part(h, 0, r, b.cols);
        alone = is_lower ? upper_a : lower_a, dependent = is_lower ? lower_a : upper_a;
        b_alone = is_lower ? upper_b : lower_b, b_dependent = is_lower ? lower_b : upper_b;
        corner = is_lower ? a.part(h, 0, r, h) : a.part(0, h, h, r);
    }
};

template <class T>
void multiply_triangular(T alpha, sg::view<T const> const& a, half which, diagonal ones,
                         sg::view<T> const& b) {
    if (a.rows > triangle_side) {
        divided<T> const d(a, which, b);
        multiply_triangular(alpha, d.dependent, which, ones, d.b_dependent);
        multiply<T>(alpha, d.corner, d.b_alone, T(1), d.b_dependent);
        return multiply_triangular(alpha, d.alone, which, ones, d.b_alone);
    }
    each_panel(a, which, ones, b, [&](panel<T>& here, sg::view<T> const& columns) {
        here.load(T(1), columns);
        here.multiply(columns.cols);
        if (alpha != T(1))
            for (index_t i = 0; i < a.rows; ++i)
                for (index_t j = 0; j < columns.cols; ++j) here.x[i][j] = times(alpha, here.x[i][j]);
        here.store(columns);
    });
}

template <class T>
void solve_triangular(T alpha, sg::view<T const> const& a, half which, diagonal ones, sg::view<T> const& b) {
    if (a.rows > triangle_side) {
        divided<T> const d(a, which, b);
        solve_triangular(alpha, d.alone, which, ones, d.b_alone);
        multiply<T>(T(-1), d.corner, d.b_alone, alpha, d.b_dependent);
        return solve_triangular(T(1), d.dependent, which, ones, d.b_dependent);
    }
    each_panel(a, which, ones, b, [&](panel<T>& here, sg::view<T> const& columns) {
        here.load(alpha, columns);
        here.solve(columns.cols);
        here.store(columns);
    });
}

} // namespace stratagemm_blas
