// Strassen's product: seven products of half the size instead of eight, and some additions.
//
// In Winograd's form (7 products, 15 additions, the default) or in Strassen's own (7 and 18), `levels`
// deep, over any base. Odd sides are peeled: the even part is divided, and the last row, the last column
// and the last term of the sums are products of the base. Nothing is padded.
//
// Over a base that takes sums of matrices as operands, and several matrices as a result, the last level needs no
// temporary: sums are formed while the base reads them, and a product is added where it belongs while it is written.
//
// The error is bounded normwise only: an element of C that is small beside max|A| max|B| may be lost, and
// one Inf or NaN can reach elements of C that it should not. Sums of elements must not lose anything but a
// rounding, so that float, double and complex are accepted, and the narrower types are not.
//
// Strassen: Gaussian elimination is not optimal, 1969. Boyer, Dumas, Pernet, Zhou: Memory efficient
// scheduling of Strassen-Winograd's matrix multiplication algorithm, 2009 (arXiv 0707.2347). Higham:
// Accuracy and Stability of Numerical Algorithms, 2002, section 23.2. Huang, Smith, Henry, van de Geijn: Strassen's
// algorithm reloaded, 2016.
#pragma once

#include "../core/policy.hpp"

STRATAGEMM_BEGIN

enum class strassen_variant { winograd, strassen };

struct strassen_options {
    int levels = 1; // at most; a product with a side below 2 is not divided
    strassen_variant variant = strassen_variant::winograd;
};

template <policy Base>
class strassen {
public:
    using space = typename Base::space;
    using arena = typename Base::arena;

    // The parts of a product have its types, and so the base answers for them too.
    template <class P>
    static constexpr verdict accepts = [] {
        using T = typename P::a_type;
        constexpr bool one_type =
            std::is_same_v<T, typename P::b_type> && std::is_same_v<T, typename P::c_type>;
        constexpr bool sums_round_once = std::floating_point<T> || complex_like<T>;
        return types_if(one_type && sums_round_once) & answer<Base, P>();
    }();

    explicit strassen(Base base, strassen_options options = {}) : base_(std::move(base)), options_(options) {}

    auto leaf() const { return base_.leaf(); }
    result<arena> reserve(footprint f) const { return base_.reserve(f); }

    template <class S>
    footprint workspace(S const& s) const {
        int const levels = levels_for(s);
        return levels == 0 ? base_.workspace(s) : workspace(of_one(s), levels);
    }
    template <class S>
    bound error_bound(S const& s) const {
        int const levels = levels_for(s);
        return levels == 0 ? base_.error_bound(s) : error_bound(of_one(s), levels);
    }
    template <class S>
    double estimate(S const& s) const {
        int const levels = levels_for(s);
        if (levels == 0) return base_.estimate(s);
        return static_cast<double>(s.count) * estimate(of_one(s), levels);
    }
    template <class S>
    std::string describe(S s) const {
        int const levels = levels_for(s);
        bool const winograd = options_.variant == strassen_variant::winograd;
        for (int i = 0; i < levels; ++i) s = half(s, s.adds);
        return (winograd ? "strassen (Winograd's form), " : "strassen, ") + std::to_string(levels) +
               (levels == 1 ? " level" : " levels") +
               (fuses<S> && levels > 0 ? ", the last without temporaries; " : "; ") + base_.describe(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (options_.levels < 0) return error(errc::argument, "strassen: levels must not be negative");
        int const levels = levels_for(p.shape());
        if (levels == 0) return base_(p, memory);
        for (index_t i = 0; i < p.count; ++i) {
            P const one = p.at(i);
            if (status s = multiply(one.without_epilogue(), levels, memory); !s) return s;
            if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
                if (status s = leaf().apply(one.epilogue, one.c, one.row0, one.col0); !s) return s;
        }
        return {};
    }

private:
    static constexpr index_t even(index_t side) { return side / 2 * 2; }

    template <class S>
    int levels_for(S const& s) const {
        int levels = 0;
        index_t side = s.m < s.n ? s.m : s.n;
        for (side = side < s.k ? side : s.k; side >= 2 && levels < options_.levels; side /= 2) ++levels;
        return levels;
    }
    template <class S>
    static S of_one(S s) {
        s.count = 1;
        return s;
    }
    template <class S>
    static S half(S const& s, bool adds) {
        return {s.m / 2, s.n / 2, s.k / 2, 1, adds};
    }

    // Problems of the last level, where the base takes them: S is a shape, or a problem.
    template <class S>
    using term = view<typename S::c_type const, space>;
    template <class S>
    using out_of = view<typename S::c_type, space>;
    template <class S>
    using of_sums = problem<sum_of<term<S>, 4>, sum_of<term<S>, 4>, out_of<S>>;
    template <class S>
    using of_spreads = problem<sum_of<term<S>, 4>, sum_of<term<S>, 4>, spread<out_of<S>, 2>>;
    template <class S>
    static constexpr bool fuses = takes<Base, of_sums<S>>&& takes<Base, of_spreads<S>>;

    // What an odd side leaves to the base; with no elements where the side is even.
    template <class S>
    struct borders {
        S last_term, last_column, last_row;
        explicit borders(S const& s)
            : last_term{even(s.m), even(s.n), s.k % 2, 1, true},
              last_column{s.m, s.n % 2, s.k, 1, s.adds}, last_row{s.m % 2, even(s.n), s.k, 1, s.adds} {}
    };

    // ---- the product -------------------------------------------------------------------------------------

    template <class P>
    status multiply(P const& p, int levels, arena& memory) const {
        if (levels == 0) return base_(p, memory);
        index_t const m = p.c.rows, n = p.c.cols, k = p.a.cols;
        index_t const m2 = even(m), n2 = even(n), k2 = even(k);
        P const inner = p.part(0, 0, 0, m2, n2, k2);
        if (status s = divide(inner, levels, memory); !s) return s;
        if (k2 < k) {
            P last_term = p.part(0, 0, k2, m2, n2, 1);
            last_term.beta = typename P::scalar(1);
            last_term.e = last_term.c;
            if (status s = base_(last_term, memory); !s) return s;
        }
        if (n2 < n)
            if (status s = base_(p.part(0, n2, 0, m, 1, k), memory); !s) return s;
        if (m2 < m)
            if (status s = base_(p.part(m2, 0, 0, 1, n2, k), memory); !s) return s;
        return {};
    }

    template <class P>
    status divide(P const& p, int levels, arena& memory) const {
        if constexpr (fuses<P>)
            if (levels == 1) return fused<P>(base_, leaf(), p, memory).run(options_.variant);
        return level<P>(*this, p, levels - 1, memory).run();
    }

    template <class V>
    struct four {
        V v11, v12, v21, v22;
    };
    template <class V>
    static four<V> quarters(V const& v) {
        index_t const m = v.rows / 2, n = v.cols / 2;
        return {v.part(0, 0, m, n), v.part(0, n, m, n), v.part(m, 0, m, n), v.part(m, n, m, n)};
    }
    template <class V>
    static V at(four<V> const& q, int i) {
        return i == 0 ? q.v11 : i == 1 ? q.v12 : i == 2 ? q.v21 : q.v22;
    }

    // The last level over a base that takes sums and spreads. Winograd's form needs the quarters of C to itself until
    // its sums are done, so that with E, which may be C, it is Strassen's.
    template <class P>
    class fused {
        using T = typename P::c_type;
        using in = view<T const, space>;
        using out = view<T, space>;
        using sum = sum_of<in, 4>;
        using Leaf = decltype(std::declval<Base const&>().leaf());

    public:
        fused(Base const& base, Leaf leaf, P const& p, arena& memory)
            : base_(base), leaf_(std::move(leaf)), p_(p), memory_(memory), a_(quarters(p.a)),
              b_(quarters(p.b)), c_(quarters(p.c)) {}

        status run(strassen_variant variant) {
            if (variant == strassen_variant::winograd && p_.beta == T(0))
                winograd();
            else
                original();
            return std::move(status_);
        }

    private:
        void winograd() {
            auto const& [a11, a12, a21, a22] = a_;
            auto const& [b11, b12, b21, b22] = b_;
            auto const& [c11, c12, c21, c22] = c_;
            multiply(sum(a11, minus(a21)), sum(b22, minus(b12)), c21);                   // P7
            multiply(sum(a21, a22), sum(b12, minus(b11)), c22);                          // P5
            multiply(sum(a21, a22, minus(a11)), sum(b22, minus(b12), b11), c12);         // P6
            base(P{p_.alpha, a11, b11, T(0), c11, c11});                                 // P1
            add(c12, c11, c12);                                                          // U2 = P1 + P6
            add(c21, c12, c21);                                                          // U3 = U2 + P7
            add(c12, c22, c12);                                                          // U4 = U2 + P5
            add(c22, c21, c22);                                                          // C22 = U3 + P5
            multiply(sum(a12, minus(a21), minus(a22), a11), sum(b22), c12, T(1));        // C12 = U4 + P3
            multiply(sum(minus(a22)), sum(b22, minus(b12), b11, minus(b21)), c21, T(1)); // C21 = U3 - P4
            base(P{p_.alpha, a12, b21, T(1), c11, c11});                                 // C11 = P1 + P2
        }

        // The numbers are those of Strassen's paper. The first product to arrive at a quarter of C brings beta E.
        void original() {
            auto const& [a11, a12, a21, a22] = a_;
            auto const& [b11, b12, b21, b22] = b_;
            enum place { c11, c12, c21, c22 };
            multiply_to(sum(a11, a22), sum(b11, b22), c11, T(1), c22, T(1));   // M1
            multiply_to(sum(a21, a22), sum(b11), c21, T(1), c22, T(-1));       // M2
            multiply_to(sum(a11), sum(b12, minus(b22)), c12, T(1), c22, T(1)); // M3
            multiply_to(sum(a22), sum(b21, minus(b11)), c11, T(1), c21, T(1)); // M4
            multiply_to(sum(a11, a12), sum(b22), c11, T(-1), c12, T(1));       // M5
            multiply(sum(a21, minus(a11)), sum(b11, b12), c_.v22, T(1));       // M6
            multiply(sum(a12, minus(a22)), sum(b21, b22), c_.v11, T(1));       // M7
        }

        static in minus(in x) {
            x.scale = T(-1);
            return x;
        }
        template <class Problem>
        void base(Problem const& p) {
            if (status_) status_ = base_(p, memory_);
        }
        void add(out const& x, out const& y, out const& to) {
            if (status_) status_ = leaf_.add(in(x), in(y), to);
        }
        void multiply(sum const& x, sum const& y, out const& to, T beta = T(0)) {
            base(of_sums<P>{p_.alpha, x, y, beta, to, to});
        }
        void multiply_to(sum const& x, sum const& y, int first, T first_factor, int second, T second_factor) {
            spread<out, 2> both;
            put(both, first, first_factor), put(both, second, second_factor);
            base(of_spreads<P>{p_.alpha, x, y, T(0), {}, both});
        }
        void put(spread<out, 2>& to, int quarter, T factor) {
            out const c = at(c_, quarter);
            if (reached_[quarter])
                to.add(c, factor, T(1), c);
            else if (p_.beta == T(0))
                to.add(c, factor);
            else
                to.add(c, factor, p_.beta, at(quarters(p_.e), quarter));
            reached_[quarter] = true;
        }

        Base const& base_;
        Leaf leaf_;
        P const& p_;
        arena& memory_;
        four<in> a_, b_;
        four<out> c_;
        bool reached_[4] = {};
        status status_;
    };

    // One level of an even product. Each schedule reads an element of E before it writes to that of C, so
    // that C may be E; without E it never reads what C held. The first failure ends all that follows.
    template <class P>
    class level {
        using T = typename P::c_type;
        using in = view<T const, space>;
        using out = view<T, space>;

    public:
        level(strassen const& policy, P const& p, int below, arena& memory)
            : policy_(policy), p_(p), below_(below), memory_(memory), m_(p.c.rows / 2), n_(p.c.cols / 2),
              k_(p.a.cols / 2) {}

        status run() {
            typename arena::scope const scope(memory_);
            bool const adds = p_.beta != T(0);
            if (policy_.options_.variant == strassen_variant::winograd)
                adds ? winograd_adding() : winograd();
            else
                adds ? original_adding() : original();
            return std::move(status_);
        }

    private:
        // Two temporaries: Boyer et al., table 1.
        void winograd() {
            auto const [a11, a12, a21, a22] = quarters(p_.a);
            auto const [b11, b12, b21, b22] = quarters(p_.b);
            auto const [c11, c12, c21, c22] = quarters(p_.c);
            out const x = take(m_, k_ > n_ ? k_ : n_), s = cut(x, m_, k_), p = cut(x, m_, n_),
                      t = take(k_, n_);
            add(b22, minus(b12), t);
            add(a11, minus(a21), s);
            multiply(s, t, c21); // P7 = (A11 - A21)(B22 - B12)
            add(b12, minus(b11), t);
            add(a21, a22, s);
            multiply(s, t, c22); // P5 = (A21 + A22)(B12 - B11)
            add(b22, minus(t), t);
            add(s, minus(a11), s);
            multiply(s, t, c12); // P6 = (A21 + A22 - A11)(B22 - B12 + B11)
            add(a12, minus(s), s);
            multiply(s, b22, c11); // P3 = (A12 - A21 - A22 + A11) B22
            multiply(a11, b11, p); // P1
            add(c12, p, c12);      // U2 = P1 + P6
            add(c21, c12, c21);    // U3 = U2 + P7
            add(c12, c22, c12);    // U4 = U2 + P5
            add(c22, c21, c22);    // C22 = U3 + P5
            add(c12, c11, c12);    // C12 = U4 + P3
            add(t, minus(b21), t);
            multiply(a22, t, c11); // P4 = A22 (B22 - B12 + B11 - B21)
            add(c21, minus(c11), c21);
            multiply(a12, b21, c11); // P2
            add(c11, p, c11);
        }

        // Three temporaries: Boyer et al., table 2. The products that go to one place only add to it.
        void winograd_adding() {
            auto const [a11, a12, a21, a22] = quarters(p_.a);
            auto const [b11, b12, b21, b22] = quarters(p_.b);
            auto const [e11, e12, e21, e22] = quarters(p_.e);
            auto const [c11, c12, c21, c22] = quarters(p_.c);
            out const p = take(m_, n_), s = take(m_, k_), t = take(k_, n_);
            T const beta = p_.beta, one(1);
            add(b12, minus(b11), t);
            add(a21, a22, s);
            multiply(s, t, p); // P5
            add(p, times(beta, e22), c22);
            add(p, times(beta, e12), c12);
            multiply(a11, b11, p); // P1
            multiply(a12, b21, c11, beta, e11);
            add(c11, p, c11);
            add(b22, minus(t), t);
            add(s, minus(a11), s);
            multiply(s, t, p, one, p); // U2 = P1 + P6
            add(c12, p, c12);
            add(t, minus(b21), t);
            add(a12, minus(s), s);
            multiply(a22, t, c21, -beta, e21); // P4 - beta E21
            multiply(s, b22, c12, one, c12);   // C12 = beta E12 + P5 + U2 + P3
            add(b22, minus(b12), t);
            add(a11, minus(a21), s);
            multiply(s, t, p, one, p); // U3 = U2 + P7
            add(c22, p, c22);
            add(p, minus(c21), c21);
        }

        // Two temporaries. The numbers are those of Strassen's paper.
        void original() {
            auto const [a11, a12, a21, a22] = quarters(p_.a);
            auto const [b11, b12, b21, b22] = quarters(p_.b);
            auto const [c11, c12, c21, c22] = quarters(p_.c);
            out const x = take(m_, k_ > n_ ? k_ : n_), s = cut(x, m_, k_), p = cut(x, m_, n_),
                      t = take(k_, n_);
            add(a21, minus(a11), s);
            add(b11, b12, t);
            multiply(s, t, c22); // M6 = (A21 - A11)(B11 + B12)
            add(a12, minus(a22), s);
            add(b21, b22, t);
            multiply(s, t, c11); // M7 = (A12 - A22)(B21 + B22)
            add(a11, a22, s);
            add(b11, b22, t);
            multiply(s, t, c12); // M1 = (A11 + A22)(B11 + B22)
            add(c11, c12, c11);
            add(c22, c12, c22);
            add(a21, a22, s);
            multiply(s, b11, c21); // M2 = (A21 + A22) B11
            add(c22, minus(c21), c22);
            add(b21, minus(b11), t);
            multiply(a22, t, c12); // M4 = A22 (B21 - B11)
            add(c21, c12, c21);
            add(c11, c12, c11);
            add(a11, a12, s);
            multiply(s, b22, c12); // M5 = (A11 + A12) B22
            add(c11, minus(c12), c11);
            add(b12, minus(b22), t);
            multiply(a11, t, p); // M3 = A11 (B12 - B22)
            add(c12, p, c12);
            add(c22, p, c22);
        }

        // Three temporaries; M6 and M7, wanted once, are added in place.
        void original_adding() {
            auto const [a11, a12, a21, a22] = quarters(p_.a);
            auto const [b11, b12, b21, b22] = quarters(p_.b);
            auto const [e11, e12, e21, e22] = quarters(p_.e);
            auto const [c11, c12, c21, c22] = quarters(p_.c);
            out const p = take(m_, n_), s = take(m_, k_), t = take(k_, n_);
            T const beta = p_.beta;
            add(a21, minus(a11), s);
            add(b11, b12, t);
            multiply(s, t, c22, beta, e22); // M6
            add(a12, minus(a22), s);
            add(b21, b22, t);
            multiply(s, t, c11, beta, e11); // M7
            add(a11, a22, s);
            add(b11, b22, t);
            multiply(s, t, p); // M1
            add(c11, p, c11);
            add(c22, p, c22);
            add(a21, a22, s);
            multiply(s, b11, p); // M2
            add(p, times(beta, e21), c21);
            add(c22, minus(p), c22);
            add(b21, minus(b11), t);
            multiply(a22, t, p); // M4
            add(c21, p, c21);
            add(c11, p, c11);
            add(a11, a12, s);
            multiply(s, b22, p); // M5
            add(p, times(beta, e12), c12);
            add(c11, minus(p), c11);
            add(b12, minus(b22), t);
            multiply(a11, t, p); // M3
            add(c12, p, c12);
            add(c22, p, c22);
        }

        // to = x + y
        void add(in const& x, in const& y, out const& to) {
            if (status_) status_ = policy_.leaf().add(x, y, to);
        }
        // to = alpha x y + beta e
        void multiply(in const& x, in const& y, out const& to, T beta = T(0), in const& e = {}) {
            if (status_) status_ = policy_.multiply(P{p_.alpha, x, y, beta, e, to}, below_, memory_);
        }

        static in minus(in x) { return times(T(-1), x); }
        static in times(T factor, in x) {
            x.scale = factor;
            return x;
        }

        out take(index_t rows, index_t cols) {
            return {memory_.template take<T>(rows * cols), rows, cols, cols, 1};
        }
        static out cut(out const& x, index_t rows, index_t cols) { return {x.data, rows, cols, cols, 1}; }

        strassen const& policy_;
        P p_;
        int below_;
        arena& memory_;
        index_t m_, n_, k_;
        status status_;
    };

    // ---- what it needs, and how wrong it can be ----------------------------------------------------------

    template <class S>
    footprint workspace(S const& s, int levels) const {
        if (levels == 0) return base_.workspace(s);
        S const h = half(s, false);
        if constexpr (fuses<S>)
            if (levels == 1) return with_borders(s, workspace_of_fused(h));
        auto bytes = [](index_t rows, index_t cols) {
            return arena::rounded(static_cast<std::size_t>(rows * cols) * sizeof(typename S::c_type));
        };
        footprint own, below = workspace(h, levels - 1);
        if (s.adds) {
            space::share(own) = bytes(h.m, h.n) + bytes(h.m, h.k) + bytes(h.k, h.n);
            below = larger(below, workspace(half(s, true), levels - 1));
        } else {
            space::share(own) = bytes(h.m, h.k > h.n ? h.k : h.n) + bytes(h.k, h.n);
        }
        return with_borders(s, own + below);
    }
    template <class S>
    footprint workspace_of_fused(S const& h) const {
        using Form = typename sum_of<term<S>, 4>::form;
        shape<Form, Form, typename S::c_form> sums{h.m, h.n, h.k};
        shape<Form, Form, typename spread<out_of<S>, 2>::form> const spreads{h.m, h.n, h.k};
        footprint need = larger(base_.workspace(h), larger(base_.workspace(sums), base_.workspace(spreads)));
        sums.adds = true;
        return larger(larger(need, base_.workspace(half_of(h))), base_.workspace(sums));
    }
    template <class S>
    static S half_of(S h) {
        h.adds = true;
        return h;
    }
    template <class S>
    footprint with_borders(S const& s, footprint need) const {
        borders<S> const edge(s);
        if (s.k % 2) need = larger(need, base_.workspace(edge.last_term));
        if (s.n % 2) need = larger(need, base_.workspace(edge.last_column));
        if (s.m % 2) need = larger(need, base_.workspace(edge.last_row));
        return need;
    }

    // Seven products and the additions. One of those reads two matrices and writes one, and so moves half as much again
    // as a product of one term that adds to its C: that is what tells the speed of memory.
    template <class S>
    double estimate(S const& s, int levels) const {
        if (levels == 0) return base_.estimate(s);
        S const h = half(s, false);
        bool const winograd = options_.variant == strassen_variant::winograd;
        auto const addition = [&](index_t rows, index_t cols) {
            return 1.5 * base_.estimate(S{rows, cols, 1, 1, true});
        };
        borders<S> const edge(s);
        double seconds = 7 * estimate(h, levels - 1) +
                         (winograd ? 4 : 5) * (addition(h.m, h.k) + addition(h.k, h.n)) +
                         (winograd ? 7 : 8) * addition(h.m, h.n);
        if (s.k % 2) seconds += base_.estimate(edge.last_term);
        if (s.n % 2) seconds += base_.estimate(edge.last_column);
        if (s.m % 2) seconds += base_.estimate(edge.last_row);
        return seconds;
    }

    // Worst: let max|A| = max|B| = 1 and h = k / 2, x the base's bound and u the unit roundoff. The product
    // of a sum of p quarters of A and one of q of B is wrong by p q x h and some u h. What goes into a
    // quarter of C adds up to 12 x h (Strassen) or 18 x h (Winograd); with E, to 27 x h in Winograd's form,
    // where the base bounds what it adds to sums already large. The additions cost 50 u h or 89 u h
    // (Higham). Both count as large what cancels: exactly it is 32 u h and 61 u h, and that slack, with 28
    // for 27, is more than the terms in x u and x x while x < 1/12. E itself is wrong by x + 5 u at most.
    //
    // Expected: a model, in which errors add as their squares do. Winograd's factor is the root of his 18,
    // for elements of both signs; Strassen's of 16 + 4, for elements of one sign, where two large products
    // make up each sum of four. The additions after the products cost 3 u, those before them 1/sqrt(h) of
    // that: two roundings, and half as much again for the largest of many elements. Measured on elements spread evenly over [-1, 1], [0, 1] and [1, 2], sides up to 512, 3 levels.
    template <class S>
    bound error_bound(S const& s, int levels) const {
        if (levels == 0) return base_bound(s);
        bool const winograd = options_.variant == strassen_variant::winograd;
        double const products = !winograd ? 12 : s.adds ? 28 : 18, additions = winograd ? 89 : 50;
        double const growth = __builtin_sqrt(winograd ? products : 20) / 2;
        double const u = unit_roundoff<typename S::c_type>();
        double const own = 3 * u * (1 + 1 / __builtin_sqrt(static_cast<double>(s.k / 2)));
        bound x = error_bound(half(s, false), levels - 1);
        if (s.adds) x = larger(x, error_bound(half(s, true), levels - 1));
        x = {(products * x.worst + additions * u) / 2, growth * x.expected + own, true};

        borders<S> const edge(s);
        if (s.k % 2) { // it adds to what is there, and wrong by x
            bound const y = base_bound(edge.last_term);
            x.worst += y.worst * (1 + x.worst);
            x.expected = __builtin_sqrt(x.expected * x.expected + y.expected * y.expected);
        }
        if (s.n % 2) x = larger(x, base_bound(edge.last_column));
        if (s.m % 2) x = larger(x, base_bound(edge.last_row));
        return x;
    }

    // The base's bound in the norm. |A||B| is at most k max|A| max|B|; where elements are spread evenly,
    // they are 1/sqrt(3) of the largest in the root mean square, and |A||B| is about a third of that, or,
    // for sums of few terms, a rounding more.
    template <class S>
    bound base_bound(S const& s) const {
        bound x = base_.error_bound(s);
        if (!x.normwise) x.expected = x.expected / 3 + unit_roundoff<typename S::c_type>();
        x.normwise = true;
        return x;
    }

    Base base_;
    strassen_options options_;
};

// Strassen over Strassen is two of them, and not a copy of one.
template <policy Base>
strassen(strassen<Base>) -> strassen<strassen<Base>>;

STRATAGEMM_END
