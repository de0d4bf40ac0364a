// An operand whose elements are widened: certificates multiply it by random vectors in double.
//
// widened_operand<X, W> has, for operands X that it is defined for,
//   bytes<Arena, Leaf>(x)       workspace that it takes
//   made(leaf, arena, x)        the operand with elements of type W, in that workspace
// One that is W already is multiplied as it is. A view is not here: its lines are widened some at a time (range.hpp).
#pragma once

#include "../csr.hpp"
#include "../factored.hpp"
#include "../sketch/signs.hpp"
#include "../toeplitz.hpp"

STRATAGEMM_BEGIN

template <class X, class W>
struct widened_operand;
template <class X, class W>
concept can_be_widened = std::is_same_v<typename X::value_type, W> || requires(X const& x) {
    sizeof(widened_operand<X, W>);
};

template <class W, class Arena>
std::size_t bytes_of_widened(index_t count) {
    return Arena::rounded(static_cast<std::size_t>(count) * sizeof(W));
}

// Any sparse format is listed by rows first.
template <sparse_operand X, class W>
requires(!std::is_same_v<typename X::value_type, W>) struct widened_operand<X, W> {
    using T = typename X::value_type;
    using index_type = typename X::index_type;

    template <class Arena, class Leaf>
    static std::size_t bytes(X const& x) {
        return x.facts().template bytes<Arena, Leaf>(x.rows, x.cols) +
               bytes_of_widened<W, Arena>(x.facts().most(x.rows, x.cols));
    }
    template <class Leaf, class Arena>
    static auto made(Leaf const& leaf, Arena& memory, X const& x) {
        using space = typename space_of_arena<Arena>::type;
        using wide = csr<W, index_type, space>;
        auto list = x.listed(leaf, memory);
        if (!list) return result<wide>(list.take_status());
        wide to{list->rows, list->cols, list->row_begins, list->columns};
        to.nonzeros = list->nonzeros, to.scale = static_cast<W>(list->scale), to.conjugate = list->conjugate;
        auto const values = memory.template take<W>(list->nonzeros);
        view<W, space> const there{values, 1, list->nonzeros, list->nonzeros, 1};
        to.values = values;
        status s;
        if constexpr (requires { list->values; })
            s = leaf.copy(view<T const, space>{list->values, 1, list->nonzeros, list->nonzeros, 1}, there);
        else
            s = leaf.fill(there, W(real_t<W>(1)));
        if (!s) return result<wide>(std::move(s));
        return result<wide>(to);
    }
};

template <class T, class Space, class W>
requires(!std::is_same_v<T, W>) struct widened_operand<factored<T, Space>, W> {
    template <class Arena, class>
    static std::size_t bytes(factored<T, Space> const& x) {
        return bytes_of_widened<W, Arena>(x.rows * x.left.cols) +
               bytes_of_widened<W, Arena>(x.left.cols * x.cols);
    }
    template <class Leaf, class Arena>
    static result<factored<W, Space>> made(Leaf const& leaf, Arena& memory, factored<T, Space> const& x) {
        auto const wide = [&](view<T const, Space> const& from) {
            return view<W, Space>{memory.template take<W>(from.rows * from.cols), from.rows, from.cols,
                                  from.cols, 1};
        };
        auto const u = wide(x.left), v = wide(x.right);
        if (status s = leaf.copy(x.left, u); !s) return s;
        if (status s = leaf.copy(x.right, v); !s) return s;
        factored<W, Space> to(u, v);
        to.scale = static_cast<W>(x.scale), to.conjugate = x.conjugate;
        return to;
    }
};

template <class T, class Space, toeplitz_way Way, class W>
requires(!std::is_same_v<T, W>) struct widened_operand<toeplitz_matrix<T, Space, Way>, W> {
    using operand_type = toeplitz_matrix<T, Space, Way>;
    using wide = toeplitz_matrix<W, Space, Way>;

    template <class Arena, class>
    static std::size_t bytes(operand_type const& x) {
        index_t const block = x.block_rows() * x.block_cols();
        return bytes_of_widened<W, Arena>(x.runs[0].count * block) +
               bytes_of_widened<W, Arena>(x.runs[1].count * block);
    }
    template <class Leaf, class Arena>
    static result<wide> made(Leaf const& leaf, Arena& memory, operand_type const& x) {
        wide to;
        to.rows = x.rows, to.cols = x.cols, to.is_hankel = x.is_hankel;
        to.scale = static_cast<W>(x.scale), to.conjugate = x.conjugate;
        for (int i = 0; i < 2; ++i) {
            auto const& run = x.runs[i];
            auto const& block = run.first;
            auto const data = memory.template take<W>(run.count * block.rows * block.cols);
            view<W, Space> const first{data, block.rows, block.cols, block.cols, 1};
            index_t const step = block.rows * block.cols;
            to.runs[i] = {first, run.count, step}, to.zeros[i] = x.zeros[i];
            if (step == 1) { // elements beside each other
                auto from = block;
                from.cols = run.count, from.col_stride = run.stride;
                if (status s = leaf.copy(from, view<W, Space>{data, 1, run.count, run.count, 1}); !s)
                    return s;
                continue;
            }
            for (index_t b = 0; b < run.count; ++b)
                if (status s = leaf.copy(block.moved(b * run.stride), first.moved(b * step)); !s) return s;
        }
        return to;
    }
};

STRATAGEMM_END
