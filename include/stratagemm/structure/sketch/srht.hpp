// Products with a subsampled randomized Hadamard transform (Ailon, Chazelle: The fast Johnson-Lindenstrauss transform,
// 2009; Tropp: Improved analysis of the subsampled randomized Hadamard transform, 2011): those of hadamard.hpp, which
// read with signs and write sampled rows, or the other way round.
#pragma once

#include "transformed.hpp"

STRATAGEMM_BEGIN

template <policy P>
class transformed_sketch_product<by_hadamard, P> : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>, on_device = !on_host && device_leaf<Leaf, space>;

    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        constexpr bool left = is_transformed_sketch<A> && is_view<B>::value,
                       right = is_view<A>::value && is_transformed_sketch<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else if constexpr (!on_host && !on_device) {
            return verdict::leaf;
        } else {
            using T = typename std::conditional_t<left, A, B>::value_type;
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            return types_if(std::is_same_v<X, T> && std::is_same_v<typename Q::c_type, T>) &
                   epilogue_if(sketch_ends_with<P, typename Q::epilogue_type, T>);
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using R = real_t<typename S::wide_type>;
        sides<S> const x(s);
        footprint need;
        if constexpr (on_device) {
            using T = typename S::wide_type;
            index_t const some =
                x.columns == 1 ? s.count : x.columns; // vectors of a batch may be done together
            index_t const room = hadamard_workspace<T>(x.points, some, this->leaf().limits());
            space::share(need) = bytes<T>(room) + bytes_to_draw_there<arena>(x, reads_by_point(x, room == 0));
            return need;
        } else {
            auto const d = division_of(s);
            space::share(need) =
                bytes_to_draw<R, arena>(x) + bytes<R>(d.shared) + bytes<R>(d.own * team_for(s));
            return need;
        }
    }
    // That of a Hadamard transform, whose sums have zeros among their terms.
    template <class S>
    bound error_bound(S const& s) const {
        using R = real_t<typename S::wide_type>;
        double const u = unit_roundoff<R>(), n = static_cast<double>(s.k < 1 ? 1 : s.k),
                     adds = s.adds ? 4 : 0, steps = bits_of(sides<S>(s).points);
        constexpr double factors = 4.5; // alpha and the operand's scale
        double const worst = steps + factors + adds, typical = 6 * __builtin_sqrt((steps + 2) / n) + adds;
        return {worst * u, (typical < worst ? typical : worst) * u};
    }
    // What is read and written, and transforms in a cache.
    template <class S>
    double estimate(S const& s) const {
        using R = real_t<typename S::wide_type>;
        sides<S> const x(s);
        auto const f = [](index_t n) { return static_cast<double>(n); };
        if constexpr (on_device) {
            double const between = 2 * f(passes_of(s) - 1),
                         moved = f(x.columns * s.count) * (between * f(x.points) + f(x.cols) + f(x.rows));
            return moved * sizeof(typename S::wide_type) / this->leaf().limits().bandwidth +
                   (x.kept ? 5e-6 : 8e-6);
        } else {
            double const each = f(x.columns * s.count) * width_of<S>, threads = s.alone ? 1 : team_for(s),
                         bytes_moved = (f(x.cols) + 2 * f(x.rows)) * sizeof(R) * each,
                         moving = bytes_moved / 25e9,
                         adding = (work_of(s) * 1e-9 + seconds_to_sample(x)) / threads;
            return (moving < adding ? adding : moving) + 0.1e-6;
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        sides<S> const x(s);
        std::string const text = std::to_string(x.rows) + " rows of a hadamard of " +
                                 std::to_string(x.points) + " points with random signs";
        if constexpr (on_device) {
            return text + (passes_of(s) == 1 ? ", in shared memory" : ", in several passes over workspace");
        } else {
            int const team = team_for(s);
            return text + ", by vectors of " +
                   std::to_string(hadamard_kernels_here<real_t<typename S::wide_type>>().lanes) + ", on " +
                   std::to_string(team) + (team == 1 ? " thread" : " threads");
        }
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (on_device) {
            if (status s = check_sides(p, Leaf::layer); !s) return s;
            if constexpr (is_transformed_sketch<typename Q::a_operand>)
                return launch(p, false, memory);
            else
                return launch(p.transposed(), true, memory);
        } else if constexpr (is_transformed_sketch<typename Q::a_operand>) {
            return transform(p, memory);
        } else { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            if constexpr (std::is_same_v<typename Q::epilogue_type, identity>)
                return transform(q.without_epilogue(), memory);
            else
                return transform(q, memory);
        }
    }

private:
    template <class S>
    using sides = transformed_sketch_shape<S>;
    template <class S>
    static constexpr index_t width_of = complex_like<typename S::wide_type> ? 2 : 1;

    // On a device: in how many passes a transform is done; and whether it reads the rows of points, or the points of rows.
    template <class S>
    int passes_of(S const& s) const {
        sides<S> const x(s);
        bool const across = x.columns > 1 && (sides<S>::is_left ? !s.b_across : s.a_across);
        return hadamard_passes(bits_of(x.points), sizeof(typename S::wide_type), across, false, true,
                               x.columns, this->leaf().limits())
            .count;
    }
    template <class X>
    static bool reads_by_point(X const& x, bool is_whole) {
        return !x.forward || !is_whole;
    }
    static status other_plan() {
        return failure(errc::argument,
                       "srht: the plan is one of another sketch; give its shape the facts() of the operand");
    }
    template <class Q>
    status launch(Q const& p, bool turned, arena& memory) const {
        using T = typename Q::c_type;
        auto const shape = p.shape();
        sides<decltype(shape)> const x(shape);
        if (!memory.fits(workspace(shape))) return other_plan();
        typename arena::scope const scope(memory);
        using share = hadamard_share_on<space>;
        share const points{x.forward ? 1 : 2, x.forward ? 2 : 1, p.a.first_col(), x.cols, x.rows, {}, {}};
        auto const leaf = this->leaf();
        hadamard_launches<Leaf, Q, arena, share> launches(leaf, p, turned, points);
        bool const is_whole = launches.passes().count == 1;
        auto sample = tables_there<T, space>(leaf, p.a, reads_by_point(x, is_whole), memory);
        if (!sample) return sample.take_status();
        launches.read(*sample);
        return launches(memory);
    }
    template <class R>
    static std::size_t bytes(index_t numbers) {
        return arena::rounded(static_cast<std::size_t>(numbers) * sizeof(R));
    }
    template <class S>
    static auto division_of(S const& s) {
        sides<S> const x(s);
        return hadamard_division<real_t<typename S::wide_type>>(x.points, x.columns * width_of<S>,
                                                                width_of<S>);
    }
    // Additions of vectors, of all columns.
    template <class S>
    static double work_of(S const& s) {
        sides<S> const x(s);
        return static_cast<double>(x.points) * (bits_of(x.points) + 4) *
               static_cast<double>(x.columns * s.count * width_of<S>) /
               static_cast<double>(hadamard_kernels_here<real_t<typename S::wide_type>>().lanes);
    }
    template <class S>
    int team_for(S const& s) const {
        auto const d = division_of(s);
        index_t const all = sides<S>(s).columns * s.count;
        bool const is_long =
            d.outer_across > 0 && d.outer_along > 0; // one after another, each by all threads
        index_t const parts = is_long ? index_t{1} << d.outer_along : all;
        double const work = work_of(s) / (is_long ? static_cast<double>(all) : 1);
        return static_cast<int>(larger_of(1, smaller(this->leaf().team(work), parts)));
    }
    template <class Q>
    status transform(Q const& p, arena& memory) const {
        if (status s = isa_status(); !s) return s;
        using R = typename hadamard_job<Q>::R;
        auto const shape = p.shape();
        sides<decltype(shape)> const x(shape);
        auto const d = division_of(shape);
        auto const fits = [&](int team) {
            return memory.fits({bytes_to_draw<R, arena>(x) + bytes<R>(d.shared) + bytes<R>(d.own * team)});
        };
        int team = team_for(shape); // as workspace() had it, or fewer
        while (team > 1 && !fits(team)) --team;
        if (!fits(team)) return other_plan();
        typename arena::scope const scope(memory);
        auto const tables = tables_of<R>(this->leaf(), p.a, memory);
        hadamard_job<Q> job(p);
        job.in = {.first = p.a.first_col(), .count = x.cols, .signs = tables.signs};
        job.out = {.count = x.rows, .rows = tables.rows, .points = tables.points};
        if (!x.forward) std::swap(job.in, job.out);
        return hadamard_fast(this->leaf(), job, d, team, memory);
    }
};

STRATAGEMM_END
