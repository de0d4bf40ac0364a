// Direct products of a Toeplitz matrix and few vectors on a device.
//
// A work-item adds up 8 consecutive elements of C, for 8 columns of A at a time: 64 multiply-adds with 15 diagonals, of
// which 7 are still in registers from the columns before. So it reads 16 numbers from shared memory, 8 diagonals and 8
// elements of the vector: a quarter of a number for a multiply-add, where a work-item for each element of C reads two.
// A group has 64 elements of C, and its work-items share the columns in 32 slices, whose sums are added in the order of
// the slices. A long vector is divided among groups; a second launch adds their sums, in order.
//
// Each element of C is a sum of the products of its row and no others, so that a NaN stays where the matrix has it.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../../core/layer.hpp"
#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "operand.hpp"

STRATAGEMM_BEGIN

// LAST: sums become elements of C; else they go to workspace. Element `pos` of what a group has of the diagonals is in
// place PLACE_OF(pos): four more numbers behind 32, so that work-items whose elements are 8 apart meet in no bank.
inline constexpr char toeplitz_vectors_text[] = R"(
#define ROWS 64
#define SLICES (ITEMS / 8)
#define STAGE (8192 / (int)sizeof(REAL))
#define SLICE (STAGE / SLICES)
#define DIAGONALS (ROWS + STAGE)
#define FETCHED ((DIAGONALS + ITEMS - 1) / ITEMS)
#define PADDED(q) ((q) + ((q) >> 3))
#define PLACE_OF(pos) (PADDED((pos) / 4) * 4 + (pos) % 4)
#define ENDS_PARAMETERS                                                                           \
    BUFFER(OUT const, e), index e_point, index e_side, index e_batch, scalar alpha, scalar beta,  \
        int adds, BUFFER(OUT, c), index c_point, index c_side, index c_batch, int cols,           \
        index row0, index col0, int turned
#define STORE_ENDED(sum, i, column)                                                               \
    do {                                                                                          \
        index const batch = (column) / cols, j = (column) - batch * cols;                         \
        scalar finished = alpha * (sum);                                                          \
        if (adds) finished = fma(beta, LOAD(OUT, e, batch * e_batch + (i) * e_point + j * e_side), finished); \
        finished = epilogue(finished, row0 + (turned ? j : (i)), col0 + (turned ? (i) : j) EPILOGUE_NAMES);   \
        STORE(OUT, c, batch * c_batch + (i) * c_point + j * c_side, finished);                    \
    } while (0)

/* A diagonal by its place in the two runs; zeros lie around them. */
FUNCTION REAL diagonal_at(GLOBAL IN const *a, index a_step, index a_count, GLOBAL IN const *b, index b_step,
                          index b_count, index at) {
    if (at < 0) return 0;
    if (at < a_count) return LOAD(IN, a, at * a_step);
    at -= a_count;
    return at < b_count ? LOAD(IN, b, at * b_step) : 0;
}
#define GET_EIGHT(to, from, place, behind)                                      \
    do {                                                                        \
        VECTOR(REAL, 4) const low = from[(place) + (behind)], high = from[(place) + ((behind) + 1)]; \
        to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;             \
        to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;         \
    } while (0)
/* Columns from 8 l of the slice on. */
#define NEXT_EIGHT(l, place)                                                    \
    _Pragma("unroll") for (int t = 0; t < 8; ++t) before[t] = now[t];           \
    GET_EIGHT(now, diagonals, place, 0);                                        \
    GET_EIGHT(factor, vector, slice * (SLICE / 4), (l) * 2)
/* What a work-item brings for the columns from `from` on: without checks where all lies in one run. */
#define FETCH_RUN(run, step, at)                                                \
    do {                                                                        \
        GLOBAL IN const *const own_run = run + ((at) + ITEM) * step;            \
        _Pragma("unroll") for (int s = 0; s < FETCHED; ++s)                     \
            if (s * ITEMS + ITEM < DIAGONALS) next[s] = LOAD(IN, own_run, s * (ITEMS * step)); \
    } while (0)
#define FETCH(from)                                                             \
    do {                                                                        \
        index const at = lowest + (from);                                       \
        if (at >= 0 && at + DIAGONALS <= a_count) {                             \
            FETCH_RUN(a, a_step, at);                                           \
        } else if (at >= a_count && at + DIAGONALS <= a_count + b_count) {      \
            FETCH_RUN(b, b_step, at - a_count);                                 \
        } else {                                                                \
            _Pragma("unroll") for (int s = 0; s < FETCHED; ++s)                 \
                next[s] = diagonal_at(a, a_step, a_count, b, b_step, b_count, at + (s * ITEMS + ITEM)); \
        }                                                                       \
        GLOBAL IN const *const own_x = x + ((from) + ITEM) * x_point;           \
        if ((from) + STAGE <= end) {                                            \
            _Pragma("unroll") for (int s = 0; s < STAGE / ITEMS; ++s)           \
                next_x[s] = LOAD(IN, own_x, s * (ITEMS * x_point));             \
        } else {                                                                \
            _Pragma("unroll") for (int s = 0; s < STAGE / ITEMS; ++s)           \
                next_x[s] = (from) + (s * ITEMS + ITEM) < end ? LOAD(IN, own_x, s * (ITEMS * x_point)) : 0; \
        }                                                                       \
    } while (0)
/* Column t of eight: row r has diagonal t - r. */
#define ADD_COLUMN(t)                                                           \
    _Pragma("unroll") for (int r = 0; r < 8; ++r)                               \
        sum[r] = fma(factor[t], t < r ? before[(8 + t - r) & 7] : now[(t - r) & 7], sum[r])

KERNEL(ITEMS) toeplitz_vectors(BUFFER(IN const, a), index a_step, index a_count, BUFFER(IN const, b), index b_step,
                               index b_count, index zeros, int is_hankel, BUFFER(IN const, x), index x_point,
                               index x_side, index x_batch, index rows, index depth, int splits, index length,
                               int tiles, ENDS_PARAMETERS EPILOGUE_STATE) {
    SHARED VECTOR(REAL, 4) diagonals[PADDED(DIAGONALS / 4)];
    SHARED VECTOR(REAL, 4) vector[STAGE / 4];
    SHARED REAL of_slices[SLICES * ROWS];
    OPEN(IN const, a);
    OPEN(IN const, b);
    OPEN(IN const, x);
    OPEN(OUT, c);
    int const tile = GROUP % tiles, slice = ITEM / 8, first_row = ITEM % 8 * 8;
    int const split = GROUP / tiles % splits, column = GROUP / tiles / splits;
    index const begin = split * length;
    index const end = min(begin + length, depth), lowest = rows - 1 - ROWS - (index)tile * ROWS - zeros;
    x += (index)(column / cols) * x_batch + (index)(column % cols) * x_side;
    REAL next[FETCHED], next_x[STAGE / ITEMS], sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int const place = (ROWS - first_row + slice * SLICE) / 4, first_place = PADDED(place - 2);
    /* Places of every 8 columns; those 32 columns on are 9 on. */
    int const places[4] = {PADDED(place), PADDED(place + 2), PADDED(place + 4), PADDED(place + 6)};
    REAL before[8], now[8], factor[8];
    FETCH(begin);
    for (index k = begin; k < end; k += STAGE) {
        _Pragma("unroll") for (int s = 0; s < FETCHED; ++s) {
            int const pos = s * ITEMS + ITEM;
            if (pos < DIAGONALS) SHARED_AS(REAL, diagonals)[PLACE_OF(pos)] = next[s];
        }
        _Pragma("unroll") for (int s = 0; s < STAGE / ITEMS; ++s)
            SHARED_AS(REAL, vector)[s * ITEMS + ITEM] = next_x[s];
        BARRIER();
        if (k + STAGE < end) FETCH(k + STAGE);
        index const left = end - k - slice * SLICE;
        GET_EIGHT(now, diagonals, first_place, 0);
        if (left >= SLICE) {
            _Pragma("unroll") for (int l = 0; l < SLICE / 8; ++l) {
                NEXT_EIGHT(l, places[l % 4] + l / 4 * 9);
                _Pragma("unroll") for (int t = 0; t < 8; ++t) ADD_COLUMN(t);
            }
        } else {
            _Pragma("unroll 1") for (int l = 0; l < SLICE / 8 && 8 * l < left; ++l) {
                NEXT_EIGHT(l, PADDED(place + 2 * l));
                _Pragma("unroll") for (int t = 0; t < 8; ++t)
                    if (8 * l + t < left) ADD_COLUMN(t);
            }
        }
        BARRIER();
    }
    _Pragma("unroll") for (int r = 0; r < 8; ++r) of_slices[slice * ROWS + first_row + r] = sum[r];
    BARRIER();
    int const part = ITEM / ROWS, own_row = ITEM % ROWS;
    REAL all = 0;
    for (int s = part * (SLICES / 4); s < (part + 1) * (SLICES / 4); ++s) all += of_slices[s * ROWS + own_row];
    BARRIER();
    of_slices[ITEM] = all;
    BARRIER();
    index const row = (index)tile * ROWS + own_row;
    if (part > 0 || row >= rows) return;
    for (int s = 1; s < 4; ++s) all += of_slices[s * ROWS + own_row];
    index const i = is_hankel ? rows - 1 - row : row;
#if LAST
    OPEN(OUT const, e);
    STORE_ENDED(all, i, column);
#else
    STORE(OUT, c, ((index)split * (GROUPS / tiles / splits) + column) * rows + i, all);
#endif
}

KERNEL(ITEMS) toeplitz_sums(BUFFER(IN const, sums), index rows, index columns, index splits,
                            ENDS_PARAMETERS EPILOGUE_STATE) {
    OPEN(IN const, sums);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    for (EACH(at, rows * columns)) {
        REAL all = 0;
        for (index s = 0; s < splits; ++s) all += LOAD(IN, sums, s * rows * columns + at);
        index const column = at / rows, i = at - column * rows;
        STORE_ENDED(all, i, column);
    }
}
)";

// How m x k times so many vectors is divided.
struct toeplitz_vectors {
    static constexpr index_t tile = 64, longest = 16384;
    index_t m, k, columns, splits, length;

    toeplitz_vectors(index_t rows, index_t depth, index_t all)
        : m(rows), k(depth), columns(all), splits(larger_of(1, divide_up(depth, longest))),
          length(divide_up(divide_up(depth, splits), 8) * 8) {}
    index_t tiles() const { return divide_up(m, tile); }
    index_t groups() const { return tiles() * splits * columns; }
    index_t sums() const { return splits > 1 ? m * splits * columns : 0; } // in workspace
    // The most products that are added one after another, with what is added to their sum.
    index_t chain(int size) const {
        index_t const stage = 8192 / size, most = divide_up(length, stage) * (stage / 32);
        return smaller(k, most + 8 + 4 + splits);
    }
    // Multiply-adds are what takes time: 8 of float for a byte that memory moves, on any device.
    double seconds(int size, device_limits const& limits) const {
        double const all = static_cast<double>(tiles() * tile) * static_cast<double>(columns) *
                           static_cast<double>(k) * size / 4,
                     launches = splits > 1 ? 2 : 1;
        return all / (8 * limits.bandwidth) + launches * 3e-6;
    }
};

inline std::string toeplitz_vectors_written(text_numbers const& numbers, text_tables*) {
    return "#define LAST " + std::to_string(numbers.at[0]) + '\n' + toeplitz_vectors_text;
}
template <class T>
device_kernel toeplitz_vectors_kernel(char const* name, bool last) {
    device_kernel kernel{name, "", {}, 256, sizeof(T) == 8, true, kernel_types<T, T>};
    kernel.write = toeplitz_vectors_written;
    kernel.numbers.at[0] = last;
    return kernel;
}

// p: a Toeplitz matrix, whose runs have no factor, times views of T. `turned`: the caller's product is the transposed
// one.
template <class Leaf, class Q, class Arena>
status multiply_vectors(Leaf const& leaf, Q const& p, bool turned, Arena& memory) {
    using T = typename Q::c_type;
    using handle = typename Q::space::template handle<T>;
    typename Arena::scope const scope(memory);
    toeplitz_vectors const by(p.a.rows, p.a.cols, p.c.cols * p.count);
    bool const adds = p.beta != T(0), last = by.splits == 1;
    auto const &first = p.a.runs[0], &second = p.a.runs[p.a.runs[1].count > 0 ? 1 : 0];
    view<T const, typename Q::space> e = p.c;
    if (adds) e = p.e;
    auto const tiles = static_cast<int>(by.tiles());
    handle const sums = last ? p.c.data : memory.template take<T>(by.sums());
    T const alpha = p.alpha * p.a.scale;
    return or_no_memory([&] {
        typename Leaf::template epilogue<T> const ends(p.epilogue);
        auto kernel = toeplitz_vectors_kernel<T>("toeplitz_vectors", last);
        kernel.definitions = ends.definitions();
        status s = leaf.launch(
            kernel, by.groups(), first.first.data, first.stride, first.count, second.first.data,
            second.stride, p.a.runs[1].count, p.a.zeros[0], int{p.a.is_hankel}, p.b.data, p.b.row_stride,
            p.b.col_stride, p.b_step, by.m, by.k, static_cast<int>(by.splits), by.length, tiles, e.data,
            e.row_stride, e.col_stride, p.e_step, alpha, p.beta, int{adds}, sums, p.c.row_stride,
            p.c.col_stride, p.c_step, static_cast<int>(p.c.cols), p.row0, p.col0, int{turned}, ends);
        if (!s || last) return s;
        kernel.name = "toeplitz_sums";
        return leaf.launch(kernel, groups_for_each(by.m * by.columns, 256),
                           typename Q::space::template handle<T const>(sums), by.m, by.columns, by.splits,
                           e.data, e.row_stride, e.col_stride, p.e_step, alpha, p.beta, int{adds}, p.c.data,
                           p.c.row_stride, p.c.col_stride, p.c_step, static_cast<int>(p.c.cols), p.row0,
                           p.col0, int{turned}, ends);
    });
}

STRATAGEMM_END
