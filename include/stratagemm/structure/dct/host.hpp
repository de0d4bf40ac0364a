// Cosine transforms of the columns of a matrix on the host: by the definition, or as complex transforms.
//
// A real column, or the real or the imaginary part of a complex one, is a line of its own: nothing that lies beside it
// changes its result. Lines are put into workspace as columns of a complex matrix, in the order and with the factors that
// tables.hpp describes; the dft of these columns follows, in place; then their elements are put together in C.
#pragma once

#include "tables.hpp"

STRATAGEMM_BEGIN

template <class T>
struct dct;

// A product whose A is a cosine transform and whose B and C are views.
template <class Q>
class dct_job {
public:
    using R = typename Q::a_operand::real_type;
    using C = typename Q::c_type;
    using S = typename Q::scalar;
    using X = typename Q::b_type;
    using number = dft_complex<R>;
    static constexpr index_t width = complex_like<X> ? 2 : 1; // lines of a column

    explicit dct_job(Q const& problem) : p(problem), n(p.a.rows), type(p.a.type), first(p.a.first) {
        p.alpha = scaled_by(p.alpha, S(p.a.scale));
    }
    index_t columns() const { return p.c.cols * p.count; }
    // A column of the batch, and the next.
    struct column {
        index_t batch, j;
    };
    column column_at(index_t q) const { return {q / p.c.cols, q % p.c.cols}; }
    void advance(column& q) const {
        if (++q.j == p.c.cols) q = {q.batch + 1, 0};
    }
    // Element k of a line: `part` of column q.
    R input(index_t k, column q, index_t part) const {
        X const* const x = p.b.data + (q.batch * p.b_step + k * p.b.row_stride + q.j * p.b.col_stride);
        R const v = reinterpret_cast<R const*>(x)[part], sign = part == 1 && p.b.conjugate ? R(-1) : R(1);
        return type == dct_type::iii && k == 0 ? sign * v * first : sign * v;
    }
    // C = epilogue(alpha x + beta E) for element k of column q, whose parts are x.
    void finish(index_t k, column q, R const* x) const {
        R const factor = type == dct_type::ii && k == 0 ? first : R(1);
        S sum = [&] {
            if constexpr (width == 2)
                return S(x[0] * factor, x[1] * factor);
            else
                return x[0] * factor;
        }();
        sum = scaled_by(p.alpha, sum);
        if (p.beta != S(0)) {
            C const e = p.e.data[q.batch * p.e_step + k * p.e.row_stride + q.j * p.e.col_stride];
            sum = sum_of_two(sum, scaled_by(p.beta, p.e.conjugate ? conjugate(e) : e));
        }
        p.c.data[q.batch * p.c_step + k * p.c.row_stride + q.j * p.c.col_stride] =
            apply_epilogue(p.epilogue, sum, p.row0 + k, p.col0 + q.j);
    }

    Q p;
    index_t n;
    dct_type type;
    R first; // of what is constant along the points: row 0 of II, column 0 of III
};

// Sums in twice the precision of double, of products with cosines that are rounded to double. `cosines` has room for 8n,
// `points` for 2n.
template <class Q>
void dct_by_definition(Q const& p, double* cosines, double* points) {
    using job_type = dct_job<Q>;
    using R = typename job_type::R;
    constexpr index_t width = job_type::width;
    job_type const job(p);
    index_t const n = job.n, turn = 8 * n;
    for (index_t k = 0; k < turn; ++k) cosines[k] = root_of_unity(k, turn).re;
    auto q = job.column_at(0);
    for (index_t count = job.columns(); count > 0; --count, job.advance(q)) {
        for (index_t k = 0; k < n; ++k) // a copy, since C may be the same memory
            for (index_t part = 0; part < width; ++part) points[width * k + part] = job.input(k, q, part);
        for (index_t k = 0; k < n; ++k) {
            twofold sums[width];
            for (index_t j = 0; j < n; ++j) {
                // In eighths of pi / n: of II and III, 2 (2j + 1) k; of IV, (2j + 1) (2k + 1)
                index_t const angle = job.type == dct_type::ii    ? 2 * (2 * j + 1) * k
                                      : job.type == dct_type::iii ? 2 * (2 * k + 1) * j
                                                                  : (2 * j + 1) * (2 * k + 1);
                for (index_t part = 0; part < width; ++part)
                    sums[part].add_product(cosines[angle % turn], points[width * j + part]);
            }
            R x[width];
            for (index_t part = 0; part < width; ++part) x[part] = static_cast<R>(sums[part].value());
            job.finish(k, q, x);
        }
    }
}

// Columns [q, q + count) as lines of `to`, and back.
template <class Q>
class dct_lines {
    using job_type = dct_job<Q>;
    using R = typename job_type::R;
    using number = typename job_type::number;
    using column = typename job_type::column;
    static constexpr index_t width = job_type::width;

public:
    dct_lines(job_type const& to_do, dct_tables<R> const& tables, view<number> const& lines, index_t from)
        : job(to_do), n(to_do.n), half(n / 2), first(tables.first.data()), second(tables.second.data()),
          v(lines), q(from) {}

    // Rows [begin, end) of the lines.
    void load(index_t begin, index_t end) const {
        each(begin, end, [&](index_t k, column at, index_t line) {
            for (index_t part = 0; part < width; ++part) v(k, line + part) = loaded(k, at, part);
        });
    }
    // What rows [begin, end) of steps() make of the lines.
    index_t steps() const {
        return job.type == dct_type::ii    ? half + 1
               : job.type == dct_type::iii ? v.rows
               : n % 2 == 0                ? half
                                           : n;
    }
    void store(index_t begin, index_t end) const {
        each(begin, end, [&](index_t k, column at, index_t line) {
            pair parts[width];
            R x[width], y[width];
            for (index_t part = 0; part < width; ++part)
                parts[part] = stored(k, line + part), x[part] = parts[part].x, y[part] = parts[part].y;
            job.finish(parts[0].row, at, x);
            if (parts[0].other_row >= 0) job.finish(parts[0].other_row, at, y);
        });
    }

private:
    struct pair {
        index_t row, other_row; // -1: there is no other
        R x, y;
    };
    // Calls f for rows [begin, end) of each column and its first line, those that lie beside each other one after another.
    template <class F>
    void each(index_t begin, index_t end, F const& f) const {
        if (v.col_stride == 1) {
            for (index_t k = begin; k < end; ++k) {
                column at = job.column_at(q);
                for (index_t line = 0; line < v.cols; line += width, job.advance(at)) f(k, at, line);
            }
        } else {
            column at = job.column_at(q);
            for (index_t line = 0; line < v.cols; line += width, job.advance(at))
                for (index_t k = begin; k < end; ++k) f(k, at, line);
        }
    }
    // Where the point is that comes at i after the even points and the odd ones backwards.
    index_t place(index_t i) const { return 2 * i < n ? 2 * i : 2 * (n - 1 - i) + 1; }
    // Element k, 0 <= k <= n / 2, of the spectrum of the points in that order, of which a transform III knows cosines.
    number spectrum(index_t k, column at, index_t part) const {
        R const a = job.input(k, at, part);
        if (k == 0) return {a, R(0)};
        return number(a * R(0.5), job.input(n - k, at, part) * R(-0.5)) * first[k].conjugated();
    }
    number loaded(index_t k, column at, index_t part) const {
        bool const even = n % 2 == 0;
        auto const point = [&](index_t i) { return job.input(i, at, part); };
        if (job.type == dct_type::ii) {
            if (!even) return {point(place(k)), R(0)};
            return {point(place(2 * k)), point(place(2 * k + 1))};
        }
        if (job.type == dct_type::iii) {
            if (!even) return k <= half ? spectrum(k, at, part) : spectrum(n - k, at, part).conjugated();
            number const a = spectrum(k, at, part), b = spectrum(half - k, at, part).conjugated(),
                         odd = second[k].conjugated() * (a - b);
            return a + b + number(-odd.im, odd.re);
        }
        if (even) return number(point(2 * k), point(n - 1 - 2 * k)) * first[k];
        if (k >= n) return {R(0), R(0)};
        R const x = point(k);
        return {x * first[k].re, x * first[k].im};
    }
    pair stored(index_t k, index_t line) const {
        bool const even = n % 2 == 0;
        if (job.type == dct_type::ii) {
            number u = v(even && k == half ? 0 : k, line);
            if (even) {
                number const a = u, b = v(k == 0 || k == half ? 0 : half - k, line).conjugated(),
                             difference = a - b, sum = a + b;
                number const odd(difference.im, -difference.re);
                u = first[k] * sum + second[k] * odd;
                u = {u.re * R(0.5), u.im * R(0.5)};
            } else {
                u = u * first[k];
            }
            return {k, k == 0 || 2 * k == n ? -1 : n - k, u.re, -u.im};
        }
        if (job.type == dct_type::iii) {
            number const z = v(k, line);
            if (!even) return {place(k), -1, z.re, R(0)};
            return {place(2 * k), place(2 * k + 1), z.re, z.im};
        }
        number const t = v(k, line) * second[k];
        if (!even) return {k, -1, t.re, R(0)};
        return {2 * k, n - 1 - 2 * k, t.re, -t.im};
    }

    job_type const& job;
    index_t n, half;
    number const *first, *second;
    view<number> v;
    index_t q;
};

STRATAGEMM_END
