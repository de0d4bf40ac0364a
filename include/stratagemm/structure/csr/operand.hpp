// The operands `csr` and `csr_of_ones`; what csc() makes is a csr that is transposed.
//
// Row i has the elements [row_begins[i], row_begins[i + 1]) of columns and values. The arrays are in the
// memory of the policy: pointers on the host, handles on a device. Columns may come in any order, and repeat.
#pragma once

#include "../../core/keep.hpp"
#include "format.hpp"
#include "pieces.hpp"

STRATAGEMM_BEGIN

template <class T, class Index = std::int32_t>
struct csr_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = true, is_by_rows = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    index_t nonzeros = 0;
    bool conjugate = false;
    index_t sums = 0;    // of pieces of rows, kept in workspace
    index_t longest = 0; // row, in elements; 0: unknown

    turned_form<csr_form> transposed() const { return {*this, false}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t, index_t) const {
        return 0;
    }
    index_t most(index_t, index_t) const { return nonzeros; }
    index_t likely(index_t, index_t) const { return nonzeros; }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return {}; }
    // Rows in pieces have a choice of their own.
    index_t longest_row(index_t, index_t) const { return sums > 0 ? 0 : longest; }
};

// Index: std::int32_t or std::int64_t.
template <class T, class Index = std::int32_t, class Space = host_memory>
struct csr {
    using value_type = T;
    using space = Space;
    using form = csr_form<T, Index>;
    using index_type = Index;
    template <class To>
    using in = csr<T, Index, To>;
    static constexpr int most_views = 3;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{}; // rows + 1
    typename Space::template handle<Index const> columns{};
    typename Space::template handle<T const> values{};
    index_t nonzeros = 0; // on a device, it may be more than there are
    accumulator_t<T> scale{1};
    bool conjugate = false;
    csr_pieces<Index, Space> pieces{}; // keep_left() makes them
    index_t longest = 0;               // row, in elements, if that is known: devices choose a kernel by it

    form facts() const {
        return {nonzeros, conjugate, pieces.sums, pieces.sums > 0 ? pieces.longest : longest};
    }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_begins, 1, rows + 1, rows + 1, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
        f(view<T const, Space>{values, 1, nonzeros, nonzeros, 1});
    }
    turned<csr> transposed() const { return turn(*this); }
    // Accepts pointers into another space than the host's, such as a device's: cuda::on_device() makes them.
    template <class To>
    in<To> in_space() const requires std::is_same_v<Space, host_memory> {
        return {rows, cols, {row_begins}, {columns}, {values}, nonzeros, scale, conjugate, {}, longest};
    }
    template <class Leaf, class Arena>
    result<csr> listed(Leaf const&, Arena&) const {
        return *this;
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        index_t const end = first_row(row_begins, rows, part + 1, parts);
        for (index_t i = first_row(row_begins, rows, part, parts); i < end; ++i)
            for (index_t at = row_begins[i]; at < row_begins[i + 1]; ++at) f(i, columns[at], values[at]);
    }

    // Element `at`, with the factor.
    accumulator_t<T> number(index_t at) const requires std::is_same_v<Space, host_memory> {
        auto x = static_cast<accumulator_t<T>>(values[at]);
        if (conjugate) x = stratagemm::conjugate(x);
        if constexpr (complex_like<T>) // 0i times Inf is NaN
            if (scale.imag() == 0) return T(scale.real() * x.real(), scale.real() * x.imag());
        return scaled_by(scale, x);
    }

    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = check_begins("csr", "row_begins", row_begins, rows, nonzeros); !s) return s;
        return check_range_of("csr", "a column", columns, nonzeros, cols);
    }
    status check_sorted() const requires std::is_same_v<Space, host_memory> {
        if (status s = check(); !s) return s;
        for (index_t i = 0; i < rows; ++i)
            for (index_t at = row_begins[i] + 1; at < row_begins[i + 1]; ++at)
                if (columns[at] <= columns[at - 1])
                    return wrong_at("csr", "the columns of a row do not rise: number ", at);
        return {};
    }
};

// A pattern: a csr without values, whose elements are all one. Patterns are multiplied with dense matrices.
template <class T, class Index = std::int32_t, class Space = host_memory>
struct csr_of_ones {
    using value_type = T;
    using space = Space;
    using form = csr_form<T, Index>;
    using index_type = Index;
    template <class To>
    using in = csr_of_ones<T, Index, To>;
    static constexpr int most_views = 2;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_begins{}; // rows + 1
    typename Space::template handle<Index const> columns{};
    index_t nonzeros = 0; // on a device, it may be more than there are
    accumulator_t<T> scale{1};
    bool conjugate = false; // without effect

    form facts() const { return {nonzeros, false}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_begins, 1, rows + 1, rows + 1, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
    }
    turned<csr_of_ones> transposed() const { return turn(*this); }
    template <class To>
    in<To> in_space() const requires std::is_same_v<Space, host_memory> {
        return {rows, cols, {row_begins}, {columns}, nonzeros, scale, conjugate};
    }
    template <class Leaf, class Arena>
    result<csr_of_ones> listed(Leaf const&, Arena&) const {
        return *this;
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        index_t const end = first_row(row_begins, rows, part + 1, parts);
        for (index_t i = first_row(row_begins, rows, part, parts); i < end; ++i)
            for (index_t at = row_begins[i]; at < row_begins[i + 1]; ++at)
                f(i, columns[at], T(real_t<accumulator_t<T>>(1)));
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = check_begins("csr_of_ones", "row_begins", row_begins, rows, nonzeros); !s) return s;
        return check_range_of("csr_of_ones", "a column", columns, nonzeros, cols);
    }
};

// Column j has the elements [column_begins[j], column_begins[j + 1]) of row_numbers and values.
template <class T, class Index = std::int32_t, class Space = host_memory>
turned<csr<T, Index, Space>> csc(index_t rows, index_t cols,
                                 typename Space::template handle<Index const> column_begins,
                                 typename Space::template handle<Index const> row_numbers,
                                 typename Space::template handle<T const> values, index_t nonzeros) {
    return csr<T, Index, Space>{cols, rows, column_begins, row_numbers, values, nonzeros}.transposed();
}

// A csr that owns its arrays, in the memory of a policy.
template <class T, class Index, class Policy>
using csr_matrix = owned<csr<T, Index, typename Policy::space>, Policy>;

static_assert(sparse_operand<csr<float>> && sparse_operand<csr_of_ones<float>> &&
              sparse_operand<turned<csr<float>>> && sparse_operand<kept_operand<csr<float>, void>>);

STRATAGEMM_END
