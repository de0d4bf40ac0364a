// Filters of signals: a Toeplitz matrix whose diagonals are the filter. Direct products and products by Fourier
// transforms, whose spectrum is kept; then the signals are found again from what the filter left of them.
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/toeplitz.cpp -o toeplitz
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/toeplitz.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

namespace {

double largest_difference(sg::matrix<double> const& x, sg::matrix<double> const& y) {
    double most = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) most = std::max(most, std::abs(x(i, j) - y(i, j)));
    return most;
}
double product_of_columns(sg::matrix<double> const& x, sg::matrix<double> const& y, index_t j) {
    double sum = 0;
    for (index_t i = 0; i < x.rows(); ++i) sum += x(i, j) * y(i, j);
    return sum;
}

} // namespace

int main() {
    constexpr index_t samples = 2000, signals = 16, reach = 6;
    sg::host const cpu;

    // A bell of 2 reach + 1 numbers: zeros, the bell and zeros again are the diagonals of the filter.
    std::vector<double> diagonals(2 * samples - 1, 0.0);
    for (index_t t = -reach; t <= reach; ++t)
        diagonals[static_cast<std::size_t>(samples - 1 + t)] =
            std::exp(-static_cast<double>(t * t) / 2) / 2.5066 + (t == 0 ? 0.5 : 0);
    auto const filter = sg::toeplitz(diagonals, samples, samples);

    sg::matrix<double> const x(samples, signals, [](index_t i, index_t j) {
        return std::sin(0.01 * static_cast<double>(i * (j + 1))) + (i % (97 + j) == 0 ? 1 : 0);
    });
    sg::matrix<double> direct(samples, signals), y(samples, signals);
    sg::gemm(cpu, filter, x, direct);
    auto const fast = sg::keep_left(cpu, filter.by_transforms());
    sg::gemm(cpu, fast, x, y);
    std::printf("direct and by transforms: elements differ by at most %g\n", largest_difference(direct, y));
    for (auto const& text : {sg::plan(cpu, sg::product(filter, x, y).shape()).describe(),
                             sg::plan(cpu, sg::product(fast, x, y).shape()).describe()})
        std::printf("  %s\n", text.c_str());

    // The filter is symmetric and positive: conjugate gradients, all signals side by side.
    sg::matrix<double> found(samples, signals, [](index_t, index_t) { return 0.0; }),
        rest = y, step = y, filtered(samples, signals);
    for (int pass = 0; pass < 60; ++pass) {
        sg::gemm(cpu, fast, step, filtered);
        for (index_t j = 0; j < signals; ++j) {
            double const before = product_of_columns(rest, rest, j);
            if (before < 1e-26) continue;
            double const length = before / product_of_columns(step, filtered, j);
            for (index_t i = 0; i < samples; ++i)
                found(i, j) += length * step(i, j), rest(i, j) -= length * filtered(i, j);
            double const turn = product_of_columns(rest, rest, j) / before;
            for (index_t i = 0; i < samples; ++i) step(i, j) = rest(i, j) + turn * step(i, j);
        }
    }
    double const error = largest_difference(found, x);
    std::printf("found again: elements differ by at most %g\n", error);
    return error < 1e-8 && largest_difference(direct, y) < 1e-12 ? 0 : 1;
}
