// Dense times dense at the places of a sparse C, on a device: the kernel, and how it divides the work of a product.
//
// LANES work-items compute one place: they read a row of X and a column of Y in turns, and then add up their sums. A
// group computes places that lie side by side in memory, whichever rows they are in, so that rows may be long or empty.
//
// Each place reads k elements of Y, of which the device has to fetch as many bytes only if the columns of Y lie along
// memory. Otherwise each element is a transaction of 32 bytes by itself. So the product first copies an operand whose k
// elements are not side by side, as long as the copies take no more than an eighth of the device's memory.
//
// The sides, the layouts and the number of places determine the order in which the products of a place are added, so
// the result is the same from run to run.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "../csr/arrays.hpp"

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

/* The row of element `at`, if it is `row` or a later one: begins[row] <= at < begins[row + 1]. */
FUNCTION index row_of(GLOBAL INDEX const *begins, index rows, index at, index row) {
    index step = 1;
    while (row + step < rows && (index)begins[row + step] <= at) row += step, step *= 2;
    index high = min(row + step, rows);
    while (high - row > 1) {
        index const middle = (row + high) / 2;
        if ((index)begins[middle] <= at)
            row = middle;
        else
            high = middle;
    }
    return row;
}

#define PLACES BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(OUT, values), index rows
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
    index const begin = GROUP * span, end = min(begin + span, (index)begins[rows]), lane = ITEM % LANES;
    index row = 0;
    for (index first = begin; first < end; first += UNITS) {
        index const at = first + ITEM / LANES;
        scalar sum = ZERO;
        if (at < end) {
            row = row_of(begins, rows, at, row);
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

/* What is left of a product where k or alpha is zero. */
KERNEL(ITEMS) keep_places(PLACES, scalar beta, int adds, index row0, index col0 EPILOGUE_STATE) {
    OPEN_PLACES;
    for (EACH(at, (index)begins[rows])) {
        index const row = row_of(begins, rows, at, 0);
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
        return "#define WIDE " + std::to_string(wide) + "\n#define LANES " + std::to_string(lanes) +
               "\n#define VECTORS " + (vectors ? "1\n" : "0\n");
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

template <class In, class Out, class Index>
std::string sampled_types() {
    return kernel_types<In, Out>() + "#define INDEX " + (sizeof(Index) == 8 ? "index\n" : "int\n");
}

template <class In, class Out, class Index>
device_kernel sampled_kernel(char const* name, static_text text, std::string definitions, int items) {
    return {name,
            text,
            std::move(definitions),
            items,
            uses_double<In, Out>,
            false,
            sampled_types<In, Out, Index>};
}
// launch(kernel, epilogue), where kernel(name, text, definitions, items) is for the element types of a problem.
template <class Leaf, class Q, class Launch>
status with_epilogue(Leaf const&, Q const& p, Launch&& launch) {
    using C = typename Q::c_operand;
    typename Leaf::template epilogue<typename Q::scalar> const last(p.epilogue);
    return launch(
        [&](char const* name, static_text text, std::string const& definitions, int items) {
            return sampled_kernel<typename Q::a_type, typename Q::c_type, typename C::index_type>(
                name, text, definitions + last.definitions(), items);
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
// `x` with its rows along memory: itself, or a copy.
template <class Leaf, class T, class Space, class Arena>
result<view<T const, Space>> laid_along(Leaf const& leaf, view<T const, Space> x, Arena& memory) {
    view<T, Space> const copy{memory.template take<T>(x.rows * x.cols), x.rows, x.cols, x.cols, 1};
    view<T const, Space> to = copy;
    to.conjugate = std::exchange(x.conjugate, false);
    if (status s = leaf.copy(x, copy); !s) return s;
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
        return leaf.launch(kernel("dense_at_places", sampled_text, work.definitions(), work.items), groups,
                           c.row_begins, c.columns, c.values, c.rows, x, int{x.conjugate}, y.transposed(),
                           int{y.conjugate}, x.cols, work.span, p.alpha, p.beta,
                           int{p.beta != typename Q::scalar(0)}, p.row0, p.col0, last);
    });
}
// C = epilogue(beta C) at the places of C.
template <class Leaf, class Q>
status keep_places(Leaf const& leaf, Q const& p) {
    sampled_work const work;
    auto const& c = p.c;
    return with_epilogue(leaf, p, [&](auto const& kernel, auto const& last) {
        return leaf.launch(kernel("keep_places", sampled_text, work.definitions(), work.items),
                           groups_for_each(c.nonzeros, work.items), c.row_begins, c.columns, c.values, c.rows,
                           p.beta, int{p.beta != typename Q::scalar(0)}, p.row0, p.col0, last);
    });
}

STRATAGEMM_END
