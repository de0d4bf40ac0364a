// `split` on the tensor cores of NVIDIA's sm_90a: all products of parts in one kernel, out of bfloat16 or half.
//
// One warpgroup fetches tiles of all parts of A and B. Two others multiply, 64 rows of a tile of C each. Tensor cores
// cut off the last bits of their sums every 16 terms, always towards zero, so a thread keeps three sums of each element
// of C: hh, the product of the largest parts, over CHAIN terms; all other products, at most 2^-7 of hh, over LONG_CHAIN
// terms; and the sum of both over LONG_CHAIN terms, which is added up in float. A chain of hh is added up while the
// other products of the same step are multiplied. Longer sums pass through memory, so that no element is rounded more
// than LONG_CHAIN / CHAIN + 1 + k / LONG_CHAIN times in float.
//
// Each tile that is fetched serves 1.5 to 3 products. This leaves shared memory enough time for tiles of 128 x 128, with
// which a single product would wait for it.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../../device/warpgroups.hpp"

STRATAGEMM_BEGIN

namespace split_parts {

inline constexpr char warpgroups_text[] = R"cu(
#define TILE 128 /* sides of a tile of C */
#define SUMS (TILE / 2) /* of a thread */
#define PART_BYTES (TILE * DEPTH * 2)
#define STAGE_BYTES (2 * PARTS * PART_BYTES)
#define STAGES (208 * 1024 / STAGE_BYTES)
#define ROWS_TOGETHER 16 /* rows of tiles that are walked through side by side */
/* Lines along k have 2 * DEPTH bytes; along m or n there are DEPTH lines for each 64. */
#define DESCRIPTOR_OF(address, along_k) descriptor_of(address, (along_k) ? 2 * DEPTH : 128, (along_k) ? 16 : DEPTH * 128)

/* From 16 terms to the next, in units of 16 bytes. */
#define A_ADVANCE (A_ALONG_K ? 2 : 16 * 128 / 16)
#define B_ADVANCE (B_ALONG_K ? 2 : 16 * 128 / 16)

template <bool ALONG_K>
inline void fetch_part(unsigned to, tensor_map const &map, int line, int term, barrier full) {
    if (ALONG_K)
        fetch(to, map, term, line, 0, full);
    else
#pragma unroll 1
        for (int x = 0; x < TILE; x += 64) fetch(to + x * DEPTH * 2, map, line + x, term, 0, full);
}

extern "C" __global__ void __launch_bounds__(ITEMS, 1)
split_product(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map, int depth, PRODUCT,
              index row0, index col0, float *totals EPILOGUE_STATE) {
    extern __shared__ char memory[];
    unsigned const base = ((unsigned)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;
    unsigned const barriers = base + STAGES * STAGE_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };
    if (ITEM == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(1), empty(s).initialise(8);
        barriers_are_ready();
    }
    __syncthreads();

    int const down = (int)((rows - 1) / TILE) + 1, across = (int)((cols - 1) / TILE) + 1;
    int const tiles = down * across, steps = depth / DEPTH;
    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    if (ITEM < 128) {
        /* Registers: together no more than the launch has given. */
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (ITEM == 0)
            for (int number = GROUP; number < tiles; number += GROUPS) {
                int tile_i, tile_j;
                place_of_tile(number, down, across, ROWS_TOGETHER, tile_i, tile_j);
                for (int step = 0; step < steps; ++step, next_stage()) {
                    empty(stage).wait(parity ^ 1);
                    full(stage).expect(STAGE_BYTES);
#pragma unroll 1
                    for (int part = 0; part < PARTS; ++part) {
                        unsigned const to = base + stage * STAGE_BYTES + part * PART_BYTES;
                        int const term = part * depth + step * DEPTH;
                        fetch_part<A_ALONG_K>(to, a_map, tile_i * TILE, term, full(stage));
                        fetch_part<B_ALONG_K>(to + PARTS * PART_BYTES, b_map, tile_j * TILE, term, full(stage));
                    }
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        int const group = WARP / 4 - 1;
        /* Where 64 rows of A begin. */
        unsigned const a_begin = base + group * 64 * DEPTH * 2, b_begin = base + PARTS * PART_BYTES;
        for (int number = GROUP; number < tiles; number += GROUPS) {
            float sum[SUMS], large[SUMS], small[SUMS];
            int before = 0;
            for (int step = 0; step < steps;) {
                int const first = step, end = min(steps, step + LONG_CHAIN / DEPTH);
#pragma unroll
                for (int v = 0; v < SUMS; ++v) sum[v] = 0;
                while (step < end) {
                    int const first_of_chain = step, end_of_chain = min(end, step + CHAIN / DEPTH);
#pragma unroll 1
                    for (; step < end_of_chain; ++step) {
                        full(stage).wait(parity);
                        unsigned long long const a = DESCRIPTOR_OF(a_begin + stage * STAGE_BYTES, A_ALONG_K);
                        unsigned long long const b = DESCRIPTOR_OF(b_begin + stage * STAGE_BYTES, B_ALONG_K);
                        begin();
#pragma unroll
                        for (int x = 0; x < DEPTH / 16; ++x)
                            multiply(large, a + x * A_ADVANCE, b + x * B_ADVANCE, step > first_of_chain || x > 0);
                        commit();
                        /* The smallest first: part p of A times part d - p of B. */
#pragma unroll
                        for (int d = SMALLEST; d > 0; --d)
#pragma unroll
                            for (int p = d < PARTS ? 0 : d - PARTS + 1; p <= d && p < PARTS; ++p)
#pragma unroll
                                for (int x = 0; x < DEPTH / 16; ++x)
                                    multiply(small, a + p * (PART_BYTES / 16) + x * A_ADVANCE,
                                             b + (d - p) * (PART_BYTES / 16) + x * B_ADVANCE,
                                             step > first || d < SMALLEST || p > (d < PARTS ? 0 : d - PARTS + 1) ||
                                                 x > 0);
                        commit();
                        wait_but_for<1>();
                        if (step > 0) release(empty(before));
                        before = stage;
                        next_stage();
                    }
                    are_there(large);
#pragma unroll
                    for (int v = 0; v < SUMS; ++v) sum[v] += large[v];
                }
                wait_but_for<0>();
                are_there(small);
#pragma unroll
                for (int v = 0; v < SUMS; ++v) sum[v] += SMALL * small[v];
                int const at = GROUP * SUMS * 256 + ITEM - 128;
                if (step > LONG_CHAIN / DEPTH)
#pragma unroll
                    for (int v = 0; v < SUMS; ++v) sum[v] += totals[at + v * 256];
                if (step < steps)
#pragma unroll
                    for (int v = 0; v < SUMS; ++v) totals[at + v * 256] = sum[v];
            }
            release(empty(before));

            int tile_i, tile_j;
            place_of_tile(number, down, across, ROWS_TOGETHER, tile_i, tile_j);
            index const i0 = (index)tile_i * TILE + group * 64 + WARP % 4 * 16 + LANE / 4;
            index const j0 = (index)tile_j * TILE + LANE % 4 * 2;
            bool const in_pairs = c_col == 1 && c_row % 2 == 0 && (unsigned long long)c % (2 * sizeof(OUT)) == 0;
            auto const number_at = [&](int v, index i, index j) {
                float x = alpha * sum[v];
                if (adds && i < rows && j < cols) x = multiply_add(beta, e[AT(e, i, j)], x);
                return epilogue((value)x, row0 + min(i, rows - 1), col0 + min(j, cols - 1) EPILOGUE_NAMES);
            };
#pragma unroll
            for (int v = 0; v < SUMS; v += 2) {
                index const i = i0 + v / 2 % 2 * 8, j = j0 + v / 4 * 8;
                float const x = number_at(v, i, j), y = number_at(v + 1, i, j + 1);
                if (i >= rows) continue;
                if (in_pairs && j + 1 < cols) {
                    VECTOR(OUT, 2) const both = {x, y};
                    STORE_VECTOR(OUT, 2, c, AT(c, i, j), both);
                } else {
                    if (j < cols) c[AT(c, i, j)] = x;
                    if (j + 1 < cols) c[AT(c, i, j + 1)] = y;
                }
            }
        }
    }
}
)cu";

// Terms of hh, and of all other products, that tensor cores sum.
inline constexpr index_t warpgroup_chain = 128, warpgroup_long_chain = 2048;
// Terms of a stage: of three parts fewer, so that there are four stages.
constexpr index_t warpgroup_depth(int parts) { return parts == 2 ? 64 : 32; }
// Lines that the kernel fetches: k ends at a multiple of what is multiplied at a time, and lines begin at odd
// multiples of 128 bytes from each other, so that those which are read together lie in different channels of the
// memory.
constexpr index_t depth_for_warpgroups(index_t k) { return (k + 63) / 64 * 64; }
constexpr index_t line_for_warpgroups(index_t length) { return ((length + 63) / 64 | 1) * 64; }

template <class In, bool AAlongK, bool BAlongK>
std::string warpgroup_types() {
    constexpr bool is_half = std::is_same_v<In, half>;
    return kernel_types<In, float>() + "#define A_ALONG_K " + (AAlongK ? "1" : "0") + "\n#define B_ALONG_K " +
           (BAlongK ? "1" : "0") + '\n' + fetches_text + wgmma_text +
           wgmma_instructions(is_half ? "f16" : "bf16", 128, false) +
           "inline void release(barrier empty) { if (threadIdx.x % 32 == 0) empty.arrive(); }\n";
}
template <class In>
device_kernel warpgroup_kernel(int products, bool a_along_k, bool b_along_k, std::string const& epilogue) {
    auto const define = [](char const* name, auto value) {
        return std::string("#define ") + name + ' ' + value + '\n';
    };
    int const parts = products == 3 ? 2 : 3, smallest = products == 9 ? 4 : parts - 1;
    std::string const depth = std::to_string(warpgroup_depth(parts));
    return {"split_product",
            warpgroups_text,
            define("PARTS", std::to_string(parts)) + define("SMALLEST", std::to_string(smallest)) +
                define("DEPTH", depth) + define("CHAIN", std::to_string(warpgroup_chain)) +
                define("LONG_CHAIN", std::to_string(warpgroup_long_chain)) +
                define("SMALL", std::is_same_v<In, half> ? "(1.0f / 4096)" : "1.0f") + epilogue,
            384,
            false,
            false,
            a_along_k   ? b_along_k ? warpgroup_types<In, true, true> : warpgroup_types<In, true, false>
              : b_along_k ? warpgroup_types<In, false, true>
                        : warpgroup_types<In, false, false>,
            209 * 1024 + 16 * 16};
}

// A, or B transposed, in parts, which lie along k or across it as the operand does.
template <class In, class Space>
struct parts_for_warpgroups {
    view<float const, Space> of;
    index_t depth, line;
    int parts;
    bool along;
    typename Space::template handle<In> first;

    parts_for_warpgroups(view<float const, Space> const& x, int count)
        : of(x), depth(depth_for_warpgroups(x.cols)), parts(count),
          along(magnitude(x.col_stride) <= magnitude(x.row_stride)) {
        line = line_for_warpgroups(along ? depth * parts : x.rows);
    }
    index_t elements() const { return (along ? of.rows : depth * parts) * line; }
    // Part 0 as `take_apart` writes it, and from one to the next.
    view<In, Space> target() const { return {first, of.rows, depth, along ? line : 1, along ? 1 : line}; }
    index_t next() const { return along ? depth : depth * line; }
    template <class Leaf>
    status map(Leaf const& leaf, typename Leaf::tile_map& to) const {
        if (along)
            return leaf.map_tiles(view<In const, Space>{first, of.rows, depth * parts, line, 1}, index_t{128},
                                  warpgroup_depth(parts), to);
        return leaf.map_tiles(view<In const, Space>{first, depth * parts, of.rows, line, 1},
                              warpgroup_depth(parts), index_t{64}, to);
    }
};

// What the parts of an operand with so many lines take, however it lies.
template <class Arena>
std::size_t bytes_for_warpgroups(index_t lines, index_t k, int parts) {
    index_t const depth = depth_for_warpgroups(k), along = lines * line_for_warpgroups(depth * parts),
                  across = depth * parts * line_for_warpgroups(lines);
    return Arena::rounded(static_cast<std::size_t>(along > across ? along : across) * sizeof(bfloat16));
}

constexpr index_t tiles_for_warpgroups(index_t m, index_t n) {
    return m == 0 || n == 0 ? 0 : ((m - 1) / 128 + 1) * ((n - 1) / 128 + 1);
}
// Where sums of so many tiles stay that are computed at a time; none, for sums that are short.
template <class Leaf>
index_t totals_for_warpgroups(Leaf const& leaf, index_t k) {
    return k > warpgroup_long_chain ? leaf.warpgroup_units() * index_t{128 * 128} : 0;
}
// Whether there is a kernel for m x n x k in so many parts.
template <class Leaf>
bool can_multiply_by_warpgroups(Leaf const& leaf, index_t m, index_t n, index_t k, int parts) {
    return leaf.warpgroup_units() > 0 && k > 0 && tiles_for_warpgroups(m, n) <= device_longest &&
           depth_for_warpgroups(k) * parts <= device_longest;
}
// Tiles that a multiprocessor computes one after the other, at so many multiply-adds a cycle of 1.5 GHz.
template <class Leaf>
double seconds_by_warpgroups(Leaf const& leaf, index_t m, index_t n, index_t k, int products) {
    index_t const units = leaf.warpgroup_units(), rounds = (tiles_for_warpgroups(m, n) + units - 1) / units;
    double const terms = static_cast<double>(depth_for_warpgroups(k)) * products + 500;
    return 10e-6 + static_cast<double>(rounds) * 128 * 128 * terms / 1850 / 1.5e9;
}

// C = epilogue(alpha A B + beta E).
template <class Leaf, class In, class P>
status multiply_by_warpgroups(Leaf const& leaf, int products,
                              parts_for_warpgroups<In, typename P::space> const& a,
                              parts_for_warpgroups<In, typename P::space> const& b,
                              typename P::space::template handle<float> totals, float alpha, P const& p) {
    index_t const tiles = tiles_for_warpgroups(p.c.rows, p.c.cols), units = leaf.warpgroup_units();
    typename Leaf::tile_map a_map{}, b_map{};
    if (status s = a.map(leaf, a_map); !s) return s;
    if (status s = b.map(leaf, b_map); !s) return s;
    auto const e = added_or_c(p);
    typename Leaf::template epilogue<float> const last(p.epilogue);
    return leaf.launch(warpgroup_kernel<In>(products, a.along, b.along, last.definitions()),
                       tiles < units ? tiles : units, a_map, b_map, static_cast<int>(a.depth), alpha, p.beta,
                       int{p.beta != 0}, e, int{e.conjugate}, p.c, p.c.rows, p.c.cols, p.row0, p.col0, totals,
                       last);
}

} // namespace split_parts

STRATAGEMM_END
