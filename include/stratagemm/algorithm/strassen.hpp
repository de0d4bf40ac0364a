// Fast products: Strassen's seven products of half the size instead of eight, and other bilinear algorithms.
//
// Winograd's form (7 products, 15 additions) has schedules of its own here; every other form is a table
// (strassen/bilinear.hpp) that one function interprets: Strassen's own (7 and 18), <3,2,3> in 15 products for sides
// that are divided by 3, 2 and 3, the definition in 8, or a table of the caller's. All go `levels` deep, over any base.
// What all levels together leave of a side is peeled: with two levels, what four divides is divided twice, and the
// last rows, columns and terms of the sums are products of the base. Nothing is padded.
//
// Over a base that takes sums of matrices as operands, and several matrices as a result, the last level needs no
// temporary: sums are formed while the base reads them, and a product is added where it belongs while it is written.
// On a device with memory to spare, the products of all levels are one batch instead (strassen/together.hpp), which is
// faster.
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

#include "../core/layer.hpp"
#include "strassen/bilinear.hpp"
#include "strassen/together.hpp"

STRATAGEMM_BEGIN

// best: Winograd's form on the host, where additions take time, and Strassen's on a device, where all levels are done
// together (strassen/together.hpp).
enum class strassen_variant { best, winograd, strassen, plain, by_323, by_424 };

struct strassen_options {
    // As many levels as the estimate of the base says are faster by some per cent, which may be none.
    static constexpr int automatic = -1;

    int levels =
        automatic; // or at most so many; a side that is smaller than the number of its parts is not divided
    strassen_variant variant = strassen_variant::best;
    bilinear const* table = nullptr; // instead of the variant
};

template <policy Base>
class strassen : public layer_over<Base> {
    using layer = layer_over<Base>;
    using layer::base_;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;

    // The parts of a product have its types, and so the base answers for them too.
    template <class P>
    static constexpr verdict accepts = [] {
        using T = typename P::a_type;
        constexpr bool one_type =
            std::is_same_v<T, typename P::b_type> && std::is_same_v<T, typename P::c_type>;
        constexpr bool sums_round_once = std::floating_point<T> || complex_like<T>;
        return types_if(one_type && sums_round_once) & answer<Base, P>();
    }();

    explicit strassen(Base base, strassen_options options = {}) // option names: see strassen_options
        : layer(std::move(base)), options_(options) {}

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
        int const apart = levels_apart(s, levels);
        bool const in_place = levels > 0 && apart == levels && fuses<S> && fits_fused(s.adds);
        if (levels > 0) s.count = 1;
        for (int i = 0; i < levels; ++i) s = part_of(s, s.adds);
        for (int i = apart; i < levels; ++i) s.count *= table().products;
        std::string text = std::string("strassen (") + (of_winograd() ? "Winograd's form" : table().name) +
                           "), " + std::to_string(levels) + (levels == 1 ? " level" : " levels");
        if (apart < levels) text += ", " + std::to_string(s.count) + " products together";
        return text + (in_place ? ", the last without temporaries; " : "; ") + base_.describe(s);
    }

    // What is wrong with the options, or with those of the base, for any shape: k of a part is shorter.
    template <class S>
    status check(S const&) const {
        if (options_.levels < strassen_options::automatic)
            return error(errc::argument, "strassen: levels must not be negative");
        return layer::check(S{});
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
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
    static constexpr bool on_device = device_leaf<leaf_of<Base>, space>;
    bool of_winograd() const {
        return !options_.table && (options_.variant == strassen_variant::winograd ||
                                   (!on_device && options_.variant == strassen_variant::best));
    }
    // Winograd's form divides as Strassen's does.
    template <class Table = bilinear>
    Table const& table() const {
        if (options_.table) return *options_.table;
        switch (options_.variant) {
        case strassen_variant::plain: return bilinear_plain;
        case strassen_variant::by_323: return bilinear_323<Table>;
        case strassen_variant::by_424: return bilinear_424<Table>;
        default: return bilinear_strassen;
        }
    }
    // Winograd's schedules: Boyer et al., tables 1 and 2. See error_bound().
    level_facts facts(bool adds) const {
        if (!of_winograd()) return table().facts[adds];
        level_facts f{true, true, true, adds, true, adds, 4, 4, 7};
        f.products = adds ? 28 : 18, f.additions = 89, f.mean_square = f.products;
        return f;
    }

    // By so many levels.
    static constexpr index_t parts_of(int parts, int levels) {
        index_t all = 1;
        for (int i = 0; i < levels; ++i) all *= parts;
        return all;
    }

    // How many levels are done one after another, before the others are done together: on a device that has memory for
    // it. The sums and products of L levels are (7/4)^L times as large as the operands. Kernels that are written out for
    // more products than three levels of Strassen's take long to compile.
    static constexpr int most_together = 3, most_products = 343, most_blocks = 81;
    template <class S>
    int levels_apart(S s, int levels) const {
        if constexpr (on_device) {
            if (of_winograd()) return levels;
            bilinear const& t = table();
            auto const limits = leaf().limits();
            s.count = 1;
            for (int apart = 0; apart < levels; ++apart, s = part_of(s, s.adds)) {
                int const n = levels - apart;
                auto const few = [&](int blocks) { return parts_of(blocks, n) <= most_blocks; };
                if (n > most_together || parts_of(t.products, n) > most_products || !few(t.m * t.n) ||
                    !few(t.m * t.k) || !few(t.k * t.n))
                    continue;
                S h = s;
                for (int i = 0; i < n; ++i) h = part_of(h, false);
                auto const fits = [&](index_t rows, index_t cols) {
                    return groups_for_elements(rows, cols) <= limits.groups;
                };
                // More than the queue keeps would be asked of the device for each product. The base's own workspace is
                // left out: a backend would choose a kernel for every layout to tell it.
                if (fits(h.m, h.n) && fits(h.m, h.k) && fits(h.k, h.n) &&
                    bytes_of_blocks(h, n) <= limits.kept_bytes)
                    return apart;
            }
        }
        return levels;
    }
    template <class S>
    int levels_for(S s) const {
        bilinear const& t = table();
        int levels = 0;
        int const most = options_.levels == strassen_options::automatic ? most_automatic : options_.levels;
        S rest = of_one(s);
        for (; rest.m >= t.m && rest.n >= t.n && rest.k >= t.k && levels < most; ++levels)
            rest = part_of(rest, rest.adds);
        if (options_.levels != strassen_options::automatic) return levels;
        s = to_choose_by(of_one(s));
        double at_most = estimate(s, 0) * worth_dividing;
        int best = 0;
        for (int i = 1; i <= levels; ++i)
            if (double const seconds = estimate(s, i, at_most); seconds < at_most)
                at_most = on_device ? seconds : seconds * worth_dividing, best = i;
        return best;
    }
    // A level is taken if it needs less than this share of the base's estimate, which is rough; on the host, each
    // further level less than this share of what fewer levels take. Threads share the memory that additions wait for
    // there: a level that barely pays on one thread loses on two.
    static constexpr double worth_dividing = 0.97;
    static constexpr int most_automatic = 3;

    template <class S>
    static S of_one(S s) {
        s.count = 1;
        return s;
    }
    template <class S>
    S part_of(S const& s, bool adds) const {
        bilinear const& t = table();
        return {.m = s.m / t.m, .n = s.n / t.n, .k = s.k / t.k, .adds = adds, .alone = s.alone};
    }
    // What so many levels divide of a product.
    template <class S>
    S divisible(S s, int levels) const {
        bilinear const& t = table();
        s.m -= s.m % parts_of(t.m, levels);
        s.n -= s.n % parts_of(t.n, levels);
        s.k -= s.k % parts_of(t.k, levels);
        return s;
    }

    // Problems of the last level, where the base takes them: S is a shape, or a problem.
    static constexpr int most_terms = 4, most_targets = 4;
    template <class S>
    using term = view<typename S::c_type const, space>;
    template <class S>
    using out_of = view<typename S::c_type, space>;
    template <class S>
    using of_sums =
        problem<sum_of<term<S>, most_terms>, sum_of<term<S>, most_terms>, spread<out_of<S>, most_targets>>;
    template <class S>
    static constexpr bool fuses = takes<Base, of_sums<S>>;
    // Whether the sums and the targets of the form have room.
    bool fits_fused(bool adds) const {
        return (of_winograd() && !adds) ||
               (table().most_terms <= most_terms && table().most_targets <= most_targets);
    }

    // What is left to the base of a product, of which the part `inner` is divided; with no elements where nothing is.
    template <class S>
    struct borders {
        S last_terms, last_columns, last_rows;
        borders(S const& s, S const& inner) : last_terms(s), last_columns(s), last_rows(s) {
            last_terms.m = inner.m, last_terms.n = inner.n, last_terms.k -= inner.k, last_terms.adds = true;
            last_columns.n -= inner.n;
            last_rows.m -= inner.m, last_rows.n = inner.n;
        }
    };

    // ---- the product -------------------------------------------------------------------------------------

    template <class P>
    status multiply(P const& p, int levels, arena& memory) const {
        index_t const m = p.c.rows, n = p.c.cols, k = p.a.cols;
        auto const inner = divisible(p.shape(), levels);
        index_t const m2 = inner.m, n2 = inner.n, k2 = inner.k;
        if (status s = divided(p.part(0, 0, 0, m2, n2, k2), levels, memory); !s) return s;
        if (k2 < k) {
            P last_terms = p.part(0, 0, k2, m2, n2, k - k2);
            last_terms.beta = typename P::scalar(1);
            last_terms.e = last_terms.c;
            if (status s = base_(last_terms, memory); !s) return s;
        }
        if (n2 < n)
            if (status s = base_(p.part(0, n2, 0, m, n - n2, k), memory); !s) return s;
        if (m2 < m)
            if (status s = base_(p.part(m2, 0, 0, m - m2, n2, k), memory); !s) return s;
        return {};
    }

    // All levels divide its sides.
    template <class P>
    status divided(P const& p, int levels, arena& memory) const {
        if (levels == 0) return base_(p, memory);
        if constexpr (on_device)
            if (levels_apart(p.shape(), levels) == 0)
                return multiply_together(base_, table(), levels, p, memory);
        return level<P>(*this, p, levels - 1, memory).run();
    }

    // One level of a product whose sides are divided without a rest. Each schedule reads an element of E before
    // it writes to that of C, so that C may be E; without E it never reads what C held. The first failure ends
    // all that follows.
    //
    // Schedules name views by number, and a negated view by the negated number: a step is then one call of a
    // function with a few numbers, where copies of views in each of a hundred steps took longer to compile
    // than the base.
    template <class P>
    class level {
        using T = typename P::c_type;
        using in = view<T const, space>;
        using out = view<T, space>;
        using sum = typename of_sums<P>::a_operand;
        // Blocks are numbered as tables do it, from 1.
        static constexpr int most = bilinear::most_blocks, none = 0, c1 = 0, s = most + 1, t = s + 1,
                             p = t + 1, a1 = p, b1 = a1 + most, e1 = b1 + most, end = e1 + most + 1;
        static constexpr int c11 = c1 + 1, c12 = c1 + 2, c21 = c1 + 3, c22 = c1 + 4, a11 = a1 + 1,
                             a12 = a1 + 2, a21 = a1 + 3, a22 = a1 + 4, b11 = b1 + 1, b12 = b1 + 2,
                             b21 = b1 + 3, b22 = b1 + 4, e11 = e1 + 1, e12 = e1 + 2, e21 = e1 + 3,
                             e22 = e1 + 4;
        using terms = block_numbers;

    public:
        level(strassen const& policy, P const& divided, int below, arena& memory)
            : policy_(policy), p_(divided), below_(below), memory_(memory), table_(policy.table()),
              adds_(divided.beta != T(0)), m_(divided.c.rows / table_.m), n_(divided.c.cols / table_.n),
              k_(divided.a.cols / table_.k) {
            for (int i = 0; i < table_.m * table_.n; ++i) {
                to_[c11 + i] = block(divided.c, i, m_, n_), from_[c11 + i] = to_[c11 + i];
                if (adds_) from_[e11 + i] = block(divided.e, i, m_, n_), from_[e11 + i].scale = divided.beta;
            }
            for (int i = 0; i < table_.m * table_.k; ++i) from_[a11 + i] = block(divided.a, i, m_, k_);
            for (int i = 0; i < table_.k * table_.n; ++i) from_[b11 + i] = block(divided.b, i, k_, n_);
        }

        status run() {
            typename arena::scope const scope(memory_);
            if constexpr (fuses<P>)
                if (below_ == 0 && policy_.fits_fused(adds_)) {
                    // Winograd's form needs the quarters of C to itself until its sums are done, so that with
                    // E, which may be C, it is Strassen's.
                    policy_.of_winograd() && !adds_ ? fused_winograd() : fused();
                    return std::move(status_);
                }
            take(policy_.facts(adds_));
            if (!policy_.of_winograd())
                with_temporaries();
            else
                adds_ ? winograd_adding() : winograd();
            return std::move(status_);
        }

    private:
        // A table, at the last level over a base that takes sums and spreads.
        void fused() {
            for (int r = 0; r < table_.products; ++r)
                multiply(terms(table_.a[r], a1), terms(table_.b[r], b1), terms(table_.c[r], c1));
        }

        // A table, elsewhere. A product that goes to one block is added there by the base; any other is made where it
        // is not in the way, and added to its blocks. The first to reach a block brings beta E.
        void with_temporaries() {
            for (int r = 0; r < table_.products; ++r) {
                auto const& targets = table_.c[r];
                auto const [where, place] = table_.place_of(r, reached_, adds_);
                int x = sum_into(terms(table_.a[r], a1), s);
                int const y = sum_into(terms(table_.b[r], b1), t),
                          to = where == product_place::temporary ? p : c1 + place;
                int const sign = bilinear::coefficient(targets, place) < 0 ? -1 : 1;
                bool const direct = where == product_place::target;
                multiply(sign * x, y, to, !direct ? none : reached_[place] ? to : adds_ ? e1 + place : none);
                for (int i = 0; targets[i]; ++i) {
                    int const target = bilinear::block(targets[i]),
                              from = targets[i] < 0 ? -sign * to : sign * to;
                    bool const first = !std::exchange(reached_[target], true);
                    if (c1 + target == to) continue;
                    if (first && !adds_)
                        copy(from, c1 + target);
                    else
                        add(first ? e1 + target : c1 + target, from, c1 + target);
                }
            }
        }
        // One term is itself; more are added up in a temporary.
        int sum_into(terms const& x, int temporary) {
            if (x.count == 1) return x.at[0];
            for (int i = 1; i < x.count; ++i) add(i == 1 ? x.at[0] : temporary, x.at[i], temporary);
            return temporary;
        }

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

        // Two temporaries: Boyer et al., table 1.
        void winograd() {
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

        // The sum of A and the product share memory unless they are wanted at a time.
        void take(level_facts const& f) {
            if (f.p_beside_s) place(p, m_, n_, memory_.template take<T>(m_ * n_));
            if (f.uses_t) place(t, k_, n_, memory_.template take<T>(k_ * n_));
            bool const p_shares = f.uses_p && !f.p_beside_s;
            if (!f.uses_s && !p_shares) return;
            index_t const width = !p_shares ? k_ : !f.uses_s || n_ > k_ ? n_ : k_;
            auto const shared = memory_.template take<T>(m_ * width);
            if (f.uses_s) place(s, m_, k_, shared);
            if (p_shares) place(p, m_, n_, shared);
        }
        void place(int i, index_t rows, index_t cols, typename out::handle data) {
            to_[i] = {data, rows, cols, cols, 1}, from_[i] = to_[i];
        }

        // to = x + y
        [[gnu::noinline]] void add(int x, int y, int to) {
            if (status_) status_ = policy_.leaf().add(view_of(x), view_of(y), to_[to]);
        }
        [[gnu::noinline]] void copy(int x, int to) {
            if (status_) status_ = policy_.leaf().copy(view_of(x), to_[to]);
        }
        // to = alpha x y, and e. The operands of a plain product have no factors: signs go into alpha.
        [[gnu::noinline]] void multiply(int x, int y, int to, int e = none) {
            if (!status_) return;
            in added = view_of(e);
            T const beta = e ? std::exchange(added.scale, T(1)) : T(0);
            status_ = policy_.divided(P{(x < 0) == (y < 0) ? p_.alpha : -p_.alpha, from_[x < 0 ? -x : x],
                                        from_[y < 0 ? -y : y], beta, added, to_[to]},
                                      below_, memory_);
        }
        // Adds alpha x y to each target, or takes it from a negated one. The first product to arrive brings
        // beta E.
        [[gnu::noinline]] void multiply(terms const& x, terms const& y, terms const& targets) {
            if (!status_) return;
            typename of_sums<P>::c_operand places;
            for (int i = 0; i < targets.count; ++i) {
                int const target = targets.at[i], to = target < 0 ? -target : target;
                bool const first = !std::exchange(reached_[to], true);
                in added = from_[first && adds_ ? e1 + to : to];
                added.scale = T(1);
                places.add(to_[to], target < 0 ? T(-1) : T(1), first ? p_.beta : T(1), added);
            }
            status_ = policy_.base_(of_sums<P>{p_.alpha, sum_of_terms(x), sum_of_terms(y), T(0), {}, places},
                                    memory_);
        }

        in view_of(int i) const {
            in v = from_[i < 0 ? -i : i];
            if (i < 0) v.scale = -v.scale;
            return v;
        }
        sum sum_of_terms(terms const& list) const {
            sum x;
            for (int i = 0; i < list.count; ++i) x.term[i] = view_of(list.at[i]);
            x.terms = list.count;
            x.rows = x.term[0].rows, x.cols = x.term[0].cols;
            return x;
        }
        template <class V>
        static V block(V const& v, int i, index_t rows, index_t cols) {
            int const across = static_cast<int>(v.cols / cols);
            return v.part(i / across * rows, i % across * cols, rows, cols);
        }

        strassen const& policy_;
        P const& p_;
        int below_;
        arena& memory_;
        bilinear const& table_;
        bool adds_;
        index_t m_, n_, k_;
        out to_[p + 1];
        in from_[end];
        bool reached_[most + 1] = {};
        status status_;
    };

    // ---- what it needs, and how wrong it can be ----------------------------------------------------------

    template <class S>
    footprint workspace(S const& s, int levels) const {
        S const inner = divisible(s, levels);
        borders<S> const edge(s, inner);
        footprint need = workspace_of_divided(inner, levels);
        if (edge.last_terms.k) need = larger(need, base_.workspace(edge.last_terms));
        if (edge.last_columns.n) need = larger(need, base_.workspace(edge.last_columns));
        if (edge.last_rows.m) need = larger(need, base_.workspace(edge.last_rows));
        return need;
    }
    template <class S>
    footprint workspace_of_divided(S const& s, int levels) const {
        if (levels == 0) return base_.workspace(s);
        if (levels_apart(s, levels) == 0) {
            S h = s;
            for (int i = 0; i < levels; ++i) h = part_of(h, false);
            return workspace_together(h, levels);
        }
        S const h = part_of(s, false);
        if constexpr (fuses<S>)
            if (levels == 1 && fits_fused(s.adds)) return workspace_of_fused(h);
        auto bytes = [](index_t rows, index_t cols) {
            return arena::rounded(static_cast<std::size_t>(rows * cols) * sizeof(typename S::c_type));
        };
        level_facts const f = facts(s.adds);
        std::size_t const of_s = f.uses_s ? bytes(h.m, h.k) : 0, of_p = f.uses_p ? bytes(h.m, h.n) : 0;
        footprint own, below;
        space::share(own) =
            (f.uses_t ? bytes(h.k, h.n) : 0) + (f.p_beside_s ? of_s + of_p : larger(of_s, of_p));
        if (f.stores) below = workspace_of_divided(h, levels - 1);
        if (f.accumulates) below = larger(below, workspace_of_divided(part_of(s, true), levels - 1));
        return own + below;
    }
    // What all products of so many levels take together; h is the shape of one.
    template <class S>
    footprint workspace_together(S h, int levels) const {
        h.count = parts_of(table().products, levels);
        footprint own;
        space::share(own) = bytes_of_blocks(h, levels);
        return own + base_.workspace(h);
    }
    // The sums and the products.
    template <class S>
    std::size_t bytes_of_blocks(S const& h, int levels) const {
        return bytes_together<arena>(h, static_cast<int>(parts_of(table().products, levels)));
    }
    template <class S>
    footprint workspace_of_fused(S h) const {
        using Sums = of_sums<S>;
        shape<typename Sums::a_operand::form, typename Sums::b_operand::form,
              typename Sums::c_operand::form> const sums{h.m, h.n, h.k};
        footprint const need = larger(base_.workspace(h), base_.workspace(sums));
        h.adds = true;
        return larger(need, base_.workspace(h));
    }

    // What products that are done together take beside themselves: three launches move the blocks of A, B and C, and
    // h.count sums of A, sums of B and products.
    template <class S>
    double seconds_to_move([[maybe_unused]] S const& h, [[maybe_unused]] int levels) const {
        if constexpr (on_device) {
            auto const bytes = [&](int blocks, index_t rows, index_t cols) {
                return static_cast<double>(h.count + parts_of(blocks, levels)) * static_cast<double>(rows) *
                       static_cast<double>(cols) * sizeof(typename S::c_type);
            };
            bilinear const& t = table();
            return (bytes(t.m * t.k, h.m, h.k) + bytes(t.k * t.n, h.k, h.n) + bytes(t.m * t.n, h.m, h.n)) /
                       leaf().limits().bandwidth +
                   30e-6;
        } else {
            return 0;
        }
    }

    // The products and the additions. One of those reads two matrices and writes one. On the host it waits for memory, at
    // 12 GB/s for each thread; on a device it moves half as much again as a product of one term that adds to its C, whose
    // estimate tells the speed of memory. The last level counts
    // likewise where it has no temporaries, because the host reads the terms of A once for each block of columns.
    // (One level of Winograd's form at 4096 reads 7 further terms of A four or five times and 7 of B once, and passes
    // over C 15 times; 15 additions are 45 passes. With AVX2, one thread took less time than that, two threads took
    // more.)
    template <class S>
    [[gnu::cold, gnu::noinline]] double of_base(S const& s) const {
        return base_.estimate(s);
    }
    // What takes longer than `most` need not be told exactly: the base is asked until all takes as long.
    template <class S>
    double estimate(S const& s, int levels, double most = infinite<double>()) const {
        S const inner = divisible(s, levels);
        borders<S> const edge(s, inner);
        double seconds = estimate_of_divided(inner, levels, most);
        if (edge.last_terms.k && seconds < most) seconds += of_base(edge.last_terms);
        if (edge.last_columns.n && seconds < most) seconds += of_base(edge.last_columns);
        if (edge.last_rows.m && seconds < most) seconds += of_base(edge.last_rows);
        return seconds;
    }
    template <class S>
    [[gnu::cold, gnu::noinline]] double estimate_of_divided(S const& s, int levels, double most) const {
        if (levels == 0) return of_base(s);
        S h = part_of(s, false);
        if (levels_apart(s, levels) == 0) {
            for (int i = 1; i < levels; ++i) h = part_of(h, false);
            h.count = parts_of(table().products, levels);
            double const moves = seconds_to_move(h, levels);
            return moves < most ? of_base(h) + moves : moves;
        }
        level_facts const f = facts(false);
        double seconds = 0;
        auto const add = [&](int sums, index_t rows, index_t cols) {
            if (!(seconds < most)) return;
            if constexpr (on_device)
                seconds += sums * (1.5 * of_base(S{rows, cols, 1, 1, true}));
            else
                seconds += sums * (3.0 * sizeof(typename S::c_type) * static_cast<double>(rows) *
                                   static_cast<double>(cols) / 10e9 / threads_for(s, leaf()));
        };
        add(f.a_sums, h.m, h.k), add(f.b_sums, h.k, h.n), add(f.c_sums, h.m, h.n);
        if (!(seconds < most)) return seconds;
        int const products = table().products;
        return seconds + products * estimate_of_divided(h, levels - 1, (most - seconds) / products);
    }

    // Worst: let max|A| = max|B| = 1 and h = k / K the terms of a product's sums, x the base's bound and u the unit
    // roundoff. What goes into a block of C is wrong by (products x + additions u) h, which is counted from the table
    // (strassen/bilinear.hpp), and E by a few u, or x where the base adds it; with the products of errors that is at
    // most 1 + x times as much in u. For Strassen's form the counts are 12 and 50, as Higham has them. For Winograd's
    // schedules they are 18 and 89, and with E 27, where the base bounds what it adds to sums already large. Both count
    // as large what cancels.
    //
    // Expected: a model, in which errors add as their squares do: the root of 18 for Winograd's form, for elements of
    // both signs; and that of 16 + 4 for Strassen's, for elements of one sign, where two large products make up each
    // sum of four. The additions after the products cost 3 u, those before them 1/sqrt(h) of that: two roundings, and
    // half as much again for the largest of many elements. Measured on elements spread evenly over [-1, 1], [0, 1] and
    // [1, 2], sides up to 512, 3 levels.
    template <class S>
    bound error_bound(S const& s, int levels) const {
        S const inner = divisible(s, levels);
        borders<S> const edge(s, inner);
        bound x = bound_of_divided(inner, levels);
        double const products =
            1 + (edge.last_terms.k > 0) + (edge.last_columns.n > 0) + (edge.last_rows.m > 0);
        if (edge.last_terms.k) { // it adds to what is there, and wrong by x
            bound const y = base_bound(edge.last_terms);
            x.worst += y.worst * (1 + x.worst);
            x.expected = __builtin_sqrt(x.expected * x.expected + y.expected * y.expected);
            if (y.confidence < x.confidence) x.confidence = y.confidence;
        }
        if (edge.last_columns.n) x = larger(x, base_bound(edge.last_columns));
        if (edge.last_rows.m) x = larger(x, base_bound(edge.last_rows));
        x.confidence = all_hold(x.confidence, products);
        return x;
    }
    template <class S>
    bound bound_of_divided(S const& s, int levels) const {
        if (levels == 0) return base_bound(s);
        level_facts const f = facts(s.adds);
        double const parts = table().k, u = unit_roundoff<typename S::c_type>();
        double const own = 3 * u * (1 + 1 / __builtin_sqrt(static_cast<double>(s.k / table().k)));
        bound x{};
        if (f.stores) x = bound_of_divided(part_of(s, false), levels - 1);
        if (f.accumulates) x = larger(x, bound_of_divided(part_of(s, true), levels - 1));
        double const of_c = (f.products * x.worst + 1.01 * (1 + x.worst) * f.additions * u) / parts,
                     of_e = s.adds ? f.added * x.worst + 1.01 * f.additions_of_added * u : 0;
        return {of_c < of_e ? of_e : of_c, __builtin_sqrt(f.mean_square) / parts * x.expected + own, true,
                all_hold(x.confidence, table().products)};
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

    strassen_options options_;
};

// Strassen over Strassen is two of them, and not a copy of one.
template <policy Base>
strassen(strassen<Base>) -> strassen<strassen<Base>>;

STRATAGEMM_END
