// Eigen's product C = A B of n x n matrices, row by row: eigen.cpp.
#pragma once

namespace compare {

void eigen_threads(int n);
void eigen_product(long n, float const* a, float const* b, float* c);
void eigen_product(long n, double const* a, double const* b, double* c);
char const* eigen_version();

} // namespace compare
