// Products of operands that are more than a matrix in memory, on CUDA devices.
#include "cuda_side.hpp"
#include "structured.hpp"

namespace stratagemm_python {
namespace {

template <class Index>
sg::status fetch(sg::cuda const& gpu, tensor const& from, std::vector<Index>& to) {
    to.resize(static_cast<std::size_t>(from.side[0]));
    return gpu.leaf().download(sg::cuda_pointer<Index const>{values<Index>(&from)}, to.data(), from.side[0]);
}
template <class Index>
outcome check_there(structured const& s, sg::cuda const& gpu) {
    std::vector<Index> begins, columns;
    if (sg::status failed = fetch(gpu, *s.part[0], begins); !failed) return {std::move(failed)};
    if (sg::status failed = fetch(gpu, *s.part[1], columns); !failed) return {std::move(failed)};
    return check_rows<Index>(s, begins.data(), columns.data());
}

} // namespace

outcome multiply_structured_there(product const& p, sg::cuda const& gpu) {
    return multiply_on(cuda_side{gpu}, p);
}
outcome check_structured_on_device(structured const& s) {
    if (s.what != structure::csr) return {};
    sg::cuda const gpu = device_at(s.device, s.on);
    return s.part[1]->type == kind::int64 ? check_there<std::int64_t>(s, gpu)
                                          : check_there<std::int32_t>(s, gpu);
}

} // namespace stratagemm_python
