#include "int8_products.hpp"

template stratagemm::status
stratagemm::reference::operator()(stratagemm::dense_problem<std::int8_t, std::int8_t, std::int32_t> const&,
                                  stratagemm::host_arena&) const;
