// `split` over a host leaf that may have a tile unit: all products of parts of a block in one pass over
// packed tiles.
//
// Each operand is read once, and its parts are written straight into tiles. For 256 of k, the products of
// parts follow each other into the same four accumulators, small ones first; the sum is added to C in float,
// between the steps of the next block, so that at most 256 of the largest terms are summed in one chain. This
// addition bounds the speed of few products: 128 of k at a time were slower, although three parts of that
// much of B fit the first-level cache; 512 took about as long.
#pragma once

#include "../../backend/host/tiles.hpp"
#include "../../core/leaf.hpp"

STRATAGEMM_BEGIN

#if defined(__x86_64__)

#    define STRATAGEMM_PARTS STRATAGEMM_AVX512

namespace split_tiles {

using namespace host_tiles;

// An operand in parts: blocks of 32 lines (rows of A, columns of B), chunks of k outermost.
struct packed_parts {
    static constexpr index_t step = 32, chunk = 8, pair = 2048; // elements of k, steps, bytes

    std::byte* data;
    index_t blocks, steps;
    int parts;

    index_t depth(index_t s) const { return smaller(chunk, steps - s / chunk * chunk); }
    std::byte* at(index_t block, index_t s, int part) const {
        index_t const first = s / chunk * chunk;
        return data + ((first * blocks + block * depth(s)) * parts + part * depth(s) + (s - first)) * pair;
    }
    static index_t bytes(index_t lines, index_t k, int parts) {
        return divide_up(lines, 32) * divide_up(k, step) * pair * parts;
    }
};

// What elements have to be, as bits of their magnitude, if not 0; and the factor that makes them so.
struct part_range {
    float scale;
    std::int32_t least, end;
};

// Blocks [b0, b1) of the lines of v (its rows) in 2 or 3 parts; `as_b`: elements that one product adds side
// by side. False if an element is not where it is to be.
STRATAGEMM_PARTS inline bool pack_parts(view<float const> const& v, part_range range, bool as_b, index_t b0,
                                        index_t b1, packed_parts const& to) {
    typedef float floats __attribute__((vector_size(64)));
    typedef std::uint32_t words __attribute__((vector_size(64), may_alias));
    typedef std::int32_t numbers __attribute__((vector_size(64)));
    typedef std::uint16_t shorts __attribute__((vector_size(32), may_alias));
    bool const along = v.col_stride == 1; // lines lie along k
    numbers outside = {};
    for (index_t b = b0; b < b1; ++b) {
        for (index_t s = 0; s < to.steps; ++s) {
            index_t const k0 = s * packed_parts::step;
            for (index_t x = 0; x < 32; ++x) {
                // Along: line x, its 32 elements. Across: of pair x / 2 of k, the half x % 2 of the lines.
                index_t const i = b * 32 + (along ? x : x % 2 * 16), k = k0 + (along ? 0 : x / 2 * 2);
                index_t const most = along ? (i < v.rows ? v.cols - k : 0) : v.rows - i;
                float const* const from = v.data + i * v.row_stride + k * v.col_stride;
                floats y[2] = {};
                for (index_t t = 0; t < 2; ++t) {
                    float const* const f = along ? from + 16 * t : from + t * v.col_stride;
                    index_t const n = along ? most - 16 * t : k + t < v.cols ? most : 0;
                    if (n >= 16)
                        __builtin_memcpy(&y[t], f, 64);
                    else
                        for (index_t q = 0; q < n; ++q) y[t][q] = f[q];
                }
                words part[3][2];
                for (int t = 0; t < 2; ++t) {
                    floats const z = y[t] * range.scale;
                    numbers const size = reinterpret_cast<numbers>(z) & 0x7fffffff;
                    outside |= ((size < range.least) & (size > 0)) | (size >= range.end);
                    words const u = reinterpret_cast<words>(z);
                    part[0][t] = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
                    floats const rest = z - reinterpret_cast<floats>(part[0][t]);
                    words const w = reinterpret_cast<words>(rest);
                    part[1][t] = (w + 0x7fffu + ((w >> 16) & 1u)) & 0xffff0000u;
                    part[2][t] = reinterpret_cast<words>(rest - reinterpret_cast<floats>(part[1][t]));
                }
                index_t const half = along ? x / 16 : x % 2, row = along ? x % 16 : x / 2;
                for (int p = 0; p < to.parts; ++p) {
                    std::byte* const line = to.at(b, s, p) + half * 1024 + row * 64;
                    if (along) {
                        *reinterpret_cast<shorts*>(line) = __builtin_convertvector(part[p][0] >> 16, shorts);
                        *reinterpret_cast<shorts*>(line + 32) =
                            __builtin_convertvector(part[p][1] >> 16, shorts);
                    } else {
                        *reinterpret_cast<words*>(line) = (part[p][0] >> 16) | (part[p][1] & 0xffff0000u);
                    }
                }
            }
            if (along == as_b)
                for (int p = 0; p < to.parts; ++p) {
                    transpose_tile(to.at(b, s, p));
                    transpose_tile(to.at(b, s, p) + 1024);
                }
        }
    }
    std::int32_t any = 0;
    for (int q = 0; q < 16; ++q) any |= outside[q];
    return any == 0;
}

// to (four tiles) = the sum of `products` products of parts, `depth` steps each, writing `before` meanwhile.
STRATAGEMM_PARTS inline void block_of_parts(int products, index_t depth, std::byte const* a_parts,
                                            std::byte const* b_parts, float* to,
                                            finished<float> const& before) {
    static constexpr int order[9][2] = {{2, 2}, {2, 1}, {1, 2}, {2, 0}, {1, 1},
                                        {0, 2}, {1, 0}, {0, 1}, {0, 0}};
    int x = 9 - products;
    std::byte const *a = a_parts + order[x][0] * depth * packed_parts::pair,
                    *b = b_parts + order[x][1] * depth * packed_parts::pair;
    load_step(a, b);
    zero_sums();
    index_t row = 0, left = depth;
    index_t const steps = products * depth, rows_a_step = divide_up(32, steps);
    for (index_t s = 1; s < steps; ++s) {
        a += packed_parts::pair, b += packed_parts::pair;
        if (--left == 0) {
            left = depth, ++x;
            a = a_parts + order[x][0] * depth * packed_parts::pair;
            b = b_parts + order[x][1] * depth * packed_parts::pair;
        }
        multiply_and_load<bfloat16>(a, b);
        if (row < before.rows) {
            index_t const end = smaller(row + rows_a_step, before.rows);
            before.write(row, end);
            row = end;
        }
    }
    multiply_last<bfloat16>();
    before.write(row, before.rows);
    store_sums(to);
}

// C = alpha A B + beta E, all rows contiguous; `finish`, if not null, does to a block of C what is left to
// do.
struct parts_job {
    int products;
    packed_parts a, b;
    float alpha, beta;
    view<float const> e;
    view<float> c;
    void (*finish)(void const* problem, bool turned, index_t i, index_t j, index_t rows, index_t cols);
    void const* problem;
    bool turned;
};

// Rows [i0, i1) and columns [j0, j1), by one thread.
STRATAGEMM_PARTS inline void multiply_parts_region(parts_job const& job, index_t i0, index_t i1, index_t j0,
                                                   index_t j1) {
    alignas(64) float out[1024];
    tile_unit const unit;
    finished<float> before{};
    for (index_t ib = i0; ib < i1; ib += 256)
        for (index_t jc = j0; jc < j1; jc += 512) {
            for (index_t s = 0; s < job.a.steps; s += packed_parts::chunk)
                for (index_t j = jc; j < smaller(j1, jc + 512); j += 32)
                    for (index_t i = ib; i < smaller(i1, ib + 256); i += 32) {
                        block_of_parts(job.products, job.a.depth(s), job.a.at(i / 32, s, 0),
                                       job.b.at(j / 32, s, 0), out, before);
                        view<float const> const e = s == 0 ? job.e : job.c;
                        before = {out,
                                  e.data + i * e.row_stride + j,
                                  job.c.data + i * job.c.row_stride + j,
                                  e.row_stride,
                                  job.c.row_stride,
                                  smaller(32, i1 - i),
                                  smaller(32, j1 - j),
                                  job.alpha,
                                  s == 0 ? job.beta : 1.0f,
                                  false};
                    }
            if (!job.finish) continue;
            before.write(0, before.rows);
            before = {};
            job.finish(job.problem, job.turned, ib, jc, smaller(256, i1 - ib), smaller(512, j1 - jc));
        }
    before.write(0, before.rows);
}

#    undef STRATAGEMM_PARTS

// Nothing here may be used unless here() is true.
template <tiled_host_leaf Leaf>
class on_host {
public:
    using operand = packed_parts;

    explicit on_host(Leaf leaf) : leaf_(leaf) {}

    bool here() const { return leaf_.has_tiles(); }

    // Lines along k or across it without gaps, and rows of C and E without gaps.
    template <class P>
    bool takes(P const& p) const {
        auto const dense = [](auto const& v) { return v.col_stride == 1 || v.row_stride == 1; };
        return here() && dense(p.a) && dense(p.b) && p.c.col_stride == 1 &&
               (p.beta == 0 || p.e.col_stride == 1);
    }
    index_t bytes(index_t lines, index_t k, int parts) const {
        return here() ? operand::bytes(lines, k, parts) : 0;
    }
    static operand packed(std::byte* data, index_t lines, index_t k, int parts) {
        return {data, divide_up(lines, 32), divide_up(k, operand::step), parts};
    }

    // The lines (rows of A, columns of B) in parts, scaled; false if an element is not at least `least` and
    // below `end` in magnitude, nor 0.
    bool pack(view<float const> const& lines, part_range range, bool as_b, operand const& to) const {
        int const size = team(lines.rows, lines.cols, 16);
        int odd = 0;
        leaf_.each(size, size, [&](int, int x) {
            if (!pack_parts(lines, range, as_b, to.blocks * x / size, to.blocks * (x + 1) / size, to))
                __atomic_store_n(&odd, 1, __ATOMIC_RELAXED);
        });
        return odd == 0;
    }
    // C = epilogue(alpha A B + beta E); or the transpose of what the epilogue is for, if it is `turned`.
    template <class P>
    void multiply(int products, operand const& a, operand const& b, float alpha, P const& p,
                  bool turned) const {
        constexpr bool finishes = !std::is_same_v<typename P::epilogue_type, identity>;
        parts_job const job{products, a,     b, alpha, p.beta, p.e, p.c, finishes ? finish<P> : nullptr,
                            &p,       turned};
        index_t const m = p.c.rows, n = p.c.cols;
        int const size = team(m, n, p.a.cols);
        host_grid const grid = grid_of(size, m, n, p.a.cols, 32, 32);
        leaf_.each(size, size, [&](int, int x) {
            index_t const row = x / grid.cols, col = x % grid.cols;
            multiply_parts_region(job, cut(m, row, grid.rows, 32), cut(m, row + 1, grid.rows, 32),
                                  cut(n, col, grid.cols, 32), cut(n, col + 1, grid.cols, 32));
        });
    }

    // Seconds of one thread, roughly, as seen on the machine of ozaki_tiles::on_host.
    double seconds(index_t m, index_t n, index_t k, int products) const {
        auto const rows = static_cast<double>(divide_up(m, 32) * 32),
                   cols = static_cast<double>(divide_up(n, 32) * 32), depth = static_cast<double>(k);
        return 2 * rows * cols * depth * products / (1650e9 * leaf_.tile_rate()) +
               (rows + cols) * depth * 0.5e-9;
    }

private:
    template <class P>
    static void finish(void const* problem, bool turned, index_t i, index_t j, index_t rows, index_t cols) {
        auto const& p = *static_cast<P const*>(problem);
        for (index_t r = i; r < i + rows; ++r)
            for (index_t c = j; c < j + cols; ++c) {
                float& x = p.c(r, c);
                x = apply_epilogue(p.epilogue, x, p.row0 + (turned ? c : r), p.col0 + (turned ? r : c));
            }
    }
    int team(index_t m, index_t n, index_t k) const {
        return leaf_.team(static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
    }

    Leaf leaf_;
};

} // namespace split_tiles

#else

namespace split_tiles {
template <tiled_host_leaf Leaf>
class on_host; // there is no tile unit
} // namespace split_tiles

#endif

STRATAGEMM_END
