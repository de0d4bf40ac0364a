// Epilogues: what is done to each element of C before it is stored, in the same pass. Here a small network of
// two layers, and a function of one's own. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/epilogue.cpp -o epilogue
#include <stratagemm/stratagemm.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

// An epilogue is any value that can be called with the element, or with the element and its place in C.
struct causal_mask {
    float operator()(float x, index_t i, index_t j) const { return j <= i ? x : -INFINITY; }
};

int failures = 0;

template <class F>
void check(char const* what, sg::matrix<float> const& c, F const& f) {
    int wrong = 0;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j)
            wrong += !(c(i, j) == f(i, j) || std::fabs(c(i, j) - f(i, j)) < 1e-5f);
    std::printf("%-28s %d of %d elements wrong\n", what, wrong, int(c.rows() * c.cols()));
    failures += wrong != 0;
}

int main() {
    index_t const samples = 33, inputs = 20, hidden = 48, outputs = 10;
    auto wave = [](index_t i, index_t j) { return std::sin(0.7 * double(i) + 1.3 * double(j)); };
    sg::matrix<float> const x(samples, inputs, wave), w1(inputs, hidden, wave), w2(hidden, outputs, wave);
    std::vector<float> const b1(hidden, 0.25f), b2(outputs, -0.5f);
    sg::matrix<float> h(samples, hidden), y(samples, outputs), scores(samples, samples);

    // then(f, g, ...) does f first. bias(v) adds v[j] to column j; bias(v, sg::along::rows) v[i] to row i.
    sg::gemm(x, w1, h, sg::then(sg::bias(b1), sg::gelu));
    sg::gemm(h, w2, y, sg::then(sg::bias(b2), sg::relu, sg::clamp(0.0f, 6.0f)));
    sg::gemm(x, sg::transposed(x), scores, causal_mask{});

    auto dot = [](auto const& a, auto const& b, index_t i, index_t j) {
        double sum = 0;
        for (index_t l = 0; l < a.cols(); ++l) sum += double(a(i, l)) * double(b(l, j));
        return sum;
    };
    check("gelu(X W1 + b1)", h, [&](index_t i, index_t j) {
        double const v = dot(x, w1, i, j) + 0.25;
        return static_cast<float>(v / 2 * (1 + std::erf(v / std::sqrt(2.0))));
    });
    check("relu(H W2 + b2), at most 6", y, [&](index_t i, index_t j) {
        return static_cast<float>(std::fmin(std::fmax(dot(h, w2, i, j) - 0.5, 0.0), 6.0));
    });
    check("X X^T, later samples masked", scores, [&](index_t i, index_t j) {
        return j <= i ? static_cast<float>(dot(x, sg::transposed(x), i, j)) : -INFINITY;
    });
    return failures;
}
