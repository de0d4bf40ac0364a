// Transforms with real numbers on a device, as complex ones whose elements are read and written in other ways: what
// each kind is, and the text that reads its elements and writes its results. written.hpp puts these around the steps.
//
// A transform of an even number of points is one of half as many, whose elements are pairs of neighbours; elements k
// and h - k of the h of them meet in a step before the complex transform or behind it (Sorensen, Jones, Heideman,
// Burrus: Real-valued fast Fourier transform algorithms, 1987; dft_mirror in passes.inl.hpp is the same step on the
// host). A cosine transform is one of the points in another order, between factors (dct/tables.hpp). A transform that
// takes several launches is a complex one of all points: the step would read and write all elements once more.
#pragma once

#include "plan.hpp"

STRATAGEMM_BEGIN

enum class dft_kind : int {
    whole,         // complex, or of real numbers without imaginary parts
    to_half,       // n real numbers as n / 2 pairs, to n / 2 + 1 frequencies
    from_half,     // and back
    from_mirrored, // n / 2 + 1 frequencies as n, of which the others are conjugates; real parts of the result
    cosine_2_halved, // types II and III as n / 2 pairs
    cosine_3_halved,
    cosine_2, // and as n points
    cosine_3,
    cosine_4_halved, // type IV as n / 2 points
    cosine_4         // and as 2n, of which n are zero
};
// Elements k and h - k meet before the transform, or behind it.
constexpr bool meets_before(dft_kind k) { return k == dft_kind::from_half || k == dft_kind::cosine_3_halved; }
constexpr bool meets_behind(dft_kind k) { return k == dft_kind::to_half || k == dft_kind::cosine_2_halved; }
constexpr bool is_cosine(dft_kind k) { return k >= dft_kind::cosine_2_halved; }

// The real points of a transform whose complex one has `length`.
constexpr index_t real_points(dft_kind k, index_t length) {
    bool const is_halved = meets_before(k) || meets_behind(k) || k == dft_kind::cosine_4_halved;
    return is_halved ? 2 * length : k == dft_kind::cosine_4 ? length / 2 : length;
}

// Factors beside a transform: root_of_unity(step k + begin, order) for 0 <= k < count; a count of 0 is none.
struct dft_turns {
    index_t count = 0, step = 1, begin = 0, order = 1;
};
struct dft_kind_turns {
    dft_turns before, behind; // of the elements that are read, and of the results
    dft_turns between;        // of the step in which elements meet
};
constexpr dft_kind_turns turns_of(dft_kind kind, index_t length) {
    index_t const n = real_points(kind, length);
    dft_kind_turns all;
    if (meets_before(kind) || meets_behind(kind)) all.between = {length / 2 + 1, 1, 0, n};
    switch (kind) {
    case dft_kind::cosine_2_halved: all.behind = {length + 1, 1, 0, 4 * n}; break;
    case dft_kind::cosine_3_halved: all.before = {length + 1, 1, 0, 4 * n}; break;
    case dft_kind::cosine_2: all.behind = {n, 1, 0, 4 * n}; break;
    case dft_kind::cosine_3: all.before = {n / 2 + 1, 1, 0, 4 * n}; break;
    case dft_kind::cosine_4_halved:
        all.before = {length, 4, 1, 8 * n}, all.behind = {length, 1, 0, 2 * n};
        break;
    case dft_kind::cosine_4: all.before = {n, 1, 0, 4 * n}, all.behind = {n, 2, 1, 8 * n}; break;
    default: break;
    }
    return all;
}

// What all kinds share. TURN_BEFORE, TURN_BEHIND and TURN_BETWEEN(k) are the factors above. REAL_POINTS is n,
// ALL_POINTS the length of the complex transform. A cosine transform of complex numbers takes the real or the imaginary
// ones: PART of PARTS.
inline constexpr char dft_kinds_text[] = R"(
#if COMPLEX
#define REAL_FACTOR factor.x
#else
#define REAL_FACTOR factor
#endif
#define X_AT(there, row) (IN_BASE(there) + (row) * (IN_UNIT ? 1 : x_point))
#define C_AT(there, row) ((there).batch * c_batch + (there).col * c_side + (row) * (OUT_UNIT ? 1 : c_point))
#if PARTS == 2
#define X_NUMBER(at) LOAD(REAL, (GLOBAL REAL const *)x, 2 * (at) + PART)
#define C_NUMBER(at, from) STORE(REAL, (GLOBAL REAL *)c, 2 * (at) + PART, from)
#else
#define X_NUMBER(at) LOAD(REAL, x, at)
#define C_NUMBER(at, from) STORE(OUT, c, at, from)
#endif
/* A real number of row `row` of X, and a complex one. */
#define X_ROW(there, row) (IN_MOVED && (row) >= x_rows ? (REAL)0 : X_NUMBER(X_AT(there, row)))
#define READ_COMPLEX(to_x, to_y, at)                                                  \
    do {                                                                              \
        GLOBAL REAL const *const read = (GLOBAL REAL const *)(x + (at));              \
        if (IN_ALIGNED) {                                                             \
            VECTOR(REAL, 2) const whole = LOAD_VECTOR(REAL, 2, read, 0);              \
            to_x = whole.x, to_y = x_sign * whole.y;                                  \
        } else {                                                                      \
            to_x = LOAD(REAL, read, 0), to_y = x_sign * LOAD(REAL, read, 1);          \
        }                                                                             \
    } while (0)
#define X_SPECTRUM(to_x, to_y, there, row)                                            \
    do {                                                                              \
        to_x = 0, to_y = 0;                                                           \
        if (!IN_MOVED || (row) < x_rows) READ_COMPLEX(to_x, to_y, X_AT(there, row));  \
    } while (0)
/* Workspace is complex where C is real. */
#undef READ_X
#define READ_X(to_x, to_y, at) READ_COMPLEX(to_x, to_y, at)
#if ENDS
#define END_REAL(result, there, row)                                                  \
    if (adds)                                                                         \
        result = fma(beta, LOAD(OUT, e, (there).batch * e_batch + (there).col * e_side + (row) * e_point), result); \
    result = epilogue(result, row0 + (turned ? (there).col : (row)),                  \
                      col0 + (turned ? (row) : (there).col) EPILOGUE_NAMES);
#else
#define END_REAL(result, there, row)
#endif
/* Row `row` of C. */
#define FINISH_ROW(there, row, from)                                                  \
    do {                                                                              \
        index const to_row = row;                                                     \
        if (!OUT_MOVED || to_row < c_rows) {                                          \
            REAL result = REAL_FACTOR * (from);                                       \
            END_REAL(result, there, to_row)                                           \
            C_NUMBER(C_AT(there, to_row), result);                                    \
        }                                                                             \
    } while (0)
#define FINISH_COMPLEX(there, row, from_x, from_y)                                    \
    do {                                                                              \
        index const to_row = row;                                                     \
        if (!OUT_MOVED || to_row < c_rows) {                                          \
            scalar result;                                                            \
            TIMES_FACTOR(result.x, result.y, from_x, from_y);                         \
            END(result, there, to_row)                                                \
            STORE_ALIGNED(OUT_ALIGNED, c, C_AT(there, to_row), result);               \
        }                                                                             \
    } while (0)
/* The step in which elements k and h - k, p and q, meet: twice the spectrum of real numbers; and back from that
   spectrum, to conjugate elements, since the transform is to be an inverse. */
#define MIRROR(k)                                                                     \
    VECTOR(REAL, 2) const between = TURN_BETWEEN(k);                                  \
    REAL const sx = px + qx, sy = py - qy;                                            \
    REAL dx = px - qx, dy = py + qy;                                                  \
    TURN(dx, dy, between.y, -between.x);                                              \
    REAL ax = sx + dx, ay = sy + dy, bx = sx - dx, by = dy - sy;
#define MIRROR_BACK(px, py, qx, qy, k)                                                \
    do {                                                                              \
        VECTOR(REAL, 2) const between = TURN_BETWEEN(k);                              \
        REAL const sx = px + qx, sy = py - qy;                                        \
        REAL dx = px - qx, dy = py + qy;                                              \
        TURN(dx, dy, between.y, between.x);                                           \
        px = sx + dx, py = -(sy + dy), qx = sx - dx, qy = sy - dy;                    \
    } while (0)
/* Where the point is that comes at i after the even points and the odd ones backwards. */
#define PLACE_OF(i) (2 * (i) < REAL_POINTS ? 2 * (i) : 2 * (REAL_POINTS - 1 - (i)) + 1)
/* Twice element k, 0 <= k <= n / 2, of the spectrum of the points in that order, whose cosines are rows of X. */
#define COSINE_SPECTRUM(to_x, to_y, there, k)                                         \
    do {                                                                              \
        if ((k) == 0) {                                                               \
            to_x = row_factor * X_ROW(there, 0), to_x = to_x + to_x, to_y = 0;        \
        } else {                                                                      \
            VECTOR(REAL, 2) const turn = TURN_BEFORE(k);                              \
            to_x = X_ROW(there, k), to_y = -X_ROW(there, REAL_POINTS - (k));          \
            TURN(to_x, to_y, turn.x, -turn.y);                                        \
        }                                                                             \
    } while (0)
/* What the steps of written.hpp call. KIND_... is for an element k that is there. */
#define READ_KIND(to_x, to_y, there, i)                                               \
    do {                                                                              \
        index const element = (there).j + (index)(i) * SPAN;                          \
        to_x = 0, to_y = 0;                                                           \
        if ((there).has && (!IN_CHIRP || element < CHIRP)) KIND_READ(to_x, to_y, there, element) \
    } while (0)
#define READ_BOTH(px, py, qx, qy, there, k)                                           \
    do {                                                                              \
        index const element = k;                                                      \
        px = 0, py = 0, qx = 0, qy = 0;                                               \
        if ((there).has) {                                                            \
            KIND_READ_BOTH(px, py, qx, qy, there, element)                            \
            MIRROR_BACK(px, py, qx, qy, element);                                     \
        }                                                                             \
    } while (0)
#define WRITE_KIND(from_x, from_y, there, i)                                          \
    do {                                                                              \
        index const element = NUMBER_OF(there, i);                                    \
        REAL px = from_x, py = from_y;                                                \
        if ((there).has && (!OUT_CHIRP || element < CHIRP)) KIND_WRITE(px, py, there, element) \
    } while (0)
#define WRITE_BOTH(from_px, from_py, from_qx, from_qy, there, k)                      \
    do {                                                                              \
        index const element = k;                                                      \
        REAL const px = from_px, py = from_py, qx = from_qx, qy = from_qy;            \
        if ((there).has) {                                                            \
            MIRROR(element)                                                           \
            KIND_WRITE_BOTH(there, element)                                           \
        }                                                                             \
    } while (0)
)";

// What the text of a kind defines of these: KIND_READ or KIND_READ_BOTH, and KIND_WRITE or KIND_WRITE_BOTH.
inline constexpr char dft_to_half_text[] = R"(
#define KIND_READ(to_x, to_y, there, k)                                               \
    {                                                                                 \
        if (IN_ALIGNED) {                                                             \
            VECTOR(REAL, 2) const pair = LOAD_VECTOR(REAL, 2, x + (IN_BASE(there) + 2 * (k)), 0); \
            to_x = pair.x, to_y = pair.y;                                             \
        } else {                                                                      \
            to_x = X_ROW(there, 2 * (k)), to_y = X_ROW(there, 2 * (k) + 1);           \
        }                                                                             \
    }
#undef READ_PAIR
#define READ_PAIR(to_x, to_y, next_x, next_y, there, i)                               \
    do {                                                                              \
        to_x = 0, to_y = 0, next_x = 0, next_y = 0;                                   \
        if ((there).has) {                                                            \
            VECTOR(REAL, 4) const read = LOAD_VECTOR(REAL, 4, x + (IN_BASE(there) + 2 * (index)(i)), 0); \
            to_x = read.x, to_y = read.y, next_x = read.z, next_y = read.w;           \
        }                                                                             \
    } while (0)
#define KIND_WRITE_BOTH(there, k)                                                     \
    FINISH_COMPLEX(there, k, ax, ay);                                                 \
    if (2 * (k) != ALL_POINTS) FINISH_COMPLEX(there, ALL_POINTS - (k), bx, by);
)";
inline constexpr char dft_from_half_text[] = R"(
/* The imaginary parts of frequencies 0 and n / 2 are those of no real numbers. */
#define KIND_READ_BOTH(px, py, qx, qy, there, k)                                      \
    X_SPECTRUM(px, py, there, k);                                                     \
    X_SPECTRUM(qx, qy, there, ALL_POINTS - (k));                                      \
    if ((k) == 0) py = 0, qy = 0;
#define KIND_WRITE(re, im, there, k)                                                  \
    {                                                                                 \
        if (OUT_ALIGNED) {                                                            \
            VECTOR(REAL, 2) pair;                                                     \
            pair.x = REAL_FACTOR * re, pair.y = REAL_FACTOR * -im;                    \
            STORE_VECTOR(REAL, 2, c + C_AT(there, 2 * (k)), 0, pair);                 \
        } else {                                                                      \
            FINISH_ROW(there, 2 * (k), re);                                           \
            FINISH_ROW(there, 2 * (k) + 1, -im);                                      \
        }                                                                             \
    }
#undef WRITE_PAIR
#define WRITE_PAIR(from_x, from_y, next_x, next_y, there, i)                          \
    do {                                                                              \
        if ((there).has) {                                                            \
            VECTOR(REAL, 4) both;                                                     \
            both.x = REAL_FACTOR * (from_x), both.y = REAL_FACTOR * -(from_y);        \
            both.z = REAL_FACTOR * (next_x), both.w = REAL_FACTOR * -(next_y);        \
            STORE_VECTOR(REAL, 4, c + C_AT(there, 2 * (index)(i)), 0, both);          \
        }                                                                             \
    } while (0)
)";
inline constexpr char dft_from_mirrored_text[] = R"(
#define KIND_READ(to_x, to_y, there, k)                                               \
    {                                                                                 \
        int const is_first = 2 * (k) <= ALL_POINTS;                                   \
        X_SPECTRUM(to_x, to_y, there, is_first ? (k) : ALL_POINTS - (k));             \
        to_y = (k) == 0 || 2 * (k) == ALL_POINTS ? 0 : is_first ? -to_y : to_y;       \
    }
#define KIND_WRITE(re, im, there, k) FINISH_ROW(there, k, re);
)";
inline constexpr char dft_cosine_2_text[] = R"(
#define KIND_READ(to_x, to_y, there, k) to_x = X_ROW(there, PLACE_OF(k));
#define KIND_WRITE(re, im, there, k)                                                  \
    {                                                                                 \
        VECTOR(REAL, 2) const turn = TURN_BEHIND(k);                                  \
        TURN(re, im, turn.x, turn.y);                                                 \
        FINISH_ROW(there, k, (k) == 0 ? row_factor * re : re);                        \
    }
)";
inline constexpr char dft_cosine_2_halved_text[] = R"(
#define KIND_READ(to_x, to_y, there, k)                                               \
    to_x = X_ROW(there, PLACE_OF(2 * (k))), to_y = X_ROW(there, PLACE_OF(2 * (k) + 1));
#define KIND_WRITE_BOTH(there, k)                                                     \
    VECTOR(REAL, 2) turn = TURN_BEHIND(k);                                            \
    TURN(ax, ay, turn.x, turn.y);                                                     \
    FINISH_ROW(there, k, (k) == 0 ? row_factor * ax : ax);                            \
    if ((k) > 0) FINISH_ROW(there, REAL_POINTS - (k), -ay);                           \
    if (2 * (k) != ALL_POINTS) {                                                      \
        turn = TURN_BEHIND(ALL_POINTS - (k));                                         \
        TURN(bx, by, turn.x, turn.y);                                                 \
        FINISH_ROW(there, ALL_POINTS - (k), bx);                                      \
        if ((k) > 0) FINISH_ROW(there, ALL_POINTS + (k), -by);                        \
    }
)";
inline constexpr char dft_cosine_3_text[] = R"(
#define KIND_READ(to_x, to_y, there, k)                                               \
    {                                                                                 \
        int const is_first = 2 * (k) <= ALL_POINTS;                                   \
        COSINE_SPECTRUM(to_x, to_y, there, (is_first ? (k) : ALL_POINTS - (k)));      \
        to_y = is_first ? -to_y : to_y;                                               \
    }
#define KIND_WRITE(re, im, there, k) FINISH_ROW(there, PLACE_OF(k), re);
)";
inline constexpr char dft_cosine_3_halved_text[] = R"(
#define KIND_READ_BOTH(px, py, qx, qy, there, k)                                      \
    COSINE_SPECTRUM(px, py, there, k);                                                \
    COSINE_SPECTRUM(qx, qy, there, ALL_POINTS - (k));
#define KIND_WRITE(re, im, there, k)                                                  \
    {                                                                                 \
        FINISH_ROW(there, PLACE_OF(2 * (k)), re);                                     \
        FINISH_ROW(there, PLACE_OF(2 * (k) + 1), -im);                                \
    }
)";
inline constexpr char dft_cosine_4_text[] = R"(
#define KIND_READ(to_x, to_y, there, k)                                               \
    {                                                                                 \
        if ((k) < REAL_POINTS) {                                                      \
            VECTOR(REAL, 2) const turn = TURN_BEFORE(k);                              \
            REAL const read = X_ROW(there, k);                                        \
            to_x = read * turn.x, to_y = read * turn.y;                               \
        }                                                                             \
    }
#define KIND_WRITE(re, im, there, k)                                                  \
    {                                                                                 \
        if ((k) < REAL_POINTS) {                                                      \
            VECTOR(REAL, 2) const turn = TURN_BEHIND(k);                              \
            TURN(re, im, turn.x, turn.y);                                             \
            FINISH_ROW(there, k, re);                                                 \
        }                                                                             \
    }
)";
inline constexpr char dft_cosine_4_halved_text[] = R"(
#define KIND_READ(to_x, to_y, there, k)                                               \
    {                                                                                 \
        VECTOR(REAL, 2) const turn = TURN_BEFORE(k);                                  \
        to_x = X_ROW(there, 2 * (k)), to_y = X_ROW(there, REAL_POINTS - 1 - 2 * (k)); \
        TURN(to_x, to_y, turn.x, turn.y);                                             \
    }
#define KIND_WRITE(re, im, there, k)                                                  \
    {                                                                                 \
        VECTOR(REAL, 2) const turn = TURN_BEHIND(k);                                  \
        TURN(re, im, turn.x, turn.y);                                                 \
        FINISH_ROW(there, 2 * (k), re);                                               \
        FINISH_ROW(there, REAL_POINTS - 1 - 2 * (k), -im);                            \
    }
)";

// Sketches: rows of a part of the points, [point0, point0 + part_rows), are on the side of the sums, with random signs;
// and on the other side are rows of sampled points, where places[point] is the row or -1.
inline constexpr char dft_sampled_text[] = R"(
#undef X_ROW
#undef FINISH_ROW
#define IS_IN_PART(point) ((point) >= point0 && (point) < point0 + part_rows)
#define SIGNED(point, from)                                                           \
    ((uint)signs[(point) & (((index)1 << SIGN_SHIFT) - 1)] >> (int)((point) >> SIGN_SHIFT) & 1 ? -(from) : (from))
#if SIGNS_IN
#define X_ROW(there, point)                                                           \
    (IS_IN_PART(point) ? SIGNED(point, X_NUMBER(X_AT(there, (point) - point0))) : (REAL)0)
#define C_ROW(point) places[point]
#define TO_C(point, from) (from)
#else
#define X_ROW(there, point) (places[point] < 0 ? (REAL)0 : X_NUMBER(X_AT(there, (index)places[point])))
#define C_ROW(point) (IS_IN_PART(point) ? (point) - point0 : -1)
#define TO_C(point, from) SIGNED(point, from)
#endif
#define FINISH_ROW(there, point, from)                                                \
    do {                                                                              \
        index const to_row = C_ROW(point);                                            \
        if (to_row >= 0) {                                                            \
            REAL const given = from;                                                  \
            REAL result = REAL_FACTOR * TO_C(point, given);                           \
            END_REAL(result, there, to_row)                                           \
            C_NUMBER(C_AT(there, to_row), result);                                    \
        }                                                                             \
    } while (0)
)";

inline char const* text_of(dft_kind kind) {
    switch (kind) {
    case dft_kind::to_half: return dft_to_half_text;
    case dft_kind::from_half: return dft_from_half_text;
    case dft_kind::from_mirrored: return dft_from_mirrored_text;
    case dft_kind::cosine_2_halved: return dft_cosine_2_halved_text;
    case dft_kind::cosine_3_halved: return dft_cosine_3_halved_text;
    case dft_kind::cosine_2: return dft_cosine_2_text;
    case dft_kind::cosine_3: return dft_cosine_3_text;
    case dft_kind::cosine_4_halved: return dft_cosine_4_halved_text;
    case dft_kind::cosine_4: return dft_cosine_4_text;
    default: return "";
    }
}

STRATAGEMM_END
