// The products of int8 that ozaki makes over sg::reference, compiled once and with optimization
// (int8_products.cpp): they take most of the time of tests that are compiled without.
#pragma once

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/core/problem.hpp>

#include <cstdint>

extern template stratagemm::status
stratagemm::reference::operator()(stratagemm::dense_problem<std::int8_t, std::int8_t, std::int32_t> const&,
                                  stratagemm::host_arena&) const;
