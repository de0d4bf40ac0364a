// The product of doubles on the tensor cores of sm_90: tiles come through the tensor memory accelerator in
// lines of 16 elements, swizzled. The accelerator cannot fetch operands whose lines do not begin at multiples of 16
// bytes: with DENSE = 0 four warps copy these to the same places, element by element, which takes less time than to
// copy the operand first.
//
// A warp multiplies X, 16 x 8, by Y, 8 x 8 (m16n8k8). The kernel is free to choose which rows, columns and terms of k
// these are, as long as X, Y and C agree. The kernel chooses them such that a thread reads pairs from shared memory,
// and that no two threads meet in a bank. The instruction takes such a pair as it is if the pair lies along the rows of
// X, or along k in Y. Where A lies along k and B along n, X is therefore B and Y is A (SWAPPED), and the kernel
// computes the transpose of C.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_fp64_text[] = R"cu(
#define WARPS_M (TILE_M / MICRO_M)
#define WARPS_N (TILE_N / MICRO_N)
#define WARPS (WARPS_M * WARPS_N)
#define GIVES_REGISTERS (DENSE && FETCHERS == 4)
#define A_BYTES (TILE_M * TILE_K * 8)
#define B_BYTES (TILE_N * TILE_K * 8)
#define SWAPPED (A_ALONG_K && !B_ALONG_K)
#define X_ALONG_K (SWAPPED ? B_ALONG_K : A_ALONG_K)
#define Y_ALONG_K (SWAPPED ? A_ALONG_K : B_ALONG_K)
#define BLOCKS_X ((SWAPPED ? MICRO_N : MICRO_M) / 16)
#define BLOCKS_Y ((SWAPPED ? MICRO_M : MICRO_N) / 16)
#define SENDS (!SPREADS && !PARTIAL && sizeof(OUT) == 8)
static_assert(STAGES >= 3, "one is read, one is next, one is fetched");
static_assert(TILE_K == 16, "a line of shared memory is the depth of a tile");

/* Two at once, if they are to be in neighbouring registers. Else one by one, although two threads then meet in a bank: to
   move them takes more registers than there are. (Volatile: the assembler would read both at once.) */
template <bool PAIR> inline void read(double &x, double &y, unsigned address) {
    if constexpr (PAIR)
        asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(x), "=d"(y) : "r"(address));
    else
        asm volatile("ld.volatile.shared.f64 %0, [%2];\nld.volatile.shared.f64 %1, [%2+8];"
                     : "=&d"(x), "=d"(y) : "r"(address));
}
inline void multiply(double (&c)[4], double const (&x)[4], double y0, double y1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y0), "d"(y1));
}
/* As the hardware fetches SIDE lines (along k) or terms of lines, by the threads of four warps; zeros outside of the
   operand. `from` is the first element, `lines` and `terms` are there from it on. */
template <bool ALONG_K, int SIDE>
inline void gather(unsigned to, double const *from, index line, index term, int lines, int terms, int worker) {
    int const e = worker % 16, row = worker / 16;
    to += row * 128 + ((e / 2 ^ row) * 16) + e % 2 * 8;
    from += ALONG_K ? row * line + e * term : e * line + row * term;
    int const down = (ALONG_K ? lines : terms) - row, across = (ALONG_K ? terms : lines) - e;
#pragma unroll
    for (int r = 0; r < SIDE; r += 8) { /* rows of 16 elements: lines, or terms of 16 lines */
        int const i = ALONG_K ? r : r / 16 * 16, l = ALONG_K ? 0 : r % 16;
        bool const there = ALONG_K ? r < down && across > 0 : l < down && i < across;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + r * 128),
                     "l"(from + (i * line + l * term)), "r"(there ? 8 : 0) : "memory");
    }
}
/* 0 4 1 5 2 6 3 7: neighbours lie in different halves of the banks. */
inline int spread(int g) { return g / 2 | (g & 1) << 2; }

/* Where a thread finds its elements of 16 lines, terms of k 8 h .. 8 h + 7, for (g, t) = (lane / 4, lane % 4). Along k:
   lines spread(g) and 8 more, terms 2 t and 2 t + 1. Else: lines 2 g and 2 g + 1, terms 2 t and 2 t + 1. As chunks of 16
   bytes are swizzled, one is found from another by flipping a bit. */
template <bool ALONG_K> struct lines {
    static unsigned first(int lane) {
        int const g = lane / 4, t = lane % 4;
        return ALONG_K ? spread(g) * 128 + (t ^ spread(g)) * 16 : t * 256 + (g ^ 2 * t) * 16;
    }
    /* x[line][term], of the block at `at`, where the thread's first is */
    template <bool PAIRS> static void read_block(double (&x)[2][2], unsigned at, int h) {
        if (ALONG_K) {
            read<PAIRS>(x[0][0], x[0][1], at ^ h * 64);
            read<PAIRS>(x[1][0], x[1][1], (at ^ h * 64) + 1024);
        } else {
            read<PAIRS>(x[0][0], x[1][0], at + h * 1024);
            read<PAIRS>(x[0][1], x[1][1], (at ^ 16) + h * 1024 + 128);
        }
    }
    /* The line that is row `row` (0 to 7) of the first or second half of a block. */
    static int line(int row, int half_block) { return ALONG_K ? 8 * half_block + spread(row) : 2 * row + half_block; }
};

/* The sum s (0 to 7) that a thread has of a block is sum[f][2 * half + e]. It is i rows and j columns of C from the
   first sum of the thread. Where B does not lie along k, sums s and s | 4 are neighbours in a row of C. */
struct spot {
    static constexpr int half_x = X_ALONG_K ? 8 : 1, half_y = Y_ALONG_K ? 8 : 1, next_y = Y_ALONG_K ? 4 : 2;
    static constexpr bool has_neighbours = (SWAPPED ? half_x : half_y) == 1;
    int e, half, f, i, j;
    spot(int x, int y, int s) : e(s & 1) {
        int const h = s >> 1 & 1, other = s >> 2;
        half = SWAPPED ? other : h, f = SWAPPED ? h : other;
        int const at_x = 16 * x + half_x * half, at_y = 16 * y + half_y * f + next_y * e;
        i = SWAPPED ? at_y : at_x, j = SWAPPED ? at_x : at_y;
    }
};
/* Sums of a warp in pairs along the rows of C or, PAIRS = false, one by one. Rows of X are those of C, or columns if
   swapped. PART: of a part of k to workspace. */
template <class T> inline void store_two(T *to, T x, T y) {
    run_of<T, 2> const pair = {x, y};
    *(run_of<T, 2> *)to = pair;
}
template <bool PAIRS, bool READS_E, bool PART>
inline void store_sums(arguments const &p, epilogue_state const &state, double const (&sum)[BLOCKS_X][BLOCKS_Y][2][4],
                       int x0, int y0, int batch) {
    int const lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    /* The first element that this thread has; from there all distances are known to the compiler. */
    int const x = x0 + lines<X_ALONG_K>::line(g, 0), y = y0 + lines<Y_ALONG_K>::line(2 * t, 0);
    int const i0 = SWAPPED ? y : x, j0 = SWAPPED ? x : y;
    index const row = PARTIAL ? line_of_parts(p) : PART ? TILE_N : p.c.row, col = PAIRS || PART ? 1 : p.c.col;
    auto *const c = [&] {
        if constexpr (PARTIAL)
            return (scalar *)p.c.data + (((index)batch * p.m + i0) * row + j0);
        else if constexpr (PART)
            return (scalar *)p.a.data + (((index)(-1 - batch) * TILE_M + i0 % TILE_M) * row + j0 % TILE_N);
        else
            return (OUT *)element<OUT>(p.c, i0, j0, batch);
    }();
    OUT const *const from = READS_E ? element<OUT>(p.e, i0, j0, batch) : nullptr;
    auto const result = [&](scalar value, OUT const *e, int i, int j) {
        if constexpr (PARTIAL)
            return value;
        else if constexpr (PART)
            return p.alpha * value;
        else
            return finished(p, state, value, READS_E, e, i0 + i, j0 + j);
    };
    auto const is_there = [&](int i, int j) { return PAIRS || (i0 + i < p.m && j0 + j < p.n); };
    constexpr bool neighbours = PAIRS && spot::has_neighbours;
#pragma unroll
    for (int y = 0; y < BLOCKS_Y; ++y)
#pragma unroll
        for (int x = 0; x < BLOCKS_X; ++x) {
            /* Of E, before anything is stored: a load after a store waits for it. */
            constexpr bool ahead = READS_E && SPREADS;
            double before[ahead ? 8 : 1];
            if constexpr (ahead) {
#pragma unroll
                for (int s = 0; s < 8; ++s) {
                    spot const at(x, y, s);
                    if (is_there(at.i, at.j)) before[s] = from[at.i * p.e.row + at.j * p.e.col];
                }
            }
            auto const e_of = [&](int s, spot const &at) {
                return ahead ? &before[s] : READS_E ? from + (at.i * p.e.row + at.j * p.e.col) : nullptr;
            };
#pragma unroll
            for (int s = 0; s < (neighbours ? 4 : 8); ++s) {
                spot const at(x, y, s), next(x, y, s | 4);
                if (!is_there(at.i, at.j)) continue;
                double const value = result(sum[x][y][at.f][2 * at.half + at.e], e_of(s, at), at.i, at.j);
                auto *const to = c + (at.i * row + at.j * col);
                if (neighbours)
                    store_two(to, value, result(sum[x][y][next.f][2 * next.half + next.e],
                                                e_of(s | 4, next), next.i, next.j));
                else
                    *to = value;
            }
        }
}

/* A block of 16 x 16 sums to `box`, where rows take turns in the banks. */
#define BOX_BYTES 2048
inline unsigned place_in_box(unsigned box, int row, int col) { return box + row * 128 + ((col ^ row % 8 * 2) * 8); }
template <class FINISH>
inline void put_block(unsigned box, double const (&sum)[2][4], int lane, FINISH const &finish) {
    int const x = lines<X_ALONG_K>::line(lane / 4, 0), y = lines<Y_ALONG_K>::line(lane % 4 * 2, 0);
#pragma unroll
    for (int s = 0; s < (spot::has_neighbours ? 4 : 8); ++s) {
        spot const at(0, 0, s), next(0, 0, s | 4);
        int const row = (SWAPPED ? y : x) + at.i, col = (SWAPPED ? x : y) + at.j;
        double const value = finish(sum[at.f][2 * at.half + at.e], row, col);
        if (spot::has_neighbours)
            asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(place_in_box(box, row, col)), "d"(value),
                         "d"(finish(sum[next.f][2 * next.half + next.e], row, col + 1)) : "memory");
        else
            asm volatile("st.shared.f64 [%0], %1;" ::"r"(place_in_box(box, row, col)), "d"(value) : "memory");
    }
}

/* As store_sums to C, but a warp stores lines of 16 columns, however C is aligned: of tiles that are not whole, and of
   whole ones if C asks for lines (stores_lines). */
inline void store_lines(arguments const &p, epilogue_state const &state, double const (&sum)[BLOCKS_X][BLOCKS_Y][2][4],
                        int i0, int j0, int batch, unsigned room) {
#pragma unroll
    for (int block_y = 0; block_y < BLOCKS_Y; ++block_y)
#pragma unroll
        for (int block_x = 0; block_x < BLOCKS_X; ++block_x) {
            int lane = threadIdx.x % 32;
            asm volatile("" : "+r"(lane), "+r"(room), "+r"(i0), "+r"(j0)); /* what follows is not kept in registers */
            int const column = lane % 16;
            __syncwarp();
            put_block(room, sum[block_x][block_y], lane, [](double x, int, int) { return x; });
            __syncwarp();
            int const i = i0 + 16 * (SWAPPED ? block_y : block_x) + lane / 16;
            int const j = j0 + 16 * (SWAPPED ? block_x : block_y) + column, rows = j < p.n ? p.m - i : 0;
            bool const reads_e = p.flags & adds;
            OUT *to = (OUT *)element<OUT>(p.c, i, j, batch);
            OUT const *e = element<OUT>(p.e, i, j, batch);
#pragma unroll
            for (int v = 0; v < 16; v += 2, to += 2 * p.c.row, e += 2 * p.e.row) {
                double value;
                asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(place_in_box(room, v + lane / 16, column))
                             : "memory");
                if (v >= rows) continue;
                if (GIVES_REGISTERS)
                    store_to(p, state, value, i + v, j, batch); /* there is no register for an address more */
                else
                    *to = finished(p, state, value, reads_e, e, i + v, j);
            }
        }
}

/* The same by hardware, which reads boxes from `room` while the next tile is multiplied. A warp fills all boxes at once
   if there is one for each block; else half of them, or one, so that the hardware reads the others meanwhile. Boxes
   beyond C are sent, too: boxes_are_read_but_for() counts all that were sent. */
#define BOXES (WARP_RESULTS / BOX_BYTES)
#define BOXES_TOGETHER (BOXES == BLOCKS_X * BLOCKS_Y ? BOXES : BOXES % 2 == 0 ? BOXES / 2 : 1)
static_assert(BLOCKS_X * BLOCKS_Y % BOXES == 0, "each block has the same box in all tiles");
inline void send_lines(arguments const &p, epilogue_state const &state, double const (&sum)[BLOCKS_X][BLOCKS_Y][2][4],
                       int i0, int j0, int batch, unsigned room, tensor_map const &c_map) {
#pragma unroll
    for (int from = 0; from < BLOCKS_X * BLOCKS_Y; from += BOXES_TOGETHER) {
        int lane = threadIdx.x % 32;
        asm volatile("" : "+r"(lane), "+r"(room), "+r"(i0), "+r"(j0)); /* what follows is not kept in registers */
        if (lane == 0) boxes_are_read_but_for<BOXES - BOXES_TOGETHER>();
        __syncwarp();
        auto const each = [&](auto const &f) {
#pragma unroll
            for (int b = from; b < from + BOXES_TOGETHER; ++b) {
                int const x = b % BLOCKS_X, y = b / BLOCKS_X;
                f(room + b % BOXES * BOX_BYTES, x, y, i0 + 16 * (SWAPPED ? y : x), j0 + 16 * (SWAPPED ? x : y));
            }
        };
        each([&](unsigned box, int x, int y, int i, int j) {
            put_block(box, sum[x][y], lane, [&](double value, int row, int col) {
                return finished(p, state, value, false, nullptr, min(i + row, p.m - 1), min(j + col, p.n - 1));
            });
        });
        hand_over();
        __syncwarp();
        if (lane == 0) each([&](unsigned box, int, int, int i, int j) { send_box(box, c_map, j, i, batch); });
    }
}

extern "C" __global__ void __launch_bounds__((WARPS + FETCHERS) * 32, 1)
fp64(__grid_constant__ const tensor_map a_map, __grid_constant__ const tensor_map b_map,
     __grid_constant__ const tensor_map c_map, __grid_constant__ const arguments p,
     __grid_constant__ const epilogue_state state) {
    extern __shared__ char memory[];
    unsigned const base = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned const a_tiles = base, b_tiles = base + STAGES * A_BYTES;
    unsigned const barriers = b_tiles + STAGES * B_BYTES + WARPS * WARP_RESULTS;
    auto const full = [&](int stage) { return barrier{barriers + stage * 16}; };
    auto const empty = [&](int stage) { return barrier{barriers + stage * 16 + 8}; };

    int const warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) full(s).initialise(DENSE ? 1 : FETCHERS * 32), empty(s).initialise(WARPS);
        barriers_are_ready();
        if (DENSE) fetch_map(a_map), fetch_map(b_map);
        if (SENDS && p.flags & c_is_mapped) fetch_map(c_map);
    }
    __syncthreads();
    wait_for_earlier();

    int stage = 0, parity = 0;
    auto const next_stage = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    /* One thread fetches, or four warps gather. Where the warps that multiply need more registers than a block has for
       each, this thread is in a group of four warps, which give theirs away. */
    if (warp >= WARPS) {
#if GIVES_REGISTERS
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
#endif
        if (!DENSE || threadIdx.x == WARPS * 32) {
            /* Boxes along k have no more lines than A or B, as those of wgmma.cu.hpp, where it says why. */
            int const bytes =
                ((A_ALONG_K ? min(TILE_M, p.m) : TILE_M) + (B_ALONG_K ? min(TILE_N, p.n) : TILE_N)) * 128;
            walk ahead;
            for (ahead.tile(p, blockIdx.x); ahead.left > 0; next_stage()) {
                int const batch_a = matrix_of(p.a, ahead.batch), batch_b = matrix_of(p.b, ahead.batch);
                empty(stage).wait(parity ^ 1);
#if !DENSE
                int const own = threadIdx.x - WARPS * 32, line_a = ahead.i0, line_b = ahead.j0, term = ahead.l;
                gather<A_ALONG_K, TILE_M>(a_tiles + stage * A_BYTES, element<double>(p.a, line_a, term, batch_a),
                                          p.a.row, p.a.col, p.m - line_a, p.k - term, own);
                gather<B_ALONG_K, TILE_N>(b_tiles + stage * B_BYTES, element<double>(p.b, term, line_b, batch_b),
                                          p.b.col, p.b.row, p.n - line_b, p.k - term, own);
                asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(full(stage).at) : "memory");
                ahead.next_step(p);
                continue;
#endif
                /* What others have read there is to be ahead of what the hardware writes, which is another proxy. */
                hand_over();
                full(stage).expect(bytes);
                unsigned const a = a_tiles + stage * A_BYTES, b = b_tiles + stage * B_BYTES;
                int const l = ahead.l, i = ahead.i0, j = ahead.j0;
#pragma unroll
                for (int x = 0; x < (A_ALONG_K ? 1 : TILE_M / 16); ++x)
                    fetch(a + x * 2048, a_map, A_ALONG_K ? l : i + x * 16, A_ALONG_K ? i : l, batch_a, full(stage));
#pragma unroll
                for (int x = 0; x < (B_ALONG_K ? 1 : TILE_N / 16); ++x)
                    fetch(b + x * 2048, b_map, B_ALONG_K ? l : j + x * 16, B_ALONG_K ? j : l, batch_b, full(stage));
                ahead.next_step(p);
            }
            /* Those that multiply read one stage ahead; this lets them past the end. */
            empty(stage).wait(parity ^ 1);
            full(stage).arrive();
        }
        return;
    }
#if GIVES_REGISTERS
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
#endif

    unsigned const a_warp = a_tiles + warp / WARPS_N * MICRO_M * 128, b_warp = b_tiles + warp % WARPS_N * MICRO_N * 128;
    unsigned const x_at = (SWAPPED ? b_warp : a_warp) + lines<X_ALONG_K>::first(lane);
    unsigned const y_at = (SWAPPED ? a_warp : b_warp) + lines<Y_ALONG_K>::first(lane);
    double sum[BLOCKS_X][BLOCKS_Y][2][4];
    /* One half of a stage is read while the other is multiplied, the first during the second of the stage before. With
       large tiles, to save registers, the last block of X in the second half lies where the first of the first half does:
       it is read late, as soon as that is used, and is itself used first. */
    constexpr int late = GIVES_REGISTERS;
    double x[2 * BLOCKS_X - late][2][2], y[2][BLOCKS_Y][2][2];
    auto const x_of = [&](int h, int i) { return (i + h * BLOCKS_X) % (2 * BLOCKS_X - late); };
    auto const first_of = [&](int h) { return late && h == 1 ? BLOCKS_X - 1 : 0; };
    auto const read_x = [&](int which, int h, int i) {
        unsigned const at = x_at + which * (SWAPPED ? B_BYTES : A_BYTES) + i * 2048;
        lines<X_ALONG_K>::read_block<!X_ALONG_K>(x[x_of(h, i)], at, h);
    };
    /* But for what is read late. */
    auto const read_half = [&](int which, int h) {
#pragma unroll
        for (int i = 0; i < BLOCKS_X; ++i)
            if (!late || i != first_of(h)) read_x(which, h, i);
#pragma unroll
        for (int j = 0; j < BLOCKS_Y; ++j) {
            unsigned const at = y_at + which * (SWAPPED ? A_BYTES : B_BYTES) + j * 2048;
            lines<Y_ALONG_K>::read_block<Y_ALONG_K>(y[h][j], at, h);
        }
    };
    auto const multiply_by = [&](int h, int i) {
#pragma unroll
        for (int j = 0; j < BLOCKS_Y; ++j)
#pragma unroll
            for (int f = 0; f < 2; ++f) {
                double const(&v)[2][2] = x[x_of(h, i)];
                double const in_order[4] = {v[0][0], v[1][0], v[0][1], v[1][1]};
                multiply(sum[i][j][f], in_order, y[h][j][f][0], y[h][j][f][1]);
            }
    };
    /* What finding a tile takes should not be in registers all along: the compiler is not to know that it is the same
       each time. */
    auto const found = [&](int number) {
        int m = p.m, n = p.n;
        asm volatile("" : "+r"(number), "+r"(m), "+r"(n));
        return TAIL ? tile_at(p, number) : place_of_tile(number, (m - 1) / TILE_M + 1, (n - 1) / TILE_N + 1);
    };
    full(stage).wait(parity);
    read_half(stage, 0);
    if (late) read_x(stage, 0, first_of(0));
    for (int number = blockIdx.x; number < tiles_of(p); number += gridDim.x) {
#pragma unroll
        for (int i = 0; i < BLOCKS_X; ++i)
#pragma unroll
            for (int j = 0; j < BLOCKS_Y; ++j)
#pragma unroll
                for (int e = 0; e < 8; ++e) sum[i][j][e / 4][e % 4] = 0;
        in_pieces<double[BLOCKS_X][BLOCKS_Y][2][4]> pieces(p, TILE_K);
#if PIECES
        for (int left = steps_of(p, found(number)); left > 0; pieces.add(sum))
            for (int const end = left - pieces.next(left); left > end; --left) {
#else
        for (int left = steps_of(p, found(number)); left > 0; --left) {
#endif
            int const now = stage;
            next_stage();
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                int const other = 1 - h, where = h == 0 ? now : stage;
                if (h == 1) full(stage).wait(parity);
                read_half(where, other);
#pragma unroll
                for (int i = 0; i < BLOCKS_X; ++i) {
                    multiply_by(h, (i + first_of(h)) % BLOCKS_X);
                    if (late && i == 0) read_x(where, other, first_of(other));
                }
            }
            /* Not before all has been multiplied. Given back as soon as the last of it had been asked for, a stage was
               filled anew before some of that had come. (Not `now`, which would take a register till here.) */
            __syncwarp();
            if (lane == 0) empty(stage == 0 ? STAGES - 1 : stage - 1).arrive();
        }
        pieces.finish(sum);
        place const t = found(number);
        int const w = threadIdx.x / 32; /* and this anew, for the same reason */
        int const i0 = t.i * TILE_M + w / WARPS_N * MICRO_M, j0 = t.j * TILE_N + w % WARPS_N * MICRO_N;
        int const x0 = SWAPPED ? j0 : i0, y0 = SWAPPED ? i0 : j0;
        bool const whole = is_whole<2>(p, t);
        /* Where B lies along k, a warp would store 32 bytes of each row at a time. */
        bool const by_lines = !whole || (!SWAPPED && Y_ALONG_K && p.flags & stores_lines);
        if (is_part(t)) {
            if (whole)
                store_sums<true, false, true>(p, state, sum, x0, y0, t.batch);
            else if (PARTIAL)
                store_sums<false, false, true>(p, state, sum, x0, y0, t.batch);
        } else if (!PARTIAL) {
            unsigned room = shared_address(memory); /* found anew, as the tile is */
            asm volatile("" : "+r"(room));
            room = (room + 1023) / 1024 * 1024 + STAGES * (A_BYTES + B_BYTES) + w * WARP_RESULTS;
            for_each_target(p, false, [&](arguments const &p) {
                if (SENDS && p.flags & c_is_mapped)
                    send_lines(p, state, sum, i0, j0, t.batch, room, c_map);
                else if (by_lines)
                    store_lines(p, state, sum, i0, j0, t.batch, room);
                else if (p.flags & adds)
                    store_sums<true, true, false>(p, state, sum, x0, y0, t.batch);
                else
                    store_sums<true, false, false>(p, state, sum, x0, y0, t.batch);
            });
#if SPREADS
            /* Storing to several places took the registers that the first half of the next stage was in. */
            read_half(stage, 0);
            if (late) read_x(stage, 0, first_of(0));
#endif
        }
    }
    boxes_are_read_but_for<0>();
}
)cu";

STRATAGEMM_END
