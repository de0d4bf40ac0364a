// Sparse matrices of all tests: where their elements are, and the same as dense ones.
#pragma once

#include "random.hpp"

#include <stratagemm/structure/csr.hpp>

#include <vector>

namespace support {

// By rows, with columns in order. Values are integers from -3 to 3.
template <class T, class Index = std::int32_t>
struct sparse_arrays {
    sg::index_t rows = 0, cols = 0;
    std::vector<Index> begins{0}, columns;
    std::vector<T> values;

    sg::csr<T, Index> view() const {
        return {rows,           cols,          begins.data(),
                columns.data(), values.data(), static_cast<sg::index_t>(values.size())};
    }
    sg::matrix<T> dense() const {
        sg::matrix<T> all(rows, cols);
        using S = sg::accumulator_t<T>;
        for (sg::index_t i = 0; i < rows; ++i)
            for (auto at = static_cast<std::size_t>(begins[static_cast<std::size_t>(i)]);
                 at < static_cast<std::size_t>(begins[static_cast<std::size_t>(i) + 1]); ++at) {
                T& to = all(i, columns[at]);
                to = static_cast<T>(static_cast<S>(to) + static_cast<S>(values[at]));
            }
        return all;
    }
};

// Where there_is(i, j).
template <class T, class Index = std::int32_t, class Predicate>
sparse_arrays<T, Index> sparse_where(sg::index_t rows, sg::index_t cols, std::uint64_t seed,
                                     Predicate&& there_is) {
    sparse_arrays<T, Index> a;
    a.rows = rows, a.cols = cols;
    random_source from(seed + 1000);
    auto const number = [&] { return static_cast<double>(from.below(7) - 3); };
    for (sg::index_t i = 0; i < rows; ++i) {
        for (sg::index_t j = 0; j < cols; ++j)
            if (there_is(i, j))
                a.columns.push_back(static_cast<Index>(j)), a.values.push_back(make_by<T>(number));
        a.begins.push_back(static_cast<Index>(a.columns.size()));
    }
    return a;
}
// Each element with the same probability; every fifth row is empty.
template <class T, class Index = std::int32_t>
sparse_arrays<T, Index> uniform_sparse(sg::index_t rows, sg::index_t cols, double density,
                                       std::uint64_t seed) {
    random_source from(seed);
    return sparse_where<T, Index>(
        rows, cols, seed, [&](sg::index_t i, sg::index_t) { return from.unit() < density && i % 5 != 3; });
}
// Row i has about cols / (i + 1)^power elements.
template <class T, class Index = std::int32_t>
sparse_arrays<T, Index> power_law(sg::index_t rows, sg::index_t cols, double power, std::uint64_t seed) {
    random_source from(seed);
    return sparse_where<T, Index>(rows, cols, seed, [&](sg::index_t i, sg::index_t) {
        return from.unit() < std::pow(static_cast<double>(i + 1), -power);
    });
}
// No further than `width` from the diagonal.
template <class T, class Index = std::int32_t>
sparse_arrays<T, Index> banded(sg::index_t rows, sg::index_t cols, sg::index_t width, std::uint64_t seed) {
    return sparse_where<T, Index>(
        rows, cols, seed, [&](sg::index_t i, sg::index_t j) { return i - j <= width && j - i <= width; });
}
// Whole blocks of side x side, each with the same probability.
template <class T, class Index = std::int32_t>
sparse_arrays<T, Index> blocks(sg::index_t rows, sg::index_t cols, sg::index_t side, double density,
                               std::uint64_t seed) {
    return sparse_where<T, Index>(rows, cols, seed, [&](sg::index_t i, sg::index_t j) {
        random_source from(seed + static_cast<std::uint64_t>(i / side * cols + j / side));
        return from.unit() < density;
    });
}
// Two elements, or fewer, of each four neighbours in a row.
template <class T, class Index = std::int32_t>
sparse_arrays<T, Index> two_of_four(sg::index_t rows, sg::index_t cols, std::uint64_t seed) {
    return sparse_where<T, Index>(rows, cols, seed, [&](sg::index_t i, sg::index_t j) {
        random_source from(seed + static_cast<std::uint64_t>(i * cols + j / 4));
        auto const first = from.below(4), second = from.below(4);
        return from.below(6) != 0 && (j % 4 == first || j % 4 == second);
    });
}

} // namespace support
