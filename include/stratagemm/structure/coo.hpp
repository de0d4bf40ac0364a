// Sparse matrices as a list of elements in any order (COO).
//
//   sg::coo<float> a{m, k, row_numbers, columns, values, nonzeros};   borrows the arrays
//   sg::gemm(cpu, a, b, c);                                           sorts a by rows in workspace, each time; on the
//                                                                     host not if b has one column, or two
//   auto by_rows = sg::to_csr(cpu, a);                                once
//   auto list = sg::to_coo(cpu, by_rows);
//
// Elements of one place add up in products. Those of a row stay in the order in which they are stored.
#pragma once

#include "csr.hpp"

STRATAGEMM_BEGIN

template <class T, class Index>
struct coo_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    index_t nonzeros = 0;
    bool conjugate = false;

    coo_form transposed() const { return *this; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t) const {
        return bytes_of_lists<Arena, T, Index>(rows, nonzeros) + bytes_to_sort<Arena, Index, Leaf>(nonzeros);
    }
    index_t most(index_t, index_t) const { return nonzeros; }
    index_t likely(index_t, index_t) const { return nonzeros; }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return "coo, sorted first; "; }
};

// Element `at` is values[at], in row row_numbers[at] and column columns[at].
template <class T, class Index = std::int32_t, class Space = host_memory>
struct coo {
    using value_type = T;
    using space = Space;
    using form = coo_form<T, Index>;
    using index_type = Index;
    static constexpr int most_views = 3;

    index_t rows = 0, cols = 0;
    typename Space::template handle<Index const> row_numbers{};
    typename Space::template handle<Index const> columns{};
    typename Space::template handle<T const> values{};
    index_t nonzeros = 0;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    form facts() const { return {nonzeros, conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        f(view<Index const, Space>{row_numbers, 1, nonzeros, nonzeros, 1});
        f(view<Index const, Space>{columns, 1, nonzeros, nonzeros, 1});
        f(view<T const, Space>{values, 1, nonzeros, nonzeros, 1});
    }
    coo transposed() const {
        coo x = *this;
        x.rows = cols, x.cols = rows, x.row_numbers = columns, x.columns = row_numbers;
        return x;
    }
    status usable() const {
        if (!can_count<Index>(nonzeros))
            return failure(errc::overflow, "coo: there are more elements than the indices can count");
        return {};
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = usable(); !s) return s;
        if (status s = check_range_of("coo", "a row", row_numbers, nonzeros, rows); !s) return s;
        return check_range_of("coo", "a column", columns, nonzeros, cols);
    }
    // Also refuses elements that are not in the order of rows and, within a row, of columns, or that repeat.
    status check_sorted() const requires std::is_same_v<Space, host_memory> {
        if (status s = check(); !s) return s;
        for (index_t at = 1; at < nonzeros; ++at)
            if (row_numbers[at] < row_numbers[at - 1] ||
                (row_numbers[at] == row_numbers[at - 1] && columns[at] <= columns[at - 1]))
                return wrong_at("coo", "the elements are not sorted, or repeat: number ", at);
        return {};
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        for (index_t at = nonzeros * part / parts; at < nonzeros * (part + 1) / parts; ++at)
            f(row_numbers[at], columns[at], values[at]);
    }
    template <class Leaf, class Arena>
    result<csr<T, Index, Space>> listed(Leaf const& leaf, Arena& memory) const {
        auto const begins = memory.template take<Index>(rows + 1);
        auto const to_columns = memory.template take<Index>(nonzeros);
        auto const to_values = memory.template take<T>(nonzeros);
        status s = sort_by_rows(leaf, *this, sorted_arrays{begins, to_columns, to_values}, memory);
        if (!s) return s;
        return csr<T, Index, Space>{rows, cols, begins, to_columns, to_values, nonzeros, scale, conjugate};
    }
};

static_assert(sparse_operand<coo<float>>);

inline constexpr char row_numbers_text[] = R"(
KERNEL(ITEMS) write_rows(BUFFER(INDEX const, begins), BUFFER(INDEX, row_numbers), index rows) {
    OPEN(INDEX const, begins);
    OPEN(INDEX, row_numbers);
    for (EACH(i, rows))
        for (index at = (index)begins[i]; at < (index)begins[i + 1]; ++at) row_numbers[at] = (INDEX)i;
}
)";

// Any sparse operand but a list, by rows. Columns and values are those of the operand, if it is a csr.
template <policy P, operand M>
auto to_coo(P const& policy, M const& matrix) {
    auto const x = as_view(matrix);
    using T = typename decltype(x)::value_type;
    using Index = typename decltype(x)::index_type;
    using space = typename P::space;
    using arena = typename P::arena;
    auto const list = values_by_rows(policy, x);
    auto const a = list.view();
    auto memory = reserve_for(policy, arena::rounded(static_cast<std::size_t>(a.nonzeros) * sizeof(Index)));
    memory.or_throw();
    auto const rows = (*memory)->template take<Index>(a.nonzeros);
    if constexpr (host_leaf<leaf_of<P>>) {
        for (index_t i = 0; i < a.rows; ++i)
            for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at)
                rows[at] = static_cast<Index>(i);
    } else if (a.rows > 0) {
        auto const leaf = policy.leaf();
        leaf.launch(list_kernel<T, Index>("write_rows", row_numbers_text, ""), groups_for_each(a.rows, 256),
                    a.row_begins, rows, a.rows)
            .or_throw();
        leaf.synchronize().or_throw();
    }
    memory->hold(list.memory());
    return owned<coo<T, Index, space>, P>(
        std::move(*memory), {a.rows, a.cols, rows, a.columns, a.values, a.nonzeros, a.scale, a.conjugate});
}

STRATAGEMM_END
