// The check of products with an operand that lies in no memory, such as a transform, for `verified` on the host.
//
// For vectors u of random signs, u^T C is compared with alpha (u^T A) X + beta u^T E, column by column. The operand says
// what u^T A is: probe() is an operand in double whose product with u is that vector, except for finish_probe(), where
// there is one. A column whose sums differ by more than rounding errors of typical data is computed again. It is right
// if the base computes it again to within two error bounds, so that no correct product is refused; else what was
// computed again replaces it, if its own sums are as they should be.
#pragma once

#include "check.hpp"

STRATAGEMM_BEGIN

namespace verified_parts {

template <class A>
concept has_probe = requires(A const& a) {
    a.probe();
    {
        a.peak()
        } -> std::convertible_to<double>; // the largest magnitude of an element, as the error bound has it
};
template <class Form>
concept form_with_probe = requires {
    requires Form::has_probe;
};
// Whether A or B is such an operand, and all else is a matrix.
template <class P>
inline constexpr bool
    is_probed = is_view<typename P::c_operand>::value &&
                ((has_probe<typename P::a_operand> && is_view<typename P::b_operand>::value) ||
                 (is_view<typename P::a_operand>::value && has_probe<typename P::b_operand>));
template <class S>
inline constexpr bool is_probed_shape =
    form_with_probe<typename S::a_form> || form_with_probe<typename S::b_form>;

// A complex number of a view as two doubles.
template <class T>
void add_times(double const (&w)[2], T const& x, double (&sum)[2]) {
    if constexpr (complex_like<T>) {
        auto const re = static_cast<double>(x.real()), im = static_cast<double>(x.imag());
        sum[0] += w[0] * re - w[1] * im, sum[1] += w[0] * im + w[1] * re;
    } else {
        sum[0] += w[0] * static_cast<double>(x), sum[1] += w[1] * static_cast<double>(x);
    }
}
template <class S>
void to_parts(S const& x, double (&w)[2]) {
    if constexpr (complex_like<S>)
        w[0] = static_cast<double>(x.real()), w[1] = static_cast<double>(x.imag());
    else
        w[0] = static_cast<double>(x), w[1] = 0;
}

// What a check keeps: vectors u and what they are multiplied by, G, how far columns are off, and a column of C.
template <class C, class G>
struct probe_room {
    double *u, *off;
    G* g;
    C* column;

    template <class Take>
    void each(index_t m, index_t n, index_t k, int rounds, Take&& take) {
        take(u, m * rounds), take(g, k * rounds), take(off, n), take(column, m);
    }
    template <class Arena>
    static std::size_t bytes(index_t m, index_t n, index_t k, int rounds) {
        std::size_t all = 0;
        probe_room{}.each(m, n, k, rounds, [&]<class E>(E*&, index_t count) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
        });
        return all;
    }
};

// P: a product whose A is the operand. Base: what multiplies it.
template <class Leaf, class Base, class P>
class probe_check {
    using C = typename P::c_type;
    using S = typename P::scalar;
    using probe_type = decltype(std::declval<P const&>().a.probe());
    using G = typename decltype(std::declval<P const&>().a.facts().shape_of_probe(0, 0, 0))::c_type;
    using probe_problem = problem<probe_type, view<double const>, view<G>>;

public:
    template <class Arena>
    probe_check(Leaf const& leaf, Base const& base, P const& p, bound const& allowed,
                verified_options const& options, Arena& memory)
        : leaf_(leaf), base_(base), p_(p), allowed_(allowed), m_(p.c.rows), n_(p.c.cols), k_(p.a.cols),
          rounds_(rounds_of<C>(m_, n_, k_, options)) {
        own_.each(m_, n_, k_, rounds_,
                  [&]<class E>(E*& array, index_t count) { array = memory.template take<E>(count); });
        for (int r = 0; r < rounds_; ++r) {
            std::uint64_t const seed = random_bits(options.seed, static_cast<std::uint64_t>(r));
            for (index_t i = 0; i < m_; ++i)
                own_.u[r * m_ + i] = random_bits(seed, static_cast<std::uint64_t>(i)) >> 63 ? -1 : 1;
        }
    }

    // Whether C is right now; `problem` is what went wrong with the check.
    template <class Arena, class Probe>
    bool run(Probe const& multiply_probe, Arena& memory, status& failed) {
        view<G> const g{own_.g, k_, rounds_, 1, k_};
        probe_problem const probe{1, p_.a.probe(), {own_.u, m_, rounds_, 1, m_}, 0, g, g};
        if (failed = multiply_probe(probe, memory); !failed) return false;
        if constexpr (requires { p_.a.finish_probe(g); }) p_.a.finish_probe(g);
        measure(p_, own_.off);
        int suspects = 0;
        for (index_t j = 0; j < n_; ++j) {
            if (own_.off[j] == left_out) {
                ++skipped_;
            } else if (own_.off[j] > typical()) {
                if (++suspects > most_suspects) return false;
                if (!look(j, memory, failed) || !failed) return false;
            }
        }
        return true;
    }
    void tell(report& to) const {
        to.products += 1, to.repaired += repaired_, to.skipped += skipped_;
        double const limit = 2 * (passed_ > typical() ? passed_ : typical());
        to.limit = to.limit < limit ? limit : to.limit;
    }

private:
    static constexpr int most_suspects = 8;
    static constexpr double left_out = -1;

    // How far the sum of a column of random data is off, in bounds of the column's elements: six standard deviations for
    // the sum and as many for the probe. A bound of typical data is 4.5 of them.
    double typical() const {
        double const x = 3 * __builtin_sqrt(static_cast<double>(m_)) * allowed_.expected / allowed_.worst;
        return x > 1 ? x : 1;
    }

    // Sets off[j] to the error of the sums of column j of q in the worst round, as a multiple of the bound of an element; to
    // left_out if the column has Inf or NaN or may overflow.
    void measure(P const& q, double* off) const {
        index_t const n = q.c.cols;
        auto const parts = static_cast<int>(n < 64 ? n : 64);
        int const team = leaf_.team(4.0 * rounds_ * static_cast<double>(n) * static_cast<double>(m_ + k_));
        leaf_.each(team, parts, [&](int, int part) {
            index_t const begin = n * part / parts, end = n * (part + 1) / parts;
            for (index_t j = begin; j < end; j += several)
                measure_few(q, j, end - j < several ? end - j : several, off);
        });
    }
    static constexpr index_t several = 16; // columns, which may lie side by side
    void measure_few(P const& q, index_t first, index_t count, double* off) const {
        double size[several] = {};
        for (index_t c = 0; c < count; ++c) off[first + c] = 0;
        peaks(q.b, first, count, magnitude_of(q.alpha) * static_cast<double>(k_) * q.a.peak(), size);
        if (q.beta != S(0)) peaks(q.e, first, count, magnitude_of(q.beta), size);
        for (int r = 0; r < rounds_; ++r) {
            double sums[several][2] = {};
            add_sums(q, r, first, count, sums);
            for (index_t c = 0; c < count; ++c) {
                double const by = complex_like<C> ? __builtin_hypot(sums[c][0], sums[c][1])
                                                  : __builtin_fabs(sums[c][0]),
                             x = by / (allowed_.worst * size[c] + underflow_of<C>(q.alpha, q.beta, k_));
                double& to = off[first + c];
                if (!(size[c] < largest_of<C>() / 64))
                    to = left_out;
                else if (!is_finite(x))
                    to = 1e300;
                else if (to < x)
                    to = x;
            }
        }
    }
    // Adds `factor` times the largest element of each column to its size.
    template <class V>
    static void peaks(V const& v, index_t first, index_t count, double factor, double* size) {
        double most[several] = {};
        for (index_t i = 0; i < v.rows; ++i)
            for (index_t c = 0; c < count; ++c) {
                double x[2];
                to_parts(v(i, first + c), x);
                double const both = __builtin_fabs(x[0]) + __builtin_fabs(x[1]); // NaN stays
                if (!(both <= most[c]) && most[c] == most[c]) most[c] = both;
            }
        for (index_t c = 0; c < count; ++c) size[c] += factor * most[c];
    }
    // u^T C - alpha g^T X - beta u^T E
    void add_sums(P const& q, int round, index_t first, index_t count, double (&sums)[several][2]) const {
        double const* const u = own_.u + round * m_;
        G const* const g = own_.g + round * k_;
        double alpha[2], beta[2];
        to_parts(q.alpha, alpha), to_parts(q.beta, beta);
        for (index_t l = 0; l < k_; ++l) {
            double const w[2] = {-alpha[0] * g[l].real() + alpha[1] * g[l].imag(),
                                 -alpha[0] * g[l].imag() - alpha[1] * g[l].real()};
            for (index_t c = 0; c < count; ++c)
                add_times(w, element_as<typename P::b_type>(q.b, l, first + c), sums[c]);
        }
        for (index_t i = 0; i < m_; ++i) {
            double const one[2] = {u[i], 0}, of_e[2] = {-u[i] * beta[0], -u[i] * beta[1]};
            for (index_t c = 0; c < count; ++c) add_times(one, q.c(i, first + c), sums[c]);
            for (index_t c = 0; c < count && q.beta != S(0); ++c)
                add_times(of_e, element_as<C>(q.e, i, first + c), sums[c]);
        }
    }

    // Computes column j again, and repairs it if it is wrong. False: what was computed again is no better.
    template <class Arena>
    bool look(index_t j, Arena& memory, status& failed) {
        P again = p_;
        again.b = p_.b.part(0, j, k_, 1);
        again.c = {own_.column, m_, 1, 1, m_};
        again.e = p_.beta != S(0) ? p_.e.part(0, j, m_, 1) : view<C const>(again.c);
        if (failed = base_(again, memory); !failed) return false;
        double size[1] = {};
        peaks(again.b, 0, 1, magnitude_of(p_.alpha) * static_cast<double>(k_) * p_.a.peak(), size);
        if (p_.beta != S(0)) peaks(again.e, 0, 1, magnitude_of(p_.beta), size);
        double const may = 2 * (allowed_.worst * size[0] + underflow_of<C>(p_.alpha, p_.beta, k_));
        index_t wrong = 0;
        for (index_t i = 0; i < m_; ++i)
            if (!(magnitude_of(p_.c(i, j) - own_.column[i]) <= may)) ++wrong;
        if (wrong == 0) {
            passed_ = passed_ < own_.off[j] ? own_.off[j] : passed_;
            return true;
        }
        double off = 0;
        measure(again, &off);
        if (off > typical()) return false;
        for (index_t i = 0; i < m_; ++i) p_.c(i, j) = own_.column[i];
        repaired_ += wrong;
        return true;
    }

    Leaf leaf_;
    Base const& base_;
    P const& p_;
    bound const allowed_;
    index_t const m_, n_, k_;
    int const rounds_;
    probe_room<C, G> own_{};
    double passed_ = 0; // the most by which a column was off that was computed to the same again
    index_t repaired_ = 0, skipped_ = 0;
};

} // namespace verified_parts

STRATAGEMM_END
