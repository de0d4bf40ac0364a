// Sparse matrices with the same room in each row (ELL).
//
//   sg::ell<float> a(k, sg::row_major(columns, m, width), sg::row_major(values, m, width));   borrows the arrays
//   sg::gemm(cpu, a, b, c);
//   auto e = sg::to_ell(gpu, csr);                       of any sparse operand; as wide as its longest row
//
// Row i of `columns` and `values` has the elements of row i, in any order. A negative column is no element. Both
// are views, so that the elements of a row may lie side by side or a column apart.
#pragma once

#include "csr.hpp"

#include <vector>

STRATAGEMM_BEGIN

template <class T, class Index>
struct ell_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = true;
    template <class P>
    requires P::is_backend using over = csr_product<P>;

    index_t width = 0;
    bool conjugate = false;

    turned_form<ell_form> transposed() const { return {*this, false}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t) const {
        return bytes_of_lists<Arena, T, Index>(rows, rows * width);
    }
    index_t most(index_t rows, index_t) const { return rows * width; }
    index_t likely(index_t rows, index_t) const { return rows * width; }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return "ell, listed first; "; }
};

// A work-item counts, and then lists, the elements of a row.
inline constexpr char ell_text[] = R"(
KERNEL(ITEMS) count_ell(MATRIX(INDEX const, from), BUFFER(INDEX, begins), index rows, index width) {
    OPEN(INDEX const, from);
    OPEN(INDEX, begins);
    for (EACH(i, rows + 1)) {
        INDEX count = 0;
        if (i < rows)
            for (index e = 0; e < width; ++e) count += from[AT(from, i, e)] >= 0 ? 1 : 0;
        begins[i] = count;
    }
}
KERNEL(ITEMS) list_ell(MATRIX(INDEX const, from), MATRIX(IN const, from_values), BUFFER(INDEX const, begins),
                       BUFFER(INDEX, columns), BUFFER(IN, values), index rows, index width) {
    OPEN(INDEX const, from);
    OPEN(IN const, from_values);
    OPEN(INDEX const, begins);
    OPEN(INDEX, columns);
    OPEN(IN, values);
    for (EACH(i, rows)) {
        index at = (index)begins[i];
        for (index e = 0; e < width; ++e) {
            INDEX const j = from[AT(from, i, e)];
            if (j >= 0) {
                scalar const element = LOAD(IN, from_values, AT(from_values, i, e));
                columns[at] = j;
                STORE(IN, values, at, CONVERT(OUT_VALUE, (value)element));
                ++at;
            }
        }
    }
}
)";

template <class T, class Index = std::int32_t, class Space = host_memory>
struct ell {
    using value_type = T;
    using space = Space;
    using form = ell_form<T, Index>;
    using index_type = Index;
    static constexpr int most_views = 2;

    index_t rows = 0, cols = 0;
    view<Index const, Space> columns{};
    view<T const, Space> values{};
    accumulator_t<T> scale{1};
    bool conjugate = false;

    ell() = default;
    ell(index_t cols_, view<Index const, Space> const& columns_, view<T const, Space> const& values_)
        : rows(columns_.rows), cols(cols_), columns(columns_), values(values_) {}

    form facts() const { return {columns.cols, conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        f(columns);
        f(values);
    }
    turned<ell> transposed() const { return turn(*this); }
    status usable() const {
        if (values.rows != rows || columns.rows != rows || values.cols != columns.cols)
            return failure(errc::shape, "ell: columns and values must have the same shape");
        if (!can_count<Index>(rows * columns.cols))
            return failure(errc::overflow, "ell: there are more elements than 32-bit indices can count");
        return {};
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = usable(); !s) return s;
        for (index_t i = 0; i < rows; ++i)
            for (index_t e = 0; e < columns.cols; ++e)
                if (columns(i, e) >= cols) return wrong_at("ell", "a column is out of range in row ", i);
        return {};
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        for (index_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i)
            for (index_t e = 0; e < columns.cols; ++e)
                if (columns(i, e) >= 0) f(i, columns(i, e), values(i, e));
    }
    template <class Leaf, class Arena>
    result<csr<T, Index, Space>> listed(Leaf const& leaf, Arena& memory) const {
        index_t nonzeros = rows * columns.cols;
        auto const begins = memory.template take<Index>(rows + 1);
        auto const to_columns = memory.template take<Index>(nonzeros);
        auto const to_values = memory.template take<T>(nonzeros);
        if constexpr (host_leaf<Leaf>) {
            (void)leaf;
            Index at = 0;
            begins[0] = 0;
            for (index_t i = 0; i < rows; ++i) {
                for (index_t e = 0; e < columns.cols; ++e)
                    if (columns(i, e) >= 0) to_columns[at] = columns(i, e), to_values[at++] = values(i, e);
                begins[i + 1] = at;
            }
            nonzeros = at;
        } else {
            auto const kernel = [](char const* name) { return list_kernel<T, Index>(name, ell_text, ""); };
            index_t const groups = groups_for_each(rows + 1, 256);
            if (status s = leaf.launch(kernel("count_ell"), groups, columns, begins, rows, columns.cols); !s)
                return s;
            if (status s = scan_numbers<Index>(leaf, begins, rows + 1); !s) return s;
            if (status s = leaf.launch(kernel("list_ell"), groups, columns, values, begins, to_columns,
                                       to_values, rows, columns.cols);
                !s)
                return s;
        }
        return csr<T, Index, Space>{rows, cols, begins, to_columns, to_values, nonzeros, scale, conjugate};
    }
};

// Each group of longest_rows finds the length of the longest of its rows.
inline constexpr char to_ell_text[] = R"(
KERNEL(ITEMS) longest_rows(BUFFER(INDEX const, begins), BUFFER(index, longest), index rows) {
    SHARED ulong length[ITEMS];
    OPEN(INDEX const, begins);
    OPEN(index, longest);
    index mine = 0;
    for (EACH(i, rows)) mine = max(mine, (index)begins[i + 1] - (index)begins[i]);
    length[ITEM] = (ulong)mine;
    BARRIER();
    if (ITEM == 0) {
        for (int w = 1; w < ITEMS; ++w) mine = max(mine, (index)length[w]);
        longest[GROUP] = mine;
    }
}
KERNEL(ITEMS) fill_ell(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                       BUFFER(INDEX, to_columns), BUFFER(IN, to_values), index rows, index width) {
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(INDEX, to_columns);
    OPEN(IN, to_values);
    for (EACH(to, rows * width)) {
        index const i = to / width, at = (index)begins[i] + to % width;
        scalar element = ZERO;
        INDEX column = -1;
        if (at < (index)begins[i + 1]) {
            element = LOAD(IN, values, at);
            column = columns[at];
        }
        to_columns[to] = column;
        STORE(IN, to_values, to, CONVERT(OUT_VALUE, (value)element));
    }
}
)";

// The length of the longest row. On a device, the call waits for it.
template <policy P, class T, class Index>
index_t longest_row(P const& policy, csr<T, Index, typename P::space> const& a) {
    index_t width = 0;
    if constexpr (host_leaf<leaf_of<P>>) {
        (void)policy;
        for (index_t i = 0; i < a.rows; ++i)
            if (index_t const length = a.row_begins[i + 1] - a.row_begins[i]; length > width) width = length;
    } else if (a.rows > 0) {
        auto const leaf = policy.leaf();
        index_t const groups = lesser(groups_for_each(a.rows, 256), 512);
        auto memory = reserve_for(policy, static_cast<std::size_t>(groups) * sizeof(index_t));
        memory.or_throw();
        auto const longest = (*memory)->template take<index_t>(groups);
        std::vector<index_t> found(static_cast<std::size_t>(groups));
        leaf.launch(list_kernel<T, Index>("longest_rows", to_ell_text, ""), groups, a.row_begins, longest,
                    a.rows)
            .or_throw();
        leaf.download(longest, found.data(), groups).or_throw();
        for (index_t const length : found)
            if (length > width) width = length;
    }
    return width;
}

// Of any sparse operand. Rows are side by side.
template <policy P, operand M>
auto to_ell(P const& policy, M const& matrix) {
    auto const x = as_view(matrix);
    using T = typename decltype(x)::value_type;
    using Index = typename decltype(x)::index_type;
    using arena = typename P::arena;
    using space = typename P::space;
    auto const list = by_rows(policy, x);
    auto const a = list.view();
    index_t const width = longest_row(policy, a);
    index_t const room = product_of_sides("to_ell", a.rows, width, sizeof(T) + sizeof(Index));
    auto memory = reserve_for(policy, arena::rounded(static_cast<std::size_t>(room) * sizeof(Index)) +
                                          arena::rounded(static_cast<std::size_t>(room) * sizeof(T)));
    memory.or_throw();
    auto const columns = (*memory)->template take<Index>(room);
    auto const values = (*memory)->template take<T>(room);
    if constexpr (host_leaf<leaf_of<P>>) {
        for (index_t i = 0; i < a.rows; ++i) {
            index_t to = i * width;
            for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at, ++to)
                columns[to] = a.columns[at], values[to] = a.values[at];
            for (; to < (i + 1) * width; ++to) columns[to] = Index(-1), values[to] = T(real_t<T>(0));
        }
    } else if (room > 0) {
        auto const leaf = policy.leaf();
        leaf.launch(list_kernel<T, Index>("fill_ell", to_ell_text, ""), groups_for_each(room, 256),
                    a.row_begins, a.columns, a.values, columns, values, a.rows, width)
            .or_throw();
        leaf.synchronize().or_throw();
    }
    ell<T, Index, space> e(a.cols, view<Index const, space>{columns, a.rows, width, width, 1},
                           view<T const, space>{values, a.rows, width, width, 1});
    e.scale = a.scale, e.conjugate = a.conjugate;
    return owned<ell<T, Index, space>, P>(std::move(*memory), e);
}

STRATAGEMM_END
