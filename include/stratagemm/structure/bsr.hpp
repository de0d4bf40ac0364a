// Sparse matrices of square blocks (BSR).
//
//   sg::bsr<float> a{m, k, side, block_begins, block_columns, values, blocks};   borrows the arrays
//   sg::gemm(cpu, a, b, c);
//   auto b = sg::to_bsr(gpu, csr, 4);                  of any sparse operand
//
// Rows [i * side, (i + 1) * side) have the blocks [block_begins[i], block_begins[i + 1]). Block x begins with column
// block_columns[x] * side, and has values[x * side * side], ..., by rows. All elements of a block are multiplied,
// zeros as well. The side of the blocks divides the sides of the matrix.
//
// On CUDA devices of sm_90a, products A B in half and bfloat16 with blocks of side 16, 32 or 64 run on the tensor
// cores if the columns of B have stride 1, and the values and the rows of B begin at multiples of 16 bytes. Every
// other product lists the blocks by rows, and multiplies them as a csr.
#pragma once

#include "../core/list.hpp"
#include "bsr/warpgroups.hpp"
#include "csr.hpp"
#include "csr/union.hpp"

#include <algorithm>

STRATAGEMM_BEGIN

template <policy P>
class bsr_product;

template <class T, class Index>
struct bsr_form {
    using value_type = T;
    using index_type = Index;
    static constexpr bool has_facts = true, is_sparse = true;
    template <class P>
    requires P::is_backend using over = bsr_product<P>;

    index_t nonzeros = 0, side = 1;
    bool conjugate = false;

    turned_form<bsr_form> transposed() const { return {*this, false}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t) const {
        return bytes_of_lists<Arena, T, Index>(rows, nonzeros);
    }
    index_t most(index_t, index_t) const { return nonzeros; }
    index_t likely(index_t, index_t) const { return nonzeros; }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return "bsr, listed first; "; }
};

inline constexpr char bsr_text[] = R"(
KERNEL(ITEMS) list_bsr(BUFFER(INDEX const, block_begins), BUFFER(INDEX const, block_columns),
                       BUFFER(IN const, from_values), BUFFER(INDEX, begins), BUFFER(INDEX, columns),
                       BUFFER(IN, values), index lines, index blocks, index side) {
    OPEN(INDEX const, block_begins);
    OPEN(INDEX const, block_columns);
    OPEN(IN const, from_values);
    OPEN(INDEX, begins);
    OPEN(INDEX, columns);
    OPEN(IN, values);
    for (EACH(i, lines * side + 1)) {
        index const line = i / side;
        index const before = (index)block_begins[line] * side * side;
        begins[i] = (INDEX)before;
        if (line < lines)
            begins[i] = (INDEX)(before + i % side * ((index)block_begins[line + 1] - block_begins[line]) * side);
    }
    for (EACH(x, blocks * side * side)) {
        index const block = x / (side * side), row = x / side % side, column = x % side;
        index low = 0, high = lines; /* block_begins[low] <= block < block_begins[high] */
        while (high - low > 1) {
            index const middle = (low + high) / 2;
            if ((index)block_begins[middle] <= block)
                low = middle;
            else
                high = middle;
        }
        index const first = (index)block_begins[low], in_line = (index)block_begins[low + 1] - first;
        index const at = first * side * side + row * in_line * side + (block - first) * side + column;
        scalar const element = LOAD(IN, from_values, x);
        columns[at] = (INDEX)((index)block_columns[block] * side + column);
        STORE(IN, values, at, CONVERT(OUT_VALUE, (value)element));
    }
}
)";

template <class T, class Index = std::int32_t, class Space = host_memory>
struct bsr {
    using value_type = T;
    using space = Space;
    using form = bsr_form<T, Index>;
    using index_type = Index;
    static constexpr int most_views = 3;

    index_t rows = 0, cols = 0, side = 1;
    typename Space::template handle<Index const> block_begins{}; // rows / side + 1
    typename Space::template handle<Index const> block_columns{};
    typename Space::template handle<T const> values{};
    index_t blocks = 0;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    index_t nonzeros() const { return blocks * side * side; }
    // Block x begins in row x * side.
    view<T const, Space> stored_blocks() const { return {values, blocks * side, side, side, 1}; }
    form facts() const { return {nonzeros(), side, conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        index_t const lines = side > 0 ? rows / side : 0;
        f(view<Index const, Space>{block_begins, 1, lines + 1, lines + 1, 1});
        f(view<Index const, Space>{block_columns, 1, blocks, blocks, 1});
        f(view<T const, Space>{values, 1, nonzeros(), nonzeros(), 1});
    }
    turned<bsr> transposed() const { return turn(*this); }
    status usable() const {
        if (side < 1 || rows % side != 0 || cols % side != 0)
            return failure(errc::shape, "bsr: the side of the blocks must divide the sides of the matrix");
        index_t elements = 0;
        if (__builtin_mul_overflow(blocks, side, &elements) ||
            __builtin_mul_overflow(elements, side, &elements) || !can_count<Index>(elements))
            return failure(errc::overflow, "bsr: there are more elements than the indices can count");
        return {};
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = usable(); !s) return s;
        if (status s = check_begins("bsr", "block_begins", block_begins, rows / side, blocks); !s) return s;
        return check_range_of("bsr", "a column of blocks", block_columns, blocks, cols / side);
    }
    template <class Leaf, class Arena>
    result<csr<T, Index, Space>> listed(Leaf const& leaf, Arena& memory) const {
        index_t const lines = rows / side;
        auto const begins = memory.template take<Index>(rows + 1);
        auto const columns = memory.template take<Index>(nonzeros());
        auto const to_values = memory.template take<T>(nonzeros());
        if constexpr (host_leaf<Leaf>) {
            (void)leaf;
            index_t at = 0;
            begins[0] = 0;
            for (index_t i = 0; i < rows; ++i) {
                for (index_t x = block_begins[i / side]; x < block_begins[i / side + 1]; ++x)
                    for (index_t j = 0; j < side; ++j, ++at) {
                        columns[at] = static_cast<Index>(block_columns[x] * side + j);
                        to_values[at] = values[(x * side + i % side) * side + j];
                    }
                begins[i + 1] = static_cast<Index>(at);
            }
        } else {
            index_t const work = nonzeros() > rows ? nonzeros() : rows + 1;
            status s = leaf.launch(list_kernel<T, Index>("list_bsr", bsr_text, ""),
                                   groups_for_each(work, 256), block_begins, block_columns, values, begins,
                                   columns, to_values, lines, blocks, side);
            if (!s) return s;
        }
        return csr<T, Index, Space>{rows, cols, begins, columns, to_values, nonzeros(), scale, conjugate};
    }
};
static_assert(sparse_operand<bsr<float>>);

// Products of bsr and blocked_ell: products whose blocks on the left stay blocks, and those of csr_product.
template <policy P>
class bsr_product : public csr_product<P> {
    template <class S>
    bool may_stay_blocks(S const& s) const {
        if constexpr (requires { s.a_facts.side; })
            return has_bsr_kernel<typename P::space, typename S::a_type>(this->leaf(), s.a_facts.side);
        else
            return false;
    }

public:
    using typename csr_product<P>::arena;
    using csr_product<P>::csr_product;

    // Tensor cores truncate where other units round, about once for 16 terms.
    template <class S>
    bound error_bound(S const& s) const {
        bound b = csr_product<P>::error_bound(s);
        if (may_stay_blocks(s))
            b = {2 * b.worst, b.expected + static_cast<double>(s.k) / 16 * unit_roundoff<float>()};
        return b;
    }
    // The estimate for blocks is roughly what was measured on an H200 with a tenth of the blocks
    // (bench/results/sparse-h200.txt).
    template <class S>
    double estimate(S const& s) const {
        if constexpr (requires { s.a_facts.side; } && warpgroup_leaf<leaf_of<P>, typename P::space>)
            if (may_stay_blocks(s)) {
                index_t const side = s.a_facts.side;
                double const rate = side == 16 ? 60e12 : side == 32 ? 180e12 : 390e12;
                return 2 * static_cast<double>(s.a_facts.most(s.m, s.k)) * static_cast<double>(s.n) /
                           (rate / 132 * this->leaf().warpgroup_units()) +
                       5e-6;
            }
        return csr_product<P>::estimate(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        std::string text;
        if constexpr (requires { s.a_facts.side; })
            if (may_stay_blocks(s))
                text = "blocks of " + std::to_string(s.a_facts.side) +
                       " on the tensor cores, if the rows of B begin at multiples of 16 bytes; otherwise ";
        return text + csr_product<P>::describe(s);
    }
    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (csr_product<P>::template ends_narrower<Q> && !csr_product<P>::on_host)
            return this->multiply_before_epilogue(*this, p, memory);
        if constexpr (requires { p.a.side; } &&
                      may_have_bsr_kernel<leaf_of<P>, typename P::space, typename Q::a_type>)
            if (stays_blocks(p)) {
                for (index_t i = 0; i < p.count; ++i) {
                    auto one = p.at(i);
                    one.alpha = scaled_by(p.alpha, p.a.scale);
                    if (status s = multiply_bsr(this->leaf(), one); !s) return s;
                    if (status s = apply_to_c(this->leaf(), one); !s) return s;
                }
                return {};
            }
        return csr_product<P>::operator()(p, memory);
    }

private:
    template <class Q>
    bool stays_blocks(Q const& p) const {
        if (!has_bsr_kernel<typename P::space, typename Q::a_type>(this->leaf(), p.a.side)) return false;
        for (index_t i = 0; i < p.count; ++i)
            if (auto const one = p.at(i); !can_fetch(one.a, one.b)) return false;
        return true;
    }
};

// A work-item adds the elements of a row to the blocks, which are zero at first.
inline constexpr char to_bsr_text[] = R"(
KERNEL(ITEMS) fill_bsr(BUFFER(INDEX const, begins), BUFFER(INDEX const, columns), BUFFER(IN const, values),
                       BUFFER(INDEX const, block_begins), BUFFER(INDEX const, block_columns),
                       BUFFER(IN, to_values), index rows, index side, scalar none) {
    OPEN(INDEX const, begins);
    OPEN(INDEX const, columns);
    OPEN(IN const, values);
    OPEN(INDEX const, block_begins);
    OPEN(INDEX const, block_columns);
    OPEN(IN, to_values);
    for (EACH(i, rows))
        for (int adds = 0; adds < 2; ++adds) /* the sums are `none` first */
            for (index at = (index)begins[i]; at < (index)begins[i + 1]; ++at) {
                index const j = (index)columns[at];
                index block = (index)block_begins[i / side], end = (index)block_begins[i / side + 1];
                while (end - block > 1) { /* block_columns[block] <= j / side */
                    index const middle = (block + end) / 2;
                    if ((index)block_columns[middle] <= j / side)
                        block = middle;
                    else
                        end = middle;
                }
                index const to = (block * side + i % side) * side + j % side;
                scalar element = none;
                if (adds) {
                    scalar const one = LOAD(IN, values, at), before = LOAD(IN, to_values, to);
                    element = before + one;
                }
                STORE(IN, to_values, to, CONVERT(OUT_VALUE, (value)element));
            }
}
)";

// Memory for the arrays of a BSR matrix, which are to be written.
template <policy P, class T, class Index>
struct bsr_room {
    using space = typename P::space;
    using arena = typename P::arena;

    index_t elements = 0;
    shared<arena> memory;
    typename space::template handle<Index> begins, columns;
    typename space::template handle<T> values;

    bsr_room(P const& policy, index_t lines, index_t blocks, index_t side) {
        elements = product_of_sides("to_bsr", product_of_sides("to_bsr", blocks, side, 1), side, sizeof(T));
        if (!can_count<Index>(elements))
            raise(error(errc::overflow, "to_bsr: there are more elements than the indices can count"));
        auto const bytes = [](index_t n, std::size_t size) {
            return arena::rounded(static_cast<std::size_t>(n) * size);
        };
        auto made = reserve_for(policy, bytes(lines + 1, sizeof(Index)) + bytes(blocks, sizeof(Index)) +
                                            bytes(elements, sizeof(T)));
        made.or_throw();
        memory = std::move(*made);
        begins = memory->template take<Index>(lines + 1);
        columns = memory->template take<Index>(blocks);
        values = memory->template take<T>(elements);
    }
};

template <policy P, class T, class Index>
owned<bsr<T, Index>, P> blocks_on_host(P const& policy, csr<T, Index> const& a, index_t side) {
    using S = accumulator_t<T>;
    index_t const lines = a.rows / side, across = a.cols / side;
    list<index_t> last; // the block of each column of blocks in this row of blocks, and one more
    if (!last.resize(static_cast<std::size_t>(across)))
        raise(error(errc::memory, "to_bsr: no host memory is left"));
    auto const each_block = [&](index_t line, auto&& f) {
        for (index_t at = a.row_begins[line * side]; at < a.row_begins[(line + 1) * side]; ++at)
            f(at, static_cast<std::size_t>(a.columns[at] / side));
    };
    // A mark is beyond the blocks of the rows before.
    index_t blocks = 0;
    for (index_t line = 0; line < lines; ++line) {
        index_t const before = blocks;
        each_block(line, [&](index_t, std::size_t j) {
            if (last[j] <= before) last[j] = ++blocks;
        });
    }
    bsr_room<P, T, Index> const to(policy, lines, blocks, side);
    for (index_t at = 0; at < to.elements; ++at) to.values[at] = T(real_t<T>(0));
    for (index_t& mark : last) mark = 0;
    blocks = 0, to.begins[0] = 0;
    for (index_t line = 0; line < lines; ++line) {
        index_t const before = blocks;
        each_block(line, [&](index_t, std::size_t j) {
            if (last[j] <= before) last[j] = blocks + 1, to.columns[blocks++] = static_cast<Index>(j);
        });
        std::sort(to.columns + before, to.columns + blocks);
        for (index_t at = before; at < blocks; ++at) last[static_cast<std::size_t>(to.columns[at])] = at + 1;
        for (index_t i = 0; i < side; ++i) {
            auto const each_element = [&](auto&& f) {
                for (index_t at = a.row_begins[line * side + i]; at < a.row_begins[line * side + i + 1];
                     ++at) {
                    index_t const block = last[static_cast<std::size_t>(a.columns[at] / side)] - 1;
                    f(to.values[(block * side + i) * side + a.columns[at] % side], at);
                }
            };
            each_element([](T& one, index_t) { one = static_cast<T>(no_sum<S>()); });
            each_element([&](T& one, index_t at) {
                one = static_cast<T>(sum_of_two(static_cast<S>(one), static_cast<S>(a.values[at])));
            });
        }
        to.begins[line + 1] = static_cast<Index>(blocks);
    }
    return {to.memory,
            {a.rows, a.cols, side, to.begins, to.columns, to.values, blocks, a.scale, a.conjugate}};
}

template <policy P, class T, class Index>
owned<bsr<T, Index, typename P::space>, P>
blocks_on_device(P const& policy, csr<T, Index, typename P::space> const& a, index_t side) {
    auto const leaf = policy.leaf();
    index_t const lines = a.rows / side;
    auto scratch = reserve_for(policy, static_cast<std::size_t>(room_for_unions(lines)) * sizeof(index_t));
    scratch.or_throw();
    auto const counts = (*scratch)->template take<index_t>(room_for_unions(lines));
    union_lines const unions{
        .of_product = false,
        .count = lines,
        .across = a.cols / side,
        .average = lines == 0 ? 0 : static_cast<double>(a.nonzeros) / static_cast<double>(lines)};
    auto found = count_unions<Index>(leaf, unions, counts, a.row_begins, a.columns, side);
    found.or_throw();
    bsr_room<P, T, Index> to(policy, lines, *found, side);
    list_unions<Index>(leaf, unions, counts, to.begins, to.columns, a.row_begins, a.columns, side).or_throw();
    index_t const row = side * side;
    leaf.fill(view<T, typename P::space>{to.values, *found, row, row, 1}, T(real_t<T>(0))).or_throw();
    leaf.launch(list_kernel<T, Index>("fill_bsr", to_bsr_text, ""), groups_for_each(a.rows, 256),
                a.row_begins, a.columns, a.values, to.begins, to.columns, to.values, a.rows, side,
                no_sum<accumulator_t<T>>())
        .or_throw();
    leaf.synchronize().or_throw();
    return {to.memory,
            {a.rows, a.cols, side, to.begins, to.columns, to.values, *found, a.scale, a.conjugate}};
}

// Converts any sparse operand: the result has the blocks with an element, and zeros beside the elements. Elements of
// one place add up.
template <policy P, operand M>
auto to_bsr(P const& policy, M const& matrix, index_t side) {
    auto const x = as_view(matrix);
    using T = typename decltype(x)::value_type;
    using Index = typename decltype(x)::index_type;
    using space = typename P::space;
    bsr<T, Index, space>{x.rows, x.cols, side}.usable().or_throw();
    auto const list = values_by_rows(policy, x);
    if constexpr (host_leaf<leaf_of<P>>)
        return blocks_on_host(policy, list.view(), side);
    else
        return blocks_on_device(policy, list.view(), side);
}

STRATAGEMM_END
