// Products of two element types: what is narrower than float is widened while it is packed, and exactly, so that memory
// gives no more than its own bytes.
//
// The job is one of floats, with the kernels and the order of summation of such a product. Few rows are multiplied by a
// matrix that is widened in registers, or some lines at a time, which stay in the first- or second-level cache.
#pragma once

#include "vector.hpp"

STRATAGEMM_BEGIN

using widened_job = host_job<float, real_packing<float, float>>;

// What a job with few rows needs of B beside what packs it.
struct widened_b {
    host_sum<float> turned; // packs columns
    // C = alpha A B + beta E for rows [p, p + k) and columns [j, j + n) of B, widened in registers: of one whose rows are
    // contiguous, and dot products of one whose columns are. Null where the machine has no such kernel.
    using kernel = void (*)(host_sum<float> const& b, block_args<float> g, index_t p, index_t j);
    kernel rows, dots;
};

// What packs an operand that is widened, for a job that has no data of it.
template <class From>
struct widened_packing {
    // `x` has to outlive it. Nothing for floats, which are read where they lie.
    static host_sum<float> of(view<From const> const& x) {
        if constexpr (std::is_same_v<From, float>)
            return {};
        else
            return {&x, 1, pack_a, pack_b};
    }
    // `turned` is the transpose of a B that of() is for.
    static widened_b of_b(view<From const> const& turned) {
        auto const& table = kernels<float, From>();
        constexpr bool widens = !std::is_same_v<From, float>;
        return {of(turned), widens && table.rows_times_rows ? rows : nullptr,
                widens && table.dot_products ? dots : nullptr};
    }
    static view<float const> outline_of(view<From const> const& x) {
        if constexpr (std::is_same_v<From, float>)
            return x;
        else
            return {nullptr, x.rows, x.cols, x.row_stride, x.col_stride};
    }
    // The operand itself if it has floats, or a copy that lies as it does.
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
    static void rows(host_sum<float> const& b, block_args<float> g, index_t p, index_t j) {
        auto const& table = kernels<float, From>();
        view<From const> const& all = in(b);
        g.b = reinterpret_cast<float const*>(&all(p, j)), g.b_row = all.row_stride; // counted in its elements
        if (all.rows * all.cols * index_t{sizeof(From)} > fetched_from(table.masked)) g.ahead = g.b;
        table.rows_times_rows(g);
    }
    static void dots(host_sum<float> const& b, block_args<float> g, index_t p, index_t j) {
        view<From const> const& all = in(b);
        g.b = reinterpret_cast<float const*>(&all(p, j)),
        g.b_strip = all.col_stride; // counted in its elements
        kernels<float, From>().dot_products(g);
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
    static constexpr index_t in_registers = 16; // most rows of A for a B that is widened in registers
    static constexpr std::size_t bytes = (few_size + lines_size + total_size) * sizeof(float);

    float *few, *lines,
        *total; // the operand of few rows, lines of the other, and C where it is not written to

    explicit widened_room(host_arena& memory)
        : few(memory.take<float>(few_size)), lines(memory.take<float>(lines_size)),
          total(memory.take<float>(total_size)) {}
};

// Products of so few elements are those of floats, of copies.
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

// Sums of the terms [p, p + g.k) by generated kernels, eight rows of B at a time. False: there is none yet.
template <class Job>
bool sum_rows(Job const& job, block_args<float> const& g, index_t p, index_t j, float* lines, float* sums) {
    block_args<float> step = g;
    step.c = sums, step.c_row = g.n, step.alpha = 1, step.beta = 0,
    step.b_strip = kernels<float, float>().strip;
    for (index_t q = 0; q < g.k; q += step.k) {
        step.k = smaller(8, g.k - q), step.a = g.a + q * g.a_col;
        if (job.b_sum.terms)
            job.b_sum.pack_a(job.b_sum, p + q, j, step.k, g.n, lines), step.b = lines, step.b_row = g.n;
        else
            step.b = &job.b(p + q, j), step.b_row = job.b.row_stride;
        auto const kernel = generated_next(step, q == 0 ? generated_form::tiles : generated_form::continued);
        if (!kernel) return false;
        kernel(step);
    }
    return true;
}

// Few rows times columns [r.j0, r.j1) of a B whose rows are contiguous.
template <class Job>
[[gnu::cold, gnu::noinline]] void multiply_widened_rows(Job const& job, widened_b const& b, host_region r,
                                                        widened_room const& room) {
    auto const& table = kernels<float, float>();
    index_t const m = job.rows(), depth = job.depth(), length = pieces_of<float>(depth).length;
    bool const in_registers = b.rows && m <= widened_room::in_registers;
    index_t const most = widened_room::total_size / (in_registers ? m : m + 8) / 16 * 16;
    for (index_t j = r.j0; j < r.j1; j += most) {
        host_region const part{0, m, j, smaller(j + most, r.j1), 0, depth};
        block_args<float> g = begin_part(job, room, part);
        float* const sums = room.lines + 8 * g.n;
        for (index_t p = 0; p < depth; p += length) {
            g.k = smaller(length, depth - p);
            if (job.a_sum.terms)
                job.a_sum.pack_a(job.a_sum, 0, p, m, g.k, room.few), g.a = room.few, g.a_row = g.k,
                                                                     g.a_col = 1;
            else
                g.a = &job.a(0, p), g.a_row = job.a.row_stride, g.a_col = job.a.col_stride;
            if (in_registers) {
                b.rows(job.b_sum, g, p, j);
            } else if (sum_rows(job, g, p, j, room.lines, sums)) {
                g.b = sums, g.b_row = g.n;
                table.add(g);
            } else {
                index_t const width = widened_room::lines_size / g.k / table.strip * table.strip;
                block_args<float> x = g;
                x.b = room.lines, x.b_row = table.strip, x.b_strip = g.k * table.strip;
                for (index_t from = 0; from < g.n; from += width) {
                    x.n = smaller(width, g.n - from), x.c = g.c + from, x.e = g.e ? g.e + from : nullptr;
                    if (job.b_sum.terms)
                        job.b_sum.pack_b(job.b_sum, p, j + from, g.k, x.n, room.lines);
                    else
                        real_packing<float, float>::pack_b(job.b, p, j + from, g.k, x.n, room.lines);
                    table.block(x);
                }
            }
            g.e = g.c, g.e_row = g.c_row, g.beta = 1;
        }
        end_part(job, room, part);
    }
}

// Dot products, of a piece of k after the other: lines of the operand that has more of them are widened some at a time.
template <class Job>
[[gnu::cold, gnu::noinline]] void multiply_widened_dots(Job const& job, widened_b const& b, host_region r,
                                                        widened_room const& room) {
    index_t const m = job.rows(), n = job.cols(), depth = job.depth(), few = smaller(m, n);
    bool const few_a = m <= n, in_registers = b.dots && few_a && m <= widened_room::in_registers &&
                                              job.b.row_stride == 1 &&
                                              (job.a_sum.terms || job.a.col_stride == 1);
    index_t const length =
        pieces_of_dots(sizeof(float), few, job.a.col_stride != 1 || job.b.row_stride != 1, depth).length;
    index_t const begin = few_a ? r.j0 : r.i0, end = few_a ? r.j1 : r.i1,
                  most = in_registers ? widened_room::total_size / few
                                      : larger_of(4, 8192 / length); // lines that the first-level cache holds
    index_t packed = -1; // the piece of k that the operand of few lines is packed for
    for (index_t from = begin; from < end; from += most) {
        host_region part{r.i0, r.i1, r.j0, r.j1, 0, depth};
        (few_a ? part.j0 : part.i0) = from, (few_a ? part.j1 : part.i1) = smaller(from + most, end);
        block_args<float> g = begin_part(job, room, part);
        for (index_t p = 0; p < depth; p += length) {
            g.k = smaller(length, depth - p);
            // Rows of A, or columns of B, along k.
            auto const lines_of = [&](host_sum<float> const& x, bool is_few, index_t i, index_t lines) {
                float* const to = is_few ? room.few : room.lines;
                if (!is_few || packed != p) x.pack_a(x, i, p, lines, g.k, to);
                return to;
            };
            index_t b_col = job.b.col_stride;
            if (job.a_sum.terms)
                g.a = lines_of(job.a_sum, few_a, part.i0, g.m), g.a_row = g.k, g.a_col = 1;
            else
                g.a = &job.a(part.i0, p), g.a_row = job.a.row_stride, g.a_col = job.a.col_stride;
            if (in_registers) {
                b.dots(job.b_sum, g, p, part.j0);
            } else {
                if (b.turned.terms)
                    g.b = lines_of(b.turned, !few_a, part.j0, g.n), b_col = g.k, g.b_row = 1;
                else
                    g.b = &job.b(p, part.j0), g.b_row = job.b.row_stride;
                multiply_by_dots(g, b_col, few);
            }
            packed = p;
            g.e = g.c, g.e_row = g.c_row, g.beta = 1;
        }
        end_part(job, room, part);
    }
}

// How such a job is done. Of few rows an operand that is packed whole would be written to memory and read again.
template <class Job>
host_way way_of_widened(Job const& job, widened_b const& b, int team) {
    index_t const m = job.rows(), n = job.cols(), depth = job.depth();
    host_way way = way_of(job);
    bool const has_kernel = kernels<float, float>().generated || (b.rows && m <= widened_room::in_registers);
    bool const has_rows = job.b.col_stride == 1 && depth > 1 && has_kernel;
    if (way == host_way::dots) return smaller(m, n) <= few_dots(sizeof(float)) ? way : host_way::blocks;
    if (job.b_sum.terms && has_rows) way = host_way::rows;
    return way == host_way::rows && has_rows && m <= widened_room::most_rows &&
                   pieces_apart<float>(m, n, depth, team) == 0
               ? way
               : host_way::blocks;
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
