// Products with a sketch by panels: a panel of the sketch is drawn into workspace, and the policy multiplies the
// panel by the other operand. A panel serves all columns of that operand, and all matrices of a batch.
#pragma once

#include "../../backend/host/caches.hpp"
#include "../../core/layer.hpp"
#include "device.hpp"
#include "operand.hpp"

STRATAGEMM_BEGIN

template <class X>
concept sketch_operand = requires(X const& x) {
    x.drawn(index_t{0}, index_t{0});
    { x.all_rows } -> std::convertible_to<index_t>;
};

// The sides of a panel: `depth` along the sums, `across` along a side of C.
struct sketch_panel {
    index_t depth, across;

    // Each panel along the depth reads and writes C once more; each panel across reads the other operand once more.
    // With `most` elements the sum of both, 2 / depth + 1 / across, is least where depth is twice as long as across.
    sketch_panel(index_t all_depth, index_t all_across, index_t most, bool is_whole_depth) {
        auto const even = static_cast<index_t>(__builtin_sqrt(2 * static_cast<double>(most)));
        depth = is_whole_depth ? larger_of(1, all_depth) : within(all_depth, even);
        across = within(all_across, most / depth);
        if (!is_whole_depth) depth = within(all_depth, most / across);
    }
    index_t elements() const { return depth * across; }

private:
    // Whole stripes of vectors and blocks of rows, if there is more than one panel.
    static index_t within(index_t all, index_t most) {
        constexpr index_t stripe = 64;
        return larger_of(1, all <= most ? all : most < stripe ? most : most / stripe * stripe);
    }
};

template <policy P>
class sketch_product : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>, on_device = device_leaf<Leaf, space>;
    static constexpr bool by_definition = requires { requires P::is_oracle; };

    // bytes: of a panel, at most; 0: by the memory of the leaf.
    sketch_product(P policy, index_t bytes = 0) : product_over<P>(std::move(policy)), bytes_(bytes) {}

    // The dense product with panels. Sums of several panels are kept in C.
    template <class Q>
    using dense = dense_problem<typename Q::a_type, typename Q::b_type, typename Q::c_type, space,
                                typename Q::epilogue_type>;
    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        if constexpr (!(sketch_operand<A> && is_view<B>::value) && !(is_view<A>::value && sketch_operand<B>))
            return verdict::structure;
        else if constexpr (!is_view<typename Q::c_operand>::value)
            return verdict::structure;
        else if constexpr (!on_host && !on_device)
            return verdict::leaf;
        else
            return types_if(std::is_same_v<typename Q::c_type, typename Q::scalar>) & answer<P, dense<Q>>();
    }();

    template <class S>
    footprint workspace(S const& s) const {
        sketch_panel const panel = panel_of(s);
        footprint need;
        each_panel(s, panel,
                   [&](auto const& one, double) { need = larger(need, this->base_.workspace(one)); });
        space::share(need) += arena::rounded(static_cast<std::size_t>(panel.elements()) *
                                             sizeof(typename sketch_of<S>::value_type));
        return need;
    }
    // That of the dense product with each panel, one after another, and the factor of the sketch times alpha.
    template <class S>
    bound error_bound(S const& s) const {
        sketch_panel const panel = panel_of(s);
        using C = typename S::c_type;
        auto const panels = static_cast<double>(divide_up(larger_of(s.k, 1), panel.depth));
        auto one = dense_shape(s, s.m, s.n, smaller(s.k, panel.depth));
        bound const of_panel = this->base_.error_bound(one), of_all = [&] {
            one.k = s.k;
            return this->base_.error_bound(one);
        }();
        double const u = unit_roundoff<C>(), factor = complex_like<C> ? 3 : 2;
        return {1.01 * panels * of_panel.worst + factor * u,
                of_all.expected + (1 + __builtin_sqrt(panels)) * u, of_all.normwise};
    }
    template <class S>
    double estimate(S const& s) const {
        sketch_panel const panel = panel_of(s);
        double seconds = 0;
        each_panel(s, panel, [&](auto const& one, double times) {
            seconds += times * static_cast<double>(s.count) * this->base_.estimate(one);
        });
        return seconds + seconds_to_draw(static_cast<double>(s.k) * static_cast<double>(across(s)),
                                         sizeof(typename sketch_of<S>::value_type), s.alone);
    }
    template <class S>
    std::string describe(S const& s) const {
        sketch_panel const panel = panel_of(s);
        std::string const sides = std::to_string(panel.across) + " x " + std::to_string(panel.depth);
        return std::string("a sketch, drawn in panels of ") + sides + ", each times " +
               std::to_string(sketch_is_a<S> ? s.n : s.m) + (sketch_is_a<S> ? " columns: " : " rows: ") +
               this->base_.describe(dense_shape(s, sketch_is_a<S> ? panel.across : s.m,
                                                sketch_is_a<S> ? s.n : panel.across, panel.depth));
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        using T = typename sketch_of<Q>::value_type;
        auto const s = p.shape();
        sketch_panel const panel = panel_of(s);
        typename arena::scope const scope(memory);
        auto const room = memory.template take<T>(panel.elements());
        for (index_t i = 0; i < across(s); i += panel.across)
            for (index_t l = 0; l < s.k; l += panel.depth) {
                index_t const lines = smaller(panel.across, across(s) - i),
                              depth = smaller(panel.depth, s.k - l);
                auto const part = [&] {
                    if constexpr (sketch_is_a<Q>)
                        return p.a.part(i, l, lines, depth);
                    else
                        return p.b.part(l, i, depth, lines);
                }();
                auto const by_rows = part.turned ? part.transposed() : part;
                view<T, space> const drawn{room, by_rows.rows, by_rows.cols, by_rows.cols, 1};
                if (status done = draw(by_rows, drawn); !done) return done;
                view<T const, space> as_stated = part.turned ? drawn.transposed() : drawn;
                as_stated.conjugate = part.conjugate;
                for (index_t x = 0; x < p.count; ++x)
                    if (status done = multiply(p.at(x), as_stated, i, l, l + depth == s.k, memory); !done)
                        return done;
            }
        return {};
    }

private:
    template <class S>
    static constexpr bool sketch_is_a = [] {
        if constexpr (requires { typename S::a_operand; })
            return sketch_operand<typename S::a_operand>;
        else
            return requires { typename S::a_form::template over<P>; };
    }();
    template <class S, bool IsA>
    struct sketch_at {
        using value_type = typename S::a_type;
    };
    template <class S>
    struct sketch_at<S, false> {
        using value_type = typename S::b_type;
    };
    template <class S>
    using sketch_of = sketch_at<S, sketch_is_a<S>>;

    template <class S>
    static index_t across(S const& s) {
        return sketch_is_a<S> ? s.m : s.n;
    }
    // On the host a panel takes half of the last cache, since the other operand needs some of it; on a device, little
    // of the memory. The oracle adds up whole sums.
    template <class S>
    sketch_panel panel_of(S const& s) const {
        index_t bytes = bytes_;
        if constexpr (on_device) {
            if (bytes == 0) bytes = static_cast<index_t>(this->leaf().limits().memory_bytes / 64);
        } else if (bytes == 0) {
            bytes = third_level_cache() / 2;
        }
        return {s.k, across(s), bytes / index_t{sizeof(typename sketch_of<S>::value_type)}, by_definition};
    }
    template <class S>
    static auto dense_shape(S const& s, index_t m, index_t n, index_t k) {
        shape<typename S::a_type, typename S::b_type, typename S::c_type> one{m, n, k, 1};
        one.adds = s.adds || k < s.k;
        one.alone = s.alone;
        return one;
    }
    // Calls f(shape, times) for each shape of a dense product, and how many there are of it.
    template <class S, class F>
    static void each_panel(S const& s, sketch_panel const& panel, F const& f) {
        index_t const depths[] = {smaller(panel.depth, s.k), s.k % panel.depth},
                      sides[] = {smaller(panel.across, across(s)), across(s) % panel.across};
        for (int i = 0; i < 2; ++i)
            for (int l = 0; l < 2; ++l) {
                if (sides[i] == 0 || depths[l] == 0) continue;
                double const times = static_cast<double>((i == 0 ? across(s) / panel.across : 1) *
                                                         (l == 0 ? s.k / panel.depth : 1));
                f(sketch_is_a<S> ? dense_shape(s, sides[i], s.n, depths[l])
                                 : dense_shape(s, s.m, sides[i], depths[l]),
                  times);
            }
    }
    // A number takes some 20 products of 32 bits, in vectors, each with a few other instructions; on a device, it is
    // written and read.
    double seconds_to_draw(double elements, std::size_t size, bool alone) const {
        if constexpr (on_device) {
            return 2 * elements * static_cast<double>(size) / this->leaf().limits().bandwidth;
        } else {
            auto const lanes = by_definition ? 1 : static_cast<double>(normal_kernel_here().lanes);
            return elements / lanes * 40e-9 / static_cast<double>(alone ? 1 : all_threads(this->leaf()));
        }
    }

    // Writes the elements of a part without their factor. The part is not turned, as the numbers are drawn.
    template <class X, class T>
    status draw(X const& x, view<T, space> const& to) const {
        if constexpr (on_device) {
            return write_normals_on_device(this->leaf(), x.seed, x.row0, x.col0, to);
        } else if constexpr (by_definition) {
            for (index_t i = 0; i < to.rows; ++i)
                for (index_t j = 0; j < to.cols; ++j) to(i, j) = x.drawn(x.row0 + i, x.col0 + j);
        } else {
            write_normals(this->leaf(), x.seed, x.row0, x.col0, to);
        }
        return {};
    }
    // The part of C that a panel adds to: lines from i on, of sums from term l on. The first panel brings beta E, the
    // last one the epilogue.
    template <class Q, class Panel>
    status multiply(Q const& p, Panel const& panel, index_t i, index_t l, bool is_last, arena& memory) const {
        using S = typename Q::scalar;
        constexpr bool left = sketch_is_a<Q>;
        index_t const m = left ? panel.rows : p.c.rows, n = left ? p.c.cols : panel.cols, row = left ? i : 0,
                      col = left ? 0 : i;
        dense<Q> q{};
        q.epilogue = p.epilogue;
        q.c = p.c.part(row, col, m, n);
        q.e = q.c;
        if (l > 0)
            q.beta = S(real_t<S>(1));
        else if (p.beta != S(0))
            q.beta = p.beta, q.e = p.e.part(row, col, m, n);
        q.row0 = p.row0 + row, q.col0 = p.col0 + col;
        if constexpr (left) {
            q.alpha = scaled_by(p.alpha, static_cast<S>(p.a.scale));
            q.a = panel, q.b = p.b.part(l, 0, panel.cols, n);
        } else {
            q.alpha = scaled_by(p.alpha, static_cast<S>(p.b.scale));
            q.a = p.a.part(0, l, m, panel.rows), q.b = panel;
        }
        return is_last ? run_checked(this->base_, q, memory)
                       : run_checked(this->base_, q.without_epilogue(), memory);
    }

    index_t bytes_;
};

STRATAGEMM_END
