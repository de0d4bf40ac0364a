// Hadamard transforms of the columns of a matrix on the host: by the definition, or fast.
//
// Where columns lie side by side, a block has as many of them as a line of the cache holds, and a row of the block is a
// vector or a few. Where the numbers of a column lie side by side, they are the rows themselves, and the transform ends
// within vectors. A block fits the second-level cache: a longer transform of n1 n2 points is first n2 transforms of n1
// points that are n2 apart, then n1 of n2 points.
#pragma once

#include "../../backend/host/caches.hpp"
#include "../../core/policy.hpp"
#include "kernels.hpp"

STRATAGEMM_BEGIN

// Which points of a transform are rows of a matrix where not all are, as in a sketch: points [first, first + count) in
// this order, with signs; or any others.
template <class R>
struct hadamard_share {
    index_t first = 0, count = 0;
    R const* signs = nullptr;             // of each point
    std::int32_t const* rows = nullptr;   // of each point; -1: the point is no row
    std::int32_t const* points = nullptr; // of each row

    index_t row_of(index_t k) const {
        if (rows) return rows[k];
        return k >= first && k < first + count ? k - first : -1;
    }
    R sign(index_t k) const { return signs ? signs[k] : R(1); }
};

// A product whose A is a Hadamard matrix, or a part of one, and whose B and C are views.
template <class Q>
class hadamard_job {
public:
    using R = typename Q::a_operand::real_type;
    using X = typename Q::b_type;
    using C = typename Q::c_type;
    using S = typename Q::scalar;
    static constexpr index_t width = complex_like<X> ? 2 : 1; // numbers of an element
    template <class T>
    static constexpr bool has_numbers = complex_like<T> || std::is_same_v<T, R>; // of type R, in memory

    static constexpr bool is_part = requires(typename Q::a_operand const& a) { a.points(); };

    explicit hadamard_job(Q const& problem) : p(problem) {
        if constexpr (is_part)
            n = p.a.points(), by_sequency = false;
        else
            n = p.a.rows, by_sequency = p.a.order == hadamard_order::sequency;
        bits = bits_of(n);
        p.alpha = scaled_by(p.alpha, S(p.a.scale));
        conjugate = width == 2 && p.b.conjugate;
        is_plain = std::is_same_v<typename Q::epilogue_type, identity> && p.beta == S(0) && has_numbers<C>;
        if constexpr (complex_like<S>) {
            is_plain = is_plain && p.alpha.imag() == R(0);
            factor = p.alpha.real();
        } else {
            factor = p.alpha;
        }
    }
    X const* input(index_t batch, index_t k, index_t j) const {
        return p.b.data + (batch * p.b_step + k * p.b.row_stride + j * p.b.col_stride);
    }
    C* output(index_t batch, index_t k, index_t j) const {
        return p.c.data + (batch * p.c_step + k * p.c.row_stride + j * p.c.col_stride);
    }
    index_t row_of(index_t k) const { return by_sequency ? sequency_of_row(k, bits) : k; }

    Q p;
    index_t n;
    int bits;
    bool by_sequency, conjugate;
    bool is_plain; // the result of a kernel is C, without E and epilogue
    R factor;
    hadamard_share<R> in, out; // of a part
};

// Sums in twice the precision of double. `column` has room for 2n.
template <class Q>
void hadamard_by_definition(Q const& p, double* column) {
    using job_type = hadamard_job<Q>;
    using S = typename job_type::S;
    job_type const job(p);
    for (index_t b = 0; b < p.count; ++b) {
        Q const one = job.p.at(b);
        for (index_t j = 0; j < one.c.cols; ++j) {
            for (index_t k = 0; k < job.n; ++k) { // a copy, since C may be the same memory
                S const x = element_as<S>(one.b, k, j);
                if constexpr (complex_like<S>)
                    column[2 * k] = x.real(), column[2 * k + 1] = x.imag();
                else
                    column[2 * k] = x, column[2 * k + 1] = 0;
            }
            for (index_t i = 0; i < job.n; ++i) {
                index_t const row = job.by_sequency ? row_of_sequency(i, job.bits) : i;
                twofold re, im;
                for (index_t k = 0; k < job.n; ++k) {
                    double const sign = __builtin_parityll(static_cast<unsigned long long>(row & k)) ? -1 : 1;
                    re.add(sign * column[2 * k]), im.add(sign * column[2 * k + 1]);
                }
                using R = typename job_type::R;
                if constexpr (complex_like<S>)
                    finish_element(one, i, j, S(static_cast<R>(re.value()), static_cast<R>(im.value())));
                else
                    finish_element(one, i, j, static_cast<R>(re.value()));
            }
        }
    }
}

// How transforms of n points are divided, and what memory that takes: numbers for each thread, and for all together. It
// is enough however the operands lie.
template <class R>
struct hadamard_division {
    static constexpr index_t line = 64 / sizeof(R);
    index_t n, chunk; // numbers of a row of columns side by side
    int bits;
    int outer_across, outer_along; // log2 of n1; 0: a block is in the cache
    index_t own = 0, shared = 0;

    // `numbers`: of a row of the matrix. `width`: of an element.
    hadamard_division(index_t points, index_t numbers, index_t width)
        : n(points < 1 ? 1 : points), bits(bits_of(n)) {
        index_t const W = hadamard_kernels_here<R>().lanes, size = sizeof(R),
                      cache = second_level_cache() / 2, last_cache = third_level_cache() / 2,
                      filled = index_t{1} << bits_of(numbers);
        auto const outer = [&](index_t row) { return n * row * size <= cache ? 0 : bits / 2; };
        outer_across = outer(4 * line), outer_along = outer(width);
        // Rows as long as the cache has room for, up to a page: lines side by side are read faster than lines apart.
        index_t const rows = outer_across == 0 ? n : n >> outer_across, all = outer_across == 0 ? 0 : n;
        for (chunk = line;
             chunk < 4096 / size && rows * 2 * chunk * size <= cache && all * 2 * chunk * size <= last_cache;)
            chunk *= 2;
        chunk = larger_of(W, smaller(chunk, filled));
        auto const with_gaps = [](index_t some) { return hadamard_rows<R>::with_gaps(some); };
        index_t const in_vectors = larger_of(W, (n >> outer_along) * width);
        own = larger_of(with_gaps(rows) * chunk, with_gaps(in_vectors / W) * W);
        own = larger_of(own, with_gaps(index_t{1} << outer_along) * line);
        if (outer_across > 0) shared = n * chunk;
        if (outer_along > 0) shared = larger_of(shared, n * width);
    }
};

// The elements that a block has: row r of it has in lane l the element (k + r k_row + l k_lane, j + l j_lane) of the
// product `batch`.
struct hadamard_places {
    index_t batch, k, k_row, k_lane, j, j_lane, rows, lanes;
};

template <class Q>
class hadamard_blocks {
    using job_type = hadamard_job<Q>;
    using R = typename job_type::R;
    using X = typename job_type::X;
    using C = typename job_type::C;
    using S = typename job_type::S;
    static constexpr index_t width = job_type::width, line = hadamard_division<R>::line;

public:
    hadamard_blocks(job_type const& to_do, hadamard_division<R> const& division)
        : job(to_do), with(hadamard_kernels_here<R>()), W(with.lanes),
          along(rows_are_closer(job.p.b) || job.p.b.cols * width < W), chunk(division.chunk),
          outer(along ? division.outer_along : division.outer_across), inner(job.n >> outer),
          beside(along ? width : chunk) {}

    // Items: transforms that are done together, by one thread if they are not long.
    index_t items() const {
        index_t const cols = job.p.c.cols;
        return along ? divide_up(cols * job.p.count, packed()) : divide_up(cols, chunk / width) * job.p.count;
    }
    bool is_long() const { return outer > 0; }
    index_t outer_rows() const { return index_t{1} << outer; }

    void transform(index_t item, R* room) const {
        if (along && packed() > 1)
            transform_packed(item, room);
        else
            last_step(item, 0, nullptr, room);
    }
    // A long transform: first blocks of rows that are far apart, then blocks of rows side by side; threads share
    // either. `t` holds what is between.
    index_t first_blocks() const { return inner * beside / (along ? line : chunk); }
    void first_step(index_t item, index_t block, R* t, R* room) const {
        index_t const row = along ? line : chunk;
        hadamard_places at = places_of(item);
        at.k_row = inner, at.rows = outer_rows();
        if (along)
            at.k = block * (line / width), at.lanes = line / width;
        else
            at.k = block;
        hadamard_block<R> g{};
        g.room = {room, row, true}, g.to = {t + block * row, inner * beside};
        g.bits = outer, g.width = row, g.last = 1, g.factors[0] = g.factors[1] = R(1);
        g.from = loaded(at, row, g.room);
        with.transform(g);
    }
    void last_step(index_t item, index_t block, R const* t, R* room) const {
        index_t const row = along ? W : chunk;
        hadamard_places at = places_of(item);
        at.k = block * inner;
        if (along)
            at.k_row = at.lanes = W / width, at.rows = inner / at.k_row;
        else
            at.rows = inner;
        hadamard_block<R> g{};
        g.room = {room, row, true};
        g.bits = bits_of(at.rows), g.width = row, g.last = width, g.top = along ? W / 2 : 0;
        set_factors(g);
        g.from = t ? hadamard_rows<R const>{t + block * inner * beside, row} : loaded(at, row, g.room);
        if (stores_itself(at, row)) {
            g.to = rows_of(job.output(at.batch, job.by_sequency ? 0 : at.k, at.j), job.p.c, at);
            if (job.by_sequency) g.sequency_bits = job.bits, g.first_row = at.k;
            return with.transform(g);
        }
        g.to = g.room;
        with.transform(g);
        index_t const elements = W / width; // of a vector
        if constexpr (job_type::template has_numbers<C>)
            if (along && job.by_sequency && !is_long() && job.is_plain && is_row(job.p.c, at, row) &&
                at.rows >= elements)
                return with.by_sequency({room, row, true},
                                        reinterpret_cast<R*>(job.output(at.batch, 0, at.j)), job.bits, width);
        finish(at, g.room);
    }

private:
    // How many transforms a vector holds.
    index_t packed() const { return larger_of(1, W / (job.n * width)); }
    void transform_packed(index_t item, R* room) const {
        index_t const first = item * packed(), all = job.p.c.cols * job.p.count;
        hadamard_block<R> g{};
        g.room = g.to = {room, W, true}, g.from = {room, W, true};
        g.width = W, g.top = job.n * width / 2, g.last = width;
        set_factors(g);
        auto const each = [&](auto const& f) {
            for (index_t i = 0; i < smaller(packed(), all - first); ++i) {
                index_t const batch = (first + i) / job.p.c.cols, j = (first + i) - batch * job.p.c.cols;
                f(hadamard_places{batch, 0, 0, 1, j, 0, 1, job.n},
                  hadamard_rows<R>{room + i * job.n * width, W, true});
            }
        };
        for (index_t i = 0; i < W; ++i) room[i] = R(0);
        each([&](auto const& at, auto const& to) { gather(at, to); });
        with.transform(g);
        each([&](auto const& at, auto const& from) { finish(at, from); });
    }
    hadamard_places places_of(index_t item) const {
        index_t const cols = job.p.c.cols, each = along ? 1 : chunk / width, items = divide_up(cols, each),
                      batch = item / items, j = (item - batch * items) * each;
        return {batch, 0, 1, along ? 1 : 0, j, along ? 0 : 1, 1, along ? 1 : smaller(each, cols - j)};
    }
    // The kernel's factors: of what the kernel stores itself all there are, else those of conjugates alone.
    void set_factors(hadamard_block<R>& g) const {
        R const f = job.is_plain ? job.factor : R(1);
        g.factors[0] = f, g.factors[1] = job.conjugate ? -f : f;
    }
    // Whether the elements of a row are so many numbers side by side.
    template <class V>
    bool is_row(V const& v, hadamard_places const& at, index_t row) const {
        return at.lanes * width == row && at.k_lane * v.row_stride + at.j_lane * v.col_stride == 1;
    }
    bool stores_itself(hadamard_places const& at, index_t row) const {
        return !job_type::is_part && job.is_plain && is_row(job.p.c, at, row) && !(along && job.by_sequency);
    }
    template <class T, class V>
    auto rows_of(T* first, V const& v, hadamard_places const& at) const {
        using To = std::conditional_t<std::is_const_v<T>, R const, R>;
        return hadamard_rows<To>{reinterpret_cast<To*>(first), at.k_row * v.row_stride * width};
    }
    // Where a kernel reads these elements: in B, or in `room`, where they are put.
    hadamard_rows<R const> loaded(hadamard_places const& at, index_t row, hadamard_rows<R> room) const {
        if constexpr (!job_type::is_part && job_type::template has_numbers<X>)
            if (is_row(job.p.b, at, row)) return rows_of(job.input(at.batch, at.k, at.j), job.p.b, at);
        if (at.lanes * width < row)
            for (index_t r = 0; r < at.rows; ++r)
                for (index_t l = at.lanes * width; l < row; ++l) room.data[room.at(r) + l] = R(0);
        gather(at, room);
        return {room.data, room.row, room.gap};
    }
    static void put(R* y, X const& x, R sign) {
        if constexpr (width == 2)
            y[0] = sign * x.real(), y[1] = sign * x.imag();
        else
            y[0] = sign * x;
    }
    // Lanes whose points are no rows become zeros.
    void gather_part(hadamard_places const& at, hadamard_rows<R> const& to) const {
        hadamard_share<R> const& in = job.in;
        auto const& v = job.p.b;
        for (index_t r = 0; r < at.rows; ++r) {
            index_t const k = at.k + r * at.k_row, row = in.row_of(k);
            R* const y = to.data + to.at(r);
            if (at.k_lane == 0 && row >= 0) { // lanes are columns
                X const* const x = job.input(at.batch, row, at.j);
                R const sign = in.sign(k);
                if (v.col_stride == 1)
                    with.scaled(reinterpret_cast<R const*>(x), sign, y, at.lanes * width);
                else
                    for (index_t l = 0; l < at.lanes; ++l) put(y + l * width, x[l * v.col_stride], sign);
                continue;
            }
            for (index_t l = 0; l < at.lanes * width; ++l) y[l] = R(0);
            if (at.k_lane == 0) continue;
            if (in.rows) {
                for (index_t l = 0; l < at.lanes; ++l)
                    if (index_t const i = in.rows[k + l]; i >= 0)
                        put(y + l * width, *job.input(at.batch, i, at.j), R(1));
            } else {
                index_t const begin = larger_of(0, in.first - k),
                              end = smaller(at.lanes, in.first + in.count - k);
                if (width == 1 && v.row_stride == 1 && begin < end)
                    with.signed_by(
                        reinterpret_cast<R const*>(job.input(at.batch, k + begin - in.first, at.j)),
                        in.signs + k + begin, y + begin, end - begin);
                else
                    for (index_t l = begin; l < end; ++l)
                        put(y + l * width, *job.input(at.batch, k + l - in.first, at.j), in.signs[k + l]);
            }
        }
    }
    void gather(hadamard_places const& at, hadamard_rows<R> const& to) const {
        if constexpr (job_type::is_part) return gather_part(at, to);
        auto const& v = job.p.b;
        index_t const step = at.k_lane * v.row_stride + at.j_lane * v.col_stride;
        for (index_t r = 0; r < at.rows; ++r) {
            X const* x = job.input(at.batch, at.k + r * at.k_row, at.j);
            R* const y = to.data + to.at(r);
            for (index_t l = 0; l < at.lanes; ++l, x += step)
                if constexpr (width == 2)
                    y[2 * l] = x->real(), y[2 * l + 1] = x->imag();
                else
                    y[l] = static_cast<R>(*x);
        }
    }
    // Element (i, j) of C from the numbers of a point.
    void finish_one(Q const& one, index_t i, index_t j, R const* x, R sign) const {
        S const sum = [&] {
            if constexpr (width == 2)
                return S(sign * x[0], sign * x[1]);
            else
                return sign * x[0];
        }();
        if (job.is_plain)
            one.c(i, j) = sum;
        else
            finish_element(one, i, j, sum);
    }
    // Row i of C from the numbers of a point, columns beside each other.
    void finish_row(Q const& one, index_t i, hadamard_places const& at, R const* x, R sign) const {
        if (job.is_plain && one.c.col_stride == 1)
            return with.scaled(x, sign, reinterpret_cast<R*>(job.output(at.batch, i, at.j)),
                               at.lanes * width);
        for (index_t l = 0; l < at.lanes; ++l) finish_one(one, i, at.j + l, x + l * width, sign);
    }
    void finish_part(hadamard_places const& at, hadamard_rows<R> const& from) const {
        hadamard_share<R> const& out = job.out;
        Q const one = job.p.at(at.batch);
        if (out.points && !is_long()) { // the rows of C, which are fewer than the points
            for (index_t i = 0; i < out.count; ++i) {
                index_t const k = out.points[i];
                if (at.k_lane == 1) {
                    finish_one(one, i, at.j, from.data + (from.at(k / at.lanes) + k % at.lanes * width),
                               R(1));
                } else {
                    finish_row(one, i, at, from.data + from.at(k), R(1));
                }
            }
            return;
        }
        for (index_t r = 0; r < at.rows; ++r) {
            R const* const x = from.data + from.at(r);
            index_t const first = at.k + r * at.k_row;
            if (at.k_lane == 0) {
                if (index_t const i = out.row_of(first); i >= 0) finish_row(one, i, at, x, out.sign(first));
                continue;
            }
            if constexpr (width == 1)
                if (out.signs && job.is_plain && one.c.row_stride == 1) {
                    index_t const begin = larger_of(0, out.first - first),
                                  end = smaller(at.lanes, out.first + out.count - first);
                    if (begin < end)
                        with.signed_by(x + begin, out.signs + first + begin,
                                       job.output(at.batch, first + begin - out.first, at.j), end - begin);
                    continue;
                }
            for (index_t l = 0; l < at.lanes; ++l) {
                index_t const k = first + l, i = out.row_of(k);
                if (i >= 0) finish_one(one, i, at.j, x + l * width, out.sign(k));
            }
        }
    }
    // C = epilogue(alpha x + beta E), of elements x of a block.
    void finish(hadamard_places const& at, hadamard_rows<R> const& from) const {
        if constexpr (job_type::is_part) return finish_part(at, from);
        Q const one = job.p.at(at.batch);
        index_t lane_row[line]; // a row of C is row_of(k) of the first lane, ^ this
        if (at.k_lane == 1)
            for (index_t l = 0; l < at.lanes; ++l) lane_row[l] = job.row_of(l);
        for (index_t r = 0; r < at.rows; ++r) {
            index_t const row = job.row_of(at.k + r * at.k_row);
            R const* const x = from.data + from.at(r);
            for (index_t l = 0; l < at.lanes; ++l) {
                index_t const i = at.k_lane == 1 ? row ^ lane_row[l] : row, j = at.j + l * at.j_lane;
                if constexpr (width == 2) {
                    S const sum(x[2 * l], x[2 * l + 1]);
                    if (job.is_plain)
                        one.c(i, j) = sum;
                    else
                        finish_element(one, i, j, sum);
                } else if (job.is_plain) {
                    one.c(i, j) = static_cast<C>(x[l]);
                } else {
                    finish_element(one, i, j, x[l]);
                }
            }
        }
    }

    job_type const& job;
    hadamard_kernels<R> const& with;
    index_t W;
    bool along;
    index_t chunk;
    int outer;
    index_t inner, beside; // points of the last step; numbers of a row of `t`, but for the points
};

// All transforms of a product, by at most `team` threads.
template <class Leaf, class Q, class Arena>
status hadamard_fast(Leaf const& by, hadamard_job<Q> const& job,
                     hadamard_division<typename hadamard_job<Q>::R> const& division, int team,
                     Arena& memory) {
    using R = typename hadamard_job<Q>::R;
    hadamard_blocks<Q> const blocks(job, division);
    typename Arena::scope const scope(memory);
    R* const t = memory.template take<R>(division.shared);
    R* const own = memory.template take<R>(division.own * team);
    auto const each = [&](index_t count, auto const& f) {
        constexpr index_t most = 1 << 20; // parts are counted in int
        int const parts = static_cast<int>(smaller(count, most));
        by.each(team, parts, [&](int thread, int part) {
            for (index_t b = count * part / parts; b < count * (part + 1) / parts; ++b)
                f(b, own + thread * division.own);
        });
    };
    if (!blocks.is_long()) {
        each(blocks.items(), [&](index_t item, R* room) { blocks.transform(item, room); });
        return {};
    }
    for (index_t item = 0; item < blocks.items(); ++item) {
        each(blocks.first_blocks(), [&](index_t b, R* room) { blocks.first_step(item, b, t, room); });
        each(blocks.outer_rows(), [&](index_t b, R* room) { blocks.last_step(item, b, t, room); });
    }
    return {};
}

STRATAGEMM_END
