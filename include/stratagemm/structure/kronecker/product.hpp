// Products with a Kronecker product: a dense product of the policy P for each factor (Van Loan: The ubiquitous Kronecker
// product, 2000). What is between two of them lies in workspace. On the host, some columns go through all products
// before others do, so that what is between two products stays in the second-level cache; threads share the columns.
#pragma once

#include "../../backend/host/caches.hpp"
#include "../../core/layer.hpp"

STRATAGEMM_BEGIN

template <policy P>
class kronecker_product;
template <class P>
inline constexpr bool is_kronecker_product = false;
template <policy P>
inline constexpr bool is_kronecker_product<kronecker_product<P>> = true;

// The sides of the factors, the first of which belongs to the slowest part of an index.
template <class T, int N>
struct kronecker_form {
    using value_type = T;
    static constexpr bool has_facts = true;
    static constexpr int factors = N;
    template <class P>
    requires(!is_kronecker_product<P>) using over = kronecker_product<P>;

    index_t rows[N] = {}, cols[N] = {};

    kronecker_form transposed() const {
        kronecker_form one;
        for (int f = 0; f < N; ++f) one.rows[f] = cols[f], one.cols[f] = rows[f];
        return one;
    }
};
template <class X>
inline constexpr bool is_kronecker = requires {
    X::form::factors;
};

// The order in which factors are multiplied, with what surrounds each of them then: `before` elements of an index above
// it, `after` below it.
template <int N>
struct kronecker_steps {
    int factor[N];
    index_t before[N], after[N];
    index_t most = 0; // elements of a column between two steps, or before the first

    template <class Form>
    kronecker_steps(Form const& form, bool ends_with_last) {
        double gain[N], cost[N];
        for (int f = 0; f < N; ++f) {
            factor[f] = f, cost[f] = static_cast<double>(form.rows[f]);
            gain[f] = cost[f] / static_cast<double>(form.cols[f] < 1 ? 1 : form.cols[f]);
        }
        // Two neighbours change places where that takes fewer multiplications.
        int const free = ends_with_last ? N - 1 : N;
        for (int pass = 0; pass < free; ++pass)
            for (int i = 0; i + 1 < free; ++i) {
                int const a = factor[i], b = factor[i + 1];
                if (cost[b] + gain[b] * cost[a] < cost[a] + gain[a] * cost[b])
                    factor[i] = b, factor[i + 1] = a;
            }
        bool done[N] = {};
        for (int i = 0; i < N; ++i) {
            before[i] = after[i] = 1;
            for (int f = 0; f < N; ++f)
                if (f != factor[i])
                    (f < factor[i] ? before[i] : after[i]) *= done[f] ? form.rows[f] : form.cols[f];
            index_t const reads = before[i] * after[i] * form.cols[factor[i]];
            if (reads > most) most = reads;
            done[factor[i]] = true;
        }
    }
};

template <policy P>
class kronecker_product : public product_over<P> {
public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class T>
    using dense = dense_problem<T, T, T, space>;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        using T = typename Q::c_type;
        if constexpr (!(is_kronecker<A> && is_view<B>::value) && !(is_view<A>::value && is_kronecker<B>))
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
        footprint need;
        for (bool const is_across : {false, true}) {
            division const d = divided(s, is_across);
            need = larger(need, d.team > 1 ? footprint{each_bytes(s, d) * static_cast<std::size_t>(d.team)}
                                           : slice_workspace(s, d));
        }
        return need;
    }
    // Errors of a step are multiplied by the later factors as its result is: bounds add up.
    template <class S>
    bound error_bound(S const& s) const {
        auto const form = form_of(s);
        kronecker_steps<decltype(form)::factors> const steps(form, true);
        bound all;
        double squares = 0;
        for (int i = 0; i < form.factors; ++i) {
            bound const x = this->base_.error_bound(dense_shape(s, steps, i, false, columns_of(s)));
            all = {all.worst + 1.01 * x.worst, 0, all.normwise || x.normwise,
                   all.confidence < x.confidence ? all.confidence : x.confidence};
            squares += x.expected * x.expected;
        }
        all.expected = __builtin_sqrt(squares);
        return all;
    }
    template <class S>
    double estimate(S const& s) const {
        auto const form = form_of(s);
        kronecker_steps<decltype(form)::factors> const steps(form, false);
        division const d = divided(s, false);
        double seconds = 0;
        for (int i = 0; i < form.factors; ++i) {
            auto one = dense_shape(s, steps, i, steps.after[i] * d.slice < steps.before[i], d.slice);
            one.alone |= d.team > 1;
            seconds += this->base_.estimate(one);
        }
        return seconds * static_cast<double>(s.count * d.slices) / d.team;
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const form = form_of(s);
        kronecker_steps<decltype(form)::factors> const steps(form, false);
        division const d = divided(s, false);
        std::string text = "kronecker product, a product for each factor:";
        for (int i = 0; i < form.factors; ++i) {
            index_t const columns = steps.after[i] * d.slice;
            int const f = steps.factor[i];
            text += (i ? ", " : " ") + std::to_string(form.rows[f]) + " x " + std::to_string(form.cols[f]);
            text +=
                " (" + std::to_string(columns < steps.before[i] ? columns : steps.before[i]) + " of them)";
        }
        if (d.slices > 1)
            text += ", " + std::to_string(d.slice) + " columns at a time by " + std::to_string(d.team) +
                    (d.team > 1 ? " threads" : " thread");
        auto one = dense_shape(s, steps, form.factors - 1, false, d.slice);
        one.alone |= d.team > 1;
        return text + "; " + this->base_.describe(one);
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        status s;
        for (index_t i = 0; i < p.count && s; ++i) {
            auto const one = p.at(i).without_epilogue();
            if constexpr (is_kronecker<typename Q::a_operand>)
                s = multiply(one, p.shape(), memory);
            else
                s = multiply(one.transposed(), p.shape(), memory);
            if constexpr (!std::is_same_v<typename Q::epilogue_type, identity>)
                if (s) s = this->leaf().apply(p.epilogue, p.at(i).c, p.row0, p.col0);
        }
        return s;
    }

private:
    template <class T>
    static std::size_t bytes(index_t count) {
        return arena::rounded(static_cast<std::size_t>(count) * sizeof(T));
    }
    template <class S>
    static auto form_of(S const& s) {
        if constexpr (requires { S::a_form::factors; })
            return s.a_facts;
        else
            return s.b_facts.transposed();
    }
    // Of C, if the Kronecker product is on the left.
    template <class S>
    static index_t columns_of(S const& s) {
        if constexpr (requires { S::a_form::factors; })
            return s.n;
        else
            return s.m;
    }
    // The products of step i with some columns; by_rows: a product for each column and element below the factor, whose
    // rows are the elements above it.
    template <class S, class Steps>
    static auto dense_shape(S const& s, Steps const& steps, int i, bool by_rows, index_t n) {
        using T = typename S::c_type;
        auto const form = form_of(s);
        index_t const m = form.rows[steps.factor[i]], k = form.cols[steps.factor[i]], above = steps.before[i],
                      columns = steps.after[i] * n;
        shape<T> dense{by_rows ? above : m, by_rows ? m : columns, k, by_rows ? columns : above, s.adds};
        dense.alone = s.alone;
        return dense;
    }
    // Whether rows that follow one another continue one another: several rows are one, or columns are.
    template <class V>
    static bool continues(V const& v) {
        return v.cols <= 1 || v.row_stride == v.cols * v.col_stride;
    }
    // The stride of elements of one row, and of rows that continue one another.
    template <class V>
    static index_t stride_of(V const& v) {
        return v.cols <= 1 ? v.row_stride : v.col_stride;
    }

    // Columns are done `slice` at a time, by `team` threads.
    struct division {
        index_t slice, slices;
        int team;
    };
    // is_across: neighbours in memory are elements of different columns, and slices have whole cache lines.
    template <class S>
    division divided(S const& s, bool is_across) const {
        index_t const n = columns_of(s);
        division d{n < 1 ? 1 : n, 1, 1};
        if constexpr (host_leaf<leaf_of<P>>) {
            constexpr index_t size = sizeof(typename S::c_type);
            auto const form = form_of(s);
            kronecker_steps<decltype(form)::factors> const steps(form, true);
            index_t const column = 2 * steps.most * size, least = is_across ? 64 / size : 1,
                          cached = column > 0 ? second_level_cache() / 4 / column : n;
            d.slice = smaller(d.slice, cached < least ? least : cached);
            d.slices = n < 1 ? 1 : divide_up(n, d.slice);
            double work = 0;
            for (int i = 0; i < form.factors; ++i) work += multiply_adds(dense_shape(s, steps, i, false, n));
            int const team = s.alone ? 1 : this->leaf().team(work);
            if constexpr (is_backend<P>)
                if (d.slices >= team) d.team = team;
        }
        return d;
    }
    template <class S>
    footprint slice_workspace(S const& s, division const& d) const {
        using T = typename S::c_type;
        auto const form = form_of(s);
        index_t const first_and_last[] = {d.slice, columns_of(s) - (d.slices - 1) * d.slice};
        footprint need, buffers;
        for (bool const ends_with_last : {false, true}) {
            kronecker_steps<decltype(form)::factors> const steps(form, ends_with_last);
            space::share(buffers) = 2 * bytes<T>(steps.most * d.slice);
            footprint products;
            for (int i = 0; i < form.factors; ++i)
                for (bool const by_rows : {false, true})
                    for (index_t const n : first_and_last)
                        products =
                            larger(products, this->base_.workspace(dense_shape(s, steps, i, by_rows, n)));
            need = larger(need, buffers + products);
        }
        return need;
    }
    // What each of several threads has.
    template <class S>
    std::size_t each_bytes(S const& s, division const& d) const {
        return arena::rounded(slice_workspace(s, d).host);
    }
    template <class Q, class S>
    status multiply(Q const& p, S const& s, arena& memory) const {
        index_t const n = p.c.cols;
        division const d = divided(s, p.b.row_stride != 1 && p.b.rows > 1);
        auto const slice = [&](index_t i, arena& room) {
            index_t const first = i * d.slice, count = smaller(d.slice, n - first);
            Q q = p;
            q.b = p.b.block(0, first, p.b.rows, count), q.c = p.c.block(0, first, p.c.rows, count);
            if (p.beta != typename Q::scalar(0)) q.e = p.e.block(0, first, p.e.rows, count);
            return multiply_columns(q, room);
        };
        if constexpr (host_leaf<leaf_of<P>>)
            if (d.team > 1) return multiply_by_threads(s, d, slice, memory);
        for (index_t i = 0; i < d.slices; ++i)
            if (status done = slice(i, memory); !done) return done;
        return {};
    }
    template <class S, class F>
    status multiply_by_threads(S const& s, division const& d, F const& slice, arena& memory) const {
        std::size_t const each = each_bytes(s, d);
        int team = d.team; // as workspace() had it, or fewer
        while (team > 1 && !memory.fits({each * static_cast<std::size_t>(team)})) --team;
        typename arena::scope const scope(memory);
        auto* const own = memory.template take<std::byte>(static_cast<index_t>(each) * team);
        constexpr index_t most = 1 << 20; // parts are counted in int
        int const parts = static_cast<int>(smaller(d.slices, most));
        bool has_failed = false;
        status first;
        this->leaf().each(team, parts, [&](int thread, int part) {
            arena room(own + static_cast<index_t>(each) * thread, each, nullptr);
            for (index_t i = d.slices * part / parts; i < d.slices * (part + 1) / parts; ++i)
                if (status done = slice(i, room); !done)
                    if (!__atomic_exchange_n(&has_failed, true, __ATOMIC_RELAXED)) first = std::move(done);
        });
        return first;
    }
    template <class Q>
    status multiply_columns(Q const& p, arena& memory) const {
        using T = typename Q::c_type;
        using S = typename Q::scalar;
        constexpr int N = Q::a_operand::form::factors;
        typename arena::scope const scope(memory);
        bool const adds = p.beta != S(0);
        kronecker_steps<N> const steps(p.a.facts(), !continues(p.c) || (adds && !continues(p.e)));
        index_t const n = p.c.cols;
        auto const buffer = [&] { return memory.template take<T>(steps.most * n); };
        typename space::template handle<T> const buffers[] = {buffer(), buffer()};
        view<T const, space> from = p.b;
        int next = 0;
        if (steps.after[0] > 1 && !continues(from)) {
            view<T, space> const copy{buffers[next], from.rows, n, n, 1};
            if (status s = this->leaf().copy(from, copy); !s) return s;
            from = copy, next = 1;
        }
        for (int i = 0; i < N; ++i) {
            auto const& a = p.a.factor[steps.factor[i]];
            bool const is_last = i == N - 1;
            index_t const rows = steps.before[i] * a.rows * steps.after[i];
            view<T, space> const to = is_last ? p.c : view<T, space>{buffers[next], rows, n, n, 1};
            dense<T> q{S(1), a, from, S(0), to, to};
            q.a.conjugate = a.conjugate != p.a.conjugate;
            if (is_last) {
                q.alpha = scaled_by(p.alpha, static_cast<S>(p.a.scale)), q.beta = p.beta;
                if (adds) q.e = p.e;
            }
            if (status s = step(q, steps.before[i], steps.after[i], memory); !s) return s;
            from = to, next = 1 - next;
        }
        return {};
    }
    // C = (I x A x I) B, where the identities have as many rows as the index has elements above and below the factor. The
    // fewest and largest products: of A with blocks of B, or of matrices of B with A transposed.
    template <class Q>
    status step(Q q, index_t above, index_t below, arena& memory) const {
        index_t const m = q.a.rows, k = q.a.cols, columns = below * q.c.cols;
        auto const block = [&](auto& v, index_t side, index_t& step) {
            index_t const stride = stride_of(v);
            step = side * below * v.row_stride;
            v = {v.data, side, columns, below * v.row_stride, stride, v.scale, v.conjugate};
        };
        auto const matrix = [&](auto& v, index_t side, index_t& step) {
            step = stride_of(v);
            v = {v.data,  above,      side, side * below * v.row_stride, below * v.row_stride,
                 v.scale, v.conjugate};
        };
        if (above <= columns) {
            block(q.b, k, q.b_step), block(q.c, m, q.c_step), block(q.e, m, q.e_step);
            q.count = above;
            return run_checked(this->base_, q, memory);
        }
        auto const a = q.a.transposed();
        matrix(q.b, k, q.a_step), matrix(q.c, m, q.c_step), matrix(q.e, m, q.e_step);
        q.a = q.b, q.b = a, q.count = columns;
        return run_checked(this->base_, q, memory);
    }
};

STRATAGEMM_END
