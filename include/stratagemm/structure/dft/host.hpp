// Transforms of the columns of a matrix on the host: by the definition, or fast.
//
// As many transforms as a vector has lanes are done side by side. A block of them fits the second-level cache; one long
// transform is divided into such blocks. The result of a transform depends on its elements, its length and the
// instruction set alone, since each lane does the same operations, and lanes without a transform have zeros.
#pragma once

#include "../../core/policy.hpp"
#include "plan.hpp"

#include <cstring>

STRATAGEMM_BEGIN

// A product whose A is a transform and whose B and C are views, with the data that all its elements share.
template <class Q>
class dft_job {
public:
    using C = typename Q::c_type;
    using R = real_t<C>;
    using X = typename Q::b_type;
    static constexpr bool is_real = !complex_like<X>, to_real = !complex_like<C>;

    explicit dft_job(Q const& problem)
        : p(problem), n(p.a.points), row_shift(within(p.a.row_shift)), col_shift(within(p.a.col_shift)),
          conjugates_input(p.a.conjugate != p.b.conjugate), conjugates_output(p.a.conjugate && !to_real) {
        factor_re = re_of(p.alpha) * p.a.scale, factor_im = im_of(p.alpha) * p.a.scale;
    }
    index_t transforms() const { return p.c.cols * p.count; }
    // The row of C or B that an element of a transform is in, from its number as the definition counts. Elements that
    // the leading part of a transform lacks have rows beyond C or B. Where C is real, B has a half of the spectrum.
    index_t output_row(index_t k) const { return k < n - row_shift ? k + row_shift : k - (n - row_shift); }
    index_t input_row(index_t k) const {
        if constexpr (to_real)
            return k <= n / 2 ? k : n - k;
        else
            return k < n - col_shift ? k + col_shift : k - (n - col_shift);
    }

    bool has_input(index_t k) const { return input_row(k) < p.a.cols; }
    bool has_output(index_t k) const { return output_row(k) < p.a.rows; }
    bool has_all_inputs() const { return p.a.cols == n; }

    // The elements of transform q of the batch.
    R const* input(index_t row, index_t q) const {
        index_t const batch = batch_of(q), j = q - batch * p.c.cols;
        X const* const x = p.b.data + (batch * p.b_step + row * p.b.row_stride + j * p.b.col_stride);
        return reinterpret_cast<R const*>(x);
    }
    R* output(index_t row, index_t q) const {
        index_t const batch = batch_of(q), j = q - batch * p.c.cols;
        C* const x = p.c.data + (batch * p.c_step + row * p.c.row_stride + j * p.c.col_stride);
        return reinterpret_cast<R*>(x);
    }
    static constexpr index_t in_width = is_real ? 1 : 2, out_width = to_real ? 1 : 2; // in numbers

    // Element k that the transform of a sum takes, from those in memory. Where C is real, these are half of a spectrum
    // whose other half is the conjugate one; it is the inverse that is wanted, so all are conjugated.
    void take_element(index_t k, index_t q, R& re, R& im) const {
        re = im = R(0);
        if (!has_input(k)) return;
        R const* const x = input(input_row(k), q);
        re = x[0];
        if constexpr (to_real)
            im = k == 0 || 2 * k == n ? R(0) : conjugates_input == (k <= n / 2) ? x[1] : -x[1];
        else if constexpr (!is_real)
            im = conjugates_input ? -x[1] : x[1];
    }
    // Whether the kernel's result is C, without E and epilogue.
    bool is_plain() const {
        return std::is_same_v<typename Q::epilogue_type, identity> && p.beta == typename Q::scalar(0);
    }
    // C = epilogue(x + beta E), where x = (re, im) has its factor.
    void finish(index_t row, index_t q, R re, R im) const {
        index_t const batch = batch_of(q), j = q - batch * p.c.cols;
        if (p.beta != typename Q::scalar(0)) {
            C const e = p.e.data[batch * p.e_step + row * p.e.row_stride + j * p.e.col_stride];
            R const br = re_of(p.beta), bi = im_of(p.beta), er = re_of(e),
                    ei = p.e.conjugate ? -im_of(e) : im_of(e);
            re += br * er, im += br * ei;
            if constexpr (complex_like<typename Q::scalar>) re -= bi * ei, im += bi * er;
        }
        C& to = p.c.data[batch * p.c_step + row * p.c.row_stride + j * p.c.col_stride];
        if constexpr (to_real)
            to = apply_epilogue(p.epilogue, re, p.row0 + row, p.col0 + j);
        else
            to = apply_epilogue(p.epilogue, C(re, im), p.row0 + row, p.col0 + j);
    }
    // Lanes [l, l + run) are of one matrix of the batch, from transform q + l on.
    template <class F>
    void each_run(index_t q, index_t count, F const& f) const {
        for (index_t l = 0; l < count;) {
            index_t const left = p.c.cols - (q + l) % p.c.cols, run = smaller(left, count - l);
            f(q + l, l, run);
            l += run;
        }
    }

    Q const& p;
    index_t n, row_shift, col_shift;
    bool conjugates_input, conjugates_output;
    R factor_re{}, factor_im{};

private:
    index_t batch_of(index_t q) const { return p.count == 1 ? 0 : q / p.c.cols; } // a division takes long
    template <class S>
    static R re_of(S const& x) {
        if constexpr (complex_like<S>)
            return x.real();
        else
            return x;
    }
    template <class S>
    static R im_of(S const& x) {
        if constexpr (complex_like<S>)
            return x.imag();
        else
            return R(0);
    }
    index_t within(index_t shift) const {
        index_t const s = shift % n;
        return s < 0 ? s + n : s;
    }
};

// ---- by the definition ------------------------------------------------------------------------------------

// Sums in twice the precision of double. The terms are elements times factors that are rounded to double. `roots` and
// `column` have room for 2n.
template <class Q>
void transform_by_definition(Q const& p, double* roots, double* column) {
    using R = typename dft_job<Q>::R;
    dft_job<Q> const job(p);
    index_t const n = job.n;
    for (index_t k = 0; k < n; ++k) {
        auto const w = root_of_unity(k, n);
        roots[2 * k] = w.re, roots[2 * k + 1] = w.im;
    }
    for (index_t q = 0; q < job.transforms(); ++q) {
        for (index_t k = 0; k < n; ++k) { // a copy, since C may be the same memory
            R re, im;
            job.take_element(k, q, re, im);
            column[2 * k] = re, column[2 * k + 1] = im;
        }
        for (index_t i = 0; i < n; ++i) {
            if (!job.has_output(i)) continue;
            twofold re, im;
            for (index_t k = 0, at = 0; k < n; ++k, at = at + i < n ? at + i : at + i - n) {
                double const *const w = roots + 2 * at, *const x = column + 2 * k;
                re.add_product(w[0], x[0]), re.add_product(-w[1], x[1]);
                im.add_product(w[0], x[1]), im.add_product(w[1], x[0]);
            }
            double const a = re.value(), b = job.conjugates_output ? -im.value() : im.value(),
                         fr = job.factor_re, fi = job.factor_im;
            job.finish(job.output_row(i), q, static_cast<R>(fr * a - fi * b),
                       static_cast<R>(fr * b + fi * a));
        }
    }
}

// ---- blocks of transforms ---------------------------------------------------------------------------------

// The memory that blocks take, in numbers: for each thread, and for all threads together. Two buffers of rows, which
// begin half a page apart: a processor takes a read for one that waits for a write if their places within pages are the
// same. Blocks of halved transforms have a row more, and where these are long, two of them meet.
template <class R>
struct dft_room {
    index_t buffer, own, shared;
    explicit dft_room(dft_division<R> const& d) {
        index_t const W = dft_kernels_here<R>().lanes, apart = 2048 / index_t{sizeof(R)};
        buffer = (d.is_halved ? d.most() + 1 : d.most()) * 2 * W + apart;
        own = (d.is_halved && d.is_long() ? 4 : 2) * buffer;
        shared = d.is_long() ? (d.is_chirp() ? 4 : 2) * d.length : 0;
    }
};

// The transforms of the rows of a block, of a division that is not long. Returns where they are: in x, or in y. Both
// have `length` rows.
template <class R>
R* transform_block(dft_plan<R> const& plan, R* x, R* y) {
    dft_kernels<R> const& with = dft_kernels_here<R>();
    index_t const n = plan.division.n, length = plan.division.length, W = with.lanes;
    if (!plan.division.is_chirp()) return with.passes(plan.first, x, y);
    with.times(x, plan.chirp.data(), n, false, false);
    std::memset(x + 2 * W * n, 0, static_cast<std::size_t>(2 * W * (length - n)) * sizeof(R));
    R* at = with.passes(plan.first, x, y);
    with.times(at, plan.spectrum.data(), length, false, true);
    at = with.passes(plan.first, at, at == x ? y : x);
    with.scale(at, n, R(1), R(0), true);
    with.times(at, plan.chirp.data(), n, false, false);
    return at;
}

template <class Q>
class dft_blocks {
    using job_type = dft_job<Q>;
    using R = typename job_type::R;

public:
    dft_blocks(job_type const& to_do, dft_plan<R> const& tables)
        : job(to_do), plan(tables), with(dft_kernels_here<R>()), W(with.lanes), n(to_do.n),
          buffer(dft_room<R>(tables.division).buffer) {}

    index_t blocks() const { return divide_up(job.transforms(), W); }
    // Does the transforms of block b, each of which fits.
    void transform(index_t b, R* room) const {
        index_t const q = b * W, count = smaller(W, job.transforms() - q);
        R *const x = room, *const y = room + buffer;
        if (are_lines()) return transform_lines(q, count, x, y);
        if (count < W || !job.has_all_inputs())
            std::memset(x, 0, static_cast<std::size_t>(2 * W * n) * sizeof(R));
        load(q, count, x);
        if constexpr (job_type::to_real)
            mirror(x);
        else if (job.conjugates_input)
            with.scale(x, n, R(1), R(0), true);
        store(q, count, transform_block(plan, x, y));
    }

    // One long transform: first blocks of columns, then blocks of rows; threads may share either. `t` holds the numbers
    // between these two steps. The steps read and write C, or read or write C and numbers v that lie one after another.
    index_t column_blocks() const { return divide_up(plan.division.n2, W); }
    index_t row_blocks() const { return divide_up(plan.division.n1, W); }
    void transform_columns(index_t b, index_t q, R const* v, R* t, R* room) const {
        index_t const n1 = plan.division.n1, n2 = plan.division.n2, first = b * W,
                      count = smaller(W, n2 - first);
        R *const x = room, *const y = room + buffer;
        if (count < W) std::memset(x, 0, static_cast<std::size_t>(2 * W * n1) * sizeof(R));
        dft_lanes<R> const to{t + 2 * first, 2 * n2, 2, n1, count};
        dft_last<R> const last{plan.between.data() + b * n1 * 2 * W};
        if (v || is_plain_column()) {
            index_t const step = job_type::in_width * job.p.b.row_stride;
            dft_lanes<R const> const from =
                v ? dft_lanes<R const>{v + 2 * first, 2 * n2, 2, n1, count}
                  : dft_lanes<R const>{job.input(first, q), step * n2, step, n1, count, job_type::is_real};
            return with.through(plan.first, &from, !v && job.conjugates_input, x, y, to, last);
        }
        load_column(q, first, count, x);
        with.through(plan.first, nullptr, false, x, y, to, last);
    }
    void transform_rows(index_t b, index_t q, R const* t, R* v, R* room) const {
        index_t const n2 = plan.division.n2, first = b * W, count = smaller(W, plan.division.n1 - first);
        R *const x = room, *const y = room + buffer;
        if (count < W) std::memset(x, 0, static_cast<std::size_t>(2 * W * n2) * sizeof(R));
        with.load({t + 2 * n2 * first, 2, 2 * n2, n2, count}, x);
        if (!v && is_plain_row()) {
            index_t const step = out_width * job.p.c.row_stride;
            return with.through(
                plan.second, nullptr, false, x, y,
                {job.output(first, q), step * plan.division.n1, step, n2, count, job_type::to_real},
                {nullptr, job.factor_re, job.conjugates_output});
        }
        R* const done = with.passes(plan.second, x, y);
        if (v)
            store_convolved(first, count, done, v);
        else
            store_row(q, first, count, done);
    }

private:
    // Rows of a block, as the definition counts, for the first `rows` of B or C: two pieces where these are shifted.
    template <class F>
    void each_piece(index_t shift, index_t rows, F const& f) const {
        if (rows > shift) f(index_t{0}, rows - shift);
        if (shift > 0) f(n - shift, smaller(shift, rows));
    }
    static constexpr index_t out_width = job_type::out_width;
    // Whether elements of a transform lie side by side, in B and in C.
    bool are_lines() const {
        if constexpr (job_type::is_real || job_type::to_real)
            return false;
        else
            return plan.part > 0 && job.p.b.row_stride == 1 && job.p.c.row_stride == 1 && job.is_plain() &&
                   job.factor_im == R(0) && job.has_all_inputs() && job.p.a.rows == n && job.row_shift == 0 &&
                   job.col_shift == 0;
    }
    void transform_lines(index_t q, index_t count, R* x, R* y) const {
        // Rows of all that are done together take half of the first-level cache. From memory, reads and writes take
        // turns as soon as can be, and what comes next is fetched if the cache has room for it beside these rows.
        index_t const bytes = 4 * n * index_t{sizeof(R)}, half = first_level_cache() / 2,
                      least = plan.part < W ? 2 : 1;
        bool const is_far = bytes * job.transforms() > near_memory,
                   fetches = is_far && 2 * bytes * least <= half;
        index_t const together = is_far ? least : smaller(W, larger_of(1, half / bytes / least) * least);
        job.each_run(q, count, [&](index_t at, index_t, index_t run) {
            with.lines({&plan.first, plan.line_factors.data(), plan.part, together, fetches, job.input(0, at),
                        job.output(0, at), 2 * job.p.b.col_stride, 2 * job.p.c.col_stride, run, job.factor_re,
                        job.conjugates_input, job.conjugates_output},
                       x, y);
        });
    }
    void load(index_t q, index_t count, R* x) const {
        constexpr index_t width = job_type::in_width;
        auto const& b = job.p.b;
        job.each_run(q, count, [&](index_t from, index_t l, index_t run) {
            each_piece(job.col_shift, job.p.a.cols, [&](index_t row, index_t rows) {
                with.load({job.input(job.input_row(row), from), width * b.row_stride, width * b.col_stride,
                           rows, run, job_type::is_real},
                          x + row * 2 * W + l);
            });
        });
    }
    // Half of a spectrum to all of it, conjugated (dft_job::take_element).
    void mirror(R* x) const {
        R const sign = job.conjugates_input ? R(-1) : R(1);
        for (index_t k = 0; k <= n / 2; ++k) {
            R *const row = x + k * 2 * W, *const other = x + (n - k) * 2 * W;
            bool const is_own = k == 0 || 2 * k == n;
            for (index_t l = 0; l < W; ++l) {
                R const re = row[l], im = is_own ? R(0) : sign * row[W + l];
                row[W + l] = -im;
                if (!is_own) other[l] = re, other[W + l] = im;
            }
        }
    }
    void scale(R* x, index_t rows) const {
        if (job.conjugates_output || job.factor_re != R(1) || job.factor_im != R(0))
            with.scale(x, rows, job.factor_re, job.factor_im, job.conjugates_output);
    }
    void store(index_t q, index_t count, R* x) const {
        scale(x, n);
        auto const& c = job.p.c;
        if (job.is_plain())
            return job.each_run(q, count, [&](index_t to, index_t l, index_t run) {
                each_piece(job.row_shift, job.p.a.rows, [&](index_t row, index_t rows) {
                    with.store(x + row * 2 * W + l,
                               {job.output(job.output_row(row), to), out_width * c.row_stride,
                                out_width * c.col_stride, rows, run, job_type::to_real});
                });
            });
        for (index_t k = 0; k < n; ++k)
            for (index_t l = 0; l < count && job.has_output(k); ++l)
                job.finish(job.output_row(k), q + l, x[k * 2 * W + l], x[k * 2 * W + W + l]);
    }

    // Whether elements of a long transform are rows of B, and of C.
    bool is_plain_column() const {
        return !plan.division.is_chirp() && job.col_shift == 0 && job.has_all_inputs() && !job_type::to_real;
    }
    bool is_plain_row() const {
        return !plan.division.is_chirp() && job.row_shift == 0 && job.p.a.rows == n && job.is_plain() &&
               job.factor_im == R(0);
    }
    // Columns [first, first + count) of a transform that is n1 x n2 by rows, element by element.
    void load_column(index_t q, index_t first, index_t count, R* x) const {
        index_t const n1 = plan.division.n1, n2 = plan.division.n2;
        bool const is_chirp = plan.division.is_chirp();
        for (index_t i = 0; i < n1; ++i)
            for (index_t l = 0; l < count; ++l) {
                index_t const k = i * n2 + first + l;
                R re{}, im{};
                if (k < n) job.take_element(k, q, re, im);
                if (k < n && is_chirp) multiply(re, im, plan.chirp.data() + 2 * k);
                x[i * 2 * W + l] = re, x[i * 2 * W + W + l] = im;
            }
    }
    // Stores a row: element k2 of row k1 is element k1 + n1 k2 of the transform.
    void store_row(index_t q, index_t first, index_t count, R* x) const {
        index_t const n1 = plan.division.n1, n2 = plan.division.n2;
        bool const is_chirp = plan.division.is_chirp();
        if (!is_chirp) scale(x, n2);
        for (index_t i = 0; i < n2; ++i)
            for (index_t l = 0; l < count; ++l) {
                index_t const k = i * n1 + first + l;
                if (k >= n || !job.has_output(k)) continue;
                R re = x[i * 2 * W + l], im = x[i * 2 * W + W + l];
                if (is_chirp) {
                    im = -im;
                    multiply(re, im, plan.chirp.data() + 2 * k);
                    if (job.conjugates_output) im = -im;
                    R const factor[] = {job.factor_re, job.factor_im};
                    multiply(re, im, factor);
                }
                job.finish(job.output_row(k), q, re, im);
            }
    }
    // Stores the conjugate of the transform times that of the chirp.
    void store_convolved(index_t first, index_t count, R const* x, R* v) const {
        for (index_t i = 0; i < plan.division.n2; ++i)
            for (index_t l = 0; l < count; ++l) {
                index_t const k = i * plan.division.n1 + first + l;
                R re = x[i * 2 * W + l], im = x[i * 2 * W + W + l];
                multiply(re, im, plan.spectrum.data() + 2 * k);
                v[2 * k] = re, v[2 * k + 1] = -im;
            }
    }
    static void multiply(R& re, R& im, R const* w) {
        R const x = re * w[0] - im * w[1];
        im = re * w[1] + im * w[0], re = x;
    }

    job_type const& job;
    dft_plan<R> const& plan;
    dft_kernels<R> const& with;
    index_t W, n, buffer;
};

// f(part, room) for each of `count` parts by at most `team` threads, of which each has `room` numbers.
template <class Leaf, class R, class F>
void dft_each(Leaf const& by, int team, index_t count, R* own, index_t room, F const& f) {
    constexpr index_t most = 1 << 20; // parts are counted in int
    int const parts = static_cast<int>(smaller(count, most));
    by.each(team, parts, [&](int thread, int part) {
        for (index_t b = count * part / parts; b < count * (part + 1) / parts; ++b) f(b, own + thread * room);
    });
}
inline status no_tables() {
    return failure(errc::memory, "dft: cannot allocate the tables of a transform of this length");
}

// All transforms of a product, by at most `team` threads.
template <class Leaf, class Q, class Arena>
status transform_fast(Leaf const& by, Q const& p, int team, Arena& memory) {
    using R = typename dft_job<Q>::R;
    dft_job<Q> const job(p);
    dft_plan_use<R> const use(job.n);
    if (!use) return no_tables();
    dft_plan<R> const& plan = *use;
    dft_blocks<Q> const blocks(job, plan);
    dft_room<R> const room(plan.division);
    typename Arena::scope const scope(memory);
    R* const shared = memory.template take<R>(room.shared);
    R* const own = memory.template take<R>(room.own * team);
    auto const each = [&](index_t count, auto const& f) { dft_each(by, team, count, own, room.own, f); };
    if (!plan.division.is_long()) {
        each(blocks.blocks(), [&](index_t b, R* mine) { blocks.transform(b, mine); });
        return {};
    }
    R* const t = shared;
    R* const v = plan.division.is_chirp() ? shared + 2 * plan.division.length : nullptr;
    auto const both = [&](index_t q, R const* from, R* to) {
        each(blocks.column_blocks(),
             [&](index_t b, R* mine) { blocks.transform_columns(b, q, from, t, mine); });
        each(blocks.row_blocks(), [&](index_t b, R* mine) { blocks.transform_rows(b, q, t, to, mine); });
    };
    for (index_t q = 0; q < job.transforms(); ++q) {
        both(q, nullptr, v);
        if (v) both(q, v, nullptr);
    }
    return {};
}

STRATAGEMM_END
