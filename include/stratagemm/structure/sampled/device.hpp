// Products at the places of a sparse C, on a device: the kernels, and how they divide the work.
//
// Of dense matrices X and Y, LANES work-items compute one place: they read a row of X and a column of Y in turns, and
// then add up their sums. A group computes places that lie side by side in memory, whether in one row of C or in
// several: rows may be long or empty. Each place reads k elements of Y. If they are not side by side in memory, each
// of them is a transaction of 32 bytes. So the product first copies an operand that does not lie along k, as long as
// the copies take no more than an eighth of the device's memory.
//
// Of sparse matrices, a group computes a row of C: it takes the elements of the row of A one after another, and adds
// their products with a row of B to sums in shared memory.
//
// The sides, the layouts and the numbers of elements determine the order in which the products of a place are added,
// so the result is the same from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../csr/transpose.hpp"

STRATAGEMM_BEGIN

// Whether the columns of each row rise.
inline constexpr char rising_text[] = R"(
KERNEL(ITEMS) find_rising(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(byte, rising),
                          index rows) {
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(byte, rising);
    for (EACH(i, rows)) {
        index at = (index)begins[i] + 1;
        while (at < (index)begins[i + 1] && columns[at - 1] < columns[at]) ++at;
        rising[i] = at >= (index)begins[i + 1] ? 1 : 0;
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

/* Where column j is between `at` and `end`, if it is, and else `end`. */
FUNCTION index place_of(GLOBAL INDEX const *columns, index at, index end, int rises, index j) {
    index last = end;
    if (!rises) {
        while (at < end && (index)columns[at] != j) ++at;
        return at;
    }
    while (at < last) {
        index const middle = (at + last) / 2;
        if ((index)columns[middle] < j)
            at = middle + 1;
        else
            last = middle;
    }
    return at < end && (index)columns[at] == j ? at : end;
}

#define ADD_PRODUCT(left, x)                                                                   \
    do {                                                                                       \
        index const to = place_of(columns, first, last, c_rising[i], (index)b_columns[x]);     \
        if (to < last) {                                                                       \
            scalar const number = LOAD(IN, b_values, x), right = conjugate_if(b_conjugated, number); \
            sums[(int)(to - first)] = multiply_add(left, right, sums[(int)(to - first)]);      \
        }                                                                                      \
    } while (0)

/* A group computes a row, SUMS places at a time. It reads ITEMS elements of A at once, and where their rows of B are.
   Where the columns of a row of B rise, no two of them have the same place, and the work-items share them; otherwise
   one work-item adds them all, and the length is negative. */
KERNEL(ITEMS) sparse_at_places(PLACES, BUFFER(byte const, c_rising), BUFFER(A_INDEX const, a_begins),
                               BUFFER(A_INDEX const, a_columns), BUFFER(IN const, a_values), int a_conjugated,
                               BUFFER(B_INDEX const, b_begins), BUFFER(B_INDEX const, b_columns),
                               BUFFER(IN const, b_values), int b_conjugated, BUFFER(byte const, b_rising),
                               scalar alpha, scalar beta, int adds, index row0, index col0 EPILOGUE_STATE) {
    SHARED scalar sums[SUMS];
    SHARED scalar some_of_a[ITEMS];
    SHARED ulong starts[ITEMS];
    SHARED int lengths[ITEMS];
    OPEN_PLACES;
    OPEN(byte const, c_rising);
    OPEN(A_INDEX const, a_begins);
    OPEN(A_INDEX const, a_columns);
    OPEN(IN const, a_values);
    OPEN(B_INDEX const, b_begins);
    OPEN(B_INDEX const, b_columns);
    OPEN(IN const, b_values);
    OPEN(byte const, b_rising);
    for (index i = GROUP; i < rows; i += GROUPS)
        for (index first = (index)begins[i]; first < (index)begins[i + 1]; first += SUMS) {
            index const last = min(min(first + SUMS, most), (index)begins[i + 1]);
            for (int s = ITEM; s < (int)(last - first); s += ITEMS) sums[s] = ZERO;
            for (index e = (index)a_begins[i]; e < (index)a_begins[i + 1]; e += ITEMS) {
                int const count = (int)min((index)a_begins[i + 1] - e, (index)ITEMS);
                if (ITEM < count) {
                    index const k = (index)a_columns[e + ITEM], begin = (index)b_begins[k];
                    int const length = (int)((index)b_begins[k + 1] - begin);
                    scalar const element = LOAD(IN, a_values, e + ITEM);
                    some_of_a[ITEM] = conjugate_if(a_conjugated, element);
                    starts[ITEM] = (ulong)begin;
                    lengths[ITEM] = b_rising[k] ? length : -length;
                }
                BARRIER();
                for (int w = 0; w < count; ++w) {
                    scalar const left = some_of_a[w];
                    index const begin = (index)starts[w];
                    int const length = lengths[w];
                    for (int x = ITEM; x < length; x += ITEMS) ADD_PRODUCT(left, begin + x);
                    if (ITEM == 0)
                        for (int x = 0; x < -length; ++x) ADD_PRODUCT(left, begin + x);
                    BARRIER();
                }
            }
            for (index at = first + ITEM; at < last; at += ITEMS) {
                scalar const sum = sums[(int)(at - first)];
                FINISH_PLACE(at, i, scale_by(alpha, sum));
            }
            BARRIER();
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
// Bytes of workspace for which rows of B and C have columns that rise.
template <class Arena>
std::size_t bytes_for_rising(index_t k, index_t m) {
    return Arena::rounded(static_cast<std::size_t>(k)) + Arena::rounded(static_cast<std::size_t>(m));
}
// C = epilogue(alpha A B + beta C) at the places of C; A and B are csr matrices.
template <class Leaf, class Q, class Arena>
status multiply_sparse_at_places(Leaf const& leaf, Q const& p, Arena& memory) {
    using In = typename Q::a_type;
    typename Arena::scope const scope(memory);
    auto const& a = p.a;
    auto const& b = p.b;
    auto const& c = p.c;
    auto const find_rising = [&](auto const& x, auto const rising) {
        using Index = typename std::remove_cvref_t<decltype(x)>::index_type;
        return leaf.launch(list_kernel<In, Index>("find_rising", rising_text, ""),
                           groups_for_each(x.rows, 256), x.row_begins, x.columns, rising, x.rows);
    };
    auto const b_rising = memory.template take<std::int8_t>(b.rows),
               c_rising = memory.template take<std::int8_t>(c.rows);
    if (status s = find_rising(b, b_rising); !s) return s;
    if (status s = find_rising(c, c_rising); !s) return s;
    // Work-items beyond the length of a row of B have nothing to do.
    bool const long_rows = b.rows > 0 && b.nonzeros / b.rows >= 48;
    return with_epilogue(leaf, p, [&](auto const& kernel, auto const& last) {
        return leaf.launch(
            kernel("sparse_at_places",
                   std::string("#define SPARSE 1\n#define SUMS ") + (long_rows ? "1024\n" : "512\n"),
                   long_rows ? 128 : 32),
            lesser(c.rows, index_t{1} << 20), c.row_begins, c.columns, c.values, c.rows, c.nonzeros, c_rising,
            a.row_begins, a.columns, a.values, int{a.conjugate}, b.row_begins, b.columns, b.values,
            int{b.conjugate}, b_rising, p.alpha, p.beta, int{p.beta != typename Q::scalar(0)}, p.row0, p.col0,
            last);
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
