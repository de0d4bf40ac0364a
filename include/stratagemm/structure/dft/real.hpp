// Transforms of n real numbers to the n / 2 + 1 first frequencies, and back, on the host: by complex transforms of n / 2
// points, each of whose elements is a pair of numbers, and a step between the two spectra (dft_mirror, passes.inl.hpp;
// Sorensen, Jones, Heideman, Burrus: Real-valued fast Fourier transform algorithms, 1987).
//
// A transform whose division is not halved (division_of_reals) runs as a complex one, by transform_fast().
#pragma once

#include "host.hpp"

STRATAGEMM_BEGIN

// Q: a product with a real B and a complex C; or a complex B and a real C, the way back.
template <class Q>
class dft_halves {
    using job_type = dft_job<Q>;
    using R = typename job_type::R;
    static constexpr bool is_back = job_type::to_real;

public:
    dft_halves(job_type const& to_do, dft_plan<R> const& tables)
        : job(to_do), plan(tables), with(dft_kernels_here<R>()), W(with.lanes), h(tables.division.n),
          n1(tables.division.n1), n2(tables.division.n2), block(dft_room<R>(tables.division).buffer) {}

    index_t blocks() const { return divide_up(job.transforms(), W); }
    // Does the transforms of block b, each of which fits.
    void transform(index_t b, R* room) const {
        index_t const q = b * W, count = smaller(W, job.transforms() - q);
        R *const x = room, *const y = room + block;
        bool const has_all = job.p.a.cols == (is_back ? h + 1 : 2 * h);
        if (count < W || !has_all) clear(x, h + 1);
        if constexpr (is_back) {
            load_spectra(q, count, x);
            clear_imaginary(x, x + row(h));
            with.from_spectrum(
                {x, x + row(h), h / 2 + 1, plan.turns.data(), nullptr, job.factor_re, job.conjugates_input});
            store_reals(q, count, transform_block(plan, x, y));
        } else {
            load_reals(q, count, x);
            R* const z = transform_block(plan, x, y);
            std::memcpy(z + row(h), z, bytes(1));
            with.to_spectrum(
                {z, z + row(h), h / 2 + 1, plan.turns.data(), nullptr, half_factor(), job.conjugates_output});
            store_spectra(q, count, z);
        }
    }

    // One long transform: blocks of columns, whose results are in t, then blocks of rows. What meets in the step between the
    // spectra are two strips of rows or, on the way back, of columns.
    index_t column_blocks() const { return is_back ? 1 + strips_of(n2, W) / 2 : strips_of(n2, W); }
    index_t row_blocks() const { return is_back ? divide_up(n1, W) : 1 + strips_of(n1, W) / 2; }
    void transform_columns(index_t b, index_t q, R* t, R* room) const {
        if constexpr (is_back) {
            each_of_pair(b, n2, room, [&](dft_strip const& s, index_t, R* x) { load_column(s, q, x); });
            meet(b, n1, plan.turns, room, room + 2 * block);
            each_of_pair(b, n2, room,
                         [&](dft_strip const& s, index_t strip, R* x) { finish_column(s, strip, x, t); });
        } else {
            dft_strip const s = strip_of(n2, W, b);
            load_pairs_of_column(s, q, room);
            finish_column(s, b, room, t);
        }
    }
    void transform_rows(index_t b, index_t q, R const* t, R* room) const {
        if constexpr (is_back) {
            dft_strip const s{b * W, 1, smaller(W, n1 - b * W)};
            store_pairs_of_row(s, q, row_of(s, t, room));
        } else {
            R* done[2] = {};
            each_of_pair(b, n1, room, [&](dft_strip const& s, index_t strip, R* x) {
                done[b > 0 && strip % 2 == 0] = row_of(s, t, x);
            });
            meet(b, n2, plan.turns_of_rows, done[0], done[1]);
            each_of_pair(b, n1, room, [&](dft_strip const& s, index_t strip, R*) {
                bool const second = b > 0 && strip % 2 == 0;
                store_row(s, second, q, done[second]);
            });
        }
    }

private:
    index_t row(index_t i) const { return i * 2 * W; }
    std::size_t bytes(index_t rows) const { return static_cast<std::size_t>(row(rows)) * sizeof(R); }
    void clear(R* x, index_t rows) const { std::memset(x, 0, bytes(rows)); }
    // The imaginary parts of frequencies 0 and n / 2 are those of no real numbers.
    void clear_imaginary(R* first, R* last) const {
        for (R* const x : {first, last}) std::memset(x + W, 0, static_cast<std::size_t>(W) * sizeof(R));
    }
    R half_factor() const { return R(0.5) * job.factor_re; }

    // ---- blocks of transforms -------------------------------------------------------------------------

    // Pairs of real numbers. A number that follows the last pair is alone.
    void load_reals(index_t q, index_t count, R* x) const {
        auto const& b = job.p.b;
        index_t const numbers = job.p.a.cols, s = b.row_stride;
        job.each_run(q, count, [&](index_t from, index_t l, index_t run) {
            with.load({job.input(0, from), 2 * s, b.col_stride, numbers / 2, run, false, s}, x + l);
            for (index_t r = 0; r < run && numbers % 2 == 1; ++r)
                x[row(numbers / 2) + l + r] = *job.input(numbers - 1, from + r);
        });
    }
    void store_reals(index_t q, index_t count, R const* x) const {
        auto const& c = job.p.c;
        index_t const numbers = job.p.a.rows, s = c.row_stride;
        if (!job.is_plain()) {
            for (index_t j = 0; j < numbers; ++j)
                for (index_t l = 0; l < count; ++l) job.finish(j, q + l, x[row(j / 2) + j % 2 * W + l], R(0));
            return;
        }
        job.each_run(q, count, [&](index_t to, index_t l, index_t run) {
            with.store(x + l, {job.output(0, to), 2 * s, c.col_stride, numbers / 2, run, false, s});
            for (index_t r = 0; r < run && numbers % 2 == 1; ++r)
                *job.output(numbers - 1, to + r) = x[row(numbers / 2) + l + r];
        });
    }
    void load_spectra(index_t q, index_t count, R* x) const {
        auto const& b = job.p.b;
        job.each_run(q, count, [&](index_t from, index_t l, index_t run) {
            with.load({job.input(0, from), 2 * b.row_stride, 2 * b.col_stride, job.p.a.cols, run}, x + l);
        });
    }
    void store_spectra(index_t q, index_t count, R const* x) const {
        auto const& c = job.p.c;
        if (!job.is_plain()) {
            for (index_t k = 0; k < job.p.a.rows; ++k)
                for (index_t l = 0; l < count; ++l) job.finish(k, q + l, x[row(k) + l], x[row(k) + W + l]);
            return;
        }
        job.each_run(q, count, [&](index_t to, index_t l, index_t run) {
            with.store(x + l, {job.output(0, to), 2 * c.row_stride, 2 * c.col_stride, job.p.a.rows, run});
        });
    }

    // ---- one long transform ----------------------------------------------------------------------------

    // f(strip, its number, room) for the strips of block b that meet: one or two.
    template <class F>
    void each_of_pair(index_t b, index_t lanes, R* room, F const& f) const {
        if (b == 0) return f(strip_of(lanes, W, 0), index_t{0}, room);
        f(strip_of(lanes, W, 2 * b - 1), 2 * b - 1, room);
        f(strip_of(lanes, W, 2 * b), 2 * b, room + 2 * block);
    }
    // The step between the spectra, for the strips of block b: in p, and in q if there are two.
    void meet(index_t b, index_t rows, list<R> const& turns, R* p, R* q) const {
        auto const& step = is_back ? with.from_spectrum : with.to_spectrum;
        R const factor = is_back ? job.factor_re : half_factor();
        bool const conjugates = is_back ? job.conjugates_input : job.conjugates_output;
        if (b > 0)
            return step({p, q + row(rows - 1), rows, turns.data(), plan.turns_across.data() + (b - 1) * 2 * W,
                         factor, conjugates});
        R* const last = p + row(rows);
        if constexpr (is_back)
            clear_imaginary(p, last);
        else
            std::memcpy(last, p, bytes(1));
        step({p, last, rows / 2 + 1, turns.data(), nullptr, factor, conjugates});
    }
    // A column of pairs of real numbers.
    void load_pairs_of_column(dft_strip const& s, index_t q, R* x) const {
        if (s.count < W) clear(x, n1);
        index_t const stride = job.p.b.row_stride;
        if (job.p.a.cols == 2 * h)
            return with.load(
                {job.input(2 * s.first, q), 2 * n2 * stride, 2 * s.step * stride, n1, s.count, false, stride},
                x);
        each_element(s, n1, n2, [&](index_t i, index_t l, index_t k) {
            for (index_t const part : {index_t{0}, index_t{1}})
                x[row(i) + part * W + l] = 2 * k + part < job.p.a.cols ? *job.input(2 * k + part, q) : R(0);
        });
    }
    // A column of the spectrum. That of lane 0 has the last frequency, too.
    void load_column(dft_strip const& s, index_t q, R* x) const {
        index_t const rows = s.first == 0 ? n1 + 1 : n1, stride = 2 * job.p.b.row_stride;
        if (s.count < W) clear(x, rows);
        if (job.p.a.cols == h + 1)
            return with.load({job.input(s.first, q), n2 * stride, s.step * stride, rows, s.count}, x);
        each_element(s, rows, n2, [&](index_t i, index_t l, index_t k) {
            bool const is_there = k < job.p.a.cols;
            R const* const from = is_there ? job.input(k, q) : nullptr;
            x[row(i) + l] = is_there ? from[0] : R(0), x[row(i) + W + l] = is_there ? from[1] : R(0);
        });
    }
    void finish_column(dft_strip const& s, index_t strip, R* x, R* t) const {
        R* const done = with.passes(plan.first, x, x + block);
        with.times(done, plan.between.data() + strip * row(n1), n1, true, false);
        with.store(done, {t + 2 * s.first, 2 * n2, 2 * s.step, n1, s.count});
    }
    R* row_of(dft_strip const& s, R const* t, R* x) const {
        if (s.count < W) clear(x, n2);
        with.load({t + 2 * n2 * s.first, 2, 2 * n2 * s.step, n2, s.count}, x);
        return with.passes(plan.second, x, x + block);
    }
    // A row of the spectrum: element k2 of row k1 is frequency k1 + n1 k2. The lane that meets itself is stored once.
    void store_row(dft_strip const& s, bool is_second, index_t q, R* x) const {
        index_t const rows = s.first == 0 ? n2 + 1 : n2, last = s.first + s.step * (s.count - 1),
                      count = is_second && 2 * last == n1 ? s.count - 1 : s.count;
        index_t const stride = 2 * job.p.c.row_stride;
        if (job.p.a.rows == h + 1 && job.is_plain())
            return with.store(x, {job.output(s.first, q), n1 * stride, s.step * stride, rows, count});
        each_element({s.first, s.step, count}, rows, n1, [&](index_t i, index_t l, index_t k) {
            if (k < job.p.a.rows) job.finish(k, q, x[row(i) + l], x[row(i) + W + l]);
        });
    }
    // A row of pairs of real numbers.
    void store_pairs_of_row(dft_strip const& s, index_t q, R* x) const {
        index_t const stride = job.p.c.row_stride;
        if (job.p.a.rows == 2 * h && job.is_plain())
            return with.store(x, {job.output(2 * s.first, q), 2 * n1 * stride, 2 * s.step * stride, n2,
                                  s.count, false, stride});
        each_element(s, n2, n1, [&](index_t i, index_t l, index_t k) {
            for (index_t const part : {index_t{0}, index_t{1}})
                if (2 * k + part < job.p.a.rows) job.finish(2 * k + part, q, x[row(i) + part * W + l], R(0));
        });
    }
    // f(i, l, k) for row i and lane l of a strip; element k of the transform is there.
    template <class F>
    static void each_element(dft_strip const& s, index_t rows, index_t lanes, F const& f) {
        for (index_t i = 0; i < rows; ++i)
            for (index_t l = 0; l < s.count; ++l) f(i, l, i * lanes + s.first + s.step * l);
    }

    job_type const& job;
    dft_plan<R> const& plan;
    dft_kernels<R> const& with;
    index_t W, h, n1, n2, block;
};

// All transforms of a product that is halved, by at most `team` threads.
template <class Leaf, class Q, class Arena>
status transform_halved(Leaf const& by, Q const& p, int team, Arena& memory) {
    using R = typename dft_job<Q>::R;
    dft_job<Q> const job(p);
    dft_plan_use<R> const use(dft_division<R>(job.n, true));
    if (!use) return no_tables();
    dft_plan<R> const& plan = *use;
    dft_halves<Q> const halves(job, plan);
    dft_room<R> const room(plan.division);
    typename Arena::scope const scope(memory);
    R* const t = memory.template take<R>(room.shared);
    R* const own = memory.template take<R>(room.own * team);
    auto const each = [&](index_t count, auto const& f) { dft_each(by, team, count, own, room.own, f); };
    if (!plan.division.is_long()) {
        each(halves.blocks(), [&](index_t b, R* mine) { halves.transform(b, mine); });
        return {};
    }
    for (index_t q = 0; q < job.transforms(); ++q) {
        each(halves.column_blocks(), [&](index_t b, R* mine) { halves.transform_columns(b, q, t, mine); });
        each(halves.row_blocks(), [&](index_t b, R* mine) { halves.transform_rows(b, q, t, mine); });
    }
    return {};
}

STRATAGEMM_END
