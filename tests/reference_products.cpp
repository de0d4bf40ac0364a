#include "reference_products.hpp"

#define STRATAGEMM_REFERENCE_HERE(T, C)                                                                      \
    template stratagemm::status stratagemm::reference::operator()(stratagemm::dense_problem<T, T, C> const&, \
                                                                  stratagemm::host_arena&) const;
STRATAGEMM_REFERENCE_PRODUCTS(STRATAGEMM_REFERENCE_HERE)
