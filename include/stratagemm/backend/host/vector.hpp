// A few rows times a matrix: the speed of memory, so B is read once, in the order it lies, and nothing is packed.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

// A job of one row that need not sum in the order of others.
template <class TA, class Packing>
bool sums_dot_products(host_job<TA, Packing> const& job) {
    return job.a.rows == 1 && !job.invariant && job.a.col_stride == 1 && job.b.row_stride == 1 &&
           job.b.col_stride != 1 && Packing::kernels().dot_products;
}

// A job of one row whose B has contiguous rows or columns, of up to four rows and a B with contiguous columns, or of
// up to 24 rows and a B with contiguous rows that is too large for tiles to read where it is.
template <class TA, class Packing>
bool is_vector_job(host_job<TA, Packing> const& job) {
    if constexpr (!Packing::in_place || Packing::widen != 1) {
        return false;
    } else {
        if (job.a.cols <= 1) return false;
        auto const& table = Packing::kernels();
        bool const takes_rows = job.b.col_stride == 1 && table.rows_times_rows,
                   takes_columns = job.b.row_stride == 1 && table.rows_times_columns;
        if (job.a.rows == 1) return takes_rows || takes_columns || sums_dot_products(job);
        constexpr index_t size = sizeof(typename Packing::packet);
        if (takes_columns && job.b.col_stride != 1) return job.a.rows <= 4;
        return job.a.rows <= 24 && takes_rows &&
               (job.a.rows < 4 || (job.b.row_stride * size > 2048 &&
                                   !is_near(job.a.rows, job.b.rows, job.b.row_stride * size)));
    }
}

template <class TA, class Packing>
void multiply_vector_part(host_job<TA, Packing> const& job, index_t j0, index_t j1,
                          host_scratch<Packing> const& scratch) {
    using T = typename Packing::packet;
    using sizes = block_sizes<T>;
    auto const& table = Packing::kernels();
    bool const by_rows = job.b.col_stride == 1;
    auto const kernel = sums_dot_products(job)                    ? table.dot_products
                        : !by_rows                                ? table.rows_times_columns
                        : job.a.rows == 1 && table.row_times_rows ? table.row_times_rows
                                                                  : table.rows_times_rows;
    auto const pieces = pieces_of<T>(job.a.cols);
    index_t const width = job.write ? sizes::n() : j1 - j0;
    for (index_t j = j0; j < j1; j += width) {
        index_t const cols = smaller(width, j1 - j);
        block_args<T> g{};
        g.m = job.a.rows, g.n = cols, g.alpha = job.alpha;
        g.a_row = job.a.row_stride;
        g.a_col = job.a.col_stride, g.b_row = job.b.row_stride, g.b_strip = job.b.col_stride;
        g.c = job.write ? scratch.sum : job.c + j;
        g.e = job.write ? scratch.sum : job.e + j;
        g.c_row = job.write ? cols : job.c_row, g.e_row = job.write ? cols : job.e_row;
        g.beta = !job.write ? job.beta : job.begin ? T(1) : T(0);
        if (job.begin) job.begin(job.problem, job.swapped, scratch.sum, cols, 0, j, g.m, cols);
        g.piece = pieces.length;
        // Rows of a B that comes from memory are fetched ahead; from a cache they come as fast without.
        if (by_rows && job.a.cols * job.b.cols * index_t{sizeof(T)} > index_t{8} << 20) g.ahead = job.b.data;
        index_t const step = by_rows ? pieces.length : job.a.cols;
        for (index_t p = 0; p < job.a.cols; p += step) {
            g.k = smaller(step, job.a.cols - p);
            g.a = job.a.data + p * job.a.col_stride;
            g.b = job.b.data + p * job.b.row_stride + j * job.b.col_stride;
            kernel(g);
            g.e = g.c, g.e_row = g.c_row, g.beta = T(1);
        }
        if (job.write) job.write(job.problem, job.swapped, scratch.sum, cols, 0, j, g.m, cols);
    }
}

template <class TA, class Packing>
void multiply_vector(host_job<TA, Packing> const& job, int team, host_arena& arena) {
    using scratch = host_scratch<Packing>;
    host_arena::scope const scope(arena);
    index_t const n = job.cols(), depth = job.depth();
    std::size_t const bytes = scratch::bytes(job.rows(), n, depth);
    std::byte* const own = arena.take<std::byte>(static_cast<index_t>(bytes) * team);
    host_each(team, team, [&](int thread, int x) {
        host_arena part(own + thread * static_cast<index_t>(bytes), bytes, nullptr);
        multiply_vector_part(job, cut(n, x, team, 64), cut(n, x + 1, team, 64),
                             scratch(part, job.rows(), n, depth));
    });
}

STRATAGEMM_END
