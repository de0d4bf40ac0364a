// 2:4 times dense on the tensor cores of NVIDIA's sm_90a, in half and bfloat16: the kernel, and when it runs.
//
// One warpgroup fetches values, positions and B by 64 columns of A. The other warpgroups multiply 64 rows of a tile of
// C each, by warpgroup instructions for sparse A. These instructions take the two values of each four, which is half of
// a dense tile, and take the positions from a register of each thread. Blocks stay and take tile after tile: the next
// tile is fetched while this one is stored. Blocks of a cluster, whose tiles are below each other, fetch parts of B for
// one another.
//
// Shared memory bounds the rate: an instruction reads as much of B as two dense ones do, in the time of one.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../../device/warpgroups.hpp"

STRATAGEMM_BEGIN

inline constexpr char two_of_four_warpgroups_text[] = R"cu(
#define BLOCKS (TILE_M / 64 / WARPGROUPS) /* of 64 rows, of a warpgroup that multiplies */
#define DEPTH 64 /* columns of A of a stage */
#define A_BYTES (TILE_M * DEPTH)
#define B_BYTES (TILE_N * DEPTH * 2)
#define POSITIONS_BYTES (TILE_M / 64 * 512)
#define MANY_SUMS (BLOCKS * TILE_N > 256) /* which take more registers from those that fetch */
#define IN_FLIGHT (MANY_SUMS ? 4 : 8) /* elements of E that a thread reads */
#define ROWS_TOGETHER (16 / CLUSTER) /* rows of tiles that are walked through side by side */
#define BOX_BYTES 2048 /* of results: 16 rows of a warp */
#define NEXT_OF_B (B_ALONG_K ? 4 : 256) /* to the next 32 columns of A, in units of 16 bytes */
#define WIDTH (128 / (int)sizeof(OUT)) /* columns of C of a line of 128 bytes */
enum { by_threads, by_hardware, by_hardware_turned }; /* how C is stored: two_of_four_storing */

inline void put(unsigned at, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x), "f"(y) : "memory");
}
template <class T> void put(unsigned at, T x, T y) {
    asm volatile("st.shared.v2.b16 [%0], {%1, %2};" ::"r"(at), "h"(x.bits), "h"(y.bits) : "memory");
}
inline void put(unsigned at, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory"); }
inline unsigned both(float x, float y) { return 0; } /* of floats: not called */
template <class T> unsigned both(T x, T y) { return (unsigned)x.bits | (unsigned)y.bits << 16; }

inline void fetch_bytes(unsigned to, void const *from, int bytes, barrier full) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(full.at)
                 : "memory");
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(ITEMS, 1)
two_of_four_times_dense(__grid_constant__ const tensor_map values_map, __grid_constant__ const tensor_map b_map,
                        __grid_constant__ const tensor_map c_map, int storing, BUFFER(int const, positions),
                        index depth, PRODUCT, index row0, index col0, int turned EPILOGUE_STATE) {
    extern __shared__ char memory[];
    unsigned const base = ((unsigned)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;
    unsigned const a_tiles = base, b_tiles = a_tiles + STAGES * A_BYTES, boxes = b_tiles + STAGES * B_BYTES;
    unsigned const all_positions = boxes + WARPGROUPS * 4 * BOXES * BOX_BYTES;
    unsigned const barriers = all_positions + STAGES * POSITIONS_BYTES;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };
    int const rank = CLUSTER > 1 ? block_in_cluster() : 0;
    if (ITEM == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(1), empty(s).initialise(4 * WARPGROUPS * CLUSTER);
        barriers_are_ready();
    }
    if (CLUSTER > 1)
        cluster_begins();
    else
        __syncthreads();

    int const down = (int)((rows - 1) / (TILE_M * CLUSTER)) + 1, across = (int)((cols - 1) / TILE_N) + 1;
    int const tiles = down * across, steps = (int)((depth - 1) / DEPTH) + 1;
    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    if (ITEM < 128) {
        /* Registers: together no more than the launch has given. */
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(MANY_SUMS ? 24 : 40));
        if (ITEM == 0)
            for (int number = GROUP / CLUSTER; number < tiles; number += GROUPS / CLUSTER) {
                int tile_i, tile_j;
                place_of_tile(number, down, across, ROWS_TOGETHER, tile_i, tile_j);
                int const i0 = (tile_i * CLUSTER + rank) * TILE_M, j0 = tile_j * TILE_N;
                for (int step = 0; step < steps; ++step, next_stage()) {
                    empty(stage).wait(parity ^ 1);
                    full(stage).expect(A_BYTES + B_BYTES + POSITIONS_BYTES);
                    fetch(a_tiles + stage * A_BYTES, values_map, step * (DEPTH / 2), i0, 0, full(stage));
#pragma unroll 1
                    for (int g = 0; g < TILE_M / 64; ++g) {
                        /* Below the last row there are values that are zero, and any positions will do. */
                        int const block = min(i0 / 64 + g, (int)((rows - 1) / 64)) * steps + step;
                        fetch_bytes(all_positions + stage * POSITIONS_BYTES + g * 512, positions + (index)block * 128, 512,
                                    full(stage));
                    }
                    unsigned const b = b_tiles + stage * B_BYTES;
                    if (B_ALONG_K) {
                        constexpr int lines = TILE_N / CLUSTER;
                        unsigned const to = b + rank * lines * 128;
                        if (CLUSTER > 1)
                            fetch_for_all(to, b_map, step * DEPTH, j0 + rank * lines, 0, full(stage),
                                          (1 << CLUSTER) - 1);
                        else
                            fetch(to, b_map, step * DEPTH, j0, 0, full(stage));
                    } else {
                        constexpr int lines = DEPTH / CLUSTER;
#pragma unroll 1
                        for (int x = 0; x < TILE_N / 64; ++x) {
                            unsigned const to = b + x * DEPTH * 128 + rank * lines * 128;
                            if (CLUSTER > 1)
                                fetch_for_all(to, b_map, j0 + x * 64, step * DEPTH + rank * lines, 0, full(stage),
                                              (1 << CLUSTER) - 1);
                            else
                                fetch(to, b_map, j0 + x * 64, step * DEPTH, 0, full(stage));
                        }
                    }
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MANY_SUMS ? 240 : 232));
        int const group = WARP / 4 - 1, warp = WARP % 4;
        unsigned const staging = boxes + (WARP - 4) * BOXES * BOX_BYTES;
        int next_box = 0;
        /* Each warp has read where its values are. */
        auto const release = [&](int which) {
            if (CLUSTER > 1) {
                if (LANE < CLUSTER) empty(which).arrive_at(LANE);
            } else if (LANE == 0) {
                empty(which).arrive();
            }
        };
        /* Of a warp: 16 rows from i0 on. */
        auto const store = [&](float const(&sum)[TILE_N / 2], int i0, int j0) {
            int const lane = lane_now(), row = lane / 4;
            auto const begin_box = [&] {
                unsigned const box = staging + next_box * BOX_BYTES;
                if (++next_box == BOXES) next_box = 0;
                if (lane == 0) boxes_are_read_but_for<BOXES - 1>();
                __syncwarp();
                return box;
            };
            auto const end_box = [&](unsigned box, int along, int across) {
                hand_over();
                __syncwarp();
                if (lane == 0) send_box(box, c_map, along, across, 0);
            };
            auto const last = [&](float x, index i, index j) {
                return epilogue((value)x, row0 + (turned ? j : i), col0 + (turned ? i : j) EPILOGUE_NAMES);
            };
            auto const number = [&](int v) {
                int const i = i0 + row + v / 2 % 2 * 8, j = j0 + v / 4 * 8 + lane % 4 * 2 + v % 2;
                return last(alpha * sum[v], min((index)i, rows - 1), min((index)j, cols - 1));
            };
            auto const result = [&](int v) { return to<OUT>::from(number(v)); };
            if (storing == by_hardware) { /* rows of C */
#pragma unroll
                for (int first = 0; first < TILE_N; first += WIDTH) {
                    unsigned const box = begin_box();
#pragma unroll
                    for (int v = 0; v < WIDTH / 4; ++v) /* pairs */
                        put(box + (row + v % 2 * 8) * 128 +
                                (((v / 2 * 8 + lane % 4 * 2) * (int)sizeof(OUT)) ^ row * 16),
                            result(first / 2 + 2 * v), result(first / 2 + 2 * v + 1));
                    end_box(box, j0 + first, i0);
                }
            } else if (storing == by_hardware_turned) { /* columns, of 16 elements each */
#pragma unroll
                for (int first = 0; first < TILE_N; first += WIDTH) {
                    unsigned const box = begin_box();
                    if (sizeof(OUT) == 2) {
#pragma unroll
                        for (int v = 0; v < WIDTH / 2; v += 8) { /* of 16 columns: 8 x 8 elements by 8 x 8, turned */
                            int const column = v * 2 + lane / 16 * 8 + lane % 8;
                            unsigned const at = box + column * 32 + (lane / 8 % 2 ^ column / 4 % 2) * 16;
                            unsigned x[4];
#pragma unroll
                            for (int w = 0; w < 4; ++w)
                                x[w] = both(result(first / 2 + v + 2 * w), result(first / 2 + v + 2 * w + 1));
                            asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                                         "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                                         : "memory");
                        }
                    } else {
#pragma unroll
                        for (int v = 0; v < WIDTH / 2; ++v) {
                            int const column = v / 4 * 8 + lane % 4 * 2 + v % 2, i = row + v / 2 % 2 * 8;
                            put(box + column * 64 + ((i * 4) ^ column / 2 % 4 * 16), number(first / 2 + v));
                        }
                    }
                    end_box(box, i0, j0 + first);
                }
            } else {
                bool const by_columns = c_row == 1;
                if (lane == 0) boxes_are_read_but_for<0>();
#pragma unroll
                for (int first = 0; first < TILE_N; first += 32) {
                    __syncwarp();
#pragma unroll
                    for (int v = 0; v < 8; ++v)
                        put(staging + (row + v % 2 * 8) * 128 + ((v / 2 * 32 + lane % 4 * 8) ^ row * 16),
                            sum[first / 2 + 2 * v], sum[first / 2 + 2 * v + 1]);
                    __syncwarp();
#pragma unroll 1
                    for (int part = 0; part < 16; part += IN_FLIGHT) {
                        OUT added[IN_FLIGHT];
                        auto const each = [&](auto const &f) { /* f(number, row and column of the box) */
#pragma unroll
                            for (int v = 0; v < IN_FLIGHT; ++v) {
                                int const r = by_columns ? lane % 16 : part + v;
                                int const column = by_columns ? (part + v) * 2 + lane / 16 : lane;
                                if ((index)i0 + r < rows && (index)j0 + first + column < cols) f(v, r, column);
                            }
                        };
                        if (adds)
                            each([&](int v, int r, int column) {
                                added[v] = e[AT(e, (index)i0 + r, (index)j0 + first + column)];
                            });
                        each([&](int v, int r, int column) {
                            index const i = (index)i0 + r, j = (index)j0 + first + column;
                            float x = alpha * __uint_as_float(word_at(staging + r * 128 + ((column * 4) ^ r % 8 * 16)));
                            if (adds) x = multiply_add(beta, widen(added[v]), x);
                            c[AT(c, i, j)] = to<OUT>::from(last(x, i, j));
                        });
                    }
                }
            }
        };
        for (int number = GROUP / CLUSTER; number < tiles; number += GROUPS / CLUSTER) {
            int tile_i, tile_j, before = 0;
            place_of_tile(number, down, across, ROWS_TOGETHER, tile_i, tile_j);
            float sums[BLOCKS][TILE_N / 2];
            for (int step = 0; step < steps; ++step) {
                full(stage).wait(parity);
                unsigned where[BLOCKS];
                unsigned const at = all_positions + stage * POSITIONS_BYTES + group * BLOCKS * 512 + ITEM % 128 * 4;
                unsigned long long const a =
                    descriptor_of(a_tiles + stage * A_BYTES + group * BLOCKS * 64 * DEPTH, 64);
                unsigned long long const b = descriptor_of(b_tiles + stage * B_BYTES, 128, B_ALONG_K ? 16 : DEPTH * 128);
#pragma unroll
                for (int x = 0; x < BLOCKS; ++x) where[x] = word_at(at + x * 512);
                begin();
#pragma unroll
                for (int x = 0; x < BLOCKS; ++x) multiply<0>(sums[x], a + x * (64 * DEPTH / 16), b, where[x], step);
#pragma unroll
                for (int x = 0; x < BLOCKS; ++x)
                    multiply<1>(sums[x], a + x * (64 * DEPTH / 16) + 2, b + NEXT_OF_B, where[x], 1);
                commit();
                wait_but_for<1>();
                if (step > 0) release(before);
                before = stage;
                next_stage();
            }
            wait_but_for<0>();
#pragma unroll
            for (int x = 0; x < BLOCKS; ++x) are_there(sums[x]);
            release(before);

            int const i0 = (tile_i * CLUSTER + rank) * TILE_M + group * BLOCKS * 64 + warp * 16;
#pragma unroll
            for (int x = 0; x < BLOCKS; ++x) store(sums[x], i0 + x * 64, tile_j * TILE_N);
        }
        if (LANE == 0) boxes_are_read_but_for<0>();
    }
    /* Nobody leaves while another block may still tell it something. */
    __syncwarp();
    if (CLUSTER > 1) cluster_ends();
}
)cu";

// How the kernel stores C: threads do, or the hardware, by rows or by columns.
enum class two_of_four_storing : int { by_threads, by_hardware, by_hardware_turned };

// How C is cut into tiles, and how long a tile keeps shared memory busy for each column of A: by the bytes that are
// fetched, and by those that are read, at 128 bytes a clock.
struct two_of_four_tiling {
    int rows, cols, warpgroups, cluster, stages, boxes;

    int items() const { return 128 * (warpgroups + 1); }
    std::size_t shared_bytes() const {
        return static_cast<std::size_t>(stages * (rows * 64 + cols * 128 + rows * 8 + 16) +
                                        warpgroups * 4 * boxes * 2048 + 1024);
    }
    std::string definitions() const {
        auto const define = [](char const* name, int value) {
            return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
        };
        return define("TILE_M", rows) + define("TILE_N", cols) + define("WARPGROUPS", warpgroups) +
               define("CLUSTER", cluster) + define("STAGES", stages) + define("BOXES", boxes);
    }
    index_t clusters(index_t m, index_t n) const {
        return ((m - 1) / (rows * cluster) + 1) * ((n - 1) / cols + 1);
    }
    double clocks() const { return (rows / 64 * (64.0 + 2 * cols) + rows + 2.0 * cols) / 128; }
};
inline constexpr two_of_four_tiling two_of_four_tilings[] = {{128, 256, 2, 2, 4, 2}, {256, 192, 2, 2, 4, 2},
                                                             {256, 128, 2, 2, 5, 2}, {128, 128, 2, 2, 6, 2},
                                                             {64, 128, 1, 1, 8, 2},  {64, 64, 1, 1, 12, 2}};

inline double clocks_of_two_of_four(two_of_four_tiling const& t, index_t m, index_t n, int units) {
    index_t const resident = units / t.cluster;
    return static_cast<double>((t.clusters(m, n) + resident - 1) / resident) * t.clocks();
}
inline two_of_four_tiling choose_two_of_four_tiling(index_t m, index_t n, int units) {
    two_of_four_tiling best = two_of_four_tilings[0];
    for (two_of_four_tiling const& t : two_of_four_tilings)
        if (clocks_of_two_of_four(t, m, n, units) < clocks_of_two_of_four(best, m, n, units)) best = t;
    return best;
}
// Seconds, at 1.5 GHz.
inline double estimate_two_of_four(index_t m, index_t n, index_t k, int units) {
    two_of_four_tiling const t = choose_two_of_four_tiling(m, n, units);
    return clocks_of_two_of_four(t, m, n, units) * static_cast<double>(k) / 1.5e9;
}

// One instruction: 64 x n, 32 columns of A. The threads whose number in each four is 0 or 1 give the positions, or
// those whose number is 2 or 3 (HALF).
inline std::string two_of_four_instruction(std::string const& type, int n) {
    int const sums = n / 2;
    std::string list, outputs;
    for (int i = 0; i < sums; ++i) {
        list += (i ? ", %" : "%") + std::to_string(i);
        outputs += std::string(i ? ", \"+" : "\"+") + "f\"(d[" + std::to_string(i) + "])";
    }
    auto const operand = [&](int i) { return '%' + std::to_string(sums + i); };
    return "template <int HALF> void multiply(float (&d)[" + std::to_string(sums) +
           "], unsigned long long a, unsigned long long b, unsigned where, int adds_up) {\n"
           "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, " +
           operand(3) + ", 0;\\nwgmma.mma_async.sp.sync.aligned.m64n" + std::to_string(n) + "k32.f32." +
           type + '.' + type + " {" + list + "}, " + operand(0) + ", " + operand(1) + ", " + operand(2) +
           ", " + operand(4) + ", p, 1, 1, 0, " + operand(5) + ";\\n}\" : " + outputs +
           " : \"l\"(a), \"l\"(b), \"r\"(where), \"r\"(adds_up), \"n\"(HALF), \"n\"(!B_ALONG_K));\n}\n";
}
template <class In, class Out, bool BAlongK, int TileN>
std::string two_of_four_types() {
    return kernel_types<In, Out>() + "#define B_ALONG_K " + (BAlongK ? "1" : "0") + '\n' + fetches_text +
           wgmma_text + two_of_four_instruction(std::is_same_v<In, half> ? "f16" : "bf16", TileN);
}
template <class In, class Out>
device_kernel two_of_four_kernel(two_of_four_tiling const& t, bool b_along_k, std::string const& epilogue) {
    auto const types = [&]<bool Along>(std::bool_constant<Along>) {
        return t.cols == 256   ? two_of_four_types<In, Out, Along, 256>
               : t.cols == 192 ? two_of_four_types<In, Out, Along, 192>
               : t.cols == 128 ? two_of_four_types<In, Out, Along, 128>
                               : two_of_four_types<In, Out, Along, 64>;
    };
    return {"two_of_four_times_dense",
            two_of_four_warpgroups_text,
            t.definitions() + epilogue,
            t.items(),
            false,
            false,
            b_along_k ? types(std::true_type{}) : types(std::false_type{}),
            t.shared_bytes()};
}

// Whether the leaf's device has the kernel.
template <class Leaf, class Space, class T>
inline constexpr bool may_have_two_of_four_kernel = warpgroup_leaf<Leaf, Space> &&
                                                    (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>);
template <class Space, class T, class Leaf>
bool has_two_of_four_kernel([[maybe_unused]] Leaf const& leaf) {
    if constexpr (may_have_two_of_four_kernel<Leaf, Space, T>)
        return leaf.warpgroup_units() > 0;
    else
        return false;
}
// Whether the hardware can fetch rows of a matrix, or store them: they begin at multiples of 16 bytes.
template <class T, class Space>
bool has_aligned_rows(view<T, Space> const& x) {
    constexpr index_t unit = sizeof(T) < 16 ? 16 / static_cast<index_t>(sizeof(T)) : 1;
    return x.col_stride == 1 && x.row_stride >= x.cols && x.row_stride % unit == 0 &&
           Space::address(x.data) % 16 == 0;
}
template <class T, class Space, class Positions>
bool is_aligned_two_of_four(view<T, Space> const& values, Positions const& positions) {
    return has_aligned_rows(values) && Space::address(positions) % 16 == 0 && values.rows <= device_longest &&
           values.cols <= device_longest / 2;
}

// C = epilogue(alpha A B + beta E); `turned`: this is the transposed of the caller's product.
template <class Leaf, class Q>
status multiply_two_of_four(Leaf const& leaf, Q const& p, two_of_four_tiling const& t, bool turned = false) {
    using In = typename Q::a_type;
    using Out = typename Q::c_type;
    using tile_map = typename Leaf::tile_map;
    index_t const m = p.c.rows, n = p.c.cols, clusters = t.clusters(m, n);
    index_t const resident = leaf.warpgroup_units() / t.cluster;
    if (clusters > device_longest / 2)
        return error(errc::unsupported, Leaf::layer,
                     "two_of_four: a product has too many tiles; multiply blocks");
    bool const b_along_k = !has_aligned_rows(p.b), adds = p.beta != typename Q::scalar(0);
    // The hardware stores 16 bytes at a time, also where only the first of them are within C.
    auto const can_be_stored = [](auto const& c) {
        return has_aligned_rows(c) && c.cols * static_cast<index_t>(sizeof(Out)) % 16 == 0;
    };
    auto const storing = adds                              ? two_of_four_storing::by_threads
                         : can_be_stored(p.c)              ? two_of_four_storing::by_hardware
                         : can_be_stored(p.c.transposed()) ? two_of_four_storing::by_hardware_turned
                                                           : two_of_four_storing::by_threads;
    tile_map values_map{}, b_map{}, c_map{};
    if (status s = leaf.map_tiles(p.a.values, t.rows, index_t{32}, values_map); !s) return s;
    status s = b_along_k ? leaf.map_tiles(p.b.transposed(), t.cols / t.cluster, index_t{64}, b_map)
                         : leaf.map_tiles(p.b, index_t{64} / t.cluster, index_t{64}, b_map);
    if (!s) return s;
    constexpr index_t line = 128 / static_cast<index_t>(sizeof(Out));
    view<Out const, typename Q::space> const c = p.c;
    s = storing == two_of_four_storing::by_hardware ? leaf.map_tiles(c, index_t{16}, line, c_map)
        : storing == two_of_four_storing::by_hardware_turned
            ? leaf.map_tiles(c.transposed(), line, index_t{16}, c_map)
            : status();
    if (!s) return s;
    auto const e = added_or_c(p);
    typename Leaf::template epilogue<typename Q::scalar> const last(p.epilogue);
    return leaf.launch(two_of_four_kernel<In, Out>(t, b_along_k, last.definitions()),
                       (clusters < resident ? clusters : resident) * t.cluster, values_map, b_map, c_map,
                       static_cast<int>(storing), p.a.positions, p.a.cols, p.alpha, p.beta, int{adds}, e,
                       int{e.conjugate}, p.c, m, n, p.row0, p.col0, int{turned}, last);
}

STRATAGEMM_END
