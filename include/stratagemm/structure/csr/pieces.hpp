// Rows of a CSR matrix in pieces of similar length, for devices, whose work-items would otherwise wait for the
// longest rows. The longest pieces come first. A piece that is a whole row is computed into C. The sums of the
// others are kept in workspace and added in order, so the result is the same from run to run.
#pragma once

#include "../../core/policy.hpp"

#include <algorithm>
#include <vector>

STRATAGEMM_BEGIN

template <class Index, class Space>
struct csr_pieces {
    template <class T>
    using handle = typename Space::template handle<T>;

    handle<Index const> bounds{}; // piece i has the elements [bounds[2 i], bounds[2 i + 1])
    // Three lists one behind the other. First, for each piece, its row, or -1 - s if the piece is sum number s of a
    // row. Then the rows that are in several pieces. Then the number of the first sum of each of these rows, and of all
    // sums.
    handle<std::int32_t const> lists{};
    index_t count = 0, cut_rows = 0, sums = 0;
    index_t longest = 0; // row, in elements
};

// The most elements of a piece: twice the average, or 64.
constexpr index_t csr_piece(index_t average) { return average < 32 ? 64 : 2 * average; }

// How the rows are cut, on the host.
template <class Index>
class cut_csr {
public:
    cut_csr(std::vector<Index> const& begins, index_t nonzeros) {
        struct piece {
            Index begin, end;
            std::int32_t row;
        };
        auto const rows = static_cast<index_t>(begins.size()) - 1;
        index_t const most = csr_piece(rows > 0 ? nonzeros / rows : 0);
        std::vector<piece> pieces;
        std::vector<std::int32_t> cut_rows, first_sums{0};
        for (index_t i = 0; i < rows; ++i) {
            Index const begin = begins[static_cast<std::size_t>(i)];
            index_t const length = begins[static_cast<std::size_t>(i) + 1] - begin;
            if (length > longest_) longest_ = length;
            index_t const parts = length > most ? (length - 1) / most + 1 : 1;
            for (index_t q = 0; q < parts; ++q)
                pieces.push_back({static_cast<Index>(begin + length * q / parts),
                                  static_cast<Index>(begin + length * (q + 1) / parts),
                                  parts == 1 ? static_cast<std::int32_t>(i) : -1 - sums_++});
            if (parts > 1) cut_rows.push_back(static_cast<std::int32_t>(i)), first_sums.push_back(sums_);
        }
        std::stable_sort(pieces.begin(), pieces.end(),
                         [](piece const& x, piece const& y) { return x.end - x.begin > y.end - y.begin; });
        for (piece const& x : pieces)
            bounds_.push_back(x.begin), bounds_.push_back(x.end), lists_.push_back(x.row);
        lists_.insert(lists_.end(), cut_rows.begin(), cut_rows.end());
        lists_.insert(lists_.end(), first_sums.begin(), first_sums.end());
        count_ = static_cast<index_t>(pieces.size()), cut_rows_ = static_cast<index_t>(cut_rows.size());
    }

    template <class Arena>
    std::size_t bytes() const {
        return Arena::rounded(bounds_.size() * sizeof(Index)) +
               Arena::rounded(lists_.size() * sizeof(std::int32_t));
    }
    template <class Space, class Leaf, class Arena>
    result<csr_pieces<Index, Space>> upload(Leaf const& leaf, Arena& memory) const {
        auto const bounds_size = static_cast<index_t>(bounds_.size()),
                   lists_size = static_cast<index_t>(lists_.size());
        auto const bounds = memory.template take<Index>(bounds_size);
        auto const lists = memory.template take<std::int32_t>(lists_size);
        if (status s = leaf.upload(bounds_.data(), bounds, bounds_size); !s) return s;
        if (status s = leaf.upload(lists_.data(), lists, lists_size); !s) return s;
        // Kernels get workspace, even if there is nothing to keep in it.
        return csr_pieces<Index, Space>{bounds, lists, count_, cut_rows_, sums_ > 0 ? sums_ : 1, longest_};
    }

private:
    std::vector<Index> bounds_;
    std::vector<std::int32_t> lists_;
    index_t count_ = 0, cut_rows_ = 0, longest_ = 0;
    std::int32_t sums_ = 0;
};

STRATAGEMM_END
