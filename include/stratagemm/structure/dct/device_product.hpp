// Products with a cosine transform on a device: by the kernels of Fourier transforms, which read points in the order of
// a cosine transform and write its elements (dft/kinds.hpp). One launch reads and writes each number once, up to 8192
// points of an even number and 4096 of an odd one, if these have no prime factors beyond 7; half as many otherwise, and
// of an odd type IV. A longer transform takes several launches.
#pragma once

#include "device.hpp"
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

    template <class S>
    footprint workspace(S const& s) const {
        footprint need;
        space::share(need) = dct_workspace<typename S::c_type, arena>(
            way_of(s), s.k, transform_is_left<S> ? s.n : s.m, s.count, s.adds);
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
    template <class Q>
    status transform(Q const& p, bool turned, arena& memory) const {
        auto const shape = p.shape();
        if (!memory.fits(workspace(shape))) return another_cosine_plan();
        auto const leaf = this->leaf();
        auto const way = way_of(shape);
        return dct_launches<Leaf, Q, arena>(leaf, p, way, turned)(memory);
    }
};

STRATAGEMM_END
