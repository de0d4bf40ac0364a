// The tiled product: a work-group computes a tile of C, each work-item a micro-tile of it in registers, while
// tiles of A and B pass through local memory.
//
// The parameters are those of opencl_tile (configuration.hpp) in capitals, and of the operands: A_ALONG_K (A lies
// in memory along k, and not along m), B_ALONG_K, ALIGNED (vectors of the loads may be read as such), WIDE (so may
// those of C and E be, and written; 2: they may begin anywhere), GUARD (a side is shorter than that of a tile), ONCE
// (k is at most DEPTH), PARTIAL (sums of a piece of k go to workspace), IN_PIECES (a work-group sums one piece of k
// after the other).
//
// No side has to be a multiple of anything. Tiles at the far edges of C are moved back until they fit, so that
// nothing is checked in the loop; what they share with their neighbours is computed twice and stored once. The
// odd part of k, if there is one, comes first, padded with zeros, and then whole tiles only.
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char opencl_tiled_text[] = R"cl(
#define ITEMS (THREADS_M * THREADS_N)
#define THREADS (ITEMS * SLICES)
#define TILE_M (THREADS_M * MICRO_M)
#define TILE_N (THREADS_N * MICRO_N)
#define A_LINE (TILE_M + PADDING)
#define B_LINE (TILE_N + PADDING)
#define A_TILE (DEPTH * A_LINE)
#define B_TILE (DEPTH * B_LINE)

/* One matrix operand, seen as lines along which it lies in memory: a work-item reads WIDTH elements, LOADS times;
   the group reads APART lines at a time, or a line in STEPS. */
#define A_LENGTH (A_ALONG_K ? DEPTH : TILE_M)
#define B_LENGTH (B_ALONG_K ? DEPTH : TILE_N)
#define A_SPAN (THREADS * A_WIDTH)
#define B_SPAN (THREADS * B_WIDTH)
#define A_STEPS (A_LENGTH > A_SPAN ? A_LENGTH / A_SPAN : 1)
#define B_STEPS (B_LENGTH > B_SPAN ? B_LENGTH / B_SPAN : 1)
#define A_APART (A_LENGTH > A_SPAN ? 1 : A_SPAN / A_LENGTH)
#define B_APART (B_LENGTH > B_SPAN ? 1 : B_SPAN / B_LENGTH)
#define A_LOADS (TILE_M * DEPTH / A_SPAN)
#define B_LOADS (TILE_N * DEPTH / B_SPAN)
#define A_FAR(v) ((v) / A_STEPS * A_APART)
#define B_FAR(v) ((v) / B_STEPS * B_APART)
#define A_NEAR(v) ((v) % A_STEPS * A_SPAN)
#define B_NEAR(v) ((v) % B_STEPS * B_SPAN)

#if LANES_M > 1
typedef PASTE(REAL, LANES_M) lanes_m;
#else
typedef scalar lanes_m;
#endif
#if LANES_N > 1
typedef PASTE(REAL, LANES_N) lanes_n;
#else
typedef scalar lanes_n;
#endif

/* FETCH reads a tile into registers, FETCH_SOME the part of it that lies within `across` and `depth`, with zeros
   elsewhere; PUT writes it to local memory, k by k. X is A or B. `a_put` is where the first element of this work-item
   goes. */
/* On a GPU what is read is kept in registers, which have no addresses: the loops over it must be written out. Where
   the loop over DEPTH is not, as on a CPU, they are left as they are, and compile in a tenth of the time. */
#if UNROLL == DEPTH
#define EACH_LOAD _Pragma("unroll")
#else
#define EACH_LOAD
#endif
#define A_SOURCE(v) (a_from + A_FAR(v) * a_line + A_NEAR(v) * a_along)
#define B_SOURCE(v) (b_from + B_FAR(v) * b_line + B_NEAR(v) * b_along)
/* The terms of a sum (combined.cl.hpp) are fetched one behind the other, and added up before they are put. */
#if A_TERMS > 1
#define A_FETCHED A_TERMS * A_LOADS * A_WIDTH
#define A_HELD(t, at) a_next[(t)*A_LOADS * A_WIDTH + (at)]
#if A_WIDTH > 1
#define A_FETCH(t, v, unused)                                                                                     \
    *(PASTE(REAL, A_WIDTH) *)&A_HELD(t, (v)*A_WIDTH) = LOAD_WIDE(A_WIDTH, A_TERM(t, A_SOURCE(v)))
#else
#define A_FETCH(t, v, unused) A_HELD(t, v) = A_STORED(t, A_SOURCE(v))
#endif
#define FETCH_A(v) do { REPEAT(A_TERMS, A_FETCH, v, 0); } while (0)
#define A_TAKE_TERM(t, at, place) A_HELD(t, at) = there ? A_STORED(t, place) : ZERO
#define A_TAKE(next, at, place, along) REPEAT(A_TERMS, A_TAKE_TERM, at, place + along)
#define ADD_UP_A EACH_LOAD for (int v = 0; v < A_LOADS * A_WIDTH; ++v) a_next[v] = A_SUM(A_HELD, v);
#else
#define A_FETCHED A_LOADS * A_WIDTH
#define A_TAKE(next, at, place, along) next[at] = there ? LOAD_A(place, along) : ZERO
#define ADD_UP_A
#if A_WIDTH > 1
#define FETCH_A(v) *(PASTE(REAL, A_WIDTH) *)(a_next + (v)*A_WIDTH) = LOAD_WIDE_A(A_WIDTH, A_SOURCE(v))
#else
#define FETCH_A(v) a_next[v] = LOAD_A(A_SOURCE(v), 0)
#endif
#endif
#if B_TERMS > 1
#define B_FETCHED B_TERMS * B_LOADS * B_WIDTH
#define B_HELD(t, at) b_next[(t)*B_LOADS * B_WIDTH + (at)]
#if B_WIDTH > 1
#define B_FETCH(t, v, unused)                                                                                     \
    *(PASTE(REAL, B_WIDTH) *)&B_HELD(t, (v)*B_WIDTH) = LOAD_WIDE(B_WIDTH, B_TERM(t, B_SOURCE(v)))
#else
#define B_FETCH(t, v, unused) B_HELD(t, v) = B_STORED(t, B_SOURCE(v))
#endif
#define FETCH_B(v) do { REPEAT(B_TERMS, B_FETCH, v, 0); } while (0)
#define B_TAKE_TERM(t, at, place) B_HELD(t, at) = there ? B_STORED(t, place) : ZERO
#define B_TAKE(next, at, place, along) REPEAT(B_TERMS, B_TAKE_TERM, at, place + along)
#define ADD_UP_B EACH_LOAD for (int v = 0; v < B_LOADS * B_WIDTH; ++v) b_next[v] = B_SUM(B_HELD, v);
#else
#define B_FETCHED B_LOADS * B_WIDTH
#define B_TAKE(next, at, place, along) next[at] = there ? LOAD_B(place, along) : ZERO
#define ADD_UP_B
#if B_WIDTH > 1
#define FETCH_B(v) *(PASTE(REAL, B_WIDTH) *)(b_next + (v)*B_WIDTH) = LOAD_WIDE_B(B_WIDTH, B_SOURCE(v))
#else
#define FETCH_B(v) b_next[v] = LOAD_B(B_SOURCE(v), 0)
#endif
#endif
#define FETCH                                                                                                     \
    do {                                                                                                          \
        EACH_LOAD for (int v = 0; v < A_LOADS; ++v) FETCH_A(v);                                           \
        EACH_LOAD for (int v = 0; v < B_LOADS; ++v) FETCH_B(v);                                           \
    } while (0)
#define FETCH_SOME(X, next, source, place, line, along, across, depth)                                            \
    EACH_LOAD for (int v = 0; v < X##_LOADS; ++v)                                                         \
        EACH_LOAD for (int w = 0; w < X##_WIDTH; ++w) {                                                   \
            int const far = line + X##_FAR(v), near = place + X##_NEAR(v) + w;                                    \
            bool const there = (X##_ALONG_K ? far : near) < (across) && (X##_ALONG_K ? near : far) < (depth);     \
            X##_TAKE(next, v * X##_WIDTH + w, source(v), w * along);                                              \
        }
#define PUT_EACH(X, put, next, conjugated)                                                                          \
    EACH_LOAD for (int v = 0; v < X##_LOADS; ++v)                                                                 \
        EACH_LOAD for (int w = 0; w < X##_WIDTH; ++w)                                                             \
            (put)[X##_ALONG_K ? (X##_NEAR(v) + w) * X##_LINE + X##_FAR(v) : X##_FAR(v) * X##_LINE + X##_NEAR(v) + w] = \
                conjugate_if(conjugated, next[v * X##_WIDTH + w])
#define PUT_WIDE(X, put, next)                                                                                    \
    EACH_LOAD for (int v = 0; v < X##_LOADS; ++v)                                                                 \
        *(local PASTE(REAL, X##_WIDTH) *)((put) + X##_FAR(v) * X##_LINE + X##_NEAR(v)) =                          \
            *(PASTE(REAL, X##_WIDTH) const *)(next + v * X##_WIDTH)
#if A_WIDTH > 1 && !A_ALONG_K
#define PUT_A PUT_WIDE(A, a_put, a_next)
#else
#define PUT_A PUT_EACH(A, a_put, a_next, flags & CONJUGATE_A)
#endif
#if B_WIDTH > 1 && !B_ALONG_K
#define PUT_B PUT_WIDE(B, b_put, b_next)
#else
#define PUT_B PUT_EACH(B, b_put, b_next, flags & CONJUGATE_B)
#endif

/* Keeps the loads of the next tile ahead of the products of this one, where a compiler would sink them. NVIDIA's does
   not move memory accesses past a barrier of the warp, unless it takes the operands for constant. */
#if defined(__AMDGCN__) && defined(__has_builtin)
#if __has_builtin(__builtin_amdgcn_sched_barrier)
#define HOLD __builtin_amdgcn_sched_barrier(0)
#endif
#elif defined(__NV_CL_C_VERSION)
#define HOLD asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#endif
#ifndef HOLD
#define HOLD
#endif
/* Two waves on a SIMD hide what one would wait for, and need at most 128 registers each. */
#if defined(__AMDGCN__)
#define WAVES __attribute__((amdgpu_waves_per_eu(2)))
#else
#define WAVES
#endif

/* Rows and columns of a micro-tile come in groups of LANES, so that neighbours read neighbouring local memory. */
#define MICRO_ROW(r) ((r) / LANES_M * (THREADS_M * LANES_M) + my_m * LANES_M + (r) % LANES_M)
#define MICRO_COL(s) ((s) / LANES_N * (THREADS_N * LANES_N) + my_n * LANES_N + (s) % LANES_N)

/* What two tiles add to the sums. A slice takes its SHARE of the depth. */
#define SHARE (DEPTH / SLICES)
#define READ_LINES(x, y, l)                                                                                       \
    do {                                                                                                          \
        _Pragma("unroll") for (int r = 0; r < MICRO_M; r += LANES_M)                                              \
            *(lanes_m *)(x + r) = *(local lanes_m const *)(a_lines + (l) * A_LINE + r * THREADS_M);               \
        _Pragma("unroll") for (int s = 0; s < MICRO_N / LANES_N; ++s)                                             \
            y[s] = *(local lanes_n const *)(b_lines + (l) * B_LINE + s * (THREADS_N * LANES_N));                  \
    } while (0)
#define MULTIPLY(x, y)                                                                                            \
    _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r)                                                           \
        _Pragma("unroll") for (int s = 0; s < MICRO_N / LANES_N; ++s)                                             \
            sum[r][s] = multiply_add((lanes_n)x[r], y[s], sum[r][s])
#define EACH_SUM                                                                                                  \
    _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r)                                                           \
        _Pragma("unroll") for (int s = 0; s < MICRO_N / LANES_N; ++s)
/* The next tile takes the place of this one, or the other buffer: pointers change over, and all that is added to them
   is constant. */
#if BUFFERS == 2
#define TURN_OVER                                                                                                 \
    do {                                                                                                          \
        ADD_UP_A ADD_UP_B                                                                                         \
        PUT_A;                                                                                                    \
        PUT_B;                                                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                             \
        a_lines += other, b_lines += other;                                                                       \
        a_put -= other, b_put -= other;                                                                           \
        other = -other;                                                                                           \
    } while (0)
#else
#define TURN_OVER                                                                                                 \
    do {                                                                                                          \
        ADD_UP_A ADD_UP_B                                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                             \
        PUT_A;                                                                                                    \
        PUT_B;                                                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                             \
    } while (0)
#endif

/* The next tile is fetched while this one is multiplied. */
#if GUARD
#define FETCH_NEXT                                                                                                \
    FETCH_SOME(A, a_next, A_SOURCE, a_place, a_row, a_along, m - from_m, t < tiles ? DEPTH : 0);                  \
    FETCH_SOME(B, b_next, B_SOURCE, b_place, b_row, b_along, n - from_n, t < tiles ? DEPTH : 0)
#else
#define FETCH_NEXT FETCH
#endif
#if ONCE
/* There is no next tile, and the loop takes the terms that there are. */
#define PRODUCTS                                                                                                  \
    for (int l = 0; l < min(SHARE, first - share); ++l) {                                                         \
        scalar x[MICRO_M] __attribute__((aligned(128)));                                                          \
        lanes_n y[MICRO_N / LANES_N];                                                                             \
        READ_LINES(x, y, l);                                                                                      \
        MULTIPLY(x, y);                                                                                           \
    }
#elif AHEAD
#define PRODUCTS                                                                                                  \
    UNROLLED(UNROLL) for (int l = 0; l < SHARE; ++l) {                                                            \
        if (l == SHARE - 1) TURN_OVER;                                                                            \
        READ_LINES(x[(l + 1) % 2], y[(l + 1) % 2], (l + 1) % SHARE);                                              \
        MULTIPLY(x[l % 2], y[l % 2]);                                                                             \
    }
#else
#define PRODUCTS                                                                                                  \
    UNROLLED(UNROLL) for (int l = 0; l < SHARE; ++l) {                                                            \
        scalar x[MICRO_M] __attribute__((aligned(128)));                                                          \
        lanes_n y[MICRO_N / LANES_N];                                                                             \
        READ_LINES(x, y, l);                                                                                      \
        MULTIPLY(x, y);                                                                                           \
    }                                                                                                             \
    HOLD;                                                                                                         \
    TURN_OVER
#endif

/* A vector of C or E. */
#if WIDE == 2
#define GET_LANES(from) PASTE(vload, LANES_N)(0, (global scalar const *)(from))
#define PUT_LANES(to, x) PASTE(vstore, LANES_N)(x, 0, (global scalar *)(to))
#else
#define GET_LANES(from) *(global lanes_n const *)(from)
#define PUT_LANES(to, x) *(global lanes_n *)(to) = x
#endif

/* The end of a target of a spread. What it keeps is read for some rows together before any of them is written: a
   compiler may not move a load before a store, and one load would wait for the other. Where a work-item has 128
   registers, there is room for fewer. */
#if TARGETS
#if WIDE
#define PIECES (MICRO_N / LANES_N)
typedef lanes_n piece;
#define PIECE(r, s) sum[r][s]
#define PIECE_COL(s) MICRO_COL((s)*LANES_N)
#else
#define PIECES MICRO_N
typedef scalar piece;
#define PIECE(r, s) ((scalar *)sum[r])[s]
#define PIECE_COL(s) MICRO_COL(s)
#endif
#if MICRO_M % 4 == 0 && !defined(__AMDGCN__)
#define TOGETHER 4
#elif MICRO_M % 2 == 0
#define TOGETHER 2
#else
#define TOGETHER 1
#endif
#define EACH_PIECE                                                                                                \
    _Pragma("unroll") for (int r = rows; r < rows + TOGETHER; ++r)                                                \
        _Pragma("unroll") for (int s = 0; s < PIECES; ++s)
#define IF_OWN(i, j)                                                                                              \
    int const i = from_m + MICRO_ROW(r), j = from_n + PIECE_COL(s);                                               \
    if (i >= own_m && i < m && j >= own_n && j < n)
#define TARGET_END(t, own_m, own_n)                                                                               \
    _Pragma("unroll") for (int rows = 0; rows < MICRO_M; rows += TOGETHER) {                                      \
        piece kept[TOGETHER][PIECES];                                                                             \
        if (flags & KEEPS(t))                                                                                     \
            EACH_PIECE {                                                                                          \
                IF_OWN(i, j) kept[r - rows][s] = *(global piece const *)PLACE(e##t, i, j);                        \
            }                                                                                                     \
        EACH_PIECE {                                                                                              \
            piece result = scale_by(c##t##_by, PIECE(r, s));                                                      \
            if (flags & KEEPS(t))                                                                                 \
                result += scale_by(e##t##_by, conjugate_if(flags & CONJUGATED_E(t), kept[r - rows][s]));          \
            IF_OWN(i, j) *(global piece *)PLACE(c##t, i, j) = result;                                             \
        }                                                                                                         \
    }
#endif

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) WAVES void tiled(OPERANDS,
#if PARTIAL
    global scalar *partial, long partial_at, int flags
#else
    RESULT
#endif
) {
    local scalar buffer[BUFFERS * (A_TILE + B_TILE)] __attribute__((aligned(128)));
    int const me = get_local_id(0), my_n = me % THREADS_N, my_m = me % ITEMS / THREADS_N;
    int const slice = SLICES > 1 ? me / ITEMS : 0, share = slice * SHARE;
    int const m = sizes.x, n = sizes.y;
    long const batch = get_group_id(1);

    /* Which tile: SWIZZLE rows of tiles are walked through together, so that neighbours share what they read. */
    int const tiles_m = (m + TILE_M - 1) / TILE_M, tiles_n = (n + TILE_N - 1) / TILE_N;
    int const group = get_group_id(0), band = group / (SWIZZLE * tiles_n), in_band = group % (SWIZZLE * tiles_n);
    int const rows = min(SWIZZLE, tiles_m - band * SWIZZLE);
    int const own_m = (band * SWIZZLE + in_band % rows) * TILE_M, own_n = in_band / rows * TILE_N;
#if GUARD
    int const from_m = own_m, from_n = own_n;
#else
    int const from_m = min(own_m, m - TILE_M), from_n = min(own_n, n - TILE_N);
#endif

    /* What this work-item reads: its place on its line, and its line. */
    int const a_place = me * A_WIDTH % A_LENGTH, a_row = me * A_WIDTH / A_LENGTH;
    int const b_place = me * B_WIDTH % B_LENGTH, b_row = me * B_WIDTH / B_LENGTH;
    long const a_along = A_ALONG_K ? a_at.z : a_at.y, a_line = A_ALONG_K ? a_at.y : a_at.z;
    long const b_along = B_ALONG_K ? b_at.y : b_at.z, b_line = B_ALONG_K ? b_at.z : b_at.y;

    scalar a_next[A_FETCHED] __attribute__((aligned(128)));
    scalar b_next[B_FETCHED] __attribute__((aligned(128)));
    lanes_n sum[MICRO_M][MICRO_N / LANES_N];
#if IN_PIECES
    lanes_n whole[MICRO_M][MICRO_N / LANES_N];
    EACH_SUM whole[r][s] = (lanes_n)ZERO;
    for (int from_k = 0; from_k < sizes.z; from_k += piece_depth) {
    if (from_k > 0) barrier(CLK_LOCAL_MEM_FENCE);
    int const k = min(piece_depth, sizes.z - from_k);
    long const a_base = batch * a_at.w + from_k * a_at.z, b_base = batch * b_at.w + from_k * b_at.y;
#elif PARTIAL
    int const from_k = (int)batch * piece_depth, k = min(piece_depth, sizes.z - from_k);
    long const a_base = from_k * a_at.z, b_base = from_k * b_at.y;
#else
    int const k = sizes.z;
    long const a_base = batch * a_at.w, b_base = batch * b_at.w;
#endif
    A_PLACES a_from = A_ORIGIN a_base + AT(a_at, from_m, 0) + a_place * a_along + a_row * a_line;
    B_PLACES b_from = B_ORIGIN b_base + AT(b_at, 0, from_n) + b_place * b_along + b_row * b_line;
    EACH_SUM sum[r][s] = (lanes_n)ZERO;

    int const tiles = (k + DEPTH - 1) / DEPTH, first = k - (tiles - 1) * DEPTH;
#if UNROLL == DEPTH && !GUARD
    if (first == DEPTH)
        FETCH;
    else /* On a CPU there is no such choice: PoCL 5 gives wrong sums for a branch that has loops on both sides. */
#endif
    {
        FETCH_SOME(A, a_next, A_SOURCE, a_place, a_row, a_along, m - from_m, first);
        FETCH_SOME(B, b_next, B_SOURCE, b_place, b_row, b_along, n - from_n, first);
    }
    local scalar *a_put = buffer + (A_ALONG_K ? a_place * A_LINE + a_row : a_row * A_LINE + a_place);
    local scalar *b_put = buffer + A_TILE + (B_ALONG_K ? b_place * B_LINE + b_row : b_row * B_LINE + b_place);
    local scalar const *a_lines = buffer + share * A_LINE + my_m * LANES_M;
    local scalar const *b_lines = buffer + A_TILE + share * B_LINE + my_n * LANES_N;
    ADD_UP_A ADD_UP_B
    PUT_A;
    PUT_B;
    barrier(CLK_LOCAL_MEM_FENCE);
#if ONCE
    PRODUCTS;
#else
#if BUFFERS == 2
    int other = A_TILE + B_TILE;
    a_put += other, b_put += other;
#endif
#if AHEAD
    /* The lines of the next terms are read while those of this one are multiplied, across tiles too. */
    scalar x[2][MICRO_M] __attribute__((aligned(128)));
    lanes_n y[2][MICRO_N / LANES_N];
    READ_LINES(x[0], y[0], 0);
#endif
    /* What follows the last tile is fetched and put as well, for nothing: it is the last tile again, or zeros. A
       branch around it costs more, since compilers then keep two copies of the products. */
    long const a_deeper = DEPTH * a_at.z, b_deeper = DEPTH * b_at.y;
    a_from += tiles > 1 ? first * a_at.z : 0;
    b_from += tiles > 1 ? first * b_at.y : 0;
    for (int t = 1; t <= tiles; ++t) {
        FETCH_NEXT;
        a_from += t + 1 < tiles ? a_deeper : 0;
        b_from += t + 1 < tiles ? b_deeper : 0;
        HOLD;
        PRODUCTS;
    }
#endif

#if IN_PIECES
    EACH_SUM whole[r][s] += sum[r][s];
    }
    EACH_SUM sum[r][s] = whole[r][s];
#endif

#if SLICES > 1
    /* The sums of the slices become one, in order: a row of each micro-tile at a time goes through local memory. */
    local lanes_n *const line = (local lanes_n *)buffer + me % ITEMS;
    barrier(CLK_LOCAL_MEM_FENCE);
    _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r)
        for (int other = 1; other < SLICES; ++other) {
            _Pragma("unroll") for (int s = 0; s < MICRO_N / LANES_N; ++s)
                if (slice == other) line[s * ITEMS] = sum[r][s];
            barrier(CLK_LOCAL_MEM_FENCE);
            _Pragma("unroll") for (int s = 0; s < MICRO_N / LANES_N; ++s)
                if (slice == 0) sum[r][s] += line[s * ITEMS];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    if (slice > 0) return;
#endif

#if TARGETS
    REPEAT(TARGETS, TARGET_END, own_m, own_n);
#else
    _Pragma("unroll") for (int r = 0; r < MICRO_M; ++r) {
        int const i = from_m + MICRO_ROW(r);
        if (i < own_m || i >= m) continue;
        _Pragma("unroll") for (int s = 0; s < MICRO_N / LANES_N; ++s) {
#if WIDE
            int const first_j = from_n + MICRO_COL(s * LANES_N);
            if (first_j >= own_n && first_j + LANES_N <= n) {
#if PARTIAL
                PUT_LANES(partial + partial_at + (batch * m + i) * n + first_j, sum[r][s]);
#else
                lanes_n result = alpha * sum[r][s];
                if (flags & ADDS) result += beta * GET_LANES(e + AT(e_at, i, first_j) + batch * e_at.w);
                _Pragma("unroll") for (int w = 0; w < LANES_N; ++w)
                    ((scalar *)&result)[w] = FINAL(((scalar *)&result)[w], i, first_j + w);
                PUT_LANES(c + AT(c_at, i, first_j) + batch * c_at.w, result);
#endif
                continue;
            }
#endif
#if WIDE != 1 /* A tile at the edge was moved by whole vectors then: one is either all ours or not at all. */
            scalar line[LANES_N] __attribute__((aligned(128)));
            *(lanes_n *)line = sum[r][s];
            _Pragma("unroll") for (int w = 0; w < LANES_N; ++w) {
                int const j = from_n + MICRO_COL(s * LANES_N + w);
                if (j < own_n || j >= n) continue;
#if PARTIAL
                partial[partial_at + (batch * m + i) * n + j] = line[w];
#else
                FINISH(line[w], i, j, batch);
#endif
            }
#endif
        }
    }
#endif
}
)cl";

// The sums of the parts of k become C.
inline constexpr char opencl_gather_text[] = R"cl(
/* sizes: m, n, parts. */
kernel void gather(global scalar const *restrict partial, long partial_at, int4 sizes, RESULT) {
    long const element = get_global_id(0);
    int const j = (int)(element % sizes.y), i = (int)(element / sizes.y);
    if (i >= sizes.x) return;
    scalar sum = ZERO;
    for (int part = 0; part < sizes.z; ++part) 
        sum += partial[partial_at + ((long)part * sizes.x + i) * sizes.y + j];
    FINISH(sum, i, j, 0);
}
)cl";

STRATAGEMM_END
