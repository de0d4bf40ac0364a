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

// A work-item counts, and then lists, the elements of a row: `width` blocks, of which a row has `side` elements.
// Those of ell have one.
inline constexpr char ell_text[] = R"(
KERNEL(ITEMS) count_ell(MATRIX(INDEX const, from), BUFFER(INDEX, begins), index rows, index width, index side) {
    OPEN(INDEX const, from);
    OPEN(INDEX, begins);
    for (EACH(i, rows + 1)) {
        INDEX count = 0;
        if (i < rows)
            for (index e = 0; e < width; ++e) count += from[AT(from, i / side, e)] >= 0 ? 1 : 0;
        begins[i] = count * (INDEX)side;
    }
}
KERNEL(ITEMS) list_ell(MATRIX(INDEX const, from), MATRIX(IN const, from_values), BUFFER(INDEX const, begins),
                       BUFFER(INDEX, columns), BUFFER(IN, values), index rows, index width, index side) {
    OPEN(INDEX const, from);
    OPEN(IN const, from_values);
    OPEN(INDEX const, begins);
    OPEN(INDEX, columns);
    OPEN(IN, values);
    for (EACH(i, rows)) {
        index at = (index)begins[i];
        for (index e = 0; e < width; ++e) {
            INDEX const j = from[AT(from, i / side, e)];
            for (index w = 0; w < side && j >= 0; ++w, ++at) {
                scalar const element = LOAD(IN, from_values, AT(from_values, i, e * side + w));
                columns[at] = j * (INDEX)side + (INDEX)w;
                STORE(IN, values, at, CONVERT(OUT_VALUE, (value)element));
            }
        }
    }
}
)";

// Calls f(j, element) for each element of row i.
template <class T, class Index, class F>
void each_of_ell(index_t side, view<Index const> const& columns, view<T const> const& values, index_t i,
                 F&& f) {
    for (index_t e = 0; e < columns.cols; ++e)
        if (index_t const block = columns(i / side, e); block >= 0)
            for (index_t w = 0; w < side; ++w) f(block * side + w, values(i, e * side + w));
}

// The list of a matrix whose rows, or rows of blocks, have the same room.
template <class T, class Index, class Space, class Leaf, class Arena>
result<csr<T, Index, Space>> list_ell(Leaf const& leaf, Arena& memory, index_t cols, index_t side,
                                      view<Index const, Space> const& columns,
                                      view<T const, Space> const& values) {
    index_t const rows = values.rows, width = columns.cols;
    index_t nonzeros = rows * values.cols;
    auto const begins = memory.template take<Index>(rows + 1);
    auto const to_columns = memory.template take<Index>(nonzeros);
    auto const to_values = memory.template take<T>(nonzeros);
    if constexpr (host_leaf<Leaf>) {
        (void)leaf;
        Index at = 0;
        begins[0] = 0;
        for (index_t i = 0; i < rows; ++i) {
            each_of_ell(side, columns, values, i, [&](index_t j, T const& element) {
                to_columns[at] = static_cast<Index>(j), to_values[at++] = element;
            });
            begins[i + 1] = at;
        }
        nonzeros = at;
    } else {
        auto const kernel = [](char const* name) { return list_kernel<T, Index>(name, ell_text, ""); };
        index_t const groups = groups_for_each(rows + 1, 256);
        // Without elements the kernel reads nothing of columns, but a launch needs memory there.
        view<Index const, Space> const from =
            nonzeros > 0 ? columns : view<Index const, Space>{begins, 0, 0, 1, 1};
        if (status s = leaf.launch(kernel("count_ell"), groups, from, begins, rows, width, side); !s)
            return s;
        if (nonzeros == 0) return csr<T, Index, Space>{rows, cols, begins, to_columns, to_values};
        if (status s = scan_numbers<Index>(leaf, begins, rows + 1); !s) return s;
        if (status s = leaf.launch(kernel("list_ell"), groups, columns, values, begins, to_columns, to_values,
                                   rows, width, side);
            !s)
            return s;
    }
    return csr<T, Index, Space>{rows, cols, begins, to_columns, to_values, nonzeros};
}

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
        if (!can_count<Index>(rows, columns.cols))
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
            each_of_ell(1, columns, values, i, [&](index_t j, T const& element) { f(i, j, element); });
    }
    template <class Leaf, class Arena>
    result<csr<T, Index, Space>> listed(Leaf const& leaf, Arena& memory) const {
        auto list = list_ell<T, Index, Space>(leaf, memory, cols, 1, columns, values);
        if (list) list->scale = scale, list->conjugate = conjugate;
        return list;
    }
};

static_assert(sparse_operand<ell<float>>);

// Each group of longest_lines finds the length of the longest of its lines. A line of fill_ell is a row of blocks.
inline constexpr char to_ell_text[] = R"(
KERNEL(ITEMS) longest_lines(BUFFER(INDEX const, begins), BUFFER(index, longest), index lines) {
    SHARED ulong length[ITEMS];
    OPEN(INDEX const, begins);
    OPEN(index, longest);
    index mine = 0;
    for (EACH(i, lines)) mine = max(mine, (index)begins[i + 1] - (index)begins[i]);
    length[ITEM] = (ulong)mine;
    BARRIER();
    if (ITEM == 0) {
        for (int w = 1; w < ITEMS; ++w) mine = max(mine, (index)length[w]);
        longest[GROUP] = mine;
    }
}
KERNEL(ITEMS) fill_ell(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                       BUFFER(INDEX, to_columns), BUFFER(IN, to_values), index lines, index width, index side) {
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(INDEX, to_columns);
    OPEN(IN, to_values);
    for (EACH(to, lines * width)) {
        index const line = to / width, at = (index)begins[line] + to % width;
        to_columns[to] = at < (index)begins[line + 1] ? columns[at] : -1;
    }
    for (EACH(to, lines * width * side * side)) {
        index const i = to / (width * side), j = to % (width * side);
        index const line = i / side, at = (index)begins[line] + j / side;
        scalar element = ZERO;
        if (at < (index)begins[line + 1]) element = LOAD(IN, values, (at * side + i % side) * side + j % side);
        STORE(IN, to_values, to, CONVERT(OUT_VALUE, (value)element));
    }
}
)";

// The length of the longest line. On a device, the call waits for it.
template <class T, class Index, policy P>
index_t longest_line(P const& policy, typename P::space::template handle<Index const> begins, index_t lines) {
    index_t width = 0;
    if constexpr (host_leaf<leaf_of<P>>) {
        (void)policy;
        for (index_t i = 0; i < lines; ++i)
            if (index_t const length = begins[i + 1] - begins[i]; length > width) width = length;
    } else if (lines > 0) {
        auto const leaf = policy.leaf();
        index_t const groups = lesser(groups_for_each(lines, 256), 512);
        auto memory = reserve_for(policy, static_cast<std::size_t>(groups) * sizeof(index_t));
        memory.or_throw();
        auto const longest = (*memory)->template take<index_t>(groups);
        std::vector<index_t> found(static_cast<std::size_t>(groups));
        leaf.launch(list_kernel<T, Index>("longest_lines", to_ell_text, ""), groups, begins, longest, lines)
            .or_throw();
        leaf.download(longest, found.data(), groups).or_throw();
        for (index_t const length : found)
            if (length > width) width = length;
    }
    return width;
}

// Lines of blocks, one behind the other as bsr has them, with the same room for each line, side by side.
template <policy P, class T, class Index>
struct ell_room {
    using space = typename P::space;
    using arena = typename P::arena;
    template <class X>
    using handle = typename space::template handle<X>;

    shared<arena> memory;
    view<Index const, space> columns;
    view<T const, space> values;

    ell_room(P const& policy, index_t lines, index_t side, handle<Index const> begins,
             handle<Index const> from_columns, handle<T const> from_values) {
        index_t const width = longest_line<T, Index>(policy, begins, lines), line = width * side;
        index_t const blocks = product_of_sides("to_ell", lines, width, sizeof(Index)),
                      room = product_of_sides("to_ell", lines * side, line, sizeof(T));
        if (!can_count<Index>(room))
            raise(error(errc::overflow, "to_ell: there are more elements than the indices can count"));
        auto made = reserve_for(policy, arena::rounded(static_cast<std::size_t>(blocks) * sizeof(Index)) +
                                            arena::rounded(static_cast<std::size_t>(room) * sizeof(T)));
        made.or_throw();
        memory = std::move(*made);
        auto const to_columns = memory->template take<Index>(blocks);
        auto const to_values = memory->template take<T>(room);
        columns = {to_columns, lines, width, width, 1};
        values = {to_values, lines * side, line, line, 1};
        if constexpr (host_leaf<leaf_of<P>>) {
            for (index_t i = 0; i < lines * side; ++i)
                for (index_t e = 0; e < width; ++e) {
                    index_t const at = begins[i / side] + e;
                    bool const there = at < begins[i / side + 1];
                    to_columns[i / side * width + e] = there ? from_columns[at] : Index(-1);
                    for (index_t w = 0; w < side; ++w)
                        to_values[i * line + e * side + w] =
                            there ? from_values[(at * side + i % side) * side + w] : T(real_t<T>(0));
                }
        } else if (room > 0) {
            auto const leaf = policy.leaf();
            leaf.launch(list_kernel<T, Index>("fill_ell", to_ell_text, ""), groups_for_each(room, 256),
                        begins, from_columns, from_values, to_columns, to_values, lines, width, side)
                .or_throw();
            leaf.synchronize().or_throw();
        }
    }
};

// Converts any sparse operand. Rows of the result are side by side.
template <policy P, operand M>
auto to_ell(P const& policy, M const& matrix) {
    auto const x = as_view(matrix);
    using T = typename decltype(x)::value_type;
    using Index = typename decltype(x)::index_type;
    using space = typename P::space;
    auto const list = values_by_rows(policy, x);
    auto const a = list.view();
    ell_room<P, T, Index> const to(policy, a.rows, 1, a.row_begins, a.columns, a.values);
    ell<T, Index, space> e(a.cols, to.columns, to.values);
    e.scale = a.scale, e.conjugate = a.conjugate;
    return owned<ell<T, Index, space>, P>(to.memory, e);
}

STRATAGEMM_END
