// The lines of operands: where they lie, and whether the hardware can fetch them.
#pragma once

#include "memory.hpp"
#include "query.hpp"

STRATAGEMM_BEGIN

// Lines of elements without gaps: rows of A and columns of B, or the other way round.
template <class T>
struct cuda_lines {
    T const* data = nullptr;
    index_t lines = 0, length = 0, count = 1;
    index_t stride = 0, step = 0; // from a line, and from a matrix, to the next

    static constexpr index_t unit = 16 / static_cast<index_t>(sizeof(T)); // elements to 16 bytes
    static index_t rounded(index_t length) { return line_of_copy(length, sizeof(T)); }

    // Bytes of a copy with aligned lines.
    static std::size_t bytes(index_t lines, index_t length, index_t count) {
        return cuda_arena::rounded(static_cast<std::size_t>(lines * rounded(length) * count) * sizeof(T));
    }
    // Bytes of a copy whose lines may lie either way.
    static std::size_t bytes_either(index_t rows, index_t cols, index_t count) {
        return larger(bytes(rows, cols, count), bytes(cols, rows, count));
    }
    bool can_be_fetched() const {
        bool const steps = count == 1 || (step > 0 && step % unit == 0);
        return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % unit == 0 && stride >= length &&
               steps;
    }
    // For lines whose elements are side by side: how many elements, up to 16 bytes, lie together at multiples of their
    // size.
    short aligned() const {
        auto const begins =
            reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride | step) * sizeof(T);
        index_t together = unit;
        while (together > 1 && begins % (static_cast<std::uintptr_t>(together) * sizeof(T)) != 0)
            together /= 2;
        return static_cast<short>(together);
    }
    bool are_lines() const { return stride >= length; }
    // Whether the lines begin at multiples of 4 bytes.
    bool are_words() const {
        auto const steps = static_cast<std::uintptr_t>(stride | step) * sizeof(T);
        return stride >= length && (reinterpret_cast<std::uintptr_t>(data) | steps) % 4 == 0;
    }
};

// A view of an operand whose rows are the lines of the operand.
template <class T>
struct cuda_line_view {
    cuda_view<T const> view;
    index_t step, count;
    bool along_k;
    // If the operand is a sum of several matrices, of which `view` is the first: all of them, and whether their rows
    // are columns of `view`.
    cuda_view<T const> const* term = nullptr;
    int terms = 1;
    bool flipped = false;

    bool is_sum() const { return terms > 1; }
    void transpose() { view = transposed(view), flipped = !flipped; }
};

// k runs along the rows of A, and along the columns of B, which comes transposed.
inline bool cuda_along_k(index_t rows, index_t row_stride, index_t col_stride) {
    return magnitude(col_stride) < magnitude(row_stride) ||
           (magnitude(col_stride) == magnitude(row_stride) && rows > 1) || rows == 1;
}
template <class T>
cuda_line_view<T> cuda_line_view_of(cuda_view<T const> const& v, index_t step, index_t count) {
    bool const along_k = cuda_along_k(v.rows, v.row_stride, v.col_stride);
    cuda_line_view<T> x{v, step, count, along_k};
    if (!along_k) x.transpose();
    return x;
}
template <class T>
cuda_lines<T> cuda_lines_of(cuda_line_view<T> const& x) {
    cuda_lines<T> l{x.view.data.address, x.view.rows, x.view.cols, x.count, x.view.row_stride, x.step};
    if (l.lines == 1) l.stride = cuda_lines<T>::rounded(l.length); // there is no next line
    if (x.view.col_stride != 1 && x.view.cols > 1) l.stride = -1;  // not lines: cannot be fetched
    return l;
}

STRATAGEMM_END
