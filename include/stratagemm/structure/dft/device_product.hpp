// Products with a transform on a device.
#pragma once

#include "device.hpp"
#include "product.hpp"

STRATAGEMM_BEGIN

// As errors_of() has it for the host. Roots between launches are products themselves, and so are those of a long chirp,
// whose spectrum is transformed by each call.
template <class R>
dft_errors errors_of(dft_device_division<R> const& d, dft_kind kind = dft_kind::whole) {
    constexpr double factor = 3.24, between = 4.24;
    dft_errors one;
    auto const add = [&](int r) {
        if (r == 1) return;
        one.worst += r == 2 ? 1 : r == 4 ? 2 : (r / 2 + 4) * __builtin_sqrt(2.0 * r);
        one.steps += r == 2 ? 2 : r == 4 ? 3 : r / 2 + 3;
    };
    for (int i = 0; i < d.launches.count; ++i) {
        dft_sharing const by(d.launches.points[i], dft_work<R>::is_smallest_first(kind));
        for (int j = 0, lead = 1; j < by.count; lead *= by.radix[j++]) {
            dft_radix const r = dft_radix::of(by.radix[j]);
            add(r.first), add(r.second);
            if (r.second > 1) one.worst += factor, one.steps += 1;
            if (j == 0) continue;
            bool const are_products = dft_work<R>::few_roots(by.radix[j], lead) < by.radix[j];
            one.worst += are_products ? between : factor, one.steps += are_products ? 1 : 0;
        }
        if (i > 0) one.worst += between, one.steps += 1;
    }
    if (!d.is_chirp()) return one;
    if (d.is_long()) return {3 * (3 * one.worst + 4 * between), 2 * (3 * one.steps + 5)};
    return {3 * (2 * one.worst + 3 * factor), 2 * (2 * one.steps + 3)};
}

// Of a transform that may be one of pairs: sums of two, twice, and a factor besides.
template <class R>
dft_errors errors_of(dft_device_way<R> const& way) {
    dft_errors one = errors_of(way.division, way.kind);
    if (way.is_halved()) one.worst += 2 + 3.24, one.steps += 4;
    return one;
}

// Bytes of workspace for so many transforms, in an arena of type Arena.
template <class Arena, class R>
std::size_t workspace_of(dft_device_division<R> const& d, index_t transforms) {
    auto const bytes = [](index_t numbers) {
        return Arena::rounded(static_cast<std::size_t>(2 * numbers) * sizeof(R));
    };
    if (!d.is_long()) return 0;
    return static_cast<std::size_t>(d.arrays()) * bytes(d.length * d.at_once(transforms)) +
           (d.is_chirp() ? bytes(d.length) : 0);
}
// Seconds: each launch reads and writes all numbers.
template <class R>
double seconds_of(dft_device_division<R> const& d, index_t transforms, double bandwidth) {
    double const launches = d.launches.count * (d.is_chirp() && d.is_long() ? 3 : 1),
                 length = static_cast<double>(d.is_long() ? d.length : d.n),
                 bytes = 2 * launches * length * 2 * sizeof(R) * static_cast<double>(transforms);
    return bytes / bandwidth + launches * 3e-6;
}
template <class R>
std::string description_of(dft_device_way<R> const& way) {
    auto const& d = way.division;
    std::string text;
    if (d.is_chirp()) text += " by a convolution of " + std::to_string(d.length) + " (Bluestein)";
    for (int i = 0; i < d.launches.count; ++i)
        if (d.is_long()) text += (i == 0 ? ", as " : " x ") + std::to_string(d.launches.points[i]);
    if (d.is_long()) return text + ", each by a launch, through workspace";
    dft_sharing const by(d.launches.points[0], dft_work<R>::is_smallest_first(way.kind));
    if (d.length > 1) text += ", radices";
    for (int i = 0; i < by.count && d.length > 1; ++i) text += " " + std::to_string(by.radix[i]);
    return text + ", in one launch";
}

// P: the backend of a device. A transform on the right runs as the transposed product, whose epilogue is told.
template <policy P>
class dft_device_product : public product_over<P> {
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
        constexpr bool left = is_transform<A> && is_view<B>::value,
                       right = is_view<A>::value && is_transform<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else {
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            using F = std::conditional_t<left, A, B>;
            return types_if(are_types_of_transform<F, X, To>) &
                   epilogue_if(has_source<typename Q::epilogue_type, typename Leaf::template epilogue<To>>);
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        footprint need;
        space::share(need) = workspace_of<arena>(way_of(s).division, transforms_of(s));
        return need;
    }
    // As dft_product has it.
    template <class S>
    bound error_bound(S const& s) const {
        using R = real_t<typename S::c_type>;
        double const u = unit_roundoff<R>(), adds = s.adds ? 4 : 0,
                     k = (s.k < 1 ? 1 : static_cast<double>(s.k)) * (transforms_to_real<S> ? 2 : 1);
        constexpr double factors = 4.5; // alpha and the operand's own
        dft_errors const e = errors_of(way_of(s));
        double const stretch = __builtin_sqrt(static_cast<double>(points_of(s)) / k),
                     typical = 4.5 * 0.5 * __builtin_sqrt((e.steps + 2) / k);
        return {((e.worst + factors) * stretch + adds) * u, (typical + adds) * u, true};
    }
    template <class S>
    double estimate(S const& s) const {
        return seconds_of(way_of(s).division, transforms_of(s), this->leaf().limits().bandwidth);
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const way = way_of(s);
        std::string text =
            (transforms_to_real<S> ? "irdft of " : "dft of ") + std::to_string(points_of(s)) + " points";
        if (way.is_halved()) text += " as " + std::to_string(way.division.n) + " pairs";
        return text + description_of(way);
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_transform<typename Q::a_operand>)
            return transform(p, false, memory);
        else
            return transform(p.transposed(), true, memory);
    }

private:
    template <class S>
    auto way_of(S const& s) const {
        using way = dft_device_way<real_t<typename S::c_type>>;
        index_t const points = points_of(s) < 1 ? 1 : points_of(s);
        if constexpr (transforms_to_real<S>)
            return way::from_half(points);
        else
            return halves(s) ? way::to_half(points) : way::complex(points, this->leaf().limits());
    }
    template <class Q>
    status transform(Q const& p, bool turned, arena& memory) const {
        if (status s = check_side(p.a); !s) return s;
        auto const shape = p.shape();
        if (!memory.fits(workspace(shape))) return another_plan();
        auto const leaf = this->leaf();
        auto const way = way_of(shape);
        return dft_on_device<Leaf, Q, arena>(leaf, p, way, turned).run(memory);
    }
};

STRATAGEMM_END
