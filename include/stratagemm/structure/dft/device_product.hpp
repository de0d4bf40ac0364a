// Products with a transform on a device.
#pragma once

#include "device.hpp"
#include "product.hpp"

STRATAGEMM_BEGIN

// As errors_of() has it for the host. Roots between launches are products themselves, and so are those of a long chirp, whose spectrum
// is transformed by each call.
template <class R>
dft_errors errors_of(dft_device_division<R> const& d) {
    constexpr double factor = 3.24, between = 4.24;
    dft_errors one;
    auto const add = [&](int r) {
        if (r == 1) return;
        one.worst += r == 2 ? 1 : r == 4 ? 2 : (r / 2 + 4) * __builtin_sqrt(2.0 * r);
        one.steps += r == 2 ? 2 : r == 4 ? 3 : r / 2 + 3;
    };
    for (int i = 0; i < d.launches.count; ++i) {
        dft_radices const by(d.launches.points[i], dft_work<R>::largest_radix);
        for (int j = 0; j < by.count; ++j) {
            dft_radix const r = dft_radix::of(by.radix[j]);
            add(r.first), add(r.second);
            if (r.second > 1) one.worst += factor, one.steps += 1;
            if (j > 0) one.worst += factor;
        }
        if (i > 0) one.worst += between, one.steps += 1;
    }
    if (!d.is_chirp()) return one;
    if (d.is_long()) return {3 * (3 * one.worst + 4 * between), 2 * (3 * one.steps + 5)};
    return {3 * (2 * one.worst + 3 * factor), 2 * (2 * one.steps + 3)};
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
        constexpr bool left = is_dft<A> && is_view<B>::value, right = is_view<A>::value && is_dft<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else {
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            using T = typename std::conditional_t<left, A, B>::real_type;
            if constexpr (complex_like<To>)
                return types_if(std::is_same_v<real_t<To>, T> &&
                                (std::is_same_v<X, To> || std::is_same_v<X, T>)) &
                       epilogue_if(
                           has_source<typename Q::epilogue_type, typename Leaf::template epilogue<To>>);
            else
                return verdict::types;
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using R = real_t<typename S::c_type>;
        footprint need;
        auto const d = division_of(s);
        auto const bytes = [](index_t numbers) {
            return arena::rounded(static_cast<std::size_t>(2 * numbers) * sizeof(R));
        };
        if (d.is_long())
            space::share(need) =
                static_cast<std::size_t>(d.arrays()) * bytes(d.length * d.at_once(transforms_of(s))) +
                (d.is_chirp() ? bytes(d.length) : 0);
        return need;
    }
    // As dft_product has it.
    template <class S>
    bound error_bound(S const& s) const {
        using R = real_t<typename S::c_type>;
        double const u = unit_roundoff<R>(), k = s.k < 1 ? 1 : static_cast<double>(s.k),
                     adds = s.adds ? 4 : 0;
        constexpr double factors = 4.5; // alpha and the operand's own
        dft_errors const e = errors_of(division_of(s));
        double const stretch = __builtin_sqrt(static_cast<double>(points_of(s)) / k),
                     typical = 4.5 * 0.5 * __builtin_sqrt((e.steps + 2) / k);
        return {((e.worst + factors) * stretch + adds) * u, (typical + adds) * u, true};
    }
    // Each launch reads and writes all numbers.
    template <class S>
    double estimate(S const& s) const {
        using R = real_t<typename S::c_type>;
        auto const d = division_of(s);
        double const launches = d.launches.count * (d.is_chirp() && d.is_long() ? 3 : 1),
                     length = static_cast<double>(d.is_long() ? d.length : d.n),
                     bytes = 2 * launches * length * 2 * sizeof(R) * static_cast<double>(transforms_of(s));
        return bytes / this->leaf().limits().bandwidth + launches * 3e-6;
    }
    template <class S>
    std::string describe(S const& s) const {
        using R = real_t<typename S::c_type>;
        auto const d = division_of(s);
        std::string text = "dft of " + std::to_string(points_of(s)) + " points";
        if (d.is_chirp()) text += " by a convolution of " + std::to_string(d.length) + " (Bluestein)";
        for (int i = 0; i < d.launches.count; ++i) {
            if (d.is_long()) text += (i == 0 ? ", as " : " x ") + std::to_string(d.launches.points[i]);
        }
        if (d.is_long()) return text + ", each by a launch, through workspace";
        dft_radices const by(d.launches.points[0], dft_work<R>::largest_radix);
        if (d.length > 1) text += ", radices";
        for (int i = 0; i < by.count && d.length > 1; ++i) text += " " + std::to_string(by.radix[i]);
        return text + ", in one launch";
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        auto const leaf = this->leaf();
        if constexpr (is_dft<typename Q::a_operand>) {
            return dft_on_device<Leaf, Q, arena>(leaf, p, false).run(memory);
        } else {
            auto const q = p.transposed();
            return dft_on_device<Leaf, std::remove_const_t<decltype(q)>, arena>(leaf, q, true).run(memory);
        }
    }

private:
    template <class S>
    auto division_of(S const& s) const {
        return dft_device_division<real_t<typename S::c_type>>(points_of(s), this->leaf().limits());
    }
};

STRATAGEMM_END
