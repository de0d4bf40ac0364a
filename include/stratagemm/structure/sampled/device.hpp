// Products at the places of a sparse C, on a device: the kernels, and how they divide the work.
//
// Of dense matrices X and Y, LANES work-items compute one place: they read a row of X and a column of Y in turns, and
// then add up their sums. A group computes places that lie side by side in memory, whether in one row of C or in
// several: rows may be long or empty. Each place reads k elements of Y. If they are not side by side in memory, each
// of them is a transaction of 32 bytes. So the product first copies an operand that does not lie along k, as long as
// the copies take no more than an eighth of the device's memory.
//
// Of sparse matrices, a team of work-items computes a row of C: it takes the elements of the row of A one after another,
// and adds their products with a row of B to sums in shared memory. Groups share the rows that take much longer than the
// others, each some of the places.
//
// The sides, the layouts and the numbers of elements determine the order in which the products of a place are added,
// so the result is the same from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../csr/transpose.hpp"

STRATAGEMM_BEGIN

// What a product of sparse matrices has to know of their rows: which rows of A take part in more than `limit` products,
// and in which rows of B the columns rise. LANES work-items look at a row.
inline constexpr char rows_text[] = R"(
#define UNITS (ITEMS / LANES)
#define IN_FLIGHT 4

KERNEL(ITEMS) examine_rows(BUFFER(A_INDEX const, a_begins), BUFFER(A_INDEX const, a_columns),
                           BUFFER(B_INDEX const, b_begins), BUFFER(B_INDEX const, b_columns), BUFFER(byte, a_long),
                           BUFFER(byte, b_rising), index a_rows, index b_rows, index limit) {
    SHARED ulong seen[ITEMS];
    OPEN(A_INDEX const, a_begins);
    OPEN(A_INDEX const, a_columns);
    OPEN(B_INDEX const, b_begins);
    OPEN(B_INDEX const, b_columns);
    OPEN(byte, a_long);
    OPEN(byte, b_rising);
    int const lane = ITEM % LANES;
    for (index top = (index)GROUP * UNITS; top < a_rows + b_rows; top += (index)GROUPS * UNITS) {
        index const i = top + ITEM / LANES, of_b = i - a_rows;
        ulong mine = 0;
        if (i < a_rows) {
            index const end = (index)a_begins[i + 1];
            for (index at = (index)a_begins[i] + lane; at < end; at += LANES * IN_FLIGHT) {
                index k[IN_FLIGHT];
                for (int u = 0; u < IN_FLIGHT; ++u) k[u] = at + u * LANES < end ? (index)a_columns[at + u * LANES] : -1;
                for (int u = 0; u < IN_FLIGHT; ++u)
                    if (k[u] >= 0) mine += (ulong)((index)b_begins[k[u] + 1] - (index)b_begins[k[u]]);
            }
        } else if (of_b < b_rows) {
            index const end = (index)b_begins[of_b + 1] - 1;
            for (index at = (index)b_begins[of_b] + lane; at < end; at += LANES * IN_FLIGHT) {
                int falls[IN_FLIGHT];
                for (int u = 0; u < IN_FLIGHT; ++u) {
                    index const one = min(at + u * LANES, end - 1);
                    falls[u] = b_columns[one] >= b_columns[one + 1];
                }
                for (int u = 0; u < IN_FLIGHT; ++u) mine += (ulong)falls[u];
            }
        }
        seen[ITEM] = mine;
        BARRIER();
        if (lane == 0) {
            for (int w = 1; w < LANES; ++w) mine += seen[ITEM + w];
            if (i < a_rows)
                a_long[i] = mine > (ulong)limit ? 1 : 0;
            else if (of_b < b_rows)
                b_rising[of_b] = mine == 0 ? 1 : 0;
        }
        BARRIER();
    }
}
)";

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

/* TEAM work-items compute a row of C, SUMS places at a time, with sums in shared memory. Where PARTS is 1, each team
   has a row of its own, and leaves long rows out. Otherwise the whole group computes one long row: each of its teams has
   sums of its own and takes every PARTS-th batch of the elements of A; the sums are added up in the end.

   A team takes the elements of a row of A in order, and its work-items share the row of B that one of them meets. Where
   the columns of that row rise, no two of them have the same place; otherwise one work-item adds them all, and the
   length is negative. What the next IN_FLIGHT steps add is read before the first of them. A step ends with a barrier of
   the team, which is within a warp if TEAM is at most 32 and the device has warps.

   DENSE: a sum for each of SUMS columns. Otherwise a sum for each of SUMS places of C. Their columns are divided into
   BUCKETS of the same width, and `heads` says which place is the first of each bucket. */
#define TEAMS (ITEMS / TEAM)
#define BATCH (TEAM < 32 ? 32 : TEAM) /* elements of A that a team reads at once */
#define TOGETHER (sizeof(scalar) > 4 ? 4 : 8) /* steps whose products are read before the first is added */
#define BUCKETS (SUMS / 2)
#define ALONE (PARTS == 1)
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
#if PARTS == 1
#define UNIT_BARRIER() TEAM_BARRIER()
#define UNIT TEAM
#define TABLES TEAMS
#else
#define UNIT_BARRIER() BARRIER()
#define UNIT ITEMS
#define TABLES 1
#endif

/* The first of b_columns[at, end) that is not below j. */
FUNCTION index first_from(GLOBAL B_INDEX const *b_columns, index at, index end, index j) {
    while (at < end) {
        index const middle = at + (end - at) / 2;
        if ((index)b_columns[middle] < j)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

#define BUCKET_OF(j) ((int)(((j)-low) >> shift))
#if DENSE
#define FIND_PLACE(to, j) to = (j) >= low && (j) <= high ? (int)((j)-low) : -1
#else
#define FIND_PLACE(to, j)                                                        \
    do {                                                                         \
        to = -1;                                                                 \
        if ((j) >= low && (j) <= high) {                                         \
            int place = 0, end = count;                                          \
            if (rises) {                                                         \
                int const bucket = BUCKET_OF(j);                                 \
                place = heads[table * (BUCKETS + 1) + bucket];                   \
                end = heads[table * (BUCKETS + 1) + bucket + 1];                 \
                while (place < end) {                                            \
                    int const middle = (place + end) / 2;                        \
                    if (numbers[table * SUMS + middle] < (j))                    \
                        place = middle + 1;                                      \
                    else                                                         \
                        end = middle;                                            \
                }                                                                \
            } else {                                                             \
                while (place < end && numbers[table * SUMS + place] != (j)) ++place; \
            }                                                                    \
            if (place < count && numbers[table * SUMS + place] == (j)) to = place; \
        }                                                                        \
    } while (0)
#endif

KERNEL_AT_ONCE(ITEMS, (PARTS > 1 ? 3 : 12))
sparse_at_places(PLACES, index cols, BUFFER(A_INDEX const, a_begins), BUFFER(A_INDEX const, a_columns),
                               BUFFER(IN const, a_values), int a_conjugated, BUFFER(B_INDEX const, b_begins),
                               BUFFER(B_INDEX const, b_columns), BUFFER(IN const, b_values), int b_conjugated,
                               BUFFER(byte const, a_long), BUFFER(byte const, b_rising), int stripes, scalar alpha,
                               scalar beta, int adds, index row0, index col0 EPILOGUE_STATE) {
    SHARED scalar sums[TEAMS * SUMS];
    SHARED scalar some_of_a[TEAMS * BATCH];
    SHARED ulong starts[TEAMS * BATCH];
    SHARED int lengths[TEAMS * BATCH];
#if !DENSE
    SHARED COLUMN numbers[TABLES * SUMS];
    SHARED int heads[TABLES * (BUCKETS + 1)];
    SHARED int falls[TABLES];
#endif
#if PARTS > 1
    SHARED byte found[ITEMS];
    SHARED int any_found;
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
    int const team = ITEM / TEAM, lane = ITEM % TEAM;
#if PARTS > 1
    /* Rows in turn, so that long rows side by side go to different groups; and stripes of each row. */
    int const table = 0, member = ITEM, stripe = GROUP % stripes;
    index const apart = GROUPS / stripes;
    for (index top = GROUP / stripes; top < rows; top += apart * ITEMS) {
        index const mine = top + ITEM * apart;
        int const is_long = mine < rows ? a_long[mine] : 0;
        ANY(any_found, is_long);
        found[ITEM] = (byte)is_long;
        int const some_found = any_found;
        BARRIER();
        for (int next = 0; next < (some_found ? ITEMS : 0); ++next) {
            if (!found[next]) continue;
            index const i = top + next * apart;
            int const here = 1;
#else
    int const table = team, member = lane, stripe = 0;
    for (index top = (index)GROUP * TEAMS; top < rows; top += (index)GROUPS * TEAMS) {
        {
            index const i = top + team;
            int const here = i < rows && !a_long[i];
#endif
            index const c_begin = here ? (index)begins[i] : 0, c_end = here ? min((index)begins[i + 1], most) : 0,
                        a_begin = here ? (index)a_begins[i] : 0, a_end = here ? (index)a_begins[i + 1] : 0;
            index const windows = c_begin >= c_end ? 0 : ((DENSE ? cols : c_end - c_begin) - 1) / SUMS + 1;
            for (index window = stripe;; window += stripes) {
                int more = window < windows;
                if (ALONE) ANY_TEAM(more, more);
                if (!more) break;
                /* The columns of this window, [low, high], and how many of them there are. */
                UNIT_BARRIER();
#if DENSE
                int const own = window < windows, count = own ? (int)min(cols - window * SUMS, (index)SUMS) : 0;
                COLUMN const low = (COLUMN)(window * SUMS), high = low + count - 1;
                int const narrows = windows > 1;
#else
                index const first = c_begin + window * SUMS;
                int const count = window < windows ? (int)min(c_end - first, (index)SUMS) : 0;
                if (member == 0) falls[table] = 0;
                UNIT_BARRIER();
                for (int p = member; p < count; p += UNIT) {
                    INDEX const number = columns[first + p];
                    numbers[table * SUMS + p] = (COLUMN)number;
                    if (p > 0 && columns[first + p - 1] >= number) falls[table] = 1;
                }
#endif
                for (int p = lane; p < count; p += TEAM) sums[team * SUMS + p] = ZERO;
                UNIT_BARRIER();
#if !DENSE
                int const rises = !falls[table], narrows = windows > 1 && rises;
                COLUMN const low = rises && count > 0 ? numbers[table * SUMS] : 0,
                             high = rises && count > 0 ? numbers[table * SUMS + count - 1] : (COLUMN)(cols - 1);
                int shift = 0;
                while ((high - low) >> shift >= BUCKETS) ++shift;
                for (int p = member; p <= count && rises && count > 0; p += UNIT) {
                    int const last = p < count ? BUCKET_OF(numbers[table * SUMS + p]) : BUCKETS;
                    for (int b = p > 0 ? BUCKET_OF(numbers[table * SUMS + p - 1]) + 1 : 0; b <= last; ++b)
                        heads[table * (BUCKETS + 1) + b] = p;
                }
                UNIT_BARRIER();
#endif
                for (index e = a_begin + (ALONE ? 0 : team * BATCH);; e += (index)(ALONE ? 1 : TEAMS) * BATCH) {
                    ANY_TEAM(more, (count > 0 && e < a_end));
                    if (!more) break;
                    int const some = count > 0 && e < a_end ? (int)min(a_end - e, (index)BATCH) : 0;
                    for (int w = lane; w < some; w += TEAM) {
                        index const k = (index)a_columns[e + w];
                        index begin = (index)b_begins[k], end = (index)b_begins[k + 1];
                        int const in_order = b_rising[k];
                        scalar const element = LOAD(IN, a_values, e + w);
                        if (narrows && in_order && end - begin > TEAM) {
                            begin = first_from(b_columns, begin, end, (index)low);
                            end = first_from(b_columns, begin, end, (index)high + 1);
                        }
                        some_of_a[team * BATCH + w] = conjugate_if(a_conjugated, element);
                        starts[team * BATCH + w] = (ulong)begin;
                        lengths[team * BATCH + w] = in_order ? (int)(end - begin) : (int)(begin - end);
                    }
                    TEAM_BARRIER();
                    int w = 0, x = 0;
                    for (more = 1; more;) {
                        COLUMN column[TOGETHER];
                        scalar left[TOGETHER], right[TOGETHER];
                        int to[TOGETHER];
                        for (int u = 0; u < TOGETHER; ++u) {
                            to[u] = 0;
                            if (w < some) {
                                int const length = lengths[team * BATCH + w], falling = length < 0;
                                int const all = falling ? -length : length, at = falling ? x : x + lane;
                                if (falling ? lane == 0 : at < all) {
                                    index const from = (index)starts[team * BATCH + w] + at;
                                    scalar const number = LOAD(IN, b_values, from);
                                    column[u] = (COLUMN)b_columns[from], left[u] = some_of_a[team * BATCH + w];
                                    right[u] = number;
                                    to[u] = 1;
                                }
                                x += falling ? 1 : TEAM;
                                if (x >= all) ++w, x = 0;
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
                UNIT_BARRIER();
#if DENSE
                for (index at = c_begin + member; at < c_end && own; at += UNIT) {
                    COLUMN const number = (COLUMN)columns[at];
                    if (number < low || number > high) continue;
                    int const p = (int)(number - low);
#else
                for (int p = member; p < count; p += UNIT) {
                    index const at = first + p;
#endif
                    scalar sum = sums[table * SUMS + p];
                    for (int part = 1; part < PARTS; ++part) sum = sum + sums[part * SUMS + p];
                    FINISH_PLACE(at, i, scale_by(alpha, sum));
                }
            }
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

template <class Index>
constexpr char const* index_name() {
    return sizeof(Index) == 8 ? "index\n" : "int\n";
}
template <class In, class Out, class C, class A, class B>
std::string sampled_types() {
    return kernel_types<In, Out>() + "#define INDEX " + index_name<C>() + "#define A_INDEX " +
           index_name<A>() + "#define B_INDEX " + index_name<B>();
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
        // A few places read less than a copy does.
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
    int items = 64, team = 32, parts = 1, sums = 128;
    bool dense = false;

    std::string definitions(bool wide) const {
        auto const define = [](char const* name, int value) {
            return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
        };
        return define("SPARSE", 1) + define("TEAM", team) + define("PARTS", parts) + define("SUMS", sums) +
               define("DENSE", dense) + "#define COLUMN " + (wide ? "index\n" : "int\n");
    }
};
// For rows of B and C with so many elements on average; `size`: bytes of a sum. A group takes at most 32 KiB of shared
// memory. Small teams waste fewer work-items on the ends of rows of B, and large ones have room for more sums.
inline sparse_work choose_sparse(double of_b, double of_c, index_t cols, std::size_t size) {
    sparse_work x;
    x.dense = static_cast<double>(cols) <= 8 * of_c || cols <= 128;
    auto const bytes = static_cast<int>(size);
    auto const room = [&] { return (x.dense ? 16384 / bytes : 26624 / (bytes + 6)) / (x.items / x.team); };
    double const wanted = x.dense ? static_cast<double>(cols) : 1.1 * of_c + 16;
    for (x.team = 8; x.team < (x.dense ? 64 : 32); x.team *= 2)
        if (8 * x.team >= of_b &&
            (room() >= wanted || (x.dense && 4 * room() >= wanted && 2 * x.team > of_b)))
            break;
    int const most = room() / 64 * 64;
    x.sums = wanted > most ? most : (static_cast<int>(wanted) + 127) / 128 * 128;
    if (x.sums > most) x.sums = most;
    return x;
}
// For the rows that take much longer than the others.
inline sparse_work choose_long_rows(sparse_work const& usual, std::size_t size) {
    sparse_work x;
    x.dense = usual.dense, x.items = 256, x.team = 16, x.parts = x.items / x.team;
    x.sums = static_cast<int>(20480 / size) / x.parts;
    return x;
}

// Bytes of workspace for which rows of A are long, and in which rows of B the columns rise.
template <class Arena>
std::size_t bytes_for_rows(index_t k, index_t m) {
    return Arena::rounded(static_cast<std::size_t>(k)) + Arena::rounded(static_cast<std::size_t>(m));
}
// C = epilogue(alpha A B + beta C) at the places of C; A and B are csr matrices.
template <class Leaf, class Q, class Arena>
status multiply_sparse_at_places(Leaf const& leaf, Q const& p, Arena& memory) {
    using A = typename Q::a_operand::index_type;
    using B = typename Q::b_operand::index_type;
    constexpr std::size_t size = sizeof(typename Q::scalar);
    typename Arena::scope const scope(memory);
    auto const& a = p.a;
    auto const& b = p.b;
    auto const& c = p.c;
    if (c.rows == 0 || c.nonzeros == 0) return {};
    auto const average = [](auto const& x) {
        return x.rows > 0 ? static_cast<double>(x.nonzeros) / static_cast<double>(x.rows) : 0;
    };
    double const of_a = average(a), of_b = average(b), usual = of_a * of_b;
    auto const limit = static_cast<index_t>(usual < 1024 ? 4096 : 4 * usual);
    auto const a_long = memory.template take<std::int8_t>(c.rows),
               b_rising = memory.template take<std::int8_t>(b.rows);
    int const lanes = of_a < 16 && of_b < 16 ? 8 : 32;
    device_kernel const examine{"examine_rows", rows_text,
                                std::string("#define A_INDEX ") + index_name<A>() + "#define B_INDEX " +
                                    index_name<B>() + "#define LANES " + std::to_string(lanes) + '\n'};
    if (status s = leaf.launch(examine, groups_for_each((a.rows + b.rows) * lanes, 256), a.row_begins,
                               a.columns, b.row_begins, b.columns, a_long, b_rising, a.rows, b.rows, limit);
        !s)
        return s;
    return with_epilogue(leaf, p, [&](auto const& kernel, auto const& last) {
        auto const launch = [&](sparse_work const& work, index_t groups, int stripes) {
            return leaf.launch(
                kernel("sparse_at_places", work.definitions(!can_count<std::int32_t>(c.cols)), work.items),
                groups, c.row_begins, c.columns, c.values, c.rows, c.nonzeros, c.cols, a.row_begins,
                a.columns, a.values, int{a.conjugate}, b.row_begins, b.columns, b.values, int{b.conjugate},
                a_long, b_rising, stripes, p.alpha, p.beta, int{p.beta != typename Q::scalar(0)}, p.row0,
                p.col0, last);
        };
        sparse_work const work = choose_sparse(of_b, average(c), c.cols, size);
        constexpr int stripes = 16;
        if (status s = launch(choose_long_rows(work, size), lesser(c.rows, 128) * stripes, stripes); !s)
            return s;
        return launch(work, groups_for_each(c.rows * work.team, work.items), 1);
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
