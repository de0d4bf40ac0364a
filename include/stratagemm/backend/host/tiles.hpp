// bfloat16 and int8 on the tile units (AMX) of x86-64.
//
// A tile is 16 rows of 64 bytes. Two tiles of A and two of B make a 32 x 32 block of C in four accumulators:
// per step of k (64 bytes of a row) four loads and four products of 16 cycles each. B wants the elements that
// one product adds (two bfloat16, four int8) side by side, so packing interleaves rows of k.
//
// What decides the speed is where the operands come from and how often C is touched. For 64 steps, a panel of
// 32 columns of B and 256 rows of A lie in the second-level cache, A loaded with the hint that it will not be
// used again soon; shorter panels would stay in the first level, but then C is read and written more often, and
// that costs more. Accumulators leave through a block in the first-level cache and are added to C as vectors.
// Prefetching C costs a quarter of the speed.
//
// The unit reads subnormal bfloat16 numbers as zero and flushes subnormal sums; integers are exact.
#pragma once

#include "blocked.hpp"

STRATAGEMM_BEGIN

template <class T>
concept tile_element = std::same_as<T, bfloat16> || std::same_as<T, std::int8_t>;

template <tile_element T>
struct tile_sizes {
    static constexpr index side = 32;                                 // rows and columns of a block of C
    static constexpr index step = 64 / static_cast<index>(sizeof(T)); // elements of k in one product
    static constexpr index group = 4 / static_cast<index>(sizeof(T)); // elements of k side by side in B
    static constexpr index chunk = 64;                                // steps of a panel of B
    static constexpr index depth = 128;                               // steps that are packed at a time
    static constexpr index rows = 256;                                // rows of A that are packed at a time
    static constexpr index cols = 4096, staged_cols = 512;            // columns of B likewise
    static constexpr index step_bytes = side * 64;                    // of B
    static constexpr index a_row = chunk * 64 + 64;                   // off a power of two: cache sets
    static constexpr index a_chunk = side * a_row;                    // 32 rows, one chunk of k

    static index steps(index k) { return divide_up(k, step); }
};

#if defined(__x86_64__)

#    define STRATAGEMM_TILES                                                                                 \
        __attribute__((                                                                                      \
            target("amx-tile,amx-int8,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,fma")))

namespace host_tiles {

template <class T>
using vec = host_avx512::vec<T>;

// All eight tiles 16 rows of 64 bytes; smaller operands are padded with zeros.
struct configuration {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t columns[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
class tile_unit {
public:
    STRATAGEMM_TILES tile_unit() {
        static constexpr configuration c{};
        asm volatile("ldtilecfg %0" : : "m"(c));
    }
    STRATAGEMM_TILES ~tile_unit() { asm volatile("tilerelease"); }
    tile_unit(tile_unit const&) = delete;
    tile_unit& operator=(tile_unit const&) = delete;
};

#    define STRATAGEMM_TILE_STEP(PRODUCT)                                                                    \
        asm volatile("tileloadd (%1,%2,1), %%tmm6\n\t"                                                       \
                     "tileloaddt1 (%0,%3,1), %%tmm4\n\t" PRODUCT " %%tmm6, %%tmm4, %%tmm0\n\t"               \
                     "tileloaddt1 (%4,%3,1), %%tmm5\n\t" PRODUCT " %%tmm6, %%tmm5, %%tmm2\n\t"               \
                     "tileloadd 1024(%1,%2,1), %%tmm7\n\t" PRODUCT " %%tmm7, %%tmm4, %%tmm1\n\t" PRODUCT     \
                     " %%tmm7, %%tmm5, %%tmm3"                                                               \
                     :                                                                                       \
                     : "r"(a), "r"(b), "r"(index{64}), "r"(tile_sizes<T>::a_row),                            \
                       "r"(a + 16 * tile_sizes<T>::a_row)                                                    \
                     : "memory")

// out (32 x 32) = the product of `steps` steps of packed A and B.
template <class T>
STRATAGEMM_TILES inline void block(index steps, std::byte const* a, std::byte const* b,
                                   accumulator_t<T>* out) {
    asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
    for (; steps > 0; --steps, a += 64, b += 2048) {
        if constexpr (std::is_same_v<T, bfloat16>)
            STRATAGEMM_TILE_STEP("tdpbf16ps");
        else
            STRATAGEMM_TILE_STEP("tdpbssd");
    }
    asm volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 64(%0,%1,1)\n\t"
                 "tilestored %%tmm2, (%2,%1,1)\n\ttilestored %%tmm3, 64(%2,%1,1)"
                 :
                 : "r"(out), "r"(index{128}), "r"(out + 16 * 32)
                 : "memory");
}
#    undef STRATAGEMM_TILE_STEP

// C = alpha sum + beta E for a block of at most 32 x 32.
template <class Acc>
STRATAGEMM_TILES inline void write_block(Acc const* sum, Acc alpha, Acc beta, Acc const* e, index e_row,
                                         Acc* c, index c_row, index rows, index cols) {
    using namespace host_avx512;
    auto const left = make_part<Acc>(static_cast<int>(cols)),
               right = make_part<Acc>(static_cast<int>(cols < 16 ? 0 : cols - 16));
    vec<Acc> const va = broadcast<Acc>(&alpha), vb = broadcast<Acc>(&beta);
    for (index i = 0; i < rows; ++i, sum += 32, c += c_row, e += e_row) {
        vec<Acc> x{}, y{};
        if (beta != Acc(0)) {
            x = vb * load_part<Acc>(e, left);
            y = vb * load_part<Acc>(e + 16, right);
        }
        scale_add<Acc>(x, va, load<Acc>(sum));
        scale_add<Acc>(y, va, load<Acc>(sum + 16));
        store_part<Acc>(c, x, left);
        store_part<Acc>(c + 16, y, right);
    }
}

// Rows of A as they are, `steps` steps of each, padded with zeros to 32 rows and whole steps.
template <class T>
STRATAGEMM_TILES inline void pack_a(view<T const> const& a, index i, index p, index rows, index steps,
                                    std::byte* to) {
    for (index r = 0; r < 32; ++r, to += tile_sizes<T>::a_row) {
        auto* const t = reinterpret_cast<std::uint8_t*>(to);
        index const depth = r < rows ? smaller(steps * tile_sizes<T>::step, a.cols - p) : 0;
        auto const bytes = static_cast<std::size_t>(depth) * sizeof(T);
        T const* const f = a.data + (i + r) * a.row_stride + p * a.col_stride;
        if (a.col_stride == 1) {
            if (r + 2 < rows)
                for (index l = 0; l < depth; l += tile_sizes<T>::step)
                    __builtin_prefetch(f + 2 * a.row_stride + l);
            __builtin_memcpy(t, f, bytes);
        } else {
            for (index q = 0; q < depth; ++q)
                __builtin_memcpy(t + q * index{sizeof(T)}, f + q * a.col_stride, sizeof(T));
        }
        __builtin_memset(t + bytes, 0, static_cast<std::size_t>(steps) * 64 - bytes);
    }
}

// One step of 32 columns of B: two tiles of 16 rows, each row a group of k for 16 columns.
template <class T>
STRATAGEMM_TILES inline void pack_b(view<T const> const& b, index p, index j, index cols, std::byte* to) {
    constexpr index step = tile_sizes<T>::step, group = tile_sizes<T>::group, size = sizeof(T);
    index const depth = smaller(step, b.rows - p);
    if (depth < step || cols < 32 || b.col_stride != 1) {
        __builtin_memset(to, 0, 2048);
        for (index q = 0; q < depth; ++q)
            for (index c = 0; c < cols; ++c)
                __builtin_memcpy(to + c / 16 * 1024 + q / group * 64 + (c % 16 * group + q % group) * size,
                                 b.data + (p + q) * b.row_stride + (j + c) * b.col_stride, sizeof(T));
        return;
    }
    typedef std::uint8_t bytes __attribute__((vector_size(64), may_alias));
    typedef char piece __attribute__((vector_size(16 * sizeof(T)), aligned(1), may_alias));
    // Byte l of a row of the tile: byte l % size of element l % 4 / size of the group, column l / 4.
    struct table {
        std::uint8_t at[64] = {};
        constexpr table() {
            for (int l = 0; l < 64; ++l)
                at[l] = static_cast<std::uint8_t>(l % 4 / size * 16 * size + l / 4 * size + l % size);
        }
    };
    alignas(64) static constexpr table order_table;
    bytes const order = *reinterpret_cast<bytes const*>(order_table.at);
    T const* f = b.data + p * b.row_stride + j;
    for (index g = 0; g < 16; ++g, f += group * b.row_stride)
        for (index half = 0; half < 2; ++half) {
            // `group` pieces of 16 columns one after another, then their bytes in order.
            bytes in, out;
            auto const row = [&](index r) {
                return reinterpret_cast<char const*>(f + half * 16 + r * b.row_stride);
            };
            if constexpr (group == 4) {
                asm("vmovdqu %1, %x0\n\tvinserti32x4 $1, %2, %0, %0\n\t"
                    "vinserti32x4 $2, %3, %0, %0\n\tvinserti32x4 $3, %4, %0, %0"
                    : "=&x"(in)
                    : "m"(*reinterpret_cast<piece const*>(row(0))),
                      "m"(*reinterpret_cast<piece const*>(row(1))),
                      "m"(*reinterpret_cast<piece const*>(row(2))),
                      "m"(*reinterpret_cast<piece const*>(row(3))));
            } else {
                asm("vmovdqu %1, %t0\n\tvinserti64x4 $1, %2, %0, %0"
                    : "=&x"(in)
                    : "m"(*reinterpret_cast<piece const*>(row(0))),
                      "m"(*reinterpret_cast<piece const*>(row(1))));
            }
            asm("vpermb %1, %2, %0" : "=v"(out) : "v"(in), "v"(order));
            *reinterpret_cast<bytes*>(to + half * 1024 + g * 64) = out;
        }
}

} // namespace host_tiles

// Workspace of one thread.
template <tile_element T>
struct tile_scratch {
    using sizes = tile_sizes<T>;
    using acc = accumulator_t<T>;
    std::byte *a, *b;
    acc *block, *sum;

    static index depth(index k) { return smaller(sizes::steps(k), sizes::depth); }
    static index a_bytes(index m, index k) {
        return divide_up(smaller(m, sizes::rows), 32) * divide_up(depth(k), sizes::chunk) * sizes::a_chunk;
    }
    static index b_bytes(index n, index k) {
        return divide_up(smaller(n, sizes::cols), 32) * depth(k) * sizes::step_bytes;
    }
    static index sum_count(index m, index n) { return m * smaller(n, sizes::staged_cols); }
    static std::size_t bytes(index m, index n, index k) {
        return host_arena::rounded(static_cast<std::size_t>(a_bytes(m, k))) +
               host_arena::rounded(static_cast<std::size_t>(b_bytes(n, k))) + 2 * 32 * 32 * sizeof(acc) +
               host_arena::rounded(static_cast<std::size_t>(sum_count(m, n)) * sizeof(acc));
    }
    tile_scratch(host_arena& arena, index m, index n, index k)
        : a(arena.take<std::byte>(a_bytes(m, k))), b(arena.take<std::byte>(b_bytes(n, k))),
          block(arena.take<acc>(2 * 32 * 32)), sum(arena.take<acc>(sum_count(m, n))) {}
};

// Rows [i0, i1) and columns [j0, j1) of a job, by one thread.
template <class T, class Packing>
STRATAGEMM_TILES void multiply_tiles_region(host_job<T, Packing> const& job, index i0, index i1, index j0,
                                            index j1, tile_scratch<T> const& scratch) {
    using sizes = tile_sizes<T>;
    using acc = accumulator_t<T>;
    host_tiles::tile_unit const unit;
    index const all = sizes::steps(job.a.cols), width = job.write ? sizes::staged_cols : sizes::cols;
    for (index jb = j0; jb < j1; jb += width) {
        index const jb_end = smaller(j1, jb + width), stage_row = jb_end - jb;
        for (index sb = 0; sb < all; sb += sizes::depth) {
            index const depth = smaller(sizes::depth, all - sb);
            // Panels of 32 columns, `depth` steps in each. Eight panels at a time, so that rows of B are read in
            // pieces of some length.
            for (index j = jb; j < jb_end; j += 256)
                for (index s = 0; s < depth; ++s)
                    for (index jj = j; jj < smaller(jb_end, j + 256); jj += 32)
                        host_tiles::pack_b(job.b, (sb + s) * sizes::step, jj, smaller(32, jb_end - jj),
                                           scratch.b + ((jj - jb) / 32 * depth + s) * sizes::step_bytes);
            index const chunks = divide_up(depth, sizes::chunk);
            for (index ib = i0; ib < i1; ib += sizes::rows) {
                index const ib_end = smaller(i1, ib + sizes::rows);
                for (index i = ib; i < ib_end; i += 32)
                    for (index s = 0; s < depth; s += sizes::chunk)
                        host_tiles::pack_a(job.a, i, (sb + s) * sizes::step, smaller(32, ib_end - i),
                                           smaller(sizes::chunk, depth - s),
                                           scratch.a +
                                               ((i - ib) / 32 * chunks + s / sizes::chunk) * sizes::a_chunk);
                for (index jc = jb; jc < jb_end; jc += 512)
                    for (index s = 0; s < depth; s += sizes::chunk) {
                        index const steps = smaller(sizes::chunk, depth - s);
                        bool const first = sb + s == 0;
                        for (index j = jc; j < smaller(jb_end, jc + 512); j += 32) {
                            std::byte const* const b =
                                scratch.b + ((j - jb) / 32 * depth + s) * sizes::step_bytes;
                            for (index i = ib; i < ib_end; i += 32) {
                                std::byte const* const a =
                                    scratch.a + ((i - ib) / 32 * chunks + s / sizes::chunk) * sizes::a_chunk;
                                index const rows = smaller(32, ib_end - i), cols = smaller(32, jb_end - j);
                                acc* const c = job.write ? scratch.sum + (i - i0) * stage_row + (j - jb)
                                                         : job.c + i * job.c_row + j;
                                index const c_row = job.write ? stage_row : job.c_row;
                                acc* const block = scratch.block + ((i / 32) & 1) * 1024;
                                host_tiles::block<T>(steps, a, b, block);
                                bool const fresh = first && !job.write;
                                host_tiles::write_block<acc>(block, job.write ? acc(1) : job.alpha,
                                                             !first      ? acc(1)
                                                             : job.write ? acc(0)
                                                                         : job.beta,
                                                             fresh ? job.e + i * job.e_row + j : c,
                                                             fresh ? job.e_row : c_row, c, c_row, rows, cols);
                            }
                        }
                    }
            }
        }
        if (job.write)
            job.write(job.problem, job.swapped, scratch.sum, stage_row, i0, jb, i1 - i0, stage_row);
    }
}

template <class T, class Packing>
void multiply_tiles(host_job<T, Packing> const& job, int team, host_arena& arena) {
    host_arena::scope const scope(arena);
    index const m = job.rows(), n = job.cols(), k = job.a.cols;
    host_grid const grid = grid_of(team, m, n, 32, 32);
    index const m_part = divide_up(divide_up(m, 32), grid.rows) * 32,
                n_part = divide_up(divide_up(n, 32), grid.cols) * 32;
    std::size_t const bytes = tile_scratch<T>::bytes(m_part, n_part, k);
    std::byte* const own = arena.take<std::byte>(static_cast<index>(bytes) * team);
    host_each(team, team, [&](int thread, int x) {
        index const row = x / grid.cols, col = x % grid.cols;
        index const i0 = cut(m, row, grid.rows, 32), i1 = cut(m, row + 1, grid.rows, 32);
        index const j0 = cut(n, col, grid.cols, 32), j1 = cut(n, col + 1, grid.cols, 32);
        if (i0 == i1 || j0 == j1) return;
        host_arena part(own + thread * static_cast<index>(bytes), bytes, nullptr);
        multiply_tiles_region(job, i0, i1, j0, j1, tile_scratch<T>(part, m_part, n_part, k));
    });
}

template <class T>
std::size_t multiply_tiles_bytes(index m, index n, index k, int team) {
    host_grid const grid = grid_of(team, m, n, 32, 32);
    return tile_scratch<T>::bytes(divide_up(divide_up(m, 32), grid.rows) * 32,
                                  divide_up(divide_up(n, 32), grid.cols) * 32, k) *
           static_cast<std::size_t>(team);
}

#    undef STRATAGEMM_TILES
#endif

STRATAGEMM_END
