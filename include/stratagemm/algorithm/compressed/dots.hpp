// Single elements of a product on the host, as dot products in double. With a csr they take time that follows its
// elements, in whatever order its rows have them.
#pragma once

#include "../approximate/sparse.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// A, B: matrices, or csr without their factors. One thread at a time has a part.
template <class A, class B>
class exact_dots {
    static constexpr bool of_a = is_csr_list<A>, of_b = is_csr_list<B>;
    using by_columns = std::conditional_t<of_b, B, int>;

public:
    exact_dots(A const& a, B const& b) : a_(a), b_(b) {}

    // Lists a csr B by columns, and takes room for a row of a csr A in each part.
    template <class Leaf>
    status prepare(Leaf const& leaf, int parts) {
        if constexpr (of_b) {
            auto const turned_b = b_.transposed();
            footprint room;
            room.host = turned_b.facts().template bytes<host_arena, Leaf>(b_.cols, b_.rows) +
                        bytes<double>(of_a ? parts * a_.cols : 0) + bytes<index_t>(parts);
            auto memory = reserve_host(room, "heavy");
            if (!memory) return memory.take_status();
            memory_ = std::move(*memory);
            if constexpr (of_a) {
                rows_ = memory_.template take<double>(parts * a_.cols);
                for (index_t at = 0; at < parts * a_.cols; ++at) rows_[at] = 0;
                row_numbers_ = memory_.template take<index_t>(parts);
                for (int part = 0; part < parts; ++part) row_numbers_[part] = -1;
            }
            auto list = turned_b.listed(leaf, memory_);
            if (!list) return list.take_status();
            columns_ = *list;
        }
        return {};
    }
    double at(int part, index_t i, index_t j) const {
        double sum = 0;
        if constexpr (of_a && of_b) {
            double const* const row = row_of(part, i);
            each(columns_, j, [&](index_t l, double x) { sum += row[l] * x; });
        } else if constexpr (of_b) {
            each(columns_, j, [&](index_t l, double x) { sum += static_cast<double>(a_(i, l)) * x; });
        } else if constexpr (of_a) {
            each(a_, i, [&](index_t l, double x) { sum += x * static_cast<double>(b_(l, j)); });
        } else {
            for (index_t l = 0; l < a_.cols; ++l)
                sum += static_cast<double>(a_(i, l)) * static_cast<double>(b_(l, j));
        }
        return sum;
    }

private:
    template <class T>
    static std::size_t bytes(index_t count) {
        return host_arena::rounded(static_cast<std::size_t>(count) * sizeof(T));
    }
    template <class X, class F>
    static void each(X const& x, index_t row, F&& f) {
        for (index_t at = x.row_begins[row]; at < x.row_begins[row + 1]; ++at)
            f(x.columns[at], static_cast<double>(x.values[at]));
    }
    // Row i of A with its zeros, for all elements of that row that a part asks for.
    double const* row_of(int part, index_t i) const {
        double* const row = rows_ + part * a_.cols;
        index_t& number = row_numbers_[part];
        if (number == i) return row;
        if (number >= 0) each(a_, number, [&](index_t l, double) { row[l] = 0; });
        each(a_, i, [&](index_t l, double x) { row[l] += x; });
        number = i;
        return row;
    }

    A a_;
    B b_;
    by_columns columns_{};
    host_arena memory_;
    double* rows_ = nullptr;
    index_t* row_numbers_ = nullptr; // of what rows_ has
};

} // namespace compressed_parts

STRATAGEMM_END
