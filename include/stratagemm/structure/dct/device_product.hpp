// Products with a cosine transform on a device: by the kernels of Fourier transforms, which read points in the order of
// a cosine transform and write its elements (dft/kinds.hpp). One launch reads and writes each number once, up to 8192
// points of an even number and 4096 of an odd one, if these have no prime factors beyond 7; half as many otherwise, and
// of an odd type IV. A longer transform takes several launches.
//
// The real parts of complex columns are transformed by one launch and the imaginary parts by another, so that neither
// part changes the other's result.
#pragma once

#include "product.hpp"

STRATAGEMM_BEGIN

// P: the backend of a device. A transform on the right runs as the transposed product, whose epilogue is told.
template <policy P>
class dct_device_product : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        using To = typename Q::c_type;
        constexpr bool left = is_dct<A> && is_view<B>::value, right = is_view<A>::value && is_dct<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else {
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            using F = std::conditional_t<left, A, B>;
            return types_if(are_types_of_cosines<F, X, To>) &
                   epilogue_if(has_source<typename Q::epilogue_type, typename Leaf::template epilogue<To>>);
        }
    }();

    // Complex columns that E is added to are transformed in workspace.
    template <class S>
    footprint workspace(S const& s) const {
        footprint need;
        space::share(need) = workspace_of<arena>(way_of(s).division, transforms_of(s));
        if (lines_of_column<S> == 2 && s.adds)
            space::share(need) += arena::rounded(static_cast<std::size_t>(s.k * columns_at_once(s)) *
                                                 sizeof(typename S::c_type));
        return need;
    }
    template <class S>
    bound error_bound(S const& s) const {
        auto const way = way_of(s);
        bool const is_half = way.is_halved() || way.kind == dft_kind::cosine_4_halved;
        return bound_of_cosines(type_of_columns(s), is_half, s.k, errors_of(way.division),
                                unit_roundoff<real_t<typename S::c_type>>(), s.adds);
    }
    template <class S>
    double estimate(S const& s) const {
        return lines_of_column<S> *
               seconds_of(way_of(s).division, transforms_of(s), this->leaf().limits().bandwidth);
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const way = way_of(s);
        return "dct of " + std::to_string(s.k) + " points, by a dft of " + std::to_string(way.division.n) +
               " points" + description_of(way) +
               (lines_of_column<S> == 2 ? "; real and imaginary parts one after the other" : "");
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_dct<typename Q::a_operand>)
            return transform(p, false, memory);
        else
            return transform(p.transposed(), true, memory);
    }

private:
    template <class S>
    static auto way_of(S const& s) {
        return dft_device_way<real_t<typename S::c_type>>::cosine(static_cast<int>(type_of_columns(s)),
                                                                  s.k < 1 ? 1 : s.k);
    }
    // Of one matrix: as many as keep a device busy.
    template <class S>
    static index_t columns_at_once(S const& s) {
        index_t const enough = larger_of(1, (index_t{1} << 22) / larger_of(1, s.k));
        return smaller(enough, transform_is_left<S> ? s.n : s.m);
    }

    template <class Q>
    status transform(Q const& p, bool turned, arena& memory) const {
        if (!memory.fits(workspace(p.shape()))) return another_cosine_plan();
        if constexpr (complex_like<typename Q::c_type>)
            return transform_complex(p, turned, memory);
        else
            return run(p, turned, memory, 0);
    }
    template <class Q>
    status run(Q const& p, bool turned, arena& memory, index_t lines) const {
        auto const leaf = this->leaf();
        auto const way = way_of(p.shape());
        return dft_on_device<Leaf, Q, arena>(leaf, p, way, turned, lines).run(memory);
    }
    // Both parts of columns, without E and epilogue: by a real factor.
    template <class Q>
    status run_parts(Q const& p, arena& memory) const {
        if (status s = run(p, false, memory, dft_parts); !s) return s;
        return run(p, false, memory, dft_parts | dft_second_part);
    }
    template <class Q>
    status transform_complex(Q const& p, bool turned, arena& memory) const {
        using S = typename Q::scalar;
        using C = typename Q::c_type;
        auto parts = p.without_epilogue();
        parts.beta = S(0);
        bool const is_real = p.alpha.imag() == real_t<C>(0), adds = p.beta != S(0);
        if (!is_real || adds) parts.alpha = S(1);
        if (!adds)
            if (status s = run_parts(parts, memory); !s) return s;
        if (is_real && !adds && std::is_same_v<typename Q::epilogue_type, identity>) return {};
        typename arena::scope const scope(memory);
        index_t const at_once = columns_at_once(p.shape());
        auto room = p.c;
        if (adds) {
            room.data = memory.template take<C>(p.a.rows * at_once);
            room.row_stride = 1, room.col_stride = p.a.rows;
        }
        for (index_t i = 0; i < p.count; ++i) {
            auto const one = parts.at(i);
            auto const e = p.e.moved(adds ? i * p.e_step : 0);
            for (index_t j = 0; adds && j < p.c.cols; j += at_once) {
                index_t const cols = smaller(at_once, p.c.cols - j);
                auto q = one;
                q.b = one.b.block(0, j, one.b.rows, cols);
                q.c = room.block(0, 0, one.c.rows, cols);
                if (status s = run_parts(q, memory); !s) return s;
                auto x = reading(q.c), y = e.block(0, j, one.c.rows, cols);
                x.scale = p.alpha, y.scale = p.beta;
                if (status s = this->leaf().add(x, y, one.c.block(0, j, one.c.rows, cols)); !s) return s;
            }
            if (!adds && !is_real) {
                auto x = reading(one.c);
                x.scale = p.alpha;
                if (status s = this->leaf().copy(x, one.c); !s) return s;
            }
            if (status s = end(p, one.c, turned); !s) return s;
        }
        return {};
    }
    template <class Q, class C>
    status end(Q const& p, C const& c, bool turned) const {
        if constexpr (std::is_same_v<typename Q::epilogue_type, identity>)
            return {};
        else
            return this->leaf().apply(p.epilogue, turned ? c.transposed() : c, p.row0, p.col0);
    }
};

STRATAGEMM_END
