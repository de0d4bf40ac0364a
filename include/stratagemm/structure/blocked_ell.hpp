// Sparse matrices of square blocks, with the same number of blocks in each row of blocks (blocked ELL).
//
//   sg::blocked_ell<float> a(k, side, sg::row_major(block_columns, m / side, width),
//                            sg::row_major(values, m, width * side));             borrows the arrays
//   sg::gemm(cpu, a, b, c);
//   auto e = sg::to_blocked_ell(gpu, csr, 32);       of any sparse operand; as wide as its longest row of blocks
//
// Block e of row l of blocks begins with column block_columns(l, e) * side, and its elements are
// values(l * side + i, e * side + j): the layout of cuSPARSE. A negative column is padding, and only padding is
// behind it. Padding is not multiplied, whatever its values are; all elements of a block are. The side of the
// blocks divides the sides of the matrix.
//
// On CUDA devices of sm_90a, products A B in half and bfloat16 with blocks of side 16, 32 or 64 run on the tensor
// cores as those of bsr do, if the columns of the values also have stride 1, and their rows begin at multiples of
// 16 bytes.
#pragma once

#include "bsr.hpp"
#include "ell.hpp"

STRATAGEMM_BEGIN

template <class T, class Index>
struct blocked_ell_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = true;
    template <class P>
    requires P::is_backend using over = bsr_product<P>;

    index_t width = 0, side = 1; // blocks in a row of blocks
    bool conjugate = false;

    turned_form<blocked_ell_form> transposed() const { return {*this, false}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t cols) const {
        return bytes_of_lists<Arena, T, Index>(rows, most(rows, cols));
    }
    index_t most(index_t rows, index_t) const { return rows * width * side; }
    index_t likely(index_t rows, index_t cols) const { return most(rows, cols); }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return "blocked ell, listed first; "; }
};

template <class T, class Index = std::int32_t, class Space = host_memory>
struct blocked_ell {
    using value_type = T;
    using space = Space;
    using form = blocked_ell_form<T, Index>;
    using index_type = Index;
    static constexpr int most_views = 2;

    index_t rows = 0, cols = 0, side = 1;
    view<Index const, Space> block_columns{};
    view<T const, Space> values{};
    accumulator_t<T> scale{1};
    bool conjugate = false;

    blocked_ell() = default;
    blocked_ell(index_t cols_, index_t side_, view<Index const, Space> const& block_columns_,
                view<T const, Space> const& values_)
        : rows(values_.rows), cols(cols_), side(side_), block_columns(block_columns_), values(values_) {}

    index_t nonzeros() const { return values.rows * values.cols; } // with padding
    view<T const, Space> stored_blocks() const { return values; }
    form facts() const { return {block_columns.cols, side, conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        f(block_columns);
        f(values);
    }
    turned<blocked_ell> transposed() const { return turn(*this); }
    status usable() const {
        if (side < 1 || rows % side != 0 || cols % side != 0)
            return failure(errc::shape,
                           "blocked_ell: the side of the blocks must divide the sides of the matrix");
        if (values.rows != rows || block_columns.rows != rows / side || values.cols % side != 0 ||
            values.cols / side != block_columns.cols)
            return failure(errc::shape, "blocked_ell: values must have `side` times the rows and the columns "
                                        "of block_columns");
        if (!can_count<Index>(rows, values.cols))
            return failure(errc::overflow, "blocked_ell: there are more elements than the indices can count");
        return {};
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = usable(); !s) return s;
        for (index_t l = 0; l < block_columns.rows; ++l)
            for (index_t e = 0; e < block_columns.cols; ++e) {
                Index const column = block_columns(l, e);
                if (column >= cols / side)
                    return wrong_at("blocked_ell", "a column of blocks is out of range in row of blocks ", l);
                if (column >= 0 && e > 0 && block_columns(l, e - 1) < 0)
                    return wrong_at("blocked_ell", "a block is behind padding in row of blocks ", l);
            }
        return {};
    }
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        for (index_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i)
            each_of_ell(side, block_columns, values, i,
                        [&](index_t j, T const& element) { f(i, j, element); });
    }
    template <class Leaf, class Arena>
    result<csr<T, Index, Space>> listed(Leaf const& leaf, Arena& memory) const {
        auto list = list_ell<T, Index, Space>(leaf, memory, cols, side, block_columns, values);
        if (list) list->scale = scale, list->conjugate = conjugate;
        return list;
    }
};

static_assert(sparse_operand<blocked_ell<float>>);

// Converts any sparse operand: the result has the blocks with an element, as to_bsr() has them. A bsr with blocks of
// that side keeps its blocks.
template <policy P, operand M>
auto to_blocked_ell(P const& policy, M const& matrix, index_t side) {
    auto const x = as_view(matrix);
    using T = typename decltype(x)::value_type;
    using Index = typename decltype(x)::index_type;
    using space = typename P::space;
    auto const padded = [&](bsr<T, Index, space> const& b) {
        ell_room<P, T, Index> const to(policy, b.rows / side, side, b.block_begins, b.block_columns,
                                       b.values);
        blocked_ell<T, Index, space> e(b.cols, side, to.columns, to.values);
        e.scale = b.scale, e.conjugate = b.conjugate;
        return owned<blocked_ell<T, Index, space>, P>(to.memory, e);
    };
    if constexpr (std::is_same_v<std::remove_const_t<decltype(x)>, bsr<T, Index, space>>)
        if (x.side == side) {
            x.usable().or_throw();
            return padded(x);
        }
    auto const blocks = to_bsr(policy, matrix, side);
    return padded(blocks.view());
}

STRATAGEMM_END
