// Weights in eight bits: a layer of a network whose activations are bfloat16, and whose weights are int8 with a scale
// for each column. The weights are read as they are, a quarter of the bytes of floats. To compile, from the top of the
// checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/quantized_weights.cpp -o quantized_weights
#include <stratagemm/stratagemm.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

int main() {
    index_t const samples = 7, inputs = 300, outputs = 130;
    sg::matrix<float> const weights(inputs, outputs, [](index_t i, index_t j) {
        return std::sin(0.7 * double(i) + 1.3 * double(j)) * (1 + double(j % 5));
    });

    // Each column is divided by its scale, such that its largest weight is 127.
    std::vector<float> scales(outputs), bias(outputs, 0.125f);
    sg::matrix<std::int8_t> quantized(inputs, outputs);
    for (index_t j = 0; j < outputs; ++j) {
        float largest = 0;
        for (index_t i = 0; i < inputs; ++i) largest = std::fmax(largest, std::fabs(weights(i, j)));
        scales[std::size_t(j)] = largest / 127;
        for (index_t i = 0; i < inputs; ++i)
            quantized(i, j) = std::int8_t(std::lround(weights(i, j) / scales[std::size_t(j)]));
    }

    // y_ij = max(s_j (x W)_ij + b_j, 0): the sums, the scale and the bias are floats.
    sg::matrix<sg::bfloat16> const x(samples, inputs, [](index_t i, index_t j) {
        return sg::bfloat16(static_cast<float>(std::cos(double(3 * i + j))));
    });
    sg::matrix<float> y(samples, outputs);
    sg::gemm(x, quantized, y, sg::then(sg::scale(scales), sg::bias(bias), sg::relu));

    int wrong = 0;
    double lost = 0, largest = 0;
    for (index_t i = 0; i < samples; ++i)
        for (index_t j = 0; j < outputs; ++j) {
            double sum = 0, exact = 0, size = 0;
            for (index_t l = 0; l < inputs; ++l) {
                sum += double(x(i, l)) * double(quantized(l, j));
                size += std::fabs(double(x(i, l)) * double(quantized(l, j)));
                exact += double(x(i, l)) * double(weights(l, j));
            }
            double const scale = scales[std::size_t(j)], want = std::fmax(scale * sum + 0.125, 0.0);
            wrong += !(std::fabs(double(y(i, j)) - want) <= 1e-5 * (scale * size + 1));
            lost = std::fmax(lost, std::fabs(want - std::fmax(exact + 0.125, 0.0)));
            largest = std::fmax(largest, std::fabs(exact));
        }
    std::printf("%d of %d elements wrong; eight bits cost up to %.1e of the largest sum\n", wrong,
                int(samples * outputs), lost / largest);
    return wrong != 0;
}
