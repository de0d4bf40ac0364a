// Products with a sum of Kronecker products of small matrices, sum_r M1r x M2r x ...: a batch of dense products of the
// policy P for each factor. What is between two of them lies in workspace.
#pragma once

#include "../../core/layer.hpp"
#include "../tensor_train/sides.hpp"

STRATAGEMM_BEGIN

template <policy P>
class cp_product;
template <class P>
inline constexpr bool is_cp_product = false;
template <policy P>
inline constexpr bool is_cp_product<cp_product<P>> = true;

// Factor k holds the rows[k] x cols[k] matrices of all terms: element (i, j) of term r is number (i * rank + r) * cols
// + j.
struct cp_sides : part_sides {
    index_t rank = 0; // terms

    index_t size(int k) const { return side(k) * rank; }
    index_t begin(int k) const {
        index_t at = 0;
        for (int i = 0; i < k; ++i) at += size(i);
        return at;
    }
    index_t size() const { return begin(cores); }
};

template <class T>
struct cp_form {
    using value_type = T;
    static constexpr bool has_facts = true, is_cp = true;
    template <class P>
    requires(!is_cp_product<P>) using over = cp_product<P>;

    cp_sides sides{};
    bool is_transposed = false;

    cp_form transposed() const { return {sides, !is_transposed}; }
};
template <class X>
inline constexpr bool is_cp = requires {
    requires X::form::is_cp;
};
template <class F>
inline constexpr bool is_cp_form = requires {
    requires F::is_cp;
};

// What multiplies along one mode: matrices of `out` x `in` elements, with `above` elements of the modes before it, and
// `below` of those behind it.
struct cp_step {
    int core;
    index_t above, out, in, below;
    bool is_first,
        is_last; // before the first step there is no index of terms, and after the last one none is left
};
// The dense products of a step: `calls` batches of `count` products.
struct cp_calls {
    index_t calls, count, m, n, k;
    bool is_whole;  // all terms in one product: their index is a part of m or k
    bool is_by_row; // a call for each element of the modes above; else for each term
};

// The modes from the first to the last, or from the last to the first, whichever multiplies less. Between two steps the
// index of terms lies between the modes that are done and the others. The first and the last step have all terms in one
// product, where their elements lie so: for the matrix itself from the first mode on, for the transposed one from the
// last.
struct cp_order {
    bool is_transposed, from_last;
    cp_sides const& sides;

    cp_order(cp_sides const& x, bool turned) : is_transposed(turned), from_last(turned), sides(x) {
        double const natural = work();
        from_last = !turned;
        if (!(work() < natural)) from_last = turned;
    }
    // f for each step.
    template <class F>
    void each(F const& f) const {
        index_t const* const out = is_transposed ? sides.cols : sides.rows;
        index_t const* const in = is_transposed ? sides.rows : sides.cols;
        for (int i = 0; i < sides.cores; ++i) {
            int const k = from_last ? sides.cores - 1 - i : i;
            cp_step x{k, 1, out[k], in[k], 1, i == 0, i == sides.cores - 1};
            for (int l = 0; l < k; ++l) x.above *= from_last ? in[l] : out[l];
            for (int l = k + 1; l < sides.cores; ++l) x.below *= from_last ? out[l] : in[l];
            f(x);
        }
    }
    cp_calls calls(cp_step const& x, index_t columns) const {
        index_t const r = sides.rank, n = x.below * columns;
        if (x.is_first != x.is_last && from_last == is_transposed)
            return {1, x.above, x.is_first ? x.out * r : x.out, n, x.is_last ? x.in * r : x.in, true, false};
        if (!x.is_last && x.above < r) return {x.above, r, x.out, n, x.in, false, true};
        return {r, x.above, x.out, n, x.in, false, false};
    }
    // Rows of what a step reads and writes.
    index_t read(cp_step const& x) const { return x.above * x.in * x.below * (x.is_first ? 1 : sides.rank); }
    index_t made(cp_step const& x) const { return x.above * x.out * x.below * (x.is_last ? 1 : sides.rank); }
    index_t most(index_t columns) const {
        index_t all = 0;
        each([&](cp_step const& x) {
            index_t const here = read(x) < made(x) ? made(x) : read(x);
            all = all < here ? here : all;
        });
        return all * columns;
    }

private:
    double work() const {
        double all = 0;
        each([&](cp_step const& x) {
            all += static_cast<double>(x.above) * static_cast<double>(x.out) * static_cast<double>(x.in) *
                   static_cast<double>(x.below);
        });
        return all;
    }
};

template <policy P>
class cp_product : public product_over<P> {
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
        if constexpr (!(is_cp<A> && is_view<B>::value) && !(is_view<A>::value && is_cp<B>))
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
        cp_order const order = order_of(s);
        footprint products, buffers;
        order.each([&](cp_step const& x) {
            products = larger(products, base_.workspace(shape_of(order.calls(x, columns_of(s)), s)));
        });
        auto const size = static_cast<std::size_t>(order.most(columns_of(s))) * sizeof(T);
        space::share(buffers) = 2 * arena::rounded(size);
        return products + buffers;
    }
    // What is wrong with the result of a step is multiplied by the later factors as the result is: bounds add up,
    // relative to the product of the absolute values of all factors.
    template <class S>
    bound error_bound(S const& s) const {
        using R = real_t<typename S::c_type>;
        cp_order const order = order_of(s);
        bound all;
        double squares = 0;
        order.each([&](cp_step const& x) {
            cp_calls const calls = order.calls(x, columns_of(s));
            bound const one = base_.error_bound(shape_of(calls, s));
            all = {all.worst + 1.01 * one.worst, 0, all.normwise || one.normwise,
                   all.confidence < one.confidence ? all.confidence : one.confidence};
            squares += one.expected * one.expected;
            if (x.is_last && !calls.is_whole) // terms are added one after another
                all.worst += static_cast<double>(calls.calls) * unit_roundoff<R>(),
                    squares += static_cast<double>(calls.calls) * unit_roundoff<R>() * unit_roundoff<R>();
        });
        all.expected = __builtin_sqrt(squares);
        return all;
    }
    template <class S>
    double estimate(S const& s) const {
        cp_order const order = order_of(s);
        double seconds = 0;
        order.each([&](cp_step const& x) {
            cp_calls const calls = order.calls(x, columns_of(s));
            seconds += static_cast<double>(calls.calls) * base_.estimate(shape_of(calls, s));
        });
        return seconds * static_cast<double>(s.count);
    }
    template <class S>
    std::string describe(S const& s) const {
        using T = typename S::c_type;
        cp_order const order = order_of(s);
        std::string text = "sum of ";
        text.append(std::to_string(order.sides.rank)).append(" Kronecker products of ");
        text.append(std::to_string(order.sides.cores)).append(" factors, ");
        text.append(std::to_string(static_cast<std::size_t>(order.sides.size()) * sizeof(T)))
            .append(" bytes:");
        order.each([&](cp_step const& x) {
            cp_calls const c = order.calls(x, columns_of(s));
            text.append(x.is_first ? " " : ", ").append(std::to_string(c.calls * c.count)).append(" of ");
            text.append(std::to_string(c.m)).append(" x ").append(std::to_string(c.n));
            text.append(" x ").append(std::to_string(c.k));
        });
        return text;
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        status s;
        for (index_t i = 0; i < p.count && s; ++i) {
            auto const one = p.at(i).without_epilogue();
            if constexpr (is_cp<typename Q::a_operand>)
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
    static cp_order order_of(S const& s) {
        if constexpr (is_cp_form<typename S::a_form>)
            return {s.a_facts.sides, s.a_facts.is_transposed};
        else
            return {s.b_facts.sides, !s.b_facts.is_transposed};
    }
    template <class S>
    static index_t columns_of(S const& s) {
        if constexpr (is_cp_form<typename S::a_form>)
            return s.n;
        else
            return s.m;
    }
    template <class S>
    static auto shape_of(cp_calls const& x, S const& s) {
        shape<typename S::c_type> dense{x.m, x.n, x.k, x.count, true};
        dense.alone = s.alone;
        return dense;
    }
    // Whether rows that follow one another continue one another: several rows are one.
    template <class V>
    static bool continues(V const& v) {
        return v.cols <= 1 || v.row_stride == v.cols * v.col_stride;
    }
    // Where the elements of one term are in what a step reads or writes, in rows: those of the mode, of the next term,
    // of the next element above. `is_before`: the index of terms is before the mode.
    struct steps {
        index_t side, term, above;

        steps(index_t mode, index_t below, index_t rank, bool has_terms, bool is_before)
            : side(has_terms && !is_before ? rank * below : below), term(!has_terms  ? 0
                                                                         : is_before ? mode * below
                                                                                     : below),
              above(mode * below * (has_terms ? rank : 1)) {}
    };
    // Rows of V from `begin` on, `step` rows apart, each with `below` rows of V in it.
    template <class V>
    static V rows_of(V const& v, index_t begin, index_t rows, index_t step, index_t below) {
        return {v.data + begin * v.row_stride,
                rows,
                below * v.cols,
                step * v.row_stride,
                v.cols <= 1 ? v.row_stride : v.col_stride,
                v.scale,
                v.conjugate};
    }

    template <class Q>
    status multiply(Q const& p, arena& memory) const {
        using T = typename Q::c_type;
        using S = typename Q::scalar;
        typename arena::scope const scope(memory);
        cp_order const order(p.a.sides, p.a.is_transposed);
        bool const adds = p.beta != S(0);
        index_t const n = p.c.cols, most = order.most(n);
        typename space::template handle<T> const buffers[] = {memory.template take<T>(most),
                                                              memory.template take<T>(most)};
        dense_problem<T, T, T, space> all{S(1), {}, p.b, S(0), p.c, p.c};
        int next = 0;
        bool ends_in_c = true;
        status done;
        order.each([&](cp_step const& x) {
            if (!done) return;
            if (x.is_first && x.below > 1 && !continues(all.b)) {
                view<T, space> const copy{buffers[next], all.b.rows, n, n, 1};
                if (done = this->leaf().copy(all.b, copy); !done) return;
                all.b = copy, next = 1;
            }
            if (x.is_last) ends_in_c = x.below == 1 || (continues(p.c) && (!adds || continues(p.e)));
            bool const is_c = x.is_last && ends_in_c;
            all.c = is_c ? p.c : view<T, space>{buffers[next], order.made(x), n, n, 1};
            all.e = all.c;
            if (is_c) {
                all.alpha = scaled_by(p.alpha, static_cast<S>(p.a.scale)), all.beta = p.beta;
                if (adds) all.e = p.e;
            }
            done = step(p.a, order, x, all, memory);
            all.b = all.c, next = 1 - next;
        });
        if (!done || ends_in_c) return done;
        return finish(p, all.c);
    }
    // C = alpha X + beta E
    template <class Q, class T>
    status finish(Q const& p, view<T, space> const& x) const {
        using S = typename Q::scalar;
        view<T const, space> from = x;
        from.scale = scaled_by(p.alpha, static_cast<S>(p.a.scale));
        if (p.beta == S(0)) return this->leaf().copy(from, p.c);
        auto e = p.e;
        e.scale = scaled_by(e.scale, p.beta);
        return this->leaf().add(from, e, p.c);
    }
    template <class A, class Q>
    status step(A const& a, cp_order const& order, cp_step const& x, Q const& all, arena& memory) const {
        using S = typename Q::scalar;
        cp_calls const calls = order.calls(x, all.c.cols);
        index_t const r = order.sides.rank;
        steps const in(x.in, x.below, r, !x.is_first, !order.from_last),
            out(x.out, x.below, r, !x.is_last, order.from_last);
        for (index_t i = 0; i < calls.calls; ++i) {
            index_t const read = i * (calls.is_by_row ? in.above : in.term),
                          made = i * (calls.is_by_row ? out.above : out.term);
            Q q = all;
            q.count = calls.count;
            q.a = calls.is_whole ? a.terms(x.core, x.is_first) : a.term(x.core, calls.is_by_row ? 0 : i);
            q.a.conjugate = a.conjugate;
            index_t const in_side = calls.is_whole ? x.below : in.side,
                          out_side = calls.is_whole ? x.below : out.side;
            q.b = rows_of(all.b, read, calls.k, in_side, x.below);
            q.c = rows_of(all.c, made, calls.m, out_side, x.below);
            q.e = rows_of(all.e, made, calls.m, out_side, x.below);
            q.a_step = calls.is_by_row ? a.sides.cols[x.core] : 0;
            q.b_step = (calls.is_by_row ? in.term : in.above) * all.b.row_stride;
            q.c_step = (calls.is_by_row ? out.term : out.above) * all.c.row_stride;
            q.e_step = (calls.is_by_row ? out.term : out.above) * all.e.row_stride;
            if (x.is_last && i > 0) q.beta = S(1), q.e = q.c, q.e_step = q.c_step;
            if (status s = run_checked(base_, q, memory); !s) return s;
        }
        return {};
    }
};

STRATAGEMM_END
