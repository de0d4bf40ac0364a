// The spectrum of a Toeplitz matrix, made once for many products by transforms.
#pragma once

#include "../../core/keep.hpp"
#include "device.hpp"
#include "transforms.hpp"

STRATAGEMM_BEGIN

// A Toeplitz matrix by transforms with its spectrum, for many products with the matrix on the left.
template <policy P, class X>
auto keep_spectrum(P const& policy, X x) {
    using T = typename X::value_type;
    using R = real_t<T>;
    toeplitz_transforms_over<P> const by(policy);
    x.usable().or_throw();
    spectrum_sides<T> const sides(x.rows_of_blocks(), x.cols_of_blocks());
    index_t const elements = x.block_rows() * x.block_cols(), numbers = elements * sides.numbers();
    auto memory = reserve_for(policy, static_cast<std::size_t>(numbers) * sizeof(R));
    memory.or_throw();
    auto room = policy.reserve(by.template spectrum_footprint<T>(sides, elements));
    room.or_throw();
    auto const to = (*memory)->template take<R>(numbers);
    by.set_spectra(x, to, *room).or_throw();
    if constexpr (!host_leaf<leaf_of<P>>) policy.leaf().synchronize().or_throw(); // the room goes
    x.spectrum = to, x.is_kept = true, x.is_kept_turned = false;
    return kept<X, P>(std::move(*memory), {x});
}
template <class M>
inline constexpr bool is_by_transforms = false;
template <class M>
requires is_toeplitz<view_of<M>>
inline constexpr bool is_by_transforms<M> = view_of<M>::form::way == toeplitz_way::by_transforms;

// Whether products with P read spectra of its memory.
template <class P>
concept keeps_spectra = is_backend<P> &&(host_leaf<leaf_of<P>> || device_leaf<leaf_of<P>, typename P::space>);

template <policy P, operand M>
requires(lasting<M, P>&& is_by_transforms<M>&& keeps_spectra<P>) auto keep_left(P const& policy, M&& matrix) {
    return keep_spectrum(policy, as_view(matrix));
}
// A product with the matrix on the right takes the spectrum of the transposed.
template <policy P, operand M>
requires(lasting<M, P>&& is_by_transforms<M>&& keeps_spectra<P>) auto keep(P const& policy, M&& matrix) {
    auto const turned = keep_spectrum(policy, as_view(matrix).transposed());
    auto const x = turned.view().transposed();
    return owned<std::remove_const_t<decltype(x)>, P>(turned.memory(), x);
}

STRATAGEMM_END
