// A matrix that owns its elements, in host memory, aligned for vectors.
#pragma once

#include "error.hpp"
#include "operand.hpp"

#include <initializer_list>
#include <new>
#include <utility>

STRATAGEMM_BEGIN

enum class layout { row_major, col_major };

template <element T>
class matrix {
public:
    using value_type = T;
    // What elements are written as: half and its kin do not convert from numbers by themselves.
    using literal = std::conditional_t<std::is_convertible_v<int, T>, T, accumulator_t<T>>;

    matrix() = default;

    // All zero.
    matrix(index_t rows, index_t cols, layout order = layout::row_major)
        : rows_(rows), cols_(cols), order_(order) {
        index_t bytes = 0;
        if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &bytes) ||
            __builtin_mul_overflow(bytes, static_cast<index_t>(sizeof(T)), &bytes))
            raise(error(errc::overflow, "matrix: rows and cols must be non-negative and fit in memory"));
        data_ = static_cast<T*>(::operator new(static_cast<std::size_t>(bytes), std::align_val_t(64)));
        for (index_t i = 0; i < rows * cols; ++i) new (data_ + i) T();
    }

    // Element (i, j) is f(i, j).
    template <class F>
    requires std::invocable<F&, index_t, index_t> matrix(index_t rows, index_t cols, F&& f,
                                                         layout order = layout::row_major)
        : matrix(rows, cols, order) {
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < cols; ++j) (*this)(i, j) = static_cast<T>(f(i, j));
    }

    // Row by row: {{1, 2}, {3, 4}}.
    matrix(std::initializer_list<std::initializer_list<literal>> lines, layout order = layout::row_major)
        : matrix(static_cast<index_t>(lines.size()),
                 lines.size() == 0 ? 0 : static_cast<index_t>(lines.begin()->size()), order) {
        index_t i = 0;
        for (auto const& line : lines) {
            if (line.size() != static_cast<std::size_t>(cols_))
                raise(error(errc::shape, "matrix: all rows of a literal must have the same length"));
            index_t j = 0;
            for (literal const& x : line) (*this)(i, j++) = static_cast<T>(x);
            ++i;
        }
    }

    matrix(matrix const& other) : matrix(other.rows_, other.cols_, other.order_) {
        for (index_t i = 0; i < rows_ * cols_; ++i) data_[i] = other.data_[i];
    }
    matrix(matrix&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), rows_(std::exchange(other.rows_, 0)),
          cols_(std::exchange(other.cols_, 0)), order_(other.order_) {}
    matrix& operator=(matrix other) noexcept {
        std::swap(data_, other.data_);
        rows_ = other.rows_, cols_ = other.cols_, order_ = other.order_;
        return *this;
    }
    ~matrix() { ::operator delete(data_, std::align_val_t(64)); }

    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    T* data() { return data_; }
    T const* data() const { return data_; }

    T& operator()(index_t i, index_t j) { return data_[offset(i, j)]; }
    T const& operator()(index_t i, index_t j) const { return data_[offset(i, j)]; }

    void fill(literal value) {
        for (index_t i = 0; i < rows_ * cols_; ++i) data_[i] = static_cast<T>(value);
    }

    stratagemm::view<T> view() { return make_view(data_); }
    stratagemm::view<T const> view() const { return make_view(static_cast<T const*>(data_)); }
    auto block(index_t i, index_t j, index_t m, index_t n) { return view().block(i, j, m, n); }
    auto block(index_t i, index_t j, index_t m, index_t n) const { return view().block(i, j, m, n); }

private:
    index_t offset(index_t i, index_t j) const {
        return order_ == layout::row_major ? i * cols_ + j : i + j * rows_;
    }
    template <class U>
    stratagemm::view<U> make_view(U* p) const {
        return order_ == layout::row_major ? row_major(p, rows_, cols_) : col_major(p, rows_, cols_);
    }

    T* data_ = nullptr;
    index_t rows_ = 0;
    index_t cols_ = 0;
    layout order_ = layout::row_major;
};

// Equal sides and equal elements, in whichever order they lie.
template <class T>
bool operator==(matrix<T> const& x, matrix<T> const& y) {
    bool equal = x.rows() == y.rows() && x.cols() == y.cols();
    for (index_t i = 0; equal && i < x.rows(); ++i)
        for (index_t j = 0; equal && j < x.cols(); ++j) equal = x(i, j) == y(i, j);
    return equal;
}

STRATAGEMM_END
