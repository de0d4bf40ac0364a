// narrow.cu.hpp where A lies along m: tensor cores, and threads for all else.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_along_m_text[] = R"cu(
extern "C" __global__ void __launch_bounds__(256, RESIDENT)
narrow(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    block_of_narrow const block = this_block(p);
    int const first = block.first, number = block.number, batch = block.batch, begin = block.begin, end = block.end;
#if ON_TENSOR_CORES
    /* C^T = B^T A^T. A lane has EACH neighbouring rows of A, each of which is a column of another product. Of the
       terms of a lane each is NEXT after the one before. Lanes whose rows are all beyond those of the block read
       what others read. */
    static_assert(TILE_M == (MICRO_N - SHIFTED) * EACH && (MICRO_N == 8 || !SHIFTED), "rows of a block");
    constexpr int BESIDE = MICRO_N / 8, SLICES = 8 / BESIDE; /* warps beside each other, and those that share terms */
    constexpr int NEXT = SHIFTED ? 8 : 1, PIECE = 4 * TERMS, SPAN = (PIECE - 1) * NEXT, STEP = SLICES * PIECE;
    constexpr int SUMS = TILE_M * 8;
    int const g = lane / 4, t = lane % 4, slice = warp / BESIDE, start = begin + slice * (SHIFTED ? 1 : PIECE);
    int const shift = SHIFTED ? place_in_vector(element<IN>(p.a, first, start, batch)) : 0;
    int const down = warp % BESIDE * 8 * EACH - shift, from = first + down; /* the first row of the warp */
    bool const some = from + g * EACH < min(p.m, first + TILE_M);
    int const i0 = some ? from + g * EACH : first - shift;
    IN const *const a = element<IN>(p.a, i0, 0, batch);
    IN const *const b = element<IN>(p.b, 0, min(g, COLS - 1), batch);
    scalar sum[EACH][4] = {};
    using terms = run_of<IN, TERMS>;
    auto const add = [&](run_of<IN, EACH> const (&x)[TERMS], terms const &y) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            terms column;
#pragma unroll
            for (int l = 0; l < TERMS; ++l) column.x[l] = x[l].x[e];
            multiply(sum[e], y, terms{}, column);
        }
    };
    auto const factors = [&](int l) {
        if (B_ALONG_K && !SHIFTED) return *(terms const *)(b + l);
        terms y;
#pragma unroll
        for (int e = 0; e < TERMS; ++e) y.x[e] = b[(l + e * NEXT) * p.b.row];
        return y;
    };
    int l = start + TERMS * NEXT * t;
    int const until = from + 8 * EACH > p.m && end == p.k ? end - 1 : end;
    auto const pieces = [&](auto const &ahead) {
        constexpr int AHEAD = sizeof(ahead);
        for (; l - TERMS * NEXT * t + (AHEAD - 1) * STEP + SPAN < until; l += AHEAD * STEP) {
            run_of<IN, EACH> x[AHEAD][TERMS];
            terms y[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                for (int e = 0; e < TERMS; ++e) x[s][e] = passing(a + (l + s * STEP + e * NEXT) * p.a.col);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) y[s] = factors(l + s * STEP);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) add(x[s], y[s]);
        }
    };
    /* Nothing is read before the first line of A and after its last one: these are added by themselves, element by
       element where a vector is not within A. All rows of a line are, or 0 times infinity would count for some. */
    int const least = SHIFTED && from < 0 && start == 0 ? 1 : 0;
    bool careful = least > 0;
    for (;; l += STEP, careful = false) {
        char const two[2] = {}, one[1] = {};
        if (!careful) pieces(two), pieces(one);
        if (l - TERMS * NEXT * t >= until) break;
        run_of<IN, EACH> x[TERMS];
        terms y = {};
#pragma unroll
        for (int e = 0; e < TERMS; ++e) {
            int const at = l + e * NEXT;
            bool const there = (at >= least) & (at < until);
            x[e] = all_if(there, a + at * p.a.col, 1);
            if (there) y.x[e] = b[at * p.b.row];
        }
        add(x, y);
    }
    auto const add_line = [&](int at) {
        run_of<IN, EACH> x[TERMS] = {};
        terms y = {};
        if (t == 0) {
            IN const *const line = a + at * p.a.col;
            x[0] = is_within(p, i0, at) ? all_of(line, 1) : some_of(line, 1, p.m - i0, -i0);
            y.x[0] = b[at * p.b.row];
        }
        add(x, y);
    };
    if (least > 0) add_line(0);
    if (until < end && slice == (SHIFTED ? (until - begin) % 8 : 0)) add_line(until);
    struct alignas(16) all_sums { scalar x[SLICES * SUMS]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
#pragma unroll
    for (int e = 0; e < EACH; ++e)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            int const i = down + (2 * t + c) * EACH + e;
            if (!SHIFTED || (i >= 0 && i < TILE_M)) room[slice * SUMS + g * TILE_M + i] = sum[e][c];
        }
    __syncthreads();
    finish_block(p, state, first, number, [&](int i, int j) {
        scalar together = room[j * TILE_M + i];
#pragma unroll
        for (int w = 1; w < SLICES; ++w) together = together + room[w * SUMS + j * TILE_M + i];
        return together;
    });
#else
    constexpr int SIDE_BY_SIDE = MICRO_N, DOWN = 256 / SIDE_BY_SIDE;
    static_assert(TILE_M == (SIDE_BY_SIDE - SHIFTED) * EACH, "rows of a block");
    /* Of the lines of a warp, each is eight after the one before. */
    int const at = lane % SIDE_BY_SIDE, slice = warp + lane / SIDE_BY_SIDE * 8;
    int const shift = SHIFTED ? place_in_vector(element<A_IN>(p.a, first, begin + warp, batch)) : 0;
    int const i0 = first + (DENSE ? at * EACH - shift : at);
    bool const some = i0 < min(p.m, first + TILE_M);
    bool const all = DENSE ? some : i0 + (EACH - 1) * SIDE_BY_SIDE < p.m;
    int const there = i0 >= p.m ? 0 : (p.m - i0 - 1) / SIDE_BY_SIDE + 1; /* if it is not DENSE */
    scalar sum[EACH][COLS] = {};
    index const apart = DENSE ? 1 : SIDE_BY_SIDE * p.a.row;
    constexpr int AHEAD = EACH * COLS > 32 ? 4 : 8;
    /* Lines that hold rows of this thread together with what is before the first line of A, or after its last one. */
    bool const reads_first = DENSE && some && i0 < 0 && begin + slice == 0;
    bool const reads_last = DENSE && some && i0 + EACH > p.m && end == p.k;
    auto const careful = [&](A_IN const *line) {
        return DENSE ? some_of(line, 1, p.m - i0, -i0) : some_of(line, apart, there);
    };
    /* Of lines that are left, so many are asked for together. */
    constexpr int LEFT = sizeof(A_IN) > 1 && EACH * COLS > 24 ? 2 : 4;
    /* Lines l, l + DOWN, ..., which are those of k from `from` on, as far as there are such before `until`. */
    auto const left_of = [&](auto &v, A_IN const *a, int from, int l, int until) {
        constexpr int N = sizeof(v) / sizeof(v[0]);
#pragma unroll
        for (int x = 0; x < N; ++x) {
            int const at = l + x * DOWN;
            v[x] = all_if((at < until) & all & (!DENSE | is_within(p, i0, from + at)), a + at * p.a.col, apart);
        }
        if (DENSE ? i0 < 0 || i0 + EACH > p.m : !all)
#pragma unroll
            for (int x = 0; x < N; ++x)
                if (int const at = l + x * DOWN; at < until && !(DENSE && is_within(p, i0, from + at)))
                    v[x] = careful(a + at * p.a.col);
    };
#if COLS == 1
    /* A single column of B is read in place, without barriers, so that loads are always in flight. */
    struct alignas(16) all_sums { scalar x[8 * TILE_M]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
    A_IN const *const a = element<A_IN>(p.a, i0, begin, batch);
    IN const *const b = element<IN>(p.b, begin, 0, batch);
    run_of<A_IN, EACH> head = {};
    if (reads_first) head = careful(element<A_IN>(p.a, i0, 0, batch));
    int const until = end - begin;
    auto const add = [&](auto const &ahead, int l, auto const &load, auto const &is_there) {
        constexpr int N = sizeof(ahead);
        run_of<A_IN, EACH> v[N];
        IN y[N];
        load(v);
#pragma unroll
        for (int x = 0; x < N; ++x) y[x] = b[min(l + x * DOWN, until - 1) * p.b.row];
#pragma unroll
        for (int x = 0; x < N; ++x) {
            scalar const factor = is_there(l + x * DOWN) ? number_of_b(p, y[x]) : scalar();
#pragma unroll
            for (int e = 0; e < EACH; ++e) sum[e][0] = multiply_add(number_of_a(p, v[x].x[e]), factor, sum[e][0]);
        }
    };
    char const many[AHEAD] = {}, few[LEFT] = {};
    int l = slice;
    if (all) {
        int const safe = reads_last ? until - 1 : until;
        if (reads_first) l += DOWN;
        auto const load = [&](auto &v) {
#pragma unroll
            for (int x = 0; x < AHEAD; ++x) {
                A_IN const *const line = a + (l + x * DOWN) * p.a.col;
                v[x] = DENSE ? passing(line) : all_of(line, apart);
            }
        };
        for (; l + (AHEAD - 1) * DOWN < safe; l += AHEAD * DOWN) add(many, l, load, [](int) { return true; });
    }
    if (some)
#pragma unroll 1
        for (; l < until; l += LEFT * DOWN)
            add(few, l, [&](auto &v) { left_of(v, a, begin, l, until); }, [&](int at) { return at < until; });
    if (reads_first)
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            sum[e][0] = multiply_add(number_of_a(p, head.x[e]), number_of_b(p, b[0]), sum[e][0]);
#else
    run_of<A_IN, EACH> head = {};
    if (reads_first) head = careful(element<A_IN>(p.a, i0, 0, batch));
    /* Columns that are read at a time. The last ones of a row may have no meaning. */
    constexpr int WIDTH = sizeof(scalar) == 4 && COLS > 2 ? 4 : sizeof(scalar) <= 8 ? 2 : 1;
    constexpr int ROW = (COLS + WIDTH - 1) / WIDTH * WIDTH, ROOM = TILE_K * ROW > 8 * TILE_M ? TILE_K * ROW : 8 * TILE_M;
    struct alignas(16) all_sums { scalar x[ROOM]; };
    __shared__ all_sums of_warps;
    scalar *const room = of_warps.x;
    bool const down = COLS > 1 && (p.b.row < 0 ? -p.b.row : p.b.row) > (p.b.col < 0 ? -p.b.col : p.b.col);
    for (int from = begin; from < end; from += TILE_K) {
        IN const *const b = element<IN>(p.b, from, 0, batch);
        __syncthreads();
#pragma unroll 8
        for (int t = threadIdx.x; t < TILE_K * COLS; t += 256) {
            int const l = down ? t / COLS : t % TILE_K, j = down ? t % COLS : t / TILE_K;
            room[l * ROW + j] = from + l < end ? number_of_b(p, b[l * p.b.row + j * p.b.col]) : scalar();
        }
        __syncthreads();
        int const until = min(end - from, TILE_K);
        A_IN const *const a = element<A_IN>(p.a, i0, from, batch);
        auto const add = [&](int l, auto const &v) {
#pragma unroll
            for (int j0 = 0; j0 < COLS; j0 += WIDTH) {
                run_of<scalar, WIDTH> const y = *(run_of<scalar, WIDTH> const *)(room + l * ROW + j0);
#pragma unroll
                for (int j = 0; j < WIDTH && j0 + j < COLS; ++j)
#pragma unroll
                    for (int e = 0; e < EACH; ++e)
                        sum[e][j0 + j] = multiply_add(number_of_a(p, v.x[e]), y.x[j], sum[e][j0 + j]);
            }
        };
        int l = slice;
        if (all) {
            int const safe = reads_last && from + until == p.k ? until - 1 : until;
            if (reads_first && from == 0) add(l, head), l += DOWN;
            for (; l + (AHEAD - 1) * DOWN < safe; l += AHEAD * DOWN) {
                run_of<A_IN, EACH> v[AHEAD];
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) v[x] = all_of(a + (l + x * DOWN) * p.a.col, apart);
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) add(l + x * DOWN, v[x]);
            }
        }
        if (some)
#pragma unroll 1
            for (; l < until; l += LEFT * DOWN) {
                run_of<A_IN, EACH> v[LEFT];
                left_of(v, a, from, l, until);
#pragma unroll
                for (int x = 0; x < LEFT; ++x)
                    if (l + x * DOWN < until) add(l + x * DOWN, v[x]);
            }
    }
#endif
    /* A column at a time: those of a warp that have the same rows, then the warps. */
#if TOGETHER
    extern __shared__ __align__(16) char memory[];
    scalar *const sums = (scalar *)memory;
#endif
#pragma unroll
    for (int j = 0; j < COLS; ++j) {
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            scalar one = sum[e][j];
#pragma unroll
            for (int apart = SIDE_BY_SIDE; apart < 32; apart *= 2) one = one + from_lane(one, lane ^ apart);
            int const i = DENSE ? at * EACH + e - shift : e * SIDE_BY_SIDE + at;
            if (lane < SIDE_BY_SIDE && (!SHIFTED || (i >= 0 && i < TILE_M))) room[warp * TILE_M + i] = one;
        }
        __syncthreads();
        for (int r = threadIdx.x; r < TILE_M && (TOGETHER || first + r < p.m); r += 256) {
            scalar together = room[r];
#pragma unroll
            for (int w = 1; w < 8; ++w) together = together + room[w * TILE_M + r];
#if TOGETHER
            sums[j * TILE_M + r] = together;
#else
            finish(p, state, together, first + r, j, number);
#endif
        }
    }
#if TOGETHER
    add_up_blocks(p, state, sums, first, number);
#endif
#endif
}
)cu";

STRATAGEMM_END
