// Products of two element types: elements narrower than float are widened while they are packed, and exactly, so that
// memory gives no more than their own bytes.
//
// The job is one of floats, with the kernels and the order of summation of such a product. Generated kernels widen a
// matrix that few rows need in registers, where the matrix lies (block_args::narrow). Where there is no such kernel,
// compiled kernels do so for rows of the matrix, and lines of dot products are widened some at a time, into the
// first-level cache.
#pragma once

#include "vector.hpp"

STRATAGEMM_BEGIN

using widened_job = host_job<float, real_packing<float, float>>;

// The functions for a B in a job with few rows, beside those that pack B.
struct widened_b {
    host_sum<float> turned; // packs columns
    // C = alpha A B + beta E, compiled, for elements of B as they are stored. `rows` takes a B whose rows are
    // contiguous; `dots` computes dot products with a B that is widened and whose columns are contiguous. Null where
    // the machine has no such kernel.
    block_function<float> rows, dots;
};

// The functions that pack an operand that is widened. The job has no data of this operand.
template <class From>
struct widened_packing {
    // `x` has to outlive the result. Floats get an empty result: they are read where they lie.
    static host_sum<float> of(view<From const> const& x) {
        if constexpr (std::is_same_v<From, float>)
            return {};
        else
            return {&x,
                    1,
                    pack_a,
                    pack_b,
                    reinterpret_cast<std::byte const*>(x.data),
                    generated_narrow<From>,
                    sizeof(From)};
    }
    // `turned` is the transpose of a B that of() is for.
    static widened_b of_b(view<From const> const& turned) {
        auto const& table = kernels<float, From>();
        constexpr bool widens = !std::is_same_v<From, float>;
        return {of(turned), table.rows_times_rows, widens ? table.dot_products : nullptr};
    }
    static view<float const> outline_of(view<From const> const& x) {
        if constexpr (std::is_same_v<From, float>)
            return x;
        else
            return {nullptr, x.rows, x.cols, x.row_stride, x.col_stride};
    }
    // The operand itself if it has floats, or a copy with the same layout.
    static view<float const> copy(view<From const> const& x, host_arena& memory) {
        if constexpr (std::is_same_v<From, float>) {
            return x;
        } else {
            bool const across = rows_are_closer(x);
            auto const lines = across ? transposed(x) : x;
            float* const to = memory.take<float>(x.rows * x.cols);
            real_packing<From, float>::pack_a(lines, 0, 0, lines.rows, lines.cols, to);
            view<float const> const all{to, lines.rows, lines.cols, lines.cols, 1};
            return across ? transposed(all) : all;
        }
    }

private:
    static view<From const> const& in(host_sum<float> const& x) {
        return *static_cast<view<From const> const*>(x.term);
    }
    static void pack_a(host_sum<float> const& x, index_t i, index_t p, index_t rows, index_t depth,
                       float* to) {
        real_packing<From, float>::pack_a(in(x), i, p, rows, depth, to);
    }
    static void pack_b(host_sum<float> const& x, index_t p, index_t j, index_t depth, index_t cols,
                       float* to) {
        real_packing<From, float>::pack_b(in(x), p, j, depth, cols, to);
    }
};

// The workspace of a thread for few rows, in floats.
struct widened_room {
    static constexpr index_t most_rows = 48, few_size = most_rows * longest_piece(sizeof(float)),
                             lines_size = 32768, total_size = 16384;
    static constexpr std::size_t bytes = (few_size + lines_size + total_size) * sizeof(float);

    // The operand of few rows, lines of the other or sums, and C where it is not written to.
    float *few, *lines, *total;

    explicit widened_room(host_arena& memory)
        : few(memory.take<float>(few_size)), lines(memory.take<float>(lines_size)),
          total(memory.take<float>(total_size)) {}
};

// Products of so few elements are computed as products of floats, from copies.
inline bool is_widened_before(index_t m, index_t n, index_t k) { return (m + n) * k <= 8192; }
inline std::size_t widened_bytes(index_t m, index_t n, index_t k, int team) {
    auto const room = [&](index_t count) {
        return host_arena::rounded(static_cast<std::size_t>(count) * sizeof(float));
    };
    std::size_t const packed = multiply_bytes<real_packing<float, float>>(m, n, k, team),
                      few = widened_room::bytes * static_cast<std::size_t>(team);
    return (packed < few ? few : packed) + (is_widened_before(m, n, k) ? room(m * k) + room(k * n) : 0);
}

// A part of C on its way: C itself, or a buffer where C is written by a function.
template <class Job>
block_args<float> begin_part(Job const& job, widened_room const& room, host_region const& r) {
    block_args<float> g{};
    g.m = r.i1 - r.i0, g.n = r.j1 - r.j0, g.alpha = job.alpha;
    g.c = job.write ? room.total : job.c + r.i0 * job.c_row + r.j0, g.c_row = job.write ? g.n : job.c_row;
    g.e = job.write ? room.total : job.e + r.i0 * job.e_row + r.j0, g.e_row = job.write ? g.n : job.e_row;
    g.beta = !job.write ? job.beta : job.begin ? 1.0f : 0.0f;
    if (job.begin) job.begin(job.problem, job.swapped, room.total, g.n, r.i0, r.j0, g.m, g.n);
    return g;
}
template <class Job>
void end_part(Job const& job, widened_room const& room, host_region const& r) {
    if (job.write)
        job.write(job.problem, job.swapped, room.total, r.j1 - r.j0, r.i0, r.j0, r.i1 - r.i0, r.j1 - r.j0);
}

// Where kernels find the elements of B from (p, j) on. Kernels may have to widen these.
template <class Job>
float const* b_at(Job const& job, index_t p, index_t j) {
    return job.b_sum.terms ? job.b_sum.at(p * job.b.row_stride + j * job.b.col_stride) : &job.b(p, j);
}

// Sums of the terms [p, p + g.k) by generated kernels, some rows of B at a time. Returns false if there is no kernel
// yet.
template <class Job>
bool sum_rows(Job const& job, block_args<float> const& g, index_t p, index_t j, float* sums) {
    if (g.m == 1) return false; // whose compiled kernel is no slower
    block_args<float> step = g;
    step.c = sums, step.c_row = g.n, step.alpha = 1, step.beta = 0;
    step.b_strip = kernels<float, float>().strip, step.narrow = job.b_sum.narrow;
    for (index_t q = 0; q < g.k; q += step.k) {
        step.k = smaller(g.m < 8 ? 8 : 16, g.k - q), step.a = g.a + q * g.a_col, step.b = b_at(job, p + q, j);
        auto const kernel = generated_next(step, q == 0 ? generated_form::tiles : generated_form::continued);
        if (!kernel) return false;
        kernel(step);
    }
    return true;
}

// Few rows times columns [r.j0, r.j1) of a B whose rows are contiguous. B is read once, in the order of its rows, as
// multiply_rows() reads a B of floats (vector.hpp).
template <class Job>
[[gnu::cold, gnu::noinline]] void multiply_widened_rows(Job const& job, widened_b const& b, host_region r,
                                                        widened_room const& room) {
    auto const& table = kernels<float, float>();
    index_t const m = job.rows(), depth = job.depth(), length = pieces_of<float>(depth).length,
                  most = 8192 / m / 16 * 16; // sums that the first-level cache holds
    bool const is_far = depth * job.cols() * job.b_sum.size > fetched_from(table.masked);
    for (index_t j = r.j0; j < r.j1; j += most) {
        host_region const part{0, m, j, smaller(j + most, r.j1), 0, depth};
        block_args<float> g = begin_part(job, room, part);
        for (index_t p = 0; p < depth; p += length) {
            g.k = smaller(length, depth - p);
            if (job.a_sum.terms)
                job.a_sum.pack_a(job.a_sum, 0, p, m, g.k, room.few), g.a = room.few, g.a_row = g.k,
                                                                     g.a_col = 1;
            else
                g.a = &job.a(0, p), g.a_row = job.a.row_stride, g.a_col = job.a.col_stride;
            g.b = b_at(job, p, j), g.b_row = job.b.row_stride;
            if (sum_rows(job, g, p, j, room.lines)) {
                g.b = room.lines, g.b_row = g.n;
                table.add(g);
            } else {
                g.ahead = is_far ? g.b : nullptr;
                b.rows(g);
            }
            g.e = g.c, g.e_row = g.c_row, g.beta = 1;
        }
        end_part(job, room, part);
    }
}

// An operand of dot products: rows of A, or columns of B.
struct widened_lines {
    host_sum<float> const& sum;
    view<float const> all; // without data where these are widened

    // Whether kernels cannot read the lines where they are, in floats.
    bool are_packed() const { return sum.terms || all.col_stride != 1; }
    bool are_widened_in_place() const { return sum.narrow && all.col_stride == 1; }
    void pack(index_t i, index_t p, index_t lines, index_t depth, float* to) const {
        if (sum.terms)
            sum.pack_a(sum, i, p, lines, depth, to);
        else
            real_packing<float, float>::pack_a(all, i, p, lines, depth, to);
    }
    float const* at(index_t i, index_t p) const {
        return sum.terms ? sum.at(i * all.row_stride + p * all.col_stride) : &all(i, p);
    }
};
// The short side of dot products, and the other one.
struct widened_dots {
    bool few_a;
    index_t count; // the short side
    widened_lines few, many;
    index_t length; // of pieces of k

    template <class Job>
    widened_dots(Job const& job, widened_b const& b)
        : few_a(job.rows() <= job.cols()), count(smaller(job.rows(), job.cols())),
          few(few_a ? widened_lines{job.a_sum, job.a} : widened_lines{b.turned, transposed(job.b)}),
          many(few_a ? widened_lines{b.turned, transposed(job.b)} : widened_lines{job.a_sum, job.a}),
          length(pieces_of_dots(sizeof(float), count, job.a.col_stride != 1 || job.b.row_stride != 1,
                                job.depth())
                     .length) {}
    bool fits() const { return !few.are_packed() || count * length <= widened_room::few_size; }
    // Sets the lines of the short side, or of the other, and how far lines and their elements are apart.
    void put(block_args<float>& g, bool of_few, float const* from, index_t apart, index_t step = 1) const {
        if (of_few == few_a)
            g.a = from, g.a_row = apart, g.a_col = step;
        else
            g.b = from, g.b_strip = apart, g.b_row = step;
    }
};

// Dot products of lines that are widened in registers. Returns false if there is no kernel yet. A compiled kernel
// widens B for each row of A, which takes as long as multiplying it.
[[gnu::cold, gnu::noinline]] inline bool sum_dots(widened_dots const& of, widened_b const& b,
                                                  block_args<float> g) {
    g.narrow = (of.few_a ? 1 : 4) * of.many.sum.narrow;
    bool const factors = g.alpha != 1 || (g.beta != 0 && g.beta != 1);
    if (auto const kernel = factors ? nullptr : generated_next(g, generated_form::dots))
        return kernel(g), true;
    if (of.count > 1 || !of.few_a || !b.dots) return false;
    b.dots(g);
    return true;
}

// Dot products of floats: lines that need widening are widened some at a time, into the first-level cache.
[[gnu::cold, gnu::noinline]] inline void multiply_lines(widened_dots const& of, block_args<float> const& g,
                                                        index_t from, index_t p, float* room) {
    bool const packs = of.many.sum.terms;
    index_t const all = of.few_a ? g.n : g.m, most = packs ? larger_of(4, 8192 / of.length) : all;
    for (index_t x = 0; x < all; x += most) {
        index_t const count = smaller(most, all - x), in_c = of.few_a ? x : x * g.c_row,
                      in_e = of.few_a ? x : x * g.e_row;
        block_args<float> part = g;
        (of.few_a ? part.n : part.m) = count;
        part.c += in_c, part.e = g.e ? g.e + in_e : nullptr;
        if (packs) of.many.pack(from + x, p, count, g.k, room), of.put(part, false, room, g.k);
        multiply_by_dots(part, part.b_strip, of.count);
    }
}

// Dot products, one piece of k after the other.
template <class Job>
[[gnu::cold, gnu::noinline]] void multiply_widened_dots(Job const& job, widened_b const& b, host_region r,
                                                        widened_room const& room) {
    widened_dots const of(job, b);
    bool const few_a = of.few_a, packs_few = of.few.are_packed();
    index_t const depth = job.depth(), begin = few_a ? r.j0 : r.i0, end = few_a ? r.j1 : r.i1,
                  most = job.write ? widened_room::total_size / of.count : end - begin;
    index_t packed = -1; // the piece of k that the operand of few lines is packed for
    for (index_t from = begin; from < end; from += most) {
        host_region part{r.i0, r.i1, r.j0, r.j1, 0, depth};
        (few_a ? part.j0 : part.i0) = from, (few_a ? part.j1 : part.i1) = smaller(from + most, end);
        block_args<float> g = begin_part(job, room, part);
        for (index_t p = 0; p < depth; p += of.length) {
            g.k = smaller(of.length, depth - p);
            if (packs_few && packed != p) of.few.pack(0, p, of.count, g.k, room.few), packed = p;
            of.put(g, true, packs_few ? room.few : of.few.at(0, p), packs_few ? g.k : of.few.all.row_stride);
            of.put(g, false, of.many.at(from, p), of.many.all.row_stride, of.many.all.col_stride);
            if (!of.many.are_widened_in_place() || !sum_dots(of, b, g))
                multiply_lines(of, g, from, p, room.lines);
            g.e = g.c, g.e_row = g.c_row, g.beta = 1;
        }
        end_part(job, room, part);
    }
}

// How such a job is done. If few rows need an operand, packing it whole would write it to memory and read it again.
template <class Job>
host_way way_of_widened(Job const& job, widened_b const& b, int team) {
    index_t const m = job.rows(), depth = job.depth();
    if (way_of(job) == host_way::dots) return widened_dots(job, b).fits() ? host_way::dots : host_way::blocks;
    if (!b.rows || job.b.col_stride != 1 || depth <= 1 || m > widened_room::most_rows ||
        pieces_apart<float>(m, job.cols(), depth, team) > 0)
        return host_way::blocks;
    // Blocks read a B that they widen where it lies, if kernels are generated.
    index_t const vector = kernels<float, float>().generated,
                  row_bytes = magnitude(job.b.row_stride) * job.b_sum.size;
    return !vector || are_few_rows(vector, m, depth, row_bytes) ? host_way::rows : host_way::blocks;
}

// One product, by `team` threads. The arena holds widened_bytes() of these sides.
template <class Job>
[[gnu::cold]] void multiply_widened(Job const& job, widened_b const& b, int team, host_arena& arena) {
    host_way const way = way_of_widened(job, b, team);
    if (way == host_way::blocks) return multiply(job, team, arena, way);
    host_arena::scope const scope(arena);
    index_t const m = job.rows(), n = job.cols(), bytes = widened_room::bytes;
    std::byte* const own = arena.take<std::byte>(bytes * team);
    bool const dots = way == host_way::dots, by_rows = dots && m > n;
    host_each(team, team, [&](int thread, int x) {
        index_t const unit = dots ? 4 : 64, all = by_rows ? m : n, from = cut(all, x, team, unit),
                      to = cut(all, x + 1, team, unit);
        if (from == to) return;
        host_arena part(own + thread * bytes, widened_room::bytes, nullptr);
        widened_room const room(part);
        host_region r{0, m, 0, n, 0, job.depth()};
        (by_rows ? r.i0 : r.j0) = from, (by_rows ? r.i1 : r.j1) = to;
        if (dots)
            multiply_widened_dots(job, b, r, room);
        else
            multiply_widened_rows(job, b, r, room);
    });
}

STRATAGEMM_END
