// Random numbers on the host, for each instruction set, and panels of a Gaussian sketch.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../../core/leaf.hpp"
#include "random.hpp"

STRATAGEMM_BEGIN

// Where a block of numbers is drawn.
struct sketch_block {
    std::uint32_t key, second_key, stream, block, column;
};

#define STRATAGEMM_EACH_ISA "../../structure/sketch/numbers.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"

// The kernel of the instruction set in force, and how many numbers it makes at a time.
struct normal_kernel {
    void (*run)(sketch_block const&, index_t, std::int32_t*, index_t);
    index_t lanes;
};
inline normal_kernel normal_kernel_here() {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512)
        return {host_avx512::normals_of_block, host_avx512::lanes<float>};
    if (choice.available && choice.isa >= host_isa::avx2)
        return {host_avx2::normals_of_block, host_avx2::lanes<float>};
#endif
    return {host_portable::normals_of_block, host_portable::lanes<float>};
}

// The four random words of a block, one at a time.
inline void draw_words(sketch_block const& b, std::uint32_t (&words)[4]) {
    words[0] = b.block, words[1] = b.column, words[2] = b.stream, words[3] = 0;
    host_portable::draw<single_word>(words, b.key, b.second_key);
}

// A block has four rows of real numbers, or two of complex ones.
template <class T>
inline constexpr index_t rows_of_normals = complex_like<T> ? 2 : 4;
template <class T>
inline constexpr std::uint32_t stream_of_normals =
    static_cast<std::uint32_t>(complex_like<T> ? sketch_stream::complex_normals : sketch_stream::normals);
template <class T>
sketch_block block_of_normals(std::uint64_t seed, index_t row, index_t col) {
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream_of_normals<T>,
            static_cast<std::uint32_t>(row / rows_of_normals<T>), static_cast<std::uint32_t>(col)};
}
// A standard normal number; of complex ones, both parts are.
template <class T>
T normal_from(std::int32_t const* numbers, index_t stride) {
    using R = real_t<T>;
    constexpr R unit = static_cast<R>(0x1p-28);
    auto const first = static_cast<R>(numbers[0]) * unit;
    if constexpr (complex_like<T>)
        return T(first, static_cast<R>(numbers[stride]) * unit);
    else
        return first;
}
// Element (row, col) without its factor.
template <class T>
T normal_at(std::uint64_t seed, index_t row, index_t col) {
    constexpr index_t rows = rows_of_normals<T>;
    std::uint32_t words[4], numbers[4];
    draw_words(block_of_normals<T>(seed, row, col), words);
    for (int i = 0; i < 4; i += 2)
        host_portable::two_normals<single_word>(words[i], words[i + 1], numbers[i], numbers[i + 1]);
    std::int32_t as_signed[4];
    __builtin_memcpy(as_signed, numbers, sizeof(numbers));
    return normal_from<T>(as_signed + row % rows * (4 / rows), 1);
}

// Writes the elements of rows [row, row + to.rows) and columns [col, col + to.cols), whose columns are contiguous in
// `to`. Threads divide blocks of rows and stripes of columns.
template <class T, class Leaf>
void write_normals(Leaf const& by, std::uint64_t seed, index_t row, index_t col, view<T> const& to) {
    constexpr index_t width = 64, rows = rows_of_normals<T>; // a stripe stays in the first-level cache
    index_t const first = row / rows, blocks = (row + to.rows - 1) / rows - first + 1,
                  stripes = (to.cols - 1) / width + 1, units = blocks * stripes;
    normal_kernel const kernel = normal_kernel_here();
    // A number takes some 20 products of vectors.
    int const team = by.team(20 * static_cast<double>(to.rows * to.cols) / static_cast<double>(kernel.lanes));
    by.each(team, team, [&](int, int part) {
        std::int32_t numbers[4 * width];
        for (index_t u = units * part / team; u < units * (part + 1) / team; ++u) {
            index_t const top = (first + u / stripes) * rows, j = u % stripes * width,
                          count = j + width < to.cols ? width : to.cols - j;
            kernel.run(block_of_normals<T>(seed, top, col + j), count, numbers, width);
            for (index_t i = 0; i < rows; ++i) {
                index_t const at = top + i - row;
                if (at < 0 || at >= to.rows) continue;
                T* const line = to.data + at * to.row_stride + j;
                std::int32_t const* const from = numbers + i * (4 / rows) * width;
                for (index_t l = 0; l < count; ++l) line[l] = normal_from<T>(from + l, width);
            }
        }
    });
}

STRATAGEMM_END
