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

// The sides of a train: core k is rows[k] x cols[k] matrices of rank[k] x rank[k + 1] numbers; the first and the last
// rank are 1. Index 0 belongs to the slowest part of the index of a row or column.
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
// The cores from the first to the last, or from the last to the first, whichever multiplies less. Cores lie as the
// train itself needs them from the first one on, and the transposed one from the last; else they are copied to
// workspace.
struct train_order {
    train_sides const& sides;
    bool is_transposed, from_last;

    train_order(train_sides const& x, bool turned) : sides(x), is_transposed(turned), from_last(turned) {
        double const natural = work();
        from_last = !turned;
        if (!(work() < natural)) from_last = turned;
    }
    bool copies_cores() const { return from_last != is_transposed; }
    // f for each step with `columns` columns beside the train.
    template <class F>
    void each(index_t columns, F const& f) const {
        train_sides const& x = sides;
        index_t const *const out = is_transposed ? x.cols : x.rows, *const in =
                                                                        is_transposed ? x.rows : x.cols;
        for (int i = 0; i < x.cores; ++i) {
            int const k = from_last ? x.cores - 1 - i : i;
            index_t above = 1, below = columns;
            for (int l = 0; l < k; ++l) above *= from_last ? in[l] : out[l];
            for (int l = k + 1; l < x.cores; ++l) below *= from_last ? out[l] : in[l];
            f(train_step{k, above, out[k] * x.rank[from_last ? k : k + 1], below,
                         in[k] * x.rank[from_last ? k + 1 : k]});
        }
    }
    double work() const {
        double all = 0;
        each(1, [&](train_step const& x) {
            all += static_cast<double>(x.count) * static_cast<double>(x.m) * static_cast<double>(x.n) *
                   static_cast<double>(x.k);
        });
        return all;
    }
    // Elements of what lies between two cores, before the first or behind the last.
    index_t most(index_t columns) const {
        index_t all = 0;
        each(columns, [&](train_step const& x) {
            index_t const here = x.count * (x.k < x.m ? x.m : x.k) * x.n;
            all = all < here ? here : all;
        });
        return all;
    }
    // Elements of the largest core, where cores are copied.
    index_t copied() const {
        index_t all = 0;
        for (int k = 0; k < sides.cores && copies_cores(); ++k)
            all = all < sides.size(k) ? sides.size(k) : all;
        return all;
    }
};

// From the first core on, (rows, rank after) x (rank before, columns) of a core multiplies a batch of matrices, and
// what comes out lies as the next core needs it; from the last core on, (rank before, rows) x (columns, rank after)
// does.
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
        footprint products, buffers;
        each_step(
            s, [&](train_step const& x) { products = larger(products, base_.workspace(shape_of<T>(x, s))); });
        auto const order = order_of(s);
        auto const bytes = [](index_t size) {
            return arena::rounded(static_cast<std::size_t>(size) * sizeof(T));
        };
        space::share(buffers) = 2 * bytes(order.most(columns_of(s))) + bytes(order.copied());
        return products + buffers;
    }
    // What is wrong with the result of a core is multiplied by the later ones as the result is: bounds add up, relative
    // to the product of the absolute values of all cores.
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
        train_sides const& sides = order_of(s).sides;
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
    static train_order order_of(S const& s) {
        if constexpr (is_train_form<typename S::a_form>)
            return {s.a_facts.sides, s.a_facts.is_transposed};
        else
            return {s.b_facts.sides, !s.b_facts.is_transposed};
    }
    template <class S>
    static index_t columns_of(S const& s) {
        if constexpr (is_train_form<typename S::a_form>)
            return s.n;
        else
            return s.m;
    }
    template <class S, class F>
    static void each_step(S const& s, F const& f) {
        order_of(s).each(columns_of(s), f);
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
        bool const adds = p.beta != S(0);
        train_order const order(p.a.sides, p.a.is_transposed);
        // From the first core on, rows of B continue one another; from the last one on, those of C.
        bool const ends_in_c = !order.from_last || (continues(p.c) && (!adds || continues(p.e)));
        index_t const n = p.c.cols, most = order.most(n);
        typename space::template handle<T> const buffers[] = {memory.template take<T>(most),
                                                              memory.template take<T>(most)};
        auto const copied = memory.template take<T>(order.copied());
        view<T const, space> from = p.b;
        int next = 0, left = p.a.sides.cores;
        if (!order.from_last && !continues(from)) {
            view<T, space> const copy{buffers[0], from.rows, n, n, 1};
            if (status s = this->leaf().copy(from, copy); !s) return s;
            from = copy, next = 1;
        }
        S const alpha = scaled_by(p.alpha, static_cast<S>(p.a.scale));
        status done;
        order.each(n, [&](train_step const& x) {
            view<T const, space> core = p.a.core(x.core);
            if (done && order.copies_cores()) done = rearrange(p.a.sides, x.core, core, copied);
            if (!done) return;
            bool const is_c = --left == 0 && ends_in_c;
            view<T, space> const to =
                is_c ? p.c : view<T, space>{buffers[next], x.count * x.m * (x.n / n), n, n, 1};
            dense_problem<T, T, T, space> q{
                S(1), order.is_transposed ? core.transposed() : core, from, S(0), to, to};
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
    // A core as (rank before, rows) x (columns, rank after), in `to`.
    template <class T>
    status rearrange(train_sides const& x, int k, view<T const, space>& core,
                     typename space::template handle<T> const& to) const {
        index_t const m = x.rows[k], n = x.cols[k], before = x.rank[k], after = x.rank[k + 1];
        for (index_t b = 0; b < before; ++b)
            for (index_t a = 0; a < after; ++a) {
                view<T const, space> const from{core.data + (a * before + b) * n, m, n, after * before * n,
                                                1};
                view<T, space> const there{to + (b * m * n * after + a), m, n, n * after, after};
                if (status s = this->leaf().copy(from, there); !s) return s;
            }
        core = view<T, space>{to, before * m, n * after, n * after, 1};
        return {};
    }
};

STRATAGEMM_END
