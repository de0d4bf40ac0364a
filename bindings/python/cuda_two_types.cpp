// Products of matrices of two element types on CUDA devices.
#include "cuda_side.hpp"
#include "two_types.hpp"

namespace stratagemm_python {

outcome multiply_two_types_there(product const& p, sg::cuda const& gpu) {
    return multiply_two_types_on(cuda_side{gpu}, p);
}

} // namespace stratagemm_python
