// A few rows times a matrix: the speed of memory, so B is read once, in the order it lies, and nothing is packed.
#pragma once

#include "packets.hpp"

STRATAGEMM_BEGIN

// How a job is done.
template <class TA, class Packing>
[[gnu::cold]] host_way way_of(host_job<TA, Packing> const& job) {
    if constexpr (Packing::in_place && Packing::widen == 1) {
        auto const &a = job.a, &b = job.b;
        host_facts f = host_facts_of(Packing::kernels(), a.rows, b.cols, job.depth(), a.row_stride,
                                     a.col_stride, b.row_stride, b.col_stride);
        f.of_packets = is_packet<typename Packing::packet> ? sizeof(TA) : 0;
        f.invariant = job.invariant;
        return f.way();
    }
    return host_way::blocks;
}

// A few rows times a piece of a matrix that comes from memory: eight rows of B at a time are read as they lie, while
// the sums stay in the first-level cache. A generated kernel continues these sums. A compiled kernel multiplies one row
// whose B is not in pages (are_few_rows), and columns that have no generated kernel yet.
template <class Table, class T>
[[gnu::cold, gnu::noinline]] void multiply_rows(Table const& table, block_args<T> const& g) {
    constexpr index_t room = 32768 / sizeof(T);
    alignas(64) T sums[room];
    block_args<T> part = g;
    bool const apart = !table.masked && are_pages_apart(g.b_row * index_t{sizeof(T)});
    index_t const width = smaller(room / g.m / 16 * 16, g.n);
    for (index_t j = 0; j < g.n; j += width) {
        part.n = smaller(width, g.n - j), part.b = g.b + j, part.c = g.c + j;
        part.e = g.e ? g.e + j : nullptr;
        block_args<T> step = part;
        step.b_strip = table.strip, step.c = sums, step.c_row = width, step.alpha = T(1), step.beta = T(0);
        bool done = table.generated && (g.m > 1 || apart);
        for (index_t p = 0; p < g.k && done; p += step.k) {
            step.k = smaller(g.m < 8 || apart ? 8 : 16, g.k - p), step.a = g.a + p * g.a_col,
            step.b = part.b + p * g.b_row;
            auto const kernel =
                generated_next(step, p == 0 ? generated_form::tiles : generated_form::continued);
            if (kernel) kernel(step);
            done = kernel;
        }
        if (done)
            part.b = sums, part.b_row = width, table.add(part), part.b_row = g.b_row;
        else
            table.rows_times_rows(part);
    }
}

template <class TA, class Packing>
void multiply_vector_part(host_job<TA, Packing> const& job, bool dots, host_region r,
                          host_scratch<Packing> const& scratch) {
    using T = dotted<typename Packing::packet>;
    using Acc = accumulated<T>;
    using sizes = block_sizes<typename Packing::packet>;
    auto const& table = Packing::kernels();
    block_args<T> g{};
    g.alpha = job.alpha, g.a_row = job.a.row_stride, g.a_col = job.a.col_stride, g.b_row = job.b.row_stride;
    index_t const step = dots ? job.a.cols : pieces_of<T>(job.a.cols).length;
    index_t const height = job.write ? sizes::staged : r.i1 - r.i0,
                  width = job.write ? sizes::n() : r.j1 - r.j0;
    // Rows of a B that comes from memory are fetched ahead. Where the third-level cache is near, AVX-512 reads a B of
    // 12 to 16 MiB for one row of A up to 13% faster without fetching ahead.
    index_t const b_bytes = job.a.cols * job.b.cols * index_t{sizeof(T)}, far = fetched_from(table.masked),
                  near = job.a.rows == 1 && table.masked ? larger_of(far, 16 << 20) : far;
    if (!dots && b_bytes > near) g.ahead = job.b.data;
    for (index_t i = r.i0; i < r.i1; i += height)
        for (index_t j = r.j0; j < r.j1; j += width) {
            g.m = smaller(height, r.i1 - i), g.n = smaller(width, r.j1 - j);
            g.c_row = job.write ? g.n : job.c_row, g.e_row = job.write ? g.n : job.e_row;
            g.c = job.write ? scratch.sum : job.c + i * g.c_row + j;
            g.e = job.write ? scratch.sum : job.e + i * g.e_row + j;
            g.beta = !job.write ? job.beta : job.begin ? Acc(1) : Acc(0);
            if (job.begin) job.begin(job.problem, job.swapped, scratch.sum, g.n, i, j, g.m, g.n);
            for (index_t p = 0; p < job.a.cols; p += step) {
                g.k = smaller(step, job.a.cols - p), g.a = &job.a(i, p), g.b = &job.b(p, j);
                if constexpr (std::is_same_v<T, std::int8_t>)
                    multiply_by_dots(table, g, job.b.col_stride, job.b.cols < job.a.rows);
                else if (dots)
                    multiply_by_dots(g, job.b.col_stride, smaller(job.a.rows, job.b.cols));
                else if constexpr (std::is_same_v<typename Packing::packet, T>)
                    multiply_rows(table, g);
                g.e = g.c, g.e_row = g.c_row, g.beta = Acc(1);
            }
            if (job.write) job.write(job.problem, job.swapped, scratch.sum, g.n, i, j, g.m, g.n);
        }
}

STRATAGEMM_END
