// Signs times dense on a device, in blocks of the sums (blocks_text.hpp): how the work is divided, what it costs, and the
// launches.
#pragma once

#include "../../device/product.hpp"
#include "blocks_text.hpp"

STRATAGEMM_BEGIN

// A product of a sketch, or of rows and columns of it, and a dense matrix of n columns.
struct sign_sides {
    index_t all_rows, signs, rows, cols, n;
    bool kept = false; // lists are kept for any n

    // The parts whose rows `count` rows may have, at most.
    index_t parts_of(index_t count) const {
        index_t const least = larger_of(1, all_rows / signs);
        return smaller(signs, (smaller(count, rows) - 1) / least + 2);
    }
};

inline std::string sign_blocks_definitions(text_numbers const& numbers) {
    auto const define = [&](char const* name, int i) {
        return std::string("#define ") + name + ' ' + std::to_string(numbers.at[i]) + '\n';
    };
    return define("WIDE", 0) + define("ROWS_OF_WARP", 1) + define("WARPS", 2) + define("DEPTH", 3) +
           "#define STAGES " + std::to_string(sign_blocks::stages) + '\n';
}
inline std::string sign_blocks_written(text_numbers const& numbers, text_tables*) {
    return sign_blocks_definitions(numbers) + sign_blocks_text;
}

// What a device can have at once for elements of so many bytes: sums and the next block in registers, blocks and lists in
// shared memory. `wide` columns of a lane. Without room it has no depth.
inline sign_blocks sign_blocks_for(sign_sides const& s, int wide, std::size_t element,
                                   device_limits const& limits) {
    // Words of registers. Sums have half of what a multiprocessor has, and at most a quarter of a work-item's.
    constexpr int all = 65536, most_sums = 64, on_way = 1 << 14;
    int const words = static_cast<int>(element / 4);
    sign_blocks x;
    for (x.warps = 32; 32 * x.warps > limits.group_items && x.warps > 1;) x.warps /= 2;
    index_t const sums = smaller(most_sums, all / 2 / x.items());
    x.wide = wide, x.each = static_cast<int>(sums) / words / wide;
    // Fewer rows take fewer sums; each stage of a block has some.
    while (x.each > 4 && index_t{x.each} / 2 * x.warps >= s.rows) x.each /= 2;
    x.parts = s.parts_of(x.rows());
    x.depth = static_cast<int>(on_way / words / x.width());
    if (x.depth > x.items()) x.depth = x.items();
    auto const fits = [&] {
        return x.shared_bytes(element) <= limits.group_bytes && x.entries() / 4 < 1 << 15;
    };
    while (x.depth > 0 && !fits()) x.depth /= 2;
    if (x.depth * x.width() < index_t{x.stages} * x.items()) x.depth = 0;
    return x;
}
// Roughly the seconds of it, and of the list: X from memory once and, for further groups with other rows, from a cache
// that is 2.5 times as fast; and instructions, as nvdisasm shows them for an H200: four entries take 25, and 4 for each
// column of a lane; a row in a block takes 7, and is filled up to four entries, which adds 0.4 of such a four. The device
// issues one in the time of 3.2 bytes. 65536 work-items keep a large device busy. A processor does all that in its
// caches, one work-item after another.
inline double seconds_of(sign_blocks const& x, sign_sides const& s, std::size_t element,
                         device_limits const& limits) {
    auto const f = [](index_t n) { return static_cast<double>(n); };
    double const size = static_cast<double>(element), chunks = f(divide_up(s.rows, x.rows())),
                 strips = f(divide_up(s.n, x.width())), share = f(s.rows) / f(s.all_rows), words = size / 4,
                 row_steps = chunks * f(x.rows() * divide_up(s.cols, x.depth)) * strips,
                 entries = f(s.cols * s.signs) * share * strips;
    double const memory = f(s.cols * s.n) * size * (1 + (chunks - 1) / 2.5) + f(s.rows * s.n) * size,
                 four = 25 + 4 * x.wide * words, issued = row_steps * (7 + 0.4 * four) + entries / 4 * four,
                 busy = chunks * strips * x.items() / 65536;
    return (memory + issued * (limits.is_cpu ? 32 : 3.2)) / limits.bandwidth / (busy < 1 ? busy : 1) +
           (s.kept ? 2e-6 : 15e-6);
}
inline sign_blocks choose_sign_blocks(sign_sides s, std::size_t element, device_limits const& limits) {
    if (s.kept) s.n = 1 << 16;
    sign_blocks const one = sign_blocks_for(s, 1, element, limits);
    if (element > 4) return one;
    sign_blocks const two = sign_blocks_for(s, 2, element, limits);
    if (one.depth == 0 || two.depth == 0) return one.depth == 0 ? two : one;
    return seconds_of(two, s, element, limits) <= seconds_of(one, s, element, limits) ? two : one;
}
inline index_t words_of_sign_blocks(sign_blocks const& x, sign_sides const& s) {
    return divide_up(s.rows, x.rows()) * divide_up(s.cols, x.depth) * x.list();
}
template <class Arena>
std::size_t bytes_of_sign_blocks(sign_blocks const& x, sign_sides const& s) {
    return Arena::rounded(static_cast<std::size_t>(words_of_sign_blocks(x, s)) * sizeof(int));
}

// Lists rows [row, row + s.rows) and columns [col, col + s.cols) of a sketch.
template <class T, class Leaf, class Handle>
status list_sign_blocks(Leaf const& leaf, sign_blocks const& x, sign_sides const& s, std::uint64_t seed,
                        index_t row, index_t col, Handle lists) {
    constexpr int items = 128;
    seed_words const key(seed);
    index_t const blocks = divide_up(s.cols, x.depth), chunks = divide_up(s.rows, x.rows()),
                  rows_of_part = smaller(x.rows(), s.all_rows / s.signs + 1),
                  slices = divide_up(rows_of_part, items);
    device_kernel kernel{"list_sign_blocks",
                         sign_list_texts.at,
                         "#define MOST_DEPTH " + std::to_string(x.depth) + '\n',
                         items,
                         uses_double<T, T>,
                         false,
                         sketch_types<T>};
    return leaf.launch(kernel, chunks * blocks * x.parts * slices, lists, key.first, key.second, s.all_rows,
                       s.signs, row, s.rows, col, s.cols, blocks, x.rows(), x.parts, slices,
                       x.line() / x.wide, x.list(), index_t{x.depth});
}
// `along`: terms of a sum lie side by side in B; `ends_along`: the rows of a column of C do.
template <class T>
device_kernel sign_blocks_kernel(sign_blocks const& x, bool along, bool ends_along) {
    std::size_t const bytes = x.shared_bytes(sizeof(T));
    auto const define = [](char const* name, index_t value) {
        return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
    };
    device_kernel kernel{"signs_times_dense",
                         "",
                         define("LIST", x.list()) + define("WORDS_OF_TILES", x.words_of_tiles(sizeof(T))) +
                             define("ROOM_BYTES", static_cast<index_t>(bytes)) +
                             define("MOST_DECLARED", index_t{device_declared_bytes}) +
                             define("ALONG", along) + define("ENDS_ALONG", ends_along),
                         x.items(),
                         uses_double<T, T>,
                         false,
                         kernel_types<T, T>};
    kernel.write = sign_blocks_written, kernel.numbers = x.numbers();
    if (bytes > device_declared_bytes) kernel.shared_bytes = bytes;
    return kernel;
}
// C = alpha S B + beta E for the S of the lists, without the epilogue. p.a has the factor of S.
template <class Leaf, class Q, class Handle>
status multiply_sign_blocks(Leaf const& leaf, sign_blocks const& x, sign_sides const& s, Q const& p,
                            Handle lists) {
    using T = typename Q::c_type;
    auto const kernel = sign_blocks_kernel<T>(x, rows_are_closer(p.b), rows_are_closer(p.c));
    auto const e = added_or_c(p);
    index_t const chunks = divide_up(s.rows, x.rows());
    return leaf.launch(kernel, chunks * divide_up(s.n, x.width()), lists, divide_up(s.cols, x.depth), chunks,
                       p.b, int{p.b.conjugate}, s.cols, scaled_by(p.alpha, static_cast<T>(p.a.scale)), p.beta,
                       int{p.beta != T(0)}, e, int{e.conjugate}, p.c, s.rows, s.n);
}

STRATAGEMM_END
