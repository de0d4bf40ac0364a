// Products with a Hadamard matrix, over the leaf of a backend.
#pragma once

#include "../../core/layer.hpp"
#include "device.hpp"
#include "host.hpp"

STRATAGEMM_BEGIN

template <class T>
struct hadamard;
template <class X>
inline constexpr bool is_hadamard = false;
template <class T>
inline constexpr bool is_hadamard<hadamard<T>> = true;

// Products with a Hadamard matrix, which is symmetric. P: a backend. One on the right runs as the transposed product.
template <policy P>
class hadamard_product : public product_over<P> {
    using Leaf = leaf_of<P>;
    template <class Epilogue, class Sum>
    static constexpr bool runs = [] {
        if constexpr (!host_leaf<Leaf> && device_leaf<Leaf, typename P::space>)
            return has_source<Epilogue, typename Leaf::template epilogue<Sum>>;
        else
            return epilogue_for<Epilogue, Sum>;
    }();

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>, on_device = !on_host && device_leaf<Leaf, space>;
    static constexpr bool by_definition = requires { requires P::is_oracle; };

    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        using To = typename Q::c_type;
        constexpr bool left = is_hadamard<A> && is_view<B>::value,
                       right = is_view<A>::value && is_hadamard<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else if constexpr (!on_host && !on_device) {
            return verdict::leaf;
        } else {
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            using T = typename std::conditional_t<left, A, B>::real_type;
            constexpr bool numbers =
                std::is_same_v<X, T> || std::is_same_v<X, half> || std::is_same_v<X, bfloat16>;
            return types_if((numbers || complex_like<X>)&&std::is_same_v<real_t<X>, T> &&
                            (std::is_same_v<To, X> || std::is_same_v<To, accumulator_t<X>>)) &
                   epilogue_if(runs<typename Q::epilogue_type, accumulator_t<X>>);
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        footprint need;
        if constexpr (by_definition) {
            space::share(need) = arena::rounded(static_cast<std::size_t>(2 * s.k) * sizeof(double));
        } else if constexpr (on_host) {
            auto const d = division_of(s);
            space::share(need) =
                bytes<real_of_shape<S>>(d.shared) + bytes<real_of_shape<S>>(d.own * team_for(s));
        } else if constexpr (on_device) {
            using Sum = accumulator_t<typename S::wide_type>;
            // The vectors of a batch may be done together.
            index_t const cols = columns_of(s), some = cols == 1 ? s.count : cols;
            space::share(need) = bytes<Sum>(hadamard_workspace<Sum>(s.k, some, this->leaf().limits()));
        }
        return need;
    }
    // Each element of C is a sum of n terms that are added in pairs: as many roundings as n has factors 2 are on the
    // way of each term. Roundings of random terms differ in sign, and all sums of a step but few are small.
    template <class S>
    bound error_bound(S const& s) const {
        using To = typename S::c_type;
        using R = real_of_shape<S>;
        double const u = unit_roundoff<R>(), n = static_cast<double>(s.k < 1 ? 1 : s.k),
                     adds = s.adds ? 4 : 0,
                     last = std::is_same_v<real_t<To>, To> || complex_like<To> ? 0 : unit_roundoff<To>(),
                     steps = by_definition ? 1 : bits_of(s.k);
        constexpr double factors = 4.5; // alpha and the operand's scale
        double const typical = 6 * __builtin_sqrt((steps + 2) / n);
        double const worst = steps + factors + adds;
        return {worst * u + last, (typical + adds < worst ? typical + adds : worst) * u + last};
    }
    // The bytes read and written, divided by a bandwidth of a host; or the additions, if these take longer.
    template <class S>
    double estimate(S const& s) const {
        using R = real_of_shape<S>;
        double const n = static_cast<double>(s.k), each = static_cast<double>(transforms_of(s));
        if constexpr (by_definition) {
            return n * n * each * 4e-9;
        } else if constexpr (on_device) {
            double const passes = passes_of(s);
            double const moved =
                passes * n * each * (sizeof(typename S::wide_type) + sizeof(typename S::c_type));
            return moved / this->leaf().limits().bandwidth + 5e-6;
        } else {
            double const bytes_moved = 3 * n * width_of<S> * sizeof(R) * each,
                         threads = s.alone ? 1 : team_for(s);
            double const moving = bytes_moved / 25e9, adding = work_of(s) / (1e9 * threads);
            return (moving < adding ? adding : moving) + 0.1e-6;
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        std::string text = "hadamard of " + std::to_string(s.k) + " points";
        if constexpr (by_definition) {
            return text + " by its definition, in double";
        } else if constexpr (on_device) {
            int const passes = passes_of(s);
            return text + (passes == 1 ? ", in one pass" : ", in " + std::to_string(passes) + " passes");
        } else {
            auto const d = division_of(s);
            if (d.outer_across > 0 || d.outer_along > 0) {
                auto const parts = [&](int outer) {
                    return std::to_string(index_t{1} << outer) + " x " + std::to_string(d.n >> outer);
                };
                text += ", as " + parts(d.outer_across > 0 ? d.outer_across : d.outer_along) + " by columns";
                if (d.outer_along > 0) text += ", " + parts(d.outer_along) + " by rows";
            }
            int const team = team_for(s);
            return text + ", by vectors of " +
                   std::to_string(hadamard_kernels_here<real_of_shape<S>>().lanes) + ", on " +
                   std::to_string(team) + (team == 1 ? " thread" : " threads");
        }
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (on_device) {
            if (status s = check_sides(p, Leaf::layer); !s) return s;
            if constexpr (is_hadamard<typename Q::a_operand>)
                return hadamard_launches<Leaf, Q, arena>(this->leaf(), p, false)(memory);
            else
                return launch_turned(p.transposed(), memory);
        } else if constexpr (is_hadamard<typename Q::a_operand>) {
            return transform(p, memory);
        } else { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            return turn(q, memory);
        }
    }

private:
    template <class Q>
    status launch_turned(Q const& q, arena& memory) const {
        return hadamard_launches<Leaf, Q, arena>(this->leaf(), q, true)(memory);
    }
    template <class S>
    using real_of_shape = real_t<typename S::wide_type>;
    template <class S>
    static constexpr index_t width_of = complex_like<typename S::wide_type> ? 2 : 1;
    template <class S>
    static constexpr bool is_left = requires {
        requires S::a_form::is_transform;
    };

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
        if constexpr (by_definition) {
            typename arena::scope const scope(memory);
            hadamard_by_definition(p, memory.template take<double>(2 * p.a.rows));
            return {};
        } else {
            if (status s = isa_status(); !s) return s;
            auto const shape = p.shape();
            auto const d = division_of(shape);
            using R = typename hadamard_job<Q>::R;
            int team = team_for(shape); // as workspace() had it, or fewer
            while (team > 1 && !memory.fits({bytes<R>(d.shared) + bytes<R>(d.own * team)})) --team;
            return hadamard_fast(this->leaf(), hadamard_job<Q>(p), d, team, memory);
        }
    }

    template <class R>
    static std::size_t bytes(index_t numbers) {
        return arena::rounded(static_cast<std::size_t>(numbers) * sizeof(R));
    }
    // Of the matrix whose columns are transformed.
    template <class S>
    static index_t columns_of(S const& s) {
        return is_left<S> ? s.n : s.m;
    }
    template <class S>
    static index_t transforms_of(S const& s) {
        return columns_of(s) * s.count;
    }
    template <class S>
    static auto division_of(S const& s) {
        return hadamard_division<real_of_shape<S>>(s.k, columns_of(s) * width_of<S>, width_of<S>);
    }
    // How often a device reads and writes the numbers, in natural order.
    template <class S>
    int passes_of(S const& s) const {
        index_t const cols = columns_of(s);
        bool const across = cols > 1 && (is_left<S> ? !s.b_across : s.a_across);
        return hadamard_passes(bits_of(s.k), sizeof(accumulator_t<typename S::wide_type>), across, false,
                               true, cols, this->leaf().limits())
            .count;
    }
    // Additions of vectors.
    template <class S>
    static double work_of(S const& s) {
        return static_cast<double>(s.k) * (bits_of(s.k) + 2) *
               static_cast<double>(transforms_of(s) * width_of<S>) /
               static_cast<double>(hadamard_kernels_here<real_of_shape<S>>().lanes);
    }
    template <class S>
    int team_for(S const& s) const {
        auto const d = division_of(s);
        // Long transforms run one after another. Threads share one of them at a time.
        bool const is_long = d.outer_across > 0 && d.outer_along > 0;
        index_t const parts = is_long ? index_t{1} << d.outer_along : transforms_of(s);
        double const work = work_of(s) / (is_long ? static_cast<double>(transforms_of(s)) : 1);
        return static_cast<int>(larger_of(1, smaller(this->leaf().team(work), parts)));
    }
};

STRATAGEMM_END
