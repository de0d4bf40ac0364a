// One half of a program whose other half, mixed_other.cpp, is compiled otherwise: without OpenMP, or without
// stratagemm::kernels. Both must give the exact product.
#include "product.hpp"

#include <vector>

void product_elsewhere(float* result);

int main() {
    auto a = operand(1), b = operand(2);
    auto here = product();
    std::vector<float> there(size * size);
    product_elsewhere(there.data());

    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
            float sum = 0; // small integers: no rounding
            for (int k = 0; k < size; ++k) sum += a(i, k) * b(k, j);
            if (here(i, j) != sum || there[static_cast<std::size_t>(i * size + j)] != sum) return 1;
        }
    return 0;
}
