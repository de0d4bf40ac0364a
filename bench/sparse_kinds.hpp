// Sparse matrices that the benchmarks of sparse products share, on devices and on the host: random ones, and those whose
// rows differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace bench {

using index_t = std::ptrdiff_t;

struct host_csr {
    index_t rows = 0, cols = 0;
    std::vector<std::int32_t> begins{0}, columns{};
    std::vector<float> values{};
};
// `length(i)` elements in row i, at random, or from the diagonal on.
template <class F>
host_csr make_csr(index_t rows, index_t cols, F const& length, bool banded = false) {
    host_csr x{rows, cols};
    std::mt19937 random(7);
    std::vector<std::int32_t> row;
    for (index_t i = 0; i < rows; ++i) {
        auto const count = std::min<index_t>(cols, length(i));
        row.clear();
        if (banded) {
            index_t const first = std::clamp<index_t>(i - count / 2, 0, cols - count);
            for (index_t j = 0; j < count; ++j) row.push_back(static_cast<std::int32_t>(first + j));
        } else if (count * 3 > cols) {
            for (index_t j = 0; j < cols; ++j)
                if (static_cast<index_t>(random() % static_cast<unsigned>(cols)) < count)
                    row.push_back(static_cast<std::int32_t>(j));
        } else {
            while (static_cast<index_t>(row.size()) < count) {
                for (auto missing = count - static_cast<index_t>(row.size()); missing > 0; --missing)
                    row.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(cols)));
                std::sort(row.begin(), row.end());
                row.erase(std::unique(row.begin(), row.end()), row.end());
            }
        }
        for (std::int32_t const j : row)
            x.columns.push_back(j), x.values.push_back(static_cast<float>(random()) * 0x1p-31f - 1);
        x.begins.push_back(static_cast<std::int32_t>(x.columns.size()));
    }
    return x;
}

// Degrees with a density of d^-exponent: number i, counted from the largest, has about i^(-1 / (exponent - 1)) of them.
// Columns are chosen with the same weights.
inline host_csr make_graph(index_t nodes, double exponent, index_t average, bool in_front) {
    std::mt19937 random(11);
    double const power = 1 / (exponent - 1);
    double all = 0;
    for (index_t i = 0; i < nodes; ++i) all += std::pow(static_cast<double>(i + 1), -power);
    std::vector<std::int32_t> place(static_cast<std::size_t>(nodes)), node(place.size());
    std::iota(place.begin(), place.end(), 0);
    if (!in_front) std::shuffle(place.begin(), place.end(), random);
    for (std::size_t i = 0; i < place.size(); ++i)
        node[static_cast<std::size_t>(place[i])] = static_cast<std::int32_t>(i);
    double const least = 1 - std::pow(static_cast<double>(nodes) + 1, 1 - power);
    auto const any = [&] {
        double const u = static_cast<double>(random()) * 0x1p-32;
        auto const rank = static_cast<index_t>(std::pow(1 - u * least, 1 / (1 - power))) - 1;
        return place[static_cast<std::size_t>(std::clamp<index_t>(rank, 0, nodes - 1))];
    };
    host_csr x{nodes, nodes};
    std::vector<std::int32_t> row;
    for (index_t i = 0; i < nodes; ++i) {
        double const rank = node[static_cast<std::size_t>(i)] + 1;
        auto const degree =
            std::min(nodes / 4, static_cast<index_t>(0.5 + static_cast<double>(average * nodes) *
                                                               std::pow(rank, -power) / all));
        row.clear();
        for (index_t at = 0; at < degree; ++at) row.push_back(any());
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        for (std::int32_t const j : row)
            x.columns.push_back(j), x.values.push_back(static_cast<float>(random()) * 0x1p-31f - 1);
        x.begins.push_back(static_cast<std::int32_t>(x.columns.size()));
    }
    return x;
}

// A point and its neighbours in a cube.
inline host_csr make_stencil(index_t side) {
    host_csr x{side * side * side, side * side * side};
    auto const inside = [&](index_t at) { return at >= 0 && at < side; };
    for (index_t i = 0; i < x.rows; ++i) {
        for (index_t d = 0; d < 27; ++d) {
            index_t const z = i / (side * side) + d / 9 - 1, y = i / side % side + d / 3 % 3 - 1,
                          w = i % side + d % 3 - 1;
            if (!inside(z) || !inside(y) || !inside(w)) continue;
            x.columns.push_back(static_cast<std::int32_t>((z * side + y) * side + w));
            x.values.push_back(static_cast<float>(d % 5) - 2.5f);
        }
        x.begins.push_back(static_cast<std::int32_t>(x.columns.size()));
    }
    return x;
}

struct kind_of_matrix {
    std::string name;
    host_csr a;
    bool counts = true; // in the means
};
inline constexpr int kinds = 12;

// Number `kind`: graphs with so many nodes, and others of about the same size; layers have the same sides each time.
inline kind_of_matrix make_kind(int kind, index_t nodes) {
    auto const side = static_cast<index_t>(std::cbrt(static_cast<double>(nodes)) + 0.5);
    index_t const half = nodes / 2, wide = 4 * nodes;
    switch (kind) {
    case 0: return {"graph 2.1, hubs first", make_graph(nodes, 2.1, 16, true)};
    case 1: return {"graph 2.1, scattered", make_graph(nodes, 2.1, 16, false)};
    case 2: return {"graph 2.6, hubs first", make_graph(nodes, 2.6, 16, true)};
    case 3: return {"graph 2.6, scattered", make_graph(nodes, 2.6, 16, false)};
    case 4: return {"stencil of 27", make_stencil(side)};
    case 5: return {"pruned 70%", make_csr(4096, 1024, [](index_t) { return index_t{307}; })};
    case 6: return {"pruned 75%", make_csr(1024, 4096, [](index_t) { return index_t{1024}; })};
    case 7: return {"pruned 90%", make_csr(2048, 2048, [](index_t) { return index_t{205}; })};
    case 8:
        return {"empty rows", make_csr(nodes, nodes, [](index_t i) {
                    return static_cast<index_t>(static_cast<unsigned>(i) * 2654435761u % 5 == 0 ? 60 : 0);
                })};
    case 9:
        return {"one dense row", make_csr(half, half, [&](index_t i) { return i == half / 3 ? half : 16; })};
    case 10:
        return {"half in a row", make_csr(wide / 16, wide, [&](index_t i) { return i == 0 ? wide : 16; })};
    default:
        return {"uniform, as large", make_csr(wide / 16, wide, [](index_t) { return index_t{32}; }), false};
    }
}
inline std::vector<kind_of_matrix> make_kinds(index_t nodes) {
    std::vector<kind_of_matrix> all;
    for (int kind = 0; kind < kinds; ++kind) all.push_back(make_kind(kind, nodes));
    return all;
}

} // namespace bench
