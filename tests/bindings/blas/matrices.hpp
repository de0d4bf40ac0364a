// Matrices whose elements are small integers, so that sums of their products are exact in every type and order, and
// what a routine has to compute is known to the last bit. What lies around an element is NaN, and is watched.
#pragma once

#include "library.hpp"
#include "random.hpp"

#include <cstring>
#include <limits>
#include <vector>

namespace blas_test {

using support::random_source;

template <class T>
T nan_of() {
    constexpr real<T> x = std::numeric_limits<real<T>>::quiet_NaN();
    if constexpr (is_complex<T>)
        return {x, x};
    else
        return x;
}
template <class T>
T conj_of(T x) {
    if constexpr (is_complex<T>)
        return std::conj(x);
    else
        return x;
}
template <class T>
T some(random_source& random) {
    auto const whole = [&] { return static_cast<real<T>>(random.below(7) - 3); };
    if constexpr (is_complex<T>) {
        real<T> const re = whole();
        return {re, whole()};
    } else {
        return whole();
    }
}

template <class T>
class matrix {
public:
    static constexpr int guard = 8;

    matrix(int rows, int cols, bool by_rows, random_source& random)
        : rows_(rows), cols_(cols), by_rows_(by_rows),
          leading_(std::max(1, by_rows ? cols : rows) + random.below(3)),
          memory_(static_cast<std::size_t>(2 * guard + leading_ * (by_rows ? rows : cols)), nan_of<T>()) {}

    int rows() const { return rows_; }
    int cols() const { return cols_; }
    int leading() const { return leading_; }
    T* data() { return memory_.data() + guard; }
    T& operator()(int i, int j) { return memory_[place(i, j)]; }
    T operator()(int i, int j) const { return memory_[place(i, j)]; }

    // Elements where keep(i, j) says so; the others stay NaN.
    template <class Keep>
    matrix& fill(random_source& random, Keep const& keep) {
        for (int i = 0; i < rows_; ++i)
            for (int j = 0; j < cols_; ++j)
                if (keep(i, j)) (*this)(i, j) = some<T>(random);
        return *this;
    }
    matrix& fill(random_source& random) {
        return fill(random, [](int, int) { return true; });
    }
    // Where the two differ first, beside the matrix or in it; empty: nowhere.
    std::string difference(matrix const& other) const {
        for (int i = 0; i < rows_; ++i)
            for (int j = 0; j < cols_; ++j)
                if (differ((*this)(i, j), other(i, j)))
                    return "element " + std::to_string(i) + ", " + std::to_string(j);
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (differ(memory_[i], other.memory_[i])) return "beside the matrix, at " + std::to_string(i);
        return {};
    }

private:
    // NaN is the same as its own bits, and zero as its negative.
    static bool differ(T const& x, T const& y) { return !(x == y) && std::memcmp(&x, &y, sizeof(T)) != 0; }
    std::size_t place(int i, int j) const {
        return static_cast<std::size_t>(guard + (by_rows_ ? i * leading_ + j : j * leading_ + i));
    }

    int rows_, cols_;
    bool by_rows_;
    int leading_;
    std::vector<T> memory_;
};

// op(A) as the routine sees it.
template <class T>
T element(matrix<T> const& a, char trans, int i, int j) {
    return trans == 'N' ? a(i, j) : trans == 'T' ? a(j, i) : conj_of(a(j, i));
}
} // namespace blas_test
