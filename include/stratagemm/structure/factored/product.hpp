// Products with a factored matrix: dense products of any policy.
#pragma once

#include "../../core/layer.hpp"

STRATAGEMM_BEGIN

template <class T, class Space>
struct factored;
template <class X>
inline constexpr bool is_factored = false;
template <class T, class Space>
inline constexpr bool is_factored<factored<T, Space>> = true;
template <policy P>
class factored_product;
template <class P>
inline constexpr bool is_factored_product = false;
template <class P>
inline constexpr bool is_factored_product<factored_product<P>> = true;
template <class F>
concept factored_shape = requires {
    requires F::is_factored;
};

// A product U V B is U X with X = V B. In U V Y Z, where the right operand has factors Y and Z, X = (V Y) Z, or the
// transposed product is done, whichever has fewer multiply-adds. One whose left operand is dense is done transposed.
template <policy P>
class factored_product : public product_over<P> {
    using product_over<P>::base_;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

private:
    // C^T = B^T A^T
    template <class Q>
    static auto turned(Q const& p) {
        if constexpr (std::is_same_v<typename Q::epilogue_type, identity>) {
            return p.transposed();
        } else {
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            return q;
        }
    }
    template <class X, class Y>
    using sum_of = accumulator_t<wider_t<X, Y>>;
    // Whether the policy takes the steps of U V B.
    template <class Q>
    static constexpr verdict takes_left = [] {
        using A = typename Q::a_type;
        using W = sum_of<A, typename Q::b_type>;
        using first = dense_problem<A, typename Q::b_type, W, space>;
        using onward = dense_problem<W, typename Q::b_type, W, space>;
        using last = dense_problem<A, W, typename Q::c_type, space, typename Q::epilogue_type>;
        constexpr verdict inner = is_factored<typename Q::b_operand> ? answer<P, onward>() : verdict::yes;
        return parts_if(answer<P, first>() == verdict::yes && inner == verdict::yes) & answer<P, last>();
    }();

public:
    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        if constexpr (!is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else if constexpr (is_factored<A> && is_factored<B>) {
            return takes_left<decltype(turned(std::declval<Q const&>()))> & takes_left<Q>;
        } else if constexpr (is_factored<A> && is_view<B>::value) {
            return takes_left<Q>;
        } else if constexpr (is_view<A>::value && is_factored<B>) {
            return takes_left<decltype(turned(std::declval<Q const&>()))>;
        } else {
            return verdict::structure;
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        footprint most, kept;
        each_step(s, [&](auto const& step, index_t size) {
            using W = typename std::remove_cvref_t<decltype(step)>::c_type;
            space::share(kept) += arena::rounded(static_cast<std::size_t>(size) * sizeof(W));
            most = larger(most, base_.workspace(step));
        });
        return most + kept;
    }
    // What is wrong with X is multiplied by U like X itself.
    template <class S>
    bound error_bound(S const& s) const {
        bound all;
        each_step(s, [&](auto const& step, index_t) {
            bound const one = base_.error_bound(step);
            all.worst += one.worst + all.worst * one.worst;
            all.expected = __builtin_sqrt(all.expected * all.expected + one.expected * one.expected);
            all.normwise |= one.normwise;
            all.confidence = all.confidence + one.confidence < 1 ? 0 : all.confidence + one.confidence - 1;
        });
        return all;
    }
    template <class S>
    double estimate(S const& s) const {
        double all = 0;
        each_step(s, [&](auto const& step, index_t) { all += base_.estimate(step); });
        return all;
    }
    template <class S>
    std::string describe(S const& s) const {
        std::string text;
        each_step(s, [&](auto const& step, index_t) {
            text += (text.empty() ? "factored: " : "; then ") + std::to_string(step.m) + " x " +
                    std::to_string(step.n) + " x " + std::to_string(step.k) + " by " + base_.describe(step);
        });
        return text;
    }
    template <class S>
    status check(S const& s) const {
        status all;
        each_step(s, [&](auto const& step, index_t) {
            if constexpr (requires { base_.check(step); })
                if (all) all = base_.check(step);
        });
        return all;
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        using A = typename Q::a_operand;
        if constexpr (is_factored<A> && is_factored<typename Q::b_operand>) {
            if (sizes(p.shape()).is_turned) return multiply(turned(p), memory);
            return multiply(p, memory);
        } else if constexpr (is_factored<A>) {
            return multiply(p, memory);
        } else {
            return multiply(turned(p), memory);
        }
    }

private:
    // Of the product as it is done: U is m x rank; the right operand is n columns, or rank `inner` and n columns.
    struct sides {
        index_t m, n, rank, inner;
        bool is_turned;
    };
    template <class S>
    static sides sizes(S const& s) {
        constexpr bool left = factored_shape<typename S::a_form>, right = factored_shape<typename S::b_form>;
        if constexpr (left && right) {
            index_t const q = s.a_facts.rank, r = s.b_facts.rank;
            auto const f = [](index_t x) { return static_cast<double>(x); };
            double const as_is = f(q) * f(s.n) * (f(r) + f(s.m)), turned = f(r) * f(s.m) * (f(q) + f(s.n));
            if (turned < as_is) return {s.n, s.m, r, q, true};
            return {s.m, s.n, q, r, false};
        } else if constexpr (left) {
            return {s.m, s.n, s.a_facts.rank, 0, false};
        } else {
            return {s.n, s.m, s.b_facts.rank, 0, true};
        }
    }
    // f(shape, elements that stay in workspace) for each dense product.
    template <class S, class F>
    static void each_step(S const& s, F const& f) {
        sides const x = sizes(s);
        if (x.is_turned)
            list_steps<typename S::b_type, typename S::a_type>(s, x, f);
        else
            list_steps<typename S::a_type, typename S::b_type>(s, x, f);
    }
    template <class A, class B, class S, class F>
    static void list_steps(S const& s, sides const& x, F const& f) {
        using W = sum_of<A, B>;
        constexpr bool both = factored_shape<typename S::a_form> && factored_shape<typename S::b_form>;
        if constexpr (both) {
            f(shape<A, B, W>{x.rank, x.inner, s.k}, x.rank * x.inner);
            f(shape<W, B, W>{x.rank, x.n, x.inner}, x.rank * x.n);
        } else {
            f(shape<A, B, W>{x.rank, x.n, s.k, s.count}, x.rank * x.n * s.count);
        }
        f(shape<A, W, typename S::c_type>{x.m, x.n, x.rank, s.count, s.adds}, 0);
    }

    struct batch {
        index_t count = 1, b_step = 0, c_step = 0;
    };
    template <class A, class B, class W>
    status step(view<A const, space> const& a, view<B const, space> const& b, view<W, space> const& c,
                batch const& all, arena& memory) const {
        dense_problem<A, B, W, space> p{.a = a, .b = b, .e = c, .c = c};
        p.count = all.count, p.b_step = all.b_step, p.c_step = p.e_step = all.c_step;
        return base_(p, memory);
    }
    template <class Q>
    status multiply(Q const& p, arena& memory) const {
        using A = typename Q::a_type;
        using B = typename Q::b_type;
        using W = sum_of<A, B>;
        typename arena::scope const scope(memory);
        index_t const rank = p.a.left.cols, n = p.c.cols;
        bool const by_rows = !rows_are_closer(p.c);
        auto const between = [&](index_t rows, index_t cols, index_t count) {
            return view<W, space>{memory.template take<W>(rows * cols * count), rows, cols,
                                  by_rows ? cols : 1, by_rows ? 1 : rows};
        };
        W factor = scaled_by(W(1), p.a.scale);
        index_t x_step = 0;
        view<W, space> x;
        if constexpr (is_factored<typename Q::b_operand>) {
            factor = scaled_by(factor, p.b.scale);
            auto const small = between(rank, p.b.left.cols, 1);
            if (status s = step<A, B, W>(p.a.v(), p.b.u(), small, {}, memory); !s) return s;
            x = between(rank, n, 1);
            if (status s = step<W, B, W>(small, p.b.v(), x, {}, memory); !s) return s;
        } else {
            x = between(rank, n, p.count), x_step = rank * n;
            if (status s = step<A, B, W>(p.a.v(), p.b, x, {p.count, p.b_step, x_step}, memory); !s) return s;
        }
        using last_product = dense_problem<A, W, typename Q::c_type, space, typename Q::epilogue_type>;
        using scalar = typename last_product::scalar;
        return base_(
            last_product{.alpha = scaled_by(static_cast<scalar>(p.alpha), static_cast<scalar>(factor)),
                         .a = p.a.u(),
                         .b = x,
                         .beta = static_cast<scalar>(p.beta),
                         .e = p.e,
                         .c = p.c,
                         .epilogue = p.epilogue,
                         .count = p.count,
                         .b_step = x_step,
                         .e_step = p.e_step,
                         .c_step = p.c_step,
                         .row0 = p.row0,
                         .col0 = p.col0},
            memory);
    }
};

STRATAGEMM_END
