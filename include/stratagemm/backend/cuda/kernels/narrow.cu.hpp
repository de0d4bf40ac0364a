// A matrix times a few columns, TILE_N of them, such as a vector: as fast as A can be read. A row of C is as good
// as a column (cuda_product turns the product).
//
// DENSE: A may be read as vectors; WORDS: as several words for each, because its lines begin at multiples of 4 bytes
// only. A_ALONG_K: a warp has MICRO_M rows, whose terms its lanes share, and so do STAGES warps of a block; B lies along
// k, too, in aligned lines. Else: a thread has some rows that are next to each other, MICRO_N threads beside it have those
// that follow, all other threads of the block share the terms, and a B of several columns passes through shared memory,
// TILE_K of its rows at a time. ON_TENSOR_CORES: a warp has 16 rows, or those of 128 bytes; B lies along k. Sums are
// always added up in one order. PARTIAL: a block has a part of k, whose sums go to workspace.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_narrow_text[] = R"cu(
#define COLS TILE_N
#define ON_TENSOR_CORES (MICRO_M == 16)
constexpr int most_bytes(int size) { return size > 16 ? size : A_ALONG_K || size > 1 ? 16 : 8; }
constexpr int EACH = most_bytes(sizeof(IN)) / sizeof(IN); /* elements of A that a thread has of a vector */

inline scalar number_of_a(arguments const &p, IN x) { return conjugate_if(p.flags & conjugate_a, (scalar)widen(x)); }
inline scalar number_of_b(arguments const &p, IN x) { return conjugate_if(p.flags & conjugate_b, (scalar)widen(x)); }
/* Elements at a distance of `next`, in a vector if it is DENSE; all of them, or those `there`. Loads that depend on
   nothing can all be under way at once. */
inline run_of<IN, EACH> all_of(IN const *from, index next) {
    run_of<IN, EACH> v;
    if (DENSE)
        v = *(run_of<IN, EACH> const *)from;
    else
#pragma unroll
        for (int e = 0; e < EACH; ++e) v.x[e] = from[e * next];
    return v;
}
/* The same of A. */
inline run_of<IN, EACH> all_of_a(IN const *from, index next) {
#if WORDS
    union { unsigned word[EACH * sizeof(IN) / 4]; run_of<IN, EACH> v; } u;
#pragma unroll
    for (int w = 0; w < (int)(EACH * sizeof(IN) / 4); ++w) u.word[w] = ((unsigned const *)from)[w];
    return u.v;
#else
    return all_of(from, next);
#endif
}
inline run_of<IN, EACH> some_of(IN const *from, index next, int there) {
    run_of<IN, EACH> v = {};
#pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e < there) v.x[e] = from[e * next];
    return v;
}
template <class T> inline T from_lane(T x, int lane) {
    union { T whole; unsigned word[sizeof(T) / 4]; } v = {x};
#pragma unroll
    for (int w = 0; w < sizeof(T) / 4; ++w) v.word[w] = __shfl_sync(~0u, v.word[w], lane);
    return v.whole;
}
/* Sums of all lanes: of two lanes, each keeps one half of the sums, LEFT of them, and gives the other away; `which`
   tells the number of its first. Whether no other lane has the same. */
template <int LEFT, int APART> inline bool add_lanes(scalar *sum, int &which, int lane) {
    bool const upper = lane & APART;
    if constexpr (APART == 0) {
        return true;
    } else if constexpr (LEFT > 1) {
#pragma unroll
        for (int x = 0; x < LEFT / 2; ++x) {
            scalar const above = sum[x + LEFT / 2];
            sum[x] = (upper ? above : sum[x]) + from_lane(upper ? sum[x] : above, lane ^ APART);
        }
        if (upper) which += LEFT / 2;
        return add_lanes<LEFT / 2, APART / 2>(sum, which, lane);
    } else {
        sum[0] = sum[0] + from_lane(sum[0], lane ^ APART);
        return add_lanes<1, APART / 2>(sum, which, lane) && !upper;
    }
}
constexpr int power_of_two(int least) { return least <= 1 ? 1 : 2 * power_of_two((least + 1) / 2); }
inline void finish(arguments const &p, epilogue_state const &state, scalar sum, int i, int j, int number) {
#if PARTIAL
    store_partial<1>(p, &sum, i, j, number);
#else
    store(p, state, sum, i, j, number);
#endif
}

#if ON_TENSOR_CORES
/* 16 x 8 sums of the terms that four lanes have: of rows 0 to 7 of X in x0, of the others in x1, and of columns of Y.
   Which terms these are is free, if X and Y agree. */
static_assert(COLS <= 8);
constexpr int TERMS = sizeof(IN) == 8 ? 2 : 4; /* of a lane */
template <class T> inline void multiply(double (&c)[4], run_of<T, 2> const &x0, run_of<T, 2> const &x1,
                                        run_of<T, 2> const &y) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(x0.x[0]), "d"(x1.x[0]), "d"(x0.x[1]), "d"(x1.x[1]), "d"(y.x[0]), "d"(y.x[1]));
}
template <class T> inline void multiply(float (&c)[4], run_of<T, 4> const &x0, run_of<T, 4> const &x1,
                                        run_of<T, 4> const &y) {
    union words { run_of<T, 4> x; unsigned w[2]; } const a = {x0}, b = {x1}, d = {y};
    asm volatile("mma.sync.aligned." MMA_TYPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.w[0]), "r"(b.w[0]), "r"(a.w[1]), "r"(b.w[1]), "r"(d.w[0]), "r"(d.w[1]));
}
template <int N> inline run_of<IN, N> part_of(run_of<IN, EACH> const &x, int from) {
    run_of<IN, N> y;
#pragma unroll
    for (int e = 0; e < N; ++e) y.x[e] = x.x[from + e];
    return y;
}
#endif

/* Told that two or three blocks are enough, the compiler does not save registers by loading one after another. */
constexpr bool HAS_LONG_VECTORS = !A_ALONG_K && sizeof(IN) <= 2 && COLS == 1;
constexpr int AT_ONCE = ON_TENSOR_CORES || HAS_LONG_VECTORS                           ? 2
                        : sizeof(scalar) < 16 && EACH * COLS * sizeof(scalar) <= 64 ? 3
                                                                                    : 1;
extern "C" __global__ void __launch_bounds__(256, AT_ONCE)
narrow(__grid_constant__ const arguments p, __grid_constant__ const epilogue_state state) {
    wait_for_earlier();
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    /* number: of the product in a batch, or of the part of k. */
    int const blocks = (p.m - 1) / TILE_M + 1, number = blockIdx.x / blocks, first = blockIdx.x % blocks * TILE_M;
    int const batch = PARTIAL ? 0 : number, begin = PARTIAL ? number * p.part : 0;
    int const end = PARTIAL ? min(p.k, begin + p.part) : p.k;
#if A_ALONG_K
    int const row = first + warp / STAGES * MICRO_M, slice = warp % STAGES;
    IN const *const b = element<IN>(p.b, 0, 0, batch);
#if ON_TENSOR_CORES
    constexpr int PIECE = 4 * EACH, SUMS = 128;
    int const g = lane / 4, t = lane % 4;
    IN const *const a0 = element<IN>(p.a, min(row + g, p.m - 1), 0, batch);
    IN const *const a1 = element<IN>(p.a, min(row + g + 8, p.m - 1), 0, batch);
    IN const *const column = b + min(g, COLS - 1) * p.b.col; /* what is not a column of B counts for none of C */
    scalar sum[4] = {};
    using some = run_of<IN, EACH>;
    auto const add = [&](some const &x, some const &y, some const &z) {
#pragma unroll
        for (int e = 0; e < EACH; e += TERMS)
            multiply(sum, part_of<TERMS>(x, e), part_of<TERMS>(y, e), part_of<TERMS>(z, e));
    };
    constexpr int AHEAD = 4, STEP = STAGES * PIECE;
    int l = begin + slice * (2 * PIECE) + EACH * t;
    /* Pieces are 64 bytes of a line: two neighbours at a time, a line of the cache. */
    auto const piece = [&](int s) { return l + s / 2 * (2 * STEP) + s % 2 * PIECE; };
    for (; piece(AHEAD - 1) - EACH * t + PIECE <= end; l += AHEAD * STEP) {
        some x[AHEAD], y[AHEAD], z[AHEAD];
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) x[s] = all_of_a(a0 + piece(s), 1), y[s] = all_of_a(a1 + piece(s), 1);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) z[s] = all_of(column + piece(s), 1);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s) add(x[s], y[s], z[s]);
    }
#pragma unroll 1
    for (int s = 0; s < AHEAD; ++s) {
        int const at = piece(s), there = end - at;
        if (there + EACH * t >= PIECE)
            add(all_of_a(a0 + at, 1), all_of_a(a1 + at, 1), all_of(column + at, 1));
        else if (there + EACH * t > 0)
            add(some_of(a0 + at, 1, there), some_of(a1 + at, 1, there), some_of(column + at, 1, there));
    }
    __shared__ __align__(16) scalar room[8 * SUMS];
#pragma unroll
    for (int e = 0; e < 4; ++e) room[warp * SUMS + (2 * t + e % 2) * 16 + g + e / 2 * 8] = sum[e];
    __syncthreads();
    for (int x = lane + 32 * slice; x < SUMS; x += 32 * STAGES) {
        int const i = row + x % 16, j = x / 16;
        scalar together = room[(warp - slice) * SUMS + x];
        for (int w = 1; w < STAGES; ++w) together = together + room[(warp - slice + w) * SUMS + x];
        if (i < p.m && j < COLS) finish(p, state, together, i, j, number);
    }
#else
    constexpr int PIECE = 32 * EACH, SUMS = power_of_two(MICRO_M * COLS); /* those beyond are zero */
    constexpr int AT_END = SUMS > 32 ? SUMS / 32 : 1; /* of a lane */
    scalar sum[SUMS] = {};
    IN const *a[MICRO_M];
#pragma unroll
    for (int r = 0; r < MICRO_M; ++r) a[r] = element<IN>(p.a, min(row + r, p.m - 1), 0, batch);
    index const apart_a = DENSE ? 1 : 32 * p.a.col;
    auto const add = [&](run_of<IN, EACH> const (&v)[MICRO_M], run_of<IN, EACH> const &y, int j) {
#if INTEGER
        /* Four terms at a time. */
        union words { run_of<IN, EACH> x; unsigned w[EACH / 4]; } const factors = {y};
#pragma unroll
        for (int r = 0; r < MICRO_M; ++r) {
            words const terms = {v[r]};
#pragma unroll
            for (int w = 0; w < EACH / 4; ++w)
                asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum[r * COLS + j]) : "r"(terms.w[w]), "r"(factors.w[w]));
        }
        return;
#endif
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            scalar const factor = number_of_b(p, y.x[e]);
#pragma unroll
            for (int r = 0; r < MICRO_M; ++r)
                sum[r * COLS + j] = multiply_add(number_of_a(p, v[r].x[e]), factor, sum[r * COLS + j]);
        }
    };
    constexpr int AHEAD = MICRO_M >= 4 || COLS * sizeof(scalar) > 64 ? 2 : 4, STEP = STAGES * PIECE;
    int const from = DENSE ? lane * EACH : lane;
    int l = begin + slice * PIECE + from;
    for (; l - from + (AHEAD - 1) * STEP + PIECE <= end; l += AHEAD * STEP) {
        run_of<IN, EACH> v[AHEAD][MICRO_M];
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
#pragma unroll
            for (int r = 0; r < MICRO_M; ++r) v[s][r] = all_of_a(a[r] + (l + s * STEP) * p.a.col, apart_a);
#pragma unroll
        for (int s = 0; s < AHEAD; ++s)
#pragma unroll
            for (int j = 0; j < COLS; ++j) add(v[s], all_of(b + l + s * STEP + j * p.b.col, 32), j);
    }
    for (; l - from + PIECE <= end; l += STEP) {
        run_of<IN, EACH> v[MICRO_M];
#pragma unroll
        for (int r = 0; r < MICRO_M; ++r) v[r] = all_of_a(a[r] + l * p.a.col, apart_a);
#pragma unroll
        for (int j = 0; j < COLS; ++j) add(v, all_of(b + l + j * p.b.col, 32), j);
    }
    for (; l - from < end; l += STEP) {
        int const there = DENSE ? end - l : (end - l + 31) / 32;
        run_of<IN, EACH> v[MICRO_M];
#pragma unroll
        for (int r = 0; r < MICRO_M; ++r) v[r] = some_of(a[r] + l * p.a.col, apart_a, there);
#pragma unroll
        for (int j = 0; j < COLS; ++j) add(v, some_of(b + l + j * p.b.col, DENSE ? 1 : 32, there), j);
    }
    int which = 0;
    bool const here = add_lanes<SUMS, 16>(sum, which, lane);
#if STAGES > 1
    __shared__ __align__(16) char memory[8 * SUMS * sizeof(scalar)];
    scalar *const room = (scalar *)memory + warp * SUMS + which;
#pragma unroll
    for (int x = 0; x < AT_END; ++x)
        if (here) room[x] = sum[x];
    __syncthreads();
    if (slice > 0) return;
#pragma unroll
    for (int x = 0; x < AT_END; ++x)
        for (int w = 1; w < STAGES; ++w) sum[x] = sum[x] + room[w * SUMS + x];
#endif
#pragma unroll
    for (int x = 0; x < AT_END; ++x) {
        int const i = row + (which + x) / COLS, j = (which + x) % COLS;
        if (here && which + x < MICRO_M * COLS && i < p.m) finish(p, state, sum[x], i, j, number);
    }
#endif
#elif ON_TENSOR_CORES
    /* C^T = B^T A^T. A lane has EACH neighbouring rows of A, each of which is a column of another product. */
    static_assert(TILE_M == 8 * EACH, "rows of a block");
    constexpr int PIECE = 4 * TERMS, STEP = 8 * PIECE, SUMS = TILE_M * 8;
    int const g = lane / 4, t = lane % 4, i0 = first + g * EACH, there = min(p.m - i0, EACH);
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
    int l = begin + warp * PIECE + TERMS * t;
    auto const pieces = [&](auto const &ahead) {
        constexpr int AHEAD = sizeof(ahead);
        for (; l - TERMS * t + (AHEAD - 1) * STEP + PIECE <= end; l += AHEAD * STEP) {
            run_of<IN, EACH> x[AHEAD][TERMS];
            terms y[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; ++s)
#pragma unroll
                for (int e = 0; e < TERMS; ++e) x[s][e] = all_of(a + (l + s * STEP + e) * p.a.col, 1);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) y[s] = *(terms const *)(b + l + s * STEP);
#pragma unroll
            for (int s = 0; s < AHEAD; ++s) add(x[s], y[s]);
        }
    };
    if (first + TILE_M <= p.m) {
        char const two[2] = {}, one[1] = {};
        pieces(two), pieces(one);
    }
    for (; l - TERMS * t < end; l += STEP) {
        run_of<IN, EACH> x[TERMS];
        terms y = {};
#pragma unroll
        for (int e = 0; e < TERMS; ++e) {
            x[e] = some_of(a + (l + e) * p.a.col, 1, l + e < end ? there : 0);
            if (l + e < end) y.x[e] = b[l + e];
        }
        add(x, y);
    }
    __shared__ __align__(16) scalar room[8 * SUMS];
#pragma unroll
    for (int e = 0; e < EACH; ++e)
#pragma unroll
        for (int c = 0; c < 2; ++c) room[warp * SUMS + g * TILE_M + (2 * t + c) * EACH + e] = sum[e][c];
    __syncthreads();
    for (int x = threadIdx.x; x < TILE_M * COLS; x += 256) {
        int const i = first + x % TILE_M, j = x / TILE_M;
        scalar together = room[x];
#pragma unroll
        for (int w = 1; w < 8; ++w) together = together + room[w * SUMS + x];
        if (i < p.m) finish(p, state, together, i, j, number);
    }
#else
    constexpr int SIDE_BY_SIDE = MICRO_N, DOWN = 256 / SIDE_BY_SIDE;
    static_assert(TILE_M == SIDE_BY_SIDE * EACH, "rows of a block");
    int const at = threadIdx.x % SIDE_BY_SIDE, slice = threadIdx.x / SIDE_BY_SIDE;
    int const i0 = first + (DENSE ? at * EACH : at);
    int const there = i0 >= p.m ? 0 : DENSE ? min(p.m - i0, EACH) : (p.m - i0 - 1) / SIDE_BY_SIDE + 1;
    scalar sum[EACH][COLS] = {};
    index const apart = DENSE ? 1 : SIDE_BY_SIDE * p.a.row;
    constexpr int AHEAD = EACH * COLS > 32 ? 4 : 8;
#if COLS == 1
    /* A single column of B is read in place, without barriers, so that loads are always in flight. */
    __shared__ __align__(16) char memory[256 * EACH * sizeof(scalar)];
    scalar *const room = (scalar *)memory;
    IN const *const a = element<IN>(p.a, i0, begin, batch), *const b = element<IN>(p.b, begin, 0, batch);
    int const until = end - begin;
    auto const add = [&](int l, auto const &load) {
        run_of<IN, EACH> v[AHEAD];
        IN y[AHEAD];
#pragma unroll
        for (int x = 0; x < AHEAD; ++x) v[x] = load(l + x * DOWN);
#pragma unroll
        for (int x = 0; x < AHEAD; ++x) y[x] = b[min(l + x * DOWN, until - 1) * p.b.row];
#pragma unroll
        for (int x = 0; x < AHEAD; ++x) {
            scalar const factor = l + x * DOWN < until ? number_of_b(p, y[x]) : scalar();
#pragma unroll
            for (int e = 0; e < EACH; ++e) sum[e][0] = multiply_add(number_of_a(p, v[x].x[e]), factor, sum[e][0]);
        }
    };
    int l = slice;
    if (there >= EACH)
        for (; l + (AHEAD - 1) * DOWN < until; l += AHEAD * DOWN)
            add(l, [&](int at) { return all_of(a + at * p.a.col, apart); });
    for (; l < until; l += AHEAD * DOWN)
        add(l, [&](int at) {
            if (there >= EACH && at < until) return all_of(a + at * p.a.col, apart);
            return some_of(a + at * p.a.col, apart, at < until ? there : 0);
        });
#else
    constexpr int WIDTH = COLS % 4 == 0 && sizeof(scalar) == 4 ? 4 : COLS % 2 == 0 && sizeof(scalar) <= 8 ? 2 : 1;
    __shared__ __align__(16) char memory[(TILE_K * COLS > 256 * EACH ? TILE_K * COLS : 256 * EACH) * sizeof(scalar)];
    scalar *const room = (scalar *)memory;
    bool const down = COLS > 1 && (p.b.row < 0 ? -p.b.row : p.b.row) > (p.b.col < 0 ? -p.b.col : p.b.col);
    for (int from = begin; from < end; from += TILE_K) {
        IN const *const b = element<IN>(p.b, from, 0, batch);
        __syncthreads();
#pragma unroll 8
        for (int t = threadIdx.x; t < TILE_K * COLS; t += 256) {
            int const l = down ? t / COLS : t % TILE_K, j = down ? t % COLS : t / TILE_K;
            room[l * COLS + j] = from + l < end ? number_of_b(p, b[l * p.b.row + j * p.b.col]) : scalar();
        }
        __syncthreads();
        int const until = min(end - from, TILE_K);
        IN const *const a = element<IN>(p.a, i0, from, batch);
        auto const add = [&](int l, auto const &v) {
#pragma unroll
            for (int j0 = 0; j0 < COLS; j0 += WIDTH) {
                run_of<scalar, WIDTH> const y = *(run_of<scalar, WIDTH> const *)(room + l * COLS + j0);
#pragma unroll
                for (int j = 0; j < WIDTH; ++j)
#pragma unroll
                    for (int e = 0; e < EACH; ++e)
                        sum[e][j0 + j] = multiply_add(number_of_a(p, v.x[e]), y.x[j], sum[e][j0 + j]);
            }
        };
        int l = slice;
        if (there >= EACH)
            for (; l + (AHEAD - 1) * DOWN < until; l += AHEAD * DOWN) {
                run_of<IN, EACH> v[AHEAD];
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) v[x] = all_of(a + (l + x * DOWN) * p.a.col, apart);
#pragma unroll
                for (int x = 0; x < AHEAD; ++x) add(l + x * DOWN, v[x]);
            }
        for (; l < until; l += DOWN) add(l, some_of(a + l * p.a.col, apart, there));
    }
#endif
    /* A column at a time: those of a warp that have the same rows, then the warps. */
#pragma unroll
    for (int j = 0; j < COLS; ++j) {
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            scalar one = sum[e][j];
#pragma unroll
            for (int apart = SIDE_BY_SIDE; apart < 32; apart *= 2) one = one + from_lane(one, lane ^ apart);
            if (lane < SIDE_BY_SIDE) room[warp * TILE_M + (DENSE ? at * EACH + e : e * SIDE_BY_SIDE + at)] = one;
        }
        __syncthreads();
        for (int r = threadIdx.x; r < TILE_M && first + r < p.m; r += 256) {
            scalar together = room[r];
#pragma unroll
            for (int w = 1; w < 8; ++w) together = together + room[w * TILE_M + r];
            finish(p, state, together, first + r, j, number);
        }
    }
#endif
}
)cu";

STRATAGEMM_END
