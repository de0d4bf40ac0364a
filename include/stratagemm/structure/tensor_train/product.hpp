// Products with a tensor train: a batch of dense products of the policy P for each core.
#pragma once

#include "../../core/layer.hpp"
#include "sides.hpp"

STRATAGEMM_BEGIN

template <policy P>
class tensor_train_product;
template <class P>
inline constexpr bool is_tensor_train_product = false;
template <policy P>
inline constexpr bool is_tensor_train_product<tensor_train_product<P>> = true;

// The sides of a train: core k is rows[k] x cols[k] matrices of rank[k] x rank[k + 1] numbers; the first and the last rank
// are 1. Index 0 belongs to the slowest part of the index of a row or column.
struct train_sides : part_sides {
    index_t rank[most + 1] = {};

    // Elements of core k, and where it begins.
    index_t size(int k) const { return rows[k] * rank[k + 1] * rank[k] * cols[k]; }
    index_t begin(int k) const {
        index_t at = 0;
        for (int i = 0; i < k; ++i) at += size(i);
        return at;
    }
    index_t size() const { return begin(cores); }
};

template <class T>
struct tensor_train_form {
    using value_type = T;
    static constexpr bool has_facts = true, is_train = true;
    template <class P>
    requires(!is_tensor_train_product<P>) using over = tensor_train_product<P>;

    train_sides sides{};
    bool is_transposed = false;

    tensor_train_form transposed() const { return {sides, !is_transposed}; }
};
template <class X>
inline constexpr bool is_train = requires {
    requires X::form::is_train;
};
template <class F>
inline constexpr bool is_train_form = requires {
    requires F::is_train;
};

// The products of a core with what is beside it: `count` of m x n x k.
struct train_step {
    int core;
    index_t count, m, n, k;
};
// f for each step of a train with `columns` columns beside it.
template <class F>
void each_train_step(train_sides const& x, bool is_transposed, index_t columns, F const& f) {
    index_t above = 1, below = columns;
    if (!is_transposed) {
        for (int k = 1; k < x.cores; ++k) below *= x.cols[k];
        for (int k = 0; k < x.cores; ++k) {
            f(train_step{k, above, x.rows[k] * x.rank[k + 1], below, x.rank[k] * x.cols[k]});
            above *= x.rows[k];
            if (k + 1 < x.cores) below /= x.cols[k + 1];
        }
    } else {
        for (int k = 0; k + 1 < x.cores; ++k) above *= x.rows[k];
        for (int k = x.cores - 1; k >= 0; --k) {
            f(train_step{k, above, x.rank[k] * x.cols[k], below, x.rows[k] * x.rank[k + 1]});
            below *= x.cols[k];
            if (k > 0) above /= x.rows[k - 1];
        }
    }
}

// The train from the left takes the first part of the index of a column first: it multiplies (rows, rank after) x (rank
// before, columns) of a core with a batch of matrices, and what comes out lies as the next core needs it. The transposed
// train takes the last part first, and transposed cores.
template <policy P>
class tensor_train_product : public product_over<P> {
    using product_over<P>::base_;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        using T = typename Q::c_type;
        if constexpr (!(is_train<A> && is_view<B>::value) && !(is_view<A>::value && is_train<B>))
            return verdict::structure;
        else if constexpr (!is_view<typename Q::c_operand>::value)
            return verdict::structure;
        else
            return types_if(std::is_same_v<typename Q::a_type, T> && std::is_same_v<typename Q::b_type, T> &&
                            std::is_same_v<accumulator_t<T>, T>) &
                   answer<P, dense_problem<T, T, T, space, typename Q::epilogue_type>>();
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::c_type;
        index_t most = 0;
        footprint products, buffers;
        each_step(s, [&](train_step const& x) {
            most = larger_of(most, x.count * larger_of(x.k, x.m) * x.n);
            products = larger(products, base_.workspace(shape_of<T>(x, s)));
        });
        space::share(buffers) = 2 * arena::rounded(static_cast<std::size_t>(most) * sizeof(T));
        return products + buffers;
    }
    // What is wrong with the result of a core is multiplied by the later ones as the result is: bounds add up, relative to
    // the product of the absolute values of all cores.
    template <class S>
    bound error_bound(S const& s) const {
        using T = typename S::c_type;
        bound all;
        double squares = 0;
        each_step(s, [&](train_step const& x) {
            bound const one = base_.error_bound(shape_of<T>(x, s));
            all = {all.worst + 1.01 * one.worst, 0, all.normwise || one.normwise,
                   all.confidence < one.confidence ? all.confidence : one.confidence};
            squares += one.expected * one.expected;
        });
        all.expected = __builtin_sqrt(squares);
        return all;
    }
    template <class S>
    double estimate(S const& s) const {
        using T = typename S::c_type;
        double seconds = 0;
        each_step(s, [&](train_step const& x) { seconds += base_.estimate(shape_of<T>(x, s)); });
        return seconds * static_cast<double>(s.count);
    }
    template <class S>
    std::string describe(S const& s) const {
        using T = typename S::c_type;
        auto const& sides = sides_of(s);
        std::string text = "tensor train of " + std::to_string(sides.cores) + " cores, ranks";
        for (int k = 1; k < sides.cores; ++k) text.append(" ").append(std::to_string(sides.rank[k]));
        text.append(", ").append(std::to_string(static_cast<std::size_t>(sides.size()) * sizeof(T)));
        text += " bytes: ";
        bool is_first = true;
        each_step(s, [&](train_step const& x) {
            text += (is_first ? "" : ", ") + std::to_string(x.count) + " of " + std::to_string(x.m) + " x " +
                    std::to_string(x.n) + " x " + std::to_string(x.k);
            is_first = false;
        });
        return text;
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        status s;
        for (index_t i = 0; i < p.count && s; ++i) {
            auto const one = p.at(i).without_epilogue();
            if constexpr (is_train<typename Q::a_operand>)
                s = multiply(one, memory);
            else
                s = multiply(one.transposed(), memory);
            if constexpr (!std::is_same_v<typename Q::epilogue_type, identity>)
                if (s) s = this->leaf().apply(p.epilogue, p.at(i).c, p.row0, p.col0);
        }
        return s;
    }

private:
    template <class S>
    static train_sides const& sides_of(S const& s) {
        if constexpr (is_train_form<typename S::a_form>)
            return s.a_facts.sides;
        else
            return s.b_facts.sides;
    }
    template <class S, class F>
    static void each_step(S const& s, F const& f) {
        if constexpr (is_train_form<typename S::a_form>)
            each_train_step(s.a_facts.sides, s.a_facts.is_transposed, s.n, f);
        else
            each_train_step(s.b_facts.sides, !s.b_facts.is_transposed, s.m, f);
    }
    template <class T, class S>
    static shape<T> shape_of(train_step const& x, S const& s) {
        shape<T> dense{x.m, x.n, x.k, x.count, s.adds};
        dense.alone = s.alone;
        return dense;
    }

    // Whether rows that follow one another continue one another: several rows are one.
    template <class V>
    static bool continues(V const& v) {
        return v.cols <= 1 || v.row_stride == v.cols * v.col_stride;
    }
    // V as a batch of matrices of some rows and columns, of which a row has several rows of V.
    template <class V>
    static V cut_up(V const& v, index_t rows, index_t cols, index_t& step_of_batch) {
        index_t const row = cols / v.cols * v.row_stride;
        step_of_batch = rows * row;
        return {v.data, rows, cols, row, v.cols <= 1 ? v.row_stride : v.col_stride, v.scale, v.conjugate};
    }

    template <class Q>
    status multiply(Q const& p, arena& memory) const {
        using T = typename Q::c_type;
        using S = typename Q::scalar;
        typename arena::scope const scope(memory);
        bool const adds = p.beta != S(0), is_transposed = p.a.is_transposed;
        // The train itself begins, and the transposed one ends with rows that continue one another.
        bool const ends_in_c = !is_transposed || (continues(p.c) && (!adds || continues(p.e)));
        index_t const n = p.c.cols, most = most_between(p.a.sides, is_transposed, n);
        typename space::template handle<T> const buffers[] = {memory.template take<T>(most),
                                                              memory.template take<T>(most)};
        view<T const, space> from = p.b;
        int next = 0, left = p.a.sides.cores;
        if (!is_transposed && !continues(from)) {
            view<T, space> const copy{buffers[0], from.rows, n, n, 1};
            if (status s = this->leaf().copy(from, copy); !s) return s;
            from = copy, next = 1;
        }
        S const alpha = scaled_by(p.alpha, static_cast<S>(p.a.scale));
        status done;
        each_train_step(p.a.sides, is_transposed, n, [&](train_step const& x) {
            if (!done) return;
            auto const core = p.a.core(x.core);
            bool const is_c = --left == 0 && ends_in_c;
            view<T, space> const to =
                is_c ? p.c : view<T, space>{buffers[next], x.count * x.m * (x.n / n), n, n, 1};
            dense_problem<T, T, T, space> q{S(1), is_transposed ? core.transposed() : core, from, S(0), to,
                                            to};
            q.a.conjugate = p.a.conjugate, q.count = x.count;
            q.b = cut_up(from, x.k, x.n, q.b_step);
            q.c = cut_up(to, x.m, x.n, q.c_step);
            q.e = q.c, q.e_step = q.c_step;
            if (is_c) {
                q.alpha = alpha, q.beta = p.beta;
                if (adds) q.e = cut_up(p.e, x.m, x.n, q.e_step);
            }
            done = run_checked(base_, q, memory);
            from = to, next = 1 - next;
        });
        if (!done || ends_in_c) return done;
        from.scale = alpha;
        if (!adds) return this->leaf().copy(from, p.c);
        auto e = p.e;
        e.scale = scaled_by(e.scale, p.beta);
        return this->leaf().add(from, e, p.c);
    }
    // Elements of what lies between two cores, before the first or behind the last.
    static index_t most_between(train_sides const& x, bool is_transposed, index_t columns) {
        index_t most = 0;
        each_train_step(x, is_transposed, columns, [&](train_step const& y) {
            most = larger_of(most, y.count * larger_of(y.k, y.m) * y.n);
        });
        return most;
    }
};

STRATAGEMM_END
