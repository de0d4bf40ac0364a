// Products at the places of a sparse C, on a device: the kernels, and how they divide the work.
//
// If X and Y are dense, LANES work-items compute one place: they read a row of X and a column of Y in turns, and then
// add up their sums. A group computes places that lie side by side in memory, whether in one row of C or in several:
// rows may be long or empty. Each place reads k elements of Y. If these elements are not side by side in memory, each
// of them is a transaction of 32 bytes. The product therefore first copies an operand that does not lie along k, as
// long as the copies take no more than an eighth of the device's memory.
//
// If A and B are sparse, a team of work-items computes a row of C: the team takes the elements of the row of A one
// after another, and adds their products with a row of B to sums in shared memory. Rows of A that take part in many
// more products than others are cut into pieces (rows.hpp), whose sums are kept in workspace and joined in order.
//
// The sides, the layouts and the numbers of elements determine the order in which the products of a place are added,
// so the result is the same from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "rows.hpp"

STRATAGEMM_BEGIN

// A run is what a work-item reads at once: 16 bytes, which are WIDE elements, if VECTORS is 1, and else one element.
inline constexpr char sampled_text[] = R"(
#define IN_FLIGHT 4 /* runs that a work-item loads before it uses the first */
#define UNITS (ITEMS / LANES)
#if VECTORS
typedef VECTOR(uint, 4) run_of_k;
#define LOAD_RUN(p, l, stride) LOAD_VECTOR(uint, 4, (GLOBAL uint const *)((p) + (l)), 0)
#define NUMBER_OF(run, w) LOAD(IN, (IN const *)&(run), w)
#else
typedef scalar run_of_k;
#define LOAD_RUN(p, l, stride) LOAD(IN, p, (l) * (stride))
#define NUMBER_OF(run, w) (run)
#endif
#if COMPLEX
#define EXCHANGE(to, from, lane)        \
    do {                                \
        to.x = SHUFFLE((from).x, lane); \
        to.y = SHUFFLE((from).y, lane); \
    } while (0)
#else
#define EXCHANGE(to, from, lane) to = SHUFFLE(from, lane)
#endif

/* The row of element `at`, between `row` and `high`: begins[row] <= at < begins[row + 1]. */
FUNCTION index row_between(GLOBAL INDEX const *begins, index row, index high, index at) {
    while (high - row > 1) {
        index const middle = (row + high) / 2;
        if ((index)begins[middle] <= at)
            row = middle;
        else
            high = middle;
    }
    return row;
}
/* The same, where the row is most likely `row` or one soon behind it. */
FUNCTION index row_from(GLOBAL INDEX const *begins, index row, index rows, index at) {
    index step = 1;
    while (row + step < rows && (index)begins[row + step] <= at) row += step, step *= 2;
    return row_between(begins, row, min(row + step, rows), at);
}

/* `most`: the room in `columns` and `values`, whatever `begins` says. */
#define PLACES \
    BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(OUT, values), index rows, index most
#define OPEN_PLACES              \
    OPEN(INDEX const, begins);   \
    OPEN(INDEX const, columns);  \
    OPEN(OUT, values)
#define FINISH_PLACE(at, row, result)                                                                            \
    do {                                                                                                         \
        scalar finished = result;                                                                                \
        if (adds) {                                                                                              \
            scalar const before = LOAD(OUT, values, at);                                                         \
            finished = multiply_add(beta, before, finished);                                                     \
        }                                                                                                        \
        value const last = epilogue((value)finished, row0 + (row), col0 + (index)columns[at] EPILOGUE_NAMES);    \
        STORE(OUT, values, at, CONVERT(OUT_VALUE, last));                                                        \
    } while (0)

#define ADD_RUN(run_x, run_y)                                                                        \
    for (int w = 0; w < WIDE; ++w) {                                                                 \
        scalar const one_x = NUMBER_OF(run_x, w), one_y = NUMBER_OF(run_y, w);                       \
        scalar const left = conjugate_if(x_conjugated, one_x), right = conjugate_if(y_conjugated, one_y); \
        sum = multiply_add(left, right, sum);                                                        \
    }

#if !SPARSE
/* `span` is a multiple of UNITS. */
KERNEL(ITEMS) dense_at_places(PLACES, MATRIX(IN const, x), int x_conjugated, MATRIX(IN const, y), int y_conjugated,
                              index depth, index span, scalar alpha, scalar beta, int adds, index row0,
                              index col0 EPILOGUE_STATE) {
#if LANES > 1 && !SHUFFLES
    SHARED scalar part[ITEMS];
#endif
    OPEN_PLACES;
    OPEN(IN const, x);
    OPEN(IN const, y);
    index const begin = GROUP * span, end = min(min(begin + span, most), (index)begins[rows]), lane = ITEM % LANES;
    index row = 0;
    for (index first = begin; first < end; first += UNITS) {
        index const at = first + ITEM / LANES;
        scalar sum = ZERO;
        if (at < end) {
            row = first == begin ? row_between(begins, 0, rows, at) : row_from(begins, row, rows, at);
            GLOBAL IN const *const of_x = x + row * x_row;
            GLOBAL IN const *const of_y = y + (index)columns[at] * y_col;
            index l = lane * WIDE;
            for (; l + (IN_FLIGHT - 1) * LANES * WIDE < depth; l += IN_FLIGHT * LANES * WIDE) {
                run_of_k some_x[IN_FLIGHT], some_y[IN_FLIGHT];
                for (int u = 0; u < IN_FLIGHT; ++u) some_x[u] = LOAD_RUN(of_x, l + u * LANES * WIDE, x_col);
                for (int u = 0; u < IN_FLIGHT; ++u) some_y[u] = LOAD_RUN(of_y, l + u * LANES * WIDE, y_row);
                for (int u = 0; u < IN_FLIGHT; ++u) { ADD_RUN(some_x[u], some_y[u]) }
            }
            for (; l < depth; l += LANES * WIDE) {
                run_of_k const last_x = LOAD_RUN(of_x, l, x_col), last_y = LOAD_RUN(of_y, l, y_row);
                ADD_RUN(last_x, last_y)
            }
        }
#if LANES > 1 && SHUFFLES
        for (int step = LANES / 2; step > 0; step /= 2) {
            scalar other;
            EXCHANGE(other, sum, LANE ^ step);
            sum = sum + other;
        }
#elif LANES > 1
        BARRIER();
        part[ITEM] = sum;
        BARRIER();
        if (lane == 0)
            for (int u = 1; u < LANES; ++u) sum = sum + part[ITEM + u];
#endif
        if (at < end && lane == 0) FINISH_PLACE(at, row, scale_by(alpha, sum));
    }
}

#else

/* TEAM work-items compute a row of C, SUMS places at a time, with sums in shared memory. Long rows of A are cut into
   pieces: if PIECES is 1, a team computes SUMS places of a piece, and keeps the sums in workspace if the row has
   several. These are added up, in order, by the launch with PIECES 0, which then computes the other rows.

   A team takes the elements of a row of A in order, and its work-items share the row of B that one of them meets.
   Where the columns of that row rise, no two of them have the same place; otherwise one work-item adds them all, and
   the length is negative. What the next TOGETHER steps add is read before the first of them. A step ends with a
   barrier of the team, which is within a warp if TEAM is at most 32 and the device has warps.

   DENSE: a sum for each of SUMS columns. Otherwise a sum for each of SUMS places of C. Their columns are divided into
   BUCKETS of the same width, and `heads` says which place is the first of each bucket. */
#define TEAMS (ITEMS / TEAM)
#define PER_ITEM (TEAM < 32 ? 2 : 1)
#define BATCH (PER_ITEM * TEAM) /* elements of A that a team reads at once */
#define TOGETHER (sizeof(scalar) > 4 ? 4 : 8) /* steps whose products are read before the first is added */
#define BUCKETS (SUMS / 2)
#if SHUFFLES && TEAM <= 32
#define TEAM_BARRIER() WARP_BARRIER()
/* Whether x holds for any team of the warp, for what all of these have to do equally often. */
#define ANY_TEAM(to, x)                                                                     \
    do {                                                                                    \
        to = x;                                                                             \
        for (int apart = TEAM; apart < 32; apart *= 2) to |= SHUFFLE(to, LANE ^ apart);     \
    } while (0)
#elif TEAM == ITEMS
#define TEAM_BARRIER() BARRIER()
#define ANY_TEAM(to, x) to = x
#else
#define TEAM_BARRIER() BARRIER()
#define ANY_TEAM(to, x) \
    do {                \
        ANY(any, x);    \
        to = any;       \
        BARRIER();      \
    } while (0)
#define ANY_BY_GROUP 1
#endif
/* The first of b_columns[at, end) that is not below `low`, and the first that is above `high`; both at once, because
   the work-item waits for each column that it reads. */
#define NARROW(begin, end, low, high)                                                        \
    do {                                                                                     \
        index const stop = end;                                                              \
        index first_end = end, last = begin, last_end = end;                                 \
        while (begin < first_end || last < last_end) {                                       \
            index const at = (begin + first_end) / 2, behind = (last + last_end) / 2;        \
            B_INDEX const one = b_columns[min(at, stop - 1)], other = b_columns[min(behind, stop - 1)]; \
            if (begin < first_end) {                                                         \
                if ((COLUMN)one < low)                                                       \
                    begin = at + 1;                                                          \
                else                                                                         \
                    first_end = at;                                                          \
            }                                                                                \
            if (last < last_end) {                                                           \
                if ((COLUMN)other <= high)                                                   \
                    last = behind + 1;                                                       \
                else                                                                         \
                    last_end = behind;                                                       \
            }                                                                                \
        }                                                                                    \
        end = last;                                                                          \
    } while (0)

#define BUCKET_OF(j) ((int)(((j)-low) >> shift))
#if DENSE
#define FIND_PLACE(to, j) to = (j) >= low && (j) <= high ? (int)((j)-low) : -1
#else
#define FIND_PLACE(to, j)                                                                   \
    do {                                                                                    \
        to = -1;                                                                            \
        if ((j) < low || (j) > high) break;                                                 \
        if (solid) {                                                                        \
            to = (int)((j)-low);                                                            \
        } else {                                                                            \
            int place = 0, end = count;                                                     \
            if (rises) {                                                                    \
                int const head = team * (BUCKETS + 1) + BUCKET_OF(j);                       \
                place = heads[head], end = heads[head + 1];                                 \
                while (place < end) {                                                       \
                    int const middle = (place + end) / 2;                                   \
                    if (numbers[team * SUMS + middle] < (j))                                \
                        place = middle + 1;                                                 \
                    else                                                                    \
                        end = middle;                                                       \
                }                                                                           \
            } else {                                                                        \
                while (place < end && numbers[team * SUMS + place] != (j)) ++place;         \
            }                                                                               \
            if (place < count && numbers[team * SUMS + place] == (j)) to = place;           \
        }                                                                                   \
    } while (0)
#endif

/* Goes to element w of the batch: `next` is where this work-item reads B, and the team has `rest` elements to read
   there, `width` of them at a time. */
#define TAKE_ELEMENT                                                   \
    do {                                                               \
        int const at = team * BATCH + w, length = w < some ? lengths[at] : 0; \
        rest = length < 0 ? -length : length;                          \
        width = length < 0 ? 1 : TEAM;                                 \
        if (w < some) next = (index)starts[at] + lane, factor = some_of_a[at]; \
    } while (0)

#if PIECES
#define KEEP_PLACE(at, p)                                                                       \
    do {                                                                                        \
        scalar const sum = sums[team * SUMS + (p)];                                             \
        if (pieces > 1)                                                                         \
            STORE(SUM, sums_of_pieces, kept + piece * (c_end - c_begin) + (at)-c_begin, CONVERT(SUM, (value)sum)); \
        else                                                                                    \
            FINISH_PLACE(at, i, scale_by(alpha, sum));                                          \
    } while (0)
#else
#define KEEP_PLACE(at, p)                           \
    do {                                            \
        scalar const sum = sums[team * SUMS + (p)]; \
        FINISH_PLACE(at, i, scale_by(alpha, sum));  \
    } while (0)
#endif

KERNEL_AT_ONCE(ITEMS, (PIECES ? 13 : 10))
sparse_at_places(PLACES, index cols, BUFFER(A_INDEX const, a_begins), BUFFER(A_INDEX const, a_columns),
                 BUFFER(IN const, a_values), int a_conjugated, BUFFER(B_INDEX const, b_begins),
                 BUFFER(B_INDEX const, b_columns), BUFFER(IN const, b_values), int b_conjugated,
                 BUFFER(byte const, a_long), BUFFER(byte const, b_rising), BUFFER(index const, list),
                 BUFFER(SUM, sums_of_pieces), scalar alpha, scalar beta, int adds, index row0,
                 index col0 EPILOGUE_STATE) {
    SHARED scalar sums[TEAMS * SUMS];
    SHARED scalar some_of_a[TEAMS * BATCH];
    SHARED ulong starts[TEAMS * BATCH];
    SHARED int lengths[TEAMS * BATCH];
#if !DENSE
    SHARED COLUMN numbers[TEAMS * SUMS];
    SHARED int heads[TEAMS * (BUCKETS + 1)];
    SHARED int falls[TEAMS];
#endif
#if ANY_BY_GROUP
    SHARED int any;
#endif
    OPEN_PLACES;
    OPEN(A_INDEX const, a_begins);
    OPEN(A_INDEX const, a_columns);
    OPEN(IN const, a_values);
    OPEN(B_INDEX const, b_begins);
    OPEN(B_INDEX const, b_columns);
    OPEN(IN const, b_values);
    OPEN(byte const, a_long);
    OPEN(byte const, b_rising);
    OPEN(index const, list);
    OPEN(SUM, sums_of_pieces);
    int const team = ITEM / TEAM, lane = ITEM % TEAM;
    index const listed = list[0];
#if PIECES
    index const units = list[1];
    for (index top = (index)GROUP * TEAMS; top < units; top += (index)GROUPS * TEAMS) {
        index const unit = top + team;
        index r = 0, above = listed; /* list[r]'s units are the last that begin at this one or before */
        while (above - r > 1) {
            index const middle = (r + above) / 2;
            if (list[LISTED_FROM + 4 * middle + 1] <= unit)
                r = middle;
            else
                above = middle;
        }
        int const here = unit < units;
        index const i = list[LISTED_FROM + 4 * r], pieces = list[LISTED_FROM + 4 * r + 2],
                    kept = list[LISTED_FROM + 4 * r + 3];
#else
    int const sharing = min(8, GROUPS);
    for (index r = GROUP / sharing; r < listed && GROUP / sharing < GROUPS / sharing; r += GROUPS / sharing) {
        index const i = list[LISTED_FROM + 4 * r], pieces = list[LISTED_FROM + 4 * r + 2],
                    kept = list[LISTED_FROM + 4 * r + 3], c_begin = (index)begins[i],
                    places = min((index)begins[i + 1], most) - c_begin;
        if (pieces == 1) continue;
        for (index p = GROUP % sharing * ITEMS + ITEM; p < places; p += sharing * ITEMS) {
            scalar sum = ZERO;
            for (index first = 0; first < pieces; first += 8) {
                scalar some[8];
                for (int u = 0; u < 8; ++u)
                    if (first + u < pieces) some[u] = LOAD(SUM, sums_of_pieces, kept + (first + u) * places + p);
                for (int u = 0; u < 8; ++u)
                    if (first + u < pieces) sum = sum + some[u];
            }
            FINISH_PLACE(c_begin + p, i, scale_by(alpha, sum));
        }
    }
    for (index top = (index)GROUP * TEAMS; top < rows; top += (index)GROUPS * TEAMS) {
        index const i = top + team;
        int const here = i < rows && !a_long[i];
#endif
        index const c_begin = here ? (index)begins[i] : 0, c_end = here ? min((index)begins[i + 1], most) : 0;
        index a_begin = here ? (index)a_begins[i] : 0, a_end = here ? (index)a_begins[i + 1] : 0;
        index const windows = c_begin >= c_end ? 0 : ((DENSE ? cols : c_end - c_begin) - 1) / SUMS + 1;
#if PIECES
        index const of_row = windows > 0 ? unit - list[LISTED_FROM + 4 * r + 1] : 0,
                    piece = windows > 0 ? of_row / windows : 0, length = a_end - a_begin;
        a_end = a_begin + length * (piece + 1) / pieces;
        a_begin += length * piece / pieces;
        {
            index const window = windows > 0 ? of_row % windows : 0;
#else
        for (index window = 0;; ++window) {
            int some_left = 0;
            ANY_TEAM(some_left, window < windows);
            if (!some_left) break;
#endif
            int more = 0;
            /* The columns of this window, [low, high], and how many of them there are. */
            TEAM_BARRIER();
#if DENSE
            int const count = window < windows ? (int)min(cols - window * SUMS, (index)SUMS) : 0;
            COLUMN const low = (COLUMN)(window * SUMS), high = low + count - 1;
            int const narrows = windows > 1;
#else
            index const first = c_begin + window * SUMS;
            int const count = window < windows ? (int)min(c_end - first, (index)SUMS) : 0;
            if (lane == 0) falls[team] = 0;
            TEAM_BARRIER();
            for (int p = lane; p < count; p += TEAM) {
                INDEX const number = columns[first + p];
                numbers[team * SUMS + p] = (COLUMN)number;
                if (p > 0 && columns[first + p - 1] >= number) falls[team] = 1;
            }
#endif
            for (int p = lane; p < count; p += TEAM) sums[team * SUMS + p] = ZERO;
            TEAM_BARRIER();
#if !DENSE
            int const rises = !falls[team], narrows = windows > 1 && rises;
            COLUMN const low = rises && count > 0 ? numbers[team * SUMS] : 0,
                         high = rises && count > 0 ? numbers[team * SUMS + count - 1] : (COLUMN)(cols - 1);
            int const solid = rises && high - low == count - 1; /* no column is missing between them */
            int shift = 0;
            while ((high - low) >> shift >= BUCKETS) ++shift;
            for (int p = lane; p <= count && rises && !solid && count > 0; p += TEAM) {
                int const last = p < count ? BUCKET_OF(numbers[team * SUMS + p]) : BUCKETS;
                for (int b = p > 0 ? BUCKET_OF(numbers[team * SUMS + p - 1]) + 1 : 0; b <= last; ++b)
                    heads[team * (BUCKETS + 1) + b] = p;
            }
            TEAM_BARRIER();
#endif
            for (index e = a_begin;; e += BATCH) {
                ANY_TEAM(more, (count > 0 && e < a_end));
                if (!more) break;
                int const some = count > 0 && e < a_end ? (int)min(a_end - e, (index)BATCH) : 0;
                index begin[PER_ITEM], end[PER_ITEM];
                int in_order[PER_ITEM];
                for (int u = 0; u < PER_ITEM; ++u)
                    if (lane + u * TEAM < some) begin[u] = (index)a_columns[e + lane + u * TEAM];
                for (int u = 0; u < PER_ITEM; ++u)
                    if (lane + u * TEAM < some) {
                        index const k = begin[u];
                        begin[u] = (index)b_begins[k], end[u] = (index)b_begins[k + 1], in_order[u] = b_rising[k];
                    }
                for (int u = 0; u < PER_ITEM; ++u)
                    if (lane + u * TEAM < some) {
                        int const at = team * BATCH + lane + u * TEAM;
                        scalar const element = LOAD(IN, a_values, e + lane + u * TEAM);
                        if (narrows && in_order[u] && end[u] - begin[u] > TEAM) NARROW(begin[u], end[u], low, high);
                        some_of_a[at] = conjugate_if(a_conjugated, element);
                        starts[at] = (ulong)begin[u];
                        lengths[at] = in_order[u] ? (int)(end[u] - begin[u]) : (int)(begin[u] - end[u]);
                    }
                TEAM_BARRIER();
                int w = 0, rest = 0, width = TEAM;
                index next = 0;
                scalar factor = ZERO;
                TAKE_ELEMENT;
                for (more = 1; more;) {
                    COLUMN column[TOGETHER];
                    scalar left[TOGETHER], right[TOGETHER];
                    int to[TOGETHER];
                    for (int u = 0; u < TOGETHER; ++u) {
                        to[u] = lane < rest && lane < width;
                        if (to[u]) {
                            scalar const number = LOAD(IN, b_values, next);
                            column[u] = (COLUMN)b_columns[next], left[u] = factor, right[u] = number;
                        }
                        next += width, rest -= width;
                        if (rest <= 0 && w < some) {
                            ++w;
                            TAKE_ELEMENT;
                        }
                    }
                    for (int u = 0; u < TOGETHER; ++u)
                        if (to[u])
                            FIND_PLACE(to[u], column[u]);
                        else
                            to[u] = -1;
                    for (int u = 0; u < TOGETHER; ++u) {
                        if (to[u] >= 0) {
                            int const at = team * SUMS + to[u];
                            sums[at] = multiply_add(left[u], conjugate_if(b_conjugated, right[u]), sums[at]);
                        }
                        TEAM_BARRIER();
                    }
                    ANY_TEAM(more, w < some);
                }
            }
            TEAM_BARRIER();
#if DENSE
            for (index some_at = c_begin + lane; some_at < c_end; some_at += 4 * TEAM) {
                COLUMN some_columns[4];
                for (int u = 0; u < 4; ++u)
                    some_columns[u] = some_at + u * TEAM < c_end ? (COLUMN)columns[some_at + u * TEAM] : -1;
                for (int u = 0; u < 4; ++u) {
                    if (some_columns[u] < low || some_columns[u] > high) continue;
                    index const at = some_at + u * TEAM;
                    KEEP_PLACE(at, (int)(some_columns[u] - low));
                }
            }
#else
            for (int p = lane; p < count; p += TEAM) KEEP_PLACE(first + p, p);
#endif
        }
    }
}
#endif

/* What is left of a product where k or alpha is zero. */
KERNEL(ITEMS) keep_places(PLACES, scalar beta, int adds, index row0, index col0 EPILOGUE_STATE) {
    OPEN_PLACES;
    for (EACH(at, min((index)begins[rows], most))) {
        index const row = row_between(begins, 0, rows, at);
        FINISH_PLACE(at, row, ZERO);
    }
}
)";

// How the kernel divides its work.
struct sampled_work {
    static constexpr int items = 128;
    int wide = 1, lanes = 1;
    bool vectors = false;
    index_t span = items; // places of a group

    std::string definitions() const {
        return "#define SPARSE 0\n#define WIDE " + std::to_string(wide) + "\n#define LANES " +
               std::to_string(lanes) + "\n#define VECTORS " + (vectors ? "1\n" : "0\n");
    }
};
// `wide`: the elements of a run, or 0 if they have to be read one by one.
inline sampled_work choose_sampled(index_t k, index_t places, int wide) {
    constexpr index_t enough = 131072; // work-items that keep a large device busy
    sampled_work x;
    x.vectors = wide > 0, x.wide = wide > 0 ? wide : 1;
    // Lanes that read 128 bytes at once: more of them would exchange more sums.
    x.lanes = x.vectors ? 8 : 32;
    while (x.lanes < 32 && places < enough / x.lanes) x.lanes *= 2;
    while (x.lanes > 1 && x.lanes / 2 * x.wide >= k) x.lanes /= 2;
    // A unit finds the row of its first place by a search of all rows.
    index_t rounds = 1;
    while (rounds < 16 && places / (2 * rounds) >= enough / x.lanes) rounds *= 2;
    x.span = x.items / x.lanes * rounds;
    return x;
}

template <class In, class Out, class C, class A, class B>
std::string sampled_types() {
    return kernel_types<In, Out>() + "#define SUM " + kernel_type<accumulator_t<In>>() + "\n#define INDEX " +
           index_name<C>() + "#define A_INDEX " + index_name<A>() + "#define B_INDEX " + index_name<B>();
}
// C, A, B: the types of indices.
template <class In, class Out, class C, class A = C, class B = C>
device_kernel sampled_kernel(char const* name, std::string definitions, int items) {
    return {name,
            sampled_text,
            std::move(definitions),
            items,
            uses_double<In, Out>,
            false,
            sampled_types<In, Out, C, A, B>};
}
// The type of the indices of X, or Else.
template <class X, class Else>
struct index_of {
    using type = Else;
};
template <class X, class Else>
requires requires { typename X::index_type; }
struct index_of<X, Else> {
    using type = typename X::index_type;
};
// launch(kernel, epilogue), where kernel(name, definitions, items) is for the element types of a problem.
template <class Leaf, class Q, class Launch>
status with_epilogue(Leaf const&, Q const& p, Launch&& launch) {
    using C = typename Q::c_operand::index_type;
    using A = typename index_of<typename Q::a_operand, C>::type;
    using B = typename index_of<typename Q::b_operand, C>::type;
    typename Leaf::template epilogue<typename Q::scalar> const last(p.epilogue);
    return launch(
        [&](char const* name, std::string const& definitions, int items) {
            return sampled_kernel<typename Q::a_type, typename Q::c_type, C, A, B>(
                name, definitions + last.definitions(), items);
        },
        last);
}

// How many elements a run of 16 bytes has, if each line of `x` along k can be read in runs; else 0.
template <class T, class Space>
int run_of(view<T const, Space> const& x) {
    constexpr auto wide = static_cast<int>(16 / sizeof(T));
    bool const aligned = x.col_stride == 1 && x.cols % wide == 0 && x.row_stride % wide == 0 &&
                         Space::address(x.data) % 16 == 0;
    return aligned ? wide : 0;
}

// Bytes of workspace for copies of X and Y.
template <class Arena, class T, class Leaf>
std::size_t bytes_to_lay_along(Leaf const& leaf, index_t m, index_t n, index_t k) {
    double const bytes =
        (static_cast<double>(m) + static_cast<double>(n)) * static_cast<double>(k) * sizeof(T);
    if (bytes > static_cast<double>(leaf.limits().memory_bytes) / 8) return 0;
    return Arena::rounded(static_cast<std::size_t>(m * k) * sizeof(T)) +
           Arena::rounded(static_cast<std::size_t>(n * k) * sizeof(T));
}
// A copy of x with its rows along memory.
template <class Leaf, class T, class Space, class Arena>
result<view<T const, Space>> laid_along(Leaf const& leaf, view<T const, Space> x, Arena& memory) {
    view<T, Space> const copy{memory.template take<T>(x.rows * x.cols), x.rows, x.cols, x.cols, 1};
    view<T const, Space> to = copy;
    to.conjugate = std::exchange(x.conjugate, false);
    if (status s = leaf.copy(x, copy); !s) return result<view<T const, Space>>(std::move(s));
    return to;
}

// C = epilogue(alpha X Y + beta C) at the places of C.
template <class Leaf, class Q, class Arena>
status multiply_at_places(Leaf const& leaf, Q const& p, Arena& memory) {
    using In = typename Q::a_type;
    typename Arena::scope const scope(memory);
    auto const& c = p.c;
    auto x = p.a, y = p.b.transposed();
    if (bytes_to_lay_along<Arena, In>(leaf, c.rows, c.cols, x.cols) > 0)
        // Reading a few places takes less time than a copy.
        for (auto* one : {&x, &y})
            if (rows_are_closer(*one) && c.nonzeros >= one->rows / 4) {
                auto copy = laid_along(leaf, *one, memory);
                if (!copy) return copy.take_status();
                *one = *copy;
            }
    int const of_x = run_of(x), of_y = run_of(y);
    sampled_work const work = choose_sampled(x.cols, c.nonzeros, of_x < of_y ? of_x : of_y);
    return with_epilogue(leaf, p, [&](auto const& kernel, auto const& last) {
        index_t const groups = c.nonzeros > 0 ? (c.nonzeros - 1) / work.span + 1 : 0;
        return leaf.launch(kernel("dense_at_places", work.definitions(), work.items), groups, c.row_begins,
                           c.columns, c.values, c.rows, c.nonzeros, x, int{x.conjugate}, y.transposed(),
                           int{y.conjugate}, x.cols, work.span, p.alpha, p.beta,
                           int{p.beta != typename Q::scalar(0)}, p.row0, p.col0, last);
    });
}
// How the kernel divides the work of a product of sparse matrices.
struct sparse_work {
    int items = 64, team = 32, sums = 128;
    bool dense = false, pieces = false;

    std::string definitions(bool wide) const {
        auto const define = [](char const* name, int value) {
            return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
        };
        return define("SPARSE", 1) + define("TEAM", team) + define("PIECES", pieces) + define("SUMS", sums) +
               define("DENSE", dense) + define("LISTED_FROM", static_cast<int>(sparse_room::listed_from)) +
               "#define COLUMN " + (wide ? "index\n" : "int\n");
    }
};
// The work for rows of B and C with `of_b` and `of_c` elements on average; `size`: bytes of a sum. A group takes at
// most 32 KiB of shared memory. Small teams waste fewer work-items on the ends of rows of B, and large teams have room
// for more sums.
inline sparse_work choose_sparse(double of_b, double of_c, index_t cols, std::size_t size) {
    sparse_work x;
    x.dense = static_cast<double>(cols) <= 8 * of_c || cols <= 128;
    auto const bytes = static_cast<int>(size);
    auto const room = [&] { return (x.dense ? 16384 / bytes : 26624 / (bytes + 6)) / (x.items / x.team); };
    double const wanted = x.dense ? static_cast<double>(cols) : 1.4 * of_c + 32;
    for (x.team = 8; x.team < (x.dense ? 64 : 32); x.team *= 2)
        if (8 * x.team >= of_b &&
            (room() >= wanted || (x.dense && 4 * room() >= wanted && 2 * x.team > of_b)))
            break;
    int const most = room() / 64 * 64;
    x.sums = wanted > most ? most : (static_cast<int>(wanted) + 127) / 128 * 128;
    if (x.sums > most) x.sums = most;
    return x;
}
// The work for pieces of long rows, whose rows of C are long: large windows.
inline sparse_work choose_pieces(index_t cols, std::size_t size) {
    sparse_work x;
    x.items = x.team = 32, x.pieces = true;
    int const columns = 16384 / static_cast<int>(size);
    x.dense = cols <= 8 * index_t{columns};
    x.sums = x.dense ? static_cast<int>(lesser(columns, (cols + 127) / 128 * 128))
                     : 16384 / (static_cast<int>(size) + 6) / 64 * 64;
    return x;
}

// C = epilogue(alpha A B + beta C) at the places of C; A and B are csr matrices.
template <class Leaf, class Q, class Arena>
status multiply_sparse_at_places(Leaf const& leaf, Q const& p, Arena& memory) {
    using Sum = accumulator_t<typename Q::a_type>;
    typename Arena::scope const scope(memory);
    auto const& a = p.a;
    auto const& b = p.b;
    auto const& c = p.c;
    if (c.rows == 0 || c.cols == 0 || c.nonzeros == 0) return {};
    auto const average = [](auto const& x) {
        return x.rows > 0 ? static_cast<double>(x.nonzeros) / static_cast<double>(x.rows) : 0;
    };
    double const of_a = average(a), of_b = average(b), usual = of_a * of_b;
    sparse_work const work = choose_sparse(of_b, average(c), c.cols, sizeof(Sum)),
                      of_pieces = choose_pieces(c.cols, sizeof(Sum));
    sparse_room const room(c.rows, c.cols, b.rows);
    auto const a_long = memory.template take<std::int8_t>(c.rows),
               b_rising = memory.template take<std::int8_t>(b.rows);
    auto const list = memory.template take<index_t>(room.list);
    auto const sums = memory.template take<Sum>(room.sums);

    // The products of a row that is cut into pieces. On a CPU no row is cut: few threads would share the pieces, and
    // the kernel for pieces crashes on PoCL 3 when that optimizes.
    index_t const limit =
        leaf.limits().is_cpu ? index_t{1} << 62 : static_cast<index_t>(usual < 512 ? 1024 : 2 * usual);
    row_limits const limits{.products = limit,
                            .lanes = of_a < 64 && of_b < 64 ? 8 : 32,
                            .of_b = static_cast<float>(of_b),
                            .dense = of_pieces.dense,
                            .sums = of_pieces.sums,
                            .room = room.sums};
    if (status s = examine_rows(leaf, a, b, c, limits, examined_rows{a_long, b_rising, list}); !s) return s;
    return with_epilogue(leaf, p, [&](auto const& kernel, auto const& last) {
        auto const launch = [&](sparse_work const& by, index_t groups) {
            return leaf.launch(
                kernel("sparse_at_places", by.definitions(!can_count<std::int32_t>(c.cols)), by.items),
                groups, c.row_begins, c.columns, c.values, c.rows, c.nonzeros, c.cols, a.row_begins,
                a.columns, a.values, int{a.conjugate}, b.row_begins, b.columns, b.values, int{b.conjugate},
                a_long, b_rising, list, sums, p.alpha, p.beta, int{p.beta != typename Q::scalar(0)}, p.row0,
                p.col0, last);
        };
        if (status done = launch(of_pieces, 2048); !done) return done;
        return launch(work, groups_for_each(c.rows * work.team, work.items));
    });
}

// C = epilogue(beta C) at the places of C.
template <class Leaf, class Q>
status keep_places(Leaf const& leaf, Q const& p) {
    sampled_work const work;
    auto const& c = p.c;
    return with_epilogue(leaf, p, [&](auto const& kernel, auto const& last) {
        return leaf.launch(kernel("keep_places", work.definitions(), work.items),
                           groups_for_each(c.nonzeros, work.items), c.row_begins, c.columns, c.values, c.rows,
                           c.nonzeros, p.beta, int{p.beta != typename Q::scalar(0)}, p.row0, p.col0, last);
    });
}

STRATAGEMM_END
