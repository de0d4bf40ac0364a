// Matrix times vector: the speed of memory, so B is read once, in the order it lies, and nothing is packed.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// A job of one row whose B has contiguous rows or columns.
template <class TA, class Packing>
bool is_vector_job(host_job<TA, Packing> const& job) {
    if constexpr (!Packing::in_place || Packing::widen != 1)
        return false;
    else
        return job.a.rows == 1 && job.a.cols > 1 && (job.b.col_stride == 1 || job.b.row_stride == 1);
}

template <class TA, class Packing>
void multiply_vector_part(host_job<TA, Packing> const& job, index_t j0, index_t j1,
                          host_scratch<Packing> const& scratch) {
    using T = typename Packing::packet;
    using sizes = block_sizes<T>;
    auto const& table = Packing::kernels();
    bool const by_rows = job.b.col_stride == 1;
    bool const gathers = !by_rows && job.a.col_stride != 1; // dot products want x contiguous
    index_t const width = job.write ? sizes::n() : j1 - j0, piece = gathers ? sizes::k : job.a.cols;
    for (index_t j = j0; j < j1; j += width) {
        index_t const cols = smaller(width, j1 - j);
        for (index_t p = 0; p < job.a.cols; p += piece) {
            block_args<T> g{};
            g.m = 1, g.n = cols, g.k = smaller(piece, job.a.cols - p);
            g.a = job.a.data + p * job.a.col_stride, g.a_col = job.a.col_stride;
            if (gathers) {
                Packing::pack_a(job.a, false, 0, p, 1, g.k, scratch.a);
                g.a = scratch.a, g.a_col = 1;
            }
            g.b = job.b.data + p * job.b.row_stride + j * job.b.col_stride;
            g.b_row = job.b.row_stride, g.b_strip = job.b.col_stride;
            g.alpha = job.write ? T(1) : job.alpha;
            g.beta = p > 0 ? T(1) : job.write ? T(0) : job.beta;
            g.c = job.write ? scratch.sum : job.c + j;
            g.e = p > 0 || job.write ? g.c : job.e + j;
            g.c_row = g.e_row = 1;
            if (by_rows)
                table.row_times_rows(g);
            else
                table.row_times_columns(g);
        }
        if (job.write) job.write(job.problem, job.swapped, scratch.sum, cols, 0, j, 1, cols);
    }
}

template <class TA, class Packing>
void multiply_vector(host_job<TA, Packing> const& job, int team, host_arena& arena) {
    using scratch = host_scratch<Packing>;
    host_arena::scope const scope(arena);
    index_t const n = job.cols(), depth = job.depth();
    std::size_t const bytes = scratch::bytes(1, n, depth);
    std::byte* const own = arena.take<std::byte>(static_cast<index_t>(bytes) * team);
    host_each(team, team, [&](int thread, int x) {
        host_arena part(own + thread * static_cast<index_t>(bytes), bytes, nullptr);
        multiply_vector_part(job, cut(n, x, team, 64), cut(n, x + 1, team, 64), scratch(part, 1, n, depth));
    });
}

STRATAGEMM_END
