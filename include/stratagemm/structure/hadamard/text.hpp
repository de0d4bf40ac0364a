// The kernel of Hadamard transforms on a device, in the dialect.
#pragma once

#include "../../device/dialect.hpp"

STRATAGEMM_BEGIN

// Element e of the tile is point POINT_OF(e) of line LINE_OF(e): neighbours are of neighbouring lines if LINES_LOW is
// 1, else of one line. STORE_LINES_LOW says the same of the order in which the tile is written. COLUMNS: lines are
// columns of x, else parts of one column whose first points are 1 << line_shift apart. There are ROUNDS rounds. In
// round 1 a work-item keeps elements that are 1 << AT_1 and less than 32 << AT_1 apart. Where bit b of STEPS_1 is 1,
// those that are 1 << (AT_1 + b) apart are added. IN_WARP_1: no number leaves its warp in the exchange after it.
// DIRECT: the registers of the last round are written, else the tile is. VECTORS: the tile is read and written by 16
// bytes where a work-item keeps neighbours. IN_UNIT, OUT_UNIT: neighbours in the tile are neighbours in x, in C.
// OUT_VECTORS: C is written by 16 bytes. SEQUENCY: 1 if the tile is read in this order; 2 if C is written so.
// LAST: what is written is C. SHARE_IN, SHARE_OUT: which points are rows of x and of C. 0: all. 1: those from point0
// on, with signs. 2: those of `places`, which has for each point a row or -1; where a whole transform is written, it
// has for each row a point. An XOR of the number of an element with bits above the fifth keeps elements in different
// banks that are read or written at once.
inline constexpr char hadamard_words_text[] = R"(
#define NUMBERS 32
#define UNROLL _Pragma("unroll")
#define POINTS (1 << POINT_BITS)
#define LINES (1 << LINE_BITS)
#if LINES_LOW
#define POINT_OF(e) ((e) >> LINE_BITS)
#define LINE_OF(e) ((e) & (LINES - 1))
#define ELEMENT_OF(p, l) ((p) << LINE_BITS | (l))
#else
#define POINT_OF(e) ((e) & (POINTS - 1))
#define LINE_OF(e) ((e) >> POINT_BITS)
#define ELEMENT_OF(p, l) ((l) << POINT_BITS | (p))
#endif
#if STORE_LINES_LOW
#define STORED_POINT(e) ((e) >> LINE_BITS)
#define STORED_LINE(e) ((e) & (LINES - 1))
#else
#define STORED_POINT(e) ((e) & (POINTS - 1))
#define STORED_LINE(e) ((e) >> POINT_BITS)
#endif
#if SEQUENCY == 1
#define POINT_THERE(p) row_of_sequency(p)
#else
#define POINT_THERE(p) (p)
#endif
#define IS_LINE(line) (LINES == 1 || (line) < lines)

#if VECTORS
#define SPREAD(e) (((e) >> 5 & 7) << VECTOR_BITS)
#elif SEQUENCY == 1
#define SPREAD(e) (((e) >> 5 ^ (e) >> 10) & 31)
#else
#define SPREAD(e) ((e) >> 5 & 31)
#endif
/* i with `count` zeros before bit `at`. This and what follows are linear: of x ^ y they give what they give of x, ^
   what they give of y. A work-item therefore computes its own part of a place once. */
#define OPENED(i, at, count) ((i) >> (at) << ((at) + (count)) | ((i) & ((1 << (at)) - 1)))
#define SWIZZLED(e) ((e) ^ SPREAD(e))
/* Elements of a work-item: number r of a round, and what all have in common. */
#define MINE(at) OPENED(ITEM, at, 5)
#define MORE(r, at) ((r) << (at))
/* Where number r is. A round has above the fifth bit what `mine` has not: it is added, as addresses are. */
#define PLACE(mine, more) (((mine) ^ (SWIZZLED(more) & 31)) + (SWIZZLED(more) & ~31))
#if DIRECT
#define MINE_TO_STORE MINE(AT_LAST)
#define MORE_TO_STORE(s) MORE(s, AT_LAST)
#define SUM_TO_STORE(s) v[s]
#else
#define MINE_TO_STORE MINE(5)
#define MORE_TO_STORE(s) MORE(s, 5)
#define PLACE_TO_STORE(e) SWIZZLED(ELEMENT_OF(POINT_THERE(STORED_POINT(e)), STORED_LINE(e)))
#define SUM_TO_STORE(s) tile[place ^ PLACE_TO_STORE(MORE_TO_STORE(s))]
#endif

FUNCTION int row_of_sequency(int i) {
    int const gray = i ^ i >> 1;
    int row = 0;
    UNROLL for (int b = 0; b < POINT_BITS; ++b) row |= (gray >> b & 1) << (POINT_BITS - 1 - b);
    return row;
}
FUNCTION int sequency_of_row(int row, int bits) {
    uint x = (uint)row;
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
    x = (x << 16 | x >> 16) >> (32 - bits);
    for (int step = 1; step < 32; step *= 2) x ^= x >> step;
    return (int)x;
}

#define ADD_APART(step)                                             \
    do {                                                            \
        UNROLL for (int r = 0; r < NUMBERS; ++r) if (!(r & (step))) {  \
            scalar const first = v[r], second = v[r | (step)];      \
            v[r] = first + second;                                  \
            v[r | (step)] = first - second;                         \
        }                                                           \
    } while (0)
#define ADD_STEPS(steps)                          \
    do {                                          \
        if ((steps) >> 4 & 1) ADD_APART(16);      \
        if ((steps) >> 3 & 1) ADD_APART(8);       \
        if ((steps) >> 2 & 1) ADD_APART(4);       \
        if ((steps) >> 1 & 1) ADD_APART(2);       \
        if ((steps) & 1) ADD_APART(1);            \
    } while (0)

#if SHUFFLES
#define WAIT(in_warp)                 \
    do {                              \
        if (in_warp)                  \
            WARP_BARRIER();           \
        else                          \
            BARRIER();                \
    } while (0)
#else
#define WAIT(in_warp) BARRIER()
#endif
#if VECTORS
#if VECTOR_BITS == 2
#define SOME 4
#define SET_ALL(w, r) (w).x = v[r], (w).y = v[(r) + 1], (w).z = v[(r) + 2], (w).w = v[(r) + 3]
#define GET_ALL(w, r) v[r] = (w).x, v[(r) + 1] = (w).y, v[(r) + 2] = (w).z, v[(r) + 3] = (w).w
#else
#define SOME 2
#define SET_ALL(w, r) (w).x = v[r], (w).y = v[(r) + 1]
#define GET_ALL(w, r) v[r] = (w).x, v[(r) + 1] = (w).y
#endif
#define PUT_VECTORS(mine)                                                                             \
    UNROLL for (int r = 0; r < NUMBERS; r += SOME) {                                                  \
        VECTOR(REAL, SOME) w;                                                                         \
        SET_ALL(w, r);                                                                                \
        room[PLACE(mine, r) >> VECTOR_BITS] = w;                                                      \
    }
#define GET_VECTORS(mine)                                                                             \
    UNROLL for (int r = 0; r < NUMBERS; r += SOME) {                                                  \
        VECTOR(REAL, SOME) const w = room[PLACE(mine, r) >> VECTOR_BITS];                             \
        GET_ALL(w, r);                                                                                \
    }
#else
#define PUT_VECTORS(mine)
#define GET_VECTORS(mine)
#endif
#define PUT(at)                                                                                       \
    do {                                                                                              \
        int const mine = SWIZZLED(MINE(at));                                                          \
        if (VECTORS && (at) == 0) {                                                                   \
            PUT_VECTORS(mine)                                                                         \
        } else {                                                                                      \
            UNROLL for (int r = 0; r < NUMBERS; ++r) tile[PLACE(mine, MORE(r, at))] = v[r];           \
        }                                                                                             \
    } while (0)
#define GET(at)                                                                                       \
    do {                                                                                              \
        int const mine = SWIZZLED(MINE(at));                                                          \
        if (VECTORS && (at) == 0) {                                                                   \
            GET_VECTORS(mine)                                                                         \
        } else {                                                                                      \
            UNROLL for (int r = 0; r < NUMBERS; ++r) v[r] = tile[PLACE(mine, MORE(r, at))];           \
        }                                                                                             \
    } while (0)

#if SHARE_IN == 1 || SHARE_OUT == 1
#if SIGN_SHIFT == 0
#define IS_NEGATIVE(k) ((uint)signs[0] >> (k) & 1)
#else
#define IS_NEGATIVE(k) ((uint)signs[(k) & ((1 << SIGN_SHIFT) - 1)] >> ((k) >> SIGN_SHIFT) & 1)
#endif
#endif
#define FINISH_SUM(i, j, sum, last)                                                                     \
    do {                                                                                                \
        scalar finished = scale_by(alpha, sum);                                                         \
        if (adds) {                                                                                     \
            scalar const added = LOAD(OUT, e, AT(e, i, j));                                             \
            finished = multiply_add(beta, conjugate_if(e_conjugated, added), finished);                 \
        }                                                                                               \
        last = epilogue((value)finished, row0 + (turned ? j : i), col0 + (turned ? i : j) EPILOGUE_NAMES); \
    } while (0)
)";

inline constexpr char hadamard_text[] =
    R"(/* `tiles` of each column, or block of columns; `blocks` of these in a matrix of the batch. A point is
   1 << point_shift rows from the next. */
KERNEL_AT_ONCE(ITEMS, AT_ONCE) hadamard_pass(MATRIX(IN const, x), index x_step, int x_conjugated, int tiles, int blocks,
                            int point_shift, int line_shift,
#if SHARE_IN || SHARE_OUT
                            index point0, index count, index sampled, BUFFER(int const, signs),
                            BUFFER(int const, places),
#endif
                            index c_step,
#if LAST
                            index e_step, index row0, index col0, int turned, PRODUCT EPILOGUE_STATE) {
#else
                            MATRIX(OUT, c), index cols) {
#endif
#if ROUNDS > 1 || !DIRECT
#if VECTORS
#define ROOM_OF VECTOR(REAL, SOME)
#define ROOM (POINTS * LINES / SOME)
#define tile SHARED_AS(REAL, room)
#else
#define ROOM_OF scalar
#define ROOM (POINTS * LINES)
#define tile room
#endif
#if IS_LARGE
    LARGE_SHARED(ROOM_OF, room, ROOM);
#else
    SHARED ROOM_OF room[ROOM];
#endif
#endif
    OPEN(IN const, x);
    OPEN(OUT, c);
#if SHARE_IN || SHARE_OUT
    OPEN(int const, signs);
    OPEN(int const, places);
#endif
    int const number = GROUP % tiles, block = GROUP / tiles % blocks, batch = GROUP / tiles / blocks;
#if COLUMNS
    index const k0 = OPENED(number, point_shift, POINT_BITS), j0 = (index)block * LINES;
    int const lines = (int)min((index)LINES, cols - j0);
#define LINE_STRIDE(m) m##_col
#else
    int const opened = line_shift < point_shift ? OPENED(number, line_shift, LINE_BITS)
                                                : OPENED(number, point_shift, POINT_BITS);
    index const k0 = line_shift < point_shift ? OPENED(opened, point_shift, POINT_BITS)
                                              : OPENED(opened, line_shift, LINE_BITS);
    index const j0 = block;
    int const lines = LINES;
#define LINE_STRIDE(m) (m##_row * ((index)1 << line_shift))
#endif
#define POINT_STRIDE(m) (m##_row * ((index)1 << point_shift))
/* The point of the whole transform that element e is. */
#define WHOLE_OFFSET(p, line) (((index)(p) << point_shift) + (COLUMNS ? (index)0 : (index)(line) << line_shift))
#define WHOLE_POINT(p, line) (k0 + WHOLE_OFFSET(p, line))
    scalar v[NUMBERS];
    {
        int const mine = MINE(AT_1), my_line = LINE_OF(mine);
#if SHARE_IN
        x += (index)batch * x_step + j0 * x_col + (COLUMNS ? my_line * x_col : (index)0);
        index const k = WHOLE_POINT(POINT_OF(mine), my_line);
#if SHARE_IN == 1 && TOP_STEPS
        uint const flips = (uint)signs[k];
#endif
#else
        index const x_point = IN_UNIT && !LINES_LOW ? 1 : POINT_STRIDE(x),
                    x_line = IN_UNIT && LINES_LOW ? 1 : LINE_STRIDE(x);
        x += (index)batch * x_step + AT(x, k0, j0) + POINT_OF(mine) * x_point + my_line * x_line;
#endif
        UNROLL for (int r = 0; r < NUMBERS; ++r) {
            int const more_points = POINT_OF(MORE(r, AT_1)), more_lines = LINE_OF(MORE(r, AT_1));
            scalar one = ZERO;
#if SHARE_IN
            index const point = k + WHOLE_OFFSET(more_points, more_lines);
#if SHARE_IN == 1
            index const row = point - point0;
            bool const is_there = row >= 0 && row < count;
#else
            index const row = places[point];
            bool const is_there = row >= 0;
#endif
            if (IS_LINE(my_line + more_lines) && is_there)
                one = LOAD(IN, x, row * x_row + (COLUMNS ? more_lines * x_col : (index)0));
            v[r] = conjugate_if(x_conjugated, one);
#if SHARE_IN == 1 && TOP_STEPS
            if (flips >> r & 1) v[r] = ZERO - v[r];
#elif SHARE_IN == 1
            if (IS_NEGATIVE(point)) v[r] = ZERO - v[r];
#endif
#else
            if (IS_LINE(my_line + more_lines)) one = LOAD(IN, x, more_points * x_point + more_lines * x_line);
            v[r] = conjugate_if(x_conjugated, one);
#endif
        }
    }
    ADD_STEPS(STEPS_1);
#if ROUNDS > 1
    PUT(AT_1);
    WAIT(IN_WARP_1);
    GET(AT_2);
    ADD_STEPS(STEPS_2);
#endif
#if ROUNDS > 2
    PUT(AT_2);
    WAIT(IN_WARP_2);
    GET(AT_3);
    ADD_STEPS(STEPS_3);
#endif
#if !DIRECT
    PUT(AT_LAST);
    WAIT(IN_WARP_LAST);
#endif
#if LAST
    OPEN(OUT const, e);
    e += (index)batch * e_step;
#endif
    c += (index)batch * c_step;
#if SHARE_OUT == 2 && WHOLE
    for (int t = ITEM; t < (int)sampled * LINES; t += ITEMS) {
#if STORE_LINES_LOW
        int const i = t >> LINE_BITS, line = t & (LINES - 1);
#else
        int const line = t / (int)sampled, i = t - line * (int)sampled;
#endif
        if (line >= lines) continue;
        index const j = j0 + line;
        scalar const sum = tile[SWIZZLED(ELEMENT_OF(places[i], line))];
        value last;
        FINISH_SUM(i, j, sum, last);
        STORE(OUT, c, AT(c, i, j), CONVERT(OUT_VALUE, last));
    }
#else
    index const c_line = OUT_UNIT && STORE_LINES_LOW ? 1 : LINE_STRIDE(c);
#if OUT_VECTORS
    int const first = WARP << 10 | LANE << VECTOR_BITS, place = SWIZZLED(first),
              my_line = LINE_OF(first), my_point = POINT_OF(first);
    c += AT(c, k0, j0) + my_point + my_line * c_line;
    UNROLL for (int s = 0; s < NUMBERS; s += SOME) {
        int const more_points = POINT_OF(MORE(s, 5)), more_lines = LINE_OF(MORE(s, 5));
        VECTOR(REAL, SOME) w = room[PLACE(place, MORE(s, 5)) >> VECTOR_BITS];
        int const line = my_line + more_lines;
        if (IS_LINE(line)) {
            index const i = k0 + my_point + more_points, j = j0 + line;
            FINISH_SUM(i, j, w.x, w.x);
            FINISH_SUM(i + 1, j, w.y, w.y);
#if VECTOR_BITS == 2
            FINISH_SUM(i + 2, j, w.z, w.z);
            FINISH_SUM(i + 3, j, w.w, w.w);
#endif
            STORE_VECTOR(OUT, SOME, c, more_points + more_lines * c_line, w);
        }
    }
#else
    index const c_point = OUT_UNIT && !STORE_LINES_LOW ? 1 : POINT_STRIDE(c);
#if SEQUENCY == 1 /* all places at once take more registers than a work-item has */
#define AT_ONCE_STORED 16
    _Pragma("unroll 1") for (int first = 0; first < NUMBERS; first += AT_ONCE_STORED) {
    int const mine = MINE_TO_STORE | MORE_TO_STORE(first);
#else
#define AT_ONCE_STORED NUMBERS
    int const mine = MINE_TO_STORE;
#endif
    int const my_line = STORED_LINE(mine), my_point = STORED_POINT(mine);
#if !DIRECT
    int const place = PLACE_TO_STORE(mine);
#endif
#if SEQUENCY != 2 && !SHARE_OUT
    index const start = AT(c, k0, j0) + my_point * c_point + my_line * c_line;
#endif
#if SEQUENCY == 2
#define ROW_OF(p, line) \
    sequency_of_row((p) << POINT_SHIFT | (COLUMNS ? 0 : (line) << LINE_SHIFT), TRANSFORM_BITS)
    int const my_row = ROW_OF(my_point, my_line) ^ sequency_of_row((int)k0, TRANSFORM_BITS);
#endif
    UNROLL for (int s = 0; s < AT_ONCE_STORED; ++s) {
        scalar sum = SUM_TO_STORE(s);
        int const more_points = STORED_POINT(MORE_TO_STORE(s)), more_lines = STORED_LINE(MORE_TO_STORE(s));
        int const line = my_line + more_lines;
        if (IS_LINE(line)) {
#if LAST
            index const k = WHOLE_POINT(my_point + more_points, line);
            index const j = COLUMNS ? j0 + line : j0;
#if SHARE_OUT == 2
            index const i = places[k], to = AT(c, i, j);
            if (i < 0) continue;
#elif SHARE_OUT == 1
            index const i = k - point0, to = AT(c, i, j);
            if (i < 0 || i >= count) continue;
            if (IS_NEGATIVE(k)) sum = ZERO - sum;
#elif SEQUENCY == 2
            index const i = my_row ^ ROW_OF(more_points, more_lines), to = AT(c, i, j);
#else
            index const i = k, to = start + more_points * c_point + more_lines * c_line;
#endif
            value last;
            FINISH_SUM(i, j, sum, last);
            STORE(OUT, c, to, CONVERT(OUT_VALUE, last));
#else
            STORE(OUT, c, start + more_points * c_point + more_lines * c_line, CONVERT(OUT_VALUE, (value)sum));
#endif
        }
    }
#if SEQUENCY == 1
    }
#endif
#endif
#endif
}
)";

STRATAGEMM_END
