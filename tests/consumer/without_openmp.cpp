// Compiled without OpenMP; see with_openmp.cpp. The result crosses over as plain floats.
#include "product.hpp"

void product_without_openmp(float* result) {
    auto c = product();
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) *result++ = c(i, j);
}
