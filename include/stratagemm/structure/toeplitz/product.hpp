// Direct products with a Toeplitz matrix: dense products of a policy P, whose operand is a view of the sequence of
// diagonals. Rows of that view overlap: each begins one element further on, or one back.
//
// A matrix of p x q blocks is p such views (each has one row of every block), or a view for each row of blocks.
#pragma once

#include "../../core/layer.hpp"
#include "pair.hpp"
#include "vectors.hpp"

STRATAGEMM_BEGIN

// The product by dense products that have `lines` rows of C each, `every` rows apart; `groups` of them make C.
struct toeplitz_division {
    index_t groups, lines, every;
    index_t step; // rows of C from one group to the next
};
// The fewest and largest products; by rows of blocks where an epilogue has to see rows that follow one another.
inline toeplitz_division divide_toeplitz(index_t block_rows, index_t rows, bool finishes) {
    index_t const blocks = rows / block_rows;
    if (block_rows > 1 && (finishes || blocks < block_rows)) return {blocks, block_rows, 1, block_rows};
    return {block_rows, blocks, block_rows, 1};
}

// Lines of A: those of a group, as a view of the sequence. Lines of the next group begin `step` elements later.
template <class A>
index_t step_of_groups(A const& a, toeplitz_division const& d) {
    index_t const block = a.block_cols() * a.row().col_stride;
    bool const by_rows_of_blocks = d.every == 1 && d.groups > 1;
    return by_rows_of_blocks ? (a.is_hankel ? block : -block) : a.row().row_stride;
}
template <class A>
auto overlapping_lines(A const& a, toeplitz_division const& d, index_t group) {
    auto v = a.row();
    index_t const block = a.block_cols() * v.col_stride,
                  first = a.is_hankel ? 0 : (a.rows_of_blocks() - 1) * block;
    v.data = v.data + (first + group * step_of_groups(a, d));
    v.rows = d.lines, v.cols = a.cols;
    if (d.every > 1 || d.lines > a.block_rows()) v.row_stride = a.is_hankel ? block : -block;
    v.conjugate = a.conjugate;
    return v;
}

// Copies the sequence of blocks, side by side, into workspace; then it is the only run.
template <policy P, class A>
status gather_sequence(P const& policy, A& a, typename P::arena& memory) {
    using T = typename A::value_type;
    using space = typename P::space;
    index_t const p = a.block_rows(), q = a.block_cols(), length = a.length(), all = length * q;
    auto const to = memory.template take<T>(p * all);
    auto const leaf = policy.leaf();
    for (index_t const from : {index_t{0}, length - a.zeros[1]})
        if (index_t const count = a.zeros[from > 0]; count > 0)
            if (status s = leaf.fill(view<T, space>{to + from * q, p, count * q, all, 1}, T(real_t<T>(0)));
                !s)
                return s;
    index_t at = a.zeros[0];
    for (auto const& r : a.runs) {
        auto const& v = r.first;
        for (index_t l = 0; l < (p < q ? p : q) && r.count > 0; ++l) {
            auto from = v;
            view<T, space> target{to + at * q, r.count, q, q, 1};
            if (p < q) { // row l of each block
                from.data = v.data + l * v.row_stride, target.data = target.data + l * all;
                from.rows = r.count, from.row_stride = r.stride;
            } else {
                from.data = v.data + l * v.col_stride;
                from.cols = r.count, from.col_stride = r.stride;
                target = {to + (at * q + l), p, r.count, all, q};
            }
            if (status s = leaf.copy(from, target); !s) return s;
        }
        at += r.count;
    }
    a.runs[0] = {{to, p, q, all, 1}, length, q};
    a.runs[1] = {}, a.zeros[0] = a.zeros[1] = 0;
    return {};
}
// A Toeplitz matrix as a dense one, without its factor and conjugation.
template <policy P, class A>
status copy_toeplitz(P const& policy, A a, view<typename A::value_type, typename P::space> const& to,
                     typename P::arena& memory) {
    if (!a.is_row())
        if (status s = gather_sequence(policy, a, memory); !s) return s;
    a.conjugate = false;
    auto const d = divide_toeplitz(a.block_rows(), a.rows, false);
    for (index_t g = 0; g < d.groups; ++g) {
        auto lines = to;
        lines.rows = d.lines, lines.row_stride = d.every * to.row_stride;
        lines.data = to.data + g * d.step * to.row_stride;
        if (status s = policy.leaf().copy(overlapping_lines(a, d, g), lines); !s) return s;
    }
    return {};
}

template <policy P>
class toeplitz_product : public product_over<P> {
public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        if constexpr (is_toeplitz<A> && is_toeplitz<B>)
            return toeplitz_pair_product<P>::template accepts_pair<Q>;
        else if constexpr (is_toeplitz<A> && is_view<B>::value && is_view<typename Q::c_operand>::value)
            return answer<P, problem<view<typename Q::a_type const, space>, B, typename Q::c_operand,
                                     typename Q::epilogue_type>>();
        else if constexpr (is_view<A>::value && is_toeplitz<B> && is_view<typename Q::c_operand>::value)
            return answer<P, problem<A, view<typename Q::b_type const, space>, typename Q::c_operand,
                                     typename Q::epilogue_type>>();
        else
            return verdict::structure;
    }();

    template <class S>
    footprint workspace(S const& s) const {
        if constexpr (is_pair<S>)
            return toeplitz_pair_product<P>(this->base_).workspace(s);
        else
            return workspace_beside_matrix(s);
    }
    template <class S>
    bound error_bound(S const& s) const {
        if constexpr (is_pair<S>)
            return toeplitz_pair_product<P>(this->base_).error_bound(s);
        else
            return error_bound_beside_matrix(s);
    }
    template <class S>
    double estimate(S const& s) const {
        if constexpr (is_pair<S>)
            return toeplitz_pair_product<P>(this->base_).estimate(s);
        else
            return estimate_beside_matrix(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        if constexpr (is_pair<S>)
            return toeplitz_pair_product<P>(this->base_).describe(s);
        else
            return describe_beside_matrix(s);
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_toeplitz<typename Q::a_operand> && is_toeplitz<typename Q::b_operand>)
            return toeplitz_pair_product<P>(this->base_)(p, memory);
        else
            return multiply_matrix(p, memory);
    }

private:
    template <class S>
    static constexpr bool is_pair = requires {
        S::a_form::way;
        S::b_form::way;
    };
    template <class S>
    footprint workspace_beside_matrix(S const& s) const {
        auto const f = facts_of_toeplitz(s);
        footprint gathered, needed;
        if (are_few_vectors(s)) {
            if (f.rounds) space::share(gathered) = bytes_of_row(s);
            space::share(needed) =
                arena::rounded(static_cast<std::size_t>(vectors_of(s).sums()) * sizeof(typename S::c_type));
            return gathered + needed;
        }
        if (f.gathers) space::share(gathered) = bytes_of_row(s);
        for (bool const finishes : {false, true}) {
            needed = larger(needed, this->base_.workspace(dense_shape(s, finishes)));
            auto one = dense_shape(s, finishes);
            one.count = s.count;
            needed = larger(needed, this->base_.workspace(one));
        }
        return gathered + needed;
    }
    template <class S>
    bound error_bound_beside_matrix(S const& s) const {
        bound x = are_few_vectors(s)
                      ? chain_bound<S>(vectors_of(s).chain(static_cast<int>(sizeof(typename S::c_type))))
                      : this->base_.error_bound(dense_shape(s));
        double const u = facts_of_toeplitz(s).rounds ? unit_roundoff<typename S::wide_type>() : 0;
        x.worst += 2 * u, x.expected += 2 * u;
        return x;
    }
    template <class S>
    double estimate_beside_matrix(S const& s) const {
        auto const d = dense_shape(s);
        if (are_few_vectors(s)) return seconds_of_vectors(s);
        double const again = d.count > s.count ? static_cast<double>(s.count) : 1;
        return this->base_.estimate(d) * again;
    }
    template <class S>
    std::string describe_beside_matrix(S const& s) const {
        auto const f = facts_of_toeplitz(s);
        std::string text = "toeplitz";
        if (f.block_rows * f.block_cols != 1)
            text += " of blocks of " + std::to_string(f.block_rows) + " x " + std::to_string(f.block_cols);
        if (are_few_vectors(s)) {
            text += f.rounds ? ", its diagonals copied, " : ", ";
            text += "times vectors, in launches for 64 rows a group";
            return vectors_of(s).splits > 1 ? text + ", of parts of a row whose sums are added" : text;
        }
        text += f.gathers ? ", its diagonals copied, " : ", its diagonals ";
        return text + "read as overlapping rows; " + this->base_.describe(dense_shape(s));
    }
    template <class Q>
    status multiply_matrix(Q const& p, arena& memory) const {
        typename arena::scope const scope(memory);
        constexpr bool left = is_toeplitz<typename Q::a_operand>;
        auto a = [&] {
            if constexpr (left)
                return p.a;
            else
                return p.b.transposed();
        }();
        if constexpr (has_vectors<decltype(p.shape())>)
            if (auto const s = p.shape(); are_few_vectors(s)) {
                if (facts_of_toeplitz(s).rounds)
                    if (status t = gather_sequence(this->base_, a, memory); !t) return t;
                return multiply_few(p, a, memory);
            }
        if (!a.is_row())
            if (status s = gather_sequence(this->base_, a, memory); !s) return s;
        auto const d =
            divide_toeplitz(a.block_rows(), a.rows, !std::is_same_v<typename Q::epilogue_type, identity>);
        if (d.groups == 1) return multiply(p, a, d, 0, memory);
        for (index_t i = 0; i < p.count; ++i) {
            auto const one = p.at(i);
            bool const together = std::is_same_v<typename Q::epilogue_type, identity>;
            for (index_t g = 0; g < (together ? 1 : d.groups); ++g)
                if (status s = multiply(one, a, d, g, memory); !s) return s;
        }
        return {};
    }
    // ---- few vectors on a device
    template <class S>
    static constexpr bool has_vectors = is_backend<P>&& device_leaf<leaf_of<P>, space>&&
                                            std::is_same_v<typename S::a_type, typename S::c_type>&&
                                                std::is_same_v<typename S::b_type, typename S::c_type> &&
                                        (std::is_same_v<typename S::c_type, float> ||
                                         std::is_same_v<typename S::c_type, double>);
    template <class S>
    static toeplitz_vectors vectors_of(S const& s) {
        index_t const rows = rows_of(s);
        return {rows, s.k, (is_left<S> ? s.n : s.m) * s.count};
    }
    template <class S>
    double seconds_of_vectors(S const& s) const {
        if constexpr (has_vectors<S>)
            return vectors_of(s).seconds(static_cast<int>(sizeof(typename S::c_type)), this->leaf().limits());
        else
            return 0;
    }
    // Whether they are so few that they are faster by themselves than as a matrix.
    template <class S>
    bool are_few_vectors([[maybe_unused]] S const& s) const {
        if constexpr (has_vectors<S>) {
            auto const f = facts_of_toeplitz(s);
            return f.block_rows * f.block_cols == 1 && vectors_of(s).groups() <= device_longest &&
                   seconds_of_vectors(s) < this->base_.estimate(dense_shape(s));
        } else {
            return false;
        }
    }
    template <class Q, class A>
    status multiply_few(Q const& p, A const& a, arena& memory) const {
        auto const leaf = this->leaf();
        auto const run = [&](auto q, bool turned) {
            q.a = a;
            return multiply_vectors(leaf, q, turned, memory);
        };
        if constexpr (is_toeplitz<typename Q::a_operand>)
            return run(p, false);
        else
            return run(p.transposed(), true);
    }

    template <class S>
    static constexpr bool is_left = requires {
        S::a_form::way;
    };
    template <class S>
    static auto facts_of_toeplitz(S const& s) {
        if constexpr (requires { S::a_form::way; })
            return s.a_facts;
        else
            return s.b_facts.transposed();
    }
    // The sides of a product as if the Toeplitz matrix were on the left.
    template <class S>
    static index_t rows_of(S const& s) {
        if constexpr (requires { S::a_form::way; })
            return s.m;
        else
            return s.n;
    }
    template <class S>
    static std::size_t bytes_of_row(S const& s) {
        using T = typename std::remove_cvref_t<decltype(facts_of_toeplitz(s))>::value_type;
        auto const f = facts_of_toeplitz(s);
        index_t const blocks = rows_of(s) / f.block_rows + s.k / f.block_cols;
        return arena::rounded(static_cast<std::size_t>(blocks * f.block_rows * f.block_cols) * sizeof(T));
    }
    template <class S>
    static auto dense_shape(S const& s, bool finishes = false) {
        using A = typename S::a_type;
        using B = typename S::b_type;
        shape<A, B, typename S::c_form> dense{s.m, s.n, s.k, s.count, s.adds};
        auto const d = divide_toeplitz(facts_of_toeplitz(s).block_rows, rows_of(s), finishes);
        (requires { S::a_form::way; } ? dense.m : dense.n) = d.lines;
        if (d.groups > 1) dense.count = d.groups;
        dense.alone = s.alone;
        return dense;
    }

    // Lines of C, E or the other operand: rows, or columns where the Toeplitz matrix is on the right.
    template <bool Left, class V>
    static V lines_of(V v, index_t first, index_t count, index_t every) {
        if constexpr (!Left) v = v.transposed();
        if (count > 0 && v.cols > 0) v.data = v.data + first * v.row_stride;
        v.rows = count, v.row_stride *= every;
        if constexpr (!Left) v = v.transposed();
        return v;
    }
    // Group g of the lines of C, or all groups of one product from g = 0 on, as a batch.
    template <class Q, class A>
    status multiply(Q const& p, A const& a, toeplitz_division const& d, index_t g, arena& memory) const {
        constexpr bool left = is_toeplitz<typename Q::a_operand>;
        using S = typename Q::scalar;
        auto const v = overlapping_lines(a, d, g);
        index_t const step = step_of_groups(a, d);
        auto const c = lines_of<left>(p.c, g * d.step, d.lines, d.every);
        auto const line = [](auto const& x) { return left ? x.row_stride : x.col_stride; };
        view<typename Q::c_type const, space> e = c;
        if (p.beta != S(0)) e = lines_of<left>(p.e, g * d.step, d.lines, d.every);
        auto const run = [&](auto const& first, auto const& second) {
            problem<std::remove_cvref_t<decltype(first)>, std::remove_cvref_t<decltype(second)>,
                    typename Q::c_operand, typename Q::epilogue_type>
                dense{scaled_by(p.alpha, static_cast<S>(a.scale)), first, second, p.beta, e, c, p.epilogue};
            dense.row0 = p.row0, dense.col0 = p.col0;
            (left ? dense.row0 : dense.col0) += g * d.step;
            if (d.groups == 1) {
                dense.count = p.count, dense.c_step = p.c_step, dense.e_step = p.e_step;
                dense.a_step = left ? 0 : p.a_step, dense.b_step = left ? p.b_step : 0;
            } else if (std::is_same_v<typename Q::epilogue_type, identity>) {
                dense.count = d.groups, dense.c_step = d.step * line(p.c);
                dense.e_step = d.step * line(p.beta != S(0) ? p.e : e);
                (left ? dense.a_step : dense.b_step) = step;
            }
            return run_checked(this->base_, dense, memory);
        };
        if constexpr (left)
            return run(v, p.b);
        else
            return run(p.a, v.transposed());
    }
};

STRATAGEMM_END
