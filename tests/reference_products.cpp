#include "reference_products.hpp"
#include "unit/support.hpp"

#define STRATAGEMM_REFERENCE_HERE(T, C)                                                                      \
    template stratagemm::status stratagemm::reference::operator()(stratagemm::dense_problem<T, T, C> const&, \
                                                                  stratagemm::host_arena&) const;
STRATAGEMM_REFERENCE_PRODUCTS(STRATAGEMM_REFERENCE_HERE)

namespace support {
template sg::matrix<float> product_of(sg::matrix<float> const&, sg::matrix<float> const&);
template sg::matrix<double> product_of(sg::matrix<double> const&, sg::matrix<double> const&);
} // namespace support
