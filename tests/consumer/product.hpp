// What both halves of the mixed program multiply: large enough for several threads and blocks.
#pragma once

#include <stratagemm/stratagemm.hpp>

constexpr int size = 300;

// static: the library's types differ between the halves, so nothing that names them may be shared.
static stratagemm::matrix<float> operand(int seed) {
    stratagemm::matrix<float> x(size, size);
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) x(i, j) = static_cast<float>((i * 7 + j * 3 + seed) % 11) - 5.0f;
    return x;
}

static stratagemm::matrix<float> product() {
    auto a = operand(1), b = operand(2);
    stratagemm::matrix<float> c(size, size);
    stratagemm::gemm(a, b, c);
    return c;
}
