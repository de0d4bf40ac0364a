// Factors of a matrix of low rank on the host, with a certificate.
#include "low_rank.hpp"

#include "host_side.hpp"

namespace stratagemm_python {

outcome find_low_rank(low_rank_call& call) { return find_low_rank_on(host_side{}, call); }

} // namespace stratagemm_python
