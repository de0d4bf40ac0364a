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
    using of_sums = problem<sum_of<term<S>, 4>, sum_of<term<S>, 4>, spread<out_of<S>, 2>>;
    template <class S>
    static constexpr bool fuses = takes<Base, of_sums<S>>;

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
        if (status s = level<P>(*this, inner, levels - 1, memory).run(); !s) return s;
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

    // One level of an even product. Each schedule reads an element of E before it writes to that of C, so
    // that C may be E; without E it never reads what C held. The first failure ends all that follows.
    //
    // Schedules name views by number, and a negated view by the negated number: a step is then one call of a
    // function with a few numbers, where copies of views in each of a hundred steps took longer to compile
    // than the base.
    template <class P>
    class level {
        using T = typename P::c_type;
        using in = view<T const, space>;
        using out = view<T, space>;
        using sum = sum_of<in, 4>;
        static constexpr int none = 0, c11 = 1, c12 = 2, c21 = 3, c22 = 4, s = 5, t = 6, p = 7, a11 = 8,
                             a12 = 9, a21 = 10, a22 = 11, b11 = 12, b12 = 13, b21 = 14, b22 = 15, e11 = 16,
                             e12 = 17, e21 = 18, e22 = 19;
        using terms = std::initializer_list<int>;

    public:
        level(strassen const& policy, P const& even, int below, arena& memory)
            : policy_(policy), p_(even), below_(below), memory_(memory), m_(even.c.rows / 2),
              n_(even.c.cols / 2), k_(even.a.cols / 2) {
            bool const adds = even.beta != T(0);
            for (int i = 0; i < 4; ++i) {
                to_[c11 + i] = quarter(even.c, i), from_[c11 + i] = to_[c11 + i];
                from_[a11 + i] = quarter(even.a, i), from_[b11 + i] = quarter(even.b, i);
                if (adds) from_[e11 + i] = quarter(even.e, i), from_[e11 + i].scale = even.beta;
            }
        }

        status run() {
            typename arena::scope const scope(memory_);
            bool const adds = p_.beta != T(0),
                       of_winograd = policy_.options_.variant == strassen_variant::winograd;
            if constexpr (fuses<P>)
                if (below_ == 0) {
                    // Winograd's form needs the quarters of C to itself until its sums are done, so that with
                    // E, which may be C, it is Strassen's.
                    of_winograd && !adds ? fused_winograd() : fused_original();
                    return std::move(status_);
                }
            if (of_winograd)
                adds ? winograd_adding() : winograd();
            else
                adds ? original_adding() : original();
            return std::move(status_);
        }

    private:
        // The last level over a base that takes sums and spreads.
        void fused_winograd() {
            multiply({a11, -a21}, {b22, -b12}, {c21});           // P7
            multiply({a21, a22}, {b12, -b11}, {c22});            // P5
            multiply({a21, a22, -a11}, {b22, -b12, b11}, {c12}); // P6
            multiply(a11, b11, c11);                             // P1
            add(c12, c11, c12);                                  // U2 = P1 + P6
            add(c21, c12, c21);                                  // U3 = U2 + P7
            add(c12, c22, c12);                                  // U4 = U2 + P5
            add(c22, c21, c22);                                  // C22 = U3 + P5
            multiply({a12, -a21, -a22, a11}, {b22}, {c12});      // C12 = U4 + P3
            multiply({-a22}, {b22, -b12, b11, -b21}, {c21});     // C21 = U3 - P4
            multiply(a12, b21, c11, c11);                        // C11 = P1 + P2
        }

        // The numbers are those of Strassen's paper.
        void fused_original() {
            multiply({a11, a22}, {b11, b22}, {c11, c22}); // M1
            multiply({a21, a22}, {b11}, {c21, -c22});     // M2
            multiply({a11}, {b12, -b22}, {c12, c22});     // M3
            multiply({a22}, {b21, -b11}, {c11, c21});     // M4
            multiply({a11, a12}, {b22}, {-c11, c12});     // M5
            multiply({a21, -a11}, {b11, b12}, {c22});     // M6
            multiply({a12, -a22}, {b21, b22}, {c11});     // M7
        }

        // Two temporaries: Boyer et al., table 1.
        void winograd() {
            take_two();
            add(b22, -b12, t);
            add(a11, -a21, s);
            multiply(s, t, c21); // P7 = (A11 - A21)(B22 - B12)
            add(b12, -b11, t);
            add(a21, a22, s);
            multiply(s, t, c22); // P5 = (A21 + A22)(B12 - B11)
            add(b22, -t, t);
            add(s, -a11, s);
            multiply(s, t, c12); // P6 = (A21 + A22 - A11)(B22 - B12 + B11)
            add(a12, -s, s);
            multiply(s, b22, c11); // P3 = (A12 - A21 - A22 + A11) B22
            multiply(a11, b11, p); // P1
            add(c12, p, c12);      // U2 = P1 + P6
            add(c21, c12, c21);    // U3 = U2 + P7
            add(c12, c22, c12);    // U4 = U2 + P5
            add(c22, c21, c22);    // C22 = U3 + P5
            add(c12, c11, c12);    // C12 = U4 + P3
            add(t, -b21, t);
            multiply(a22, t, c11); // P4 = A22 (B22 - B12 + B11 - B21)
            add(c21, -c11, c21);
            multiply(a12, b21, c11); // P2
            add(c11, p, c11);
        }

        // Three temporaries: Boyer et al., table 2. The products that go to one place only add to it.
        void winograd_adding() {
            take_three();
            add(b12, -b11, t);
            add(a21, a22, s);
            multiply(s, t, p); // P5
            add(p, e22, c22);
            add(p, e12, c12);
            multiply(a11, b11, p); // P1
            multiply(a12, b21, c11, e11);
            add(c11, p, c11);
            add(b22, -t, t);
            add(s, -a11, s);
            multiply(s, t, p, p); // U2 = P1 + P6
            add(c12, p, c12);
            add(t, -b21, t);
            add(a12, -s, s);
            multiply(a22, t, c21, -e21); // P4 - beta E21
            multiply(s, b22, c12, c12);  // C12 = beta E12 + P5 + U2 + P3
            add(b22, -b12, t);
            add(a11, -a21, s);
            multiply(s, t, p, p); // U3 = U2 + P7
            add(c22, p, c22);
            add(p, -c21, c21);
        }

        // Two temporaries. The numbers are those of Strassen's paper.
        void original() {
            take_two();
            add(a21, -a11, s);
            add(b11, b12, t);
            multiply(s, t, c22); // M6 = (A21 - A11)(B11 + B12)
            add(a12, -a22, s);
            add(b21, b22, t);
            multiply(s, t, c11); // M7 = (A12 - A22)(B21 + B22)
            add(a11, a22, s);
            add(b11, b22, t);
            multiply(s, t, c12); // M1 = (A11 + A22)(B11 + B22)
            add(c11, c12, c11);
            add(c22, c12, c22);
            add(a21, a22, s);
            multiply(s, b11, c21); // M2 = (A21 + A22) B11
            add(c22, -c21, c22);
            add(b21, -b11, t);
            multiply(a22, t, c12); // M4 = A22 (B21 - B11)
            add(c21, c12, c21);
            add(c11, c12, c11);
            add(a11, a12, s);
            multiply(s, b22, c12); // M5 = (A11 + A12) B22
            add(c11, -c12, c11);
            add(b12, -b22, t);
            multiply(a11, t, p); // M3 = A11 (B12 - B22)
            add(c12, p, c12);
            add(c22, p, c22);
        }

        // Three temporaries; M6 and M7, wanted once, are added in place.
        void original_adding() {
            take_three();
            add(a21, -a11, s);
            add(b11, b12, t);
            multiply(s, t, c22, e22); // M6
            add(a12, -a22, s);
            add(b21, b22, t);
            multiply(s, t, c11, e11); // M7
            add(a11, a22, s);
            add(b11, b22, t);
            multiply(s, t, p); // M1
            add(c11, p, c11);
            add(c22, p, c22);
            add(a21, a22, s);
            multiply(s, b11, p); // M2
            add(p, e21, c21);
            add(c22, -p, c22);
            add(b21, -b11, t);
            multiply(a22, t, p); // M4
            add(c21, p, c21);
            add(c11, p, c11);
            add(a11, a12, s);
            multiply(s, b22, p); // M5
            add(p, e12, c12);
            add(c11, -p, c11);
            add(b12, -b22, t);
            multiply(a11, t, p); // M3
            add(c12, p, c12);
            add(c22, p, c22);
        }

        void take_two() {
            place(t, k_, n_, memory_.template take<T>(k_ * n_));
            auto const shared = memory_.template take<T>(m_ * (k_ > n_ ? k_ : n_));
            place(s, m_, k_, shared), place(p, m_, n_, shared);
        }
        void take_three() {
            place(p, m_, n_, memory_.template take<T>(m_ * n_));
            place(s, m_, k_, memory_.template take<T>(m_ * k_));
            place(t, k_, n_, memory_.template take<T>(k_ * n_));
        }
        void place(int i, index_t rows, index_t cols, typename out::handle data) {
            to_[i] = {data, rows, cols, cols, 1}, from_[i] = to_[i];
        }

        // to = x + y
        [[gnu::noinline]] void add(int x, int y, int to) {
            if (status_) status_ = policy_.leaf().add(view_of(x), view_of(y), to_[to]);
        }
        // to = alpha x y, and e
        [[gnu::noinline]] void multiply(int x, int y, int to, int e = none) {
            if (!status_) return;
            in added = view_of(e);
            T const beta = e ? std::exchange(added.scale, T(1)) : T(0);
            status_ =
                policy_.multiply(P{p_.alpha, view_of(x), view_of(y), beta, added, to_[to]}, below_, memory_);
        }
        // Adds alpha x y to each target, or takes it from a negated one. The first product to arrive brings
        // beta E.
        [[gnu::noinline]] void multiply(terms x, terms y, terms targets) {
            if (!status_) return;
            spread<out, 2> places;
            for (int const target : targets) {
                int const quarter = target < 0 ? -target : target;
                bool const first = !std::exchange(reached_[quarter], true);
                in added = from_[first && p_.beta != T(0) ? e11 + (quarter - c11) : quarter];
                added.scale = T(1);
                places.add(to_[quarter], target < 0 ? T(-1) : T(1), first ? p_.beta : T(1), added);
            }
            status_ = policy_.base_(of_sums<P>{p_.alpha, sum_of_terms(x), sum_of_terms(y), T(0), {}, places},
                                    memory_);
        }

        in view_of(int i) const {
            in v = from_[i < 0 ? -i : i];
            if (i < 0) v.scale = -v.scale;
            return v;
        }
        sum sum_of_terms(terms list) const {
            sum x;
            for (int const i : list) x.term[x.terms++] = view_of(i);
            x.rows = x.term[0].rows, x.cols = x.term[0].cols;
            return x;
        }
        template <class V>
        static V quarter(V const& v, int i) {
            index_t const m = v.rows / 2, n = v.cols / 2;
            return v.part(i / 2 * m, i % 2 * n, m, n);
        }

        strassen const& policy_;
        P const& p_;
        int below_;
        arena& memory_;
        index_t m_, n_, k_;
        out to_[p + 1];
        in from_[e22 + 1];
        bool reached_[c22 + 1] = {};
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
    footprint workspace_of_fused(S h) const {
        using Form = typename sum_of<term<S>, 4>::form;
        shape<Form, Form, typename spread<out_of<S>, 2>::form> const sums{h.m, h.n, h.k};
        footprint const need = larger(base_.workspace(h), base_.workspace(sums));
        h.adds = true;
        return larger(need, base_.workspace(h));
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
    // that: two roundings, and half as much again for the largest of many elements. Measured on elements spread
    // evenly over [-1, 1], [0, 1] and [1, 2], sides up to 512, 3 levels.
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
