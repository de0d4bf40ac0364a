// Factors of a matrix of low rank, on a side as structured.hpp has them.
#pragma once

#include "product.hpp"

#include <stratagemm/structure/low_rank.hpp>

namespace stratagemm_python {

template <class T, class Side>
using found_factors = sg::low_rank_matrix<T, decltype(Side::policy)>;

// The factors, and the side that their copies need.
template <class T, class Side>
struct kept_factors {
    Side side;
    found_factors<T, Side> found;
};
template <class T, class Side>
sg::status write_factors(low_rank_call const& call, tensor const& u, tensor const& v) {
    auto const& kept = *static_cast<kept_factors<T, Side> const*>(call.factors.get());
    auto const from = kept.found.view();
    auto const leaf = kept.side.policy.leaf();
    if (sg::status s = leaf.copy(from.left, kept.side.place(u.matrix<T>())); !s) return s;
    return leaf.copy(from.right, kept.side.place(v.matrix<T>()));
}
template <class T, class Side>
outcome find_factors(Side const& side, low_rank_call& call) {
    auto made = sg::try_low_rank(
        side.policy, side.place(call.a->matrix<T const>()),
        {.tolerance = call.tolerance, .rank = call.rank, .confidence = call.confidence, .seed = call.seed});
    if (!made) return {made.take_status()};
    call.found = made->rank(), call.error = made->report().error, call.bound = made->report().bound.worst;
    call.factors = std::make_shared<kept_factors<T, Side>>(kept_factors<T, Side>{side, *std::move(made)});
    call.write = write_factors<T, Side>;
    return {};
}

template <class Side>
outcome find_low_rank_on(Side const& side, low_rank_call& call) {
    switch (call.a->type) {
    case kind::float32: return find_factors<float>(side, call);
    case kind::float64: return find_factors<double>(side, call);
    case kind::complex64: return find_factors<std::complex<float>>(side, call);
    case kind::complex128: return find_factors<std::complex<double>>(side, call);
    default:
        return refuse_types(std::string("low_rank: there are no factors of a matrix of ") +
                            facts(call.a->type).name + ": it is float32, float64, complex64 or complex128");
    }
}

} // namespace stratagemm_python
