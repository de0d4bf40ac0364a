// Products with a transform, over the leaf of a backend.
#pragma once

#include "../../core/layer.hpp"
#include "real.hpp"

STRATAGEMM_BEGIN

template <class T>
struct dft;
template <class X>
inline constexpr bool is_dft = false;
template <class T>
inline constexpr bool is_dft<dft<T>> = true;
template <class T>
struct irdft; // from half a spectrum to real numbers
template <class X>
inline constexpr bool is_irdft = false;
template <class T>
inline constexpr bool is_irdft<irdft<T>> = true;
template <class X>
inline constexpr bool is_transform = is_dft<X> || is_irdft<X>;

// Errors of transforms, in units of rounding, in the 2-norm of the result. `worst`: each operation of a pass has its
// largest error, and all errors add up. `steps`: how many roundings an element meets, whose errors differ in sign.
struct dft_errors {
    double worst = 0, steps = 0;
};
template <class R>
dft_errors errors_of(dft_steps<R> const& s) {
    // Multiplied by a factor that is rounded itself: sqrt(5) (Brent, Percival, Zimmermann: Error bounds on complex
    // floating-point multiplication, 2007) and one rounding.
    constexpr double factor = 3.24;
    dft_errors e;
    for (int i = 0; i < s.count; ++i) {
        int const r = s.radix[i], half = r / 2;
        // Sums of two at each level, and sqrt(1/2) in radix 8; or, for other radices, sums of half + 2 products of
        // rounded cosines and sines, whose terms may cancel.
        e.worst += r == 2 ? 1 : r == 4 ? 2 : r == 8 ? 5 : (half + 4) * __builtin_sqrt(2.0 * r);
        e.worst += i + 1 < s.count ? factor : 0;
        e.steps += r == 2 ? 2 : r == 4 ? 3 : r == 8 ? 5 : half + 3;
    }
    return e;
}
template <class R>
dft_errors errors_of(dft_division<R> const& d) {
    dft_errors const a = errors_of(steps_of<R>(d.n1)), b = errors_of(steps_of<R>(d.n2));
    constexpr double factor = 3.24;
    dft_errors one{a.worst + b.worst + (d.is_long() ? factor : 0), a.steps + b.steps + 1};
    // Two transforms, a product with the spectrum and two with the chirp. No element of the spectrum of n points is
    // more than 3 sqrt(n), whatever n: two stationary phases meet there, and each overshoots by a fifth.
    if (d.is_chirp()) one = {3 * (2 * one.worst + 3 * factor), 2 * (2 * one.steps + 3)};
    // Sums of two, twice, and a factor, which is a product itself where the transform is long.
    if (d.is_halved) one.worst += 2 + (d.is_long() ? 2 : 1) * factor, one.steps += 4;
    return one;
}

// The transform of a product, from its shape: the operand on the left or on the right, its length, and how many columns
// or rows it transforms.
template <class S>
inline constexpr bool transform_is_left = requires {
    requires S::a_form::is_transform;
};
template <class S>
auto const& facts_of_transform(S const& s) {
    if constexpr (transform_is_left<S>)
        return s.a_facts;
    else
        return s.b_facts;
}
template <class S>
inline constexpr bool transforms_to_real = !complex_like<typename S::c_type>;
template <class S>
index_t points_of(S const& s) {
    index_t const points = facts_of_transform(s).points, results = transform_is_left<S> ? s.m : s.n;
    return points > 0 ? points : transforms_to_real<S> ? results : s.k;
}
template <class S>
index_t transforms_of(S const& s) {
    return (transform_is_left<S> ? s.n : s.m) * s.count;
}

// Whether a product may be one of halves: no more frequencies of real numbers than tell, or back.
template <class S>
inline constexpr bool may_halve =
    transforms_to_real<S> ||
    !complex_like<std::conditional_t<transform_is_left<S>, typename S::b_type, typename S::a_type>>;
template <class S>
bool halves(S const& s) {
    if constexpr (may_halve<S>) {
        index_t const frequencies = transforms_to_real<S> ? s.k : transform_is_left<S> ? s.m : s.n;
        return frequencies <= points_of(s) / 2 + 1 && !facts_of_transform(s).is_shifted;
    } else {
        return false;
    }
}
[[gnu::cold]] inline status another_plan() {
    return failure(errc::argument, "dft: the plan is one of another transform; give its shape the facts() of "
                                   "the operand");
}
template <class A>
status check_side(A const& a) {
    if constexpr (is_irdft<A>)
        if (a.is_turned)
            return failure(errc::argument,
                           "irdft: it is on the left as it is, and transposed(irdft<T>(n)) on the right");
    return {};
}
// The types of a product with a transform, of X to To, by a policy of backends.
template <class F, class X, class To>
inline constexpr bool
    are_types_of_transform = is_irdft<F>
                                 ? complex_like<X>&& std::is_same_v<real_t<X>, typename F::real_type>&&
                                       std::is_same_v<To, typename F::real_type>
                                 : complex_like<To>&& std::is_same_v<real_t<To>, typename F::real_type> &&
                                       (std::is_same_v<X, To> || std::is_same_v<X, typename F::real_type>);

// Products with a transform. P: a backend. One on the right runs as the transposed product.
template <policy P>
class dft_product : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>;
    static constexpr bool by_definition = requires { requires P::is_oracle; };

    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        using To = typename Q::c_type;
        constexpr bool left = is_transform<A> && is_view<B>::value,
                       right = is_view<A>::value && is_transform<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else if constexpr (!on_host) {
            return verdict::leaf;
        } else {
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            using F = std::conditional_t<left, A, B>;
            return types_if(are_types_of_transform<F, X, To>) &
                   epilogue_if(epilogue_for<typename Q::epilogue_type, To>);
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using R = real_t<typename S::c_type>;
        footprint need;
        if constexpr (!on_host) {
            return need;
        } else if constexpr (by_definition) {
            space::share(need) =
                2 * arena::rounded(static_cast<std::size_t>(2 * points_of(s)) * sizeof(double));
        } else {
            dft_division<R> const d = division_of(s);
            dft_room<R> const room(d);
            auto const bytes = [](index_t numbers) {
                return arena::rounded(static_cast<std::size_t>(numbers) * sizeof(R));
            };
            space::share(need) = bytes(room.shared) + bytes(room.own * team_for(d, transforms_of(s)));
        }
        return need;
    }
    // A normwise bound: |dC_ij| <= x (k max|X| + max|beta E|). The norm of a column of C is at most sqrt(points) times
    // that of a column of X, which is at most sqrt(k) max|X|; no element errs by more than the column does. Typical
    // errors are as large in one element of C as in another, and random: one element in 100,000 reaches 4.5 standard
    // deviations. An irdft takes each element twice, so that its elements are at most 2; but for the inner ones.
    template <class S>
    bound error_bound(S const& s) const {
        using R = real_t<typename S::c_type>;
        double const u = unit_roundoff<R>(), adds = s.adds ? 4 : 0,
                     k = (s.k < 1 ? 1 : static_cast<double>(s.k)) * (transforms_to_real<S> ? 2 : 1);
        constexpr double factors = 4.5; // alpha and the operand's own
        if constexpr (by_definition || !on_host) {
            double const typical = 6 / __builtin_sqrt(k) + adds;
            return {(6 + factors + adds) * u, (typical < 6 ? typical : 6) * u, true};
        } else {
            dft_errors const e = errors_of(division_of(s));
            double const stretch = __builtin_sqrt(static_cast<double>(points_of(s)) / k),
                         typical = 4.5 * 0.5 * __builtin_sqrt((e.steps + 2) / k);
            return {((e.worst + factors) * stretch + adds) * u, (typical + adds) * u, true};
        }
    }
    // The operations, or the bytes read and written, divided by a bandwidth of a host, if these take longer. A long
    // transform waits, besides, for what it fetches far apart.
    template <class S>
    double estimate(S const& s) const {
        using R = real_t<typename S::c_type>;
        dft_division<R> const d = division_of(s);
        auto const each = static_cast<double>(transforms_of(s));
        if constexpr (by_definition || !on_host) {
            return static_cast<double>(s.k) * static_cast<double>(s.m * s.n * s.count) * 20e-9;
        } else {
            double const bytes = 3 * static_cast<double>(d.length) * 2 * sizeof(R) * each,
                         lanes = static_cast<double>(dft_kernels_here<R>().lanes);
            auto const threads = static_cast<double>(s.alone ? 1 : team_for(d, transforms_of(s)));
            double const operations = multiply_adds_of(d) / (lanes * 1e9) + waits_of(d);
            return larger_time(bytes / 25e9, operations * each / threads) + 0.2e-6;
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        using R = real_t<typename S::c_type>;
        std::string text =
            (transforms_to_real<S> ? "irdft of " : "dft of ") + std::to_string(points_of(s)) + " points";
        if constexpr (by_definition || !on_host) {
            return text + " by its definition, in double";
        } else {
            dft_division<R> const d = division_of(s);
            if (d.is_halved) text += " as " + std::to_string(d.n) + " pairs";
            auto const radices = [](index_t points) {
                auto const steps = steps_of<R>(points);
                std::string list;
                for (int i = 0; i < steps.count; ++i) list += " " + std::to_string(steps.radix[i]);
                return list;
            };
            if (d.is_chirp()) text += " by a convolution of " + std::to_string(d.length) + " (Bluestein)";
            if (d.is_long())
                text += ", as " + std::to_string(d.n1) + " x " + std::to_string(d.n2) + ", radices" +
                        radices(d.n1) + " and" + radices(d.n2) + "; one transform at a time";
            else
                text += (d.length > 1 ? ", radices" + radices(d.length) : std::string()) + ", " +
                        std::to_string(dft_kernels_here<R>().lanes) + " transforms at a time";
            int const team = team_for(d, transforms_of(s));
            return text + ", on " + std::to_string(team) + (team == 1 ? " thread" : " threads");
        }
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_transform<typename Q::a_operand>) {
            return transform(p, memory);
        } else { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            return turn(q, memory);
        }
    }

private:
    template <class Q>
    status turn(Q const& q, arena& memory) const {
        // An epilogue that does nothing is one that kernels know.
        if constexpr (std::is_same_v<typename Q::epilogue_type, turned_epilogue<identity>>)
            return transform(q.without_epilogue(), memory);
        else
            return transform(q, memory);
    }
    template <class Q>
    status transform(Q const& p, arena& memory) const {
        using R = real_t<typename Q::c_type>;
        if (status s = check_side(p.a); !s) return s;
        if constexpr (by_definition) {
            if (!memory.fits(workspace(p.shape()))) return another_plan();
            typename arena::scope const scope(memory);
            double* const roots = memory.template take<double>(2 * p.a.points);
            transform_by_definition(p, roots, memory.template take<double>(2 * p.a.points));
            return {};
        } else {
            if (status s = isa_status(); !s) return s;
            dft_division<R> const d = division_of(p.shape());
            dft_room<R> const room(d);
            int team = team_for(d, p.c.cols * p.count); // as workspace() had it, or fewer
            auto const bytes = [](index_t numbers) {
                return arena::rounded(static_cast<std::size_t>(numbers) * sizeof(R));
            };
            while (team > 1 && !memory.fits({bytes(room.shared) + bytes(room.own * team)})) --team;
            if (!memory.fits({bytes(room.shared) + bytes(room.own * team)})) return another_plan();
            if constexpr (may_halve<decltype(p.shape())>)
                if (d.is_halved) return transform_halved(this->leaf(), p, team, memory);
            return transform_fast(this->leaf(), p, team, memory);
        }
    }

    template <class S>
    static auto division_of(S const& s) {
        using R = real_t<typename S::c_type>;
        return halves(s) ? division_of_reals<R>(points_of(s)) : dft_division<R>(points_of(s));
    }
    // The multiply-adds of one transform.
    template <class R>
    static double multiply_adds_of(dft_division<R> const& d) {
        auto const length = static_cast<double>(d.length);
        int bits = 1;
        for (index_t x = d.length; x > 1; x /= 2) ++bits;
        return 2 * length * bits * (d.is_chirp() ? 2.5 : 1);
    }
    // Seconds that a long transform waits for memory. Steps read and write parts of rows that are as wide as a vector
    // and pages apart: those of x, of the numbers between, and of C. Where a cache holds all arrays, these come from
    // there. A convolution does both steps twice, and takes elements of x, C and the spectrum one by one.
    template <class R>
    static double waits_of(dft_division<R> const& d) {
        if (!d.is_long()) return 0;
        double const length = static_cast<double>(d.length),
                     parts = length / static_cast<double>(dft_kernels_here<R>().lanes),
                     rounds = d.is_chirp() ? 2 : 1;
        bool const are_near = static_cast<index_t>((2 + 2 * rounds) * 2 * sizeof(R)) * d.length < near_memory;
        double const single = d.is_chirp() ? 2 * static_cast<double>(d.n) + length : 0;
        return 3 * rounds * parts * (are_near ? 5e-9 : 16e-9) + single * 5e-9;
    }
    template <class R>
    int team_for(dft_division<R> const& d, index_t transforms) const {
        index_t const parts = d.is_long() ? divide_up(d.most(), dft_kernels_here<R>().lanes)
                                          : divide_up(transforms, dft_kernels_here<R>().lanes);
        // Long transforms run one after another. Threads share one of them at a time.
        double const work = multiply_adds_of(d) * static_cast<double>(d.is_long() ? 1 : transforms);
        auto const team = index_t{this->leaf().team(work)};
        return static_cast<int>(larger_of(1, smaller(team, parts)));
    }
    static double larger_time(double x, double y) { return x < y ? y : x; }
};

STRATAGEMM_END
