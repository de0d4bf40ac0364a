// Random numbers on a device, and signs of a sparse sketch: the steps of numbers.inl.hpp in the dialect.
#pragma once

#include "../../device/dialect.hpp"
#include "../csr/transpose.hpp"
#include "random.hpp"

STRATAGEMM_BEGIN

// A work-item draws a block, of four numbers or two complex ones of a column; or the signs of a column, four at a time;
// or a word of signs of points and a place of a sample.
inline constexpr char sketch_text[] = R"(
#define HIGH(a, b) ((uint)((ulong)(a) * (b) >> 32))

FUNCTION void draw(uint *c, uint key, uint second_key) {
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        uint const high_0 = HIGH(c[0], FIRST), low_0 = c[0] * FIRST;
        uint const high_1 = HIGH(c[2], SECOND), low_1 = c[2] * SECOND;
        c[0] = high_1 ^ c[1] ^ key;
        c[1] = low_1;
        c[2] = high_0 ^ c[3] ^ second_key;
        c[3] = low_0;
        key += FIRST_KEY;
        second_key += SECOND_KEY;
    }
}

/* Moves `a` up by `by` bits, and adds `weight` to `count`, if the highest bits are zero. */
#define MOVE_UP(a, by, count, weight) \
    if (a >> (32 - by) == 0) {        \
        a <<= by;                     \
        count += weight;              \
    }

FUNCTION void two_normals(uint radius, uint angle, int *to) {
    uint f = radius | 1, n = 0;
    MOVE_UP(f, 16, n, 16)
    MOVE_UP(f, 8, n, 8)
    MOVE_UP(f, 4, n, 4)
    MOVE_UP(f, 2, n, 2)
    MOVE_UP(f, 1, n, 1)
    bool const is_low = f < LEAST_ROOT;
    if (is_low) f += HIGH(f, ROOT_OF_TWO);
    uint const t = 0u - f, g = HIGH(LOGARITHM(t), t) + (is_low ? 1u << 30 : 0u);
    uint a = n == 0 ? g >> 1 : (n << 26) + (g >> 5), down = n == 0 ? 2 : 0;
    MOVE_UP(a, 16, down, 8)
    MOVE_UP(a, 8, down, 4)
    MOVE_UP(a, 4, down, 2)
    MOVE_UP(a, 2, down, 1)
    uint z = INVERSE_ROOT(a) << 2, k = 0xc0000000u - (HIGH(a, HIGH(z, z)) << 2);
    z = HIGH(z, k) << 2;
    k = 0xc0000000u - HIGH(a, HIGH(z, z));
    z = HIGH(z, k) << 1;
    uint const root = HIGH(a, z) << 1, from_x = angle << 2 | 2, from_y = 0u - from_x;
    uint const x_squared = HIGH(from_x, from_x), y_squared = HIGH(from_y, from_y);
    int const x = (int)(HIGH(root, HIGH(SINE(x_squared), from_x)) >> down);
    int const y = (int)(HIGH(root, HIGH(SINE(y_squared), from_y)) >> down);
    to[0] = angle >> 31 ? -x : x;
    to[1] = angle >> 30 & 1 ? -y : y;
}

#define WRITE_NORMAL(at, element)                               \
    do {                                                        \
        scalar const number = element;                          \
        STORE(IN, to, at, CONVERT(OUT_VALUE, (value)number));   \
    } while (0)
#define UNIT ((REAL)(1.0f / 268435456))

KERNEL(ITEMS) write_normals(BUFFER(IN, to), int key, int second_key, index row, index col, index rows, index cols,
                            index first, index blocks) {
    OPEN(IN, to);
    ELEMENT(b, j, blocks, cols);
    uint words[4];
    int numbers[4];
    words[0] = (uint)(first + b);
    words[1] = (uint)(col + j);
    words[2] = COMPLEX;
    words[3] = 0;
    draw(words, (uint)key, (uint)second_key);
    two_normals(words[0], words[1], numbers);
    two_normals(words[2], words[3], numbers + 2);
#if COMPLEX
#pragma unroll
    for (int u = 0; u < 2; ++u) {
        index const i = 2 * (first + b) + u - row;
        scalar z;
        z.x = (REAL)numbers[2 * u] * UNIT;
        z.y = (REAL)numbers[2 * u + 1] * UNIT;
        if (i >= 0 && i < rows) WRITE_NORMAL(i * cols + j, z);
    }
#else
#pragma unroll
    for (int u = 0; u < 4; ++u) {
        index const i = 4 * (first + b) + u - row;
        if (i >= 0 && i < rows) WRITE_NORMAL(i * cols + j, (REAL)numbers[u] * UNIT);
    }
#endif
}

FUNCTION uint mixed(uint x, uint key, uint second_key, uint mask) {
    uint h = (x ^ key) * SAMPLE_FACTOR;
    h ^= h >> 15;
    h *= second_key | 1;
    return (h ^ h >> 16) & mask;
}
/* The place of x in the permutation, or its place in the inverse. */
FUNCTION uint permuted(uint x, uint const *keys, int half_bits, uint points, bool is_inverse) {
    uint const mask = (1u << half_bits) - 1;
    do {
        uint low = x & mask, high = x >> half_bits;
#pragma unroll
        for (int i = 0; i < SAMPLE_ROUNDS; ++i) {
            int const r = 2 * (is_inverse ? SAMPLE_ROUNDS - 1 - i : i);
            uint const next = is_inverse ? low ^ mixed(high, keys[r], keys[r + 1], mask)
                                         : high ^ mixed(low, keys[r], keys[r + 1], mask);
            if (is_inverse) {
                low = high;
                high = next;
            } else {
                high = low;
                low = next;
            }
        }
        x = high << half_bits | low;
    } while (x >= points);
    return x;
}
KERNEL(ITEMS) write_sample(BUFFER(int, signs), BUFFER(int, places), int key, int second_key, int kind, int half_bits,
                           index words, index points, index first, index count, int by_point) {
    OPEN(int, signs);
    OPEN(int, places);
    uint drawn[4], keys[2 * SAMPLE_ROUNDS];
#pragma unroll
    for (int b = 0; b < 2 * SAMPLE_ROUNDS; b += 4) {
        keys[b] = (uint)(b / 4);
        keys[b + 1] = (uint)kind;
        keys[b + 2] = 3;
        keys[b + 3] = 0;
        draw(keys + b, (uint)key, (uint)second_key);
    }
    for (EACH(i, words)) {
        drawn[0] = (uint)(i / 4);
        drawn[1] = (uint)kind;
        drawn[2] = 4;
        drawn[3] = 0;
        draw(drawn, (uint)key, (uint)second_key);
        int const at = (int)(i & 3);
        signs[i] = (int)(at == 0 ? drawn[0] : at == 1 ? drawn[1] : at == 2 ? drawn[2] : drawn[3]);
    }
    if (by_point) {
        for (EACH(k, points)) {
            index const row = (index)permuted((uint)k, keys, half_bits, (uint)points, true) - first;
            places[k] = row >= 0 && row < count ? (int)row : -1;
        }
    } else {
        for (EACH(i, count)) places[i] = (int)permuted((uint)(first + i), keys, half_bits, (uint)points, false);
    }
}

#ifdef INDEX
#define SIGNS \
    int key, int second_key, index all_rows, index signs, index row, index rows, index col, index cols, int is_whole
/* Calls f(i, is_negative) for the signs of column j that are within the rows. */
#define EACH_SIGN(f, j)                                                                     \
    for (index t = 0; t < signs; t += 4) {                                                  \
        uint words[4];                                                                      \
        words[0] = (uint)(t / 4);                                                           \
        words[1] = (uint)(col + j);                                                         \
        words[2] = 2;                                                                       \
        words[3] = 0;                                                                       \
        draw(words, (uint)key, (uint)second_key);                                           \
        DRAWN(f, 0) DRAWN(f, 1) DRAWN(f, 2) DRAWN(f, 3)                                     \
    }
#define DRAWN(f, u)                                                                         \
    if (t + u < signs) {                                                                    \
        index const size = all_rows / signs + (t + u < all_rows % signs ? 1 : 0);           \
        index const i = all_rows / signs * (t + u) + min(t + u, all_rows % signs) +         \
                        (index)((ulong)(words[u] >> 1) * (ulong)size >> 31) - row;          \
        if (i >= 0 && i < rows) { f(i, words[u] & 1) }                                      \
    }
#define COUNT_SIGN(i, is_negative) ++count;
#define LIST_SIGN(i, is_negative)                                   \
    numbers[next] = (INDEX)i;                                       \
    REAL const sign = is_negative ? (REAL)-1.0f : (REAL)1.0f;       \
    LIST_VALUE                                                      \
    ++next;
#if COMPLEX
#define LIST_VALUE      \
    scalar element;     \
    element.x = sign;   \
    element.y = 0;      \
    STORE(IN, values, next, CONVERT(OUT_VALUE, (value)element));
#else
#define LIST_VALUE STORE(IN, values, next, CONVERT(OUT_VALUE, (value)sign));
#endif

KERNEL(ITEMS) count_signs(BUFFER(INDEX, begins), SIGNS) {
    OPEN(INDEX, begins);
    for (EACH(j, cols + 1)) {
        index count = is_whole ? j * signs : 0;
        if (!is_whole && j < cols) { EACH_SIGN(COUNT_SIGN, j) }
        begins[j] = (INDEX)count;
    }
}
KERNEL(ITEMS) list_signs(BUFFER(INDEX const, begins), BUFFER(INDEX, numbers), BUFFER(IN, values), SIGNS) {
    OPEN(INDEX const, begins);
    OPEN(INDEX, numbers);
    OPEN(IN, values);
    for (EACH(j, cols)) {
        index next = (index)begins[j];
        EACH_SIGN(LIST_SIGN, j)
    }
}
/* The same by rows, of all rows of a sketch: a group has OWN_ROWS rows of a part, and draws all signs of that part. A
   work-item has a run of columns, and so its place in each row, from what the work-items before it have there; number 0
   of what is counted are the rows before. Columns of the group's rows are drawn again to be listed: of a short run,
   those alone. */
#define OWN_ROWS 8
#define COUNTS(k, item) counts[(k) * (ITEMS + 1) + (item)]
#define DRAW_OF_PART(j)                                                                     \
    drawn[0] = (uint)(t / 4);                                                               \
    drawn[1] = (uint)(col + (j));                                                           \
    drawn[2] = 2;                                                                           \
    drawn[3] = 0;                                                                           \
    draw(drawn, (uint)key, (uint)second_key);                                               \
    int const at_word = (int)(t & 3);                                                       \
    uint const word = at_word == 0 ? drawn[0] : at_word == 1 ? drawn[1] : at_word == 2 ? drawn[2] : drawn[3]; \
    index const i = (index)((ulong)(word >> 1) * (ulong)size >> 31);                        \
    int const own = i < from ? 0 : i < to ? (int)(i - from) + 1 : -1
KERNEL(ITEMS) list_rows_of_signs(BUFFER(INDEX, begins), BUFFER(INDEX, numbers), BUFFER(IN, values), int key,
                                 int second_key, index all_rows, index signs, index col, index cols, index slices) {
    SHARED int counts[(OWN_ROWS + 1) * (ITEMS + 1)];
    SHARED int starts[OWN_ROWS + 1];
    OPEN(INDEX, begins);
    OPEN(INDEX, numbers);
    OPEN(IN, values);
    index const t = (index)GROUP / slices, low = all_rows / signs, longer = all_rows % signs,
                part_begin = low * t + min(t, longer), size = low + (t < longer ? 1 : 0),
                from = (index)GROUP % slices * OWN_ROWS, to = min(from + OWN_ROWS, size);
    index const run = (cols + ITEMS - 1) / ITEMS, first = min(ITEM * run, cols), past = min(first + run, cols);
    uint drawn[4], listed = 0;
    for (int k = 0; k <= OWN_ROWS; ++k) COUNTS(k, ITEM) = 0;
    for (index j = first; j < past; ++j) {
        DRAW_OF_PART(j);
        if (own >= 0) COUNTS(own, ITEM) += 1;
        if (own > 0) listed |= 1u << ((int)(j - first) & 31);
    }
    BARRIER();
    if (ITEM <= OWN_ROWS) {
        int sum = 0;
        for (int item = 0; item < ITEMS; ++item) {
            int const one = COUNTS(ITEM, item);
            COUNTS(ITEM, item) = sum;
            sum += one;
        }
        starts[ITEM] = sum;
    }
    BARRIER();
    int start = (int)(t * cols) + starts[0];
    for (int k = 1; k <= OWN_ROWS; ++k) {
        if (ITEM == 0 && from + k - 1 < to) begins[part_begin + from + k - 1] = (INDEX)start;
        COUNTS(k, ITEM) += start;
        start += starts[k];
    }
    if (GROUP == 0 && ITEM == 0) begins[all_rows] = (INDEX)(signs * cols);
    for (index j = first; j < past; ++j) {
        if (!(listed >> ((int)(j - first) & 31) & 1)) continue;
        DRAW_OF_PART(j);
        if (own <= 0) continue;
        index next = COUNTS(own, ITEM);
        COUNTS(own, ITEM) += 1;
        LIST_SIGN(j, word & 1)
    }
}
#endif
)";
// The rows of a group of list_rows_of_signs.
inline constexpr index_t rows_of_signs = 8;

// The polynomials as expressions of their argument, and the numbers of the generator.
template <int Terms>
std::string nested_products(char const* name, std::uint32_t const (&c)[Terms], char sign) {
    std::string text = std::to_string(c[Terms - 1]) + 'u';
    for (int i = Terms - 2; i >= 0; --i)
        text = '(' + std::to_string(c[i]) + "u " + sign + " HIGH(" + text + ", t))";
    return std::string("#define ") + name + "(t) " + text + '\n';
}
template <class T>
std::string sketch_types() {
    auto const define = [](char const* name, std::uint32_t value) {
        return std::string("#define ") + name + ' ' + std::to_string(value) + "u\n";
    };
    return kernel_types<T, T>() + define("ROUNDS", philox::rounds) + define("FIRST", philox::first) +
           define("SECOND", philox::second) + define("FIRST_KEY", philox::first_key) +
           define("SECOND_KEY", philox::second_key) + define("ROOT_OF_TWO", normal_tables::root_of_two) +
           define("LEAST_ROOT", normal_tables::least_root) + define("SAMPLE_FACTOR", sample_numbers::factor) +
           "#define SAMPLE_ROUNDS " + std::to_string(sample_numbers::rounds) + '\n' +
           nested_products("LOGARITHM", normal_tables::logarithm, '+') +
           nested_products("SINE", normal_tables::sine, '-') +
           nested_products("INVERSE_ROOT", normal_tables::inverse_root, '-');
}
template <class T>
device_kernel sketch_kernel(char const* name) {
    return {name, sketch_text, {}, 256, uses_double<T, T>, false, sketch_types<T>};
}
template <class T>
device_kernel sign_kernel(char const* name) {
    return {name, sketch_text, "#define INDEX int\n", 256, uses_double<T, T>, false, sketch_types<T>};
}

struct seed_words {
    int first, second;
    explicit seed_words(std::uint64_t seed)
        : first(static_cast<int>(static_cast<std::uint32_t>(seed))),
          second(static_cast<int>(static_cast<std::uint32_t>(seed >> 32))) {}
};

// The device's write_normals() of host.hpp. The lines of `to` follow one another.
template <class T, class Leaf, class Space>
status write_normals_on_device(Leaf const& leaf, std::uint64_t seed, index_t row, index_t col,
                               view<T, Space> const& to) {
    constexpr index_t rows = complex_like<T> ? 2 : 4;
    seed_words const key(seed);
    index_t const first = row / rows, blocks = (row + to.rows - 1) / rows - first + 1;
    return leaf.launch(sketch_kernel<T>("write_normals"), groups_for_elements(blocks, to.cols), to.data,
                       key.first, key.second, row, col, to.rows, to.cols, first, blocks);
}

// Groups of list_rows_of_signs: for each part of the rows, so many times `rows_of_signs` rows.
template <class Sketch>
index_t slices_of_signs(Sketch const& x) {
    return (x.all_rows / x.signs + rows_of_signs) / rows_of_signs;
}
// Whether all rows are listed at once: groups draw each sign as often as a part has groups, some 100 instructions for 32
// signs, each of the time of 3.2 bytes. Otherwise columns are listed and sorted, in some eight launches, which move each
// element about a dozen times.
template <class Sketch>
bool lists_rows_at_once(Sketch const& x, index_t cols, device_limits const& limits) {
    double const elements = static_cast<double>(cols) * static_cast<double>(x.signs),
                 drawn = elements * static_cast<double>(slices_of_signs(x)) * 10 * (limits.is_cpu ? 10 : 1);
    return drawn < elements * 12 * 8 + 8 * 3e-6 * limits.bandwidth;
}
// All rows of columns [col, col + cols) of a sketch, by rows.
template <class T, class Leaf, class Sketch, class Numbers, class Values>
status list_rows_on_device(Leaf const& leaf, Sketch const& x, index_t col, index_t cols, Numbers begins,
                           Numbers numbers, Values values) {
    seed_words const key(x.seed);
    index_t const slices = slices_of_signs(x);
    return leaf.launch(sign_kernel<T>("list_rows_of_signs"), slices * x.signs, begins, numbers, values,
                       key.first, key.second, x.all_rows, x.signs, col, cols, slices);
}

// The signs of columns [col, col + cols) in rows [row, row + rows) of a sketch, by columns: where those of a column
// begin, the rows and the values. `sums` has room for scan_parts::most numbers.
template <class T, class Leaf, class Sketch, class Numbers, class Values>
status list_signs_on_device(Leaf const& leaf, Sketch const& x, index_t row, index_t rows, index_t col,
                            index_t cols, Numbers begins, Numbers numbers, Values values, Numbers sums) {
    seed_words const key(x.seed);
    bool const is_whole = rows == x.all_rows;
    auto const launch = [&](char const* name, index_t count, auto const&... to) {
        return leaf.launch(sign_kernel<T>(name), groups_for_each(count, 256), to..., key.first, key.second,
                           x.all_rows, x.signs, row, rows, col, cols, int{is_whole});
    };
    if (status s = launch("count_signs", cols + 1, begins); !s) return s;
    if (!is_whole)
        if (status s = scan_numbers<std::int32_t>(leaf, begins, cols + 1, sums); !s) return s;
    return launch("list_signs", cols, begins, numbers, values);
}

STRATAGEMM_END
