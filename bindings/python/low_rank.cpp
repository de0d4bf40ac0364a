// Factors of a matrix of low rank, with a certificate.
#include "product.hpp"

#include <stratagemm/structure/low_rank.hpp>

namespace stratagemm_python {
namespace {

template <class T>
using found_factors = sg::low_rank_matrix<T, sg::host>;

template <class T>
void write_factors(low_rank_call const& call, tensor const& u, tensor const& v) {
    auto const from = static_cast<found_factors<T> const*>(call.factors.get())->view();
    auto const leaf = sg::host{}.leaf();
    leaf.copy(from.left, u.matrix<T>()).or_throw();
    leaf.copy(from.right, v.matrix<T>()).or_throw();
}
template <class T>
outcome find(low_rank_call& call) {
    auto made = sg::try_low_rank(
        sg::host{}, call.a->matrix<T const>(),
        {.tolerance = call.tolerance, .rank = call.rank, .confidence = call.confidence, .seed = call.seed});
    if (!made) return {made.take_status()};
    call.found = made->rank(), call.error = made->report().error, call.bound = made->report().bound.worst;
    call.factors = std::make_shared<found_factors<T>>(*std::move(made));
    call.write = write_factors<T>;
    return {};
}

} // namespace

outcome find_low_rank(low_rank_call& call) {
    switch (call.a->type) {
    case kind::float32: return find<float>(call);
    case kind::float64: return find<double>(call);
    case kind::complex64: return find<std::complex<float>>(call);
    case kind::complex128: return find<std::complex<double>>(call);
    default:
        return refuse_types(std::string("low_rank: there are no factors of a matrix of ") +
                            facts(call.a->type).name + ": it is float32, float64, complex64 or complex128");
    }
}

} // namespace stratagemm_python
