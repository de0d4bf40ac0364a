// Products with a subsampled randomized cosine transform. On the host the other operand is put into workspace with signs
// and zeros, a panel of columns at a time, the policy transforms the panel in place, and sampled rows of it are written
// to C; or the other way round. On a device the kernels of cosine transforms read with signs and write sampled rows.
#pragma once

#include "transformed.hpp"

STRATAGEMM_BEGIN

// What kernels of cosine transforms get of a sketch (dft_sampled_text): the rows of the part on the side of the sums, the
// words of signs, and the row that each point is.
template <class Space>
struct srct_share_on {
    index_t first, count;
    typename Space::template handle<int const> signs, places;
};
template <class F, class Space>
void each_given(F&& f, srct_share_on<Space> const& x) {
    f(x.first), f(x.count), f(x.signs), f(x.places);
}

template <policy P>
class transformed_sketch_product<by_dct, P> : public product_over<P> {
    using Leaf = leaf_of<P>;
    template <class T>
    using transform_of = typename dct_form<real_t<T>>::template over<P>;
    template <class T>
    using inner_problem =
        problem<dct<real_t<T>>, view<T const, typename P::space>, view<T, typename P::space>>;
    template <class T>
    using inner_shape = shape<dct_form<real_t<T>>, T, T>;

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
                   epilogue_if(sketch_ends_with<P, typename Q::epilogue_type, T>) &
                   answer<transform_of<T>, inner_problem<T>>();
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::wide_type;
        sides<S> const x(s);
        footprint need;
        if constexpr (on_device) {
            space::share(need) =
                bytes_to_draw_there<arena>(x, true) +
                dct_workspace<T, arena>(way_of(s), x.forward ? x.rows : x.cols, x.columns, s.count, s.adds);
        } else {
            need = inner<T>().workspace(shape_of_panel(s, columns_at_once(s)));
            space::share(need) +=
                bytes_to_draw<real_t<T>, arena>(x) + bytes<T>(x.points * columns_at_once(s));
        }
        return need;
    }
    // That of the transform, whose norms are of all points: zeros have no part in the product, and the largest element
    // may be the one of the row of ones. The largest element of a part is taken to be that of the sketch.
    template <class S>
    bound error_bound(S const& s) const {
        using T = typename S::wide_type;
        sides<S> const x(s);
        double const u = unit_roundoff<real_t<T>>(), adds = s.adds ? 4 : 0,
                     more = 1.42 * __builtin_sqrt(static_cast<double>(x.points) /
                                                  static_cast<double>(larger_of(1, s.k)));
        constexpr double factors = 4.5;
        bound all = inner<T>().error_bound(shape_of_panel(s, 1));
        all.worst = more * all.worst + (factors + adds) * u;
        all.expected = more * all.expected + (1 + adds) * u;
        return all;
    }
    template <class S>
    double estimate(S const& s) const {
        using T = typename S::wide_type;
        sides<S> const x(s);
        auto const f = [](index_t n) { return static_cast<double>(n); };
        auto const whole = shape_of_panel(s, x.columns * s.count);
        if constexpr (on_device) { // rows that are left out are not read or written
            double const left_out = f(x.columns * s.count) * (2 * f(x.points) - f(x.cols) - f(x.rows));
            return inner<T>().estimate(whole) - left_out * sizeof(T) / this->leaf().limits().bandwidth +
                   (x.kept ? 2e-6 : 5e-6);
        } else {
            double const moved =
                f(x.columns * s.count) * (f(x.points) + f(x.cols) + 2 * f(x.rows)) * sizeof(T);
            return inner<T>().estimate(whole) +
                   (moved / 10e9 + seconds_to_sample(x)) / (s.alone ? 1 : all_threads(this->leaf())) + 0.1e-6;
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        using T = typename S::wide_type;
        return std::to_string(sides<S>(s).rows) + " rows of a " +
               inner<T>().describe(shape_of_panel(s, on_host ? columns_at_once(s) : 1)) +
               ", with random signs";
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (on_device) {
            if constexpr (is_transformed_sketch<typename Q::a_operand>)
                return launch(p, false, memory);
            else
                return launch(p.transposed(), true, memory);
        } else if constexpr (is_transformed_sketch<typename Q::a_operand>) {
            return transform(p, memory);
        } else { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            return transform(q, memory);
        }
    }

private:
    template <class S>
    using sides = transformed_sketch_shape<S>;
    template <class T>
    transform_of<T> inner() const {
        return transform_of<T>(this->base_);
    }
    template <class T>
    static std::size_t bytes(index_t numbers) {
        return arena::rounded(static_cast<std::size_t>(numbers) * sizeof(T));
    }
    template <class S>
    static auto shape_of_panel(S const& s, index_t columns) {
        sides<S> const x(s);
        inner_shape<typename S::wide_type> one{x.points, columns, x.points};
        one.a_facts = {type_of(x)};
        one.alone = s.alone;
        return one;
    }
    template <class X>
    static dct_type type_of(X const& x) {
        return x.forward ? dct_type::ii : dct_type::iii;
    }
    // The transform without the factors of sketches, but that of the constant row.
    template <class R, class X>
    static dct<R> transform_itself(X const& x) {
        dct<R> d(x.points, type_of(x));
        d.first = static_cast<R>(0.70710678118654752440);
        return d;
    }
    static status other_plan() {
        return failure(errc::argument,
                       "srct: the plan is one of another sketch; give its shape the facts() of the operand");
    }

    // ---- on a device --------------------------------------------------------------------------------------
    template <class S>
    static auto way_of(S const& s) {
        sides<S> const x(s);
        return dft_device_way<real_t<typename S::c_type>>::cosine(static_cast<int>(type_of(x)), x.points);
    }
    template <class Q>
    status launch(Q const& p, bool turned, arena& memory) const {
        using T = typename Q::c_type;
        using R = real_t<T>;
        using share = srct_share_on<space>;
        using transform =
            problem<dct<R>, typename Q::b_operand, typename Q::c_operand, typename Q::epilogue_type>;
        auto const s = p.shape();
        sides<decltype(s)> const x(s);
        if (!memory.fits(workspace(s))) return other_plan();
        typename arena::scope const scope(memory);
        auto const leaf = this->leaf();
        auto sample = tables_there<T, space>(leaf, p.a, true, memory);
        if (!sample) return sample.take_status();
        transform const whole{scaled_by(p.alpha, static_cast<typename Q::scalar>(p.a.scale)),
                              transform_itself<R>(x),
                              p.b,
                              p.beta,
                              p.e,
                              p.c,
                              p.epilogue,
                              p.count,
                              0,
                              p.b_step,
                              p.e_step,
                              p.c_step,
                              p.row0,
                              p.col0};
        auto const way = way_of(s);
        return dct_launches<Leaf, transform, arena, share>(
            leaf, whole, way, turned, share{p.a.first_col(), x.cols, sample->signs, sample->places})(memory);
    }

    // ---- on the host --------------------------------------------------------------------------------------
    // A panel stays in the last cache.
    template <class S>
    static index_t columns_at_once(S const& s) {
        using T = typename S::wide_type;
        sides<S> const x(s);
        index_t const held = third_level_cache() / 2 / (x.points * index_t{sizeof(T)});
        return larger_of(1, smaller(x.columns, larger_of(64 / sizeof(T), held)));
    }

    template <class Q>
    status transform(Q const& p, arena& memory) const {
        using T = typename Q::c_type;
        using R = real_t<T>;
        auto const s = p.shape();
        sides<decltype(s)> const x(s);
        index_t const at_once = columns_at_once(s);
        if (!memory.fits(workspace(s))) return other_plan();
        typename arena::scope const scope(memory);
        auto const tables = tables_of<R>(this->leaf(), p.a, memory);
        T* const room = memory.template take<T>(x.points * at_once);
        dct<R> const d = transform_itself<R>(x);
        bool const along = rows_are_closer(p.b);
        for (index_t b = 0; b < p.count; ++b)
            for (index_t j = 0; j < p.c.cols; j += at_once) {
                index_t const columns = smaller(at_once, p.c.cols - j);
                view<T> const t{room, x.points, columns, along ? 1 : columns, along ? x.points : 1};
                Q const one = part(p.at(b), j, columns);
                load(one, x, tables, t);
                inner_problem<T> step{.a = d, .b = t, .e = t, .c = t};
                if (status done = inner<T>()(step, memory); !done) return done;
                store(one, x, tables, t);
            }
        return {};
    }
    // Some columns of a product.
    template <class Q>
    static Q part(Q one, index_t j, index_t columns) {
        one.alpha = scaled_by(one.alpha, static_cast<typename Q::scalar>(one.a.scale));
        one.b = one.b.part(0, j, one.b.rows, columns), one.c = one.c.part(0, j, one.c.rows, columns);
        if (one.beta != typename Q::scalar(0)) one.e = one.e.part(0, j, one.e.rows, columns);
        one.col0 += j;
        return one;
    }
    // Rows of T from those of B.
    template <class Q, class S, class T, class R>
    void load(Q const& p, sides<S> const& x, sample_tables<R> const& tables, view<T> const& t) const {
        index_t const first = p.a.first_col();
        each(t, [&](index_t k, index_t j) {
            index_t const i = !x.forward ? tables.rows[k] : k >= first && k < first + x.cols ? k - first : -1;
            T const b = i < 0 ? T(R(0)) : element_as<T>(p.b, i, j);
            t(k, j) = x.forward ? scaled_by(T(tables.signs[k]), b) : b;
        });
    }
    // C from rows of T.
    template <class Q, class S, class T, class R>
    void store(Q const& p, sides<S> const& x, sample_tables<R> const& tables, view<T> const& t) const {
        index_t const first = p.a.first_col();
        each(p.c, [&](index_t i, index_t j) {
            T const sum =
                x.forward ? t(tables.points[i], j) : scaled_by(T(tables.signs[first + i]), t(first + i, j));
            finish_element(p, i, j, sum);
        });
    }
    // f(i, j) for the elements of a matrix, by threads, those that lie beside each other one after another.
    template <class V, class F>
    void each(V const& v, F const& f) const {
        bool const along = rows_are_closer(v);
        index_t const lines = along ? v.cols : v.rows, length = along ? v.rows : v.cols;
        auto const by = this->leaf();
        int const team =
            static_cast<int>(larger_of(1, smaller(by.team(static_cast<double>(lines * length)), lines)));
        by.each(team, team, [&](int, int part) {
            for (index_t l = lines * part / team; l < lines * (part + 1) / team; ++l)
                for (index_t i = 0; i < length; ++i) along ? f(i, l) : f(l, i);
        });
    }
};

STRATAGEMM_END
