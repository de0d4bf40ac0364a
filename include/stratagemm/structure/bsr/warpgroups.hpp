// BSR times dense on the tensor cores of NVIDIA's sm_90a, in half and bfloat16: the kernel, and when it runs.
//
// A warp goes through the blocks of all rows of a tile of C at the same time, in the order of their columns. At each
// step, the warp fetches the rows of B that the next column of blocks meets, and all blocks of the tile in that column:
// the rows of B serve all of these blocks. The other warpgroups multiply. Each has 64 columns of C and computes C^T =
// B^T A^T there, since an instruction computes 64 rows and any multiple of 8 columns: columns of B are the 64 rows, and
// the rows of a block are the columns. A block therefore costs what its own elements cost, and nothing is padded.
//
// A list of blocks that is not sorted, or names a column twice, is summed in another order.
//
// With blocked_ell, only the place of a block and the end of its row of blocks are found in another way.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../../device/warpgroups.hpp"

STRATAGEMM_BEGIN

inline constexpr char bsr_warpgroups_text[] = R"cu(
#define BLOCK_ROWS (TILE_M / SIDE)
#define WARPGROUPS (TILE_N / 64) /* that multiply: 2 or 4 */
#define LINE (SIDE * 2) /* bytes of a row of a block */
#define BLOCK_BYTES (SIDE * LINE)
#define B_BYTES (SIDE * TILE_N * 2)
#define STEP_BYTES (B_BYTES + BLOCK_ROWS * BLOCK_BYTES)
#define STEPS (64 / SIDE) /* of a stage, so that small blocks are not waited for one by one */
#define STAGE_BYTES (STEPS * STEP_BYTES)
#define PITCH 68 /* floats of a row of results in shared memory: neither writes nor reads meet in a bank */
#define RESULT_BYTES (16 * PITCH * 4)
#define NONE 0x7fffffff
#if PADDED /* block `at` of a row of blocks lies in the rows of the matrix; a negative column ends the row */
#define BLOCKS MATRIX(INDEX const, block_columns), index in_line
#define FIRST_OF(line) 0
#define END_OF(line) (INDEX)in_line
#define COLUMN_OF(line, at) column_or_none(block_columns[AT(block_columns, line, at)])
#define PLACE_OF(line, at) (int)(at) * SIDE, (int)(line) * SIDE
inline int column_or_none(INDEX column) { return column < 0 ? NONE : (int)column; }
#else /* block `at` of all */
#define BLOCKS BUFFER(INDEX const, block_begins), BUFFER(INDEX const, block_columns)
#define FIRST_OF(line) block_begins[line]
#define END_OF(line) block_begins[(line) + 1]
#define COLUMN_OF(line, at) (int)block_columns[at]
#define PLACE_OF(line, at) 0, (int)(at) * SIDE
#endif

inline void wait_for_warpgroup(int number) {
    asm volatile("barrier.sync %0, 128;" ::"r"(number + 1) : "memory");
}

KERNEL_AT_ONCE(ITEMS, 1)
bsr_times_dense(__grid_constant__ const tensor_map values_map, __grid_constant__ const tensor_map b_map,
                BLOCKS, index lines, int together, PRODUCT) {
    extern __shared__ char memory[];
    unsigned const start = (unsigned)__cvta_generic_to_shared(memory), base = (start + 1023) / 1024 * 1024;
    char *const after_stages = memory + (base - start) + STAGES * STAGE_BYTES;
    unsigned const barriers = base + STAGES * STAGE_BYTES + WARPGROUPS * RESULT_BYTES;
    unsigned volatile *const masks = (unsigned volatile *)(after_stages + WARPGROUPS * RESULT_BYTES + STAGES * 16);
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };
    if (ITEM == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(2), empty(s).initialise(4 * WARPGROUPS);
        barriers_are_ready();
    }
    __syncthreads();
    int const down = (int)((lines - 1) / BLOCK_ROWS) + 1, across = (int)((cols - 1) / TILE_N) + 1;
    int const tiles = down * across;
    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };

    if (WARP / 4 == WARPGROUPS) {
        /* Registers: together no more than the launch has given, which is 168 or 96 for each thread. */
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(56));
        /* Each lane goes through a row of blocks. At a step, those whose next block is in the first column take it.
           A step without a block ends the tile. Two warps do so: one fetches of B, and the other one blocks. */
        bool const of_b = WARP % 4 == 0;
        for (int number = WARP % 4 < 2 ? GROUP : tiles; number < tiles; number += GROUPS) {
            int tile_i, tile_j;
            place_of_tile(number, down, across, together, tile_i, tile_j);
            index const line = (index)tile_i * BLOCK_ROWS + LANE;
            bool const has_line = LANE < BLOCK_ROWS && line < lines;
            INDEX at = has_line ? FIRST_OF(line) : 0;
            INDEX const end = has_line ? END_OF(line) : 0;
            int column = at < end ? COLUMN_OF(line, at) : NONE;
            int next = at + 1 < end ? COLUMN_OF(line, at + 1) : NONE;
            for (bool more = true; more; next_stage()) {
                int bytes = 0;
                empty(stage).wait(parity ^ 1);
#pragma unroll 1
                for (int step = 0; step < STEPS; ++step) {
                    int const first = __reduce_min_sync(0xffffffffu, column);
                    more = first != NONE;
                    bool const mine = more && column == first;
                    unsigned const mask = __ballot_sync(0xffffffffu, mine);
                    unsigned const b = base + stage * STAGE_BYTES + step * STEP_BYTES;
                    if (of_b && LANE == 0) masks[stage * STEPS + step] = mask;
                    if (of_b && more && LANE < WARPGROUPS)
                        fetch(b + LANE * SIDE * 128, b_map, tile_j * TILE_N + LANE * 64, first * SIDE, 0,
                              full(stage));
                    if (mine) {
                        if (!of_b)
                            fetch(b + B_BYTES + LANE * BLOCK_BYTES, values_map, PLACE_OF(line, at), 0,
                                  full(stage));
                        ++at;
                        column = next;
                        next = at + 1 < end ? COLUMN_OF(line, at + 1) : NONE;
                    }
                    if (more) bytes += of_b ? B_BYTES : __popc(mask) * BLOCK_BYTES;
                }
                __syncwarp();
                if (LANE == 0) full(stage).expect(bytes);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(WARPGROUPS == 2 ? 224 : 104));
        int const group = WARP / 4, warp = WARP % 4;
        for (int number = GROUP; number < tiles; number += GROUPS) {
            int tile_i, tile_j;
            place_of_tile(number, down, across, together, tile_i, tile_j);
            scalar sum[BLOCK_ROWS][SIDE / 2];
#pragma unroll
            for (int r = 0; r < BLOCK_ROWS; ++r)
#pragma unroll
                for (int v = 0; v < SIDE / 2; ++v) sum[r][v] = 0;
            for (bool more = true; more; next_stage()) {
                full(stage).wait(parity);
#pragma unroll(SIDE > 16 ? STEPS : 1)
                for (int step = 0; step < STEPS; ++step) {
                    unsigned const mask = __shfl_sync(0xffffffffu, masks[stage * STEPS + step], 0);
                    more = mask != 0;
                    unsigned const b = base + stage * STAGE_BYTES + step * STEP_BYTES;
                    unsigned long long const columns = descriptor_of(b + group * SIDE * 128, 128);
                    unsigned long long const blocks = descriptor_of(b + B_BYTES, LINE);
#pragma unroll
                    for (int r = 0; r < BLOCK_ROWS; ++r)
                        if (mask >> r & 1) {
                            begin();
#pragma unroll
                            for (int d = 0; d < SIDE / 16; ++d)
                                multiply(sum[r], columns + d * (16 * 128 / 16),
                                         blocks + (r * BLOCK_BYTES + d * 32) / 16, 1);
                        }
                }
                commit();
                wait_but_for<0>();
                if (LANE == 0) empty(stage).arrive();
            }

            /* Sixteen rows of C at a time go through shared memory, so that a warp stores whole rows. */
            float *const results = (float *)(after_stages + group * RESULT_BYTES);
            bool const in_pairs =
                !adds && c_col == 1 && c_row % 2 == 0 && (unsigned long long)c % (2 * sizeof(OUT)) == 0;
            index const j = (index)tile_j * TILE_N + group * 64 + 2 * LANE;
            int const parts = (int)min((index)TILE_M, rows - (index)tile_i * TILE_M) / 16;
#pragma unroll 1
            for (int part = 0; part < parts; ++part) {
                wait_for_warpgroup(group);
#pragma unroll
                for (int p = 0; p < TILE_M / 16; ++p)
                    if (p == part)
#pragma unroll
                        for (int v = 0; v < 8; ++v) {
                            int const row = v / 4 * 8 + LANE % 4 * 2 + v % 2;
                            int const column = warp * 16 + v / 2 % 2 * 8 + LANE / 4;
                            results[row * PITCH + column] = sum[p * 16 / SIDE][p * 16 % SIDE / 16 * 8 + v];
                        }
                wait_for_warpgroup(group);
#pragma unroll
                for (int row = 0; row < 16; row += 4) {
                    index const i = (index)tile_i * TILE_M + part * 16 + row + warp;
                    float const *const from = results + (row + warp) * PITCH + 2 * LANE;
                    scalar const x = from[0], y = from[1];
                    if (in_pairs && j + 1 < cols) {
                        VECTOR(OUT, 2) const both = {CONVERT(OUT, alpha * x), CONVERT(OUT, alpha * y)};
                        STORE_VECTOR(OUT, 2, c, AT(c, i, j), both);
                    } else {
                        if (j < cols) FINISH_ELEMENT(i, j, x);
                        if (j + 1 < cols) FINISH_ELEMENT(i, j + 1, y);
                    }
                }
            }
        }
    }
}
)cu";

// How C is cut into tiles.
struct bsr_tiling {
    int rows, cols;

    int warpgroups() const { return cols / 64; }
    int items() const { return 128 * (warpgroups() + 1); }
    // Stages that are fetched ahead, each with 64 columns of A: as many as fit.
    int stages() const { return 192 * 1024 / (2 * 64 * (cols + rows)); }
    // Bytes of the stages, results, barriers and masks, with alignment.
    std::size_t shared_bytes(int side) const {
        return static_cast<std::size_t>(stages() * (2 * 64 * (cols + rows) + 16 + 64 / side * 4) +
                                        warpgroups() * 16 * 68 * 4 + 1024);
    }
    std::string definitions() const {
        auto const define = [](char const* name, int value) {
            return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
        };
        return define("TILE_M", rows) + define("TILE_N", cols) + define("STAGES", stages());
    }
    index_t count(index_t m, index_t n) const { return ((m - 1) / rows + 1) * ((n - 1) / cols + 1); }
};
inline constexpr bsr_tiling bsr_tilings[] = {{128, 256}, {64, 128}};

// Measured on an H200 (bench/results/sparse-h200.txt): the larger tile is 1.2 to 2.5 times as fast as the smaller one,
// also where C has only 128 larger tiles for 132 multiprocessors. The smaller tile is used where nothing was measured:
// for a C of up to 128 columns, where half of a larger tile is empty; and for a C so small that a multiprocessor has
// two smaller tiles at most, which are half of a larger one.
inline bsr_tiling choose_bsr_tiling(index_t m, index_t n, int units) {
    auto const& [large, small] = bsr_tilings;
    return n <= small.cols || small.count(m, n) <= index_t{2} * units ? small : large;
}

template <class In, class Out, class Index, int Side>
std::string bsr_types() {
    return kernel_types<In, Out>() + "#define INDEX " + (sizeof(Index) == 8 ? "index" : "int") +
           "\n#define SIDE " + std::to_string(Side) + "\n#define A_ALONG_K 0\n#define B_ALONG_K 1\n" +
           fetches_text + wgmma_text +
           wgmma_instructions(std::is_same_v<In, half> ? "f16" : "bf16", Side, false);
}
template <class In, class Out, class Index>
device_kernel bsr_kernel(bsr_tiling const& tile, int side, bool padded) {
    return {"bsr_times_dense",
            bsr_warpgroups_text,
            tile.definitions() + (padded ? "#define PADDED 1\n" : "#define PADDED 0\n"),
            tile.items(),
            false,
            false,
            side == 16   ? bsr_types<In, Out, Index, 16>
            : side == 32 ? bsr_types<In, Out, Index, 32>
                         : bsr_types<In, Out, Index, 64>,
            tile.shared_bytes(side)};
}

// Whether the leaf's device has the kernel for blocks of such a side.
template <class Leaf, class Space, class T>
inline constexpr bool may_have_bsr_kernel = warpgroup_leaf<Leaf, Space> &&
                                            (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>);
template <class Space, class T, class Leaf>
bool has_bsr_kernel(Leaf const& leaf, index_t side) {
    if constexpr (may_have_bsr_kernel<Leaf, Space, T>)
        return (side == 16 || side == 32 || side == 64) && leaf.warpgroup_units() > 0;
    else
        return false;
}
// Whether the hardware can fetch the operands: rows of B and of the values begin at multiples of 16 bytes.
template <class Matrix, class T, class Space>
bool can_fetch(Matrix const& a, view<T, Space> const& b) {
    auto const can = [](auto const& x) {
        constexpr index_t unit = 16 / static_cast<index_t>(sizeof(T));
        return x.col_stride == 1 && x.row_stride >= x.cols && x.row_stride % unit == 0 &&
               Space::address(x.data) % 16 == 0 && x.rows <= device_longest && x.cols <= device_longest;
    };
    return can(b) && can(a.stored_blocks());
}

// C = alpha A B + beta E, without the epilogue.
template <class Leaf, class Q>
status multiply_bsr(Leaf const& leaf, Q const& p, bsr_tiling const& tile) {
    using In = typename Q::a_type;
    using A = typename Q::a_operand;
    constexpr bool padded = !requires(A const& x) { x.block_begins; };
    auto const& a = p.a;
    index_t const m = p.c.rows, n = p.c.cols, tiles = tile.count(m, n);
    index_t const units = leaf.warpgroup_units();
    if (tiles > device_longest)
        return error(errc::unsupported, Leaf::layer, "bsr: a product has too many tiles; multiply blocks");
    typename Leaf::tile_map values_map{}, b_map{};
    if (status s = leaf.map_tiles(a.stored_blocks(), a.side, a.side, values_map); !s) return s;
    if (status s = leaf.map_tiles(p.b, a.side, index_t{64}, b_map); !s) return s;
    auto const kernel =
        bsr_kernel<In, typename Q::c_type, typename A::index_type>(tile, static_cast<int>(a.side), padded);
    // Rows of tiles go through B together if their blocks fit a part of the second-level cache.
    constexpr index_t cached = 16 << 20;
    index_t const of_row = a.nonzeros() / m * tile.rows * static_cast<index_t>(sizeof(In)),
                  fit = cached / (of_row + 1), rows_of_tiles = (m - 1) / tile.rows + 1;
    index_t const together = fit < 8 ? 8 : fit < rows_of_tiles ? fit : rows_of_tiles;
    auto const e = added_or_c(p);
    auto const launch = [&](auto const&... blocks) {
        return leaf.launch(kernel, tiles < units ? tiles : units, values_map, b_map, blocks..., m / a.side,
                           static_cast<int>(together), p.alpha, p.beta, int{p.beta != typename Q::scalar(0)},
                           e, int{e.conjugate}, p.c, m, n);
    };
    if constexpr (padded)
        return launch(a.block_columns, a.block_columns.cols);
    else
        return launch(a.block_begins, a.block_columns);
}
template <class Leaf, class Q>
status multiply_bsr(Leaf const& leaf, Q const& p) {
    if (p.a.nonzeros() == 0) return keep_only(leaf, p.c, p.e, p.beta);
    return multiply_bsr(leaf, p, choose_bsr_tiling(p.c.rows, p.c.cols, leaf.warpgroup_units()));
}

STRATAGEMM_END
