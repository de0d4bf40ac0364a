// See mixed_main.cpp. The result crosses over as plain floats.
#include "product.hpp"

void product_elsewhere(float* result) {
    auto c = product();
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) *result++ = c(i, j);
}
